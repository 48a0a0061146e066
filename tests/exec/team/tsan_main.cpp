// The protocol between threads for ThreadSanitizer, which ends the program with its exit code at
// the first race.
//
//     tsan_team none | NAME       (names: flaws.h)
//     tsan_team list              the names of the flaws that are races
#include <algorithm>
#include <cstring>
#include <iostream>
#include <string_view>
#include <vector>

#include "exec/team/flaws.h"
#include "retile/exec/team/cycles.h"

namespace {

using namespace team_test;

constexpr std::uint64_t seeds = 12;

/// Whether all runs were right.
template <Flaw flaw>
bool run(Route route) {
  bool good = true;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const Case& test : stress_cases(route)) {
      good = stress<flaw>(test, route, 3, seed).good() && good;
    }
  }
  return good;
}

/// Blocks follow cycles, some of them cut, through the memories of all members; left out, the
/// barrier lets one member move what another has still to keep.
constexpr std::string_view no_barrier_in_place = "no_barrier_in_place";

bool move_in_place(bool with_barrier) {
  const retile::team::BlockTurn turn{
      .members = 3, .columns = 37, .block_bytes = 100, .batches = 1, .turned_before = false};
  const auto outcomes = retile::team::run_threads(
      3, 3 * turn.columns * turn.block_bytes, [&](Team& team) -> retile::Result<void> {
        std::vector<std::byte> marks(64), scratch(1000);
        retile::team::Cycles cycles(turn, {0, 1, 2}, team.member(), 1000, marks);
        for (int run = 0; run < 10; ++run) {
          cycles.keep(team, scratch);
          if (with_barrier) {
            if (auto kept = team.barrier(); !kept) return kept;
          }
          cycles.run(scratch);
          if (auto moved = team.barrier(); !moved) return moved;
        }
        return {};
      });
  return std::all_of(outcomes.begin(), outcomes.end(),
                     [](const auto& outcome) { return outcome.has_value(); });
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc == 2 ? argv[1] : "";
  if (wanted == "none") {
    const bool good = run<Flaw::none>(Route::held) && run<Flaw::none>(Route::staged) &&
                      run<Flaw::none>(Route::pushed) && run<Flaw::none>(Route::pulled) &&
                      run<Flaw::none>(Route::copied) && move_in_place(true);
    std::cout << (good ? "right\n" : "wrong\n");
    return good ? 0 : 1;
  }
  bool known = wanted == "list" || wanted == no_barrier_in_place;
  if (wanted == "list") std::cout << no_barrier_in_place << "\n";
  if (wanted == no_barrier_in_place) move_in_place(false);
  each_flaw([&]<Flaw flaw>(std::string_view name, Route route) {
    if (wanted == "list" && name != no_race) std::cout << name << "\n";
    if (wanted != name) return;
    known = true;
    run<flaw>(route);
  });
  if (!known) std::cerr << "tsan_team: unknown flaw: " << wanted << "\n";
  return known ? 0 : 2;
}
