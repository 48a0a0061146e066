#include "retile/cli/validate_shrink.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "retile/cli/json.h"
#include "retile/cli/limits.h"
#include "retile/cli/peer.h"
#include "retile/cli/progress.h"
#include "retile/core/atomic_file.h"
#include "retile/core/names.h"
#include "retile/foreign/reader.h"
#include "retile/report/shrunk.h"
#include "retile/report/validation.h"
#include "retile/whole/descent.h"
#include "retile/whole/draft.h"
#include "retile/whole/moves.h"
#include "retile/whole/pair.h"

namespace retile::cli {
namespace {

namespace fs = std::filesystem;
using whole::Draft;

constexpr Size usual_questions = 500;
constexpr Size most_questions = 1000000;
constexpr Size usual_command_seconds = 60;

/// A folder for the texts that a command reads and writes, gone in the end.
class Workplace {
 public:
  static Result<std::unique_ptr<Workplace>> make() {
    std::error_code failed;
    fs::path base = fs::temp_directory_path(failed);
    if (failed) base = "/tmp";
    std::string path = (base / "retile-XXXXXX").string();
    if (mkdtemp(path.data()) == nullptr) {
      return refuse({.code = Code::file_error,
                     .message = fmt::format("no folder can be made: {}", std::strerror(errno)),
                     .source = base.string()});
    }
    return std::unique_ptr<Workplace>(new Workplace(path));
  }
  ~Workplace() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  [[nodiscard]] std::string file(std::string_view name) const { return (path_ / name).string(); }

