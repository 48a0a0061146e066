#include "retile/many/schedule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "many/pairs.h"
#include "retile/core/names.h"
#include "retile/notation/sharding.h"
#include "retile/program/forms/text.h"
#include "retile/program/tile_shapes.h"

namespace retile::test::schedule_test {
namespace {

using many::Arrays;
using many::Kind;
using many::Schedule;
using many::Sums;

PlanOptions limited(std::optional<Size> limit) {
  PlanOptions out;
  out.memory_limit_bytes = limit;
  return out;
}

void add(Arrays& arrays, const Problem& problem, std::size_t count, Size element_bytes) {
  Kind kind{.problem = problem, .element_bytes = element_bytes, .arrays = {}};
  for (std::size_t n = 0; n < count; ++n) {
    kind.arrays.push_back(arrays.names.size());
    arrays.names.push_back(counted(arrays.names.size(), "array"));
  }
  arrays.kinds.push_back(std::move(kind));
}

Arrays one_kind(std::string_view mesh, std::string_view from, std::string_view to,
                std::size_t count, Size element_bytes = 4) {
  Arrays out;
  add(out, parse_problem(mesh, from, to).value(), count, element_bytes);
  return out;
}

Arrays one_kind(std::string_view mesh, std::string_view mesh_to, std::string_view from,
                std::string_view to, std::size_t count) {
  Arrays out;
  const ProblemText text{.mesh = parse_any_mesh(mesh).value(),
                         .mesh_to = parse_any_mesh(mesh_to).value(),
                         .from = from,
                         .to = to};
  add(out, parse_problem(text).value(), count, 2);
  return out;
}

/// The sums by name, and the numbers of arrays of each round.
std::string text_of(const Arrays& arrays, std::optional<Size> limit) {
  auto made = many::schedule(arrays, limited(limit));
  if (!made) {
    return made.error().why.message + "; least " +
           (made.error().least_bytes ? std::to_string(*made.error().least_bytes) : "unknown");
  }
  EXPECT_TRUE(many::count_traffic(arrays, *made).value());
  std::string out;
  for (std::size_t d = 0; d < made->devices.size(); ++d) {
    const Sums& it = made->sums[d];
    if (d > 0 && made->sums[d - 1] == it) continue;
    out += std::to_string(made->devices[d]) + ": " + std::to_string(it.from) + " to " +
           std::to_string(it.to) + " peak " + std::to_string(it.peak) + " got " +
           std::to_string(it.received) + " gave " + std::to_string(it.sent) + "\n";
  }
  for (const many::Round& round : made->rounds) {
    for (const many::Share& share : round) {
      out += (&share == &round.front() ? "" : "+") + std::to_string(share.end - share.begin) +
             (made->ways[share.kind].direct ? "!" : "");
    }
    out += " ";
  }
  return out;
}

TEST(Schedule, sums_of_an_alltoall) {
  // A tile of 256 elements, of which a quarter stays.
  EXPECT_EQ(text_of(one_kind("x:4", "[8{x}32, 32]", "[32, 8{x}32]", 2), std::nullopt),
            "0: 2048 to 2048 peak 4096 got 1536 gave 1536\n2 ");
}

TEST(Schedule, tiles_on_the_way_count) {
  // Three steps between tiles of 6 elements: on the way a device holds two beside the old one.
  const Arrays arrays = one_kind("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]", 2, 1);
  const auto says = [&](std::optional<Size> limit, const std::string& sums,
                        const std::string& rounds) {
    const std::string text = text_of(arrays, limit);
    EXPECT_TRUE(text.starts_with("0: 12 to 12 peak " + sums + " ")) << text;
    EXPECT_TRUE(text.ends_with("\n" + rounds + " ")) << text;
  };
  says(std::nullopt, "36", "2");
  says(36, "36", "2");
  // One after the other: when the second one goes, the first one is there.
  says(35, "30", "1 1");
  says(30, "30", "1 1");
  // Then there is no room on the way, and an exchange needs none.
  says(29, "24", "2!");
  says(24, "24", "2!");
  EXPECT_EQ(text_of(arrays, 23), "no order of the arrays keeps the limit; least 24");
}

TEST(Schedule, steps_in_the_place_of_a_plan_count) {
  // An alltoall holds its result beside the old tile, and gets half of it. Gathered and cut again an array is
  // held whole, and half of it comes from elsewhere.
  const Arrays arrays = one_kind("x:2", "[4{x}8, 4]", "[8, 2{x}4]", 1, 1);
  const Program other = parse_programs(
                            "retile.program/1\nmesh x:2\nfrom [4{x}8, 4]\nto [8, 2{x}4]\n"
                            "allgather dim=0 groups=[1,2]<=[2] tile=[8,4]\n"
                            "dynslice dim=1 groups=[1,2]<=[2] tile=[8,2]\n",
                            "test")
                            .value()
                            .front();
  const auto sums = [&](const many::Instead& instead, std::optional<Size> limit = {}) {
    auto made = many::schedule(arrays, limited(limit), {}, instead).value();
    EXPECT_TRUE(many::count_traffic(arrays, made).value());
    return std::pair(made.sums.front().peak, made.sums.front().received);
  };
  const many::Instead gathers = [&](const Kind&, const PlanOptions& options) {
    EXPECT_FALSE(options.memory_limit_bytes);
    return Result<std::optional<Program>>(other);
  };
  const many::Instead nothing = [](const Kind&, const PlanOptions&) {
    return Result<std::optional<Program>>(std::nullopt);
  };
  EXPECT_EQ(sums({}), (std::pair<Size, Size>(32, 8)));
  EXPECT_EQ(sums(nothing), sums({}));
  EXPECT_EQ(sums(gathers), (std::pair<Size, Size>(48, 16)));
  EXPECT_EQ(sums(gathers, 47), (std::pair<Size, Size>(32, 8)));  // in an exchange
  const auto refused = many::schedule(
      arrays, {}, {}, [](const Kind&, const PlanOptions&) -> Result<std::optional<Program>> {
        return refuse(Code::unsupported, "no");
      });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, 0U);
}

TEST(Schedule, thousands_of_kinds_that_find_no_room) {
  Arrays arrays;
  const Problem problem = parse_problem("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]").value();
  for (int k = 0; k < 3000; ++k) add(arrays, problem, 1, 1);
  const auto made = many::schedule(arrays, limited(3000 * 12));
  ASSERT_TRUE(made);
  EXPECT_EQ(made->sums.front().peak, 3000 * 12);
}

TEST(Schedule, without_an_exchange_the_least_limit_is_not_known) {
  const Arrays arrays = one_kind("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]", 2, 1);
  PlanOptions options = limited(29);
  options.collectives = true;
  const auto made = many::schedule(arrays, options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().why.code, Code::infeasible);
  EXPECT_FALSE(made.error().least_bytes);
}

TEST(Schedule, arrays_that_hold_most_on_the_way_go_first) {
  Arrays arrays = one_kind("x:4,y:6", "[1{x,y}24]", "[24]", 1, 1);  // 24 bytes that stay
  add(arrays, parse_problem("x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]").value(), 1, 1);
  const auto made = many::schedule(arrays, limited(31));  // 7 before, 30 after, 6 on the way
  ASSERT_FALSE(made);                                     // 7 + 30 are 37
  const auto tight = many::schedule(arrays, limited(37));
  ASSERT_TRUE(tight);
  ASSERT_EQ(tight->rounds.size(), 2U);
  EXPECT_EQ(tight->rounds.front().front().kind, 1U);
  EXPECT_FALSE(tight->ways[1].direct);
  EXPECT_EQ(tight->sums.front().peak, 37);
}

TEST(Schedule, devices_have_the_numbers_of_their_meshes) {
  Arrays arrays =
      one_kind("DeviceMesh('cuda', [4, 5])", "DeviceMesh('cuda', [4, 5])", "[4{a0}8]", "[8]", 1);
  const Arrays others =
      one_kind("DeviceMesh('cuda', [9, 2])", "DeviceMesh('cuda', [9, 2])", "[4{a0}8]", "[8]", 1);
  arrays.kinds.push_back(others.kinds.front());
  arrays.kinds.back().arrays = {1};
  arrays.names.emplace_back("other");
  const auto made = many::schedule(arrays, {});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->devices, (std::vector<Size>{2, 4, 5, 9}));
  for (const Sums& sums : made->sums)
    EXPECT_EQ(std::pair(sums.from, sums.to), std::pair(Size{8}, Size{16}));
}

