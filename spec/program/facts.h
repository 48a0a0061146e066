/// Facts: what a proof for all devices says of a Program, in lines that stand with it.
///
///   fact groups [k,m,n]     step k has m groups of n devices, and every device is in one of them
///   fact bijection [k]      step k gives the tile of every device to one device
///   fact inside [k]         step k reads no element outside a tile
///   fact map [k,c_0,..]     after step k the tiles have localtype c, and lie as the step claims
///   fact end [c_0,..]       in the end the tiles have localtype c, and lie as `to` says
///   fact bound [h,b]        the largest tile has h elements; h is at most b, the larger end (4)
///   fact cost [C]           the steps cost C (Fig. 11)
///
/// A solver has said so without looking at devices. Here every device is looked at: a Program that
/// `check` calls right, and whose tiles keep the bound, has the facts below and no others.
#pragma once

#include "check.h"

namespace spec {

using Fact = std::pair<Name, Sizes>;

/// The facts of a Program that is right, in order.
inline std::vector<Fact> facts(const Program& program, const Verdict& verdict) {
  std::vector<Fact> out;
  Sizes c = program.from.tile;
  for (Size k = 0; k < verdict.steps; ++k) {
    const Step& step = program.steps[static_cast<Index>(k)];
    if (step.p == Op::allpermute && !step.transfers) {
      out.push_back({"bijection", {k}});
    } else if (!step.parts && !step.transfers) {
      out.push_back({"groups", {k, row_count(step.table), pieces(step)}});
    }
    out.push_back({"inside", {k}});
    c = *joined(step, *piece(step, c));
    if (step.map || step.at) {
      out.push_back({"map", c});
      out.back().second.insert(out.back().second.begin(), k);
    }
  }
  out.push_back({"end", c});
  out.push_back({"bound", {verdict.height, verdict.bound}});
  out.push_back({"cost", {verdict.cost}});
  return out;
}

/// The first line that is no fact, or stands where another has to; nullopt when all are there.
inline std::optional<Index> no_fact(const Program& program, const Verdict& verdict,
                                    const std::vector<Fact>& lines) {
  const std::vector<Fact> known = facts(program, verdict);
  if (verdict.within_bound && lines == known) return std::nullopt;
  const auto at = std::mismatch(lines.begin(), lines.end(), known.begin(), known.end());
  return static_cast<Index>(at.first - lines.begin());
}

}  // namespace spec
