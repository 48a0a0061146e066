/// One problem, and whether what the planner says of it can be true.
///
/// What a plan claims is held against as many of these as can be had: OPT by brute force over tile
/// maps, OPT by counting (S4), and the answer of spec's certifier to a certificate of its lower
/// bound. The first two know nothing of the planner. The third one trusts nothing that it says.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>

#include "plan/optimum/by_counting.h"
#include "plan/optimum/problems.h"
#include "retile/lower/lower.h"
#include "retile/plan/certificate.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "spec/program/certify_text.h"
#include "spec/search/path.h"
#include "support/bridge.h"

namespace optimum {

/// What a plan says.
struct Claim {
  Size cost = 0;
  Size lower_bound = 0;
  Size weak_cost = 0;
  bool optimal = false;
};

inline Claim claim_of(const retile::Plan& plan) {
  return {plan.cost, plan.lower_bound, plan.weak_cost, plan.optimal};
}

/// What is known otherwise.
struct Known {
  std::optional<Size> searched = {};  // OPT by brute force, tiles above the bound (4) included
  std::optional<Size> counted = {};   // OPT by S4
  std::optional<bool> certified =
      {};                             // what the certifier says to a certificate of the lower bound
  std::optional<Size> replayed = {};  // what the Program costs by the oracle's replay; 0: wrong

  [[nodiscard]] std::optional<Size> optimum() const { return searched ? searched : counted; }
};

/// Why the claim cannot be true; empty if it can.
inline std::string contradiction(const Claim& claim, const Known& known) {
  if (claim.optimal != (claim.cost == claim.lower_bound))
    return "optimal is not cost = lower bound";
  if (known.searched && known.counted && *known.searched != *known.counted)
    return "brute force and counting find different optima";
  if (const auto optimum = known.optimum()) {
    if (claim.optimal && claim.cost != *optimum) return "called optimal, but is not";
    if (claim.lower_bound > *optimum) return "a lower bound above the optimum";
    if (claim.weak_cost > *optimum) return "a weak cost above the optimum";
    if (claim.cost < *optimum) return "cheaper than the optimum";
    if (!claim.optimal && claim.cost == *optimum) return "optimal, but not called so";
  }
  if (known.certified && !*known.certified) return "the certificate is refused";
  if (known.replayed && *known.replayed != claim.cost) return "the Program is wrong or costs more";
  return {};
}

/// The tile maps of both ends, by spec's definitions.
struct Ends {
  spec::TileMap from, to;
};

inline Ends ends_of(const Problem& problem) {
  const Mesh& mesh = problem.spelling->mesh;
  const spec::Mesh H = support::to_spec(mesh);
  const auto tiles = [&](const std::string& text) {
    return spec::tiles(H, support::to_spec(retile::parse_type(text, mesh).value())).value();
  };
  return {tiles(problem.spelling->from), tiles(problem.spelling->to)};
}

/// OPT by brute force; nullopt where there is too much to look at.
inline std::optional<Size> search(const Ends& ends, Size limit) {
  spec::TileSearch options;
  options.bounded = false;
  options.limit = limit;
  try {
    spec::TileDistances distances(static_cast<Size>(ends.from.t.size()), ends.from.g, ends.to.c, 0,
                                  options);
    return distances.cost(ends.from, ends.to);
  } catch (const spec::SearchLimit&) {
    return std::nullopt;
  }
}

/// Whether the certifier accepts a certificate of the claimed bound; nullopt where there is none
/// within the limit.
inline std::optional<bool> certify(const retile::Plan& plan, const Claim& claim, Size limit) {
  auto certificate = retile::certify(plan, {.search_limit = limit});
  if (!certificate) return std::nullopt;
  certificate->lower_bound = claim.lower_bound;
  retile::Program ends;  // the certifier looks at no step
  ends.devices = plan.problem.from.devices();
  ends.from = plan.problem.from;
  ends.to = plan.problem.to;
  const std::string text = to_text(ends) + to_text(*certificate);
  spec::CertificateReader reader(text);
  const auto programs = reader.programs();
  try {
    spec::Certifier(programs.at(0), reader.lines).run();
    return true;
  } catch (const spec::Unproved&) {
    return false;
  }
}

/// What the plan's Program costs when the oracle replays it; 0 where it is wrong.
inline std::optional<Size> replay(const retile::Plan& plan) {
  const std::string text = to_text(retile::lower(plan));
  spec::CertificateReader reader(text);
  const auto programs = reader.programs();
  const spec::Verdict verdict = spec::check(programs.at(0));
  if (!verdict.decided) return std::nullopt;
  return verdict.right && verdict.within_bound ? verdict.cost : 0;
}

}  // namespace optimum
