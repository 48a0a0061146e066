// What an operation does to single numbers, and computations that are run number by number.
// Room-internal.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "retile/foreign/cells.h"
#include "retile/operations/arithmetic.h"
#include "retile/whole/module.h"

namespace retile::whole {

/// Something that is not evaluated: where, and why. Thrown inside of the room.
struct NotEvaluated {
  std::string what;
  TextPlace place;
};

/// A number: a word, or two of a complex one.
struct Number {
  Word real = 0;
  Word imaginary = 0;
};

[[nodiscard]] inline bool is_complex(const ElementKind& kind) {
  return kind.form == ElementKind::Form::complex;
}
/// Words of an element.
[[nodiscard]] inline std::size_t words_of(const ElementKind& kind) {
  return is_complex(kind) ? 2 : 1;
}

/// The row's arithmetic of an operation on integers; nothing where it is none.
[[nodiscard]] inline std::optional<operations::Arithmetic> integer_arithmetic(Id id) {
  return operations::row_of(id).arithmetic;
}

/// An integer or a truth value as a number with a point, rounded where the type has no such one.
template <typename Domain>
[[nodiscard]] Word lifted(const Domain& domain, Word number, const ElementKind& from,
                          const ElementKind& to) {
  if constexpr (Domain::is_exact) {
    constexpr Size most = 62;
    const Size precision = std::min(to.format->precision(), most);
    const bool is_large = number > (Word{1} << precision) || number < -(Word{1} << precision);
    const bool is_wide = from.bits == 64 && !from.is_signed && number < 0;
    if (is_large || is_wide || to.bits < 16) {
      ElementKind part = to;
      part.form = ElementKind::Form::real;
      return domain.of_literal(operations::real_of(operations::converted(number, from, part)));
    }
  }
  if (from.bits == 64 && !from.is_signed) {
    return domain.from_unsigned(static_cast<std::uint64_t>(number));
  }
  return domain.from(number);
}

template <typename Domain>
class Calculator {
 public:
  explicit Calculator(const Domain& domain) : domain_(domain) {}

  /// One number of the result of an operation that works number by number.
  /// \param kinds  of the operands
  [[nodiscard]] Number calculated(const Instruction& instruction,
                                  std::span<const ElementKind> kinds, const ElementKind& to,
                                  std::span<const Number> operands) const {
    switch (instruction.id) {
      case Id::select:
        return operands[0].real != 0 ? operands[1] : operands[2];
      case Id::clamp:
        return clamped(kinds[1], operands);
      case Id::compare:
        return {compared(std::get<CompareDetail>(instruction.detail), kinds[0], operands) ? 1 : 0};
      case Id::convert:
        return converted(operands[0], kinds[0], to);
      case Id::bitcast:
      case Id::bitcast_convert:
        return bit_cast(instruction, operands[0], kinds[0], to);
      case Id::is_finite:
        return {domain_.is_finite(operands[0].real) ? 1 : 0};
      case Id::real:
        return {operands[0].real};
      case Id::imag:
        return {is_complex(kinds[0]) ? operands[0].imaginary : domain_.from(0)};
      case Id::complex:
        return {operands[0].real, operands[1].real};
      case Id::reduce_precision: {
        const auto& detail = std::get<RoundDetail>(instruction.detail);
        return {domain_.rounded(operands[0].real, detail.exponent_bits, detail.mantissa_bits)};
      }
      default:
        break;
    }
    if (kinds[0].is_number()) return {of_integers(instruction, kinds[0], operands)};
    if (kinds[0].is_real()) return {of_reals(instruction.id, operands)};
    if (is_complex(kinds[0])) return of_complex(instruction.id, operands);
    throw NotEvaluated{"numbers of this type are not computed with", instruction.place};
  }

  [[nodiscard]] const Domain& domain() const { return domain_; }

