/// What is said of a Program: right, or wrong and why, and the figures; or that it is too large.
#pragma once

#include "../layout/tiles.h"
#include "program.h"

namespace spec {

/// Why a Program is wrong, with a witness: on `device`, at local index `at`, stands the global
/// index `found` and not `element`. Of a step that cannot be applied, `element` stands there before
/// the step. Where tiles have another shape, or none is meant, no element is named. Of sums: how many
/// `times` the addend `addend` stands there, and on the device `replica`, which should hold the same.
struct Wrong {
  Size first_wrong_step = 0;
  std::string reason = {};
  std::optional<Size> device = {};
  std::optional<Sizes> at = {}, element = {}, found = {};
  std::optional<Size> addend = {}, times = {}, replica = {}, replica_times = {};
};

constexpr TooLarge too_much_work = {"more than 2^32 units of work"};
constexpr Size most_units = Size{1} << 32;

/// Sizes in elements per device. If not decided, only why that is so is meant.
struct Verdict {
  bool decided = true, right = false, within_bound = false;
  const char* why_undecided = "";
  Size height = 0, bound = 0, cost = 0, steps = 0;
  std::optional<Wrong> wrong;
};

/// The verdict with its devices called by their names, where they have some.
inline Verdict called(Verdict verdict, const Sizes& names) {
  if (names.empty() || !verdict.wrong) return verdict;
  for (std::optional<Size>* d : {&verdict.wrong->device, &verdict.wrong->replica}) {
    if (*d) *d = names[static_cast<Index>(**d)];
  }
  return verdict;
}

}  // namespace spec
