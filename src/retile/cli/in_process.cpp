#include "retile/cli/in_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>

#include "retile/cli/printed.h"
#include "retile/cli/verb.h"
#include "retile/notation/sharding.h"
#include "retile/text/words.h"

namespace retile::cli {
namespace {

/// What programs may ask for here. The others start processes or solvers.
struct Offered {
  std::string_view name;
  std::unique_ptr<Verb> (*make)();
};
constexpr std::array<Offered, 8> offered_verbs = {{{"plan", make_plan_verb},
                                                   {"lower", make_lower_verb},
                                                   {"check", make_check_verb},
                                                   {"validate", make_validate_verb},
                                                   {"explain", make_explain_verb},
                                                   {"convert", make_convert_verb},
                                                   {"grad", make_grad_verb},
                                                   {"partition", make_partition_verb}}};

/// Options that start commands of somebody.
constexpr std::array<std::string_view, 2> withheld_options = {"--shrink", "--peer"};

/// Takes what a call says into a verb, in the place of a command line.
class OptionsOfCall final : public OptionList {
 public:
  explicit OptionsOfCall(const Call& call) : call_(call), taken_(call.options.size(), false) {}

  void text(const std::string& name, std::optional<std::string>& target, const std::string&,
            const std::string&) override {
    if (const std::string* const value = find(name)) target = *value;
  }
  void flag(const std::string& name, bool& target, const std::string&) override {
    target = find(name) != nullptr;
  }

  /// The first name that the verb does not have, or had already.
  [[nodiscard]] const std::string* unknown() const {
    const auto left = std::find(taken_.begin(), taken_.end(), false);
    if (left == taken_.end()) return nullptr;
    return &call_.options[static_cast<std::size_t>(left - taken_.begin())].first;
  }

 private:
  const std::string* find(const std::string& name) {
    const auto withheld = std::find(withheld_options.begin(), withheld_options.end(), name);
    if (withheld != withheld_options.end()) return nullptr;
    for (std::size_t i = 0; i < taken_.size(); ++i) {
      if (taken_[i] || call_.options[i].first != name) continue;
      taken_[i] = true;
      return &call_.options[i].second;
    }
    return nullptr;
  }

  const Call& call_;
  std::vector<bool> taken_;
};

/// `memory_limit` for `--memory-limit`.
std::string keyword_of(std::string_view option) {
  if (option == "FROM") return "src";
  if (option == "TO") return "dst";
  if (option.starts_with("--")) option.remove_prefix(2);
  std::string out(option);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

/// A text in which options are called as keyword arguments are.
std::string with_keywords(std::string_view text) {
  const auto is_part = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
  std::string out;
  while (!text.empty()) {
    std::size_t begin = text.find("--");
    // Within a word, and in a rule of many dashes, they are no option.
    while (begin != std::string_view::npos &&
           ((begin > 0 && text[begin - 1] != ' ') || begin + 2 >= text.size() ||
            !is_part(text[begin + 2]) || text[begin + 2] == '-')) {
      begin = text.find("--", begin + 2);
    }
    if (begin == std::string_view::npos) break;
    std::size_t end = begin + 2;
    while (end < text.size() && is_part(text[end])) ++end;
    out.append(text.substr(0, begin)).append(keyword_of(text.substr(begin, end - begin)));
    text.remove_prefix(end);
  }
  return out.append(text);
}

Diagnostic for_programs(Diagnostic diagnostic) {
  if (diagnostic.source.starts_with("--") || diagnostic.source == "FROM" ||
      diagnostic.source == "TO") {
    diagnostic.source = keyword_of(diagnostic.source);
  }
  diagnostic.message = with_keywords(diagnostic.message);
  for (std::string& note : diagnostic.notes) note = with_keywords(note);
  return diagnostic;
}

Outcome for_programs(Outcome outcome) {
  for (Diagnostic& problem : outcome.problems) problem = for_programs(std::move(problem));
  return outcome;
}

Outcome unknown_verb(std::string_view verb) {
  std::vector<std::string> names;
  for (const Offered& offered : offered_verbs) names.emplace_back(offered.name);
  return failed(about_argument(Code::unsupported, "verb", verb,
                               "not a verb that is done in process",
                               {"those are " + text::enumerate(names, "and", names.size())}));
}

Outcome done(const Call& call) {
  const auto offered = std::find_if(offered_verbs.begin(), offered_verbs.end(),
                                    [&](const Offered& one) { return one.name == call.verb; });
  if (offered == offered_verbs.end()) return unknown_verb(call.verb);
  const std::unique_ptr<Verb> verb = offered->make();
  OptionsOfCall options(call);
  verb->add_options(options);
  if (const std::string* const unknown = options.unknown()) {
    return failed(about_argument(Code::bad_argument, "", *unknown,
                                 fmt::format("{} has no such option", call.verb)));
  }
  if (auto complaint = verb->settle()) {
    return failed({.code = Code::bad_argument,
                   .message = std::move(complaint->message),
                   .input = std::string(call.verb),
                   .where = {0, call.verb.size()},
                   .notes = std::move(complaint->notes)});
  }
  return verb->work();
}

Result<DeviceBoxes> boxes_in(const Call& call) {
  ShardingArguments arguments;
  OptionsOfCall options(call);
  options.text("--mesh", arguments.mesh, "", "");
  options.text("--order", arguments.order, "", "");
  options.text("--shape", arguments.shape, "", "");
  options.text("FROM", arguments.from, "", "");
  if (options.unknown() != nullptr || !arguments.from) {
    return refuse(Code::bad_argument, "boxes are of one sharding");
  }
  const auto sharding = arguments.read(false);
  if (!sharding) return refuse(sharding.error());
  const Layout& layout = sharding->layout;
  if (const auto few = check_listed(layout.devices(), 2 * std::max<std::size_t>(layout.rank(), 1));
      !few) {
    return refuse(about_argument(few.error().code, "FROM", *arguments.from, few.error().message));
  }
  if (!layout.in_boxes()) {
    return refuse(about_argument(Code::unsupported, "FROM", *arguments.from,
                                 "a device holds several boxes, as blocks are dealt out"));
  }
  return DeviceBoxes{.rank = layout.rank(), .boxes = layout.boxes()};
}

/// The call's own copy of its caller, whose time begins now.
Caller beginning(const Call& call) {
  Caller out = call.caller;
  if (out.seconds) out.deadline = Deadline::in(static_cast<double>(*out.seconds));
  return out;
}

}  // namespace

Outcome call(const Call& call) {
  const Caller caller = beginning(call);
  const CalledBy called(caller);
  return for_programs(done(call));
}

Result<DeviceBoxes> boxes_of(const Call& call) {
  const Caller caller = beginning(call);
  const CalledBy called(caller);
  return boxes_in(call).map_error([](Diagnostic it) { return for_programs(std::move(it)); });
}

std::string rendered(const Diagnostic& diagnostic) { return harmless(render(pointed(diagnostic))); }

}  // namespace retile::cli
