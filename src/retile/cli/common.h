// What the verbs share: exit codes, what a verb hands back, reading arguments and files.
//
// A verb never prints: it returns an Outcome, and main writes it. So nothing reaches stdout before
// it is known that the exit code allows it. The one exception is the progress of a long run, on
// stderr.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/element_type.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/notation/paper/problem.h"
#include "retile/operations/element.h"
#include "retile/program/program.h"

namespace retile::cli {

/// The program's exit codes; scripts rely on them.
enum class Exit : int {
  yes = 0,
  no = 1,           ///< the answer is no: wrong, over the limit
  usage = 2,        ///< the input cannot be read: arguments, types, Programs, files
  undecided = 3,    ///< neither yes nor no: a limit was reached
  environment = 4,  ///< the machine failed: MPI, a process, a file that cannot be written
};

/// What a verb hands back. `out` goes to stdout only for the exit codes yes, no and undecided.
struct Outcome {
  Exit exit = Exit::yes;
  std::string out = {};
  std::vector<Diagnostic> problems = {};  ///< go to stderr, in order
  std::string words = {};                 ///< further text for stderr
  std::vector<std::string> texts = {};    ///< see add_answer
};

/// Adds an answer to what is printed, as JSON or as text. A caller in this process, who asks for JSON, has
/// the text, too, so that nobody works out an answer twice.
void add_answer(Outcome& outcome, bool as_json, const std::function<std::string()>& json,
                const std::function<std::string()>& text);

/// yes, no or undecided; what is right and over a bound that it must keep is a no.
/// \param right  nothing: a limit was reached
[[nodiscard]] Exit exit_of(std::optional<bool> right, bool is_over = false);

/// The exit code that a diagnostic means by itself: most say that the input is at fault.
[[nodiscard]] Exit exit_of(const Diagnostic& diagnostic);

/// An Outcome with one problem and nothing on stdout.
[[nodiscard]] Outcome failed(Diagnostic diagnostic);
[[nodiscard]] Outcome failed(Exit exit, Diagnostic diagnostic);

/// A diagnostic about a whole argument: the caret underlines all of `text`.
[[nodiscard]] Diagnostic about_argument(Code code, std::string_view source, std::string_view text,
                                        std::string message, std::vector<std::string> notes = {});

/// `f32`: a floating of 4 bytes.
/// \error bad_argument
[[nodiscard]] Result<ElementType> parse_element_type(std::string_view text,
                                                     std::string_view source);

/// The same by the names of HLO and MLIR, too: `s32`, `pred`, `complex<f32>`.
/// \error bad_argument
[[nodiscard]] Result<operations::ElementKind> parse_element_name(std::string_view text,
                                                                 std::string_view source);
/// How many bytes an element has in memory, of a type of any of these names.
/// \error bad_argument; unsupported (several share a byte)
[[nodiscard]] Result<Size> parse_element_bytes(std::string_view text, std::string_view source);

/// A number of bytes: decimal, optionally followed by KiB, MiB, GiB or TiB.
/// \error bad_argument
[[nodiscard]] Result<Size> parse_bytes(std::string_view text, std::string_view source);

/// A decimal number in [least, most]; `unit` says what it counts: ` of seconds`.
/// \error bad_argument
[[nodiscard]] Result<Size> parse_count(std::string_view text, std::string_view source, Size least,
                                       Size most, std::string_view unit = "");

/// A time limit in seconds.
/// \error bad_argument: not a whole number of seconds from 1 to 1000000
[[nodiscard]] Result<Size> parse_timeout(std::string_view text, std::string_view source);

/// One of `choices`, as its index.
/// \error bad_argument
[[nodiscard]] Result<std::size_t> parse_choice(std::string_view text, std::string_view source,
                                               const std::vector<std::string_view>& choices);

/// The text of a file, or of stdin for `-`.
/// \error file_error (cannot be opened, is a directory), bad_file (longer than 512 MiB)
[[nodiscard]] Result<std::string> read_text(const std::string& path, std::string_view source);

/// A mesh in any notation, and its order, if it is given at all.
/// \error as parse_any_mesh and parse_order; bad_argument (an order without a mesh, or beside that of a
///     mesh)
[[nodiscard]] Result<std::optional<PlacedMesh>> read_placed(const std::optional<std::string>& mesh,
                                                            std::string_view mesh_source,
                                                            const std::optional<std::string>& order,
                                                            std::string_view order_source);

/// That an option names something, where it was given.
/// \error bad_argument (an empty name)
[[nodiscard]] Result<void> not_empty(std::string_view option,
                                     const std::optional<std::string>& name,
                                     std::string_view what = "file");

/// Writes a file that an option names, whole or not at all; what ends the verb where that fails.
[[nodiscard]] std::optional<Outcome> write_named(std::string_view option, const std::string& path,
                                                 std::string_view text);

}  // namespace retile::cli
