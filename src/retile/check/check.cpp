// The replay behind `check`: devices' arrays of global indices, held as pieces.
//
// Slicing and concatenating arrays that start as boxes only ever gives arrays that are made of
// translated boxes. Such a piece is {origin, extent, shift}: the local indices origin .. origin +
// extent - 1 hold the global indices local + shift. A device holds one box in order iff all its
// pieces have one shift. While that is true of every device, a state is only a base offset per
// device (what our planner makes never leaves this): as weighted digits of the device number while
// that can say it, then as a list. Otherwise each device refers to a list of pieces.
#include "retile/check/check.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>

#include "retile/check/digit_weights.h"
#include "retile/core/assert.h"
#include "retile/core/cases.h"

namespace retile {
namespace {

using Clock = std::chrono::steady_clock;

/// Base offsets, one vector per dimension, one entry per device.
using Columns = std::vector<std::vector<Size>>;

[[nodiscard]] std::size_t index(Size value) { return static_cast<std::size_t>(value); }

// ---- Expected base offsets ----------------------------------------------------------------------

/// Columns of base offsets that are given device after device.
Columns columns_of_rows(Size devices, std::size_t rank, const std::vector<Size>& rows) {
  Columns columns(rank, std::vector<Size>(index(devices)));
  for (std::size_t d = 0; d < index(devices); ++d) {
    for (std::size_t k = 0; k < rank; ++k) columns[k][d] = rows[d * rank + k];
  }
  return columns;
}

Columns columns_of(const Layout& map) {
  if (const auto weights = DigitWeights::of(map)) return weights->columns();
  return columns_of_rows(map.devices(), map.rank(), map.base_offsets());
}

// ---- Pieces -------------------------------------------------------------------------------------

/// Pieces of one array: origin, extent and shift, rank numbers each, piece after piece. Every local
/// index is in one piece.
using Pieces = std::vector<Size>;
using PiecesView = std::span<const Size>;

struct PieceView {
  std::span<const Size> origin;
  std::span<const Size> extent;
  std::span<const Size> shift;
};

PieceView piece_at(PiecesView pieces, std::size_t rank, std::size_t number) {
  const auto piece = pieces.subspan(number * 3 * rank, 3 * rank);
  return {piece.first(rank), piece.subspan(rank, rank), piece.last(rank)};
}

bool equal(std::span<const Size> a, std::span<const Size> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

/// Joins pieces that touch along dimension k and agree in all else. True iff some did.
bool merge_along(std::size_t k, std::size_t rank, Pieces& pieces) {
  const std::size_t count = pieces.size() / (3 * rank);
  // Compares everything but the place along k; pieces that can be joined are equal.
  const auto compare = [&pieces, rank, k](std::size_t a, std::size_t b) {
    const PieceView left = piece_at(pieces, rank, a);
    const PieceView right = piece_at(pieces, rank, b);
    for (std::size_t i = 0; i < rank; ++i) {
      if (left.shift[i] != right.shift[i]) return left.shift[i] < right.shift[i] ? -1 : 1;
      if (i == k) continue;
      if (left.origin[i] != right.origin[i]) return left.origin[i] < right.origin[i] ? -1 : 1;
      if (left.extent[i] != right.extent[i]) return left.extent[i] < right.extent[i] ? -1 : 1;
    }
    return 0;
  };
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const int sign = compare(a, b);
    if (sign != 0) return sign < 0;
    return piece_at(pieces, rank, a).origin[k] < piece_at(pieces, rank, b).origin[k];
  });

