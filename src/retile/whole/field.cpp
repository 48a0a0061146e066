#include "retile/whole/field.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "retile/whole/real.h"

namespace retile::whole {
namespace {

/// A prime between 2^61 and 2^62 that is 1 modulo a number.
std::uint64_t prime_of(std::mt19937_64& random, Size root_order) {
  const auto step = static_cast<std::uint64_t>(root_order);
  RETILE_ASSERT(step >= 1 && step < (std::uint64_t{1} << 40U), "roots of a small order");
  const std::uint64_t first = std::uint64_t{1} << 61U;
  std::uniform_int_distribution<std::uint64_t> multiples(first / step + 1, 2 * first / step - 1);
  while (true) {
    const std::uint64_t candidate = multiples(random) * step + 1;
    if (candidate % 2 == 1 && spmd::is_prime(candidate)) return candidate;
  }
}

std::vector<Size> prime_factors(Size number) {
  std::vector<Size> out;
  for (Size p = 2; p * p <= number; ++p) {
    if (number % p != 0) continue;
    out.push_back(p);
    while (number % p == 0) number /= p;
  }
  if (number > 1) out.push_back(number);
  return out;
}

/// Of a format among all.
std::uint64_t format_number(const ElementKind& kind) {
  return static_cast<std::uint64_t>(kind.format - operations::float_formats().data());
}

}  // namespace

Field::Field(std::mt19937_64 random, Size root_order, std::vector<double> literals)
    : numbers_(prime_of(random, std::lcm(root_order, Size{4}))),
      root_order_(std::lcm(root_order, Size{4})) {
  order_ = random() | 1U;
  begin_ = random();
  key_ = random() | 1U;
  one_ = from(1);
  half_ = numbers_.reciprocal(numbers_.from(2));
  place_literals(random, std::move(literals));
  const std::vector<Size> factors = prime_factors(root_order_);
  const std::uint64_t exponent = (prime() - 1) / static_cast<std::uint64_t>(root_order_);
  while (true) {
    root_ = numbers_.power(numbers_.drawn(random), exponent);
    const bool is_primitive = std::all_of(factors.begin(), factors.end(), [&](Size factor) {
      return numbers_.power(root_, static_cast<std::uint64_t>(root_order_ / factor)) != value(one_);
    });
    if (is_primitive) return;
  }
}

void Field::place_literals(std::mt19937_64& random, std::vector<double> literals) {
  std::erase_if(literals, [](double one) { return !std::isfinite(one); });
  std::sort(literals.begin(), literals.end());
  literals.erase(std::unique(literals.begin(), literals.end()), literals.end());
  std::vector<std::uint64_t> places;
  for (std::size_t k = 0; k < literals.size(); ++k) places.push_back(random());
  std::sort(places.begin(), places.end());
  for (std::size_t k = 0; k < literals.size(); ++k) {
    const Word number = of_literal(literals[k]);
    literals_.emplace(number, Known{places[k], literals[k]});
    in_order_.push_back({places[k], literals[k]});
    may_be_literal_.set(value(number) % may_be_literal_.size());
  }
}

Word Field::of_literal(double real) const {
  if (std::isnan(real)) return no_number;
  if (std::isinf(real)) return real > 0 ? infinity : minus_infinity;
  int exponent = 0;
  const double fraction = std::frexp(real, &exponent);
  const auto whole = static_cast<std::int64_t>(std::ldexp(fraction, 53));
  exponent -= 53;
  const std::uint64_t power =
      numbers_.power(exponent < 0 ? half_ : numbers_.from(2),
                     static_cast<std::uint64_t>(exponent < 0 ? -exponent : exponent));
  return word(numbers_.mul(numbers_.from(whole), power));
}

Word Field::add_special(Word a, Word b) {
  if (a == no_number || b == no_number) return no_number;
  if (a >= 0) return b;
  if (b >= 0) return a;
  return a == b ? a : no_number;
}

Word Field::mul_special(Word a, Word b) const {
  if (a == no_number || b == no_number || a == 0 || b == 0) return no_number;
  const auto is_below = [&](Word x) { return x < 0 ? x == minus_infinity : is_negative(x); };
  return is_below(a) == is_below(b) ? infinity : minus_infinity;
}

Word Field::div(Word a, Word b) const {
  if (a == no_number || b == no_number) return no_number;
  if (b == 0) {
    if (a == 0) return no_number;
    return (a < 0 ? a == minus_infinity : is_negative(a)) ? minus_infinity : infinity;
  }
  if (b < 0) return a < 0 ? no_number : 0;
  return mul(a, word(numbers_.reciprocal(value(b))));
}

std::optional<std::int64_t> Field::small(Word a) const {
  constexpr std::uint64_t most = std::uint64_t{1} << 24U;
  if (a < 0) return std::nullopt;
  const std::uint64_t plain = numbers_.plain(value(a));
  if (plain <= most) return static_cast<std::int64_t>(plain);
  if (prime() - plain <= most) return -static_cast<std::int64_t>(prime() - plain);
  return std::nullopt;
}

std::optional<double> Field::known(Word a) const {
  if (a == no_number) return std::numeric_limits<double>::quiet_NaN();
  if (a == infinity) return std::numeric_limits<double>::infinity();
  if (a == minus_infinity) return -std::numeric_limits<double>::infinity();
  if (may_be_literal_[value(a) % may_be_literal_.size()]) {
    const auto found = literals_.find(a);
    if (found != literals_.end()) return found->second.number;
  }
  if (const auto number = small(a)) return static_cast<double>(*number);
  return std::nullopt;
}

std::uint64_t Field::hash(std::uint64_t function, std::span<const Word> arguments) const {
  std::uint64_t out = mixed(key_ ^ 0x9e3779b97f4a7c15U, function ^ 0xd1b54a32d192ed03U);
  for (const Word one : arguments) {
    out = mixed(out ^ value(one) ^ 0x8bb84b93962eacc9U, key_ ^ 0x2d358dccaa6c78a5U) + function;
    out = mixed(out ^ 0x4b33a62ed433d4a3U, out ^ (key_ << 7U) ^ value(one));
  }
  return mixed(out ^ 0xa0761d6478bd642fU, key_ ^ 0xe7037ed1a0b428dbU);
}

Word Field::unknown(std::uint64_t function, std::span<const Word> arguments) const {
  const UInt128 scaled = static_cast<UInt128>(hash(function, arguments)) * prime();
  return word(static_cast<std::uint64_t>(scaled >> 64U));
}

Word Field::unary(Id id, Word a) const {
  const auto function = static_cast<std::uint64_t>(id);
  if (a == no_number) return no_number;
  const Word one = one_;
  switch (id) {
    case Id::negate:
      return neg(a);
    case Id::absolute:
      if (a < 0) return infinity;
      return less(a, neg(a)) ? neg(a) : a;
    case Id::sign:
      if (a == 0) return 0;
      if (a < 0) return a == infinity ? one : neg(one);
      return less(a, neg(a)) ? neg(one) : one;
    case Id::exponential:
      if (a == 0) return one;
      if (a < 0) return a == infinity ? infinity : 0;
      break;
    case Id::exponential_minus_one:
      if (a < 0) return a == infinity ? infinity : neg(one);
      return a == 0 ? 0 : sub(unary(Id::exponential, a), one);
    case Id::log_plus_one:
      return unary(Id::log, add(a, one));
    case Id::log:
      if (a == one) return 0;
      if (a == 0) return minus_infinity;
      if (a < 0) return a == infinity ? infinity : no_number;
      break;
    case Id::logistic:  // 1 / (1 + exp(-a))
      return div(one, add(one, unary(Id::exponential, neg(a))));
    case Id::tanh:
    case Id::erf:
      if (a < 0) return a == infinity ? one : neg(one);
      if (a == 0) return 0;
      break;
    case Id::sqrt:
    case Id::cbrt:
      if (a == 0 || a == one || a == infinity) return a;
      break;
    case Id::rsqrt:
      return div(one, unary(Id::sqrt, a));
    case Id::cosine:
      if (a == 0) return one;
      break;
    case Id::floor:
    case Id::ceil:
    case Id::round_nearest_afz:
    case Id::round_nearest_even:
      if (const auto number = known(a)) return of_literal(Real::whole(id, *number));
      break;
    case Id::sine:
    case Id::tan:
    case Id::asin:
    case Id::asinh:
    case Id::atanh:
    case Id::sinh:
      if (a == 0) return 0;
      break;
    default:
      break;
  }
  return unknown(function, {&a, 1});
}

Word Field::binary(Id id, Word a, Word b) const {
  if (id == Id::power) {
    if (const auto exponent = small(b); exponent && a >= 0) {
      const std::int64_t times = *exponent < 0 ? -*exponent : *exponent;
      if (times <= 64) {
        const Word out = word(numbers_.power(value(a), static_cast<std::uint64_t>(times)));
        return *exponent < 0 ? div(from(1), out) : out;
      }
    }
  }
  const std::array<Word, 2> arguments = {a, b};
  return unknown(static_cast<std::uint64_t>(id), arguments);
}

Word Field::converted(Word a, const ElementKind& from, const ElementKind& to) const {
  if (operations::holds_all_of(to, from)) return a;
  if (const auto number = known(a)) return of_literal(operations::rounded(*number, *to.format));
  return unknown(1000 + format_number(to), {&a, 1});
}

Word Field::rounded(Word a, Size exponent_bits, Size mantissa_bits) const {
  if (const auto number = known(a)) {
    return of_literal(Real::rounded_to(*number, exponent_bits, mantissa_bits));
  }
  return unknown(100000 + static_cast<std::uint64_t>(exponent_bits * 256 + mantissa_bits), {&a, 1});
}

Word Field::to_integer(Word a, const ElementKind& to) const {
  if (to.form == ElementKind::Form::truth) return a != 0 ? 1 : 0;
  if (const auto number = known(a)) {
    static const ElementKind wide = operations::element_kind("f64");
    return operations::converted(operations::word_of(*number), wide, to);
  }
  constexpr std::uint64_t range = 97;  // small, so that it may be an index
  const auto type = static_cast<std::uint64_t>(to.bits * 2 + (to.is_signed ? 1 : 0));
  return operations::wrapped(static_cast<Word>(hash(2000 + type, {&a, 1}) % range), to);
}

Word Field::to_bits(Word a, const ElementKind& from) const {
  const auto number = known(a);
  const operations::FloatFormat& format = *from.format;
  Word bits = 0;
  if (number) {
    bits = static_cast<Word>(Real::bits_of(*number, format));
  } else if (format.is_signed && format.has_infinity) {
    bits = bits_in_order(a, format);
  } else {
    bits = static_cast<Word>(hash(3000 + format_number(from), {&a, 1}));
  }
  const ElementKind integer{
      .form = ElementKind::Form::integer, .bits = from.bits, .is_signed = true};
  return operations::wrapped(bits, integer);
}

/// As far between the bits of the literals on both sides of it as its place is between theirs: compilers
/// compare numbers by their bits. Those of negative numbers are in the other order.
Word Field::bits_in_order(Word a, const operations::FloatFormat& format) const {
  const ElementKind integer{
      .form = ElementKind::Form::integer, .bits = format.bits, .is_signed = true};
  const auto turned = [&](Word bits) {
    return bits < 0 ? bits ^ static_cast<Word>((std::uint64_t{1} << (format.bits - 1)) - 1) : bits;
  };
  const auto rank = [&](double number) {
    const auto bits = static_cast<Word>(Real::bits_of(number, format));
    return turned(operations::wrapped(bits, integer));
  };
  const std::uint64_t here = place(a);
  const auto above = std::partition_point(in_order_.begin(), in_order_.end(),
                                          [&](const Known& one) { return one.place <= here; });
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const bool is_least = above == in_order_.begin();
  const bool is_most = above == in_order_.end();
  const std::uint64_t low = is_least ? 0 : std::prev(above)->place;
  const std::uint64_t high = is_most ? ~std::uint64_t{0} : above->place;
  const Word least = rank(is_least ? -infinite : std::prev(above)->number);
  const Word most = rank(is_most ? infinite : above->number);
  const auto between = static_cast<std::uint64_t>(most) - static_cast<std::uint64_t>(least);
  if (between < 2) return turned(least);
  const UInt128 part = static_cast<UInt128>(here - low) * (between - 2) / (high - low + 1);
  return turned(least + 1 + static_cast<Word>(static_cast<std::uint64_t>(part)));
}

Word Field::of_bits(Word bits, const ElementKind& to) const {
  return of_literal(Real::number_of_bits(bits, to));
}

Word Field::root(Size order, Size number) const {
  RETILE_ASSERT(order >= 1 && root_order_ % order == 0, "roots of this order were asked for");
  const Size exponent = root_order_ / order * (((number % order) + order) % order);
  return word(numbers_.power(root_, static_cast<std::uint64_t>(exponent)));
}

std::array<Word, 2> Field::root_parts(Size order, Size number) const {
  const Word z = root(order, number);
  const Word back = root(order, -number);
  const Word half = div(from(1), from(2));
  const Word imaginary = root(4, 1);
  return {mul(add(z, back), half), div(mul(sub(z, back), half), imaginary)};
}

void Field::unary(Id id, std::span<const Word> a, Word* out) const {
  if (id != Id::logistic && id != Id::rsqrt) {
    for (std::size_t k = 0; k < a.size(); ++k) out[k] = unary(id, a[k]);
    return;
  }
  const std::vector<Word> ones(a.size(), one_);
  std::vector<Word> below(a.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    below[k] =
        id == Id::rsqrt ? unary(Id::sqrt, a[k]) : add(one_, unary(Id::exponential, neg(a[k])));
  }
  divide(ones, below.data(), out);
}

void Field::divide(std::span<const Word> a, const Word* b, Word* out) const {
  // Several chains of products, as each waits for its last one.
  constexpr std::size_t chains = 4;
  constexpr std::size_t most = 256 * chains;
  std::array<std::uint64_t, most> before;
  for (std::size_t begin = 0; begin < a.size(); begin += most) {
    const std::size_t count = std::min(most, a.size() - begin);
    const Word* const divisors = b + begin;
    std::array<std::uint64_t, chains> all;
    all.fill(value(one_));
    for (std::size_t k = 0; k < count; ++k) {
      std::uint64_t& product = all[k % chains];
      before[k] = product;
      if (divisors[k] > 0) product = numbers_.mul(product, value(divisors[k]));
    }
    for (std::uint64_t& product : all) product = numbers_.reciprocal(product);
    for (std::size_t k = count; k-- > 0;) {
      if (divisors[k] <= 0) {
        out[begin + k] = div(a[begin + k], divisors[k]);
        continue;
      }
      std::uint64_t& inverse = all[k % chains];
      const std::uint64_t quotient = numbers_.mul(inverse, before[k]);
      const Word dividend = a[begin + k];
      out[begin + k] = dividend < 0 ? mul_special(dividend, word(quotient))
                                    : word(numbers_.mul(value(dividend), quotient));
      inverse = numbers_.mul(inverse, value(divisors[k]));
    }
  }
}

/// Of a few rows and columns, whose sums stay in registers.
template <Size rows, Size columns>
void Field::products_of(const Word* x, const Word* y, Size depth, Word* out, Size step) const {
  constexpr auto most = static_cast<Size>(spmd::Modular::most_gathered);
  std::array<spmd::Modular::Gathered, static_cast<std::size_t>(rows * columns)> sums{};
  const auto gather = [&](Size i) {
    for (Size m = 0; m < rows; ++m) {
      for (Size n = 0; n < columns; ++n) {
        spmd::Modular::gather(sums[static_cast<std::size_t>(m * columns + n)],
                              value(x[m * depth + i]), value(y[n * depth + i]));
      }
    }
  };
  Size k = 0;
  for (; k + most <= depth; k += most) {
    for (Size i = k; i < k + most; ++i) gather(i);
    for (auto& sum : sums) sum = numbers_.lowered(sum);
  }
  for (; k < depth; ++k) gather(k);
  for (Size m = 0; m < rows; ++m) {
    for (Size n = 0; n < columns; ++n) {
      out[m * step + n] = word(
          numbers_.gathered(numbers_.lowered(sums[static_cast<std::size_t>(m * columns + n)])));
    }
  }
}

void Field::products(const Word* x, Size rows, const Word* y, Size columns, Size depth,
                     Word* out) const {
  Size m = 0;
  for (; m + 2 <= rows; m += 2) {
    Size n = 0;
    for (; n + 2 <= columns; n += 2) {
      products_of<2, 2>(x + m * depth, y + n * depth, depth, out + m * columns + n, columns);
    }
    if (n < columns) {
      products_of<2, 1>(x + m * depth, y + n * depth, depth, out + m * columns + n, columns);
    }
  }
  if (m == rows) return;
  for (Size n = 0; n < columns; ++n) {
    products_of<1, 1>(x + m * depth, y + n * depth, depth, out + m * columns + n, columns);
  }
}

}  // namespace retile::whole
