#include "retile/foreign/typing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "retile/core/cases.h"
#include "retile/core/names.h"
#include "retile/operations/element.h"
#include "retile/operations/table.h"

namespace retile::foreign {
namespace {

/// What is wrong with one operation.
struct Violation {
  std::string message;
  Code code = Code::bad_program;
};

[[noreturn]] void violate(std::string message, Code code = Code::bad_program) {
  throw Violation{std::move(message), code};
}

std::string type_text(const std::string& element, const Shape& extents) {
  return fmt::format("{}[{}]", element, fmt::join(extents, ","));
}
std::string type_text(const TileType& type) { return type_text(type.element, type.extents); }

Size product(const Shape& extents) {
  const auto out = checked_product(extents);
  if (!out) violate("an array has 2^63 elements or more", Code::limit_reached);
  return *out;
}

using operations::Id;
using operations::Row;

/// What an action is in the table; null for what only readers of shardings make.
const Row* row_of(const Action& action) {
  const auto row = [](Id id) { return &operations::row_of(id); };
  return match(
      action, [&](const Parameter&) { return row(Id::parameter); },
      [&](const Constant&) { return row(Id::constant); },
      [&](const PerDevice&) { return row(Id::partition_id); },
      [&](const Iota&) { return row(Id::iota); }, [&](const Same&) { return row(Id::copy); },
      [&](const Convert&) { return row(Id::convert); },
      [&](const Reshape&) { return row(Id::reshape); },
      [&](const Transpose&) { return row(Id::transpose); },
      [&](const Slice&) { return row(Id::slice); }, [&](const Pad&) { return row(Id::pad); },
      [&](const Concatenate&) { return row(Id::concatenate); },
      [&](const Reverse&) { return row(Id::reverse); },
      [&](const Broadcast&) { return row(Id::broadcast); },
      [&](const DynamicSlice&) { return row(Id::dynamic_slice); },
      [&](const DynamicUpdateSlice&) { return row(Id::dynamic_update_slice); },
      [&](const Select&) { return row(Id::select); },
      [&](const Compare&) { return row(Id::compare); },
      [&](const Calculate& one) { return &operations::row_of(one.arithmetic); },
      [&](const Clamp&) { return row(Id::clamp); },
      [&](const AllGather&) { return row(Id::all_gather); },
      [&](const AllToAll&) { return row(Id::all_to_all); },
      [&](const CollectivePermute&) { return row(Id::collective_permute); },
      [&](const AllReduce&) { return row(Id::all_reduce); },
      [&](const ReduceScatter&) { return row(Id::reduce_scatter); },
      [](const TakeBox&) -> const Row* { return nullptr; },
      [](const PutBox&) -> const Row* { return nullptr; },
      [](const Assemble&) -> const Row* { return nullptr; });
}

/// Whether an operand's elements go to the result.
bool is_moved(const Row* row, std::size_t operand) {
  if (row != nullptr && row->operands.empty()) return false;
  return row == nullptr || operations::operand_of(*row, operand).role == operations::Role::moved;
}

/// What is known of all values before anything is evaluated.
struct Facts {
  std::vector<bool> elements;  ///< see values_of_elements
  std::vector<bool> sums;      ///< whether elements may have been added there
  std::vector<bool> wraps;     ///< and by a sum that keeps the lowest bits alone
  /// The element type of the parameter that elements come from; null where that is none, or several.
  std::vector<const std::string*> origins;
};

/// What is common to the moved operands of an operation.
const std::string* common_origin(const Facts& facts, const Operation& operation, const Row* row) {
  const std::string* out = nullptr;
  for (std::size_t k = 0; k < operation.operands.size(); ++k) {
    const ValueId operand = operation.operands[k];
    if (!is_moved(row, k) || !facts.elements[operand]) continue;
    const std::string* origin = facts.origins[operand];
    if (origin == nullptr || (out != nullptr && *origin != *out)) return nullptr;
    out = origin;
  }
  return out;
}

/// Whether an operation adds what its operands hold; of elements or of numbers with a point nobody
/// knows in which order several devices do it.
bool adds_over_devices(const Action& action) {
  return std::holds_alternative<AllReduce>(action) || std::holds_alternative<ReduceScatter>(action);
}

/// How an operation that adds does it.
std::optional<Addition> addition_of(const Action& action) {
  if (const auto* reduce = std::get_if<AllReduce>(&action)) return reduce->addition;
  if (const auto* scatter = std::get_if<ReduceScatter>(&action)) return scatter->addition;
  const auto* calculate = std::get_if<Calculate>(&action);
  if (calculate == nullptr || calculate->arithmetic != Arithmetic::add) return std::nullopt;
  return Addition::sum;
}

Facts facts_of(const Function& function) {
  const std::size_t count = function.values.size();
  Facts out{std::vector<bool>(count), std::vector<bool>(count), std::vector<bool>(count),
            std::vector<const std::string*>(count)};
  for (const Operation& operation : function.operations) {
    const Row* row = row_of(operation.action);
    std::size_t elements = std::holds_alternative<Parameter>(operation.action) ? 1 : 0;
    bool sums = false;
    bool wraps = false;
    for (std::size_t k = 0; k < operation.operands.size(); ++k) {
      if (!is_moved(row, k)) continue;
      if (out.elements[operation.operands[k]]) ++elements;
      sums = sums || out.sums[operation.operands[k]];
      wraps = wraps || out.wraps[operation.operands[k]];
    }
    const bool over_devices = adds_over_devices(operation.action);
    const bool adds = row != nullptr && row->effect == operations::Effect::adds;
    for (const ValueId result : operation.results) {
      const ElementKind kind = element_kind(function.values[result].type.element);
      out.elements[result] = elements > 0 || !kind.has_words() || (over_devices && kind.is_real());
      out.origins[result] = std::holds_alternative<Parameter>(operation.action)
                                ? &function.values[result].type.element
                                : common_origin(out, operation, row);
      const bool adds_here = adds && elements > (over_devices ? 0 : 1);
      out.sums[result] = sums || adds_here;
      out.wraps[result] = wraps || (adds_here && kind.form == ElementKind::Form::integer &&
                                    addition_of(operation.action) == Addition::sum);
    }
  }
  return out;
}

std::string list_of(const operations::Types& types) {
  std::vector<std::string_view> out;
  if (types.truth) out.emplace_back("truth values");
  if (types.signed_integer)
    out.emplace_back(types.unsigned_integer ? "integers" : "signed integers");
  if (types.real) out.emplace_back("numbers with a point");
  if (types.complex) out.emplace_back("complex numbers");
  return fmt::format("{}", fmt::join(out, ", "));
}

/// Looks at one operation after the other.
class Checker {
 public:
  Checker(const Function& function, const Operation& operation, const Facts& facts)
      : function_(function), operation_(operation), facts_(facts) {}

