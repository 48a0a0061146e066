// Which MLIR text nobody has partitioned. Room-internal.
#pragma once

#include "retile/foreign/mlir/build.h"
#include "retile/foreign/mlir/tree.h"

namespace retile::foreign::mlir {

/// Refuses a function from before the partitioner: it calls shardings or leaves reshards to others,
/// or says shardings and nothing of one device. Unless options say the array's shape: then types of
/// tiles tell. A function that does nothing between equal shardings does the same before and after.
void refuse_unpartitioned(const ModuleContext& context, const Op& function,
                          const ReadOptions& options);

/// The same of a text that cannot be read, by its words: nothing where these do not say it.
void refuse_unpartitioned_words(const text::Input& input, const ReadOptions& options);

}  // namespace retile::foreign::mlir
