// What every device holds, as pieces: boxes of its tile in which every element is a sum of the same
// addends, of elements that lie equally far away in the array.
#include "retile/check/sum_pieces.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "retile/check/limits.h"
#include "retile/check/multisets.h"
#include "retile/check/state.h"
#include "retile/check/witness.h"
#include "retile/core/boxes.h"
#include "retile/core/index.h"
#include "retile/core/layout_facts.h"
#include "retile/program/moves.h"

namespace retile {
namespace {

Shape sum(Shape a, const Shape& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += b[i];
  return a;
}

Shape difference(Shape a, const Shape& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

/// Addends of elements that lie `shift` away in the array from their place in the tile.
struct Part {
  Shape shift;
  AddendSets::Id set = 0;
  friend bool operator==(const Part&, const Part&) = default;
};

/// No two parts have one shift; without parts it is zero.
struct Piece {
  Box box;
  std::vector<Part> parts;
};

/// The pieces of a tile, which do not meet and make up all of it, in C order of where they begin.
using AddedPieces = std::vector<Piece>;

/// Pieces of one tile, to be looked through for those that meet a box.
class PiecesOfTile {
 public:
  explicit PiecesOfTile(const AddedPieces& pieces) : pieces_(pieces) {
    for (const Piece& piece : pieces) {
      if (!piece.box.extent.empty()) widest_ = std::max(widest_, piece.box.extent.front());
    }
  }
  /// Calls visit(piece, what it shares with the box) for each, in order.
  template <typename Visit>
  void meeting(const Box& box, const Visit& visit) const {
    const auto begins_after = [](Size at, const Piece& piece) { return at < piece.box.at.front(); };
    auto piece = pieces_.begin();
    auto end = pieces_.end();
    if (!box.at.empty()) {  // along the first dimension
      const Size at = box.at.front();
      piece = std::upper_bound(piece, end, at - widest_, begins_after);
      end = std::upper_bound(piece, end, at + box.extent.front() - 1, begins_after);
    }
    for (; piece != end; ++piece) {
      if (auto shared = common(piece->box, box)) visit(*piece, *std::move(shared));
    }
  }

 private:
  const AddedPieces& pieces_;
  Size widest_ = 0;
};

/// What a device should hold: parts of its tile, none where it is empty.
using Expected = std::vector<TilePart>;

/// Boxes that do not meet, each with the numbers of those that were laid over it.
struct Cell {
  Box box;
  std::vector<std::size_t> layers;
};

/// Lays a box over cells. Each cell is cut once, by what it shares with the box: what was cut off
/// the box elsewhere may meet the same cell again.
void lay(std::vector<Cell>& cells, const Box& box, std::size_t number) {
  std::vector<Box> left = {box};
  const std::size_t count = cells.size();
  for (std::size_t c = 0; c < count && !left.empty(); ++c) {
    const auto shared = common(cells[c].box, box);
    if (!shared) continue;
    const Box own = cells[c].box;
    for (Box& outside : without(own, *shared)) {
      cells.push_back({std::move(outside), cells[c].layers});
    }
    cells[c].box = *shared;
    cells[c].layers.push_back(number);
    std::vector<Box> next;
    for (Box& rest : left) {
      const auto covered = common(rest, *shared);
      if (!covered) {
        next.push_back(std::move(rest));
        continue;
      }
      for (Box& outside : without(std::move(rest), *covered)) next.push_back(std::move(outside));
    }
    left = std::move(next);
  }
  for (Box& rest : left) cells.push_back({std::move(rest), {number}});
}

/// Joins pieces that lie side by side and hold the same.
void join(AddedPieces& pieces) {
  if (pieces.size() < 2) return;
  for (std::size_t i = pieces.front().box.at.size(); i-- > 0;) {
    const auto before = [i](const Piece& a, const Piece& b) {
      for (std::size_t k = 0; k < a.box.at.size(); ++k) {
        if (k == i) continue;
        if (a.box.at[k] != b.box.at[k]) return a.box.at[k] < b.box.at[k];
      }
      return a.box.at[i] < b.box.at[i];
    };
    std::sort(pieces.begin(), pieces.end(), before);
    AddedPieces out;
    for (Piece& piece : pieces) {
      Piece* const last = out.empty() ? nullptr : &out.back();
      bool joins = last != nullptr && last->parts == piece.parts;
      for (std::size_t k = 0; joins && k < piece.box.at.size(); ++k) {
        joins = k == i ? last->box.at[k] + last->box.extent[k] == piece.box.at[k]
                       : last->box.at[k] == piece.box.at[k] &&
                             last->box.extent[k] == piece.box.extent[k];
      }
      if (joins) {
        last->box.extent[i] += piece.box.extent[i];
      } else {
        out.push_back(std::move(piece));
      }
    }
    pieces = std::move(out);
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.box.at < b.box.at; });
}

/// What all devices hold.
class Sums final : public Holding {
 public:
  Sums(const Layout& from, std::optional<Addition> addition, const Limits& limits)
      : limits_(limits),
        addends_(from.addend_count()),
        addition_(addition),
        sets_(may_repeat()),
        shapes_(shapes_of(from)) {
    for (Size device = 0; device < from.devices(); ++device) {
      AddedPieces& pieces = tiles_.emplace_back();
      for (TilePart& part : from.parts(device)) {
        Shape shift = difference(std::move(part.box.at), part.place);
        pieces.push_back({{std::move(part.place), std::move(part.box.extent)},
                          {{std::move(shift), sets_.single(from.addend(device))}}});
      }
    }
  }

