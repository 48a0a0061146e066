// Commands that write programs: another system, asked by the user's own command line.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/result.h"

namespace retile::cli {

/// What became of a command.
struct PeerAnswer {
  enum class End {
    done,
    refused,   ///< with an exit code other than 0
    aborted,   ///< by a signal, or with the exit code that a shell makes of one
    late,      ///< it was ended when its time was over
    too_long,  ///< it was ended as it wrote more than 256 MiB to a file, stdout among them
  };
  End end = End::done;
  int code = 0;                  ///< the exit code, or the signal
  std::string out;               ///< what it wrote to stdout
  std::string words;             ///< the last that it wrote to stderr
  std::string first_words = {};  ///< and the first
};

/// A line for a shell, and variables (`NAME=value`) that it refers to.
struct PeerCommand {
  std::string line;
  std::vector<std::string> variables = {};
};

/// What a command may name: of a reshard, or of a program.
using PlaceholderNames = std::span<const std::string_view>;
inline constexpr std::array<std::string_view, 5> reshard_names = {"mesh", "order", "from", "to",
                                                                  "shape"};
inline constexpr std::array<std::string_view, 2> program_names = {"before", "after"};

/// The first `{NAME}` of a command that stands between quotes or backquotes: what fills it in would not
/// be one word there, or not only a word.
[[nodiscard]] std::optional<Span> quoted_placeholder(std::string_view command,
                                                     PlaceholderNames names = reshard_names);

/// A command with texts in the place of each `{NAME}`, which may name a form: `{from:jax}`. Other braces
/// stay, and so does what follows a `$`. A text is the value of a variable, which no shell reads as a part
/// of its line.
/// \param text_of  the text of a name in a form, which is empty where none stands there
/// \error of text_of
[[nodiscard]] Result<PeerCommand> filled_in(
    std::string_view command, PlaceholderNames names,
    const std::function<Result<std::string>(std::string_view name, std::string_view form)>&
        text_of);

/// Runs a command in /bin/sh and waits for it. It has nothing to read. It ends, together with all that
/// it started, other sessions included, when its time is over, and when this program ends, however
/// that comes about. What it leaves behind when it ends by itself is ended, too.
/// \error file_error: no process or temporary file can be made
[[nodiscard]] Result<PeerAnswer> ask_peer(PeerCommand command, double seconds);

}  // namespace retile::cli