TEST(Schedule, others_get_what_they_lack) {
  EXPECT_EQ(
      text_of(one_kind("x:2", "DeviceMesh('cuda', [2, 3, 4])", "[4{x}8]", "[8]", 1), std::nullopt),
      "0: 8 to 0 peak 8 got 0 gave 24\n"
      "2: 0 to 16 peak 16 got 16 gave 0\n1 ");
}

TEST(Schedule, sums_that_do_not_fit_are_refused) {
  const std::string half = "[2305843009213693952]";
  const auto fits = many::schedule(one_kind("x:1", half, half, 1, 1), {});
  EXPECT_TRUE(fits);
  const auto made = many::schedule(one_kind("x:1", half, half, 2, 1), {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().why.code, Code::size_overflow);
  const auto tile = many::schedule(one_kind("x:1", half, half, 1, 4), {});
  ASSERT_FALSE(tile);
  EXPECT_EQ(tile.error().why.code, Code::size_overflow);
}

// ---- Against a replay ---------------------------------------------------------------------------

/// Most bytes that each device holds beside its old tile while an array of this kind goes, by the shapes of
/// all tiles of the Program.
std::vector<Size> going(const many::Way& way, const Kind& kind) {
  const Program program = many::program_of(way, kind.problem).value();
  const auto shapes = tile_shapes(program, 1).value();
  std::vector<Size> out;
  for (Size d = 0; d < program.devices; ++d) {
    const auto elements = [&](std::size_t k) { return checked_product(shapes[k].of(d)).value(); };
    Size most = checked_product(program.to.tile(d)).value();
    for (std::size_t k = 0; k < program.steps.size(); ++k) {
      const bool in_place = op_name(program.steps[k]) == "dynslice" && k > 0;
      const Size before = k > 0 ? elements(k) : 0;
      most = std::max(most, in_place ? before : before + elements(k + 1));
    }
    out.push_back(most * kind.element_bytes);
  }
  return out;
}

/// What is wrong with a schedule; empty if nothing is.
std::string fault_of(const Arrays& arrays, const Schedule& schedule, std::optional<Size> limit) {
  std::map<std::size_t, int> times;
  std::vector<Size> held(schedule.devices.size());
  for (const Kind& kind : arrays.kinds) {
    for (std::size_t d = 0; d < held.size(); ++d) {
      held[d] += static_cast<Size>(kind.arrays.size()) * kind.element_bytes *
                 kind.problem.from.tile_size(static_cast<Size>(d));
    }
  }
  std::vector<Size> peak = held;
  for (const many::Round& round : schedule.rounds) {
    std::vector<Size> at_once = held;
    for (const many::Share& share : round) {
      const Kind& kind = arrays.kinds[share.kind];
      const std::vector<Size> most = going(schedule.ways[share.kind], kind);
      for (std::size_t n = share.begin; n < share.end; ++n) {
        ++times[kind.arrays[n]];
        for (std::size_t d = 0; d < held.size(); ++d) {
          at_once[d] += most[d];
          held[d] += kind.problem.to.tile_size(static_cast<Size>(d)) * kind.element_bytes;
        }
      }
    }
    for (std::size_t d = 0; d < held.size(); ++d) peak[d] = std::max(peak[d], at_once[d]);
  }
  for (std::size_t a = 0; a < arrays.names.size(); ++a) {
    if (times[a] != 1) return "array " + std::to_string(a) + " does not go once";
  }
  for (std::size_t d = 0; d < held.size(); ++d) {
    if (peak[d] != schedule.sums[d].peak) return "another peak";
    if (limit && peak[d] > *limit) return "over the limit";
  }
  return "";
}

TEST(Schedule, keeps_every_limit_that_can_be_kept) {
  const std::vector<Problem> pairs = small_pairs();
  std::mt19937_64 random(1);
  int in_rounds = 0;
  int by_exchange = 0;
  for (int times = 0; times < 60; ++times) {
    Arrays arrays;
    for (std::uint64_t kinds = 1 + random() % 3; kinds > 0; --kinds) {
      add(arrays, pairs[random() % pairs.size()], 1 + random() % 3, Size{1} << random() % 3);
    }
    const auto free = many::schedule(arrays, {});
    ASSERT_TRUE(free);
    EXPECT_EQ(fault_of(arrays, *free, std::nullopt), "");
    EXPECT_EQ(free->rounds.size(), 1U);
    Size most = 0;
    Size least = 0;
    for (const Sums& sums : free->sums) {
      most = std::max(most, sums.peak);
      least = std::max(least, sums.from + sums.to);
    }
    for (Size limit = least; limit <= most; limit += 1 + (most - least) / 4) {
      const auto made = many::schedule(arrays, limited(limit));
      ASSERT_TRUE(made) << limit << " of " << least;
      EXPECT_EQ(fault_of(arrays, *made, limit), "");
      in_rounds += made->rounds.size() > 1 ? 1 : 0;
      for (const many::Way& way : made->ways) by_exchange += way.direct ? 1 : 0;
    }
    const auto none = many::schedule(arrays, limited(least - 1));
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().least_bytes, least);
  }
  EXPECT_GT(in_rounds, 10);
  EXPECT_GT(by_exchange, 10);
}

}  // namespace
}  // namespace retile::test::schedule_test
