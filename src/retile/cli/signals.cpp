#include "retile/cli/signals.h"

#include <csignal>
#include <cstdlib>

#include "retile/core/temporary_file.h"

namespace retile::cli {

namespace {

extern "C" void clean_up(int signal) {
  remove_temporaries();
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // ends the program when this handler returns
}

}  // namespace

void clean_up_on_signals() {
  struct sigaction action {};
  action.sa_handler = clean_up;
  sigemptyset(&action.sa_mask);
  for (const int signal : ending_signals) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

}  // namespace retile::cli
