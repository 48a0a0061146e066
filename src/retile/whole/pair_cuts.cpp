// Where a wrong pair of programs can be cut: at values that both have.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include "retile/core/deadline.h"
#include "retile/notation/sharding.h"
#include "retile/whole/alike.h"
#include "retile/whole/pair.h"
#include "retile/whole/tiling.h"

namespace retile::whole {
namespace {

using Values = std::set<std::string>;

/// Which value of an entry is made of which. A part of a tuple is `x#1`, whoever takes it.
class PairGraph {
 public:
  explicit PairGraph(const Draft& draft) : entry_(draft.entry()) {
    for (std::size_t k = 0; k < entry_.body.size(); ++k) by_name_.emplace(entry_.body[k].name, k);
  }

  [[nodiscard]] std::string value(const std::string& operand) const {
    const DraftInstruction* one = maker(operand);
    const bool is_part = one != nullptr && one->opcode == "get-tuple-element" &&
                         operand.find('#') == std::string::npos && one->operands.size() == 1 &&
                         one->operands.front().find('#') == std::string::npos;
    if (!is_part) return operand;
    return fmt::format("{}#{}", one->operands.front(), one->attribute("index"));
  }
  [[nodiscard]] const DraftInstruction* maker(std::string_view value) const {
    const auto found = by_name_.find(name_in(value));
    return found == by_name_.end() ? nullptr : &entry_.body[found->second];
  }
  [[nodiscard]] std::size_t order(std::string_view value) const {
    const auto found = by_name_.find(name_in(value));
    return found == by_name_.end() ? entry_.body.size() : found->second;
  }
  /// `f32[4,8]`; nothing where it is no array.
  [[nodiscard]] std::string type(const std::string& value) const {
    const DraftInstruction* one = maker(value);
    if (one == nullptr) return {};
    const std::size_t at = value.find('#');
    if (at == std::string::npos) return one->is_tuple() ? std::string() : one->type;
    const std::vector<std::string> parts = parts_within(one->type);
    std::size_t part = parts.size();
    std::from_chars(value.data() + at + 1, value.data() + value.size(), part);
    return one->is_tuple() && part < parts.size() ? parts[part] : std::string();
  }
  [[nodiscard]] std::vector<std::string> operands(const std::string& of) const {
    std::vector<std::string> out;
    const DraftInstruction* one = maker(of);
    if (one == nullptr) return out;
    for (const std::string& operand : one->operands) out.push_back(value(operand));
    return out;
  }
  /// Those of `stops` that are met first on the way back from some values.
  [[nodiscard]] Values met(const std::vector<std::string>& from, const Values& stops) const {
    Values out;
    walk(from, [&](const std::string& one) {
      if (!stops.contains(one)) return true;
      out.insert(one);
      return false;
    });
    return out;
  }
  /// Whether a value is made of another one, by the instructions that make them.
  [[nodiscard]] bool is_made_of(std::string_view value, std::string_view other) const {
    const std::size_t at = order(value);
    const std::size_t of = order(other);
    if (at >= entry_.body.size() || of >= at) return false;
    std::vector<bool>& above = above_[at];
    if (above.empty()) {
      above.resize(at + 1, false);
      above[at] = true;
      for (std::size_t k = at + 1; k-- > 0;) {
        if (!above[k]) continue;
        for (const std::string& operand : entry_.body[k].operands) {
          const std::size_t from = order(operand);
          if (from < k) above[from] = true;
        }
      }
    }
    return above[of];
  }

 private:
  /// \param look  says whether to go on behind a value
  template <typename Look>
  void walk(std::vector<std::string> waiting, const Look& look) const {
    std::set<std::string> seen(waiting.begin(), waiting.end());
    while (!waiting.empty()) {
      const std::string one = std::move(waiting.back());
      waiting.pop_back();
      if (!look(one)) continue;
      for (std::string& operand : operands(one)) {
        if (seen.insert(operand).second) waiting.push_back(std::move(operand));
      }
    }
  }

