// Comparisons about plans: least costs, bounds, what is called optimal, certificates.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "house/campaign/shelf.h"
#include "house/campaign/tally.h"
#include "retile/lower/lower.h"
#include "retile/plan/certificate.h"
#include "retile/program/forms/text.h"
#include "spec/program/certify_text.h"
#include "spec/search/search.h"
#include "support/program_bridge.h"

namespace campaign {

inline constexpr std::array<Kind, 5> plan_kinds = {Kind::weak, Kind::opt, Kind::bound,
                                                   Kind::optimal, Kind::certificate};

/// W. One case is one pair of localtypes, whatever the layouts are.
inline void compare_weak_cost(Tally& tally, const Planned& planned) {
  const retile::Problem& problem = planned.problem();
  if (tally.has_seen(Kind::weak, planned.weak_hash)) return;
  // An incomplete plan says that its weak cost is only the least found.
  if (!planned.plan.complete) return tally.leave_open(Kind::weak);
  const auto want = spec::cheapest_weak(problem.from.devices(), problem.from.global(),
                                        problem.from.tile(), problem.to.tile());
  const retile::Size got = planned.plan.weak_cost + (tally.falsifies(Kind::weak) ? 1 : 0);
  if (!want || want->cost != got) {
    return tally.differ(Kind::weak, planned.text() + ": src says " + std::to_string(got) +
                                        ", spec says " +
                                        (want ? std::to_string(want->cost) : "no sequence"));
  }
  tally.accept(Kind::weak, {planned.weak_hash, planned.strata, got == 0});
}

/// The cost of a plan that is called optimal is OPT; of every other it is no less.
inline void compare_cost(Tally& tally, const Planned& planned, const Optimum::Answer& want,
                         const Case& what) {
  const retile::Size got = planned.plan.cost + (tally.falsifies(Kind::opt) ? 1 : 0);
  const bool right = planned.plan.optimal ? got == want.cost : got >= want.cost;
  if (!right) {
    return tally.differ(Kind::opt, planned.text() + ": src plans " + std::to_string(got) +
                                       ", the optimum is " + std::to_string(want.cost));
  }
  planned.plan.optimal ? tally.accept(Kind::opt, what) : tally.leave_open(Kind::opt);
}

/// No lower bound is above OPT.
inline void compare_bound(Tally& tally, const Planned& planned, const Optimum::Answer& want,
                          const Case& what) {
  const retile::Size got = tally.falsifies(Kind::bound) ? want.cost + 1 : planned.plan.lower_bound;
  if (got <= want.cost) return tally.accept(Kind::bound, what);
  tally.differ(Kind::bound, planned.text() + ": src says at least " + std::to_string(got) +
                                ", the optimum is " + std::to_string(want.cost));
}

/// The Program of a plan that is called optimal is right, and costs OPT when spec replays it.
inline void compare_claim(Tally& tally, const Planned& planned, const Optimum::Answer& want,
                          const Case& what) {
  if (!planned.plan.optimal) return tally.leave_open(Kind::optimal);
  const spec::Verdict verdict = spec::check(support::to_spec(retile::lower(planned.plan)));
  if (!verdict.decided) return tally.leave_open(Kind::optimal);
  const spec::Size cost = verdict.cost + (tally.falsifies(Kind::optimal) ? 1 : 0);
  if (verdict.right && verdict.within_bound && cost == want.cost) {
    return tally.accept(Kind::optimal, what);
  }
  tally.differ(Kind::optimal, planned.text() + ": called optimal; the Program " +
                                  (verdict.right ? "is right" : "is wrong") + " and costs " +
                                  std::to_string(cost) + ", the optimum is " +
                                  std::to_string(want.cost));
}

/// What spec says of a Program's text with certificate lines: nothing when all is proved.
inline std::optional<std::string> why_unproved(const std::string& text, retile::Size bound) {
  spec::CertificateReader reader(text);
  try {
    const auto programs = reader.programs();
    spec::Certifier(programs.at(0), reader.lines).run();
    if (reader.lines.C == bound) return std::nullopt;
    return "the bound is " + std::to_string(reader.lines.C);
  } catch (const spec::ParseError&) {
    return "the text cannot be read";
  } catch (const spec::Unproved& why) {
    return why.reason;
  }
}

/// What src writes as a proof spec accepts as one of the same bound.
inline void compare_certificate(Tally& tally, const Planned& planned) {
  auto certificate = retile::certify(planned.plan);
  if (!certificate) return tally.leave_open(Kind::certificate);
  if (tally.falsifies(Kind::certificate)) certificate->lower_bound += 1;
  const std::string text = to_text(retile::lower(planned.plan)) + to_text(*certificate);
  try {
    if (const auto why = why_unproved(text, planned.plan.lower_bound)) {
      return tally.differ(Kind::certificate, planned.text() + ": " + *why + "\n" + text);
    }
  } catch (const spec::TooLarge&) {
    return tally.leave_open(Kind::certificate);
  }
  tally.accept(Kind::certificate, {planned.hash, planned.strata, planned.trivial});
}

/// Everything about one pair that is still asked for.
inline void compare_plan(Tally& tally, Shelf& shelf, const Planned& planned, std::size_t a,
                         std::size_t b) {
  const auto asked = [&](Kind kind) {
    return tally.wants(kind, planned.strata) && !tally.has_seen(kind, planned.hash);
  };
  if (tally.wants(Kind::weak, planned.strata)) compare_weak_cost(tally, planned);
  if (asked(Kind::certificate)) compare_certificate(tally, planned);
  if (!asked(Kind::opt) && !asked(Kind::bound) && !asked(Kind::optimal)) return;
  const auto want = shelf.optimum(a, b);
  const Strata counted = want && want->counted ? only(Stratum::counted) : 0;
  const Case what = {planned.hash, planned.strata | counted, planned.trivial};
  for (const auto& [kind, compare] : {std::pair(Kind::opt, &compare_cost),
                                      {Kind::bound, &compare_bound},
                                      {Kind::optimal, &compare_claim}}) {
    if (!asked(kind)) continue;
    want ? compare(tally, planned, *want, what) : tally.leave_open(kind);
  }
}

inline void draw_plans(Tally& tally, const Choose& choose) {
  constexpr std::size_t most_types = 40;
  Shelf shelf(choose, choose_wish(choose, tally, plan_kinds), most_types);
  const auto asked = [&](std::uint64_t hash, std::uint64_t weak_hash) {
    return std::any_of(plan_kinds.begin(), plan_kinds.end(), [&](Kind kind) {
      return tally.wants(kind) && !tally.has_seen(kind, kind == Kind::weak ? weak_hash : hash);
    });
  };
  shelf.for_each_pair(tally, asked, [&](const Planned& planned, std::size_t a, std::size_t b) {
    compare_plan(tally, shelf, planned, a, b);
  });
}

}  // namespace campaign
