// Passes against a loop over elements, with guards around every tile.
#include "retile/exec/copy/pass.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "bench/copy_limit.h"
#include "support/samples.h"

namespace pass_test {
namespace {

using retile::Shape;
using retile::Size;
using retile::Transfer;
using retile::copy::Options;
using retile::copy::Pass;
using retile::copy::Stores;

using Random = std::mt19937_64;

Size draw(Random& random, Size low, Size high) {
  return std::uniform_int_distribution<Size>(low, high)(random);
}

struct Case {
  Size element_bytes = 1;
  Shape source_tile;
  Shape target_tile;
  Size sources = 1;
  Size targets = 1;
  std::vector<Transfer> transfers;
};

std::string print(const Case& drawn) {
  std::ostringstream out;
  const auto list = [&out](const Shape& shape) {
    out << "{";
    for (std::size_t i = 0; i < shape.size(); ++i) out << (i == 0 ? "" : ", ") << shape[i];
    out << "}";
  };
  out << drawn.element_bytes << " bytes, ";
  list(drawn.source_tile);
  out << " -> ";
  list(drawn.target_tile);
  for (const Transfer& transfer : drawn.transfers) {
    out << "\n  {" << transfer.target << ", " << transfer.source << ", ";
    list(transfer.target_start);
    out << ", ";
    list(transfer.source_start);
    out << ", ";
    list(transfer.shape);
    out << "}";
  }
  return out.str();
}

/// Memory of one tile between guards; copies are aligned alike.
class Guarded {
 public:
  Guarded(Size tile_bytes, Size misalignment)
      : lines_(static_cast<std::size_t>(tile_bytes / 64 + 4)),
        offset_(static_cast<std::size_t>(64 + misalignment)) {}
  [[nodiscard]] std::byte* tile() { return all().data() + offset_; }
  [[nodiscard]] const std::byte* tile() const { return all().data() + offset_; }
  [[nodiscard]] std::span<std::byte> all() {
    return {lines_.front().bytes.data(), lines_.size() * 64};
  }
  [[nodiscard]] std::span<const std::byte> all() const {
    return {lines_.front().bytes.data(), lines_.size() * 64};
  }
  friend bool operator==(const Guarded&, const Guarded&) = default;

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes{};
    friend bool operator==(const Line&, const Line&) = default;
  };
  std::vector<Line> lines_;
  std::size_t offset_;
};

Size product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), Size{1}, std::multiplies<>());
}

/// Where an element of a tile is, in elements.
Size element_at(const Shape& tile, const Shape& start, const Shape& index) {
  Size out = 0;
  for (std::size_t i = 0; i < tile.size(); ++i) out = out * tile[i] + start[i] + index[i];
  return out;
}

/// Calls f(source element, target element) for every element of a transfer.
void for_each_element(const Case& drawn, const Transfer& transfer,
                      const std::function<void(Size, Size)>& f) {
  Shape index(transfer.shape.size(), 0);
  for (Size left = product(transfer.shape); left > 0; --left) {
    f(element_at(drawn.source_tile, transfer.source_start, index),
      element_at(drawn.target_tile, transfer.target_start, index));
    for (std::size_t i = index.size(); i-- > 0;) {
      if (++index[i] < transfer.shape[i]) break;
      index[i] = 0;
    }
  }
}

struct Memory {
  std::vector<Guarded> sources;
  std::vector<Guarded> targets;

  [[nodiscard]] std::vector<const std::byte*> source_tiles() const {
    std::vector<const std::byte*> out;
    for (const Guarded& source : sources) out.push_back(source.tile());
    return out;
  }
  [[nodiscard]] std::vector<std::byte*> target_tiles() {
    std::vector<std::byte*> out;
    for (Guarded& target : targets) out.push_back(target.tile());
    return out;
  }
};

Memory make_memory(const Case& drawn, Random& random, bool aligned) {
  Memory out;
  const auto misalignment = [&] { return aligned ? 0 : draw(random, 0, 63); };
  for (Size i = 0; i < drawn.sources; ++i) {
    out.sources.emplace_back(product(drawn.source_tile) * drawn.element_bytes, misalignment());
  }
  for (Size i = 0; i < drawn.targets; ++i) {
    out.targets.emplace_back(product(drawn.target_tile) * drawn.element_bytes, misalignment());
  }
  for (auto* tiles : {&out.sources, &out.targets}) {
    for (Guarded& tile : *tiles) {
      for (std::byte& byte : tile.all()) byte = static_cast<std::byte>(random() >> 33);
    }
  }
  return out;
}

