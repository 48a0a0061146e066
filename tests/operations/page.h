// docs/reference/operations.md, made from the table.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "retile/operations/table.h"

namespace retile::operations::table_test {

inline std::string code(std::string_view name) {
  return name.empty() ? "" : fmt::format("`{}`", name);
}

inline std::string types_of(const Types& types) {
  std::vector<std::string_view> out;
  if (types.other) return "any";
  if (types.truth) out.emplace_back("truth");
  if (types.signed_integer) out.emplace_back(types.unsigned_integer ? "integer" : "signed");
  if (types.real) out.emplace_back("real");
  if (types.complex) out.emplace_back("complex");
  return fmt::format("{}", fmt::join(out, ", "));
}

/// Whole programs are run, so that nothing must be known before.
inline std::string operands_of(const Row& row) {
  std::vector<std::string> out;
  for (const Operand& one : row.operands) {
    const bool is_known = one.role == Role::decides && row.scope == Scope::moves;
    out.push_back(fmt::format("{}{}: {}{}{}", one.name, one.is_repeated ? ".." : "",
                              types_of(one.types), one.is_scalar ? " scalar" : "",
                              is_known ? ", known" : ""));
  }
  return fmt::format("{}", fmt::join(out, "; "));
}

inline std::string_view effect_of(Effect effect) {
  switch (effect) {
    case Effect::makes:
      return "makes";
    case Effect::moves:
      return "moves";
    case Effect::converts:
      return "converts";
    case Effect::adds:
      return "adds";
    case Effect::calculates:
      return "numbers";
    case Effect::computes:
      return "";
  }
  return "";
}

inline std::string_view field_of(InField in_field) {
  switch (in_field) {
    case InField::nothing:
      return "as they are";
    case InField::exact:
      return "exact";
    case InField::ordered:
      return "ordered";
    case InField::unknown:
      return "unknown";
    case InField::called:
      return "called";
  }
  return "";
}

/// The name in StableHLO; of whole programs also others, with their dialects.
inline std::string stablehlo_of(const Row& row) {
  std::vector<std::string> out;
  if (!row.stablehlo.empty()) out.push_back(code(row.stablehlo));
  if (row.scope == Scope::computes) {
    for (const std::string_view name : row.others) out.push_back(code(name));
  }
  return fmt::format("{}", fmt::join(out, ", "));
}

inline std::string places_of(const Row& row) {
  std::string out = fmt::format("XLA: {}", row.semantics);
  if (!row.spec.empty()) out += fmt::format("; StableHLO: {}", row.spec);
  return out;
}

inline std::string line(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (std::string cell : cells) {
    for (std::size_t k = cell.find('|'); k != std::string::npos; k = cell.find('|', k + 2)) {
      cell.insert(k, "\\");
    }
    out += fmt::format(" {} |", cell);
  }
  return out + "\n";
}

inline std::string yes(bool holds) { return holds ? "yes" : "no"; }

inline std::string formats() {
  std::string out =
      line({"HLO", "MLIR", "Bits", "Precision", "Largest", "Infinity", "NaN", "-0", "Below 0"}) +
      "|---|---|---:|---:|---:|---|---|---|---|\n";
  for (const FloatFormat& one : float_formats()) {
    out += line({code(one.hlo), code(one.mlir), std::to_string(one.bits),
                 std::to_string(one.precision()), fmt::format("{:g}", one.largest),
                 yes(one.has_infinity), yes(one.has_nan), yes(one.has_minus_zero),
                 yes(one.is_signed)});
  }
  return out;
}

inline std::string attributes(std::span<const Row> rows) {
  std::string out = line({"Operation", "HLO", "StableHLO", "Where it is missing", "Meaning"}) +
                    "|---|---|---|---|---|\n";
  for (const Row& row : rows) {
    for (const Attribute& one : row.attributes) {
      std::vector<std::string> own;
      for (const std::string_view name : {one.stablehlo, one.short_name}) {
        if (!name.empty()) own.push_back(code(name));
      }
      out += line({code(row.hlo), code(one.hlo), fmt::format("{}", fmt::join(own, ", ")),
                   one.missing.empty() ? "refused" : std::string(one.missing),
                   std::string(one.meaning)});
    }
  }
  return out;
}

inline std::string of_moves() {
  std::string out =
      "# Operations of HLO and StableHLO\n\n"
      "This page is written from the table that the readers, the types and the evaluators of\n"
      "[programs of other systems](foreign.md) share (`src/retile/operations/table.h`). A test "
      "compares both.\n"
      "`retile check` reads the first table, and `retile validate` both.\n\n"
      "*r* is the result. Operands have a name, and the element types that they may have. A "
      "*known* operand decides where\n"
      "elements go: for `check` it must be made of numbers, and not of the array. The fourth "
      "column says what `check` makes of\n"
      "elements of the array:\n\n"
      "- *makes*: there are none yet;\n"
      "- *moves*: every place of the result holds what one place of an operand holds;\n"
      "- *converts*: the same element, where the other type has every value of its own;\n"
      "- *adds*: a formal sum, maximum or minimum, which no rounding touches;\n"
      "- *numbers*: the operation is of known numbers alone, and refused for elements.\n\n"
      "The fifth column says what `validate` makes of numbers with a point, which are numbers of a "
      "prime field there:\n\n"
      "- *exact*: sums, products and quotients, which the field has;\n"
      "- *ordered*: decided by one order of all numbers of the field;\n"
      "- *unknown*: a function of which it is known only that equal operands have equal results;\n"
      "- *called*: what the computations are that it calls;\n"
      "- *as they are*: it moves or reads them, or takes none.\n\n"
      "The last column names the sections of XLA's Operation Semantics and of the specification of "
      "StableHLO.\n\n"
      "JAX 0.12.0 was asked for 11,280 small modules of all rows of the first table but `call`, "
      "and 0.10.2 for 7,755 of these.\n"
      "Elements were compared with what our evaluator says: "
      "[peers.md](../ledger/peers.md#operations).\n\n";
  out += line({"HLO", "StableHLO", "Operands", "Elements", "In a field", "Result", "Defined in"}) +
         "|---|---|---|---|---|---|---|\n";
  for (const Row& row : rows().first(moved_count)) {
    out += line({code(row.hlo), stablehlo_of(row), operands_of(row),
                 std::string(effect_of(row.effect)), std::string(field_of(row.in_field)),
                 std::string(row.meaning), places_of(row)});
  }
  return out;
}

inline std::string of_whole_programs() {
  std::string out =
      "\n## Operations of whole programs\n\n"
      "`retile validate` alone reads these. Further names stand with their dialect in front.\n\n" +
      line({"HLO", "StableHLO", "Operands", "In a field", "Result", "Defined in"}) +
      "|---|---|---|---|---|---|\n";
  for (const Row& row : rows().subspan(moved_count)) {
    out += line({code(row.hlo), stablehlo_of(row), operands_of(row),
                 std::string(field_of(row.in_field)), std::string(row.meaning), places_of(row)});
  }
  return out;
}

inline std::string page() {
  std::vector<std::string> names;
  for (const std::string_view name : hlo_attributes_without_meaning()) names.push_back(code(name));
  std::string out = of_moves() + of_whole_programs();
  out += "\n## Attributes\n\n" + attributes(rows().first(moved_count));
  out += fmt::format(
      "\nAny instruction of HLO may have these, which say nothing about where elements go, nor "
      "about "
      "numbers: {}.\nWhere a table lists one of them for an operation, it counts there.\n\n"
      "## Attributes in whole programs\n\n",
      fmt::join(names, ", "));
  out += attributes(rows().subspan(moved_count));
  out += fmt::format(
      "\n## Types of numbers with a point\n\n"
      "An element may be converted to a type that has all values of its own type, and back. "
      "Integers fit where their bits do\n"
      "not exceed the precision. Complex types have the values of their parts.\n\n{}",
      formats());
  return out;
}

}  // namespace retile::operations::table_test