  Pieces joined;
  joined.reserve(pieces.size());
  for (std::size_t n = 0; n < count; ++n) {
    const PieceView piece = piece_at(pieces, rank, order[n]);
    if (n > 0 && compare(order[n - 1], order[n]) == 0) {
      Size* const last = joined.data() + joined.size() - 3 * rank;
      if (last[k] + last[rank + k] == piece.origin[k]) {
        last[rank + k] += piece.extent[k];
        continue;
      }
    }
    joined.insert(joined.end(), piece.origin.begin(), piece.origin.end());
    joined.insert(joined.end(), piece.extent.begin(), piece.extent.end());
    joined.insert(joined.end(), piece.shift.begin(), piece.shift.end());
  }
  const bool some = joined.size() < pieces.size();
  pieces.swap(joined);
  return some;
}

/// Makes an array of shape `tile` one piece iff it is one box, and few pieces otherwise.
void merge(const Shape& tile, Pieces& pieces) {
  const std::size_t rank = tile.size();
  const std::size_t count = pieces.size() / (3 * rank);
  if (count == 1) return;
  const PieceView first = piece_at(pieces, rank, 0);
  bool one_box = true;
  for (std::size_t n = 1; one_box && n < count; ++n) {
    one_box = equal(piece_at(pieces, rank, n).shift, first.shift);
  }
  if (one_box) {  // merging neighbours need not find this: five boxes can interlock like a pinwheel
    pieces.resize(3 * rank);
    for (std::size_t k = 0; k < rank; ++k) {
      pieces[k] = 0;
      pieces[rank + k] = tile[k];
    }
    return;
  }
  for (bool again = true; again;) {
    again = false;
    for (std::size_t k = 0; k < rank; ++k) {
      if (merge_along(k, rank, pieces)) again = true;
    }
  }
}

/// The first local index, in C order, that does not hold local index + shift.
/// At a first difference every earlier neighbour agrees, so local index + shift lies at most one
/// past the global array.
std::optional<Witness> first_difference(PiecesView pieces, std::span<const Size> shift,
                                        Size device) {
  const std::size_t rank = shift.size();
  std::optional<PieceView> first;
  for (std::size_t n = 0; n < pieces.size() / (3 * rank); ++n) {
    const PieceView piece = piece_at(pieces, rank, n);
    if (equal(piece.shift, shift)) continue;
    if (!first || std::lexicographical_compare(piece.origin.begin(), piece.origin.end(),
                                               first->origin.begin(), first->origin.end())) {
      first = piece;
    }
  }
  if (!first) return std::nullopt;
  Shape at;
  Shape element;
  Shape found;
  for (std::size_t k = 0; k < rank; ++k) {
    at.push_back(first->origin[k]);
    element.push_back(at[k] + shift[k]);
    found.push_back(at[k] + first->shift[k]);
  }
  return Witness{device, at, element, found};
}

/// Adds to `pieces` what of `piece` a transfer takes, where it puts it; false when that is nothing.
bool add_part(const PieceView& piece, const Transfer& transfer, Pieces& pieces) {
  const std::size_t rank = transfer.shape.size();
  const std::size_t old_size = pieces.size();
  pieces.resize(old_size + 3 * rank);
  Size* const origin = pieces.data() + old_size;
  for (std::size_t k = 0; k < rank; ++k) {
    const Size source_start = transfer.source_start[k];
    const Size begin = std::max(piece.origin[k], source_start);
    const Size end = std::min(piece.origin[k] + piece.extent[k], source_start + transfer.shape[k]);
    if (begin >= end) {
      pieces.resize(old_size);
      return false;
    }
    const Size moved = source_start - transfer.target_start[k];
    origin[k] = begin - moved;
    origin[rank + k] = end - begin;
    origin[2 * rank + k] = piece.shift[k] + moved;
  }
  return true;
}

// ---- The state ----------------------------------------------------------------------------------

/// What all devices hold after some steps.
class State {
 public:
  /// \param room     how many numbers of 8 bytes may be held at once
  /// \param timeout  seconds from now, after which nothing fits any more
  State(const Layout& from, Size room, double timeout)
      : devices_(index(from.devices())),
        tile_(from.tile()),
        weights_(DigitWeights::of(from)),
        base_(weights_ ? Columns() : columns_of(from)),
        room_(index(room)),
        timeout_(timeout) {}

