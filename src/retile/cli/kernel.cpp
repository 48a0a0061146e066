#include "retile/cli/kernel.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>

#include "retile/cli/beside.h"
#include "retile/cli/peer.h"
#include "retile/core/descriptor.h"
#include "retile/lower/lower.h"
#include "retile/plan/certificate.h"
#include "retile/program/forms/text.h"

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

/// What retile-kernel answers to a text; nothing where it takes too long or breaks off.
Result<std::optional<PeerAnswer>> answer_to(const std::string& text, std::string_view verb,
                                            double seconds) {
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
  Result<PeerAnswer> answer = ask_peer(
      {.line = R"(exec "$retile_kernel" "$retile_verb" --seconds "$retile_seconds" "$retile_text")",
       .variables = {"retile_kernel=" + *program, fmt::format("retile_verb={}", verb),
                     fmt::format("retile_seconds={:.3f}", limit), "retile_text=" + file.path()}},
      limit + 1);
  if (!answer) return refuse(answer.error());
  if (answer->end == PeerAnswer::End::late || answer->end == PeerAnswer::End::aborted) {
    return std::nullopt;
  }
  return std::move(*answer);
}

/// Whether it cannot read the text.
bool is_refusal(const PeerAnswer& answer) {
  constexpr int refuses = 2;
  return answer.end == PeerAnswer::End::refused && answer.code == refuses;
}

}  // namespace

Result<std::vector<KernelSays>> ask_kernel(const std::string& text,
                                           std::span<const Verdict> verdicts, double seconds) {
  const auto answer = answer_to(text, "check", seconds);
  if (!answer) return refuse(answer.error());
  if (!*answer) return std::vector<KernelSays>(verdicts.size(), KernelSays::nothing);
  if (is_refusal(**answer)) {
    return differs(fmt::format("{} calls this no Program, and retile does not", kernel_program),
                   {in_a_line((*answer)->words)});
  }
  const std::vector<std::string> answers = answers_of((*answer)->out);
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

namespace {

/// What it says of a certificate of this bound. retile wrote it, so a no is a contradiction.
Result<KernelBound> bound_of(const std::string& text, Size lower_bound, double seconds) {
  const auto answer = answer_to(text, "certify", seconds);
  if (!answer) return refuse(answer.error());
  if (!*answer) return KernelBound::nothing;
  const std::string& out = (*answer)->out;
  const auto says = [&](const std::string& line) {
    return ("\n" + out).find("\n" + line + "\n") != std::string::npos;
  };
  if (says("certified: true") && says(fmt::format("lower_bound: {}", lower_bound))) {
    return KernelBound::certified;
  }
  if (says("reason: no_theorem")) return KernelBound::no_theorem;
  if (says("reason: limit")) return KernelBound::nothing;
  return differs(
      fmt::format("{} refuses the certificate of the lower bound {}", kernel_program, lower_bound),
      {in_a_line(is_refusal(**answer) ? (*answer)->words : out)});
}

}  // namespace

Result<KernelOnPlan> ask_kernel(const Plan& plan, double seconds) {
  const Result<Program> program = program_of(plan);
  if (!program) return refuse(program.error());
  const std::array<Verdict, 1> verdict = {check(*program, {.timeout_seconds = seconds})};
  const auto says = ask_kernel(to_text(*program), verdict, seconds);
  if (!says) return refuse(says.error());
  KernelOnPlan out{.program = says->front(), .lower_bound = KernelBound::no_certificate};
  if (plan.lower_bound == 0) {
    out.lower_bound = KernelBound::trivial;
    return out;
  }
  const Result<Certificate> certificate = certify(plan);
  if (!certificate) {
    if (certificate.error().code == Code::unsupported) return out;
    out.lower_bound = KernelBound::nothing;
    return out;
  }
  const auto bound =
      bound_of(certificate_text(*program, to_text(*certificate)), plan.lower_bound, seconds);
  if (!bound) return refuse(bound.error());
  out.lower_bound = *bound;
  out.scope = certificate->scope;
  return out;
}

report::Json kernel_object(const KernelOnPlan& says) {
  report::Json out;
  out["program"] = says.program == KernelSays::the_same ? "right" : "undecided";
  switch (says.lower_bound) {
    case KernelBound::certified:
      out["lower_bound"] = "certified";
      break;
    case KernelBound::no_theorem:
      out["lower_bound"] = "no_theorem";
      break;
    case KernelBound::trivial:
      out["lower_bound"] = "trivial";
      break;
    case KernelBound::no_certificate:
      out["lower_bound"] = "no_certificate";
      break;
    case KernelBound::nothing:
      out["lower_bound"] = "undecided";
      break;
  }
  return out;
}

std::string kernel_line(const KernelOnPlan& says, const Plan& plan) {
  const char* const program = says.program == KernelSays::the_same
                                  ? "the Program is right"
                                  : "nothing of the Program, as it reached a limit";
  std::string bound;
  switch (says.lower_bound) {
    case KernelBound::certified:
      bound = fmt::format("no sequence of {} costs less than {}", scope_words(says.scope),
                          plan.lower_bound);
      break;
    case KernelBound::no_theorem:
      bound = fmt::format("it has no theorem about the steps of which the bound {} is claimed",
                          plan.lower_bound);
      break;
    case KernelBound::trivial:
      bound = "a bound of 0 needs no proof";
      break;
    case KernelBound::no_certificate:
      bound = fmt::format("the bound {} has no certificate", plan.lower_bound);
      break;
    case KernelBound::nothing:
      bound = fmt::format("nothing of the bound {}: a limit was reached", plan.lower_bound);
      break;
  }
  return fmt::format("{}, which is proved, says: {}; {}\n", kernel_program, program, bound);
}

}  // namespace retile::cli
