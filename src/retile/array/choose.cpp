#include "choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "elimination.h"
#include "matching.h"
#include "relaxation.h"
#include "retile/core/assert.h"
#include "retile/core/division.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/layout_reader.h"
#include "tactics.h"

namespace retile::array {

namespace {

using text::fail;

constexpr Size most_devices = Size{1} << 16;
constexpr std::size_t most_candidates = 4096;
/// Ways that no other one is better than, of one candidate.
constexpr std::size_t most_ways = 4096;
constexpr Size infinite = std::numeric_limits<Size>::max();
/// Of message passing, at one price.
constexpr int most_sweeps = 100;
/// Sums that are made for a second best one, at most.
constexpr Size most_second_work = Size{1} << 30;
/// Prices of an element of inputs are so many parts of one that is moved.
constexpr Wide price_unit = Wide{1} << 10;
/// Beyond it an element of inputs outweighs all that is moved.
constexpr Wide most_price = Wide{1} << 74;

std::vector<Size> prime_factors(Size n) {
  std::vector<Size> out;
  for (Size p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) out.push_back(p);
  }
  if (n > 1) out.push_back(n);
  return out;
}

/// Every way in which a statement's work may be cut, beside how tactics cut it.
class Candidates {
 public:
  /// \param fixed       by tactics
  /// \param devices     what the digits of the sizes make up, and the rest with these
  /// \param may_repeat  devices may do the same work, those with other digits that cut nothing
  Candidates(const Statement& statement, Cuts fixed, Size devices, bool may_repeat)
      : statement_(statement),
        devices_(devices),
        may_repeat_(may_repeat),
        cuts_(std::move(fixed)),
        has_run_(cuts_.size(), false) {}

  /// Every digit of these sizes, major to minor, cuts a variable.
  std::vector<Cuts> by_digit(const std::vector<Size>& sizes) {
    add_digit(sizes, 0, devices_, false);
    return std::move(out_);
  }
  /// The same of digits of these sizes, and every variable has a run of the digits that are minor to them.
  std::vector<Cuts> by_run(const std::vector<Size>& sizes) {
    add_digit(sizes, 0, devices_, true);
    return std::move(out_);
  }

 private:
  void keep() {
    if (out_.size() == most_candidates) {
      fail(statement_.place,
           {Code::limit_reached, "the work of this statement can be cut in more than 4096 ways"});
    }
    out_.push_back(cuts_);
  }
  [[nodiscard]] bool is_fixed(const Digit& digit) const {
    return std::any_of(cuts_.begin(), cuts_.end(), [&](const auto& cut) {
      return cut && std::count(cut->digits.begin(), cut->digits.end(), digit) > 0;
    });
  }
  void add_digit(const std::vector<Size>& sizes, std::size_t next, Size stride, bool then_runs) {
    if (next == sizes.size() || cuts_.empty()) return then_runs ? add_run(stride) : keep();
    stride /= sizes[next];
    const Digit digit{stride, sizes[next]};
    if (is_fixed(digit)) return add_digit(sizes, next + 1, stride, then_runs);
    if (may_repeat_) add_digit(sizes, next + 1, stride, then_runs);
    for (auto& cut : cuts_) {
      const auto before = cut;
      if (!cut) cut.emplace();
      // Before or behind each of those that the variable has.
      const std::vector<Digit> has = cut->digits;
      for (std::size_t at = 0; at <= has.size(); ++at) {
        cut->digits = has;
        cut->digits.insert(cut->digits.begin() + static_cast<std::ptrdiff_t>(at), digit);
        add_digit(sizes, next + 1, stride, then_runs);
      }
      cut = before;
    }
  }
  void add_run(Size stride) {
    if (stride == 1 || cuts_.empty()) return keep();
    if (may_repeat_) keep();
    for (std::size_t v = 0; v < cuts_.size(); ++v) {
      if (has_run_[v]) continue;
      has_run_[v] = true;
      const bool is_last = !may_repeat_ && std::count(has_run_.begin(), has_run_.end(), false) == 0;
      const auto before = cuts_[v];
      for (Size pieces = is_last ? stride : 2; pieces <= stride; ++pieces) {
        if (stride % pieces != 0) continue;
        cuts_[v] = before;
        if (!before) cuts_[v].emplace();
        cuts_[v]->digits.push_back({stride / pieces, pieces});
        add_run(stride / pieces);
      }
      cuts_[v] = before;
      has_run_[v] = false;
    }
  }

  const Statement& statement_;
  Size devices_;
  bool may_repeat_;
  Cuts cuts_;
  std::vector<bool> has_run_;
  std::vector<Cuts> out_;
};

/// What a candidate needs and makes.
struct Placement {
  Cuts cuts;
  std::vector<std::string> needs;  ///< layouts, by use
  std::string makes;
  Size inputs = 0;  ///< elements of one device, at most
  Size output = 0;
};

/// A way to do a statement by some candidate, and all that it depends on.
struct Way {
  Size cost = 0;
  Size inputs = 0;
  Size outputs = 0;
  /// Candidate and way of every use that is written.
  std::vector<std::pair<std::size_t, std::size_t>> by;
};

/// A way, and what it costs to have its result in a layout.
struct Reached {
  Size cost = 0;
  Size inputs = 0;
  Size outputs = 0;
  std::size_t candidate = 0;
  std::size_t way = 0;
};

/// Which way is taken: the cheapest, of those that with the smallest inputs, and so on.
template <typename Some>
std::tuple<Size, Size, Size> key(const Some& way) {
  return {way.cost, way.inputs, way.outputs};
}

class Choosing {
 public:
  Choosing(const Statements& all, const ChoiceOptions& options) : all_(all), options_(options) {
    if (!all.schedules.empty()) {
      fail(all.schedules[0].place,
           {Code::bad_argument, "the schedule is chosen, so the file has none"});
    }
    if (options.devices > most_devices) {
      throw text::Failure{{.code = Code::too_many_devices,
                           .message = fmt::format("at most {} devices", most_devices)}};
    }
    by_digit_ = options.devices <= most_devices_by_digit;
    std::set<std::string> names;
    Size rest = options.devices;
    for (const Tactic& tactic : axes_of_tactics(all)) {
      if (rest % tactic.pieces != 0) {
        fail(tactic.place,
             {Code::bad_argument,
              fmt::format("{} devices are no multiple of the axes of tactics", options.devices)});
      }
      rest /= tactic.pieces;
      names.insert(tactic.axis);
      add_axis(grid_, tactic.axis, tactic.pieces, tactic.place);
      sizes_.push_back(tactic.pieces);
    }
    if (by_digit_) {
      add_digits(rest, names);
    } else if (rest > 1) {
      rest_.emplace("devices", rest);
      while (names.count(rest_->first) > 0) rest_->first += "_";
    }
    grid_.devices = options.devices;
    propagate(all, grid_);
    look_for_uses();
    const std::string mesh = mesh_text();
    check_layouts(all, mesh);
    const text::Input input = {mesh, "mesh", false};
    text::Scanner scanner(input);
    layouts_.emplace(scanner, most_devices);
  }

