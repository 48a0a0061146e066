/// retile-oracle apply, height, cost: a type and the collectives that are applied to it.
#pragma once

#include "../paper/def4_sequences.h"
#include "queries.h"

namespace spec::oracle {

/// A type and collectives; whether they apply is the answer. Of a run beyond the limit nothing is
/// kept.
struct Run {
  SharedMesh mesh;
  Type tau;
  std::vector<MultiCollective> p;
  bool is_too_long = false;
};

/// What a type over H of this rank takes at most: its dimensions, and every axis of the mesh.
inline Index room(const Mesh& H, Index rank) { return rank + H.size() + long_names(H); }

/// TYPE { COLLECTIVE }
inline Run read_run(Tokens& in, const SharedMesh& mesh) {
  Run out = {mesh, well_formed_type(in, *mesh), {}};
  const Index most = static_cast<Index>(run_limit.most), r = rank(out.tau);
  const Index axes = room(mesh->H, 0);
  Index all = r + axes;
  while (true) {
    if (all > most) out = {mesh, {}, {}, true};
    if (in.peek() == Tokens::end_of_line) return out;
    MultiCollective p = read_collective(in, mesh->all);
    p.to = without_unit_axes(mesh->all, std::move(p.to));
    all = std::min(all, most + 1) + std::max(r, rank(p.to)) + axes;
    if (!out.is_too_long) out.p.push_back(std::move(p));
  }
}

/// The premise that fails when p does not apply to τ, in words, with the rule's name.
inline std::string why_not(const Mesh& H, const MultiCollective& p, const Type& tau) {
  const auto said = [](auto n) { return std::to_string(n); };
  if (p.p == Op::allpermute) {
    if (!wf_type(H, p.to)) return "the type that it leads to is not well-formed [WF-TYPE]";
    if (globaltype(p.to) != globaltype(tau)) return "the globaltypes differ [T-PERMUTE]";
    return "the localtypes differ [T-PERMUTE]";
  }
  const bool slices = p.p == Op::dynslice, exchanges = p.p == Op::alltoall;
  const std::string rule = slices      ? " [T-DYNSLICE]"
                           : exchanges ? " [T-ALLTOALL]"
                                       : " [T-ALLGATHER]";
  const auto no_dimension = [&](Index i) {
    return "there is no dimension " + said(i) + ", the rank is " + said(rank(tau)) + rule;
  };
  if (p.i >= rank(tau)) return no_dimension(p.i);
  if (exchanges && p.j >= rank(tau)) return no_dimension(p.j);
  if (exchanges && p.i == p.j) return "the two dimensions are the same" + rule;
  if (p.x.empty()) {
    const bool has_none = !slices && tau[p.i].xs.empty();
    return (has_none ? "dimension " + said(p.i) + " has no axes"
                     : std::string("all axes that it names have size 1")) +
           rule;
  }
  for (const Name& x : p.x) {
    if (!lookup(H, x)) return "axis " + to_text(x) + " is not in the mesh" + rule;
  }
  if (slices) {
    Names used = axes(tau);
    std::sort(used.begin(), used.end());
    for (const Name& x : p.x) {
      if (std::binary_search(used.begin(), used.end(), x)) {
        return "axis " + to_text(x) + " is in use" + rule;
      }
    }
    if (!pairwise_distinct(p.x)) return "it names an axis twice" + rule;
  }
  if (!slices && !after(p.x, tau[p.i].xs)) {
    return "the axes {" + to_text(tau[p.i].xs) + "} of dimension " + said(p.i) +
           " do not begin with {" + to_text(p.x) + "}" + rule;
  }
  const Size n = lookup(H, p.x).value_or(0), c = tau[exchanges ? p.j : p.i].c;
  return "the size " + said(n) + " of {" + to_text(p.x) + "} does not divide the tile extent " +
         said(c) + " of dimension " + said(exchanges ? p.j : p.i) + rule;
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
    std::erase_if(p.x, [&](const Name& x) { return lookup(run.mesh->all, x) == Size{1}; });
    if (const auto next = apply(run.mesh->H, p, sigma_k)) {
      out.s.sigma.push_back(*next);
      out.s.p.push_back(p.p);
    } else {
      out.wrong = "no: step " + std::to_string(k) + ", " + to_text(run.p[k]) + ": " +
                  why_not(run.mesh->H, p, sigma_k) + "\n";
    }
  }
  return out;
}

/// Answers each run as far as it goes; a run beyond the limit is undecided.
template <class Answer>
int answer_runs(const std::vector<Run>& runs, std::ostream& out, const char* between,
                Answer answer) {
  return answer_all(runs, out, between, [&](const Run& run, std::ostream& text) {
    return run.is_too_long ? beyond(run_limit, text) : int{answer(run, walk(run), text)};
  });
}

/// words: apply --mesh MESH TYPE COLLECTIVE..
inline int apply(const Words& words, std::ostream& out) {
  const auto runs = read_queries(questions(words), [](Tokens& in, const SharedMesh& mesh) {
    Run run = read_run(in, mesh);
    if (run.p.empty() && !run.is_too_long) Tokens::fail(in.here(), "expected a collective");
    return run;
  });
  return answer_runs(runs, out, "\n", [](const Run&, const Walk& w, std::ostream& text) {
    for (Index k = 1; k < w.s.sigma.size(); ++k) text << to_text(w.s.sigma[k]) << "\n";
    text << w.wrong;
    return w.wrong.empty() ? yes : no;
  });
}

/// words: height --mesh MESH TYPE COLLECTIVE..
inline int height(const Words& words, std::ostream& out) {
  const auto runs = read_queries(questions(words), read_run);
  return answer_runs(runs, out, "", [](const Run&, const Walk& w, std::ostream& text) {
    text << w.wrong;
    if (!w.wrong.empty()) return no;
    const Size bound = std::max(localsize(w.s.sigma.front()), localsize(w.s.sigma.back()));
    text << std::boolalpha << spec::height(w.s) << " bound=" << bound
         << " within_bound=" << is_memory_constrained(w.s)
         << " normal_form=" << is_normal_form(w.s.p) << "\n";
    return yes;
  });
}

/// words: cost --mesh MESH TYPE COLLECTIVE..
inline int cost(const Words& words, std::ostream& out) {
  const auto runs = read_queries(questions(words), read_run);
  return answer_runs(runs, out, "", [](const Run&, const Walk& w, std::ostream& text) {
    text << w.wrong;
    if (!w.wrong.empty()) return no;
    const auto sum = spec::cost(w.s);
    text << (sum ? std::to_string(*sum) : "undecided: the cost is not below 2^63") << "\n";
    return sum ? yes : undecided;
  });
}

}  // namespace spec::oracle
