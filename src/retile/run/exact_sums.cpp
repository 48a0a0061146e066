#include "retile/run/exact_sums.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/tile_stretches.h"
#include "retile/exec/add/adder.h"
#include "retile/exec/add/half.h"
#include "retile/exec/npy/splitmix.h"
#include "retile/exec/npy/tile_runs.h"

namespace retile::run {
namespace {

bool is_integer(const ElementType& type) {
  return type.kind == ElementKind::signed_integer || type.kind == ElementKind::unsigned_integer;
}

/// All integers up to this are exact in a floating type, and in each part of a complex one.
Size exact_integers(const ElementType& type) {
  if (type.kind == ElementKind::brain_floating) return Size{1} << 8;
  const Size bytes = type.kind == ElementKind::complex ? type.bytes / 2 : type.bytes;
  return bytes == 2 ? Size{1} << 11 : bytes == 4 ? Size{1} << 24 : Size{1} << 53;
}

template <typename Number>
void put(Element& element, Number number, std::size_t place = 0) {
  std::memcpy(element.data() + place * sizeof number, &number, sizeof number);
}

/// Low digits of a word.
void put_word(Element& element, std::uint64_t word, Size bytes) {
  switch (bytes) {
    case 1:
      return put(element, static_cast<std::uint8_t>(word));
    case 2:
      return put(element, static_cast<std::uint16_t>(word));
    case 4:
      return put(element, static_cast<std::uint32_t>(word));
    default:
      return put(element, word);
  }
}

/// Calls visit(local, global) for every element of a device's tile, by linear indices, until it says false.
template <typename Visit>
void each_element(const Layout& layout, Size device, const Visit& visit) {
  TileRuns runs(layout, device);
  while (!runs.done()) {
    const Run run = runs.next(runs.run_elements());
    for (Size i = 0; i < run.elements; ++i) {
      if (!visit(run.local + i, run.global + i)) return;
    }
  }
}

/// Devices that hold addends of one tile.
struct Holders {
  std::vector<std::vector<Size>> of_addend;  // ascending; devices of one addend hold the same
};

/// All tiles that are not empty, in the order of their first devices.
std::vector<Holders> holders_of(const Layout& layout) {
  std::vector<Holders> out;
  std::map<std::pair<Shape, Shape>, std::size_t> known;
  const TileStretches tiles(layout);
  for (Size device = 0; device < layout.devices(); ++device) {
    if (tiles.is_empty(device)) continue;
    const std::pair tile(tiles.first(device), layout.tile(device));
    const auto place = known.try_emplace(tile, out.size()).first->second;
    if (place == out.size()) {
      out.push_back(
          {std::vector<std::vector<Size>>(static_cast<std::size_t>(layout.addend_count()))});
    }
    out[place].of_addend[static_cast<std::size_t>(layout.addend(device))].push_back(device);
  }
  return out;
}

/// Of a tile of addends, as much is compared at once: a buffer has room for two of these.
constexpr std::size_t part_bytes = piece_bytes / 2;

/// Compares tiles of addends. All processes go through all tiles, pieces and devices in one order, so
/// that whoever sends finds the receiver there: the first in that order that is not through is the
/// next one of both.
class AddendTiles {
 public:
  using Total = std::function<Element(Size global)>;

  AddendTiles(Executor& executor, const Layout& to, const add::Adder& adder, Total total,
              Buffer& buffer)
      : executor_(executor),
        to_(to),
        adder_(adder),
        total_(std::move(total)),
        width_(static_cast<std::size_t>(adder.element_bytes())),
        first_(executor.devices().first),
        end_(first_ + executor.devices().count),
        received_(buffer.piece(piece_bytes).first(part_bytes)),
        sum_(buffer.piece(piece_bytes).last(part_bytes)) {}

  [[nodiscard]] std::optional<Mismatch> find() {
    for (const Holders& holders : holders_of(to_)) {
      const Size some = holders.of_addend.front().front();
      const auto bytes = static_cast<std::size_t>(to_.tile_size(some)) * width_;
      for (std::size_t begin = 0; begin < bytes; begin += part_bytes) {
        compare(holders, begin, std::min(part_bytes, bytes - begin));
      }
    }
    return mismatch_;
  }

