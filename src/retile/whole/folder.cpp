#include "retile/whole/folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "retile/core/names.h"

namespace retile::whole {
namespace {

constexpr std::string_view partitioner = "spmd-partitioning";
constexpr std::string_view unoptimised = "before_optimizations";
constexpr std::string_view optimised = "after_optimizations";

using Words = std::vector<std::string>;

Words split(std::string_view text) {
  Words out;
  while (true) {
    const std::size_t dot = text.find('.');
    out.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) return out;
    text.remove_prefix(dot + 1);
  }
}

bool is_number(std::string_view word) {
  return !word.empty() && std::all_of(word.begin(), word.end(), is_digit);
}
bool begins(std::string_view word, std::string_view with) { return word.rfind(with, 0) == 0; }
bool ends(std::string_view word, std::string_view with) {
  return word.size() >= with.size() && word.substr(word.size() - with.size()) == with;
}
std::string joined(const Words& words, std::size_t begin, std::size_t end) {
  return fmt::format("{}", fmt::join(words.begin() + static_cast<std::ptrdiff_t>(begin),
                                     words.begin() + static_cast<std::ptrdiff_t>(end), "."));
}

/// A text with its module and what it is sorted by.
struct Placed {
  std::string module;
  std::pair<int, std::string> order;  ///< before all passes, of a pass, behind all; its number
  Dump dump;
};

/// `module_0000.jit_f.0003.PIPELINE.after_X.before_Y`, from the word behind `module_0000` on.
std::optional<Placed> placed_pass(const Words& words, std::size_t first) {
  std::size_t after = words.size();
  for (std::size_t k = first + 1; k < words.size() && after == words.size(); ++k) {
    if (begins(words[k], "after_")) after = k;
  }
  if (after == words.size()) return std::nullopt;
  std::size_t number = after;
  for (std::size_t k = first + 1; k < after && number == after; ++k) {
    if (words[k].size() >= 4 && is_number(words[k])) number = k;
  }
  if (number == after) return std::nullopt;
  std::size_t before = after + 1;
  while (before < words.size() && !begins(words[before], "before_")) ++before;
  Placed out{.module = joined(words, first, number), .order = {1, words[number]}, .dump = {}};
  out.dump.pipeline = joined(words, number + 1, after);
  out.dump.after = joined(words, after, before).substr(std::string_view("after_").size());
  if (before < words.size()) {
    out.dump.before =
        joined(words, before, words.size()).substr(std::string_view("before_").size());
  }
  return out;
}

/// The texts before and after all passes, `module_0000.jit_f.sm_9.0_gpu_after_optimizations`.
std::optional<Placed> placed_end(const Words& words, std::size_t first) {
  const std::string& last = words.back();
  std::size_t end = words.size() - 1;
  if (last == unoptimised && end > first) {
    return Placed{.module = joined(words, first, end),
                  .order = {0, ""},
                  .dump = {.file = {}, .after = {}, .before = "optimizations"}};
  }
  if (!ends(last, optimised)) return std::nullopt;
  if (is_digit(last.front()) && end > first + 1 && begins(words[end - 1], "sm_")) --end;
  if (end <= first) return std::nullopt;
  return Placed{.module = joined(words, first, end),
                .order = {2, ""},
                .dump = {.file = {}, .after = "optimizations"}};
}

std::optional<Placed> placed(const std::string& file) {
  Words words = split(file);
  if (words.size() < 3 || (words.back() != "txt" && words.back() != "hlo")) return std::nullopt;
  words.pop_back();
  const std::size_t first = is_number(words[0]) ? 1 : 0;  // with xla_dump_include_timestamp
  constexpr std::string_view prefix = "module_";
  if (!begins(words[first], prefix) || !is_number(words[first].substr(prefix.size()))) {
    return std::nullopt;
  }
  if (words.size() < first + 3) return std::nullopt;
  std::optional<Placed> out = placed_pass(words, first + 1);
  if (!out) out = placed_end(words, first + 1);
  if (!out) return std::nullopt;
  out->module = joined(words, 0, first + 1) + " " + out->module;
  out->dump.file = file;
  return out;
}

/// Whose work lies between two texts.
std::string pass_between(const Dump& before, const Dump& after) {
  if (after.after == "pipeline-start") return fmt::format("the start of {}", after.pipeline);
  if (after.after == "optimizations" && before.before == "optimizations") return "optimizations";
  if (after.after == "optimizations") return "what follows the last pass";
  return after.after;
}

/// The texts right before and right after the partitioner, if both are there.
std::optional<std::pair<Dump, Dump>> around_partitioner(const DumpedModule& module) {
  const auto& texts = module.texts;
  const auto before = std::find_if(texts.begin(), texts.end(),
                                   [](const Dump& one) { return one.before == partitioner; });
  const auto after =
      std::find_if(before, texts.end(), [](const Dump& one) { return one.after == partitioner; });
  if (after == texts.end()) return std::nullopt;
  return std::pair(*before, *after);
}
std::optional<std::pair<Dump, Dump>> around_all(const DumpedModule& module) {
  if (module.texts.size() < 2) return std::nullopt;
  const Dump& first = module.texts.front();
  const Dump& last = module.texts.back();
  if (first.before != "optimizations" || last.after != "optimizations") return std::nullopt;
  return std::pair(first, last);
}

/// Any of the passes since the last text that was read may be the one.
std::string passes_between(const Dump& before, const std::vector<Dump>& unread, const Dump& after) {
  if (unread.empty()) return pass_between(before, after);
  constexpr std::size_t most = 3;
  std::vector<std::string> passes;
  Dump last = before;
  for (const Dump& one : unread) {
    passes.push_back(pass_between(last, one));
    last = one;
  }
  passes.push_back(pass_between(last, after));
  if (passes.size() <= most) return fmt::format("{}", fmt::join(passes, " or "));
  return fmt::format("one of {} passes, {} to {}", passes.size(), passes.front(), passes.back());
}

JudgedPair refused_pair(const Dump& before, const Dump& after, Diagnostic refused) {
  return {.before = before,
          .after = after,
          .pass = pass_between(before, after),
          .validation = std::nullopt,
          .refused = std::move(refused)};
}
JudgedPair judged_pair(const Dump& first, const std::string& before, const Dump& second,
                       const std::string& after, const ValidatePair& validate) {
  auto validation = validate(before, first, after, second);
  if (!validation) return refused_pair(first, second, validation.error());
  return {.before = first,
          .after = second,
          .pass = pass_between(first, second),
          .validation = *std::move(validation),
          .refused = std::nullopt};
}
/// By itself, so that a text that is not read is known from a pair that does not go together.
Result<std::string> readable_text(const Dump& dump, const ReadDump& read) {
  auto text = read(dump.file);
  if (!text) return text;
  if (const auto module = readable(*text, dump.file); !module) return refuse(module.error());
  return text;
}

}  // namespace

