// The Program: what each of D devices holds at the start, what all do step by step, and what each
// must hold at the end.
//
// Device numbers 0..D-1 are positions, nothing more. Tiles lie in C order. The text and JSON forms
// are in text.h and json.h; what a step does to the devices' arrays is in docs/program.md.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "retile/core/device_table.h"
#include "retile/core/mesh.h"
#include "retile/core/size.h"
#include "retile/core/tile_map.h"
#include "retile/program/exchange.h"

namespace retile {

/// `parts=n part=L`: device d keeps piece L[d] of n; `part` has one entry per device, each below
/// `parts`.
struct PartList {
  Size parts = 1;
  DeviceTable part;
  friend bool operator==(const PartList&, const PartList&) = default;
};

/// Every device keeps one of n equal pieces of its tile along `dim`: piece q at position q of its
/// group, or as listed.
struct Dynslice {
  std::size_t dim = 0;
  std::variant<DeviceTable, PartList> pieces;
  friend bool operator==(const Dynslice&, const Dynslice&) = default;
};

/// Every device gets the group's tiles concatenated along `dim`, position 0 first.
struct Allgather {
  std::size_t dim = 0;
  DeviceTable groups;
  friend bool operator==(const Allgather&, const Allgather&) = default;
};

/// Position q gets piece q along `split` of every member's tile, concatenated along `concat`,
/// position 0 first.
struct Alltoall {
  std::size_t split = 0;
  std::size_t concat = 0;  ///< may equal split
  DeviceTable groups;
  friend bool operator==(const Alltoall&, const Alltoall&) = default;
};

/// Pairs [source, target]; who is no target keeps its own tile.
using PairList = std::vector<std::array<Size, 2>>;

/// Every device d gets the tile of device source[d].
struct Allpermute {
  std::variant<DeviceTable, PairList> source;
  friend bool operator==(const Allpermute&, const Allpermute&) = default;
};

/// What a step says about its own result; a false claim makes the Program wrong at that step.
struct Claims {
  std::optional<Shape> tile;            ///< the shape of every tile
  std::optional<TileMap> map;           ///< where the tiles lie, in digits
  std::optional<std::vector<Size>> at;  ///< base offset per device: rank numbers, device by device
  friend bool operator==(const Claims&, const Claims&) = default;
};

struct Step {
  std::variant<Dynslice, Allgather, Alltoall, Allpermute, Exchange> op;
  Claims claims;
  friend bool operator==(const Step&, const Step&) = default;
};

/// `dynslice`, `allgather`, `alltoall`, `allpermute` or `exchange`.
[[nodiscard]] std::string_view op_name(const Step& step);

/// One Program. Meshes are only for printing. from, to and map claims have the same global shape;
/// tables hold numbers below `devices`; dimensions are below the rank; an exchange has a tile
/// claim, and the tile and its boxes have the rank and extents of at least 1: readers and `lower`
/// establish this, whoever builds one by hand must, too.
struct Program {
  Size devices = 1;
  std::optional<Mesh> mesh;     ///< names the axes of `from`, and of all others without mesh_to
  std::optional<Mesh> mesh_to;  ///< names the axes of `to` and the claims; another mesh than `mesh`
  TileMap from;
  TileMap to;
  std::vector<Step> steps;
  friend bool operator==(const Program&, const Program&) = default;
};

}  // namespace retile
