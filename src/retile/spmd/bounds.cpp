#include "bounds.h"

#include <algorithm>
#include <set>

namespace retile::spmd {

namespace {

Size bounded(Size a, Size b) { return std::min(a + b, most_bits); }

/// The least k with count <= 2^k.
int ceil_log(Size count) {
  int out = 0;
  while (out < 63 && (Size{1} << out) < count) ++out;
  return out;
}
/// The least k with |number| <= 2^k.
int bits_of(Size number) {
  if (number < 0) return number == -number ? 63 : ceil_log(-number);
  return ceil_log(number);
}

/// Of the polynomials of one value.
struct Bound {
  Size degree = 0;
  Size bits = 0;  // the numerators' magnitudes add up to 2^bits at most
  Size depth =
      0;  // maxima in each other; the denominator divides the factors' product to this power
};
using BoundsOfValues = std::vector<Bound>;

class Bounding {
 public:
  Bounding(const Module& module, const std::vector<Size>& factors) : module_(module) {
    for (const Size k : factors) factors_bits_ += bits_of(k);
  }

  Bounds all() {
    BoundsOfValues inputs;
    std::vector<Shape> globals;
    for (std::size_t x = 0; x < module_.parameters; ++x) {
      const Layout& layout = module_.values[x].type.layout();
      values_.push_back({.degree = 1});
      inputs.push_back(collapsed(values_[x], layout));
      globals.push_back(layout.global());
    }
    for (const Statement& statement : module_.body) values_.push_back(see(made_by(statement)));
    for (const auto& [x, type] : module_.returned) {
      (void)collapsed(values_[x], module_.values[x].type.layout());
    }
    if (module_.denotes) {
      for (const auto& [name, e] : module_.denotes->definitions) {
        inputs.push_back(see(of(e, globals, inputs)));
        globals.push_back(typed(e, globals));
      }
      for (const Expression& e : module_.denotes->results) (void)of(e, globals, inputs);
    }
    // Over one denominator, for a multiple by a factor, and for a difference.
    const Size more = bounded(most_.depth, 1) * factors_bits_;
    return {most_.degree, bounded(bounded(most_.bits, more), 1)};
  }

 private:
  Bound see(Bound b) {
    most_.degree = std::max(most_.degree, b.degree);
    most_.bits = std::max(most_.bits, b.bits);
    most_.depth = std::max(most_.depth, b.depth);
    return b;
  }
  /// Over the denominator of the deepest.
  Bound joined(const BoundsOfValues& parts) const {
    Bound out;
    for (const Bound& b : parts) {
      out.degree = std::max(out.degree, b.degree);
      out.depth = std::max(out.depth, b.depth);
    }
    for (const Bound& b : parts) {
      const Size lifted = bounded(b.bits, (out.depth - b.depth) * factors_bits_);
      out.bits = std::max(out.bits, lifted);
    }
    return out;
  }
  Bound sum(const BoundsOfValues& parts, Size count) {
    Bound out = joined(parts);
    out.bits = bounded(out.bits, ceil_log(count));
    return see(out);
  }
  Bound product(const BoundsOfValues& parts) {
    Bound out;
    for (const Bound& b : parts) {
      out.degree = bounded(out.degree, b.degree);
      out.bits = bounded(out.bits, b.bits);
      out.depth = bounded(out.depth, b.depth);
    }
    return see(out);
  }
  /// q + r, q + k r or q + r / k, where r is a variable: see Maxima.
  Bound maximum(const BoundsOfValues& parts) {
    Bound out = joined(parts);
    out.degree = std::max<Size>(out.degree, 1);
    out.depth = bounded(out.depth, 1);
    const Size variable = bounded(out.depth * factors_bits_, factors_bits_);
    out.bits = bounded(std::max(bounded(out.bits, factors_bits_), variable), 1);
    return see(out);
  }

  /// A variable, whatever its argument is.
  Bound function() { return see({.degree = 1}); }

  Bound collapsed(const Bound& b, const Layout& layout) {
    if (layout.addend_count() == 1) return b;
    if (layout.addends()->addition == Addition::sum) return sum({b}, layout.addend_count());
    return maximum({b});
  }

