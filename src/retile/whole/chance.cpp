#include "retile/whole/chance.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "retile/operations/table.h"
#include "retile/whole/array.h"

namespace retile::whole {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
/// Integers that field.h recognises: a number that is drawn may be one by chance.
constexpr double known_integers = 0x1p26;

/// A product, in which nothing of infinity is nothing.
double scaled(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

Degree larger(const Degree& a, const Degree& b) {
  return {std::max(a.numbers, b.numbers), std::max(a.reciprocals, b.reciprocals),
          std::max(a.size, b.size), std::max(a.halves, b.halves)};
}
/// Of a sum of so many.
Degree sum_of(const Degree& a, double count) {
  Degree out = a;
  out.size += std::log2(std::max(count, 1.0));
  return out;
}
/// Of a product of so many.
Degree power_of(const Degree& a, double count) {
  return {scaled(a.numbers, count), scaled(a.reciprocals, count), scaled(a.size, count),
          scaled(a.halves, count)};
}
Degree product_of(const Degree& a, const Degree& b) {
  return {a.numbers + b.numbers, a.reciprocals + b.reciprocals, a.size + b.size,
          a.halves + b.halves};
}
Degree drawn() { return {.numbers = 1}; }
Degree no_bound() { return {unbounded, unbounded, unbounded, unbounded}; }

Degree literal_degree(double real) {
  if (!std::isfinite(real) || real == 0) return {};
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(real), &exponent);
  constexpr int mantissa = 53;
  auto whole = static_cast<std::int64_t>(std::ldexp(fraction, mantissa));
  exponent -= mantissa;
  while (whole % 2 == 0) {
    whole /= 2;
    ++exponent;
  }
  return {.size = std::max(0.0, std::log2(std::fabs(real))),
          .halves = std::max(0.0, -1.0 * exponent)};
}

double elements(const ArrayType& type) {
  double out = 1;
  for (const Size extent : type.extents) out *= static_cast<double>(extent);
  return out;
}

}  // namespace

/// Walks through a text, loops as often as they went round.
class FormulaWalk {
 public:
  FormulaWalk(Formulas& out, const Module& module, const Rounds& rounds, Size devices)
      : out_(out), module_(module), rounds_(rounds), devices_(static_cast<double>(devices)) {}

  std::vector<Degree> run(ComputationId id, const std::vector<Degree>& arguments) {
    const Computation& in = module_.computations[id];
    std::vector<Degree> degrees(in.values.size());
    for (std::size_t k = 0; k < arguments.size(); ++k) degrees[in.parameters[k]] = arguments[k];
    for (const Instruction& one : in.body) {
      if (++steps_ > most_steps) {
        out_.largest_ = no_bound();
        break;
      }
      const std::vector<Degree> made = results(in, one, degrees);
      for (std::size_t k = 0; k < one.results.size(); ++k) {
        const bool has_point = !in.values[one.results[k]].type.kind.is_number();
        degrees[one.results[k]] = has_point ? made[k] : Degree{};
        out_.largest_ = larger(out_.largest_, degrees[one.results[k]]);
      }
    }
    std::vector<Degree> out;
    for (const ValueId value : in.results) out.push_back(degrees[value]);
    return out;
  }

 private:
  static constexpr Size most_steps = 1 << 20;

