#include "exec/team/fork_team.h"

#include <fmt/core.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "retile/exec/team/memory.h"

namespace retile::team {
namespace {

/// How often the parent looks whether a member has ended.
constexpr std::chrono::milliseconds look_interval{2};

[[noreturn]] void be_member(std::byte* control, int member,
                            const std::vector<std::span<std::byte>>& memories, pid_t parent,
                            const std::function<int(Team&)>& body) {
#ifdef __linux__
  prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  if (getppid() != parent) _exit(1);  // it died before we asked to die with it
  int code = 1;
  try {
    Team team(control, member, memories);
    code = body(team);
  } catch (const std::exception& error) {
    fmt::print(stderr, "member {}: {}\n", member, error.what());
  } catch (...) {
    fmt::print(stderr, "member {}: an exception\n", member);
  }
  std::fflush(nullptr);
  _exit(code);
}

/// The end of a process that has ended, else nothing.
bool ended(pid_t process, MemberEnd& end) {
  int status = 0;
  if (waitpid(process, &status, WNOHANG) != process) return false;
  if (WIFEXITED(status)) end.exit_code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  return true;
}

}  // namespace

Result<std::vector<MemberEnd>> run_forked(int members, Size memory_bytes,
                                          const std::function<int(Team&)>& body) {
  auto control = SharedMemory::create(Team::control_bytes(members));
  if (!control) return refuse(control.error());
  Team::initialise(control->bytes().data(), members);
  std::vector<SharedMemory> segments;
  for (int member = 0; member < members; ++member) {
    auto segment = SharedMemory::create(memory_bytes);
    if (!segment) return refuse(segment.error());
    segments.push_back(std::move(*segment));
  }
  const std::vector<std::span<std::byte>> memories = spans_of(segments);
  Team team(control->bytes().data(), 0, memories);  // to break it

  // What waits in the buffers would be written by every member.
  std::fflush(nullptr);
  const pid_t parent = getpid();
  std::vector<pid_t> running;
  for (int member = 0; member < members; ++member) {
    const pid_t process = fork();
    if (process == 0) be_member(control->bytes().data(), member, memories, parent, body);
    if (process < 0) {
      const int error = errno;
      for (const pid_t begun : running) kill(begun, SIGKILL);
      for (const pid_t begun : running) waitpid(begun, nullptr, 0);
      return refuse({.code = Code::shared_memory_error,
                     .message = fmt::format("cannot start process {} of {}: {}", member + 1,
                                            members, std::strerror(error))});
    }
    running.push_back(process);
  }

  std::vector<MemberEnd> ends(running.size());
  std::size_t left = running.size();
  while (left > 0) {
    for (std::size_t k = 0; k < running.size(); ++k) {
      if (running[k] == 0 || !ended(running[k], ends[k])) continue;
      running[k] = 0;
      --left;
      if (ends[k] != MemberEnd{}) team.break_team();
    }
    if (left > 0) std::this_thread::sleep_for(look_interval);
  }
  return ends;
}

}  // namespace retile::team
