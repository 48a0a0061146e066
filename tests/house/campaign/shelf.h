// Problems of the campaign: types of one array over one mesh, and all ordered pairs of them. What is
// known of the array serves all its pairs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "house/campaign/strata.h"
#include "house/campaign/tally.h"
#include "retile/notation/paper/notation.h"
#include "retile/plan/plan.h"
#include "spec/search/by_counting.h"
#include "spec/search/path.h"
#include "support/bridge.h"
#include "support/generators.h"
#include "support/program_generators.h"

namespace campaign {

using support::Choose;

/// One problem with its plan.
struct Planned {
  retile::Plan plan;
  Strata strata = 0;
  bool trivial = false;  ///< it costs nothing
  std::uint64_t hash = 0;
  std::uint64_t weak_hash = 0;  ///< of devices, array and localtypes alone
  [[nodiscard]] const retile::Problem& problem() const { return plan.problem; }
  [[nodiscard]] std::string text() const {
    const retile::Spelling& words = *plan.problem.spelling;
    return "--mesh '" + to_text(words.mesh) + "' '" + words.from + "' '" + words.to + "'";
  }
};

// ---- Drawing

/// What is drawn more often, so that every stratum gets its cases.
struct Wish {
  Stratum stratum = Stratum::permutation;
  bool small_tiles = false;
  [[nodiscard]] bool operator==(Stratum other) const { return stratum == other; }
};

/// The sizes of the axes of a mesh.
inline retile::Shape choose_axes(const Choose& choose, const Wish& wish) {
  static const std::vector<retile::Shape> few = {
      {2, 2},    {2, 3},    {4, 2},    {3, 3},    {2, 2, 2}, {2, 2, 3},    {5, 2},
      {3, 2, 2}, {2, 3, 3}, {6, 2},    {2, 2, 4}, {2, 2, 5}, {2, 2, 2, 2}, {4, 6},
      {7, 3},    {3, 2, 4}, {2, 2, 6}, {3, 3, 2}, {2, 8},    {2, 2, 2, 3}, {3, 2, 2, 2}};
  static const std::vector<retile::Shape> many = {
      {2, 3, 5}, {3, 3, 3}, {2, 2, 2, 2, 2}, {4, 7},       {2, 2, 7},    {2, 2, 3, 3}, {5, 7},
      {2, 4, 4}, {5, 6},    {2, 3, 6},       {2, 2, 2, 4}, {3, 2, 2, 3}, {2, 5, 4},    {3, 2, 7}};
  static const std::vector<retile::Shape> for_detours = {
      {2, 2, 3},    {2, 3, 3}, {2, 2, 5}, {3, 2, 4},    {2, 4, 3},
      {2, 2, 2, 3}, {2, 3, 5}, {2, 2, 7}, {2, 2, 3, 3}, {2, 2, 3, 4}};
  return support::detail::pick(choose, wish == Stratum::transshipment ? for_detours
                                       : wish == Stratum::devices     ? many
                                                                      : few);
}

/// Extents that several axes fit into.
inline retile::Shape choose_global(const Choose& choose, const retile::Mesh& mesh,
                                   const Wish& wish) {
  const bool moves =
      wish == Stratum::moves || wish == Stratum::transshipment || wish == Stratum::over_partitioned;
  const std::size_t rank = wish == Stratum::rank ? 4 + support::detail::pick_index(choose, 2)
                           : wish == Stratum::transshipment
                               ? 3 + support::detail::pick_index(choose, 2)
                           : moves ? 2 + support::detail::pick_index(choose, 2)
                                   : 1 + support::detail::pick_index(choose, 3);
  static const std::vector<retile::Size> factors = {1, 2, 3, 5, 1, 7, 4, 11, 13, 6, 9, 10};
  retile::Shape out;
  const retile::Size leaves_out = (moves ? 0 : 1) + (wish.small_tiles ? 1 : 0);  // of four axes
  while (out.size() < rank) {
    const bool whole = wish.small_tiles && choose(4) != 0;
    retile::Size extent = whole              ? 1
                          : wish.small_tiles ? 2 + choose(2)
                                             : support::detail::pick(choose, factors);
    for (const retile::Axis& axis : mesh.axes()) {
      if (choose(4) >= leaves_out) extent *= axis.size;
    }
    out.push_back(extent);
  }
  return out;
}

/// In which dimension each axis is to stand.
using Places = std::vector<std::size_t>;
inline constexpr std::size_t anywhere = SIZE_MAX;  ///< or nowhere

/// Two placements between which two alltoalls do with a dimension on the way what takes three
/// without: {x, y}, {z}, {} and {}, {x}, {y, z}, in any three dimensions; x and z have no prime in
/// common. Other axes stand anywhere. Nothing when the axes drawn do not serve.
/// Precondition: at least three axes and dimensions.
inline std::optional<std::array<Places, 2>> choose_detour(const Choose& choose,
                                                          const retile::Mesh& mesh,
                                                          std::size_t rank) {
  const std::size_t count = mesh.axes().size();
  const auto three_of = [&choose](std::size_t bound) {
    std::array<std::size_t, 3> out{};
    const auto order =
        support::detail::choose_permutation(choose, static_cast<retile::Size>(bound));
    for (std::size_t k = 0; k < 3; ++k) out[k] = static_cast<std::size_t>(order[k]);
    return out;
  };
  const auto [x, y, z] = three_of(count);
  if (std::gcd(mesh.axes()[x].size, mesh.axes()[z].size) > 1) return std::nullopt;
  const auto [a, b, c] = three_of(rank);
  std::array<Places, 2> out = {Places(count, anywhere), Places(count, anywhere)};
  out[0][x] = out[0][y] = a;
  out[0][z] = out[1][x] = b;
  out[1][y] = out[1][z] = c;
  return out;
}

/// A type with these global sizes: each axis, in any order, stands in its place, replicates once in
/// `one_in` times, or splits any dimension that it divides. The first axes are left `idle`.
inline retile::DistType choose_placed(const Choose& choose, const retile::Mesh& mesh,
                                      const retile::Shape& global, std::size_t idle,
                                      retile::Size one_in, const Places& places) {
  std::vector<retile::DistDim> dims;
  for (const retile::Size extent : global) dims.push_back({extent, {}, extent});
  std::vector<std::size_t> axes(mesh.axes().size() - idle);
  std::iota(axes.begin(), axes.end(), idle);
  while (!axes.empty()) {
    const std::size_t next = support::detail::pick_index(choose, axes.size());
    const std::size_t number = axes[next];
    axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(next));
    const retile::Axis& axis = mesh.axes()[number];
    const std::size_t place = places.empty() ? anywhere : places[number];
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].tile % axis.size == 0 && (place == anywhere || place == i)) fitting.push_back(i);
    }
    if (fitting.empty() || (place == anywhere && choose(one_in) == 0)) continue;
    retile::DistDim& dim = dims[support::detail::pick(choose, fitting)];
    dim.tile /= axis.size;
    support::detail::insert_somewhere(choose, dim.axes, axis.name);
  }
  return support::detail::value(retile::DistType::make(mesh, std::move(dims)));
}

