// Aligned plans of uneven tiles against a search over collectives on ragged tiles: cuts of any kind
// on the way, whole axes, permutations anywhere.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <optional>
#include <queue>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "retile/check/check.h"
#include "retile/core/layout.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "spec/program/text.h"
#include "support/ceil_types.h"
#include "support/values.h"

namespace retile::uneven_optimum_test {
namespace {

/// Where a dimension is cut, and which axes say who holds which tile, the minor one first.
struct Dim {
  std::vector<Size> cuts;
  std::vector<std::size_t> axes;
  friend auto operator<=>(const Dim&, const Dim&) = default;
};
using State = std::vector<Dim>;

Size largest(const Dim& dim) {
  Size out = 0;
  for (std::size_t t = 1; t < dim.cuts.size(); ++t) {
    out = std::max(out, dim.cuts[t] - dim.cuts[t - 1]);
  }
  return out;
}

/// Elements of the largest tile: digits are independent, so some device holds it.
Size tile_of(const State& state) {
  Size out = 1;
  for (const Dim& dim : state) out *= largest(dim);
  return out;
}

class Search {
 public:
  /// \param several_dims  whether allgathers and alltoalls may go along several dimensions at once
  Search(const Mesh& mesh, Size bound, bool several_dims = false)
      : bound_(bound), several_dims_(several_dims) {
    for (const Axis& axis : mesh.axes()) sizes_.push_back(axis.size);
  }

  /// The least cost (Fig. 11, with the largest tile) at which `to` is reached within the bound.
  [[nodiscard]] std::optional<Size> cheapest(const State& from, const State& to) {
    queue_.emplace(0, from);
    costs_[from] = 0;
    while (!queue_.empty()) {
      const auto [cost, state] = queue_.top();
      queue_.pop();
      if (cost > costs_.at(state)) continue;
      if (state == to) return cost;
      here_ = cost;
      tile_ = tile_of(state);
      step_from(state);
    }
    return std::nullopt;
  }

 private:
  void reach(State state, bool costs_after, bool is_free) {
    const Size after = tile_of(state);
    if (after > bound_) return;
    const Size cost = here_ + (is_free ? 0 : costs_after ? after : tile_);
    const auto [known, is_new] = costs_.try_emplace(state, cost);
    if (!is_new && known->second <= cost) return;
    known->second = cost;
    queue_.emplace(cost, std::move(state));
  }

  void step_from(const State& state) {
    std::vector<bool> used(sizes_.size(), false);
    for (const Dim& dim : state) {
      for (const std::size_t axis : dim.axes) used[axis] = true;
    }
    for (std::size_t i = 0; i < state.size(); ++i) {
      for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
        // Several axes at once are as free one after the other.
        if (used[axis]) continue;
        for_all_slices(state, i, {axis}, [&](State next) { reach(std::move(next), false, true); });
      }
      for (std::size_t count = 1; count <= state[i].axes.size(); ++count) {
        State gathered = state;
        const std::vector<std::size_t> popped = gather(gathered[i], count);
        for (std::size_t j = 0; j < state.size(); ++j) {
          for_all_slices(gathered, j, popped,
                         [&](State next) { reach(std::move(next), false, false); });
        }
        reach(std::move(gathered), true, false);
      }
    }
    permute(state, 0, std::vector<bool>(sizes_.size(), false), state);
    if (!several_dims_) return;
    gather_along(state, 0, 0);
    move_along(state, std::vector<std::size_t>(state.size(), 0), 0);
  }

  /// Whether each n tiles in a row are equally wide: a row of a step along several dimensions has tiles
  /// of one shape.
  static bool are_alike(const Dim& dim, Size n) {
    for (std::size_t t = 0; t + 1 < dim.cuts.size(); ++t) {
      const std::size_t first = t - t % static_cast<std::size_t>(n);
      if (dim.cuts[t + 1] - dim.cuts[t] != dim.cuts[first + 1] - dim.cuts[first]) return false;
    }
    return true;
  }

  /// Gathers along the dimensions from number i on, beside so many before them.
  void gather_along(const State& state, std::size_t i, std::size_t along) {
    if (i == state.size()) {
      if (along > 1) reach(state, true, false);
      return;
    }
    gather_along(state, i + 1, along);
    for (std::size_t count = 1; count <= state[i].axes.size(); ++count) {
      State next = state;
      const Size n = product(gather(next[i], count));
      if (are_alike(state[i], n)) gather_along(next, i + 1, along + 1);
    }
  }

