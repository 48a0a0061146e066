#include "retile/program/program_hash.h"

#include <functional>
#include <string_view>
#include <vector>

#include "retile/core/hash.h"
#include "retile/core/tile_stretches.h"

namespace retile {
namespace {

/// Takes in what an op holds. Every key stands before its value, and every list after its length, so
/// that no two ops feed it the same.
class Hasher final : public KeySink {
 public:
  void add(Size value) { hash_ = hash_number(hash_, static_cast<std::uint64_t>(value)); }
  void add(const std::vector<Size>& values) {
    add(static_cast<Size>(values.size()));
    for (const Size value : values) add(value);
  }
  void add(std::string_view text) {
    hash_ = hash_bytes(hash_, std::as_bytes(std::span(text)));
    add(static_cast<Size>(text.size()));
  }
  void add(const Layout& layout) {
    add(layout.devices());
    add(layout.global());
    add(layout.tile());
    const TileStretches tiles(layout);
    for (Size d = 0; d < layout.devices(); ++d) {
      for (std::size_t i = 0; i < layout.rank(); ++i) {
        add(static_cast<Size>(tiles.count(d, i)));
        tiles.each(d, i, [this](const auto& one, Size) {
          add(one.begin);
          add(one.end);
        });
      }
    }
    if (!layout.addends()) return;
    add(name_of(layout.addends()->addition));
    add(layout.addends()->numbers.all_numbers());
  }

  void number(std::string_view key, Size value) override {
    add(key);
    add(value);
  }
  void groups(std::string_view key, const DeviceTable& table) override {
    add(key);
    add(table.ragged() ? 0 : table.columns());
    entries(table);
  }
  void list(std::string_view key, const DeviceTable& table) override {
    add(key);
    entries(table);
  }
  void rows(std::string_view key, std::size_t count,
            const std::function<std::vector<Size>(std::size_t)>& row) override {
    add(key);
    add(static_cast<Size>(count));
    for (std::size_t k = 0; k < count; ++k) add(row(k));
  }
  void ints(std::string_view key, const std::vector<Size>& values) override {
    add(key);
    add(values);
  }
  void piece(std::string_view key, PieceSize value) override {
    add(key);
    add(value.is_balanced() ? Size{0} : value.extent());
  }
  void addition(std::string_view key, Addition value) override {
    add(key);
    add(name_of(value));
  }

  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  void entries(const DeviceTable& table) {
    add(table.size());
    for (Size p = 0; p < table.size(); ++p) add(table.at(p));
  }

  std::uint64_t hash_ = hash_start;
};

}  // namespace

std::uint64_t hash_of(const Program& program) {
  Hasher hasher;
  hasher.add(program.devices);
  hasher.add(program.numbers.list());
  hasher.add(program.from);
  hasher.add(program.to);
  if (program.array) {
    hasher.add(program.array->from);
    hasher.add(program.array->to);
  }
  for (const Step& step : program.steps) {
    hasher.add(info(step.op).name);
    write_keys(step.op, hasher);
    // Only an exchange says the shape of its tiles nowhere else.
    if (is_exchange(step) && step.claims.tile) hasher.add(*step.claims.tile);
    if (is_exchange(step) && step.claims.shapes) hasher.add(*step.claims.shapes);
  }
  return hasher.hash();
}

}  // namespace retile