// ---- The optimum

/// OPT of pairs of tile maps of one array: by brute force over tile maps (spec/search/tiles.h) up
/// to 24 devices, else by counting (S4). The brute force is the one without the bound (4), as that
/// needs one search for all sources; OPT is the same (S3).
class Optimum {
 public:
  Optimum(spec::Size delta, spec::Sizes g) : delta_(delta), g_(std::move(g)) {}

  struct Answer {
    spec::Size cost = 0;
    bool counted = false;  ///< S4
  };
  /// Nothing when both would take too long.
  std::optional<Answer> operator()(const spec::TileMap& f_1, const spec::TileMap& f_2) {
    if (delta_ <= most_searched) {
      if (const auto cost = searched(f_1, f_2)) return Answer{*cost, false};
    }
    if (const auto cost = counted(f_1, f_2)) return Answer{*cost, true};
    return std::nullopt;
  }

 private:
  static constexpr spec::Size most_searched = 24;
  static constexpr spec::Size most_looks = spec::Size{1} << 17;  // tile maps, for one target
  static constexpr std::size_t most_counted = 4000;              // localtypes times devices

  std::optional<spec::Size> searched(const spec::TileMap& f_1, const spec::TileMap& f_2) {
    if (too_large_.count(f_2.c) != 0) return std::nullopt;
    spec::TileSearch search;
    search.bounded = false;
    search.limit = most_looks;
    try {
      return distances_.try_emplace(f_2.c, delta_, g_, f_2.c, 0, search)
          .first->second.cost(f_1, f_2);
    } catch (const spec::SearchLimit&) {
      too_large_.insert(f_2.c);
      distances_.erase(f_2.c);
      return std::nullopt;
    }
  }
  std::optional<spec::Size> counted(const spec::TileMap& f_1, const spec::TileMap& f_2) {
    if (!counting_) {
      const std::size_t size =
          spec::all_localtypes(delta_, g_).size() * static_cast<std::size_t>(delta_);
      if (size > most_counted) return std::nullopt;
      counting_.emplace(delta_, g_);
    }
    const auto& costs = counting_->costs(f_1.c, f_2.c);
    return counting_->no_permute(f_1, f_2).value_or(costs.with_permute);
  }

