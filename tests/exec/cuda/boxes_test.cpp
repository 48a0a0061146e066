// What a kernel is told to copy, and the arithmetic by which it does.
#include "retile/exec/cuda/boxes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <utility>
#include <vector>

#include "exec/cuda/host_device.h"
#include "exec/programs.h"
#include "retile/exec/npy/pattern.h"

namespace retile::cuda::boxes_test {
namespace {

TEST(BoxMath, division_is_division) {
  std::vector<std::uint32_t> numbers{0, 1, 2, 3, 5, 7, 10, 31, 32, 33, 1000, 65535, 65536, 65537};
  for (std::uint32_t bit = 17; bit < 31; ++bit) {
    for (const std::uint32_t about : {(1U << bit) - 1, 1U << bit, (1U << bit) + 1}) {
      numbers.push_back(about);
    }
  }
  numbers.push_back(division_limit - 1);
  std::mt19937 random(1);
  for (int k = 0; k < 1000; ++k) numbers.push_back(random() % division_limit);
  std::size_t compared = 0;
  for (const std::uint32_t divisor : numbers) {
    if (divisor == 0) continue;
    const Divider divider = divider_of(divisor);
    for (const std::uint32_t number : numbers) {
      ASSERT_EQ(divide(number, divider), number / divisor) << number << " by " << divisor;
      ++compared;
    }
  }
  EXPECT_GT(compared, std::size_t{1000000});
}

/// Memory that begins where device memory would.
class Memory {
 public:
  explicit Memory(Size bytes)
      : storage_(static_cast<std::size_t>(bytes) + place_alignment, std::byte{0}) {}
  std::byte* data() {
    const auto at = reinterpret_cast<std::uintptr_t>(storage_.data());
    return storage_.data() + (place_alignment - at % place_alignment) % place_alignment;
  }
  std::uint64_t address() { return reinterpret_cast<std::uintptr_t>(data()); }

