// Whole sequences of typed collectives, src against spec: types, heights, costs, normal form. And
// steps of which exactly one premise is broken: both sides refuse, src by the name of the rule.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "spec/paper/def4_sequences.h"
#include "support/bridge.h"
#include "support/samples.h"
#include "support/sequence_generators.h"

namespace sequence_vs_spec_property_test {
namespace {

using retile::DistType;
using retile::Size;
using support::NearlyTyped;
using support::Premise;
using support::TypedSequence;

// ---- Well-typed sequences

/// Sec. 7.1 step by step; nothing when a step has no rule.
using Rules = std::function<std::optional<spec::Type>(
    const spec::Mesh&, const spec::MultiCollective&, const spec::Type&)>;
std::optional<spec::Type> the_rules(const spec::Mesh& H, const spec::MultiCollective& p,
                                    const spec::Type& tau) {
  return spec::apply(H, p, tau);
}

/// The sequence as spec makes it from the first type and the collectives alone.
std::optional<spec::Sequence> as_spec(const TypedSequence& sequence, const Rules& rules) {
  const spec::Mesh H = support::to_spec(sequence.mesh);
  spec::Sequence s = {{support::to_spec(sequence.from)}, {}};
  const std::vector<DistType> types = support::types_of(sequence);
  for (std::size_t k = 0; k < sequence.steps.size(); ++k) {
    const auto p = support::to_spec(sequence.mesh, types[k], sequence.steps[k]);
    const auto next = rules(H, p, s.sigma.back());
    if (!next) return std::nullopt;
    s.sigma.push_back(*next);
    s.p.push_back(p.p);
  }
  return s;
}

/// Defs. 4.4, 4.5 and Fig. 11 on src's types alone, written apart from spec.
struct Facts {
  Size height = 0;
  Size cost = 0;
  bool normal_form = true;
  bool bounded = true;
};

Facts facts_of(const TypedSequence& sequence) {
  const std::vector<DistType> types = support::types_of(sequence);
  Facts out;
  int phase = 0;
  for (std::size_t k = 0; k < types.size(); ++k) {
    out.height = std::max(out.height, types[k].localsize());
    if (k == 0) continue;
    const auto& step = sequence.steps[k - 1];
    const bool slices = std::holds_alternative<retile::DynsliceRule>(step);
    const bool gathers = std::holds_alternative<retile::AllgatherRule>(step);
    out.cost += slices ? 0 : types[gathers ? k : k - 1].localsize();
    const int now = slices ? 0 : gathers ? 2 : 1;
    out.normal_form = out.normal_form && now >= phase;
    phase = now;
  }
  out.bounded = out.height <= std::max(types.front().localsize(), types.back().localsize());
  return out;
}

/// What the two sides say differently; empty when nothing.
std::string difference(const TypedSequence& sequence, const Rules& rules = the_rules) {
  const auto s = as_spec(sequence, rules);
  if (!s) return "spec has no such sequence";
  const std::vector<DistType> types = support::types_of(sequence);
  for (std::size_t k = 0; k < types.size(); ++k) {
    if (support::to_spec(types[k]) != s->sigma[k]) return "type " + std::to_string(k);
  }
  const Facts want = {spec::height(*s), spec::cost(*s).value_or(-1), spec::is_normal_form(s->p),
                      spec::is_memory_constrained(*s)};
  const Facts got = facts_of(sequence);
  if (got.height != want.height) return "height";
  if (got.cost != want.cost) return "cost";
  if (got.normal_form != want.normal_form) return "normal form";
  return got.bounded == want.bounded ? "" : "eq. (4)";
}

RC_GTEST_PROP(SequenceVsSpec, types_heights_costs_and_forms_agree, (const TypedSequence& drawn)) {
  const Facts facts = facts_of(drawn);
  support::tag(support::hard_cases(drawn));
  RC_CLASSIFY(facts.normal_form && drawn.steps.size() > 1, "a normal form of several steps");
  RC_CLASSIFY(!facts.bounded, "above the bound (4)");
  const std::string differs = difference(drawn);
  if (!differs.empty()) RC_FAIL(differs);
}

RC_GTEST_PROP(SequenceVsSpec, single_axis_sequences_are_sequences_of_def_4_4,
              (const TypedSequence& drawn)) {
  const std::vector<DistType> types = support::types_of(drawn);
  std::vector<spec::Collective> p;
  for (std::size_t k = 0; k < drawn.steps.size(); ++k) {
    const auto single =
        support::single_axis(support::to_spec(drawn.mesh, types[k], drawn.steps[k]));
    if (!single) break;
    p.push_back(*single);
  }
  RC_CLASSIFY(p.size() > 1, "several steps");
  const auto s = spec::sequence(support::to_spec(drawn.mesh), support::to_spec(drawn.from), p);
  RC_ASSERT(s.has_value());
  for (std::size_t k = 0; k < s->sigma.size(); ++k) {
    RC_ASSERT(s->sigma[k] == support::to_spec(types[k]));
  }
}

TEST(SequenceVsSpec, ten_thousand_sequences_agree) {
  constexpr int drawn_sequences = support::samples(10'000);
  const auto choose = support::seeded_choices(1);
  std::size_t steps = 0;
  std::size_t normal_forms = 0;
  std::size_t unbounded = 0;
  for (int n = 0; n < drawn_sequences; ++n) {
    const TypedSequence drawn = support::choose_sequence(choose);
    std::ostringstream text;
    showValue(drawn, text);
    ASSERT_EQ(difference(drawn), "") << text.str();
    const Facts facts = facts_of(drawn);
    steps += drawn.steps.size();
    normal_forms += facts.normal_form ? 1 : 0;
    unbounded += facts.bounded ? 0 : 1;
  }
  std::cout << drawn_sequences << " sequences of " << steps << " steps, " << normal_forms
            << " in normal form, " << unbounded << " above the bound (4)\n";
  EXPECT_GT(steps, support::samples(20'000U));
  EXPECT_GT(normal_forms, support::samples(1'000U));
  EXPECT_GT(unbounded, support::samples(500U));
}

/// Control: rules that are a little wrong make other sequences, and that is seen.
TEST(SequenceVsSpecControl, sequences_of_wrong_rules_are_seen) {
  const std::vector<std::pair<std::string, Rules>> wrong = {
      {"an alltoall that puts axes at the major end",
       [](const spec::Mesh& H, const spec::MultiCollective& p, const spec::Type& tau) {
         auto out = spec::apply(H, p, tau);
         if (out && p.p == spec::Op::alltoall) {
           auto& xs = (*out)[p.j].xs;
           std::rotate(xs.begin(), xs.begin() + static_cast<std::ptrdiff_t>(p.x.size()), xs.end());
         }
         return out;
       }},
      {"an allgather that leaves the tile as it is",
       [](const spec::Mesh& H, const spec::MultiCollective& p, const spec::Type& tau) {
         auto out = spec::apply(H, p, tau);
         if (out && p.p == spec::Op::allgather) (*out)[p.i].c = tau[p.i].c;
         return out;
       }},
      {"a dynslice of one axis only",
       [](const spec::Mesh& H, spec::MultiCollective p, const spec::Type& tau) {
         if (p.p == spec::Op::dynslice) p.x.resize(std::min<std::size_t>(p.x.size(), 1));
         return spec::apply(H, p, tau);
       }}};
  for (const auto& [name, rules] : wrong) {
    const auto choose = support::seeded_choices(2);
    std::size_t seen = 0;
    for (int n = 0; n < 1000; ++n) {
      if (!difference(support::choose_sequence(choose), rules).empty()) ++seen;
    }
    std::cout << name << ": seen in " << seen << " of 1000 sequences\n";
    EXPECT_GT(seen, 20U) << name;
  }
}

// ---- Nearly well-typed steps

bool spec_allows(const support::TypedStep& step) {
  return spec::apply(support::to_spec(step.mesh),
                     support::to_spec(step.mesh, step.from, step.collective),
                     support::to_spec(step.from))
      .has_value();
}

/// What is wrong about the twins: the good one must be allowed by both, the bad one by none, and
/// src must say which premise it was.
std::string fault(const NearlyTyped& drawn) {
  const auto allowed = [](const support::TypedStep& step) {
    return retile::apply(step.mesh, step.collective, step.from);
  };
  if (const auto good = allowed(drawn.good); !good) return "good twin: " + render(good.error());
  if (!spec_allows(drawn.good)) return "spec refuses the good twin";
  const auto bad = allowed(drawn.bad);
  if (bad) return "src allows the bad twin";
  if (spec_allows(drawn.bad)) return "spec allows the bad twin";
  const support::PremiseFacts& want = support::facts(drawn.broken);
  if (bad.error().code != want.code || bad.error().rule != want.rule) {
    return "src names another premise: " + render(bad.error());
  }
  return "";
}

RC_GTEST_PROP(NearlyTypedVsSpec, one_broken_premise_is_refused_by_its_rule,
              (const NearlyTyped& drawn)) {
  RC_TAG(std::string(support::facts(drawn.broken).name));
  const std::string what = fault(drawn);
  if (!what.empty()) RC_FAIL(what);
}

TEST(NearlyTypedVsSpec, every_premise_is_needed) {
  for (std::size_t p = 0; p < support::premises.size(); ++p) {
    const auto choose = support::seeded_choices(p);
    for (int n = 0; n < 300; ++n) {
      const NearlyTyped drawn = support::choose_nearly_typed(choose, static_cast<Premise>(p));
      std::ostringstream text;
      showValue(drawn, text);
      ASSERT_EQ(fault(drawn), "") << text.str();
    }
  }
  std::cout << support::premises.size() << " premises, each broken alone 300 times\n";
}

/// Control: twins that are both right, or whose broken premise goes by another name, are faults.
TEST(NearlyTypedVsSpecControl, a_step_with_nothing_broken_or_something_else_is_seen) {
  const auto choose = support::seeded_choices(3);
  for (std::size_t p = 0; p < support::premises.size(); ++p) {
    const NearlyTyped drawn = support::choose_nearly_typed(choose, static_cast<Premise>(p));
    NearlyTyped whole = drawn;
    whole.bad = whole.good;
    EXPECT_EQ(fault(whole), "src allows the bad twin");
    NearlyTyped other = drawn;
    other.broken =
        p < 3 ? Premise::alltoall_divides : Premise::gather_dimension;  // of another rule
    EXPECT_NE(fault(other), "") << support::facts(drawn.broken).name;
  }
}

}  // namespace
}  // namespace sequence_vs_spec_property_test
