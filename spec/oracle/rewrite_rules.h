/// The rules of retile-oracle rewrite, with the words that each needs.
#pragma once

#include "../programs/partir_judge.h"
#include "../programs/partir_spmd_text.h"
#include "check.h"

namespace spec::oracle {

/// What a rule is told beside the place.
struct RuleWords {
  Index d = 0;
  Name r;
  Size w = 0;
};

/// A rule of terms of PartIR:SPMD.
using TermRule = std::optional<partir::Term> (*)(const partir::TermGamma&, const partir::Term&);

/// A rule of the talk. `proofs` names its obligations in docs/ledger/proofs.md, for all shapes; those of
/// terms have none.
struct RuleRow {
  const char *name, *rule, *needs, *words, *proofs;
  partir::Rule (*made)(const RuleWords&);
  TermRule of_terms = nullptr;  // in the place of `made`, where a text has a mesh
};

/// Of expressions, where a rule is one of terms.
inline partir::Rule no_rule(const RuleWords&) {
  return [](const partir::Scope&, const partir::Expression&) -> std::optional<partir::Expression> {
    return std::nullopt;
  };
}

inline const std::vector<RuleRow>& rules() {
  using partir::Expression;
  using partir::Rule;
  using partir::Scope;
  static const std::vector<RuleRow> all = {
      {"matmul-tile-0", "matmul x y <~~> tile 0 (\\r:range<n,w> -> matmul (slice 0 x[r]) y)",
       "x has n rows, and no r is in it", "--range r:w", "PartIR tile",
       [](const RuleWords& it) -> Rule {
         return [=](const Scope& scope, const Expression& e) {
           return matmul_tile_0(scope, e, it.r, it.w);
         };
       }},
      {"matmul-tile-1", "matmul x y <~~> tile 1 (\\r:range<n,w> -> matmul x (slice 1 y[r]))",
       "y has n columns, and no r is in it", "--range r:w", "PartIR tile",
       [](const RuleWords& it) -> Rule {
         return [=](const Scope& scope, const Expression& e) {
           return matmul_tile_1(scope, e, it.r, it.w);
         };
       }},
      {"matmul-sum", "matmul x y <~~> sum (\\r:range<n,w> -> matmul (slice 1 x[r]) (slice 0 y[r]))",
       "x has n columns, and no r is in it", "--range r:w", "PartIR sum",
       [](const RuleWords& it) -> Rule {
         return [=](const Scope& scope, const Expression& e) {
           return matmul_sum(scope, e, it.r, it.w);
         };
       }},
      {"dumb-tiling", "x <~~> tile d (\\r:range<n,w> -> slice d x[r])",
       "x has n in dimension d, and no r is in it", "--dim d --range r:w", "PartIR tile",
       [](const RuleWords& it) -> Rule {
         return [=](const Scope& scope, const Expression& e) {
           return dumb_tiling(scope, e, it.d, it.r, it.w);
         };
       }},
      {"backwards", "the four rules above from right to left", "what they need", "",
       "PartIR tile, PartIR sum",
       [](const RuleWords&) -> Rule {
         return [](const Scope& scope, const Expression& e) { return partir::backwards(scope, e); };
       }},
      {"fuse", "slice d (tile d (\\r:range<n,w> -> e))[s] ~~> e{s/r}",
       "s : range<n,w>, and e binds no s", "", "PartIR fuse",
       [](const RuleWords&) -> Rule {
         return [](const Scope& scope, const Expression& e) { return partir::fuse(scope, e); };
       }},
      {"push-slice", "slice 0 (matmul x y)[r] ~~> matmul (slice 0 x[r]) y, and slice 1 of it to y",
       "nothing", "", "PartIR push",
       [](const RuleWords&) -> Rule {
         return [](const Scope&, const Expression& e) { return partir::push_slice(e); };
       }},
      {"pull-tile-0",
       "matmul (tile 0 (\\r:range<n,w> -> e)) y ~~> tile 0 (\\r:range<n,w> -> matmul e y)",
       "y does not mention r", "", "PartIR pull",
       [](const RuleWords&) -> Rule {
         return [](const Scope&, const Expression& e) { return partir::pull_tile_0(e); };
       }},
      {"pull-tile-1",
       "matmul x (tile 1 (\\r:range<n,w> -> e)) ~~> tile 1 (\\r:range<n,w> -> matmul x e)",
       "x does not mention r", "", "PartIR pull",
       [](const RuleWords&) -> Rule {
         return [](const Scope&, const Expression& e) { return partir::pull_tile_1(e); };
       }},
      {"fuse-undistribute", "undistribute (distribute T x) ~~> x", "nothing", "", "", no_rule,
       partir::fuse_undistribute},
      {"fuse-distribute", "distribute T (undistribute x) ~~> x", "x is of the type T", "", "",
       no_rule, partir::fuse_distribute},
      {"fuse-redistribute", "distribute T (undistribute x) ~~> redistribute T x",
       "x has the global type of T", "", "", no_rule, partir::fuse_redistribute}};
  return all;
}

inline void print_rules(std::ostream& out) {
  for (const RuleRow& row : rules()) {
    out << row.name << (*row.words == '\0' ? "" : " ") << row.words << "\n  " << row.rule
        << "\n  needs: " << row.needs << "\n";
    if (*row.proofs != '\0') out << "  for all shapes: " << row.proofs << "\n";
  }
}

}  // namespace spec::oracle