 private:
  [[nodiscard]] bool is_here(Size device) const { return device >= first_ && device < end_; }

  /// A piece of the tile of one device, for another; empty where that is not here.
  std::span<const std::byte> brought(Size source, Size target, std::size_t begin,
                                     std::size_t bytes) {
    const auto there = [&] { return executor_.output(source).subspan(begin, bytes); };
    if (is_here(source) && is_here(target)) return there();
    // Processes that are several have one device each, of the same number.
    if (is_here(source)) executor_.processes().send(there(), static_cast<int>(target));
    if (!is_here(target)) return {};
    const auto room = received_.first(bytes);
    executor_.processes().receive(room, static_cast<int>(source));
    return room;
  }

  void compare(const Holders& holders, std::size_t begin, std::size_t bytes) {
    const Size owner = holders.of_addend.front().front();
    for (const std::vector<Size>& alike : holders.of_addend) {
      for (const Size device : alike) {
        if (device == alike.front()) continue;
        const auto wanted = brought(alike.front(), device, begin, bytes);
        if (!wanted.empty()) note(device, wanted, begin);
      }
      const auto more = brought(alike.front(), owner, begin, bytes);
      if (more.empty()) continue;
      if (alike.front() == owner) {
        std::copy(more.begin(), more.end(), sum_.begin());
      } else {
        adder_.add(sum_.data(), more.data(), bytes / width_);
      }
    }
    if (is_here(owner)) compare_sum(owner, begin, bytes);
  }

  /// Compares a piece of a tile here with what another device has.
  void note(Size device, std::span<const std::byte> wanted, std::size_t begin) {
    const auto own = executor_.output(device).subspan(begin, wanted.size());
    const auto place = std::mismatch(own.begin(), own.end(), wanted.begin()).first;
    if (place == own.end()) return;
    note(device, (begin + static_cast<std::size_t>(place - own.begin())) / width_);
  }

  void note(Size device, std::size_t element) {
    const Mismatch found{.device = device, .local_index = static_cast<Size>(element)};
    if (!mismatch_ || found.device < mismatch_->device) mismatch_ = found;
  }

  void compare_sum(Size owner, std::size_t begin, std::size_t bytes) {
    const std::size_t first = begin / width_;
    const std::size_t end = first + bytes / width_;
    each_element(to_, owner, [&](Size local, Size global) {
      const auto place = static_cast<std::size_t>(local);
      if (place >= end) return false;
      if (place < first) return true;
      if (std::memcmp(sum_.data() + (place - first) * width_, total_(global).data(), width_) == 0) {
        return true;
      }
      note(owner, place);
      return false;
    });
  }

