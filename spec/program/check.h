/// Decides whether a Program does what it says, by moving element tags, device by device.
///
/// The state is, per device, an array of global indices. Each step makes the next state element by
/// element. Right means: every step applies, every claim holds, and in the end each device holds
/// its box of `to`, in order.
///
/// Blocks move whole: each dimension is first divided by the gcd of all tile extents along it, the
/// pieces cut from tiles and listed base offsets included. Above 2^28 tags nothing is decided, nor
/// when the steps together need more than 2^32 units of work. Programs of version 2 have a replay
/// of their own (check_layouts.h), and those with addends another (check_addends.h).
#pragma once

#include <new>

#include "../paper/fig11_cost.h"
#include "blocks.h"
#include "check_addends.h"

namespace spec {

class Replay {
 public:
  static constexpr Size most_tags = most_tags_in_all;

  explicit Replay(const Program& program, Size limit = most_units)
      : program_(program), D_(program.devices), work_left_(limit), blocks_(program) {}

  Verdict run() {  // throws TooLarge
    out_.steps = static_cast<Size>(program_.steps.size());
    out_.bound = std::max(localsize(program_.from.tile), localsize(program_.to.tile));
    out_.height = out_.bound;
    start();
    for (Index k = 0; k < program_.steps.size() && !out_.wrong; ++k) out_.wrong = apply(k);
    if (!out_.wrong) out_.wrong = lies(program_.to, "end", out_.steps);
    // Where a device was left without a box in order, that step is at fault for a wrong end.
    if (out_.wrong && out_.wrong->reason == "end" && not_a_box_) out_.wrong = not_a_box_;
    out_.right = !out_.wrong;
    out_.within_bound = out_.height <= out_.bound;
    return out_;
  }

 private:
  // The state: c_ in blocks is the shape of every device's array; size_ tags each, in C order.

  static Size localsize(const Sizes& c) {
    const auto size = product(c);
    return size ? *size : throw size_too_large;
  }
  Size tags_in(const Sizes& c) const {
    const Size size = localsize(c);
    return size <= most_tags / D_ ? size : throw too_many_tags;
  }
  /// The state at the start, and each step, need for every tag a unit and one per dimension; each
  /// step needs for every device a unit and one per dimension of its iota's stages.
  /// A box needs for every tag what a tile does.
  void work_on_table(const Table& table) {
    Index dimensions = 0;
    for (const Stage& stage : table.stages) dimensions += stage.shape.size();
    work(D_, dimensions);
  }
  void work(Size tags, Index dimensions) {
    const auto units = times(tags, static_cast<Size>(dimensions) + 1);
    if (!units || *units > work_left_) throw too_much_work;
    work_left_ -= *units;
  }
  void start() {
    c_ = blocks_.of(program_.from.tile);
    size_ = tags_in(c_);
    work(D_ * size_, c_.size());
    all_.resize(static_cast<Index>(D_));
    std::iota(all_.begin(), all_.end(), Size{0});
    tags_.reserve(static_cast<Index>(size_ * D_));
    for (const Size d : all_) {
      const Size base = blocks_.tag(blocks_.of(base_offset(program_.from, d)));
      Sizes l(c_.size(), 0);
      do tags_.push_back(base + blocks_.tag(l));
      while (next(l, c_));
    }
  }
  Size first_tag(Size d) const { return tags_[static_cast<Index>(d * size_)]; }

  /// Whether device d holds the box at `base` in order; if not, the first element that differs.
  std::optional<Wrong> differs(Size d, const Sizes& base, const char* reason, Size step) const {
    Index at = static_cast<Index>(d * size_);
    Sizes l(c_.size(), 0);
    bool inside = true;
    for (Index i = 0; i < base.size(); ++i) inside = inside && base[i] <= blocks_.last(i);
    const Size b = inside ? blocks_.tag(base) : -1;
    do {
      if (!inside || tags_[at] != b + blocks_.tag(l)) {
        Sizes expected = base;
        for (Index i = 0; i < l.size(); ++i) expected[i] += l[i];
        const Sizes found = blocks_.elements(blocks_.block(tags_[at]));
        return Wrong{step, reason, d, blocks_.elements(l), blocks_.elements(expected), found};
      }
      ++at;
    } while (next(l, c_));
    return std::nullopt;
  }
  /// A step cannot be applied: what device d holds at local index 0 goes nowhere, or to two places.
  Wrong stuck(Size step, const char* reason, Size d) const {
    return {step, reason, d, Sizes(c_.size(), 0), blocks_.elements(blocks_.block(first_tag(d)))};
  }
  /// Whether every device holds exactly its box of `tiling`.
  std::optional<Wrong> lies(const Tiling& tiling, const char* reason, Size step) const {
    if (tiling.tile != blocks_.elements(c_)) return Wrong{step, reason, 0};
    for (const Size d : all_) {
      if (auto wrong = differs(d, blocks_.of(base_offset(tiling, d)), reason, step)) return wrong;
    }
    return std::nullopt;
  }

  // One step.

