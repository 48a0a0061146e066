// The text of XLA after its partitioner: modules of instructions on the tiles of devices.
#pragma once

#include <vector>

#include "retile/foreign/module.h"
#include "retile/foreign/reader.h"
#include "retile/text/place.h"

namespace retile::foreign {

/// The entry computation of every module. The first mistake is thrown (text::Failure).
[[nodiscard]] std::vector<Function> read_hlo(const text::Input& input, const ReadOptions& options);

}  // namespace retile::foreign