void copy_elements(const Case& drawn, Memory& memory) {
  const auto width = static_cast<std::size_t>(drawn.element_bytes);
  for (const Transfer& transfer : drawn.transfers) {
    const std::byte* source = memory.sources[static_cast<std::size_t>(transfer.source)].tile();
    std::byte* target = memory.targets[static_cast<std::size_t>(transfer.target)].tile();
    for_each_element(drawn, transfer, [&](Size from, Size to) {
      std::memcpy(target + to * drawn.element_bytes, source + from * drawn.element_bytes, width);
    });
  }
}

/// The first target that is not, guards included, as the loop over elements leaves it.
std::optional<std::size_t> first_difference(const Case& drawn, const Memory& before,
                                            const Memory& after) {
  Memory wanted = before;
  copy_elements(drawn, wanted);
  for (std::size_t i = 0; i < wanted.targets.size(); ++i) {
    if (wanted.targets[i] != after.targets[i]) return i;
  }
  return std::nullopt;
}

Shape draw_cuts(Random& random, Size extent, Size pieces) {
  Shape out{0, extent};
  if (extent % pieces == 0 && draw(random, 0, 2) > 0) {
    for (Size i = 1; i < pieces; ++i) out.push_back(extent / pieces * i);
  } else {
    for (Size i = 1; i < pieces; ++i) out.push_back(draw(random, 0, extent));
  }
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// Every target tile is cut into a grid of boxes, and each comes from some place of some source
/// tile; some are left out. Few sources or targets make passes that push or pull.
Case draw_case(Random& random) {
  Case out;
  out.element_bytes = Size{1} << draw(random, 0, 4);
  const Size rank = draw(random, 0, 6);
  const Size most = rank <= 1 ? 3000 : rank == 2 ? 130 : rank == 3 ? 24 : 6;
  for (Size i = 0; i < rank; ++i) {
    // The last dimension is often the long one, as in real arrays.
    const Size extent = i + 1 == rank ? draw(random, 1, most * 2) : draw(random, 1, most);
    out.target_tile.push_back(extent);
    out.source_tile.push_back(draw(random, 0, 2) == 0 ? extent
                                                      : draw(random, 1, most) + extent / 2);
  }
  out.sources = draw(random, 0, 1) == 0 ? 1 : draw(random, 1, 5);
  out.targets = draw(random, 0, 1) == 0 ? 1 : draw(random, 1, 5);
  for (Size target = 0; target < out.targets; ++target) {
    std::vector<Shape> cuts;
    for (const Size extent : out.target_tile) {
      cuts.push_back(draw_cuts(random, extent, draw(random, 1, rank <= 2 ? 5 : 3)));
    }
    const bool structured = draw(random, 0, 1) == 0;
    std::vector<std::size_t> at(cuts.size(), 0);
    for (bool more = true; more;) {
      Transfer transfer{target, draw(random, 0, out.sources - 1), {}, {}, {}};
      bool fits = true;
      for (std::size_t i = 0; i < cuts.size(); ++i) {
        const Size begin = cuts[i][at[i]];
        const Size extent = cuts[i][at[i] + 1] - begin;
        transfer.target_start.push_back(begin);
        transfer.shape.push_back(extent);
        fits = fits && extent <= out.source_tile[i];
        const Size last = std::max(out.source_tile[i] - extent, Size{0});
        transfer.source_start.push_back(structured ? std::min(begin, last) : draw(random, 0, last));
      }
      if (fits && (structured || draw(random, 0, 9) > 0)) out.transfers.push_back(transfer);
      more = false;
      for (std::size_t i = cuts.size(); i-- > 0;) {
        if (++at[i] + 1 < cuts[i].size()) {
          more = true;
          break;
        }
        at[i] = 0;
      }
    }
  }
  std::shuffle(out.transfers.begin(), out.transfers.end(), random);
  return out;
}

/// From rows to columns (push) or from columns to rows (pull) of `row_runs` x `run` elements.
Case split_case(Size element_bytes, Size peers, Size rows, Size run, bool push) {
  Case out{.element_bytes = element_bytes,
           .source_tile = {rows, run * (push ? peers : 1)},
           .target_tile = {rows, run * (push ? 1 : peers)},
           .sources = push ? 1 : peers,
           .targets = push ? peers : 1,
           .transfers = {}};
  for (Size peer = 0; peer < peers; ++peer) {
    const Shape here{0, 0};
    const Shape there{0, peer * run};
    out.transfers.push_back(
        {push ? peer : 0, push ? 0 : peer, push ? here : there, push ? there : here, {rows, run}});
  }
  return out;
}

Pass make_pass(const Case& drawn, Stores stores) {
  return {drawn.element_bytes,
          drawn.source_tile,
          drawn.target_tile,
          drawn.transfers,
          {.stores = stores}};
}

void expect_right(const Case& drawn, Random& random, Stores stores, bool aligned) {
  const Memory before = make_memory(drawn, random, aligned);
  const Pass pass = make_pass(drawn, stores);
  Memory after = before;
  pass.run(after.source_tiles(), after.target_tiles());
  EXPECT_EQ(first_difference(drawn, before, after), std::nullopt)
      << print(drawn) << "\naligned " << aligned;
  std::vector<Size> shares(static_cast<std::size_t>(draw(random, 2, 9)));
  std::iota(shares.begin(), shares.end(), Size{0});
  std::shuffle(shares.begin(), shares.end(), random);
  Memory shared = before;
  for (const Size number : shares) {
    pass.run(shared.source_tiles(), shared.target_tiles(),
             {number, static_cast<Size>(shares.size())});
  }
  EXPECT_EQ(first_difference(drawn, before, shared), std::nullopt)
      << print(drawn) << "\naligned " << aligned << ", in " << shares.size() << " shares";
}

constexpr std::array both{Stores::ordinary, Stores::streaming};

TEST(Pass, copies_what_a_loop_over_elements_copies) {
  Random random(1);
  std::size_t transfers = 0;
  std::array<int, 7> ranks{};
  for (int i = 0; i < support::samples(2'400); ++i) {
    const Case drawn = draw_case(random);
    transfers += drawn.transfers.size();
    ++ranks.at(drawn.target_tile.size());
    for (const Stores stores : both) {
      expect_right(drawn, random, stores, i % 3 == 0);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(transfers, support::samples(12'000U));
  for (const int count : ranks) EXPECT_GT(count, support::samples(120));
}

TEST(Pass, pushes_and_pulls_runs_of_every_length) {
  Random random(2);
  int number = 0;
  for (const Size element_bytes : {1, 2, 4, 8, 16}) {
    for (const Size run : {1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 33, 64, 100, 256, 600}) {
      for (const Size peers : {1, 2, 3, 8, 33}) {
        if (support::instrumented && ++number % 3 != 0) continue;
        const Size rows = std::max(Size{4096} / (run * element_bytes * peers), Size{3}) + 5;
        for (const bool push : {true, false}) {
          const Case split = split_case(element_bytes, peers, rows, run, push);
          for (const Stores stores : both) {
            for (const bool aligned : {true, false}) {
              expect_right(split, random, stores, aligned);
            }
          }
          if (HasFailure()) return;
        }
      }
    }
  }
}

/// A share goes on where the one before it ended: what is copied beside it, share by share, is near.
TEST(Pass, a_share_is_its_part_of_the_rows) {
  Random random(6);
  const Case split = split_case(8, 2, 40, 9, true);
  const Pass pass = make_pass(split, Stores::ordinary);
  const Memory before = make_memory(split, random, true);
  for (const Size of : {Size{1}, Size{3}, Size{40}, Size{7'000'000'000'000'000'000}}) {
    for (const Size number : {Size{0}, of / 2, of - 1}) {
      Memory after = before;
      pass.run(after.source_tiles(), after.target_tiles(), {number, of});
      Case part = split;
      const auto row = [of](Size share) {
        return static_cast<Size>(
            std::ceil(static_cast<long double>(share) * 40 / static_cast<long double>(of)));
      };
      for (Transfer& rows : part.transfers) {
        rows.target_start[0] = rows.source_start[0] = row(number);
        rows.shape[0] = row(number + 1) - row(number);
      }
      if (row(number + 1) == row(number)) part.transfers.clear();
      EXPECT_EQ(first_difference(part, before, after), std::nullopt) << number << " of " << of;
    }
  }
}

TEST(Pass, copies_long_runs_to_several_and_loses_no_end) {
  Random random(3);
  for (const Size bytes : {Size{1} << 16, (Size{1} << 16) + 1, (Size{1} << 18) + 777}) {
    Case gather{.element_bytes = 1,
                .source_tile = {bytes},
                .target_tile = {bytes + 3},
                .sources = 1,
                .targets = 3,
                .transfers = {}};
    for (Size target = 0; target < 3; ++target) {
      gather.transfers.push_back({target, 0, {target}, {0}, {bytes}});
    }
    for (const Stores stores : both) {
      expect_right(gather, random, stores, true);
      expect_right(gather, random, stores, false);
    }
  }
}

/// Side by side in every row of one source: such boxes take turns, up to eight widths of them.
TEST(Pass, boxes_of_several_widths_take_turns) {
  Random random(4);
  for (const Size boxes : {2, 3, 5, 10, 12}) {
    for (int attempt = 0; attempt < 6; ++attempt) {
      Case wide{.element_bytes = 4,
                .source_tile = {3, 5, 0},
                .target_tile = {4, 6, 400},
                .sources = 1,
                .targets = boxes,
                .transfers = {}};
      Size begin = draw(random, 0, 3);
      for (Size k = 0; k < boxes; ++k) {
        // Some widths twice; some below what takes turns.
        const Size width = attempt == 0 ? 130 + 7 * (boxes - k) : 120 + 10 * draw(random, 0, 9);
        wide.transfers.push_back({k,
                                  0,
                                  {draw(random, 0, 1), draw(random, 0, 1), draw(random, 0, 100)},
                                  {0, 0, begin},
                                  {3, 5, width}});
        begin += width + draw(random, 0, 1);
      }
      wide.source_tile.back() = begin + draw(random, 0, 2);
      std::shuffle(wide.transfers.begin(), wide.transfers.end(), random);
      for (const Stores stores : both) expect_right(wide, random, stores, attempt % 2 == 0);
    }
  }
}

TEST(Pass, without_transfers_nothing_is_written) { Pass(4, {3}, {3}, {}).run({}, {}); }

TEST(Pass, many_boxes_of_one_shape_stay_within_its_bound) {
  std::vector<Transfer> all;
  for (Size k = 0; k < 2000; ++k) all.push_back({0, k, {k}, {k}, {1}});  // each of its own device
  const Pass pass(4, {2000}, {2000}, all);
  EXPECT_LE(pass.held_bytes(), Pass::bound_bytes(2000, 1));
}

TEST(Pass, streams_only_what_is_larger_than_the_share_of_the_cache) {
  const std::vector<Transfer> all{{0, 0, {0}, {0}, {Size{1} << 20}}};
  const auto pass = [&all](Options options) {
    return Pass(1, {Size{1} << 20}, {Size{1} << 20}, all, options);
  };
  EXPECT_FALSE(pass({.cache_share_bytes = Size{1} << 30}).streaming());
  EXPECT_EQ(pass({.cache_share_bytes = 1}).streaming(), retile::copy::can_stream());
  EXPECT_FALSE(pass({.stores = Stores::ordinary, .cache_share_bytes = 1}).streaming());
  EXPECT_EQ(pass({.stores = Stores::streaming}).streaming(), retile::copy::can_stream());
}

TEST(Pass, writes_out_of_order_do_not_count_where_whole_lines_are_streamed) {
  if (!retile::copy::can_stream()) GTEST_SKIP() << "no streaming stores";
  // 32 rows of 4 runs, which are read in order; one goes to each device, into every second half
  // row.
  constexpr Size rows = 32;
  constexpr Size devices = 4;
  const auto in_order_bytes = [](Size run_elements, Stores stores) {
    std::vector<Transfer> transfers;
    for (Size device = 0; device < devices; ++device) {
      transfers.push_back({device, 0, {0, 0}, {0, run_elements * device}, {rows, run_elements}});
    }
    return Pass(4, {rows, run_elements * devices}, {rows, run_elements * 2}, transfers,
                {.stores = stores})
        .in_order_bytes();
  };
  for (const Size run_elements : {64, 80, 1024}) {
    EXPECT_EQ(in_order_bytes(run_elements, Stores::streaming), 4 * run_elements * devices * rows)
        << run_elements;
    EXPECT_EQ(in_order_bytes(run_elements, Stores::ordinary), 4 * run_elements) << run_elements;
  }
  for (const Size run_elements : {16, 48, 65, 1025}) {  // short, or not of whole lines
    EXPECT_EQ(in_order_bytes(run_elements, Stores::streaming), 4 * run_elements) << run_elements;
  }
}

TEST(Pass, fuses_what_lies_alike_in_both_tiles) {
  // {4, 6, 8} -> {4, 3, 8}: the last two dimensions are one run of 24 elements.
  const Pass pass(4, {4, 6, 8}, {4, 3, 8},
                  std::vector<Transfer>{{0, 0, {0, 0, 0}, {0, 3, 0}, {4, 3, 8}}});
  EXPECT_EQ(pass.typical_run_bytes(), 3 * 8 * 4);
}

TEST(PassDeathTest, a_box_outside_of_its_tile_is_a_mistake_of_ours) {
  const auto make = [](Size element_bytes, const Shape& source, const Transfer& transfer) {
    return Pass(element_bytes, source, {3, 5}, std::vector{transfer});
  };
  const Transfer good{0, 0, {1, 2}, {0, 0}, {2, 3}};
  static_cast<void>(make(4, {2, 3}, good));
  EXPECT_DEATH(make(3, {2, 3}, good), "element size");
  EXPECT_DEATH(make(4, {2, 2}, good), "inside");
  EXPECT_DEATH(make(4, {2, 3, 1}, good), "rank");
  const Size max = std::numeric_limits<Size>::max();
  EXPECT_DEATH(make(4, {2, 3}, {0, 0, {max, 2}, {0, 0}, {2, 3}}), "inside");
  EXPECT_DEATH(make(4, {2, 3}, {0, 0, {1, 2}, {0, 0}, {2, 0}}), "inside");
}

TEST(CopyLimit, copies_all_lines_with_any_number_of_streams) {
  for (const Size bytes : {0, 64, 4096, 4096 * 4, 4096 * 9 + 64 * 5, 100032}) {
    for (const Size streams : {1, 3, 4}) {
      Guarded source(bytes, 5);
      Guarded target(bytes, 0);
      for (std::size_t i = 0; i < source.all().size(); ++i) {
        source.all()[i] = static_cast<std::byte>(i * 7);
      }
      Guarded wanted = target;
      std::memcpy(wanted.tile(), source.tile(), static_cast<std::size_t>(bytes));
      retile::copy::copy_limit(target.tile(), source.tile(), bytes, streams);
      EXPECT_TRUE(target == wanted);
    }
  }
}

// The comparison itself: each of these mistakes is one that it must see.
TEST(Control, mistakes_of_one_byte_and_one_run_are_seen) {
  Random random(7);
  const Case split = split_case(4, 3, 50, 9, true);
  const Memory before = make_memory(split, random, false);
  const auto difference = [&](const std::function<void(Memory&)>& copy) {
    Memory after = before;
    copy(after);
    return first_difference(split, before, after).has_value();
  };
  const Pass pass = make_pass(split, Stores::streaming);
  const auto all = [&pass](Memory& memory) {
    pass.run(memory.source_tiles(), memory.target_tiles());
  };
  EXPECT_FALSE(difference(all));
  EXPECT_TRUE(difference([](Memory&) {}));
  for (const Size at : {Size{-1}, split.target_tile[0] * split.target_tile[1] * 4}) {
    EXPECT_TRUE(difference([&](Memory& memory) {
      all(memory);
      memory.targets[1].tile()[at] = ~memory.targets[1].tile()[at];
    })) << "a guard at "
        << at;
  }
  for (const bool longer : {true, false}) {
    Case other = split;
    (longer ? other.transfers.back().source_start : other.transfers.back().target_start) = {0, 0};
    if (!longer) other.transfers.back().shape = {50, 8};
    EXPECT_TRUE(difference([&](Memory& memory) {
      make_pass(other, Stores::streaming).run(memory.source_tiles(), memory.target_tiles());
    })) << "runs from elsewhere, or one element short";
  }
}

}  // namespace
}  // namespace pass_test
