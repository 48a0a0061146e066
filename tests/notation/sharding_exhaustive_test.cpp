// All shardings over small meshes, in every notation, against their meaning by counting; and each notation written
// as each other one.
#include <gtest/gtest.h>

#include <iostream>
#include <random>
#include <string>
#include <string_view>

#include "notation/meaning.h"
#include "retile/notation/convert.h"
#include "retile/notation/sharding.h"
#include "support/values.h"

namespace retile::sharding_exhaustive_test {
namespace {

using meaning::ByAxes;

const std::vector<std::vector<Size>> meshes = {{6},       {2, 3},    {4, 2},
                                               {2, 2, 2}, {3, 1, 2}, {4, 2, 3}};
const std::vector<Shape> shapes = {{24, 24}, {7, 10}, {1, 5}};
const std::string names = "xyz";

/// Calls `use` with every sharding of two dimensions over the mesh, addends too.
template <typename Use>
void for_each_sharding(const std::vector<Size>& mesh, const Use& use) {
  std::vector<std::size_t> order(mesh.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::string> seen;
  do {
    Size codes = 1;
    for (std::size_t k = 0; k < mesh.size(); ++k) codes *= 4;
    for (Size code = 0; code < codes; ++code) {
      ByAxes sharding{.mesh = mesh, .dims = {{}, {}}, .addends = {}};
      Size rest = code;
      std::string key;
      for (const std::size_t axis : order) {
        const Size where = std::exchange(rest, rest / 4) % 4;
        if (where < 2) sharding.dims[static_cast<std::size_t>(where)].push_back(axis);
        if (where == 2) sharding.addends.push_back(axis);
      }
      std::sort(sharding.addends.begin(), sharding.addends.end());
      for (const auto* list : {&sharding.dims[0], &sharding.dims[1], &sharding.addends}) {
        for (const std::size_t axis : *list) key += names[axis];
        key += '|';
      }
      if (std::find(seen.begin(), seen.end(), key) != seen.end()) continue;
      seen.push_back(key);
      use(sharding);
    }
  } while (std::next_permutation(order.begin(), order.end()));
}

// ---- Writers of this test's own ----------------------------------------------------------------

std::string listed(const std::vector<std::size_t>& axes, const std::string& quote,
                   std::string_view open, std::string_view close) {
  std::string out(open);
  for (const std::size_t axis : axes) {
    if (out.size() > open.size()) out += ", ";
    out += quote.empty() ? std::to_string(axis) : quote + names[axis] + quote;
  }
  return out + std::string(close);
}

std::string mesh_text(const ByAxes& sharding, std::string_view quote, std::string_view between) {
  std::string out;
  for (std::size_t k = 0; k < sharding.mesh.size(); ++k) {
    if (k > 0) out += ", ";
    out += std::string(quote) + names[k] + std::string(quote) + std::string(between) +
           std::to_string(sharding.mesh[k]);
  }
  return out;
}

std::vector<std::string> texts(const ByAxes& s) {
  const auto unreduced = [&](const std::string& quote) {
    return s.addends.empty() ? "" : ", unreduced=" + listed(s.addends, quote, "{", "}");
  };
  const std::string sdy = "[" + listed(s.dims[0], "\"", "{", "}") + ", " +
                          listed(s.dims[1], "\"", "{", ", ?}p1") + "]" + unreduced("\"");
  std::vector<std::string> out;
  out.push_back("#sdy.sharding<@mesh, " +
                (s.dims[1].empty()
                     ? "[" + listed(s.dims[0], "\"", "{", "}") + ", {?}]" + unreduced("\"")
                     : sdy) +
                ">");
  out.push_back("{mesh[" + mesh_text(s, "'", "=") + "], [" + listed(s.dims[0], "'", "{", "}") +
                ", " + listed(s.dims[1], "'", "{", "}") + "]" + unreduced("'") + "}");
  out.push_back("NamedSharding(mesh=Mesh(" + mesh_text(s, "'", ": ") +
                ", axis_types=(Auto,)), spec=PartitionSpec(" +
                listed(s.dims[0], "'", "(", s.dims[0].size() == 1 ? ",)" : ")") + ", " +
                listed(s.dims[1], "'", "(", s.dims[1].size() == 1 ? ",)" : ")") + unreduced("'") +
                "))");
  out.push_back("#mesh.shard<@m, [" + listed(s.dims[0], "", "[", "]") + ", " +
                listed(s.dims[1], "", "[", "]") + "]" +
                (s.addends.empty() ? "" : ", partial = sum" + listed(s.addends, "", "[", "]")) +
                ">");
  return out;
}

/// A table of HLO, as a list: the devices of tile 0, of tile 1, ..
std::string table_text(const ByAxes& s) {
  const Size devices = meaning::product(s.mesh);
  Size rows = 1;
  Size columns = 1;
  Size addends = 1;
  static_cast<void>(meaning::number_of(s, s.dims[0], 0, rows));
  static_cast<void>(meaning::number_of(s, s.dims[1], 0, columns));
  static_cast<void>(meaning::number_of(s, s.addends, 0, addends));
  std::string list;
  for (Size tile = 0; tile < rows * columns * addends; ++tile) {
    for (Size d = 0; d < devices; ++d) {
      Size unused = 0;
      const Size row = meaning::number_of(s, s.dims[0], d, unused);
      const Size column = meaning::number_of(s, s.dims[1], d, unused);
      const Size addend = meaning::number_of(s, s.addends, d, unused);
      if ((row * columns + column) * addends + addend != tile) continue;
      list += (list.empty() ? "" : ",") + std::to_string(d);
    }
  }
  return "{devices=[" + std::to_string(rows) + "," + std::to_string(columns) + "," +
         std::to_string(addends) + "," + std::to_string(devices / rows / columns / addends) + "]" +
         list + " last_tile_dims={unreduced, replicated}}";
}

ShardingContext context_of(const ByAxes& s, const Shape& shape) {
  std::vector<Axis> axes;
  for (std::size_t k = 0; k < s.mesh.size(); ++k)
    axes.push_back({std::string(1, names[k]), s.mesh[k]});
  ShardingContext out;
  out.mesh = PlacedMesh{.mesh = Mesh::make(axes).value()};
  out.shape = shape;
  return out;
}

/// Whether a layout is what counting says.
bool is_meant(const Layout& layout, const ByAxes& s, const Shape& shape) {
  for (Size d = 0; d < layout.devices(); ++d) {
    if (!meaning::is_box(layout.box(d), meaning::indices_of(s, shape, d))) return false;
    Size count = 1;
    const Size addend = meaning::number_of(s, s.addends, d, count);
    if (layout.addend_count() != count || layout.addend(d) != addend) return false;
  }
  return layout.devices() == meaning::product(s.mesh);
}

TEST(ShardingExhaustive, every_notation_means_what_counting_says) {
  std::size_t compared = 0;
  for (const auto& mesh : meshes) {
    for_each_sharding(mesh, [&](const ByAxes& s) {
      for (const Shape& shape : shapes) {
        auto all = texts(s);
        all.push_back(table_text(s));
        for (const std::string& text : all) {
          const Sharding read = support::value(parse_sharding(text, context_of(s, shape)));
          EXPECT_TRUE(is_meant(read.layout, s, shape)) << text;
          ++compared;
        }
      }
    });
  }
  EXPECT_GT(compared, 4000U);
  RecordProperty("texts", static_cast<int>(compared));
}

TEST(ShardingExhaustive, parts_of_an_axis_are_its_factors) {
  // x:12 as if it were x:2, y:3, z:2: the part of y is "x":(2)3.
  const std::vector<std::string> parts = {"(1)2", "(2)3", "(6)2"};
  ShardingContext over;
  over.mesh = PlacedMesh{.mesh = Mesh::make({{"x", 12}}).value()};
  for_each_sharding({2, 3, 2}, [&](const ByAxes& s) {
    for (const Shape& shape : shapes) {
      over.shape = shape;
      for (const char quote : {'"', '\''}) {
        const auto list = [&](const std::vector<std::size_t>& axes) {
          std::string out = "{";
          for (const std::size_t axis : axes) {
            out += (out.size() > 1 ? "," : "") + std::string{quote, 'x', quote} + ":" + parts[axis];
          }
          return out + "}";
        };
        const std::string body = "[" + list(s.dims[0]) + "," + list(s.dims[1]) + "]" +
                                 (s.addends.empty() ? "" : ", unreduced=" + list(s.addends));
        const std::string text =
            quote == '"' ? "<@m, " + body + ">" : "{mesh['x'=12], " + body + "}";
        const Sharding read = support::value(parse_sharding(text, over));
        EXPECT_TRUE(is_meant(read.layout, s, shape)) << text;
        for (const ShardingForm form :
             {ShardingForm::sdy, ShardingForm::hlo3, ShardingForm::hlo2}) {
          const std::string again = support::value(to_text(read, form));
          EXPECT_TRUE(is_meant(support::value(parse_sharding(again, over)).layout, s, shape))
              << again;
        }
      }
    }
  });
}

TEST(ShardingExhaustive, counting_tells_the_orders_of_axes_apart) {  // the control
  const ByAxes s{.mesh = {2, 3}, .dims = {{0, 1}, {}}, .addends = {}};
  const ByAxes other{.mesh = {2, 3}, .dims = {{1, 0}, {}}, .addends = {}};
  const Sharding read = support::value(parse_sharding(texts(s).front(), context_of(s, {24, 24})));
  EXPECT_TRUE(is_meant(read.layout, s, {24, 24}));
  EXPECT_FALSE(is_meant(read.layout, other, {24, 24}));
}

TEST(ShardingExhaustive, what_is_written_in_any_form_reads_as_the_same) {
  std::vector<std::size_t> written(sharding_form_names.size(), 0);
  std::vector<std::size_t> refused(sharding_form_names.size(), 0);
  for (const auto& mesh : meshes) {
    for_each_sharding(mesh, [&](const ByAxes& s) {
      for (const Shape& shape : shapes) {
        const ShardingContext context = context_of(s, shape);
        const Sharding sharding = support::value(parse_sharding(texts(s).front(), context));
        for (std::size_t form = 0; form < written.size(); ++form) {
          const auto text = to_text(sharding, static_cast<ShardingForm>(form));
          ++(text ? written : refused)[form];
          if (!text) continue;
          const auto again = parse_sharding(*text, context);
          ASSERT_TRUE(again.has_value()) << *text << "\n" << render(again.error());
          EXPECT_TRUE(again->layout.equivalent(sharding.layout)) << *text;
          const auto twice = to_text(*again, static_cast<ShardingForm>(form));
          ASSERT_TRUE(twice.has_value()) << *text;
          EXPECT_EQ(*twice, *text);
        }
      }
    });
  }
  for (std::size_t form = 0; form < written.size(); ++form) {
    EXPECT_GT(written[form], 400U) << sharding_form_names[form];
    const auto name = static_cast<ShardingForm>(form);
    const bool says_all = name != ShardingForm::dtensor && name != ShardingForm::mlir22;
    EXPECT_EQ(refused[form] == 0, says_all) << sharding_form_names[form];
  }
}

// ---- Iotas --------------------------------------------------------------------------------------

/// Factors of n in some order.
std::vector<Size> random_factors(std::mt19937_64& random, Size n) {
  std::vector<Size> out;
  for (Size p = 2; n > 1; ++p) {
    while (n % p == 0) {
      if (out.empty() || random() % 3 == 0) {
        out.push_back(p);
      } else {
        out[random() % out.size()] *= p;
      }
      n /= p;
    }
  }
  if (random() % 4 == 0) out.push_back(1);
  std::shuffle(out.begin(), out.end(), random);
  return out;
}

std::string numbers(const std::vector<Size>& list) {
  std::string out;
  for (const Size number : list) out += (out.empty() ? "" : ",") + std::to_string(number);
  return out;
}

TEST(ShardingExhaustive, iotas_of_hlo_are_those_of_numpy) {
  std::mt19937_64 random(17);
  std::size_t cut_across = 0;
  for (int round = 0; round < 3000; ++round) {
    const std::vector<Size> counts = {1, 2, 6, 8, 12, 24, 36};
    const Size devices = counts[random() % counts.size()];
    const auto shape = random_factors(random, devices);
    std::vector<std::size_t> transpose(shape.size());
    std::iota(transpose.begin(), transpose.end(), std::size_t{0});
    std::shuffle(transpose.begin(), transpose.end(), random);
    auto extents = random_factors(random, devices);
    while (extents.size() < 3) extents.push_back(1);
    const Shape global(extents.size() - 1, 7);
    const std::vector<Size> table = meaning::iota(shape, transpose);
    const std::string flags = " last_tile_dim_replicate}";
    const std::string iota = "{devices=[" + numbers(extents) + "]<=[" + numbers(shape) + "]T(" +
                             numbers({transpose.begin(), transpose.end()}) + ")" + flags;
    const std::string list = "{devices=[" + numbers(extents) + "]" + numbers(table) + flags;
    ShardingContext context;
    context.shape = global;
    context.devices = devices;
    for (const std::string& text : shape.empty() ? std::vector{list} : std::vector{iota, list}) {
      const Sharding read = support::value(parse_sharding(text, context));
      cut_across += read.mesh.order.has_value() ? 1U : 0U;
      for (std::size_t p = 0; p < table.size(); ++p) {
        const auto at = meaning::coordinates(extents, static_cast<Size>(p));
        std::vector<meaning::Indices> want;
        for (std::size_t i = 0; i < global.size(); ++i) {
          want.push_back(meaning::tile_indices(global[i], extents[i], at[i]));
        }
        ASSERT_TRUE(meaning::is_box(read.layout.box(table[p]), want))
            << text << " device " << table[p];
      }
      for (const ShardingForm form :
           {ShardingForm::hlo1, ShardingForm::hlo2, ShardingForm::hlo3, ShardingForm::sdy}) {
        const auto again = to_text(read, form);
        ASSERT_TRUE(again.has_value()) << text << render(again.error());
        EXPECT_TRUE(support::value(parse_sharding(*again, context)).layout.equivalent(read.layout))
            << text << "\n"
            << *again;
      }
    }
  }
  EXPECT_GT(cut_across, 10U);
}

// ---- DTensor ------------------------------------------------------------------------------------

TEST(ShardingExhaustive, placements_are_what_chunking_gives) {
  std::mt19937_64 random(23);
  std::size_t boxes = 0;
  std::size_t pieces = 0;
  std::size_t sections = 0;
  std::size_t written = 0;
  std::size_t chunks_written = 0;
  std::size_t uneven = 0;
  std::size_t out_of_order = 0;
  for (int round = 0; round < 6000; ++round) {
    const std::vector<Size> mesh = meshes[random() % meshes.size()];
    const Shape shape = {static_cast<Size>(1 + random() % 26),
                         std::vector<Size>{24, 12, 9}[random() % 3]};
    std::vector<std::size_t> dim_of;
    std::vector<Size> factor_of;
    std::string text = "(";
    for (std::size_t k = 0; k < mesh.size(); ++k) {
      dim_of.push_back(random() % 3);
      factor_of.push_back(random() % 2 == 0 ? 1 : std::vector<Size>{2, 3, 4}[random() % 3]);
      if (dim_of[k] == 2)
        text += "Replicate(), ";
      else if (factor_of[k] == 1)
        text += "Shard(dim=" + std::to_string(dim_of[k]) + "), ";
      else
        text += "_StridedShard(dim=" + std::to_string(dim_of[k]) +
                ", sf=" + std::to_string(factor_of[k]) + "), ";
    }
    text += ")";
    const ByAxes s{.mesh = mesh, .dims = {}, .addends = {}};
    const auto read = parse_sharding(text, context_of(s, shape));
    bool all_boxes = true;
    std::vector<std::vector<meaning::Indices>> held;
    for (Size d = 0; d < meaning::product(mesh); ++d) {
      std::vector<meaning::Indices> indices;
      for (const Size extent : shape) {
        indices.emplace_back(static_cast<std::size_t>(extent));
        std::iota(indices.back().begin(), indices.back().end(), Size{0});
      }
      const auto at = meaning::coordinates(mesh, d);
      for (std::size_t k = 0; k < mesh.size(); ++k) {
        if (dim_of[k] == 2) continue;
        indices[dim_of[k]] = meaning::strided(indices[dim_of[k]], mesh[k], factor_of[k], at[k]);
      }
      for (const auto& one : indices) {
        all_boxes = all_boxes &&
                    (one.empty() || one.back() - one.front() == static_cast<Size>(one.size()) - 1);
      }
      held.push_back(std::move(indices));
    }
    ASSERT_TRUE(read.has_value()) << text << render(read.error());
    const auto again = to_text(*read, ShardingForm::dtensor);
    if (again) {
      EXPECT_TRUE(support::value(parse_sharding(*again, context_of(s, shape)))
                      .layout.equivalent(read->layout))
          << text << *again;
    }
    if (!read->layout.in_boxes()) {
      for (Size d = 0; d < meaning::product(mesh); ++d) {
        EXPECT_EQ(meaning::indices_of(read->layout.stretches(d)), held[static_cast<std::size_t>(d)])
            << text << " of " << numbers(shape) << " device " << d;
      }
      const bool is_chunked = std::any_of(read->layout.cuts().begin(), read->layout.cuts().end(),
                                          [](const Cuts& cuts) { return cuts.is_chunked(); });
      ++(!is_chunked ? sections : all_boxes ? out_of_order : pieces);
      // Not where the other dimension is cut in strides.
      (is_chunked ? chunks_written : written) += again ? 1U : 0U;
      continue;
    }
    ASSERT_TRUE(all_boxes) << text;
    ++boxes;
    if (text.find("_Strided") != std::string::npos && !read->layout.is_even()) ++uneven;
    for (Size d = 0; d < meaning::product(mesh); ++d) {
      ASSERT_TRUE(meaning::is_box(read->layout.box(d), held[static_cast<std::size_t>(d)]))
          << text << " of " << numbers(shape) << " device " << d;
    }
  }
  std::cout << boxes << " of boxes, " << uneven << " of them uneven in strides, " << pieces
            << " of several pieces by several axes, " << chunks_written << " of them written, "
            << sections << " by one, " << out_of_order << " in no order\n";
  EXPECT_GT(boxes, 1500U);
  EXPECT_GT(uneven, 100U);
  EXPECT_GT(pieces, 300U);
  EXPECT_GT(sections, 1000U);
  EXPECT_GT(written, sections / 2);
  EXPECT_GT(chunks_written, pieces / 2);
  EXPECT_GT(out_of_order, 0U);
}

}  // namespace
}  // namespace retile::sharding_exhaustive_test