 private:
  std::vector<std::byte> storage_;
};

Batch batch_of(const BatchBuilder::Built& built) {
  return {.boxes = built.boxes.data(),
          .groups = built.groups.data(),
          .group_count = static_cast<std::uint32_t>(built.groups.size()),
          .portions = built.portions};
}

/// Copies element by element, index by index.
void copy_naively(const Transfer& transfer, const Shape& source_tile, const Shape& target_tile,
                  Size element_bytes, const std::byte* source, std::byte* target) {
  Shape index(transfer.shape.size(), 0);
  const Size elements = checked_product(transfer.shape).value();
  for (Size k = 0; k < elements; ++k) {
    Size rest = k;
    for (std::size_t i = index.size(); i-- > 0;) {
      index[i] = rest % transfer.shape[i];
      rest /= transfer.shape[i];
    }
    Size from = 0;
    Size to = 0;
    for (std::size_t i = 0; i < index.size(); ++i) {
      from = from * source_tile[i] + transfer.source_start[i] + index[i];
      to = to * target_tile[i] + transfer.target_start[i] + index[i];
    }
    std::memcpy(target + to * element_bytes, source + from * element_bytes,
                static_cast<std::size_t>(element_bytes));
  }
}

struct Drawn {
  Shape source_tile, target_tile;
  Transfer transfer;
  Size element_bytes = 0;
};

Drawn draw(std::mt19937_64& random, std::size_t most_rank) {
  const auto below = [&](Size end) {
    return static_cast<Size>(random() % static_cast<std::uint64_t>(end));
  };
  Drawn out;
  out.element_bytes = test::element_sizes[below(5)];
  const auto rank = static_cast<std::size_t>(below(static_cast<Size>(most_rank) + 1));
  const Size longest = rank > 6 ? 2 : 9;
  for (std::size_t i = 0; i < rank; ++i) {
    const Size extent = 1 + below(longest);
    out.transfer.shape.push_back(extent);
    const bool whole = below(3) == 0;
    for (const bool source : {true, false}) {
      const Size before = whole ? 0 : below(3);
      const Size after = whole ? 0 : below(3);
      (source ? out.transfer.source_start : out.transfer.target_start).push_back(before);
      (source ? out.source_tile : out.target_tile).push_back(before + extent + after);
    }
  }
  return out;
}

Size bytes_of(const Shape& tile, Size element_bytes) {
  return checked_product(tile).value() * element_bytes;
}

/// Copied in how many pieces, between how many pairs of tiles side by side, and with how many bytes
/// before and after them.
struct Cut {
  Size pieces = 1;
  Size tiles = 1;
  Size room = 0;
};

/// Whether the boxes of a transfer give what copying naively gives. `mutate` changes what is built
/// of them first, for which there is room around the tiles.
template <typename Mutate>
bool copies_right(const Drawn& drawn, const Cut& cut, const Mutate& mutate) {
  const Size in_bytes = bytes_of(drawn.source_tile, drawn.element_bytes);
  const Size out_bytes = bytes_of(drawn.target_tile, drawn.element_bytes);
  Memory source(cut.tiles * in_bytes + 2 * cut.room);
  Memory target(cut.tiles * out_bytes + 2 * cut.room);
  std::byte* const from = source.data() + cut.room;
  std::byte* const to = target.data() + cut.room;
  for (Size i = 0; i < cut.tiles * in_bytes; ++i) {
    from[i] = static_cast<std::byte>(splitmix64(static_cast<std::uint64_t>(i)) | 1U);
  }
  std::vector<std::byte> wanted(static_cast<std::size_t>(cut.tiles * out_bytes), std::byte{0});
  for (Size tile = 0; tile < cut.tiles; ++tile) {
    copy_naively(drawn.transfer, drawn.source_tile, drawn.target_tile, drawn.element_bytes,
                 from + tile * in_bytes, wanted.data() + tile * out_bytes);
  }
  const Region region =
      between_tiles(drawn.transfer, drawn.source_tile, drawn.target_tile, drawn.element_bytes);
  const Size elements = bytes_of(region) / drawn.element_bytes;
  BatchBuilder builder;
  for (Size tile = 0; tile < cut.tiles; ++tile) {
    const Origin here{0, source.address() + static_cast<std::uint64_t>(cut.room + tile * in_bytes)};
    const Origin there{0,
                       target.address() + static_cast<std::uint64_t>(cut.room + tile * out_bytes)};
    for (Size k = 0; k < cut.pieces; ++k) {
      const Size begin = elements * k / cut.pieces * drawn.element_bytes;
      const Size end = elements * (k + 1) / cut.pieces * drawn.element_bytes;
      if (begin == end) continue;
      if (!builder.add(region, here, there, begin, end)) return false;
    }
  }
  BatchBuilder::Built built = std::move(builder).build(true);
  mutate(built);
  test::copy_on_host(batch_of(built));
  return std::memcmp(to, wanted.data(), wanted.size()) == 0;
}

void leave(BatchBuilder::Built&) {}

TEST(Boxes, every_transfer_is_copied_whole_and_in_pieces) {
  std::mt19937_64 random(7);
  for (int k = 0; k < 1000; ++k) {
    const Drawn drawn = draw(random, k % 10 == 0 ? 12 : 5);
    for (const Size pieces : {1, 2, 5}) {
      ASSERT_TRUE(copies_right(drawn, {.pieces = pieces}, leave))
          << "transfer " << k << " in " << pieces << " pieces";
    }
  }
}

TEST(Boxes, boxes_that_are_alike_are_copied_whole_and_in_pieces) {
  std::mt19937_64 random(9);
  for (int k = 0; k < 50; ++k) {
    const Drawn drawn = draw(random, k % 10 == 0 ? 12 : 4);
    for (const Size tiles : {2, 32, 70}) {
      for (const Size pieces : {1, 3}) {
        ASSERT_TRUE(copies_right(drawn, {.pieces = pieces, .tiles = tiles}, leave))
            << "transfer " << k << " of " << tiles << " tiles in " << pieces << " pieces";
      }
    }
  }
}

/// A group whose digits, strides and number of boxes are all different.
Group draw_group(std::mt19937_64& random, std::uint32_t dims, std::uint64_t longest) {
  Group out;
  out.dims = dims;
  for (std::uint32_t i = 0; i < dims; ++i) {
    out.extents[i] = divider_of(static_cast<std::uint32_t>(1 + random() % longest));
    if (i == Group::box_dim) continue;
    out.source_strides[i] = static_cast<std::int64_t>(random() % 100'000) - 50'000;
    out.target_strides[i] = static_cast<std::int64_t>(random() % 100'000) - 50'000;
  }
  return out;
}

/// Whether a walk comes to the units to which division leads.
template <std::uint32_t dims>
bool walks_right(std::mt19937_64& random, std::uint64_t longest) {
  const Group group = draw_group(random, dims, longest);
  std::uint64_t units = 1;
  for (std::uint32_t i = 0; i < dims; ++i) {
    units = std::min<std::uint64_t>(units * group.extents[i].divisor, division_limit - 1);
  }
  auto unit = static_cast<std::uint32_t>(random() % std::min<std::uint64_t>(units, block_threads));
  Walk<dims> source(group, group.source_strides, unit);
  Walk<dims> target(group, group.target_strides, unit);
  for (int steps = 0; unit < units && steps < 300; unit += block_threads, ++steps) {
    const Spot spot = spot_of(group, unit);
    if (source.box() != spot.box || target.box() != spot.box) return false;
    if (source.distance() != spot.distance.source) return false;
    if (target.distance() != spot.distance.target) return false;
    source.next();
    target.next();
  }
  return true;
}

TEST(BoxMath, a_walk_comes_to_the_units_to_which_division_leads) {
  std::mt19937_64 random(10);
  for (int k = 0; k < 2000; ++k) {
    const std::uint64_t longest = k % 2 == 0 ? 5 : 1000;
    ASSERT_TRUE(walks_right<2>(random, longest)) << k;
    ASSERT_TRUE(walks_right<3>(random, longest)) << k;
    ASSERT_TRUE(walks_right<4>(random, longest)) << k;
    ASSERT_TRUE(walks_right<9>(random, longest)) << k;
  }
}

TEST(Boxes, a_wrong_stride_extent_or_start_is_noticed) {
  std::mt19937_64 random(8);
  constexpr Size most_touched_bytes = 16384;
  int tried = 0;
  const auto noticed = [&](const Drawn& drawn, Size tiles, const auto& mutate) {
    ++tried;
    return !copies_right(drawn, {.tiles = tiles, .room = most_touched_bytes},
                         [&](BatchBuilder::Built& built) {
                           for (Group& group : built.groups) mutate(group, built.boxes);
                         });
  };
  using Boxes = std::vector<Place>;
  for (int k = 0; k < 50; ++k) {
    Drawn drawn = draw(random, 4);
    // Boxes that need all that is in their description.
    drawn.transfer.shape.assign({3, 4, 5});
    drawn.transfer.source_start.assign({1, 1, 1});
    drawn.transfer.target_start.assign({0, 2, 1});
    drawn.source_tile.assign({5, 6, 7});
    drawn.target_tile.assign({4, 7, 9});
    for (const Size tiles : {1, 3}) {
      const auto expect_noticed = [&](const auto& mutate) {
        EXPECT_TRUE(noticed(drawn, tiles, mutate)) << tiles << " tiles";
      };
      expect_noticed([](Group& it, Boxes&) { it.source_strides[2] += it.unit_bytes; });
      expect_noticed([](Group& it, Boxes&) { it.target_strides[2] += it.unit_bytes; });
      expect_noticed([](Group& it, Boxes&) { it.target_strides[3] -= it.unit_bytes; });
      expect_noticed(
          [](Group& it, Boxes&) { it.extents[2] = divider_of(it.extents[2].divisor + 1); });
      expect_noticed([](Group& it, Boxes& boxes) { boxes.back().source += it.unit_bytes; });
      expect_noticed([](Group& it, Boxes&) { it.units -= 1; });
      expect_noticed([](Group& it, Boxes&) { test::mislead(it); });
    }
  }
  EXPECT_EQ(tried, 700);
}

TEST(Boxes, dimensions_that_lie_alike_are_joined) {
  // Whole rows of both sides.
  const Transfer rows{
      .target = 0, .source = 0, .target_start = {4, 0}, .source_start = {0, 0}, .shape = {3, 8}};
  const Region joined = between_tiles(rows, {3, 8}, {9, 8}, 4);
  EXPECT_EQ(joined.extents, (Shape{96}));
  EXPECT_EQ(joined.target_offset, 128);
  // Whole rows of the target only.
  const Region apart = between_tiles(
      {.target = 0, .source = 0, .target_start = {0, 0}, .source_start = {0, 8}, .shape = {3, 8}},
      {3, 16}, {3, 8}, 4);
  EXPECT_EQ(apart.extents, (Shape{3, 32}));
  EXPECT_EQ(runs_of(apart).source, 3);
  EXPECT_EQ(runs_of(apart).target, 1);
}

BatchBuilder::Built built_of(const Region& region) {
  BatchBuilder builder;
  EXPECT_TRUE(builder.add(region, {}, {}, 0, bytes_of(region)));
  return std::move(builder).build(true);
}

TEST(Boxes, units_are_as_wide_as_alignment_allows) {
  const auto unit = [](Size columns, Size start, Size tile, Size element_bytes) {
    const Transfer transfer{.target = 0,
                            .source = 0,
                            .target_start = {0, 0},
                            .source_start = {0, start},
                            .shape = {3, columns}};
    const auto built = built_of(between_tiles(transfer, {3, tile}, {3, columns}, element_bytes));
    EXPECT_EQ(built.boxes.size(), std::size_t{1});
    return built.groups.front().unit_bytes;
  };
  EXPECT_EQ(unit(8, 8, 16, 4), 16U);
  EXPECT_EQ(unit(8, 6, 16, 4), 8U);  // begins in the middle of 16 bytes
  EXPECT_EQ(unit(6, 8, 16, 4), 8U);  // ends there
  EXPECT_EQ(unit(8, 8, 18, 4), 8U);  // the second row begins there
  EXPECT_EQ(unit(7, 8, 16, 4), 4U);
  EXPECT_EQ(unit(7, 8, 16, 2), 2U);
  EXPECT_EQ(unit(7, 8, 16, 1), 1U);
  EXPECT_EQ(unit(7, 8, 15, 16), 16U);
}

TEST(Boxes, more_units_than_32_bits_count_become_several_boxes) {
  constexpr Size tera = Size{1} << 40;
  for (const Shape& extents : {Shape{tera}, Shape{3, tera / 4}, Shape{tera / 64, 64}}) {
    Region region;
    region.extents = extents;
    region.source_strides = region.target_strides = Shape(extents.size(), 1);
    if (extents.size() == 2) {
      region.source_strides[0] = extents[1] + 16;
      region.target_strides[0] = extents[1];
    }
    const BatchBuilder::Built built = built_of(region);
    // The target is filled without a gap, each box beginning where one ends.
    std::map<std::uint64_t, std::uint64_t> pieces;
    for (const Group& group : built.groups) {
      ASSERT_LT(group.first + std::uint64_t{group.units}, std::uint64_t{division_limit});
      const std::uint32_t boxes = group.extents[Group::box_dim].divisor;
      const std::uint32_t of_each = group.units / boxes;
      EXPECT_EQ(of_each * boxes, group.units);
      for (std::uint32_t k = 0; k < boxes; ++k) {
        const std::uint64_t first = built.boxes.at(group.first_box + k).target;
        EXPECT_TRUE(pieces.emplace(first, std::uint64_t{of_each} * group.unit_bytes).second);
      }
    }
    std::uint64_t at = 0;
    for (const auto& [first, bytes] : pieces) {
      EXPECT_EQ(first, at);
      at += bytes;
    }
    EXPECT_EQ(at, static_cast<std::uint64_t>(bytes_of(region)));
    EXPECT_GT(pieces.size(), std::size_t{1});
  }
}

/// A box of rows that do not lie end to end on either side.
Region rows_of(Size rows, Size bytes) {
  Region out;
  out.extents = {rows, bytes};
  out.source_strides = {bytes + 64, 1};
  out.target_strides = {bytes + 16, 1};
  return out;
}

TEST(Boxes, portions_hold_every_unit_once_and_boxes_take_turns) {
  BatchBuilder builder;
  for (std::uint64_t k = 0; k < 5; ++k) {
    ASSERT_TRUE(builder.add(rows_of(1000, 48), {0, 64 * k}, {0, 0}, 0, 48000));
  }
  ASSERT_TRUE(builder.add(rows_of(7, 16), {0, 0}, {0, 0}, 16, 64));
  ASSERT_TRUE(builder.add(rows_of(3000, 3), {0, 0}, {0, 1}, 0, 9000));
  const BatchBuilder::Built built = std::move(builder).build(false);
  const Batch batch = batch_of(built);
  ASSERT_EQ(built.groups.size(), std::size_t{3});
  std::vector<std::vector<std::uint32_t>> seen(3);
  for (std::uint32_t number = 0; number < batch.portions; ++number) {
    const Portion portion = portion_of(batch, number);
    for (std::uint32_t unit = portion.begin; unit < portion.end; ++unit) {
      seen.at(portion.group).push_back(unit);
    }
  }
  for (std::size_t k = 0; k < 3; ++k) {
    const Group& group = built.groups[k];
    ASSERT_EQ(seen[k].size(), group.units);
    for (std::uint32_t i = 0; i < group.units; ++i) EXPECT_EQ(seen[k][i], group.first + i);
  }
  const auto five = std::find_if(built.groups.begin(), built.groups.end(), [](const Group& group) {
    return group.extents[Group::box_dim].divisor == 5;
  });
  ASSERT_NE(five, built.groups.end());
  EXPECT_EQ(five->units, 5U * 3000);
  // A run of three units of each box, then the next one of the first.
  for (std::uint32_t unit = 0; unit < five->units; ++unit) {
    const Spot spot = spot_of(*five, unit);
    EXPECT_EQ(spot.box, unit / 3 % 5);
    EXPECT_EQ(spot.distance.source, unit / 15 * (48 + 64) + unit % 3 * 16);
    EXPECT_EQ(spot.distance.target, unit / 15 * (48 + 16) + unit % 3 * 16);
  }
  for (std::uint64_t k = 0; k < 5; ++k) EXPECT_EQ(built.boxes[five->first_box + k].source, 64 * k);
}

TEST(Boxes, only_whole_boxes_that_are_alike_are_one_group) {
  const auto groups = [](const std::vector<std::pair<Region, Size>>& boxes) {
    BatchBuilder builder;
    for (const auto& [region, begin] : boxes) {
      EXPECT_TRUE(builder.add(region, {}, {}, begin, bytes_of(region)));
    }
    return std::move(builder).build(true).groups.size();
  };
  const Region region = rows_of(8, 48);
  EXPECT_EQ(groups({{region, 0}, {region, 0}}), std::size_t{1});
  EXPECT_EQ(groups({{region, 48}, {region, 48}}), std::size_t{2});
  Region other = region;
  other.source_strides[0] += 16;
  EXPECT_EQ(groups({{region, 0}, {other, 0}}), std::size_t{2});
  other = region;
  other.target_strides[0] += 16;
  EXPECT_EQ(groups({{region, 0}, {other, 0}}), std::size_t{2});
  EXPECT_EQ(groups({{region, 0}, {rows_of(16, 24), 0}}), std::size_t{2});
  EXPECT_EQ(groups({{region, 0}, {rows_of(6, 64), 0}}), std::size_t{2});
  // No more boxes than a block has at hand, nor more units than are counted.
  const std::vector<std::pair<Region, Size>> many(2 * most_group_boxes + 1, {region, 0});
  EXPECT_EQ(groups(many), std::size_t{3});
  constexpr Size giga = Size{1} << 30;
  EXPECT_EQ(groups({{rows_of(giga, 16), 0}, {rows_of(giga, 16), 0}}), std::size_t{2});
}

TEST(Pattern, what_a_kernel_expects_is_the_generated_array) {
  Size compared = 0;
  for (const test::NamedProgram& named : test::right_programs()) {
    const Program program = test::parsed(named.text);
    for (const Layout* map : {&program.from, &program.to}) {
      for (Size device = 0; device < program.devices; ++device) {
        for (const Size element_bytes : test::element_sizes) {
          const PatternTile tile = pattern_tile(*map, device, element_bytes).value();
          const std::vector<std::byte> wanted = test::pattern_tile(*map, device, element_bytes);
          ASSERT_EQ(tile.elements, map->tile_size());
          for (Size i = 0; i < tile.elements; ++i) {
            ASSERT_EQ(
                std::memcmp(test::device_element(tile, i).data(), wanted.data() + i * element_bytes,
                            static_cast<std::size_t>(element_bytes)),
                0)
                << named.name << ", device " << device << ", element " << i;
            ++compared;
          }
        }
      }
    }
  }
  EXPECT_GT(compared, 10000);
}

TEST(Pattern, words_are_zero_past_the_end_of_an_element) {
  // A kernel compares an element as one number.
  for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000}}) {
    for (const std::uint32_t bytes : {1U, 2U, 4U}) {
      const PatternWords words = pattern_words(index, bytes);
      EXPECT_EQ(words.low >> (8 * bytes), 0U);
      EXPECT_EQ(words.high, 0U);
    }
    EXPECT_EQ(pattern_words(index, 8).high, 0U);
    EXPECT_NE(pattern_words(index, 16).high, 0U);
  }
}

TEST(Pattern, tiles_of_too_many_split_dimensions_are_refused) {
  const auto map = [](std::size_t rank) {
    // Two of four in every dimension: nothing can be joined.
    return Layout::listed(1, Shape(rank, 4), Shape(rank, 2), Shape(rank, 2)).value();
  };
  EXPECT_TRUE(pattern_tile(map(max_pattern_dims), 0, 4));
  const auto refused = pattern_tile(map(max_pattern_dims + 1), 0, 4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::unsupported);
}

}  // namespace
}  // namespace retile::cuda::boxes_test
