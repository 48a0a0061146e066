// The text of MLIR: StableHLO on the tiles of devices, the collectives of Shardy, and those of the
// dialects mesh (MLIR 19) and shard (MLIR 22).
#pragma once

#include <vector>

#include "retile/foreign/module.h"
#include "retile/foreign/reader.h"
#include "retile/text/place.h"

namespace retile::foreign {

/// Every function that has a body and that no other calls. The first mistake is thrown
/// (text::Failure).
[[nodiscard]] std::vector<Function> read_mlir(const text::Input& input, const ReadOptions& options);

}  // namespace retile::foreign