  void check() const {
    if (const Row* row = row_of(operation_.action)) {
      check_operands(*row);
    }
    std::visit([this](const auto& action) { this->rule(action); }, operation_.action);
  }

 private:
  [[nodiscard]] const TileType& operand(std::size_t k) const {
    return function_.values[operation_.operands[k]].type;
  }
  [[nodiscard]] const TileType& result(std::size_t k = 0) const {
    return function_.values[operation_.results[k]].type;
  }
  [[nodiscard]] std::size_t count() const { return operation_.operands.size(); }

  /// What the table says of operands: how many, of which types, which must be known.
  void check_operands(const Row& row) const {
    const bool repeats = !row.operands.empty() && row.operands.back().is_repeated;
    if (!repeats && count() != row.operands.size()) {
      violate(fmt::format("{} takes {}, not {}", operation_.name,
                          counted(row.operands.size(), "operand"), count()));
    }
    for (std::size_t k = 0; k < count(); ++k) {
      const operations::Operand& one = operations::operand_of(row, k);
      if (one.role == operations::Role::decides) is_known(k, what_decides(row.id));
      if (!one.types.has(element_kind(operand(k).element))) {
        violate(fmt::format("{} takes {} as operand {}, not {}", operation_.name,
                            list_of(one.types), k, type_text(operand(k))));
      }
      if (one.is_scalar && !operand(k).extents.empty()) {
        violate(fmt::format("operand {} of {} is a scalar, not {}", k, operation_.name,
                            type_text(operand(k))));
      }
    }
    if (operation_.results.size() != 1 && !std::holds_alternative<AllToAll>(operation_.action)) {
      violate(operation_.name + " has one result");
    }
  }
  [[nodiscard]] static std::string_view what_decides(Id id) {
    if (id == Id::select) return "a choice";
    return id == Id::compare ? "a comparison" : "an offset";
  }
  void takes(std::size_t operands) const {
    if (count() != operands) {
      violate(fmt::format("{} takes {} operands, not {}", operation_.name, operands, count()));
    }
    if (operation_.results.size() != 1) violate(operation_.name + " has one result");
  }
  void makes(const Shape& extents, std::size_t k = 0) const {
    static_cast<void>(product(extents));
    if (result(k).extents != extents) {
      violate(fmt::format("{} makes {} here, not {}", operation_.name,
                          type_text(result(k).element, extents), type_text(result(k))));
    }
  }
  void keeps_element(std::size_t k = 0) const {
    if (operand(k).element != result().element) {
      violate(fmt::format("{} makes elements of type {} here, not {}", operation_.name,
                          operand(k).element, result().element));
    }
  }
  void has_dim(std::size_t dim, std::size_t rank) const {
    if (dim >= rank) {
      violate(
          fmt::format("{} names dimension {} of an array of rank {}", operation_.name, dim, rank),
          Code::bad_dimension);
    }
  }
  void has_rank(std::size_t numbers, std::size_t rank) const {
    if (numbers != rank) {
      violate(fmt::format("{} needs a number for each of {} dimensions, not {}", operation_.name,
                          rank, numbers));
    }
  }
  /// That operand k is numbers: where elements decide, nobody knows what happens.
  void is_known(std::size_t k, std::string_view what) const {
    if (facts_.elements[operation_.operands[k]]) {
      violate(fmt::format("{} that depends on the elements of the array", what), Code::unsupported);
    }
  }
  void are_groups(const Groups& groups) const {
    std::vector<bool> seen(static_cast<std::size_t>(function_.devices));
    Size members = 0;
    for (const auto& group : groups) {
      if (group.size() != groups.front().size()) violate("the groups differ in size");
      for (const Size device : group) {
        if (device < 0 || device >= function_.devices) {
          violate(fmt::format("device {} stands in a group, but there are {} devices", device,
                              function_.devices),
                  Code::bad_device);
        }
        if (seen[static_cast<std::size_t>(device)]) {
          violate(fmt::format("device {} stands in two groups", device), Code::bad_device);
        }
        seen[static_cast<std::size_t>(device)] = true;
        ++members;
      }
    }
    if (members != function_.devices) {
      const auto missing = std::find(seen.begin(), seen.end(), false) - seen.begin();
      violate(fmt::format("device {} stands in no group", missing), Code::bad_device);
    }
  }
  [[nodiscard]] static Size group_size(const Groups& groups) {
    return static_cast<Size>(groups.front().size());
  }
  [[nodiscard]] Size times(Size a, Size b) const {
    const auto out = checked_mul(a, b);
    if (!out) violate("an array has 2^63 elements or more", Code::limit_reached);
    return *out;
  }
  [[nodiscard]] Size divided(Size extent, Size parts) const {
    if (extent % parts != 0) {
      violate(fmt::format("{} cuts {} elements into {} parts", operation_.name, extent, parts));
    }
    return extent / parts;
  }