 private:
  [[nodiscard]] static Word of_integers(const Instruction& instruction, const ElementKind& kind,
                                        std::span<const Number> operands) {
    if (instruction.id == Id::power) return power(kind, operands[0].real, operands[1].real);
    const auto arithmetic = integer_arithmetic(instruction.id);
    if (!arithmetic) throw NotEvaluated{"of integers it is not evaluated", instruction.place};
    return operations::calculate(*arithmetic, operands[0].real,
                                 operands.size() > 1 ? operands[1].real : 0, kind);
  }
  /// Of a negative exponent what XLA gives: 1 for 1, 1 or -1 for -1, else 0.
  [[nodiscard]] static Word power(const ElementKind& kind, Word base, Word exponent) {
    if (exponent < 0 && kind.is_signed) {
      if (base == 1) return 1;
      if (base == -1) return exponent % 2 == 0 ? 1 : -1;
      return 0;
    }
    Word out = 1;
    for (auto left = static_cast<std::uint64_t>(exponent); left > 0; left /= 2) {
      if (left % 2 == 1) {
        out = operations::calculate(operations::Arithmetic::multiply, out, base, kind);
      }
      base = operations::calculate(operations::Arithmetic::multiply, base, base, kind);
    }
    return out;
  }
  [[nodiscard]] Word of_reals(Id id, std::span<const Number> operands) const {
    const Word a = operands[0].real;
    if (operands.size() < 2) return domain_.unary(id, a);
    const Word b = operands[1].real;
    switch (id) {
      case Id::add:
        return domain_.add(a, b);
      case Id::subtract:
        return domain_.sub(a, b);
      case Id::multiply:
        return domain_.mul(a, b);
      case Id::divide:
        return domain_.div(a, b);
      case Id::maximum:
        return domain_.max(a, b);
      case Id::minimum:
        return domain_.min(a, b);
      default:
        return domain_.binary(id, a, b);
    }
  }
  [[nodiscard]] Number times(const Number& a, const Number& b) const {
    return {domain_.sub(domain_.mul(a.real, b.real), domain_.mul(a.imaginary, b.imaginary)),
            domain_.add(domain_.mul(a.real, b.imaginary), domain_.mul(a.imaginary, b.real))};
  }
  [[nodiscard]] Number of_complex(Id id, std::span<const Number> operands) const {
    const Number& a = operands[0];
    const Number b = operands.size() > 1 ? operands[1] : Number{};
    switch (id) {
      case Id::add:
        return {domain_.add(a.real, b.real), domain_.add(a.imaginary, b.imaginary)};
      case Id::subtract:
        return {domain_.sub(a.real, b.real), domain_.sub(a.imaginary, b.imaginary)};
      case Id::multiply:
        return times(a, b);
      case Id::negate:
        return {domain_.neg(a.real), domain_.neg(a.imaginary)};
      case Id::divide: {
        const Word norm =
            domain_.add(domain_.mul(b.real, b.real), domain_.mul(b.imaginary, b.imaginary));
        const Number product = times(a, {b.real, domain_.neg(b.imaginary)});
        return {domain_.div(product.real, norm), domain_.div(product.imaginary, norm)};
      }
      case Id::absolute: {
        const Word norm =
            domain_.add(domain_.mul(a.real, a.real), domain_.mul(a.imaginary, a.imaginary));
        return {domain_.unary(Id::sqrt, norm)};
      }
      case Id::exponential: {  // exp(x) (cos y + i sin y)
        const Word size = domain_.unary(Id::exponential, a.real);
        return {domain_.mul(size, domain_.unary(Id::cosine, a.imaginary)),
                domain_.mul(size, domain_.unary(Id::sine, a.imaginary))};
      }
      default: {
        const std::array<Word, 4> arguments = {a.real, a.imaginary, b.real, b.imaginary};
        const auto function = 5000 + 2 * static_cast<std::uint64_t>(id);
        return {domain_.unknown(function, arguments), domain_.unknown(function + 1, arguments)};
      }
    }
  }
  [[nodiscard]] Number clamped(const ElementKind& kind, std::span<const Number> operands) const {
    const Word low = operands[0].real;
    const Word number = operands[1].real;
    const Word high = operands[2].real;
    if (kind.is_number()) return {operations::clamped(low, number, high, kind)};
    return {domain_.min(domain_.max(low, number), high)};
  }
  [[nodiscard]] bool compared(const CompareDetail& detail, const ElementKind& kind,
                              std::span<const Number> operands) const {
    const Number& a = operands[0];
    const Number& b = operands[1];
    if (is_complex(kind)) {
      using operations::Comparison;
      const bool same =
          domain_.compared(Comparison::eq, operations::Order::of_type, a.real, b.real) &&
          domain_.compared(Comparison::eq, operations::Order::of_type, a.imaginary, b.imaginary);
      return (detail.comparison == Comparison::ne) != same;
    }
    if (kind.is_number()) {
      return operations::compared(detail.comparison, detail.order, a.real, b.real, kind);
    }
    return domain_.compared(detail.comparison, detail.order, a.real, b.real);
  }
  [[nodiscard]] Number converted(const Number& a, const ElementKind& from,
                                 const ElementKind& to) const {
    if (from.is_number() && to.is_number()) return {operations::converted(a.real, from, to)};
    if (from.is_number())
      return {lifted(domain_, a.real, from, to), is_complex(to) ? domain_.from(0) : 0};
    if (to.form == ElementKind::Form::truth && is_complex(from)) {
      return {domain_.to_integer(a.real, to) != 0 || domain_.to_integer(a.imaginary, to) != 0};
    }
    if (to.is_number()) return {domain_.to_integer(a.real, to)};
    Number out = a;
    if (!is_complex(from) && is_complex(to)) out.imaginary = domain_.from(0);
    if (from.format != to.format) {
      ElementKind narrow = from;
      ElementKind wide = to;
      narrow.form = wide.form = ElementKind::Form::real;
      out.real = domain_.converted(out.real, narrow, wide);
      if (is_complex(to)) out.imaginary = domain_.converted(out.imaginary, narrow, wide);
    }
    return out;
  }
  [[nodiscard]] Number bit_cast(const Instruction& instruction, const Number& a,
                                const ElementKind& from, const ElementKind& to) const {
    if (from.bits != to.bits || is_complex(from) || is_complex(to)) {
      throw NotEvaluated{"bits as numbers of another size are not evaluated", instruction.place};
    }
    if (from.is_number() && to.is_number()) return {operations::wrapped(a.real, to)};
    if (from.is_number()) return {domain_.of_bits(a.real, to)};
    if (to.is_number()) return {operations::wrapped(domain_.to_bits(a.real, from), to)};
    if (from.format == to.format) return a;
    return {domain_.of_bits(domain_.to_bits(a.real, from), to)};
  }