  ChoiceReport run() {
    place();
    ChoiceReport out;
    out.all_digits = by_digit_;
    for (const auto& placements : placements_) {
      out.candidates.push_back(static_cast<Size>(placements.size()));
    }
    link();
    if (!is_tree_) {
      choose_dag(out);
      out.planned = static_cast<Size>(costs_.size());
      return out;
    }
    const auto best = solve({});
    if (!best) fail_limit();
    out.best = choice_of(*best);
    // The second best cuts some statement in another way than the best: one after the other is
    // forbidden its own.
    // Backwards, as what stands before a forbidden one stays as it was.
    for (std::size_t s = all_.statements.size(); s-- > 0;) {
      const auto other = solve({s, (*best)[s]});
      if (!other) continue;
      offer_second(choice_of(*other), out);
    }
    out.planned = static_cast<Size>(costs_.size());
    out.module = module_text(*best);
    return out;
  }

 private:
  /// The candidate of every statement.
  using Assignment = std::vector<std::size_t>;
  /// A statement that must not have a candidate.
  struct Forbidden {
    std::optional<std::size_t> statement = {};
    std::size_t candidate = 0;
  };

  /// Axes of the prime digits that tactics leave, from major to minor, where groups of devices keep to them.
  void add_digits(Size rest, std::set<std::string>& names) {
    char letter = 'a';
    const auto add = [&](Size size) {
      for (const Size factor : prime_factors(size)) {
        while (!names.insert(std::string(1, letter)).second) ++letter;
        grid_.axes.emplace_back(std::string(1, letter), factor);
        sizes_.push_back(factor);
      }
    };
    Size minor = options_.devices;  // to the digit
    for (const Size size : options_.digits) {
      minor /= size;
      if (minor >= rest || rest % minor != 0) continue;
      add(rest / minor);
      rest = minor;
    }
    RETILE_ASSERT(options_.digits.empty() || minor == 1, "digits make up the number of devices");
    add(rest);
  }
  [[nodiscard]] std::string mesh_text() const {
    Grid whole = grid_;
    if (rest_ || whole.axes.empty()) {
      whole.axes.push_back(rest_.value_or(std::pair("devices", Size{1})));
    }
    std::string out;
    for (const auto& [name, size] : whole.axes) {
      out += fmt::format("{}{}:{}", out.empty() ? "" : ",", name, size);
    }
    return out;
  }

  /// Who reads and writes what; all but what is returned is read. A tree is where every array is read by one
  /// statement at most, with one box, and what is returned by none.
  void look_for_uses() {
    writer_.resize(all_.arrays.size());
    std::vector<int> reads(all_.arrays.size(), 0);
    for (std::size_t s = 0; s < all_.statements.size(); ++s) {
      const Statement& statement = all_.statements[s];
      std::vector<std::size_t> use_of;
      uses_.push_back(uses_of(statement, use_of));
      for (const Use& use : uses_[s]) is_tree_ = ++reads[use.array] == 1 && is_tree_;
      writer_[statement.out.array] = s;
    }
    for (std::size_t s = 0; s < all_.statements.size(); ++s) {
      const std::size_t a = all_.statements[s].out.array;
      if (reads[a] == 0 && returned(a) == nullptr) {
        fail(all_.statements[s].place,
             {Code::unsupported, fmt::format("nothing reads {}", all_.arrays[a].name)});
      }
    }
    for (const Returned& one : all_.returned) {
      const Array& array = all_.arrays[one.array];
      if (!writer_[one.array]) {
        fail(array.place, {Code::unsupported, "what is returned must be written by a statement"});
      }
      if (one.as && reads[*one.as] == 0) {
        fail(one.layout_place,
             {Code::unsupported,
              fmt::format("nothing reads {}, so it has no layout", all_.arrays[*one.as].name)});
      }
      is_tree_ = is_tree_ && reads[one.array] == 0 && !one.as;
    }
    is_tree_ = is_tree_ && all_.returned.size() == 1;
  }
  /// Null where it is not returned.
  [[nodiscard]] const Returned* returned(std::size_t array) const {
    for (const Returned& one : all_.returned) {
      if (one.array == array) return &one;
    }
    return nullptr;
  }

