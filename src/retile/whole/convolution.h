// What a convolution multiplies: rows of its input beside rows of its kernel. Room-internal.
#pragma once

#include <cstddef>
#include <vector>

#include "retile/core/size.h"
#include "retile/whole/module.h"

namespace retile::whole {

/// Where a window's element lies in its base along one dimension, or -1 where it lies in padding or in a
/// gap.
[[nodiscard]] inline Size base_index(const WindowDim& dim, Size out, Size inside, Size extent) {
  const Size dilated = out * dim.stride + inside * dim.window_dilation - dim.low;
  if (dilated < 0 || dilated % dim.base_dilation != 0) return -1;
  const Size index = dilated / dim.base_dilation;
  return index < extent ? index : -1;
}

/// A convolution as products of rows: of every place of the window in the input one, a patch, and of
/// every output feature one.
class Patches {
 public:
  Patches(const ConvolutionDetail& detail, const Shape& input, const Shape& kernel,
          const Shape& output);

  /// Numbers in a row: all features of a window's first element, of its second one, ..
  [[nodiscard]] Size depth() const { return features_ * window_size_; }
  /// Of the output, along its spatial dimensions.
  [[nodiscard]] const Shape& positions() const { return positions_; }
  /// Groups of features, or of the batch, that have nothing to do with one another.
  [[nodiscard]] Size groups() const { return groups_; }
  [[nodiscard]] Size batches() const { return batches_; }
  /// Output features of a group, and how far they are apart in the output.
  [[nodiscard]] Size outputs() const { return outputs_; }
  [[nodiscard]] Size output_step() const { return output_feature_; }

  /// The kernel's row of every output feature, of all groups.
  [[nodiscard]] std::vector<Word> weights(const std::vector<Word>& kernel, std::size_t width) const;
  /// Fills a row with the patch of a position.
  /// \param width  words of a number
  void fill(const std::vector<Word>& input, Size group, Size batch, const Shape& position,
            Word* row, std::size_t width) const;
  /// Where the first output feature of a group lies.
  [[nodiscard]] Size output(Size group, Size batch, const Shape& position) const;

 private:
  [[nodiscard]] Shape window() const;

  const ConvolutionDetail& detail_;
  Shape input_;  // strides
  Shape kernel_;
  Shape output_;
  Shape positions_;
  Size window_size_ = 1;
  Size features_ = 0;
  Size groups_ = 1;
  Size batches_ = 0;
  Size outputs_ = 0;
  Size output_feature_ = 0;
  /// Of each spatial dimension, by position and by place in the window: how far into the input it is, or
  /// -1 where nothing is.
  std::vector<std::vector<Size>> offsets_;
};

}  // namespace retile::whole