  static constexpr std::size_t loses = static_cast<std::size_t>(-1);

  /// Alltoalls of more digits than so many, axis by axis, the fastest first.
  /// \param gained  by dimension, how many axes the alltoall has put there, or `loses`
  void move_along(const State& state, const std::vector<std::size_t>& gained, std::size_t digits) {
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (state[i].axes.empty() || (gained[i] != 0 && gained[i] != loses)) continue;
      const Size n = sizes_[state[i].axes.front()];
      if (!are_alike(state[i], n)) continue;
      for (std::size_t j = 0; j < state.size(); ++j) {
        if (j == i || gained[j] == loses) continue;
        State next = state;
        const std::size_t axis = gather(next[i], 1).front();
        if (!cut_equally(next[j], n)) continue;
        next[j].axes.insert(next[j].axes.begin() + static_cast<std::ptrdiff_t>(gained[j]), axis);
        std::vector<std::size_t> now = gained;
        now[i] = loses;
        ++now[j];
        if (digits > 0) reach(next, false, false);
        move_along(next, now, digits + 1);
      }
    }
  }

  /// Cuts every tile into n equal ones, if they are.
  static bool cut_equally(Dim& dim, Size n) {
    std::vector<Size> cuts = {0};
    for (std::size_t t = 1; t < dim.cuts.size(); ++t) {
      const Size width = dim.cuts[t] - dim.cuts[t - 1];
      if (width % n != 0) return false;
      for (Size q = 1; q <= n; ++q) cuts.push_back(dim.cuts[t - 1] + width / n * q);
    }
    dim.cuts = std::move(cuts);
    return true;
  }

  [[nodiscard]] Size product(const std::vector<std::size_t>& axes) const {
    Size out = 1;
    for (const std::size_t axis : axes) out *= sizes_[axis];
    return out;
  }

  /// Takes so many minor axes from a dimension, and joins its tiles.
  [[nodiscard]] std::vector<std::size_t> gather(Dim& dim, std::size_t count) const {
    const auto end = dim.axes.begin() + static_cast<std::ptrdiff_t>(count);
    const std::vector<std::size_t> popped(dim.axes.begin(), end);
    dim.axes.erase(dim.axes.begin(), end);
    std::vector<Size> cuts;
    const auto n = static_cast<std::size_t>(product(popped));
    for (std::size_t t = 0; t < dim.cuts.size(); t += n) cuts.push_back(dim.cuts[t]);
    dim.cuts = std::move(cuts);
    return popped;
  }

  /// Pieces of every extent that lose nothing.
  template <typename Then>
  void for_all_slices(const State& state, std::size_t i, const std::vector<std::size_t>& axes,
                      const Then& then) const {
    const Size n = product(axes);
    const Size most = largest(state[i]);
    for (Size piece = (most + n - 1) / n; piece <= most; ++piece) {
      State next = state;
      Dim& dim = next[i];
      dim.cuts = {0};
      for (std::size_t t = 1; t < state[i].cuts.size(); ++t) {
        const Size begin = state[i].cuts[t - 1];
        const Size end = state[i].cuts[t];
        for (Size q = 1; q <= n; ++q) dim.cuts.push_back(std::min(begin + q * piece, end));
      }
      dim.axes.insert(dim.axes.begin(), axes.begin(), axes.end());
      then(std::move(next));
    }
  }

  /// The same cuts with all other axes of as many tiles.
  void permute(const State& state, std::size_t i, const std::vector<bool>& used, State next) {
    if (i == state.size()) {
      if (next != state) reach(std::move(next), false, false);
      return;
    }
    const auto tiles = static_cast<Size>(state[i].cuts.size()) - 1;
    std::vector<std::size_t> axes;
    const auto choose = [&](const auto& self, Size count, std::vector<bool> taken) -> void {
      if (count == tiles) {
        next[i].axes = axes;
        permute(state, i + 1, taken, next);
      }
      for (std::size_t axis = 0; axis < sizes_.size(); ++axis) {
        if (taken[axis] || tiles % (count * sizes_[axis]) != 0) continue;
        axes.push_back(axis);
        taken[axis] = true;
        self(self, count * sizes_[axis], taken);
        taken[axis] = false;
        axes.pop_back();
      }
    };
    choose(choose, 1, used);
  }

  std::vector<Size> sizes_;
  Size bound_;
  bool several_dims_;
  Size here_ = 0;  // what the state in hand costs
  Size tile_ = 0;  // its largest tile
  using Entry = std::pair<Size, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  std::map<State, Size> costs_;
};

