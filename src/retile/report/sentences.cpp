#include "retile/report/sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace retile::report {

std::string shape_text(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string index_text(const Shape& index) { return fmt::format("[{}]", fmt::join(index, ",")); }

std::string_view right_text(bool is_over) {
  return is_over ? "right, but over the bound" : "right";
}

std::string figures_text(Size cost, Size height, Size bound) {
  return fmt::format("cost {}, height {} (bound {})", cost, height, bound);
}

std::string other_element_text(Size device, std::string_view found, const Shape& at,
                               const Shape& expected) {
  return fmt::format("device {} holds {} at {}, expected {}", device, found, index_text(at),
                     index_text(expected));
}

std::string element_text(Size device, const Shape& element, const Shape& at) {
  return fmt::format("device {}: element {} at {}", device, index_text(element), index_text(at));
}

}  // namespace retile::report
