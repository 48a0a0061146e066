// What the signals do that ask the program to end.
#pragma once

namespace retile::cli {

/// From now on ending_signals remove what is half-written and then do what they do anyway. One that
/// was ignored at the start stays ignored.
void clean_up_on_signals();

}  // namespace retile::cli
