#include "retile/whole/array.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "retile/core/walk.h"

namespace retile::whole {
namespace {

struct CopyLevel {
  Size extent = 1;
  Size from = 0;
  Size to = 0;
};

void copy_levels(const Word* from, Word* to, const CopyLevel* level, std::size_t levels,
                 std::size_t width) {
  const Size step_from = level->from * static_cast<Size>(width);
  const Size step_to = level->to * static_cast<Size>(width);
  if (levels > 1) {
    for (Size k = 0; k < level->extent; ++k) {
      copy_levels(from + k * step_from, to + k * step_to, level + 1, levels - 1, width);
    }
    return;
  }
  if (level->from == 1 && level->to == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(level->extent) * width * sizeof(Word));
    return;
  }
  for (Size k = 0; k < level->extent; ++k) {
    for (std::size_t i = 0; i < width; ++i) {
      to[k * step_to + static_cast<Size>(i)] = from[k * step_from + static_cast<Size>(i)];
    }
  }
}

/// A scalar integer of an operand, as one that counts elements.
Size start_of(const Block& block) { return block->words.front(); }

/// A start that keeps the box inside.
Size clamped_start(const Block& block, const ElementKind& kind, Size size, Size extent) {
  const Size start = start_of(block);
  const bool is_large = !kind.is_signed && kind.bits == 64 && start < 0;
  return is_large ? extent - size : std::clamp(start, Size{0}, extent - size);
}

Shape starts_of(const std::vector<const ArrayType*>& types, const std::vector<Block>& operands,
                std::size_t first, const Shape& sizes, const Shape& extents) {
  Shape out;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    out.push_back(clamped_start(operands[first + k], types[first + k]->kind, sizes[k], extents[k]));
  }
  return out;
}

Strided at(const Shape& start, const Shape& extents) {
  Strided out = whole_of(extents);
  for (std::size_t k = 0; k < start.size(); ++k) out.offset += start[k] * out.strides[k];
  return out;
}

class Mover {
 public:
  Mover(const Instruction& instruction, const std::vector<const ArrayType*>& types,
        const std::vector<Block>& operands, const ArrayType& to, Limits& limits)
      : instruction_(instruction), types_(types), operands_(operands), to_(to), limits_(limits) {}

  Block made() {
    if (instruction_.id == Id::reshape || instruction_.id == Id::bitcast) return operands_[0];
    out_ = new_array(limits_, to_);
    limits_.work(static_cast<Size>(out_->words.size()));
    make();
    return out_;
  }

 private:
  [[nodiscard]] const Shape& from() const { return types_[0]->extents; }
  [[nodiscard]] const std::vector<std::size_t>& dims() const {
    return std::get<Dims>(instruction_.detail).dims;
  }
  /// Fills the result with the box of operand 0 that is laid out so.
  void take(const Strided& where) { put(0, where, whole_of(to_.extents), to_.extents); }
  void put(std::size_t operand, const Strided& where, const Strided& there, const Shape& extents) {
    copy_box(operands_[operand]->words, where, out_->words, there, extents, words_of(to_.kind));
  }

  void make() {
    switch (instruction_.id) {
      case Id::broadcast:
        return broadcast();
      case Id::transpose:
        return transpose();
      case Id::reverse:
        return reverse();
      case Id::slice:
        return slice();
      case Id::pad:
        return pad();
      case Id::concatenate:
        return concatenate();
      case Id::dynamic_slice:
        return take(at(starts_of(types_, operands_, 1, to_.extents, from()), from()));
      case Id::dynamic_update_slice: {
        out_->words = operands_[0]->words;
        const Shape& sizes = types_[1]->extents;
        put(1, whole_of(sizes), at(starts_of(types_, operands_, 2, sizes, from()), from()), sizes);
        return;
      }
      case Id::gather:
        return gather();
      default:
        RETILE_ASSERT(false, "an operation that moves");
    }
  }
  void broadcast() {
    const Shape strides = strides_of(from());
    Strided where{.offset = 0, .strides = Shape(to_.extents.size(), 0)};
    for (std::size_t k = 0; k < dims().size(); ++k) {
      if (from()[k] > 1) where.strides[dims()[k]] = strides[k];
    }
    take(where);
  }
  void transpose() {
    const Shape strides = strides_of(from());
    Strided where;
    for (const std::size_t dim : dims()) where.strides.push_back(strides[dim]);
    take(where);
  }
  void reverse() {
    Strided where = whole_of(from());
    for (const std::size_t dim : dims()) {
      where.offset += (from()[dim] - 1) * where.strides[dim];
      where.strides[dim] = -where.strides[dim];
    }
    take(where);
  }
  void slice() {
    const auto& detail = std::get<SliceDetail>(instruction_.detail);
    Strided where = at(detail.start, from());
    for (std::size_t k = 0; k < where.strides.size(); ++k) where.strides[k] *= detail.stride[k];
    take(where);
  }
  void pad() {
    const auto& detail = std::get<PadDetail>(instruction_.detail);
    const std::size_t width = words_of(to_.kind);
    for (std::size_t k = 0; k < out_->words.size(); ++k) {
      out_->words[k] = operands_[1]->words[k % width];
    }
    Strided where = whole_of(from());
    Strided there = whole_of(to_.extents);
    Shape extents;
    for (std::size_t k = 0; k < from().size(); ++k) {
      // Element i goes to low + i * step, which must lie inside.
      const Size step = detail.interior[k] + 1;
      const Size low = detail.low[k];
      const Size first = low >= 0 ? 0 : (-low + step - 1) / step;
      const Size behind = to_.extents[k] - low;  // i * step is below it
      const Size last = behind <= 0 ? 0 : std::min(from()[k], (behind + step - 1) / step);
      extents.push_back(std::max(Size{0}, last - first));
      where.offset += first * where.strides[k];
      there.offset += (low + first * step) * there.strides[k];
      there.strides[k] *= step;
    }
    put(0, where, there, extents);
  }
  void concatenate() {
    const std::size_t dim = dims()[0];
    Strided there = whole_of(to_.extents);
    for (std::size_t k = 0; k < operands_.size(); ++k) {
      const Shape& extents = types_[k]->extents;
      put(k, whole_of(extents), there, extents);
      there.offset += extents[dim] * there.strides[dim];
    }
  }

