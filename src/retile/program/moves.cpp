#include "retile/program/moves.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/cases.h"
#include "retile/core/index.h"
#include "retile/program/grid.h"

namespace retile {
namespace {

using Refused = std::optional<Refusal>;
using Visit = std::function<void(Transfer&&)>;

Refusal refusal(Reason reason, std::optional<Size> device = std::nullopt) {
  return {.reason = reason, .device = device};
}

/// A stretch of one dimension of a tile.
struct TilePiece {
  Size begin = 0;
  Size extent = 0;
};

/// Piece q of n of an extent: as `piece` says, or equal.
TilePiece piece_of(Size extent, Size n, Size q, const std::optional<PieceSize>& piece) {
  if (!piece) return {extent / n * q, extent / n};
  if (piece->is_balanced()) {
    return {extent / n * q + std::min(q, extent % n), extent / n + (q < extent % n ? 1 : 0)};
  }
  const auto begin = checked_mul(piece->extent(), q);
  if (!begin || *begin >= extent) return {extent, 0};
  return {*begin, std::min(piece->extent(), extent - *begin)};
}

/// Puts the moves of one step together.
class Mover {
 public:
  /// \param device  visits only transfers to or from this one, if any
  /// \param most    so many that are visited
  Mover(const TileShapes& before, const std::optional<Size>& device, const Visit& visit, Size most,
        const Deadline& deadline)
      : before_(before),
        devices_(static_cast<Size>(before.size())),
        watch_(deadline),
        device_(device),
        visit_(visit),
        most_(most),
        after_(before.size(), Shape(rank(), 0)) {}

  [[nodiscard]] TileShapes take() { return std::move(after_); }

  Refused keep(const Dynslice& op) {
    const Size n = group_size(op.pieces);
    std::vector<Size> piece(before_.size());
    match(
        op.pieces,
        [&](const DeviceTable& groups) {
          const std::vector<Size> entries = groups.entries();
          for (std::size_t k = 0; k < entries.size(); ++k) {
            piece[index(entries[k])] = static_cast<Size>(k) % n;
          }
        },
        [&](const PartList& list) { piece = list.part.entries(); });
    if (!op.piece) {
      if (const auto device = indivisible(op.dim, n)) return refusal(Reason::indivisible, device);
    }
    for (Size d = 0; d < devices_; ++d) {
      const Shape& tile = before_[index(d)];
      if (is_empty(tile)) continue;
      const TilePiece part = piece_of(tile[op.dim], n, piece[index(d)], op.piece);
      if (part.extent == 0) continue;
      Shape start(rank(), 0);
      Shape shape = tile;
      start[op.dim] = part.begin;
      shape[op.dim] = part.extent;
      after_[index(d)] = shape;
      if (!add({d, d, Shape(rank(), 0), std::move(start), std::move(shape)})) return limit();
    }
    return std::nullopt;
  }

  /// All members' tiles, or piece q of each, on top of one another.
  /// \param split  the dimension that is cut, if any
  Refused reduce(const DeviceTable& groups, std::optional<std::size_t> split,
                 const std::optional<PieceSize>& piece) {
    const Size n = groups.columns();
    if (split && !piece) {
      if (const auto device = indivisible(*split, n)) return refusal(Reason::indivisible, device);
    }
    return each_in_row(groups, [&](Size device, std::span<const Size> row, Size q) -> Refused {
      const Shape& tile = before_[index(device)];
      if (is_empty(tile)) return std::nullopt;
      Shape start(rank(), 0);
      Shape shape = tile;
      if (split) {
        const TilePiece part = piece_of(tile[*split], n, q, piece);
        if (part.extent == 0) return std::nullopt;
        start[*split] = part.begin;
        shape[*split] = part.extent;
      }
      after_[index(device)] = shape;
      for (const Size member : row) {
        if (!add({device, member, Shape(rank(), 0), start, shape})) return limit();
      }
      return std::nullopt;
    });
  }

