#include "retile/prove/digits.h"

#include <fmt/format.h>

#include <algorithm>

#include "retile/core/assert.h"

namespace retile::symbolic {

namespace {

using Ids = std::vector<std::size_t>;

Ids slice(const Ids& ids, std::size_t begin, std::size_t end) {
  return {ids.begin() + static_cast<std::ptrdiff_t>(begin),
          ids.begin() + static_cast<std::ptrdiff_t>(end)};
}

Ids concatenated(Ids low, const Ids& high) {
  low.insert(low.end(), high.begin(), high.end());
  return low;
}

}  // namespace

std::size_t Digits::add(Size size, bool is_zero) {
  RETILE_ASSERT(size >= 1, "a digit has a value");
  digits_.push_back({.size = size, .is_zero = is_zero});
  return digits_.size() - 1;
}

Number Digits::any(Size size) { return size == 1 ? Number{} : Number{{add(size, false)}}; }

Number Digits::zero(Size size) { return size == 1 ? Number{} : Number{{add(size, true)}}; }

void Digits::expand(std::size_t digit, Ids& out) const {
  const Digit& at = digits_[digit];
  if (at.is_split) {
    expand(at.low, out);
    expand(at.high, out);
  } else {
    out.push_back(digit);
  }
}

Ids Digits::leaves(const Number& number) const {
  Ids out;
  for (const std::size_t digit : number.digits) expand(digit, out);
  return out;
}

Size Digits::product(const Ids& digits) const {
  Size out = 1;
  for (const std::size_t digit : digits) out *= digits_[digit].size;
  return out;
}

Size Digits::size(const Number& number) const { return product(number.digits); }

Ids Digits::respell(const Ids& run, Size cut) {
  const auto ends_at = [&](const Ids& digits) {
    Size reach = 1;
    for (const std::size_t digit : digits) {
      if (reach >= cut) break;
      reach *= digits_[digit].size;
    }
    return reach == cut;
  };
  for (const auto& [left, right] : equal_) {
    const Ids a = leaves(left);
    const Ids b = leaves(right);
    if (a == run && ends_at(b)) return b;
    if (b == run && ends_at(a)) return a;
  }
  const bool is_zero = std::all_of(run.begin(), run.end(),
                                   [&](std::size_t digit) { return digits_[digit].is_zero; });
  const Size whole = product(run);
  const std::size_t low = add(cut, is_zero);
  const std::size_t high = add(whole / cut, is_zero);
  equal_.push_back({Number{run}, Number{{low, high}}});
  return {low, high};
}

std::pair<Number, Number> Digits::split(const Number& number, Size cut) {
  const Ids digits = leaves(number);
  RETILE_ASSERT(cut >= 1 && product(digits) % cut == 0, "a cut divides the number's size");
  std::size_t at = 0;
  Size rest = cut;  // what the cut is behind the first `at` digits
  while (rest > 1 && rest % digits_[digits[at]].size == 0) rest /= digits_[digits[at++]].size;
  const Ids below = slice(digits, 0, at);
  if (rest == 1) return {{below}, {slice(digits, at, digits.size())}};

  const std::size_t first = digits[at];
  if (digits_[first].size % rest == 0) {
    const Size size = digits_[first].size;
    const bool is_zero = digits_[first].is_zero;
    const std::size_t low = add(rest, is_zero);
    const std::size_t high = add(size / rest, is_zero);
    digits_[first].is_split = true;
    digits_[first].low = low;
    digits_[first].high = high;
    return {{concatenated(below, {low})},
            {concatenated({high}, slice(digits, at + 1, digits.size()))}};
  }

  std::size_t end = at;
  Size reach = 1;
  while (reach % rest != 0) reach *= digits_[digits[end++]].size;
  const Ids spelled = respell(slice(digits, at, end), rest);
  std::size_t low_count = 0;
  for (Size low = 1; low < rest; ++low_count) low *= digits_[spelled[low_count]].size;
  return {
      {concatenated(below, slice(spelled, 0, low_count))},
      {concatenated(slice(spelled, low_count, spelled.size()), slice(digits, end, digits.size()))}};
}

Number Digits::join(const Number& low, const Number& high) {
  return {concatenated(low.digits, high.digits)};
}

std::string Digits::term(const Number& number) const {
  std::vector<std::string> terms;
  Size weight = 1;
  for (const std::size_t digit : leaves(number)) {
    terms.push_back(weight == 1 ? fmt::format("x{}", digit)
                                : fmt::format("(* {} x{})", weight, digit));
    weight *= digits_[digit].size;
  }
  if (terms.empty()) return "0";
  if (terms.size() == 1) return terms.front();
  return fmt::format("(+ {})", fmt::join(terms, " "));
}

std::string Digits::declarations() const {
  std::string out;
  for (std::size_t digit = 0; digit < digits_.size(); ++digit) {
    const Digit& at = digits_[digit];
    if (at.is_split) continue;
    out += fmt::format("(declare-const x{0} Int)\n(assert (and (<= 0 x{0}) (< x{0} {1})))\n", digit,
                       at.is_zero ? 1 : at.size);
  }
  for (const auto& [left, right] : equal_) {
    out += fmt::format("(assert (= {} {}))\n", term(left), term(right));
  }
  return out;
}

}  // namespace retile::symbolic
