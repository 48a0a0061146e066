#include "retile/exec/add/sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/index.h"
#include "retile/core/walk.h"
#include "retile/exec/add/order.h"
#include "retile/program/moves.h"

namespace retile::add {
namespace {

/// A box of a tile on the way, all of one sum.
struct Piece {
  Shape at;
  Shape shape;
  std::vector<Term> terms;
};
using Pieces = std::vector<Piece>;

Size bytes_of(const Piece& piece) {
  return static_cast<Size>(sizeof(Piece) + (piece.at.size() + piece.shape.size()) * sizeof(Size) +
                           piece.terms.size() * sizeof(Term) + 48);
}

/// What all steps up to one make, as pieces of every device's tile.
class Composition {
 public:
  Composition(const Program& program, const std::vector<DeviceShapes>& shapes, Size most_bytes);

  [[nodiscard]] Result<void> apply(std::size_t step);
  [[nodiscard]] Sums finish() &&;

 private:
  [[nodiscard]] Result<void> hold(Size bytes);
  [[nodiscard]] Size transfer_bytes(const Op& op) const;
  [[nodiscard]] Piece moved(const Piece& piece, const Transfer& transfer) const;
  [[nodiscard]] Piece cut(const Piece& piece, const Shape& at, const Shape& shape) const;
  void cut_out(const Piece& piece, const Shape& at, const Shape& shape, Pieces& rest) const;
  [[nodiscard]] Result<void> put(Pieces& tile, Piece piece, bool adds);
  [[nodiscard]] bool goes_on(const Piece& first, const Piece& second, std::size_t dim) const;
  void join(Pieces& tile);
  [[nodiscard]] Result<void> apply(const std::vector<Transfer>& transfers,
                                   const std::optional<Manner>& manner, const DeviceShapes& after);

