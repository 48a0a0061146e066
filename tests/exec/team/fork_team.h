// A team whose members are processes that this one forks: for tests, benchmarks, and transports
// that need no launcher.
#pragma once

#include <functional>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/team/team.h"

namespace retile::team {

/// How a member's process ended.
struct MemberEnd {
  int exit_code = 0;  ///< meaningless where a signal ended it
  int signal = 0;     ///< 0: none
  friend bool operator==(const MemberEnd&, const MemberEnd&) = default;
};

/// Forks `members` processes that share anonymous memory, `memory_bytes` bytes each, runs `body` in
/// each and ends it with the number that `body` returns (1 for an exception). A member that ends
/// otherwise than with 0 breaks the team, so that no other waits for it for longer than a fraction
/// of a second. Members die with this process. Nothing is left behind, whatever is killed.
///
/// Call it from a process with one thread: only the calling thread lives on in a member.
/// \error shared_memory_error: no memory, or no more processes (those begun are ended)
[[nodiscard]] Result<std::vector<MemberEnd>> run_forked(int members, Size memory_bytes,
                                                        const std::function<int(Team&)>& body);

}  // namespace retile::team
