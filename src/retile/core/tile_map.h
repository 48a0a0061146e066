// The tile map f : D -> tiles, what is true about a distributed array: which box of the global
// array each device holds.
//
// Paper: f = beta o phi^-1 (Defs. 6.1, 6.2); two device assignments are equivalent iff their tile
// maps are equal.
#pragma once

#include <cstddef>
#include <vector>

#include "retile/core/device_table.h"
#include "retile/core/mesh.h"
#include "retile/core/result.h"
#include "retile/core/size.h"

namespace retile {

/// One tile per device, all of one shape, in three forms:
///
/// * compact: dimension i of the device's box starts at tile[i] * (digits of the device number d,
/// minor to major);
/// * ordered: the same with digits of v, where device order().at(v) has position v. Needed when a
/// factor is popped
///   off a dimension across its digits (3 off digits 2,3), which no digits of d can say;
/// * explicit: a base offset per device. Foreign Programs may hold any; it need not be balanced or
/// cover the array.
///
/// The first two are always balanced: every tile is held by equally many devices.
/// Running example: `[3{x}12, 2{y}12]` over x:4,y:6 has tile (3,2), digits {6:4} and {1:6}.
class TileMap {
 public:
  TileMap() = default;

  /// Compact form.
  /// \error ill_formed_type, bad_number, size_overflow: tile * product of digit sizes == global per
  ///     dimension; digits (size 1 dropped) sorted by stride: stride*size divides the next stride,
  ///     the last divides `devices`.
  [[nodiscard]] static Result<TileMap> compact(Size devices, Shape global, Shape tile,
                                               std::vector<std::vector<Digit>> digits);

  /// Explicit form; `at` holds rank() numbers per device, device after device.
  /// \error ill_formed_type, bad_number, size_overflow: extents >= 1, base + tile <= global,
  /// devices * rank() entries.
  [[nodiscard]] static Result<TileMap> explicit_map(Size devices, Shape global, Shape tile,
                                                    std::vector<Size> at);

  [[nodiscard]] Size devices() const { return devices_; }
  [[nodiscard]] std::size_t rank() const { return global_.size(); }
  [[nodiscard]] const Shape& global() const { return global_; }
  [[nodiscard]] const Shape& tile() const { return tile_; }
  [[nodiscard]] Size tile_size()
      const;  ///< elements of a tile; never overflows: at most the global size
  [[nodiscard]] Size global_size() const;

  [[nodiscard]] bool is_explicit() const { return explicit_; }
  [[nodiscard]] bool is_compact() const { return !explicit_ && order_.stages().empty(); }

  /// Digits per dimension, minor to major, over the device number (compact) or over positions of
  /// order().
  [[nodiscard]] const std::vector<std::vector<Digit>>& digits() const { return digits_; }
  [[nodiscard]] const IotaChain& order() const { return order_; }

  /// All base offsets: rank() numbers per device, device after device. O(devices * (rank +
  /// digits)).
  [[nodiscard]] std::vector<Size> base_offsets() const;
  /// The base offset of one device.
  [[nodiscard]] Shape base_offset(Size device) const;

  /// The same function D -> boxes (Def. 6.2), whatever the forms. O(devices * rank) unless both
  /// forms are alike.
  [[nodiscard]] bool equivalent(const TileMap& other) const;

  // What collectives do to balanced maps (Fig. 10): a gather pops, a slice pushes, an alltoall does
  // both (docs/statements.md, S1). Preconditions (asserted): not explicit, the factors divide.

  /// Removes the factor n from the minor end of dimension i: t_i := t_i div n, the tile grows by n.
  /// Returns the digits that said t_i mod n before, over the positions of the *new* order(), minor
  /// to major; when the factor cuts across digits, order() is rearranged first (the map itself does
  /// not change by that).
  std::vector<Digit> pop(std::size_t i, Size n);
  /// Prepends digits over positions of order() to dimension i: t_i := t_i * n + e, the tile shrinks
  /// by n.
  void push(std::size_t i, const std::vector<Digit>& digits);
  /// The digits that no dimension uses, major to minor (largest stride first), joined where they
  /// touch.
  [[nodiscard]] std::vector<Digit> unused() const;
  /// The same map in compact form where the used digits can be said in device numbers, else *this.
  [[nodiscard]] TileMap compacted() const;

  /// Same form and same digits; `equivalent` decides whether two maps are the same function.
  friend bool operator==(const TileMap&, const TileMap&) = default;

 private:
  Shape global_;
  Shape tile_;
  Size devices_ = 1;
  std::vector<std::vector<Digit>> digits_;
  IotaChain order_{1};
  bool explicit_ = false;
  std::vector<Size> at_;
};

}  // namespace retile
