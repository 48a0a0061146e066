// Judges modules: whether their redistributions can be planned and are right, and whether they denote
// what they say.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "retile/check/check.h"
#include "retile/plan/plan.h"
#include "retile/spmd/module.h"

namespace retile::spmd {

/// How one statement `redistribute` is carried out.
struct Route {
  std::size_t statement = 0;  ///< in Module::body
  Program program;
  std::optional<Plan> plan;  ///< of those that were planned; a Program in the text has none
  Verdict verdict;
};

/// Where a module goes wrong.
struct WrongModule {
  /// `replicas`: two devices that should hold the same do not. `uncovered`: nobody holds an element.
  /// `denotes`: what is returned is not what the clause says. `program`: the steps in a block are wrong.
  std::string reason;
  std::optional<std::size_t> statement = {};  ///< in Module::body; nothing: what is returned
  std::optional<Size> device = {};
  std::optional<Shape> element = {};  ///< global index
  std::optional<Size> addend = {};    ///< where there are several
  /// Where no statement is: in Module::returned.
  std::optional<std::size_t> returned = {};
};

struct ModuleVerdict {
  Answer answer = Answer::undecided;
  std::optional<WrongModule> wrong = {};
  std::string why_undecided = {};
  std::vector<Route> routes;
  /// Values are polynomials of at most this degree in elements of the parameters, in numbers drawn for addends,
  /// and in maxima and results of functions; no coefficient is above 2^coefficient_bits.
  Size degree = 1;
  Size coefficient_bits = 0;
  /// What was drawn: the seed says all of it again. Two primes where there are maxima, functions or indices, else one.
  std::uint64_t seed = 0;
  std::vector<std::uint64_t> primes;
  /// A wrong module is called right with probability at most 2^-this.
  int error_exponent = 0;
  /// A max, relu or reduce_max.
  bool has_maxima = false;
  /// An exp, sqrt or div.
  bool has_functions = false;
  /// A take, or a parameter that is an array of indices.
  bool has_indices = false;
  /// By how much an extent was divided at most before values were worked out; 1: none was.
  Size divided = 1;
  /// Of numbers, to tell apart maxima and functions that are not the same.
  int draws = 0;
  /// Statements that use a value with addends in another way than linearly, and that value's name.
  std::vector<std::pair<std::size_t, std::string>> not_linear;
};

struct JudgeOptions {
  double timeout_seconds = std::numeric_limits<double>::infinity();
  /// Of the numbers that are drawn; nothing: new ones every time.
  std::optional<std::uint64_t> seed = {};
  /// Values are worked out at the extents that the module has, also where smaller ones would do.
  bool full_extents = false;
  /// An odd number below 2^62 in the place of the primes, for tests of why they are drawn.
  std::optional<std::uint64_t> modulus = {};
};

/// Plans, lowers and checks every redistribution, then carries out the local programs of all devices
/// on random numbers modulo a prime that is drawn, and compares. D-SPMD: values are families, one array
/// for each addend, on which devices must agree wherever their boxes overlap; addends that a
/// redistribution makes are any of which the sum is right. Maxima and results of functions are variables of
/// their own (Maxima): what is right is so for any functions in the place of exp, sqrt and 1/x, if equal
/// arguments have equal results. An element at an index is a sum of all elements, each times a variable that is 1
/// where the index is its own, and so right for all indices. Where variables differ, numbers are looked for that
/// show it: integers, or with functions intervals, and indices that their arrays have. Where none are found, it is undecided.
/// Extents are divided where that changes no verdict (smaller.h).
/// \error of plan() and program_of(), at the statement; limit_reached
[[nodiscard]] Result<ModuleVerdict> judge(const Module& module, const JudgeOptions& options = {});

/// Whether an exp, sqrt or div is in it.
[[nodiscard]] bool has_functions(const Module& module);

/// Plans and lowers one redistribution between two types; Problem's names are not set.
/// \error as plan() and program_of()
[[nodiscard]] Result<Route> route_of(const Layout& from, const Layout& to,
                                     const CheckOptions& options);

/// The routes alone, as judge() has them.
/// \error as judge(); inapplicable (steps that are not right)
[[nodiscard]] Result<std::vector<Route>> routes_of(const Module& module,
                                                   const CheckOptions& options = {});

/// How redistributions are planned.
struct Planner {
  /// The steps of one, and what they cost.
  struct Steps {
    Program program;
    Size cost = 0;
  };
  std::function<Result<Steps>(const Problem&)> plan;
  std::function<std::string(Size)> cost_text;  ///< as comments say it
};

/// By plan(), whose cost is in elements.
[[nodiscard]] Planner usual_planner();

/// The module with the steps of every redistribution in a block behind it. Of two in a row whose
/// middle nothing else uses one is made, where that is not dearer; a comment says both costs.
/// \error as judge(), and those of the planner
[[nodiscard]] Result<std::string> lowered(const Module& module, std::string_view text,
                                          const Planner& planner = usual_planner());

}  // namespace retile::spmd
