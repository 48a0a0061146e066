// The ways to do it wrong, by name and by the route on which they matter.
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
  visit.template operator()<Flaw::no_entry>("no_entry", Route::held);
  visit.template operator()<Flaw::no_fence>("no_fence", Route::held);
  visit.template operator()<Flaw::no_exit>("no_exit", Route::held);
  visit.template operator()<Flaw::no_entry>("no_entry_pushed", Route::pushed);
  visit.template operator()<Flaw::no_exit>("no_exit_pushed", Route::pushed);
  visit.template operator()<Flaw::no_entry>("no_entry_pulled", Route::pulled);
  visit.template operator()<Flaw::no_exit>("no_exit_pulled", Route::pulled);
  visit.template operator()<Flaw::no_entry>(no_race, Route::staged);
  visit.template operator()<Flaw::no_fence>("no_fence_staged", Route::staged);
  visit.template operator()<Flaw::no_slot_wait>("no_slot_wait", Route::staged);
  visit.template operator()<Flaw::no_data_wait>("no_data_wait", Route::staged);
  visit.template operator()<Flaw::early_ready>("early_ready", Route::staged);
  visit.template operator()<Flaw::early_taken>("early_taken", Route::staged);
  visit.template operator()<Flaw::no_drain>("no_drain", Route::staged);
  visit.template operator()<Flaw::no_entry>("no_entry_copied", Route::copied);
  visit.template operator()<Flaw::no_fence>("no_fence_copied", Route::copied);
  visit.template operator()<Flaw::one_copy>("one_copy", Route::copied);
}

}  // namespace team_test
