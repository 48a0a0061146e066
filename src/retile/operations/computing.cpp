#include "retile/operations/computing.h"

#include <string_view>
#include <vector>

#include "retile/operations/row_parts.h"

namespace retile::operations {
namespace {

using parts::with_point;

constexpr std::string_view in_region = "in StableHLO the operation's region";
constexpr std::string_view first_region = "in StableHLO the first region";
constexpr std::string_view second_region = "in StableHLO the second region";

/// An attribute that has one name in both.
Attribute both(std::string_view name, std::string_view missing, std::string_view meaning) {
  return {.hlo = name, .stablehlo = name, .short_name = "", .missing = missing, .meaning = meaning};
}

Attribute in_hlo(std::string_view name, std::string_view missing, std::string_view meaning) {
  return {.hlo = name, .stablehlo = "", .short_name = "", .missing = missing, .meaning = meaning};
}

/// What a machine is told that says nothing about what is meant.
Attribute silent(Attribute attribute) {
  attribute.decides = false;
  return attribute;
}

/// A computation that HLO names and StableHLO has as a region.
Attribute computation(std::string_view hlo, std::string_view meaning,
                      std::string_view region = in_region) {
  return in_hlo(hlo, region, meaning);
}

Attribute applied(std::string_view meaning) {
  return {.hlo = "to_apply",
          .stablehlo = "",
          .short_name = "applies",
          .missing = in_region,
          .meaning = meaning};
}

constexpr Attribute precision = {
    .hlo = "operand_precision",
    .stablehlo = "precision_config",
    .short_name = "precision",
    .missing = "the machine's own",
    .meaning = "how exactly the machine multiplies, and nothing about what is meant",
    .decides = false};
constexpr Attribute accuracy = {
    .hlo = "result_accuracy",
    .stablehlo = "result_accuracy",
    .short_name = "",
    .missing = "the machine's own",
    .meaning = "how near the machine comes, and nothing about what is meant",
    .decides = false};

constexpr Attribute aliasing = {.hlo = "output_to_operand_aliasing",
                                .stablehlo = "output_operand_aliases",
                                .short_name = "",
                                .missing = "none",
                                .meaning =
                                    "which results take the memory of an operand, and "
                                    "nothing about what is meant",
                                .decides = false};
constexpr Attribute algorithm = {.hlo = "algorithm",
                                 .stablehlo = "algorithm",
                                 .short_name = "",
                                 .missing = "nothing beside the types",
                                 .meaning = "to what operands and sums are rounded"};

Operand number(std::string_view name, const Types& types) { return {.name = name, .types = types}; }
Operand scalar(std::string_view name, const Types& types) {
  return {.name = name, .types = types, .is_scalar = true};
}
constexpr Operand places = {.name = "s", .types = parts::integer, .role = Role::decides};

/// A function of a number with a point, of which the field knows nothing.
Row function(Id id, std::string_view hlo, std::string_view stablehlo, std::string_view meaning,
             std::string_view semantics) {
  return {.id = id,
          .hlo = hlo,
          .stablehlo = stablehlo,
          .operands = {number("x", with_point)},
          .attributes = {accuracy},
          .effect = Effect::computes,
          .arithmetic = {},
          .meaning = meaning,
          .spec = stablehlo,
          .semantics = semantics,
          .in_field = InField::unknown,
          .scope = Scope::computes};
}

/// To a number that is an integer.
Row rounding(Id id, std::string_view hlo, std::string_view stablehlo, std::string_view meaning,
             std::string_view semantics) {
  Row out = function(id, hlo, stablehlo, meaning, semantics);
  out.operands = {number("x", parts::real)};
  out.attributes = {};
  return out;
}

/// A function that StableHLO itself does not have.
Row function_of_chlo(Id id, std::string_view name, std::string_view own_name,
                     std::string_view meaning, std::string_view semantics) {
  Row out = function(id, name, "", meaning, semantics);
  out.attributes = {silent(in_hlo(accuracy.hlo, accuracy.missing, accuracy.meaning))};
  out.spec = "CHLO";
  out.others = {own_name};
  return out;
}

std::vector<Row> runs() {
  return {
      {.id = Id::fusion,
       .hlo = "fusion",
       .stablehlo = "",
       .operands = {parts::arrays},
       .attributes = {in_hlo("calls", "", "the computation that stands for it"),
                      silent(in_hlo("kind", "", "how it is made, and nothing about what is meant")),
                      silent(in_hlo(aliasing.hlo, aliasing.missing, aliasing.meaning))},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning = "what the computation makes of the operands",
       .spec = "",
       .semantics = "Fusion",
       .in_field = InField::called,
       .scope = Scope::computes},
      {.id = Id::while_loop,
       .hlo = "while",
       .stablehlo = "while",
       .operands = {parts::arrays},
       .attributes = {computation("condition", "c: whether there is another round", first_region),
                      computation("body", "f: what a round makes of the operands", second_region)},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning = "r = x; while c(r), r = f(r)",
       .spec = "while",
       .semantics = "While",
       .in_field = InField::called,
       .scope = Scope::computes},
      {.id = Id::conditional,
       .hlo = "conditional",
       .stablehlo = "case",
       .operands = {{.name = "c",
                     .types = {.truth = true, .signed_integer = true},
                     .role = Role::decides,
                     .is_scalar = true},
                    parts::arrays},
       .attributes = {in_hlo("branch_computations",
                             "true_computation and false_computation, or regions in StableHLO",
                             "what may be run, counted from 0; each has an operand of its own, "
                             "and in StableHLO none"),
                      in_hlo("true_computation", "branch_computations, or the first region",
                             "what is run where c is true"),
                      in_hlo("false_computation", "branch_computations, or the second region",
                             "what is run where c is false")},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning = "what the computation of number c makes of its operand, of truth values the "
                  "first where c is true; the last where c is no number of theirs",
       .spec = "case, if",
       .semantics = "Conditional",
       .in_field = InField::called,
       .scope = Scope::computes,
       .others = {"stablehlo.if"}},
      {.id = Id::map,
       .hlo = "map",
       .stablehlo = "map",
       .operands = {parts::arrays},
       .attributes = {computation("to_apply", "f, of a scalar of every operand"),
                      both("dimensions", "in HLO all", "all dimensions of the operands")},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning = "r[i] = f(x[i]), of all operands",
       .spec = "map",
       .semantics = "Map",
       .in_field = InField::called,
       .scope = Scope::computes},
  };
}

/// What stands at a custom call: all but what is silent is part of what the function is.
std::vector<Attribute> told_to_functions() {
  const auto two = [](std::string_view hlo, std::string_view stablehlo, std::string_view missing,
                      std::string_view meaning) {
    return Attribute{.hlo = hlo,
                     .stablehlo = stablehlo,
                     .short_name = "",
                     .missing = missing,
                     .meaning = meaning};
  };
  std::vector<Attribute> out = {
      two("custom_call_target", "call_target_name", "",
          "the function's name; in StableHLO's own form behind an @"),
      both("backend_config", "nothing", "what the function is told"),
      both("called_computations", "none", "computations that the function calls"),
      two("operand_layout_constraints", "operand_layouts", "any",
          "how operands lie in memory, which is what the function reads"),
      two("", "result_layouts", "any", "how results lie there"),
      two("", "result_tilings", "none", "in which tiles they lie there"),
      silent(two("custom_call_has_side_effect", "has_side_effect", "false",
                 "whether it is to run where nobody reads its results")),
      silent(both("api_version", "the first one", "how the function is called")),
      aliasing,
      silent(in_hlo("schedule", "none", "how early or late it runs")),
      silent(
          in_hlo("operand_precision", "the machine's own", "how exactly the machine multiplies"))};
  for (const std::string_view name : {"to_apply", "window", "dim_labels", "feature_group_count",
                                      "batch_group_count", "padding_type", "literal"}) {
    out.push_back(in_hlo(name, "nothing", "what the function is told, too"));
  }
  return out;
}

std::vector<Row> other_runs() {
  return {
      {.id = Id::custom_call,
       .hlo = "custom-call",
       .stablehlo = "custom_call",
       .operands = {parts::arrays},
       .result = Result::written,
       .attributes = told_to_functions(),
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning = "what the function makes of the operands",
       .spec = "custom_call",
       .semantics = "CustomCall",
       .in_field = InField::unknown,
       .scope = Scope::computes},
      {.id = Id::after_all,
       .hlo = "after-all",
       .stablehlo = "after_all",
       .operands = {parts::arrays},
       .attributes = {},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning = "a token, which orders effects and is no number",
       .spec = "after_all",
       .semantics = "AfterAll",
       .in_field = InField::nothing,
       .scope = Scope::computes,
       .others = {"stablehlo.create_token"}},
      {.id = Id::bitcast_convert,
       .hlo = "bitcast-convert",
       .stablehlo = "bitcast_convert",
       .operands = {parts::array},
       .result = Result::written,
       .attributes = {},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning = "the bits of x, as numbers of r's type; narrower ones stand along one more "
                  "dimension behind, the lowest bits first, and wider ones are made along it",
       .spec = "bitcast_convert",
       .semantics = "BitcastConvertType",
       .in_field = InField::unknown,
       .scope = Scope::computes},
      {.id = Id::reduce_precision,
       .hlo = "reduce-precision",
       .stablehlo = "reduce_precision",
       .operands = {number("x", parts::real)},
       .attributes = {{.hlo = "exponent_bits",
                       .stablehlo = "exponent_bits",
                       .short_name = "format",
                       .missing = "",
                       .meaning = "bits of the exponent; in StableHLO's own form e and m stand "
                                  "before the numbers"},
                      {.hlo = "mantissa_bits",
                       .stablehlo = "mantissa_bits",
                       .short_name = "format",
                       .missing = "",
                       .meaning = "bits behind the point"}},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning = "r[i] = the number with so many bits that is nearest to x[i]",
       .spec = "reduce_precision",
       .semantics = "ReducePrecision",
       .in_field = InField::unknown,
       .scope = Scope::computes},
  };
}

Row tan_row() {
  Row out = function(Id::tan, "tan", "tan", "the tangent of x", "Tan");
  out.others = {"chlo.tan"};  // of older texts
  return out;
}

std::vector<Row> functions() {
  return {
      function(Id::exponential, "exponential", "exponential", "r = e^x", "Exp"),
      function(Id::exponential_minus_one, "exponential-minus-one", "exponential_minus_one",
               "r = e^x - 1", "Expm1"),
      function(Id::log, "log", "log", "r = ln x", "Log"),
      function(Id::log_plus_one, "log-plus-one", "log_plus_one", "r = ln(1 + x)", "Log1p"),
      function(Id::logistic, "logistic", "logistic", "r = 1 / (1 + e^-x)", "Logistic"),
      function(Id::tanh, "tanh", "tanh", "the hyperbolic tangent of x", "Tanh"),
      tan_row(),
      function(Id::sine, "sine", "sine", "the sine of x", "Sin"),
      function(Id::cosine, "cosine", "cosine", "the cosine of x", "Cos"),
      function(Id::sqrt, "sqrt", "sqrt", "the square root of x", "Sqrt"),
      function(Id::rsqrt, "rsqrt", "rsqrt", "1 by the square root of x", "Rsqrt"),
      function(Id::cbrt, "cbrt", "cbrt", "the cube root of x", "Cbrt"),
      function_of_chlo(Id::erf, "erf", "chlo.erf", "the error function of x", "Erf"),
      rounding(Id::floor, "floor", "floor", "the largest integer that is not above x", "Floor"),
      rounding(Id::ceil, "ceil", "ceil", "the smallest integer that is not below x", "Ceil"),
      rounding(Id::round_nearest_afz, "round-nearest-afz", "round_nearest_afz",
               "the integer nearest to x, of two that with the larger |r|", "Round"),
      rounding(Id::round_nearest_even, "round-nearest-even", "round_nearest_even",
               "the integer nearest to x, of two the even one", "RoundNearestEven"),
      {.id = Id::is_finite,
       .hlo = "is-finite",
       .stablehlo = "is_finite",
       .operands = {number("x", parts::real)},
       .result = Result::truth,
       .attributes = {},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning = "r[i] = whether x[i] is a number, and between both infinities",
       .spec = "is_finite",
       .semantics = "IsFinite",
       .in_field = InField::ordered,
       .scope = Scope::computes},
      function_of_chlo(Id::acos, "acos", "chlo.acos", "the angle whose cosine is x", "Acos"),
      function_of_chlo(Id::acosh, "acosh", "chlo.acosh", "the number whose hyperbolic cosine is x",
                       "Acosh"),
      function_of_chlo(Id::asin, "asin", "chlo.asin", "the angle whose sine is x", "Asin"),
      function_of_chlo(Id::asinh, "asinh", "chlo.asinh", "the number whose hyperbolic sine is x",
                       "Asinh"),
      function_of_chlo(Id::atanh, "atanh", "chlo.atanh", "the number whose hyperbolic tangent is x",
                       "Atanh"),
      function_of_chlo(Id::cosh, "cosh", "chlo.cosh", "the hyperbolic cosine of x", "Cosh"),
      function_of_chlo(Id::sinh, "sinh", "chlo.sinh", "the hyperbolic sine of x", "Sinh"),
  };
}

/// Of two numbers, or of the parts of one.
Row on_numbers(Id id, std::string_view name, const std::vector<Operand>& operands, InField in_field,
               std::string_view meaning, std::string_view semantics) {
  return {.id = id,
          .hlo = name,
          .stablehlo = name,
          .operands = operands,
          .result = Result::written,
          .attributes = {},
          .effect = Effect::computes,
          .arithmetic = {},
          .meaning = meaning,
          .spec = name,
          .semantics = semantics,
          .in_field = in_field,
          .scope = Scope::computes};
}

std::vector<Row> more_numbers() {
  const std::vector<Operand> one = {number("x", with_point)};
  return {
      on_numbers(Id::real, "real", one, InField::exact, "the real part of x", "Real"),
      on_numbers(Id::imag, "imag", one, InField::exact, "the imaginary part of x, or 0", "Imag"),
      on_numbers(Id::complex, "complex", {number("a", parts::real), number("b", parts::real)},
                 InField::exact, "r = a + b i, where i i = -1", "Complex"),
      on_numbers(Id::power, "power", {number("a", parts::numeric), number("b", parts::numeric)},
                 InField::unknown, "r = a^b, of integers modulo 2^bits", "Pow"),
      on_numbers(Id::atan2, "atan2", {number("a", with_point), number("b", with_point)},
                 InField::unknown, "the angle of the point (b, a)", "Atan2"),
  };
}

/// Of the numbers of a contraction.
Attribute of_dot(std::string_view hlo, std::string_view short_name, std::string_view missing,
                 std::string_view meaning) {
  return {.hlo = hlo,
          .stablehlo = "dot_dimension_numbers",
          .short_name = short_name,
          .missing = missing,
          .meaning = meaning};
}

Row dot_row() {
  return {.id = Id::dot,
          .hlo = "dot",
          .stablehlo = "dot_general",
          .operands = {number("a", parts::addable), number("b", parts::addable)},
          .result = Result::written,
          .attributes = {of_dot("lhs_batch_dims", "batching_dims", "none",
                                "dimensions of a that stand in r once, beside those of b"),
                         of_dot("rhs_batch_dims", "batching_dims", "none", "those of b"),
                         of_dot("lhs_contracting_dims", "contracting_dims",
                                "none; of stablehlo.dot the last",
                                "dimensions of a along which is added, beside those of b"),
                         of_dot("rhs_contracting_dims", "contracting_dims",
                                "none; of stablehlo.dot the first", "those of b"),
                         precision, algorithm},
          .effect = Effect::computes,
          .arithmetic = {},
          .meaning =
              "r[h, i, j] = the sum over k of a[h, i, k] b[h, j, k], where h is of batches, k is "
              "contracted, and i and j are what a and b have beside",
          .spec = "dot_general",
          .semantics = "DotGeneral",
          .in_field = InField::exact,
          .scope = Scope::computes,
          .others = {"stablehlo.dot"}};
}

/// A part of what HLO calls the window.
Attribute of_window(std::string_view stablehlo, std::string_view short_name,
                    std::string_view missing, std::string_view meaning) {
  return {.hlo = "window",
          .stablehlo = stablehlo,
          .short_name = short_name,
          .missing = missing,
          .meaning = meaning};
}

constexpr std::string_view pads =
    "pad: how many are put before and behind, in every dimension; negative ones take away";

Row convolution_row() {
  return {
      .id = Id::convolution,
      .hlo = "convolution",
      .stablehlo = "convolution",
      .operands = {number("a", parts::addable), number("b", parts::addable)},
      .result = Result::written,
      .attributes = {of_window("window_strides", "stride", "1",
                               "stride: how far windows are apart; in HLO `size` is what b has"),
                     of_window("padding", "pad", "0", pads),
                     of_window("lhs_dilation", "lhs_dilate", "1",
                               "lhs_dilate: how far neighbours of a are put apart, zeros between"),
                     of_window("rhs_dilation", "rhs_dilate", "1",
                               "rhs_dilate: how far neighbours in the window are apart"),
                     of_window("window_reversal", "reverse", "false",
                               "rhs_reversal: whether the window is turned around"),
                     {.hlo = "dim_labels",
                      .stablehlo = "dimension_numbers",
                      .short_name = "dim_numbers",
                      .missing = "",
                      .meaning = "which dimension of a, b and r is the batch b, the feature f, i "
                                 "into o, and which is spatial, 0 on"},
                     both("feature_group_count", "in HLO 1",
                          "in how many parts features of a and r are cut, each by itself"),
                     both("batch_group_count", "in HLO 1",
                          "in how many parts the batch of a and the features of r are cut"),
                     precision,
                     in_hlo("algorithm", "nothing beside the types",
                            "to what operands and sums are rounded")},
      .effect = Effect::computes,
      .arithmetic = {},
      .meaning =
          "r[n, s, o] = the sum over window places w and features i of a[n, s stride + w "
          "rhs_dilate, i] b[w, i, o], of a as it is padded",
      .spec = "convolution",
      .semantics = "ConvWithGeneralPadding (convolution)",
      .in_field = InField::exact,
      .scope = Scope::computes};
}

Row reduce_row() {
  return {.id = Id::reduce,
          .hlo = "reduce",
          .stablehlo = "reduce",
          .operands = {parts::arrays},
          .result = Result::written,
          .attributes = {both("dimensions", "", "the dimensions that go"),
                         applied("f: how two are made one, of each array two scalars and one")},
          .effect = Effect::computes,
          .arithmetic = {},
          .meaning =
              "r[i] = f of all x at i and what it begins with, in any order; the arrays are "
              "the first half of the operands, and scalars to begin with the second",
          .spec = "reduce",
          .semantics = "Reduce",
          .in_field = InField::called,
          .scope = Scope::computes};
}

Row reduce_window_row() {
  return {.id = Id::reduce_window,
          .hlo = "reduce-window",
          .stablehlo = "reduce_window",
          .operands = {parts::arrays},
          .result = Result::written,
          .attributes = {of_window("window_dimensions", "", "in HLO 1",
                                   "size: the extents of a window"),
                         of_window("window_strides", "", "1", "stride: how far windows are apart"),
                         of_window("padding", "", "0", pads),
                         of_window("base_dilations", "", "1",
                                   "lhs_dilate: how far neighbours of x are put apart"),
                         of_window("window_dilations", "", "1",
                                   "rhs_dilate: how far neighbours in the window are apart"),
                         computation("to_apply", "f: how two are made one")},
          .effect = Effect::computes,
          .arithmetic = {},
          .meaning =
              "r[i] = f of all x in the window at i and what it begins with, which stands "
              "in the padding, too; operands as those of reduce",
          .spec = "reduce_window",
          .semantics = "ReduceWindow",
          .in_field = InField::called,
          .scope = Scope::computes};
}

Row select_and_scatter_row() {
  return {
      .id = Id::select_and_scatter,
      .hlo = "select-and-scatter",
      .stablehlo = "select_and_scatter",
      .operands = {parts::array, number("u", parts::any), scalar("v", parts::any)},
      .attributes = {of_window("window_dimensions", "", "in HLO 1",
                               "size: the extents of a window"),
                     of_window("window_strides", "", "1", "stride: how far windows are apart"),
                     of_window("padding", "", "0", pads),
                     computation("select", "c: whether the first one stays chosen", first_region),
                     computation("scatter", "f: how two are made one", second_region)},
      .effect = Effect::computes,
      .arithmetic = {},
      .meaning =
          "r[j] = f of v and all u[i] whose window of x has its chosen place at j; a place "
          "stays chosen as long as c(x there, x at the next one) is true",
      .spec = "select_and_scatter",
      .semantics = "SelectAndScatter",
      .in_field = InField::called,
      .scope = Scope::computes};
}

/// Of the dimensions of gather and scatter: HLO has them one by one.
Attribute of_gather(std::string_view hlo, std::string_view missing, std::string_view meaning) {
  return {.hlo = hlo,
          .stablehlo = "dimension_numbers",
          .short_name = "",
          .missing = missing,
          .meaning = meaning};
}
Attribute of_scatter(std::string_view hlo, std::string_view missing, std::string_view meaning) {
  Attribute out = of_gather(hlo, missing, meaning);
  out.stablehlo = "scatter_dimension_numbers";
  return out;
}

Row gather_row() {
  return {
      .id = Id::gather,
      .hlo = "gather",
      .stablehlo = "gather",
      .operands = {parts::array, places},
      .attributes = {of_gather("offset_dims", "in StableHLO none",
                               "dimensions of r that count within a slice; the others are batches"),
                     of_gather("collapsed_slice_dims", "in StableHLO none",
                               "dimensions of x that r lacks: slices have one place along them"),
                     of_gather("operand_batching_dims", "none",
                               "dimensions of x that stand in r as batches, too"),
                     of_gather("start_indices_batching_dims", "none", "and those of s"),
                     of_gather("start_index_map", "in StableHLO none",
                               "m: number k of an index is a place along dimension m[k] of x"),
                     of_gather("index_vector_dim", "in StableHLO 0",
                               "the dimension of s along which an index stands; its rank: indices "
                               "of one number"),
                     both("slice_sizes", "", "the extents of a slice of x"),
                     both("indices_are_sorted", "false", "a promise that indices stand in order")},
      .effect = Effect::moves,
      .arithmetic = {},
      .meaning = "r[batch, i] = x[clamp(0, index of the batch, extents of x - slice_sizes) + i]",
      .spec = "gather",
      .semantics = "Gather",
      .in_field = InField::nothing,
      .scope = Scope::computes};
}

Row scatter_row() {
  return {
      .id = Id::scatter,
      .hlo = "scatter",
      .stablehlo = "scatter",
      .operands = {parts::array, places, number("u", parts::any)},
      .attributes = {of_scatter(
                         "update_window_dims", "in StableHLO none",
                         "dimensions of u that count within a window; the others are batches"),
                     of_scatter("inserted_window_dims", "in StableHLO none",
                                "dimensions of x that u lacks: windows have one place along them"),
                     of_scatter("input_batching_dims", "none",
                                "dimensions of x that stand in u as batches, too"),
                     of_scatter("scatter_indices_batching_dims", "none", "and those of s"),
                     of_scatter("scatter_dims_to_operand_dims", "in StableHLO none",
                                "m: number k of an index is a place along dimension m[k] of x"),
                     of_scatter("index_vector_dim", "in StableHLO 0",
                                "the dimension of s along which an index stands; its rank: indices "
                                "of one number"),
                     both("indices_are_sorted", "false", "a promise that indices stand in order"),
                     both("unique_indices", "false", "a promise that no place is met twice"),
                     computation("to_apply", "f: how what is there and what comes are made one")},
      .effect = Effect::computes,
      .arithmetic = {},
      .meaning =
          "r = x; of every u[batch, i], in any order, r[p] = f(r[p], u[batch, i]) where p = "
          "index of the batch + i, if r has that place; several x and u have one s between",
      .spec = "scatter",
      .semantics = "Scatter",
      .in_field = InField::called,
      .scope = Scope::computes};
}

std::vector<Row> orders() {
  return {
      {.id = Id::sort,
       .hlo = "sort",
       .stablehlo = "sort",
       .operands = {parts::arrays},
       .attributes = {{.hlo = "dimensions",
                       .stablehlo = "dimension",
                       .short_name = "",
                       .missing = "in StableHLO the last",
                       .meaning = "the dimension d along which is sorted; in StableHLO it may be "
                                  "counted from behind, -1 on"},
                      both("is_stable", "false", "whether equal ones keep their order"),
                      computation("to_apply",
                                  "c: of each array two scalars; whether those of the "
                                  "first place stand before")},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning = "all operands along d in the one order that c says",
       .spec = "sort",
       .semantics = "Sort",
       .in_field = InField::ordered,
       .scope = Scope::computes},
      {.id = Id::top_k,
       .hlo = "topk",
       .stablehlo = "",
       .operands = {number("x", parts::ordered)},
       .result = Result::written,
       .attributes = {both("k", "", "how many are kept"),
                      in_hlo("largest", "true", "false: the smallest ones are kept"),
                      both("is_stable", "in HLO true, in StableHLO false",
                           "whether of equal ones that of the smaller index stands first")},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning =
           "the k largest numbers along the last dimension, the largest one first, and their "
           "indices",
       .spec = "CHLO",
       .semantics = "TopK",
       .in_field = InField::ordered,
       .scope = Scope::computes,
       .others = {"chlo.top_k"}},
  };
}

Row fft_row() {
  return {.id = Id::fft,
          .hlo = "fft",
          .stablehlo = "fft",
          .operands = {number("x", with_point)},
          .result = Result::written,
          .attributes = {{.hlo = "fft_type",
                          .stablehlo = "fft_type",
                          .short_name = "type",
                          .missing = "",
                          .meaning = "FFT; IFFT, its inverse; RFFT, of real numbers; IRFFT, to "
                                     "real numbers"},
                         {.hlo = "fft_length",
                          .stablehlo = "fft_length",
                          .short_name = "length",
                          .missing = "",
                          .meaning = "the extents n of the last dimensions, as real or complex "
                                     "numbers have them"}},
          .effect = Effect::computes,
          .arithmetic = {},
          .meaning =
              "r[k] = the sum over j of x[j] w^(j k), w = e^(-2 pi i / n), along each of the "
              "last dimensions; RFFT keeps n / 2 + 1 of the last one",
          .spec = "fft",
          .semantics = "Fft",
          .in_field = InField::exact,
          .scope = Scope::computes};
}

std::vector<Row> random_numbers() {
  return {
      {.id = Id::rng,
       .hlo = "rng",
       .stablehlo = "rng",
       .operands = {scalar("a", parts::ordered), scalar("b", parts::ordered)},
       .result = Result::written,
       .attributes = {{.hlo = "distribution",
                       .stablehlo = "rng_distribution",
                       .short_name = "distribution",
                       .missing = "",
                       .meaning = "uniform from a to b, or normal with mean a and deviation b"}},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning =
           "numbers of the distribution, drawn anew; in StableHLO r's extents are an operand",
       .spec = "rng",
       .semantics = "RngUniform, RngNormal",
       .in_field = InField::unknown,
       .scope = Scope::computes},
      {.id = Id::rng_bit_generator,
       .hlo = "rng-bit-generator",
       .stablehlo = "rng_bit_generator",
       .operands = {number("x", parts::integer)},
       .result = Result::written,
       .attributes = {{.hlo = "algorithm",
                       .stablehlo = "rng_algorithm",
                       .short_name = "algorithm",
                       .missing = "",
                       .meaning = "the default one, Threefry or Philox"}},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning = "the next state, and bits; both depend on the state x alone",
       .spec = "rng_bit_generator",
       .semantics = "RngBitGenerator",
       .in_field = InField::unknown,
       .scope = Scope::computes},
  };
}

std::vector<Row> solvers() {
  return {
      {.id = Id::triangular_solve,
       .hlo = "triangular-solve",
       .stablehlo = "triangular_solve",
       .operands = {number("a", with_point), number("b", with_point)},
       .attributes = {both("left_side", "in HLO false", "whether a stands on the left"),
                      both("lower", "in HLO false", "which triangle of a is read"),
                      both("unit_diagonal", "in HLO false", "whether its diagonal is taken as 1"),
                      both("transpose_a", "",
                           "NO_TRANSPOSE, TRANSPOSE or ADJOINT: what is made of a before")},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning = "the r for which a r = b, or r a = b, of matrices in the last two dimensions, a "
                  "a triangle",
       .spec = "triangular_solve",
       .semantics = "TriangularSolve",
       .in_field = InField::exact,
       .scope = Scope::computes},
      {.id = Id::cholesky,
       .hlo = "cholesky",
       .stablehlo = "cholesky",
       .operands = {number("a", with_point)},
       .attributes = {both("lower", "false", "whether r is a lower triangle")},
       .effect = Effect::computes,
       .arithmetic = {},
       .meaning = "the triangle r for which a = r r*, or r* r, of matrices in the last two "
                  "dimensions; of a one triangle is read",
       .spec = "cholesky",
       .semantics = "Cholesky",
       .in_field = InField::unknown,
       .scope = Scope::computes},
  };
}

Row collective_broadcast_row() {
  return {.id = Id::collective_broadcast,
          .hlo = "collective-broadcast",
          .stablehlo = "collective_broadcast",
          .operands = {parts::arrays},
          .attributes = {parts::groups, parts::channel,
                         both("has_dynamic_root", "false",
                              "true: one more operand says which member gives")},
          .effect = Effect::moves,
          .arithmetic = {},
          .meaning = "r = x of the group's first member, or zeros where the device is in no group",
          .spec = "collective_broadcast",
          .semantics = "CollectiveBroadcast",
          .in_field = InField::nothing,
          .scope = Scope::computes};
}

}  // namespace

std::vector<Row> computing_rows() {
  std::vector<Row> out = {collective_broadcast_row()};
  const std::vector<Row> contractions = {
      dot_row(),    convolution_row(), reduce_row(), reduce_window_row(), select_and_scatter_row(),
      gather_row(), scatter_row()};
  for (const auto& part : {runs(), other_runs(), functions(), more_numbers(), contractions,
                           orders(), std::vector<Row>{fft_row()}, random_numbers(), solvers()}) {
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

}  // namespace retile::operations