  spec::Size delta_;
  spec::Sizes g_;
  std::map<spec::Sizes, spec::TileDistances> distances_;
  std::set<spec::Sizes> too_large_;
  std::optional<spec::ByCounting> counting_;
};

// ---- The shelf

/// Up to `most` types of one array over one mesh.
class Shelf {
 public:
  Shelf(const Choose& choose, const Wish& wish, std::size_t most)
      : mesh_(mesh_of(choose_axes(choose, wish))),
        global_(choose_global(choose, mesh_, wish)),
        optimum_(mesh_.device_count(), global_) {
    const bool idles = wish == Stratum::over_partitioned && mesh_.axes().size() > 2;
    const retile::Size one_in =
        wish == Stratum::moves || wish == Stratum::transshipment ? 12 : 2 + choose(3);
    std::optional<std::array<Places, 2>> detour;
    while (wish == Stratum::transshipment && !detour) {
      detour = choose_detour(choose, mesh_, global_.size());
    }
    std::set<std::uint64_t> seen;
    for (std::size_t k = 0; k < most; ++k) {
      retile::DistType type = choose_placed(choose, mesh_, global_, idles ? 1 : 0, one_in,
                                            detour ? (*detour)[k % 2] : Places());
      const std::uint64_t hash = hash_of(layout_of(mesh_, type));
      if (!seen.insert(hash).second) continue;
      maps_.push_back(spec::tiles(support::to_spec(mesh_), support::to_spec(type)).value());
      types_.push_back(std::move(type));
      hashes_.push_back(hash);
    }
  }

  /// Calls visit(planned, a, b) for every ordered pair of different types of which
  /// asked(hash, hash of the localtypes) holds.
  template <class Asked, class Visit>
  void for_each_pair(Tally& tally, const Asked& asked, const Visit& visit) {
    for (std::size_t a = 0; a < types_.size(); ++a) {
      for (std::size_t b = 0; b < types_.size(); ++b) {
        if (a == b) continue;
        if (tally.done()) return;
        Planned planned;
        planned.hash = Hash().add(mesh_.device_count()).add(hashes_[a]).add(hashes_[b]).value();
        planned.weak_hash = Hash()
                                .add(mesh_.device_count())
                                .add(global_)
                                .add(types_[a].localtype())
                                .add(types_[b].localtype())
                                .value();
        if (!asked(planned.hash, planned.weak_hash)) continue;
        auto plan =
            retile::plan(support::detail::value(retile::make_problem(mesh_, types_[a], types_[b])));
        if (!plan) continue;  // costs that do not fit; small problems have none
        planned.strata = strata_of(*plan);
        planned.trivial = plan->cost == 0;
        planned.plan = std::move(*plan);
        visit(planned, a, b);
      }
    }
  }

  /// OPT of the pair.
  std::optional<Optimum::Answer> optimum(std::size_t a, std::size_t b) {
    return optimum_(maps_[a], maps_[b]);
  }

 private:
  static retile::Mesh mesh_of(const retile::Shape& sizes) {
    std::vector<retile::Axis> axes;
    for (const retile::Size size : sizes) {
      axes.push_back({std::string(1, static_cast<char>('a' + axes.size())), size});
    }
    return support::detail::value(retile::Mesh::make(std::move(axes)));
  }

  retile::Mesh mesh_;
  retile::Shape global_;
  std::vector<retile::DistType> types_;
  std::vector<spec::TileMap> maps_;
  std::vector<std::uint64_t> hashes_;
  Optimum optimum_;
};

/// A stratum in which one of these kinds still has too few cases; else any.
template <class Selected>
Wish choose_wish(const Choose& choose, const Tally& tally, const Selected& selected,
                 bool small_tiles = false) {
  Strata missing = 0;
  for (const Kind kind : selected) {
    if (tally.wants(kind)) missing |= tally.missing(kind);
  }
  std::vector<Stratum> out;
  for (unsigned s = 0; s < strata_names.size(); ++s) {
    const auto stratum = static_cast<Stratum>(s);
    if (contains(missing == 0 ? of_plans : missing, stratum)) out.push_back(stratum);
  }
  return {support::detail::pick(choose, out), small_tiles};
}

}  // namespace campaign
