#include "retile/foreign/element.h"

#include <charconv>
#include <cstddef>

namespace retile::foreign {
namespace {

/// The first number in a name, 0 where there is none.
Size first_number(std::string_view name) {
  const std::size_t begin = name.find_first_of("0123456789");
  if (begin == std::string_view::npos) return 0;
  Size out = 0;
  const auto read = std::from_chars(name.data() + begin, name.data() + name.size(), out);
  return read.ec == std::errc() && out <= 4096 ? out : 0;
}

bool all_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// What stands before the digits of a name that is nothing more: `ui` of `ui32`.
std::string_view letters(std::string_view name) {
  const std::size_t digits = name.find_first_of("0123456789");
  return digits != std::string_view::npos && all_digits(name.substr(digits))
             ? name.substr(0, digits)
             : std::string_view();
}

}  // namespace

ElementKind element_kind(std::string_view name) {
  using Form = ElementKind::Form;
  if (name == "pred" || name == "i1") return {.form = Form::truth, .bits = 1, .is_signed = false};
  if (name == "index") return {.form = Form::integer, .bits = 64};
  const Size bits = first_number(name);
  const std::string_view front = letters(name);
  if (name.rfind("complex<", 0) == 0) return {.bits = 2 * bits};
  if (bits < 1 || bits > 64) return {.bits = bits};
  if (front == "s" || front == "i" || front == "si") return {.form = Form::integer, .bits = bits};
  if (front == "u" || front == "ui") {
    return {.form = Form::integer, .bits = bits, .is_signed = false};
  }
  return {.bits = bits};
}

std::int64_t wrapped(std::int64_t number, const ElementKind& kind) {
  if (kind.form == ElementKind::Form::truth) return number != 0 ? 1 : 0;
  if (kind.bits >= 64) return number;
  const auto mask = (std::uint64_t{1} << kind.bits) - 1;
  const std::uint64_t low = static_cast<std::uint64_t>(number) & mask;
  const bool negative = kind.is_signed && (low >> (kind.bits - 1)) != 0;
  return static_cast<std::int64_t>(negative ? low | ~mask : low);
}

}  // namespace retile::foreign
