// File descriptors that close themselves. For the sources of other rooms; not installed.
#pragma once

#include <string>
#include <utility>

namespace retile {

/// A descriptor that is closed with the object.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { static_cast<void>(close()); }

  /// open(2), again after an interruption; closed in programs that this one starts. Where it fails,
  /// errno says why.
  [[nodiscard]] static Descriptor open(const std::string& path, int flags, unsigned mode = 0);

  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }
  /// Closes it; errno says why that failed, as network file systems report here what they did not
  /// write.
  bool close();

 private:
  int number_ = -1;
};

}  // namespace retile
