// The rules that types must obey, and in which part of a type somebody broke them. `make` asks
// whether, readers also ask where.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "retile/core/cuts.h"
#include "retile/core/device_table.h"
#include "retile/core/diagnostic.h"
#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/notation/paper/dist_type.h"
#include "retile/notation/paper/grammar.h"

namespace retile {

/// A refusal without a place, and the part that it is about.
struct TypeViolation {
  Diagnostic diagnostic;
  std::optional<std::size_t> dim;  ///< number of the dimension; nothing: the type as a whole
  /// number of the axis within the dimension; nothing: the dimension as a whole
  std::optional<std::size_t> axis;
  std::optional<std::size_t> cut = {};  ///< in its place the number of a listed cut
};

/// An axis, or a part `x:(2)3` of one.
struct AxisPart {
  std::string axis;
  Size major = 0;  ///< 0: the whole axis
  Size size = 0;   ///< of a part
  friend bool operator==(const AxisPart&, const AxisPart&) = default;
};

/// One dimension of a type that may be more than the paper's.
struct CutDim {
  paper::Cutting cutting = paper::Cutting::tile;
  Size tile = 1;           ///< not of listed cuts
  std::vector<Size> cuts;  ///< of listed ones
  std::vector<AxisPart> parts;
  Size global = 1;
  Halo halo = {};
  std::vector<Size> sections = {};  ///< where there are several: their extents
  Chunks chunks = {};               ///< dealt out in turn where there are no tiles
  /// Whether a tile may have several boxes.
  [[nodiscard]] bool is_dealt() const { return paper::may_deal(cutting) || !sections.empty(); }
};

/// The first rule of Fig. 7b that `dims` breaks over `mesh`, or nothing. Axes of size 1 may stand
/// in `dims`: they must be axes of the mesh and mean nothing else.
[[nodiscard]] std::optional<TypeViolation> find_violation(const Mesh& mesh,
                                                          const std::vector<DistDim>& dims);
/// The same with WF-DIM-CEIL in place of c * prod k_j = n, and what else CutDim can say.
[[nodiscard]] std::optional<TypeViolation> find_violation(const Mesh& mesh,
                                                          const std::vector<CutDim>& dims);

/// The digit that an axis or a part of one is; nothing where there is none.
[[nodiscard]] std::optional<Digit> digit_of(const Mesh& mesh, const AxisPart& part);

/// The refusal of an axis that the mesh does not have, without a place; lists the axes and the one
/// most like it. [WF-DIM]
[[nodiscard]] Diagnostic unknown_axis(const Mesh& mesh, const std::string& axis);

/// The refusal of a size that is repeated wrongly: `x:3` where the mesh has x:4. [WF-DIM]
[[nodiscard]] Diagnostic wrong_axis_size(const std::string& axis, Size in_mesh, Size written);

/// The refusal of an axis that stands in two places, without notes. [WF-DIM, WF-TYPE]
[[nodiscard]] Diagnostic axis_used_twice(const std::string& axis, std::size_t first_dim,
                                         std::size_t second_dim);

/// The refusal of an axis that counts addends and stands in a second place.
/// \param dim  the dimension that it cuts, too; nothing: it stands among the addends twice
[[nodiscard]] Diagnostic addends_use_twice(const std::string& axis, std::optional<std::size_t> dim);

/// What splits a dimension: an axis, or another digit of the device number.
struct Splitter {
  std::string text;  ///< as written in a dimension: `x`, `6:4`
  Size size = 1;
  bool is_axis = true;
};

/// How one dimension is cut, whatever splits it.
struct CutText {
  paper::Cutting cutting = paper::Cutting::tile;
  Size tile = 1;           ///< >= 1; not of listed cuts
  std::vector<Size> cuts;  ///< of listed ones
  std::vector<Splitter> splitters;
  Size global = 1;                  ///< >= 1
  std::vector<Size> sections = {};  ///< where there are several: their extents, each >= 1
  Chunks chunks = {};               ///< dealt out in turn where there are no tiles
};

/// A refusal without a place, and the listed cut that it is about.
struct CutsViolation {
  Diagnostic diagnostic;
  std::optional<std::size_t> cut = {};  ///< nothing: the dimension as a whole
};

/// The cuts that a dimension says, or why it says none: its tile is not the one that makes so many
/// tiles, its blocks do not suffice, its listed cuts fall or do not lead from 0 to the global size, its chunks
/// are those of another array or belong to tiles that there are not, its sections are neither dealt out nor cut as `3{x}10` is.
/// [WF-DIM-CEIL]
[[nodiscard]] tl::expected<Cuts, CutsViolation> cuts_of(const CutText& dim);

/// Why a dimension has no such halo, if it has none.
/// \param is_dealt  whether its tiles may have several boxes
[[nodiscard]] std::optional<Diagnostic> wrong_halo(const Halo& halo, bool is_dealt, Size global);

/// The layout of the devices that stand at positions; preconditions as of Layout::placed.
/// \error unsupported (blocks that are dealt out to devices that no digits of their numbers place)
[[nodiscard]] Result<Layout> placed(const Layout& positions,
                                    const std::optional<DeviceTable>& order, Size devices);

/// The digit that a part of an axis is, `x:(2)3` of x:12 the middle factor of 2 * 3 * 2: (stride of
/// x times what is below it, its own size); nothing where the parts do not divide the axis.
[[nodiscard]] std::optional<Digit> part_of(const Digit& axis, Size major, Size size);
/// The refusal of such a part.
[[nodiscard]] Diagnostic wrong_part(const std::string& axis, Size axis_size, Size major, Size size);

/// The refusal of a dimension whose tile times splitters is not its global size, or does not fit in
/// 63 bits. [WF-DIM]
[[nodiscard]] Diagnostic wrong_tile(Size tile, const std::vector<Splitter>& splitters, Size global);

/// `64{x}256 is well formed`: the note that completes a dimension without its global size; nothing
/// where that does not fit in 63 bits.
[[nodiscard]] std::optional<std::string> completed(Size tile,
                                                   const std::vector<Splitter>& splitters);

/// What splits a dimension of a type. Precondition: axes of the mesh, and parts that they have.
[[nodiscard]] std::vector<Splitter> splitters_of(const Mesh& mesh, const DistDim& dim);
[[nodiscard]] std::vector<Splitter> splitters_of(const Mesh& mesh, const CutDim& dim);
[[nodiscard]] CutText cut_text(const Mesh& mesh, const CutDim& dim);

/// tile times axes of a dimension, or nothing when it does not fit in 63 bits. Preconditions: axes
/// of the mesh, tile >= 1.
[[nodiscard]] std::optional<Size> covered(const Mesh& mesh, const DistDim& dim);

/// The product of the sizes of `axes`. Precondition: distinct axes of the mesh, so that it is at
/// most max_devices.
[[nodiscard]] Size axes_product(const Mesh& mesh, const std::vector<std::string>& axes);

}  // namespace retile
