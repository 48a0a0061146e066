// Processes on several nodes: those that MPI sees, and blocks of processes that are taken for nodes
// (blocks.h). nodes_test.py runs this on two nodes and over TCP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "exec/allocations.h"
#include "exec/mpi/blocks.h"
#include "exec/mpi/redistributing.h"
#include "retile/exec/mpi/redistribute.h"

namespace retile {
namespace {

using mpi::Options;
using mpi::Partition;
using mpi::Redistributor;
using mpi::Strategy;
using mpi::WrongBuffers;
using test::Bytes;
using test::pattern_tile;
using test::process;
using test::processes;

int sends_begun = 0;
std::array<int, 256> sent_to;  // the last ones, by their number
int polls_begun = 0;
Size gathered_from_others = 0;  // bytes that MPI gathered from processes of other nodes
Size node_processes = 1;        // that are taken for a node

/// For every process the first one that it shares memory with, in blocks of so many.
std::vector<int> nodes_of(MPI_Comm comm, Size block_processes = 0) {
  MPI_Comm shared = MPI_COMM_NULL;
  PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &shared);
  const Size one = test::processes_of(comm);
  const Size block = test::process_of(comm) / (block_processes == 0 ? one : block_processes);
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split(shared, static_cast<int>(block), 0, &node);
  int first = test::process_of(comm);
  MPI_Bcast(&first, 1, MPI_INT, 0, node);
  std::vector<int> out(static_cast<std::size_t>(one));
  MPI_Allgather(&first, 1, MPI_INT, out.data(), 1, MPI_INT, comm);
  MPI_Comm_free(&node);
  MPI_Comm_free(&shared);
  return out;
}

/// How many processes are on each node, in order.
std::vector<int> sizes_of(const std::vector<int>& nodes) {
  std::vector<int> sizes(nodes.size(), 0);
  for (const int first : nodes) ++sizes[static_cast<std::size_t>(first)];
  sizes.erase(std::remove(sizes.begin(), sizes.end(), 0), sizes.end());
  return sizes;
}

bool one_node(const std::vector<int>& nodes) { return sizes_of(nodes).size() == 1; }

/// Sizes of blocks that make different nodes.
std::vector<Size> block_sizes() {
  std::vector<Size> out;
  for (const Size block : {0, 1, 2, 3}) {
    if (block <= 1 || block < processes()) out.push_back(block);
  }
  return out;
}

Program gather() {
  const std::string whole = std::to_string(3 * processes());
  return test::with_processes("[5, 3{d}" + whole + "]", "[5, " + whole + "]", "allgather dim=1");
}

/// Everybody has everything and gets every piece from somebody drawn by chance, some from itself.
Program random_exchange(std::uint64_t seed, Size rows) {
  std::mt19937_64 random(seed);
  const Size columns = 7;
  Program program;
  program.devices = processes();
  const std::vector<Size> at(static_cast<std::size_t>(2 * processes()), 0);
  program.from = Layout::listed(processes(), {rows, columns}, {rows, columns}, at).value();
  program.to = program.from;
  Exchange exchange;
  for (Size target = 0; target < processes(); ++target) {
    for (Size row = 0; row < rows; ++row) {
      const Size cut = 1 + static_cast<Size>(random() % 6);
      for (const auto& [begin, end] : {std::pair(Size{0}, cut), std::pair(cut, columns)}) {
        const auto source = static_cast<Size>(random() % static_cast<std::uint64_t>(processes()));
        exchange.transfers.push_back({.target = target,
                                      .source = source,
                                      .target_start = {row, begin},
                                      .source_start = {row, begin},
                                      .shape = {1, end - begin}});
      }
    }
  }
  program.steps = {{exchange, {.tile = program.to.tile(), .map = {}, .at = {}}}};
  return program;
}

/// Some process gets something from another one of its node.
bool shares(const Program& program, const std::vector<int>& nodes) {
  const auto* const exchange = std::get_if<Exchange>(&program.steps.front().op);
  if (exchange == nullptr) return sizes_of(nodes).size() < nodes.size();  // all to all
  return std::any_of(exchange->transfers.begin(), exchange->transfers.end(),
                     [&](const Transfer& transfer) {
                       return transfer.source != transfer.target &&
                              nodes[static_cast<std::size_t>(transfer.source)] ==
                                  nodes[static_cast<std::size_t>(transfer.target)];
                     });
}

/// Makes what the options ask for, moves twice and looks at every element.
Redistributor moved(const Program& program, Size element_bytes, const Options& options) {
  auto made = Redistributor::make(MPI_COMM_WORLD, program, element_bytes, options);
  if (!made) {
    ADD_FAILURE() << render(made.error());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  const Bytes in = pattern_tile(program.from, process(), element_bytes);
  Bytes own(options.own_buffers ? 0 : static_cast<std::size_t>(made->out_bytes()));
  const auto out = options.own_buffers ? made->output() : std::span<std::byte>(own);
  for (int time = 0; time < 2; ++time) {
    std::fill(out.begin(), out.end(), std::byte{0xee});
    if (options.own_buffers) std::copy(in.begin(), in.end(), made->input().begin());
    const auto done = options.own_buffers ? made->run() : made->run(in, out);
    EXPECT_TRUE(done) << render(done.error());
    EXPECT_EQ(find_pattern_mismatch(program.to, process(), element_bytes, out), std::nullopt);
    if (options.own_buffers && made->strategy() != Strategy::in_place) {
      EXPECT_TRUE(std::equal(in.begin(), in.end(), made->input().begin()));
    }
  }
  EXPECT_LE(made->peak_bytes(), made->peak_limit_bytes());
  return std::move(*made);
}

TEST(Nodes, are_those_that_were_started) {
  const char* const started = std::getenv("RETILE_TEST_NODES");
  const std::string wanted = started != nullptr ? started : std::to_string(processes());
  std::string seen;
  for (const int size : sizes_of(nodes_of(MPI_COMM_WORLD))) {
    seen += (seen.empty() ? "" : ",") + std::to_string(size);
  }
  EXPECT_EQ(seen, wanted);
}

TEST(Nodes, every_strategy_brings_every_element_to_its_place) {
  std::vector<Program> programs{test::rows_to_columns(6, 6), gather()};
  for (std::uint64_t seed = 0; seed < 2; ++seed) programs.push_back(random_exchange(seed, 9));
  for (const auto& named : test::right_programs()) {
    Program program = test::parsed(named.text);
    if (program.devices == processes()) programs.push_back(std::move(program));
  }
  int mixed_with_both = 0;
  for (const Size block : block_sizes()) {
    const test::Blocks blocks(block);
    const auto nodes = nodes_of(MPI_COMM_WORLD, block);
    for (std::size_t k = 0; k < programs.size(); ++k) {
      const Size element_bytes = test::element_sizes[k % 5];
      for (Options options :
           {Options{}, Options{.strategy = Strategy::collectives}, test::by_messages(),
            test::on_one_node(), test::over_nodes(), Options{.strategy = Strategy::in_place}}) {
        const Strategy strategy = options.strategy;
        const bool by_steps = strategy == Strategy::collectives || strategy == Strategy::in_place;
        const bool mixed = strategy == Strategy::exchange && options.partition == Partition::nodes;
        const bool together = one_node(nodes);
        const bool on_one =
            strategy == Strategy::in_place || options.partition == Partition::one_node;
        if (!together && on_one) continue;
        const bool given = !programs[k].steps.empty() &&
                           std::holds_alternative<Exchange>(programs[k].steps.front().op);
        if (given && by_steps) continue;  // an exchange has none
        for (const bool own : {false, true}) {
          if (strategy == Strategy::in_place && !own) continue;
          // What is not mixed is tested with all sizes elsewhere.
          for (const Size chunk : {Size{1000}, Size{1}, Size{8} << 20}) {
            if (chunk != 1000 && !mixed) continue;
            SCOPED_TRACE(std::string(strategy_name(strategy)) + ", program " + std::to_string(k) +
                         ", blocks of " + std::to_string(block) + ", chunks of " +
                         std::to_string(chunk));
            options.chunk_bytes = chunk;
            options.own_buffers = own;
            options.wrong_buffers = k % 2 == 0 ? WrongBuffers::refused : WrongBuffers::end_job;
            const auto done = moved(programs[k], element_bytes, options);
            if (strategy != Strategy::automatic) {
              EXPECT_EQ(done.strategy(), strategy);
            }
            if (mixed && !together && k < 2 && shares(programs[k], nodes)) ++mixed_with_both;
          }
        }
      }
    }
  }
  EXPECT_EQ(mixed_with_both > 0, processes() > 2);
}

TEST(Nodes, automatic_takes_messages_alone_only_where_nothing_stays_on_a_node) {
  for (const Size block : block_sizes()) {
    const test::Blocks blocks(block);
    const auto nodes = nodes_of(MPI_COMM_WORLD, block);
    for (const Program& program :
         {test::rows_to_columns(6, 6), random_exchange(1, 1), random_exchange(2, 1)}) {
      const auto made = Redistributor::make(MPI_COMM_WORLD, program, 4);
      ASSERT_TRUE(made) << render(made.error());
      EXPECT_EQ(made->strategy(), Strategy::exchange);
      const bool in_memory = one_node(nodes) || shares(program, nodes);
      const char* const chosen = in_memory ? "exchange: chosen" : "exchange by messages: chosen";
      EXPECT_THAT(made->reasons(), testing::ElementsAre(testing::StartsWith(chosen)));
      EXPECT_TRUE(test::same_everywhere(made->reasons().back()));
    }
  }
}

TEST(Nodes, one_node_and_in_place_are_refused_on_several) {
  for (const Size block : block_sizes()) {
    const test::Blocks blocks(block);
    if (one_node(nodes_of(MPI_COMM_WORLD, block))) continue;
    for (const Options& options : {test::on_one_node({.own_buffers = true}),
                                   Options{.strategy = Strategy::in_place, .own_buffers = true}}) {
      const auto made =
          Redistributor::make(MPI_COMM_WORLD, test::rows_to_columns(6, 6), 4, options);
      ASSERT_FALSE(made);
      EXPECT_EQ(made.error().code, Code::unsupported);
      EXPECT_THAT(made.error().message, testing::HasSubstr("do not all share memory"));
    }
  }
}

TEST(Nodes, over_nodes_it_receives_what_messages_bring_and_allocates_nothing_again) {
  for (const Size block : block_sizes()) {
    const test::Blocks blocks(block);
    const Program program = random_exchange(7, 20);
    for (const bool own : {false, true}) {
      auto messages = moved(program, 8, test::by_messages({.own_buffers = own}));
      auto mixed = moved(program, 8, test::over_nodes({.own_buffers = own}));
      EXPECT_EQ(mixed.received_bytes(), messages.received_bytes());
      const Bytes in = pattern_tile(program.from, process(), 8);
      Bytes out(in.size());
      const Size peak = mixed.peak_bytes();
      const std::size_t before = test::allocations();
      bool good = true;
      for (int time = 0; time < 5; ++time) {
        good = good && (own ? mixed.run() : mixed.run(in, out)).has_value();
      }
      EXPECT_EQ(test::allocations(), before);
      EXPECT_TRUE(good);
      EXPECT_EQ(mixed.peak_bytes(), peak);
    }
  }
}

TEST(Nodes, nobody_asks_for_wrong_buffers_where_they_end_the_job) {
  // Some get nothing from others: one row comes from two processes at most.
  const Program program = random_exchange(2, 1);
  for (const Size block : block_sizes()) {
    const test::Blocks blocks(block);
    for (Options options : {test::by_messages(), test::over_nodes()}) {
      for (const WrongBuffers wrong : {WrongBuffers::refused, WrongBuffers::end_job}) {
        options.wrong_buffers = wrong;
        const int before = polls_begun;
        static_cast<void>(moved(program, 8, options));
        const int polls = (polls_begun - before) / 2;  // it moves twice
        if (wrong == WrongBuffers::end_job) {
          EXPECT_EQ(polls, 0);
        } else if (processes() > 3 && options.partition == Partition::apart) {
          EXPECT_EQ(polls, 1);
        }
      }
    }
  }
}

TEST(Nodes, everyone_sends_to_all_others_before_it_sends_to_one_again) {
  // 6 rows of 48 bytes go to each, two in a message.
  const Program program = test::rows_to_columns(6, 6);
  auto made = moved(program, 8, test::by_messages({.message_bytes = 100}));
  const Bytes in = pattern_tile(program.from, process(), 8);
  Bytes out(static_cast<std::size_t>(made.out_bytes()));
  const int before = sends_begun;
  EXPECT_TRUE(made.run(in, out));
  const int others = static_cast<int>(processes()) - 1;
  ASSERT_EQ(sends_begun - before, 3 * others);
  for (int number = 0; number < std::min(3 * others, static_cast<int>(sent_to.size())); ++number) {
    const auto at = static_cast<std::size_t>(before + number) % sent_to.size();
    EXPECT_EQ(sent_to[at], (process() + 1 + number % others) % processes());
  }
}

TEST(Nodes, what_lies_together_on_both_ends_goes_in_one_message) {
  const std::string all = std::to_string(12 * processes());
  const Program whole =
      test::with_processes("[12{d}" + all + "]", "[" + all + "]", "allgather dim=0");
  // The rows lie together in the tile before only.
  const std::string rows = "12{d}" + all;
  const Program columns =
      test::with_processes("[3, " + rows + "]", "[3, " + all + "]", "allgather dim=1");
  const int others = static_cast<int>(processes()) - 1;
  const auto sends = [&](const Program& program, const Options& options) {
    const int before = sends_begun;
    static_cast<void>(moved(program, 8, test::by_messages(options)));
    return (sends_begun - before) / 2;  // it moves twice
  };
  EXPECT_EQ(sends(whole, {.chunk_bytes = 512}), others);
  EXPECT_EQ(sends(whole, {.chunk_bytes = 512, .message_bytes = 48}), 2 * others);
  EXPECT_EQ(sends(columns, {.chunk_bytes = 512}), 9 * others);
}

TEST(Nodes, only_what_crosses_nodes_is_sent) {
  if (processes() != 4) GTEST_SKIP() << "only two nodes of two processes are counted";
  const test::Blocks blocks(2);
  if (sizes_of(nodes_of(MPI_COMM_WORLD, 2)) != std::vector<int>{2, 2}) {
    GTEST_SKIP() << "not two nodes of two processes";
  }
  const Program program = test::rows_to_columns(6, 6);
  auto made = moved(program, 8, test::over_nodes());
  const Bytes in = pattern_tile(program.from, process(), 8);
  Bytes out(static_cast<std::size_t>(made.out_bytes()));
  const int before = sends_begun;
  EXPECT_TRUE(made.run(in, out));
  EXPECT_EQ(sends_begun - before, 2);  // one to each process of the other node
}

TEST(Nodes, what_is_gathered_enters_a_node_once) {
  for (const Size block : {2, 3, 4}) {
    const auto nodes = nodes_of(MPI_COMM_WORLD, block);
    const auto sizes = sizes_of(nodes);
    const auto has_block = [&](int size) { return size == block; };
    if (one_node(nodes) || !std::all_of(sizes.begin(), sizes.end(), has_block)) continue;
    const test::Blocks blocks(block);
    node_processes = block;
    const Program program = gather();  // 15 elements from everyone
    auto made = moved(program, 4, {.chunk_bytes = 200, .strategy = Strategy::collectives});
    const Bytes in = pattern_tile(program.from, process(), 4);
    Bytes out(static_cast<std::size_t>(made.out_bytes()));
    gathered_from_others = 0;
    EXPECT_TRUE(made.run(in, out));
    long of_node = gathered_from_others;
    MPI_Allreduce(MPI_IN_PLACE, &of_node, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_EQ(of_node, static_cast<long>(sizes.size()) * (processes() - block) * 60) << block;
  }
}

TEST(Nodes, over_nodes_wrong_buffers_are_refused_on_all_and_the_next_run_is_right) {
  for (const Size block : block_sizes()) {
    const test::Blocks blocks(block);
    for (const Program& program :
         {test::rows_to_columns(6, 6), random_exchange(11, 1), random_exchange(12, 40)}) {
      auto made = Redistributor::make(MPI_COMM_WORLD, program, 4, test::over_nodes());
      ASSERT_TRUE(made) << render(made.error());
      const Bytes in = pattern_tile(program.from, process(), 4);
      for (int wrong = 0; wrong < processes(); ++wrong) {
        const bool mine = process() == wrong;
        Bytes out(static_cast<std::size_t>(made->out_bytes()));
        const auto refused = made->run(std::span(in).first(in.size() - (mine ? 4 : 0)), out);
        ASSERT_FALSE(refused) << wrong;
        EXPECT_EQ(refused.error().code, Code::bad_argument);
        if (processes() > 1) {
          EXPECT_THAT(render(refused.error()),
                      testing::HasSubstr("found by process " + std::to_string(wrong)));
        }
        ASSERT_TRUE(made->run(in, out));
        EXPECT_EQ(find_pattern_mismatch(program.to, process(), 4, out), std::nullopt);
      }
    }
  }
}

TEST(Nodes, it_stays_within_its_bound_with_many_small_boxes_and_shrinks_to_a_limit) {
  const Program program = random_exchange(3, 200);
  for (const Size block : block_sizes()) {
    const test::Blocks blocks(block);
    // moved() holds what was counted against the limit.
    static_cast<void>(moved(random_exchange(4, 2000), 4, test::over_nodes()));
    for (const bool own : {false, true}) {
      // On one node there are no messages, and with own buffers no slots that could shrink.
      if (one_node(nodes_of(MPI_COMM_WORLD, block))) continue;
      Options options = test::over_nodes({.own_buffers = own});
      const Size needs = moved(program, 4, options).peak_limit_bytes();
      // The slots of messages shrink; those in shared memory too, but they are whole pages.
      for (const Size less : {Size{1}, Size{5000}, Size{3} << 20}) {
        SCOPED_TRACE(less);
        options.memory_limit_bytes = needs - less;
        EXPECT_LE(moved(program, 4, options).peak_limit_bytes(), needs - less);
      }
      options.memory_limit_bytes = 1;
      const auto refused = Redistributor::make(MPI_COMM_WORLD, program, 4, options);
      ASSERT_FALSE(refused);
      EXPECT_EQ(refused.error().code, Code::infeasible);
    }
  }
}

TEST(Nodes, where_one_has_no_memory_for_messages_all_do_without) {
  const bool limited = test::is_last();
  const Program program = test::rows_to_columns(6, 6);
  int looked_at = 0;
  for (const Size block : block_sizes()) {
    const test::Blocks blocks(block);
    const auto nodes = nodes_of(MPI_COMM_WORLD, block);
    if (one_node(nodes) || !shares(program, nodes)) continue;
    ++looked_at;
    // Slots of messages have 8 MiB.
    if (limited) test::fail_from(std::size_t{1} << 20);
    auto made = Redistributor::make(MPI_COMM_WORLD, program, 4);
    test::fail_from(0);
    ASSERT_TRUE(made) << render(made.error());
    EXPECT_EQ(made->strategy(), Strategy::collectives);
    EXPECT_THAT(made->reasons(), testing::Contains(testing::StartsWith("exchange: out of memory")));
    Bytes out(static_cast<std::size_t>(made->out_bytes()));
    ASSERT_TRUE(made->run(pattern_tile(program.from, process(), 4), out));
    EXPECT_EQ(find_pattern_mismatch(program.to, process(), 4, out), std::nullopt);
    EXPECT_LE(made->peak_bytes(), made->peak_limit_bytes());
    EXPECT_LT(made->peak_bytes(), Size{8} << 20);  // nothing is left of what others could get
  }
  if (looked_at == 0) GTEST_SKIP() << "no node of several processes beside another";
}

TEST(Nodes, where_one_node_cannot_share_all_take_messages_and_say_why) {
  const Program program = test::rows_to_columns(4096, 512);
  int looked_at = 0;
  for (const Size block : block_sizes()) {
    const test::Blocks blocks(block);
    const auto nodes = nodes_of(MPI_COMM_WORLD, block);
    if (one_node(nodes) || !shares(program, nodes)) continue;
    ++looked_at;
    auto made = [&] {
      const test::Limited limited(test::is_last(), RLIMIT_FSIZE, rlim_t{1} << 20);
      return Redistributor::make(MPI_COMM_WORLD, program, 1, {.own_buffers = true});
    }();
    ASSERT_TRUE(made) << render(made.error());
    EXPECT_THAT(made->reasons().back(), testing::StartsWith("exchange by messages: chosen"));
    EXPECT_THAT(made->reasons(),
                testing::Contains(testing::AllOf(
                    testing::StartsWith("exchange: "),
                    testing::HasSubstr("more than the limit of file sizes, 1048576 bytes"))));
    fill_pattern(program.from, process(), 1, made->input());
    ASSERT_TRUE(made->run());
    EXPECT_EQ(find_pattern_mismatch(program.to, process(), 1, made->output()), std::nullopt);
  }
  if (looked_at == 0) GTEST_SKIP() << "no node of several processes beside another";
}

TEST(Nodes, making_needs_no_more_than_it_says) {
  const std::vector<Program> programs{random_exchange(5, 2000), test::rows_to_columns(6, 6),
                                      gather()};
  for (const Program& program : programs) {
    for (const Size block : block_sizes()) {
      const test::Blocks blocks(block);
      for (Options options : {Options{}, test::over_nodes(), test::by_messages()}) {
        for (const bool own : {false, true}) {
          SCOPED_TRACE("partition " + std::to_string(static_cast<int>(options.partition)) +
                       ", blocks of " + std::to_string(block));
          options.own_buffers = own;
          const std::size_t before = test::allocated_bytes();
          test::forget_most_allocated();
          const auto made = Redistributor::make(MPI_COMM_WORLD, program, 1, options);
          const auto held = static_cast<Size>(test::most_allocated_bytes() - before);
          ASSERT_TRUE(made) << render(made.error());
          EXPECT_LE(held, made->preparing_limit_bytes());
          EXPECT_GE(made->preparing_limit_bytes(), made->peak_limit_bytes());
        }
      }
    }
  }
}

TEST(Nodes, making_stays_within_the_limit_whatever_way_it_leaves) {
  // From where nothing fits to where everything does: between them the exchange is made, and too
  // large for anything to be made of it.
  const Program program = test::rows_to_columns(6, 6);
  const Size tiles = program.from.tile_size() + program.to.tile_size();
  const auto free = Redistributor::make(MPI_COMM_WORLD, program, 1);
  ASSERT_TRUE(free) << render(free.error());
  std::set<Strategy> left;
  constexpr Size limits = 40;
  for (Size k = 0; k <= limits; ++k) {
    const Size limit = tiles + (free->preparing_limit_bytes() - tiles) * k / limits;
    const auto made =
        Redistributor::make(MPI_COMM_WORLD, program, 1, {.memory_limit_bytes = limit});
    if (!made) {
      EXPECT_EQ(made.error().code, Code::infeasible) << render(made.error());
      continue;
    }
    left.insert(made->strategy());
    EXPECT_LE(made->preparing_limit_bytes(), limit) << strategy_name(made->strategy());
    EXPECT_LE(made->peak_limit_bytes(), made->preparing_limit_bytes());
  }
  EXPECT_EQ(left.count(free->strategy()), 1U);
  // Of several nodes, messages may need less than the steps wherever there is an exchange.
  if (one_node(nodes_of(MPI_COMM_WORLD))) {
    EXPECT_EQ(left.count(Strategy::collectives), 1U);
  }
}

TEST(Nodes, an_exchange_that_does_not_fit_the_limit_is_not_made) {
  // Its tiles are small, and its descriptions are not.
  const Program program = random_exchange(5, 2000);
  const Size tiles = 2 * program.from.tile_size();
  const auto refused = [&](const Options& options, const char* why) {
    const std::size_t before = test::allocated_bytes();
    test::forget_most_allocated();
    const auto made = Redistributor::make(MPI_COMM_WORLD, program, 1, options);
    EXPECT_FALSE(made);
    if (!made) {
      EXPECT_THAT(render(made.error()), testing::HasSubstr(why));
    }
    return test::most_allocated_bytes() - before;
  };
  // Reading and comparing the Program itself is what everybody does.
  const std::size_t reading =
      refused({.strategy = Strategy::collectives}, "is not run by the collectives");
  for (Options options : {Options{}, test::by_messages(), test::over_nodes()}) {
    options.own_buffers = true;
    for (const Size room : {Size{1} << 14, Size{1} << 16, Size{1} << 18}) {
      options.memory_limit_bytes = tiles + room;
      EXPECT_LE(refused(options, ": needs at least "), reading + (std::size_t{1} << 16));
    }
  }
  // With room for it, it is made.
  const auto free = Redistributor::make(MPI_COMM_WORLD, program, 1, {.own_buffers = true});
  ASSERT_TRUE(free) << render(free.error());
  const auto again = Redistributor::make(
      MPI_COMM_WORLD, program, 1,
      {.own_buffers = true, .memory_limit_bytes = free->preparing_limit_bytes()});
  ASSERT_TRUE(again) << render(again.error());
  EXPECT_EQ(again->strategy(), free->strategy());
  EXPECT_LE(again->preparing_limit_bytes(), free->preparing_limit_bytes());
}

TEST(Nodes, an_exchange_that_stands_for_steps_is_made_within_what_a_refusal_names) {
  const Program program = test::rows_to_columns(6, 6);
  const Size tiles = program.from.tile_size() + program.to.tile_size();
  for (Options options : {test::by_messages(), test::over_nodes()}) {
    options.own_buffers = true;
    const auto made_within = [&](Size limit) {
      options.memory_limit_bytes = limit;
      return Redistributor::make(MPI_COMM_WORLD, program, 1, options);
    };
    const auto refused = made_within(tiles);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::infeasible);
    const std::string least = refused.error().notes.back();
    const std::string before_bytes = ": needs at least ";
    const std::size_t at = least.find(before_bytes);
    ASSERT_NE(at, std::string::npos) << least;
    const Size needed = std::stoll(least.substr(at + before_bytes.size()));
    EXPECT_FALSE(made_within(needed - 1));
    EXPECT_TRUE(made_within(needed));
  }
}

}  // namespace
}  // namespace retile

