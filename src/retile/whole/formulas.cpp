#include "retile/whole/formulas.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <span>
#include <utility>

#include "retile/core/assert.h"

namespace retile::whole {
namespace {

using operations::Comparison;

class Writer;

/// A value of a formula.
struct Term {
  Writer* writer = nullptr;
  ValueId value = 0;
};

/// Writes operations on values of one kind, and each number of it once.
class Writer {
 public:
  Writer(const PutInstruction& put, const ElementKind& kind) : put_(put), kind_(kind) {}

  Term term(ValueId value) { return {this, value}; }
  /// Of all numbers of the kind but infinity.
  [[nodiscard]] double largest() const { return kind_.format->largest; }
  /// A number as the kind rounds it; of integers the number itself.
  Term number(double real) {
    return word(kind_.is_real() ? operations::word_of(operations::rounded(real, *kind_.format))
                                : static_cast<Word>(real));
  }
  Term word(Word word) {
    const auto [known, is_new] = words_.try_emplace(word, 0);
    if (is_new) known->second = put_(Id::constant, Literal{{word}}, {}, kind_);
    return term(known->second);
  }
  Term operation(Id id, std::vector<ValueId> operands) {
    return term(put_(id, NoDetail{}, std::move(operands), kind_));
  }
  /// What makes truth values.
  Term truth(Id id, std::vector<ValueId> operands, Detail detail = NoDetail{}) {
    return term(put_(id, std::move(detail), std::move(operands), operations::element_kind("pred")));
  }