  /// Where an array is written or read: by which statement, and in which layout by each of its candidates.
  struct Event {
    std::size_t statement = 0;
    std::vector<std::size_t> layouts;  ///< in spellings_, by candidate
  };
  /// The layouts that an array goes through, one after the other, in the order of the statements: as a module
  /// brings it from one to the next.
  void link() {
    chains_.resize(all_.arrays.size());
    gaps_.resize(all_.arrays.size());
    for (std::size_t a = 0; a < all_.arrays.size(); ++a) {
      const auto number = [&](const std::optional<std::string>& layout) {
        return layout ? std::optional(number_of(*layout)) : std::nullopt;
      };
      before_.push_back(number(before(a)));
      behind_.push_back(number(behind(a)));
      whole_.push_back(number_of(fmt::format("[{}]", fmt::join(*all_.arrays[a].shape, ", "))));
    }
    for (std::size_t s = 0; s < all_.statements.size(); ++s) {
      for (std::size_t u = 0; u < uses_[s].size(); ++u) {
        Event event{s, {}};
        for (const Placement& placement : placements_[s]) {
          event.layouts.push_back(number_of(placement.needs[u]));
        }
        chains_[uses_[s][u].array].push_back(std::move(event));
      }
      Event event{s, {}};
      for (const Placement& placement : placements_[s]) {
        event.layouts.push_back(number_of(placement.makes));
      }
      chains_[all_.statements[s].out.array].push_back(std::move(event));
    }
  }
  std::size_t number_of(const std::string& spelling) {
    const auto [found, is_new] = numbers_.try_emplace(spelling, spellings_.size());
    if (is_new) spellings_.push_back(spelling);
    return found->second;
  }
  /// What stands before an array's first layout, and behind the last one.
  [[nodiscard]] std::optional<std::string> before(std::size_t array) const {
    return writer_[array] ? std::nullopt : given(array);
  }
  [[nodiscard]] std::optional<std::string> behind(std::size_t array) const {
    const Returned* const one = returned(array);
    if (one == nullptr) return std::nullopt;
    if (one->as) return given(*one->as);
    if (one->at_root) return rooted(*all_.arrays[array].shape);
    return one->layout;
  }
  /// The input in whose layout an array is returned, where that is chosen, too.
  [[nodiscard]] std::optional<std::size_t> follows(std::size_t array) const {
    const Returned* const one = returned(array);
    return one == nullptr || !one->as || given(*one->as) ? std::nullopt : one->as;
  }

  // Any statements: the least sum over all of them, by elimination.

  void choose_dag(ChoiceReport& out) {
    std::vector<std::vector<Weight>> alone(placements_.size());
    for (std::size_t s = 0; s < placements_.size(); ++s) {
      for (const Placement& placement : placements_[s]) {
        alone[s].push_back({0, placement.inputs, placement.output});
      }
    }
    Pairs between;
    for (std::size_t a = 0; a < chains_.size(); ++a) {
      if (has_gaps(a)) {
        add_gaps(a, alone, between);
      } else {
        add_chain(a, alone, between);
      }
    }
    for (std::size_t a = 0; a < chains_.size(); ++a) {
      if (follows(a)) add_follower(a, alone, between);
    }
    std::vector<Pair> pairs;
    pairs.reserve(between.size());
    for (auto& [ends, table] : between)
      pairs.push_back({ends.first, ends.second, std::move(table)});
    const Elimination all(alone, pairs);
    std::optional<Assignment> best;
    if (all.work() && limit()) {
      best = within_limit(alone, by_elimination(all), out);
    } else if (all.work()) {
      best = of_statements(all.solve());
      if (!best) fail_unlinked();
    } else {
      Relaxation near(alone, std::move(pairs));
      best = within_limit(alone, by_relaxation(near), out);
    }
    if (!best) fail_limit();
    if (cost_of(*best) == infinite) fail_overflow();
    out.best = choice_of(*best);
    if (limit() || !all.work()) {
      out.sought_second = false;
    } else {
      look_for_second(all, *best, out);
    }
    out.module = module_text(*best);
  }
  /// An assignment, and a bound below the sums of all.
  struct Solved {
    Assignment at;
    Wide bound = 0;
  };
  using Solve = std::function<std::optional<Solved>(const std::vector<std::vector<Weight>>& alone,
                                                    Wide price)>;
  /// Without the variables for where arrays are, which stand behind the statements.
  [[nodiscard]] std::optional<Assignment> of_statements(std::optional<Assignment> all) const {
    if (all) all->resize(placements_.size());
    return all;
  }
  /// What costs least.
  Solve by_elimination(const Elimination& all) {
    return [this, &all](const auto& alone, Wide price) -> std::optional<Solved> {
      auto found = of_statements(all.solve(alone));
      if (!found) return std::nullopt;
      const Wide sum = static_cast<Wide>(cost_of(*found)) * price_unit +
                       static_cast<Wide>(inputs_of(*found)) * price;
      return Solved{*std::move(found), sum};
    };
  }
  /// What costs little, where the least is too much work to find.
  Solve by_relaxation(Relaxation& near) {
    return [this, &near](const auto& alone, Wide) -> std::optional<Solved> {
      auto found = near.solve(alone, most_sweeps);
      if (!found) return std::nullopt;
      return Solved{*of_statements(std::move(found->values)), found->bound};
    };
  }
  using Pairs = std::map<std::pair<std::size_t, std::size_t>, std::vector<Weight>>;
  /// A term of two variables, or of one with itself. \param weight  of a value of each
  template <typename F>
  static void add_pair(std::vector<std::vector<Weight>>& alone, Pairs& between, std::size_t row,
                       std::size_t column, const F& weight) {
    if (row == column) {
      for (std::size_t c = 0; c < alone[row].size(); ++c) {
        alone[row][c] = alone[row][c] + weight(c, c);
      }
      return;
    }
    const std::size_t width = alone[column].size();
    auto& table = between[{row, column}];
    table.resize(alone[row].size() * width);
    for (std::size_t c = 0; c < alone[row].size(); ++c) {
      for (std::size_t d = 0; d < width; ++d) {
        table[c * width + d] = table[c * width + d] + weight(c, d);
      }
    }
  }

  void add_chain(std::size_t array, std::vector<std::vector<Weight>>& alone, Pairs& between) {
    const std::vector<Event>& chain = chains_[array];
    for (std::size_t e = 0; e < chain.size(); ++e) {
      const Event& event = chain[e];
      const bool is_last = e + 1 == chain.size();
      for (std::size_t c = 0; c < event.layouts.size(); ++c) {
        const std::size_t here = event.layouts[c];
        Weight& weight = alone[event.statement][c];
        if (e == 0 && before_[array]) weight = weight + moved(*before_[array], here);
        if (is_last && behind_[array]) weight = weight + moved(here, *behind_[array]);
        // What is left out may be what the next one needs.
        const bool goes_on = !is_last || behind_[array] || follows(array);
        if (goes_on && leaves_out(here)) weight = Weight::infinite();
      }
      if (is_last) break;
      const Event& next = chain[e + 1];
      add_pair(alone, between, event.statement, next.statement, [&](std::size_t c, std::size_t d) {
        return moved(event.layouts[c], next.layouts[d]);
      });
    }
  }
  /// Where what is returned is brought to the layout in which an input begins.
  void add_follower(std::size_t array, std::vector<std::vector<Weight>>& alone, Pairs& between) {
    const std::size_t input = *follows(array);
    const auto held = [&](std::size_t a, bool is_last) {
      if (gaps_[a]) return is_last ? gaps_[a]->last : gaps_[a]->first;
      const Event& event = is_last ? chains_[a].back() : chains_[a].front();
      Ends out{event.statement, {}};
      for (const std::size_t layout : event.layouts) out.held.push_back({layout, layout, true});
      return out;
    };
    const Ends from = held(array, true), to = held(input, false);
    add_pair(alone, between, from.variable, to.variable, [&](std::size_t c, std::size_t d) {
      return weight_of(brought(from.held[c], to.held[d].whole));
    });
  }

