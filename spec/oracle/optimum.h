/// retile-oracle optimum: the cheapest sequence between two types, by brute force.
///
/// What is printed is a Program, with the costs as comments, so that `check` can read it.
#pragma once

#include "../search/program.h"
#include "queries.h"

namespace spec::oracle {

/// A redistribution problem τ_1 ⇝ τ_2.
struct Problem {
  SharedMesh mesh;
  Type tau_1, tau_2;
};

/// No fewer than the localtypes: a number of tiles for each dimension, which divides it and δ.
inline double localtypes(Size delta, const Sizes& g) {
  double out = 1;
  for (const Size g_i : g) {
    double N = 0;
    for (Size N_i = 1; N_i <= delta; ++N_i) N += delta % N_i == 0 && g_i % N_i == 0 ? 1 : 0;
    out *= N;
  }
  return out;
}

/// W, the optimum and an optimal Program; or why there are none.
inline int print_optimum(std::ostream& out, const Problem& problem, bool bounded) {
  const auto& [mesh, tau_1, tau_2] = problem;
  const Mesh& H = mesh->H;
  const Size delta = device_count(H).value();
  const Sizes g = globaltype(tau_1);
  const auto give_up = [&](const Limit& limit) {
    out << "# ";
    return beyond(limit, out);
  };
  if (g.size() > static_cast<Index>(searched_rank_limit.most)) return give_up(searched_rank_limit);
  if (delta > devices_limit.most) return give_up(devices_limit);
  if (localtypes(delta, g) > static_cast<double>(localtypes_limit.most)) {
    return give_up(localtypes_limit);
  }
  try {
    const auto W = cheapest_weak(delta, g, localtype(tau_1), localtype(tau_2), {false, bounded});
    TileSearch search;
    search.bounded = bounded;
    search.limit = tile_maps_limit.most;
    const auto best = optimum(H, tau_1, tau_2, search);
    if (!W || !best) {
      out << "# undecided: every cost is 2^63 or more\n";
      return undecided;
    }
    out << "# W: " << W->cost << "\n# optimum: " << best->cost << "\n"
        << spec::to_text(H, tau_1, tau_2, *best);
    return yes;
  } catch (const SearchLimit&) {
    return give_up(tile_maps_limit);
  }
}

/// words: optimum --mesh MESH [--unbounded] FROM TO
inline int optimum(const Words& words, std::ostream& out) {
  const Questions asked = questions(words, {"--unbounded"});
  const auto queries = read_queries(asked, [](Tokens& in, const SharedMesh& mesh) {
    Type tau_1 = well_formed_type(in, *mesh);
    const ParseError place = in.here();
    Type tau_2 = well_formed_type(in, *mesh);
    if (globaltype(tau_1) != globaltype(tau_2)) Tokens::fail(place, "the globaltypes differ");
    return Problem{mesh, std::move(tau_1), std::move(tau_2)};
  });
  const auto answer = [&](const Problem& problem, std::ostream& text) {
    return print_optimum(text, problem, asked.flags.empty());
  };
  return answer_all(queries, out, "\n", answer, "# ");
}

}  // namespace spec::oracle
