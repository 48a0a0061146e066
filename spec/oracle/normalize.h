/// retile-oracle normalize: the rewriting of Theorem 4.8, step by step.
///
/// What is printed can be read again: `mesh` lines, queries, and comments behind them.
#pragma once

#include "../paper/sec3_factor.h"
#include "../paper/sec4_normal_form.h"
#include "apply.h"

namespace spec::oracle {

inline std::string to_text(const Collective& p) {
  const Names x = p.p == Op::dynslice ? Names{p.x} : Names();
  return spec::to_text(MultiCollective{p.p, p.i, p.j, x, p.to});
}

/// A step from τ to τ' over the list x̄' as steps over one axis each. Allgathers take x̄' from the
/// left, dynslices from the right; alltoalls from the left, which leaves it reversed, so an
/// allpermute to τ' follows when x̄' has several axes.
inline std::vector<Collective> one_by_one(const MultiCollective& p, const Type& to) {
  if (p.p == Op::allpermute) return {{p.p, 0, 0, "", to}};
  std::vector<Collective> out;
  for (const Name& x : p.x) {
    const Collective step = {p.p, p.i, p.j, p.p == Op::dynslice ? x : "", {}};
    out.insert(p.p == Op::dynslice ? out.begin() : out.end(), step);
  }
  if (p.p == Op::alltoall && p.x.size() > 1) out.push_back({Op::allpermute, 0, 0, "", to});
  return out;
}

/// A sequence over prime axes, one at a time: what Theorem 4.8 is about.
struct PrimeRun {
  Mesh H;
  Type tau;
  std::vector<Collective> p;
};

/// The run over the prime factors of the axes. Its steps must apply.
inline PrimeRun prime_run(const Run& run, const Sequence& s) {
  const FactoredMesh mesh = factor(run.mesh->H, into_primes(run.mesh->H)).value();
  PrimeRun out = {mesh.H, factor(mesh, run.tau).value(), {}};
  for (Index k = 0; k < run.p.size(); ++k) {
    MultiCollective p = with_axes(run.p[k], s.sigma[k]);
    p.x = factor(mesh, Type{{1, p.x, 1}}).value().front().xs;
    const auto steps = one_by_one(p, factor(mesh, s.sigma[k + 1]).value());
    out.p.insert(out.p.end(), steps.begin(), steps.end());
  }
  return out;
}

/// A rewriting may double an alltoall, so sequences can become long.
struct TooLong {
  Limit limit;
};

inline void print_rewriting(std::ostream& out, const PrimeRun& run) {
  Size steps = 0, all = 0;
  const Index each = room(run.H, rank(run.tau));
  const auto limited = [&](const Sizes& localsizes) {  // of all states, one more than steps
    steps += static_cast<Size>(localsizes.size() - 1);
    all += static_cast<Size>(localsizes.size() * each);
    if (steps > steps_limit.most) throw TooLong{steps_limit};
    if (all > rewriting_limit.most) throw TooLong{rewriting_limit};
    return measure(localsizes);
  };
  const auto rewriting = spec::normalize(run.H, run.tau, run.p, first, lemma_4, limited).value();
  const auto line = [&](const std::vector<Collective>& p, const Measure& m,
                        const std::string& why) {
    out << to_text(run.tau);
    for (const Collective& step : p) out << " " << to_text(step);
    out << "  # measure {";
    for (Index k = 0; k < m.size(); ++k) out << (k > 0 ? "," : "") << m[k];
    out << "}" << why << "\n";
  };
  out << "mesh " << (run.H.empty() ? "x:1" : to_text(run.H)) << "\n";
  line(run.p, rewriting.measure, "");
  for (const auto& [lemma, at, p, after] : rewriting.rewrites) {
    line(p, after, ", " + lemma + " at step " + std::to_string(at));
  }
}

/// words: normalize --mesh MESH TYPE COLLECTIVE..
inline int normalize(const Words& words, std::ostream& out) {
  const auto runs = read_queries(questions(words), read_run);
  return answer_runs(runs, out, "\n", [](const Run& run, const Walk& w, std::ostream& text) {
    text << w.wrong;
    if (!w.wrong.empty()) return int{no};
    if (static_cast<Size>(run.p.size()) > steps_limit.most) return beyond(steps_limit, text);
    for (const Axis& alpha : run.mesh->H) {
      if (alpha.k > axis_limit.most) return beyond(axis_limit, text);
    }
    const Mesh primes = factor(run.mesh->H, into_primes(run.mesh->H)).value().H;
    const auto all = static_cast<Size>((run.p.size() + 1) * room(primes, rank(run.tau)));
    if (all > rewriting_limit.most) return beyond(rewriting_limit, text);
    try {
      print_rewriting(text, prime_run(run, w.s));
      return int{yes};
    } catch (const TooLong& what) {
      return beyond(what.limit, text);
    }
  });
}

}  // namespace spec::oracle
