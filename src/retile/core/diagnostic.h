// What is wrong with somebody's input: a typed code, the rule that fails, the place, and the
// repair.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace retile {

/// Every way in which input can be refused. `docs/reference/errors.md` lists them with an example each.
enum class Code {
  // text
  syntax,         ///< the text does not follow the grammar
  bad_number,     ///< a number is zero, negative or does not fit where it stands
  size_overflow,  ///< a product of sizes does not fit in 63 bits
  // meshes and types
  empty_mesh,           ///< a mesh without axes
  duplicate_axis,       ///< an axis name stands twice in a mesh
  too_many_devices,     ///< more than 2^31 devices
  unknown_axis,         ///< a type names an axis that the mesh does not have [WF-DIM]
  axis_used_twice,      ///< an axis splits two places of one type [WF-TYPE]
  axis_size_mismatch,   ///< `x:3` where the mesh has x:4
  ill_formed_type,      ///< tile times axes is not the global size [WF-DIM]
  rank_mismatch,        ///< the two types have different ranks
  globaltype_mismatch,  ///< the two types have different global shapes (Sec. 2.5)
  // programs
  bad_program,  ///< a Program that cannot be read: unknown, missing or doubled key, bad table, bad
                ///< device
  bad_device,   ///< a device number that the Program does not have
  bad_dimension,  ///< a dimension that the array does not have
  inapplicable,   ///< a step that cannot be applied where it stands
  unsupported,    ///< well formed, but not something this function handles
  // files and arguments
  file_error,     ///< a file cannot be opened, read or written
  bad_file,       ///< a file does not hold what is needed (npy header, truncated data)
  bad_argument,   ///< an option or argument out of range
  limit_reached,  ///< a search or replay stopped at its limit: neither yes nor no
  infeasible,     ///< no plan within the memory limit
  // execution
  disagreement,         ///< processes were given different arguments
  mpi_error,            ///< MPI reported an error
  team_broken,          ///< a member of a team that shares memory gave up or died
  shared_memory_error,  ///< memory for several processes cannot be made or reached
  cuda_error,           ///< no CUDA device, or CUDA reported an error
};

/// The identifier of a code, as written in docs/reference/errors.md and in JSON: `unknown_axis`.
[[nodiscard]] std::string_view code_name(Code code);

/// Every code, in the order of the enumeration.
[[nodiscard]] std::span<const Code> all_codes();

/// Half-open range of bytes [begin, end) of a Diagnostic's `input`. begin == end points between
/// characters.
struct Span {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// One refusal. `input` is the one line of text that `where` points into (empty when there is
/// none).
struct Diagnostic {
  Code code{};
  std::string message;    ///< one sentence, no trailing dot
  std::string rule = {};  ///< paper's or form's label, such as `WF-DIM`; may be empty
  std::string source =
      {};  ///< where `input` comes from: `--mesh`, `FROM`, `plan.txt:12`; may be empty
  std::string input = {};
  Span where = {};
  std::vector<std::string> notes = {};  ///< repairs and further facts, one sentence each
};

/// The diagnostic as people read it:
///     error: tile size times axis sizes must equal the global size: 32 * 4 = 128, not 256 [WF-DIM]
///       [32{xdev}256, 1024]
///        ^~~~~~~~~~~
///     note: axis xdev has size 4; 64{xdev}256 is well formed
/// A source stands before the message: `error: --mesh: ...`. Nothing of the input can disturb a
/// terminal or move the caret: control characters (tabs, too) are shown as blanks, what is no UTF-8
/// as `?`, a line of more than 96 columns is cut around the caret. Ends with a newline.
[[nodiscard]] std::string render(const Diagnostic& diagnostic);

/// A line of text without anything that could disturb a terminal, as `render` shows it.
[[nodiscard]] std::string clean(std::string_view text);

}  // namespace retile
