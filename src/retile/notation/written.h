// A sharding as it stands in a text, before it is known over which mesh and of which array.
// Room-internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/size.h"
#include "retile/notation/paper/problem.h"
#include "retile/notation/sharding.h"
#include "retile/text/scanner.h"

namespace retile::notation {

using text::Place;
using text::Scanner;
using text::Token;

/// An axis by name or by number, or a part of it.
struct WrittenPart {
  std::string axis;
  std::optional<Size> number = {};  ///< in place of the name: which axis of the mesh
  Size major = 0;                   ///< 0: the whole axis
  Size size = 0;                    ///< of a part
  Place place = {};
};

/// What cuts one dimension, MAJOR to minor.
struct WrittenAxes {
  std::vector<WrittenPart> parts;
  Place place = {};
};

/// What DTensor says of one axis of the mesh.
struct Placement {
  enum class Kind { replicate, shard, partial };
  Kind kind = Kind::replicate;
  Size dim = 0;
  bool from_end = false;          ///< `Shard(-1)`: counted from behind, dim 0 the last
  Size split_factor = 1;          ///< of _StridedShard
  std::optional<Size> turn = {};  ///< `S(0)[1]`: the second axis that cuts its dimension
  Addition addition = Addition::sum;
  bool is_average = false;  ///< the sum is divided by the number of addends along the axis
  Place place = {};
};

/// A global shape and where it stands.
using WrittenShape = Token<Shape>;

struct Written {
  Notation notation{};
  Place place = {};
  std::optional<Token<PlacedMesh>> mesh = {};
  std::optional<Token<std::string>> mesh_name = {};
  bool table = false;  ///< the mesh is made of a table, and its axes have no names of their own
  std::vector<WrittenAxes> dims = {};
  bool may_be_short = false;  ///< dimensions at the end that nothing cuts may be missing
  Addition addition = Addition::sum;
  WrittenAxes addends = {};
  bool all_addends = false;  ///< all axes count addends
  std::optional<std::vector<Placement>> placements = {};
  std::vector<Token<Size>> offsets =
      {};  ///< MLIR's sharded_dims_offsets: cuts of the cut dimensions
  std::optional<Token<Size>> only_device = {};
  std::optional<WrittenShape> shape = {};
};

/// Reads a sharding of any notation but the paper's, and the shape in front of it or behind it.
[[nodiscard]] Written read_written(Scanner& scanner);
/// Whether it names no axis: any mesh with as many devices would do.
[[nodiscard]] bool names_no_axis(const Written& written);
/// What it means.
[[nodiscard]] Sharding resolve(Written written, const ShardingContext& context);

// The readers, each behind the words that name it.

[[nodiscard]] Written read_jax(Scanner& scanner);
[[nodiscard]] Written read_shardy(Scanner& scanner);
[[nodiscard]] Written read_hlo(Scanner& scanner);
[[nodiscard]] Written read_dtensor(Scanner& scanner);
/// Whether placements of DTensor come next without brackets around them, `S(0)R`, or such a spec.
[[nodiscard]] bool sees_placements(Scanner scanner);
[[nodiscard]] Written read_mlir(Scanner& scanner);

[[nodiscard]] PlacedMesh read_jax_mesh(Scanner& scanner);
[[nodiscard]] PlacedMesh read_shardy_mesh(Scanner& scanner);
[[nodiscard]] PlacedMesh read_hlo_mesh(Scanner& scanner);
[[nodiscard]] PlacedMesh read_dtensor_mesh(Scanner& scanner);
[[nodiscard]] PlacedMesh read_mlir_mesh(Scanner& scanner);

// What they share.

/// A mesh of these axes, as one that a reader hands back; fails at an axis or at `all`.
struct ReadAxis {
  Token<std::string> name;
  Token<Size> size;
};
[[nodiscard]] Mesh mesh_of(const std::vector<ReadAxis>& axes, const Place& all);
/// `a0`, `a1`, ..
[[nodiscard]] std::string numbered_axis(std::size_t number);

/// Numbers between commas, up to the closing bracket, which is read. May be none.
[[nodiscard]] std::vector<Token<Size>> read_numbers(Scanner& scanner, std::string_view closing);
[[nodiscard]] std::vector<Size> values_of(const std::vector<Token<Size>>& numbers);

/// Numbers in brackets of any nesting, one behind the other, and the extents of a full table.
struct NestedNumbers {
  std::vector<Token<Size>> numbers;
  Shape extents;
};
[[nodiscard]] NestedNumbers read_nested(Scanner& scanner);

/// A mesh on whose positions these devices stand: distinct, and as many. Identity: no order.
[[nodiscard]] PlacedMesh placed_by_list(Mesh mesh, const std::vector<Token<Size>>& devices,
                                        const Place& all);
[[nodiscard]] PlacedMesh placed_by_chain(Mesh mesh, const IotaChain& chain);
/// One stage of an iota; fails at `all` where these are no shape of a permutation.
[[nodiscard]] IotaStage stage_of(const std::vector<Token<Size>>& shape,
                                 const std::vector<Token<Size>>& transpose, const Place& all);

/// Reads over a value that means nothing here: up to a comma or a closing bracket that it did not open.
void skip_value(Scanner& scanner);

/// Reads `"x"` or `"x":(1)2`, in whichever quotes.
[[nodiscard]] WrittenPart read_part(Scanner& scanner);
/// Reads parts between commas up to `}`, which is read; a `?` among them is passed over.
[[nodiscard]] WrittenAxes read_parts(Scanner& scanner);
/// Reads `[{"x"}, {}]`, as Shardy and HLO write dimensions; priorities are passed over.
[[nodiscard]] std::vector<WrittenAxes> read_braced_dims(Scanner& scanner);
/// Reads `sum`, `max` or `min`, if one comes next.
[[nodiscard]] std::optional<Addition> accept_addition(Scanner& scanner);

/// Whether a text begins here as `tensor<` or `f32[` does.
[[nodiscard]] bool sees_shape(Scanner& scanner);
[[nodiscard]] WrittenShape read_shape(Scanner& scanner);

}  // namespace retile::notation
