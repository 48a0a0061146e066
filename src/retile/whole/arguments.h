// What the devices get in a draw. Room-internal.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/walk.h"
#include "retile/whole/array.h"
#include "retile/whole/evaluate.h"
#include "retile/whole/matching.h"

namespace retile::whole {

/// a + b, or a - b.
template <typename Domain>
Word combined(const Domain& domain, const ElementKind& kind, Word a, Word b, bool is_difference) {
  if (!kind.is_number()) return is_difference ? domain.sub(a, b) : domain.add(a, b);
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  return operations::wrapped(static_cast<Word>(is_difference ? x - y : x + y), kind);
}

/// The arguments of one draw, in one kind of numbers.
template <typename Domain>
class Arguments {
 public:
  /// Integers and truth values are the same for every kind of numbers.
  /// \param others  draws other numbers with a point beside the same integers
  Arguments(const Domain& domain, const Matching& matching, Limits& limits, std::uint64_t seed,
            Size draw, std::vector<Size> extents, std::uint64_t others = 0)
      : domain_(domain),
        matching_(matching),
        limits_(limits),
        integers_(seed * 1000003 + 17),
        reals_(seed * 7919 + 5 + others),
        draw_(draw),
        extents_(std::move(extents)) {}

  void make() {
    for (const Cut& cut : matching_.starts) {
      if (matching_.is_per_device) {
        Held tiles;
        for (Size d = 0; d < matching_.devices; ++d) tiles.push_back(array(cut.global));
        before.push_back(tiles);
        after.push_back(std::move(tiles));
        continue;
      }
      const Block whole = array(cut.global);
      before.emplace_back(static_cast<std::size_t>(matching_.devices), whole);
      after.push_back(matching_.is_partitioned ? tiles_of(cut, whole) : before.back());
    }
  }

  /// Gives an argument without dimensions another integer.
  void set(std::size_t k, Word integer) {
    const ArrayType& type = matching_.starts[k].global;
    auto scalar = new_array(limits_, type);
    scalar->words.front() = operations::wrapped(integer, type.kind);
    before[k].assign(before[k].size(), scalar);
    after[k] = before[k];
  }

  std::vector<Held> before;
  std::vector<Held> after;

 private:
  [[nodiscard]] Size below(Size number) {
    return static_cast<Size>(integers_() % static_cast<std::uint64_t>(number));
  }
  /// Integers may be indices, so each draw looks at other places of an extent: inside of it, at its
  /// end and behind it, below 0. One in four is inside whatever the draw, lest one hides the other.
  [[nodiscard]] Word integer(const ElementKind& kind) {
    if (kind.form == ElementKind::Form::truth)
      return below(8) < (draw_ % 3 == 0 ? 4 : draw_ % 3 == 1 ? 1 : 7);
    const Size extent =
        extents_[static_cast<std::size_t>(below(static_cast<Size>(extents_.size())))];
    const Size place = below(4) == 0 ? 0 : draw_ % 6;
    Size number = below(extent);
    if (place == 1) number = extent + below(3) - below(2);
    if (place == 2) number = -1 - (below(2) == 0 ? below(3) : extent - 1 + below(3));
    if (place == 4) number = extent + below(2 * extent);
    if (place == 5) number = below(5 * extent) - 2 * extent;
    if (place == 5 && !matching_.has_loops) number = static_cast<Size>(integers_());  // any at all
    if (place == 3 && !matching_.integers.empty() && !matching_.has_loops) {
      const auto count = static_cast<Size>(matching_.integers.size());
      const auto near = static_cast<std::uint64_t>(below(3)) - 1;  // to what is compared with it
      number = static_cast<Size>(
          static_cast<std::uint64_t>(matching_.integers[static_cast<std::size_t>(below(count))]) +
          near);
    }
    return operations::wrapped(number, kind);
  }
  [[nodiscard]] Block array(const ArrayType& type) {
    auto out = new_array(limits_, type);
    limits_.work(static_cast<Size>(out->words.size()) * 8);
    for (Word& word : out->words) {
      word = type.kind.is_number() ? integer(type.kind) : domain_.drawn(reals_);
    }
    return out;
  }
  /// Arrays of which `whole` is the sum.
  [[nodiscard]] std::vector<Block> addends_of(const Cut& cut, const Block& whole) {
    std::vector<Block> out;
    auto rest = new_array(limits_, cut.global);
    rest->words = whole->words;
    for (Size k = 1; k < cut.addend_count; ++k) {
      out.push_back(array(cut.global));
      for (std::size_t w = 0; w < rest->words.size(); ++w) {
        rest->words[w] =
            combined(domain_, cut.global.kind, rest->words[w], out.back()->words[w], true);
      }
    }
    out.push_back(std::move(rest));
    return out;
  }
  /// Of a sum each device has a box of its own addend.
  [[nodiscard]] Held tiles_of(const Cut& cut, const Block& whole) {
    if (cut.addends.empty()) return boxes_of(cut, whole);
    std::vector<Held> tiles;
    for (const Block& addend : addends_of(cut, whole)) tiles.push_back(boxes_of(cut, addend));
    Held out;
    for (std::size_t d = 0; d < cut.addends.size(); ++d) {
      out.push_back(tiles[static_cast<std::size_t>(cut.addends[d])][d]);
    }
    return out;
  }
  /// Each device's box at the beginning of its tile, and behind it what nobody else has.
  [[nodiscard]] Held boxes_of(const Cut& cut, const Block& whole) {
    Held out;
    std::map<std::pair<Shape, Shape>, std::size_t> seen;
    const std::size_t width = words_of(cut.tile.kind);
    for (std::size_t d = 0; d < cut.boxes.size(); ++d) {
      const Box& box = cut.boxes[d];
      const bool is_full = box.extent == cut.tile.extents;
      if (is_full) {
        if (box.extent == cut.global.extents) {
          out.push_back(whole);
          continue;
        }
        const auto [same, is_new] = seen.emplace(std::pair(box.at, box.extent), d);
        if (!is_new) {
          out.push_back(out[same->second]);
          continue;
        }
      }
      auto tile = is_full ? new_array(limits_, cut.tile) : junk(cut.tile);
      Strided where = whole_of(cut.global.extents);
      where.offset = offset_of(box.at, where.strides);
      copy_box(whole->words, where, tile->words, whole_of(cut.tile.extents), box.extent, width);
      out.push_back(std::move(tile));
    }
    return out;
  }
  [[nodiscard]] std::shared_ptr<Array> junk(const ArrayType& type) {
    auto out = new_array(limits_, type);
    for (Word& word : out->words) {
      word = type.kind.is_number() ? any_integer(type.kind) : domain_.drawn(reals_);
    }
    return out;
  }
  /// In padding may be what is least, largest, or anything.
  [[nodiscard]] Word any_integer(const ElementKind& kind) {
    const Size form = below(4);
    if (form == 0 || kind.form == ElementKind::Form::truth) return integer(kind);
    const auto random = static_cast<Word>(integers_());
    if (form == 3) return operations::wrapped(random, kind);
    const auto top = static_cast<Word>(std::uint64_t{1} << static_cast<unsigned>(kind.bits - 1));
    const Word least = kind.is_signed ? top : 0;
    return operations::wrapped(form == 1 ? least : ~least, kind);
  }

  const Domain& domain_;
  const Matching& matching_;
  Limits& limits_;
  std::mt19937_64 integers_;
  std::mt19937_64 reals_;
  Size draw_;
  std::vector<Size> extents_;
};

}  // namespace retile::whole
