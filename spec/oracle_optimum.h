/// retile-oracle optimum: the cheapest sequence between two types, by brute force.
///
/// What is printed is a Program, with the costs as comments, so that `check` can read it.
#pragma once

#include "oracle_queries.h"
#include "search_program.h"

namespace spec::oracle {

/// The search is given up beyond these: devices, localtypes, tile maps looked at.
constexpr Size most_searched_devices = 127;
constexpr double most_localtypes = 1 << 16;
constexpr Size most_tile_maps = Size{1} << 22;

/// A redistribution problem τ_1 ⇝ τ_2.
struct Problem {
  Mesh H;
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
  const auto& [H, tau_1, tau_2] = problem;
  const Size delta = device_count(H).value();
  const Sizes g = globaltype(tau_1);
  std::string limit;
  if (delta > most_searched_devices) {
    limit = "more than " + std::to_string(most_searched_devices) + " devices";
  } else if (localtypes(delta, g) > most_localtypes) {
    limit = "more than 2^16 localtypes";
  } else {
    try {
      const auto W = cheapest_weak(delta, g, localtype(tau_1), localtype(tau_2), {false, bounded});
      TileSearch search;
      search.bounded = bounded;
      search.limit = most_tile_maps;
      const auto best = optimum(H, tau_1, tau_2, search);
      if (W && best) {
        out << "# W: " << W->cost << "\n# optimum: " << best->cost << "\n"
            << spec::to_text(H, tau_1, tau_2, *best);
        return yes;
      }
      limit = "every cost is 2^63 or more";
    } catch (const SearchLimit&) {
      limit = "more than 2^22 tile maps to look at";
    }
  }
  out << "# undecided: " << limit << "\n";
  return undecided;
}

/// words: optimum --mesh MESH [--unbounded] FROM TO
inline int optimum(const Words& words, std::ostream& out) {
  const Questions asked = questions(words, {"--unbounded"});
  const auto queries = read_queries(asked, [](Tokens& in, const GivenMesh& mesh) {
    Type tau_1 = well_formed_type(in, mesh);
    const ParseError place = in.here();
    Type tau_2 = well_formed_type(in, mesh);
    if (globaltype(tau_1) != globaltype(tau_2)) Tokens::fail(place, "the globaltypes differ");
    return Problem{mesh.H, std::move(tau_1), std::move(tau_2)};
  });
  return answer_all(queries, out, "\n", [&](const Problem& problem) {
    return print_optimum(out, problem, asked.flags.empty());
  });
}

}  // namespace spec::oracle
