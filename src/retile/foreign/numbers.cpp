#include "retile/foreign/numbers.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <variant>

#include "retile/core/index.h"
#include "retile/foreign/evaluator.h"
#include "retile/foreign/typing.h"

namespace retile::foreign {
namespace {

/// Bytes of scalars and of the tables that they are taken from.
constexpr Size most_scalar_bytes = Size{1} << 28;
/// Numbers of all devices that count.
constexpr std::size_t most_counts = std::size_t{1} << 24;

std::optional<Size> difference(Size a, Size b) {
  Size out = 0;
  if (__builtin_sub_overflow(a, b, &out)) return std::nullopt;
  return out;
}

class NumberReader {
 public:
  NumberReader(const Function& function, const Layout& from)
      : function_(function),
        elements_(values_of_elements(function)),
        evaluated_(function.values.size()),
        evaluator_(function, from, most_scalar_bytes) {
    out_.countings.resize(function.values.size());
  }

  Numbers read() {
    evaluate_scalars();
    for (const Operation& one : function_.operations) {
      if (const std::size_t first = before_offsets(one.action); first > 0) {
        out_.starts[&one] = evaluator_.starts(one, first);
      }
      count(one);
      look(one);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] const TileType& type(ValueId value) const { return function_.values[value].type; }
  [[nodiscard]] const std::optional<Counting>& counting(const Operation& operation,
                                                        std::size_t k) const {
    return out_.countings[operation.operands[k]];
  }

  /// Offsets, what is repeated in numbers, and all that they are made of.
  void evaluate_scalars() {
    std::vector<bool>& needed = evaluated_;
    std::vector<const Operation*> makers;
    for (auto one = function_.operations.rbegin(); one != function_.operations.rend(); ++one) {
      const std::size_t first = before_offsets(one->action);
      for (std::size_t k = first; first > 0 && k < one->operands.size(); ++k) {
        needed[one->operands[k]] = true;
      }
      if (std::holds_alternative<Broadcast>(one->action) && !elements_[one->operands[0]] &&
          type(one->operands[0]).extents.empty()) {
        needed[one->operands[0]] = true;
      }
      if (std::none_of(one->results.begin(), one->results.end(),
                       [&](ValueId value) { return needed[value]; })) {
        continue;
      }
      for (const ValueId value : one->operands) needed[value] = true;
      makers.push_back(&*one);
    }
    std::reverse(makers.begin(), makers.end());
    for (const Operation* one : makers) evaluator_.apply(*one);
  }

  void count(const Operation& operation) {
    const ValueId result = operation.results.front();
    if (elements_[result] || operation.results.size() != 1) return;
    const operations::ElementKind kind = element_kind(type(result).element);
    if (kind.form != ElementKind::Form::integer) return;
    auto made = std::visit([&](const auto& action) { return this->made_by(action, operation); },
                           operation.action);
    if (!made || !fits_all(*made, result, kind)) return;
    counts_ += made->begin.size();
    if (counts_ > most_counts) throw LimitReached{"numbers of too many devices"};
    out_.countings[result] = std::move(made);
  }
  /// Whether they are the same in the type, whichever sign its bits are taken to have.
  [[nodiscard]] bool fits_all(const Counting& made, ValueId value, const ElementKind& kind) const {
    const Size most = kind.bits >= 64 ? std::numeric_limits<Size>::max()
                                      : (Size{1} << std::max<Size>(kind.bits - 1, 0)) - 1;
    const Size least = kind.is_signed ? -most : 0;
    const Size steps = made.slope == 0 ? 0 : type(value).extents[made.dim] - 1;
    return std::all_of(made.begin.begin(), made.begin.end(), [&](Size begin) {
      const auto end = made.slope < 0 ? difference(begin, steps) : checked_add(begin, steps);
      return begin >= least && begin <= most && end && *end >= least && *end <= most;
    });
  }

  using Made = std::optional<Counting>;
  /// Of all devices that hold a value.
  [[nodiscard]] std::size_t holders(ValueId value) const {
    return function_.values[value].device ? 1 : index(function_.devices);
  }
  [[nodiscard]] Made alike(ValueId value, Size number) const {
    return Counting{.begin = std::vector<Size>(holders(value), number)};
  }
  template <typename Other>
  [[nodiscard]] Made made_by(const Other&, const Operation& operation) const {
    return scalar(operation.results.front());
  }
  /// One that was evaluated.
  [[nodiscard]] Made scalar(ValueId value) const {
    if (!evaluated_[value] || !type(value).extents.empty()) return std::nullopt;
    Counting out;
    for (const Block& block : evaluator_.at(value).blocks) {
      out.begin.push_back(block->numbers().front());
    }
    return out;
  }
  [[nodiscard]] Made made_by(const Constant& action, const Operation& operation) const {
    const ElementKind kind = element_kind(type(operation.results.front()).element);
    if (action.numbers.size() != 1) return std::nullopt;
    return alike(operation.results.front(), operations::wrapped(action.numbers.front(), kind));
  }
  [[nodiscard]] Made made_by(const Iota& action, const Operation& operation) const {
    Made out = alike(operation.results.front(), 0);
    out->slope = 1;
    out->dim = action.dim;
    return out;
  }
  [[nodiscard]] Made made_by(const Same&, const Operation& operation) const {
    return counting(operation, 0);
  }
  [[nodiscard]] Made made_by(const Convert&, const Operation& operation) const {
    return counting(operation, 0);
  }
  [[nodiscard]] Made made_by(const Broadcast& action, const Operation& operation) const {
    Made out = counting(operation, 0);
    if (!out || out->slope == 0) return out;
    if (type(operation.operands[0]).extents[out->dim] == 1) out->slope = 0;
    out->dim = action.dims[out->dim];
    return out;
  }
  [[nodiscard]] Made made_by(const Calculate& action, const Operation& operation) const {
    const bool subtracts = action.arithmetic == Arithmetic::subtract;
    if (Made known = scalar(operation.results.front())) return known;
    if (!subtracts && action.arithmetic != Arithmetic::add) return std::nullopt;
    const Made& left = counting(operation, 0);
    const Made& right = counting(operation, 1);
    if (!left || !right) return std::nullopt;
    return combined(*left, *right, subtracts);
  }
  /// The sum or the difference of two that do not grow in two dimensions, or twice as fast.
  [[nodiscard]] static Made combined(const Counting& left, const Counting& right, bool subtracts) {
    Counting out;
    out.slope = subtracts ? left.slope - right.slope : left.slope + right.slope;
    out.dim = left.slope != 0 ? left.dim : right.dim;
    if (left.slope != 0 && right.slope != 0 && left.dim != right.dim) return std::nullopt;
    if (out.slope < -1 || out.slope > 1) return std::nullopt;
    for (std::size_t device = 0; device < left.begin.size(); ++device) {
      const Size a = left.begin[device];
      const Size b = right.begin[device];
      const auto begin = subtracts ? difference(a, b) : checked_add(a, b);
      if (!begin) return std::nullopt;
      out.begin.push_back(*begin);
    }
    return out;
  }

  /// Says what an operation looks at of numbers that grow.
  void look(const Operation& operation) {
    if (const auto* compare = std::get_if<Compare>(&operation.action)) {
      if (compares(*compare, operation)) return;
    }
    const bool counts_on =
        operation.results.size() == 1 && out_.countings[operation.results.front()].has_value();
    for (std::size_t k = 0; k < operation.operands.size() && !counts_on; ++k) {
      const auto& one = counting(operation, k);
      if (one && one->slope != 0) out_.looked_at.push_back({operation.operands[k], one->dim});
    }
  }
  /// Whether a comparison is known to change where it was noted.
  bool compares(const Compare& action, const Operation& operation) {
    const auto& left = counting(operation, 0);
    const auto& right = counting(operation, 1);
    if (!left || !right || !keeps_order(action.order, *left, *right)) return false;
    const Made apart = combined(*left, *right, true);
    if (!apart) return false;
    if (apart->slope == 0) return true;
    const ValueId result = operation.results.front();
    const Size extent = type(result).extents[apart->dim];
    // The difference is zero in one place of every device at most.
    std::set<Size> places;
    for (const Size begin : apart->begin) {
      if (begin == std::numeric_limits<Size>::min()) return false;
      const Size zero = apart->slope < 0 ? begin : -begin;
      if (zero < -1 || zero >= extent) continue;
      for (const Size place : {zero, zero + 1}) {
        if (place > 0 && place < extent) places.insert(place);
      }
    }
    for (const Size place : places) out_.changes.push_back({result, apart->dim, place});
    return true;
  }
  /// Whether it compares numbers as numbers are compared.
  [[nodiscard]] bool keeps_order(operations::Order order, const Counting& left,
                                 const Counting& right) const {
    if (order == operations::Order::of_type || order == operations::Order::as_signed) return true;
    if (order != operations::Order::as_unsigned) return false;
    for (const Counting* one : {&left, &right}) {
      if (one->slope < 0) return false;
      const auto is_negative = [](Size begin) { return begin < 0; };
      if (std::any_of(one->begin.begin(), one->begin.end(), is_negative)) return false;
    }
    return true;
  }

  const Function& function_;
  std::vector<bool> elements_;
  std::vector<bool> evaluated_;
  Evaluator evaluator_;
  std::size_t counts_ = 0;
  Numbers out_;
};

}  // namespace

std::size_t before_offsets(const Action& action) {
  if (std::holds_alternative<DynamicSlice>(action)) return 1;
  return std::holds_alternative<DynamicUpdateSlice>(action) ? 2 : 0;
}

Numbers numbers_of(const Function& function, const Layout& from) {
  return NumberReader(function, from).read();
}

}  // namespace retile::foreign
