#include "retile/program/program.h"

#include <algorithm>

#include "retile/core/cases.h"
#include "retile/core/problem.h"

namespace retile {

std::string_view op_name(const Step& step) { return info(step.op).name; }

bool is_exchange(const Step& step) {
  return match(
      step.op, [](const Dynslice&) { return false; }, [](const Allgather&) { return false; },
      [](const Alltoall&) { return false; }, [](const Allpermute&) { return false; },
      [](const Exchange&) { return true; }, [](const OverDims auto&) { return false; },
      [](const Adding auto&) { return false; });
}

Program without_steps(const Problem& problem) {
  Program program;
  program.devices = problem.from.devices();
  program.from = problem.from;
  program.to = problem.to;
  if (!problem.spelling || !problem.spelling->in_order()) return program;
  const Spelling& spelling = *problem.spelling;
  const auto of_all = [&](const Mesh& mesh) { return mesh.device_count() == program.devices; };
  if (!of_all(spelling.mesh) || (spelling.mesh_to && !of_all(*spelling.mesh_to))) return program;
  program.mesh = spelling.mesh;
  program.mesh_to = spelling.mesh_to;
  return program;
}

std::optional<Addition> addition_of(const Step& step) {
  return match(
      step.op, [](const Dynslice&) -> std::optional<Addition> { return std::nullopt; },
      [](const Allgather&) -> std::optional<Addition> { return std::nullopt; },
      [](const Alltoall&) -> std::optional<Addition> { return std::nullopt; },
      [](const Allpermute&) -> std::optional<Addition> { return std::nullopt; },
      [](const Exchange& op) { return op.add; },
      [](const OverDims auto&) -> std::optional<Addition> { return std::nullopt; },
      [](const Adding auto& op) -> std::optional<Addition> { return op.add; });
}

std::optional<Addition> addition_of(const Program& program) {
  for (const Layout* end : {&program.from, &program.to}) {
    if (end->addends()) return end->addends()->addition;
  }
  for (const Step& step : program.steps) {
    if (step.claims.map && step.claims.map->addends()) {
      return step.claims.map->addends()->addition;
    }
  }
  for (const Step& step : program.steps) {
    if (const auto addition = addition_of(step)) return addition;
  }
  return std::nullopt;
}

bool has_addends(const Program& program) { return addition_of(program).has_value(); }

bool over_dims(const Step& step) {
  return match(
      step.op, [](const Dynslice&) { return false; }, [](const Allgather&) { return false; },
      [](const Alltoall&) { return false; }, [](const Allpermute&) { return false; },
      [](const Exchange&) { return false; }, [](const OverDims auto&) { return true; },
      [](const Adding auto&) { return false; });
}

bool is_even(const Program& program) {
  return !has_addends(program) && tiles_alike(program) &&
         std::none_of(program.steps.begin(), program.steps.end(), over_dims);
}

bool tiles_alike(const Program& program) {
  const auto even = [](const Step& step) {
    const bool pieces = match(
        step.op, [](const Dynslice& op) { return op.piece.has_value(); },
        [](const Allgather&) { return false; },
        [](const Alltoall& op) { return op.piece.has_value(); },
        [](const Allpermute&) { return false; }, [](const Exchange&) { return false; },
        [](const Reducescatter& op) { return op.piece.has_value(); },
        [](const Allreduce&) { return false; }, [](const Unreduce&) { return false; },
        [](const Embed&) { return false; }, [](const OverDims auto&) { return false; });
    return !pieces && !step.claims.shapes && (!step.claims.map || step.claims.map->is_even());
  };
  return program.from.is_even() && program.to.is_even() &&
         std::all_of(program.steps.begin(), program.steps.end(), even);
}

}  // namespace retile
