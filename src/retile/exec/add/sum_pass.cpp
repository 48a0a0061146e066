#include "retile/exec/add/sum_pass.h"

#include <algorithm>
#include <cstring>

#include "retile/core/assert.h"
#include "retile/core/index.h"
#include "retile/core/walk.h"
#include "retile/exec/copy/runs.h"
#include "retile/exec/copy/stores.h"

namespace retile::add {
namespace {

/// Shorter runs are put together to blocks.
constexpr Size long_run_bytes = 1024;

/// An addend or a target of a box: the device and its strides in elements.
struct Operand {
  Size device = 0;
  Size element = 0;
  Shape strides;
};

/// What is left of a box's dimensions: runs of elements that lie end to end for all operands, and
/// loops around them, the outermost first.
struct Loops {
  Size run = 1;
  std::vector<Size> counts;
  std::vector<std::vector<Size>> strides;  // by loop and operand, in elements
};

Loops loops_of(const Shape& shape, const std::vector<Operand>& operands) {
  Loops out;
  const auto all = [&](const auto& holds) {
    return std::all_of(operands.begin(), operands.end(), holds);
  };
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    const auto is_run = [&](const Operand& it) { return it.strides[i] == out.run; };
    if (out.counts.empty() && all(is_run)) {
      out.run *= shape[i];
      continue;
    }
    std::vector<Size> strides;
    for (const Operand& operand : operands) strides.push_back(operand.strides[i]);
    bool joins = !out.counts.empty();
    for (std::size_t k = 0; joins && k < operands.size(); ++k) {
      joins = strides[k] == out.counts.front() * out.strides.front()[k];
    }
    if (joins) {
      out.counts.front() *= shape[i];
      continue;
    }
    out.counts.insert(out.counts.begin(), shape[i]);
    out.strides.insert(out.strides.begin(), std::move(strides));
  }
  if (out.counts.empty()) {
    out.counts.push_back(1);
    out.strides.emplace_back(operands.size(), 0);
  }
  return out;
}

Size numbers_of(std::size_t loops, std::size_t operands) {
  return static_cast<Size>(loops + operands * (2 + loops));
}

}  // namespace

SumPass::SumPass(const Sums& sums, std::span<const Share> shares, const DeviceShapes& in_tiles,
                 const DeviceShapes& out_tiles, Size element_bytes,
                 const std::optional<Adder>& adder, bool streams)
    : adder_(adder), element_bytes_(element_bytes), streams_(streams && copy::can_stream()) {
  parts_.reserve(shares.size());
  for (const Share& share : shares) add_part(sums, share, in_tiles, out_tiles);
  recipes_.shrink_to_fit();
  numbers_.shrink_to_fit();
  Size levels = 0;
  for (const Recipe& recipe : recipes_) levels = std::max(levels, recipe.levels());
  scratch_.resize(index((2 + levels) * block_bytes));
}

void SumPass::add_part(const Sums& sums, const Share& share, const DeviceShapes& in_tiles,
                       const DeviceShapes& out_tiles) {
  const SumBox& box = sums.boxes[share.box];
  std::vector<Operand> operands;
  for (const Term& term : box.terms) {
    if (!term.is_element()) continue;
    operands.push_back({term.device, term.element, strides_of(in_tiles.of(term.device))});
  }
  for (const Term& target : box.targets) {
    operands.push_back({target.device, target.element, strides_of(out_tiles.of(target.device))});
  }
  const Loops loops = loops_of(box.shape, operands);
  Recipe recipe(box.terms);
  const auto known = std::find(recipes_.begin(), recipes_.end(), recipe);
  parts_.push_back({.begin = share.begin,
                    .end = share.end,
                    .run = loops.run,
                    .recipe = static_cast<std::size_t>(known - recipes_.begin()),
                    .targets = box.targets.size(),
                    .loops = loops.counts.size(),
                    .numbers = numbers_.size()});
  if (known == recipes_.end()) recipes_.push_back(std::move(recipe));
  numbers_.insert(numbers_.end(), loops.counts.begin(), loops.counts.end());
  for (std::size_t k = 0; k < operands.size(); ++k) {
    numbers_.push_back(operands[k].device);
    numbers_.push_back(operands[k].element * element_bytes_);
    for (const auto& strides : loops.strides) numbers_.push_back(strides[k] * element_bytes_);
  }
}

