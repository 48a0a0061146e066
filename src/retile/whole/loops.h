// Operations number by number as loops that know before they begin which operation they do. They make
// the words that Calculator makes. Room-internal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "retile/operations/arithmetic.h"
#include "retile/whole/module.h"
#include "retile/whole/scalar.h"

namespace retile::whole {

/// Brings integers of fewer than 64 bits back into their type.
class Wrapping {
 public:
  explicit Wrapping(const ElementKind& kind) : unused_(64U - static_cast<unsigned>(kind.bits)) {}

  template <bool is_signed>
  [[nodiscard]] Word wrapped(std::uint64_t a) const {
    const std::uint64_t high = a << unused_;
    return is_signed ? static_cast<Word>(high) >> unused_ : static_cast<Word>(high >> unused_);
  }

 private:
  unsigned unused_;
};

/// Calls `use` with what an operation does to two integers of a type; whether it is one of those that
/// have a loop. Truth values have one for operations on bits.
template <bool is_signed, typename Use>
bool with_integers(Id id, const ElementKind& kind, const Use& use) {
  const Wrapping to(kind);
  const auto bits = [](Word a) { return static_cast<std::uint64_t>(a); };
  const auto size = static_cast<std::uint64_t>(kind.bits);
  const auto low = [to](Word a) {
    return static_cast<std::uint64_t>(to.wrapped<false>(static_cast<std::uint64_t>(a)));
  };
  const auto less = [](Word a, Word b) {
    return is_signed ? a < b : static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b);
  };
  const auto with = [&](const auto& op) {
    use(op);
    return true;
  };
  switch (id) {
    case Id::add:
      return with([=](Word a, Word b) { return to.wrapped<is_signed>(bits(a) + bits(b)); });
    case Id::subtract:
      return with([=](Word a, Word b) { return to.wrapped<is_signed>(bits(a) - bits(b)); });
    case Id::multiply:
      return with([=](Word a, Word b) { return to.wrapped<is_signed>(bits(a) * bits(b)); });
    case Id::maximum:
      return with([=](Word a, Word b) { return less(a, b) ? b : a; });
    case Id::minimum:
      return with([=](Word a, Word b) { return less(a, b) ? a : b; });
    case Id::shift_left:
      return with([=](Word a, Word b) {
        return low(b) >= size ? 0 : to.wrapped<is_signed>(bits(a) << low(b));
      });
    case Id::shift_right_logical:
      return with([=](Word a, Word b) {
        return low(b) >= size ? 0 : to.wrapped<is_signed>(low(a) >> low(b));
      });
    default:
      return false;
  }
}

/// Calls `use` with what an operation does to two numbers of a type; whether it is one of those that
/// have a loop.
template <typename Domain, typename Use>
bool with_operation(const Domain& domain, Id id, const ElementKind& kind, const Use& use) {
  const auto with = [&](const auto& op) {
    use(op);
    return true;
  };
  if (kind.is_number()) {
    if (id == Id::bit_and) return with([](Word a, Word b) { return a & b; });
    if (id == Id::bit_or) return with([](Word a, Word b) { return a | b; });
    if (id == Id::bit_xor) return with([](Word a, Word b) { return a ^ b; });
    if (kind.form == ElementKind::Form::truth) return false;
    return kind.is_signed ? with_integers<true>(id, kind, use)
                          : with_integers<false>(id, kind, use);
  }
  if (!kind.is_real()) return false;
  switch (id) {
    case Id::add:
      return with([&](Word a, Word b) { return domain.add(a, b); });
    case Id::subtract:
      return with([&](Word a, Word b) { return domain.sub(a, b); });
    case Id::multiply:
      return with([&](Word a, Word b) { return domain.mul(a, b); });
    case Id::maximum:
      return with([&](Word a, Word b) { return domain.max(a, b); });
    case Id::minimum:
      return with([&](Word a, Word b) { return domain.min(a, b); });
    default:
      return false;
  }
}

/// An operand of a loop.
struct Operand {
  std::span<const Word> words;
  bool is_one = false;  ///< one number for all of the result
  ElementKind kind;
};

