// Shardings in any notation: texts of JAX, Shardy, HLO, DTensor and MLIR that mean a Layout, beside
// the paper's types. Which notation a text is in, it says itself.
//
// All others list axes major to minor, a Sharding lists them minor to major as the paper does. A
// dimension of n elements over k tiles is cut into blocks of ceil(n/k).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/layout.h"
#include "retile/core/problem.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/notation/paper/problem.h"
#include "retile/notation/paper/wellformed.h"
#include "retile/text/scanner.h"

namespace retile {

enum class Notation { paper, jax, shardy, hlo, dtensor, mlir };

/// `JAX`: as messages call it.
[[nodiscard]] std::string_view name_of(Notation notation);

/// What a text may leave to others to say.
struct ShardingContext {
  /// The mesh of texts that bring none, whatever name they call it by.
  std::optional<PlacedMesh> mesh = {};
  /// Meshes by name (`m` for `@m`), which go before `mesh`.
  std::map<std::string, PlacedMesh, std::less<>> meshes = {};
  /// The global shape, where the text has none.
  std::optional<Shape> shape = {};
  /// How many devices there are, where neither the text nor a mesh says it; where they name fewer,
  /// the others hold nothing.
  std::optional<Size> devices = {};
  /// Whether every tile must be one box, as those of modules are.
  bool in_boxes = false;
  /// Whether the layout is that of the positions of its mesh, whoever stands there.
  bool by_position = false;
};

/// A text that was read.
struct Sharding {
  Notation notation{};
  /// What the axes belong to. Of HLO's tables: axes `a0`, `a1`, .. of its own.
  PlacedMesh mesh = {};
  std::vector<CutDim> dims = {};  ///< parts minor to major
  Addition addition = Addition::sum;
  std::vector<AxisPart> addends = {};    ///< minor to major; none: the array itself
  Size divisor = 1;                      ///< the array is the sum of the addends, divided by it
  std::optional<Size> only_device = {};  ///< which holds all of it, the others nothing
  Layout layout = {};
};

/// Reads a sharding of any notation. A global shape may stand behind it, `: tensor<16x8xf32>`, or
/// before it, `f32[16,8] {..}`.
/// \error syntax, and as parse_layout; unsupported (what no Layout says: manual, a tuple, an open
///     dimension of JAX; tiles of several boxes, where they must be one each), bad_argument (no mesh, no shape, or two that differ)
[[nodiscard]] Result<Sharding> parse_sharding(std::string_view text, const ShardingContext& context,
                                              std::string_view source = "");

/// The same where it stands inside of a larger text: the scanner is left behind it. Not the
/// paper's. The first mistake is thrown (text::Failure).
[[nodiscard]] Sharding read_sharding(text::Scanner& scanner, const ShardingContext& context);

/// Reads a mesh of any notation: `x:4,y:6`, `Mesh('x': 4)`, `sdy.mesh @m = <["x"=4]>`, `<["x"=4]>`,
/// `mesh['x'=4]`, `mesh.mesh @m(shape = 4x6)`, `shard.grid @m(shape = 4x6)`, `DeviceMesh(..)`.
/// Axes without names are called `a0`, `a1`, ..
/// \error as parse_mesh
[[nodiscard]] Result<PlacedMesh> parse_any_mesh(std::string_view text,
                                                std::string_view source = "");
/// The same inside of a larger text; not the paper's.
[[nodiscard]] PlacedMesh read_any_mesh(text::Scanner& scanner);

/// Reads `16,8`, `[16, 8]`, `tensor<16x8xf32>` or `f32[16,8]`.
/// \error syntax, bad_number, size_overflow
[[nodiscard]] Result<Shape> parse_shape(std::string_view text, std::string_view source = "");

/// Whether a text is in another notation than the paper's.
[[nodiscard]] bool is_foreign_sharding(std::string_view text);

/// The type in the paper's notation, over `sharding.mesh.mesh`.
[[nodiscard]] std::string type_text(const Sharding& sharding);

/// Two ends as text, and what they leave to others to say.
struct ProblemText {
  std::optional<PlacedMesh> mesh = {};
  std::optional<PlacedMesh> mesh_to = {};  ///< that of the start, if absent
  std::optional<Shape> shape = {};
  std::string_view from;
  std::string_view to;
};

/// Reads two ends in any notations. An end that says no mesh or no shape has those of the other.
/// \error as parse_sharding and the parse_problem of types
[[nodiscard]] Result<Problem> parse_problem(const ProblemText& text);

}  // namespace retile