 private:
  explicit Workplace(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

/// What a command made of a text.
struct Made {
  std::string kind;     ///< `wrong`, `right`, `undecided`, `aborted`, `refused`, `late`, ..
  std::string message;  ///< of a command that ended otherwise than it should
  std::optional<whole::Validation> validation = {};
  std::string after = {};
  std::optional<Diagnostic> unreadable = {};

  [[nodiscard]] bool is_fault() const {
    return kind == "wrong" || kind == "aborted" || kind == "refused";
  }
};

/// The line that says why a command ended: of a check that failed, or else the first that it wrote.
std::string message_of(const PeerAnswer& answer) {
  static constexpr std::array<std::string_view, 3> marks = {"Check failed", "Assertion",
                                                            "terminate called"};
  std::string first;
  for (const std::string* words : {&answer.first_words, &answer.words}) {
    for (std::size_t begin = 0; begin < words->size();) {
      const std::size_t end = std::min(words->find('\n', begin), words->size());
      const std::string line = words->substr(begin, end - begin);
      begin = end + 1;
      if (std::any_of(marks.begin(), marks.end(), [&](std::string_view mark) {
            return line.find(mark) != std::string::npos;
          })) {
        return line;
      }
      if (first.empty()) first = line;
    }
  }
  return first;
}

/// A message without its numbers, which say when, which process, and how much of something.
std::string without_numbers(const std::string& message) {
  std::string out;
  for (const char c : message) {
    const bool is_number = (c >= '0' && c <= '9') || c == '-';
    if (!is_number) out += c;
  }
  return out;
}

bool is_alike(const Made& one, const Made& other) {
  return one.kind == other.kind && without_numbers(one.message) == without_numbers(other.message);
}

/// Asks the command of --peer.
class ProgramAsker {
 public:
  ProgramAsker(const Workplace& workplace, std::string command, Size seconds,
               const whole::ValidateOptions& options)
      : workplace_(workplace), command_(std::move(command)), seconds_(seconds), options_(options) {}

  /// \error limit_reached: the time of the search is over; file_error
  [[nodiscard]] Result<Made> ask(const std::string& before) const {
    const std::string before_file = workplace_.file("before.hlo");
    const std::string after_file = workplace_.file("after.hlo");
    std::error_code ignored;
    fs::remove(after_file, ignored);
    if (auto written = write_file(before_file, before); !written) return refuse(written.error());
    bool is_on_stdout = true;
    Result<PeerCommand> command =
        filled_in(command_, program_names,
                  [&](std::string_view name, std::string_view) -> Result<std::string> {
                    if (name == "after") is_on_stdout = false;
                    return name == "after" ? after_file : before_file;
                  });
    if (!command) return refuse(command.error());
    const Deadline limit = time_limit();
    const double seconds = std::min(static_cast<double>(seconds_), limit.seconds_left());
    if (seconds <= 0) return refuse(time_is_over());
    Result<PeerAnswer> answer = ask_peer(*std::move(command), seconds);
    if (!answer) return refuse(std::move(answer.error()));
    if (answer->end == PeerAnswer::End::late && limit.passed()) return refuse(time_is_over());
    if (answer->end != PeerAnswer::End::done) return failure_of(*answer);
    std::string after = std::move(answer->out);
    if (!is_on_stdout) {
      auto text = read_text(after_file, "the command's answer");
      if (!text) return Made{.kind = "unreadable", .message = {}, .unreadable = text.error()};
      after = *std::move(text);
    }
    return judged(before, std::move(after));
  }

 private:
  [[nodiscard]] static Made failure_of(const PeerAnswer& answer) {
    using End = PeerAnswer::End;
    constexpr int cannot_be_run =
        126;  // as a shell says it, and 127 where there is no such command
    Made out{.kind = "late", .message = message_of(answer)};
    if (answer.end == End::aborted) out.kind = "aborted";
    if (answer.end == End::too_long) out.kind = "too long, more than 256 MiB";
    if (answer.end == End::refused) {
      out.kind =
          answer.code == cannot_be_run || answer.code == cannot_be_run + 1 ? "not run" : "refused";
    }
    return out;
  }
  [[nodiscard]] Made judged(const std::string& before, std::string after) const {
    whole::ValidateOptions options = options_;
    options.timeout_seconds = std::min(options.timeout_seconds, time_limit().seconds_left());
    auto validation =
        whole::validate(before, "the text before", after, "the command's answer", options);
    Made out{.kind = "unreadable", .message = {}, .after = std::move(after)};
    if (!validation) {
      out.unreadable = validation.error();
      return out;
    }
    out.kind = validation->answer == whole::Answer::wrong   ? "wrong"
               : validation->answer == whole::Answer::right ? "right"
                                                            : "undecided";
    out.validation = *std::move(validation);
    return out;
  }

  const Workplace& workplace_;
  std::string command_;
  Size seconds_;
  const whole::ValidateOptions& options_;
};

Diagnostic about_command(const std::string& command, std::string message,
                         std::vector<std::string> notes = {}) {
  return about_argument(Code::bad_argument, "--peer", command, std::move(message),
                        std::move(notes));
}

/// Why a first answer leaves nothing to make smaller.
Outcome no_fault(const Made& made, const std::string& command) {
  if (made.unreadable) {
    Diagnostic why = *made.unreadable;
    why.notes.emplace_back("this is what the command of --peer wrote");
    return failed(std::move(why));
  }
  if (made.kind == "right" || made.kind == "undecided") {
    return {.exit = made.kind == "right" ? Exit::yes : Exit::undecided,
            .out = report::text_of(*made.validation),
            .words = fmt::format("note: what the command makes is {}: there is nothing to make "
                                 "smaller\n",
                                 made.kind)};
  }
  std::string message = "the command's answer: " + made.kind;
  if (!made.message.empty()) message += ": " + clean(made.message);
  return failed(made.kind == "not run" ? Exit::usage : Exit::undecided,
                about_command(command, message));
}

/// Writes the texts into a folder, which is made where it is missing.
std::optional<Outcome> write_texts(const std::string& folder, const report::ShrunkProgram& shrunk) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure) {
    return failed(about_argument(Code::file_error, "--out", folder,
                                 fmt::format("cannot make the folder: {}", failure.message())));
  }
  const auto path = [&](std::string_view name) { return (fs::path(folder) / name).string(); };
  if (auto fault = write_named("--out", path("before.hlo"), shrunk.before)) return fault;
  if (shrunk.after.empty()) return std::nullopt;
  return write_named("--out", path("after.hlo"), shrunk.after);
}

Outcome told(const report::ShrunkProgram& shrunk, const std::optional<std::string>& folder,
             bool json) {
  if (folder) {
    if (auto fault = write_texts(*folder, shrunk)) return *fault;
  }
  return {.exit = Exit::no,
          .out = json ? line_of(report::json_of(shrunk)) : report::text_of(shrunk, !folder)};
}

/// Operations of a text, where it is one of HLO.
std::size_t operations_in(const std::string& text) {
  const auto draft = whole::draft_of({text, "", true});
  return draft ? whole::operations_of(*draft) : 0;
}

/// \param given  what the command makes of the text as it is
Result<report::ShrunkProgram> search(const ProgramAsker& asker, Draft draft, const Made& given,
                                     Size runs) {
  Progress progress(stderr_of_this());
  const bool is_read = whole::readable(whole::text_of(draft), "").has_value();
  report::ShrunkProgram out{.kind = given.kind, .message = given.message};
  out.given = {whole::operations_of(draft), operations_in(given.after)};
  Made last = given;
  Size asked = 0;
  const auto stands = [&](const Draft& one) {
    return !is_read || whole::readable(whole::text_of(one), "").has_value();
  };
  const auto keeps = [&](const Draft& one) -> Result<bool> {
    progress.update("shrink program", asked++, runs);
    Result<Made> made = asker.ask(whole::text_of(one));
    if (!made) return refuse(std::move(made.error()));
    if (!is_alike(*made, given)) return false;
    last = *std::move(made);
    return true;
  };
  whole::Descent<Draft> descent(
      draft, whole::weight_of, [](const Draft& one) { return whole::text_of(one); }, stands, keeps,
      runs);
  const auto end = descent.end(whole::kinds_of_moves());
  if (!end && !(end.error().code == Code::limit_reached && time_limit().passed())) {
    return refuse(end.error());
  }
  out.questions = asked;
  out.complete = end && end->complete;
  out.before = whole::text_of(draft);
  out.after = last.after;
  out.validation = std::move(last.validation);
  out.message = std::move(last.message);
  out.left = {whole::operations_of(draft), operations_in(out.after)};
  return out;
}

/// How many questions may be asked.
Result<Size> runs_of(const ProgramShrinkArguments& arguments) {
  if (!arguments.runs) return usual_questions;
  return parse_count(*arguments.runs, "--runs", 0, most_questions);
}

/// A text of HLO as words that can be changed.
/// \error as the reader; unsupported (StableHLO)
Result<Draft> draft_of_text(const std::string& text, const std::string& name) {
  if (foreign::language_of(text) == foreign::Language::mlir) {
    return refuse({.code = Code::unsupported,
                   .message = "--shrink reads texts in HLO, and this one is StableHLO",
                   .source = name});
  }
  return whole::draft_of({text, name, true});
}

/// Why a pair that is not wrong is left as it is.
Outcome not_wrong(const whole::Validation& validation, bool json) {
  const bool is_right = validation.answer == whole::Answer::right;
  return {
      .exit = is_right ? Exit::yes : Exit::undecided,
      .out = json ? line_of(report::json_of(validation)) : report::text_of(validation),
      .words = fmt::format("note: the pair is {}: nothing is wrong that could be made smaller\n",
                           is_right ? "right" : "undecided")};
}

Outcome shrink_pair(const ShrunkTexts& texts, const whole::ValidateOptions& options,
                    const ProgramShrinkArguments& arguments, bool json) {
  if (!options.from.empty() || !options.to.empty()) {
    return failed({.code = Code::unsupported,
                   .message = "--shrink cuts a pair by the shardings that BEFORE says",
                   .source = "--shrink",
                   .notes = {"write those of --from and --to into that text"}});
  }
  const Result<Size> runs = runs_of(arguments);
  if (!runs) return failed(runs.error());
  auto before = draft_of_text(texts.before, texts.before_name);
  if (!before) return failed(before.error());
  auto after = draft_of_text(*texts.after, texts.after_name);
  if (!after) return failed(after.error());
  report::ShrunkProgram out{.kind = "wrong", .message = {}};
  out.given = {whole::operations_of(*before), whole::operations_of(*after)};
  Progress progress(stderr_of_this());
  const auto shrunk =
      whole::shrunk_pair({*std::move(before), *std::move(after)}, options, *runs,
                         [&](Size asked) { progress.update("shrink program", asked, *runs); });
  if (!shrunk) return failed(shrunk.error());
  if (shrunk->given.answer != whole::Answer::wrong) return not_wrong(shrunk->given, json);
  out.questions = shrunk->end.runs;
  out.complete = shrunk->end.complete;
  out.before = whole::text_of(shrunk->pair.before);
  out.after = whole::text_of(shrunk->pair.after);
  out.left = {whole::operations_of(shrunk->pair.before), whole::operations_of(shrunk->pair.after)};
  out.validation = shrunk->left;
  return told(out, arguments.out, json);
}

Outcome shrink_with_peer(const Draft& draft, const whole::ValidateOptions& options,
                         const ProgramShrinkArguments& arguments, bool json) {
  const std::string& command = *arguments.peer;
  if (const auto place = quoted_placeholder(command, program_names)) {
    Diagnostic why = about_command(command, "a placeholder stands inside quotes",
                                   {"it is one word by itself: leave the quotes out"});
    why.where = *place;
    return failed(std::move(why));
  }
  if (command.find("{before}") == std::string::npos) {
    return failed(about_command(command, "the command is told no text",
                                {"{before} is the file of the text before the pass"}));
  }
  const Result<Size> runs = runs_of(arguments);
  if (!runs) return failed(runs.error());
  Size seconds = usual_command_seconds;
  if (arguments.peer_timeout) {
    const Result<Size> given = parse_timeout(*arguments.peer_timeout, "--peer-timeout");
    if (!given) return failed(given.error());
    seconds = *given;
  }
  const auto workplace = Workplace::make();
  if (!workplace) return failed(workplace.error());
  const ProgramAsker asker(**workplace, command, seconds, options);
  const Result<Made> first = asker.ask(whole::text_of(draft));
  if (!first) return failed(first.error());
  if (!first->is_fault()) return no_fault(*first, command);
  const auto shrunk = search(asker, draft, *first, *runs);
  if (!shrunk) return failed(shrunk.error());
  return told(*shrunk, arguments.out, json);
}

}  // namespace

std::string ProgramShrinkArguments::complaint() const {
  if (!wanted && (peer || runs || peer_timeout || out)) {
    return "--peer, --runs, --peer-timeout and --out need --shrink";
  }
  if (peer_timeout && !peer) return "--peer-timeout is of the command of --peer";
  return {};
}

Outcome shrink_programs(const ShrunkTexts& texts, const whole::ValidateOptions& options,
                        const ProgramShrinkArguments& arguments, bool json) {
  if (!arguments.peer) return shrink_pair(texts, options, arguments, json);
  const auto draft = draft_of_text(texts.before, texts.before_name);
  if (!draft) return failed(draft.error());
  return shrink_with_peer(*draft, options, arguments, json);
}

}  // namespace retile::cli