  void rule(const Parameter&) const {}
  void rule(const Constant& action) const {
    if (action.numbers.size() != 1) {
      if (static_cast<Size>(action.numbers.size()) != product(result().extents)) {
        violate(fmt::format("{} numbers for {}", action.numbers.size(), type_text(result())));
      }
    }
  }
  void rule(const PerDevice& action) const {
    makes({});
    if (static_cast<Size>(action.numbers.size()) != function_.devices)
      violate("not for all devices");
    if (!element_kind(result().element).is_number()) violate("a device number is an integer");
  }
  void rule(const Iota& action) const { has_dim(action.dim, result().extents.size()); }
  void rule(const Same&) const {
    keeps_element();
    makes(operand(0).extents);
  }
  void rule(const Convert&) const {
    makes(operand(0).extents);
    if (!facts_.elements[operation_.operands[0]] || result().element == operand(0).element) return;
    const std::string* original = facts_.origins[operation_.operands[0]];
    const bool goes_back = original != nullptr && *original == result().element;
    const ElementKind from = element_kind(operand(0).element);
    const ElementKind to = element_kind(result().element);
    // Elements have values of the type that they had at first, wherever they were since.
    if (!goes_back && !operations::holds_all_of(to, from)) {
      refuse_conversion("elements");
    }
    // Sums in few bits are other numbers than sums in many.
    const bool widens = facts_.wraps[operation_.operands[0]] && to.bits > from.bits;
    const bool changes = facts_.sums[operation_.operands[0]] && from.form != to.form;
    if (widens || changes) refuse_conversion("sums");
  }
  [[noreturn]] void refuse_conversion(std::string_view what) const {
    violate(
        fmt::format("a conversion of {} from {} to {}", what, operand(0).element, result().element),
        Code::unsupported);
  }
  void rule(const Reshape&) const {
    keeps_element();
    if (product(operand(0).extents) != product(result().extents)) {
      violate(fmt::format("{} makes {} of {}", operation_.name, type_text(result()),
                          type_text(operand(0))));
    }
  }
  void rule(const Transpose& action) const {
    keeps_element();
    const Shape& old = operand(0).extents;
    has_rank(action.permutation.size(), old.size());
    std::vector<bool> seen(old.size());
    Shape extents;
    for (const std::size_t dim : action.permutation) {
      has_dim(dim, old.size());
      if (seen[dim]) violate(fmt::format("dimension {} stands twice in a permutation", dim));
      seen[dim] = true;
      extents.push_back(old[dim]);
    }
    makes(extents);
  }
  void rule(const Slice& action) const {
    keeps_element();
    const Shape& old = operand(0).extents;
    has_rank(action.start.size(), old.size());
    has_rank(action.limit.size(), old.size());
    has_rank(action.stride.size(), old.size());
    Shape extents;
    for (std::size_t k = 0; k < old.size(); ++k) {
      if (action.start[k] < 0 || action.limit[k] > old[k] || action.start[k] > action.limit[k] ||
          action.stride[k] < 1) {
        violate(
            fmt::format("a slice {}:{} of {} elements", action.start[k], action.limit[k], old[k]));
      }
      const Size length = action.limit[k] - action.start[k];
      extents.push_back(length / action.stride[k] + (length % action.stride[k] != 0 ? 1 : 0));
    }
    makes(extents);
  }
  void rule(const Pad& action) const {
    keeps_element();
    const Shape& old = operand(0).extents;
    has_rank(action.low.size(), old.size());
    has_rank(action.high.size(), old.size());
    has_rank(action.interior.size(), old.size());
    Shape extents;
    for (std::size_t k = 0; k < old.size(); ++k) extents.push_back(padded(action, old[k], k));
    makes(extents);
  }
  [[nodiscard]] Size padded(const Pad& action, Size extent, std::size_t k) const {
    constexpr Size most = std::numeric_limits<Size>::max() / 8;
    const auto in_range = [&](Size number) { return number > -most && number < most; };
    const Size gaps = std::max<Size>(extent - 1, 0);
    if (action.interior[k] < 0 || !in_range(action.low[k]) || !in_range(action.high[k]) ||
        !in_range(extent) || !in_range(times(action.interior[k], gaps))) {
      violate("a padding that does not fit");
    }
    const Size out = extent + action.interior[k] * gaps + action.low[k] + action.high[k];
    if (out < 0) violate("a padding takes away more than there is");
    return out;
  }
  void rule(const Concatenate& action) const {
    if (count() == 0) violate("nothing is concatenated");
    Shape extents = operand(0).extents;
    has_dim(action.dim, extents.size());
    for (std::size_t k = 0; k < count(); ++k) {
      keeps_element(k);
      Shape other = operand(k).extents;
      has_rank(other.size(), extents.size());
      if (k > 0) {
        const auto sum = checked_add(extents[action.dim], other[action.dim]);
        if (!sum) violate("an array has 2^63 elements or more", Code::limit_reached);
        extents[action.dim] = *sum;
      }
      other[action.dim] = extents[action.dim];
      if (other != extents) violate("arrays that are concatenated differ in another dimension");
    }
    makes(extents);
  }
  void rule(const Reverse& action) const {
    keeps_element();
    std::vector<bool> seen(operand(0).extents.size());
    for (const std::size_t dim : action.dims) {
      has_dim(dim, seen.size());
      if (seen[dim]) violate(fmt::format("dimension {} is turned around twice", dim));
      seen[dim] = true;
    }
    makes(operand(0).extents);
  }
  void rule(const Broadcast& action) const {
    keeps_element();
    const Shape& old = operand(0).extents;
    has_rank(action.dims.size(), old.size());
    std::vector<bool> seen(result().extents.size());
    for (std::size_t k = 0; k < old.size(); ++k) {
      has_dim(action.dims[k], result().extents.size());
      const Size extent = result().extents[action.dims[k]];
      if (seen[action.dims[k]] || (old[k] != extent && old[k] != 1)) {
        violate(fmt::format("{} cannot make {} of {}", operation_.name, type_text(result()),
                            type_text(operand(0))));
      }
      seen[action.dims[k]] = true;
    }
    static_cast<void>(product(result().extents));
  }
  void rule(const DynamicSlice& action) const {
    if (count() < 1) violate("a slice of nothing");
    keeps_element();
    has_rank(action.sizes.size(), operand(0).extents.size());
    has_rank(count() - 1, operand(0).extents.size());
    for (std::size_t k = 0; k < action.sizes.size(); ++k) {
      if (action.sizes[k] < 0 || action.sizes[k] > operand(0).extents[k]) {
        violate(
            fmt::format("a slice of {} elements of {}", action.sizes[k], operand(0).extents[k]));
      }
    }
    makes(action.sizes);
  }
  void rule(const DynamicUpdateSlice&) const {
    if (count() < 2) violate("an update of nothing");
    keeps_element();
    keeps_element(1);
    const Shape& old = operand(0).extents;
    has_rank(operand(1).extents.size(), old.size());
    has_rank(count() - 2, old.size());
    for (std::size_t k = 0; k < old.size(); ++k) {
      if (operand(1).extents[k] > old[k]) violate("an update that is larger than the array");
    }
    makes(old);
  }
  void rule(const Select&) const {
    keeps_element(1);
    keeps_element(2);
    if (operand(1).extents != operand(2).extents ||
        (!operand(0).extents.empty() && operand(0).extents != operand(1).extents)) {
      violate("a choice between arrays of different extents");
    }
    makes(operand(1).extents);
  }
  void rule(const Compare& action) const {
    if (operand(0) != operand(1)) violate("a comparison of two types");
    if (element_kind(result().element).form != ElementKind::Form::truth) {
      violate("a comparison makes truth values");
    }
    if (!operations::may_order(action.order, element_kind(operand(0).element))) {
      violate(fmt::format("{} of {} has no such type", operation_.name, type_text(operand(0))));
    }
    makes(operand(0).extents);
  }
  void rule(const Clamp&) const {
    for (std::size_t k = 0; k < count(); ++k) {
      keeps_element(k);
      if (facts_.elements[operation_.operands[k]]) refuse_elements();
      if (operand(k).extents != operand(1).extents && !operand(k).extents.empty()) {
        violate("ends of other extents than what is between them");
      }
    }
    makes(operand(1).extents);
  }
  void rule(const Calculate& action) const {
    const bool adds = operations::row_of(action.arithmetic).effect == operations::Effect::adds;
    for (std::size_t k = 0; k < count(); ++k) {
      keeps_element(k);
      makes(operand(k).extents);
      if (!adds && facts_.elements[operation_.operands[k]]) refuse_elements();
    }
  }
  [[noreturn]] void refuse_elements() const {
    violate(fmt::format("{} of elements of the array", operation_.name), Code::unsupported);
  }
  void rule(const AllGather& action) const {
    keeps_element();
    are_groups(action.groups);
    Shape extents = operand(0).extents;
    has_dim(action.dim, extents.size());
    extents[action.dim] = times(extents[action.dim], group_size(action.groups));
    makes(extents);
  }
  void rule(const AllToAll& action) const {
    are_groups(action.groups);
    const Size n = group_size(action.groups);
    if (count() != 1) {
      if (static_cast<Size>(count()) != n || operation_.results.size() != count()) {
        violate(fmt::format("{} parts for groups of {}", count(), n));
      }
      for (std::size_t k = 0; k < count(); ++k) {
        if (operand(k) != operand(0)) violate("parts of different types");
        makes(operand(0).extents, k);
      }
      return;
    }
    takes(1);
    keeps_element();
    Shape extents = operand(0).extents;
    has_dim(action.split, extents.size());
    has_dim(action.concat, extents.size());
    extents[action.split] = divided(extents[action.split], n);
    extents[action.concat] = times(extents[action.concat], n);
    makes(extents);
  }
  void rule(const CollectivePermute& action) const {
    keeps_element();
    std::vector<bool> seen(static_cast<std::size_t>(function_.devices));
    for (const auto& [source, target] : action.pairs) {
      if (source < 0 || target < 0 || source >= function_.devices || target >= function_.devices) {
        violate(fmt::format("a pair {},{}, but there are {} devices", source, target,
                            function_.devices),
                Code::bad_device);
      }
      if (seen[static_cast<std::size_t>(target)]) {
        violate(fmt::format("device {} is a target twice", target), Code::bad_device);
      }
      seen[static_cast<std::size_t>(target)] = true;
    }
    makes(operand(0).extents);
  }
  void rule(const AllReduce& action) const {
    keeps_element();
    are_groups(action.groups);
    makes(operand(0).extents);
  }
  void rule(const ReduceScatter& action) const {
    keeps_element();
    are_groups(action.groups);
    Shape extents = operand(0).extents;
    has_dim(action.dim, extents.size());
    extents[action.dim] = divided(extents[action.dim], group_size(action.groups));
    makes(extents);
  }
  void rule(const TakeBox& action) const {
    takes(1);
    keeps_element();
    has_rank(result().extents.size(), operand(0).extents.size());
    if (static_cast<Size>(action.starts.size()) != function_.devices)
      violate("not for all devices");
    for (const Shape& start : action.starts) is_box(start, operand(0).extents, {});
  }
  void rule(const Assemble& action) const {
    takes(1);
    keeps_element();
    has_rank(result().extents.size(), operand(0).extents.size());
    if (static_cast<Size>(action.pieces.size()) != function_.devices)
      violate("not for all devices");
    for (const auto& pieces : action.pieces) {
      for (const Assemble::Piece& piece : pieces) {
        if (piece.source < 0 || piece.source >= function_.devices) violate("a source that is none");
        has_rank(piece.extents.size(), result().extents.size());
        is_box(piece.from, operand(0).extents, piece.extents);
        is_box(piece.to, result().extents, piece.extents);
      }
    }
  }
  void rule(const PutBox& action) const {
    takes(1);
    keeps_element();
    has_rank(result().extents.size(), operand(0).extents.size());
    if (static_cast<Size>(action.starts.size()) != function_.devices)
      violate("not for all devices");
    for (const auto& start : action.starts) {
      if (start) is_box(*start, result().extents, operand(0).extents);
    }
  }
  /// That a box begins inside of an array, or at its end; and that it ends there, where it has extents.
  void is_box(const Shape& start, const Shape& array, const Shape& extents) const {
    has_rank(start.size(), array.size());
    for (std::size_t k = 0; k < start.size(); ++k) {
      const Size extent = extents.empty() ? 0 : extents[k];
      if (start[k] < 0 || start[k] > array[k] || extent > array[k] - start[k]) {
        violate("a box that does not lie inside of the array");
      }
    }
  }