std::vector<DumpedModule> dumped_modules(const std::vector<std::string>& files) {
  std::map<std::string, std::vector<Placed>> by_module;
  for (const std::string& file : files) {
    if (auto one = placed(file)) by_module[one->module].push_back(*std::move(one));
  }
  std::vector<DumpedModule> out;
  for (auto& [name, texts] : by_module) {
    std::stable_sort(texts.begin(), texts.end(), [](const Placed& a, const Placed& b) {
      return std::tuple(a.order.first, a.order.second.size(), a.order.second) <
             std::tuple(b.order.first, b.order.second.size(), b.order.second);
    });
    DumpedModule module{.name = name, .texts = {}};
    for (Placed& text : texts) module.texts.push_back(std::move(text.dump));
    out.push_back(std::move(module));
  }
  return out;
}

Answer JudgedModule::answer() const {
  bool is_right = missing.empty() && has_ends;
  for (const JudgedPair& pair : pairs) {
    if (!pair.validation) continue;
    if (pair.validation->answer == Answer::wrong) return Answer::wrong;
    is_right = is_right && pair.validation->answer == Answer::right;
  }
  return is_right ? Answer::right : Answer::undecided;
}

bool JudgedModule::is_judged() const {
  return equal > 0 || std::any_of(pairs.begin(), pairs.end(), [](const JudgedPair& pair) {
           return pair.validation.has_value();
         });
}

JudgedModule judged_around_partitioner(const DumpedModule& module, const ReadDump& read,
                                       const ValidatePair& validate) {
  JudgedModule out{.name = module.name, .texts = module.texts.size(), .missing = {}, .pairs = {}};
  std::optional<std::pair<Dump, Dump>> ends = around_partitioner(module);
  if (!ends) ends = around_all(module);
  if (!ends) {
    const auto has = [&](auto which) {
      return std::any_of(module.texts.begin(), module.texts.end(), which);
    };
    const bool has_before = has([](const Dump& one) { return one.before == partitioner; });
    out.missing = fmt::format("no text {}_{}", has_before ? "after" : "before", partitioner);
    return out;
  }
  const auto before = read(ends->first.file);
  const auto after = read(ends->second.file);
  if (!before || !after) {
    out.pairs.push_back(
        refused_pair(ends->first, ends->second, before ? after.error() : before.error()));
  } else {
    out.pairs.push_back(judged_pair(ends->first, *before, ends->second, *after, validate));
  }
  out.has_ends = out.pairs.back().validation.has_value();
  return out;
}

JudgedModule judged_by_passes(const DumpedModule& module, const ReadDump& read,
                              const ValidatePair& validate) {
  JudgedModule out{.name = module.name, .texts = module.texts.size(), .missing = {}, .pairs = {}};
  if (module.texts.size() < 2) out.missing = "a single text";
  std::optional<std::string> last;  // the last text that was read
  Dump last_dump;
  std::vector<Dump> unread;  // since then
  bool has_first = false;
  for (const Dump& dump : module.texts) {
    Result<std::string> text = readable_text(dump, read);
    if (!text) {
      out.pairs.push_back(refused_pair(last_dump, dump, text.error()));
    } else if (last && *text != *last) {
      out.pairs.push_back(judged_pair(last_dump, *last, dump, *text, validate));
      out.pairs.back().pass = passes_between(last_dump, unread, dump);
    } else if (last) {
      ++out.equal;
    }
    const bool is_equal = text && last && *text == *last;
    const bool is_read = text && (!last || is_equal || out.pairs.back().validation);
    if (&dump == &module.texts.front()) has_first = is_read;
    out.has_ends = has_first && is_read;
    if (out.answer() == Answer::wrong) return out;
    if (!is_read) {
      unread.push_back(dump);
      continue;
    }
    last = *std::move(text);
    last_dump = dump;
    unread.clear();
  }
  return out;
}

}  // namespace retile::whole
