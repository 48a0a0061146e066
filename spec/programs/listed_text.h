/// Reads a layout whose boxes are listed, as a type in a module.
#pragma once

#include "../program/tiling_text.h"

namespace spec::spmd {

/// tile = ints global = ints at = rows [shapes = rows], behind the first word
inline Layout read_listed(Tokens& in, Size devices) {
  const ParseError place = in.here();
  in.expect("=");
  const Sizes tile = in.ints();
  in.expect("global");
  in.expect("=");
  Layout out;
  for (const Size n : in.ints(1)) out.dims.push_back({{n}, {}, n});
  in.expect("at");
  in.expect("=");
  out.at = in.rows();
  out.shapes = Rows(out.at->size(), tile);
  if (in.accept("shapes")) {
    in.expect("=");
    out.shapes = in.rows();
  }
  const auto D = static_cast<Index>(devices);
  bool fits = out.at->size() == D && out.shapes->size() == D && tile.size() == out.dims.size();
  for (Index d = 0; d < D && fits; ++d) {
    fits = (*out.at)[d].size() == tile.size() && (*out.shapes)[d].size() == tile.size();
    for (Index i = 0; i < tile.size() && fits; ++i) {
      const Size begin = (*out.at)[d][i], extent = (*out.shapes)[d][i], n = out.dims[i].n;
      fits = extent <= tile[i] && begin <= n && extent <= n - begin;
    }
  }
  if (!fits) in.fail(place, "the lists do not fit the devices, the tile or the global shape");
  out.positions = devices;
  return out;
}

}  // namespace spec::spmd
