#include "retile/core/element_type.h"

#include <fmt/format.h>

#include <array>

namespace retile {
namespace {

constexpr std::array<NamedElementType, 14> table{{
    {"i8", {ElementKind::signed_integer, 1}},
    {"u8", {ElementKind::unsigned_integer, 1}},
    {"i16", {ElementKind::signed_integer, 2}},
    {"u16", {ElementKind::unsigned_integer, 2}},
    {"f16", {ElementKind::floating, 2}},
    {"bf16", {ElementKind::brain_floating, 2}},
    {"i32", {ElementKind::signed_integer, 4}},
    {"u32", {ElementKind::unsigned_integer, 4}},
    {"f32", {ElementKind::floating, 4}},
    {"i64", {ElementKind::signed_integer, 8}},
    {"u64", {ElementKind::unsigned_integer, 8}},
    {"f64", {ElementKind::floating, 8}},
    {"c64", {ElementKind::complex, 8}},
    {"c128", {ElementKind::complex, 16}},
}};

}  // namespace

Result<void> check_element_size(Size bytes) {
  if (is_element_size(bytes)) return {};
  return refuse({.code = Code::bad_argument,
                 .message = fmt::format("elements of {} bytes cannot be moved", bytes)});
}

std::span<const NamedElementType> named_element_types() { return table; }

}  // namespace retile