  const Domain& domain_;
};

/// Whether an operation works number by number on arrays of one shape.
[[nodiscard]] bool is_elementwise(Id id);

/// A computation of scalars, made ready to be run many times.
template <typename Domain>
class ScalarProgram {
 public:
  /// \param repeats  the scalars' types where the computation is run on other types: none
  /// Throws NotEvaluated where it has more than scalars and operations number by number.
  ScalarProgram(const Computation& computation, const Domain& domain)
      : computation_(computation), calculator_(domain), registers_(computation.values.size()) {
    for (const Instruction& one : computation.body) {
      if (one.id == Id::constant) {
        set_constant(one);
        continue;
      }
      const bool is_renamed = one.id == Id::broadcast || one.id == Id::reshape;
      if (!is_elementwise(one.id) && !is_renamed && one.id != Id::bitcast) {
        throw NotEvaluated{"it is not evaluated inside of a computation of scalars", one.place};
      }
      steps_.push_back(step_of(one));
    }
    for (const Value& value : computation.values) {
      if (!value.type.extents.empty()) {
        throw NotEvaluated{"a computation of scalars has an array",
                           computation.body.empty() ? TextPlace{} : computation.body.front().place};
      }
    }
  }

  /// Sets parameter k.
  void set(std::size_t k, const Number& number) { registers_[computation_.parameters[k]] = number; }
  void run() {
    std::array<Number, 3> operands;
    for (const Step& step : steps_) {
      for (std::size_t k = 0; k < step.count; ++k) operands[k] = registers_[step.operands[k]];
      Number& out = registers_[step.result];
      out = step.is_same
                ? operands[0]
                : calculator_.calculated(*step.instruction, {step.kinds.data(), step.count},
                                         step.to, {operands.data(), step.count});
    }
  }
  [[nodiscard]] const Number& result(std::size_t k) const {
    return registers_[computation_.results[k]];
  }
  [[nodiscard]] std::size_t parameters() const { return computation_.parameters.size(); }
  [[nodiscard]] std::size_t results() const { return computation_.results.size(); }
  /// The operation that it is of its two parameters in their order, if it is one and nothing else.
  [[nodiscard]] std::optional<Id> only_operation() const {
    if (steps_.size() != 1 || computation_.body.size() != 1) return std::nullopt;
    const Instruction& one = computation_.body.front();
    const bool is_of_both = one.operands == computation_.parameters && one.operands.size() == 2 &&
                            computation_.results == one.results;
    return is_of_both ? std::optional(one.id) : std::nullopt;
  }

 private:
  struct Step {
    const Instruction* instruction = nullptr;
    std::array<ValueId, 3> operands{};
    std::array<ElementKind, 3> kinds{};
    std::size_t count = 0;
    ValueId result = 0;
    ElementKind to{};
    bool is_same = false;
  };

  [[nodiscard]] Step step_of(const Instruction& one) const {
    if (one.operands.empty() || one.operands.size() > 3 || one.results.size() != 1) {
      throw NotEvaluated{"it has another number of operands", one.place};
    }
    Step out{.instruction = &one, .count = one.operands.size(), .result = one.results.front()};
    for (std::size_t k = 0; k < out.count; ++k) {
      out.operands[k] = one.operands[k];
      out.kinds[k] = computation_.values[one.operands[k]].type.kind;
    }
    out.to = computation_.values[out.result].type.kind;
    out.is_same = one.id == Id::broadcast || one.id == Id::reshape ||
                  (one.id == Id::bitcast && out.kinds[0] == out.to);
    return out;
  }
  void set_constant(const Instruction& one) {
    const ElementKind& kind = computation_.values[one.results.front()].type.kind;
    const auto& words = std::get<Literal>(one.detail).words;
    Number& out = registers_[one.results.front()];
    const auto number = [&](Word word) {
      return kind.is_number() ? word : calculator_.domain().of_literal(operations::real_of(word));
    };
    out.real = number(words.at(0));
    if (is_complex(kind)) out.imaginary = number(words.at(1));
  }

  const Computation& computation_;
  Calculator<Domain> calculator_;
  std::vector<Number> registers_;
  std::vector<Step> steps_;
};

}  // namespace retile::whole
