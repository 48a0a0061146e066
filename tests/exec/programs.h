// Programs by hand, for the tests of all executors: every kind of step, table and place, on 1 to 30
// devices.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/result.h"
#include "retile/exec/npy/pattern.h"
#include "retile/program/apply.h"
#include "retile/program/forms/text.h"
#include "retile/program/program.h"

namespace retile::test {

/// One right Program and what it is there for.
struct NamedProgram {
  std::string_view name;
  std::string_view text;
};

// The tables are the order of the device number's digits that docs/reference/program.md defines; each file
// was checked by replay.
inline const std::vector<NamedProgram>& right_programs() {
  static const std::vector<NamedProgram> programs{
      {"example_3_1", R"(retile.program/1
mesh x:4,y:6
from [3{x}12, 2{y}12]
to [2{y}12, 3{x}12]
alltoall split=0 concat=1 groups=[8,3]<=[24] tile=[1,6] map=[1{1:3,x}12, 6{3:2}12]
allpermute source=[24]<=[2,6,2]T(0,2,1)<=[4,2,3]T(1,0,2) tile=[1,6] map=[1{6:2,y}12, 6{12:2}12]
alltoall split=1 concat=0 groups=[12,2]<=[2,2,6]T(0,2,1) tile=[2,3] map=[2{y}12, 3{x}12]
)"},
      {"replication", R"(retile.program/1
mesh a:2,b:2,c:2
from [4, 1{a,b}4]
to [1{a,c}4, 4]
dynslice dim=0 groups=[4,2]<=[8] tile=[2,1] map=[2{c}4, 1{a,b}4]
alltoall split=0 concat=1 groups=[[0,4],[1,5],[2,6],[3,7]] tile=[1,2] map=[1{a,c}4, 2{b}4]
allgather dim=1 groups=[4,2]<=[2,2,2]T(0,2,1) tile=[1,4] map=[1{a,c}4, 4]
)"},
      {"unequal_sizes_out_of_order", R"(retile.program/1
mesh a:2,b:3,c:5
from [1{a,b}6, 3{c}15]
to [6, 15]
alltoall split=1 concat=0 groups=[10,3]<=[2,3,5]T(2,1,0) tile=[3,1]
allgather dim=0 groups=[15,2]<=[5,2,3]T(0,2,1)<=[2,3,5]T(2,1,0) tile=[6,1]
allgather dim=1 groups=[2,15]<=[5,2,3]T(1,0,2)<=[2,3,5]T(2,1,0) tile=[6,15] map=[6, 15]
)"},
      {"listing_3_small", R"(retile.program/1
mesh devs:8
from [16, 6{devs}48]
to [2{devs}16, 48]
alltoall split=0 concat=1 groups=[1,8]<=[8] tile=[2,48] map=[2{devs}16, 48]
)"},
      {"alltoall_of_two", R"(retile.program/1
mesh x:2
from [3{x}6, 4, 5]
to [6, 4{}4, 5]
alltoall split=1 concat=0 groups=[[0,1]] tile=[6,2,5]
allgather dim=1 groups=[[0,1]]
)"},
      {"alltoall_from_the_last_dimension", R"(retile.program/1
mesh x:2
from [6, 2, 4{x}8]
to [6, 1{x}2, 8]
alltoall split=1 concat=2 groups=[1,2]<=[2] tile=[6,1,8]
)"},
      {"gather_in_the_middle", R"(retile.program/1
mesh x:2,y:2
from [3, 2{y,x}8, 5]
to [3, 8, 5]
allgather dim=1 groups=[2,2]<=[4]
allgather dim=1 groups=[2,2]<=[2,2]T(1,0)
)"},
      {"gather_both_at_once", R"(retile.program/1
mesh x:2,y:2
from [3, 2{y,x}8, 5]
to [3, 8, 5]
allgather dim=1 groups=[1,4]<=[4] tile=[3,8,5]
)"},
      {"slice_only", R"(retile.program/1
mesh x:2,y:2
from [8, 6]
to [8, 3{y}6]
dynslice dim=1 groups=[2,2]<=[4] tile=[8,3]
)"},
      {"slices_by_part_list", R"(retile.program/1
mesh x:2,y:2
from [8, 6]
to [2{y,x}8, 6]
dynslice dim=0 parts=2 part=[0,0,1,1] tile=[4,6]
dynslice dim=0 parts=2 part=[0,1,0,1]
)"},
      {"slice_of_whole_rows_at_the_end", R"(retile.program/1
mesh x:2,y:2
from [2{x}4, 4]
to [1{y,x}4, 4]
allgather dim=0 groups=[2,2]<=[2,2]T(1,0) tile=[4,4]
dynslice dim=0 parts=4 part=[0,1,2,3]
)"},
      {"nothing_to_do", R"(retile.program/1
mesh x:2,y:3
from [4{x}8, 6]
to [4{x}8, 6]
)"},
      {"steps_that_move_nothing", R"(retile.program/1
mesh x:2,y:3
from [4{x}8, 2{y}6]
to [4{x}8, 2{y}6]
allgather dim=0 groups=[6,1]<=[6]
alltoall split=0 concat=1 groups=[[0],[1],[2],[3],[4],[5]]
dynslice dim=1 parts=1 part=[0,0,0,0,0,0]
allpermute source=[6]<=[6]
allpermute pairs=[[3,3]]
)"},
      {"permutation_by_list", R"(retile.program/1
mesh x:2,y:3
from [4{x}8, 2{y}6]
to tile=[4,2] global=[8,6] at=[[0,0],[4,0],[0,2],[4,2],[0,4],[4,4]]
allpermute source=[0,3,1,4,2,5]
)"},
      {"permutation_by_pairs", R"(retile.program/1
mesh x:2,y:3
from [4{x}8, 2{y}6]
to tile=[4,2] global=[8,6] at=[[0,0],[0,4],[4,0],[0,2],[4,2],[4,4]]
allpermute pairs=[[2,1],[3,2],[1,3],[0,0]]
)"},
      {"exchange_within_one_dimension", R"(retile.program/1
mesh x:2,y:3
from [6{x,y}36, 2]
to tile=[6,2] global=[36,2] at=[[0,0],[0,0],[0,0],[0,0],[0,0],[0,0]]
allgather dim=0 groups=[1,6]<=[2,3]T(1,0)
dynslice dim=0 parts=6 part=[0,0,0,0,0,0]
)"},
      {"non_minor_axis", R"(retile.program/1
mesh x:3,y:2
from [2{y,x}12, 3]
to tile=[6,3] global=[12,3] at=[[0,0],[6,0],[0,0],[6,0],[0,0],[6,0]]
allpermute source=[0,3,1,4,2,5]
allgather dim=0 groups=[[0,2,4],[1,3,5]]
)"},
      {"twelve", R"(retile.program/1
mesh x:3,y:4
from [4{x}12, 3{y}12, 2]
to [12, 1{y,x}12, 2]
alltoall split=1 concat=0 groups=[4,3]<=[3,4]T(1,0) tile=[12,1,2] map=[12, 1{x,y}12, 2]
allpermute source=[12]<=[3,4]T(1,0)
)"},
      {"one_device", R"(retile.program/1
mesh x:1
from [3, 4]
to [3, 4]
allgather dim=1 groups=[[0]]
)"},
      {"rank_0", R"(retile.program/1
devices 2
from []
to []
allpermute pairs=[[0,1],[1,0]]
)"},
  };
  return programs;
}

inline Program parsed(std::string_view text) {
  auto programs = parse_programs(text);
  if (!programs || programs->size() != 1) {
    ADD_FAILURE() << "not one Program: " << (programs ? "" : render(programs.error()));
    return {};
  }
  return programs->front();
}

/// The Program of that name.
inline Program named_program(std::string_view name) {
  for (const NamedProgram& program : right_programs()) {
    if (program.name == name) return parsed(program.text);
  }
  ADD_FAILURE() << "no Program " << name;
  return {};
}

/// A Program of random steps that can be applied but need not be right: executors must do the same
/// with it. The same for the same seed. `to` says the shape of the last tiles and nothing else that
/// is true.
inline Program random_program(std::uint64_t seed, Size devices) {
  std::mt19937_64 random(seed);
  const auto below = [&](Size end) {
    return static_cast<Size>(random() % static_cast<std::uint64_t>(end));
  };
  const std::size_t rank = static_cast<std::size_t>(1 + below(3));
  constexpr Size most_elements = 4096;
  const auto shuffled = [&] {
    std::vector<Size> order(static_cast<std::size_t>(devices));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<Size>(i);
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[static_cast<std::size_t>(below(static_cast<Size>(i)))]);
    }
    return order;
  };
  const auto group_size = [&] {
    std::vector<Size> divisors;
    for (Size n = 1; n <= devices; ++n) {
      if (devices % n == 0) divisors.push_back(n);
    }
    return divisors[static_cast<std::size_t>(below(static_cast<Size>(divisors.size())))];
  };
  const auto groups = [&](Size n) {
    if (below(3) == 0) return DeviceTable::iota(IotaChain(devices), n);
    const std::vector<Size> order = shuffled();
    std::vector<std::vector<Size>> rows;
    for (std::size_t i = 0; i < order.size(); i += static_cast<std::size_t>(n)) {
      const auto begin = order.begin() + static_cast<std::ptrdiff_t>(i);
      rows.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(n));
    }
    return DeviceTable::rows(std::move(rows));
  };

  Program program;
  program.devices = devices;
  Shape tile;
  for (std::size_t i = 0; i < rank; ++i) {
    static constexpr Size extents[] = {1, 2, 3, 4, 6, 8, 12};
    tile.push_back(extents[static_cast<std::size_t>(below(7))]);
  }
  const Shape first = tile;
  Shape largest = tile;
  const Size steps = 1 + below(5);
  while (static_cast<Size>(program.steps.size()) < steps) {
    Step step;
    const auto dim = static_cast<std::size_t>(below(static_cast<Size>(rank)));
    const Size n = group_size();
    switch (below(5)) {
      case 0:
        step.op = Dynslice{.dim = dim, .pieces = groups(n)};
        break;
      case 1: {
        std::vector<Size> parts;
        for (Size d = 0; d < devices; ++d) parts.push_back(below(n));
        step.op =
            Dynslice{.dim = dim, .pieces = PartList{.parts = n, .part = DeviceTable::list(parts)}};
        break;
      }
      case 2:
        step.op = Allgather{.dim = dim, .groups = groups(n)};
        break;
      case 3: {
        const auto concat = static_cast<std::size_t>(below(static_cast<Size>(rank)));
        step.op = Alltoall{.split = dim, .concat = concat, .groups = groups(n)};
        break;
      }
      default:
        step.op = Allpermute{.source = DeviceTable::list(shuffled())};
    }
    const auto after = shape_after(step, tile, devices);
    // What cannot be applied, or grows too large, becomes a step that always fits.
    if (!after || checked_product(*after).value_or(most_elements + 1) > most_elements) continue;
    tile = *after;
    for (std::size_t i = 0; i < rank; ++i) largest[i] = std::max(largest[i], tile[i]);
    program.steps.push_back(std::move(step));
  }
  const std::vector<Size> at(static_cast<std::size_t>(devices) * rank, 0);
  program.from = Layout::listed(devices, largest, first, at).value();
  program.to = Layout::listed(devices, largest, tile, at).value();
  return program;
}

/// The generated tile of one device.
inline std::vector<std::byte> pattern_tile(const Layout& map, Size device, Size element_bytes) {
  std::vector<std::byte> tile(static_cast<std::size_t>(map.tile_size(device) * element_bytes));
  fill_pattern(map, device, element_bytes, tile);
  return tile;
}

inline constexpr Size element_sizes[] = {1, 2, 4, 8, 16};

}  // namespace retile::test