  [[nodiscard]] Stepped apply(const Step& step) override {
    const auto moves = moves_of(step, shapes_, limits_.deadline);
    if (!moves) return {.refusal = moves.error()};
    const auto own = retile::addition_of(step);
    if (own && *own != addition_) return {.refusal = Refusal{Reason::addends, {}}};
    return {.applied = apply(*moves, own.has_value()),
            .largest = largest_extents(moves->after),
            .elements = largest_tile(moves->after)};
  }

  [[nodiscard]] Witness refused(const Refusal& refusal) const override {
    const std::optional<Size>& device = refusal.device;
    if (refusal.at) return {device, Witness::OtherPlace{*refusal.at}};
    // Nobody asks which addends cannot be moved.
    if (addition_ || !device || is_empty(shapes_[index(*device)])) return {.device = device};
    const Shape first(shapes_.front().size(), 0);
    const Piece& piece = tiles_[index(*device)].front();
    return {device, Witness::StuckElement{first, sum(first, piece.parts.front().shift)}};
  }

  [[nodiscard]] std::optional<Witness> broken(const Claims& claims) override {
    if (claims.map) {
      if (auto found = fault(*claims.map)) return std::move(found->witness);
    }
    if (auto witness = broken_shapes(claims, shapes_)) return witness;
    const std::size_t rank = shapes_.front().size();
    if (!claims.at || rank == 0) return std::nullopt;
    std::vector<Expected> expected;
    for (Shape& at : shapes_of_rows(*claims.at, rank)) {
      expected.push_back({{Shape(rank, 0), {std::move(at), shapes_[expected.size()]}}});
    }
    return misplaced(expected);
  }

  [[nodiscard]] std::optional<Fault> fault(const Layout& layout) override {
    if (auto witness = retile::other_tile(shapes_, shapes_of(layout))) {
      return Fault{Reason::end, *std::move(witness)};
    }
    std::vector<Expected> expected;
    expected.reserve(index(layout.devices()));
    for (Size d = 0; d < layout.devices(); ++d) expected.push_back(layout.parts(d));
    if (auto witness = misplaced(expected)) return Fault{Reason::end, *std::move(witness)};
    const Classes classes(layout);
    if (auto witness = differing(classes, expected)) {
      return Fault{Reason::replicas, *std::move(witness)};
    }
    if (auto witness = incomplete(classes, layout, expected)) {
      return Fault{Reason::addends, *std::move(witness)};
    }
    return std::nullopt;
  }

  /// Neither what adds leaves boxes nor what deals out, and it is at no fault for it.
  [[nodiscard]] std::optional<Witness> not_a_box() const override { return std::nullopt; }
  [[nodiscard]] bool is_lost() const override { return sets_.overflowed(); }

 private:
  /// \param adds  whether boxes of the moves may meet, or leave something out
  [[nodiscard]] Applied apply(const Moves& moves, bool adds) {
    std::vector<AddedPieces> next(tiles_.size());
    const std::vector<PiecesOfTile> sources(tiles_.begin(), tiles_.end());
    const std::vector<std::size_t> order = by_target(moves.transfers);
    Size numbers = 0;
    for (std::size_t k = 0; k < order.size();) {
      const Size target = moves.transfers[order[k]].target;
      std::vector<const Transfer*> incoming;
      for (; k < order.size() && moves.transfers[order[k]].target == target; ++k) {
        incoming.push_back(&moves.transfers[order[k]]);
      }
      AddedPieces& pieces = next[index(target)];
      pieces = taken(incoming, sources);
      if (adds) pieces = added(pieces, moves.after[index(target)]);
      join(pieces);
      for (const Piece& piece : pieces) {
        numbers += static_cast<Size>((2 + piece.parts.size()) * (piece.box.at.size() + 4));
      }
      if (numbers + sets_.room() > limits_.tag_room || sets_.overflowed()) return Applied::no_room;
      if (limits_.deadline.passed()) return Applied::too_late;
    }
    if (adds) {
      for (std::size_t d = 0; d < next.size(); ++d) {
        if (next[d].empty() && !is_empty(moves.after[d])) next[d] = zeros(moves.after[d]);
      }
    }
    tiles_ = std::move(next);
    shapes_ = moves.after;
    return Applied::done;
  }

