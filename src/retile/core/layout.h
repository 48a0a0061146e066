// A layout: which box of the global array each device holds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/cuts.h"
#include "retile/core/device_table.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/core/tile_map.h"

namespace retile {

/// A box of the global array. Empty boxes are all equal: zeros.
struct Box {
  Shape at;
  Shape extent;
  /// Whether no element is in it.
  [[nodiscard]] bool is_empty() const {
    return std::find(extent.begin(), extent.end(), 0) != extent.end();
  }
  friend bool operator==(const Box&, const Box&) = default;
};

/// A part of a device's tile that is a box of the array.
struct TilePart {
  Shape place;  ///< where it begins in the tile
  Box box;
  friend bool operator==(const TilePart&, const TilePart&) = default;
};

/// A tile per device, which is a box of the array, in two forms:
///
/// * by tile numbers: a TileMap says which tile a device holds, Cuts say where it lies, Halos how
///   far the box reaches beyond it;
/// * listed: a base offset per device, and where they differ its extents. Foreign Programs may hold
///   any; it need not be balanced or cover the array.
///
/// Where blocks are dealt out (Cuts::dealt), a tile is made of several boxes: those of the stretches that it
/// has of every dimension, one behind the other in the tile as in the array. Not all rooms take such tiles;
/// what is said of a layout's boxes is said of layouts in_boxes().
///
/// A layout is even where all boxes have one shape, written as one: that of the paper's types. What
/// is said of a layout's tile as *the* tile is said of even ones.
///
/// Where a layout has addends, the array is a sum (or a maximum, a minimum, a stack) of several, and
/// what a device holds is its box of one of them: `sum{x}[8]` over x:2 has two addends of 8 elements.
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

  /// By tile numbers, with any cuts; `halos` is empty or has one for every dimension.
  /// \error ill_formed_type (digits that do not make as many tiles as the cuts), bad_number (a halo
  ///     below 0 or above its global size), size_overflow, limit_reached (more than max_listed_numbers boxes
  ///     that are dealt out); and as TileMap::make.
  /// Precondition (asserted): no halo where blocks are dealt out.
  [[nodiscard]] static Result<Layout> numbered(Size devices, std::vector<Cuts> cuts,
                                               std::vector<std::vector<Digit>> digits,
                                               std::vector<Halo> halos = {});

  /// Listed, with the extents of every device's box, too: `at` and `extents` hold rank() numbers
  /// per device. A box with an extent of 0 is empty, wherever it lies.
  /// \error as listed; extents >= 0
  [[nodiscard]] static Result<Layout> listed_boxes(Size devices, Shape global, std::vector<Size> at,
                                                   std::vector<Size> extents);

  /// One device holds the array whole, the others hold nothing.
  /// Preconditions (asserted): a rank of 1 at least, whose array fits; the device exists; devices *
  ///     rank are at most max_listed_numbers.
  [[nodiscard]] static Layout rooted(Size devices, Shape global, Size device);

  /// This layout, of the positions of a mesh, for the devices that stand there; who stands at none
  /// holds nothing. In digits where an iota says who stands where, and all do.
  /// \param order  the device at each position, in one row; nothing: position p is device p
  /// Preconditions (asserted): distinct numbers below `devices`, as many as this layout has devices;
  /// with fewer positions than devices a rank of 1 at least; check_listed().
  [[nodiscard]] Layout placed(const std::optional<DeviceTable>& order, Size devices) const;

  /// The same boxes, of addends that these digits of the device number count, minor to major; of
  /// digits of size 1 alone there is one addend, and the layout stays as it is.
  /// \error ill_formed_type (digits that meet others), bad_number; as TileMap::make
  /// Precondition (asserted): compact, without addends.
  [[nodiscard]] Result<Layout> with_addends(Addition addition, std::vector<Digit> digits) const;

  /// The same tile numbers where all tiles are alike and fill an array of `size` elements.
  /// Preconditions (asserted): by tile numbers, without addends; the number of tiles of every dimension
  /// divides its size.
  [[nodiscard]] Layout filled_up(const Shape& size) const;

  /// The layout with one dimension more, the last, of `count` elements: what of it a device holds are
  /// the addends that its addend is the sum of. Then a step that adds takes digits from there, and
  /// is an alltoall or an allgather but for what it costs.
  /// \error size_overflow
  /// Precondition (asserted): compact and even; the number of addends divides `count`.
  [[nodiscard]] Result<Layout> stacked(Size count) const;
  /// The layout without its last dimension, of addends that the digits of that count.
  /// Precondition (asserted): compact and even, without addends, of rank 1 at least.
  [[nodiscard]] Layout unstacked(Addition addition) const;

  /// The same elements, in the same order, of an array of that shape: dimensions of this one each written as
  /// several, slowest first. Those that become several are dealt out in whole rounds, or cut evenly, so
  /// that every tile is one box of the others.
  /// \error ill_formed_type  the shape is no such view, or a block or a round does not end where a dimension
  ///     of it does
  [[nodiscard]] Result<Layout> viewed(const Shape& shape) const;

  /// Which addend each device holds; nothing where all hold the array itself.
  [[nodiscard]] const std::optional<Addends>& addends() const { return addends_; }
  [[nodiscard]] Size addend_count() const { return addends_ ? addends_->count() : 1; }
  [[nodiscard]] Size addend(Size device) const { return addends_ ? addends_->number(device) : 0; }

  [[nodiscard]] Size devices() const { return devices_; }
  [[nodiscard]] std::size_t rank() const { return global_.size(); }
  [[nodiscard]] const Shape& global() const { return global_; }
  /// The largest extent of a tile in every dimension.
  [[nodiscard]] const Shape& tile() const { return tile_; }
  /// Elements of the largest tile; never overflows: at most the global size.
  [[nodiscard]] Size tile_size() const;
  /// Elements of the tile of a device.
  [[nodiscard]] Size tile_size(Size device) const;
  [[nodiscard]] Size global_size() const;

