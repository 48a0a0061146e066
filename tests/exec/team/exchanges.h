// Exchanges for the tests of the room: made from tile maps element by element, and tiles whose
// every element says which one it is and which run it belongs to.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "retile/exec/team/shared.h"
#include "retile/notation/paper/problem.h"
#include "support/values.h"

namespace team_test {

using retile::Shape;
using retile::Size;
using retile::TileExchange;

/// A problem with the tile maps by which its outcome is judged.
struct Case {
  std::string name;
  retile::Layout from, to;
  TileExchange problem;
  [[nodiscard]] int members() const { return static_cast<int>(from.devices()); }
};

/// Every target tile cut along the grid of source tiles. Of several holders of a piece the target
/// itself is taken, else one of the others.
inline retile::Exchange exchange_of(const retile::Layout& from, const retile::Layout& to) {
  retile::Exchange out;
  const std::size_t rank = from.rank();
  std::map<Shape, std::vector<Size>> holders;
  for (Size device = 0; device < from.devices(); ++device) {
    holders[from.base_offset(device)].push_back(device);
  }
  for (Size target = 0; target < to.devices(); ++target) {
    const Shape base = to.base_offset(target);
    for (const auto& [corner, devices] : holders) {
      retile::Transfer transfer{.target = target,
                                .source = 0,
                                .target_start = Shape(rank),
                                .source_start = Shape(rank),
                                .shape = Shape(rank)};
      bool empty = false;
      for (std::size_t i = 0; i < rank; ++i) {
        const Size begin = std::max(corner[i], base[i]);
        const Size end = std::min(corner[i] + from.tile()[i], base[i] + to.tile()[i]);
        empty = empty || end <= begin;
        transfer.target_start[i] = begin - base[i];
        transfer.source_start[i] = begin - corner[i];
        transfer.shape[i] = end - begin;
      }
      if (empty) continue;
      const bool has_it = std::find(devices.begin(), devices.end(), target) != devices.end();
      transfer.source =
          has_it ? target : devices[static_cast<std::size_t>(target) % devices.size()];
      out.transfers.push_back(std::move(transfer));
    }
  }
  return out;
}

inline Case make_case(std::string_view mesh, std::string_view from, std::string_view to,
                      Size element_bytes = 4) {
  const retile::Problem problem = support::problem(mesh, from, to);
  Case out;
  out.name = std::string(mesh) + " " + std::string(from) + " -> " + std::string(to) + " of " +
             std::to_string(element_bytes) + " bytes";
  out.from = problem.from;
  out.to = problem.to;
  out.problem = {.exchange = exchange_of(out.from, out.to),
                 .in_tiles = out.from.tile(),
                 .out_tiles = out.to.tile(),
                 .element_bytes = element_bytes};
  return out;
}

/// Byte `byte` of the element at `index` of the global array in run `generation`.
inline std::byte stamp(Size index, std::uint32_t generation, Size byte) {
  std::uint64_t value = static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15U +
                        generation * std::uint64_t{0xbf58476d1ce4e5b9U} +
                        static_cast<std::uint64_t>(byte) * 0x94d049bb133111ebU;
  value ^= value >> 31;
  value *= 0xd6e8feb86659fd93U;
  return static_cast<std::byte>(value >> 56);
}

/// Calls visit(position in the tile, index in the global array) for all elements of a device.
template <typename Visit>
void each_element(const retile::Layout& map, Size device, Visit visit) {
  const Shape base = map.base_offset(device);
  const Shape& tile = map.tile();
  const Size elements = map.tile_size();
  for (Size position = 0; position < elements; ++position) {
    Size rest = position;
    Size index = 0;
    Size stride = 1;
    for (std::size_t i = tile.size(); i-- > 0;) {
      index += (base[i] + rest % tile[i]) * stride;
      rest /= tile[i];
      stride *= map.global()[i];
    }
    visit(position, index);
  }
}

inline Size tile_bytes(const retile::Layout& map, Size element_bytes) {
  return map.tile_size() * element_bytes;
}

inline void fill(const retile::Layout& map, Size device, Size element_bytes,
                 std::uint32_t generation, std::span<std::byte> out) {
  each_element(map, device, [&](Size position, Size index) {
    for (Size byte = 0; byte < element_bytes; ++byte) {
      out[static_cast<std::size_t>(position * element_bytes + byte)] =
          stamp(index, generation, byte);
    }
  });
}

/// Bytes of the tile that are not what they should be.
inline Size wrong_bytes(const retile::Layout& map, Size device, Size element_bytes,
                        std::uint32_t generation, std::span<const std::byte> in) {
  Size wrong = 0;
  each_element(map, device, [&](Size position, Size index) {
    for (Size byte = 0; byte < element_bytes; ++byte) {
      wrong += in[static_cast<std::size_t>(position * element_bytes + byte)] !=
               stamp(index, generation, byte);
    }
  });
  return wrong;
}

/// Where the tiles of a test lie in each member's memory: slots, two tiles, copies.
struct Places {
  Size slots_bytes, in_offset, out_offset, copies_offset, memory_bytes;
  Places(const Case& test, Size slots) : slots_bytes(slots) {
    const auto rounded = [](Size bytes) { return (bytes + 63) / 64 * 64; };
    const Size element = test.problem.element_bytes;
    in_offset = rounded(slots);
    out_offset = in_offset + rounded(tile_bytes(test.from, element));
    copies_offset = out_offset + rounded(tile_bytes(test.to, element));
    memory_bytes = copies_offset + retile::team::copies_bytes(tile_bytes(test.from, element));
  }
  /// With slots, or copies instead.
  [[nodiscard]] retile::team::SharedOptions options(bool copies = false) const {
    return {.slots_offset = 0,
            .slots_bytes = slots_bytes,
            .copies = copies,
            .copies_offset = copies_offset};
  }
};

/// The tiles of one member of a case, each in its shared memory or in its own.
struct Buffers {
  std::vector<std::byte> own_in, own_out;
  std::span<std::byte> in, out;

