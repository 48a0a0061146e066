// Which schedule moves least: every statement's work is cut among all devices, and what stands between
// two statements costs what the planner's best redistribution costs.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "retile/array/statements.h"
#include "retile/core/problem.h"

namespace retile::array {

struct ChoiceOptions {
  Size devices = 1;
  Size element_bytes = 4;
  /// Most bytes of the local inputs of all statements, on one device.
  std::optional<Size> memory_limit_bytes = {};
  /// Devices may do the same work, of the statements with the least, as long as that adds at most so much to
  /// what a device has of all work in even parts. Work is counted in iteration points.
  Size repeat_percent = 0;
  /// Sizes of the digits of the device number, major to minor, of which the prime digits are made: where these
  /// matter to `price`, as groups of devices do. None: all of it is one.
  std::vector<Size> digits = {};
  /// What one redistribution costs; without it, the elements that plan() moves. \error where there is none
  std::function<Result<Size>(const Problem&)> price = {};
  /// Told how many redistributions were planned, of how many at most.
  std::function<void(Size done, Size total)> progress = {};
};

/// How the work of every statement is cut, and what that takes of one device.
struct Choice {
  /// `y: i in 2 by a, k in 2 by b`, by statement; a digit that is no axis is stride:size.
  std::vector<std::string> schedules;
  /// Of what is moved before each statement, by statement, and behind the last one: elements, or as `price` says.
  std::vector<Size> costs;
  Size cost = 0;             ///< their sum, Fig. 11
  Size input_bytes = 0;      ///< local inputs of all statements
  Size temporary_bytes = 0;  ///< what statements write, local, of all statements
};

struct ChoiceReport {
  Choice best;
  std::optional<Choice> second;  ///< the cheapest that cuts a statement in another way
  std::string module;            ///< of the best
  /// All assignments of digits were looked at, and not only numbers of pieces with a run of digits each.
  bool all_digits = false;
  std::vector<Size> candidates;  ///< by statement
  /// Where a memory limit is on statements that are no tree: no schedule that keeps it costs less, and the best is
  /// the best one found. Nothing: it is the cheapest.
  std::optional<Size> lower_bound;
  /// Of many statements that are no tree none is looked for, nor within a memory limit.
  bool sought_second = true;
  Size planned = 0;  ///< redistributions
};

/// Devices up to which all assignments of digits are candidates.
inline constexpr Size most_devices_by_digit = 8;

/// The cheapest schedule, exact among the candidates: of chains and trees by dynamic programming, of others
/// by elimination. Among equally cheap ones the local inputs are least, then the temporaries. Within a memory
/// limit, that of statements which share what they read is within ChoiceReport::lower_bound.
/// An array goes from one that touches it to the next, in the order of the statements, as module_of() has it.
///
/// Precondition (asserted): digits, where there are some, make up the number of devices.
///
/// Tactics of the file cut first, with the major digits of the device number: only what they leave is chosen.
/// Candidates: to 8 devices every prime digit of the device number cuts some variable, and a variable
/// that several cut has them in any order. Beyond, numbers of pieces whose product is the number of
/// devices, and orders of the variables, each with one run of digits. Those that leave a device without work
/// count only where a statement has no others, and where a maximum or minimum then has no value, devices may do
/// the same work.
/// \error unsupported (what partition() cannot say, or nobody reads), infeasible (the memory limit; a note says the
///     least one), bad_argument (schedules of the file, or tactics whose axes do not divide the devices), limit_reached, too_many_devices
[[nodiscard]] Result<ChoiceReport> choose(const Statements& statements,
                                          const ChoiceOptions& options);

}  // namespace retile::array
