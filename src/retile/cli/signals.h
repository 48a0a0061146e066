// Signals that ask the program to end.
#pragma once

#include <array>

namespace retile::cli {

/// INT, TERM and HUP. One that was ignored at the start stays ignored.
extern const std::array<int, 3> ending_signals;

/// From now on they remove what is half-written and then do what they do anyway.
void clean_up_on_signals();

}  // namespace retile::cli