extern "C" int MPI_Isend(const void* bytes, int count, MPI_Datatype type, int target, int tag,
                         MPI_Comm comm, MPI_Request* request) {
  const auto number = static_cast<std::size_t>(retile::sends_begun++);
  retile::sent_to[number % retile::sent_to.size()] = target;
  return PMPI_Isend(bytes, count, type, target, tag, comm, request);
}

extern "C" int MPI_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type,
                              MPI_Op operation, MPI_Comm comm, MPI_Request* request) {
  ++retile::polls_begun;
  return PMPI_Iallreduce(send, receive, count, type, operation, comm, request);
}

namespace {

/// Counts what a process gets of others: so much of each member.
template <typename Bytes>
void count_gathered(MPI_Comm comm, const Bytes& bytes_of) {
  const int members = static_cast<int>(retile::test::processes_of(comm));
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  for (int member = 0; member < members; ++member) {
    int process = 0;
    MPI_Group_translate_ranks(group, 1, &member, all, &process);
    if (process / retile::node_processes != retile::test::process() / retile::node_processes) {
      retile::gathered_from_others += bytes_of(member);
    }
  }
  MPI_Group_free(&group);
  MPI_Group_free(&all);
}

}  // namespace

extern "C" int MPI_Allgather(const void* send, int count, MPI_Datatype type, void* receive,
                             int received, MPI_Datatype received_type, MPI_Comm comm) {
  int bytes = 0;
  MPI_Type_size(received_type, &bytes);
  count_gathered(comm, [&](int) { return retile::Size{received} * bytes; });
  return PMPI_Allgather(send, count, type, receive, received, received_type, comm);
}

extern "C" int MPI_Allgatherv(const void* send, int count, MPI_Datatype type, void* receive,
                              const int* counts, const int* offsets, MPI_Datatype received_type,
                              MPI_Comm comm) {
  int bytes = 0;
  MPI_Type_size(received_type, &bytes);
  count_gathered(comm, [&](int member) { return retile::Size{counts[member]} * bytes; });
  return PMPI_Allgatherv(send, count, type, receive, counts, offsets, received_type, comm);
}