  /// The first element that has an addend of another than the one in its place of a box that begins
  /// there.
  [[nodiscard]] std::optional<Witness> misplaced(const std::vector<Expected>& expected) const {
    for (std::size_t d = 0; d < tiles_.size(); ++d) {
      const PiecesOfTile pieces(tiles_[d]);
      std::optional<Shape> place;
      Shape shift;
      const Piece* first = nullptr;
      for (const TilePart& wanted : expected[d]) {
        const Shape own = difference(wanted.box.at, wanted.place);
        pieces.meeting({wanted.place, wanted.box.extent}, [&](const Piece& piece, const Box& box) {
          const bool is_wrong = std::any_of(piece.parts.begin(), piece.parts.end(),
                                            [&](const Part& part) { return part.shift != own; });
          if (!is_wrong || (place && *place < box.at)) return;
          place = box.at;
          shift = own;
          first = &piece;
        });
      }
      if (!place) continue;
      std::optional<std::pair<Size, Shape>> least;
      for (const Part& part : first->parts) {
        if (part.shift == shift) continue;
        std::pair<Size, Shape> term(sets_.counted(part.set).front().addend,
                                    sum(*place, part.shift));
        if (!least || term < *least) least = std::move(term);
      }
      return Witness{static_cast<Size>(d),
                     Witness::OtherElement{*place, sum(*place, shift), least->second}};
    }
    return std::nullopt;
  }

  /// Devices that must hold the same.
  class Classes {
   public:
    explicit Classes(const Layout& layout) : tile_of_(tile_by_device(layout)) {
      for (std::size_t d = 0; d < tile_of_.size(); ++d) {
        if (tile_of_[d] == firsts_.size()) firsts_.emplace_back(index(layout.addend_count()));
        auto& first = firsts_[tile_of_[d]][index(layout.addend(static_cast<Size>(d)))];
        if (!first) first = d;
        first_of_.push_back(*first);
      }
    }
    /// The first device that holds the same as this one.
    [[nodiscard]] std::size_t first_of(std::size_t device) const { return first_of_[device]; }
    /// The first devices of all addends of this one's tile.
    [[nodiscard]] std::vector<std::size_t> holders(std::size_t device) const {
      std::vector<std::size_t> out;
      for (const auto& first : firsts_[tile_of_[device]]) {
        if (first) out.push_back(*first);
      }
      return out;
    }

   private:
    std::vector<std::size_t> tile_of_;
    std::vector<std::vector<std::optional<std::size_t>>> firsts_;  // by tile, then by addend
    std::vector<std::size_t> first_of_;
  };

  static AddedPieces zeros(const Shape& tile) { return {{{Shape(tile.size(), 0), tile}, {}}}; }

  /// The pieces that transfers to one device bring, where they lie in its new tile.
  [[nodiscard]] static AddedPieces taken(const std::vector<const Transfer*>& incoming,
                                         const std::vector<PiecesOfTile>& sources) {
    AddedPieces out;
    for (const Transfer* transfer : incoming) {
      const Shape moved = difference(transfer->target_start, transfer->source_start);
      const Box wanted{transfer->source_start, transfer->shape};
      sources[index(transfer->source)].meeting(wanted, [&](const Piece& piece, Box&& shared) {
        Piece& taken = out.emplace_back(Piece{std::move(shared), piece.parts});
        taken.box.at = sum(std::move(taken.box.at), moved);
        for (Part& part : taken.parts) part.shift = difference(std::move(part.shift), moved);
      });
    }
    return out;
  }

  /// Pieces that may meet, added up over a tile of zeros.
  [[nodiscard]] AddedPieces added(const AddedPieces& pieces, const Shape& tile) {
    std::vector<Cell> cells = {{{Shape(tile.size(), 0), tile}, {}}};
    for (std::size_t p = 0; p < pieces.size(); ++p) lay(cells, pieces[p].box, p);
    AddedPieces out;
    for (Cell& cell : cells) {
      std::map<Shape, std::vector<AddendSets::Id>> by_shift;
      for (const std::size_t p : cell.layers) {
        for (const Part& part : pieces[p].parts) by_shift[part.shift].push_back(part.set);
      }
      Piece& piece = out.emplace_back(Piece{std::move(cell.box), {}});
      for (auto& [shift, ids] : by_shift) piece.parts.push_back({shift, sets_.sum(std::move(ids))});
    }
    return out;
  }

  /// The addends of a piece whose elements all lie where they should.
  static AddendSets::Id set_of(const Piece& piece) {
    return piece.parts.empty() ? 0 : piece.parts.front().set;
  }

