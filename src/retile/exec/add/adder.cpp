#include "retile/exec/add/adder.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "retile/core/assert.h"
#include "retile/exec/add/half.h"

namespace retile::add {
namespace {

// ---- What elements are made of --------------------------------------------------------------------
//
// A part is what is added by itself: an element, or half a complex one. Each kind says what a sum, a
// maximum and a minimum of two are, and what is below and above all.

template <typename T>
struct Integer {
  using Stored = T;
  using Value = T;
  using Unsigned = std::make_unsigned_t<T>;
  static T value(T stored) { return stored; }
  static T stored(T value) { return value; }
  static T sum(T a, T b) {
    return static_cast<T>(
        static_cast<Unsigned>(static_cast<Unsigned>(a) + static_cast<Unsigned>(b)));
  }
  static T larger(T a, T b) { return a < b ? b : a; }
  static T smaller(T a, T b) { return b < a ? b : a; }
  static T least() { return std::numeric_limits<T>::min(); }
  static T largest() { return std::numeric_limits<T>::max(); }
};

/// Of a floating type F, whose bits are a B.
template <typename F, typename B>
struct Float {
  using Stored = F;
  using Value = F;
  static F value(F stored) { return stored; }
  static F stored(F value) { return value; }
  static F number_or_none(F value) {
    return value == value ? value : std::numeric_limits<F>::quiet_NaN();
  }
  static F sum(F a, F b) { return number_or_none(a + b); }
  // Equal ones differ in the sign of a zero at most.
  static F larger(F a, F b) {
    const F zero = std::bit_cast<F>(std::bit_cast<B>(a) & std::bit_cast<B>(b));
    const F number = a == b ? zero : a < b ? b : a;
    return a == a && b == b ? number : std::numeric_limits<F>::quiet_NaN();
  }
  static F smaller(F a, F b) {
    const F zero = std::bit_cast<F>(std::bit_cast<B>(a) | std::bit_cast<B>(b));
    const F number = a == b ? zero : b < a ? b : a;
    return a == a && b == b ? number : std::numeric_limits<F>::quiet_NaN();
  }
  static F least() { return -std::numeric_limits<F>::infinity(); }
  static F largest() { return std::numeric_limits<F>::infinity(); }
};

struct F16 : Float<float, std::uint32_t> {
  using Stored = std::uint16_t;
  static float value(std::uint16_t bits) { return float_of_f16(bits); }
  static std::uint16_t stored(float value) { return f16_of_float(value); }
};

struct Bf16 : Float<float, std::uint32_t> {
  using Stored = std::uint16_t;
  static float value(std::uint16_t bits) { return float_of_bf16(bits); }
  static std::uint16_t stored(float value) { return bf16_of_float(value); }
};

using F32 = Float<float, std::uint32_t>;
using F64 = Float<double, std::uint64_t>;

// ---- Loops ------------------------------------------------------------------------------------------

template <typename Part>
typename Part::Value at(const std::byte* bytes, std::size_t i) {
  typename Part::Stored stored;
  std::memcpy(&stored, bytes + i * sizeof stored, sizeof stored);
  return Part::value(stored);
}

template <typename Part>
void put(std::byte* bytes, std::size_t i, typename Part::Value value) {
  const typename Part::Stored stored = Part::stored(value);
  std::memcpy(bytes + i * sizeof stored, &stored, sizeof stored);
}

template <typename Part, Addition addition>
typename Part::Value added(typename Part::Value a, typename Part::Value b) {
  if constexpr (addition == Addition::max) return Part::larger(a, b);
  if constexpr (addition == Addition::min) return Part::smaller(a, b);
  return Part::sum(a, b);
}

template <typename Part, Addition addition>
void add_parts(std::byte* __restrict into, const std::byte* __restrict more, std::size_t parts) {
  for (std::size_t i = 0; i < parts; ++i) {
    put<Part>(into, i, added<Part, addition>(at<Part>(into, i), at<Part>(more, i)));
  }
}

template <typename Part, Addition addition>
void sum_parts(std::byte* __restrict into, const std::byte* __restrict one,
               const std::byte* __restrict other, std::size_t parts) {
  for (std::size_t i = 0; i < parts; ++i) {
    put<Part>(into, i, added<Part, addition>(at<Part>(one, i), at<Part>(other, i)));
  }
}

template <typename Part>
void put_neutral(Addition addition, std::byte* element) {
  put<Part>(element, 0,
            addition == Addition::max   ? Part::least()
            : addition == Addition::min ? Part::largest()
                                        : typename Part::Value{0});
}

/// An element type, and what is done with elements of it.
struct Row {
  ElementType type;
  std::size_t parts;                                                       // of an element
  std::array<void (*)(std::byte*, const std::byte*, std::size_t), 3> add;  // sum, max, min
  std::array<void (*)(std::byte*, const std::byte*, const std::byte*, std::size_t), 3> sum;
  void (*neutral)(Addition, std::byte*);
};

template <typename Part>
constexpr Row row(ElementKind kind, std::size_t parts = 1) {
  return {.type = {kind, static_cast<Size>(parts * sizeof(typename Part::Stored))},
          .parts = parts,
          .add = {add_parts<Part, Addition::sum>, add_parts<Part, Addition::max>,
                  add_parts<Part, Addition::min>},
          .sum = {sum_parts<Part, Addition::sum>, sum_parts<Part, Addition::max>,
                  sum_parts<Part, Addition::min>},
          .neutral = put_neutral<Part>};
}

constexpr std::array<Row, Adder::count / 3> rows{
    row<Integer<std::int8_t>>(ElementKind::signed_integer),
    row<Integer<std::uint8_t>>(ElementKind::unsigned_integer),
    row<Integer<std::int16_t>>(ElementKind::signed_integer),
    row<Integer<std::uint16_t>>(ElementKind::unsigned_integer),
    row<Integer<std::int32_t>>(ElementKind::signed_integer),
    row<Integer<std::uint32_t>>(ElementKind::unsigned_integer),
    row<Integer<std::int64_t>>(ElementKind::signed_integer),
    row<Integer<std::uint64_t>>(ElementKind::unsigned_integer),
    row<F16>(ElementKind::floating),
    row<Bf16>(ElementKind::brain_floating),
    row<F32>(ElementKind::floating),
    row<F64>(ElementKind::floating),
    row<F32>(ElementKind::complex, 2),
    row<F64>(ElementKind::complex, 2),
};

const Row& row_of(std::size_t number) { return rows[number / 3]; }
std::size_t addition_of(std::size_t number) { return number % 3; }

}  // namespace

Result<Adder> Adder::make(Addition addition, const ElementType& type) {
  const auto refused = [](std::string message) {
    return refuse({.code = Code::unsupported, .message = std::move(message)});
  };
  if (addition == Addition::stack) return refused("the arrays of a stack are not added");
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& it) { return it.type == type; });
  if (found == rows.end()) {
    return refused(fmt::format("elements of {} bytes of this type are not added", type.bytes));
  }
  if (type.kind == ElementKind::complex && addition != Addition::sum) {
    return refused(fmt::format("complex numbers have no {}", name_of(addition)));
  }
  return Adder(static_cast<std::size_t>(found - rows.begin()) * 3 +
               static_cast<std::size_t>(addition));
}

Size Adder::element_bytes() const { return row_of(number_).type.bytes; }

void Adder::add(std::byte* into, const std::byte* more, std::size_t elements) const {
  const Row& row = row_of(number_);
  row.add[addition_of(number_)](into, more, elements * row.parts);
}

void Adder::sum(std::byte* into, const std::byte* one, const std::byte* other,
                std::size_t elements) const {
  const Row& row = row_of(number_);
  row.sum[addition_of(number_)](into, one, other, elements * row.parts);
}

void Adder::copy(std::byte* into, const std::byte* from, std::size_t elements) const {
  std::memcpy(into, from, elements * static_cast<std::size_t>(element_bytes()));
}

void Adder::clear(std::span<std::byte> tile) const {
  const Row& row = row_of(number_);
  std::array<std::byte, 16> part{};
  row.neutral(static_cast<Addition>(addition_of(number_)), part.data());
  const std::size_t bytes = static_cast<std::size_t>(row.type.bytes) / row.parts;
  RETILE_ASSERT(tile.size() % bytes == 0, "a tile of whole elements");
  for (std::size_t i = 0; i < tile.size(); i += bytes) {
    std::memcpy(tile.data() + i, part.data(), bytes);
  }
}

}  // namespace retile::add
