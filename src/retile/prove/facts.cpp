// What is said of a proof; no solver is needed for it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "retile/program/apply.h"
#include "retile/prove/prove.h"

namespace retile {

namespace {

std::string line(std::string_view what, const Shape& numbers) {
  return fmt::format("fact {} [{}]\n", what, fmt::join(numbers, ","));
}

}  // namespace

std::string_view method_name(ProofMethod method) {
  return method == ProofMethod::symbolic ? "symbolic" : "evaluation";
}

std::string facts(const Program& program, const Verdict& verdict) {
  std::string out;
  Shape tile = program.from.tile();
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    const Step& step = program.steps[k];
    const Size number = static_cast<Size>(k);
    const OpFacts op = facts_of(step.op);
    // Of tables that add, or go along several dimensions, there are no facts to certify.
    if (op.is_plain() && op.sources != nullptr) {
      out += line("bijection", {number});
    } else if (const DeviceTable* table = op.is_plain() ? op.groups : nullptr) {
      out += line("groups", {number, table->row_count(), table->size() / table->row_count()});
    }
    out += line("inside", {number});
    tile = shape_after(step, tile, program.devices).value();
    if (step.claims.map || step.claims.at) {
      Shape numbers = {number};
      numbers.insert(numbers.end(), tile.begin(), tile.end());
      out += line("map", numbers);
    }
  }
  out += line("end", tile);
  out += line("bound", {verdict.height, verdict.bound});
  out += line("cost", {verdict.cost});
  return out;
}

}  // namespace retile
