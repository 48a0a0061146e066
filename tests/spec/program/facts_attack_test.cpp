// Facts under attack: Programs of a brute-force search, some over the bound, with facts that are
// read off the search and not off the Program. Just these must be accepted, and no others.
#include <gtest/gtest.h>

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "certificate_writer.h"
#include "spec/program/facts.h"
#include "spec/program/text.h"
#include "spec/search/program.h"

namespace spec::facts_attack_test {
namespace {

using namespace certificates;

using Facts = std::vector<Fact>;

/// A Program, what is true of it, and whether it keeps the bound.
struct Known {
  Program program;
  Facts facts;
  bool within_bound = true;
};

/// The text of a step, now and then with a claim on where the tiles lie.
std::string text_of(const TileMap& before, const TileStep& step, bool claims) {
  std::string out = to_text(before, step);
  if (!claims) return out;
  out.pop_back();
  out += " at=[";
  for (const Sizes& t : step.f.t) {
    Sizes offset = t;
    for (Index i = 0; i < t.size(); ++i) offset[i] *= step.f.c[i];
    out += (&t == &step.f.t.front() ? "" : ",") + to_text(offset);
  }
  return out + "]\n";
}

/// The facts of a path, from the tile maps that the search has gone through.
Known known(Dice& dice, const Mesh& H, const Type& tau_1, const Type& tau_2, const TilePath& path) {
  Known out;
  std::string text = to_text(H, tau_1, tau_2, {path.from, {}, 0});
  const Size delta = static_cast<Size>(path.from.t.size());
  const Size bound = std::max(localsize(tau_1), localsize(tau_2));
  Size height = bound, spent = 0;
  const TileMap* f = &path.from;
  for (Size k = 0; k < static_cast<Size>(path.steps.size()); ++k) {
    const TileStep& step = path.steps[static_cast<Index>(k)];
    const bool claims = dice.one_in(2);
    text += text_of(*f, step, claims);
    if (step.p == Op::allpermute) out.facts.push_back({"bijection", {k}});
    if (step.p == Op::allgather || step.p == Op::alltoall) {
      out.facts.push_back({"groups", {k, delta / step.n, step.n}});
    }
    out.facts.push_back({"inside", {k}});
    if (claims) {
      Sizes numbers = {k};
      numbers.insert(numbers.end(), step.f.c.begin(), step.f.c.end());
      out.facts.push_back({"map", numbers});
    }
    const Size before = size_of(f->c), after = size_of(step.f.c);
    spent += step.p == Op::dynslice ? 0 : step.p == Op::allgather ? after : before;
    height = std::max(height, after);
    f = &step.f;
  }
  out.facts.push_back({"end", f->c});
  out.facts.push_back({"bound", {height, bound}});
  out.facts.push_back({"cost", {spent}});
  out.within_bound = height <= bound;
  out.program = ProgramReader(text).programs().front();
  return out;
}

/// Gathers everything, then slices: right, and mostly over the bound (eqs. (2), (3)).
TilePath by_replication(const TileMap& f_1, const TileMap& f_2) {
  TilePath out = {f_1, {}, 0};
  TileMap f = f_1;
  for (Index i = 0; i < f.g.size(); ++i) {
    const Size n = f.g[i] / f.c[i];
    if (n == 1) continue;
    f = *allgather(f, i, n);
    out.steps.push_back({Op::allgather, i, 0, n, f});
  }
  for (Index i = 0; i < f.g.size(); ++i) {
    const Size n = f.c[i] / f_2.c[i];
    if (n == 1) continue;
    Sizes digits;
    for (const Sizes& t : f_2.t) digits.push_back(t[i]);
    f = *dynslice(f, i, n, digits);
    out.steps.push_back({Op::dynslice, i, 0, n, f});
  }
  return out;
}

/// What `retile-oracle certify` says of a Program with these facts.
bool accepts(const Program& program, const Facts& facts) {
  const Verdict verdict = check(program);
  return verdict.right && !no_fact(program, verdict, facts);
}

std::vector<Facts> spoiled(Dice& dice, const Facts& facts) {
  std::vector<Facts> out;
  for (Index k = 0; k < facts.size(); ++k) {
    const auto at = static_cast<std::ptrdiff_t>(k);
    const auto with = [&](auto change) {
      out.push_back(facts);
      change(out.back());
    };
    with([&](Facts& lines) { lines.erase(lines.begin() + at); });
    with([&](Facts& lines) { lines.resize(k); });
    with([&](Facts& lines) { lines.insert(lines.begin() + at, facts[k]); });
    with([&](Facts& lines) { std::swap(lines[k], dice.any(lines)); });
    with([&](Facts& lines) { lines[k].first = dice.any(lines).first; });
    with([&](Facts& lines) { lines[k].second.push_back(1); });
    with([&](Facts& lines) { lines[k].second.pop_back(); });
    for (Index n = 0; n < facts[k].second.size(); ++n) {
      const Size old = facts[k].second[n];
      for (const Size other : {old + 1, old - 1, 2 * old, old / 2}) {
        with([&](Facts& lines) { lines[k].second[n] = other; });
      }
    }
  }
  return out;
}

TEST(FactsUnderAttack, just_the_facts_of_right_Programs_within_the_bound_are_accepted) {
  static const std::vector<Sizes> meshes = {{2}, {3}, {2, 2}, {2, 3}, {4}, {2, 2, 2}, {3, 3}};
  Dice dice(1);
  Size accepted = 0, over = 0, refused = 0, exchanged = 0;
  std::vector<Known> before;
  while (refused < 30000) {
    Mesh H;
    for (const Size k : dice.any(meshes)) H.push_back({std::to_string(H.size()), k});
    for (Axis& alpha : H) alpha.x = "x" + alpha.x;
    Sizes g;
    for (Size r = dice.between(1, 2); r > 0; --r) {
      g.push_back(dice.between(1, 2));
      for (const Axis& alpha : H) g.back() *= dice.below(3) > 0 ? alpha.k : 1;
    }
    const Type tau_1 = draw_type(dice, H, g), tau_2 = draw_type(dice, H, g);
    const TileMap f_1 = *tiles(H, tau_1), f_2 = *tiles(H, tau_2);
    for (const TilePath& path : {*optimum(f_1, f_2), by_replication(f_1, f_2)}) {
      const Known made = known(dice, H, tau_1, tau_2, path);
      EXPECT_TRUE(check(made.program).right);
      EXPECT_EQ(accepts(made.program, made.facts), made.within_bound);
      ++(made.within_bound ? accepted : over);
      for (const Facts& lines : spoiled(dice, made.facts)) {
        if (lines == made.facts) continue;
        EXPECT_FALSE(accepts(made.program, lines));
        ++refused;
      }
      for (const Known& other : before) {
        if (other.facts == made.facts) continue;
        EXPECT_FALSE(accepts(made.program, other.facts));
        ++exchanged;
      }
      // A Program that misses a step is wrong, or another one.
      if (!made.program.steps.empty()) {
        Program shorter = made.program;
        shorter.steps.pop_back();
        EXPECT_FALSE(accepts(shorter, made.facts));
      }
      before.push_back(made);
      if (before.size() > 4) before.erase(before.begin());
    }
    if (HasFailure()) return;
  }
  std::cout << accepted << " Programs with their facts accepted, " << over
            << " over the bound refused; " << refused << " lists of facts spoiled and " << exchanged
            << " of other Programs, all refused\n";
  EXPECT_GT(accepted, 200);
  EXPECT_GT(over, 50);
}

/// No solver has looked at an exchange. It moves elements and no tiles, so none is given to one
/// device, and there are no groups.
TEST(FactsUnderAttack, an_exchange_is_no_bijection_and_has_no_groups) {
  const Program program =
      ProgramReader(
          "retile.program/1\nmesh x:2\nfrom [1{x}2, 2]\nto [2, 1{x}2]\n"
          "exchange tile=[2,1] transfers=[[0,0,0,0,0,0,1,1],[0,1,1,0,0,0,1,1],[1,0,0,0,0,1,1,1],"
          "[1,1,1,0,0,1,1,1]]\n")
          .programs()
          .front();
  const Facts made = {{"inside", {0}}, {"end", {2, 1}}, {"bound", {2, 2}}, {"cost", {2}}};
  EXPECT_TRUE(accepts(program, made));
  std::vector<Fact> others = {{"bijection", {0}}};
  for (Size m = 0; m < 4; ++m) {
    for (Size n = 0; n < 4; ++n) others.push_back({"groups", {0, m, n}});
  }
  for (const Fact& other : others) {
    Facts lines = made;
    lines.insert(lines.begin(), other);
    EXPECT_FALSE(accepts(program, lines)) << other.first;
  }
}

}  // namespace
}  // namespace spec::facts_attack_test
