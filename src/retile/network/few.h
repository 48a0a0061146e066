// A vector of a few elements that allocates nothing. Not a public header.
#pragma once

#include <array>
#include <cstddef>

#include "retile/core/assert.h"

namespace retile::network {

/// Elements are of a type that needs no destructor. More than `most` are refused by an assertion.
template <typename T, std::size_t most>
class Few {
 public:
  Few() = default;
  Few(std::size_t count, T value) {
    for (std::size_t k = 0; k < count; ++k) push_back(value);
  }
  void push_back(T value) {
    RETILE_ASSERT(size_ < most, "there are more than a few");
    items_[size_++] = value;
  }
  void pop_back() { --size_; }

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T& operator[](std::size_t k) { return items_[k]; }
  [[nodiscard]] const T& operator[](std::size_t k) const { return items_[k]; }
  [[nodiscard]] T& back() { return items_[size_ - 1]; }
  [[nodiscard]] const T& back() const { return items_[size_ - 1]; }
  [[nodiscard]] T* begin() { return items_.data(); }
  [[nodiscard]] T* end() { return items_.data() + size_; }
  [[nodiscard]] const T* begin() const { return items_.data(); }
  [[nodiscard]] const T* end() const { return items_.data() + size_; }
  [[nodiscard]] const T* data() const { return items_.data(); }

 private:
  std::array<T, most> items_;  // those behind the last one are anything
  std::size_t size_ = 0;
};

}  // namespace retile::network
