#include "retile/cli/kernel.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "retile/cli/beside.h"
#include "retile/cli/peer.h"
#include "retile/core/descriptor.h"

namespace retile::cli {
namespace {

/// A text in a file that is gone with this object.
class TextFile {
 public:
  explicit TextFile(const std::string& text) {
    std::error_code error;
    path_ = (std::filesystem::temp_directory_path(error) / "retile-kernel-XXXXXX").string();
    const Descriptor file(error ? -1 : mkstemp(path_.data()));
    if (file.number() < 0) {
      path_.clear();
      return;
    }
    for (std::string_view rest = text; !rest.empty();) {
      const ssize_t count = write(file.number(), rest.data(), rest.size());
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return;
      rest.remove_prefix(static_cast<std::size_t>(count));
    }
    written_ = true;
  }
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;
  ~TextFile() {
    if (!path_.empty()) unlink(path_.c_str());
  }
  [[nodiscard]] bool written() const { return written_; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool written_ = false;
};

/// retile's verdict in the words of retile-kernel.
std::string in_its_words(const Verdict& verdict) {
  std::string out =
      fmt::format("right: {}\nwithin_bound: {}\nheight: {}\nbound: {}\ncost: {}\nsteps: {}\n",
                  verdict.answer == Answer::right, verdict.within_bound, verdict.height,
                  verdict.bound, verdict.cost, verdict.steps);
  if (verdict.wrong) {
    out += fmt::format("first_wrong_step: {}\nreason: {}\n", verdict.wrong->step,
                       reason_name(verdict.wrong->reason));
  }
  return out;
}

/// The answers, which stand between empty lines.
std::vector<std::string> answers_of(std::string_view out) {
  std::vector<std::string> answers;
  while (!out.empty()) {
    const std::size_t end = out.find("\n\n");
    answers.emplace_back(out.substr(0, end == std::string_view::npos ? end : end + 1));
    out.remove_prefix(end == std::string_view::npos ? out.size() : end + 2);
  }
  return answers;
}

tl::unexpected<Diagnostic> differs(std::string message, std::vector<std::string> notes) {
  notes.emplace_back(
      "one of the two programs is at fault; please report it together with the Program");
  return refuse(
      {.code = Code::disagreement, .message = std::move(message), .notes = std::move(notes)});
}

/// An answer on one line.
std::string in_a_line(std::string answer) {
  while (!answer.empty() && answer.back() == '\n') answer.pop_back();
  for (std::size_t at = answer.find('\n'); at != std::string::npos; at = answer.find('\n', at))
    answer.replace(at, 1, ", ");
  return answer;
}

}  // namespace

Result<std::vector<KernelSays>> ask_kernel(const std::string& text,
                                           std::span<const Verdict> verdicts, double seconds) {
  const Result<std::string> program = path_beside(kernel_program);
  if (!program) {
    Diagnostic missing = program.error();
    missing.notes = {
        "it is built where Coq, mathematical components and Zarith are installed: scripts/deps "
        "--kernel"};
    return refuse(std::move(missing));
  }
  const TextFile file(text);
  if (!file.written()) {
    return refuse({.code = Code::file_error,
                   .message = fmt::format("cannot write a file for {}: {}", kernel_program,
                                          std::strerror(errno))});
  }
  constexpr double longest = 1e8;
  const double limit = std::min(seconds, longest);
  const Result<PeerAnswer> answer = ask_peer(
      {.line = R"(exec "$retile_kernel" check --seconds "$retile_seconds" "$retile_text")",
       .variables = {"retile_kernel=" + *program, fmt::format("retile_seconds={:.3f}", limit),
                     "retile_text=" + file.path()}},
      limit + 1);
  if (!answer) return refuse(answer.error());
  if (answer->end == PeerAnswer::End::late || answer->end == PeerAnswer::End::aborted) {
    return std::vector<KernelSays>(verdicts.size(), KernelSays::nothing);
  }
  constexpr int refuses = 2;
  if (answer->end == PeerAnswer::End::refused && answer->code == refuses) {
    return differs(fmt::format("{} calls this no Program, and retile does not", kernel_program),
                   {in_a_line(answer->words)});
  }
  const std::vector<std::string> answers = answers_of(answer->out);
  const bool all_undecided = answers.size() == 1 && answers.front().starts_with("right: undecided");
  if (all_undecided) return std::vector<KernelSays>(verdicts.size(), KernelSays::nothing);
  if (answers.size() != verdicts.size()) {
    return differs(fmt::format("{} reads {} Programs, and retile {}", kernel_program,
                               answers.size(), verdicts.size()),
                   {});
  }
  std::vector<KernelSays> out;
  for (std::size_t k = 0; k < answers.size(); ++k) {
    if (verdicts[k].answer == Answer::undecided) {
      out.push_back(KernelSays::nothing);
    } else if (answers[k] == in_its_words(verdicts[k])) {
      out.push_back(KernelSays::the_same);
    } else {
      return differs(fmt::format("{} and retile judge Program {} otherwise", kernel_program, k + 1),
                     {fmt::format("{}: {}", kernel_program, in_a_line(answers[k])),
                      fmt::format("retile: {}", in_a_line(in_its_words(verdicts[k])))});
    }
  }
  return out;
}

}  // namespace retile::cli
