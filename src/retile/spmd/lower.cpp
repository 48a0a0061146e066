// Modules with the steps of their redistributions.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "judge.h"
#include "retile/core/names.h"
#include "retile/program/forms/text.h"

namespace retile::spmd {

namespace {

/// A redistribution as it is printed: from another value, perhaps, than the one that it stands behind.
struct Printed {
  std::size_t argument = 0;
  Planner::Steps steps;
  bool is_gone = false;  ///< the one behind it does its work
  std::string comment;
};

/// How often every value is used, by statements and by the return.
std::vector<Size> uses_of(const Module& module) {
  std::vector<Size> out(module.values.size(), 0);
  for (const Statement& statement : module.body) {
    if (const auto* op = std::get_if<SpmdOp>(&statement.op)) {
      for (const std::size_t x : op->arguments) ++out[x];
    } else {
      ++out[std::get<RedistributeOp>(statement.op).argument];
    }
  }
  for (const Returned& one : module.returned) ++out[one.value];
  return out;
}

Result<Planner::Steps> routed(const Module& module, const Planner& planner, std::size_t from,
                              std::size_t statement) {
  const auto problem = Problem::make(module.values[from].type.layout(),
                                     module.values[module.body[statement].value].type.layout());
  auto out = problem ? planner.plan(*problem) : refuse(problem.error());
  if (out) return out;
  return text::result_of(
      [&]() -> Planner::Steps { text::fail_with(module.body[statement].place, out.error()); });
}

/// The redistributions that have no steps yet, by statement.
Result<std::map<std::size_t, Printed>> planned(const Module& module, const Planner& planner) {
  const std::vector<Size> uses = uses_of(module);
  std::map<std::size_t, Printed> out;
  for (std::size_t s = 0; s < module.body.size(); ++s) {
    const auto* op = std::get_if<RedistributeOp>(&module.body[s].op);
    if (op == nullptr || op->program) continue;
    auto steps = routed(module, planner, op->argument, s);
    if (!steps) return refuse(steps.error());
    Printed printed{.argument = op->argument, .steps = *std::move(steps), .comment = {}};
    // Fusion: redistribute L2 of redistribute L1 is redistribute L2. [PartIR; D-REDISTRIBUTE]
    const auto before = std::find_if(out.begin(), out.end(), [&](const auto& entry) {
      return module.body[entry.first].value == op->argument;
    });
    if (before != out.end() && uses[op->argument] == 1) {
      auto fused = routed(module, planner, before->second.argument, s);
      const auto apart = checked_add(before->second.steps.cost, printed.steps.cost);
      if (fused && apart && fused->cost <= *apart) {
        printed.comment =
            fmt::format("# {} and this in one: cost {}, apart {}", module.values[op->argument].name,
                        planner.cost_text(fused->cost), planner.cost_text(*apart));
        printed.argument = before->second.argument;
        printed.steps = *std::move(fused);
        before->second.is_gone = true;
      }
    }
    out.emplace(s, std::move(printed));
  }
  return out;
}

/// Of a text that ends with a newline.
std::string_view last_lines(std::string_view text, std::size_t count) {
  std::size_t begin = text.size();
  for (; count > 0; --count) begin = text.rfind('\n', begin - 2) + 1;
  return text.substr(begin);
}

std::string printed_text(const Module& module, std::size_t statement, const Printed& printed) {
  const Value& made = module.values[module.body[statement].value];
  std::string out = printed.comment.empty() ? "" : printed.comment + "\n";
  out += fmt::format("{} = redistribute {} as {} {{\n", name_text(made.name),
                     name_text(module.values[printed.argument].name), made.type.text);
  Program program = printed.steps.program;
  // Under an order, digits in a text are digits of positions.
  if (!module.has_order) program.mesh = module.mesh;
  for (Step& step : program.steps) {
    if (module.has_order) step.claims.map.reset();
  }
  const std::string text = to_text(program);
  out += last_lines(text, program.steps.size());
  return out + "}\n";
}

}  // namespace

Planner usual_planner() {
  return {[](const Problem& problem) -> Result<Planner::Steps> {
            auto route = route_of(problem.from, problem.to, {});
            if (!route) return refuse(route.error());
            return Planner::Steps{std::move(route->program), route->verdict.cost};
          },
          [](Size cost) { return fmt::format("{}", cost); }};
}

Result<std::string> lowered(const Module& module, std::string_view text, const Planner& planner) {
  const auto redistributions = planned(module, planner);
  if (!redistributions) return refuse(redistributions.error());
  std::string out;
  std::size_t copied = 0;
  for (const auto& [statement, printed] : *redistributions) {
    const Span lines = module.body[statement].lines.span;
    out += text.substr(copied, lines.begin - copied);
    if (!printed.is_gone) out += printed_text(module, statement, printed);
    copied = lines.end;
  }
  return out + std::string(text.substr(copied));
}

}  // namespace retile::spmd
