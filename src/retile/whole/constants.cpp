#include "retile/whole/constants.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "retile/operations/element.h"
#include "retile/whole/array.h"
#include "retile/whole/real.h"
#include "retile/whole/scalar.h"

namespace retile::whole {
namespace {

/// A constant with its type, so that each is rounded as its own type is.
using TypedConstant = std::pair<const operations::FloatFormat*, double>;

/// The number of a constant all of whose elements are the same.
std::optional<TypedConstant> constant_of(const Computation& in, const Instruction& one) {
  if (one.id != Id::constant) return std::nullopt;
  const ElementKind& kind = in.values[one.results.front()].type.kind;
  const auto* literal = std::get_if<Literal>(&one.detail);
  if (literal == nullptr || !kind.is_real() || kind.format == nullptr) return std::nullopt;
  const auto& words = literal->words;
  const bool is_one = !words.empty() && std::all_of(words.begin(), words.end(), [&](Word word) {
    return word == words.front();
  });
  if (!is_one) return std::nullopt;
  return TypedConstant(kind.format, operations::real_of(words.front()));
}

std::set<TypedConstant> constants_of(const Module& module) {
  std::set<TypedConstant> out;
  for (const Computation& computation : module.computations) {
    for (const Instruction& one : computation.body) {
      const auto number = constant_of(computation, one);
      if (number && std::isfinite(number->second) && number->second != 0) out.insert(*number);
    }
  }
  return out;
}

/// Those, and the parts of complex ones.
std::set<TypedConstant> with_parts(const Module& module) {
  std::set<TypedConstant> out = constants_of(module);
  for (const Computation& computation : module.computations) {
    for (const Instruction& one : computation.body) {
      const auto* literal = std::get_if<Literal>(&one.detail);
      if (literal == nullptr) continue;
      const ElementKind& kind = computation.values[one.results.front()].type.kind;
      if (!is_complex(kind)) continue;
      for (const Word word : literal->words) out.emplace(kind.format, operations::real_of(word));
    }
  }
  return out;
}

/// What rounds the reciprocal of a number, with that number. A number above 1 goes first, lest of 0.1
/// and 10 each be the reciprocal of the other.
std::map<TypedConstant, double> rounded_reciprocals(const std::set<TypedConstant>& numbers) {
  std::map<TypedConstant, double> out;
  for (const bool is_large : {true, false}) {
    for (const TypedConstant& number : numbers) {
      const auto& [format, of] = number;
      if ((std::fabs(of) > 1) != is_large || out.count(number) > 0) continue;
      const double reciprocal = operations::rounded(1 / of, *format);
      // Powers of two have one that is exact.
      if (!std::isfinite(reciprocal) || std::fma(reciprocal, of, -1.0) == 0) continue;
      out.emplace(TypedConstant(format, reciprocal), of);
    }
  }
  return out;
}

/// Puts 1 / of in the place of constants; how many there were.
Size put_reciprocals(Module& module, const std::map<TypedConstant, double>& reciprocals) {
  Size out = 0;
  for (Computation& computation : module.computations) {
    std::vector<Instruction> body;
    body.reserve(computation.body.size());
    for (Instruction& one : computation.body) {
      const auto number = constant_of(computation, one);
      const auto found = number ? reciprocals.find(*number) : reciprocals.end();
      if (found == reciprocals.end()) {
        body.push_back(std::move(one));
        continue;
      }
      ++out;
      Instruction quotient = one;
      quotient.id = Id::divide;
      quotient.detail = NoDetail{};
      quotient.operands.clear();
      const std::size_t count = std::get<Literal>(one.detail).words.size();
      for (const double part : {1.0, found->second}) {
        const Value like = computation.values[one.results.front()];
        computation.values.push_back({.name = like.name + "#part", .type = like.type});
        quotient.operands.push_back(computation.values.size() - 1);
        Instruction constant = one;
        constant.detail = Literal{std::vector<Word>(count, operations::word_of(part))};
        constant.results = {quotient.operands.back()};
        body.push_back(std::move(constant));
      }
      body.push_back(std::move(quotient));
    }
    computation.body = std::move(body);
  }
  return out;
}

/// Whether a number may be the rounded result of others: that of one of 24 bits or more ends in a dozen zeros
/// once in 4,096 times.
bool may_be_rounded(const TypedConstant& constant) {
  constexpr int zeros = 12;
  const auto& [format, number] = constant;
  const auto precision = static_cast<int>(format->precision());
  if (precision < 2 * zeros) return true;
  int exponent = 0;
  const double kept = std::ldexp(std::frexp(number, &exponent), precision - zeros);
  return kept != std::trunc(kept);
}

/// Puts constants that `wanted` has in the place of operations on constants alone that round to them.
class Folding {
 public:
  Folding(Computation& in, std::set<TypedConstant> wanted)
      : in_(in), wanted_(std::move(wanted)), calculator_(real_) {}

