// Layouts whose boxes are not all alike, held against a filter over all indices.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <limits>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "retile/core/layout.h"
#include "support/random_layouts.h"

namespace retile::uneven_layout_test {
namespace {

/// The indices that a device holds of one dimension.
std::vector<Size> held(const Layout& layout, Size device) {
  const Box box = layout.box(device);
  std::vector<Size> out;
  for (Size i = 0; i < box.extent[0]; ++i) out.push_back(box.at[0] + i);
  return out;
}

Layout blocks(Size devices, Size block, Size global, Halo halo = {}) {
  std::vector<Digit> digits;
  if (devices > 1) digits.push_back({1, devices});
  return Layout::numbered(devices, {Cuts::blocks(block, devices, global)}, {digits}, {halo})
      .value();
}

/// Those of the indices of block t, and so many on both sides if there are any.
std::vector<Size> with_halo(const std::vector<Size>& core, const Halo& halo, Size global) {
  std::vector<Size> out;
  if (core.empty()) return out;
  for (Size i = 0; i < global; ++i) {
    if (i >= core.front() - halo.below && i <= core.back() + halo.above) out.push_back(i);
  }
  return out;
}

TEST(Cuts, balanced_tiles_differ_by_one_element_at_most_and_the_longer_ones_come_first) {
  for (Size count = 1; count <= 12; ++count) {
    for (Size global = 1; global <= 40; ++global) {
      const Cuts cuts = Cuts::balanced(count, global);
      std::vector<Size> at = {0};  // every index goes to one tile after the other
      for (Size t = 0; t < count; ++t) {
        Size width = 0;
        for (Size i = t; i < global; i += count) ++width;
        at.push_back(at.back() + width);
      }
      for (Size t = 0; t <= count; ++t) {
        ASSERT_EQ(cuts.at(t), at[static_cast<std::size_t>(t)]) << global << " over " << count;
      }
      EXPECT_EQ(cuts.largest(), (global + count - 1) / count);
      // One value for one function, however it was said.
      EXPECT_EQ(cuts, Cuts::listed(at));
      EXPECT_FALSE(cuts.is_listed());
      const Cuts blocks = Cuts::blocks(cuts.largest(), count, global);
      bool alike = true;
      for (Size t = 0; t <= count; ++t) alike = alike && blocks.at(t) == cuts.at(t);
      EXPECT_EQ(cuts.is_blocks(), alike) << global << " over " << count;
      EXPECT_EQ(cuts == blocks, alike);
    }
  }
  const Cuts many = Cuts::balanced(Size{1} << 31, std::numeric_limits<Size>::max());
  EXPECT_EQ(many.at(many.count()), std::numeric_limits<Size>::max());
}

/// What a tile has of a dimension, by a filter over all its indices.
void has_indices_of(const Cuts& cuts, const std::vector<std::vector<Size>>& wanted) {
  Size largest = 0;
  Size stretches = 0;
  for (Size t = 0; t < cuts.count(); ++t) {
    std::vector<Size> found;
    Size end = -1;
    for (const Stretch& one : cuts.stretches(t)) {
      ASSERT_GT(one.begin, end) << "as long as they can be, in order";
      for (Size i = one.begin; i < one.end; ++i) found.push_back(i);
      end = one.end;
      ++stretches;
    }
    ASSERT_EQ(found, wanted[static_cast<std::size_t>(t)]) << "tile " << t;
    ASSERT_EQ(cuts.width(t), static_cast<Size>(found.size()));
    largest = std::max(largest, cuts.width(t));
  }
  ASSERT_EQ(cuts.largest(), largest);
  ASSERT_LE(stretches, std::max(cuts.stretches(), cuts.count()));
}

TEST(Cuts, blocks_that_are_dealt_out_are_the_indices_of_that_remainder) {
  std::size_t dealt = 0;
  for (Size count = 1; count <= 12; ++count) {
    for (Size global = 1; global <= 30; ++global) {
      for (Size block = 1; block <= global; ++block) {
        for (Size first = 0; first < global; first += 1 + global / 4) {
          SCOPED_TRACE(testing::Message() << count << " tiles of " << global << " in blocks of "
                                          << block << ", the first section " << first);
          std::vector<Section> sections = {{global, block}};
          if (first > 0) sections.insert(sections.begin(), {first, block});
          const Cuts cuts = Cuts::dealt(count, sections);
          std::vector<std::vector<Size>> wanted(static_cast<std::size_t>(count));
          for (Size i = 0; i < global; ++i) {
            const Size place = i < first ? i : i - first;
            wanted[static_cast<std::size_t>(place / block % count)].push_back(i);
          }
          has_indices_of(cuts, wanted);
          const bool is_one_round = first == 0 && block * count >= global;
          EXPECT_EQ(cuts.is_dealt(), count > 1 && !is_one_round);
          dealt += cuts.is_dealt() ? 1U : 0U;
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(dealt, 10'000U);
  // Widths are worked out, not counted.
  const Size most = std::numeric_limits<Size>::max();
  const Cuts many = Cuts::dealt(2, {{most, 1}});
  EXPECT_EQ(many.width(0), most / 2 + 1);
  EXPECT_EQ(many.width(1), most / 2);
  EXPECT_EQ(Cuts::dealt(3, {{4, most}, {most, most}}), Cuts::dealt(3, {{4, 4}, {most, most - 4}}));
}

/// All ascending lists that begin with 0 and end with `last`, with as many chunks.
std::vector<std::vector<Size>> lists_of_ends(Size last, std::size_t chunks) {
  if (chunks == 1) return {{0, last}};
  std::vector<std::vector<Size>> out;
  for (Size end = 0; end <= last; ++end) {
    for (std::vector<Size> rest : lists_of_ends(last - end, chunks - 1)) {
      for (Size& one : rest) one += end;
      rest.insert(rest.begin(), 0);
      out.push_back(std::move(rest));
    }
  }
  return out;
}

/// Which of the chunks has the place.
std::size_t chunk_at(const std::vector<Size>& ends, Size place) {
  std::size_t k = 0;
  while (!(ends[k] <= place && place < ends[k + 1])) ++k;
  return k;
}

/// What every tile has, by a filter over the indices.
std::vector<std::vector<Size>> indices_of_chunks(Size count, const Chunks& chunks) {
  std::vector<std::vector<Size>> out(static_cast<std::size_t>(count));
  const auto& [rows, columns] = std::tie(chunks.ends.front(), chunks.ends.back());
  const bool is_grid = chunks.ends.size() == 2;
  const Size width = is_grid ? columns.back() : 1;
  for (Size i = 0; i < rows.back() * width; ++i) {
    std::size_t k = chunk_at(rows, i / width);
    if (is_grid) k = k * (columns.size() - 1) + chunk_at(columns, i % width);
    out[static_cast<std::size_t>(chunks.tiles[k])].push_back(i);
  }
  return out;
}

TEST(Cuts, chunks_are_the_indices_between_their_ends_in_every_dimension) {
  std::size_t compared = 0;
  std::size_t chunked = 0;
  std::size_t rounds = 0;
  const auto compare = [&](Size count, const Chunks& chunks) {
    const Cuts cuts = Cuts::chunked(count, chunks);
    const auto wanted = indices_of_chunks(count, chunks);
    has_indices_of(cuts, wanted);
    chunked += cuts.is_chunked() ? 1U : 0U;
    ++compared;
    // Rounds are found wherever they are, and nowhere else.
    std::optional<Cuts::Rounds> found;
    for (Size block = 1; block * count <= cuts.global(); ++block) {
      bool alike = cuts.global() % (block * count) == 0;
      for (Size t = 0; t < count; ++t) {
        for (const Size i : wanted[static_cast<std::size_t>(t)]) {
          alike = alike && i / block % count == t;
        }
      }
      if (alike) found = Cuts::Rounds{block, block * count};
    }
    const auto said = cuts.rounds();
    ASSERT_EQ(said.has_value(), found.has_value());
    if (!found || count == 1) return;
    ++rounds;
    EXPECT_EQ(said->block, found->block);
    EXPECT_EQ(said->length, found->length);
  };
  for (Size count = 1; count <= 3; ++count) {
    for (Size height = 1; height <= 4; ++height) {
      for (Size width = 1; width <= 4; ++width) {
        for (std::size_t down = 1; down <= 3; ++down) {
          for (std::size_t across = 1; across <= 3; ++across) {
            for (const auto& rows : lists_of_ends(height, down)) {
              for (const auto& columns : lists_of_ends(width, across)) {
                Chunks chunks{{rows, columns}, {}};
                if (width == 1 && across == 1) chunks.ends.pop_back();
                for (std::size_t k = 0; k < down * across; ++k) {
                  chunks.tiles.push_back(static_cast<Size>(k) % count);
                }
                SCOPED_TRACE(testing::Message()
                             << count << " tiles of " << height << " x " << width);
                compare(count, chunks);
                // Any tiles: those of another number in every chunk, each time.
                for (std::size_t k = 0; k < chunks.tiles.size(); ++k) {
                  chunks.tiles[k] = static_cast<Size>(compared * (k + 3) / (k + 1)) % count;
                }
                compare(count, chunks);
                if (testing::Test::HasFailure()) return;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(chunked, 3'000U);
  EXPECT_GT(rounds, 300U);
  std::cout << compared << " grids of chunks, " << chunked << " that nothing else says, " << rounds
            << " in rounds\n";
}

TEST(Cuts, chunks_are_said_by_what_says_less) {
  EXPECT_EQ(Cuts::chunked(3, {{{0, 3, 6, 10}}, {0, 1, 2}}), Cuts::listed({0, 3, 6, 10}));
  EXPECT_EQ(Cuts::chunked(4, {{{0, 3, 6, 10}}, {0, 2, 3}}), Cuts::listed({0, 3, 3, 6, 10}));
  EXPECT_EQ(Cuts::chunked(2, {{{0, 3, 6, 8}}, {0, 1, 0}}), Cuts::dealt(2, {{8, 3}}));
  EXPECT_EQ(Cuts::chunked(2, {{{0, 2, 4}, {0, 5}}, {0, 1}}), Cuts::even(10, 2));
  EXPECT_EQ(Cuts::chunked(2, {{{0, 1}, {0, 2, 4}}, {0, 1}}), Cuts::even(2, 2));
  EXPECT_EQ(Cuts::chunked(1, {{{0, 2, 4}, {0, 1, 3}}, {0, 0, 0, 0}}), Cuts::even(12, 1));
  // Neighbours of one tile are one chunk, and empty ones none.
  EXPECT_EQ(Cuts::chunked(2, {{{0, 1, 1, 2, 4, 6}}, {0, 1, 0, 1, 0}}), Cuts::dealt(2, {{6, 2}}));
  const Cuts turned = Cuts::chunked(2, {{{0, 4, 8}}, {1, 0}});
  EXPECT_TRUE(turned.is_chunked());
  EXPECT_EQ(turned.stretches(0), (std::vector<Stretch>{{4, 8}}));
}

TEST(DealtLayout, parts_are_the_product_of_what_a_tile_has_of_each_dimension) {
  const auto layout = Layout::numbered(
      6, {Cuts::dealt(2, {{7, 2}}), Cuts::dealt(3, {{4, 2}, {8, 2}})}, {{{3, 2}}, {{1, 3}}});
  ASSERT_TRUE(layout.has_value());
  EXPECT_FALSE(layout->in_boxes());
  EXPECT_FALSE(layout->is_even());
  EXPECT_TRUE(layout->covers_once());
  EXPECT_EQ(layout->tile(), (Shape{4, 4}));
  EXPECT_EQ(layout->tile_size(), 16);
  EXPECT_EQ(layout->tile(2), (Shape{0, 0}));  // rows, but no columns
  EXPECT_EQ(layout->local_shape(2), (Shape{4, 0}));
  EXPECT_EQ(layout->parts(2), std::vector<TilePart>());
  EXPECT_EQ(layout->parts(4), (std::vector<TilePart>{{{0, 0}, {{2, 2}, {2, 2}}},
                                                     {{0, 2}, {{2, 6}, {2, 2}}},
                                                     {{2, 0}, {{6, 2}, {1, 2}}},
                                                     {{2, 2}, {{6, 6}, {1, 2}}}}));
  EXPECT_EQ(layout->extents(), (std::vector<Size>{4, 4, 4, 4, 0, 0, 3, 4, 3, 4, 0, 0}));
  EXPECT_TRUE(layout->equivalent(*layout));
  const auto other = Layout::numbered(
      6, {Cuts::dealt(2, {{7, 2}}), Cuts::dealt(3, {{4, 1}, {8, 1}})}, {{{3, 2}}, {{1, 3}}});
  EXPECT_FALSE(layout->equivalent(*other));
  // As many elements on every device, but others.
  const auto by_1 = Layout::numbered(2, {Cuts::dealt(2, {{8, 1}})}, {{{1, 2}}});
  const auto by_2 = Layout::numbered(2, {Cuts::dealt(2, {{8, 2}})}, {{{1, 2}}});
  EXPECT_FALSE(by_1->equivalent(*by_2));
  EXPECT_TRUE(
      by_2->equivalent(*Layout::numbered(2, {Cuts::dealt(2, {{4, 2}, {8, 2}})}, {{{1, 2}}})));
}

TEST(DealtLayout, empty_tiles_are_equal) {
  // Device 1 has columns, but no rows.
  const auto dealt =
      Layout::numbered(2, {Cuts::dealt(2, {{1, 1}, {3, 2}}), Cuts::even(2, 1)}, {{{1, 2}}, {}})
          .value();
  const auto listed = Layout::listed_boxes(2, {3, 2}, {0, 0, 0, 0}, {3, 2, 0, 0}).value();
  EXPECT_EQ(dealt.parts(1), std::vector<TilePart>());
  EXPECT_TRUE(dealt.equivalent(listed));
  EXPECT_TRUE(listed.equivalent(dealt));
  const auto other = Layout::listed_boxes(2, {3, 2}, {0, 0, 1, 0}, {3, 2, 2, 2}).value();
  EXPECT_FALSE(dealt.equivalent(other));
}

TEST(DealtLayout, blocks_are_such_as_a_type_can_say) {
  EXPECT_EQ(Cuts::dealt(2, {{4, 3}, {6, 3}}).width(0), 5);  // the second block is cut off
  EXPECT_EQ(Cuts::dealt(2, {{4, 2}, {5, 1}}).width(0), 3);  // sections that are cut
  EXPECT_DEATH(static_cast<void>(Cuts::dealt(2, {{4, 1}, {8, 3}})), "one extent of blocks");
}

TEST(DealtLayout, too_many_boxes_are_refused) {
  const Size most = Size{1} << 40;
  const auto layout =
      Layout::numbered(4, {Cuts::dealt(2, {{most, 1}}), Cuts::even(3, 2)}, {{{1, 2}}, {{2, 2}}});
  ASSERT_FALSE(layout.has_value());
  EXPECT_EQ(layout.error().code, Code::limit_reached);
}

TEST(UnevenLayout, boxes_of_blocks_are_the_indices_of_that_quotient) {
  std::size_t compared = 0;
  for (Size devices = 1; devices <= 12; ++devices) {
    for (Size global = 1; global <= 30; ++global) {
      for (Size block = (global + devices - 1) / devices; block <= global + 1; ++block) {
        for (const Halo& halo : {Halo{}, Halo{1, 0}, Halo{2, 3}, Halo{global, global}}) {
          if (halo.below > global || halo.above > global) continue;
          const Layout layout = blocks(devices, block, global, halo);
          const Halo used = devices == 1 ? Halo{} : halo;
          Size largest = 0;
          for (Size d = 0; d < devices; ++d) {
            std::vector<Size> core;
            for (Size i = 0; i < global; ++i) {
              if (i / block == d) core.push_back(i);
            }
            const std::vector<Size> expected = with_halo(core, used, global);
            ASSERT_EQ(held(layout, d), expected)
                << devices << " devices, " << block << " of " << global;
            largest = std::max(largest, static_cast<Size>(expected.size()));
            ++compared;
          }
          ASSERT_EQ(layout.tile(), Shape{largest});
          ASSERT_EQ(layout.tile_size(), largest);
          const Size tile = std::min(block, global);
          ASSERT_EQ(layout.is_even(), tile * devices == global && used == Halo{});
        }
      }
    }
  }
  EXPECT_GT(compared, 50'000U);
}

TEST(UnevenLayout, listed_cuts_may_be_empty_anywhere) {
  const Layout layout = Layout::numbered(4, {Cuts::listed({0, 0, 3, 3, 10})}, {{{1, 4}}}).value();
  EXPECT_EQ(layout.box(0), (Box{{0}, {0}}));
  EXPECT_EQ(layout.box(1), (Box{{0}, {3}}));
  EXPECT_EQ(layout.box(2), (Box{{0}, {0}}));
  EXPECT_EQ(layout.box(3), (Box{{3}, {7}}));
  EXPECT_EQ(layout.boxes()[3], layout.box(3));
  EXPECT_EQ(layout.base_offsets(), (std::vector<Size>{0, 0, 0, 3}));
  EXPECT_EQ(layout.extents(), (std::vector<Size>{0, 3, 0, 7}));
  EXPECT_FALSE(layout.is_even());
}

TEST(UnevenLayout, an_empty_side_makes_the_whole_box_empty) {
  // 4 over 3 is 2 2 0; 9 over 2 is 5 4.
  const Layout layout =
      Layout::numbered(6, {Cuts::blocks(2, 3, 4), Cuts::blocks(5, 2, 9)}, {{{2, 3}}, {{1, 2}}})
          .value();
  EXPECT_EQ(layout.box(3), (Box{{2, 5}, {2, 4}}));
  EXPECT_EQ(layout.box(4), (Box{{0, 0}, {0, 0}}));
  EXPECT_EQ(layout.box(5), (Box{{0, 0}, {0, 0}}));
  // All at once as one by one.
  const Layout::Rows rows = layout.rows();
  EXPECT_EQ(rows.at, layout.base_offsets());
  EXPECT_EQ(rows.extents, layout.extents());
  for (Size d = 0; d < layout.devices(); ++d) {
    const auto device = static_cast<std::size_t>(d);
    EXPECT_EQ(layout.boxes()[device], layout.box(d));
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(rows.at[2 * device + i], layout.box(d).at[i]);
      EXPECT_EQ((*rows.extents)[2 * device + i], layout.box(d).extent[i]);
    }
  }
  EXPECT_EQ(layout.tile(), (Shape{2, 5}));
}

TEST(UnevenLayout, the_same_boxes_in_different_forms_are_equivalent) {
  const Layout by_number = blocks(4, 3, 10);
  const Layout listed = Layout::numbered(4, {Cuts::listed({0, 3, 6, 9, 10})}, {{{1, 4}}}).value();
  const Layout boxes = Layout::listed_boxes(4, {10}, {0, 3, 6, 9}, {3, 3, 3, 1}).value();
  EXPECT_TRUE(by_number.equivalent(listed));
  EXPECT_TRUE(by_number.equivalent(boxes));
  EXPECT_TRUE(boxes.covers_once());
  EXPECT_FALSE(by_number.equivalent(blocks(4, 4, 10)));
  EXPECT_FALSE(
      by_number.equivalent(Layout::listed_boxes(4, {10}, {0, 3, 6, 8}, {3, 3, 3, 1}).value()));
}

/// Per dimension, the indices that a device holds; nothing where it holds no element.
std::vector<std::vector<Size>> indices_of(const Layout& layout, Size device) {
  std::vector<std::vector<Size>> out;
  for (const auto& along : layout.stretches(device)) {
    std::vector<Size>& indices = out.emplace_back();
    for (const Stretch& part : along) {
      for (Size i = part.begin; i < part.end; ++i) indices.push_back(i);
    }
    if (indices.empty()) return {};
  }
  return out;
}

TEST(UnevenLayout, are_equivalent_where_every_device_holds_the_same) {
  std::mt19937_64 random(20);
  Size equal = 0;
  for (int n = 0; n < 20'000; ++n) {
    const Size devices = 4;
    const Shape global = support::random_global(random, 2, 6);
    const Layout one = support::random_layout(random, devices, global);
    Layout other = support::random_layout(random, devices, global);
    const bool by_number = !one.is_listed();
    if (by_number && n % 4 == 1) {  // the same cuts, and perhaps other devices
      std::vector<std::vector<Digit>> digits = one.numbers().digits();
      for (auto& along : digits) std::reverse(along.begin(), along.end());
      other = Layout::numbered(devices, one.cuts(), digits, one.halos()).value();
    } else if (by_number && n % 4 == 2) {  // perhaps without the neighbours' indices
      other = Layout::numbered(devices, one.cuts(), one.numbers().digits()).value();
    } else if (one.in_boxes() && n % 4 == 3) {
      std::vector<Size> at, extents;
      for (const Box& box : one.boxes()) {
        at.insert(at.end(), box.at.begin(), box.at.end());
        extents.insert(extents.end(), box.extent.begin(), box.extent.end());
      }
      other = Layout::listed_boxes(devices, global, at, extents).value();
    }
    bool same = one.tile() == other.tile();
    for (Size d = 0; d < devices; ++d) same = same && indices_of(one, d) == indices_of(other, d);
    ASSERT_EQ(one.equivalent(other), same) << n;
    equal += same ? 1 : 0;
  }
  EXPECT_GT(equal, 2'000);
  EXPECT_LT(equal, 18'000);
}

TEST(UnevenLayout, listed_boxes_may_overlap_or_leave_gaps) {
  const auto covers = [](std::vector<Size> at, std::vector<Size> extents) {
    return Layout::listed_boxes(2, {10}, std::move(at), std::move(extents)).value().covers_once();
  };
  EXPECT_TRUE(covers({0, 4}, {4, 6}));
  EXPECT_TRUE(covers({0, 0}, {10, 0}));
  EXPECT_TRUE(covers({0, 0}, {10, 10}));  // replicas
  EXPECT_FALSE(covers({0, 4}, {5, 6}));
  EXPECT_FALSE(covers({0, 4}, {3, 6}));
  EXPECT_FALSE(covers({0, 5}, {6, 4}));  // as many elements as the array
  EXPECT_FALSE(covers({0, 0}, {0, 0}));
  // Boxes that touch in both dimensions, and overlap in none.
  const auto covers_flat = [](std::vector<Size> at, std::vector<Size> extents) {
    return Layout::listed_boxes(3, {5, 4}, std::move(at), std::move(extents)).value().covers_once();
  };
  EXPECT_TRUE(covers_flat({0, 0, 0, 1, 2, 1}, {5, 1, 2, 3, 3, 3}));
  EXPECT_FALSE(covers_flat({0, 0, 0, 1, 1, 1}, {5, 1, 2, 3, 4, 3}));
}

TEST(UnevenLayout, halos_hold_elements_more_than_once) {
  EXPECT_TRUE(blocks(3, 4, 10).covers_once());
  EXPECT_FALSE(blocks(3, 4, 10, {1, 0}).covers_once());
  // One tile has no neighbours.
  EXPECT_EQ(blocks(1, 10, 10, {1, 2}), blocks(1, 10, 10));
}

TEST(UnevenLayout, listed_boxes_without_elements_are_zeros_whatever_was_said) {
  const Layout zeros = Layout::listed_boxes(2, {4, 4}, {0, 0, 0, 0}, {4, 4, 0, 0}).value();
  const Layout said = Layout::listed_boxes(2, {4, 4}, {0, 0, 2, 1}, {4, 4, 0, 3}).value();
  EXPECT_EQ(said, zeros);
  EXPECT_EQ(said.box(1), (Box{{0, 0}, {0, 0}}));
  const Layout none = Layout::listed_boxes(2, {4}, {0, 0}, {0, 0}).value();
  EXPECT_FALSE(none.is_even());
  EXPECT_EQ(none.tile_size(), 0);
}

TEST(UnevenLayout, the_largest_box_need_not_have_the_largest_sides) {
  const Layout layout = Layout::listed_boxes(2, {4, 4}, {0, 0, 1, 0}, {1, 4, 3, 1}).value();
  EXPECT_EQ(layout.tile(), (Shape{3, 4}));
  EXPECT_EQ(layout.tile_size(), 4);
}

TEST(UnevenLayout, boxes_of_a_list_go_with_their_devices) {
  IotaChain transposed(4);
  transposed.append({{2, 2}, {1, 0}});
  const Layout layout = Layout::listed_boxes(4, {10}, {0, 1, 3, 6}, {1, 2, 3, 4}).value();
  const Layout renamed = layout.renamed(transposed);
  EXPECT_EQ(renamed.extents(), (std::vector<Size>{1, 3, 2, 4}));
  EXPECT_EQ(renamed.base_offsets(), (std::vector<Size>{0, 3, 1, 6}));
}

TEST(UnevenLayout, a_list_has_so_many_numbers_at_most) {
  EXPECT_TRUE(check_listed(max_listed_numbers, 1));
  EXPECT_TRUE(check_listed(max_listed_numbers / 2, 2));
  EXPECT_FALSE(check_listed(max_listed_numbers + 1, 1));
  EXPECT_FALSE(check_listed(max_listed_numbers / 2 + 1, 2));
}

TEST(UnevenLayout, equal_extents_in_a_list_are_an_even_layout) {
  const Layout layout = Layout::listed_boxes(2, {10}, {0, 5}, {5, 5}).value();
  EXPECT_TRUE(layout.is_even());
  EXPECT_EQ(layout, Layout::listed(2, {10}, {5}, {0, 5}).value());
}

/// Everything that an order can do to a layout of four positions.
TEST(UnevenLayout, who_stands_at_a_position_holds_its_box) {
  IotaChain transposed(4);
  transposed.append({{2, 2}, {1, 0}});
  const std::vector<std::pair<std::optional<DeviceTable>, std::vector<Size>>> orders{
      {std::nullopt, {0, 1, 2, 3}},
      {DeviceTable::iota(transposed, 4), {0, 2, 1, 3}},
      {DeviceTable::list({3, 1, 0, 2}), {3, 1, 0, 2}},
      {DeviceTable::list({5, 1, 6, 2}), {5, 1, 6, 2}}};
  const std::vector<Digit> all{{.stride = 1, .size = 4}};
  const std::vector<Digit> half{{.stride = 2, .size = 2}};
  const std::vector<Layout> layouts{
      Layout::numbered(4, {Cuts::blocks(3, 4, 12)}, {all}).value(),
      Layout::numbered(4, {Cuts::blocks(3, 4, 10)}, {all}).value(),
      Layout::numbered(4, {Cuts::blocks(4, 4, 5)}, {all}, {{1, 1}}).value(),
      Layout::numbered(4, {Cuts::blocks(3, 2, 6), Cuts::even(4, 1)}, {half, {}}).value(),
      Layout::listed(4, {4}, {1}, {3, 1, 0, 2}).value()};
  for (const auto& [order, devices_at] : orders) {
    for (const Size devices : {Size{4}, Size{7}}) {
      if (devices_at.front() >= devices) continue;
      for (const Layout& layout : layouts) {
        std::vector<Box> expected(static_cast<std::size_t>(devices),
                                  {Shape(layout.rank(), 0), Shape(layout.rank(), 0)});
        for (std::size_t p = 0; p < 4; ++p) {
          expected[static_cast<std::size_t>(devices_at[p])] = layout.box(static_cast<Size>(p));
        }
        const Layout placed = layout.placed(order, devices);
        EXPECT_EQ(placed.devices(), devices);
        EXPECT_EQ(placed.boxes(), expected);
        const bool in_digits =
            devices == 4 && !layout.is_listed() && (!order || order->chain() != nullptr);
        EXPECT_EQ(placed.is_listed(), !in_digits);
      }
    }
  }
}

TEST(UnevenLayout, an_order_is_not_its_inverse) {
  IotaChain chain(6);
  chain.append({{3, 2}, {1, 0}});
  const Layout six = Layout::numbered(6, {Cuts::blocks(2, 6, 11)}, {{{1, 6}}}).value();
  const Layout placed = six.placed(DeviceTable::iota(chain, 6), 6);
  const std::vector<Size> devices_at{0, 2, 4, 1, 3, 5};
  for (std::size_t p = 0; p < devices_at.size(); ++p) {
    EXPECT_EQ(placed.box(devices_at[p]), six.box(static_cast<Size>(p)));
  }
}

TEST(UnevenLayout, what_is_no_layout_is_refused) {
  EXPECT_EQ(Layout::numbered(4, {Cuts::blocks(3, 3, 10)}, {{{1, 4}}}).error().code,
            Code::ill_formed_type);
  EXPECT_EQ(Layout::numbered(4, {Cuts::blocks(3, 4, 10)}, {{{1, 4}}}, {{11, 0}}).error().code,
            Code::bad_number);
  EXPECT_EQ(Layout::numbered(4, {Cuts::blocks(3, 4, 10)}, {{{1, 4}}}, {{0, -1}}).error().code,
            Code::bad_number);
  EXPECT_EQ(Layout::listed_boxes(2, {10}, {0, 5}, {5, 6}).error().code, Code::ill_formed_type);
  EXPECT_EQ(Layout::listed_boxes(2, {10}, {0, -1}, {5, 1}).error().code, Code::ill_formed_type);
  EXPECT_EQ(Layout::listed_boxes(2, {10}, {0, 5}, {5, -1}).error().code, Code::ill_formed_type);
  EXPECT_EQ(Layout::listed_boxes(2, {10}, {0}, {5}).error().code, Code::ill_formed_type);
}

TEST(UnevenLayout, sizes_next_to_the_largest_do_not_wrap) {
  constexpr Size most = std::numeric_limits<Size>::max();
  const Layout layout =
      Layout::numbered(2, {Cuts::blocks(most, 2, most)}, {{{1, 2}}}, {{most, most}}).value();
  EXPECT_EQ(layout.box(0), (Box{{0}, {most}}));
  EXPECT_EQ(layout.box(1), (Box{{0}, {0}}));
}

}  // namespace
}  // namespace retile::uneven_layout_test
