/// Decides whether a Program of version 2 does what it says, by moving elements, device by device.
///
/// The state is, per device, a shape of its own and that many global indices in C order. Each step
/// makes the next state element by element. Right means: every step applies, every claim holds, and
/// in the end each device holds the indices of its box of `to`, in order.
///
/// Nothing is decided beyond the limits of a state (layout_state.h).
/// What is virtual has another meaning where elements are sums (check_addends.h).
#pragma once

#include "../paper/fig11_cost.h"
#include "layout_state.h"

namespace spec {

/// Piece q of a tile, as a step that cuts says how large pieces are: of an extent, balanced, or equal.
inline Tile cut_along(const Step& step, const Tile& a, Size q) {
  if (step.balanced) return balanced_piece(a, step.split, pieces(step), q);
  return piece_of(a, step.split, step.piece.value_or(a.shape[step.split] / pieces(step)), q);
}

class LayoutReplay : protected LayoutState {
 public:
  explicit LayoutReplay(const Program& program, Size limit = most_units)
      : LayoutState(program, limit), program_(program) {}
  virtual ~LayoutReplay() = default;

  Verdict run() {  // throws TooLarge
    out_.steps = static_cast<Size>(program_.steps.size());
    state_ = start();
    const State to = state_of(program_.to);
    out_.bound = std::max(largest(state_), largest(to));
    out_.height = out_.bound;
    for (Index k = 0; k < program_.steps.size() && !out_.wrong; ++k) out_.wrong = apply(k);
    if (!out_.wrong) out_.wrong = differs(to, program_.to, "end", out_.steps);
    // Where a device was left without a box in order, that step is at fault for a wrong end, unless tiles need
    // not be boxes.
    const bool blames = not_a_box_ && !deals(program_);
    if (out_.wrong && out_.wrong->reason == "end" && blames) out_.wrong = not_a_box_;
    out_.right = !out_.wrong;
    out_.within_bound = out_.height <= out_.bound;
    return out_;
  }

 protected:
  virtual State start() { return state_of(program_.from); }

  // Whether devices hold what they should.

  /// Whether every device holds the tile of `expected`, which are those of a tiling.
  virtual std::optional<Wrong> differs(const State& expected, const Tiling&, const char* reason,
                                       Size step) {
    for (Index d = 0; d < state_.size(); ++d) {
      const auto& [shape, tags] = state_[d];
      if (state_[d] == expected[d]) continue;
      Wrong out = {step, reason, static_cast<Size>(d)};
      if (shape != expected[d].shape) return out;
      Sizes l(shape.size(), 0);
      Index at = 0;
      for (; tags[at] == expected[d].tags[at]; ++at) next(l, shape);
      out.at = l;
      out.element = index_of(expected[d].tags[at]);
      out.found = index_of(tags[at]);
      return out;
    }
    return std::nullopt;
  }
  /// Whether device d holds base + l at every local index l.
  std::optional<Wrong> leaves(Index d, const Sizes& base, const char* reason, Size step) const {
    const auto& [shape, tags] = state_[d];
    Sizes l(shape.size(), 0);
    for (const Size tag : tags) {
      const Sizes found = index_of(tag);
      Sizes here = found;
      for (Index i = 0; i < l.size(); ++i) here[i] -= l[i];
      if (here != base) {
        Sizes element = base;  // where l is not 0, base lies in the array
        for (Index i = 0; i < l.size(); ++i) element[i] += l[i];
        return Wrong{step, reason, static_cast<Size>(d), l, element, found};
      }
      next(l, shape);
    }
    return std::nullopt;
  }
  /// A step cannot be applied: what device d holds at local index 0 goes nowhere, or to two places.
  virtual Wrong stuck(Size step, const char* reason, Size d) const {
    const Tile& a = state_[static_cast<Index>(d)];
    if (is_empty(a)) return {step, reason, d};
    return {step, reason, d, Sizes(g_.size(), 0), index_of(a.tags.front())};
  }
  std::optional<Wrong> wrong_claim(const Step& step, Size k) {
    Sizes most(g_.size(), 0);
    for (const Tile& a : state_) {
      for (Index i = 0; i < most.size(); ++i) most[i] = std::max(most[i], a.shape[i]);
    }
    if (step.tile && *step.tile != most) return Wrong{k, "tile_claim", 0};
    look_for_limits();
    if (step.map) {
      if (auto wrong = differs(state_of(*step.map), *step.map, "map_claim", k)) return wrong;
    }
    return step.at ? wrong_places(step, k) : std::nullopt;
  }
  virtual std::optional<Wrong> wrong_places(const Step& step, Size k) {
    for (Index d = 0; d < state_.size(); ++d) {
      if (step.shapes && (*step.shapes)[d] != state_[d].shape) {
        return Wrong{k, "map_claim", static_cast<Size>(d)};
      }
      if (auto wrong = leaves(d, (*step.at)[d], "map_claim", k)) return wrong;
    }
    return std::nullopt;
  }

