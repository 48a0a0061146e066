// The tile map f : D -> tile numbers, what is true about a distributed array: which tile each
// device holds. Where a tile lies, its cuts say (layout.h).
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

/// One tile number per device and dimension, in two forms:
///
/// * compact: the number in dimension i is made of digits of the device number d, minor to major;
/// * ordered: the same with digits of v, where device order().at(v) has position v. Needed when a
///   factor is popped off a dimension across its digits (3 off digits 2,3), which no digits of d can
///   say.
///
/// Always balanced: every tile is held by equally many devices.
/// Running example: `[3{x}12, 2{y}12]` over x:4,y:6 has digits {6:4} and {1:6}: counts 4 and 6.
class TileMap {
 public:
  TileMap() = default;

  /// Compact form, a list of digits per dimension.
  /// \error ill_formed_type, bad_number, size_overflow: digits (size 1 dropped) sorted by stride:
  ///     stride * size divides the next stride, the last divides `devices`.
  [[nodiscard]] static Result<TileMap> make(Size devices, std::vector<std::vector<Digit>> digits);

  [[nodiscard]] Size devices() const { return devices_; }
  [[nodiscard]] std::size_t rank() const { return digits_.size(); }
  [[nodiscard]] bool is_compact() const { return order_.stages().empty(); }

  /// Digits per dimension, minor to major, over the device number (compact) or over positions of
  /// order().
  [[nodiscard]] const std::vector<std::vector<Digit>>& digits() const { return digits_; }
  [[nodiscard]] const IotaChain& order() const { return order_; }

  /// The number of tiles in dimension i.
  [[nodiscard]] Size count(std::size_t i) const;
  /// The tile numbers of one device.
  [[nodiscard]] Shape numbers(Size device) const;
  /// The tile numbers of all: rank() numbers per device, device after device. O(devices * (rank +
  /// digits)).
  [[nodiscard]] std::vector<Size> all_numbers() const;

  /// The same function D -> tile numbers, whatever the forms. O(devices * rank) unless both forms
  /// are alike.
  [[nodiscard]] bool equivalent(const TileMap& other) const;

  // What collectives do (Fig. 10): a gather pops, a slice pushes, an alltoall does both
  // (docs/ledger/statements.md, S1).

  /// Removes the factor n from the minor end of dimension i: t_i := t_i div n. Returns the digits
  /// that said t_i mod n before, over the positions of the *new* order(), minor to major; when the
  /// factor cuts across digits, order() is rearranged first (the map itself does not change by
  /// that). Precondition (asserted): n divides count(i).
  std::vector<Digit> pop(std::size_t i, Size n);
  /// Removes these digits of dimension i, or parts of its digits, wherever they stand; what is left
  /// moves together, so that the numbers along i are others. Order of addends means nothing, that of
  /// tiles does. Precondition (asserted): they are parts of the digits of dimension i.
  void pull(std::size_t i, const std::vector<Digit>& digits);
  /// Dimension i becomes several, slowest first, with so many tiles each. Precondition (asserted): their
  /// product is count(i), and there is at least one.
  void split(std::size_t i, const std::vector<Size>& counts);
  /// Prepends digits over positions of order() to dimension i: t_i := t_i * n + e, n the product of
  /// their sizes.
  void push(std::size_t i, const std::vector<Digit>& digits);
  /// The digits that no dimension uses, major to minor (largest stride first), joined where they
  /// touch.
  [[nodiscard]] std::vector<Digit> unused() const;
  /// The same map in compact form where the used digits can be said in device numbers, else *this.
  [[nodiscard]] TileMap compacted() const;

  /// The map after renaming the devices: its device p is device `device_at.at(p)` of this one. In
  /// compact form where the new numbers can say it. Precondition (asserted): device_at.size() ==
  /// devices().
  [[nodiscard]] TileMap renamed(const IotaChain& device_at) const;

  /// Same form and same digits; `equivalent` decides whether two maps are the same function.
  friend bool operator==(const TileMap&, const TileMap&) = default;

 private:
  Size devices_ = 1;
  std::vector<std::vector<Digit>> digits_;
  IotaChain order_{1};
};

/// The product of the digits' sizes.
[[nodiscard]] Size product_of(const std::vector<Digit>& digits);

}  // namespace retile
