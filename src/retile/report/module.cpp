#include "retile/report/module.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <utility>

#include "retile/core/names.h"
#include "retile/program/ops.h"
#include "retile/report/sentences.h"
#include "retile/report/verdict.h"
#include "retile/spmd/solver.h"

namespace retile::report {
namespace {

const std::string& value_name(const spmd::Module& module, std::size_t statement) {
  return module.values[module.body[statement].value].name;
}

/// Of the thesis, which would lower this redistribution.
std::string_view solver_name(const spmd::Module& module, const spmd::Route& route) {
  const spmd::Statement& at = module.body[route.statement];
  const std::size_t from = std::get<spmd::RedistributeOp>(at.op).argument;
  return spmd::solver_of(module.values[from].type.layout(), module.values[at.value].type.layout());
}

/// `reducescatter, allgather`
std::string op_names_text(const Program& program) {
  std::vector<std::string> names;
  for (const Step& step : program.steps) names.emplace_back(op_name(step));
  if (names.empty()) return "nothing moves";
  return fmt::format("{}", fmt::join(names, ", "));
}

Size total_cost(const spmd::ModuleVerdict& verdict) {
  Size out = 0;
  for (const spmd::Route& route : verdict.routes) {
    out = checked_add(out, route.verdict.cost).value_or(std::numeric_limits<Size>::max());
  }
  return out;
}

std::string wrong_module_text(const spmd::Module& module, const spmd::WrongModule& wrong) {
  const std::string where =
      wrong.statement
          ? fmt::format(" at {}", clean(name_text(value_name(module, *wrong.statement))))
          : "";
  const std::string element =
      wrong.element ? fmt::format("element {}", shape_text(*wrong.element)) : "an element";
  const std::string of = wrong.addend ? fmt::format(" of addend {}", *wrong.addend) : "";
  std::string what;
  if (wrong.reason == "replicas") {
    what = fmt::format("device {} holds another {}{} than a device before it", *wrong.device,
                       element, of);
  } else if (wrong.reason == "uncovered") {
    what = fmt::format("no device holds {}{}", element, of);
  } else if (wrong.reason == "denotes") {
    const auto& returned = module.returned;
    what = fmt::format("{} of {} is not what denotes says", element,
                       returned.size() == 1
                           ? "what is returned"
                           : clean(name_text(module.values[returned[*wrong.returned].value].name)));
  } else {
    what = "the steps are wrong";
  }
  return fmt::format("wrong{} ({}): {}", where, wrong.reason, what);
}

std::string variables_text(const spmd::ModuleVerdict& verdict) {
  std::vector<std::string> what;
  if (verdict.has_maxima) what.emplace_back("maxima");
  if (verdict.has_functions) what.emplace_back("results of functions");
  if (verdict.has_indices) what.emplace_back("which indices are equal");
  return what.empty() ? "" : fmt::format(", with {} as variables", fmt::join(what, " and "));
}

std::string denotes_text(const spmd::Module& module, const spmd::ModuleVerdict& verdict) {
  const std::string_view what = module.denotes ? "denotes and replicas" : "replicas (no denotes)";
  const bool two = verdict.primes.size() > 1;
  return fmt::format(
      "{}: agree modulo {} {}{}{}, drawn by seed {}; a wrong module passes with probability at "
      "most "
      "2^-{}",
      what, two ? "primes" : "the prime", fmt::join(verdict.primes, " and "),
      variables_text(verdict),
      verdict.divided > 1 ? fmt::format(", at extents divided by up to {}", verdict.divided) : "",
      verdict.seed, verdict.error_exponent);
}

Json wrong_module_json(const spmd::Module& module, const spmd::WrongModule& wrong) {
  Json out;
  out["reason"] = wrong.reason;
  out["statement"] = wrong.statement ? Json(value_name(module, *wrong.statement)) : Json(nullptr);
  out["device"] = or_null(wrong.device);
  out["element"] = or_null(wrong.element);
  out["addend"] = or_null(wrong.addend);
  out["returned"] = wrong.returned
                        ? Json(module.values[module.returned[*wrong.returned].value].name)
                        : Json(nullptr);
  return out;
}

}  // namespace

std::string text_of(const spmd::Module& module, const spmd::ModuleVerdict& verdict) {
  std::string out;
  if (verdict.answer == Answer::right) {
    out = fmt::format(
        "right: {}, {}, cost {}\n", counted(static_cast<Size>(module.body.size()), "statement"),
        counted(static_cast<Size>(verdict.routes.size()), "redistribution"), total_cost(verdict));
  } else if (verdict.answer == Answer::wrong) {
    out = wrong_module_text(module, *verdict.wrong) + "\n";
  } else {
    out = fmt::format("undecided: {}\n", verdict.why_undecided);
  }
  for (const spmd::Route& route : verdict.routes) {
    out += fmt::format("  {}: {} [{}]; {}\n", clean(name_text(value_name(module, route.statement))),
                       op_names_text(route.program), solver_name(module, route),
                       text_of(route.verdict));
  }
  if (verdict.answer == Answer::right) out += "  " + denotes_text(module, verdict) + "\n";
  for (const auto& [statement, name] : verdict.not_linear) {
    out += fmt::format("  note: {} does not depend linearly on {}, of which only the sum counts\n",
                       clean(name_text(value_name(module, statement))), clean(name_text(name)));
  }
  return out;
}

Json json_of(const spmd::Module& module, const spmd::ModuleVerdict& verdict) {
  Json out;
  out["schema"] = "retile.module-verdict/1";
  out["right"] = or_null(is_right(verdict.answer));
  out["wrong"] = verdict.wrong ? wrong_module_json(module, *verdict.wrong) : Json(nullptr);
  out["undecided"] =
      verdict.answer == Answer::undecided ? Json(verdict.why_undecided) : Json(nullptr);
  out["statements"] = module.body.size();
  out["cost"] = total_cost(verdict);
  out["denotes"] = module.denotes.has_value();
  out["degree"] = verdict.degree;
  out["coefficient_bits"] = verdict.coefficient_bits;
  out["maxima"] = verdict.has_maxima;
  out["functions"] = verdict.has_functions;
  out["divided"] = verdict.divided;
  out["seed"] = verdict.seed;
  out["primes"] = verdict.primes;
  out["error_exponent"] =
      verdict.answer == Answer::right ? Json(verdict.error_exponent) : Json(nullptr);
  out["draws"] = verdict.draws;
  out["redistributions"] = Json::array();
  for (const spmd::Route& route : verdict.routes) {
    Json entry;
    entry["value"] = value_name(module, route.statement);
    entry["right"] = or_null(is_right(route.verdict.answer));
    entry["cost"] = route.verdict.cost;
    entry["height"] = route.verdict.height;
    entry["bound"] = route.verdict.bound;
    entry["solver"] = solver_name(module, route);
    entry["steps"] = Json::array();
    for (const Step& step : route.program.steps) entry["steps"].push_back(op_name(step));
    out["redistributions"].push_back(std::move(entry));
  }
  out["not_linear"] = Json::array();
  for (const auto& [statement, name] : verdict.not_linear) {
    out["not_linear"].push_back({{"value", value_name(module, statement)}, {"argument", name}});
  }
  return out;
}

}  // namespace retile::report
