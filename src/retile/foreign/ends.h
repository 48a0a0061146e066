// What a function must do: the ends that its text states, and those that options say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/result.h"
#include "retile/foreign/judge_text.h"
#include "retile/foreign/module.h"
#include "retile/foreign/reader.h"
#include "retile/notation/paper/problem.h"
#include "retile/notation/sharding.h"
#include "retile/text/place.h"

namespace retile::foreign {

/// Options, as text and as their readers made them. Of a function that moves several arrays, an end
/// or a shape may be that of all of them, or one for each, parted by semicolons.
struct EndOptions {
  std::optional<PlacedMesh> mesh = {};
  std::optional<Shape> shape = {};
  std::optional<std::string> from = {};
  std::optional<std::string> to = {};
  std::vector<Shape> shapes = {};  ///< where there are several
};

/// Reads the mesh and the shape; the ends wait for a function.
/// \error as parse_any_mesh and parse_shape, at `--mesh` and `--shape`
[[nodiscard]] Result<EndOptions> read_ends(const EndTexts& texts);

/// What readers of texts are told of it.
[[nodiscard]] ReadOptions read_options(const EndOptions& options);

struct Ends {
  Layout from;
  Layout to;
  std::string from_text;
  std::string to_text;
  /// Where they were read as such; a file's reader may make layouts itself.
  std::optional<Sharding> from_sharding = {};
  std::optional<Sharding> to_sharding = {};
  std::optional<Mesh> mesh = {};  ///< that both are said over, where there is one
  /// Of a trace whose ranks are in another order than 0, 1, ..: the rank that each device here is.
  std::vector<Size> ranks = {};
  /// What an option says otherwise than the file, and what was taken for granted.
  std::vector<std::string> notes = {};
};

/// The ends of a function, and that it has the form to be judged by them: one parameter of tiles of
/// `from`, and one result of tiles of `to`. A result of another shape is no wrong reshard, it is none.
///
/// Options go before the file. Where nobody says the global shape, it is the largest that the tiles
/// allow: who moves that moves a shorter one, too.
/// \error bad_argument (an end that nobody says; other numbers of devices, another shape),
///     unsupported (several parameters), and as parse_sharding. Each points at an option, or into
///     the file
[[nodiscard]] Result<Ends> find_ends(const Function& function, const EndOptions& options,
                                     const text::Input& input);

/// A function of a text, and what it must do.
struct Task {
  Function function;
  Ends ends;
};

/// All functions of a text.
/// \error as read and find_ends
[[nodiscard]] Result<std::vector<Task>> read_tasks(const text::Input& input, Language language,
                                                   const EndOptions& options);

/// judge_text, of a text and of ends that are known so far.
/// \error as read_tasks
[[nodiscard]] Result<std::vector<JudgedFunction>> judge_functions(const text::Input& input,
                                                                  Language language,
                                                                  const EndOptions& asked,
                                                                  const JudgeOptions& options);

}  // namespace retile::foreign
