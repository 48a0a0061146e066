// Texts with a number that is another.
#pragma once

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

#include "retile/core/size.h"

namespace check_tests {

/// The text with one number below its first line changed by -1, 1 or 2, but not below 0.
inline std::string with_another_number(const std::string& text, std::mt19937_64& random) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::vector<std::size_t> begins;
  for (std::size_t at = text.find('\n') + 1; at < text.size(); ++at) {
    if (is_digit(text[at]) && !is_digit(text[at - 1])) begins.push_back(at);
  }
  if (begins.empty()) return text;
  const std::size_t begin = begins[random() % begins.size()];
  std::size_t end = begin;
  while (is_digit(text[end])) ++end;
  const retile::Size change = std::vector<retile::Size>{-1, 1, 2}[random() % 3];
  const retile::Size number =
      std::max<retile::Size>(0, std::stoll(text.substr(begin, end - begin)) + change);
  return text.substr(0, begin) + std::to_string(number) + text.substr(end);
}

}  // namespace check_tests