  /// How many numbers a state of boxes needs, with a step's table and the next state or a claim
  /// beside it.
  static std::optional<Size> least_room(Size devices, std::size_t rank) {
    return checked_mul(devices, 4 + 2 * static_cast<Size>(rank));
  }

  [[nodiscard]] const Shape& tile() const { return tile_; }

  /// Applies an applicable step that gives tiles of shape `after`; false when it does not fit in
  /// the room.
  [[nodiscard]] bool apply(const Step& step, const Shape& after);

  /// The first device and local index where the arrays are not boxes in order as this map, or with
  /// these base offsets.
  [[nodiscard]] std::optional<Witness> difference(const Layout& expected);
  [[nodiscard]] std::optional<Witness> difference(const Columns& expected);

  /// The first device that holds no box in order, seen from the element at its local index 0.
  [[nodiscard]] std::optional<Witness> not_a_box() const;

  /// The global index that a device holds at a local index.
  [[nodiscard]] Shape held(Size device, const Shape& at) const;

 private:
  /// Lists of pieces, shared by devices that hold the same.
  struct Lists {
    std::vector<std::uint32_t> list_of;     // per device
    std::vector<Size> numbers;              // all lists, one after another
    std::vector<std::size_t> begins = {0};  // list l is numbers[begins[l] .. begins[l + 1])

    [[nodiscard]] PiecesView list(std::size_t l) const {
      return PiecesView(numbers).subspan(begins[l], begins[l + 1] - begins[l]);
    }
    [[nodiscard]] std::size_t count() const { return begins.size() - 1; }
    std::uint32_t add(PiecesView pieces) {
      numbers.insert(numbers.end(), pieces.begin(), pieces.end());
      begins.push_back(numbers.size());
      return static_cast<std::uint32_t>(count() - 1);
    }
  };

  [[nodiscard]] std::size_t rank() const { return tile_.size(); }
  [[nodiscard]] bool slice(const Dynslice& step, const Shape& after);
  [[nodiscard]] bool exchange(const DeviceTable& groups, const Regroup& what, const Shape& after);
  void permute(const Allpermute& step);
  [[nodiscard]] bool transfer(const std::vector<Transfer>& transfers, const Shape& after);

  void list_base();
  [[nodiscard]] bool exchange_boxes(const std::vector<Size>& groups, std::size_t n,
                                    const Regroup& what);
  [[nodiscard]] bool to_lists();
  void to_boxes_if_possible();
  [[nodiscard]] bool cut(PiecesView list, const Regroup& what, Size place,
                         std::span<const Size> wanted, std::span<Pieces> parts,
                         std::size_t& held) const;

  std::size_t devices_;
  Shape tile_;
  std::optional<DigitWeights> weights_;  // while every device holds one box,
  Columns base_;                         // the one or the other
  std::optional<Lists> lists_;           // otherwise
  [[nodiscard]] bool in_time() const {
    return std::chrono::duration<double>(Clock::now() - start_).count() < timeout_;
  }

