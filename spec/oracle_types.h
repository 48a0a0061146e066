/// retile-oracle types: every well-formed type of a mesh and a globaltype.
#pragma once

#include "oracle_queries.h"
#include "search.h"

namespace spec::oracle {

/// At most this many dimensions has a type, and have all types together.
constexpr Index most_rank = 64;
constexpr double most_dimensions = 1 << 20;

/// No fewer than the dimensions of all types: m of the axes, in any order, cut into r lists; as
/// axes have size 2 and more, dimension s holds at most log2(s) of them.
inline double dimensions_of_types(const Mesh& H, const Sizes& g) {
  const double r = static_cast<double>(g.size());
  Index room = 0;
  for (Size s : g) {
    for (; s > 1; s /= 2) ++room;
  }
  double term = 1, sum = 1;
  for (Index m = 1; m <= std::min(room, H.size()) && sum < most_dimensions; ++m) {
    const double k = static_cast<double>(m);
    term *= static_cast<double>(H.size() - m + 1) * (k + r - 1) / k;
    sum += term;
  }
  return sum * std::max(r, 1.0);
}

/// words: types --mesh MESH GLOBALTYPE
inline int types(const Words& words, std::ostream& out) {
  struct Space {
    Mesh H;
    Sizes g;
  };
  const auto queries = read_queries(questions(words), [](Tokens& in, const GivenMesh& mesh) {
    const ParseError start = in.here();
    Sizes g = in.ints(1);
    if (!product(g)) Tokens::fail(start, "the global size is not below 2^63");
    return Space{mesh.H, std::move(g)};
  });
  return answer_all(queries, out, "\n", [&](const Space& space) {
    if (space.g.size() > most_rank) {
      out << "undecided: there are more than 64 dimensions\n";
      return undecided;
    }
    if (dimensions_of_types(space.H, space.g) > most_dimensions) {
      out << "undecided: there may be more than 2^20 dimensions in all types\n";
      return undecided;
    }
    for (const Type& tau : all_types(space.H, space.g)) out << to_text(tau) << "\n";
    return yes;
  });
}

}  // namespace spec::oracle