 private:
  const PutInstruction& put_;
  ElementKind kind_;
  std::map<Word, ValueId> words_;
};

Term unary(Id id, Term x) { return x.writer->operation(id, {x.value}); }
Term binary(Id id, Term a, Term b) { return a.writer->operation(id, {a.value, b.value}); }
Term operator-(Term x) { return unary(Id::negate, x); }
Term operator+(Term a, Term b) { return binary(Id::add, a, b); }
Term operator-(Term a, Term b) { return binary(Id::subtract, a, b); }
Term operator*(Term a, Term b) { return binary(Id::multiply, a, b); }
Term operator/(Term a, Term b) { return binary(Id::divide, a, b); }
Term operator+(Term a, double b) { return a + a.writer->number(b); }
Term operator-(Term a, double b) { return a - a.writer->number(b); }
Term operator*(double a, Term b) { return b.writer->number(a) * b; }
Term operator/(double a, Term b) { return b.writer->number(a) / b; }
Term operator-(double a, Term b) { return b.writer->number(a) - b; }
Term absolute(Term x) { return unary(Id::absolute, x); }
Term is(Term a, Comparison comparison, Term b) {
  return a.writer->truth(Id::compare, {a.value, b.value}, CompareDetail{.comparison = comparison});
}
Term is(Term a, Comparison comparison, double b) { return is(a, comparison, a.writer->number(b)); }
Term either(Term a, Term b) { return a.writer->truth(Id::bit_or, {a.value, b.value}); }
Term chosen(Term which, Term yes, Term no) {
  return yes.writer->operation(Id::select, {which.value, yes.value, no.value});
}
Term chosen(Term which, double yes, Term no) { return chosen(which, no.writer->number(yes), no); }

/// Coefficients from the highest power down, as numbers of 32 bits.
Term polynomial(Term x, std::span<const float> coefficients) {
  Term out = x.writer->number(coefficients.front());
  for (const float each : coefficients.subspan(1)) out = out * x + static_cast<double>(each);
  return out;
}

/// The complement of the error function, as Cephes approximates it for 32 bits: 1 - x T(x^2) for |x| < 1,
/// else e^(-x^2) / |x| P(1 / x^2) for |x| < 2 and R in the place of P beyond, mirrored below 0.
Term erfc(Term x) {
  constexpr double largest_exponent = 88.72283905206835;
  constexpr std::array<float, 9> p = {
      2.326819970068386E-2F,  -1.387039388740657E-1F, 3.687424674597105E-1F,
      -5.824733027278666E-1F, 6.210004621745983E-1F,  -4.944515323274145E-1F,
      3.404879937665872E-1F,  -2.741127028184656E-1F, 5.638259427386472E-1F};
  constexpr std::array<float, 8> r = {
      -1.047766399936249E+1F, 1.297719955372516E+1F, -7.495518717768503E+0F, 2.921019019210786E+0F,
      -1.015265279202700E+0F, 4.218463358204948E-1F, -2.820767439740514E-1F, 5.641895067754075E-1F};
  constexpr std::array<float, 7> t = {
      7.853861353153693E-5F, -8.010193625184903E-4F, 5.188327685732524E-3F, -2.685381193529856E-2F,
      1.128358514861418E-1F, -3.761262582423300E-1F, 1.128379165726710E+0F};
  const Term square = x * x;
  const Term exponent = -square;
  const Term size = absolute(x);
  const Term inverse = 1.0 / square;
  const Term front = unary(Id::exponential, exponent) * (1.0 / size);
  const Term tail =
      front * chosen(is(size, Comparison::lt, 2.0), polynomial(inverse, p), polynomial(inverse, r));
  const Term of_size = chosen(is(exponent, Comparison::lt, -largest_exponent), 0.0, tail);
  const Term far = chosen(is(x, Comparison::lt, 0.0), 2.0 - of_size, of_size);
  const Term near = 1.0 - x * polynomial(square, t);
  return chosen(is(size, Comparison::lt, 1.0), near, far);
}

/// The inverse of the error function, as Giles approximates it for 32 bits: x times a polynomial of
/// -ln(1 - x^2), or of its root where that is at least 5.
Term erf_inv(Term x) {
  constexpr std::array<float, 9> near = {2.81022636e-08F,  3.43273939e-07F, -3.5233877e-06F,
                                         -4.39150654e-06F, 0.00021858087F,  -0.00125372503F,
                                         -0.00417768164F,  0.246640727F,    1.50140941F};
  constexpr std::array<float, 9> far = {-0.000200214257F, 0.000100950558F, 0.00134934322F,
                                        -0.00367342844F,  0.00573950773F,  -0.0076224613F,
                                        0.00943887047F,   1.00167406F,     2.83297682F};
  Writer& writer = *x.writer;
  const Term w = -unary(Id::log_plus_one, x * -x);
  const Term is_near = is(w, Comparison::lt, 5.0);
  const Term of = chosen(is_near, w - 2.5, unary(Id::sqrt, w) - 3.0);
  const auto coefficient = [&](std::size_t k) {
    return chosen(is_near, writer.number(near.at(k)), writer.number(far.at(k)));
  };
  Term out = coefficient(0);
  for (std::size_t k = 1; k < near.size(); ++k) out = coefficient(k) + out * of;
  const Term end = std::numeric_limits<double>::infinity() * x;
  return chosen(is(absolute(x), Comparison::eq, 1.0), end, out * x);
}

/// The logarithm of |Gamma(x)| by Lanczos' approximation with g = 7 and nine terms, reflected below 1/2.
Term lgamma(Term x) {
  constexpr double g = 7;
  constexpr double base = 0.99999999999980993227684700473478;
  constexpr std::array<double, 8> coefficients = {
      676.520368121885098567009190444019, -1259.13921672240287047156078755283,
      771.3234287776530788486528258894,   -176.61502916214059906584551354,
      12.507343278686904814458936853,     -0.13857109526572011689554707,
      9.984369578019570859563e-6,         1.50563273514931155834e-7};
  constexpr double pi = std::numbers::pi;
  Writer& writer = *x.writer;
  const Term is_reflected = is(x, Comparison::lt, 0.5);
  const Term z = chosen(is_reflected, -x, x - 1.0);
  Term sum = writer.number(base);
  for (std::size_t k = 0; k < coefficients.size(); ++k) {
    sum = sum + coefficients.at(k) / (z + static_cast<double>(k + 1));
  }
  const Term t = writer.number(g + 0.5) + z;
  const Term log_t =
      writer.number(std::log(g + 0.5)) + unary(Id::log_plus_one, z / writer.number(g + 0.5));
  const Term power = (z + 0.5 - t / log_t) * log_t;
  const Term straight =
      writer.number((std::log(2) + std::log(pi)) / 2) + power + unary(Id::log, sum);
  const Term size = absolute(x);
  const Term rest = size - unary(Id::floor, size);
  const Term nearer = chosen(is(writer.number(0.5), Comparison::lt, rest), 1.0 - rest, rest);
  const Term sine = unary(Id::log, unary(Id::sine, pi * nearer));
  const Term is_finite = writer.truth(Id::is_finite, {sine.value});
  const Term reflected = chosen(is_finite, std::log(pi) - sine - straight, -sine);
  const Term out = chosen(is_reflected, reflected, straight);
  constexpr double infinity = std::numeric_limits<double>::infinity();
  return chosen(is(absolute(x), Comparison::eq, infinity), infinity, out);
}

/// e^(x + ln 1/2) and e^(ln 1/2 - x).
std::pair<Term, Term> halves(Term x) {
  const Term log_half = unary(Id::log, x.writer->number(0.5));
  return {unary(Id::exponential, x + log_half), unary(Id::exponential, log_half - x)};
}
/// (e^x + e^-x) / 2.
Term cosh(Term x) {
  const auto [up, down] = halves(x);
  return up + down;
}
/// (e^x - e^-x) / 2, so that nothing cancels for |x| < 1.
Term sinh(Term x) {
  const auto [up, down] = halves(x);
  const Term less_one = unary(Id::exponential_minus_one, x);
  const Term near = 0.5 * (less_one + less_one / (less_one + 1.0));
  return chosen(is(absolute(x), Comparison::lt, 1.0), near, up - down);
}

/// Twice the angle at 1 + sqrt(1 - x^2) from x.
Term asin(Term x) {
  const Term root = unary(Id::sqrt, (1.0 - x) * (x + 1.0));
  const Term half = binary(Id::atan2, x, root + 1.0);
  return half + half;
}
Term acos(Term x) { return binary(Id::atan2, unary(Id::sqrt, (1.0 - x) * (x + 1.0)), x); }
/// ln(x + sqrt(x^2 - 1)), so that no square is too large.
Term acosh(Term x) {
  const Term far = unary(Id::log, x) + unary(Id::log, x.writer->number(2));
  const Term root = unary(Id::sqrt, x - 1.0);
  const Term near = unary(Id::log_plus_one, root * (unary(Id::sqrt, x + 1.0) + root));
  return chosen(is(x, Comparison::ge, x.writer->largest() / 2), far, near);
}
/// ln(x + sqrt(x^2 + 1)) with the sign of x, so that nothing cancels and no square is too large.
Term asinh(Term x) {
  const Term size = absolute(x);
  const Term square = size * size;
  const Term far = unary(Id::log, size) + unary(Id::log, x.writer->number(2));
  const Term near = unary(Id::log_plus_one, size + square / (unary(Id::sqrt, square + 1.0) + 1.0));
  const Term is_far = is(size, Comparison::ge, std::sqrt(x.writer->largest()));
  return unary(Id::sign, x) * chosen(is_far, far, near);
}
/// ln((1 + x) / (1 - x)) / 2, and beyond 1 no number.
Term atanh(Term x) {
  const Term inside = 0.5 * (unary(Id::log_plus_one, x) - unary(Id::log_plus_one, -x));
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  return chosen(is(absolute(x), Comparison::gt, 1.0), nan, inside);
}

constexpr std::string_view next_after_name = "chlo.next_after";
/// The neighbour of x towards y, by their bits.
Term next_after(Term x, Term y, const ElementKind& kind, Writer& bits) {
  const Word sign = kind.bits == 64 ? std::numeric_limits<Word>::min()
                                    : -(Word{1} << static_cast<unsigned>(kind.bits - 1));
  const auto bits_of = [&](Term term) { return bits.operation(Id::bitcast_convert, {term.value}); };
  const auto both = [](Term a, Term b) { return binary(Id::bit_and, a, b); };
  const Term a = bits_of(x);
  const Term b = bits_of(y);
  const Term has_nan = either(is(x, Comparison::ne, x), is(y, Comparison::ne, y));
  const Term nan = bits_of(x.writer->number(std::numeric_limits<double>::quiet_NaN()));
  const Term size = both(a, bits.word(~sign));
  const Term other_size = both(b, bits.word(~sign));
  const Term sign_of_x = both(a, bits.word(sign));
  const Term sign_of_y = both(b, bits.word(sign));
  const Term from_zero = binary(Id::bit_or, sign_of_y, bits.word(1));
  const Term shrinks =
      either(is(size, Comparison::gt, other_size), is(sign_of_x, Comparison::ne, sign_of_y));
  Term out = a + chosen(shrinks, bits.word(-1), bits.word(1));
  const Term of_zero = chosen(is(other_size, Comparison::eq, bits.word(0)), b, from_zero);
  out = chosen(is(size, Comparison::eq, bits.word(0)), of_zero, out);
  out = chosen(is(x, Comparison::eq, y), b, out);
  out = chosen(has_nan, nan, out);
  return x.writer->operation(Id::bitcast_convert, {out.value});
}

/// A function of one number.
struct FunctionFormula {
  std::string_view name;
  Term (*formula)(Term);
  bool is_widened = false;  ///< numbers of fewer than 32 bits are made such first
  bool is_short = false;    ///< of more than 32 bits the formula is another one
};
constexpr std::array<FunctionFormula, 10> function_formulas = {{
    {"chlo.acos", acos},
    {"chlo.acosh", acosh},
    {"chlo.asin", asin},
    {"chlo.asinh", asinh},
    {"chlo.atanh", atanh},
    {"chlo.cosh", cosh, true},
    {"chlo.erf_inv", erf_inv, true, true},
    {"chlo.erfc", erfc, true, true},
    {"chlo.lgamma", lgamma, true},
    {"chlo.sinh", sinh, true},
}};
constexpr Size single_bits = 32;

const FunctionFormula* find_known(std::string_view function) {
  const auto* const found =
      std::find_if(function_formulas.begin(), function_formulas.end(),
                   [&](const FunctionFormula& known) { return known.name == function; });
  return found == function_formulas.end() ? nullptr : found;
}

}  // namespace

bool has_formula(std::string_view function, const ElementKind& kind) {
  if (!kind.is_real() || kind.format->hlo.empty()) return false;
  const FunctionFormula* const known = find_known(function);
  if (known == nullptr) return function == next_after_name;
  return !known->is_short || kind.bits <= single_bits;
}

ValueId put_formula(std::string_view function, const std::vector<ValueId>& operands,
                    const ElementKind& kind, const PutInstruction& put) {
  RETILE_ASSERT(has_formula(function, kind), "a formula that nobody knows");
  Writer writer(put, kind);
  const FunctionFormula* const known = find_known(function);
  if (known == nullptr) {
    Writer bits(put, operations::element_kind(fmt::format("s{}", kind.bits)));
    return next_after(writer.term(operands.at(0)), writer.term(operands.at(1)), kind, bits).value;
  }
  if (!known->is_widened || kind.bits >= single_bits) {
    return known->formula(writer.term(operands.at(0))).value;
  }
  Writer wide(put, operations::element_kind("f32"));
  const Term out = known->formula(wide.operation(Id::convert, operands));
  return writer.operation(Id::convert, {out.value}).value;
}

}  // namespace retile::whole
