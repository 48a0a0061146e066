#include "retile/whole/convolution.h"

#include <algorithm>

#include "retile/core/walk.h"

namespace retile::whole {

Patches::Patches(const ConvolutionDetail& detail, const Shape& input, const Shape& kernel,
                 const Shape& output)
    : detail_(detail),
      input_(strides_of(input)),
      kernel_(strides_of(kernel)),
      output_(strides_of(output)),
      features_(kernel[detail.kernel_input]),
      groups_(std::max(detail.feature_groups, detail.batch_groups)),
      batches_(output[detail.output_batch]),
      outputs_(kernel[detail.kernel_output] / groups_),
      output_feature_(output_[detail.output_feature]) {
  for (std::size_t k = 0; k < detail.window.size(); ++k) {
    const WindowDim& dim = detail.window[k];
    positions_.push_back(output[detail.output_spatial[k]]);
    window_size_ *= dim.size;
    std::vector<Size> offsets;
    for (Size position = 0; position < positions_.back(); ++position) {
      for (Size inside = 0; inside < dim.size; ++inside) {
        const Size index = base_index(dim, position, inside, input[detail.input_spatial[k]]);
        offsets.push_back(index < 0 ? -1 : index * input_[detail.input_spatial[k]]);
      }
    }
    offsets_.push_back(std::move(offsets));
  }
}

Shape Patches::window() const {
  Shape out;
  for (const WindowDim& dim : detail_.window) out.push_back(dim.size);
  return out;
}

std::vector<Word> Patches::weights(const std::vector<Word>& kernel, std::size_t width) const {
  std::vector<Word> out;
  out.reserve(static_cast<std::size_t>(groups_ * outputs_ * depth()) * width);
  for (Size output = 0; output < groups_ * outputs_; ++output) {
    for_box(window(), [&](const Shape& inside) {
      Size offset = output * kernel_[detail_.kernel_output];
      for (std::size_t k = 0; k < inside.size(); ++k) {
        const WindowDim& dim = detail_.window[k];
        const Size index = dim.is_reversed ? dim.size - 1 - inside[k] : inside[k];
        offset += index * kernel_[detail_.kernel_spatial[k]];
      }
      for (Size f = 0; f < features_; ++f) {
        const auto from = static_cast<std::size_t>(offset + f * kernel_[detail_.kernel_input]);
        for (std::size_t w = 0; w < width; ++w) out.push_back(kernel[from * width + w]);
      }
    });
  }
  return out;
}

void Patches::fill(const std::vector<Word>& input, Size group, Size batch, const Shape& position,
                   Word* row, std::size_t width) const {
  const Size step = input_[detail_.input_feature];
  const Size begin =
      (detail_.batch_groups > 1 ? group * batches_ + batch : batch) * input_[detail_.input_batch] +
      (detail_.feature_groups > 1 ? group * features_ : 0) * step;
  for_box(window(), [&](const Shape& inside) {
    Size offset = begin;
    bool is_inside = true;
    for (std::size_t k = 0; k < inside.size(); ++k) {
      const Size more =
          offsets_[k][static_cast<std::size_t>(position[k] * detail_.window[k].size + inside[k])];
      is_inside &= more >= 0;
      offset += more;
    }
    for (Size f = 0; f < features_; ++f) {
      const Word* const from =
          is_inside ? input.data() + (offset + f * step) * static_cast<Size>(width) : nullptr;
      for (std::size_t w = 0; w < width; ++w) *row++ = is_inside ? from[w] : 0;
    }
  });
}

Size Patches::output(Size group, Size batch, const Shape& position) const {
  Size out = batch * output_[detail_.output_batch] + group * outputs_ * output_feature_;
  for (std::size_t k = 0; k < position.size(); ++k) {
    out += position[k] * output_[detail_.output_spatial[k]];
  }
  return out;
}

}  // namespace retile::whole