  std::size_t room_;
  double timeout_;
  Clock::time_point start_ = Clock::now();
};

bool State::apply(const Step& step, const Shape& after) {
  if (!in_time()) return false;
  const bool fits = match(
      meaning(step.op, tile_), [&](const Keep& keep) { return slice(*keep.op, after); },
      [&](const Regroup& regroup) { return exchange(*regroup.groups, regroup, after); },
      [&](const Fetch& fetch) {
        permute(*fetch.op);
        return true;
      },
      [&](const Assemble& assemble) { return transfer(*assemble.transfers, after); });
  tile_ = after;
  return fits;
}

/// Says by a list what the digits said.
void State::list_base() {
  if (!weights_) return;
  base_ = weights_->columns();
  weights_.reset();
}

void State::permute(const Allpermute& step) {
  const auto* const table = std::get_if<DeviceTable>(&step.source);
  if (weights_ && table != nullptr && weights_->permute(*table)) return;
  list_base();
  const std::vector<Size> source = sources(step, static_cast<Size>(devices_));
  const auto pull = [&source](auto& values) {
    auto old = values;
    for (std::size_t d = 0; d < old.size(); ++d) values[d] = old[index(source[d])];
  };
  if (lists_) {
    pull(lists_->list_of);
  } else {
    for (auto& column : base_) pull(column);
  }
}

/// Every new array from the parts of the sources' pieces that lie in the boxes.
bool State::transfer(const std::vector<Transfer>& transfers, const Shape& after) {
  if (rank() == 0) return true;  // there is one element, and everybody has it
  list_base();
  if (!lists_ && !to_lists()) return false;
  const std::vector<std::size_t> order = by_target(transfers);
  const std::size_t numbers = 3 * rank();
  std::size_t held = lists_->numbers.size();
  Lists next;
  next.list_of.resize(devices_);
  std::size_t place = 0;
  for (std::size_t d = 0; d < devices_; ++d) {
    Pieces pieces;
    for (; place < order.size() && index(transfers[order[place]].target) == d; ++place) {
      const Transfer& moved = transfers[order[place]];
      const PiecesView list = lists_->list(lists_->list_of[index(moved.source)]);
      for (std::size_t n = 0; n < list.size() / numbers; ++n) {
        if (!add_part(piece_at(list, rank(), n), moved, pieces)) continue;
        held += numbers;
        if (held > room_) return false;
      }
    }
    merge(after, pieces);
    next.list_of[d] = next.add(pieces);
  }
  lists_ = std::move(next);
  to_boxes_if_possible();
  return true;
}

bool State::slice(const Dynslice& step, const Shape& after) {
  const Size width = after[step.dim];
  const auto* const groups = std::get_if<DeviceTable>(&step.pieces);
  if (weights_ && groups != nullptr && weights_->slice(*groups, step.dim, width)) return true;
  list_base();
  std::vector<Size> piece;
  if (groups != nullptr) {
    const std::vector<Size> members = groups->entries();
    const Size n = groups->columns();
    piece.resize(devices_);
    Size position = 0;
    for (const Size member : members) {
      piece[index(member)] = position;
      position = position + 1 == n ? 0 : position + 1;
    }
  } else {
    piece = std::get<PartList>(step.pieces).part.entries();
  }
  if (!lists_) {
    for (std::size_t d = 0; d < devices_; ++d) base_[step.dim][d] += piece[d] * width;
    return true;
  }

  // Devices that share a list and want the same piece go on sharing.
  std::vector<std::size_t> order(devices_);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto& list_of = lists_->list_of;
  std::sort(order.begin(), order.end(), [&list_of, &piece](std::size_t a, std::size_t b) {
    return std::pair(list_of[a], piece[a]) < std::pair(list_of[b], piece[b]);
  });
  Lists next;
  next.list_of.resize(devices_);
  for (std::size_t begin = 0; begin < devices_;) {
    const std::uint32_t list = list_of[order[begin]];
    std::vector<Size> wanted;
    std::size_t end = begin;
    for (; end < devices_ && list_of[order[end]] == list; ++end) {
      if (wanted.empty() || wanted.back() != piece[order[end]]) wanted.push_back(piece[order[end]]);
    }
    std::vector<Pieces> parts(wanted.size());
    std::size_t held = lists_->numbers.size() + next.numbers.size();
    if (!cut(lists_->list(list),
             {.split = step.dim, .width = width, .concat = step.dim, .stride = 0, .splits = true},
             0, wanted, parts, held)) {
      return false;
    }
    std::size_t part = 0;
    std::uint32_t id = 0;
    for (; begin < end; ++begin) {
      const std::size_t d = order[begin];
      if (part == 0 || piece[d] != wanted[part - 1]) {
        merge(after, parts[part]);
        id = next.add(parts[part]);
        ++part;
      }
      next.list_of[d] = id;
    }
  }
  lists_ = std::move(next);
  to_boxes_if_possible();
  return true;
}

bool State::exchange(const DeviceTable& table, const Regroup& what, const Shape& after) {
  const std::size_t n = index(table.columns());
  if (n == 1) return true;
  if (weights_ && weights_->exchange(table, what)) return true;
  list_base();
  const std::vector<Size> groups = table.entries();
  if (!lists_) {
    if (exchange_boxes(groups, n, what)) return true;
    if (!to_lists()) return false;
  }

  const std::size_t receivers = what.splits ? n : 1;
  // Every receiver gets at least one piece of every member: see early that this cannot fit.
  if (n > room_ / receivers / (3 * rank())) return false;
  std::vector<Size> wanted(receivers);
  std::iota(wanted.begin(), wanted.end(), Size{0});
  std::vector<Pieces> parts(wanted.size());
  Lists next;
  next.list_of.resize(devices_);
  for (std::size_t row = 0; row < groups.size(); row += n) {
    std::size_t held = lists_->numbers.size() + next.numbers.size();
    for (Pieces& part : parts) part.clear();
    for (std::size_t p = 0; p < n; ++p) {
      const PiecesView list = lists_->list(lists_->list_of[index(groups[row + p])]);
      if (!cut(list, what, static_cast<Size>(p) * what.stride, wanted, parts, held)) return false;
    }
    std::uint32_t id = 0;
    for (std::size_t q = 0; q < n; ++q) {
      if (q < parts.size()) {
        merge(after, parts[q]);
        id = next.add(parts[q]);
      }
      next.list_of[index(groups[row + q])] = id;
    }
  }
  lists_ = std::move(next);
  to_boxes_if_possible();
  return true;
}

/// The same while all devices hold boxes and go on doing so; otherwise returns false and changes
/// nothing.
bool State::exchange_boxes(const std::vector<Size>& groups, std::size_t n, const Regroup& what) {
  for (std::size_t k = 0; k < rank(); ++k) {
    const std::vector<Size>& base = base_[k];
    const Size stride = k == what.concat ? what.stride : 0;
    for (std::size_t row = 0; row < groups.size(); row += n) {
      const Size first = base[index(groups[row])];
      Size expected = 0;  // from the first member; the base itself may not have room for the sum
      for (std::size_t q = 1; q < n; ++q) {
        expected += stride;
        if (base[index(groups[row + q])] - first != expected) return false;
      }
    }
  }
  std::vector<Size>& joined = base_[what.concat];
  for (std::size_t row = 0; row < groups.size(); row += n) {
    const Size first = joined[index(groups[row])];
    for (std::size_t q = 1; q < n; ++q) joined[index(groups[row + q])] = first;
  }
  if (!what.splits) return true;
  std::vector<Size>& cut = base_[what.split];
  for (std::size_t row = 0; row < groups.size(); row += n) {
    for (std::size_t q = 1; q < n; ++q) {
      cut[index(groups[row + q])] += static_cast<Size>(q) * what.width;
    }
  }
  return true;
}

/// Adds to parts[w] what piece wanted[w] (ascending) of a list holds, put at `place` along
/// `concat`. `held` counts all numbers of this step; false when they pass the room.
bool State::cut(PiecesView list, const Regroup& what, Size place, std::span<const Size> wanted,
                std::span<Pieces> parts, std::size_t& held) const {
  if (!in_time()) return false;
  const std::size_t numbers = 3 * rank();
  for (std::size_t n = 0; n < list.size() / numbers; ++n) {
    const PieceView piece = piece_at(list, rank(), n);
    const Size begin = piece.origin[what.split];
    const Size end = begin + piece.extent[what.split];
    const auto from = std::lower_bound(wanted.begin(), wanted.end(), begin / what.width);
    for (auto w = from; w != wanted.end() && *w * what.width < end; ++w) {
      held += numbers;
      if (held > room_) return false;
      Pieces& part = parts[static_cast<std::size_t>(w - wanted.begin())];
      part.insert(part.end(), list.begin() + static_cast<std::ptrdiff_t>(n * numbers),
                  list.begin() + static_cast<std::ptrdiff_t>((n + 1) * numbers));
      Size* const origin = part.data() + part.size() - numbers;
      Size* const extent = origin + rank();
      Size* const shift = extent + rank();
      const Size low = *w * what.width;
      const Size inner_begin = std::max(begin, low);
      origin[what.split] = inner_begin - low;
      extent[what.split] = std::min(end, low + what.width) - inner_begin;
      shift[what.split] += low;
      origin[what.concat] += place;
      shift[what.concat] -= place;
    }
  }
  return true;
}

bool State::to_lists() {
  const std::size_t numbers = 3 * rank();
  if (devices_ > room_ / numbers) return false;
  Lists lists;
  lists.list_of.resize(devices_);
  lists.numbers.reserve(devices_ * numbers);
  lists.begins.reserve(devices_ + 1);
  Pieces box(numbers);
  std::copy(tile_.begin(), tile_.end(), box.begin() + static_cast<std::ptrdiff_t>(rank()));
  for (std::size_t d = 0; d < devices_; ++d) {
    for (std::size_t k = 0; k < rank(); ++k) box[2 * rank() + k] = base_[k][d];
    lists.list_of[d] = lists.add(box);
  }
  base_.clear();
  lists_ = std::move(lists);
  return true;
}

void State::to_boxes_if_possible() {
  const std::size_t numbers = 3 * rank();
  if (lists_->numbers.size() != lists_->count() * numbers) return;
  base_.assign(rank(), std::vector<Size>(devices_));
  for (std::size_t d = 0; d < devices_; ++d) {
    const PieceView box = piece_at(lists_->list(lists_->list_of[d]), rank(), 0);
    for (std::size_t k = 0; k < rank(); ++k) base_[k][d] = box.shift[k];
  }
  lists_.reset();
}

std::optional<Witness> State::difference(const Layout& expected) {
  if (weights_) {
    const auto digits = DigitWeights::of(expected);
    if (digits && weights_->equal(*digits) == true) return std::nullopt;
  }
  return difference(columns_of(expected));
}

std::optional<Witness> State::difference(const Columns& expected) {
  list_base();
  const auto row = [this](const Columns& columns, std::size_t d) {
    Shape numbers;
    for (std::size_t k = 0; k < rank(); ++k) numbers.push_back(columns[k][d]);
    return numbers;
  };
  if (lists_) {
    for (std::size_t d = 0; d < devices_; ++d) {
      auto witness = first_difference(lists_->list(lists_->list_of[d]), row(expected, d),
                                      static_cast<Size>(d));
      if (witness) return witness;
    }
    return std::nullopt;
  }
  std::size_t device = devices_;
  for (std::size_t k = 0; k < rank(); ++k) {
    const auto end = base_[k].begin() + static_cast<std::ptrdiff_t>(device);
    device = static_cast<std::size_t>(
        std::mismatch(base_[k].begin(), end, expected[k].begin()).first - base_[k].begin());
  }
  if (device == devices_) return std::nullopt;
  return Witness{static_cast<Size>(device), Shape(rank(), 0), row(expected, device),
                 row(base_, device)};
}

Shape State::held(Size device, const Shape& at) const {
  Shape out = at;
  if (lists_) {
    const PiecesView list = lists_->list(lists_->list_of[index(device)]);
    for (std::size_t n = 0; rank() > 0; ++n) {
      const PieceView piece = piece_at(list, rank(), n);
      bool inside = true;
      for (std::size_t k = 0; k < rank(); ++k) {
        inside = inside && at[k] >= piece.origin[k] && at[k] - piece.origin[k] < piece.extent[k];
      }
      if (!inside) continue;
      for (std::size_t k = 0; k < rank(); ++k) out[k] += piece.shift[k];
      return out;
    }
  }
  for (std::size_t k = 0; k < rank(); ++k) {
    out[k] += weights_ ? weights_->base_offset(device, k) : base_[k][index(device)];
  }
  return out;
}

std::optional<Witness> State::not_a_box() const {
  if (!lists_) return std::nullopt;
  for (std::size_t d = 0; d < devices_; ++d) {
    const PiecesView list = lists_->list(lists_->list_of[d]);
    for (std::size_t n = 0; n < list.size() / (3 * rank()); ++n) {
      const PieceView piece = piece_at(list, rank(), n);
      if (std::any_of(piece.origin.begin(), piece.origin.end(), [](Size o) { return o != 0; })) {
        continue;
      }
      auto witness = first_difference(list, piece.shift, static_cast<Size>(d));
      if (witness) return witness;
    }
  }
  return std::nullopt;
}

// ---- The verdict --------------------------------------------------------------------------------

/// Who builds a Program by hand must keep what its header says; claims and tables are read, never
/// trusted.
void assert_well_formed(const Program& program) {
  const std::size_t rank = program.from.rank();
  const auto fits = [&program](const Layout& map) {
    return map.devices() == program.devices && map.global() == program.from.global();
  };
  RETILE_ASSERT(fits(program.from) && fits(program.to),
                "from and to are of one array and all devices");
  for (const Step& step : program.steps) {
    const bool names_what_is_there = match(
        step.op, [rank](const Dynslice& op) { return op.dim < rank; },
        [rank](const Allgather& op) { return op.dim < rank; },
        [rank](const Alltoall& op) { return std::max(op.split, op.concat) < rank; },
        [](const Allpermute&) { return true; },
        [&](const Exchange&) { return well_made(step, rank, program.devices); });
    RETILE_ASSERT(
        names_what_is_there,
        "dimensions are below the rank; an exchange says the shape of the new tiles and of "
        "every box");
    RETILE_ASSERT(!step.claims.map || fits(*step.claims.map), "a map claim is of the same array");
    RETILE_ASSERT(!step.claims.at || step.claims.at->size() == index(program.devices) * rank,
                  "an at claim has a row per device");
  }
}

/// A tile of another shape on device 0.
Witness other_shape(const State& state, const Shape& expected, const std::optional<Shape>& base) {
  return shape_witness(state.tile(), expected, base,
                       [&state](const Shape& at) { return state.held(0, at); });
}

/// How a map claim fails, if it does.
std::optional<Witness> broken_claim(const Claims& claims, State& state, Size devices) {
  if (claims.map) {
    const Shape& tile = claims.map->tile();
    if (tile != state.tile()) return other_shape(state, tile, claims.map->base_offset(0));
    if (auto witness = state.difference(*claims.map)) return witness;
  }
  if (claims.at) {
    return state.difference(columns_of_rows(devices, state.tile().size(), *claims.at));
  }
  return std::nullopt;
}

class Judge {
 public:
  Judge(const Program& program, const CheckOptions& options)
      : program_(program), timeout_seconds_(options.timeout_seconds) {
    verdict_.steps = static_cast<Size>(program.steps.size());
    verdict_.bound = std::max(program.from.tile_size(), program.to.tile_size());
    verdict_.height = verdict_.bound;
    room_ = checked_mul(std::max<Size>(options.piece_limit, 0), 8).value_or(INT64_MAX);
  }

