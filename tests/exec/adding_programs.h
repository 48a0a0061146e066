// Programs that add, for the tests of all executors, and tiles of which every sum depends on its
// order.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "exec/programs.h"
#include "retile/core/element_type.h"
#include "retile/exec/npy/splitmix.h"
#include "retile/program/program.h"

namespace retile::test {

/// Right Programs on 4 and on 6 devices; OP stands for sum, max or min, and ADD for the key of steps
/// that says so.
inline const std::vector<NamedProgram>& adding_programs() {
  static const std::vector<NamedProgram> programs{
      {"a1_scatter_and_gather", R"(retile.program/2
mesh x:4
from OP{x}[8]
to [8]
reducescatter dim=0 groups=[1,4]<=[4] ADD map=[2{x}8]
allgather dim=0 groups=[1,4]<=[4]
)"},
      {"a1_all", R"(retile.program/2
mesh x:4
from OP{x}[8]
to [8]
allreduce groups=[[3,1,0,2]] ADD
)"},
      {"a2", R"(retile.program/2
mesh x:2,y:2
from OP{x}[8]
to [8]
dynslice dim=0 groups=[2,2]<=[4] tile=[4] map=OP{x}[4{y}8]
reducescatter dim=0 groups=[2,2]<=[2,2]T(1,0) ADD tile=[2] map=[2{x,y}8]
allgather dim=0 groups=[1,4]<=[2,2]T(1,0) tile=[8] map=[8]
)"},
      {"a3", R"(retile.program/2
mesh x:2,y:2
from OP{x}[8]
to [2{x,y}8]
dynslice dim=0 groups=[2,2]<=[4]
reducescatter dim=0 groups=[2,2]<=[2,2]T(1,0) ADD
)"},
      {"a4", R"(retile.program/2
mesh x:2,y:2
from OP{x}[8]
to OP{y}[8]
allpermute source=[0,2,1,3]
)"},
      {"a5_in_rows", R"(retile.program/2
mesh x:2,y:2
from OP{x}[4, 2{y}4]
to [1{y,x}4, 4]
reducescatter dim=0 groups=[[0,2],[1,3]] ADD map=[2{x}4, 2{y}4]
alltoall split=0 concat=1 groups=[[0,1],[2,3]]
)"},
      {"a5_in_halves", R"(retile.program/2
mesh x:2,y:2
from OP{x}[4, 2{y}4]
to [2{y}4, 4]
reducescatter dim=0 groups=[[0,2],[1,3]] ADD map=[2{x}4, 2{y}4]
alltoall split=0 concat=1 groups=[[0,1],[2,3]] map=[1{y,x}4, 4]
allpermute source=[0,2,1,3]
allgather dim=0 groups=[[0,2],[1,3]]
)"},
      {"a6", R"(retile.program/2
mesh x:2,y:2
from OP{y}[3]
to [3]
allreduce groups=[[0,1],[2,3]] ADD
)"},
      {"a6_uneven", R"(retile.program/2
mesh x:2,y:2
from OP{y}[3]
to [3]
reducescatter dim=0 groups=[[0,1],[2,3]] piece=2 ADD map=[2{y}3]
allgather dim=0 groups=[[0,1],[2,3]]
)"},
      {"uneven_at_the_end", R"(retile.program/2
mesh x:2,y:2
from OP{y}[2, 3]
to [2, 2{y}3]
reducescatter dim=1 groups=[[0,1],[2,3]] piece=2 ADD
)"},
      {"an_empty_piece", R"(retile.program/2
mesh x:4
from OP{x}[3, 5]
to [3, 2{x}5]
reducescatter dim=1 groups=[[2,0,1,3]] piece=2 ADD
allpermute source=[2,0,1,3]
)"},
      {"a7_two", R"(retile.program/2
mesh x:2,y:3
from OP{x}[6]
to [6]
reducescatter dim=0 groups=[[0,3],[1,4],[2,5]] ADD
allgather dim=0 groups=[[0,3],[1,4],[2,5]]
)"},
      {"a7_three", R"(retile.program/2
mesh x:2,y:3
from OP{y}[6]
to [6]
allreduce groups=[[2,0,1],[4,5,3]] ADD
)"},
      {"in_two_steps", R"(retile.program/2
mesh x:2,y:3
from OP{x,y}[2, 5]
to [2, 5]
allreduce groups=[[3,0],[1,4],[2,5]] ADD map=OP{y}[2, 5]
allreduce groups=[[2,1,0],[4,5,3]] ADD
)"},
      {"apart_again", R"(retile.program/2
mesh x:2,y:2
from OP{x}[8]
to OP{y}[8]
allreduce groups=[[0,2],[1,3]] ADD map=[8]
unreduce groups=[[0,1],[2,3]] ADD
)"},
      {"as_pieces_of_zeros", R"(retile.program/2
mesh x:2,y:2
from [3, 2{y}4]
to OP{y}[3, 4]
embed dim=1 groups=[[0,1],[2,3]] ADD
)"},
      {"an_exchange", R"(retile.program/2
mesh x:2,y:2
from OP{y}[2, 2]
to [1{y}2, 2]
exchange transfers=[[0,1,0,0,0,0,1,2],[0,0,0,0,0,0,1,2],[1,0,0,0,1,0,1,2],[1,1,0,0,1,0,1,2],[2,3,0,0,0,0,1,2],[2,2,0,0,0,0,1,2],[3,2,0,1,1,1,1,1],[3,3,0,0,1,0,1,2],[3,2,0,0,1,0,1,1]] add=OP tile=[1,2]
)"},
      {"an_exchange_with_gaps", R"(retile.program/2
mesh x:2,y:2
from [4]
to OP{x,y}[4]
exchange transfers=[[0,3,1,1,2],[1,0,0,0,1],[3,3,3,3,1]] add=OP tile=[4]
)"},
      {"rank_0", R"(retile.program/2
mesh x:4
from OP{x}[]
to []
allreduce groups=[[1,3,0,2]] ADD
)"},
  };
  return programs;
}

/// A text with an addition in the place of OP and ADD.
inline Program adding_program(std::string_view text, Addition addition) {
  std::string out(text);
  const std::string name(name_of(addition));
  const auto replace = [&](std::string_view what, const std::string& with) {
    for (std::size_t at = out.find(what); at != std::string::npos; at = out.find(what)) {
      out.replace(at, what.size(), with);
    }
  };
  replace(" ADD", addition == Addition::sum ? "" : " add=" + name);
  replace("OP", name);
  return parsed(out);
}

/// Random elements: words, or floating numbers around 1 with all their digits, so that most sums of
/// three depend on their order.
inline std::vector<std::byte> rough_tile(const Layout& from, Size device, const ElementType& type) {
  const bool is_complex = type.kind == ElementKind::complex;
  const Size part = is_complex ? type.bytes / 2 : type.bytes;
  const Size parts = from.tile_size(device) * (type.bytes / part);
  std::vector<std::byte> tile(static_cast<std::size_t>(parts * part));
  for (Size i = 0; i < parts; ++i) {
    const std::uint64_t word = splitmix64(static_cast<std::uint64_t>(1000 * device + i));
    const std::uint64_t power = (word >> 58U) % 4;
    std::uint64_t bits = word;
    if (type.kind == ElementKind::brain_floating) {
      bits = (word & 0x807fU) | ((126 + power) << 7U);
    } else if (type.kind == ElementKind::floating || is_complex) {
      bits = part == 2   ? (word & 0x83ffU) | ((14 + power) << 10U)
             : part == 4 ? (word & 0x807fffffU) | ((126 + power) << 23U)
                         : (word & 0x800fffffffffffffU) | ((1022 + power) << 52U);
    }
    std::memcpy(tile.data() + i * part, &bits, static_cast<std::size_t>(part));
  }
  return tile;
}

/// Whether elements of a type have an addition.
inline bool can_add(Addition addition, const ElementType& type) {
  return addition == Addition::sum || type.kind != ElementKind::complex;
}

inline constexpr Addition additions[] = {Addition::sum, Addition::max, Addition::min};

}  // namespace retile::test
