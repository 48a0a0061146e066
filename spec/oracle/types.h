/// retile-oracle types: every well-formed type of a mesh and a globaltype.
#pragma once

#include "../search/search.h"
#include "queries.h"

namespace spec::oracle {

/// No fewer than the dimensions of all types: m of the axes, in any order, cut into r lists; as
/// axes have size 2 and more, dimension s holds at most log2(s) of them. Long names count, too.
inline double dimensions_of_types(const Mesh& H, const Sizes& g) {
  const double r = static_cast<double>(g.size());
  Index room = 0;
  for (Size s : g) {
    for (; s > 1; s /= 2) ++room;
  }
  const double most = static_cast<double>(types_limit.most);
  double term = 1, sum = 1;
  for (Index m = 1; m <= std::min(room, H.size()) && sum <= most; ++m) {
    const double k = static_cast<double>(m);
    term *= static_cast<double>(H.size() - m + 1) * (k + r - 1) / k;
    sum += term;
  }
  return sum * std::max(r + static_cast<double>(long_names(H)), 1.0);
}

/// words: types --mesh MESH GLOBALTYPE
inline int types(const Words& words, std::ostream& out) {
  struct Space {
    SharedMesh mesh;
    Sizes g;
  };
  const auto queries = read_queries(questions(words), [](Tokens& in, const SharedMesh& mesh) {
    const ParseError start = in.here();
    Sizes g = in.ints(1);
    if (!product(g)) Tokens::fail(start, "the global size is not below 2^63");
    return Space{mesh, std::move(g)};
  });
  return answer_all(queries, out, "\n", [](const Space& space, std::ostream& text) {
    const Mesh& H = space.mesh->H;
    const auto most = [](const Limit& limit) { return static_cast<double>(limit.most); };
    if (static_cast<double>(space.g.size()) > most(rank_limit)) return beyond(rank_limit, text);
    if (dimensions_of_types(H, space.g) > most(types_limit)) return beyond(types_limit, text);
    for (const Type& tau : all_types(H, space.g)) text << to_text(tau) << "\n";
    return int{yes};
  });
}

}  // namespace spec::oracle