  Executor& executor_;
  const Layout& to_;
  const add::Adder& adder_;
  Total total_;
  std::size_t width_;
  Size first_, end_;  // devices of this process
  std::span<std::byte> received_, sum_;
  std::optional<Mismatch> mismatch_;
};

}  // namespace

std::optional<AddendData> AddendData::make(const Program& program, const ElementType& type) {
  const auto addition = addition_of(program);
  if (!addition) return std::nullopt;
  return AddendData(program, type, *addition);
}

AddendData::AddendData(const Program& program, const ElementType& type, Addition addition)
    : program_(program),
      type_(type),
      addition_(addition),
      together_(program.array_to().addends() && addition != Addition::stack),
      addends_(program.array_from().addend_count()),
      exact_(exact_integers(type)),
      largest_(exact_ / std::min(addends_, exact_)) {}

AddendData::Parts AddendData::parts(Size number, Size global) const {
  const std::uint64_t place = splitmix64(static_cast<std::uint64_t>(global));
  const std::uint64_t word = splitmix64(place + static_cast<std::uint64_t>(number));
  if (is_integer(type_)) {
    const auto above = static_cast<unsigned>(64 - 8 * type_.bytes);
    const std::uint64_t shifted = word << above;
    if (type_.kind == ElementKind::unsigned_integer) {
      return {static_cast<std::int64_t>(shifted >> above), 0};
    }
    return {static_cast<std::int64_t>(shifted) >> above, 0};
  }
  const auto addends = static_cast<std::uint64_t>(addends_);
  if ((place % addends + static_cast<std::uint64_t>(number)) % addends >=
      static_cast<std::uint64_t>(exact_)) {
    return {};
  }
  const auto small = [this](std::uint64_t from) {
    const auto size = static_cast<Size>((from >> 1U) % static_cast<std::uint64_t>(largest_)) + 1;
    return (from & 1U) == 0 ? size : -size;
  };
  return {small(word), small(splitmix64(word))};
}

AddendData::Parts AddendData::together(const Parts& a, const Parts& b) const {
  const auto word = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  if (addition_ == Addition::sum) {
    return {static_cast<std::int64_t>(word(a[0]) + word(b[0])),
            static_cast<std::int64_t>(word(a[1]) + word(b[1]))};
  }
  const bool is_less =
      type_.kind == ElementKind::unsigned_integer ? word(a[0]) < word(b[0]) : a[0] < b[0];
  return is_less == (addition_ == Addition::max) ? b : a;
}

Element AddendData::element(const Parts& parts) const {
  Element out{};
  if (is_integer(type_)) {
    put_word(out, static_cast<std::uint64_t>(parts[0]), type_.bytes);
  } else if (type_.kind == ElementKind::brain_floating) {
    put(out, add::bf16_of_float(static_cast<float>(parts[0])));
  } else if (type_.bytes == 2) {
    put(out, add::f16_of_float(static_cast<float>(parts[0])));
  } else {
    const std::size_t count = type_.kind == ElementKind::complex ? 2 : 1;
    for (std::size_t k = 0; k < count; ++k) {
      if (static_cast<std::size_t>(type_.bytes) / count == 4) {
        put(out, static_cast<float>(parts[k]), k);
      } else {
        put(out, static_cast<double>(parts[k]), k);
      }
    }
  }
  return out;
}

Element AddendData::addend(Size number, Size global) const {
  return element(parts(number, global));
}

Element AddendData::total(Size global) const {
  Parts out = parts(0, global);
  for (Size number = 1; number < addends_; ++number) out = together(out, parts(number, global));
  return element(out);
}

void AddendData::generate(Size device, std::span<std::byte> tile) const {
  const Size number = program_.array_from().addend(device);
  const auto width = static_cast<std::size_t>(type_.bytes);
  each_element(program_.array_from(), device, [&](Size local, Size global) {
    std::memcpy(tile.data() + static_cast<std::size_t>(local) * width,
                addend(number, global).data(), width);
    return true;
  });
}

std::optional<Size> AddendData::find_in_tile(Size device, std::span<const std::byte> tile) const {
  const Size number = program_.array_to().addend(device);
  const auto width = static_cast<std::size_t>(type_.bytes);
  std::optional<Size> out;
  each_element(program_.array_to(), device, [&](Size local, Size global) {
    const Element wanted = addition_ == Addition::stack ? addend(number, global) : total(global);
    const std::byte* const there = tile.data() + static_cast<std::size_t>(local) * width;
    if (std::memcmp(there, wanted.data(), width) == 0) return true;
    out = local;
    return false;
  });
  return out;
}

std::optional<Mismatch> AddendData::find_mismatch(Executor& executor, Buffer& buffer) const {
  if (together_) {
    const add::Adder adder = add::Adder::make(addition_, type_).value();
    return AddendTiles(
               executor, program_.array_to(), adder, [this](Size global) { return total(global); },
               buffer)
        .find();
  }
  const auto [first, count] = executor.devices();
  for (Size device = first; device < first + count; ++device) {
    const auto found = find_in_tile(device, executor.output(device));
    if (found) return Mismatch{.device = device, .local_index = *found};
  }
  return std::nullopt;
}

}  // namespace retile::run