  [[nodiscard]] std::vector<Degree> results(const Computation& in, const Instruction& one,
                                            const std::vector<Degree>& degrees) {
    std::vector<Degree> operands;
    for (const ValueId value : one.operands) operands.push_back(degrees[value]);
    if (one.id == Id::while_loop) return looped(one, std::move(operands));
    if (one.id == Id::conditional) return chosen(one, operands);
    const auto called_on = [&](double count) {
      return std::vector(one.results.size(), folded(in, one, operands, count));
    };
    switch (one.id) {
      case Id::reduce:
        return called_on(elements(type(in, one.operands[0])) /
                         std::max(1.0, elements(type(in, one.results[0]))));
      case Id::reduce_window:
      case Id::select_and_scatter:
        return called_on(window_of(one) + 1);
      case Id::scatter:
        return called_on(elements(type(in, one.operands.back())) + 1);
      case Id::all_reduce:
      case Id::reduce_scatter:
        return called_on(devices_);
      case Id::map:
        return mapped(in, one, operands);
      default:
        return std::vector(one.results.size(), made(in, one, operands));
    }
  }
  [[nodiscard]] static const ArrayType& type(const Computation& in, ValueId value) {
    return in.values[value].type;
  }
  [[nodiscard]] static double window_of(const Instruction& one) {
    double out = 1;
    for (const WindowDim& dim : std::get<WindowDetail>(one.detail).dims) {
      out *= static_cast<double>(dim.size);
    }
    return out;
  }
  /// How often an operation is done element by element.
  [[nodiscard]] double times(const Computation& in, const Instruction& one) const {
    double out = 0;
    for (const ValueId value : one.operands) out = std::max(out, elements(type(in, value)));
    for (const ValueId value : one.results) out = std::max(out, elements(type(in, value)));
    return out * devices_ * times_;
  }
  [[nodiscard]] static Degree largest_of(const std::vector<Degree>& operands) {
    Degree out;
    for (const Degree& one : operands) out = larger(out, one);
    return out;
  }
  void decide(double count) { out_.decisions_ += count; }
  /// Of a function of which nothing is known but a few values.
  Degree function(const Computation& in, const Instruction& one, double known = 4) {
    const double count = times(in, one);
    out_.functions_[one.id] += count;
    decide(known * count);
    return drawn();
  }
  Degree quotient(const Computation& in, const Instruction& one,
                  const std::vector<Degree>& operands) {
    const Degree& by = operands[1];
    decide(times(in, one));  // whether it is 0
    const bool is_complex = whole::is_complex(type(in, one.results[0]).kind);
    Degree out = operands[0];
    out.reciprocals += 1;
    if (is_complex) out = sum_of(product_of(out, by), 4);
    const Degree divisor = is_complex ? sum_of(power_of(by, 2), 2) : by;
    out_.divisors_.push_back({divisor_count(in, one.operands[1]) * devices_ * times_, divisor});
    out_.largest_ = larger(out_.largest_, divisor);
    return out;
  }
  /// Different divisors: those before they were repeated.
  [[nodiscard]] double divisor_count(const Computation& in, ValueId value) {
    std::map<ValueId, ValueId>& repeated = repeated_[&in];
    if (repeated.empty()) {
      for (const Instruction& one : in.body) {
        if (one.id == Id::broadcast) repeated.emplace(one.results[0], one.operands[0]);
      }
    }
    while (repeated.contains(value)) value = repeated.at(value);
    return elements(type(in, value));
  }
  /// Whether all that it takes and makes are machine numbers, which are what they are.
  [[nodiscard]] static bool are_numbers(const Computation& in, const Instruction& one) {
    const auto is = [&](ValueId value) { return type(in, value).kind.is_number(); };
    return std::all_of(one.operands.begin(), one.operands.end(), is) &&
           std::all_of(one.results.begin(), one.results.end(), is);
  }
  Degree made(const Computation& in, const Instruction& one, const std::vector<Degree>& operands);
  Degree converted(const Computation& in, const Instruction& one, const Degree& operand);
  Degree raised(const Computation& in, const Instruction& one, const std::vector<Degree>& operands);
  static Degree constant(const Computation& in, const Instruction& one);

  /// A computation of scalars that is applied to so many numbers one behind the other.
  Degree folded(const Computation& in, const Instruction& one, const std::vector<Degree>& operands,
                double count) {
    const Degree each = largest_of(operands);
    const double all = times(in, one) * std::max(1.0, count);
    for (const ComputationId id : one.calls) {
      for (const Instruction& inner : module_.computations[id].body) {
        switch (operations::row_of(inner.id).in_field) {
          case operations::InField::nothing:
            break;
          case operations::InField::ordered:
            decide(all);
            break;
          case operations::InField::exact:
            if (inner.id == Id::add) break;
            if (inner.id == Id::multiply && one.calls.size() == 1) return power_of(each, count + 1);
            return no_bound();
          default:
            return no_bound();
        }
      }
    }
    return sum_of(each, count + 1);
  }
  std::vector<Degree> mapped(const Computation& in, const Instruction& one,
                             const std::vector<Degree>& operands) {
    const double before = times_;
    times_ *= elements(type(in, one.results[0]));
    std::vector<Degree> out = run(one.calls[0], operands);
    times_ = before;
    return out;
  }
  std::vector<Degree> looped(const Instruction& one, std::vector<Degree> state) {
    const auto found = rounds_.find(&one);
    const Size count = found == rounds_.end() ? 0 : found->second;
    for (Size k = 0; k < count && steps_ <= most_steps; ++k) {
      static_cast<void>(run(one.calls[0], state));
      state = run(one.calls[1], state);
    }
    static_cast<void>(run(one.calls[0], state));
    return state;
  }
  std::vector<Degree> chosen(const Instruction& one, const std::vector<Degree>& operands) {
    std::vector<Degree> out(one.results.size());
    std::size_t begin = 1;
    for (const ComputationId id : one.calls) {
      const std::size_t count = module_.computations[id].parameters.size();
      const auto first = operands.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto made = run(id, {first, first + static_cast<std::ptrdiff_t>(count)});
      for (std::size_t k = 0; k < out.size(); ++k) out[k] = larger(out[k], made[k]);
      begin += count;
    }
    return out;
  }

  Formulas& out_;
  const Module& module_;
  const Rounds& rounds_;
  double devices_;
  double times_ = 1;  // of what stands in a computation that is mapped
  Size steps_ = 0;
  std::map<const Computation*, std::map<ValueId, ValueId>> repeated_;  // by broadcasts
};