  void gather() {
    const auto& detail = std::get<GatherDetail>(instruction_.detail);
    const IndexedBoxes boxes(detail, from(), types_[1]->extents, to_.extents);
    const std::vector<Size> inside = offsets_of(boxes.window_extents(), boxes.window_strides());
    const std::vector<Size> written = offsets_of(boxes.window_extents(), boxes.update_strides());
    const std::size_t width = words_of(to_.kind);
    boxes.for_each([&](const std::vector<Size>& indices, Size update) {
      Size start = 0;
      const Shape at = boxes.start(operands_[1]->words, types_[1]->kind, indices);
      const Shape strides = strides_of(from());
      for (std::size_t k = 0; k < at.size(); ++k) {
        start += std::clamp(at[k], Size{0}, from()[k] - detail.sizes[k]) * strides[k];
      }
      for (std::size_t i = 0; i < inside.size(); ++i) {
        for (std::size_t w = 0; w < width; ++w) {
          out_->words[static_cast<std::size_t>(update + written[i]) * width + w] =
              operands_[0]->words[static_cast<std::size_t>(start + inside[i]) * width + w];
        }
      }
    });
  }

  const Instruction& instruction_;
  const std::vector<const ArrayType*>& types_;
  const std::vector<Block>& operands_;
  const ArrayType& to_;
  Limits& limits_;
  std::shared_ptr<Array> out_;
};

/// Numbers may take half of --memory, so four times as much of it holds twice as many.
std::string memory_is_full(Size most) {
  constexpr Size mebi = Size{1} << 20U;
  constexpr Size gibi = Size{1} << 30U;
  const Size more = most > std::numeric_limits<Size>::max() / 4 ? most : 4 * most;
  return fmt::format(
      "the devices hold more than {} MiB of numbers; --memory {} allows twice as many", most / mebi,
      more % gibi == 0 ? fmt::format("{}GiB", more / gibi)
                       : fmt::format("{}MiB", (more - 1) / mebi + 1));
}

}  // namespace

std::string text_of(const ArrayType& type) {
  return fmt::format("{}[{}]", operations::hlo_name(type.kind), fmt::join(type.extents, ","));
}

void copy_box(const std::vector<Word>& from, const Strided& where, std::vector<Word>& to,
              const Strided& there, const Shape& extents, std::size_t width) {
  std::vector<CopyLevel> levels;
  for (std::size_t k = 0; k < extents.size(); ++k) {
    if (extents[k] == 0) return;
    if (extents[k] == 1) continue;
    const CopyLevel level{extents[k], where.strides[k], there.strides[k]};
    // Rows that lie behind one another in both are one row.
    if (!levels.empty() && levels.back().from == level.from * level.extent &&
        levels.back().to == level.to * level.extent) {
      levels.back() = {levels.back().extent * level.extent, level.from, level.to};
    } else {
      levels.push_back(level);
    }
  }
  if (levels.empty()) levels.push_back({1, 1, 1});
  copy_levels(from.data() + where.offset * static_cast<Size>(width),
              to.data() + there.offset * static_cast<Size>(width), levels.data(), levels.size(),
              width);
}