  Bound made_by(const Statement& statement) {
    if (const auto* op = std::get_if<SpmdOp>(&statement.op)) return made_by(*op);
    const std::size_t x = std::get<RedistributeOp>(statement.op).argument;
    const Bound whole = collapsed(values_[x], module_.values[x].type.layout());
    const Size addends = module_.values[statement.value].type.layout().addend_count();
    return addends == 1 ? whole : sum({whole, {.degree = 1}}, addends);
  }
  /// The largest of all devices. Those that have tiles of the same shapes are alike.
  Bound made_by(const SpmdOp& op) {
    BoundsOfValues arguments;
    for (const std::size_t x : op.arguments) arguments.push_back(values_[x]);
    std::set<std::vector<Shape>> seen;
    BoundsOfValues results;
    for (Size d = 0; d < module_.devices; ++d) {
      std::vector<Shape> shapes;
      for (const std::size_t x : op.arguments) shapes.push_back(module_.values[x].type.shape(d));
      if (!seen.insert(shapes).second) continue;
      BoundsOfValues values = arguments;
      for (const auto& [name, e] : op.definitions) {
        values.push_back(of(e, shapes, values));
        shapes.push_back(typed(e, shapes));
      }
      results.push_back(of(op.result, shapes, values));
    }
    return joined(results);
  }

  Bound of(const Expression& e, const std::vector<Shape>& shapes, const BoundsOfValues& values) {
    if (e.op == LocalOp::value) return values[e.value];
    BoundsOfValues parts;
    std::vector<Shape> operands;
    for (const Expression& operand : e.operands) {
      parts.push_back(of(operand, shapes, values));
      operands.push_back(typed(operand, shapes));
    }
    return applied(e, operands, parts);
  }
  Bound applied(const Expression& e, const std::vector<Shape>& operands,
                const BoundsOfValues& parts) {
    const Size number = e.numbers.empty() ? 0 : e.numbers[0];
    switch (e.op) {
      case LocalOp::add:
      case LocalOp::sub:
        return sum(parts, static_cast<Size>(parts.size()));
      case LocalOp::mul:
        return product(parts);
      case LocalOp::div:
        return product({parts[0], function()});
      case LocalOp::exp:
      case LocalOp::sqrt:
      case LocalOp::step:
      case LocalOp::equal:
        return function();
      case LocalOp::einsum: {
        Bound out = product(parts);
        out.bits = bounded(out.bits, bits_of_terms(e.einsum, operands));
        return see(out);
      }
      case LocalOp::scale:
        return product({parts[0], {.bits = bits_of(number)}});
      case LocalOp::fill:
        return see({.bits = bits_of(number)});
      case LocalOp::take:  // a sum of products with indicators
        return sum({product({parts[0], function()})},
                   operands[0][static_cast<std::size_t>(number)]);
      case LocalOp::reduce_sum:
        return sum(parts, operands[0][static_cast<std::size_t>(number)]);
      default:
        return is_maximum(e.op) ? maximum(parts) : parts[0];
    }
  }
  /// How many products are added up.
  static Size bits_of_terms(const Einsum& e, const std::vector<Shape>& operands) {
    Size out = 0;
    const auto extents = label_extents(e, operands);
    for (const auto& [label, extent] : *extents) {
      if (e.out.find(label) == std::string::npos) out += ceil_log(extent);
    }
    return out;
  }

  const Module& module_;
  Size factors_bits_ = 0;
  BoundsOfValues values_;  // of one addend of each
  Bound most_ = {.degree = 1};
};

void add_numbers(const Expression& e, LocalOp op, std::set<Size>& out) {
  if (e.op == op) out.insert(e.numbers[0]);
  for (const Expression& operand : e.operands) add_numbers(operand, op, out);
}

}  // namespace

Bounds bounds_of(const Module& module, const std::vector<Size>& factors) {
  return Bounding(module, factors).all();
}

std::optional<int> error_exponent(const Bounds& bounds, bool has_variables) {
  if (bounds.degree >= most_degree || bounds.bits >= most_bits) return std::nullopt;
  // For one pair of polynomials: degree / 2^61, or the prime, one of 2^54, divides a coefficient.
  const Size per_pair = bounds.degree + (bounds.bits / 61) * (Size{1} << (61 - 54));
  const int bits = ceil_log(per_pair);
  // Two primes, and with maxima and functions fewer than 2^60 pairs.
  const int out = has_variables ? 2 * (61 - bits) - 60 : 61 - bits;
  return out < 20 ? std::nullopt : std::optional(out);
}

std::vector<Size> numbers_in(const Module& module, LocalOp op) {
  std::set<Size> out;
  if (module.denotes) {
    for (const auto& [name, e] : module.denotes->definitions) add_numbers(e, op, out);
    for (const Expression& e : module.denotes->results) add_numbers(e, op, out);
  }
  for (const Statement& statement : module.body) {
    const auto* local = std::get_if<SpmdOp>(&statement.op);
    if (local == nullptr) continue;
    add_numbers(local->result, op, out);
    for (const auto& [name, e] : local->definitions) add_numbers(e, op, out);
  }
  return {out.begin(), out.end()};
}

}  // namespace retile::spmd
