#include "retile/operations/table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <unordered_map>

#include "retile/core/assert.h"
#include "retile/operations/computing.h"
#include "retile/operations/row_parts.h"

namespace retile::operations {
namespace {

using parts::addable;
using parts::any;
using parts::array;
using parts::arrays;
using parts::channel;
using parts::groups;
using parts::integer;
using parts::numeric;
using parts::ordered;
using parts::truth;
using parts::with_bits;
using parts::with_sign;

Operand start(std::string_view name) {
  return {.name = name,
          .types = integer,
          .role = Role::decides,
          .is_scalar = true,
          .is_repeated = true};
}

Row unary(Id id, std::string_view hlo, std::string_view stablehlo, Types types,
          Arithmetic arithmetic, InField in_field, std::string_view meaning,
          std::string_view semantics) {
  return {.id = id,
          .hlo = hlo,
          .stablehlo = stablehlo,
          .operands = {{.name = "x", .types = types}},
          .attributes = {},
          .effect = Effect::calculates,
          .arithmetic = arithmetic,
          .meaning = meaning,
          .spec = stablehlo,
          .semantics = semantics,
          .in_field = in_field};
}

Row binary(Id id, std::string_view hlo, std::string_view stablehlo, Types types, Effect effect,
           Arithmetic arithmetic, InField in_field, std::string_view meaning,
           std::string_view semantics) {
  return {.id = id,
          .hlo = hlo,
          .stablehlo = stablehlo,
          .operands = {{.name = "a", .types = types}, {.name = "b", .types = types}},
          .attributes = {},
          .effect = effect,
          .arithmetic = arithmetic,
          .meaning = meaning,
          .spec = stablehlo,
          .semantics = semantics,
          .in_field = in_field};
}

std::vector<Row> sources() {
  return {
      {.id = Id::parameter,
       .hlo = "parameter",
       .stablehlo = "",
       .operands = {},
       .result = Result::written,
       .attributes = {},
       .effect = Effect::makes,
       .arithmetic = {},
       .meaning = "the device's tile of the array, or what it begins with",
       .spec = "Functions",
       .semantics = "Parameter"},
      {.id = Id::constant,
       .hlo = "constant",
       .stablehlo = "constant",
       .operands = {},
       .result = Result::written,
       .attributes = {{.hlo = "",
                       .stablehlo = "value",
                       .short_name = "",
                       .missing = "",
                       .meaning =
                           "the numbers row by row; in HLO they stand between the parentheses"}},
       .effect = Effect::makes,
       .arithmetic = {},
       .meaning = "r[i] = the number at i; one number for all in a `dense` of StableHLO",
       .spec = "constant",
       .semantics = "Constant"},
      {.id = Id::iota,
       .hlo = "iota",
       .stablehlo = "iota",
       .operands = {},
       .result = Result::written,
       .attributes = {{.hlo = "iota_dimension",
                       .stablehlo = "iota_dimension",
                       .short_name = "dim",
                       .missing = "",
                       .meaning = "the dimension d along which is counted"}},
       .effect = Effect::makes,
       .arithmetic = {},
       .meaning = "r[i] = i[d], as a number of the type",
       .spec = "iota",
       .semantics = "Iota"},
      {.id = Id::partition_id,
       .hlo = "partition-id",
       .stablehlo = "partition_id",
       .operands = {},
       .result = Result::written,
       .attributes = {},
       .effect = Effect::makes,
       .arithmetic = {},
       .meaning = "r[] = the number of the device's partition",
       .spec = "partition_id",
       .semantics = "PartitionId"},
      {.id = Id::replica_id,
       .hlo = "replica-id",
       .stablehlo = "replica_id",
       .operands = {},
       .result = Result::written,
       .attributes = {},
       .effect = Effect::makes,
       .arithmetic = {},
       .meaning = "r[] = the number of the device's replica",
       .spec = "replica_id",
       .semantics = "ReplicaId"},
  };
}

std::vector<Row> tuples() {
  return {
      {.id = Id::tuple,
       .hlo = "tuple",
       .stablehlo = "",
       .operands = {arrays},
       .attributes = {},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "the operands, one behind the other",
       .spec = "tuple",
       .semantics = "Tuple",
       .others = {"stablehlo.tuple"}},
      {.id = Id::get_tuple_element,
       .hlo = "get-tuple-element",
       .stablehlo = "",
       .operands = {array},
       .attributes = {{.hlo = "index",
                       .stablehlo = "",
                       .short_name = "",
                       .missing = "",
                       .meaning = "the number of the part, counted from 0"}},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "one part of a tuple",
       .spec = "get_tuple_element",
       .semantics = "GetTupleElement",
       .others = {"stablehlo.get_tuple_element"}},
      {.id = Id::optimization_barrier,
       .hlo = "opt-barrier",
       .stablehlo = "optimization_barrier",
       .operands = {arrays},
       .attributes = {},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r = x, for every operand",
       .spec = "optimization_barrier",
       .semantics = "OptimizationBarrier"},
      {.id = Id::call,
       .hlo = "call",
       .stablehlo = "",
       .operands = {arrays},
       .attributes = {{.hlo = "to_apply",
                       .stablehlo = "",
                       .short_name = "",
                       .missing = "",
                       .meaning = "the computation whose instructions stand for it"},
                      {.hlo = "is_composite",
                       .stablehlo = "",
                       .short_name = "",
                       .missing = "false",
                       .meaning = "that it stands for one operation; nothing about what is meant",
                       .decides = false}},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "what the computation makes of the operands",
       .spec = "Functions",
       .semantics = "Call",
       .in_field = InField::called,
       .others = {"func.call", "call"}},
  };
}

std::vector<Row> moves() {
  return {
      {.id = Id::copy,
       .hlo = "copy",
       .stablehlo = "",
       .operands = {array},
       .attributes = {},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r[i] = x[i]",
       .spec = "",
       .semantics = "Copy"},
      {.id = Id::bitcast,
       .hlo = "bitcast",
       .stablehlo = "",
       .operands = {array},
       .attributes = {},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r and x have the same elements in row-major order; other layouts are refused",
       .spec = "",
       .semantics = "Bitcast"},
      {.id = Id::reshape,
       .hlo = "reshape",
       .stablehlo = "reshape",
       .operands = {array},
       .attributes = {},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r and x have the same elements in row-major order",
       .spec = "reshape",
       .semantics = "Reshape"},
      {.id = Id::transpose,
       .hlo = "transpose",
       .stablehlo = "transpose",
       .operands = {array},
       .attributes = {{.hlo = "dimensions",
                       .stablehlo = "permutation",
                       .short_name = "dims",
                       .missing = "none, of an array of rank 0",
                       .meaning = "p: dimension k of r is dimension p[k] of x"}},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r[i] = x[j] with j[p[k]] = i[k]",
       .spec = "transpose",
       .semantics = "Transpose"},
      {.id = Id::reverse,
       .hlo = "reverse",
       .stablehlo = "reverse",
       .operands = {array},
       .attributes = {{.hlo = "dimensions",
                       .stablehlo = "dimensions",
                       .short_name = "dims",
                       .missing = "",
                       .meaning = "the dimensions that are turned around"}},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r[i] = x[j], j[d] = extent - 1 - i[d] in these dimensions, else i[d]",
       .spec = "reverse",
       .semantics = "Rev (reverse)"},
      {.id = Id::slice,
       .hlo = "slice",
       .stablehlo = "slice",
       .operands = {array},
       .attributes = {{.hlo = "slice",
                       .stablehlo = "start_indices",
                       .short_name = "",
                       .missing = "",
                       .meaning = "where it begins, in every dimension"},
                      {.hlo = "slice",
                       .stablehlo = "limit_indices",
                       .short_name = "",
                       .missing = "",
                       .meaning = "where it ends"},
                      {.hlo = "slice",
                       .stablehlo = "strides",
                       .short_name = "",
                       .missing = "in HLO 1",
                       .meaning = "how far neighbours are apart"}},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r[i] = x[start + i stride]",
       .spec = "slice",
       .semantics = "Slice"},
      {.id = Id::pad,
       .hlo = "pad",
       .stablehlo = "pad",
       .operands = {array, {.name = "v", .types = any, .is_scalar = true}},
       .attributes = {{.hlo = "padding",
                       .stablehlo = "edge_padding_low",
                       .short_name = "low",
                       .missing = "",
                       .meaning =
                           "how many are put before, in every dimension; negative ones take away"},
                      {.hlo = "padding",
                       .stablehlo = "edge_padding_high",
                       .short_name = "high",
                       .missing = "",
                       .meaning = "and behind"},
                      {.hlo = "padding",
                       .stablehlo = "interior_padding",
                       .short_name = "interior",
                       .missing = "in HLO 0",
                       .meaning = "and between neighbours"}},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r[low + j (interior + 1)] = x[j], and v at all other places",
       .spec = "pad",
       .semantics = "Pad"},
      {.id = Id::concatenate,
       .hlo = "concatenate",
       .stablehlo = "concatenate",
       .operands = {arrays},
       .attributes = {{.hlo = "dimensions",
                       .stablehlo = "dimension",
                       .short_name = "dim",
                       .missing = "",
                       .meaning = "the dimension along which they stand one behind the other"}},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r[i] = x.k[j], j[d] = i[d] without the extents of those before",
       .spec = "concatenate",
       .semantics = "ConcatInDim (concatenate)"},
      {.id = Id::broadcast,
       .hlo = "broadcast",
       .stablehlo = "broadcast_in_dim",
       .operands = {array},
       .attributes = {{.hlo = "dimensions",
                       .stablehlo = "broadcast_dimensions",
                       .short_name = "dims",
                       .missing = "none, of an array of rank 0",
                       .meaning = "b: dimension k of x is dimension b[k] of r"}},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r[i] = x[j] with j[k] = i[b[k]], or 0 where x has one place",
       .spec = "broadcast_in_dim",
       .semantics = "BroadcastInDim"},
      {.id = Id::dynamic_slice,
       .hlo = "dynamic-slice",
       .stablehlo = "dynamic_slice",
       .operands = {array, start("s")},
       .attributes = {{.hlo = "dynamic_slice_sizes",
                       .stablehlo = "slice_sizes",
                       .short_name = "sizes",
                       .missing = "",
                       .meaning = "the extents of r"}},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r[i] = x[clamp(0, s, extents of x - sizes) + i]",
       .spec = "dynamic_slice",
       .semantics = "DynamicSlice"},
      {.id = Id::dynamic_update_slice,
       .hlo = "dynamic-update-slice",
       .stablehlo = "dynamic_update_slice",
       .operands = {array, {.name = "u", .types = any}, start("s")},
       .attributes = {},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r[clamp(0, s, extents of x - those of u) + j] = u[j], and r[i] = x[i] elsewhere",
       .spec = "dynamic_update_slice",
       .semantics = "DynamicUpdateSlice"},
      {.id = Id::select,
       .hlo = "select",
       .stablehlo = "select",
       .operands = {{.name = "c", .types = truth, .role = Role::decides},
                    {.name = "a", .types = any},
                    {.name = "b", .types = any}},
       .attributes = {},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r[i] = a[i] where c[i], or the scalar c, is true, else b[i]",
       .spec = "select",
       .semantics = "Select"},
  };
}

std::vector<Row> decisions() {
  return {
      {.id = Id::convert,
       .hlo = "convert",
       .stablehlo = "convert",
       .operands = {array},
       .result = Result::written,
       .attributes = {},
       .effect = Effect::converts,
       .arithmetic = {},
       .meaning =
           "r[i] = the value of r's type that x[i] is; integers modulo 2^bits, numbers with a "
           "point to the nearest, and from there to integers towards zero",
       .spec = "convert",
       .semantics = "ConvertElementType",
       .in_field = InField::unknown},
      {.id = Id::compare,
       .hlo = "compare",
       .stablehlo = "compare",
       .operands = {{.name = "a", .types = ordered, .role = Role::decides},
                    {.name = "b", .types = ordered, .role = Role::decides}},
       .result = Result::truth,
       .attributes = {{.hlo = "direction",
                       .stablehlo = "comparison_direction",
                       .short_name = "",
                       .missing = "",
                       .meaning = "EQ, NE, LT, LE, GT or GE"},
                      {.hlo = "type",
                       .stablehlo = "compare_type",
                       .short_name = "",
                       .missing = "that of the operands",
                       .meaning = "SIGNED, UNSIGNED, FLOAT or TOTALORDER"},
                      {.hlo = "order",
                       .stablehlo = "",
                       .short_name = "",
                       .missing = "PARTIAL",
                       .meaning =
                           "TOTAL, which is TOTALORDER of numbers with a point, or PARTIAL"}},
       .effect = Effect::calculates,
       .arithmetic = {},
       .meaning = "r[i] = whether a[i] and b[i] stand so",
       .spec = "compare",
       .semantics = "Comparison operations",
       .in_field = InField::ordered},
      {.id = Id::clamp,
       .hlo = "clamp",
       .stablehlo = "clamp",
       .operands = {{.name = "low", .types = ordered},
                    {.name = "x", .types = ordered},
                    {.name = "high", .types = ordered}},
       .attributes = {},
       .effect = Effect::calculates,
       .arithmetic = {},
       .meaning = "r[i] = min(max(x[i], low[i]), high[i]); both ends may be scalars",
       .spec = "clamp",
       .semantics = "Clamp",
       .in_field = InField::ordered},
  };
}

std::vector<Row> two_numbers() {
  using A = Arithmetic;
  const Effect adds = Effect::adds;
  const Effect alone = Effect::calculates;
  return {
      binary(Id::add, "add", "add", addable, adds, A::add, InField::exact,
             "r = a + b, of integers modulo 2^bits; of truth values a or b", "Add"),
      binary(Id::subtract, "subtract", "subtract", numeric, alone, A::subtract, InField::exact,
             "r = a - b", "Sub (subtract)"),
      binary(Id::multiply, "multiply", "multiply", addable, alone, A::multiply, InField::exact,
             "r = a b; of truth values a and b", "Mul (multiply)"),
      binary(Id::divide, "divide", "divide", numeric, alone, A::divide, InField::exact,
             "r = a / b, of integers towards zero; by 0 of integers -1, in XLA", "Div (divide)"),
      binary(Id::remainder, "remainder", "remainder", numeric, alone, A::remainder,
             InField::unknown, "r = a - b (a / b towards zero); by 0 of integers a, in XLA",
             "Rem (remainder)"),
      binary(Id::maximum, "maximum", "maximum", addable, adds, A::maximum, InField::ordered,
             "the larger one; of truth values a or b; a NaN is larger", "Max (maximum)"),
      binary(Id::minimum, "minimum", "minimum", addable, adds, A::minimum, InField::ordered,
             "the smaller one; of truth values a and b; a NaN is smaller", "Min (minimum)"),
      binary(Id::bit_and, "and", "and", with_bits, alone, A::bit_and, InField::nothing,
             "bit by bit", "And"),
      binary(Id::bit_or, "or", "or", with_bits, alone, A::bit_or, InField::nothing, "bit by bit",
             "Or"),
      binary(Id::bit_xor, "xor", "xor", with_bits, alone, A::bit_xor, InField::nothing,
             "bit by bit", "Xor"),
  };
}

std::vector<Row> one_number() {
  using A = Arithmetic;
  return {
      unary(Id::bit_not, "not", "not", with_bits, A::bit_not, InField::nothing, "bit by bit",
            "Not"),
      unary(Id::negate, "negate", "negate", numeric, A::negate, InField::exact, "r = -x",
            "Neg (negate)"),
      unary(Id::absolute, "abs", "abs", with_sign, A::absolute, InField::ordered,
            "r = |x|; of the least integer itself", "Abs"),
      unary(Id::sign, "sign", "sign", with_sign, A::sign, InField::ordered,
            "-1, 0 or 1; a NaN and -0 stay", "Sign"),
      unary(Id::population_count, "popcnt", "popcnt", integer, A::population_count,
            InField::nothing, "how many bits are 1", "PopulationCount"),
      unary(Id::leading_zeros, "count-leading-zeros", "count_leading_zeros", integer,
            A::leading_zeros, InField::nothing, "how many bits are 0 above the highest 1",
            "Clz (count leading zeros)"),
  };
}

std::vector<Row> shifts() {
  using A = Arithmetic;
  const Effect alone = Effect::calculates;
  return {
      binary(Id::shift_left, "shift-left", "shift_left", integer, alone, A::shift_left,
             InField::nothing, "by b bits, b without a sign; 0 for the type's bits or more",
             "ShiftLeft"),
      binary(Id::shift_right_arithmetic, "shift-right-arithmetic", "shift_right_arithmetic",
             integer, alone, A::shift_right_arithmetic, InField::nothing,
             "by b bits, filled with the highest bit, whatever the type; that bit for all or more",
             "ShiftRightArithmetic"),
      binary(Id::shift_right_logical, "shift-right-logical", "shift_right_logical", integer, alone,
             A::shift_right_logical, InField::nothing,
             "by b bits, filled with 0, whatever the type; 0 for the type's bits or more",
             "ShiftRightLogical"),
  };
}

constexpr Attribute global_ids = {.hlo = "use_global_device_ids",
                                  .stablehlo = "use_global_device_ids",
                                  .short_name = "",
                                  .missing = "false",
                                  .meaning = "numbers are those of devices"};
constexpr Attribute layouts = {.hlo = "constrain_layout",
                               .stablehlo = "",
                               .short_name = "",
                               .missing = "false",
                               .meaning = "nothing about where elements go",
                               .decides = false};
constexpr Attribute body = {.hlo = "to_apply",
                            .stablehlo = "",
                            .short_name = "",
                            .missing = "in StableHLO the operation's region",
                            .meaning =
                                "how two scalars of the operands' type are added to one of it: "
                                "add, maximum or minimum; of truth values or and and, too"};

Attribute along(std::string_view stablehlo, std::string_view meaning) {
  return {.hlo = "dimensions",
          .stablehlo = stablehlo,
          .short_name = "",
          .missing = "",
          .meaning = meaning};
}

std::vector<Row> collectives() {
  const Operand added = {.name = "x", .types = addable, .is_repeated = true};
  return {
      {.id = Id::all_gather,
       .hlo = "all-gather",
       .stablehlo = "all_gather",
       .operands = {arrays},
       .attributes = {groups, channel, global_ids, layouts,
                      along("all_gather_dim", "the dimension d along which tiles stand")},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r[i] = x of member i[d] / extent, at i[d] mod extent",
       .spec = "all_gather",
       .semantics = "AllGather"},
      {.id = Id::all_to_all,
       .hlo = "all-to-all",
       .stablehlo = "all_to_all",
       .operands = {arrays},
       .attributes = {groups,
                      channel,
                      layouts,
                      along("split_dimension",
                            "the dimension that is cut; in HLO concatenated, too; "
                            "missing where every part is an operand"),
                      {.hlo = "",
                       .stablehlo = "concat_dimension",
                       .short_name = "",
                       .missing = "",
                       .meaning = "the dimension along which parts stand at the end"},
                      {.hlo = "",
                       .stablehlo = "split_count",
                       .short_name = "",
                       .missing = "as many as a group has members",
                       .meaning = "how many parts, which is as many as a group has members"}},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "part k of r is part j of member k's x, where j is the device's own place",
       .spec = "all_to_all",
       .semantics = "AllToAll"},
      {.id = Id::collective_permute,
       .hlo = "collective-permute",
       .stablehlo = "collective_permute",
       .operands = {array},
       .attributes = {{.hlo = "source_target_pairs",
                       .stablehlo = "source_target_pairs",
                       .short_name = "",
                       .missing = "",
                       .meaning = "who sends to whom"},
                      channel},
       .effect = Effect::moves,
       .arithmetic = {},
       .meaning = "r = x of the source of the device, or zeros where it is no target",
       .spec = "collective_permute",
       .semantics = "CollectivePermute"},
      {.id = Id::all_reduce,
       .hlo = "all-reduce",
       .stablehlo = "all_reduce",
       .operands = {added},
       .attributes = {groups, channel, global_ids, layouts, body},
       .effect = Effect::adds,
       .arithmetic = {},
       .meaning = "r[i] = the sum over the group of x[i], in any order; of integers modulo 2^bits",
       .spec = "all_reduce",
       .semantics = "AllReduce",
       .in_field = InField::called},
      {.id = Id::reduce_scatter,
       .hlo = "reduce-scatter",
       .stablehlo = "reduce_scatter",
       .operands = {added},
       .attributes = {groups, channel, global_ids, layouts, body,
                      along("scatter_dimension", "the dimension d that is cut")},
       .effect = Effect::adds,
       .arithmetic = {},
       .meaning = "part j along d of the sum over the group, where j is the device's own place",
       .spec = "reduce_scatter",
       .semantics = "ReduceScatter",
       .in_field = InField::called},
  };
}

std::vector<Row> all_rows() {
  std::vector<Row> out;
  for (auto& part : {sources(), tuples(), moves(), decisions(), two_numbers(), one_number(),
                     shifts(), collectives(), computing_rows()}) {
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

using Names = std::unordered_map<std::string_view, const Row*>;

Names names(std::string_view Row::*name) {
  Names out;
  for (const Row& row : rows()) {
    if (!(row.*name).empty()) out.emplace(row.*name, &row);
  }
  return out;
}

Names other_names() {
  Names out;
  for (const Row& row : rows()) {
    for (const std::string_view name : row.others) out.emplace(name, &row);
  }
  return out;
}

const Row* find(const Names& names, std::string_view name, Scope scope) {
  const auto found = names.find(name);
  if (found == names.end()) return nullptr;
  const bool is_known = scope == Scope::computes || found->second->scope == Scope::moves;
  return is_known ? found->second : nullptr;
}

}  // namespace

bool Types::has(const ElementKind& kind) const {
  switch (kind.form) {
    case ElementKind::Form::truth:
      return truth;
    case ElementKind::Form::integer:
      return kind.is_signed ? signed_integer : unsigned_integer;
    case ElementKind::Form::real:
      return real;
    case ElementKind::Form::complex:
      return complex;
    case ElementKind::Form::other:
      return other;
  }
  RETILE_ASSERT(false, "every case is above");
  return false;
}

std::span<const Row> rows() {
  static const std::vector<Row> out = all_rows();
  return out;
}

const Row& row_of(Id id) {
  const Row& out = rows()[static_cast<std::size_t>(id)];
  RETILE_ASSERT(out.id == id, "rows stand in the order of their ids");
  return out;
}

const Row& row_of(Arithmetic arithmetic) {
  const auto found = std::find_if(rows().begin(), rows().end(),
                                  [&](const Row& row) { return row.arithmetic == arithmetic; });
  RETILE_ASSERT(found != rows().end(), "every operation on numbers has a row");
  return *found;
}

const Row* find_hlo(std::string_view name, Scope scope) {
  static const Names by_name = names(&Row::hlo);
  return find(by_name, name, scope);
}

const Row* find_stablehlo(std::string_view name, Scope scope) {
  static const Names by_name = names(&Row::stablehlo);
  return find(by_name, name, scope);
}

const Row* find_mlir(std::string_view name) {
  static const Names by_name = other_names();
  constexpr std::string_view front = "stablehlo.";
  if (name.starts_with(front)) {
    if (const Row* row = find_stablehlo(name.substr(front.size()))) return row;
  }
  return find(by_name, name, Scope::computes);
}

bool has_hlo_attribute(const Row& row, std::string_view name) {
  return std::any_of(row.attributes.begin(), row.attributes.end(),
                     [&](const Attribute& one) { return one.hlo == name; });
}

std::span<const std::string_view> hlo_attributes_without_meaning() {
  static constexpr std::array<std::string_view, 11> out = {
      "metadata",         "frontend_attributes",   "backend_config",
      "sharding",         "control-predecessors",  "origin",
      "statistics",       "parameter_replication", "original_value",
      "execution_thread", "is_host_transfer"};
  return out;
}

bool decides_in_hlo(const Row& row, std::string_view name) {
  const auto own = std::find_if(row.attributes.begin(), row.attributes.end(),
                                [&](const Attribute& one) { return one.hlo == name; });
  if (own != row.attributes.end()) return own->decides;
  const auto names = hlo_attributes_without_meaning();
  return std::find(names.begin(), names.end(), name) == names.end();
}

bool has_stablehlo_attribute(const Row& row, std::string_view name) {
  return std::any_of(row.attributes.begin(), row.attributes.end(), [&](const Attribute& one) {
    return !name.empty() && (one.stablehlo == name || one.short_name == name);
  });
}

const Operand& operand_of(const Row& row, std::size_t number) {
  RETILE_ASSERT(!row.operands.empty(), "an operation without operands has none");
  const std::size_t last = row.operands.size() - 1;
  return row.operands[std::min(number, last)];
}

}  // namespace retile::operations
