// Integers of 128 bits, for sums and products that may pass 63 bits before it is known whether they fit.
#pragma once

namespace retile {

// NOLINTBEGIN(modernize-use-using): the marker needs a typedef
__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;
// NOLINTEND(modernize-use-using)

}  // namespace retile