/// The loops of operations on arrays.
template <typename Domain>
class Loops {
 public:
  explicit Loops(const Domain& domain) : domain_(domain) {}

  /// Whether it has been computed; the rest is left to Calculator: complex numbers and what is rare.
  /// \param out  the words of the result, apart from the operands
  [[nodiscard]] bool compute(const Instruction& one, std::span<const Operand> operands,
                             const ElementKind& to, std::span<Word> out) const {
    for (const Operand& operand : operands) {
      if (!operand.kind.has_words()) return one.id == Id::select && select(operands, to, out);
    }
    if (!to.has_words()) return false;
    switch (one.id) {
      case Id::select:
        return select(operands, to, out);
      case Id::clamp:
        return clamp(operands, out);
      case Id::compare:
        return compare(std::get<CompareDetail>(one.detail), operands, out);
      case Id::convert:
        return convert(operands[0], to, out);
      default:
        return arithmetic(one.id, operands, out);
    }
  }

 private:
  template <typename Op>
  static bool each(std::span<const Operand> operands, std::span<Word> out, const Op& op) {
    const Word* const a = operands[0].words.data();
    if constexpr (std::is_invocable_v<Op, Word, Word>) {
      const Word* const b = operands[1].words.data();
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = op(a[i], b[i]);
    } else {
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = op(a[i]);
    }
    return true;
  }
  [[nodiscard]] bool select(std::span<const Operand> operands, const ElementKind& to,
                            std::span<Word> out) const {
    const std::size_t width = words_of(to);
    const std::span<const Word> truth = operands[0].words;
    const Word* const a = operands[1].words.data();
    const Word* const b = operands[2].words.data();
    if (operands[0].is_one) {
      if (!out.empty()) std::copy_n(truth[0] != 0 ? a : b, out.size(), out.begin());
      return true;
    }
    if (width != 1) return false;
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = truth[i] != 0 ? a[i] : b[i];
    return true;
  }
  [[nodiscard]] bool clamp(std::span<const Operand> operands, std::span<Word> out) const {
    const ElementKind& kind = operands[1].kind;
    if (kind.form == ElementKind::Form::truth) return false;
    const Word* const low = operands[0].words.data();
    const Word* const high = operands[2].words.data();
    const std::size_t low_step = operands[0].is_one ? 0 : 1;
    const std::size_t high_step = operands[2].is_one ? 0 : 1;
    const std::span<const Word> a = operands[1].words;
    return with_operation(domain_, Id::maximum, kind, [&](const auto& max) {
      with_operation(domain_, Id::minimum, kind, [&](const auto& min) {
        for (std::size_t i = 0; i < out.size(); ++i) {
          out[i] = clamped(kind, low[i * low_step], a[i], high[i * high_step], max, min);
        }
      });
    });
  }
  template <typename Max, typename Min>
  [[nodiscard]] static Word clamped(const ElementKind& kind, Word low, Word a, Word high,
                                    const Max& max, const Min& min) {
    return kind.is_number() ? min(max(a, low), high) : min(max(low, a), high);
  }
  template <typename Compared>
  [[nodiscard]] static bool compare_by(operations::Comparison comparison,
                                       std::span<const Operand> operands, std::span<Word> out,
                                       const Compared& compared) {
    using operations::Comparison;
    const auto by = [&](auto constant) {
      return each(operands, out,
                  [&](Word a, Word b) { return compared(constant(), a, b) ? Word{1} : Word{0}; });
    };
    switch (comparison) {
      case Comparison::eq:
        return by([] { return Comparison::eq; });
      case Comparison::ne:
        return by([] { return Comparison::ne; });
      case Comparison::lt:
        return by([] { return Comparison::lt; });
      case Comparison::le:
        return by([] { return Comparison::le; });
      case Comparison::gt:
        return by([] { return Comparison::gt; });
      case Comparison::ge:
        return by([] { return Comparison::ge; });
    }
    return false;
  }
  [[nodiscard]] bool compare(const CompareDetail& detail, std::span<const Operand> operands,
                             std::span<Word> out) const {
    const ElementKind& kind = operands[0].kind;
    if (kind.is_real()) {
      return compare_by(detail.comparison, operands, out,
                        [&](operations::Comparison comparison, Word a, Word b) {
                          return domain_.compared(comparison, detail.order, a, b);
                        });
    }
    if (detail.order != operations::Order::of_type) return false;
    // Of unsigned integers the highest bit is one of the number.
    const std::uint64_t turned = kind.is_signed ? 0 : std::uint64_t{1} << 63U;
    return compare_by(detail.comparison, operands, out,
                      [turned](operations::Comparison comparison, Word a, Word b) {
                        const auto x = static_cast<Word>(static_cast<std::uint64_t>(a) ^ turned);
                        const auto y = static_cast<Word>(static_cast<std::uint64_t>(b) ^ turned);
                        return ordered(comparison, x, y);
                      });
  }
  [[nodiscard]] static bool ordered(operations::Comparison comparison, Word a, Word b) {
    using operations::Comparison;
    switch (comparison) {
      case Comparison::eq:
        return a == b;
      case Comparison::ne:
        return a != b;
      case Comparison::lt:
        return a < b;
      case Comparison::le:
        return a <= b;
      case Comparison::gt:
        return a > b;
      case Comparison::ge:
        break;
    }
    return a >= b;
  }
  [[nodiscard]] bool convert(const Operand& operand, const ElementKind& to,
                             std::span<Word> out) const {
    const std::span<const Operand> one(&operand, 1);
    const ElementKind& from = operand.kind;
    if (from.is_number() && to.is_number()) {
      if (to.form == ElementKind::Form::truth) return false;
      const Wrapping in(to);
      const auto bits = [](Word a) { return static_cast<std::uint64_t>(a); };
      if (to.is_signed) return each(one, out, [&](Word a) { return in.wrapped<true>(bits(a)); });
      return each(one, out, [&](Word a) { return in.wrapped<false>(bits(a)); });
    }
    if (from.is_number()) {
      return each(one, out, [&](Word a) { return lifted(domain_, a, from, to); });
    }
    if (to.is_number()) return each(one, out, [&](Word a) { return domain_.to_integer(a, to); });
    if (from.format == to.format || Domain::is_kept(from, to)) {
      return each(one, out, [](Word a) { return a; });
    }
    return each(one, out, [&](Word a) { return domain_.converted(a, from, to); });
  }
  [[nodiscard]] bool arithmetic(Id id, std::span<const Operand> operands,
                                std::span<Word> out) const {
    const ElementKind& kind = operands[0].kind;
    if (operands.size() == 2) {
      if (kind.is_real() && id == Id::divide) {
        domain_.divide(operands[0].words, operands[1].words.data(), out.data());
        return true;
      }
      return with_operation(domain_, id, kind, [&](const auto& op) { each(operands, out, op); });
    }
    if (kind.is_real()) return unary(id, operands, out);
    if (id != Id::bit_not) return false;
    if (kind.form == ElementKind::Form::truth) {
      return each(operands, out, [](Word a) { return a == 0 ? Word{1} : Word{0}; });
    }
    const Wrapping in(kind);
    const auto turned = [](Word a) { return ~static_cast<std::uint64_t>(a); };
    if (kind.is_signed) {
      return each(operands, out, [&](Word a) { return in.wrapped<true>(turned(a)); });
    }
    return each(operands, out, [&](Word a) { return in.wrapped<false>(turned(a)); });
  }
  [[nodiscard]] bool unary(Id id, std::span<const Operand> operands, std::span<Word> out) const {
    if (id == Id::negate) return each(operands, out, [&](Word a) { return domain_.neg(a); });
    const bool is_function = (id >= Id::exponential && id <= Id::sinh && id != Id::is_finite) ||
                             id == Id::absolute || id == Id::sign;
    if (is_function) domain_.unary(id, operands[0].words, out.data());
    return is_function;
  }

  const Domain& domain_;
};

}  // namespace retile::whole
