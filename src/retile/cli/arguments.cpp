#include "retile/cli/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/cli/built.h"
#include "retile/cli/common.h"

namespace retile::cli {
namespace {

/// The command line as one line of text, and where each argument stands in it.
struct TypedLine {
  std::string text;
  std::vector<Span> arguments;
};

/// Quotes an argument as a shell needs it.
std::string quoted(std::string_view argument) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-_=+,.:/@%").find(c) != std::string_view::npos;
  };
  if (!argument.empty() && std::all_of(argument.begin(), argument.end(), plain)) {
    return std::string(argument);
  }
  std::string out = "'";
  for (const char c : argument) {
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c;
    }
  }
  return out + "'";
}

TypedLine typed_line(int argc, const char* const* argv) {
  TypedLine line;
  line.text = "retile";
  for (int i = 1; i < argc; ++i) {
    line.text += ' ';
    const std::size_t begin = line.text.size();
    line.text += quoted(argv[i]);
    line.arguments.push_back({begin, line.text.size()});
  }
  return line;
}

Diagnostic usage_error(const TypedLine& line, Span where, std::string message,
                       std::vector<std::string> notes) {
  return {.code = Code::bad_argument,
          .message = std::move(message),
          .input = line.text,
          .where = where,
          .notes = std::move(notes)};
}

/// One sentence without a capital or a trailing dot, whatever the library prints.
std::string one_sentence(std::string text) {
  if (text.rfind("The ", 0) == 0) text[0] = 't';
  std::replace(text.begin(), text.end(), '\n', ' ');
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text;
}

/// Stands for an empty text while CLI11 has it: that library takes `--mesh=` as `--mesh` with the
/// next argument as its value, and drops empty positionals.
constexpr std::string_view empty_mark = "\x01";

/// argv without the program's name, as CLI11 wants it: last argument first.
std::vector<std::string> for_library(int argc, const char* const* argv) {
  std::vector<std::string> arguments;
  for (int i = argc - 1; i >= 1; --i) {
    std::string argument = argv[i];
    const bool empty_value =
        argument.rfind("--", 0) == 0 && argument.find('=') == argument.size() - 1;
    if (argument.empty() || empty_value) argument += empty_mark;
    arguments.push_back(std::move(argument));
  }
  return arguments;
}

/// Takes options down for CLI11.
class LibraryOptions final : public OptionList {
 public:
  explicit LibraryOptions(CLI::App& app) : app_(app) {}
  void text(const std::string& name, std::optional<std::string>& target, const std::string& help,
            const std::string& type) override {
    // One std::string each: a vector option would split `[3{x}12,2{y}12]` at its comma.
    app_.add_option_function<std::string>(
            name,
            [&target](const std::string& text) {
              target = text == empty_mark ? std::string() : text;
            },
            help)
        ->type_name(type);
  }
  void flag(const std::string& name, bool& target, const std::string& help) override {
    app_.add_flag(name, target, help);
  }

 private:
  CLI::App& app_;
};

constexpr const char* main_footer = R"(
A mesh is written x:4,y:6. A type lists its dimensions as tile{axes}global, axes minor to major;
12 means 12{}12. Results go to stdout, words for people to stderr.

Exit codes:
  0  yes
  1  the answer is no: wrong, or over the limit
  2  the input cannot be read
  3  undecided: a limit was reached
  4  the environment failed: MPI, a process, a file that cannot be written

Examples:
  retile plan --mesh devs:32 '[32, 64{devs}2048]' '[1{devs}32, 2048]'
  retile lower --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]' | retile check
  retile prove --mesh x:4,y:6 '[3{x}12, 2{y}12]' '[2{y}12, 3{x}12]'
  retile run --mesh a:2,b:2 '[8{a}16, 16]' '[16, 4{b,a}16]'

`retile VERB --help` says more about a verb.)";

std::string version_text() {
  std::string text = "retile " RETILE_VERSION " (backends: ";
  if (mpi_is_built) text += "mpi, ";
  if (cuda_is_built) text += "cuda, ";
  return text + "sim)\n";
}

/// The diagnostic for what CLI11 refused. It names arguments in its message; the caret goes to the
/// first of them, or to the end of the line where something is missing.
Diagnostic from_library(const CLI::ParseError& error, const TypedLine& line, int argc,
                        const char* const* argv, const Verb* verb) {
  const std::string help_command = verb != nullptr ? "retile " + verb->name() : "retile";
  const std::string message = error.what();
  Span where = {line.text.size(), line.text.size()};
  const auto is_boundary = [&](std::size_t position) {
    return position >= message.size() || message[position] == ' ' || message[position] == ':' ||
           message[position] == '\n';
  };
  for (int i = 1; i < argc; ++i) {
    std::string argument = argv[i];
    // `--json=x` is called `--json` in messages.
    if (argument.rfind("--", 0) == 0) argument = argument.substr(0, argument.find('='));
    if (argument.empty()) continue;
    const std::size_t found = message.find(argument);
    if (found == std::string::npos || (found > 0 && message[found - 1] != ' ') ||
        !is_boundary(found + argument.size())) {
      continue;
    }
    where = line.arguments[static_cast<std::size_t>(i - 1)];
    break;
  }
  std::vector<std::string> notes = {
      fmt::format("`{} --help` lists what can be said", help_command)};
  const bool is_too_many = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr &&
                           where.begin < line.text.size() && line.text[where.begin] != '-';
  if (verb != nullptr && is_too_many && !verb->where_too_many().empty()) {
    notes.insert(notes.begin(), verb->where_too_many());
  }
  return usage_error(line, where, one_sentence(message), std::move(notes));
}

