// Both sides of every transfer find it by themselves, and all of them together are the exchange.
#include "retile/exec/exchange/routes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "exec/exchange/problems.h"
#include "retile/notation/paper/problem.h"
#include "support/random_layouts.h"
#include "support/samples.h"

namespace retile::test::routes_test {
namespace {

using Rows = std::vector<std::vector<Size>>;

/// What all devices receive from others, or send to others; sorted.
Rows received(const Routes& routes, Size devices) {
  Rows out;
  for (Size d = 0; d < devices; ++d) {
    routes.received(d, [&](const Transfer& transfer) {
      if (transfer.source != transfer.target) out.push_back(row_of(transfer));
    });
  }
  std::sort(out.begin(), out.end());
  return out;
}

Rows sent(const Routes& routes, Size devices) {
  Rows out;
  for (Size d = 0; d < devices; ++d) {
    routes.sent(d, [&](const Transfer& transfer) { out.push_back(row_of(transfer)); });
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool overlap(const Box& a, const Box& b) {
  for (std::size_t k = 0; k < a.at.size(); ++k) {
    if (a.at[k] + a.extent[k] <= b.at[k] || b.at[k] + b.extent[k] <= a.at[k]) return false;
  }
  return true;
}

/// What is wrong with what one device receives; empty if nothing is.
std::string fault_of(const Routes& routes, const Layout& from, const Layout& to, Size device) {
  const Box mine = to.box(device);
  Size count = 0;
  Size elements = 0;
  Shape last;
  std::string fault;
  routes.received(device, [&](const Transfer& transfer) {
    ++count;
    elements += checked_product(transfer.shape).value();
    if (!last.empty() && !(last < transfer.target_start)) fault = "not in C order";
    last = transfer.target_start;
    if (transfer.source == device) return;
    Box box{transfer.target_start, transfer.shape};
    for (std::size_t k = 0; k < box.at.size(); ++k) box.at[k] += mine.at[k];
    if (overlap(box, from.box(device))) fault = "receives what it holds";
  });
  if (count != routes.boxes(device)) fault = "counts other boxes than it receives";
  if (elements != to.tile_size(device)) fault = "receives another number of elements";
  return fault;
}

/// The same of both ends.
std::string fault_of(const Layout& from, const Layout& to, Size node_devices = 1) {
  const Routes routes(from, to, node_devices);
  for (Size d = 0; d < from.devices(); ++d) {
    if (auto fault = fault_of(routes, from, to, d); !fault.empty()) {
      return "device " + std::to_string(d) + ": " + fault;
    }
  }
  const Rows all = received(routes, from.devices());
  if (all != sent(routes, from.devices())) return "targets and sources disagree";
  const Program program = direct(ends(from, to), {.node_devices = node_devices}).value();
  Rows whole;
  for (const Transfer& transfer : std::get<Exchange>(program.steps.front().op).transfers) {
    if (transfer.source != transfer.target) whole.push_back(row_of(transfer));
  }
  std::sort(whole.begin(), whole.end());
  if (all != whole && routes.keeps_to_nodes()) return "the exchange is another one";
  if (auto fault = fault_of_nodes(program, node_devices); !fault.empty()) return fault;
  return check(program).answer == Answer::right ? "" : "not right:\n" + to_text(program);
}

/// A layout by tile numbers, half of the time with the devices in another order.
Layout draw_layout(std::mt19937_64& random, Size devices, const Shape& global, bool halos) {
  while (true) {
    Layout out = support::random_layout(random, devices, global);
    if (out.is_listed() || !out.in_boxes() || (!halos && !out.halos().empty())) continue;
    Size factor = 1;
    for (Size n = 2; n < devices; ++n) {
      if (devices % n == 0 && random() % 2 == 0) factor = n;
    }
    if (random() % 2 == 0 || factor == 1) return out;
    IotaChain order(devices);
    order.append({{factor, devices / factor}, {1, 0}});
    return out.renamed(order);
  }
}

TEST(Routes, both_sides_find_the_same) {
  std::mt19937_64 random(1);
  Size ordered = 0;
  Size uneven = 0;
  Size moving = 0;
  Size nodes = 0;
  for (int n = 0; n < support::samples(6'000); ++n) {
    static const std::vector<Size> sizes = {1, 2, 3, 4, 6, 8, 12, 16, 18, 24, 30, 36};
    const Size devices = sizes[random() % sizes.size()];
    const Shape global = support::random_global(random, 3, 20);
    const Layout from = draw_layout(random, devices, global, false);
    const Layout to = draw_layout(random, devices, global, true);
    ASSERT_TRUE(Routes::knows(from, to));
    ASSERT_EQ(fault_of(from, to), "") << n;
    for (Size node = 2; node < devices; ++node) {
      if (devices % node != 0 || random() % 2 == 0) continue;
      ASSERT_EQ(fault_of(from, to, node), "") << n << ", nodes of " << node;
      nodes += Routes(from, to, node).keeps_to_nodes() ? 1 : 0;
    }
    ordered += from.is_compact() && to.is_compact() ? 0 : 1;
    uneven += from.is_even() && to.is_even() ? 0 : 1;
    moving += from.equivalent(to) ? 0 : 1;
  }
  std::cout << uneven << " uneven, " << ordered << " with devices in another order, " << moving
            << " that move something\n";
  EXPECT_GT(uneven, support::samples(4'000));
  EXPECT_GT(ordered, support::samples(500));
  EXPECT_GT(moving, support::samples(4'000));
  EXPECT_GT(nodes, support::samples(2'000));
}

TEST(Routes, every_pair_of_even_tilings) {
  Size pairs = 0;
  for (const auto& [axes, global] : {std::pair<Shape, Shape>{{2, 3}, {6, 6}},
                                     {{2, 2, 2}, {8, 8}},
                                     {{2, 2}, {4, 2, 4}},
                                     {{4, 3}, {12}}}) {
    const std::vector<Layout> maps = all_maps(axes, global);
    for (const Layout& from : maps) {
      for (const Layout& to : maps) {
        if (++pairs % 3 != 0 && support::instrumented) continue;
        ASSERT_EQ(fault_of(from, to), "");
        ASSERT_EQ(fault_of(from, to, axes.back()), "");
      }
    }
  }
  EXPECT_GT(pairs, 2'000);
}

TEST(Routes, an_array_of_rank_0_stays_where_it_is) {
  const auto map = Layout::compact(3, {}, {}, {}).value();
  EXPECT_EQ(fault_of(map, map), "");
}

TEST(Routes, holders_take_turns) {
  // Every old tile has R holders, and of those who get something of it, itself among them, each
  // holder has as many turns as another, or one more.
  std::mt19937_64 random(2);
  Size shared = 0;
  for (int n = 0; n < 500; ++n) {
    const Shape global = support::random_global(random, 2, 40);
    const auto blocks = [&] {
      const auto digits = support::random_digits(random, 24, global.size());
      std::vector<Cuts> cuts;
      for (std::size_t i = 0; i < global.size(); ++i) {
        const Size count = product_of(digits[i]);
        cuts.push_back(Cuts::blocks((global[i] + count - 1) / count, count, global[i]));
      }
      return Layout::numbered(24, cuts, digits).value();
    };
    const Layout from = blocks();
    const Layout to = blocks();
    std::map<Shape, std::map<Size, Size>> turns;  // by old tile and holder
    std::map<Shape, Size> needed;
    const Routes routes(from, to);
    for (Size d = 0; d < 24; ++d) {
      turns[from.numbers().numbers(d)][d] += 0;
      routes.received(d, [&](const Transfer& transfer) {
        const Shape tile = from.numbers().numbers(transfer.source);
        ++needed[tile];
        if (transfer.source != d) ++turns[tile][transfer.source];
      });
    }
    for (const auto& [tile, holders] : turns) {
      const auto count = static_cast<Size>(holders.size());
      const Size most = (needed[tile] + count - 1) / count;
      for (const auto& [holder, boxes] : holders) EXPECT_LE(boxes, most);
      shared += count > 1 && most > 1 ? 1 : 0;
    }
  }
  EXPECT_GT(shared, 300);
}

TEST(Routes, replicas_are_served_among_themselves_whatever_a_node_is) {
  // Of mesh axes that no end uses, or the target alone, every value keeps to itself.
  const std::string mesh = "dp:4,ep:2,tp:4";
  for (const auto& [from, to] : {std::pair{"[16{tp}64, 64]", "[64, 64]"},
                                 {"[16{tp}64, 64]", "[64, 16{tp}64]"},
                                 {"[17{tp}66, 64]", "[22~{tp}66, 64]"},
                                 {"[64, 8{ep,tp}64]", "[8{tp,ep}64, 64]"},
                                 {"[16{tp}64, 64]", "[64, 16{dp}64]"}}) {
    const Problem problem = parse_problem(mesh, from, to).value();
    const Routes routes(problem.from, problem.to);
    const std::string text = std::string(from) + " to " + to;
    Size moved = 0;
    for (Size d = 0; d < 32; ++d) {
      routes.received(d, [&](const Transfer& transfer) {
        moved += transfer.source == d ? 0 : 1;
        EXPECT_EQ(transfer.source / 8, d / 8) << text;
      });
    }
    EXPECT_GT(moved, 0);
  }
}

TEST(Routes, a_tile_on_every_node_does_not_cross_though_one_holder_sends_more) {
  // Device (x, y) holds the rows of y and needs those of x, which (x, x) has: the other holders could
  // take turns if it did not matter how far they are.
  const Problem problem = parse_problem("x:4,y:4", "[16{y}64, 64]", "[16{x}64, 64]").value();
  for (const Size node : {1, 4}) {
    const Routes routes(problem.from, problem.to, node);
    std::map<Size, Size> sent;
    Size crossed = 0;
    for (Size d = 0; d < 16; ++d) {
      routes.sent(d, [&](const Transfer& transfer) {
        ++sent[d];
        crossed += transfer.target / 4 == d / 4 ? 0 : 1;
      });
    }
    EXPECT_EQ(sent.size(), node == 1 ? 12U : 4U);
    EXPECT_EQ(crossed, node == 1 ? 12 : 0);
  }
}

TEST(Routes, holders_on_other_nodes_take_turns) {
  // Quarters by x and a become halves by w. Who is in another node than x says gets it from devices of
  // either w, though its own w is that of all who need the tile.
  const Problem problem = parse_problem("x:2,w:2,a:2,y:2", "[2{a,x}8, 4]", "[4{w}8, 4]").value();
  const Routes routes(problem.from, problem.to, 4);
  std::map<Size, Size> sent;  // by holder, to other nodes
  for (Size d = 0; d < 16; ++d) {
    routes.sent(d, [&](const Transfer& transfer) {
      if (transfer.target / 4 != d / 4) ++sent[d];
    });
  }
  EXPECT_EQ(sent.size(), 16U);
}

TEST(Routes, one_of_a_million_devices_looks_at_its_own_boxes_only) {
  const Problem problem =
      parse_problem("x:1048576", "[1{x}1048576, 1048576]", "[1048576, 1{x}1048576]").value();
  const Routes routes(problem.from, problem.to);
  EXPECT_EQ(routes.boxes(12'345), 1'048'576);
  Size received = 0;
  Size sources = 0;
  routes.received(12'345, [&](const Transfer& transfer) {
    ++received;
    sources += transfer.source;
  });
  Size sent = 0;
  Size targets = 0;
  routes.sent(12'345, [&](const Transfer& transfer) {
    ++sent;
    targets += transfer.target;
  });
  EXPECT_EQ(received, 1'048'576);
  EXPECT_EQ(sent, 1'048'575);
  EXPECT_EQ(sources, targets + 12'345);
}

/// What is wrong with what one device receives of an exchange too large to be made, and with what one of
/// its sources sends to it; empty if nothing is.
std::string fault_of_one(const Layout& from, const Layout& to, Size device) {
  const Routes routes(from, to);
  if (auto fault = fault_of(routes, from, to, device); !fault.empty()) return fault;
  const Box mine = to.box(device);
  std::string fault;
  Size source = device;  // the last of its sources
  routes.received(device, [&](const Transfer& transfer) {
    if (transfer.source != device) source = transfer.source;
    const Box old = from.box(transfer.source);
    for (std::size_t k = 0; k < old.at.size(); ++k) {
      if (old.at[k] + transfer.source_start[k] != mine.at[k] + transfer.target_start[k] ||
          transfer.source_start[k] + transfer.shape[k] > old.extent[k]) {
        fault = "received from who does not hold it";
      }
    }
  });
  if (source == device) return "nothing comes from others";
  Rows expected;
  routes.received(device, [&](const Transfer& transfer) {
    if (transfer.source == source) expected.push_back(row_of(transfer));
  });
  Rows got;
  routes.sent(source, [&](const Transfer& transfer) {
    if (transfer.target == device) got.push_back(row_of(transfer));
  });
  return got == expected ? fault : "target and source disagree";
}

TEST(Routes, more_boxes_along_a_dimension_than_a_table_holds) {
  // Both rows of the second half of the columns are put together, a column of a row at a time, and
  // the other way round.
  const Problem gathered =
      parse_problem("x:5000,y:2,z:2", "[1{y}2, 1{x,z}10000]", "[2, 5000{z}10000]").value();
  const Size device = 3 * 4 + 2 + 1;  // x 3, y 1, z 1
  EXPECT_EQ(fault_of_one(gathered.from, gathered.to, device), "");
  const Problem spread =
      parse_problem("x:5000,y:2,z:2", "[2, 5000{z}10000]", "[1{y}2, 1{x,z}10000]").value();
  const Routes routes(spread.from, spread.to);
  EXPECT_EQ(received(routes, 20'000), sent(routes, 20'000));
  const Problem columns = parse_problem("x:2,y:5000", "[2{x}4, 5000]", "[4, 1{y}5000]").value();
  EXPECT_EQ(fault_of_one(columns.from, columns.to, 7), "");
  // They are made in passing: no table of them is held.
  EXPECT_LT(Routes(gathered.from, gathered.to).table_bytes(device), 4'096);
  EXPECT_GT(Routes(columns.to, columns.from).table_bytes(7), 0);
}

TEST(Routes, many_listed_tiles_of_which_some_are_empty) {
  constexpr Size tiles = 6'000;
  std::vector<Size> at(tiles + 1);
  for (Size t = 0; t <= tiles; ++t)
    at[static_cast<std::size_t>(t)] = t - t / 3;  // every third is empty
  const Size global = at.back();
  const auto from = Layout::numbered(tiles, {Cuts::listed(at)}, {{{1, tiles}}}).value();
  const auto to = Layout::numbered(tiles, {Cuts::even(global, 1)}, {{}}).value();
  EXPECT_EQ(fault_of_one(from, to, 4'321), "");
}

TEST(Routes, does_not_know_lists_halos_at_the_start_and_addends) {
  const auto even = Layout::compact(2, {4}, {2}, {{{1, 2}}}).value();
  const auto listed = Layout::listed(2, {4}, {2}, {0, 2}).value();
  const auto halo = Layout::numbered(2, {Cuts::even(2, 2)}, {{{1, 2}}}, {{1, 0}}).value();
  const auto sum = Layout::compact(2, {4}, {4}, {{}}).value().with_addends(Addition::sum, {{1, 2}});
  EXPECT_TRUE(Routes::knows(even, even));
  EXPECT_TRUE(Routes::knows(even, halo));
  EXPECT_FALSE(Routes::knows(halo, even));
  EXPECT_FALSE(Routes::knows(listed, even));
  EXPECT_FALSE(Routes::knows(even, listed));
  EXPECT_FALSE(Routes::knows(sum.value(), even));
}

}  // namespace
}  // namespace retile::test::routes_test