  const DraftComputation& entry_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
  mutable std::map<std::size_t, std::vector<bool>> above_;  // of instructions that were asked for
};

/// A value of both that a parameter can stand for.
struct Beside {
  std::string before;
  std::string after;
  std::vector<Box> boxes = {};
  Shape extents = {};     ///< that these are boxes of
  bool is_given = false;  ///< parameters of one number already
};

bool has_points(const std::string& type) {
  return !type.empty() && (type.front() == 'f' || type.front() == 'b' || type.front() == 'c');
}

using MayBeCut = std::function<bool(const Beside&)>;

/// What a pair of programs is asked for: its result, which differs, and what both have in common.
class Common {
 public:
  Common(const DraftPair& pair, const ValidateOptions& options, bool finds_meant)
      : before_(pair.before),
        after_(pair.after),
        devices_(std::max(devices(pair.before), devices(pair.after))) {
    for (const DraftInstruction& one : pair.before.entry().body) {
      if (!mesh_) mesh_ = mesh_in(one.attribute("sharding"));
    }
    add_parameters(pair);
    const auto found = alike(text_of(pair.before), text_of(pair.after), options, finds_meant);
    if (!found) return;
    for (const Likeness& one : found->values) add(one);
    for (const Likeness& one : found->meant) {
      if (auto place = place_of(one)) meant_.push_back(*std::move(place));
    }
    wrong_ = found->wrong;
  }

  [[nodiscard]] const std::vector<Beside>& places() const { return places_; }
  [[nodiscard]] const std::vector<Beside>& meant() const { return meant_; }
  /// Results that differ.
  [[nodiscard]] const std::vector<std::size_t>& wrong() const { return wrong_; }
  [[nodiscard]] const PairGraph& before() const { return before_; }
  [[nodiscard]] const PairGraph& after() const { return after_; }
  /// Of a value before, on devices that hold these boxes of it; nothing where no sharding says so.
  [[nodiscard]] std::optional<std::string> sharding(const Beside& place) const {
    if (place.is_given || place.boxes.empty()) return std::string();
    auto out = sharding_of(place.extents, place.boxes, mesh_);
    if (!out) return out;
    const Shape whole = extents_of(before_.type(place.before));
    const Shape tile = extents_of(after_.type(place.after));
    if (whole.empty() || *out == "{replicated}") return whole == tile ? out : std::nullopt;
    ShardingContext context;
    context.shape = whole;
    context.devices = devices_;
    const auto read = parse_sharding(*out, context);
    return read && read->layout.tile() == tile ? out : std::nullopt;
  }

 private:
  static Size devices(const Draft& draft) { return draft.replicas * draft.partitions; }
  void add_parameters(const DraftPair& pair) {
    for (const DraftInstruction& one : pair.before.entry().body) {
      if (!one.is_parameter() || one.is_tuple()) continue;
      for (const DraftInstruction& other : pair.after.entry().body) {
        if (!other.is_parameter() || other.inside != one.inside) continue;
        places_.push_back({.before = one.name, .after = other.name, .is_given = true});
      }
    }
  }
  [[nodiscard]] std::optional<Beside> place_of(const Likeness& one) const {
    Beside out{before_.value(one.before), after_.value(one.after), one.boxes, one.extents};
    const std::string type = before_.type(out.before);
    const std::string tile = after_.type(out.after);
    if (type.empty() || tile.empty()) return std::nullopt;
    if (type.substr(0, type.find('[')) != tile.substr(0, tile.find('['))) return std::nullopt;
    return out;
  }
  void add(const Likeness& one) {
    auto place = place_of(one);
    if (!place) return;
    const DraftInstruction* maker = after_.maker(place->after);
    if (maker->opcode == "constant" || maker->is_parameter()) return;
    places_.push_back(*std::move(place));
  }

  PairGraph before_;
  PairGraph after_;
  Size devices_;
  std::optional<MeshWords> mesh_;
  std::vector<Beside> places_;
  std::vector<Beside> meant_;
  std::vector<std::size_t> wrong_;
};

/// The places that are met first on the way back from two results, the same ones in both programs.
class Front {
 public:
  Front(std::shared_ptr<const Common> common, std::string before, std::string after,
        const MayBeCut& may, bool takes_others)
      : common_(std::move(common)),
        before_(std::move(before)),
        after_(std::move(after)),
        takes_others_(takes_others) {
    for (const Beside& one : common_->places()) {
      const bool is_goal = one.after == after_ && (!takes_others_ || one.before == before_);
      if (is_goal || (!one.is_given && !may(one))) continue;
      if (stops_.emplace(one.after, &one).second) holders_[one.before].push_back(&one);
    }
  }

