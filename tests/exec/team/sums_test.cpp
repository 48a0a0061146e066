// Sums between threads: the bytes of the simulator, from tiles that all see and from private ones,
// and what is refused.
#include <gtest/gtest.h>

#include "exec/team/summing.h"

namespace summing_test {
namespace {

TEST(SharedSums, of_all_programs_are_those_of_the_simulator) {
  for (const retile::test::NamedProgram& named : retile::test::adding_programs()) {
    SCOPED_TRACE(named.name);
    for (const auto addition : retile::test::additions) {
      const Problem problem(retile::test::adding_program(named.text, addition), {}, 3);
      for (const Size slots : {0, 1, 500, 100000}) {
        const Outcome outcome = run_problem(problem, slots);
        EXPECT_TRUE(outcome.good()) << slots << ": " << outcome.wrong << outcome.error;
      }
    }
  }
}

TEST(SharedSums, do_not_depend_on_who_is_late) {
  const Problem problem(pieces_of(203), {}, 4);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    for (const Size slots : {0, 1000, 3000}) {
      const Outcome outcome = run_problem(problem, slots, Flaw::none, seed);
      EXPECT_TRUE(outcome.good()) << slots << ": " << outcome.wrong << outcome.error;
    }
  }
}

TEST(SharedSums, of_tiles_of_other_sizes_are_refused_by_all) {
  const Problem problem(pieces_of(40), {}, 1);
  const SumPlaces places{.slots_bytes = 4096};
  const auto outcomes = retile::team::run_threads(4, 4096, [&](Team& team) -> Result<void> {
    SharedSums sums(team, problem.tiles(), places);
    std::vector<std::byte> in(160), out(160, std::byte{0xee});
    for (int time = 0; time < 2; ++time) {
      auto refused = sums.run(in, std::span(out).first(team.member() == 2 ? 156 : 160));
      if (refused || refused.error().code != retile::Code::bad_argument) {
        return retile::refuse({.code = retile::Code::mpi_error, .message = "was not refused"});
      }
      EXPECT_NE(refused.error().message.find("member 2"), std::string::npos);
      EXPECT_EQ(out, std::vector<std::byte>(160, std::byte{0xee}));
    }
    return sums.run(in, out);
  });
  for (const auto& outcome : outcomes) {
    EXPECT_TRUE(outcome) << (outcome ? "" : retile::render(outcome.error()));
  }
}

TEST(SharedSums, end_where_a_member_gave_up) {
  const Problem problem(pieces_of(4000), {}, 1);
  for (const bool own : {true, false}) {
    SumPlaces places{.slots_bytes = 4096};
    if (own) places.out_offset = 16064;
    const auto outcomes = retile::team::run_threads(4, 40000, [&](Team& team) -> Result<void> {
      SharedSums sums(team, problem.tiles(), places);
      std::vector<std::byte> in(16000), out(16000);
      if (team.member() == 3) {
        team.break_team();
        return {};
      }
      return sums.run(in, out);
    });
    for (std::size_t member = 0; member < 3; ++member) {
      ASSERT_FALSE(outcomes[member]);
      EXPECT_EQ(outcomes[member].error().code, retile::Code::team_broken);
    }
  }
}

}  // namespace
}  // namespace summing_test
