// A layout: which box of the global array each device holds.
#pragma once

#include <cstddef>
#include <vector>

#include "retile/core/cuts.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/core/tile_map.h"

namespace retile {

/// One tile per device, all of one shape, in two forms:
///
/// * by tile numbers: a TileMap says which tile a device holds, Cuts say where it lies;
/// * listed: a base offset per device. Foreign Programs may hold any; it need not be balanced or
///   cover the array.
///
/// Running example: `[3{x}12, 2{y}12]` over x:4,y:6 has tile (3,2), digits {6:4} and {1:6}.
class Layout {
 public:
  Layout() = default;

  /// By tile numbers whose digits are digits of the device number.
  /// \error ill_formed_type, bad_number, size_overflow: tile * product of digit sizes == global per
  ///     dimension; and as TileMap::make.
  [[nodiscard]] static Result<Layout> compact(Size devices, const Shape& global, const Shape& tile,
                                              std::vector<std::vector<Digit>> digits);

  /// Listed; `at` holds rank() numbers per device, device after device.
  /// \error ill_formed_type, bad_number, size_overflow: extents >= 1, base + tile <= global, devices *
  ///     rank() entries.
  [[nodiscard]] static Result<Layout> listed(Size devices, Shape global, Shape tile,
                                             std::vector<Size> at);

  [[nodiscard]] Size devices() const { return devices_; }
  [[nodiscard]] std::size_t rank() const { return global_.size(); }
  [[nodiscard]] const Shape& global() const { return global_; }
  [[nodiscard]] const Shape& tile() const { return tile_; }
  /// Elements of a tile; never overflows: at most the global size.
  [[nodiscard]] Size tile_size() const;
  [[nodiscard]] Size global_size() const;

  [[nodiscard]] bool is_listed() const { return listed_; }
  /// Whether digits of the device number say it all.
  [[nodiscard]] bool is_compact() const { return !listed_ && numbers_.is_compact(); }

  // Of layouts by tile numbers. Precondition: not listed.

  [[nodiscard]] const TileMap& numbers() const { return numbers_; }
  [[nodiscard]] const std::vector<Cuts>& cuts() const { return cuts_; }
  [[nodiscard]] const std::vector<std::vector<Digit>>& digits() const { return numbers_.digits(); }
  [[nodiscard]] const IotaChain& order() const { return numbers_.order(); }

  /// All base offsets: rank() numbers per device, device after device. O(devices * (rank +
  /// digits)).
  [[nodiscard]] std::vector<Size> base_offsets() const;
  /// The base offset of one device.
  [[nodiscard]] Shape base_offset(Size device) const;

  /// Whether the tiles cover the array exactly once but for replicas: listed ones need not.
  [[nodiscard]] bool covers_once() const;

  /// The same function D -> boxes (Def. 6.2), whatever the forms. O(devices * rank) unless both
  /// forms are alike.
  [[nodiscard]] bool equivalent(const Layout& other) const;

  // What collectives do (TileMap says how). Precondition (asserted): not listed.

  /// As TileMap::pop: the tile grows by n.
  std::vector<Digit> pop(std::size_t i, Size n);
  /// As TileMap::push: the tile shrinks. Precondition (asserted): the factor divides the tile.
  void push(std::size_t i, const std::vector<Digit>& digits);
  [[nodiscard]] std::vector<Digit> unused() const;
  /// The same layout in compact form where that can say it, else *this.
  [[nodiscard]] Layout compacted() const;

  /// The layout after renaming the devices, as TileMap::renamed; a listed one stays listed.
  [[nodiscard]] Layout renamed(const IotaChain& device_at) const;

  /// Same form and same digits; `equivalent` decides whether two are the same function.
  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  Size devices_ = 1;
  Shape global_;
  Shape tile_;
  TileMap numbers_;
  std::vector<Cuts> cuts_;
  bool listed_ = false;
  std::vector<Size> at_;
};

/// How many tiles of this extent lie along a dimension. Precondition: tile >= 1, and it divides.
[[nodiscard]] inline Size tile_count(Size global, Size tile) { return global / tile; }

}  // namespace retile
