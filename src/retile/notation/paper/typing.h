// The typing rules of collectives on distributed types: Fig. 8, and their multi-axes forms of
// Sec. 7.1.
//
// The planner does not use them: it works on weak types. They are what users of the paper's
// notation ask: may I do this collective here, and if not, which premise fails.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "retile/core/mesh.h"
#include "retile/core/result.h"
#include "retile/notation/paper/dist_type.h"

namespace retile {

/// allgather(i): removes the `axes` minor-most axes of dimension i (1 in Fig. 8; more merge into
/// one step, Sec. 7.1).
struct AllgatherRule {
  std::size_t dim = 0;
  std::size_t axes = 1;
};
/// dynslice(i, x..): prepends unused axes, in the order given, as new minor-most axes of dimension
/// i.
struct DynsliceRule {
  std::size_t dim = 0;
  std::vector<std::string> axes;
};
/// alltoall(i, j): moves the `axes` minor-most axes of dimension i, order kept, to the minor end of
/// dimension j.
struct AlltoallRule {
  std::size_t from_dim = 0;
  std::size_t to_dim = 0;
  std::size_t axes = 1;
};
/// allpermute: to any type with the same localtype and globaltype.
struct AllpermuteRule {
  DistType to;
};

using TypedCollective = std::variant<AllgatherRule, DynsliceRule, AlltoallRule, AllpermuteRule>;

/// The type after the collective.
/// \error bad_dimension, unknown_axis, axis_used_twice, inapplicable, each with the rule
///     (T-ALLGATHER, T-DYNSLICE, T-ALLTOALL, T-PERMUTE) and the premise that fails. Paper: Fig. 8,
///     Sec. 7.1; E4, E5.
[[nodiscard]] Result<DistType> apply(const Mesh& mesh, const TypedCollective& collective,
                                     const DistType& type);

}  // namespace retile
