// An exchange in two: right, no more for anybody, and every element once into a domain.
#include "retile/network/two_exchanges.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "retile/check/check.h"
#include "retile/core/division.h"
#include "retile/core/index.h"
#include "retile/network/plan.h"
#include "retile/network/read.h"
#include "retile/program/forms/text.h"
#include "support/samples.h"

namespace retile::test::network_two_exchanges_test {
namespace {

network::Network nodes_of(Size node, Size devices) {
  return network::read_network(std::to_string(node) + ":100GB/s:1us, *:1GB/s:5us", "links", {},
                               devices)
      .value();
}

/// Boxes of an array of two dimensions on devices `first` and beyond: rows cut in `rows`, columns in `columns`,
/// each held by `replicas` devices, which follow each other or are `apart`.
struct Held {
  Size first, rows, columns, replicas;
  bool apart;
  [[nodiscard]] Size count() const { return rows * columns * replicas; }
};

Layout layout_of(const Held& held, Size devices, const Shape& global) {
  std::vector<Size> at(index(devices * 2), 0);
  std::vector<Size> extents(at.size(), 0);
  const Shape tile = {ceil_div(global[0], held.rows), ceil_div(global[1], held.columns)};
  const Size tiles = held.rows * held.columns;
  for (Size k = 0; k < held.count(); ++k) {
    const Size number = held.apart ? k % tiles : k / held.replicas;
    const std::array<Size, 2> numbers = {number / held.columns, number % held.columns};
    for (std::size_t d = 0; d < 2; ++d) {
      const Size begin = std::min(numbers.at(d) * tile[d], global[d]);
      const std::size_t place = index(held.first + k) * 2 + d;
      at[place] = begin;
      extents[place] = std::min(tile[d], global[d] - begin);
    }
  }
  return Layout::listed_boxes(devices, global, std::move(at), std::move(extents)).value();
}

Size volume(const Shape& shape) {
  Size out = 1;
  for (const Size n : shape) out *= n;
  return out;
}

/// By step and device, elements that come from others, and by domain, from other domains.
struct Received {
  std::map<Size, Size> by_device;
  std::map<Size, Size> by_domain;
};

Received received_of(const Program& program, Size domain) {
  Received out;
  for (const Step& step : program.steps) {
    for (const Transfer& transfer : std::get<Exchange>(step.op).transfers) {
      if (transfer.target == transfer.source) continue;
      out.by_device[transfer.target] += volume(transfer.shape);
      if (transfer.target / domain == transfer.source / domain) continue;
      out.by_domain[transfer.target / domain] += volume(transfer.shape);
    }
  }
  return out;
}

/// Of every domain, the elements of the different boxes with which its devices end.
std::map<Size, Size> needed_of(const Layout& to, Size domain) {
  std::map<std::tuple<Size, Shape, Shape>, Size> boxes;
  for (Size d = 0; d < to.devices(); ++d) {
    const Box box = to.box(d);
    if (!box.is_empty()) boxes[{d / domain, box.at, box.extent}] = volume(box.extent);
  }
  std::map<Size, Size> out;
  for (const auto& [key, elements] : boxes) out[std::get<0>(key)] += elements;
  return out;
}

TEST(TwoExchanges, a_box_enters_a_node_once) {
  const Shape global = {8, 6};
  const Problem problem = Problem::make(layout_of({0, 4, 1, 1, false}, 12, global),
                                        layout_of({4, 2, 1, 4, false}, 12, global))
                              .value();
  const auto made = network::two_exchanges(problem, nodes_of(4, 12), 1, {});
  ASSERT_TRUE(made);
  EXPECT_EQ(check(*made).answer, Answer::right);
  EXPECT_EQ(received_of(*made, 4).by_domain, (std::map<Size, Size>{{1, 24}, {2, 24}}));
  const auto planned = network::plan(problem, nodes_of(4, 12), {.element_bytes = Size{1} << 20});
  ASSERT_TRUE(planned);
  EXPECT_EQ(to_text(planned->program), to_text(*made));
  EXPECT_LT(3 * planned->time, planned->usual_time);
  // One latency more than one exchange is too much for few bytes.
  const auto small = network::plan(problem, nodes_of(4, 12), {.element_bytes = 1});
  ASSERT_TRUE(small);
  EXPECT_EQ(small->program.steps.size(), 1U);
}

TEST(TwoExchanges, a_memory_limit_is_kept) {
  // 24 elements of the first part's quarter and the whole: 6 + 24.
  const Shape global = {8, 6};
  const Problem problem = Problem::make(layout_of({0, 4, 1, 1, false}, 12, global),
                                        layout_of({4, 2, 1, 4, false}, 12, global))
                              .value();
  EXPECT_TRUE(network::two_exchanges(problem, nodes_of(4, 12), 1, 30));
  EXPECT_FALSE(network::two_exchanges(problem, nodes_of(4, 12), 1, 29));
}

TEST(TwoExchanges, none_where_nobody_shares) {
  const Shape global = {8, 6};
  const Layout from = layout_of({0, 4, 1, 1, false}, 12, global);
  const auto made = [&](const Held& to, const std::string& links) {
    const Problem problem = Problem::make(from, layout_of(to, 12, global)).value();
    const Mesh mesh = Mesh::make({{"o", 3}, {"i", 4}}).value();
    const auto network = network::read_network(links, "links", mesh, 12).value();
    return network::two_exchanges(problem, network, 1, {}).has_value();
  };
  const std::string inner = "i:100GB/s:1us,o:1GB/s:5us";
  EXPECT_TRUE(made({4, 2, 1, 4, false}, inner));
  EXPECT_FALSE(made({4, 8, 1, 1, false}, inner));
  EXPECT_FALSE(made({4, 2, 1, 2, true}, "2:100GB/s:1us,*:1GB/s:5us"));
  // Domains of devices that do not follow each other.
  EXPECT_FALSE(made({4, 2, 1, 4, false}, "o:100GB/s:1us,i:1GB/s:5us"));
}

TEST(TwoExchanges, random_ones_are_right_and_nobody_gets_more) {
  std::mt19937_64 random(5);
  const auto below = [&](Size n) {
    return static_cast<Size>(random() % static_cast<std::uint64_t>(n));
  };
  Size shared = 0;
  for (int round = 0; round < support::samples(2000); ++round) {
    const Size domain = 2 + below(4);
    const Held from = {0, 1 + below(3), 1 + below(2), 1 + below(2), below(2) == 0};
    const Size first = below(3) == 0 ? 0 : ceil_div(from.count(), domain) * domain;
    const Held to = {first, 1 + below(4), 1 + below(3), 1 + below(5), below(2) == 0};
    const Size devices = ceil_div(std::max(from.count(), first + to.count()), domain) * domain;
    const Shape global = {1 + below(9), 1 + below(9)};
    const Problem problem =
        Problem::make(layout_of(from, devices, global), layout_of(to, devices, global)).value();
    SCOPED_TRACE(std::to_string(round));
    const auto network = nodes_of(domain, devices);
    const auto made = network::two_exchanges(problem, network, 1, {});
    const auto planned = network::plan(problem, network, {.element_bytes = 1 + below(100000)});
    ASSERT_TRUE(planned) << planned.error().message;
    EXPECT_EQ(check(planned->program).answer, Answer::right);
    EXPECT_LE(planned->time, planned->usual_time);
    if (!made) continue;
    ++shared;
    EXPECT_EQ(check(*made).answer, Answer::right) << to_text(*made);
    const Received received = received_of(*made, domain);
    const std::map<Size, Size> needed = needed_of(problem.to, domain);
    for (const auto& [device, elements] : received.by_device) {
      EXPECT_LE(elements, problem.to.tile_size(device)) << to_text(*made);
    }
    for (const auto& [node, elements] : received.by_domain) EXPECT_LE(elements, needed.at(node));
  }
  EXPECT_TRUE(shared > 300 || support::instrumented) << shared;
}

}  // namespace
}  // namespace retile::test::network_two_exchanges_test