  std::optional<Wrong> apply(Index number) {
    const Step& step = program_.steps[number];
    const Size k = static_cast<Size>(number);
    work_on_table(step.table);
    if (const auto bad = bad_table(step, D_)) {
      const char* const reason = step.p == Op::allpermute ? "bijection" : "groups";
      return bad->device ? stuck(k, reason, *bad->device) : Wrong{k, reason};
    }
    const auto cut = piece(step, blocks_.elements(c_));
    if (!cut) return stuck(k, "indivisible", 0);
    const auto tile = joined(step, *cut);
    if (!tile) throw size_too_large;
    const Size before = localsize(blocks_.elements(c_)), after = localsize(*tile);
    const Sizes c = blocks_.of(*tile);
    const Size size = tags_in(c);
    work(D_ * size, c.size());
    const Table table = table_of(step, D_);
    const bool permutes = step.p == Op::allpermute;
    std::vector<Size> tags(static_cast<Index>(size * D_), -1);
    bool moves = permutes ? !step.transfers && row(table, 0) != all_ : pieces(step) > 1;
    if (auto wrong = step.transfers ? exchange(step, k, tags, moves) : std::nullopt) return wrong;
    for (Size r = 0; r < row_count(table); ++r) {
      const Sizes members = row(table, r);
      for (Index q = 0; q < members.size(); ++q) {
        const Size one = static_cast<Size>(q);  // in `part` and `source` also the device
        const Size d = permutes || step.parts ? one : members[q];
        const Size part = step.parts ? members[q] : permutes ? 0 : one;
        Size* const to = &tags[static_cast<Index>(d * size)];
        give(step, blocks_.of(*cut), c, step.parts ? all_ : members, one, part, to);
      }
    }
    c_ = c;
    size_ = size;
    tags_ = std::move(tags);
    if (step.tile && *step.tile != *tile) return Wrong{k, "tile_claim", 0};
    if (auto wrong = step.map ? lies(*step.map, "map_claim", k) : std::nullopt) return wrong;
    const Tiling listed = {*tile, {}, {}, step.at};
    if (auto wrong = step.at ? lies(listed, "map_claim", k) : std::nullopt) return wrong;
    const Size price = !moves ? 0 : step.transfers ? after : cost(step.p, before, after);
    if (__builtin_add_overflow(out_.cost, price, &out_.cost)) {
      throw TooLarge{"the cost is not below 2^63"};
    }
    out_.height = std::max(out_.height, after);
    for (Size d = 0; d < D_ && !not_a_box_; ++d) {
      not_a_box_ = differs(d, blocks_.block(first_tag(d)), "not_a_box", k);
    }
    return std::nullopt;
  }

  /// Each box goes from tile to tile and lies in both; every element is put in its place once. A
  /// place where none is has the tag -1.
  std::optional<Wrong> exchange(const Step& step, Size k, std::vector<Size>& tags, bool& moves) {
    const Sizes c[] = {blocks_.of(*step.tile), c_};
    const Index r = c_.size();
    Sizes l(r, 0);
    for (const Sizes& row : *step.transfers) {
      Sizes lies[3];  // its starts in the target and in the source, its extents
      for (Index n = 0; n < 3 * r; ++n) lies[n / r].push_back(row[n + 2]);
      for (Sizes& numbers : lies) numbers = blocks_.of(numbers);
      for (Index n = 0; n < 2 * r; ++n) {
        if (lies[n / r][n % r] <= c[n / r][n % r] - lies[2][n % r]) continue;
        return Wrong{k, "transfers", row[n / r], blocks_.elements(lies[n / r])};
      }
      work(localsize(lies[2]), r);
      do {
        Size at[] = {row[0], row[1]};
        for (Index n = 0; n < 2 * r; ++n) {
          at[n / r] = at[n / r] * c[n / r][n % r] + lies[n / r][n % r] + l[n % r];
        }
        Size& tag = tags[static_cast<Index>(at[0])];
        tag = tag == -1 ? tags_[static_cast<Index>(at[1])] : -2;  // the second to be put there
      } while (next(l, lies[2]));
      moves = moves || row[0] != row[1];
    }
    auto tag = tags.begin();
    for (const Size d : all_) {
      do
        if (*tag++ < 0) return Wrong{k, "transfers", d, blocks_.elements(l)};
      while (next(l, c[0]));
    }
    return std::nullopt;
  }

  /// One device gets piece q of each member's tile, concatenated along dimension i. Without a
  /// concatenation it gets piece q of the tile of one member alone; without a cut the piece is all.
  void give(const Step& step, const Sizes& cut, const Sizes& c, const Sizes& members, Size one,
            Size q, Size* to) const {
    Sizes l(c.size(), 0);
    do {
      Size member = one, from = 0;  // where element l comes from: whose tile, and where in it
      for (Index i = 0; i < l.size(); ++i) {
        Size l_i = l[i];
        if (joins(step) && i == step.concat) {
          member = l_i / cut[i];
          l_i %= cut[i];
        }
        if (splits(step) && i == step.split) l_i += q * cut[i];
        from = from * c_[i] + l_i;
      }
      *to++ = tags_[static_cast<Index>(members[static_cast<Index>(member)] * size_ + from)];
    } while (next(l, c));
  }

  const Program& program_;
  const Size D_;
  Size work_left_;
  Sizes all_;  // the devices 0..D-1
  const Blocks blocks_;
  Sizes c_;
  Size size_ = 0;
  std::vector<Size> tags_;
  Verdict out_;
  std::optional<Wrong> not_a_box_;
};

/// Replays a Program. Undecided when it is too large, or when a size is not below 2^63.
inline Verdict check(const Program& program) {
  Verdict undecided;
  undecided.decided = false;
  try {
    if (addition_of(program) != Addition::none) {
      return called(AddendsReplay(program).run(), program.names);
    }
    if (program.version == 2) return called(LayoutReplay(program).run(), program.names);
    const auto shapes = static_cast<Size>(program.steps.size() + 1);  // that Blocks looks at
    const auto work = times(shapes, static_cast<Size>(program.from.tile.size()));
    if (!work || *work > most_units) throw too_much_work;
    return called(Replay(program).run(), program.names);
  } catch (const TooLarge& what) {
    undecided.why_undecided = what.why;
  } catch (const std::bad_alloc&) {
    undecided.why_undecided = "out of memory";
  }
  return undecided;
}

}  // namespace spec