  Verdict judge() {
    const auto least_room = State::least_room(program_.devices, program_.from.rank());
    if (!least_room || *least_room > room_) return undecided();

    State state(program_.from, room_, timeout_seconds_);
    Size tile_size = program_.from.tile_size();
    std::optional<std::pair<Size, Witness>> left_boxes;
    for (std::size_t k = 0; k < program_.steps.size(); ++k) {
      const Step& step = program_.steps[k];
      const Size number = static_cast<Size>(k);
      const auto after = shape_after(step, state.tile(), program_.devices);
      if (!after) {
        if (after.error().reason == Reason::limit) return undecided();
        const Reason reason = after.error().reason;
        const auto device = reason == Reason::indivisible ? Size{0} : after.error().device;
        if (reason == Reason::transfers) {
          verdict_.device = device;
          verdict_.at = after.error().at;
          return wrong(number, reason);
        }
        if (!device) return wrong(number, reason);
        const Shape first(state.tile().size(), 0);
        return wrong(number, reason, Witness{*device, first, state.held(*device, first), {}});
      }
      const bool fits = state.apply(step, *after);
      if (step.claims.tile && *step.claims.tile != *after) {
        const Shape& claimed = *step.claims.tile;
        const Witness witness =
            fits ? other_shape(state, claimed, claimed_base(step.claims, claimed)) : Witness{};
        return wrong(number, Reason::tile_claim, witness);
      }
      if (!fits) return undecided();
      if (const auto witness = broken_claim(step.claims, state, program_.devices)) {
        return wrong(number, Reason::map_claim, *witness);
      }
      if (!left_boxes) {
        if (auto witness = state.not_a_box()) left_boxes.emplace(number, std::move(*witness));
      }

      const Size before = std::exchange(tile_size, checked_product(*after).value());
      const auto cost = checked_add(verdict_.cost, step_cost(step, before, tile_size));
      if (!cost) return undecided();
      verdict_.cost = *cost;
      verdict_.height = std::max(verdict_.height, tile_size);
    }

    std::optional<Witness> difference;
    if (state.tile() != program_.to.tile()) {
      difference = other_shape(state, program_.to.tile(), program_.to.base_offset(0));
    } else {
      difference = state.difference(program_.to);
    }
    if (!difference) return answer(Answer::right);
    if (left_boxes) return wrong(left_boxes->first, Reason::not_a_box, left_boxes->second);
    return wrong(verdict_.steps, Reason::end, *difference);
  }

