// Which functions a run enters, for scripts/trace_calls: preloaded into a program whose functions were
// all compiled with -finstrument-functions.
//
// RETILE_TRACE_FUNCTIONS names a file of addresses, ascending, 8 bytes each: only these are of
// interest. RETILE_TRACE_OUTPUT is how the names of the results begin: one file per process,
// OUTPUT.PID, of 8 bytes for every entry and every exit, the lowest bit of which says exit. Only
// the thread that began the program is watched.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define RETILE_UNTRACED __attribute__((no_instrument_function))

namespace {

constexpr std::size_t most_functions = std::size_t{1} << 16;
std::array<std::uint64_t, most_functions> functions;
std::size_t count = 0;
std::array<std::uint64_t, 512> buffer;
std::size_t filled = 0;
int output = -1;
pid_t watched = 0;

RETILE_UNTRACED void flush() {
  if (output < 0 || filled == 0) return;
  const auto* next = reinterpret_cast<const char*>(buffer.data());
  for (std::size_t left = filled * sizeof buffer[0]; left > 0;) {
    const ssize_t written = write(output, next, left);
    if (written <= 0) break;
    next += written;
    left -= static_cast<std::size_t>(written);
  }
  filled = 0;
}

RETILE_UNTRACED void note(void* function, std::uint64_t exit) {
  // A child between fork and exec is not the thread that is watched.
  if (output < 0 || syscall(SYS_gettid) != watched) return;
  const auto address = reinterpret_cast<std::uint64_t>(function);
  std::size_t low = 0;
  for (std::size_t high = count; low < high;) {
    const std::size_t middle = low + (high - low) / 2;
    (functions[middle] < address ? low : high) = functions[middle] < address ? middle + 1 : middle;
  }
  if (low == count || functions[low] != address) return;
  buffer[filled++] = address << 1 | exit;
  // Whoever is killed in the next step has still said where it was.
  flush();
}

__attribute__((constructor)) RETILE_UNTRACED void begin() {
  const char* const list = std::getenv("RETILE_TRACE_FUNCTIONS");
  const char* const results = std::getenv("RETILE_TRACE_OUTPUT");
  if (list == nullptr || results == nullptr) return;
  const int input = open(list, O_RDONLY | O_CLOEXEC);
  if (input < 0) return;
  const ssize_t bytes = read(input, functions.data(), sizeof functions);
  close(input);
  count = bytes > 0 ? static_cast<std::size_t>(bytes) / sizeof functions[0] : 0;
  std::array<char, 4096> name;
  std::snprintf(name.data(), name.size(), "%s.%d", results, static_cast<int>(getpid()));
  output = open(name.data(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  watched = getpid();
}

}  // namespace

extern "C" RETILE_UNTRACED void __cyg_profile_func_enter(void* function, void*) {
  note(function, 0);
}
extern "C" RETILE_UNTRACED void __cyg_profile_func_exit(void* function, void*) {
  note(function, 1);
}