  /// Position 0 keeps its tile.
  Refused unreduce(const DeviceTable& groups) {
    const std::vector<Size> entries = groups.entries();
    std::vector<bool> keeps(before_.size(), false);
    for (std::size_t k = 0; k < entries.size(); k += index(groups.columns())) {
      keeps[index(entries[k])] = true;
    }
    after_ = before_;
    for (Size d = 0; d < devices_; ++d) {
      const Shape& tile = before_[index(d)];
      if (!keeps[index(d)] || is_empty(tile)) continue;
      const Shape start(rank(), 0);
      if (!add({d, d, start, start, tile})) return limit();
    }
    return std::nullopt;
  }

  /// The own tile as piece q of one n times as long.
  Refused embed(const DeviceTable& groups, std::size_t dim) {
    return each_in_row(groups, [&](Size device, std::span<const Size> row, Size q) -> Refused {
      const Shape& tile = before_[index(device)];
      if (is_empty(tile)) return std::nullopt;
      Shape after = tile;
      const auto extent = checked_mul(tile[dim], static_cast<Size>(row.size()));
      if (!extent) return limit();
      after[dim] = *extent;
      if (!checked_product(after)) return limit();
      Shape target(rank(), 0);
      target[dim] = tile[dim] * q;
      after_[index(device)] = std::move(after);
      if (!add({device, device, std::move(target), Shape(rank(), 0), tile})) return limit();
      return std::nullopt;
    });
  }

  /// \param split  the dimension that loses, if any
  Refused regroup(const DeviceTable& groups, std::optional<std::size_t> split, std::size_t concat,
                  const std::optional<PieceSize>& piece) {
    const Size n = groups.columns();
    if (split && !piece) {
      if (const auto device = indivisible(*split, n)) return refusal(Reason::indivisible, device);
    }
    const std::vector<Size> entries = groups.entries();
    // By device, so that the transfers of one stand together.
    std::vector<std::size_t> place(before_.size());
    for (std::size_t k = 0; k < entries.size(); ++k) place[index(entries[k])] = k;
    const auto row_at = [&](std::size_t first) {
      return std::span(entries).subspan(first, index(n));
    };
    for (std::size_t first = 0; first < entries.size(); first += index(n)) {
      if (const auto other = differs(row_at(first), concat)) return refusal(Reason::ragged, other);
    }
    for (Size d = 0; d < devices_; ++d) {
      const std::size_t q = place[index(d)] % index(n);
      const auto row = row_at(place[index(d)] - q);
      if (auto fault = gather(d, row, static_cast<Size>(q), split, concat, piece)) return fault;
    }
    return std::nullopt;
  }

  /// A step along several dimensions: of every member one piece, in a place of its own.
  Refused regroup(const OpFacts& op) {
    const Shape& counts = *op.counts;
    const Shape cuts = parts_along(op.cuts, counts, rank());
    for (Size d = 0; d < devices_; ++d) {
      if (!divides(cuts, before_[index(d)])) return refusal(Reason::indivisible, d);
    }
    return each_in_row(*op.groups, [&](Size device, std::span<const Size> row, Size q) -> Refused {
      const Shape& tile = before_[index(device)];
      if (is_empty(tile)) return std::nullopt;
      auto after = tile_over(op, tile);
      if (!after) return limit();
      after_[index(device)] = *std::move(after);
      Shape shape = tile;
      for (std::size_t k = 0; k < shape.size(); ++k) shape[k] /= cuts[k];
      const Shape source = place_of(part_along(op.cuts, counts, rank(), q), shape);
      for (std::size_t p = 0; p < row.size(); ++p) {
        if (!is_wanted(device, row[p])) continue;
        const auto part = part_along(op.joins, counts, rank(), static_cast<Size>(p));
        if (!add({device, row[p], place_of(part, shape), source, shape})) return limit();
      }
      return std::nullopt;
    });
  }

