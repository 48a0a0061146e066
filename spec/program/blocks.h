/// Blocks and tags: the global array of a Program in units that every step moves whole.
///
/// Along each dimension a block has as many elements as the gcd of all tile extents that occur, of
/// the pieces that are cut, of boxes that are moved, and of the base offsets that are listed. So no
/// tile, piece or box begins or ends inside a block, and what is said about blocks is said about
/// elements.
#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <stdexcept>

#include "program.h"

namespace spec {

constexpr TooLarge size_too_large = {"a size is not below 2^63"};

class Blocks {
 public:
  explicit Blocks(const Program& program) : global_(program.from.global) {
    Sizes largest = program.from.tile, c = largest;
    g_ = c;
    divide(program.to.tile);
    divide_rows(program.from.at);
    divide_rows(program.to.at);
    for (const Step& step : program.steps) {
      const auto cut = piece(step, c);
      const auto whole = cut ? joined(step, *cut) : std::nullopt;
      if (!whole || pieces(step) == 0) break;  // the replay ends here, and says why
      c = *whole;
      divide(*cut);
      divide(c);
      divide_rows(step.at);
      for (const Sizes& row : step.transfers.value_or(Rows())) {
        for (Index n = 0; n + 2 < row.size(); ++n) {
          g_[n % c.size()] = std::gcd(g_[n % c.size()], row[n + 2]);
        }
      }
      for (Index i = 0; i < c.size(); ++i) largest[i] = std::max(largest[i], c[i]);
    }
    stride_.assign(g_.size(), 1);
    Size room = 1;
    for (Index i = g_.size(); i-- > 0;) {
      stride_[i] = room;
      const Size extra = largest[i] / g_[i] - 1;
      const bool fits = last(i) < std::numeric_limits<Size>::max() - extra;
      const auto more = fits ? times(room, last(i) + 1 + extra) : std::nullopt;
      if (!more) throw size_too_large;
      room = *more;
    }
  }

  /// The last block of the global array along dimension i.
  Size last(Index i) const { return (global_[i] - 1) / g_[i]; }

  Sizes of(Sizes elements) const {
    for (Index i = 0; i < g_.size(); ++i) {
      if (elements[i] % g_[i] != 0) throw std::logic_error("a tile cuts a block");  // never
      elements[i] /= g_[i];
    }
    return elements;
  }
  Sizes elements(Sizes blocks) const {
    for (Index i = 0; i < g_.size(); ++i) blocks[i] *= g_[i];
    return blocks;
  }

  /// The tag of a block is its row-major number in the global array, where each row has room for a
  /// largest tile at its end: base + local index stays in the row.
  Size tag(const Sizes& block) const {
    return std::inner_product(block.begin(), block.end(), stride_.begin(), Size{0});
  }
  Sizes block(Size tag) const {
    Sizes out;
    for (const Size stride : stride_) {
      out.push_back(tag / stride);
      tag %= stride;
    }
    return out;
  }

 private:
  void divide(const Sizes& extents) {
    for (Index i = 0; i < g_.size(); ++i) g_[i] = std::gcd(g_[i], extents[i]);
  }
  void divide_rows(const std::optional<Rows>& at) {
    if (!at) return;
    for (const Sizes& b : *at) divide(b);
  }

  Sizes global_, g_, stride_;
};

}  // namespace spec
