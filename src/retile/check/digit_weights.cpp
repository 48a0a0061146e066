// Weighted sums of digits. See digit_weights.h.
#include "retile/check/digit_weights.h"

#include <utility>

namespace retile {

std::optional<DigitWeights> DigitWeights::of(const Layout& map) {
  if (!map.is_compact()) return std::nullopt;
  DigitWeights out;
  out.devices_ = map.devices();
  out.rank_ = map.rank();
  if (map.devices() > 1) out.digits_.push_back({1, map.devices(), Shape(map.rank(), 0)});
  for (std::size_t k = 0; k < map.rank(); ++k) {
    Size weight = map.tile()[k];
    for (const Digit& digit : map.digits()[k]) {
      const Size end = digit.stride * digit.size;
      if (!out.cut(digit.stride) || !out.cut(end)) return std::nullopt;
      for (WeightedDigit& part : out.digits_) {
        if (digit.stride <= part.stride && part.stride < end) {
          part.weight[k] = weight * (part.stride / digit.stride);
        }
      }
      weight *= digit.size;  // at most the global extent
    }
  }
  return out;
}

bool DigitWeights::cut(Size number) {
  for (std::size_t n = 0; n < digits_.size(); ++n) {
    const Size stride = digits_[n].stride;
    const Size end = stride * digits_[n].size;
    if (number <= stride || end <= number) continue;
    if (number % stride != 0 || end % number != 0) return false;
    WeightedDigit major{number, end / number, digits_[n].weight};
    for (Size& weight : major.weight) weight *= number / stride;  // some device's base offset
    digits_[n].size = number / stride;
    digits_.insert(digits_.begin() + static_cast<std::ptrdiff_t>(n) + 1, std::move(major));
    return true;
  }
  return true;
}

std::optional<std::vector<DigitWeights::Place>> DigitWeights::places(const DeviceTable& table,
                                                                     Size row) {
  if (table.chain() == nullptr) return std::nullopt;
  const IotaChain chain = table.chain()->simplified();
  if (chain.stages().size() > 1) return std::nullopt;
  const IotaStage stage =
      chain.stages().empty() ? IotaStage{{chain.size()}, {}} : chain.stages().front();
  const std::size_t rank = stage.shape.size();
  Shape strides(rank, 1);
  for (std::size_t k = rank; k-- > 0;) {
    if (k + 1 < rank) strides[k] = strides[k + 1] * stage.shape[k + 1];
    if (!cut(strides[k])) return std::nullopt;
  }
  std::vector<Place> out;
  Size value = 1;
  for (std::size_t k = rank; k-- > 0;) {
    const std::size_t old = stage.transpose.empty() ? k : stage.transpose[k];
    const Size end = strides[old] * stage.shape[old];
    for (std::size_t n = 0; n < digits_.size(); ++n) {
      if (digits_[n].stride < strides[old] || end <= digits_[n].stride) continue;
      if (value < row && row < value * digits_[n].size) {  // a row ends inside this digit
        if (row % value != 0 || !cut(digits_[n].stride * (row / value))) return std::nullopt;
        return places(table, row);
      }
      out.push_back({n, value});
      value *= digits_[n].size;
    }
  }
  return out;
}

bool DigitWeights::slice(const DeviceTable& groups, std::size_t dim, Size width) {
  const auto all = places(groups, groups.columns());
  if (!all) return false;
  for (const Place& place : *all) {
    if (place.value < groups.columns()) digits_[place.digit].weight[dim] += place.value * width;
  }
  return true;
}

bool DigitWeights::exchange(const DeviceTable& groups, const Regroup& what) {
  const auto all = places(groups, groups.columns());
  if (!all) return false;
  for (const Place& place : *all) {
    for (std::size_t k = 0; place.value < groups.columns() && k < rank_; ++k) {
      const Size expected = k == what.concat ? place.value * what.stride : 0;
      if (digits_[place.digit].weight[k] != expected) return false;
    }
  }
  for (const Place& place : *all) {
    if (place.value >= groups.columns()) continue;
    Shape& weight = digits_[place.digit].weight;
    weight[what.concat] = 0;
    if (what.splits) weight[what.split] += place.value * what.width;
  }
  return true;
}

bool DigitWeights::permute(const DeviceTable& source) {
  // A position is a device number, too: both must be cut at the same places.
  while (true) {
    const auto all = places(source, 1);
    if (!all) return false;
    const std::size_t count = digits_.size();
    for (const Place& place : *all) {
      if (!cut(place.value)) return false;
    }
    for (std::size_t p = 0; digits_.size() == count && p < count; ++p) {
      const auto [stride, size, weight] = digits_[(*all)[p].digit];
      const Size value = (*all)[p].value;
      for (std::size_t n = 0; digits_.size() == count && n < count; ++n) {
        const Size inside = digits_[n].stride;
        if (inside <= value || value * size <= inside) continue;
        if (inside % value != 0 || !cut(stride * (inside / value))) return false;
      }
    }
    if (digits_.size() != count) continue;
    const std::vector<WeightedDigit> old = digits_;
    for (std::size_t n = 0; n < count; ++n) digits_[n].weight = old[(*all)[n].digit].weight;
    return true;
  }
}

std::optional<bool> DigitWeights::equal(DigitWeights other) const {
  DigitWeights one = *this;
  for (const WeightedDigit& digit : digits_) {
    if (!other.cut(digit.stride)) return std::nullopt;
  }
  for (const WeightedDigit& digit : other.digits_) {
    if (!one.cut(digit.stride)) return std::nullopt;
  }
  for (std::size_t n = 0; n < one.digits_.size(); ++n) {
    if (one.digits_[n].weight != other.digits_[n].weight) return false;
  }
  return true;
}

Size DigitWeights::base_offset(Size device, std::size_t dim) const {
  Size out = 0;
  for (const WeightedDigit& digit : digits_) {
    out += device / digit.stride % digit.size * digit.weight[dim];
  }
  return out;
}

std::vector<std::vector<Size>> DigitWeights::columns() const {
  std::vector<std::vector<Size>> out;
  for (std::size_t k = 0; k < rank_; ++k) {
    // The devices below `known` repeat with every larger digit: no division per device.
    auto& column = out.emplace_back(static_cast<std::size_t>(devices_));
    Size known = 1;
    for (const WeightedDigit& digit : digits_) {
      for (Size copy = 1; copy < digit.size; ++copy) {
        for (Size d = 0; d < known; ++d) {
          column[static_cast<std::size_t>(copy * known + d)] =
              column[static_cast<std::size_t>(d)] + copy * digit.weight[k];
        }
      }
      known *= digit.size;
    }
  }
  return out;
}

}  // namespace retile