  Refused fetch(const Allpermute& op) {
    const std::vector<Size> from = sources_of(op.source, devices_);
    for (Size d = 0; d < devices_; ++d) {
      const Shape& tile = before_[index(from[index(d)])];
      after_[index(d)] = tile;
      if (is_empty(tile)) continue;
      const Shape start(rank(), 0);
      if (!add({d, from[index(d)], start, start, tile})) return limit();
    }
    return std::nullopt;
  }

  Refused assemble(const Exchange& op, TileShapes after, const Deadline& deadline) {
    for (const Shape& shape : after) {
      if (!checked_product(shape)) return limit();
    }
    after_ = std::move(after);
    for (const Transfer& transfer : op.transfers) {
      if (is_wanted(transfer.target, transfer.source)) visit_(Transfer(transfer));
    }
    if (op.add) {
      return find_stray_transfer(
          op.transfers, [this](Size d) -> const Shape& { return before_[index(d)]; },
          [this](Size d) -> const Shape& { return after_[index(d)]; });
    }
    return find_transfer_fault(
        op.transfers, [this](Size d) -> const Shape& { return before_[index(d)]; },
        [this](Size d) -> const Shape& { return after_[index(d)]; }, devices_, deadline);
  }

 private:
  /// Calls `visit` for every device with its row and its position there, once all tiles of every row
  /// are known to be of one shape.
  template <typename Visit>
  Refused each_in_row(const DeviceTable& groups, const Visit& visit) {
    const Size n = groups.columns();
    const std::vector<Size> entries = groups.entries();
    std::vector<std::size_t> place(before_.size());
    for (std::size_t k = 0; k < entries.size(); ++k) place[index(entries[k])] = k;
    const auto row_of = [&](Size d) {
      const std::size_t k = place[index(d)];
      return std::span(entries).subspan(k - k % index(n), index(n));
    };
    for (std::size_t k = 0; k < entries.size(); ++k) {
      const Size first = entries[k - k % index(n)];
      if (before_[index(entries[k])] == before_[index(first)]) continue;
      return refusal(Reason::ragged, entries[k]);
    }
    for (Size d = 0; d < devices_; ++d) {
      const auto q = static_cast<Size>(place[index(d)] % index(n));
      if (auto fault = visit(d, row_of(d), q)) return fault;
    }
    return std::nullopt;
  }

  /// Where the part with these numbers begins, of parts of one shape.
  static Shape place_of(Shape part, const Shape& shape) {
    for (std::size_t k = 0; k < shape.size(); ++k) part[k] *= shape[k];
    return part;
  }

  [[nodiscard]] std::size_t rank() const { return before_.empty() ? 0 : before_.front().size(); }
  static Refused limit() { return refusal(Reason::limit); }

  [[nodiscard]] std::optional<Size> indivisible(std::size_t dim, Size n) const {
    for (Size d = 0; d < devices_; ++d) {
      if (before_[index(d)][dim] % n != 0) return d;
    }
    return std::nullopt;
  }

  /// A member whose tile differs from the first that is not empty, `concat` left out.
  [[nodiscard]] std::optional<Size> differs(std::span<const Size> row, std::size_t concat) const {
    const Shape* first = nullptr;
    for (const Size member : row) {
      const Shape& tile = before_[index(member)];
      if (is_empty(tile)) continue;
      if (first == nullptr) first = &tile;
      for (std::size_t k = 0; k < tile.size(); ++k) {
        if (k != concat && tile[k] != (*first)[k]) return member;
      }
    }
    return std::nullopt;
  }

