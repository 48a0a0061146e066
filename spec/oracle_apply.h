/// retile-oracle apply, height, cost: a type and the collectives that are applied to it.
#pragma once

#include "def4_sequences.h"
#include "oracle_queries.h"

namespace spec::oracle {

/// A type and collectives; whether they apply is the answer.
struct Run {
  GivenMesh mesh;
  Type tau;
  std::vector<MultiCollective> p;
};

/// All types along a run together have at most this many dimensions.
constexpr Index most_run_dimensions = Index{1} << 22;

/// TYPE { COLLECTIVE }
inline Run read_run(Tokens& in, const GivenMesh& mesh) {
  Run out = {mesh, well_formed_type(in, mesh), {}};
  while (in.peek() != Tokens::end_of_line) {
    if (rank(out.tau) * (out.p.size() + 2) > most_run_dimensions) {
      Tokens::fail(in.here(), "this is too long: more than 2^22 dimensions in all types together");
    }
    out.p.push_back(read_collective(in, mesh.all));
    MultiCollective& p = out.p.back();
    if (p.p == Op::allpermute && in.peek() == Tokens::end_of_line && p.to.empty()) in.expect("[");
    p.to = without_unit_axes(mesh.all, p.to);
  }
  return out;
}

/// The premise that fails when p does not apply to τ, in words, with the rule's name.
inline std::string why_not(const Mesh& H, const MultiCollective& p, const Type& tau) {
  const auto no_dimension = [&](Index i) { return "there is no dimension " + std::to_string(i); };
  const auto said = [](Size n) { return std::to_string(n); };
  if (p.p == Op::allpermute) {
    if (!wf_type(H, p.to)) return "the type after it is not well-formed [WF-TYPE]";
    if (globaltype(p.to) != globaltype(tau)) return "the globaltypes differ [T-PERMUTE]";
    return "the localtypes differ [T-PERMUTE]";
  }
  const bool slices = p.p == Op::dynslice, exchanges = p.p == Op::alltoall;
  const std::string rule = slices      ? " [T-DYNSLICE]"
                           : exchanges ? " [T-ALLTOALL]"
                                       : " [T-ALLGATHER]";
  if (p.i >= rank(tau)) return no_dimension(p.i) + rule;
  if (exchanges && p.j >= rank(tau)) return no_dimension(p.j) + rule;
  if (exchanges && p.i == p.j) return "the two dimensions are the same" + rule;
  if (p.x.empty()) return "it has no axis of size 2 or more to move" + rule;
  for (const Name& x : p.x) {
    if (!lookup(H, x)) return "axis " + to_text(x) + " is not in the mesh" + rule;
  }
  if (slices && !pairwise_distinct(append(p.x, axes(tau)))) {
    return "an axis of " + to_text(p.x) + " is in use" + rule;
  }
  if (!slices && !after(p.x, tau[p.i].xs)) {
    return "{" + to_text(p.x) + "} is not the minor end of {" + to_text(tau[p.i].xs) + "}" + rule;
  }
  const Size n = lookup(H, p.x).value_or(0), c = tau[exchanges ? p.j : p.i].c;
  return said(n) + " does not divide the tile size " + said(c) + rule;
}

/// The sequence as far as it goes, and why it goes no further.
struct Walk {
  Sequence s;
  std::string wrong;
};

inline Walk walk(const Run& run) {
  Walk out = {{{run.tau}, {}}, ""};
  for (Index k = 0; k < run.p.size() && out.wrong.empty(); ++k) {
    const Type& sigma_k = out.s.sigma.back();
    MultiCollective p = with_axes(run.p[k], sigma_k);
    std::erase_if(p.x, [&](const Name& x) { return lookup(run.mesh.all, x) == Size{1}; });
    if (const auto next = apply(run.mesh.H, p, sigma_k)) {
      out.s.sigma.push_back(*next);
      out.s.p.push_back(p.p);
    } else {
      out.wrong = "no: step " + std::to_string(k) + ", " + to_text(p) + ": " +
                  why_not(run.mesh.H, p, sigma_k) + "\n";
    }
  }
  return out;
}

/// words: apply --mesh MESH TYPE COLLECTIVE..
inline int apply(const Words& words, std::ostream& out) {
  const auto queries = read_queries(questions(words), [](Tokens& in, const GivenMesh& mesh) {
    Run run = read_run(in, mesh);
    if (run.p.empty()) Tokens::fail(in.here(), "expected a collective");
    return run;
  });
  return answer_all(queries, out, "\n", [&](const Run& run) {
    const Walk w = walk(run);
    for (Index k = 1; k < w.s.sigma.size(); ++k) out << to_text(w.s.sigma[k]) << "\n";
    out << w.wrong;
    return w.wrong.empty() ? yes : no;
  });
}

/// words: height --mesh MESH TYPE COLLECTIVE..
inline int height(const Words& words, std::ostream& out) {
  return answer_all(read_queries(questions(words), read_run), out, "", [&](const Run& run) {
    const auto [s, wrong] = walk(run);
    out << wrong;
    if (!wrong.empty()) return no;
    const Size bound = std::max(localsize(s.sigma.front()), localsize(s.sigma.back()));
    out << std::boolalpha << spec::height(s) << " bound=" << bound
        << " within_bound=" << is_memory_constrained(s) << " normal_form=" << is_normal_form(s.p)
        << "\n";
    return yes;
  });
}

/// words: cost --mesh MESH TYPE COLLECTIVE..
inline int cost(const Words& words, std::ostream& out) {
  return answer_all(read_queries(questions(words), read_run), out, "", [&](const Run& run) {
    const auto [s, wrong] = walk(run);
    out << wrong;
    if (!wrong.empty()) return no;
    const auto sum = spec::cost(s);
    out << (sum ? std::to_string(*sum) : "undecided: the cost is not below 2^63") << "\n";
    return sum ? yes : undecided;
  });
}

}  // namespace spec::oracle
