// The bridge: values of src as values of spec. The one place where both are known.
//
// Readers drop axes of size 1 before any definition applies; src keeps them in a mesh and spec has
// none, so they are dropped here on the way over.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "retile/core/layout.h"
#include "retile/core/mesh.h"
#include "retile/notation/paper/dist_type.h"
#include "retile/notation/paper/typing.h"
#include "spec/paper/fig06_syntax.h"
#include "spec/paper/fig07_base_offsets.h"
#include "spec/paper/fig08_typing.h"
#include "spec/paper/sec7_multi_axis.h"

namespace support {

/// A name that no mesh of the tests has.
inline const std::string no_axis = "no such axis";

/// H without axes of size 1.
inline spec::Mesh to_spec(const retile::Mesh& mesh) {
  spec::Mesh H;
  for (const retile::Axis& axis : mesh.axes()) {
    if (axis.size > 1) H.push_back({axis.name, axis.size});
  }
  return H;
}

/// Dimensions as somebody wrote them, well-formed or not, without the mesh's axes of size 1.
inline spec::Type to_spec(const retile::Mesh& mesh, const std::vector<retile::DistDim>& dims) {
  spec::Type tau;
  for (const retile::DistDim& dim : dims) {
    spec::Dim d{dim.tile, {}, dim.global};
    for (const std::string& x : dim.axes) {
      const auto digit = mesh.digit(x);
      if (!digit || digit->size > 1) d.xs.push_back(x);
    }
    tau.push_back(d);
  }
  return tau;
}

/// A type has no axes of size 1.
inline spec::Type to_spec(const retile::DistType& type) {
  spec::Type tau;
  for (const retile::DistDim& dim : type.dims()) tau.push_back({dim.tile, dim.axes, dim.global});
  return tau;
}

/// The collective over lists of axes (Sec. 7.1). src counts the minor-most axes of a dimension, the
/// paper names them: where the type has not as many, the list is filled up with an axis that does
/// not exist.
inline spec::MultiCollective to_spec(const retile::Mesh& mesh, const retile::DistType& type,
                                     const retile::TypedCollective& collective) {
  const auto minor_most = [&](std::size_t dim, std::size_t count) {
    spec::Names x;
    for (std::size_t k = 0; k < count; ++k) {
      const bool there = dim < type.rank() && k < type.dims()[dim].axes.size();
      x.push_back(there ? type.dims()[dim].axes[k] : no_axis);
    }
    return x;
  };
  spec::MultiCollective p;
  if (const auto* allgather = std::get_if<retile::AllgatherRule>(&collective)) {
    p.p = spec::Op::allgather;
    p.i = allgather->dim;
    p.x = minor_most(allgather->dim, allgather->axes);
  } else if (const auto* dynslice = std::get_if<retile::DynsliceRule>(&collective)) {
    p.p = spec::Op::dynslice;
    p.i = dynslice->dim;
    p.x = to_spec(mesh, {{1, dynslice->axes, 1}}).front().xs;
  } else if (const auto* alltoall = std::get_if<retile::AlltoallRule>(&collective)) {
    p.p = spec::Op::alltoall;
    p.i = alltoall->from_dim;
    p.j = alltoall->to_dim;
    p.x = minor_most(alltoall->from_dim, alltoall->axes);
  } else {
    p.p = spec::Op::allpermute;
    p.to = to_spec(std::get<retile::AllpermuteRule>(collective).to);
  }
  return p;
}

/// The same collective as Fig. 8 has it, over one axis; nothing where it has several or none.
inline std::optional<spec::Collective> single_axis(const spec::MultiCollective& p) {
  if (p.p != spec::Op::allpermute && p.x.size() != 1) return std::nullopt;
  spec::Collective out;
  out.p = p.p;
  out.i = p.i;
  out.j = p.j;
  if (!p.x.empty()) out.x = p.x.front();
  out.to = p.to;
  return out;
}

/// The base offset of every device as a list, device after device: Fig. 7a numbers the points of
/// |H| as devices are numbered.
inline spec::BaseOffsetMap to_spec(const retile::Layout& map) {
  const std::vector<retile::Size> flat = map.base_offsets();
  spec::BaseOffsetMap beta;
  for (std::size_t d = 0; d < static_cast<std::size_t>(map.devices()); ++d) {
    const auto begin = flat.begin() + static_cast<std::ptrdiff_t>(d * map.rank());
    beta.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(map.rank()));
  }
  return beta;
}

}  // namespace support