Degree FormulaWalk::constant(const Computation& in, const Instruction& one) {
  const auto* literal = std::get_if<Literal>(&one.detail);
  if (literal == nullptr || type(in, one.results[0]).kind.is_number()) return {};
  Degree out;
  for (const Word word : literal->words) {
    out = larger(out, literal_degree(operations::real_of(word)));
  }
  return out;
}

Degree FormulaWalk::converted(const Computation& in, const Instruction& one,
                              const Degree& operand) {
  const ElementKind& from = type(in, one.operands[0]).kind;
  const ElementKind& to = type(in, one.results[0]).kind;
  if (from.is_number()) return {.size = 64};
  if (one.id == Id::convert && !to.is_number() && operations::holds_all_of(to, from)) {
    return operand;
  }
  return function(in, one, known_integers);
}

/// Integers of at most 64 are exponents of which the product is made.
Degree FormulaWalk::raised(const Computation& in, const Instruction& one,
                           const std::vector<Degree>& operands) {
  constexpr double most = 64;
  Degree out = larger(power_of(operands[0], most), function(in, one, known_integers));
  out_.divisors_.push_back({times(in, one), power_of(operands[0], most)});
  out_.largest_ = larger(out_.largest_, out);
  out.reciprocals += 1;
  return out;
}

Degree FormulaWalk::made(const Computation& in, const Instruction& one,
                         const std::vector<Degree>& operands) {
  if (are_numbers(in, one)) return {};
  switch (one.id) {
    case Id::constant:
      return constant(in, one);
    case Id::iota:
      return {.size = 64};
    case Id::multiply:
      return sum_of(product_of(operands[0], operands[1]),
                    whole::is_complex(type(in, one.results[0]).kind) ? 2 : 1);
    case Id::dot:
    case Id::convolution:
      return sum_of(
          product_of(operands[0], operands[1]),
          2 * std::max(elements(type(in, one.operands[0])), elements(type(in, one.operands[1]))));
    case Id::add:
    case Id::subtract:
      return sum_of(larger(operands[0], operands[1]), 2);
    case Id::fft: {
      out_.has_roots_ = true;
      Degree out = sum_of(operands[0], 4 * elements(type(in, one.results[0])));
      out.halves += 1;  // the parts of a root are half a sum of two
      return out;
    }
    case Id::divide:
      return quotient(in, one, operands);
    case Id::power:
      return raised(in, one, operands);
    case Id::convert:
    case Id::bitcast_convert:
      return converted(in, one, operands[0]);
    case Id::reduce_precision:
    case Id::floor:
    case Id::ceil:
    case Id::round_nearest_afz:
    case Id::round_nearest_even:
      return function(in, one, known_integers);
    case Id::logistic: {  // 1 / (1 + exp(-x))
      const Degree divisor = sum_of(function(in, one), 2);
      out_.divisors_.push_back({times(in, one), divisor});
      return {.reciprocals = 1};
    }
    case Id::sort:
    case Id::top_k:
      decide(times(in, one) * times(in, one));
      return largest_of(operands);
    case Id::triangular_solve:
      return no_bound();
    default:
      break;
  }
  const operations::InField in_field = operations::row_of(one.id).in_field;
  if (in_field == operations::InField::unknown) {
    const bool is_number = type(in, one.results[0]).kind.is_number();
    return function(in, one, is_number ? known_integers : 4);
  }
  if (in_field == operations::InField::ordered) decide(3 * times(in, one));
  return largest_of(operands);
}

void Formulas::add(const Module& module, const Rounds& rounds, Size devices) {
  std::vector<Degree> arguments;
  for (const ValueId value : module.main().parameters) {
    const bool is_number = module.main().values[value].type.kind.is_number();
    arguments.push_back(is_number ? Degree{} : drawn());
    largest_ = larger(largest_, arguments.back());
  }
  static_cast<void>(FormulaWalk(*this, module, rounds, devices).run(module.entry, arguments));
}

Degree Formulas::cleared(Degree of) const {
  for (auto one = divisors_.rbegin(); one != divisors_.rend(); ++one) {
    if (of.reciprocals == 0) break;
    const Degree all = power_of(one->degree, scaled(one->count, of.reciprocals));
    of.numbers += all.numbers;
    of.size += all.size;
    of.halves += all.halves;
    of.reciprocals += all.reciprocals;
  }
  return of;
}

std::optional<double> Formulas::bits(Size root_order) const {
  const Degree of = cleared(largest_);
  double events = decisions_ + 1;
  for (const auto& [id, count] : functions_) events += count * count / 2;
  // A difference has twice the coefficients. At least 2^54 / root_order primes may be drawn.
  const double of_numbers = std::ldexp(std::max(1.0, of.numbers), -61);
  const auto order = static_cast<double>(root_order);
  const double norm = (of.size + 1 + of.halves) * (has_roots_ ? order : 1);
  const double of_primes = std::floor(norm / 61) * std::ldexp(order, -54);
  const double out = -std::log2(events * (of_numbers + of_primes));
  if (!(out > 0)) return std::nullopt;
  return out;
}

}  // namespace retile::whole
