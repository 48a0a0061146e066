// What is said of a proof; no solver is needed for it.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "retile/core/cases.h"
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
    const auto groups = [&] {
      if (const DeviceTable* table = groups_of(step.op)) {
        out += line("groups", {number, table->row_count(), table->size() / table->row_count()});
      }
    };
    match(
        step.op, [&](const Dynslice&) { groups(); }, [&](const Allgather&) { groups(); },
        [&](const Alltoall&) { groups(); },
        [&](const Allpermute&) { out += line("bijection", {number}); },
        // There are no facts to certify about these.
        [](const Exchange&) {}, [](const Adding auto&) {}, [](const OverDims auto&) {});
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