  /// The first device that does not hold what the first one of its class holds.
  [[nodiscard]] std::optional<Witness> differing(const Classes& classes,
                                                 const std::vector<Expected>& expected) const {
    for (std::size_t d = 0; d < tiles_.size(); ++d) {
      const std::size_t first = classes.first_of(d);
      if (first == d) continue;
      std::optional<Shape> place;
      AddendSets::Id own = 0;
      AddendSets::Id other = 0;
      for (const Piece& mine : tiles_[d]) {
        for (const Piece& theirs : tiles_[first]) {
          if (set_of(mine) == set_of(theirs)) continue;
          auto shared = common(mine.box, theirs.box);
          if (!shared || (place && *place < shared->at)) continue;
          place = std::move(shared->at);
          own = set_of(mine);
          other = set_of(theirs);
        }
      }
      if (!place) continue;
      const Size addend = least_difference(own, other);
      return Witness{static_cast<Size>(d),
                     Witness::OtherAddend{.at = *place,
                                          .element = element_at(expected[d], *place),
                                          .addend = addend,
                                          .times = sets_.times(own, addend),
                                          .replica = {{.device = static_cast<Size>(first),
                                                       .times = sets_.times(other, addend)}}}};
    }
    return std::nullopt;
  }

  [[nodiscard]] Size least_difference(AddendSets::Id a, AddendSets::Id b) const {
    const auto& own = sets_.counted(a);
    const auto& other = sets_.counted(b);
    const auto [x, y] = std::mismatch(own.begin(), own.end(), other.begin(), other.end());
    if (x == own.end()) return y->addend;
    if (y == other.end()) return x->addend;
    return std::min(x->addend, y->addend);
  }

  /// The least addend that is not as often there as it should be. Of a stack no two come together, as
  /// nothing adds them.
  /// \param wanted  the one that should be; nothing: all of them
  [[nodiscard]] std::optional<Size> wrong_addend(AddendSets::Id id, std::optional<Size> wanted) {
    const auto [known, is_new] = wrong_.try_emplace({id, wanted.value_or(-1)});
    if (!is_new) return known->second;
    Size next = wanted.value_or(0);  // the least that is not yet known to be there
    const Size end = wanted ? *wanted + 1 : addends_;
    for (const Counted& one : sets_.counted(id)) {
      if (one.addend < next) return known->second = one.addend;
      if (one.addend > next || next == end) break;
      if (one.times != 1 && !may_repeat()) return known->second = next;
      ++next;
    }
    if (next < end) return known->second = next;
    return std::nullopt;
  }

  [[nodiscard]] bool may_repeat() const {
    return addition_ == Addition::max || addition_ == Addition::min;
  }

  /// The first tile whose addends are not all there once.
  [[nodiscard]] std::optional<Witness> incomplete(const Classes& classes, const Layout& layout,
                                                  const std::vector<Expected>& expected) {
    const bool stack = addition_ == Addition::stack;
    for (std::size_t d = 0; d < tiles_.size(); ++d) {
      const Size own = layout.addend(static_cast<Size>(d));
      if (classes.first_of(d) != d || (!stack && own != 0) || is_empty(shapes_[d])) continue;
      AddedPieces all;
      for (const std::size_t holder : stack ? std::vector{d} : classes.holders(d)) {
        all.insert(all.end(), tiles_[holder].begin(), tiles_[holder].end());
      }
      std::optional<Shape> place;
      AddendSets::Id there = 0;
      std::vector<Cell> cells;
      for (std::size_t p = 0; p < all.size(); ++p) lay(cells, all[p].box, p);
      for (const Cell& cell : cells) {
        if (place && *place < cell.box.at) continue;
        std::vector<AddendSets::Id> ids;
        for (const std::size_t p : cell.layers) ids.push_back(set_of(all[p]));
        const AddendSets::Id total = sets_.total(std::move(ids));
        if (!wrong_addend(total, stack ? std::optional(own) : std::nullopt)) continue;
        place = cell.box.at;
        there = total;
      }
      if (!place) continue;
      const Size addend = *wrong_addend(there, stack ? std::optional(own) : std::nullopt);
      return Witness{static_cast<Size>(d),
                     Witness::OtherAddend{.at = *place,
                                          .element = element_at(expected[d], *place),
                                          .addend = addend,
                                          .times = sets_.times(there, addend)}};
    }
    return std::nullopt;
  }

  Limits limits_;
  Size addends_;
  std::optional<Addition> addition_;
  AddendSets sets_;
  TileShapes shapes_;
  std::vector<AddedPieces> tiles_;
  std::map<std::pair<AddendSets::Id, Size>, std::optional<Size>> wrong_;
};

}  // namespace

std::unique_ptr<Holding> sums_of(const Layout& from, std::optional<Addition> addition,
                                 const Limits& limits) {
  return std::make_unique<Sums>(from, addition, limits);
}

}  // namespace retile
