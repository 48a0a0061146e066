// The protocol between threads for ThreadSanitizer, which ends the program with its exit code at
// the first race.
//
//     tsan_team none | NAME       (names: flaws.h)
//     tsan_team list              the names of the flaws that are races
#include <cstring>
#include <iostream>
#include <string_view>

#include "exec/team/flaws.h"

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

}  // namespace

int main(int argc, char** argv) {
  const std::string_view wanted = argc == 2 ? argv[1] : "";
  if (wanted == "none") {
    const bool good = run<Flaw::none>(Route::direct) && run<Flaw::none>(Route::staged) &&
                      run<Flaw::none>(Route::pushed) && run<Flaw::none>(Route::pulled) &&
                      run<Flaw::none>(Route::copied);
    std::cout << (good ? "right\n" : "wrong\n");
    return good ? 0 : 1;
  }
  bool known = wanted == "list";
  each_flaw([&]<Flaw flaw>(std::string_view name, Route route) {
    if (wanted == "list" && name != no_race) std::cout << name << "\n";
    if (wanted != name) return;
    known = true;
    run<flaw>(route);
  });
  if (!known) std::cerr << "tsan_team: unknown flaw: " << wanted << "\n";
  return known ? 0 : 2;
}