  const Program& program_;
  const std::vector<DeviceShapes>& shapes_;
  Size most_bytes_;
  std::vector<Shape> strides_;  // of the tiles of the start
  std::vector<std::vector<Size>> ranks_;
  std::vector<Pieces> tiles_;
  Sums sums_;
  Size held_ = 0;
};

Composition::Composition(const Program& program, const std::vector<DeviceShapes>& shapes,
                         Size most_bytes)
    : program_(program), shapes_(shapes), most_bytes_(most_bytes) {
  sums_.devices = program.devices;
  ranks_ = ranks_before_steps(program, shapes);
  for (Size d = 0; d < program.devices; ++d) {
    const Shape& tile = shapes.front().of(d);
    strides_.push_back(strides_of(tile));
    Pieces& pieces = tiles_.emplace_back();
    if (!is_empty(tile)) pieces.push_back({Shape(tile.size(), 0), tile, {{d, 0}}});
  }
}

Result<void> Composition::hold(Size bytes) {
  held_ += bytes;
  sums_.making_bytes = std::max(sums_.making_bytes, held_);
  if (held_ <= most_bytes_) return {};
  return refuse({.code = Code::limit_reached,
                 .message = fmt::format("to make one sum of the steps takes more than {} bytes",
                                        most_bytes_)});
}

/// At most, of those that a step moves.
Size Composition::transfer_bytes(const Op& op) const {
  const auto numbers = static_cast<Size>(program_.from.rank()) * Size{sizeof(Size)};
  const auto each = Size{sizeof(Transfer)} + 3 * (numbers + 16);
  if (const auto* exchange = std::get_if<Exchange>(&op)) {
    return static_cast<Size>(exchange->transfers.size()) * each;
  }
  const DeviceTable* const groups = groups_of(op);
  return program_.devices * (groups == nullptr ? 1 : groups->columns()) * each;
}

Piece Composition::cut(const Piece& piece, const Shape& at, const Shape& shape) const {
  Piece out{at, shape, piece.terms};
  for (Term& term : out.terms) {
    if (!term.is_element()) continue;
    for (std::size_t i = 0; i < at.size(); ++i) {
      term.element += (at[i] - piece.at[i]) * strides_[index(term.device)][i];
    }
  }
  return out;
}

/// What of a piece a transfer takes, where it brings it; of shape 0 where it takes nothing.
Piece Composition::moved(const Piece& piece, const Transfer& transfer) const {
  Shape at = piece.at;
  Shape shape = piece.shape;
  for (std::size_t i = 0; i < at.size(); ++i) {
    at[i] = std::max(piece.at[i], transfer.source_start[i]);
    shape[i] =
        std::min(piece.at[i] + piece.shape[i], transfer.source_start[i] + transfer.shape[i]) -
        at[i];
    if (shape[i] <= 0) return {};
  }
  Piece out = cut(piece, at, shape);
  for (std::size_t i = 0; i < at.size(); ++i) {
    out.at[i] += transfer.target_start[i] - transfer.source_start[i];
  }
  return out;
}

/// What is left of a piece around a box in it.
void Composition::cut_out(const Piece& piece, const Shape& at, const Shape& shape,
                          Pieces& rest) const {
  Shape from = piece.at;
  Shape extent = piece.shape;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const Size end = from[i] + extent[i];
    const auto leave = [&](Size begin, Size stop) {
      if (begin >= stop) return;
      Shape side_at = from;
      Shape side = extent;
      side_at[i] = begin;
      side[i] = stop - begin;
      rest.push_back(cut(piece, side_at, side));
    };
    leave(from[i], at[i]);
    leave(at[i] + shape[i], end);
    from[i] = at[i];
    extent[i] = shape[i];
  }
}

/// Adds a piece to what is in its place already, or writes over it.
Result<void> Composition::put(Pieces& tile, Piece piece, bool adds) {
  Pieces out;
  Pieces left{std::move(piece)};  // of the piece, where nothing was
  for (Piece& old : tile) {
    Pieces still;
    bool met = false;
    for (const Piece& part : left) {
      const Piece common = moved(part, {0, 0, old.at, old.at, old.shape});
      if (common.terms.empty()) {
        still.push_back(part);
        continue;
      }
      met = true;
      Piece both = cut(old, common.at, common.shape);
      if (adds) {
        both.terms.insert(both.terms.end(), common.terms.begin(), common.terms.end());
        both.terms.push_back({Term::plus, 0});
      } else {
        both.terms = common.terms;
      }
      if (auto held = hold(bytes_of(both)); !held) return held;
      cut_out(old, common.at, common.shape, out);
      cut_out(part, common.at, common.shape, still);
      out.push_back(std::move(both));
    }
    if (!met) out.push_back(std::move(old));
    left = std::move(still);
  }
  std::move(left.begin(), left.end(), std::back_inserter(out));
  tile = std::move(out);
  return {};
}

/// Whether the second piece lies behind the first one, and so do the elements that it adds.
bool Composition::goes_on(const Piece& first, const Piece& second, std::size_t dim) const {
  for (std::size_t i = 0; i < first.at.size(); ++i) {
    const Size step = i == dim ? first.shape[i] : 0;
    if (first.at[i] + step != second.at[i]) return false;
    if (i != dim && first.shape[i] != second.shape[i]) return false;
  }
  return std::equal(first.terms.begin(), first.terms.end(), second.terms.begin(),
                    second.terms.end(), [&](const Term& a, const Term& b) {
                      if (a.device != b.device) return false;
                      if (!a.is_element()) return true;
                      return a.element + first.shape[dim] * strides_[index(a.device)][dim] ==
                             b.element;
                    });
}

void Composition::join(Pieces& tile) {
  const std::size_t rank = program_.from.rank();
  for (std::size_t dim = rank; dim-- > 0 && tile.size() > 1;) {
    std::sort(tile.begin(), tile.end(), [&](const Piece& a, const Piece& b) {
      for (std::size_t i = 0; i < rank; ++i) {
        if (i != dim && a.at[i] != b.at[i]) return a.at[i] < b.at[i];
      }
      return a.at[dim] < b.at[dim];
    });
    Pieces out;
    for (Piece& piece : tile) {
      if (!out.empty() && goes_on(out.back(), piece, dim)) {
        out.back().shape[dim] += piece.shape[dim];
      } else {
        out.push_back(std::move(piece));
      }
    }
    tile = std::move(out);
  }
}

Result<void> Composition::apply(const std::vector<Transfer>& transfers,
                                const std::optional<Manner>& manner, const DeviceShapes& after) {
  std::vector<Pieces> next(tiles_.size());
  for (Size d = 0; manner && manner->clears && d < program_.devices; ++d) {
    const Shape& tile = after.of(d);
    if (is_empty(tile)) continue;
    next[index(d)].push_back({Shape(tile.size(), 0), tile, {{Term::neutral, 0}}});
  }
  const Transfer* last = nullptr;
  for (const Transfer& transfer : transfers) {
    const bool is_first = last == nullptr || last->target != transfer.target;
    const bool adds = manner && !(is_first && manner->copies_first);
    Pieces& tile = next[index(transfer.target)];
    for (const Piece& piece : tiles_[index(transfer.source)]) {
      Piece there = moved(piece, transfer);
      if (there.terms.empty()) continue;
      if (auto held = hold(bytes_of(there)); !held) return held;
      if (manner) {
        if (auto done = put(tile, std::move(there), adds); !done) return done;
      } else {
        tile.push_back(std::move(there));
      }
    }
    last = &transfer;
  }
  held_ = 0;
  for (Pieces& tile : next) {
    join(tile);
    for (const Piece& piece : tile) held_ += bytes_of(piece);
  }
  tiles_ = std::move(next);
  return {};
}

Result<void> Composition::apply(std::size_t step) {
  const Step& it = program_.steps[step];
  const Size listed = transfer_bytes(it.op);
  if (auto held = hold(listed); !held) return held;
  const DeviceShapes& before = shapes_[step];
  auto moves = moves_of(it, before.of_all(program_.devices));
  RETILE_ASSERT(moves.has_value(), "tile_shapes() has seen that the step can be applied");
  const auto manner = manner_of(it.op);
  if (manner) put_in_order(moves->transfers, ranks_[step]);
  return apply(moves->transfers, manner, shapes_[step + 1]);
}

/// Equal sums of several devices become one box.
Sums Composition::finish() && {
  std::map<std::pair<Shape, std::vector<Term>>, std::size_t> found;
  for (Size d = 0; d < program_.devices; ++d) {
    const Shape strides = strides_of(shapes_.back().of(d));
    for (Piece& piece : tiles_[index(d)]) {
      const Term target{d, offset_of(piece.at, strides)};
      // What nobody has to read everybody makes for itself.
      const bool is_neutral = std::none_of(piece.terms.begin(), piece.terms.end(),
                                           [](const Term& term) { return term.is_element(); });
      const auto known = is_neutral ? found.end() : found.find({piece.shape, piece.terms});
      if (known != found.end() && sums_.boxes[known->second].targets.back().device != d) {
        sums_.boxes[known->second].targets.push_back(target);
        continue;
      }
      if (!is_neutral) found[{piece.shape, piece.terms}] = sums_.boxes.size();
      sums_.boxes.push_back({std::move(piece.shape), std::move(piece.terms), {target}});
    }
  }
  // The boxes beside the pieces, twice, for a moment.
  sums_.making_bytes = std::max(sums_.making_bytes, 4 * held_) +
                       static_cast<Size>(sums_.boxes.size() * (sizeof(SumBox) + 64)) +
                       program_.devices * 256;
  return std::move(sums_);
}

}  // namespace

Result<Sums> sums_of(const Program& program, const std::vector<DeviceShapes>& shapes,
                     Size most_bytes) {
  Composition composition(program, shapes, most_bytes);
  for (std::size_t step = 0; step < program.steps.size(); ++step) {
    if (auto applied = composition.apply(step); !applied) return refuse(applied.error());
  }
  return std::move(composition).finish();
}

}  // namespace retile::add
