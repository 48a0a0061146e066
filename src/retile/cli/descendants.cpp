#include "retile/cli/descendants.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <string_view>

namespace retile::cli {
namespace {

/// What the kernel writes for every entry of a folder. opendir() is not safe in a signal handler.
struct Entry {
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t size;
  std::uint8_t type;
  char name[1];  // NOLINT(modernize-avoid-c-arrays): as the kernel lays it out
};

/// The number that a text is; 0 where it is none.
pid_t number_of(std::string_view text) {
  pid_t out = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return 0;
    out = out * 10 + (c - '0');
  }
  return out;
}

/// The parent of a process, as `PID (name) state PARENT ..` says; 0 where it is gone. Its name may
/// have parentheses and blanks.
pid_t parent_of(int proc, std::string_view process) {
  std::array<char, 64> path{};
  constexpr std::string_view file = "/stat";
  if (process.size() + file.size() >= path.size()) return 0;
  std::memcpy(path.data(), process.data(), process.size());
  std::memcpy(path.data() + process.size(), file.data(), file.size());
  const int opened = openat(proc, path.data(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return 0;
  std::array<char, 512> text{};
  const ssize_t size = read(opened, text.data(), text.size());
  close(opened);
  if (size <= 0) return 0;
  const std::string_view all(text.data(), static_cast<std::size_t>(size));
  constexpr std::size_t state = 4;  // `) S `
  const std::size_t name_end = all.rfind(')');
  if (name_end == std::string_view::npos || name_end + state > all.size()) return 0;
  const std::string_view rest = all.substr(name_end + state);
  return number_of(rest.substr(0, rest.find(' ')));
}

/// Kills the children of this process, or takes leave of those that have ended; how many there were.
int kill_children(int proc) {
  constexpr std::size_t bytes = 4096;
  alignas(Entry) std::array<char, bytes> entries{};
  int found = 0;
  long size = 0;
  while ((size = syscall(SYS_getdents64, proc, entries.data(), bytes)) > 0) {
    for (long at = 0; at < size;) {
      const char* const entry = entries.data() + at;
      std::uint16_t length = 0;
      std::memcpy(&length, entry + offsetof(Entry, size), sizeof length);
      at += length;
      const std::string_view name(entry + offsetof(Entry, name));
      const pid_t process = number_of(name);
      if (process <= 0 || parent_of(proc, name) != getpid()) continue;
      ++found;
      if (waitpid(process, nullptr, WNOHANG) != process) kill(process, SIGKILL);
    }
  }
  return found;
}

}  // namespace

void adopt_orphans() noexcept { prctl(PR_SET_CHILD_SUBREAPER, 1); }

void end_descendants() noexcept {
  constexpr int most_rounds = 250;
  constexpr timespec pause{0, 2'000'000};
  const int proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0) return;
  // Whoever is killed leaves its children to this process, so there are none only after a round that
  // found none.
  for (int round = 0; round < most_rounds; ++round) {
    lseek(proc, 0, SEEK_SET);
    if (kill_children(proc) == 0) break;
    nanosleep(&pause, nullptr);
  }
  close(proc);
}

}  // namespace retile::cli
