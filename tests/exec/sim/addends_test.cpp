// Programs that add, in the simulator: every element against what its addends make.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "exec/adding_programs.h"
#include "retile/check/check.h"
#include "retile/exec/executor/processes.h"
#include "retile/exec/sim/executor.h"
#include "retile/exec/sim/sim.h"
#include "retile/run/run.h"

namespace retile::sim_addends_test {
namespace {

using test::adding_program;
using test::adding_programs;
using test::NamedProgram;

const ElementType u64{ElementKind::unsigned_integer, 8};
const ElementType i32{ElementKind::signed_integer, 4};
const ElementType f32{};

/// The indices of a box in C order, and where each is in the array.
std::vector<Size> global_indices(const Shape& global, const Box& box) {
  Size elements = 1;
  for (const Size extent : box.extent) elements *= extent;
  std::vector<Size> out;
  for (Size local = 0; local < elements; ++local) {
    Size rest = local;
    Size linear = 0;
    Size stride = 1;
    for (std::size_t i = global.size(); i-- > 0;) {
      linear += (box.at[i] + rest % box.extent[i]) * stride;
      rest /= box.extent[i];
      stride *= global[i];
    }
    out.push_back(linear);
  }
  return out;
}

std::uint64_t word(Size addend, Size global) {
  return splitmix64(static_cast<std::uint64_t>(100 * global + addend));
}

sim::Tiles words(const Layout& from) {
  sim::Tiles tiles;
  for (Size device = 0; device < from.devices(); ++device) {
    std::vector<std::uint64_t> numbers;
    for (const Size global : global_indices(from.global(), from.box(device))) {
      numbers.push_back(word(from.addend(device), global));
    }
    const auto bytes = std::as_bytes(std::span(numbers));
    tiles.emplace_back(bytes.begin(), bytes.end());
  }
  return tiles;
}

std::uint64_t made_together(Addition addition, std::uint64_t a, std::uint64_t b) {
  return addition == Addition::sum   ? a + b
         : addition == Addition::max ? std::max(a, b)
                                     : std::min(a, b);
}

class Adding : public testing::TestWithParam<NamedProgram> {};
INSTANTIATE_TEST_SUITE_P(Sim, Adding, testing::ValuesIn(adding_programs()),
                         [](const testing::TestParamInfo<NamedProgram>& tested) {
                           return std::string(tested.param.name);
                         });

/// What the first holders of all addends of an element of the target make together.
TEST_P(Adding, brings_every_addend_of_every_element_once) {
  for (const Addition addition : test::additions) {
    const Program program = adding_program(GetParam().text, addition);
    ASSERT_EQ(check(program).answer, Answer::right);
    const auto outcome = sim::run(program, words(program.from), u64);
    ASSERT_TRUE(outcome) << render(outcome.error());
    std::map<std::pair<Size, Size>, std::uint64_t> held;  // by addend of the target, and element
    for (Size device = 0; device < program.devices; ++device) {
      const auto& tile = outcome->tiles[static_cast<std::size_t>(device)];
      Size local = 0;
      for (const Size global : global_indices(program.to.global(), program.to.box(device))) {
        std::uint64_t value = 0;
        std::memcpy(&value, tile.data() + 8 * local++, 8);
        const auto [known, is_new] = held.try_emplace({program.to.addend(device), global}, value);
        EXPECT_EQ(known->second, value) << "replicas differ on device " << device;
      }
    }
    for (Size global = 0; global < program.to.global_size(); ++global) {
      std::uint64_t wanted = word(0, global);
      for (Size k = 1; k < program.from.addend_count(); ++k) {
        wanted = made_together(addition, wanted, word(k, global));
      }
      std::uint64_t there = held.at({0, global});
      for (Size k = 1; k < program.to.addend_count(); ++k) {
        there = made_together(addition, there, held.at({k, global}));
      }
      EXPECT_EQ(there, wanted) << name_of(addition) << " of element " << global;
    }
  }
}

Result<run::Report> run_with(const Program& program, const run::RunOptions& options) {
  const auto source = run::open_source(OneProcess(), program, options);
  if (!source) return tl::unexpected(source.error());
  const auto executor = sim::make_executor(program, source->type());
  if (!executor) return tl::unexpected(executor.error());
  return run::run(**executor, program, *source, options);
}

TEST_P(Adding, runs_with_every_element_type) {
  for (const Addition addition : test::additions) {
    const Program program = adding_program(GetParam().text, addition);
    for (const NamedElementType& named : named_element_types()) {
      const auto report = run_with(program, {.type = named.type});
      ASSERT_EQ(report.has_value(), test::can_add(addition, named.type)) << named.name;
      if (!report) continue;
      EXPECT_TRUE(report->right) << name_of(addition) << " of " << named.name;
      Size elements = 0;
      for (Size d = 0; d < program.devices; ++d) elements += program.to.tile_size(d);
      EXPECT_EQ(report->elements_checked, elements);
    }
  }
}

// ---- Order ------------------------------------------------------------------------------------------

std::vector<float> floats_after(const std::string& text, const std::vector<float>& values) {
  const Program program = test::parsed("retile.program/2\n" + text);
  sim::Tiles tiles;
  for (const float value : values) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    tiles.emplace_back(bytes.begin(), bytes.end());
  }
  const auto outcome = sim::run(program, std::move(tiles), f32);
  EXPECT_TRUE(outcome) << render(outcome.error());
  std::vector<float> out;
  for (const auto& tile : outcome->tiles) std::memcpy(&out.emplace_back(), tile.data(), 4);
  return out;
}

// Sums of these are other numbers in almost any other order.
const float a = 16777216.0F, b = 1.0F, c = -16777216.0F, d = 0.75F;

TEST(AddingOrder, is_that_of_the_addends_and_not_of_the_row) {
  const float sum = ((a + b) + c) + d;
  EXPECT_NE(sum, ((d + c) + b) + a);
  EXPECT_EQ(floats_after("mesh x:4\nfrom sum{x}[1]\nto [1]\nallreduce groups=[[3,1,2,0]]\n",
                         {a, b, c, d}),
            (std::vector<float>{sum, sum, sum, sum}));
}

TEST(AddingOrder, is_that_of_the_addends_and_not_of_the_devices) {
  // y is minor, so device 1 holds addend 2 and device 2 addend 1.
  const float sum = ((a + c) + b) + d;
  EXPECT_NE(sum, ((a + b) + c) + d);
  EXPECT_EQ(floats_after("mesh x:2,y:2\nfrom sum{x,y}[1]\nto [1]\nallreduce groups=[1,4]<=[4]\n",
                         {a, b, c, d}),
            (std::vector<float>{sum, sum, sum, sum}));
}

TEST(AddingOrder, of_sums_is_that_of_their_least_addends) {
  // Of pairs that make 2^24, 1 and -2^24: the other way round the sum is 1.
  const float half = 8388608.0F;
  EXPECT_EQ(floats_after("mesh x:2,y:3\nfrom sum{x,y}[1]\nto [1]\n"
                         "allreduce groups=[[3,0],[1,4],[2,5]]\n"
                         "allreduce groups=[[2,1,0],[4,5,3]]\n",
                         {half, 0.5F, -half, half, 0.5F, -half}),
            std::vector<float>(6, 0));
}

TEST(AddingOrder, of_equals_is_that_of_the_step) {
  // All hold addend 0, so the list says which comes first; an exchange begins with zero.
  const float sum = ((0 + b) + a) + c;
  EXPECT_NE(sum, ((0 + a) + c) + b);
  EXPECT_EQ(floats_after("mesh x:3\nfrom [1]\nto sum{x}[1]\n"
                         "exchange transfers=[[2,1,0,0,1],[2,0,0,0,1],[2,2,0,0,1]] add=sum "
                         "tile=[1]\n",
                         {a, b, c}),
            (std::vector<float>{0, 0, sum}));
}

TEST(AddingOrder, what_is_added_alone_stays_as_it_is) {
  const auto out =
      floats_after("mesh x:2\nfrom [1]\nto sum{x}[1]\nunreduce groups=[[1,0]]\n", {1.0F, -0.0F});
  EXPECT_EQ(out, (std::vector<float>{0, 0}));
  EXPECT_FALSE(std::signbit(out[0]));
  EXPECT_TRUE(std::signbit(out[1]));
}

// ---- Controls and refusals --------------------------------------------------------------------------

TEST(AddingWrongly, a_reduction_left_out_is_seen) {
  const Program program = test::parsed("retile.program/2\nmesh x:2\nfrom sum{x}[4]\nto [4]\n");
  for (const NamedElementType& named : named_element_types()) {
    const auto report = run_with(program, {.type = named.type});
    ASSERT_TRUE(report) << render(report.error());
    EXPECT_FALSE(report->right) << named.name;
    EXPECT_EQ(report->mismatch, (run::Mismatch{.device = 0, .local_index = 0}));
  }
}

TEST(AddingWrongly, addends_that_make_too_much_are_seen) {
  // Replicas are alike, but each of them has both addends.
  const Program program = test::parsed(
      "retile.program/2\nmesh x:2,y:2\nfrom sum{x}[4]\nto sum{y}[4]\n"
      "reducescatter dim=0 groups=[[0,2],[1,3]]\nallgather dim=0 groups=[[0,2],[1,3]]\n");
  const auto report = run_with(program, {.type = i32});
  ASSERT_TRUE(report) << render(report.error());
  EXPECT_EQ(report->mismatch, (run::Mismatch{.device = 0, .local_index = 0}));
}

TEST(AddingWrongly, replicas_that_differ_are_seen) {
  // Devices 0 and 1 have an addend each, but 2, which must hold what 0 does, has that of 1.
  const Program program = test::parsed(
      "retile.program/2\nmesh x:2,y:2\nfrom sum{x}[4]\nto sum{y}[4]\n"
      "allpermute source=[0,2,3,1]\n");
  const auto report = run_with(program, {.type = i32});
  ASSERT_TRUE(report) << render(report.error());
  EXPECT_EQ(report->mismatch, (run::Mismatch{.device = 2, .local_index = 0}));
}

TEST(AddingWrongly, an_addend_added_twice_is_seen) {
  const Program program = test::parsed(
      "retile.program/2\nmesh x:2,y:2\nfrom sum{x}[4]\nto [4]\nallreduce groups=[1,4]<=[4]\n");
  for (const NamedElementType& named : named_element_types()) {
    EXPECT_FALSE(run_with(program, {.type = named.type})->right) << named.name;
  }
}

TEST(AddingWrongly, addends_of_a_stack_that_change_places_are_seen) {
  const std::string ends = "retile.program/2\nmesh x:2\nfrom stack{x}[4]\nto stack{x}[4]\n";
  EXPECT_TRUE(run_with(test::parsed(ends), {.type = f32})->right);
  EXPECT_FALSE(run_with(test::parsed(ends + "allpermute source=[1,0]\n"), {.type = f32})->right);
}

TEST(AddingManyAddends, small_types_are_exact) {
  // More addends than a brain floating has integers.
  const std::string text =
      "retile.program/2\nmesh x:300\nfrom sum{x}[3]\nto [3]\nallreduce groups=[1,300]<=[300]\n";
  for (const ElementType& type :
       {ElementType{ElementKind::brain_floating, 2}, ElementType{ElementKind::floating, 2}}) {
    const auto report = run_with(test::parsed(text), {.type = type});
    ASSERT_TRUE(report) << render(report.error());
    EXPECT_TRUE(report->right);
  }
}

TEST(AddingRefusals, bytes_without_a_type) {
  const Program program =
      test::parsed("retile.program/2\nmesh x:2\nfrom sum{x}[1]\nto sum{x}[1]\n");
  const auto outcome = sim::run(program, sim::Tiles(2, std::vector<std::byte>(4)), 4);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().code, Code::unsupported);
  EXPECT_THAT(outcome.error().message, testing::HasSubstr("elements of a known type"));
}

TEST(AddingRefusals, another_addition_than_the_programs) {
  const Program program = test::parsed(
      "retile.program/2\nmesh x:2\nfrom sum{x}[1]\nto [1]\nallreduce groups=[[0,1]] add=max\n");
  const auto report = run_with(program, {.type = i32});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().code, Code::inapplicable);
  EXPECT_EQ(report.error().rule, "addends");
}

TEST(AddingRefusals, files) {
  const Program program =
      test::parsed("retile.program/2\nmesh x:2\nfrom sum{x}[1]\nto sum{x}[1]\n");
  const auto read = run_with(program, {.input = "a.npy"});
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Code::unsupported);
  const auto written = run_with(program, {.output = "b.npy"});
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Code::unsupported);
  EXPECT_THAT(written.error().message, testing::HasSubstr("are addends"));
}

}  // namespace
}  // namespace retile::sim_addends_test
