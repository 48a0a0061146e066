// The time and the memory that a call may take: one guard for the whole program.
//
// A call is ended in one of two ways. Work that can say something of what it has done so far asks
// time_limit() and stops by itself, with an answer. All other work is ended where it stands, soon
// after the time is over or when memory runs out: temporary files are removed, one message goes to
// stderr, nothing to stdout, and the exit code is `undecided`. Processes that this one has started
// end with it, as each of them is told to when it starts.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "retile/cli/common.h"
#include "retile/core/deadline.h"
#include "retile/core/result.h"
#include "retile/core/size.h"

namespace retile::cli {

/// Where a verb has a limit of its own when none is asked for.
inline constexpr Size usual_seconds = 60;

class OptionList;
struct Limits;

/// The options that every verb has, as text.
struct LimitArguments {
  std::optional<std::string> timeout;
  std::optional<std::string> memory;

  /// \param usual  what a verb takes at most where --timeout says nothing
  /// \param but    what has no limit nevertheless; may be empty
  void add_options(OptionList& options, std::optional<Size> usual, const std::string& but);
  /// \error bad_argument
  [[nodiscard]] Result<Limits> read(std::optional<Size> usual) const;
};

struct Limits {
  std::optional<Size> seconds;  ///< nothing: as long as it takes
  bool asked = false;           ///< by --timeout; then the waiting for stdin counts, too
  Size memory_bytes = Size{2} << 30;
  std::optional<std::string> memory_text = {};  ///< of --memory
};

/// How main prints a diagnostic.
using Rendering = std::function<std::string(const Diagnostic&)>;

/// From now on the limit of time holds, for this process and those that it starts. To be called once,
/// before there are other threads.
void begin_limits(const Limits& limits, const Rendering& rendering);
/// And that of memory, for what is allocated from now on: not for what MPI has when it starts.
void bound_memory();

/// When work that can say something stops by itself, a little before the limit; never, where there is
/// none. Of a call from inside another program it is the limit itself.
[[nodiscard]] Deadline time_limit();

/// Arrays may take what they need from now on, and so may processes that are started.
void lift_memory_limit();
/// The same in a child between fork and exec, where it is safe.
void lift_memory_limit_of_child() noexcept;

/// The answer is there: printing it is the time of whoever reads it.
void end_limits();

/// What this process may take, as --memory says.
[[nodiscard]] Size memory_limit();

/// What --memory said, for processes that do the same.
[[nodiscard]] std::optional<std::string> asked_memory();

/// That the time is over, as whoever stops by himself says it.
[[nodiscard]] Diagnostic time_is_over();

/// That an allocation failed: exit code `undecided` where it is --memory that forbids it, and
/// `environment` where it is the machine.
[[nodiscard]] Outcome memory_is_used_up();

/// For as long as it lives the program waits for somebody's input. A limit that nobody asked for
/// begins anew behind it.
class WaitForInput {
 public:
  WaitForInput();
  ~WaitForInput();
  WaitForInput(const WaitForInput&) = delete;
  WaitForInput& operator=(const WaitForInput&) = delete;
};

}  // namespace retile::cli