  // What steps do that add, and where an exchange puts elements (check_addends.h).

  virtual std::optional<Wrong> add(const Step&, Size, State&) { return std::nullopt; }
  virtual Size nothing(const Step&) { return -1; }  // where no transfer has put an element
  virtual Size put(const Step&, Size there, Size tag) { return there == -1 ? tag : -2; }
  virtual std::optional<Wrong> adds_otherwise(const Step&, Size) const { return std::nullopt; }
  virtual void look_for_limits() const {}
  virtual Size price(const Step& step, Size before, Size after) const {
    return step.transfers ? after : cost(step.p, before, after);
  }
  virtual void look_at_boxes(Size k) {
    for (Index d = 0; d < state_.size() && !not_a_box_; ++d) {
      if (is_empty(state_[d])) continue;
      not_a_box_ = leaves(d, index_of(state_[d].tags.front()), "not_a_box", k);
    }
  }

  // One step.

  std::optional<Wrong> apply(Index number) {
    const Step& step = program_.steps[number];
    const Size k = static_cast<Size>(number), before = largest(state_);
    for (const Stage& stage : step.table.stages)
      work(times(D_, static_cast<Size>(stage.shape.size())).value());
    if (const auto bad = bad_table(step, D_)) {
      const char* const reason = step.p == Op::allpermute ? "bijection" : "groups";
      return bad->device ? stuck(k, reason, *bad->device) : Wrong{k, reason};
    }
    if (step.grid && pieces(step) != *product(step.grid->counts)) return Wrong{k, "groups"};
    if (auto wrong = cannot_be_cut(step, k)) return wrong;
    State made(state_.size());
    bool moves = false;
    if (step.transfers) {
      if (auto wrong = exchange(step, k, made, moves)) return wrong;
    } else if (step.adding != Adding::none) {
      moves = pieces(step) > 1;
      if (auto wrong = add(step, k, made)) return wrong;
    } else if (step.grid) {
      moves = pieces(step) > 1;
      if (auto wrong = give_along(step, k, made)) return wrong;
    } else if (step.p == Op::allpermute || step.parts) {
      const Sizes l = row(table_of(step, D_), 0);
      for (Index d = 0; d < made.size(); ++d) {
        const bool permutes = step.p == Op::allpermute;
        made[d] = permutes ? state_[static_cast<Index>(l[d])] : cut(step, d, l[d]);
        moves = moves || (permutes && l[d] != static_cast<Size>(d));
      }
    } else {
      moves = pieces(step) > 1;
      for (Size r = 0; r < row_count(step.table); ++r) {
        if (auto wrong = give(step, k, row(step.table, r), made)) return wrong;
      }
    }
    if (auto wrong = adds_otherwise(step, k)) return wrong;
    state_ = std::move(made);
    Rows shapes;
    for (const Tile& a : state_) shapes.push_back(a.shape);
    hold(shapes);
    if (auto wrong = wrong_claim(step, k)) return wrong;
    const Size after = largest(state_);  // at most 2^28, so the cost is below 2^63
    out_.cost += moves ? price(step, before, after) : 0;
    out_.height = std::max(out_.height, after);
    look_at_boxes(k);
    return std::nullopt;
  }