  // Arrays that go through boxes with gaps, as module_of() brings them on.

  /// Where an array is. Boxes that are listed may leave elements out, so what comes next comes from
  /// the last layout that leaves out none.
  struct Held {
    std::size_t whole = 0;   ///< that layout, in spellings_
    std::size_t here = 0;    ///< where it was brought last
    bool is_settled = true;  ///< it was needed in `whole`, or begins there whatever is needed
    friend bool operator==(const Held&, const Held&) = default;
  };
  /// A variable whose values say where an array is at an end of its chain.
  struct Ends {
    std::size_t variable = 0;
    std::vector<Held> held;  ///< by value
  };
  struct Gaps {
    Ends first;
    Ends last;
  };
  /// Beyond, a chain has no variables for where the array is, and boxes that are listed are no candidates.
  static constexpr std::size_t most_held = 256;

  [[nodiscard]] bool leaves_out(std::size_t layout) const {
    return may_leave_out(spellings_[layout]);
  }
  [[nodiscard]] bool is_followed(std::size_t array) const {
    for (const Returned& one : all_.returned) {
      if (one.as == array) return true;
    }
    return false;
  }
  /// Whether boxes that are listed may stand where the array goes on to another layout.
  [[nodiscard]] bool has_gaps(std::size_t array) const {
    const std::vector<Event>& chain = chains_[array];
    for (std::size_t e = 0; e < chain.size(); ++e) {
      const bool goes_on =
          e + 1 < chain.size() || behind_[array] || follows(array) || is_followed(array);
      for (const std::size_t layout : chain[e].layouts) {
        if (goes_on && leaves_out(layout)) return true;
      }
    }
    return false;
  }
  Size brought(const Held& from, std::size_t to) {
    return from.here == to ? 0 : cost_between(from.whole, to);
  }
  [[nodiscard]] Held after(const Held& from, std::size_t to) const {
    return leaves_out(to) ? Held{from.whole, to, from.is_settled} : Held{to, to, true};
  }
  /// Whether an input that begins in `from.whole` may be needed in a layout next.
  [[nodiscard]] bool may_go(const Held& from, std::size_t to) const {
    if (from.is_settled || to == from.whole) return true;
    return leaves_out(to) && !leaves_out(from.whole);
  }
  /// Whether an input that began there may end so: module_of() begins where it is needed with no gaps, and
  /// in all of it only where it is needed nowhere so.
  [[nodiscard]] bool may_end(std::size_t array, const Held& held) const {
    if (held.is_settled || held.whole == whole_[array]) return true;
    return leaves_out(held.whole) && !is_followed(array);
  }
  /// Where an array can begin, before the first event or with what a statement makes.
  [[nodiscard]] std::vector<Held> beginnings(std::size_t array) const {
    if (before_[array]) return {{*before_[array], *before_[array], true}};
    std::vector<Held> out;
    const bool is_made = writer_[array].has_value();
    const auto add = [&](std::size_t layout) {
      const Held held{layout, layout, is_made};
      if (std::find(out.begin(), out.end(), held) == out.end()) out.push_back(held);
    };
    for (const Event& event : chains_[array]) {
      for (const std::size_t layout : event.layouts) add(layout);
      if (is_made) break;
    }
    if (!is_made) add(whole_[array]);
    return out;
  }
  /// Variables for where the array is after each event, tied to what is chosen there.
  void add_gaps(std::size_t array, std::vector<std::vector<Weight>>& alone, Pairs& between) {
    const std::vector<Event>& chain = chains_[array];
    std::vector<std::vector<Held>> held = {beginnings(array)};
    const std::size_t made = writer_[array] ? 1 : 0;  // events that begin it
    for (std::size_t e = made; e < chain.size(); ++e) {
      std::vector<Held> next;
      for (const Held& from : held.back()) {
        for (const std::size_t to : chain[e].layouts) {
          const Held there = after(from, to);
          if (!may_go(from, to) || std::find(next.begin(), next.end(), there) != next.end())
            continue;
          next.push_back(there);
        }
      }
      if (next.size() > most_held) return add_chain(array, alone, between);
      held.push_back(std::move(next));
    }
    const std::size_t first = alone.size();
    for (std::size_t k = 0; k < held.size(); ++k) {
      alone.emplace_back(held[k].size());
      const std::size_t variable = first + k;
      if (k + made > 0) {  // what is chosen at the event
        const Event& event = chain[k + made - 1];
        add_pair(alone, between, event.statement, variable, [&](std::size_t c, std::size_t d) {
          return held[k][d].here == event.layouts[c] ? Weight() : Weight::infinite();
        });
      }
      if (k == 0) continue;
      add_pair(alone, between, variable - 1, variable, [&](std::size_t c, std::size_t d) {
        const Held &from = held[k - 1][c], &to = held[k][d];
        const bool follows_from = may_go(from, to.here) && after(from, to.here) == to;
        return follows_from ? weight_of(brought(from, to.here)) : Weight::infinite();
      });
    }
    const std::size_t last = first + held.size() - 1;
    for (std::size_t c = 0; c < held.back().size(); ++c) {
      Weight& weight = alone[last][c];
      if (!may_end(array, held.back()[c])) weight = Weight::infinite();
      if (behind_[array]) weight = weight + weight_of(brought(held.back()[c], *behind_[array]));
    }
    gaps_[array] = Gaps{{first, held.front()}, {last, held.back()}};
  }
  /// Where an array begins, by the layouts of its events: as module_of() has it.
  [[nodiscard]] Held beginning(std::size_t array, const std::vector<std::size_t>& layouts) const {
    if (before_[array]) return {*before_[array], *before_[array], true};
    const auto whole = std::find_if(layouts.begin(), layouts.end(),
                                    [&](std::size_t layout) { return !leaves_out(layout); });
    std::size_t out = layouts[0];
    if (!writer_[array] && leaves_out(out)) {
      const bool others = is_followed(array) || std::count(layouts.begin(), layouts.end(), out) <
                                                    static_cast<std::ptrdiff_t>(layouts.size());
      out = whole != layouts.end() ? *whole : others ? whole_[array] : out;
    }
    return {out, out, true};
  }
  /// Within a limit parts of what is moved count, as prices are in these.
  [[nodiscard]] Weight weight_of(Size cost) const {
    if (cost == infinite) return Weight::infinite();
    return {static_cast<Wide>(cost) * (limit() ? price_unit : 1), 0, 0};
  }
  Weight moved(std::size_t from, std::size_t to) { return weight_of(cost_between(from, to)); }
  /// The same, of numbers, which are faster to look up.
  Size cost_between(std::size_t from, std::size_t to) {
    const auto [known, is_new] = between_.try_emplace({from, to});
    if (is_new) known->second = cost(spellings_[from], spellings_[to]);
    return known->second;
  }

