// Programs that add, on real processes: the same bytes as the simulator's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <string>
#include <vector>

#include "exec/adding_programs.h"
#include "exec/mpi/blocks.h"
#include "exec/mpi/redistributing.h"
#include "retile/exec/mpi/environment.h"
#include "retile/exec/mpi/executor.h"
#include "retile/exec/mpi/redistribute.h"
#include "retile/exec/sim/sim.h"
#include "retile/run/run.h"

namespace retile {
namespace {

using mpi::Options;
using mpi::Redistributor;
using mpi::Strategy;
using test::adding_program;
using test::Bytes;
using test::process;
using test::processes;
using test::rough_tile;

/// Those for as many devices as there are processes.
std::vector<Program> programs_here(Addition addition) {
  std::vector<Program> out;
  for (const test::NamedProgram& named : test::adding_programs()) {
    Program program = adding_program(named.text, addition);
    if (program.devices == processes()) out.push_back(std::move(program));
  }
  return out;
}

Bytes simulated(const Program& program, const ElementType& type) {
  sim::Tiles tiles;
  for (Size device = 0; device < program.devices; ++device) {
    tiles.push_back(rough_tile(program.from, device, type));
  }
  auto outcome = sim::run(program, std::move(tiles), type);
  EXPECT_TRUE(outcome) << render(outcome.error());
  return outcome->tiles[static_cast<std::size_t>(process())];
}

bool has_exchange(const Program& program) {
  return std::any_of(program.steps.begin(), program.steps.end(), is_exchange);
}

void move_twice(const Program& program, const ElementType& type, Options options,
                const Bytes& wanted) {
  options.element_type = type;
  auto made = Redistributor::make(MPI_COMM_WORLD, program, type.bytes, options);
  ASSERT_TRUE(made) << render(made.error());
  const Bytes in = rough_tile(program.from, process(), type);
  Bytes out(static_cast<std::size_t>(made->out_bytes()));
  for (int time = 0; time < 2; ++time) {
    if (options.own_buffers) {
      std::copy(in.begin(), in.end(), made->input().begin());
      std::fill(made->output().begin(), made->output().end(), std::byte{0xee});
      ASSERT_TRUE(made->run());
      out.assign(made->output().begin(), made->output().end());
    } else {
      std::fill(out.begin(), out.end(), std::byte{0xee});
      ASSERT_TRUE(made->run(in, out));
    }
    EXPECT_EQ(out, wanted);
  }
  EXPECT_LE(made->peak_bytes(), made->peak_limit_bytes());
  EXPECT_EQ(made->strategy(),
            options.strategy == Strategy::automatic ? Strategy::exchange : options.strategy);
}

/// A Program with one addition, and an element type.
struct Sample {
  Addition addition;
  Program program;
  ElementType type;
};

/// All Programs with some types and additions, and one of them with all.
std::vector<Sample> samples() {
  const ElementType bf16{ElementKind::brain_floating, 2};
  const ElementType i32{ElementKind::signed_integer, 4};
  std::vector<Sample> out;
  const std::vector<Program> sums = programs_here(Addition::sum);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    out.push_back({Addition::sum, sums[k], {}});
    const Addition other = test::additions[k % 3];
    out.push_back({other, programs_here(other)[k], k % 2 == 0 ? bf16 : i32});
  }
  for (const Addition addition : test::additions) {
    for (const NamedElementType& named : named_element_types()) {
      if (sums.empty() || !test::can_add(addition, named.type)) continue;
      out.push_back({addition, programs_here(addition).front(), named.type});
    }
  }
  return out;
}

TEST(Addends, inexact_sums_are_those_of_the_simulator) {
  for (const auto& [addition, program, type] : samples()) {
    SCOPED_TRACE(testing::Message() << name_of(addition) << " of elements of " << type.bytes);
    move_twice(program, type, {}, simulated(program, type));
  }
}

TEST(Addends, small_buffers_and_any_nodes_change_nothing) {
  const ElementType f32{};
  for (const Program& program : programs_here(Addition::sum)) {
    const Bytes wanted = simulated(program, f32);
    for (const Size bytes : {Size{1}, Size{9}}) {
      move_twice(program, f32, {.chunk_bytes = bytes, .own_buffers = bytes == 9}, wanted);
      move_twice(program, f32,
                 {.chunk_bytes = 1000, .message_bytes = 2 * bytes, .strategy = Strategy::exchange},
                 wanted);
    }
    const test::Blocks blocks(2);
    move_twice(program, f32, {}, wanted);
  }
}

/// Whatever order MPI takes, these do not depend on it.
TEST(Addends, collectives_add_integers_and_find_maxima) {
  for (const auto& [addition, program, type] : samples()) {
    const bool is_integer =
        type.kind == ElementKind::signed_integer || type.kind == ElementKind::unsigned_integer;
    if (has_exchange(program) || (addition == Addition::sum && !is_integer)) continue;
    SCOPED_TRACE(testing::Message() << name_of(addition) << " of elements of " << type.bytes);
    const Bytes wanted = simulated(program, type);
    const auto through = [](Size bytes) {
      return Options{
          .chunk_bytes = bytes, .message_bytes = bytes, .strategy = Strategy::collectives};
    };
    move_twice(program, type, through(Size{1} << 16), wanted);
    move_twice(program, type, through(program.steps.size() % 2 == 0 ? 1 : 24), wanted);
  }
}

/// Sums for any number of processes: of tiles that are whole, cut unevenly, cut small, and empty.
std::vector<Program> sums_of_all() {
  const std::string n = std::to_string(processes());
  const std::string rows = " groups=[1," + n + "]<=[" + n + "]";
  const auto made = [&](const std::string& text) {
    return test::parsed("retile.program/2\nmesh d:" + n + "\n" + text);
  };
  const auto piece = [](Size extent) {
    return std::to_string((extent + processes() - 1) / processes());
  };
  return {
      made("from sum{d}[701]\nto [701]\nallreduce" + rows + "\n"),
      made("from sum{d}[7, 101]\nto [7, " + piece(101) + "{d}101]\nreducescatter dim=1" + rows +
           " piece=" + piece(101) + "\n"),
      made("from sum{d}[50, 3, 7]\nto [50, 3, 7]\nreducescatter dim=0" + rows +
           " piece=" + piece(50) + "\nallgather dim=0" + rows + "\n"),
      made("from sum{d}[3]\nto [" + piece(3) + "{d}3]\nreducescatter dim=0" + rows +
           " piece=" + piece(3) + "\n"),
      made("from sum{d}[5, 4]\nto sum{d}[5, 4]\nallreduce" + rows + "\nunreduce" + rows + "\n"),
  };
}

TEST(Addends, all_ways_give_the_same_bytes) {
  std::vector<Program> all = sums_of_all();
  const std::vector<Program> named = programs_here(Addition::sum);
  all.insert(all.end(), named.begin(), named.end());
  const ElementType f32{};
  const ElementType f16{ElementKind::floating, 2};
  for (const Program& program : all) {
    const Bytes wanted = simulated(program, f32);
    for (const bool own : {false, true}) {
      for (const Size chunk : {Size{1}, Size{777}, Size{8} << 20}) {
        move_twice(program, f32, {.chunk_bytes = chunk, .own_buffers = own}, wanted);
        move_twice(program, f32, test::by_messages({.chunk_bytes = chunk, .own_buffers = own}),
                   wanted);
      }
      const test::Blocks blocks(2);
      move_twice(program, f32, {.own_buffers = own}, wanted);
    }
    move_twice(program, f16, test::on_one_node({.own_buffers = true}), simulated(program, f16));
  }
}

/// The last of the reasons, up to what was needed.
std::string way_of(const Redistributor& made) {
  const std::string& last = made.reasons().back();
  return last.substr(0, last.find(" needs"));
}

TEST(Addends, say_which_way_they_go) {
  const Program program = sums_of_all().front();
  Options options{.element_type = ElementType{}};
  const auto way = [&] {
    const auto made = Redistributor::make(MPI_COMM_WORLD, program, 4, options);
    return made ? way_of(*made) : render(made.error());
  };
  EXPECT_EQ(way(), "exchange: chosen,");
  options.partition = mpi::Partition::apart;
  EXPECT_EQ(way(), "exchange by messages: chosen,");
  options.partition = mpi::Partition::one_node;
  options.own_buffers = true;
  EXPECT_EQ(way(), "exchange: chosen,");
  if (processes() < 3) return;
  const test::Blocks blocks(2);
  EXPECT_NE(way().find("do not all share memory"), std::string::npos);
  options.partition = mpi::Partition::nodes;
  EXPECT_EQ(way(), "exchange by messages: chosen,");
}

/// With every limit between nothing and enough: what is chosen keeps within it.
TEST(Addends, stay_within_any_limit) {
  const Program program = sums_of_all().front();
  const ElementType f32{};
  const Bytes wanted = simulated(program, f32);
  Options options{.element_type = f32};
  const auto least = Redistributor::make(MPI_COMM_WORLD, program, 4,
                                         {.memory_limit_bytes = Size{1}, .element_type = f32});
  ASSERT_FALSE(least);
  std::vector<std::string> ways;
  for (Size limit = 5608; limit < 4000000; limit += limit / 2) {
    for (const bool own : {false, true}) {
      options.memory_limit_bytes = limit;
      options.own_buffers = own;
      const auto made = Redistributor::make(MPI_COMM_WORLD, program, 4, options);
      if (!made) {
        EXPECT_EQ(made.error().code, Code::infeasible) << render(made.error());
        continue;
      }
      EXPECT_LE(made->peak_limit_bytes(), limit);
      EXPECT_LE(made->preparing_limit_bytes(), limit);
      ways.push_back(way_of(*made));
      move_twice(program, f32, options, wanted);
    }
  }
  // With little memory step by step, with more at once.
  ASSERT_FALSE(ways.empty());
  EXPECT_EQ(ways.back(), "exchange: chosen,");
  EXPECT_EQ(ways.front(), "exchange by steps: chosen,");
}

/// With the least memory every Program goes step by step.
TEST(Addends, steps_give_the_same_bytes) {
  std::vector<Program> all = programs_here(Addition::sum);
  for (const Program& program : programs_here(Addition::max)) all.push_back(program);
  Size by_steps = 0;
  for (const Program& program : all) {
    Options options{.memory_limit_bytes = 1, .element_type = ElementType{}};
    const auto refused = Redistributor::make(MPI_COMM_WORLD, program, 4, options);
    ASSERT_FALSE(refused);
    const std::string& message = refused.error().message;
    const std::string before = "the least that one of them needs is ";
    ASSERT_NE(message.find(before), std::string::npos) << message;
    options.memory_limit_bytes = std::stoll(message.substr(message.find(before) + before.size()));
    const auto made = Redistributor::make(MPI_COMM_WORLD, program, 4, options);
    ASSERT_TRUE(made) << render(made.error());
    by_steps += way_of(*made) == "exchange by steps: chosen," ? 1 : 0;
    move_twice(program, {}, options, simulated(program, {}));
  }
  EXPECT_EQ(by_steps, static_cast<Size>(all.size()));
}

TEST(Addends, large_tiles_arrive) {
  // Larger than the buffers, and no multiple of them.
  const std::string n = std::to_string(processes());
  const std::string piece = std::to_string((70 + processes() - 1) / processes());
  const Program program =
      test::parsed("retile.program/2\nmesh d:" + n + "\nfrom sum{d}[1001, 70]\nto [1001, 70]\n" +
                   "reducescatter dim=1 groups=[1," + n + "]<=[" + n + "] piece=" + piece +
                   "\nallgather dim=1 groups=[1," + n + "]<=[" + n + "]\n");
  const ElementType f64{ElementKind::floating, 8};
  const Bytes wanted = simulated(program, f64);
  move_twice(program, f64, {}, wanted);
  move_twice(program, f64, {.chunk_bytes = 5000, .own_buffers = true}, wanted);
  const ElementType i16{ElementKind::signed_integer, 2};
  move_twice(program, i16, {.chunk_bytes = 5000, .strategy = Strategy::collectives},
             simulated(program, i16));
}

// ---- Runs -------------------------------------------------------------------------------------------

class AddendRuns : public testing::Test {
 protected:
  AddendRuns() : environment_(mpi::Environment::start(nullptr, nullptr)) {}
  [[nodiscard]] Result<run::Report> run(const Program& program, const ElementType& type,
                                        Strategy strategy) const {
    const Processes& job = environment_->processes();
    const run::RunOptions data{.type = type, .repetitions = 2};
    const auto source = run::open_source(job, program, data);
    if (!source) return tl::unexpected(source.error());
    const auto executor =
        mpi::make_executor(job, program, type.bytes, {.strategy = strategy, .element_type = type});
    if (!executor) return tl::unexpected(executor.error());
    auto report = run::run(**executor, program, *source, data);
    EXPECT_TRUE(test::same_everywhere(test::outcome_text(report)));
    return report;
  }