  Buffers(const Case& test, const Places& places, const retile::team::Team& team, bool in_shared,
          bool out_shared)
      : own_in(static_cast<std::size_t>(tile_bytes(test.from, test.problem.element_bytes))),
        own_out(static_cast<std::size_t>(tile_bytes(test.to, test.problem.element_bytes))) {
    const auto place = [&](bool shared, Size offset, std::vector<std::byte>& own) {
      if (!shared) return std::span(own);
      return team.memory(team.member()).subspan(static_cast<std::size_t>(offset), own.size());
    };
    in = place(in_shared, places.in_offset, own_in);
    out = place(out_shared, places.out_offset, own_out);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;
};

/// Small problems of all kinds: 1 to 8 members, ranks 0 to 4, elements of 1 to 16 bytes, gathers,
/// slices, permutations, swaps, replicas that are not where they were.
inline std::vector<Case> small_cases() {
  std::vector<Case> out;
  const auto add = [&](auto... arguments) { out.push_back(make_case(arguments...)); };
  add("x:1", "[3, 4]", "[3, 4]");
  add("x:2", "[]", "[]");
  for (const Size element : {Size{1}, Size{2}, Size{4}, Size{8}, Size{16}}) {
    add("x:2", "[6{x}12, 10]", "[12, 5{x}10]", element);
  }
  add("x:2", "[6{x}12]", "[12]");
  add("x:2", "[12]", "[6{x}12]");
  add("x:3", "[3{x}9, 6, 5]", "[9, 2{x}6, 5]");
  add("x:3", "[9, 2{x}6, 5]", "[3{x}9, 6, 5]");
  add("x:2,y:2", "[2{x}4, 3{y}6]", "[2{y}4, 3{x}6]");
  add("x:2,y:2", "[1{x,y}4, 6]", "[1{y,x}4, 6]");
  add("x:2,y:2", "[2{x}4, 6]", "[2{y}4, 6]");
  add("x:4", "[8{x}32, 4, 3]", "[32, 1{x}4, 3]");
  add("x:4", "[32, 7, 1{x}4, 5]", "[8{x}32, 7, 4, 5]");
  add("x:2,y:3", "[2{x}4, 2{y}6]", "[4, 1{x,y}6]");
  add("x:8", "[2{x}16, 24]", "[16, 3{x}24]");
  add("x:8", "[2{x}16, 24]", "[16, 24]");
  add("x:2,y:2,z:2", "[2{x,y}8, 3{z}6, 4]", "[4{z}8, 6, 1{y,x}4]");
  add("x:2,y:2,z:2", "[4, 1{x,y}4]", "[1{x,z}4, 4]");
  return out;
}

}  // namespace team_test