  const Function& function_;
  const Operation& operation_;
  const Facts& facts_;
};

}  // namespace

std::vector<bool> values_of_elements(const Function& function) {
  return facts_of(function).elements;
}

std::vector<bool> values_of_parameter(const Function& function, bool ranks_too) {
  std::vector<bool> out(function.values.size());
  for (const Operation& operation : function.operations) {
    bool moved = std::holds_alternative<Parameter>(operation.action);
    for (const ValueId value : operation.operands) moved = moved || out[value];
    for (const ValueId value : operation.results) {
      out[value] = moved || (ranks_too && function.values[value].device);
    }
  }
  return out;
}

text::Place place_in(const text::Input& input, const FilePlace& place) {
  std::size_t begin = 0;
  for (std::size_t line = 1; line < place.line; ++line) {
    const std::size_t end = input.text.find('\n', begin);
    if (end == std::string_view::npos) break;
    begin = end + 1;
  }
  const std::size_t line_end = std::min(input.text.find('\n', begin), input.text.size());
  begin = std::min(begin + place.column - 1, line_end);
  std::size_t end = begin;
  while (end < line_end && input.text[end] != ' ' && input.text[end] != '(') ++end;
  return {.input = &input, .span = {begin, end}};
}

Result<void> check_types(const Function& function, const text::Input& input) {
  const Facts facts = facts_of(function);
  return text::result_of([&]() -> std::monostate {
           for (const Operation& operation : function.operations) {
             try {
               Checker(function, operation, facts).check();
             } catch (Violation& violation) {
               text::fail(place_in(input, operation.place),
                          {.code = violation.code, .message = std::move(violation.message)});
             }
           }
           return {};
         })
      .map([](std::monostate) {});
}

}  // namespace retile::foreign
