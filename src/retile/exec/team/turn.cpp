#include "retile/exec/team/turn.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "retile/core/index.h"
#include "retile/exec/copy/runs.h"

namespace retile::team {
namespace {

/// Marks of blocks that a cycle has passed. Where there are more blocks than marks, a cycle is
/// followed from its smallest block only, which takes longer and needs no mark.
class Marks {
 public:
  Marks(std::span<std::byte> bits, Size blocks)
      : bits_(bits.data()), enough_(blocks <= static_cast<Size>(bits.size()) * 8) {
    if (enough_) std::memset(bits_, 0, index(blocks / 8 + (blocks % 8 != 0 ? 1 : 0)));
  }
  void set(Size block) {
    if (enough_) bits_[block / 8] |= std::byte{1} << (block % 8);
  }
  /// Whether the cycle through `block` was or will be followed from another of its blocks.
  template <typename Next>
  [[nodiscard]] bool passed(Size block, const Next& next) const {
    if (enough_) return (bits_[block / 8] >> (block % 8) & std::byte{1}) != std::byte{0};
    for (Size at = next(block); at != block; at = next(at)) {
      if (at < block) return true;
    }
    return false;
  }

 private:
  std::byte* bits_;
  bool enough_;
};

}  // namespace

void turn_into(std::byte* target, const std::byte* source, Size rows, Size columns,
               Size run_bytes) {
  // Blocks of columns, so that the lines of the target that a block touches stay in the cache.
  constexpr Size together = 64;
  for (Size begin = 0; begin < columns; begin += together) {
    const Size count = std::min(together, columns - begin);
    for (Size r = 0; r < rows; ++r) {
      copy::copy_runs({target + (begin * rows + r) * run_bytes, rows * run_bytes,
                       source + (r * columns + begin) * run_bytes, run_bytes, run_bytes, count});
    }
  }
}

Size panel_columns(Size rows, Size columns, Size run_bytes, Size panel_bytes) {
  const Size most = std::min(columns, panel_bytes / rows / run_bytes);
  Size best = 1;
  for (Size divisor = 1; divisor * divisor <= columns; ++divisor) {
    if (columns % divisor != 0) continue;
    if (divisor <= most) best = std::max(best, divisor);
    if (columns / divisor <= most) best = std::max(best, columns / divisor);
  }
  return best;
}

namespace {

/// Blocks of `block_bytes`: [rows][columns] becomes [columns][rows], by cycles alone.
void turn_blocks(std::byte* data, Size rows, Size columns, Size block_bytes,
                 const Scratch& scratch) {
  if (rows == 1 || columns == 1) return;
  const Size blocks = rows * columns;
  const auto panel_bytes = static_cast<Size>(scratch.panel.size());
  // Position p afterwards holds what position(p) held.
  const auto position = [rows, columns](Size p) { return p % rows * columns + p / rows; };
  // A block larger than the scratch moves in slices; each follows all cycles once more.
  for (Size begin = 0; begin < block_bytes; begin += panel_bytes) {
    const std::size_t bytes = index(std::min(panel_bytes, block_bytes - begin));
    const auto at = [&](Size p) { return data + p * block_bytes + begin; };
    Marks marks(scratch.marks, blocks);
    for (Size first = 1; first < blocks - 1; ++first) {  // the ends stay where they are
      if (position(first) == first || marks.passed(first, position)) continue;
      std::memcpy(scratch.panel.data(), at(first), bytes);
      Size to = first;
      for (Size from = position(to); from != first; from = position(to)) {
        std::memcpy(at(to), at(from), bytes);
        marks.set(to);
        to = from;
      }
      std::memcpy(at(to), scratch.panel.data(), bytes);
      marks.set(to);
    }
  }
}

/// Turns [rows][columns] through the scratch, which holds it.
void turn_panel(std::byte* data, Size rows, Size columns, Size run, const Scratch& scratch) {
  const Size bytes = rows * columns * run;
  turn_into(scratch.panel.data(), data, rows, columns, run);
  std::memcpy(data, scratch.panel.data(), index(bytes));
}

}  // namespace

void turn(std::byte* data, Size rows, Size columns, Size run_bytes, const Scratch& scratch) {
  if (rows == 1 || columns == 1) return;
  const auto panel_bytes = static_cast<Size>(scratch.panel.size());
  if (rows * columns * run_bytes <= panel_bytes) {
    return turn_panel(data, rows, columns, run_bytes, scratch);
  }
  const bool wide = rows <= columns;
  const Size narrow = wide ? rows : columns;  // blocks in a panel
  const Size length = wide ? columns : rows;
  const Size most = std::max<Size>(1, panel_bytes / narrow / run_bytes);
  Size width = panel_columns(narrow, length, run_bytes, panel_bytes);
  if (width <= most / 4) width = most;  // no divisor near: leave a rest
  const Size panels = length / width;
  const Size rest = length % width;
  const Size even = panels * width;
  const Size panel_run = narrow * width * run_bytes;
  std::byte* const end = data + narrow * even * run_bytes;
  const std::size_t rest_bytes = index(narrow * rest * run_bytes);
  if (wide) {
    if (rest != 0) {
      // The last columns, turned, are the last rows: out of the way with them, the others close up.
      for (Size r = 0; r < rows; ++r) {
        copy::copy_runs({scratch.panel.data() + r * run_bytes, rows * run_bytes,
                         data + (r * columns + even) * run_bytes, run_bytes, run_bytes, rest});
      }
      for (Size r = 1; r < rows; ++r) {
        std::memmove(data + r * even * run_bytes, data + r * columns * run_bytes,
                     index(even * run_bytes));
      }
      std::memcpy(end, scratch.panel.data(), rest_bytes);
    }
    turn_blocks(data, rows, panels, width * run_bytes, scratch);
    for (Size k = 0; k < panels && width > 1; ++k) {
      turn_panel(data + k * panel_run, rows, width, run_bytes, scratch);
    }
    return;
  }
  for (Size k = 0; k < panels && width > 1; ++k) {
    turn_panel(data + k * panel_run, width, columns, run_bytes, scratch);
  }
  turn_blocks(data, panels, columns, width * run_bytes, scratch);
  if (rest == 0) return;
  turn_into(scratch.panel.data(), end, rest, columns, run_bytes);
  for (Size c = columns; c-- > 0;) {
    std::byte* const to = data + c * rows * run_bytes;
    std::memmove(to, data + c * even * run_bytes, index(even * run_bytes));
    std::memcpy(to + even * run_bytes, scratch.panel.data() + c * rest * run_bytes,
                index(rest * run_bytes));
  }
}

}  // namespace retile::team
