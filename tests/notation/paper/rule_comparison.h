// What is compared between src and spec about types, and copies of the rules with one premise
// dropped that the comparison must tell apart from the rules.
#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "retile/core/mesh.h"
#include "retile/notation/paper/dist_type.h"
#include "retile/notation/paper/notation.h"
#include "retile/notation/paper/typing.h"
#include "support/bridge.h"
#include "support/generators.h"

namespace comparison {

// ---- The typing rules

/// The other side: the type after the step, or nothing when no rule applies.
using Oracle = std::function<std::optional<spec::Type>(
    const spec::Mesh&, const spec::MultiCollective&, const spec::Type&)>;

/// Sec. 7.1 as spec has it.
inline std::optional<spec::Type> multi_axes_rules(const spec::Mesh& H,
                                                  const spec::MultiCollective& p,
                                                  const spec::Type& tau) {
  return spec::apply(H, p, tau);
}

struct Outcome {
  bool applies = false;    ///< according to src
  std::string difference;  ///< empty when both sides agree
};

inline std::string text(const std::optional<spec::Type>& tau) {
  if (!tau) return "no rule applies";
  std::string out = "[";
  for (const spec::Dim& d : *tau) {
    if (out.size() > 1) out += ", ";
    out += std::to_string(d.c) + "{";
    for (const spec::Name& x : d.xs) out += x + ",";
    out += "}" + std::to_string(d.s);
  }
  return out + "]";
}

/// Asks both sides for the type after the step. Steps over a single axis are also asked of Fig. 8
/// itself.
inline Outcome compare(const retile::Mesh& mesh, const retile::DistType& from,
                       const retile::TypedCollective& collective,
                       const Oracle& oracle = multi_axes_rules) {
  const spec::Mesh H = support::to_spec(mesh);
  const spec::Type tau = support::to_spec(from);
  const spec::MultiCollective p = support::to_spec(mesh, from, collective);
  const auto got = retile::apply(mesh, collective, from);
  const auto got_type = got ? std::optional(support::to_spec(*got)) : std::nullopt;
  Outcome out{got.has_value(), ""};
  const auto differs = [&](const std::optional<spec::Type>& want, const char* name) {
    if (got_type == want || !out.difference.empty()) return;
    out.difference = "--mesh '" + to_text(mesh) + "' '" + to_text(from) + "' " +
                     support::detail::text(collective) + ": src says " + text(got_type) + ", " +
                     name + " says " + text(want);
  };
  differs(oracle(H, p, tau), "the oracle");
  if (const auto single = support::single_axis(p)) differs(spec::apply(H, *single, tau), "Fig. 8");
  return out;
}

// ---- Mutants: the rules of Sec. 7.1 with one premise dropped

struct Mutant {
  std::string name;
  Oracle oracle;
};

/// spec's rules but for one collective.
inline Oracle with(spec::Op op, Oracle rule) {
  return [op, rule = std::move(rule)](const spec::Mesh& H, const spec::MultiCollective& p,
                                      const spec::Type& tau) {
    return p.p == op ? rule(H, p, tau) : multi_axes_rules(H, p, tau);
  };
}

/// The first axes of the dimension that are there, at most as many as x names.
inline spec::Names those_there(const spec::Names& x, const spec::Dim& d) {
  return {d.xs.begin(),
          d.xs.begin() + static_cast<std::ptrdiff_t>(std::min(x.size(), d.xs.size()))};
}

inline spec::Size sizes_of(const spec::Mesh& H, const spec::Names& x) {
  spec::Size n = 1;
  for (const spec::Name& name : x) n *= spec::lookup(H, name).value_or(1);
  return n;
}

inline spec::Names without_first(const spec::Names& xs, std::size_t count) {
  return {xs.begin() + static_cast<std::ptrdiff_t>(count), xs.end()};
}

inline std::vector<Mutant> rule_mutants() {
  using spec::append;
  using spec::Mesh;
  using spec::MultiCollective;
  using spec::Names;
  using spec::Op;
  using spec::Type;
  using Maybe = std::optional<Type>;
  std::vector<Mutant> out;

  // allgather
  const auto gather = [](const Mesh& H, std::size_t i, const Names& x, const Type& tau) {
    Type type = tau;
    type[i] = {tau[i].c * sizes_of(H, x), without_first(tau[i].xs, x.size()), tau[i].s};
    return Maybe(type);
  };
  out.push_back({"T-ALLGATHER without `i < rank`",
                 with(Op::allgather, [](const Mesh& H, MultiCollective p, const Type& tau) {
                   if (!tau.empty()) p.i %= tau.size();
                   p.x.clear();
                   if (!tau.empty() && !tau[p.i].xs.empty()) p.x = {tau[p.i].xs.front()};
                   return spec::apply(H, p, tau);
                 })});
  out.push_back({"T-ALLGATHER without `e_i = c_i{x, xs}s_i`: takes the axes that are there",
                 with(Op::allgather,
                      [gather](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
                        if (p.i >= tau.size() || p.x.empty()) return std::nullopt;
                        return gather(H, p.i, those_there(p.x, tau[p.i]), tau);
                      })});
  out.push_back(
      {"T-ALLGATHER of an empty list",
       with(Op::allgather, [](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
         if (p.i < tau.size() && p.x.empty()) return tau;
         return spec::apply(H, p, tau);
       })});
  out.push_back(
      {"T-ALLGATHER of the major-most axis",
       with(Op::allgather, [](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
         if (p.x.size() != 1 || !spec::apply(H, p, tau)) return spec::apply(H, p, tau);
         Type type = tau;
         type[p.i].c *= sizes_of(H, {tau[p.i].xs.back()});
         type[p.i].xs.pop_back();
         return type;
       })});

  // dynslice
  const auto slice = [](const Mesh& H, const MultiCollective& p, const Type& tau) {
    Type type = tau;
    type[p.i] = {tau[p.i].c / sizes_of(H, p.x), append(p.x, tau[p.i].xs), tau[p.i].s};
    return Maybe(type);
  };
  out.push_back({"T-DYNSLICE without `x not in axes(type)`",
                 with(Op::dynslice,
                      [slice](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
                        const auto n = spec::lookup(H, p.x);
                        if (!n || p.i >= tau.size() || tau[p.i].c % *n != 0) return std::nullopt;
                        return slice(H, p, tau);
                      })});
  out.push_back({"T-DYNSLICE that looks for the axis in its own dimension only",
                 with(Op::dynslice,
                      [slice](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
                        const auto n = spec::lookup(H, p.x);
                        if (!n || p.i >= tau.size() || tau[p.i].c % *n != 0) return std::nullopt;
                        if (!spec::pairwise_distinct(append(p.x, tau[p.i].xs))) return std::nullopt;
                        return slice(H, p, tau);
                      })});
  out.push_back({"T-DYNSLICE without `axes distinct` in the list",
                 with(Op::dynslice,
                      [slice](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
                        const auto n = spec::lookup(H, p.x);
                        if (!n || p.i >= tau.size() || tau[p.i].c % *n != 0) return std::nullopt;
                        for (const spec::Name& x : p.x) {
                          if (!spec::pairwise_distinct(spec::cons(x, axes(tau))))
                            return std::nullopt;
                        }
                        return slice(H, p, tau);
                      })});
  out.push_back({"T-DYNSLICE without `c mod n = 0`",
                 with(Op::dynslice,
                      [slice](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
                        if (!spec::lookup(H, p.x) || p.i >= tau.size()) return std::nullopt;
                        if (!spec::pairwise_distinct(append(p.x, axes(tau)))) return std::nullopt;
                        return slice(H, p, tau);
                      })});
  out.push_back({"T-DYNSLICE without `x : n in H`",
                 with(Op::dynslice,
                      [slice](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
                        if (p.x.empty() || p.i >= tau.size() || tau[p.i].c % sizes_of(H, p.x) != 0)
                          return std::nullopt;
                        if (!spec::pairwise_distinct(append(p.x, axes(tau)))) return std::nullopt;
                        return slice(H, p, tau);
                      })});
  out.push_back(
      {"T-DYNSLICE at the major end",
       with(Op::dynslice, [](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
         auto type = spec::apply(H, p, tau);
         if (type) (*type)[p.i].xs = append(tau[p.i].xs, p.x);
         return type;
       })});

  // alltoall
  const auto move = [](const Mesh& H, const MultiCollective& p, const Names& x, const Type& tau) {
    const spec::Size n = sizes_of(H, x);
    Type type = tau;
    type[p.i] = {type[p.i].c * n, without_first(type[p.i].xs, x.size()), type[p.i].s};
    type[p.j] = {type[p.j].c / n, append(x, type[p.j].xs), type[p.j].s};
    return Maybe(type);
  };
  out.push_back(
      {"T-ALLTOALL without `i != j` (as printed, E4)",
       with(Op::alltoall, [](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
         const auto n = spec::lookup(H, p.x);
         if (!n || p.i >= tau.size() || p.j >= tau.size()) return std::nullopt;
         const auto rest = spec::after(p.x, tau[p.i].xs);
         if (!rest || tau[p.j].c % *n != 0) return std::nullopt;
         Type type = tau;  // both updates read the type before the step, the later one wins
         type[p.i] = {tau[p.i].c * *n, *rest, tau[p.i].s};
         type[p.j] = {tau[p.j].c / *n, append(p.x, tau[p.j].xs), tau[p.j].s};
         return type;
       })});
  out.push_back({"T-ALLTOALL without `c_j mod n = 0`",
                 with(Op::alltoall,
                      [move](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
                        if (!spec::lookup(H, p.x) || p.i >= tau.size() || p.j >= tau.size() ||
                            p.i == p.j)
                          return std::nullopt;
                        if (!spec::after(p.x, tau[p.i].xs)) return std::nullopt;
                        return move(H, p, p.x, tau);
                      })});
  out.push_back({"T-ALLTOALL without `e_i = c_i{x, xs}s_i`: takes the axes that are there",
                 with(Op::alltoall,
                      [move](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
                        if (p.x.empty() || p.i >= tau.size() || p.j >= tau.size() || p.i == p.j)
                          return std::nullopt;
                        const Names x = those_there(p.x, tau[p.i]);
                        if (tau[p.j].c % sizes_of(H, x) != 0) return std::nullopt;
                        return move(H, p, x, tau);
                      })});
  out.push_back({"T-ALLTOALL without `j < rank`",
                 with(Op::alltoall, [](const Mesh& H, MultiCollective p, const Type& tau) {
                   if (!tau.empty()) p.j %= tau.size();
                   return spec::apply(H, p, tau);
                 })});
  out.push_back(
      {"T-ALLTOALL that turns the order of the axes around",
       with(Op::alltoall, [](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
         auto type = spec::apply(H, p, tau);
         if (type) {
           Names& xs = (*type)[p.j].xs;
           std::reverse(xs.begin(), xs.begin() + static_cast<std::ptrdiff_t>(p.x.size()));
         }
         return type;
       })});

  // allpermute
  out.push_back(
      {"T-PERMUTE without `globaltype = globaltype'` (as printed, E5)",
       with(Op::allpermute, [](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
         if (!wf_type(H, p.to) || localtype(tau) != localtype(p.to)) return std::nullopt;
         return p.to;
       })});
  out.push_back(
      {"T-PERMUTE without `localtype = localtype'`",
       with(Op::allpermute, [](const Mesh& H, const MultiCollective& p, const Type& tau) -> Maybe {
         if (!wf_type(H, p.to) || globaltype(tau) != globaltype(p.to)) return std::nullopt;
         return p.to;
       })});
  out.push_back(
      {"T-PERMUTE without `H |- t2`",
       with(Op::allpermute, [](const Mesh&, const MultiCollective& p, const Type& tau) -> Maybe {
         return t_permute(tau, p.to) ? Maybe(p.to) : std::nullopt;
       })});
  return out;
}

// ---- Well-formedness

using WfOracle = std::function<bool(const spec::Mesh&, const spec::Type&)>;

struct WfMutant {
  std::string name;
  WfOracle oracle;
};

/// Whether both sides agree that `dims` is, or is not, a type.
inline bool same_wellformedness(const retile::Mesh& mesh, const std::vector<retile::DistDim>& dims,
                                const WfOracle& oracle = spec::wf_type) {
  return retile::DistType::make(mesh, dims).has_value() ==
         oracle(support::to_spec(mesh), support::to_spec(mesh, dims));
}

inline std::vector<WfMutant> wf_mutants() {
  using spec::Dim;
  using spec::Mesh;
  using spec::Type;
  const auto all_dims = [](const Mesh& H, const Type& tau, auto wf_dim) {
    return std::all_of(tau.begin(), tau.end(), [&](const Dim& d) { return wf_dim(H, d); });
  };
  const auto adds_up = [](const Mesh& H, const Dim& d) {
    return d.c >= 1 && d.c * sizes_of(H, d.xs) == d.s;
  };
  const auto known = [](const Mesh& H, const Dim& d) {
    return std::all_of(d.xs.begin(), d.xs.end(),
                       [&](const spec::Name& x) { return spec::lookup(H, x).has_value(); });
  };
  return {
      {"WF-DIM without `x : k in H`",
       [=](const Mesh& H, const Type& tau) {
         return spec::pairwise_distinct(axes(tau)) && all_dims(H, tau, adds_up);
       }},
      {"WF-DIM without `c * prod k = n`",
       [=](const Mesh& H, const Type& tau) {
         return spec::pairwise_distinct(axes(tau)) &&
                all_dims(H, tau, [&](const Mesh& mesh, const Dim& d) {
                  return d.c >= 1 && d.s >= 1 && known(mesh, d);
                });
       }},
      {"WF-DIM without `x_i != x_j`",
       [=](const Mesh& H, const Type& tau) {
         // Disjointness of dimensions stays: each dimension's axes are made distinct before they
         // are put together.
         spec::Names all;
         for (const Dim& d : tau) {
           spec::Names xs = d.xs;
           std::sort(xs.begin(), xs.end());
           xs.erase(std::unique(xs.begin(), xs.end()), xs.end());
           all = spec::append(all, xs);
         }
         return spec::pairwise_distinct(all) &&
                all_dims(H, tau, [&](const Mesh& mesh, const Dim& d) {
                  return known(mesh, d) && adds_up(mesh, d);
                });
       }},
      {"WF-TYPE without `axes(d_i) and axes(d_j) disjoint`",
       [=](const Mesh& H, const Type& tau) {
         return all_dims(H, tau,
                         [](const Mesh& mesh, const Dim& d) { return spec::wf_dim(mesh, d); });
       }},
      {"WF-TYPE of the first dimension only",
       [=](const Mesh& H, const Type& tau) {
         return spec::pairwise_distinct(axes(tau)) && (tau.empty() || spec::wf_dim(H, tau.front()));
       }},
  };
}

// ---- Base offsets

using OffsetOracle =
    std::function<std::optional<spec::BaseOffsetMap>(const spec::Mesh&, const spec::Type&)>;

struct OffsetMutant {
  std::string name;
  OffsetOracle oracle;
};

/// Whether tile_map puts every device's tile where Fig. 7a does.
inline bool same_base_offsets(const retile::Mesh& mesh, const retile::DistType& type,
                              const OffsetOracle& oracle = spec::base_offset_map) {
  return support::to_spec(layout_of(mesh, type)) ==
         oracle(support::to_spec(mesh), support::to_spec(type));
}

inline std::vector<OffsetMutant> offset_mutants() {
  return {
      {"axes read major to minor",
       [](const spec::Mesh& H, spec::Type tau) {
         for (spec::Dim& d : tau) std::reverse(d.xs.begin(), d.xs.end());
         return spec::base_offset_map(H, tau);
       }},
      {"offsets counted in tiles, not in elements",
       [](const spec::Mesh& H, spec::Type tau) {
         for (spec::Dim& d : tau) d.c = 1;
         return spec::base_offset_map(H, tau);
       }},
      {"the first axis of the mesh fastest",
       [](const spec::Mesh& H, const spec::Type& tau) {
         return spec::base_offset_map(spec::Mesh(H.rbegin(), H.rend()), tau);
       }},
  };
}

}  // namespace comparison
