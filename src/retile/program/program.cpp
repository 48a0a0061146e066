#include "retile/program/program.h"

#include "retile/core/layout_facts.h"
#include "retile/core/problem.h"
#include "retile/program/op_facts.h"

namespace retile {

std::string_view op_name(const Step& step) { return info(step.op).name; }

bool is_exchange(const Step& step) { return facts_of(step.op).transfers != nullptr; }

Program without_steps(const Problem& problem) {
  Program program;
  program.devices = problem.from.devices();
  program.from = problem.from;
  program.to = problem.to;
  program.numbers = problem.numbers;
  if (!problem.spelling || !problem.spelling->in_order()) return program;
  const Spelling& spelling = *problem.spelling;
  const auto of_all = [&](const Mesh& mesh) { return mesh.device_count() == program.devices; };
  if (!of_all(spelling.mesh) || (spelling.mesh_to && !of_all(*spelling.mesh_to))) return program;
  program.mesh = spelling.mesh;
  program.mesh_to = spelling.mesh_to;
  return program;
}

std::optional<Addition> addition_of(const Step& step) { return facts_of(step.op).add; }

std::optional<Addition> addition_of(const Program& program) {
  auto out = addition_of(program.from, program.to);
  for (const Step& step : program.steps) {
    if (!out && step.claims.map) out = addition_of(*step.claims.map);
  }
  for (const Step& step : program.steps) {
    if (!out) out = addition_of(step);
  }
  return out;
}

bool over_dims(const Step& step) { return facts_of(step.op).counts != nullptr; }

std::optional<std::string_view> Traits::beyond_first_version() const {
  if (addition) return "addends";
  if (!in_boxes) return "tiles of several boxes";
  if (grid) return "steps along several dimensions";
  if (!alike) return "tiles that are not all alike";
  return std::nullopt;
}

Traits traits_of(const Program& program) {
  Traits out{.addition = addition_of(program)};
  bool is_first_version = !out.addition && !program.array;
  const auto add_layout = [&out](const Layout& layout) {
    out.alike = out.alike && layout.is_even();
    out.in_boxes = out.in_boxes && layout.in_boxes();
    out.listed = out.listed || layout.is_listed();
  };
  add_layout(program.from);
  add_layout(program.to);
  for (const Step& step : program.steps) {
    out.alike = out.alike && !says_pieces(step.op) && !step.claims.shapes;
    if (step.claims.map) add_layout(*step.claims.map);
    out.grid = out.grid || over_dims(step);
    is_first_version = is_first_version && since(step.op) == 1;
  }
  if (!is_first_version || !out.alike) out.version = 2;
  return out;
}

}  // namespace retile