 private:
  Verdict answer(Answer answer) {
    verdict_.answer = answer;
    verdict_.within_bound = verdict_.height <= verdict_.bound;
    return verdict_;
  }

  Verdict undecided() {
    verdict_.reason = Reason::limit;
    return answer(Answer::undecided);
  }

  Verdict wrong(Size step, Reason reason) {
    verdict_.first_wrong_step = step;
    verdict_.reason = reason;
    return answer(Answer::wrong);
  }

  Verdict wrong(Size step, Reason reason, const Witness& witness) {
    verdict_.device = witness.device;
    verdict_.at = witness.at;
    verdict_.element = witness.element;
    verdict_.found = witness.found;
    return wrong(step, reason);
  }

  const Program& program_;
  double timeout_seconds_;
  Size room_ = 0;
  Verdict verdict_;
};

}  // namespace

Witness shape_witness(const Shape& tile, const Shape& expected, const std::optional<Shape>& base,
                      const std::function<Shape(const Shape&)>& held) {
  if (tile.size() != expected.size()) return {};
  Shape at(tile.size(), 0);
  for (std::size_t k = tile.size(); k-- > 0;) {
    if (tile[k] <= expected[k]) continue;
    at[k] = expected[k];
    return {0, at, {}, held(at)};
  }
  for (std::size_t k = tile.size(); base && k-- > 0;) {
    if (tile[k] == expected[k]) continue;
    const auto sum = checked_add((*base)[k], tile[k]);
    if (!sum) break;  // a claim may name any number
    at[k] = tile[k];
    Shape element = *base;
    element[k] = *sum;
    return {0, at, element, {}};
  }
  return {};
}

std::optional<Shape> claimed_base(const Claims& claims, const Shape& tile) {
  if (claims.map && claims.map->tile() == tile) return claims.map->base_offset(0);
  const std::size_t rank = tile.size();
  if (claims.map || !claims.at || claims.at->size() < rank) return std::nullopt;
  return Shape(claims.at->begin(), claims.at->begin() + static_cast<std::ptrdiff_t>(rank));
}

Verdict check(const Program& program, const CheckOptions& options) {
  assert_well_formed(program);
  return Judge(program, options).judge();
}

}  // namespace retile