  /// Piece q of every member's tile, one behind the other.
  Refused gather(Size device, std::span<const Size> row, Size q, std::optional<std::size_t> split,
                 std::size_t concat, const std::optional<PieceSize>& piece) {
    Shape after(rank(), 0);
    Size filled = 0;
    for (const Size member : row) {
      const Shape& tile = before_[index(member)];
      if (is_empty(tile)) continue;
      const auto part = split ? piece_of(tile[*split], static_cast<Size>(row.size()), q, piece)
                              : TilePiece{.begin = 0, .extent = 1};
      if (part.extent == 0) continue;
      const Size at = filled;
      const auto more = checked_add(at, split == concat ? part.extent : tile[concat]);
      if (!more) return limit();
      filled = *more;
      if (at == 0) {  // all pieces are alike but along `concat`
        after = tile;
        if (split) after[*split] = part.extent;
      }
      // Looked at before anything is made: of all pairs of a large group one device has few.
      if (!is_wanted(device, member)) continue;
      Transfer transfer{device, member, Shape(rank(), 0), Shape(rank(), 0), tile};
      transfer.target_start[concat] = at;
      if (split) {
        transfer.source_start[*split] = part.begin;
        transfer.shape[*split] = part.extent;
      }
      if (!add(std::move(transfer))) return limit();
    }
    if (filled > 0) after[concat] = filled;
    if (!checked_product(after)) return limit();
    after_[index(device)] = std::move(after);
    return std::nullopt;
  }

  [[nodiscard]] bool is_wanted(Size target, Size source) const {
    return !device_ || *device_ == target || *device_ == source;
  }

  [[nodiscard]] bool add(Transfer&& transfer) {
    constexpr Size nanoseconds_per_transfer = 64;
    if (!is_wanted(transfer.target, transfer.source)) return true;
    if (++count_ > most_) return false;
    visit_(std::move(transfer));
    return watch_.in_time(nanoseconds_per_transfer);
  }

  const TileShapes& before_;
  Size devices_;
  Watch watch_;
  std::optional<Size> device_;
  const Visit& visit_;
  Size most_;
  Size count_ = 0;  // of transfers
  TileShapes after_;
};

tl::expected<TileShapes, Refusal> moved(const Step& step, const TileShapes& before,
                                        const std::optional<Size>& device, const Visit& visit,
                                        Size most, const Deadline& deadline) {
  const auto devices = static_cast<Size>(before.size());
  if (auto fault = find_table_fault(step.op, devices)) return tl::unexpected(*std::move(fault));
  Mover mover(before, device, visit, most, deadline);
  const Refused refused = match(
      step.op, [&](const Dynslice& op) { return mover.keep(op); },
      [&](const Allgather& op) {
        return mover.regroup(op.groups, std::nullopt, op.dim, std::nullopt);
      },
      [&](const Alltoall& op) { return mover.regroup(op.groups, op.split, op.concat, op.piece); },
      [&](const Allpermute& op) { return mover.fetch(op); },
      [&](const Exchange& op) {
        TileShapes after = step.claims.shapes
                               ? shapes_of_rows(*step.claims.shapes, before.front().size())
                               : TileShapes(before.size(), *step.claims.tile);
        return mover.assemble(op, std::move(after), deadline);
      },
      [&](const Reducescatter& op) { return mover.reduce(op.groups, op.dim, op.piece); },
      [&](const Allreduce& op) { return mover.reduce(op.groups, std::nullopt, std::nullopt); },
      [&](const Unreduce& op) { return mover.unreduce(op.groups); },
      [&](const Embed& op) { return mover.embed(op.groups, op.dim); },
      [&](const OverDims auto&) { return mover.regroup(facts_of(step.op)); });
  if (refused) return tl::unexpected(*refused);
  return mover.take();
}

}  // namespace

tl::expected<Moves, Refusal> moves_of(const Step& step, const TileShapes& before,
                                      const Deadline& deadline, const std::optional<Size>& device) {
  Moves out;
  const auto keep = [&out](Transfer&& transfer) { out.transfers.push_back(std::move(transfer)); };
  auto after = moved(step, before, device, keep, most_transfers, deadline);
  if (!after) return tl::unexpected(after.error());
  out.after = *std::move(after);
  return out;
}

tl::expected<TileShapes, Refusal> each_move(const Step& step, const TileShapes& before,
                                            const std::function<void(Transfer&&)>& visit) {
  return moved(step, before, {}, visit, std::numeric_limits<Size>::max(), {});
}

tl::expected<TileShapes, Refusal> tiles_after(const Step& step, const TileShapes& before) {
  return moved(step, before, {}, [](Transfer&&) {}, most_transfers, {});
}

}  // namespace retile