  struct Cut {
    const Beside* place;
    std::string sharding;
  };
  /// What is put in the place of values, with no word of those that stay as they are.
  [[nodiscard]] std::vector<Cut> cuts() {
    while (true) {
      while (drop_doubles() || drop_dependent()) {
      }
      std::vector<Cut> out;
      bool is_said = true;
      for (const Beside* one : chosen()) {
        if (one->is_given) continue;
        auto sharding = common_->sharding(*one);
        if (sharding) {
          out.push_back({one, *std::move(sharding)});
        } else {
          is_said = false;
          drop(one);
        }
      }
      if (is_said) return out;
    }
  }

 private:
  [[nodiscard]] Values met_after() const {
    Values stops;
    for (const auto& [value, place] : stops_) stops.insert(value);
    if (takes_others_) return common_->after().met({after_}, stops);
    return common_->after().met(common_->after().operands(after_), stops);
  }
  [[nodiscard]] Values met_before() const {
    Values stops;
    for (const auto& [value, places] : holders_) stops.insert(value);
    return common_->before().met({before_}, stops);
  }
  void drop(const Beside* place) {
    const std::string after = place->after;
    std::vector<const Beside*>& all = holders_[place->before];
    all.erase(std::remove(all.begin(), all.end(), place), all.end());
    if (all.empty()) holders_.erase(place->before);
    stops_.erase(after);
  }
  /// Of a value before that is met in two layouts, the one that is made first stays.
  bool drop_doubles() {
    std::map<std::string, std::vector<const Beside*>> by_value;
    for (const std::string& value : met_after()) {
      const Beside* place = stops_.at(value);
      by_value[place->before].push_back(place);
    }
    bool out = false;
    for (auto& [value, places] : by_value) {
      std::sort(places.begin(), places.end(), [&](const Beside* a, const Beside* b) {
        return common_->after().order(a->after) < common_->after().order(b->after);
      });
      for (std::size_t k = 1; k < places.size(); ++k) {
        drop(places[k]);
        out = true;
      }
    }
    return out;
  }
  /// Values that only one of the two needs, where one is made of the other: as parameters they would have
  /// nothing to do with each other.
  bool drop_dependent() {
    Values some;
    for (const std::string& value : met_after()) some.insert(stops_.at(value)->before);
    const Values others = met_before();
    Values all = some;
    all.insert(others.begin(), others.end());
    Values bad;
    for (const std::string& one : all) {
      if (some.contains(one) && others.contains(one)) continue;
      for (const std::string& other : all) {
        if (common_->before().is_made_of(one, other)) bad.insert(one);
        if (common_->before().is_made_of(other, one)) bad.insert(other);
      }
    }
    bool out = false;
    for (const std::string& value : bad) {
      const std::vector<const Beside*> places = holders_[value];
      for (const Beside* place : places) {
        if (place->is_given) continue;
        drop(place);
        out = true;
      }
    }
    return out;
  }
  /// Those that are met in either program; of a value that only the one before needs the first holder.
  [[nodiscard]] std::vector<const Beside*> chosen() const {
    std::map<std::string, const Beside*> out;
    for (const std::string& value : met_after())
      out.emplace(stops_.at(value)->before, stops_.at(value));
    for (const std::string& value : met_before()) {
      const std::vector<const Beside*>& places = holders_.at(value);
      out.emplace(value, places.front());
    }
    std::vector<const Beside*> list;
    for (const auto& [value, place] : out) list.push_back(place);
    std::sort(list.begin(), list.end(), [&](const Beside* a, const Beside* b) {
      return common_->before().order(a->before) < common_->before().order(b->before);
    });
    return list;
  }