  [[nodiscard]] Size inputs_of(const Assignment& assignment) const {
    Size out = 0;
    for (std::size_t s = 0; s < assignment.size(); ++s) out += placements_[s][assignment[s]].inputs;
    return out;
  }
  /// Infinite where there is no redistribution.
  Size cost_of(const Assignment& assignment) {
    Weight out;
    for (const Size each : costs_of(assignment)) {
      if (each == infinite) return infinite;
      out = out + Weight{static_cast<Wide>(each), 0, 0};
    }
    return out.first < static_cast<Wide>(infinite) ? static_cast<Size>(out.first) : infinite;
  }
  /// Before each statement, and behind the last one.
  std::vector<Size> costs_of(const Assignment& assignment) {
    std::vector<Size> out(assignment.size() + 1, 0);
    const auto add = [&](std::size_t at, Size cost) {
      out[at] = out[at] == infinite || cost == infinite
                    ? infinite
                    : checked_add(out[at], cost).value_or(infinite);
    };
    std::vector<std::size_t> begins(chains_.size(), 0);
    std::vector<Held> ends(chains_.size());
    for (std::size_t a = 0; a < chains_.size(); ++a) {
      std::vector<std::size_t> layouts;
      for (const Event& event : chains_[a]) {
        layouts.push_back(event.layouts[assignment[event.statement]]);
      }
      if (layouts.empty()) continue;
      ends[a] = beginning(a, layouts);
      begins[a] = ends[a].whole;
      for (std::size_t e = 0; e < layouts.size(); ++e) {
        add(chains_[a][e].statement, brought(ends[a], layouts[e]));
        ends[a] = after(ends[a], layouts[e]);
      }
      if (behind_[a]) add(assignment.size(), brought(ends[a], *behind_[a]));
    }
    for (std::size_t a = 0; a < chains_.size(); ++a) {
      if (follows(a)) add(assignment.size(), brought(ends[a], begins[*follows(a)]));
    }
    return out;
  }

  /// The second best cuts some statement in another way than the best.
  void look_for_second(const Elimination& all, const Assignment& best, ChoiceReport& out) {
    if (*all.work() > most_second_work / static_cast<Size>(best.size())) {
      out.sought_second = false;
      return;
    }
    for (std::size_t s = best.size(); s-- > 0;) {
      std::vector<std::vector<Weight>> alone = all.alone();
      alone[s][best[s]] = Weight::infinite();
      const auto other = of_statements(all.solve(alone));
      if (other && cost_of(*other) != infinite) offer_second(choice_of(*other), out);
    }
  }
  static void offer_second(Choice choice, ChoiceReport& out) {
    const auto rank = [](const Choice& c) {
      return std::tuple(c.cost, c.input_bytes, c.temporary_bytes);
    };
    if (!out.second || rank(choice) < rank(*out.second)) out.second = std::move(choice);
  }

  /// Least cost where elements of inputs have a price, too, which is raised until they fit. That gives a
  /// schedule, and a bound below all that fit. [Everett 1963]
  /// Without a limit nothing has a price.
  std::optional<Assignment> within_limit(const std::vector<std::vector<Weight>>& free,
                                         const Solve& solve, ChoiceReport& out) {
    const Size most_inputs = limit().value_or(infinite);
    const Wide unit = limit() ? price_unit : 1;
    std::optional<Assignment> best;
    std::pair<Size, Size> least = {infinite, infinite};  // of cost and inputs
    Size bound = 0;
    // Whether this, which is best at a price, fits.
    const auto fits = [&](const Solved& found, Wide price) {
      const std::pair rank(cost_of(found.at), inputs_of(found.at));
      const Wide most = price > 0 ? static_cast<Wide>(most_inputs) * price : 0;
      if (found.bound > most) {
        // A cost is whole.
        bound = std::max(bound, static_cast<Size>((found.bound - most + unit - 1) / unit));
      }
      if (rank.second > most_inputs) return false;
      if (rank < least) {
        best = found.at;
        least = rank;
      }
      return true;
    };
    const auto tried = [&](Wide price) {
      std::vector<std::vector<Weight>> alone = free;
      for (std::size_t s = 0; s < placements_.size(); ++s) {
        for (std::size_t c = 0; c < alone[s].size(); ++c) {
          Weight& weight = alone[s][c];
          const auto inputs = static_cast<Wide>(placements_[s][c].inputs);
          if (!weight.is_infinite()) weight.first += inputs * price;
        }
      }
      const auto found = solve(alone, price);
      if (!found) fail_unlinked();
      return fits(*found, price);
    };
    if (!tried(0)) {
      Wide high = price_unit;
      while (!tried(high) && high < most_price) high *= 16;
      if (!best) return std::nullopt;
      Wide low = high == price_unit ? 0 : high / 16;
      while (high - low > 1 && bound < least.first && high - low > high / 64) {
        const Wide middle = low + (high - low) / 2;
        (tried(middle) ? high : low) = middle;
      }
    }
    best = polished(*std::move(best), least);
    out.lower_bound = std::min(bound, cost_of(*best));
    return best;
  }
  /// One statement after the other cut in the best way that fits, as the others are.
  Assignment polished(Assignment at, std::pair<Size, Size> now) {
    for (bool more = true; more;) {
      more = false;
      for (std::size_t s = 0; s < at.size(); ++s) {
        for (std::size_t c = 0; c < placements_[s].size(); ++c) {
          Assignment other = at;
          other[s] = c;
          const std::pair rank(cost_of(other), inputs_of(other));
          if (rank >= now || rank.second > limit().value_or(infinite)) continue;
          at = std::move(other);
          now = rank;
          more = true;
        }
      }
    }
    return at;
  }