  /// Whether all boxes have the shape tile(), and the form says so: equal cuts without halos, or
  /// base offsets alone.
  [[nodiscard]] bool is_even() const { return even_; }
  /// Whether every tile is one box.
  [[nodiscard]] bool in_boxes() const { return in_boxes_; }
  /// What a device has of each dimension, ascending.
  [[nodiscard]] std::vector<std::vector<Stretch>> stretches(Size device) const;
  /// What a device holds, in C order of the places; of an empty tile nothing.
  [[nodiscard]] std::vector<TilePart> parts(Size device) const;
  /// Precondition (asserted), of all that follow and of the boxes below: in_boxes().
  [[nodiscard]] Box box(Size device) const;
  /// The boxes of all devices.
  [[nodiscard]] std::vector<Box> boxes() const;
  /// The extents of a device's tile; an empty one by tile numbers keeps those that it has: the fourth tile of
  /// [2{y}5, 6] is [0, 6].
  [[nodiscard]] Shape local_shape(Size device) const;
  /// The same with zeros for an empty tile.
  [[nodiscard]] Shape tile(Size device) const;

  [[nodiscard]] bool is_listed() const { return listed_; }
  /// Whether digits of the device number say it all.
  [[nodiscard]] bool is_compact() const { return !listed_ && numbers_.is_compact(); }

  // Of layouts by tile numbers. Precondition: not listed.

  [[nodiscard]] const TileMap& numbers() const { return numbers_; }
  [[nodiscard]] const std::vector<Cuts>& cuts() const { return cuts_; }
  /// One for every dimension, or none at all.
  [[nodiscard]] const std::vector<Halo>& halos() const { return halos_; }
  /// What tile number t of dimension i has of it, its halo with it, ascending; none where it is empty.
  [[nodiscard]] std::vector<Stretch> stretches(std::size_t i, Size t) const;
  [[nodiscard]] const std::vector<std::vector<Digit>>& digits() const { return numbers_.digits(); }
  [[nodiscard]] const IotaChain& order() const { return numbers_.order(); }

  /// The boxes of all devices, rank() numbers for each, device after device; zeros for an empty one.
  struct Rows {
    std::vector<Size> at;
    std::optional<std::vector<Size>> extents = {};  ///< nothing where tile() says it of all
  };
  /// O(devices * (rank + digits)).
  [[nodiscard]] Rows rows() const;
  /// The base offsets of rows() alone.
  [[nodiscard]] std::vector<Size> base_offsets() const;
  /// The extents alone, of tiles of several boxes, too.
  [[nodiscard]] std::optional<std::vector<Size>> extents() const;
  /// The base offset of one device.
  [[nodiscard]] Shape base_offset(Size device) const;

  /// Whether the tiles cover the array exactly once but for replicas: listed ones need not.
  [[nodiscard]] bool covers_once() const;

  /// The same function D -> boxes (Def. 6.2) and addends, whatever the forms. O(devices * rank) unless both
  /// forms are alike and even.
  [[nodiscard]] bool equivalent(const Layout& other) const;

  // What collectives do (TileMap says how). Precondition (asserted): not listed, and even.

  /// As TileMap::pop: the tile grows by n.
  std::vector<Digit> pop(std::size_t i, Size n);
  /// As TileMap::push: the tile shrinks. Precondition (asserted): the factor divides the tile.
  void push(std::size_t i, const std::vector<Digit>& digits);
  /// As TileMap::pull: the tile grows by the product of the digits.
  void pull(std::size_t i, const std::vector<Digit>& digits);
  [[nodiscard]] std::vector<Digit> unused() const;
  /// The same layout in compact form where that can say it, else *this.
  [[nodiscard]] Layout compacted() const;
  /// Turns into compacted().
  void compact_in_place();

  /// The layout after renaming the devices, as TileMap::renamed; a listed one stays listed.
  [[nodiscard]] Layout renamed(const IotaChain& device_at) const;

  /// Same form and same digits; `equivalent` decides whether two are the same function.
  friend bool operator==(const Layout&, const Layout&) = default;

 private:
  [[nodiscard]] Shape extent_of(Size device) const;
  [[nodiscard]] Box box_of(const Shape& numbers) const;
  [[nodiscard]] bool covers_once_uneven() const;

  Size devices_ = 1;
  Shape global_;
  Shape tile_;
  TileMap numbers_;
  std::vector<Cuts> cuts_;
  std::vector<Halo> halos_;
  std::optional<Addends> addends_;
  bool listed_ = false;
  bool even_ = true;
  bool in_boxes_ = true;
  std::vector<Size> at_;
  std::vector<Size> extents_;  // of a listed one that is not even
};

/// The shape with the fewest dimensions in which both of one array may be viewed, so that whatever they deal
/// out is cut evenly; nothing where there is none.
[[nodiscard]] std::optional<Shape> common_view(const Layout& from, const Layout& to);

/// Who makes a list of boxes out of a few words makes none of more numbers: half a gigabyte.
inline constexpr Size max_listed_numbers = Size{1} << 26;

/// Refuses a list of so many boxes of that rank with more numbers.
/// \error limit_reached
[[nodiscard]] Result<void> check_listed(Size devices, std::size_t rank);

/// How many tiles of this extent lie along a dimension. Precondition: tile >= 1, and it divides.
[[nodiscard]] inline Size tile_count(Size global, Size tile) { return global / tile; }

}  // namespace retile