  Size folded() {
    Size out = 0;
    for (Instruction& one : in_.body) {
      if (one.results.size() != 1) continue;
      const auto number = number_of(one);
      if (!number) continue;
      numbers_.emplace(one.results.front(), *number);
      out += put(one, *number) ? 1 : 0;
    }
    return out;
  }
  /// Whether one of the operations on constants alone is rounded.
  [[nodiscard]] bool is_rounded() const { return is_rounded_; }

 private:
  [[nodiscard]] const ArrayType& type_of(ValueId value) const { return in_.values[value].type; }
  /// The number that all elements of its result are, if that is known.
  [[nodiscard]] std::optional<Word> number_of(const Instruction& one) {
    if (const auto* literal = std::get_if<Literal>(&one.detail)) {
      const auto& words = literal->words;
      const bool is_one =
          !words.empty() && !is_complex(type_of(one.results.front()).kind) &&
          std::all_of(words.begin(), words.end(), [&](Word word) { return word == words.front(); });
      return is_one ? std::optional(words.front()) : std::nullopt;
    }
    constexpr std::size_t most = 3;
    if (one.operands.empty() || one.operands.size() > most) return std::nullopt;
    std::vector<Number> numbers;
    std::vector<ElementKind> kinds;
    for (const ValueId operand : one.operands) {
      const auto known = numbers_.find(operand);
      if (known == numbers_.end()) return std::nullopt;
      numbers.push_back({known->second});
      kinds.push_back(type_of(operand).kind);
    }
    if (one.id == Id::broadcast || one.id == Id::reshape) return numbers.front().real;
    if (!is_elementwise(one.id)) return std::nullopt;
    return computed(one, kinds, numbers);
  }
  [[nodiscard]] std::optional<Word> computed(const Instruction& one,
                                             const std::vector<ElementKind>& kinds,
                                             const std::vector<Number>& numbers) {
    const ElementKind& to = type_of(one.results.front()).kind;
    if (is_complex(to)) return std::nullopt;
    try {
      const Word out = calculator_.calculated(one, kinds, to, numbers).real;
      if (!to.is_real()) return out;
      const double exact = operations::real_of(out);
      const double rounded = operations::rounded(exact, *to.format);
      is_rounded_ = is_rounded_ || (std::isfinite(exact) && rounded != exact);
      return operations::word_of(rounded);
    } catch (const NotEvaluated&) {
      return std::nullopt;
    }
  }
  bool put(Instruction& one, Word number) const {
    constexpr Size most = 4096;
    const ArrayType& type = type_of(one.results.front());
    const Size count = count_of(type);
    if (!is_elementwise(one.id) || !type.kind.is_real() || count > most) return false;
    if (!wanted_.contains({type.kind.format, operations::real_of(number)})) return false;
    one.id = Id::constant;
    one.operands.clear();
    one.detail = Literal{std::vector<Word>(static_cast<std::size_t>(count), number)};
    return true;
  }

  Computation& in_;
  std::set<TypedConstant> wanted_;
  Real real_{0};
  Calculator<Real> calculator_;
  std::map<ValueId, Word> numbers_;
  bool is_rounded_ = false;
};

}  // namespace

Size with_computed_constants(Module& before, Module& after) {
  const std::set<TypedConstant> known = constants_of(before);
  std::set<TypedConstant> wanted;
  for (const TypedConstant& one : constants_of(after)) {
    if (!known.contains(one)) wanted.insert(one);
  }
  if (wanted.empty()) return 0;
  Size out = 0;
  for (Computation& computation : before.computations) out += Folding(computation, wanted).folded();
  if (out == 0) return 0;
  for (Computation& computation : after.computations) {
    static_cast<void>(Folding(computation, wanted).folded());
  }
  return out;
}

Size with_whole_reciprocals(Module& before, Module& after) {
  const std::map<TypedConstant, double> reciprocals = rounded_reciprocals(constants_of(before));
  if (reciprocals.empty()) return 0;
  static_cast<void>(put_reciprocals(before, reciprocals));
  return put_reciprocals(after, reciprocals);
}

bool has_computed_constants(Module& before, const Module& after) {
  const std::set<TypedConstant> known = with_parts(before);
  for (const TypedConstant& number : with_parts(after)) {
    if (!known.contains(number) && may_be_rounded(number)) return true;
  }
  return std::any_of(before.computations.begin(), before.computations.end(),
                     [](Computation& computation) {
                       Folding folding(computation, {});
                       static_cast<void>(folding.folded());
                       return folding.is_rounded();
                     });
}

}  // namespace retile::whole