State state_of(const Layout& layout, const Mesh& mesh) {
  State out;
  for (std::size_t i = 0; i < layout.rank(); ++i) {
    Dim dim;
    for (Size t = 0; t <= layout.cuts()[i].count(); ++t) dim.cuts.push_back(layout.cuts()[i].at(t));
    // Axes of neighbouring strides are one digit; both are found again.
    for (const Digit& digit : layout.digits()[i]) {
      Size stride = digit.stride;
      const Size end = digit.stride * digit.size;
      while (stride < end) {
        Size at = 1;
        for (std::size_t axis = mesh.axes().size(); axis-- > 0;) {
          if (at == stride) {
            dim.axes.push_back(axis);
            stride *= mesh.axes()[axis].size;
            break;
          }
          at *= mesh.axes()[axis].size;
        }
      }
    }
    out.push_back(std::move(dim));
  }
  return out;
}

struct Totals {
  std::size_t compared = 0;
  std::size_t dearer = 0;
};

/// All pairs over these arrays whose ends are aligned, and that are not even.
Totals compare(const char* mesh_text, const std::vector<Shape>& globals) {
  const Mesh mesh = parse_mesh(mesh_text).value();
  Totals out;
  for (const Shape& global : globals) {
    const auto all = support::ceil_types(mesh, global);
    for (const std::string& from : all) {
      for (const std::string& to : all) {
        const Problem problem = support::problem(mesh_text, from.c_str(), to.c_str());
        const Plan made = plan(problem).value();
        if (!made.uneven) continue;
        const auto least = Search(mesh, made.bound)
                               .cheapest(state_of(problem.from, mesh), state_of(problem.to, mesh));
        EXPECT_TRUE(least && *least <= made.cost)
            << mesh_text << " '" << from << "' '" << to << "' costs " << made.cost << ", found "
            << least.value_or(-1);
        ++out.compared;
        out.dearer += least < made.cost ? 1U : 0U;
      }
    }
  }
  return out;
}

TEST(UnevenOptimum, in_one_dimension_over_two_axes_no_ragged_collectives_cost_less) {
  std::vector<Shape> globals;
  for (Size n = 1; n <= 13; ++n) globals.push_back({n});
  for (const char* mesh : {"a:2,b:3", "a:3,b:4"}) {
    const Totals totals = compare(mesh, globals);
    EXPECT_GT(totals.compared, 100U) << mesh;
    EXPECT_EQ(totals.dearer, 0U) << mesh;
  }
}

