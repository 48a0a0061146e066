// Boxes as packed bytes, cut by rooms of all sizes: the stream is the boxes' elements in order, and
// what one end packs the other unpacks.
#include "retile/exec/copy/box_stream.h"

#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <optional>
#include <random>
#include <vector>

#include "retile/exec/copy/stores.h"

namespace retile::copy::box_stream_test {
namespace {

using Bytes = std::vector<std::byte>;

struct Problem {
  Size element_bytes = 1;
  Shape source_tile, target_tile;
  std::vector<Transfer> transfers;
};

Size elements_of(const Shape& shape) { return checked_product(shape).value(); }

Problem random_problem(std::mt19937_64& random) {
  const auto below = [&](Size n) { return static_cast<Size>(random() % static_cast<unsigned>(n)); };
  Problem out{
      .element_bytes = Size{1} << below(5), .source_tile = {}, .target_tile = {}, .transfers = {}};
  const Size rank = below(5);
  // One dimension is longer, so that runs of all lengths come up.
  const Size longer = below(5);
  for (Size i = 0; i < rank; ++i) {
    const Size most = i == longer ? 70 : 6;
    out.source_tile.push_back(1 + below(most));
    out.target_tile.push_back(1 + below(most));
  }
  const Size boxes = below(4);
  for (Size k = 0; k < boxes; ++k) {
    Transfer box{.target = 0, .source = 0, .target_start = {}, .source_start = {}, .shape = {}};
    for (std::size_t i = 0; i < out.source_tile.size(); ++i) {
      const Size extent = 1 + below(std::min(out.source_tile[i], out.target_tile[i]));
      box.shape.push_back(extent);
      box.source_start.push_back(below(out.source_tile[i] - extent + 1));
      box.target_start.push_back(below(out.target_tile[i] - extent + 1));
    }
    out.transfers.push_back(std::move(box));
  }
  return out;
}

Bytes random_bytes(Size bytes, std::mt19937_64& random) {
  Bytes out(static_cast<std::size_t>(bytes));
  for (std::byte& byte : out) byte = static_cast<std::byte>(random());
  return out;
}

/// Calls use(byte offset in the tile) for every element of all boxes in the stream's order.
template <typename Use>
void each_element(const Problem& problem, End end, const Use& use) {
  const Shape& tile = end == End::source ? problem.source_tile : problem.target_tile;
  for (const Transfer& box : problem.transfers) {
    const Shape& start = end == End::source ? box.source_start : box.target_start;
    for (Size k = 0; k < elements_of(box.shape); ++k) {
      Size rest = k;
      Size stride = problem.element_bytes;
      Size offset = 0;
      for (std::size_t i = tile.size(); i-- > 0;) {
        offset += (start[i] + rest % box.shape[i]) * stride;
        rest /= box.shape[i];
        stride *= tile[i];
      }
      use(offset);
    }
  }
}

TEST(DeviceTransfers, are_those_of_one_device_in_the_order_of_the_exchange) {
  std::mt19937_64 random(6);
  for (const Size devices : {1, 2, 3, 7}) {
    Exchange exchange;
    for (Size k = 0; k < 60; ++k) {
      const auto any = [&] { return static_cast<Size>(random() % static_cast<unsigned>(devices)); };
      exchange.transfers.push_back({.target = any(),
                                    .source = any(),
                                    .target_start = {k},
                                    .source_start = {k},
                                    .shape = {1}});
    }
    const auto between = [&](Size source, Size target) {
      std::vector<Transfer> out;
      for (const Transfer& transfer : exchange.transfers) {
        if (transfer.source == source && transfer.target == target) out.push_back(transfer);
      }
      return out;
    };
    for (Size device = 0; device < devices; ++device) {
      const DeviceTransfers own = transfers_of(device, devices, exchange);
      std::vector<Transfer> kept = between(device, device);
      for (Transfer& transfer : kept) transfer.source = transfer.target = 0;
      EXPECT_EQ(own.kept, kept);
      ASSERT_EQ(own.to.size(), static_cast<std::size_t>(devices));
      ASSERT_EQ(own.from.size(), static_cast<std::size_t>(devices));
      for (Size other = 0; other < devices; ++other) {
        const auto k = static_cast<std::size_t>(other);
        const std::vector<Transfer> none;
        EXPECT_EQ(own.to[k], other == device ? none : between(device, other));
        EXPECT_EQ(own.from[k], other == device ? none : between(other, device));
      }
    }
  }
}

/// Where an element of the stream lies in the tile that so many of them follow without a gap.
std::optional<Size> together(const std::vector<Size>& offsets, std::size_t first, Size bytes,
                             Size element) {
  for (Size k = 0; k < bytes / element; ++k) {
    if (offsets[first + static_cast<std::size_t>(k)] != offsets[first] + k * element) return {};
  }
  return offsets[first];
}

TEST(BoxStream, packs_and_unpacks_the_elements_of_its_boxes_in_order_whatever_the_room) {
  std::mt19937_64 random(5);
  Size pieces = 0;
  Size cut = 0;
  Size alike = 0;
  for (int i = 0; i < 3000; ++i) {
    const Problem problem = random_problem(random);
    const Size element = problem.element_bytes;
    const auto width = static_cast<std::size_t>(element);
    // Tiles and pieces begin anywhere, and nothing is written beside them.
    const auto before = [&] { return static_cast<std::ptrdiff_t>(random() % 65); };
    const std::ptrdiff_t tile_at = before();
    const std::ptrdiff_t got_at = before();
    const std::ptrdiff_t piece_at = before();
    const Bytes tile = random_bytes(elements_of(problem.source_tile) * element + tile_at, random);
    Bytes got = random_bytes(elements_of(problem.target_tile) * element + got_at + 5, random);
    Bytes stream;
    std::vector<Size> offsets;
    each_element(problem, End::source, [&](Size offset) {
      offsets.push_back(offset);
      const auto begin = tile.begin() + tile_at + offset;
      stream.insert(stream.end(), begin, begin + element);
    });
    Bytes expected = got;
    std::size_t at = 0;
    each_element(problem, End::target, [&](Size offset) {
      std::memcpy(expected.data() + got_at + offset, stream.data() + at, width);
      at += width;
    });

    BoxStream source(End::source, element, problem.source_tile, problem.transfers);
    BoxStream target(End::target, element, problem.target_tile, problem.transfers);
    if (i % 3 != 0 && can_stream()) target.unpack_past_caches();
    ASSERT_EQ(source.bytes(), static_cast<Size>(stream.size()));
    const auto boxes = static_cast<Size>(problem.transfers.size());
    ASSERT_LE(source.held_bytes(), BoxStream::object_bytes(problem.source_tile.size()) +
                                       boxes * BoxStream::box_bytes(problem.source_tile.size()));
    const Size room = element + static_cast<Size>(random() % (i % 2 == 0 ? 40 : 700));
    BoxStream::Cursor packing;
    BoxStream::Cursor skipping;
    BoxStream::Cursor unpacking;
    Bytes packed;
    while (!source.finished(packing)) {
      Bytes piece(static_cast<std::size_t>(piece_at + room) + 1, std::byte{0x5a});
      std::byte* const slot = piece.data() + piece_at;
      const std::optional<Size> unpacked = source.unpacked(packing, room);
      const Size bytes = source.pack(packing, tile.data() + tile_at, slot, room);
      ASSERT_EQ(unpacked, together(offsets, packed.size() / width, bytes, element));
      alike += unpacked && bytes > element ? 1 : 0;
      ASSERT_GE(bytes, element);
      ASSERT_LE(bytes, room);
      ASSERT_EQ(piece.back(), std::byte{0x5a});
      ASSERT_EQ(target.skip(skipping, room), bytes);
      ASSERT_EQ(target.unpack(unpacking, slot, got.data() + got_at, room), bytes);
      packed.insert(packed.end(), slot, slot + bytes);
      ASSERT_LE(packed.size(), stream.size());
      ++pieces;
    }
    ASSERT_TRUE(target.finished(skipping) && target.finished(unpacking));
    ASSERT_EQ(packed, stream);
    ASSERT_EQ(got, expected);
    cut += static_cast<Size>(stream.size()) > room ? 1 : 0;
  }
  EXPECT_GT(cut, 500);
  EXPECT_GT(alike, 500);
  EXPECT_LT(alike, pieces - 500);
  std::cout << pieces << " pieces, of which " << alike << " lie together, " << cut
            << " streams cut\n";
}

TEST(BoxStream, dimensions_that_lie_alike_are_one_run) {
  const auto first_run_bytes = [](const Shape& tile, const std::vector<Shape>& shapes) {
    std::vector<Transfer> boxes;
    for (const Shape& shape : shapes) {
      const Shape start(shape.size(), 0);
      boxes.push_back(
          {.target = 0, .source = 0, .target_start = start, .source_start = start, .shape = shape});
    }
    return BoxStream(End::source, 4, tile, boxes).first_run_bytes();
  };
  EXPECT_EQ(first_run_bytes({5, 6, 7}, {{2, 3, 7}, {1, 1, 1}}), 4 * 3 * 7);
  EXPECT_EQ(first_run_bytes({5, 6, 7}, {{2, 6, 6}}), 4 * 6);
  EXPECT_EQ(first_run_bytes({5, 6, 7}, {{1, 2, 7}}), 4 * 2 * 7);
  EXPECT_EQ(first_run_bytes({5, 6, 7}, {{5, 6, 7}}), 4 * 5 * 6 * 7);
  EXPECT_EQ(first_run_bytes({5, 6, 7}, {}), 0);
  EXPECT_EQ(first_run_bytes({}, {{}}), 4);
}

TEST(BoxStream, unpacks_past_the_caches_what_they_would_not_keep) {
  constexpr Size share = Size{1} << 20;
  // Runs of `run` bytes out of rows of four times as much.
  const auto past = [](Size run, Size all_bytes) {
    const Transfer box{.target = 0,
                       .source = 0,
                       .target_start = {0, 0},
                       .source_start = {0, 0},
                       .shape = {8, run / 4}};
    BoxStream boxes(End::target, 4, {8, run}, std::vector{box});
    boxes.unpack_past_caches_if_it_pays(all_bytes, share);
    return boxes.unpacks_past_caches();
  };
  EXPECT_FALSE(past(4096, share / 5));
  EXPECT_EQ(past(4096, share / 3), can_stream());
  EXPECT_FALSE(past(256, share / 9));
  EXPECT_EQ(past(256, share / 4), can_stream());
  // Single lines, far apart, only where the tile leaves the caches anyway.
  EXPECT_FALSE(past(64, share - 1));
  EXPECT_EQ(past(64, share), can_stream());
  EXPECT_FALSE(past(192, share - 1));
}

}  // namespace
}  // namespace retile::copy::box_stream_test