  /// The statements with the least work, as many as all devices may do.
  [[nodiscard]] std::vector<bool> repeatable() const {
    std::vector<std::pair<double, std::size_t>> work;
    double all = 0;
    for (std::size_t s = 0; s < all_.statements.size(); ++s) {
      double points = 1;
      for (const Variable& v : all_.statements[s].variables) {
        points *= static_cast<double>(v.extent);
      }
      work.emplace_back(points, s);
      all += points;
    }
    std::sort(work.begin(), work.end());
    double room = all / static_cast<double>(options_.devices) *
                  static_cast<double>(options_.repeat_percent) / 100;
    std::vector<bool> out(work.size(), false);
    for (const auto& [points, s] : work) {
      room -= points;
      out[s] = room >= 0;
    }
    return out;
  }
  void place() {
    const std::vector<bool> may_repeat = repeatable();
    for (std::size_t s = 0; s < all_.statements.size(); ++s) {
      placements_.emplace_back();
      auto why = place(s, may_repeat[s]);
      // A maximum has no value of a piece without work: rather than have none, devices do the same.
      if (placements_[s].empty() && !may_repeat[s]) (void)place(s, true);
      if (placements_[s].empty()) throw text::Failure{*std::move(why)};
    }
  }
  /// What can be done of a statement's candidates; returns why another one cannot.
  std::optional<Diagnostic> place(std::size_t s, bool may_repeat) {
    const Statement& statement = all_.statements[s];
    Candidates candidates(statement, grid_.cuts[s], options_.devices, may_repeat);
    const std::vector<Cuts> all =
        by_digit_ ? candidates.by_digit(sizes_) : candidates.by_run(sizes_);
    std::optional<Diagnostic> why;
    const bool may_idle = std::all_of(
        all.begin(), all.end(), [&](const Cuts& cuts) { return leaves_idle(statement, cuts); });
    for (const Cuts& cuts : all) {
      if (!may_idle && leaves_idle(statement, cuts)) continue;
      auto placed = text::result_of([&] { return placement(s, cuts); });
      if (placed) {
        placements_[s].push_back(*std::move(placed));
      } else {
        why = placed.error();
      }
    }
    return why;
  }
  /// Whether some device has nothing to do.
  static bool leaves_idle(const Statement& statement, const Cuts& cuts) {
    for (std::size_t v = 0; v < cuts.size(); ++v) {
      if (!cuts[v]) continue;
      const Size pieces = cuts[v]->pieces();
      const Size extent = statement.variables[v].extent;
      if (extent == 0 || ceil_div(extent, ceil_div(extent, pieces)) < pieces) return true;
    }
    return false;
  }
  Placement placement(std::size_t s, const Cuts& cuts) {
    const Statement& statement = all_.statements[s];
    const Matching matching(grid_, statement, cuts);
    Placement out{.cuts = cuts, .needs = {}, .makes = {}};
    for (const Use& use : uses_[s]) {
      out.needs.push_back(matching.layout(use, *all_.arrays[use.array].shape, ""));
      if (writer_[use.array]) continue;
      const auto sum = checked_add(out.inputs, layout(out.needs.back()).tile_size());
      if (!sum) throw text::Failure{{.code = Code::size_overflow, .message = "2^63 elements"}};
      out.inputs = *sum;
    }
    const Use written = written_by(statement);
    out.makes = matching.layout(written, *all_.arrays[written.array].shape,
                                addition_of(statement, grid_, cuts));
    out.output = layout(out.makes).tile_size();
    return out;
  }

  const Layout& layout(const std::string& spelling) {
    const auto found = read_.find(spelling);
    if (found != read_.end()) return found->second;
    const text::Input input = {spelling, "layout", false};
    text::Scanner scanner(input);
    return read_.emplace(spelling, layouts_->read(scanner).layout).first->second;
  }

  static Result<Size> elements_moved(const Problem& problem) {
    const auto planned = plan(problem);
    if (!planned) return refuse(planned.error());
    return planned->cost;
  }
  /// Two layouts with axes of one size named in the order in which they come: of devices with other numbers
  /// elements cost the same.
  [[nodiscard]] std::pair<std::string, std::string> renamed(std::string from,
                                                            std::string to) const {
    if (options_.price || !by_digit_ || !all_.tactics.empty()) {
      return {std::move(from), std::move(to)};
    }
    std::vector<std::optional<std::size_t>> of(grid_.axes.size());
    std::vector<bool> taken(grid_.axes.size(), false);
    const auto rename = [&](std::string& text) {
      bool is_inside = false;
      for (char& c : text) {
        if (c == '{' || c == '}') is_inside = c == '{';
        if (!is_inside || c < 'a' || c > 'z') continue;
        const auto axis = static_cast<std::size_t>(c - 'a');
        if (axis >= of.size()) return false;  // no axis of ours
        for (std::size_t k = 0; k < of.size() && !of[axis]; ++k) {
          if (taken[k] || grid_.axes[k].second != grid_.axes[axis].second) continue;
          of[axis] = k;
          taken[k] = true;
        }
        c = static_cast<char>('a' + *of[axis]);
      }
      // Listed boxes and digits by their numbers say which device is meant.
      return text.find_first_of(":=@") == std::string::npos;
    };
    std::pair<std::string, std::string> out(from, to);
    if (rename(out.first) && rename(out.second)) return out;
    return {std::move(from), std::move(to)};
  }
  /// What the best redistribution costs; infinite where there is none.
  Size cost(const std::string& from, const std::string& to) {
    if (from == to) return 0;
    const auto key = renamed(from, to);
    const auto known = costs_.find(key);
    if (known != costs_.end()) return known->second;
    Size out = infinite;
    const auto problem = Problem::make(layout(from), layout(to));
    if (problem) {
      const auto priced = options_.price ? options_.price(*problem) : elements_moved(*problem);
      if (priced) {
        out = *priced;
      } else {
        unpriced_ = priced.error();
      }
    }
    costs_.emplace(key, out);
    if (options_.progress) {
      options_.progress(static_cast<Size>(costs_.size()), pairs_at_most());
    }
    return out;
  }
  [[nodiscard]] Size pairs_at_most() const {
    Size out = 0;
    for (std::size_t s = 0; s < all_.statements.size(); ++s) {
      for (const Use& use : uses_[s]) {
        if (!writer_[use.array]) continue;
        out += static_cast<Size>(placements_[*writer_[use.array]].size() * placements_[s].size());
      }
    }
    return out;
  }

