// Digits: parts are what div and mod say, and nothing else is said of them. A declaration too many
// would prove anything.
#include "retile/prove/digits.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <iostream>

#include "check/random_programs.h"
#include "retile/prove/solver.h"

namespace retile::symbolic::digits_test {
namespace {

Solvers& z3() {
  static Solvers solvers = Solvers::make(SolverChoice::z3).value();
  return solvers;
}

Satisfiable ask(const std::string& text) { return z3().ask(text, {}, Deadline::in(10)).together(); }

/// Cuts one number up in several ways at once. What is said of the parts, by arithmetic.
struct CutUp {
  Digits digits;
  Number number;
  std::vector<std::string> facts;

  CutUp(const support::Choose& choose, Size size) {
    number = digits.any(size);
    std::vector<std::pair<Number, Size>> cuts;
    std::vector<std::array<Number, 2>> parts;
    for (int k = 0; k < 4; ++k) {
      const std::vector<Size> all = check_tests::divisors(size);
      const Size cut = all[static_cast<std::size_t>(choose(static_cast<Size>(all.size())))];
      auto [low, high] = digits.split(number, cut);
      // Parts are numbers like others: cut one of them again.
      const std::vector<Size> of_low = check_tests::divisors(cut);
      const Size again = of_low[static_cast<std::size_t>(choose(static_cast<Size>(of_low.size())))];
      auto [low_low, low_high] = digits.split(low, again);
      parts.push_back({low, high});
      cuts.emplace_back(number, cut);
      parts.push_back({low_low, low_high});
      cuts.emplace_back(low, again);
    }
    for (std::size_t k = 0; k < parts.size(); ++k) {
      facts.push_back(fmt::format("(= {} (+ {} (* {} {})))", digits.term(cuts[k].first),
                                  digits.term(parts[k][0]), cuts[k].second,
                                  digits.term(parts[k][1])));
      facts.push_back(fmt::format("(<= 0 {})", digits.term(parts[k][0])));
      facts.push_back(fmt::format("(< {} {})", digits.term(parts[k][0]), cuts[k].second));
    }
  }
};

TEST(Digits, parts_are_what_div_and_mod_say) {
  int cases = 0;
  for (const Size size : {1, 2, 6, 12, 30, 36, 60, 720, 65536, 5040}) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
      const CutUp cut(support::random_choices(seed), size);
      ASSERT_EQ(ask(cut.digits.declarations() +
                    fmt::format("(assert (not (and true {})))\n", fmt::join(cut.facts, " "))),
                Satisfiable::no)
          << size << ", seed " << seed << '\n'
          << cut.digits.declarations();
      ++cases;
    }
  }
  std::cout << cases << " numbers cut up\n";
}

TEST(Digits, every_number_is_still_possible) {
  int numbers = 0;
  for (const Size size : {1, 2, 6, 12, 30, 36}) {
    for (std::uint64_t seed = 0; seed < 4; ++seed) {
      const CutUp cut(support::random_choices(seed), size);
      for (Size value = 0; value <= size; ++value) {
        const bool is_one = value < size;
        ASSERT_EQ(ask(cut.digits.declarations() +
                      fmt::format("(assert (= {} {}))\n", cut.digits.term(cut.number), value)),
                  is_one ? Satisfiable::yes : Satisfiable::no)
            << value << " of " << size << ", seed " << seed;
        ++numbers;
      }
    }
  }
  std::cout << numbers << " values tried\n";
}

TEST(Digits, a_cut_between_digits_or_in_one_adds_no_equation) {
  Digits digits;
  const Number number = digits.any(24);
  const auto [low, high] = digits.split(number, 4);
  const auto [low_2, high_2] = digits.split(number, 12);
  EXPECT_EQ(digits.size(low_2), 12);
  EXPECT_EQ(digits.declarations().find("(assert (= "), std::string::npos);
  // 3 is inside the digits 4 and 3: one equation; and back again, no second one.
  const auto [low_3, high_3] = digits.split(low_2, 3);
  const auto [low_4, high_4] = digits.split(Digits::join(low_3, high_3), 4);
  EXPECT_EQ(digits.term(low_4), digits.term(low));
  const std::string text = digits.declarations();
  EXPECT_EQ(text.find("(assert (= "), text.rfind("(assert (= "));
  EXPECT_NE(text.find("(assert (= "), std::string::npos);
}

TEST(Digits, zero_is_zero_in_all_its_parts) {
  Digits digits;
  const Number zero = digits.zero(12);
  const auto [low, high] = digits.split(zero, 4);
  const auto [low_2, high_2] = digits.split(zero, 6);
  EXPECT_EQ(ask(digits.declarations() +
                fmt::format("(assert (or (not (= 0 {})) (not (= 0 {})) (not (= 0 {}))))\n",
                            digits.term(low), digits.term(high_2), digits.term(zero))),
            Satisfiable::no);
  EXPECT_EQ(ask(digits.declarations()), Satisfiable::yes);
}

}  // namespace
}  // namespace retile::symbolic::digits_test