  std::shared_ptr<const Common> common_;
  std::string before_;
  std::string after_;
  bool takes_others_;
  std::map<std::string, const Beside*> stops_;  // by the value after
  std::map<std::string, std::vector<const Beside*>>
      holders_;  // by that before, in the order of the text
};

std::string fresh_name(const DraftComputation& in, const std::string& like) {
  for (Size k = 1;; ++k) {
    std::string out = fmt::format("{}.{}", like, k);
    std::replace(out.begin(), out.end(), '#', '.');
    if (in.find(out) == nullptr) return out;
  }
}

/// A result that an operation makes of one operand.
DraftInstruction made_of(const DraftComputation& in, std::string opcode, std::string operand,
                         std::string type) {
  DraftInstruction out;
  out.name = fresh_name(in, "result");
  out.type = std::move(type);
  out.opcode = std::move(opcode);
  out.operands.push_back(std::move(operand));
  return out;
}

/// A result that is an argument, too, has two shardings, for which it takes two instructions.
void keep_result_apart(DraftComputation& in) {
  DraftInstruction copy = made_of(in, "copy", in.root().name, in.root().type);
  copy.is_root = true;
  const std::string sharding(in.root().attribute("sharding"));
  if (!sharding.empty()) copy.set("sharding", sharding);
  in.root().is_root = false;
  in.body.push_back(std::move(copy));
}

/// A value in the place of which a parameter is put.
struct Argument {
  std::string value;
  std::string sharding;  ///< none: nothing is said
};

/// \param number  of the first parameter
void put_parameters(Draft& draft, const std::vector<Argument>& arguments, Size number) {
  DraftComputation& in = draft.entry();
  const PairGraph graph(draft);
  std::map<std::string, std::string> names;
  std::multimap<std::size_t, DraftInstruction> made;  // by where they stand
  for (const Argument& one : arguments) {
    DraftInstruction parameter;
    parameter.name = fresh_name(in, one.value);
    parameter.type = graph.type(one.value);
    parameter.opcode = "parameter";
    parameter.inside = std::to_string(number++);
    if (!one.sharding.empty()) parameter.set("sharding", one.sharding);
    names.emplace(one.value, parameter.name);
    made.emplace(graph.order(one.value), std::move(parameter));
  }
  if (names.contains(graph.value(in.root().name))) keep_result_apart(in);
  for (DraftInstruction& one : in.body) {
    for (std::string& operand : one.operands) {
      const auto found = names.find(graph.value(operand));
      if (found != names.end()) operand = found->second;
    }
  }
  std::vector<DraftInstruction> body;
  for (std::size_t k = 0; k < in.body.size(); ++k) {
    const auto [begin, end] = made.equal_range(k);
    for (auto at = begin; at != end; ++at) body.push_back(std::move(at->second));
    body.push_back(std::move(in.body[k]));
  }
  in.body = std::move(body);
}

/// Makes parameters of what both have in common.
bool cut_pair(DraftPair& pair, Front front) {
  const Size number = parameter_count(pair.before);
  if (number != parameter_count(pair.after)) return false;
  std::vector<Argument> before;
  std::vector<Argument> after;
  for (const Front::Cut& cut : front.cuts()) {
    before.push_back({cut.place->before, cut.sharding});
    after.push_back({cut.place->after, ""});
  }
  put_parameters(pair.before, before, number);
  put_parameters(pair.after, after, number);
  drop_unused(pair);
  return true;
}

}  // namespace

void make_result(Draft& draft, const std::string& value, const std::string& sharding) {
  DraftComputation& in = draft.entry();
  const PairGraph graph(draft);
  const std::string type = graph.type(value);
  const auto set = [&](DraftInstruction& one) {
    one.is_root = true;
    one.drop("sharding");
    if (!sharding.empty()) one.set("sharding", sharding);
  };
  if (in.root().name == value) {
    set(in.root());
    return;
  }
  in.root().is_root = false;
  const bool is_part = value.find('#') != std::string::npos;
  DraftInstruction* made = in.find(value);
  if (made != nullptr && !made->is_parameter()) {
    set(*made);
    return;
  }
  DraftInstruction root =
      made_of(in, is_part ? "get-tuple-element" : "copy", std::string(name_in(value)), type);
  if (is_part) root.set("index", value.substr(value.find('#') + 1));
  set(root);
  in.body.push_back(std::move(root));
}

namespace {

/// A pair that is cut, and what is left of it.
struct CutPair {
  std::size_t left = 0;
  std::string key;
  DraftPair pair;
};

/// What becomes the only result of both.
struct Goal {
  std::string before;
  std::string after;
  std::string sharding;  ///< of the value before
  /// Whether that after may be an argument: then it is a value that both have, but another one.
  bool takes_others = false;
};

std::optional<CutPair> pair_cut(const DraftPair& pair, const std::shared_ptr<const Common>& common,
                                const Goal& goal, const MayBeCut& may) {
  DraftPair next = pair;
  make_result(next.before, goal.before, goal.sharding);
  make_result(next.after, goal.after, "");
  if (!cut_pair(next, Front(common, goal.before, goal.after, may, goal.takes_others)))
    return std::nullopt;
  const std::size_t left = operations_of(next.before) + operations_of(next.after);
  return CutPair{left, fmt::format("cut below {} above {}", goal.before, left), std::move(next)};
}

/// The sharding of one result of several, as the tuple says it.
std::string sharding_of_result(const Draft& draft, std::size_t k) {
  const DraftInstruction& root = draft.entry().root();
  const std::string_view said = root.attribute("sharding");
  if (!root.is_tuple()) return std::string(said);
  const std::vector<std::string> parts = parts_within(said);
  const bool is_list = said.substr(0, 2) == "{{" && k < parts.size();
  return is_list ? parts[k] : std::string(said);
}

/// A result of both.
Goal goal_of_result(const DraftPair& pair, const Common& common, std::size_t k) {
  const auto value = [&](const Draft& draft, const PairGraph& graph) {
    const DraftInstruction& root = draft.entry().root();
    return graph.value(root.is_tuple() ? root.operands[k] : root.name);
  };
  return {value(pair.before, common.before()), value(pair.after, common.after()),
          sharding_of_result(pair.before, k)};
}

bool has_arrays_as_results(const DraftPair& pair) {
  const std::size_t count = result_count(pair.before);
  return count > 0 && count == result_count(pair.after);
}

bool any_place(const Beside& /*one*/) { return true; }
bool no_place(const Beside& /*one*/) { return false; }
MayBeCut with_points(const std::shared_ptr<const Common>& common) {
  return [common](const Beside& one) { return has_points(common->before().type(one.before)); };
}

/// Whether a result after comes out of a loop or a branch, which may be what is wrong with it.
bool is_chosen(const DraftPair& pair, const Common& common, std::size_t k) {
  const DraftInstruction* maker = common.after().maker(goal_of_result(pair, common, k).after);
  return maker == nullptr || maker->opcode == "while" || maker->opcode == "conditional";
}

/// A wrong result of both, and what they have in common on the way to it.
std::vector<CutPair> cut_above(const DraftPair& pair, const ValidateOptions& options) {
  constexpr std::size_t few = 6;
  const Deadline deadline = Deadline::in(options.timeout_seconds);
  const auto common = std::make_shared<const Common>(pair, options, false);
  std::vector<CutPair> made;
  bool is_short = false;
  const auto add = [&](const Goal& goal, const MayBeCut& may) {
    auto one = deadline.passed() ? std::nullopt : pair_cut(pair, common, goal, may);
    if (!one) return;
    is_short = is_short || one->left <= few;
    made.push_back(*std::move(one));
  };
  for (const std::size_t k : common->wrong()) {
    const Goal goal = goal_of_result(pair, *common, k);
    add(goal, any_place);
    if (common->wrong().size() == 1) add(goal, with_points(common));
  }
  // Then a result may be another value that both have, and nothing near it is wrong.
  for (const std::size_t k : common->wrong()) {
    if (is_short || is_chosen(pair, *common, k)) continue;
    Goal goal = goal_of_result(pair, *common, k);
    goal.takes_others = true;
    add(goal, any_place);
  }
  return made;
}

/// Operations that make the result right, if they make what they should.
/// Precondition: the pair has one result, which is no tuple.
std::vector<CutPair> cut_below(const DraftPair& pair, const ValidateOptions& options) {
  const auto common = std::make_shared<const Common>(pair, options, true);
  std::vector<CutPair> made;
  for (const Beside& below : common->meant()) {
    const auto sharding = common->sharding(below);
    if (!sharding) continue;
    const Goal goal{below.before, below.after, *sharding};
    for (const MayBeCut& may : {MayBeCut(any_place), with_points(common), MayBeCut(no_place)}) {
      if (auto one = pair_cut(pair, common, goal, may)) made.push_back(*std::move(one));
    }
  }
  return made;
}

}  // namespace

std::vector<Move<DraftPair>> cuts_of(const DraftPair& pair, const ValidateOptions& options) {
  if (!has_arrays_as_results(pair)) return {};
  std::vector<CutPair> made = cut_above(pair, options);
  const auto leaves_less = [](const CutPair& a, const CutPair& b) { return a.left < b.left; };
  std::stable_sort(made.begin(), made.end(), leaves_less);
  // What would make it right is sought where little is left, even if that itself is not confirmed.
  std::vector<CutPair> below;
  if (!made.empty()) below = cut_below(made.front().pair, options);
  std::stable_sort(below.begin(), below.end(), leaves_less);
  made.insert(made.begin(), std::make_move_iterator(below.begin()),
              std::make_move_iterator(below.end()));
  std::vector<Move<DraftPair>> out;
  for (CutPair& one : made) {
    out.push_back({.key = one.key, .make = [to = std::move(one.pair)](DraftPair& next) {
                     next = to;
                     return true;
                   }});
  }
  return out;
}

}  // namespace retile::whole