  [[nodiscard]] std::optional<Size> limit() const {
    if (!options_.memory_limit_bytes) return std::nullopt;
    return *options_.memory_limit_bytes / options_.element_bytes;
  }

  /// Where an input comes from another layout than the one that is needed.
  [[nodiscard]] std::optional<std::string> given(std::size_t array) const {
    const Array& declared = all_.arrays[array];
    if (declared.at_root) return rooted(*declared.shape);
    return declared.layout;
  }
  static std::string rooted(const Shape& shape) {
    return fmt::format("[{}]@0", fmt::join(shape, ", "));
  }

  /// Dynamic programming over the statements, which stand in an order in which each reads earlier ones.
  std::optional<Assignment> solve(const Forbidden& forbidden) {
    // What stands before a forbidden one is as it was.
    const std::size_t first = forbidden.statement.value_or(0);
    ways_ = free_ways_;
    ways_.resize(first);
    reached_.erase(reached_.lower_bound({first, ""}), reached_.end());
    ways_.resize(all_.statements.size());
    for (std::size_t s = first; s < all_.statements.size(); ++s) {
      for (std::size_t c = 0; c < placements_[s].size(); ++c) {
        const bool may = forbidden.statement != s || forbidden.candidate != c;
        ways_[s].push_back(may ? ways_of(s, c) : std::vector<Way>{});
      }
    }
    if (!forbidden.statement) free_ways_ = ways_;
    const std::size_t last = *writer_[all_.returned[0].array];
    std::optional<std::pair<std::size_t, std::size_t>> best;
    Way least{.cost = infinite, .inputs = infinite, .outputs = infinite, .by = {}};
    for (std::size_t c = 0; c < ways_[last].size(); ++c) {
      const auto end = behind(all_.returned[0].array);
      const Size moved =
          ways_[last][c].empty() || !end ? 0 : cost(placements_[last][c].makes, *end);
      for (std::size_t w = 0; w < ways_[last][c].size() && moved != infinite; ++w) {
        const Way& way = ways_[last][c][w];
        const Size sum = checked_add(way.cost, moved).value_or(infinite);
        const Way whole{sum, way.inputs, way.outputs, {}};
        if (key(whole) >= key(least)) continue;
        least = whole;
        best = {c, w};
      }
    }
    if (!best) return std::nullopt;
    Assignment out(all_.statements.size(), 0);
    trace(last, best->first, best->second, out);
    return out;
  }
  void trace(std::size_t s, std::size_t c, std::size_t w, Assignment& out) const {
    out[s] = c;
    const Way& way = ways_[s][c][w];
    std::size_t next = 0;
    for (const Use& use : uses_[s]) {
      if (!writer_[use.array]) continue;
      const auto& [candidate, number] = way.by[next++];
      trace(*writer_[use.array], candidate, number, out);
    }
  }

  /// The ways of one candidate that no other one is better than in cost and in inputs, the cheapest
  /// first; without a memory limit one.
  std::vector<Way> ways_of(std::size_t s, std::size_t c) {
    const Placement& placement = placements_[s][c];
    std::vector<Way> out = {{0, placement.inputs, placement.output, {}}};
    for (std::size_t u = 0; u < uses_[s].size() && !out.empty(); ++u) {
      const std::size_t array = uses_[s][u].array;
      if (writer_[array]) {
        out = joined(out, *writer_[array], placement.needs[u]);
      } else if (const auto from = given(array)) {
        const Size moved = cost(*from, placement.needs[u]);
        if (moved == infinite) return {};
        for (Way& way : out) way.cost = checked_add(way.cost, moved).value_or(infinite);
      }
    }
    return best_of(std::move(out));
  }
  /// Every way together with every way of a statement before it.
  std::vector<Way> joined(const std::vector<Way>& ways, std::size_t before,
                          const std::string& needed) {
    std::vector<Way> out;
    for (const Reached& earlier : reached(before, needed)) {
      for (const Way& way : ways) {
        const auto cost = checked_add(way.cost, earlier.cost);
        const auto inputs = checked_add(way.inputs, earlier.inputs);
        if (!cost || !inputs) continue;
        const Size outputs = checked_add(way.outputs, earlier.outputs).value_or(infinite);
        Way made{*cost, *inputs, outputs, way.by};
        made.by.emplace_back(earlier.candidate, earlier.way);
        out.push_back(std::move(made));
      }
      if (out.size() > 2 * most_ways && ways.size() > 1) out = best_of(std::move(out));
    }
    // Of one way they are in order.
    return ways.size() == 1 ? pruned(std::move(out)) : best_of(std::move(out));
  }
  /// The ways to have what a statement makes in a layout.
  const std::vector<Reached>& reached(std::size_t before, const std::string& needed) {
    const auto known = reached_.find({before, needed});
    if (known != reached_.end()) return known->second;
    std::vector<Reached> out;
    for (std::size_t c = 0; c < ways_[before].size(); ++c) {
      const std::vector<Way>& ways = ways_[before][c];
      // Without a limit one way is kept: there may be a cheaper one already, move or no move.
      if (ways.empty() || (!limit() && !out.empty() && ways[0].cost > out[0].cost)) continue;
      const Size moved = cost(placements_[before][c].makes, needed);
      if (moved == infinite) continue;
      std::vector<Reached> here;
      for (std::size_t w = 0; w < ways.size(); ++w) {
        const auto sum = checked_add(ways[w].cost, moved);
        if (sum) here.push_back({*sum, ways[w].inputs, ways[w].outputs, c, w});
      }
      std::vector<Reached> both;
      std::merge(out.begin(), out.end(), here.begin(), here.end(), std::back_inserter(both),
                 [](const Reached& a, const Reached& b) { return key(a) < key(b); });
      out = pruned(std::move(both));
    }
    return reached_.emplace(std::pair(before, needed), std::move(out)).first->second;
  }
  [[nodiscard]] std::vector<Way> best_of(std::vector<Way> ways) const {
    std::stable_sort(ways.begin(), ways.end(),
                     [](const Way& a, const Way& b) { return key(a) < key(b); });
    return pruned(std::move(ways));
  }
  /// Without those than which one before them is no dearer and no larger; of ways by key().
  template <typename Some>
  [[nodiscard]] std::vector<Some> pruned(std::vector<Some> ways) const {
    std::vector<Some> out;
    for (Some& way : ways) {
      if (limit() && way.inputs > *limit()) continue;
      if (!out.empty() && (!limit() || way.inputs >= out.back().inputs)) continue;
      if (out.size() == most_ways) {
        throw text::Failure{{.code = Code::limit_reached,
                             .message = "more than 4096 ways of one statement, none of which is "
                                        "cheaper and smaller than another"}};
      }
      out.push_back(std::move(way));
    }
    return out;
  }

