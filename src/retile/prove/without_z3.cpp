// What stands in for prove.cpp where Z3 is missing.
#include "retile/prove/prove.h"

namespace retile {

bool solver_is_built() { return false; }

Result<Proof> prove(const Program&, const ProveOptions&) {
  return refuse({.code = Code::unsupported,
                 .message = "no solver: this library was built without Z3",
                 .notes = {"check replays a Program without a solver"}});
}

}  // namespace retile
