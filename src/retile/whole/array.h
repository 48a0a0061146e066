// What one device holds of a value, and how parts of it are moved. Room-internal.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "retile/core/deadline.h"
#include "retile/core/layout.h"
#include "retile/core/size.h"
#include "retile/core/walk.h"
#include "retile/foreign/cells.h"
#include "retile/whole/module.h"
#include "retile/whole/scalar.h"
#include "retile/whole/validate.h"

namespace retile::whole {

using foreign::LimitReached;

/// How many bytes all arrays of a run may take, whatever thread makes them.
class Memory {
 public:
  explicit Memory(Size most_bytes) : most_(most_bytes) {}

  /// Throws LimitReached.
  void take(Size bytes);
  void give_back(Size bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  Size most_;
  std::atomic<Size> used_ = 0;
};

/// What all evaluations of a run share: memory and time. One for each thread.
class Limits {
 public:
  Limits(Size most_bytes, const Deadline& deadline)
      : memory_(std::make_shared<Memory>(most_bytes)), deadline_(deadline), watch_(deadline) {}
  /// Of another thread that takes part in a run, which ends as soon as `stops`.
  Limits(const Limits& other, const std::atomic<bool>& stops)
      : memory_(other.memory_),
        deadline_(other.deadline_),
        watch_(other.deadline_),
        stops_(&stops) {}

  /// Counts work, in steps of about a nanosecond. Throws LimitReached.
  void work(Size steps) {
    if (!watch_.in_time(steps)) throw LimitReached{std::string(out_of_time)};
    if (stops_ != nullptr && stops_->load(std::memory_order_relaxed)) {
      throw LimitReached{"another thread has an answer"};
    }
  }
  [[nodiscard]] Memory& memory() const { return *memory_; }

 private:
  std::shared_ptr<Memory> memory_;
  Deadline deadline_;
  Watch watch_;
  const std::atomic<bool>* stops_ = nullptr;
};

/// The words of an array, row by row. Devices that hold the same share them.
class Array {
 public:
  /// Zeros. Throws LimitReached.
  Array(Limits& limits, Size count) : memory_(limits.memory()), bytes_(bytes_of(count)) {
    memory_.take(bytes_);
    words.resize(static_cast<std::size_t>(count));
  }
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;
  ~Array() { memory_.give_back(bytes_); }

  std::vector<Word> words;

 private:
  static Size bytes_of(Size count) {
    const auto bytes = checked_mul(count, Size{sizeof(Word)});
    if (!bytes) throw LimitReached{"an array of more than 2^63 bytes"};
    return *bytes;
  }

  Memory& memory_;
  Size bytes_;
};

using Block = std::shared_ptr<const Array>;
/// A value, of every device.
using Held = std::vector<Block>;

/// `f32[4,8]`
[[nodiscard]] std::string text_of(const ArrayType& type);
/// How many elements. Throws LimitReached where nobody can count them.
[[nodiscard]] inline Size count_of(const ArrayType& type) {
  const auto out = checked_product(type.extents);
  if (!out) throw LimitReached{"an array of more than 2^63 elements"};
  return *out;
}
[[nodiscard]] inline std::shared_ptr<Array> new_array(Limits& limits, const ArrayType& type) {
  const auto words = checked_mul(count_of(type), static_cast<Size>(words_of(type.kind)));
  if (!words) throw LimitReached{"an array of more than 2^63 words"};
  return std::make_shared<Array>(limits, *words);
}

[[nodiscard]] inline bool has_dim(const std::vector<std::size_t>& dims, std::size_t dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

/// A box of elements in an array: where it begins, and how far neighbours are apart; 0 for an
/// element that is repeated, and below 0 backwards.
struct Strided {
  Size offset = 0;
  Shape strides;
};
/// All of an array of these extents.
[[nodiscard]] inline Strided whole_of(const Shape& extents) {
  return {.offset = 0, .strides = strides_of(extents)};
}

/// Copies a box, element by element of `width` words.
void copy_box(const std::vector<Word>& from, const Strided& where, std::vector<Word>& to,
              const Strided& there, const Shape& extents, std::size_t width);

/// Whether an array begins with the elements of a box of another one.
/// \param width  words of an element
[[nodiscard]] bool begins_with_box(const Array& tile, const Shape& tile_extents, const Array& whole,
                                   const Shape& extents, const Box& box, std::size_t width);

/// Where the elements of a box lie, row by row.
[[nodiscard]] std::vector<Size> offsets_of(const Shape& extents, const Shape& strides);

/// The boxes of an operand that the indices of a gather or a scatter name.
class IndexedBoxes {
 public:
  /// \param update  extents of what a gather makes, or of what a scatter adds
  IndexedBoxes(const GatherDetail& detail, const Shape& operand, const Shape& indices,
               const Shape& update);

  /// Extents of the box of one index, along the dimensions of the window, and strides of these
  /// in the operand and in the update.
  [[nodiscard]] const Shape& window_extents() const { return window_extents_; }
  [[nodiscard]] const Shape& window_strides() const { return window_strides_; }
  [[nodiscard]] const Shape& update_strides() const { return update_strides_; }
  /// Dimension of the operand along each dimension of the window.
  [[nodiscard]] const std::vector<std::size_t>& window_dims() const { return window_dims_; }

  /// Calls `look` with each index, along all dimensions but that of the vector, and where in the
  /// update its box begins.
  template <typename Look>
  void for_each(const Look& look) const {
    for_box(batch_extents_, [&](const Shape& at) { look(at, offset_of(at, batch_strides_)); });
  }
  /// Where in the operand the box of an index begins; it may lie outside.
  [[nodiscard]] Shape start(const std::vector<Word>& indices, const ElementKind& kind,
                            const std::vector<Size>& at) const;

 private:
  const GatherDetail& detail_;
  std::size_t operand_rank_;
  Shape index_strides_;  // of the batch dimensions in the indices
  Size vector_stride_ = 1;
  Shape batch_extents_;
  Shape batch_strides_;  // in the update
  Shape window_extents_;
  Shape window_strides_;
  Shape update_strides_;
  std::vector<std::size_t> window_dims_;
};

/// Of a moving operation on one device: what it makes. Throws NotEvaluated and LimitReached.
/// \param types     of the operands
/// \param operands  of which scalar starts are integers
/// Precondition: checked types.
[[nodiscard]] Block moved(const Instruction& instruction,
                          const std::vector<const ArrayType*>& types,
                          const std::vector<Block>& operands, const ArrayType& to, Limits& limits);
/// Whether `moved` makes it.
[[nodiscard]] bool is_moving(Id id);

}  // namespace retile::whole
