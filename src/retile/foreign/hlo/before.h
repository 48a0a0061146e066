// Which HLO text nobody has partitioned. Room-internal.
#pragma once

#include "retile/foreign/hlo/syntax.h"
#include "retile/foreign/reader.h"

namespace retile::foreign::hlo {

/// Refuses a module from before the partitioner. The partitioner takes the shardings of all but
/// parameters and root, the calls that carry shardings, and calls the entry `.._spmd`.
///
/// A module that says nothing of one device and has none of these marks is refused, too, unless
/// options say the array's shape: then its types are compared with that. A module that only copies
/// between equal shardings does the same before and after, and passes.
void refuse_unpartitioned(const Module& module, const ReadOptions& options);

}  // namespace retile::foreign::hlo