bool begins_with_box(const Array& tile, const Shape& tile_extents, const Array& whole,
                     const Shape& extents, const Box& box, std::size_t width) {
  if (box.is_empty()) return true;
  const Shape wide = strides_of(extents);
  const Shape narrow = strides_of(tile_extents);
  const auto each = static_cast<Size>(width);
  Shape rows = box.extent;
  const Size words = (rows.empty() ? 1 : rows.back()) * each;
  if (!rows.empty()) rows.back() = 1;
  const Size begin = offset_of(box.at, wide);
  return for_box(rows, [&](const Shape& at) {
    const Word* const first = whole.words.data() + (begin + offset_of(at, wide)) * each;
    return std::equal(first, first + words, tile.words.data() + offset_of(at, narrow) * each);
  });
}

std::vector<Size> offsets_of(const Shape& extents, const Shape& strides) {
  std::vector<Size> out = {0};
  for (std::size_t k = 0; k < extents.size(); ++k) {
    std::vector<Size> longer;
    longer.reserve(out.size() * static_cast<std::size_t>(extents[k]));
    for (const Size offset : out) {
      for (Size i = 0; i < extents[k]; ++i) longer.push_back(offset + i * strides[k]);
    }
    out = std::move(longer);
  }
  return out;
}

IndexedBoxes::IndexedBoxes(const GatherDetail& detail, const Shape& operand, const Shape& indices,
                           const Shape& update)
    : detail_(detail), operand_rank_(operand.size()) {
  const Shape in_operand = strides_of(operand);
  const Shape in_update = strides_of(update);
  const Shape in_indices = strides_of(indices);
  for (std::size_t k = 0; k < operand.size(); ++k) {
    if (has_dim(detail.collapsed, k) || has_dim(detail.operand_batch, k)) continue;
    window_dims_.push_back(k);
    window_strides_.push_back(in_operand[k]);
  }
  for (const std::size_t dim : detail.window_dims) {
    window_extents_.push_back(update[dim]);
    update_strides_.push_back(in_update[dim]);
  }
  for (std::size_t k = 0; k < update.size(); ++k) {
    if (has_dim(detail.window_dims, k)) continue;
    batch_extents_.push_back(update[k]);
    batch_strides_.push_back(in_update[k]);
  }
  for (std::size_t k = 0; k < indices.size(); ++k) {
    if (k == detail.index_vector) {
      vector_stride_ = in_indices[k];
    } else {
      index_strides_.push_back(in_indices[k]);
    }
  }
}

void Memory::take(Size bytes) {
  Size used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > most_ - used) {
      throw LimitReached{memory_is_full(most_)};
    }
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
}

Shape IndexedBoxes::start(const std::vector<Word>& indices, const ElementKind& kind,
                          const std::vector<Size>& at) const {
  Size offset = 0;
  for (std::size_t k = 0; k < at.size(); ++k) offset += at[k] * index_strides_[k];
  Shape out(operand_rank_, 0);
  const bool is_large_unsigned = !kind.is_signed && kind.bits == 64;
  for (std::size_t k = 0; k < detail_.index_map.size(); ++k) {
    const Word index =
        indices[static_cast<std::size_t>(offset + static_cast<Size>(k) * vector_stride_)];
    const bool is_large = is_large_unsigned && index < 0;
    out[detail_.index_map[k]] = is_large ? std::numeric_limits<Size>::max() : index;
  }
  for (std::size_t k = 0; k < detail_.operand_batch.size(); ++k) {
    // The index along a batch dimension of the indices, counted without that of the vector.
    const std::size_t dim = detail_.indices_batch[k];
    out[detail_.operand_batch[k]] = at[dim - (dim > detail_.index_vector ? 1 : 0)];
  }
  return out;
}

bool is_moving(Id id) {
  switch (id) {
    case Id::reshape:
    case Id::bitcast:
    case Id::broadcast:
    case Id::transpose:
    case Id::reverse:
    case Id::slice:
    case Id::pad:
    case Id::concatenate:
    case Id::dynamic_slice:
    case Id::dynamic_update_slice:
    case Id::gather:
      return true;
    default:
      return false;
  }
}

Block moved(const Instruction& instruction, const std::vector<const ArrayType*>& types,
            const std::vector<Block>& operands, const ArrayType& to, Limits& limits) {
  return Mover(instruction, types, operands, to, limits).made();
}

bool is_elementwise(Id id) {
  switch (id) {
    case Id::select:
    case Id::convert:
    case Id::compare:
    case Id::clamp:
    case Id::bitcast_convert:
    case Id::reduce_precision:
    case Id::is_finite:
    case Id::real:
    case Id::imag:
    case Id::complex:
    case Id::power:
    case Id::atan2:
      return true;
    default:
      return (id >= Id::add && id <= Id::shift_right_logical) ||
             (id >= Id::exponential && id <= Id::sinh);
  }
}

}  // namespace retile::whole
