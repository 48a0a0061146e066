#include "choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "matching.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/layout_reader.h"

namespace retile::array {

namespace {

using text::fail;

constexpr Size most_devices = Size{1} << 16;
constexpr std::size_t most_candidates = 4096;
/// Ways that no other one is better than, of one candidate.
constexpr std::size_t most_ways = 4096;
constexpr Size infinite = std::numeric_limits<Size>::max();

std::vector<Size> prime_factors(Size n) {
  std::vector<Size> out;
  for (Size p = 2; p * p <= n; ++p) {
    for (; n % p == 0; n /= p) out.push_back(p);
  }
  if (n > 1) out.push_back(n);
  return out;
}

/// Every way in which a statement's work may be cut.
class Candidates {
 public:
  Candidates(const Statement& statement, Size devices)
      : statement_(statement), devices_(devices), cuts_(statement.variables.size()) {}

  /// Every digit of these sizes, major to minor, cuts a variable.
  std::vector<Cuts> by_digit(const std::vector<Size>& sizes) {
    add_digit(sizes, 0, devices_);
    return std::move(out_);
  }
  /// Every variable has a run of digits.
  std::vector<Cuts> by_run() {
    add_run(devices_);
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
  void add_digit(const std::vector<Size>& sizes, std::size_t next, Size stride) {
    if (next == sizes.size() || cuts_.empty()) return keep();
    stride /= sizes[next];
    for (auto& cut : cuts_) {
      const auto before = cut;
      if (!cut) cut.emplace();
      // Before or behind each of those that the variable has.
      const std::vector<Digit> has = cut->digits;
      for (std::size_t at = 0; at <= has.size(); ++at) {
        cut->digits = has;
        cut->digits.insert(cut->digits.begin() + static_cast<std::ptrdiff_t>(at),
                           Digit{stride, sizes[next]});
        add_digit(sizes, next + 1, stride);
      }
      cut = before;
    }
  }
  void add_run(Size stride) {
    if (stride == 1 || cuts_.empty()) return keep();
    for (auto& cut : cuts_) {
      if (cut) continue;
      const bool is_last = std::count(cuts_.begin(), cuts_.end(), std::nullopt) == 1;
      for (Size pieces = is_last ? stride : 2; pieces <= stride; ++pieces) {
        if (stride % pieces != 0) continue;
        cut = Cut{{{stride / pieces, pieces}}};
        add_run(stride / pieces);
      }
      cut.reset();
    }
  }

  const Statement& statement_;
  Size devices_;
  Cuts cuts_;
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
    if (!all.schedules.empty() || !all.tactics.empty()) {
      fail(all.schedules.empty() ? all.tactics[0].place : all.schedules[0].place,
           {Code::bad_argument, "the schedule is chosen, so the file has none"});
    }
    if (options.devices > most_devices) {
      throw text::Failure{{.code = Code::too_many_devices,
                           .message = fmt::format("at most {} devices", most_devices)}};
    }
    grid_.devices = options.devices;
    by_digit_ = options.devices <= most_devices_by_digit;
    sizes_ = prime_factors(options.devices);
    if (by_digit_) {
      for (std::size_t k = 0; k < sizes_.size(); ++k) {
        grid_.axes.emplace_back(std::string(1, static_cast<char>('a' + k)), sizes_[k]);
      }
    }
    look_for_trees();
    const std::string mesh =
        by_digit_ && !grid_.axes.empty() ? mesh_text() : fmt::format("devices:{}", options.devices);
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
    const auto best = solve({});
    if (!best) fail_limit();
    out.best = choice_of(*best);
    // The second best cuts some statement in another way than the best: one after the other is
    // forbidden its own.
    // Backwards, as what stands before a forbidden one stays as it was.
    for (std::size_t s = all_.statements.size(); s-- > 0;) {
      const auto other = solve({s, (*best)[s]});
      if (!other) continue;
      Choice choice = choice_of(*other);
      const auto rank = [](const Choice& c) {
        return std::tuple(c.cost, c.input_bytes, c.temporary_bytes);
      };
      if (!out.second || rank(choice) < rank(*out.second)) {
        out.second = std::move(choice);
      }
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

  [[nodiscard]] std::string mesh_text() const {
    std::string out;
    for (const auto& [name, size] : grid_.axes) {
      out += fmt::format("{}{}:{}", out.empty() ? "" : ",", name, size);
    }
    return out;
  }

  /// Every array is read by one statement at most, with one box; all but the last one written is read.
  void look_for_trees() {
    writer_.resize(all_.arrays.size());
    std::vector<int> reads(all_.arrays.size(), 0);
    for (std::size_t s = 0; s < all_.statements.size(); ++s) {
      const Statement& statement = all_.statements[s];
      std::vector<std::size_t> use_of;
      uses_.push_back(uses_of(statement, use_of));
      for (const Use& use : uses_[s]) {
        if (++reads[use.array] > 1) {
          fail(statement.place,
               {Code::unsupported,
                fmt::format("{} is read twice, and schedules are chosen for chains and trees",
                            all_.arrays[use.array].name)});
        }
      }
      writer_[statement.out.array] = s;
    }
    for (std::size_t s = 0; s < all_.statements.size(); ++s) {
      const std::size_t a = all_.statements[s].out.array;
      if (reads[a] == 0 && a != all_.returned) {
        fail(all_.statements[s].place,
             {Code::unsupported, fmt::format("nothing reads {}", all_.arrays[a].name)});
      }
    }
    if (!writer_[all_.returned] || reads[all_.returned] > 0) {
      fail(all_.arrays[all_.returned].place,
           {Code::unsupported, "what is returned must be written last, and read by nothing"});
    }
  }

  void place() {
    for (std::size_t s = 0; s < all_.statements.size(); ++s) {
      const Statement& statement = all_.statements[s];
      Candidates candidates(statement, options_.devices);
      const std::vector<Cuts> all = by_digit_ ? candidates.by_digit(sizes_) : candidates.by_run();
      auto& out = placements_.emplace_back();
      std::optional<Diagnostic> why;
      for (const Cuts& cuts : all) {
        auto placed = text::result_of([&] { return placement(s, cuts); });
        if (placed) {
          out.push_back(*std::move(placed));
        } else {
          why = placed.error();
        }
      }
      if (out.empty()) throw text::Failure{*why};
    }
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
  /// What the best redistribution costs; infinite where there is none.
  Size cost(const std::string& from, const std::string& to) {
    if (from == to) return 0;
    const auto known = costs_.find({from, to});
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
    costs_.emplace(std::pair(from, to), out);
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
  [[nodiscard]] std::optional<std::string> wanted() const {
    if (all_.return_at_root) return rooted(*all_.arrays[all_.returned].shape);
    return all_.return_layout;
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
    const std::size_t last = *writer_[all_.returned];
    std::optional<std::pair<std::size_t, std::size_t>> best;
    Way least{.cost = infinite, .inputs = infinite, .outputs = infinite, .by = {}};
    for (std::size_t c = 0; c < ways_[last].size(); ++c) {
      const auto end = wanted();
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

  [[noreturn]] void fail_limit() {
    if (!limit()) {
      Diagnostic none{.code = Code::infeasible,
                      .message = "no redistributions lead from statement to statement"};
      if (unpriced_) none.notes.push_back("of one: " + unpriced_->message);
      throw text::Failure{std::move(none)};
    }
    Size least = 0;
    for (const auto& placements : placements_) {
      Size smallest = infinite;
      for (const Placement& placement : placements) smallest = std::min(smallest, placement.inputs);
      least += smallest;
    }
    throw text::Failure{
        {.code = Code::infeasible,
         .message = fmt::format("no schedule keeps the inputs of all statements within {} bytes",
                                *options_.memory_limit_bytes),
         .notes = {fmt::format("on {} devices they take at least {} bytes", options_.devices,
                               least * options_.element_bytes)}}};
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
      Size moved = 0;
      for (std::size_t u = 0; u < uses_[s].size(); ++u) {
        const std::size_t array = uses_[s][u].array;
        const auto from = writer_[array]
                              ? placements_[*writer_[array]][assignment[*writer_[array]]].makes
                              : given(array).value_or(placement.needs[u]);
        moved += cost(from, placement.needs[u]);
      }
      out.costs.push_back(moved);
    }
    const std::size_t last = *writer_[all_.returned];
    const auto end = wanted();
    out.costs.push_back(end ? cost(placements_[last][assignment[last]].makes, *end) : 0);
    out.cost = std::accumulate(out.costs.begin(), out.costs.end(), Size{0});
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
    if (grid.axes.empty() && options_.devices > 1) grid.axes = {{"devices", options_.devices}};
    for (std::size_t s = 0; s < assignment.size(); ++s) {
      grid.cuts.push_back(placements_[s][assignment[s]].cuts);
    }
    return module_of(all_, std::move(grid));
  }

  const Statements& all_;
  const ChoiceOptions& options_;
  bool by_digit_ = false;
  std::vector<Size> sizes_;  // of the prime digits, major to minor
  Grid grid_;
  std::optional<forms::LayoutReader> layouts_;
  std::vector<std::vector<Use>> uses_;                    // by statement
  std::vector<std::optional<std::size_t>> writer_;        // by array
  std::vector<std::vector<Placement>> placements_;        // by statement and candidate
  std::vector<std::vector<std::vector<Way>>> ways_;       // likewise
  std::vector<std::vector<std::vector<Way>>> free_ways_;  // with nothing forbidden
  std::map<std::pair<std::size_t, std::string>, std::vector<Reached>> reached_;
  std::map<std::string, Layout> read_;
  std::map<std::pair<std::string, std::string>, Size> costs_;
  std::optional<Diagnostic> unpriced_;  // why a redistribution has no price
};

}  // namespace

Result<ChoiceReport> choose(const Statements& statements, const ChoiceOptions& options) {
  return text::result_of([&] { return Choosing(statements, options).run(); });
}

}  // namespace retile::array
