// In which order what is added: known from the Program alone, so that bytes do not depend on how
// many processes there are, nor on how they talk.
//
// A tile has a rank: the least number of an addend that is in it somewhere. At the start that is the
// number of its device's addend. After a step it is the least rank of the tiles that it got
// something from; a tile that got nothing comes last. Whoever adds tiles does so in ascending order
// of their ranks. Those of one rank are added in the order in which the step has them: of a group
// that of the row, of an exchange that of its list.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "retile/core/element_type.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/add/adder.h"
#include "retile/program/ops.h"
#include "retile/program/program.h"
#include "retile/program/tile_shapes.h"

namespace retile::add {

/// What a Program adds its elements with; nothing where it adds none, or has arrays that stay apart.
/// \param type    of the elements, if somebody says it
/// \param option  where it is said, for the message: ` (options.element_type)`
/// \error as Adder::make; unsupported (nobody says it)
[[nodiscard]] Result<std::optional<Adder>> adder_of(const Program& program,
                                                    const std::optional<ElementType>& type,
                                                    std::string_view option = "");

/// The ranks of the tiles of all devices before every step.
/// \param shapes  tile_shapes() of the Program
[[nodiscard]] std::vector<std::vector<Size>> ranks_before_steps(
    const Program& program, const std::vector<DeviceShapes>& shapes);

/// Sorts transfers: by target, and of one target in the order in which they are added.
void put_in_order(std::vector<Transfer>& transfers, const std::vector<Size>& ranks);

/// What a step that adds does with a new tile.
struct Manner {
  bool clears = false;        ///< at first it is cleared: not every element is written
  bool copies_first = false;  ///< the first transfer to a tile is copied, and others added
};
/// Nothing of a step that does not add.
[[nodiscard]] std::optional<Manner> manner_of(const Op& op);

}  // namespace retile::add