/// What is made at once: `rows` runs, or a part of one, of `bytes` bytes each.
struct SumPass::Now {
  std::span<const std::byte* const> sources;
  std::span<std::byte* const> targets;
  Size row = 0;
  Size offset = 0;  // in the first run, in bytes
  Size rows = 1;
  Size bytes = 0;
};

/// Where run `row` of an addend or a target begins in its tile.
Size SumPass::begin_of(const Part& part, std::size_t operand, Size row) const {
  const Size* const counts = numbers_.data() + part.numbers;
  const Size* const numbers = counts + part.loops + operand * (2 + part.loops);
  Size out = numbers[1];
  for (std::size_t loop = part.loops; loop-- > 0;) {
    out += row % counts[loop] * numbers[2 + loop];
    row /= counts[loop];
  }
  return out;
}

void SumPass::put(std::byte* target, const std::byte* sum, Size bytes) const {
  if (streams_) {
    copy::copy_past_caches(target, sum, bytes);
  } else {
    std::memcpy(target, sum, index(bytes));
  }
}

void SumPass::make(const Part& part, const Now& now) {
  const Recipe& recipe = recipes_[part.recipe];
  const Size* const numbers = numbers_.data() + part.numbers + part.loops;
  const auto operand = [&](std::size_t k) { return numbers + k * (2 + part.loops); };
  const auto stride = [&](std::size_t k) { return operand(k)[1 + part.loops]; };
  const auto addend = [&](std::size_t k, std::size_t which) -> const std::byte* {
    const std::byte* const from =
        now.sources[index(operand(k)[0])] + begin_of(part, k, now.row) + now.offset;
    if (now.rows == 1) return from;
    std::byte* const block = scratch_.data() + which * index(block_bytes);
    copy::copy_runs({block, now.bytes, from, stride(k), now.bytes, now.rows});
    return block;
  };
  const auto level = [&](std::uint32_t at) { return scratch_.data() + (2 + at) * block_bytes; };
  const auto elements = index(now.rows * now.bytes / element_bytes_);
  const std::byte* const sum = recipe.run(adder_, elements, addend, level);
  for (std::size_t k = recipe.addends(); k < recipe.addends() + part.targets; ++k) {
    std::byte* const to =
        now.targets[index(operand(k)[0])] + begin_of(part, k, now.row) + now.offset;
    if (now.rows == 1) {
      put(to, sum, now.bytes);
    } else {
      copy::copy_runs({to, stride(k), sum, now.bytes, now.bytes, now.rows});
    }
  }
}

void SumPass::run(std::span<const std::byte* const> sources, std::span<std::byte* const> targets) {
  const Size block = block_bytes / element_bytes_;
  for (const Part& part : parts_) {
    const bool is_short = part.run * element_bytes_ < long_run_bytes;
    const Size in_loop = numbers_[part.numbers + part.loops - 1];
    for (Size at = part.begin; at < part.end;) {
      Now now{.sources = sources, .targets = targets, .row = at / part.run};
      const Size offset = at % part.run;
      const Size left = part.end - at;
      Size elements = std::min({part.run - offset, left, block});
      now.offset = offset * element_bytes_;
      now.bytes = elements * element_bytes_;
      if (is_short && elements == part.run) {
        now.rows = std::min({in_loop - now.row % in_loop, block / part.run, left / part.run});
        elements = now.rows * part.run;
      }
      make(part, now);
      at += elements;
    }
  }
  if (streams_) copy::stores_fence();
}

Size SumPass::held_bytes() const {
  Size out = static_cast<Size>(sizeof *this + parts_.capacity() * sizeof(Part) +
                               numbers_.capacity() * sizeof(Size) + scratch_.capacity());
  for (const Recipe& recipe : recipes_) out += recipe.held_bytes();
  return out;
}

Size SumPass::bound_bytes(const Sums& sums, std::span<const Share> shares, std::size_t rank) {
  const std::size_t loops = std::max<std::size_t>(rank, 1);
  Size out = static_cast<Size>(sizeof(SumPass) + shares.size() * sizeof(Part));
  Size levels = 0;
  for (const Share& share : shares) {
    const SumBox& box = sums.boxes[share.box];
    const Recipe recipe(box.terms);
    out += numbers_of(loops, recipe.addends() + box.targets.size()) * Size{sizeof(Size)} +
           Recipe::bound_bytes(static_cast<Size>(box.terms.size()));
    levels = std::max(levels, recipe.levels());
  }
  return out + (2 + levels) * block_bytes;
}

}  // namespace retile::add
