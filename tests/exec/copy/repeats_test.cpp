// Boxes in regular steps are found as few, in their order, and moved as if each were moved alone.
#include "retile/exec/copy/repeats.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "retile/exec/copy/box_stream.h"
#include "retile/exec/copy/pass.h"

namespace retile::copy::repeats_test {
namespace {

std::vector<const Transfer*> pointers(const std::vector<Transfer>& transfers) {
  std::vector<const Transfer*> out;
  for (const Transfer& transfer : transfers) out.push_back(&transfer);
  return out;
}

Transfer box(Shape to, Shape from, Shape shape, Size source = 0) {
  return {.target = 0,
          .source = source,
          .target_start = std::move(to),
          .source_start = std::move(from),
          .shape = std::move(shape)};
}

/// Outer and inner counts of what was found.
std::vector<std::pair<Size, Size>> counts(const std::vector<Transfer>& transfers) {
  std::vector<std::pair<Size, Size>> out;
  for (const Repeats& boxes : repeats_of(pointers(transfers))) {
    out.emplace_back(boxes.outer, boxes.inner);
  }
  return out;
}

using Counts = std::vector<std::pair<Size, Size>>;

TEST(Repeats, rows_of_boxes_in_equal_steps_are_one) {
  std::vector<Transfer> boxes;
  for (Size row = 0; row < 3; ++row) {
    for (Size k = 0; k < 5; ++k) boxes.push_back(box({row, 2 * k}, {4 * row, k}, {1, 1}));
  }
  EXPECT_EQ(counts(boxes), (Counts{{3, 5}}));
  // A row that is shorter than the others stands alone, and so does what begins elsewhere.
  boxes.pop_back();
  EXPECT_EQ(counts(boxes), (Counts{{2, 5}, {1, 4}}));
  boxes.push_back(box({3, 0}, {13, 0}, {1, 1}));
  EXPECT_EQ(counts(boxes), (Counts{{2, 5}, {1, 4}, {1, 1}}));
  EXPECT_EQ(counts({}), Counts{});
}

TEST(Repeats, what_differs_in_anything_does_not_belong) {
  const auto row = [](const Transfer& third) {
    return counts({box({0}, {0}, {1}), box({2}, {3}, {1}), third});
  };
  EXPECT_EQ(row(box({4}, {6}, {1})), (Counts{{1, 3}}));
  const Counts apart{{1, 2}, {1, 1}};
  EXPECT_EQ(row(box({4}, {6}, {2})), apart);
  EXPECT_EQ(row(box({4}, {6}, {1}, 1)), apart);
  EXPECT_EQ(row(box({5}, {6}, {1})), apart);
  EXPECT_EQ(row(box({4}, {7}, {1})), apart);
  // Nothing goes back, and nothing stays where it is.
  EXPECT_EQ(counts({box({2}, {0}, {1}), box({0}, {2}, {1})}), (Counts{{1, 1}, {1, 1}}));
  EXPECT_EQ(counts({box({0}, {2}, {1}), box({2}, {0}, {1})}), (Counts{{1, 1}, {1, 1}}));
  EXPECT_EQ(counts({box({0}, {0}, {1}), box({2}, {0}, {1})}), (Counts{{1, 1}, {1, 1}}));
}

TEST(Repeats, rows_have_one_step_between_them_and_one_within) {
  const auto rows = [](Size third_row, Size last_step) {
    std::vector<Transfer> out;
    for (const Size at : {Size{0}, Size{10}, third_row}) {
      out.push_back(box({at}, {at}, {1}));
      out.push_back(box({at + (at == third_row ? last_step : 2)}, {at + 2}, {1}));
    }
    return counts(out);
  };
  EXPECT_EQ(rows(20, 2), (Counts{{3, 2}}));
  EXPECT_EQ(rows(21, 2), (Counts{{2, 2}, {1, 2}}));
  EXPECT_EQ(rows(20, 3), (Counts{{2, 2}, {1, 2}}));
}

/// A dimension whose blocks are dealt out before, and otherwise dealt after.
struct Dealt {
  Size extent, block, parts;
  [[nodiscard]] Size part(Size at) const { return at / block % parts; }
  [[nodiscard]] Size place(Size at) const { return at / block / parts * block + at % block; }
  [[nodiscard]] Size most() const { return (extent / block / parts + 1) * block; }
};

/// What a pair of parts has in common of a matrix, block by block as an exchange lists it.
struct Problem {
  std::vector<Dealt> before, after;
  Shape source_tile, target_tile;
  std::vector<Transfer> transfers;
};

std::vector<std::vector<Size>> stretches(const Dealt& from, Size source, const Dealt& to,
                                         Size target) {
  std::vector<std::vector<Size>> out;  // place before, place after, extent
  for (Size at = 0; at < from.extent; ++at) {
    if (from.part(at) != source || to.part(at) != target) continue;
    const bool on = !out.empty() && at % from.block != 0 && at % to.block != 0;
    if (on) {
      ++out.back()[2];
    } else {
      out.push_back({from.place(at), to.place(at), 1});
    }
  }
  return out;
}

Problem random_problem(std::mt19937_64& random) {
  const auto draw = [&](Size least, Size most) {
    return least + static_cast<Size>(random() % static_cast<std::uint64_t>(most - least + 1));
  };
  Problem out;
  const Size rank = draw(1, 3);
  std::vector<std::vector<std::vector<Size>>> lists;
  for (Size k = 0; k < rank; ++k) {
    const Size extent = draw(1, rank == 1 ? 200 : rank == 2 ? 40 : 13);
    out.before.push_back({extent, draw(1, 4), draw(1, 3)});
    out.after.push_back({extent, draw(0, 1) == 0 ? draw(1, 5) : extent, draw(1, 3)});
    const Dealt& from = out.before.back();
    const Dealt& to = out.after.back();
    lists.push_back(stretches(from, draw(0, from.parts - 1), to, 0));
    out.source_tile.push_back(from.most());
    out.target_tile.push_back(to.most());
  }
  std::vector<std::size_t> at(lists.size(), 0);
  for (const auto& list : lists) {
    if (list.empty()) return out;
  }
  while (true) {
    Transfer& transfer = out.transfers.emplace_back(box({}, {}, {}));
    for (std::size_t k = 0; k < lists.size(); ++k) {
      transfer.source_start.push_back(lists[k][at[k]][0]);
      transfer.target_start.push_back(lists[k][at[k]][1]);
      transfer.shape.push_back(lists[k][at[k]][2]);
    }
    std::size_t k = lists.size();
    while (k > 0 && ++at[k - 1] == lists[k - 1].size()) at[--k] = 0;
    if (k == 0) return out;
  }
}

/// Every transfer by a loop over its elements of `width` bytes.
template <typename Use>
void each_element(const Problem& problem, const Use& use) {
  for (const Transfer& transfer : problem.transfers) {
    for (Size n = 0; n < checked_product(transfer.shape).value(); ++n) {
      Size rest = n;
      Size from = 0;
      Size to = 0;
      Size source_stride = 1;
      Size target_stride = 1;
      for (std::size_t k = transfer.shape.size(); k-- > 0;) {
        const Size index = rest % transfer.shape[k];
        rest /= transfer.shape[k];
        from += (transfer.source_start[k] + index) * source_stride;
        to += (transfer.target_start[k] + index) * target_stride;
        source_stride *= problem.source_tile[k];
        target_stride *= problem.target_tile[k];
      }
      use(static_cast<std::size_t>(from), static_cast<std::size_t>(to));
    }
  }
}

std::vector<std::byte> random_bytes(Size count, std::mt19937_64& random) {
  std::vector<std::byte> out(static_cast<std::size_t>(count));
  for (std::byte& byte : out) byte = static_cast<std::byte>(random());
  return out;
}

TEST(Repeats, dealt_blocks_are_moved_as_element_by_element) {
  std::mt19937_64 random(11);
  int together = 0;
  int in_rows = 0;
  for (int round = 0; round < 3000; ++round) {
    const Problem problem = random_problem(random);
    const auto width = static_cast<std::size_t>(Size{1} << (round % 5));
    const Size bytes = static_cast<Size>(width);
    const auto source = random_bytes(checked_product(problem.source_tile).value() * bytes, random);
    const auto before = random_bytes(checked_product(problem.target_tile).value() * bytes, random);
    auto expected = before;
    std::vector<std::byte> stream;
    each_element(problem, [&](std::size_t from, std::size_t to) {
      std::memcpy(expected.data() + to * width, source.data() + from * width, width);
      stream.insert(stream.end(), source.begin() + static_cast<std::ptrdiff_t>(from * width),
                    source.begin() + static_cast<std::ptrdiff_t>((from + 1) * width));
    });
    const auto found = repeats_of(pointers(problem.transfers));
    together += 4 * found.size() <= problem.transfers.size() && !found.empty() ? 1 : 0;
    for (const Repeats& boxes : found) in_rows += boxes.outer > 1 && boxes.inner > 1 ? 1 : 0;

    auto passed = before;
    const std::byte* const from = source.data();
    std::byte* const to = passed.data();
    const Pass pass(bytes, problem.source_tile, problem.target_tile, problem.transfers,
                    {.stores = round % 2 == 0 ? Stores::ordinary : Stores::streaming});
    pass.run({&from, 1}, {&to, 1});
    ASSERT_EQ(passed, expected) << "round " << round;
    ASSERT_LE(pass.held_bytes(), Pass::bound_bytes(static_cast<Size>(problem.transfers.size()),
                                                   problem.source_tile.size()));

    BoxStream packing(End::source, bytes, problem.source_tile, problem.transfers);
    BoxStream unpacking(End::target, bytes, problem.target_tile, problem.transfers);
    ASSERT_LE(packing.held_bytes(), BoxStream::object_bytes(problem.source_tile.size()) +
                                        static_cast<Size>(problem.transfers.size()) *
                                            BoxStream::box_bytes(problem.source_tile.size()));
    ASSERT_EQ(packing.bytes(), static_cast<Size>(stream.size()));
    auto streamed = before;
    const Size room = bytes + static_cast<Size>(random() % 90);
    std::vector<std::byte> packed(static_cast<std::size_t>(room));
    std::vector<std::byte> all;
    BoxStream::Cursor in;
    BoxStream::Cursor out;
    while (!packing.finished(in)) {
      const Size some = packing.pack(in, source.data(), packed.data(), room);
      all.insert(all.end(), packed.begin(), packed.begin() + some);
      ASSERT_EQ(unpacking.unpack(out, packed.data(), streamed.data(), room), some);
    }
    ASSERT_TRUE(unpacking.finished(out));
    ASSERT_EQ(all, stream) << "round " << round;
    ASSERT_EQ(streamed, expected) << "round " << round;
  }
  EXPECT_GT(together, 300);
  EXPECT_GT(in_rows, 300);
}

TEST(Repeats, a_million_elements_in_turn_are_described_in_a_few_hundred_bytes) {
  std::vector<Transfer> transfers;
  for (Size row = 0; row < 1000; ++row) {
    for (Size k = 0; k < 1000; ++k) transfers.push_back(box({2 * row, 2 * k}, {row, k}, {1, 1}));
  }
  const BoxStream stream(End::target, 8, {2000, 2000}, transfers);
  EXPECT_EQ(stream.bytes(), 8'000'000);
  EXPECT_LT(stream.held_bytes(), 1000);
  EXPECT_LT(Pass(8, {1000, 1000}, {2000, 2000}, transfers).held_bytes(), 1000);
}

}  // namespace
}  // namespace retile::copy::repeats_test
