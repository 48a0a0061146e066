// Plans and proofs as one number that every build must find: compilers, optimisation, sanitizers
// and the order of addresses do not matter.
#include <gtest/gtest.h>

#include <cstdint>
#include <iostream>
#include <string>

#include "retile/lower/lower.h"
#include "retile/notation/paper/notation.h"
#include "retile/plan/certificate.h"
#include "retile/plan/plan.h"
#include "retile/plan/weak_search.h"
#include "retile/program/forms/text.h"
#include "support/random_problems.h"

namespace retile::same_everywhere_test {
namespace {

/// FNV-1a.
class Hash {
 public:
  void add(const std::string& text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    bytes_ += text.size();
  }
  [[nodiscard]] std::uint64_t value() const {
    std::cout << bytes_ << " bytes hash to " << value_ << "\n";
    return value_;
  }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
  std::size_t bytes_ = 0;
};

/// All that a plan says: its Program and its numbers.
std::string text_of(const Result<Plan>& made) {
  if (!made) return render(made.error());
  std::string out = to_text(lower(*made));
  for (const Size number : {made->cost, made->height, made->valley, made->resident, made->weak_cost,
                            made->lower_bound, made->states, made->work}) {
    out += std::to_string(number) + ' ';
  }
  return out;
}

TEST(SameEverywhere, plans_and_proofs) {
  support::Random random(4);
  Hash hash;
  for (const char* text :
       {"x:2,y:2,z:2", "x:4,y:2,z:4", "x:8,y:4,z:4", "x:6,y:4,z:5", "x:16,y:8,z:8"}) {
    const Mesh mesh = parse_mesh(text).value();
    for (int k = 0; k < 20; ++k) {
      const Plan made = plan(support::draw_problem(random, mesh)).value();
      hash.add(text_of(made));
      hash.add(to_text(certify(made).value()));
    }
  }
  EXPECT_EQ(hash.value(), 13924055943118019097U);
}

TEST(SameEverywhere, plans_under_memory_limits_in_both_cost_models_and_of_searches_that_stop) {
  support::Random random(5);
  Hash hash;
  for (const char* text : {"x:4,y:2,z:4", "x:6,y:4,z:5", "a:2,b:3,c:5,d:2"}) {
    const Mesh mesh = parse_mesh(text).value();
    for (int k = 0; k < 15; ++k) {
      const Problem problem = support::draw_problem(random, mesh);
      const Size least = smallest_feasible_bytes(problem, 4).value();
      for (const CostModel model : {CostModel::paper, CostModel::bytes}) {
        for (const Size limit : {least - 1, least, least + least / 3}) {
          for (const Size work : {Size{1} << 9, Size{1} << 18}) {
            hash.add(text_of(
                plan(problem,
                     {.cost_model = model, .memory_limit_bytes = limit, .search_limit = work})));
          }
        }
      }
    }
  }
  EXPECT_EQ(hash.value(), 2370830715859022041U);
}

/// States of more than 64 bits.
TEST(SameEverywhere, plans_with_wide_keys) {
  support::Random random(6);
  Hash hash;
  const Mesh mesh = parse_mesh("a:2,b:3,c:2,d:5,e:2").value();
  const Shape global(17, 12);
  Size wide = 0;
  for (int k = 0; k < 30; ++k) {
    const DistType from = support::draw_type(random, mesh, global);
    const DistType to = support::draw_type(random, mesh, global);
    const Problem problem = make_problem(mesh, from, to).value();
    const std::size_t bits = WeakSpace(problem, {}).key_bits();
    wide += bits > 64 && bits <= 128 ? 1 : 0;
    const PlanOptions options{.search_limit = Size{1} << 16};
    hash.add(text_of(plan(problem, options)));
  }
  EXPECT_EQ(wide, 30);
  EXPECT_EQ(hash.value(), 16621109392736695975U);
}

// Control: a plan that differs in one number has another hash.
TEST(SameEverywhere, one_other_byte_is_another_hash) {
  Hash one;
  Hash other;
  one.add("cost 17");
  other.add("cost 18");
  EXPECT_NE(one.value(), other.value());
}

}  // namespace
}  // namespace retile::same_everywhere_test
