#include "numbered.h"

#include <fmt/format.h>

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/text/words.h"

namespace retile::forms {

Size Devices::called(Size number, const Place& place, std::size_t k) const {
  if (!numbers_.are_listed() && number < count_) return number;
  const auto found = places_.find(number);
  if (found != places_.end()) return found->second;
  const std::string all =
      numbers_.are_listed() ? numbers_.text() : fmt::format("0 to {}", count_ - 1);
  fail(number_place(place, k), {.code = Code::bad_device,
                                .message = fmt::format("device {} does not exist", number),
                                .notes = {fmt::format("the devices are {}", all)}});
}

void Devices::take_numbers(std::vector<Size>& numbers, const Place& place) const {
  for (std::size_t k = 0; k < numbers.size(); ++k) numbers[k] = called(numbers[k], place, k);
}

namespace {

/// Of numbers that are listed.
class NumberingSink final : public KeySink {
 public:
  NumberingSink(const DeviceNumbers& numbers, KeySink& sink) : numbers_(numbers), sink_(sink) {}

  void number(std::string_view key, Size value) override { sink_.number(key, value); }
  void piece(std::string_view key, PieceSize value) override { sink_.piece(key, value); }
  void groups(std::string_view key, const DeviceTable& table) override {
    sink_.groups(key, numbered(table));
  }
  void list(std::string_view key, const DeviceTable& table) override {
    sink_.list(key, key == "part" ? table : numbered(table));
  }
  /// Pairs are two devices, and transfers begin with two.
  void rows(std::string_view key, std::size_t count,
            const std::function<std::vector<Size>(std::size_t)>& row) override {
    sink_.rows(key, count, [&](std::size_t r) {
      std::vector<Size> out = row(r);
      for (std::size_t k = 0; k < 2; ++k) out[k] = numbers_.of(out[k]);
      return out;
    });
  }
  void ints(std::string_view key, const std::vector<Size>& values) override {
    sink_.ints(key, values);
  }
  void addition(std::string_view key, Addition value) override { sink_.addition(key, value); }

 private:
  /// An iota counts the devices as they are listed.
  [[nodiscard]] DeviceTable numbered(const DeviceTable& table) const {
    if (table.chain() != nullptr) return table;
    std::vector<std::vector<Size>> rows = table.to_rows();
    for (std::vector<Size>& row : rows) {
      for (Size& device : row) device = numbers_.of(device);
    }
    return DeviceTable::rows(std::move(rows));
  }

  const DeviceNumbers& numbers_;
  KeySink& sink_;
};

}  // namespace

void write_keys(const Op& op, const DeviceNumbers& numbers, KeySink& sink) {
  if (!numbers.are_listed()) return retile::write_keys(op, sink);
  NumberingSink numbering(numbers, sink);
  retile::write_keys(op, numbering);
}

}  // namespace retile::forms