  /// Where nothing says how large pieces are, the n pieces of every tile are equal.
  std::optional<Wrong> cannot_be_cut(const Step& step, Size k) const {
    if (!splits(step) || step.piece || step.balanced) return std::nullopt;
    Sizes n(g_.size(), 1);
    if (!step.grid) n[step.split] = pieces(step);
    if (step.grid) n = parts_along(step.grid->splits, step.grid->counts, g_.size());
    for (Size d = 0; d < D_; ++d) {
      const Sizes& m = state_[static_cast<Index>(d)].shape;
      for (Index i = 0; i < m.size(); ++i) {
        if (m[i] % n[i] != 0) return stuck(k, "indivisible", d);
      }
    }
    return std::nullopt;
  }
  /// Piece q of the tile of device d, or without a cut the tile.
  Tile cut(const Step& step, Index d, Size q) {
    const Tile& a = state_[d];
    work(elements_of(a) + 1);
    if (!splits(step) || is_empty(a)) return a;
    return cut_along(step, a, q);
  }
  /// The members of a row get what they should. They may be concatenated where the extents of all
  /// other dimensions agree, empty tiles aside.
  std::optional<Wrong> give(const Step& step, Size k, const Sizes& members, State& made) {
    std::optional<Sizes> agreed;
    for (Index q = 0; joins(step) && q < members.size(); ++q) {
      const Tile& a = state_[static_cast<Index>(members[q])];
      if (is_empty(a)) continue;
      Sizes shape = a.shape;
      shape[step.concat] = 0;
      if (agreed && *agreed != shape) return stuck(k, "ragged", members[q]);
      agreed = shape;
    }
    for (Index q = 0; q < members.size(); ++q) {
      const Index d = static_cast<Index>(members[q]);
      std::vector<Tile> parts;
      for (const Size member : joins(step) ? members : Sizes{members[q]}) {
        parts.push_back(cut(step, static_cast<Index>(member), static_cast<Size>(q)));
      }
      made[d] = joins(step) ? concatenated(parts, step.concat) : parts.front();
    }
    return std::nullopt;
  }

  /// The same along several dimensions at once. All members of a row have tiles of one shape.
  std::optional<Wrong> give_along(const Step& step, Size k, State& made) {
    Rows rows, shapes(made.size());
    for (Size r = 0; r < row_count(step.table); ++r) rows.push_back(row(step.table, r));
    for (const Sizes& members : rows) {
      const Sizes& whole = state_[static_cast<Index>(members.front())].shape;
      const auto shape = shape_along(*step.grid, whole);
      if (!shape) throw too_many_tags;
      for (const Size d : members) {
        if (state_[static_cast<Index>(d)].shape != whole) return stuck(k, "ragged", d);
        shapes[static_cast<Index>(d)] = *shape;
      }
    }
    hold(shapes);
    for (const Sizes& members : rows) {
      for (Size q = 0; q < pieces(step); ++q) {
        const Index d = static_cast<Index>(members[static_cast<Index>(q)]);
        made[d] = {shapes[d], Sizes(static_cast<Index>(*product(shapes[d])), -1)};
        for (Size p = 0; p < pieces(step) && !is_empty(made[d]); ++p) {
          const Tile& a = state_[static_cast<Index>(members[static_cast<Index>(p)])];
          put_piece(*step.grid, a, p, q, made[d]);
        }
      }
    }
    return std::nullopt;
  }

  /// Each box goes from tile to tile and lies in both; every element is put in its place once. A
  /// place where none is has the tag -1, and one where several are -2.
  std::optional<Wrong> exchange(const Step& step, Size k, State& made, bool& moves) {
    const Index r = g_.size();
    const Rows shapes = step.shapes.value_or(Rows(made.size(), step.tile.value_or(Sizes())));
    hold(shapes);
    for (Index d = 0; d < made.size(); ++d) {
      made[d] = {shapes[d], Sizes(static_cast<Index>(*product(shapes[d])), nothing(step))};
    }
    for (const Sizes& row : *step.transfers) {
      Tile* const ends[] = {&made[static_cast<Index>(row[0])], &state_[static_cast<Index>(row[1])]};
      const auto first = row.begin() + 2, extents = first + 2 * static_cast<std::ptrdiff_t>(r);
      const Sizes extent(extents, row.end());
      for (Index n = 0; n < 2 * r; ++n) {
        if (row[n + 2] <= ends[n / r]->shape[n % r] - extent[n % r]) continue;
        const auto start = first + static_cast<std::ptrdiff_t>(n / r * r);
        return Wrong{k, "transfers", row[n / r],
                     Sizes(start, start + static_cast<std::ptrdiff_t>(r))};
      }
      work(product(extent).value());
      Sizes l(r, 0);
      do {
        Size at[] = {0, 0};
        for (Index n = 0; n < 2 * r; ++n) {
          at[n / r] = at[n / r] * ends[n / r]->shape[n % r] + row[n + 2] + l[n % r];
        }
        Size& tag = ends[0]->tags[static_cast<Index>(at[0])];
        tag = put(step, tag, ends[1]->tags[static_cast<Index>(at[1])]);
      } while (next(l, extent));
      moves = moves || row[0] != row[1];
    }
    for (Index d = 0; d < made.size(); ++d) {
      Sizes l(r, 0);
      for (const Size tag : made[d].tags) {
        if (tag < 0) return Wrong{k, "transfers", static_cast<Size>(d), l};
        next(l, made[d].shape);
      }
    }
    return std::nullopt;
  }

  const Program& program_;
  Verdict out_;
  std::optional<Wrong> not_a_box_;
};

}  // namespace spec
