// src and spec agree on every rule of Figs. 7 and 8 over four small meshes: all well-formed types
// of rank 1-3 whose global sizes divide the number of devices, and all collectives, also those that
// make no sense. Every test prints how much it compared.
#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "notation/paper/rule_comparison.h"
#include "support/bridge.h"
#include "support/values.h"

namespace typing_vs_spec_exhaustive_test {
namespace {

using comparison::compare;
using comparison::Oracle;
using retile::DistDim;
using retile::DistType;
using retile::Mesh;
using retile::Shape;
using retile::Size;
using Names = std::vector<std::string>;

constexpr std::size_t max_rank = 3;

/// All lists of at most `longest` of these names, repetitions included.
std::vector<Names> all_lists(const Names& names, std::size_t longest) {
  std::vector<Names> out = {{}};
  for (std::size_t begin = 0, length = 1; length <= longest; ++length) {
    const std::size_t end = out.size();
    for (; begin < end; ++begin) {
      for (const std::string& name : names) {
        Names longer = out[begin];
        longer.push_back(name);
        out.push_back(std::move(longer));
      }
    }
  }
  return out;
}

Names axis_names(const Mesh& mesh) {
  Names names;
  for (const retile::Axis& axis : mesh.axes()) names.push_back(axis.name);
  return names;
}

std::vector<Size> divisors(Size n) {
  std::vector<Size> out;
  for (Size k = 1; k <= n; ++k) {
    if (n % k == 0) out.push_back(k);
  }
  return out;
}

/// All well-formed types of this global shape, by trying every list of axes in every dimension.
std::vector<DistType> all_types(const Mesh& mesh, const Shape& global) {
  std::vector<std::vector<DistDim>> partial = {{}};
  const std::vector<Names> lists = all_lists(axis_names(mesh), mesh.axes().size());
  for (const Size size : global) {
    std::vector<std::vector<DistDim>> longer;
    for (const std::vector<DistDim>& dims : partial) {
      for (const Names& axes : lists) {
        Size parts = 1;
        for (const std::string& axis : axes) parts *= mesh.digit(axis)->size;
        if (size % parts != 0) continue;
        std::vector<DistDim> more = dims;
        more.push_back({size / parts, axes, size});
        if (DistType::make(mesh, more)) longer.push_back(std::move(more));
      }
    }
    partial = std::move(longer);
  }
  std::vector<DistType> out;
  for (std::vector<DistDim>& dims : partial)
    out.push_back(support::value(DistType::make(mesh, std::move(dims))));
  return out;
}

/// The types over one mesh, by their global shape.
using Universe = std::map<Shape, std::vector<DistType>>;

Universe universe_of(const Mesh& mesh) {
  Universe out;
  std::vector<Shape> shapes = {{}};
  for (std::size_t rank = 1; rank <= max_rank; ++rank) {
    std::vector<Shape> longer;
    for (const Shape& shape : shapes) {
      for (const Size size : divisors(mesh.device_count())) {
        longer.push_back(shape);
        longer.back().push_back(size);
      }
    }
    shapes = std::move(longer);
    for (const Shape& shape : shapes) out[shape] = all_types(mesh, shape);
  }
  return out;
}

struct Counts {
  std::size_t compared = 0;
  std::size_t applicable = 0;
  std::string difference;  // the first one
};

/// Compares until the first difference; true when there is none so far.
bool add(Counts& counts, const Mesh& mesh, const DistType& type,
         const retile::TypedCollective& collective, const Oracle& oracle) {
  const comparison::Outcome outcome = compare(mesh, type, collective, oracle);
  ++counts.compared;
  if (outcome.applies) ++counts.applicable;
  counts.difference = outcome.difference;
  return counts.difference.empty();
}

/// allgather, dynslice and alltoall with every argument: one dimension and two axes too many, axes
/// that do not exist, stand twice, are in use.
bool compare_local_rules(Counts& counts, const Mesh& mesh, const DistType& type,
                         const Oracle& oracle) {
  Names names = axis_names(mesh);
  names.push_back(support::no_axis);
  static std::map<Names, std::vector<Names>> lists_of;  // the same for all types of a mesh
  auto& lists = lists_of[names];
  if (lists.empty()) lists = all_lists(names, 3);
  const std::size_t most_axes = mesh.axes().size() + 1;
  for (std::size_t i = 0; i <= type.rank(); ++i) {
    for (std::size_t axes = 0; axes <= most_axes; ++axes) {
      if (!add(counts, mesh, type, retile::AllgatherRule{i, axes}, oracle)) return false;
      for (std::size_t j = 0; j <= type.rank(); ++j) {
        if (!add(counts, mesh, type, retile::AlltoallRule{i, j, axes}, oracle)) return false;
      }
    }
    for (const Names& axes : lists) {
      if (!add(counts, mesh, type, retile::DynsliceRule{i, axes}, oracle)) return false;
    }
  }
  return true;
}

/// allpermute to every type of the same global shape, to every type of the same tile shape, to one
/// type of every other rank, and to a type of another mesh.
bool compare_permutes(Counts& counts, const Mesh& mesh, const Universe& universe,
                      const Oracle& oracle) {
  std::map<Shape, std::vector<const DistType*>> by_tile;
  for (const auto& entry : universe) {
    for (const DistType& type : entry.second) by_tile[type.localtype()].push_back(&type);
  }
  const auto permute = [&](const DistType& from, const DistType& to) {
    return add(counts, mesh, from, retile::AllpermuteRule{to}, oracle);
  };
  for (const auto& entry : universe) {
    for (const DistType& from : entry.second) {
      for (const DistType& to : entry.second) {
        if (!permute(from, to)) return false;
      }
      for (const DistType* to : by_tile[from.localtype()]) {
        if (to->globaltype() != entry.first && !permute(from, *to)) return false;
      }
      for (std::size_t rank = 1; rank <= max_rank; ++rank) {
        const DistType& to = universe.at(Shape(rank, 1)).front();
        if (rank != from.rank() && !permute(from, to)) return false;
      }
      for (std::size_t i = 0; i < from.rank(); ++i) {
        const DistDim& dim = from.dims()[i];
        if (dim.axes.empty()) continue;
        std::vector<DistDim> dims;
        for (const DistDim& other : from.dims()) dims.push_back({other.global, {}, other.global});
        dims[i] = {dim.tile, {support::no_axis}, dim.global};
        const Mesh foreign =
            support::value(Mesh::make({{support::no_axis, dim.global / dim.tile}}));
        if (!permute(from, support::value(DistType::make(foreign, std::move(dims))))) return false;
      }
    }
  }
  return true;
}

/// Everything over one mesh, up to the first difference.
Counts compare_all(const Mesh& mesh, const Universe& universe, const Oracle& oracle) {
  Counts counts;
  for (const auto& entry : universe) {
    for (const DistType& type : entry.second) {
      if (!compare_local_rules(counts, mesh, type, oracle)) return counts;
    }
  }
  compare_permutes(counts, mesh, universe, oracle);
  return counts;
}

struct SmallMesh {
  const char* text;
  std::size_t pairs;  ///< of types of one shape, counted independently: shows that the enumeration
                      ///< is complete
};
constexpr SmallMesh small_meshes[] = {
    {"x:2,y:2", 3607}, {"x:2,y:3", 4540}, {"x:2,y:2,z:2", 209847}, {"x:2,y:2,z:3", 319889}};

class EveryTypeOver : public testing::TestWithParam<SmallMesh> {};

TEST_P(EveryTypeOver, every_collective_agrees_with_spec) {
  const Mesh mesh = support::mesh(GetParam().text);
  const Universe universe = universe_of(mesh);
  std::size_t types = 0;
  std::size_t pairs = 0;
  for (const auto& entry : universe) {
    types += entry.second.size();
    pairs += entry.second.size() * entry.second.size();
  }
  EXPECT_EQ(pairs, GetParam().pairs);
  const Counts counts = compare_all(mesh, universe, comparison::multi_axes_rules);
  std::cout << GetParam().text << ": " << counts.compared << " comparisons over " << types
            << " types (" << counts.applicable << " steps apply)\n";
  EXPECT_EQ(counts.difference, "");
  EXPECT_GT(counts.applicable, 0U);
  EXPECT_GT(counts.compared, 2 * counts.applicable);
}

TEST_P(EveryTypeOver, every_tile_map_is_the_base_offset_map) {
  const Mesh mesh = support::mesh(GetParam().text);
  std::size_t compared = 0;
  for (const auto& entry : universe_of(mesh)) {
    for (const DistType& type : entry.second) {
      ASSERT_TRUE(comparison::same_base_offsets(mesh, type)) << to_text(type);
      ++compared;
    }
  }
  std::cout << GetParam().text << ": " << compared << " tile maps compared\n";
}

/// Calls f with all lists of one or two dimensions of small sizes, well-formed or not, until it
/// returns false.
std::size_t for_nearly_types(const Mesh& mesh,
                             const std::function<bool(const std::vector<DistDim>&)>& f) {
  Names names = axis_names(mesh);
  names.push_back(support::no_axis);
  std::vector<DistDim> dims;
  for (const Names& axes : all_lists(names, 2)) {
    for (const Size tile : {0, 1, 2, 3}) {
      for (const Size global : {0, 1, 2, 3, 4, 6, 12}) dims.push_back({tile, axes, global});
    }
  }
  std::size_t compared = 0;
  for (const DistDim& first : dims) {
    ++compared;
    if (!f({first})) return compared;
    for (const DistDim& second : dims) {
      ++compared;
      if (!f({first, second})) return compared;
    }
  }
  return compared;
}

TEST_P(EveryTypeOver, well_formedness_agrees_with_spec_on_every_pair_of_small_dimensions) {
  const Mesh mesh = support::mesh(GetParam().text);
  std::size_t well_formed = 0;
  const std::size_t compared = for_nearly_types(mesh, [&](const std::vector<DistDim>& dims) {
    EXPECT_TRUE(comparison::same_wellformedness(mesh, dims));
    if (DistType::make(mesh, dims)) ++well_formed;
    return !testing::Test::HasFailure();
  });
  std::cout << GetParam().text << ": " << compared << " lists of dimensions compared, "
            << well_formed << " are types\n";
  EXPECT_GT(well_formed, 0U);
}

INSTANTIATE_TEST_SUITE_P(SmallMeshes, EveryTypeOver, testing::ValuesIn(small_meshes),
                         [](const testing::TestParamInfo<SmallMesh>& drawn) {
                           std::string name;
                           for (const char c : std::string(drawn.param.text)) {
                             if (c >= '0' && c <= '9')
                               name += (name.empty() ? "" : "x") + std::string(1, c);
                           }
                           return name;
                         });

// ---- Negative controls: the same enumeration must tell every mutant from the rule.

TEST(ExhaustiveControl, every_rule_with_a_premise_dropped_is_caught) {
  // Two equal axes show what only tiles with a square factor show, unequal ones what is only seen
  // when sizes differ.
  std::vector<std::pair<Mesh, Universe>> small;
  for (const char* text : {"x:2,y:2", "x:2,y:3"}) {
    const Mesh mesh = support::mesh(text);
    small.emplace_back(mesh, universe_of(mesh));
  }
  for (const comparison::Mutant& mutant : comparison::rule_mutants()) {
    std::size_t compared = 0;
    std::string difference;
    for (const auto& entry : small) {
      if (!difference.empty()) break;
      const Counts counts = compare_all(entry.first, entry.second, mutant.oracle);
      compared += counts.compared;
      difference = counts.difference;
    }
    EXPECT_NE(difference, "") << mutant.name;
    std::cout << mutant.name << ": after " << compared << " comparisons " << difference << "\n";
  }
}

TEST(ExhaustiveControl, every_well_formedness_rule_with_a_premise_dropped_is_caught) {
  const Mesh mesh = support::mesh("x:2,y:3");
  for (const comparison::WfMutant& mutant : comparison::wf_mutants()) {
    bool caught = false;
    for_nearly_types(mesh, [&](const std::vector<DistDim>& dims) {
      caught = !comparison::same_wellformedness(mesh, dims, mutant.oracle);
      return !caught;
    });
    EXPECT_TRUE(caught) << mutant.name;
  }
}

TEST(ExhaustiveControl, every_wrong_reading_of_base_offsets_is_caught) {
  const Mesh mesh = support::mesh("x:2,y:3");
  const Universe universe = universe_of(mesh);
  for (const comparison::OffsetMutant& mutant : comparison::offset_mutants()) {
    bool caught = false;
    for (const auto& entry : universe) {
      for (const DistType& type : entry.second) {
        caught = caught || !comparison::same_base_offsets(mesh, type, mutant.oracle);
      }
    }
    EXPECT_TRUE(caught) << mutant.name;
  }
}

}  // namespace
}  // namespace typing_vs_spec_exhaustive_test
