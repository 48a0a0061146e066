#include "retile/cli/validate_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "retile/cli/caller.h"
#include "retile/cli/json.h"
#include "retile/cli/limits.h"
#include "retile/cli/progress.h"
#include "retile/report/folder.h"
#include "retile/report/validation.h"
#include "retile/whole/folder.h"

namespace retile::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* how_to_dump =
    "XLA prints them with xla_dump_to=DIR and xla_dump_hlo_pass_re=spmd.* (.* for all passes)";
constexpr const char* no_cached_dump =
    "JAX prints no text from around the partitioner of a program in its persistent cache";
constexpr const char* only_protobufs =
    "the folder has protobufs: without xla_dump_hlo_as_proto XLA dumps texts";
constexpr const char* how_to_take_passes = "--passes compares the texts that are here";

/// The names of a folder's files.
/// \error file_error
Result<std::vector<std::string>> files_of(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> out;
  fs::directory_iterator at(folder, failed);
  for (; !failed && at != fs::directory_iterator(); at.increment(failed)) {
    out.push_back(at->path().filename().string());
  }
  if (failed) {
    return refuse(about_argument(Code::file_error, "BEFORE", folder,
                                 fmt::format("cannot read the folder: {}", failed.message())));
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// Whether what moves was found of all that was read.
Exit exit_of_movements(const std::vector<whole::JudgedModule>& modules) {
  for (const whole::JudgedModule& module : modules) {
    for (const whole::JudgedPair& pair : module.pairs) {
      if (!pair.validation || !pair.validation->movement) return Exit::undecided;
    }
  }
  return Exit::yes;
}

Exit exit_of_answers(const std::vector<whole::JudgedModule>& modules) {
  Exit out = Exit::yes;
  for (const whole::JudgedModule& module : modules) {
    if (!module.missing.empty()) continue;  // such as what runs on one device
    const whole::Answer answer = module.answer();
    if (answer == whole::Answer::wrong) return Exit::no;
    if (answer == whole::Answer::undecided) out = Exit::undecided;
  }
  return out;
}

/// What may help where a folder has nothing to judge.
std::vector<std::string> notes_on_folder(const std::vector<std::string>& files,
                                         const std::vector<whole::JudgedModule>& modules,
                                         bool by_passes) {
  std::vector<std::string> out = {how_to_dump, no_cached_dump};
  const bool has_passes = std::any_of(modules.begin(), modules.end(),
                                      [](const auto& module) { return module.texts > 1; });
  if (has_passes && !by_passes) out.emplace_back(how_to_take_passes);
  const bool has_protobufs = std::any_of(files.begin(), files.end(), [](const std::string& file) {
    return fs::path(file).extension() == ".pb";
  });
  if (modules.empty() && has_protobufs) out.emplace_back(only_protobufs);
  return out;
}

/// Where nothing was judged, what is missing, or the refusals themselves.
Outcome nothing_judged(const FolderArguments& arguments, const std::vector<std::string>& files,
                       const std::vector<whole::JudgedModule>& modules) {
  Outcome out{.exit = Exit::usage};
  for (const whole::JudgedModule& module : modules) {
    for (const whole::JudgedPair& pair : module.pairs) {
      if (!pair.refused) continue;
      out.problems.push_back(*pair.refused);
      std::string& source = out.problems.back().source;
      if (!source.empty()) source = (fs::path(arguments.folder) / source).string();
    }
  }
  if (!out.problems.empty()) return out;
  std::string message = "no text of XLA's passes is in this folder";
  if (!modules.empty()) {
    message = fmt::format("{}: {}", modules.front().name, modules.front().missing);
  }
  return failed(about_argument(Code::bad_argument, "BEFORE", arguments.folder, message,
                               notes_on_folder(files, modules, arguments.by_passes)));
}

}  // namespace

bool is_folder(const std::string& path) {
  std::error_code failed;
  return text_of_caller(path) == nullptr && fs::is_directory(path, failed);
}

bool exists(const std::string& path) {
  std::error_code failed;
  return path == "-" || text_of_caller(path) != nullptr || fs::exists(path, failed);
}

bool is_file(const std::string& path) {
  std::error_code failed;
  return text_of_caller(path) != nullptr || fs::is_regular_file(path, failed);
}

std::string name_of_source(const std::string& path) { return path == "-" ? "stdin" : path; }

Outcome validate_pair(const std::string& before, const std::string& after, bool as_json,
                      const whole::ValidateOptions& options, std::optional<emit::Form> form) {
  const auto first = read_text(before, "BEFORE");
  if (!first) return failed(first.error());
  const auto second = read_text(after, "AFTER");
  if (!second) return failed(second.error());
  const auto validation =
      whole::validate(*first, name_of_source(before), *second, name_of_source(after), options);
  if (!validation) return failed(validation.error());
  Outcome out;
  if (validation->answer == whole::Answer::wrong) out.exit = Exit::no;
  if (validation->answer == whole::Answer::undecided) out.exit = Exit::undecided;
  if (!options.judges && validation->movement) out.exit = Exit::yes;
  add_answer(
      out, as_json, [&] { return line_of(report::json_of(*validation, form)); },
      [&] { return report::text_of(*validation, form); });
  return out;
}

Outcome validate_folder(const FolderArguments& arguments, const whole::ValidateOptions& options) {
  const auto files = files_of(arguments.folder);
  if (!files) return failed(files.error());
  const std::vector<whole::DumpedModule> dumped = whole::dumped_modules(*files);
  std::vector<whole::JudgedModule> modules;
  Progress progress(stderr_of_this());
  Size texts = 0;  // of the module at hand that were read
  const auto read = [&](const std::string& file) {
    const whole::DumpedModule& module = dumped[modules.size()];
    if (arguments.by_passes) {
      progress.update("text", texts++, static_cast<Size>(module.texts.size()), module.name);
    }
    return read_text((fs::path(arguments.folder) / file).string(), "BEFORE");
  };
  const auto validate = [&](const std::string& before, const whole::Dump& first,
                            const std::string& after, const whole::Dump& second) {
    whole::ValidateOptions now = options;
    now.timeout_seconds = time_limit().seconds_left();
    return whole::validate(before, first.file, after, second.file, now);
  };
  Outcome out;
  bool is_judged = false;
  for (const whole::DumpedModule& module : dumped) {
    texts = 0;
    if (!arguments.by_passes) {
      progress.update("module", static_cast<Size>(modules.size()), static_cast<Size>(dumped.size()),
                      module.name);
    }
    modules.push_back(arguments.by_passes
                          ? whole::judged_by_passes(module, read, validate)
                          : whole::judged_around_partitioner(module, read, validate));
    const whole::JudgedModule& judged = modules.back();
    is_judged = is_judged || judged.is_judged();
    if (!arguments.json) {
      out.out += arguments.by_passes ? report::passes_text_of(judged)
                                     : report::text_of(judged, arguments.form);
    } else {
      for (const Json& pair : report::json_of(judged, arguments.form)) out.out += line_of(pair);
    }
  }
  if (!is_judged) return nothing_judged(arguments, *files, modules);
  if (!arguments.json && options.judges) out.out += report::summary_text_of(modules);
  out.exit = options.judges ? exit_of_answers(modules) : exit_of_movements(modules);
  return out;
}

Outcome shrink_folder(const FolderArguments& arguments, const whole::ValidateOptions& options,
                      const ProgramShrinkArguments& shrink) {
  const auto files = files_of(arguments.folder);
  if (!files) return failed(files.error());
  std::optional<ShrunkTexts> wrong;
  const auto read = [&](const std::string& file) {
    return read_text((fs::path(arguments.folder) / file).string(), "BEFORE");
  };
  const auto validate = [&](const std::string& before, const whole::Dump& first,
                            const std::string& after, const whole::Dump& second) {
    whole::ValidateOptions now = options;
    now.timeout_seconds = time_limit().seconds_left();
    now.blames = false;
    auto out = whole::validate(before, first.file, after, second.file, now);
    if (out && out->answer == whole::Answer::wrong && !wrong) {
      wrong = ShrunkTexts{before, first.file, after, second.file};
    }
    return out;
  };
  for (const whole::DumpedModule& module : whole::dumped_modules(*files)) {
    if (arguments.by_passes) {
      static_cast<void>(whole::judged_by_passes(module, read, validate));
    } else {
      static_cast<void>(whole::judged_around_partitioner(module, read, validate));
    }
    if (wrong) return shrink_programs(*wrong, options, shrink, arguments.json);
  }
  Outcome out = validate_folder(arguments, options);
  out.words = "note: nothing is wrong that could be made smaller\n";
  return out;
}

Outcome explain_programs(const std::string& before, const std::optional<std::string>& after,
                         bool as_json, std::optional<emit::Form> form) {
  whole::ValidateOptions options;
  options.judges = false;
  options.explains = true;
  options.timeout_seconds = time_limit().seconds_left();
  options.most_bytes = memory_limit() / 2;  // the other half is for texts and what is read of them
  if (after) return validate_pair(before, *after, as_json, options, form);
  return validate_folder({before, false, as_json, form}, options);
}

}  // namespace retile::cli
