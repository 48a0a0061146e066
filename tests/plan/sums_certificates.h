// Certificates of plans between addends: true ones, which the oracle's code must accept, and forged ones of
// bounds above the optimum, none of which it may.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "retile/lower/lower.h"
#include "retile/plan/certificate.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/text.h"
#include "spec/program/certify_text.h"
#include "spec/program/check.h"

namespace sums_certificates {

using retile::Plan;
using retile::Size;

/// What stands in `addends` lines.
using Lines = std::map<spec::Sizes, spec::Size>;

/// Why the lines prove nothing; empty where they do.
inline std::string refusal(const spec::Program& program, Size bound, const Lines& lines) {
  try {
    spec::SumsCertifier(program, bound, lines).run();
    return "";
  } catch (const spec::Unproved& why) {
    return why.reason;
  }
}

inline std::string text_of(const Plan& plan) {
  return certificate_text(retile::lower(plan), to_text(retile::certify(plan).value()));
}

class Attack {
 public:
  /// \param optimum  what brute force found
  void on(const Plan& plan, Size optimum) {
    const std::string text = text_of(plan);
    spec::CertificateReader reader(text);
    const spec::Program program = reader.program();
    EXPECT_TRUE(spec::check(program).right) << text;
    EXPECT_EQ(refusal(program, reader.lines.C, reader.sums), "") << text;
    EXPECT_EQ(reader.lines.C, plan.lower_bound) << text;
    ++accepted_;
    const Size tile = plan.problem.to.tile_size();
    for (const Size bound : {optimum + 1, optimum + tile, 2 * optimum + 1, tile}) {
      if (bound > optimum) forge(plan, program, bound);
    }
  }

  [[nodiscard]] Size accepted() const { return accepted_; }
  [[nodiscard]] Size forged() const { return forged_; }

 private:
  void forge(const Plan& plan, const spec::Program& program, Size bound) {
    Plan boasts = plan;
    boasts.lower_bound = bound;
    Lines lines;
    const auto certificate = retile::certify(boasts);
    for (const auto& line : certificate.value().of_addends) {
      spec::Sizes state(line.tile.begin(), line.tile.end());
      state.push_back(line.addends);
      lines[state] = line.cost;
    }
    const spec::Sizes source = state_of(plan.problem.from);
    const spec::Sizes target = state_of(plan.problem.to);
    refuse(program, bound, lines);
    refuse(program, bound, {});
    refuse(program, bound, {{target, 0}});
    Lines unlisted = lines;
    unlisted.erase(source);
    refuse(program, bound, unlisted);
    Lines said = lines;
    said[source] = bound;
    refuse(program, bound, said);
    Lines raised = lines;
    const Size gap = lines.count(source) != 0 ? bound - lines.at(source) : 1;
    for (auto& [state, cost] : raised) cost = std::min(bound, cost + gap);
    refuse(program, bound, raised);
    raised[target] = 0;
    refuse(program, bound, raised);
    for (int k = 0; k < 3; ++k) {
      Lines some = k == 0 ? unlisted : said;
      for (int changes = 0; changes < 2 && !some.empty(); ++changes) {
        const auto at =
            std::next(some.begin(), static_cast<std::ptrdiff_t>(random_() % some.size()));
        if (at->first == source || at->first == target) continue;
        if (random_() % 2 == 0) {
          some.erase(at);
        } else {
          at->second = std::min(bound, at->second + gap);
        }
      }
      refuse(program, bound, some);
    }
  }
  void refuse(const spec::Program& program, Size bound, const Lines& lines) {
    ++forged_;
    EXPECT_NE(refusal(program, bound, lines), "") << "a bound of " << bound << " is certified";
  }
  static spec::Sizes state_of(const retile::Layout& end) {
    spec::Sizes out(end.tile().begin(), end.tile().end());
    out.push_back(end.addend_count());
    return out;
  }

  std::mt19937 random_{1};
  Size accepted_ = 0;
  Size forged_ = 0;
};

}  // namespace sums_certificates