/// Elsewhere they may, as they cut where no even tiling does. So plans of uneven tiles do not say
/// that they are optimal.
TEST(UnevenOptimum, elsewhere_they_may) {
  Totals totals;
  for (const char* mesh : {"a:2,b:3", "a:2,b:2,c:2"}) {
    const Totals more = compare(mesh, {{1, 3}, {3, 5}, {4, 3}, {5, 5}, {7, 2}});
    totals.compared += more.compared;
    totals.dearer += more.dearer;
  }
  RecordProperty("compared", std::to_string(totals.compared));
  RecordProperty("dearer", std::to_string(totals.dearer));
  EXPECT_GT(totals.compared, 5'000U);
  EXPECT_LT(totals.dearer * 3, totals.compared);
  // Tiles of 3 are sliced into 2 and 1 before the permutation.
  const Totals three_axes = compare("a:2,b:2,c:2", {{11}});
  EXPECT_EQ(three_axes.dearer, 12U);
  // Slicing dimension 1 into 4, 4 and 3 elements leaves one alltoall.
  const char* mesh_text = "a:2,b:3";
  const Mesh mesh = parse_mesh(mesh_text).value();
  const Problem problem = support::problem(mesh_text, "[25, 11{a}22]", "[5{b,a}25, 22]");
  const Plan made = plan(problem).value();
  EXPECT_EQ(made.cost, 220);
  EXPECT_FALSE(made.optimal);
  EXPECT_EQ(
      Search(mesh, made.bound).cheapest(state_of(problem.from, mesh), state_of(problem.to, mesh)),
      std::optional<Size>(100));
}

/// Steps along several dimensions, where the tiles of every row are alike, against a search that has them,
/// too. Both checkers take every Program.
TEST(UnevenOptimum, steps_along_several_dimensions_are_taken_where_they_are_cheaper) {
  const PlanOptions several{.steps = Scope::several_dims};
  std::size_t seen = 0, searched = 0, compared = 0, cheaper = 0, together = 0, dearer = 0;
  for (const auto& [mesh_text, global] : std::vector<std::pair<const char*, Shape>>{
           {"a:2,b:2", {2, 4, 3}}, {"a:2,b:2,c:2", {2, 2, 3}}, {"a:2,b:2,c:2", {4, 4, 3}}}) {
    const Mesh mesh = parse_mesh(mesh_text).value();
    const auto all = support::ceil_types(mesh, global);
    for (const std::string& from : all) {
      for (const std::string& to : all) {
        if (++seen % 7 != 0) continue;
        const Problem problem = support::problem(mesh_text, from.c_str(), to.c_str());
        const Plan single = plan(problem).value();
        const Plan made = plan(problem, several).value();
        if (!made.uneven) continue;
        const std::string text = to_text(lower(made));
        EXPECT_EQ(made.scope, Scope::any) << text;
        EXPECT_EQ(made.lower_bound, 0) << text;
        EXPECT_LE(made.cost, single.cost) << text;
        const Verdict verdict = check(lower(made));
        EXPECT_EQ(verdict.answer, Answer::right) << text;
        EXPECT_EQ(verdict.cost, made.cost) << text;
        EXPECT_EQ(verdict.height, made.height) << text;
        const spec::Verdict oracle = spec::check(spec::parse_programs(text).programs.front());
        EXPECT_TRUE(oracle.right) << text;
        EXPECT_EQ(oracle.cost, made.cost) << text;
        ++compared;
        cheaper += made.cost < single.cost ? 1U : 0U;
        together += text.find("_dims") != std::string::npos ? 1U : 0U;
        if (compared % 20 != 0 && made.cost == single.cost) continue;
        ++searched;
        const auto least = Search(mesh, made.bound, true)
                               .cheapest(state_of(problem.from, mesh), state_of(problem.to, mesh));
        EXPECT_TRUE(least && *least <= made.cost) << text << " found " << least.value_or(-1);
        dearer += least < made.cost ? 1U : 0U;
      }
    }
  }
  std::cout << compared << " plans of uneven tiles, " << cheaper
            << " cheaper than along one dimension, " << together << " with steps along several, "
            << dearer << " of " << searched << " above what the search found\n";
  EXPECT_GT(cheaper, 0U);
  EXPECT_LT(dearer * 2, searched);
}

/// One gather along both dimensions would make a row of tiles that differ.
TEST(UnevenOptimum, no_step_along_several_dimensions_takes_tiles_that_differ) {
  const PlanOptions several{.steps = Scope::several_dims};
  const char* mesh = "x:2,y:2,z:2";
  const auto words = [&](const char* from, const char* to) {
    std::string out;
    const Plan made = plan(support::problem(mesh, from, to), several).value();
    for (const PlanStep& step : made.steps) out += step_name(step) + " ";
    return out;
  };
  EXPECT_EQ(words("[2{x}4, 2{y}4, 3{z}5]", "[4, 4, 3{z}5]"), "allgather_dims ");
  EXPECT_EQ(words("[3{x}5, 1{y}2, 3{z}5]", "[5, 2, 3{z}5]"), "allgather allgather ");
  EXPECT_EQ(words("[2{x}4, 2{y}4, 4, 4, 3{z}5]", "[4, 4, 2{y}4, 2{x}4, 3{z}5]"), "alltoall_dims ");
  EXPECT_EQ(words("[2{x}4, 2{y}4, 4, 3, 3{z}5]", "[4, 4, 2{y}4, 2{x}3, 3{z}5]"),
            "alltoall alltoall ");
  // Of four blocks two are empty; of four balanced tiles two are wider.
  EXPECT_EQ(words("[2~{x,y}4, 2{z}4]", "[4~{y}4, 4]"), "allgather_dims ");
  EXPECT_EQ(words("[2~{x,y}4, 2{z}4]", "[4, 4]"), "alltoall allgather ");
  EXPECT_EQ(words("[2={x,y}6, 2{z}4]", "[6, 4]"), "alltoall allgather ");
  // Cuts of which no rule says where they are.
  EXPECT_EQ(words("[(0,2,4,7,10){x,y}10, 2{z}4]", "[(0,4,10){y}10, 4]"), "allgather_dims ");
  EXPECT_EQ(words("[(0,2,4,7,10){x,y}10, 2{z}4]", "[10, 4]"), "allgather allgather ");
}

}  // namespace
}  // namespace retile::uneven_optimum_test
