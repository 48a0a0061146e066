#include "judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <random>
#include <set>
#include <utility>

#include "arithmetic.h"
#include "bounds.h"
#include "enclosure.h"
#include "maxima.h"
#include "primes.h"
#include "retile/lower/lower.h"
#include "round.h"
#include "smaller.h"

namespace retile::spmd {

namespace {

/// Of numbers, where maxima, functions or elements at indices are not the same.
constexpr int most_draws = 192;

bool has_other_addends(const Module& module) {
  return std::any_of(module.values.begin(), module.values.end(), [](const Value& value) {
    const auto& addends = value.type.layout().addends();
    return addends && addends->addition != Addition::sum;
  });
}
/// Whether one of the expressions of a module is so.
template <typename Is>
bool has_some(const Module& module, const Is& is) {
  if (module.denotes) {
    const auto& [definitions, results] = *module.denotes;
    if (std::any_of(results.begin(), results.end(), is)) return true;
    for (const auto& [name, e] : definitions) {
      if (is(e)) return true;
    }
  }
  for (const Statement& statement : module.body) {
    const auto* op = std::get_if<SpmdOp>(&statement.op);
    if (op == nullptr) continue;
    if (is(op->result)) return true;
    for (const auto& [name, e] : op->definitions) {
      if (is(e)) return true;
    }
  }
  return false;
}

bool has_indices(const Module& module) {
  return std::any_of(module.values.begin(), module.values.end(),
                     [](const Value& value) { return value.below.has_value(); }) ||
         has_some(module, [](const Expression& e) { return has_takes(e); });
}

/// The name of an argument with addends of which the result does not depend linearly.
std::optional<std::string> not_linear(const Module& module, const SpmdOp& op) {
  std::vector<Dependence> values;
  std::optional<std::string> partial;
  for (const std::size_t x : op.arguments) {
    const bool has_addends = module.values[x].type.layout().addend_count() > 1;
    if (has_addends && !partial) partial = module.values[x].name;
    values.push_back(has_addends ? Dependence::linear : Dependence::none);
  }
  for (const auto& [name, e] : op.definitions) values.push_back(dependence_of(e, values));
  if (dependence_of(op.result, values) == Dependence::other) return partial;
  return std::nullopt;
}

/// Goes through `module`'s redistributions; false where one is wrong or undecided.
Result<bool> judge_routes(const Module& module, const Deadline& deadline, ModuleVerdict& out) {
  bool right = true;
  for (std::size_t s = 0; s < module.body.size(); ++s) {
    const auto* op = std::get_if<RedistributeOp>(&module.body[s].op);
    if (op == nullptr) continue;
    Route route;
    const CheckOptions options{.timeout_seconds = deadline.seconds_left()};
    if (op->program) {
      route.program = *op->program;
      route.verdict = check(route.program, options);
    } else {
      auto planned = route_of(module.values[op->argument].type.layout(),
                              module.values[module.body[s].value].type.layout(), options);
      if (!planned) {
        return text::result_of(
            [&]() -> bool { text::fail_with(module.body[s].place, planned.error()); });
      }
      route = *std::move(planned);
    }
    route.statement = s;
    const Answer answer = route.verdict.answer;
    out.routes.push_back(std::move(route));
    if (answer == Answer::right || !right) continue;
    right = false;
    if (answer == Answer::wrong) {
      out.answer = Answer::wrong;
      out.wrong = WrongModule{.reason = "program", .statement = s};
    } else {
      out.why_undecided = "the steps of a redistribution were not decided within the limits";
    }
  }
  return right;
}

std::uint64_t new_seed() {
  std::random_device device;
  return ((static_cast<std::uint64_t>(device()) << 32U) ^ device()) >> 1U;
}

/// The k of r(k d) = k r(d) that are tried.
std::vector<Size> factors_for(const Module& module) {
  std::set<Size> out = {2};
  for (const Size number : numbers_in(module, LocalOp::scale)) {
    const Size k = number < 0 ? -number : number;
    if (k >= 2 && k <= Twofold::most_constant && out.size() < most_factors) out.insert(k);
  }
  return {out.begin(), out.end()};
}

/// What the constants of a module ask for: numbers near 0, just beyond each constant, beyond all of them
/// together, and beyond their product.
std::vector<Integers::Value> magnitudes_for(const Module& module) {
  constexpr Integers::Value most = static_cast<Integers::Value>(1) << 70U;
  std::vector<Integers::Value> out = {1, 2, 8, 8, Integers::Value{1} << 20U};
  Integers::Value sum = 0;
  Integers::Value product = 1;
  for (const LocalOp op : {LocalOp::scale, LocalOp::fill}) {
    for (const Size number : numbers_in(module, op)) {
      const Integers::Value c = number < 0 ? -Integers::Value{number} : Integers::Value{number};
      if (c > 4) out.push_back(2 * c + 2);
      sum = std::min(most, sum + c);
      if (c > 1) product = product > most / c ? most : product * c;
    }
  }
  for (const Integers::Value c : {sum, product}) out.push_back(2 * c + 2);
  return out;
}

/// Fractions of 1, and what lies beyond the constants.
Enclosures enclosures_for(const Module& module) {
  std::vector<double> out = {0.125, 1, 1, 4};
  for (const Integers::Value magnitude : magnitudes_for(module)) {
    out.push_back(static_cast<double>(magnitude));
  }
  return Enclosures(std::move(out));
}

/// Numbers for which the module is wrong, as early as possible.
template <typename A>
std::optional<WrongModule> found_by_numbers(const Module& module, std::mt19937_64& random,
                                            const Deadline& deadline, const WrongModule& suspect,
                                            const A& numbers, ModuleVerdict& out) {
  const Smaller full = as_it_is(module);
  const auto end = module.body.size();
  std::optional<WrongModule> first;
  for (int draw = 0; draw < most_draws && !deadline.passed(); ++draw) {
    std::optional<WrongModule> wrong;
    try {
      wrong = Round<A>(full, random, deadline, numbers).run();
    } catch (const Undecided&) {
      continue;  // too large; others are smaller
    }
    ++out.draws;
    if (!wrong) continue;
    if (!first || wrong->statement.value_or(end) < first->statement.value_or(end)) first = wrong;
    if (first->statement == suspect.statement) return first;
  }
  return first;
}

/// What is not the same although it may be equal: no numbers drawn show a difference.
std::string why_undecided(const Module& module, const WrongModule& suspect,
                          const ModuleVerdict& verdict) {
  std::vector<std::string> what;
  if (verdict.has_maxima) what.emplace_back("maxima");
  if (verdict.has_functions) what.emplace_back("functions");
  if (verdict.has_indices) what.emplace_back("elements at indices");
  return fmt::format(
      "{} holds {} that are not the same {}, and none of {} draws of {} shows a difference",
      suspect.statement ? module.values[module.body[*suspect.statement].value].name
                        : "what is returned",
      fmt::join(what, " or "), suspect.reason == "denotes" ? "as in denotes" : "on two devices",
      verdict.draws, verdict.has_functions ? "numbers" : "integers");
}

/// Where there are maxima, functions or indices: polynomials in which they are variables are compared.
/// Numbers are drawn at the extents that the module has.
void judge_with_variables(const Module& module, const Smaller& at, const std::vector<Size>& factors,
                          std::mt19937_64& random, const Deadline& deadline, ModuleVerdict& out) {
  const Twofold field(Modular(out.primes[0]), Modular(out.primes[1]));
  Maxima maxima(field, {factors, numbers_in(module, LocalOp::fill)}, random, deadline);
  const auto suspect = Round<Formal>(at, random, deadline, Formal(field, maxima)).run();
  if (!suspect) {
    out.answer = Answer::right;
    return;
  }
  if (suspect->reason == "uncovered") {
    out.wrong = suspect;
  } else if (out.has_functions) {
    out.wrong = found_by_numbers(module, random, deadline, *suspect, enclosures_for(module), out);
  } else {
    const Integers integers(magnitudes_for(module), numbers_in(module, LocalOp::fill));
    out.wrong = found_by_numbers(module, random, deadline, *suspect, integers, out);
  }
  if (out.wrong) {
    out.answer = Answer::wrong;
  } else if (deadline.passed()) {
    out.why_undecided = "the time is up";
  } else {
    out.why_undecided = why_undecided(module, *suspect, out);
  }
}

void judge_values(const Module& module, const JudgeOptions& options, const Deadline& deadline,
                  ModuleVerdict& out) {
  const bool has_variables = out.has_maxima || out.has_functions || out.has_indices;
  std::vector<Size> factors;
  if (has_variables) factors = factors_for(module);
  const Bounds bounds = bounds_of(module, factors);
  out.degree = bounds.degree;
  out.coefficient_bits = bounds.bits;
  const auto exponent = error_exponent(bounds, has_variables);
  if (!exponent) {
    out.why_undecided =
        "values are polynomials of such degrees or coefficients that a wrong module could pass";
    return;
  }
  out.error_exponent = *exponent;
  std::mt19937_64 random(out.seed);
  for (int k = 0; k < (has_variables ? 2 : 1); ++k) {
    const std::uint64_t prime = drawn_prime(random);
    out.primes.push_back(options.modulus.value_or(prime));
  }
  try {
    const Smaller at = options.full_extents ? as_it_is(module) : smaller(module);
    out.divided = at.largest;
    if (has_variables) {
      judge_with_variables(module, at, factors, random, deadline, out);
    } else {
      out.wrong = Round<Modular>(at, random, deadline, Modular(out.primes[0])).run();
      out.answer = out.wrong ? Answer::wrong : Answer::right;
    }
  } catch (const Undecided& undecided) {
    out.why_undecided = undecided.why;
  }
}

}  // namespace

bool has_functions(const Module& module) {
  return has_some(module, [](const Expression& e) { return has_functions(e); });
}

Result<Route> route_of(const Layout& from, const Layout& to, const CheckOptions& options) {
  const auto problem = Problem::make(from, to);
  if (!problem) return refuse(problem.error());
  auto planned = plan(*problem);
  if (!planned) return refuse(planned.error());
  auto program = program_of(*planned);
  if (!program) return refuse(program.error());
  Route out;
  out.program = *std::move(program);
  out.plan = *std::move(planned);
  out.verdict = check(out.program, options);
  return out;
}

Result<std::vector<Route>> routes_of(const Module& module, const CheckOptions& options) {
  ModuleVerdict verdict;
  const auto right = judge_routes(module, Deadline::in(options.timeout_seconds), verdict);
  if (!right) return refuse(right.error());
  if (*right) return std::move(verdict.routes);
  return refuse({.code = Code::inapplicable,
                 .message = "the steps of a redistribution are not right",
                 .notes = {"`retile check` says where they are wrong"}});
}

Result<ModuleVerdict> judge(const Module& module, const JudgeOptions& options) {
  const Deadline deadline = Deadline::in(options.timeout_seconds);
  ModuleVerdict out;
  out.has_maxima = has_other_addends(module) ||
                   has_some(module, [](const Expression& e) { return has_maxima(e); });
  out.has_functions = has_functions(module);
  out.has_indices = has_indices(module);
  out.seed = options.seed.value_or(new_seed());
  for (std::size_t s = 0; s < module.body.size(); ++s) {
    const auto* op = std::get_if<SpmdOp>(&module.body[s].op);
    if (op == nullptr) continue;
    if (auto name = not_linear(module, *op)) out.not_linear.emplace_back(s, *std::move(name));
  }
  const auto routes = judge_routes(module, deadline, out);
  if (routes && !*routes) return out;
  judge_values(module, options, deadline, out);
  // Where nobody holds an element there are no steps either: that is wrong, and not refused.
  if (!routes && out.answer != Answer::wrong) return refuse(routes.error());
  return out;
}

}  // namespace retile::spmd