  Result<mpi::Environment> environment_;
};

TEST_F(AddendRuns, compare_every_element) {
  for (const auto& [addition, program, type] : samples()) {
    for (const Strategy strategy : {Strategy::exchange, Strategy::collectives}) {
      if (strategy == Strategy::collectives && has_exchange(program)) continue;
      const auto report = run(program, type, strategy);
      ASSERT_TRUE(report) << render(report.error());
      EXPECT_TRUE(report->right) << name_of(addition) << " of elements of " << type.bytes;
      EXPECT_LE(report->peak_bytes_per_process, report->peak_limit_bytes);
      Size elements = 0;
      for (Size d = 0; d < program.devices; ++d) elements += program.to.tile_size(d);
      EXPECT_EQ(report->elements_checked, elements);
    }
  }
}

TEST_F(AddendRuns, see_a_reduction_that_was_left_out) {
  const std::string n = std::to_string(processes());
  const std::string head = "retile.program/2\nmesh d:" + n + "\nfrom sum{d}[5]\nto [5]\n";
  for (const ElementType& type : {ElementType{}, ElementType{ElementKind::unsigned_integer, 1}}) {
    const auto report = run(test::parsed(head), type, Strategy::automatic);
    ASSERT_TRUE(report) << render(report.error());
    EXPECT_EQ(report->right, processes() == 1);
  }
}

TEST_F(AddendRuns, see_one_addend_that_changed) {
  // The addends of the target are where they were, but those of devices 0 and 1 are device 1's.
  if (processes() < 2) return;
  const std::string n = std::to_string(processes());
  std::string transfers = "[0,1,0,0,5]";
  for (int d = 1; d < processes(); ++d) {
    transfers += ",[" + std::to_string(d) + "," + std::to_string(d) + ",0,0,5]";
  }
  const auto report = run(test::parsed("retile.program/2\nmesh d:" + n +
                                       "\nfrom sum{d}[5]\nto sum{d}[5]\nexchange transfers=[" +
                                       transfers + "] tile=[5]\n"),
                          {}, Strategy::automatic);
  ASSERT_TRUE(report) << render(report.error());
  EXPECT_FALSE(report->right);
  EXPECT_EQ(report->mismatch, (run::Mismatch{.device = 0, .local_index = 0}));
}

TEST_F(AddendRuns, see_a_replica_that_differs) {
  if (processes() != 4) return;
  // Device 1 must hold what device 0 does, but has its last element twice and its first one never.
  const auto report =
      run(test::parsed("retile.program/2\nmesh x:2,y:2\nfrom sum{x}[5]\nto sum{x}[5]\n"
                       "exchange transfers=[[0,0,0,0,5],[1,1,0,1,4],[1,1,4,4,1],[2,2,0,0,5],"
                       "[3,3,0,0,5]] tile=[5]\n"),
          {}, Strategy::automatic);
  ASSERT_TRUE(report) << render(report.error());
  EXPECT_FALSE(report->right);
  EXPECT_EQ(report->mismatch, (run::Mismatch{.device = 1, .local_index = 0}));
}

// ---- Refusals ---------------------------------------------------------------------------------------

std::string refused(const Program& program, Size element_bytes, const Options& options) {
  const auto made = Redistributor::make(MPI_COMM_WORLD, program, element_bytes, options);
  const std::string text = test::outcome_text(made);
  EXPECT_TRUE(test::same_everywhere(text));
  return text;
}

TEST(AddendRefusals, are_the_same_on_all_processes) {
  const std::string n = std::to_string(processes());
  const std::string head = "retile.program/2\nmesh d:" + n + "\n";
  const Program sums = test::parsed(head + "from sum{d}[4]\nto sum{d}[4]\n");
  const Program maxima = test::parsed(head + "from max{d}[4]\nto max{d}[4]\n");
  if (processes() == 1) return;  // then there is one addend
  const ElementType f32{};
  using testing::HasSubstr;
  EXPECT_THAT(refused(sums, 4, {}), HasSubstr("elements of a known type"));
  EXPECT_THAT(refused(sums, 8, {.element_type = f32}), HasSubstr("another size"));
  EXPECT_THAT(refused(maxima, 8, {.element_type = ElementType{ElementKind::complex, 8}}),
              HasSubstr("complex numbers have no max"));
  EXPECT_THAT(
      refused(sums, 4, {.strategy = Strategy::in_place, .own_buffers = true, .element_type = f32}),
      HasSubstr("is not run in place"));
  EXPECT_THAT(refused(sums, 4, {.memory_limit_bytes = 20, .element_type = f32}),
              HasSubstr("no way to run the Program within 20 bytes"));
  const ElementType other{test::is_last() ? ElementKind::signed_integer : ElementKind::floating, 4};
  EXPECT_THAT(refused(sums, 4, {.element_type = other}),
              HasSubstr("different options (element_type)"));
}

TEST(AddendRefusals, exchanges_are_not_run_by_collectives) {
  for (const Program& program : programs_here(Addition::sum)) {
    if (!has_exchange(program)) continue;
    EXPECT_THAT(
        refused(program, 4, {.strategy = Strategy::collectives, .element_type = ElementType{}}),
        testing::HasSubstr("(exchange) is not run by the collectives"));
  }
}

}  // namespace
}  // namespace retile