/// A verb and what CLI11 has of it.
struct Known {
  std::unique_ptr<Verb> verb;
  CLI::App* app = nullptr;
};

std::vector<std::unique_ptr<Verb>> verbs_of(const Engines& engines) {
  std::vector<std::unique_ptr<Verb>> out;
  for (const auto make : {make_plan_verb, make_lower_verb, make_check_verb, make_validate_verb}) {
    out.push_back(make());
  }
  for (const auto make : {make_prove_verb, make_run_verb}) out.push_back(make(engines));
  for (const auto make : {make_convert_verb, make_explain_verb, make_grad_verb, make_partition_verb,
                          make_rewrite_verb}) {
    out.push_back(make());
  }
  return out;
}

std::vector<Known> known_verbs(CLI::App& app, const Engines& engines) {
  std::vector<Known> out;
  for (std::unique_ptr<Verb>& verb : verbs_of(engines)) {
    Known known{.verb = std::move(verb)};
    known.app = app.add_subcommand(known.verb->name(), known.verb->summary());
    LibraryOptions options(*known.app);
    known.verb->add_options(options);
    known.app->footer(known.verb->footer());
    out.push_back(std::move(known));
  }
  return out;
}

/// The verb that was typed, or null.
Known* chosen(std::vector<Known>& verbs) {
  const auto found = std::find_if(verbs.begin(), verbs.end(),
                                  [](const Known& known) { return known.app->parsed(); });
  return found == verbs.end() ? nullptr : &*found;
}

/// "plan, lower and check", of all verbs.
std::string names_of(const std::vector<Known>& verbs) {
  std::string out;
  for (std::size_t i = 0; i < verbs.size(); ++i) {
    if (i > 0) out += i + 1 == verbs.size() ? " and " : ", ";
    out += verbs[i].verb->name();
  }
  return out;
}

/// What is wrong with options that were read.
std::optional<Diagnostic> complaint_of(Known* known, const std::vector<Known>& verbs,
                                       const TypedLine& line) {
  const Span end = {line.text.size(), line.text.size()};
  if (known == nullptr) {
    return usage_error(
        line, end, "a verb is missing",
        {fmt::format("the verbs are {}; `retile --help` says more", names_of(verbs))});
  }
  auto complaint = known->verb->settle();
  if (!complaint) return std::nullopt;
  if (complaint->notes.empty()) {
    complaint->notes = {fmt::format("`retile {} --help` shows examples", known->verb->name())};
  }
  return usage_error(line, end, std::move(complaint->message), std::move(complaint->notes));
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, const char* const* argv, const Engines& engines) {
  const TypedLine line = typed_line(argc, argv);

  CLI::App app("Plans, checks, proves and runs redistributions of distributed arrays.", "retile");
  app.set_help_flag("-h,--help", "print this help");
  app.set_version_flag("--version", version_text());
  app.footer(main_footer);
  app.require_subcommand(0, 1);
  std::vector<Known> verbs = known_verbs(app, engines);
  std::optional<std::string> color_text;
  LimitArguments limits;
  LibraryOptions(app).text("--color", color_text, "auto, always or never", "WHEN");
  for (Known& known : verbs) {
    LibraryOptions options(*known.app);
    limits.add_options(options, known.verb->usual_timeout(), known.verb->without_timeout());
    options.text("--color", color_text, "auto, always or never", "WHEN");
  }

  CommandLine out;
  try {
    app.parse(for_library(argc, argv));
  } catch (const CLI::CallForHelp&) {
    const Known* known = chosen(verbs);
    out.information = known != nullptr ? known->app->help("retile") : app.help();
    return out;
  } catch (const CLI::CallForVersion&) {
    out.information = version_text();
    return out;
  } catch (const CLI::ParseError& error) {
    const Known* known = chosen(verbs);
    return refuse(
        from_library(error, line, argc, argv, known != nullptr ? known->verb.get() : nullptr));
  }
  if (color_text) {
    const auto choice = parse_choice(*color_text, "--color", {"auto", "always", "never"});
    if (!choice) return refuse(choice.error());
    out.color = static_cast<Color>(*choice);
  }
  Known* const known = chosen(verbs);
  if (auto complaint = complaint_of(known, verbs, line)) return refuse(std::move(*complaint));
  auto read = limits.read(known->verb->usual_timeout());
  if (!read) return refuse(std::move(read.error()));
  out.limits = *std::move(read);
  out.verb = std::move(known->verb);
  return out;
}

}  // namespace retile::cli
