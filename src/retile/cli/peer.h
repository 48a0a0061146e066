// Commands that write programs: another system, asked by the user's own command line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "retile/core/result.h"

namespace retile::cli {

/// What became of a command.
struct PeerAnswer {
  enum class End {
    done,
    refused,  ///< with an exit code other than 0
    aborted,  ///< by a signal, or with the exit code that a shell makes of one
    late,     ///< it was ended when its time was over
  };
  End end = End::done;
  int code = 0;       ///< the exit code, or the signal
  std::string out;    ///< what it wrote to stdout
  std::string words;  ///< the last that it wrote to stderr
};

/// A command with texts, quoted for a shell, in the place of `{mesh}`, `{from}`, `{to}` and `{shape}`,
/// each of which may name a form: `{from:jax}`. Other braces stay, and so does what follows a `$`.
/// \param text_of  the text of a name in a form, which is empty where none stands there
/// \error of text_of
[[nodiscard]] Result<std::string> filled_in(
    std::string_view command,
    const std::function<Result<std::string>(std::string_view name, std::string_view form)>&
        text_of);

/// Runs a command in /bin/sh and waits for it. It has nothing to read. It ends, together with what it
/// started, when its time is over, and when this program ends, however that comes about.
/// \error file_error: no process or temporary file can be made
[[nodiscard]] Result<PeerAnswer> ask_peer(const std::string& command, double seconds);

}  // namespace retile::cli