  [[noreturn]] void fail_unlinked() const {
    Diagnostic none{.code = Code::infeasible,
                    .message = "no redistributions lead from statement to statement"};
    if (unpriced_) none.notes.push_back("of one: " + unpriced_->message);
    throw text::Failure{std::move(none)};
  }
  [[noreturn]] static void fail_overflow() {
    throw text::Failure{{.code = Code::size_overflow,
                         .message = "what all redistributions cost does not fit in 63 bits"}};
  }
  [[noreturn]] void fail_limit() const {
    if (!limit()) fail_unlinked();
    Size least = 0;
    for (const auto& placements : placements_) {
      Size smallest = infinite;
      for (const Placement& placement : placements) smallest = std::min(smallest, placement.inputs);
      least = checked_add(least, smallest).value_or(infinite);
    }
    Diagnostic none{
        .code = Code::infeasible,
        .message = fmt::format("no schedule keeps the inputs of all statements within {} bytes",
                               *options_.memory_limit_bytes)};
    if (const auto bytes = checked_mul(least, options_.element_bytes)) {
      none.notes.push_back(
          fmt::format("on {} devices they take at least {} bytes", options_.devices, *bytes));
    }
    throw text::Failure{std::move(none)};
  }

  Choice choice_of(const Assignment& assignment) {
    Choice out;
    Size inputs = 0;
    Size outputs = 0;
    for (std::size_t s = 0; s < all_.statements.size(); ++s) {
      const Placement& placement = placements_[s][assignment[s]];
      out.schedules.push_back(schedule_text(s, placement.cuts));
      inputs += placement.inputs;
      outputs = checked_add(outputs, placement.output).value_or(infinite);
    }
    out.costs = costs_of(assignment);
    out.cost = cost_of(assignment);
    out.input_bytes = inputs * options_.element_bytes;
    out.temporary_bytes = checked_mul(outputs, options_.element_bytes).value_or(infinite);
    return out;
  }
  [[nodiscard]] std::string schedule_text(std::size_t s, const Cuts& cuts) const {
    const Statement& statement = all_.statements[s];
    std::string out;
    for (std::size_t v = 0; v < cuts.size(); ++v) {
      if (!cuts[v]) continue;
      out += fmt::format("{}{} in {} by {}", out.empty() ? "" : ", ", statement.variables[v].name,
                         cuts[v]->pieces(), grid_.text(*cuts[v]));
    }
    return fmt::format("{}: {}", all_.arrays[statement.out.array].name,
                       out.empty() ? "on all devices" : out);
  }

  std::string module_text(const Assignment& assignment) const {
    Grid grid = grid_;
    if (rest_) grid.axes.push_back(*rest_);
    grid.cuts.clear();
    for (std::size_t s = 0; s < assignment.size(); ++s) {
      grid.cuts.push_back(placements_[s][assignment[s]].cuts);
    }
    return module_of(all_, std::move(grid));
  }

  const Statements& all_;
  const ChoiceOptions& options_;
  bool by_digit_ = false;
  bool is_tree_ = true;
  std::vector<Size> sizes_;  // of the digits that each candidate has, major to minor
  Grid grid_;                // with the cuts of tactics
  /// An axis of the digits that tactics leave, where runs of these are candidates.
  std::optional<std::pair<std::string, Size>> rest_;
  std::optional<forms::LayoutReader> layouts_;
  std::vector<std::vector<Use>> uses_;                    // by statement
  std::vector<std::optional<std::size_t>> writer_;        // by array
  std::vector<std::vector<Placement>> placements_;        // by statement and candidate
  std::vector<std::vector<std::vector<Way>>> ways_;       // likewise
  std::vector<std::vector<std::vector<Way>>> free_ways_;  // with nothing forbidden
  std::map<std::pair<std::size_t, std::string>, std::vector<Reached>> reached_;
  std::map<std::string, Layout> read_;
  std::map<std::pair<std::string, std::string>, Size> costs_;
  std::vector<std::vector<Event>> chains_;          // by array
  std::vector<std::optional<std::size_t>> before_;  // by array, in spellings_: where it is given
  std::vector<std::optional<std::size_t>> behind_;  // by array: where it is wanted at last
  std::vector<std::size_t> whole_;                  // by array: all of it on every device
  std::vector<std::optional<Gaps>> gaps_;           // by array
  std::vector<std::string> spellings_;
  std::map<std::string, std::size_t> numbers_;                   // of them
  std::map<std::pair<std::size_t, std::size_t>, Size> between_;  // costs_ by number
  std::optional<Diagnostic> unpriced_;  // why a redistribution has no price
};

}  // namespace

Result<ChoiceReport> choose(const Statements& statements, const ChoiceOptions& options) {
  return text::result_of([&] { return Choosing(statements, options).run(); });
}

}  // namespace retile::array
