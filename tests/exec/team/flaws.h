// The ways to do it wrong, by name and by the path on which they matter.
#pragma once

#include <string_view>

#include "exec/team/stress.h"

namespace team_test {

/// Without its entry a staged run finds the counters in motion: it hangs or takes the wrong slots,
/// but every access is still ordered by some counter. So this flaw is no race.
constexpr std::string_view no_race = "no_entry_staged";

/// Calls visit.operator()<flaw>(name, path) for each.
template <typename Visit>
void each_flaw(Visit visit) {
  visit.template operator()<Flaw::no_entry>("no_entry", SharedPath::direct);
  visit.template operator()<Flaw::no_fence>("no_fence", SharedPath::direct);
  visit.template operator()<Flaw::no_exit>("no_exit", SharedPath::direct);
  visit.template operator()<Flaw::no_entry>(no_race, SharedPath::staged);
  visit.template operator()<Flaw::no_fence>("no_fence_staged", SharedPath::staged);
  visit.template operator()<Flaw::no_slot_wait>("no_slot_wait", SharedPath::staged);
  visit.template operator()<Flaw::no_data_wait>("no_data_wait", SharedPath::staged);
  visit.template operator()<Flaw::early_ready>("early_ready", SharedPath::staged);
  visit.template operator()<Flaw::early_taken>("early_taken", SharedPath::staged);
  visit.template operator()<Flaw::no_drain>("no_drain", SharedPath::staged);
}

}  // namespace team_test
