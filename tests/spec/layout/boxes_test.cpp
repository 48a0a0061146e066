// The boxes of a layout against a filter over all indices that knows no cuts, no digits and no div.
#include "spec/layout/boxes.h"

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <limits>
#include <random>

#include "spec/program/layout_text.h"

namespace spec::boxes_test {
namespace {

using Coordinates = std::vector<Sizes>;  // of every position, row-major

/// Meshes of 1 to `most` devices, by the sizes of their axes; sizes are 2 and more.
std::vector<Sizes> meshes(Size most) {
  std::vector<Sizes> out = {{}};
  for (Index done = 0; done < out.size(); ++done) {
    const Sizes mesh = out[done];
    const Size devices = product(mesh).value();
    for (Size k = 2; k * devices <= most; ++k) {
      out.push_back(mesh);
      out.back().push_back(k);
    }
  }
  return out;
}

Coordinates coordinates(const Sizes& mesh) {
  Coordinates out = {{}};
  for (const Size k : mesh) {
    Coordinates longer;
    for (const Sizes& point : out) {
      for (Size x = 0; x < k; ++x) {
        longer.push_back(point);
        longer.back().push_back(x);
      }
    }
    out = longer;
  }
  return out;
}

std::string name(Index axis) { return std::string(1, static_cast<char>('a' + axis)); }

std::string mesh_text(const Sizes& mesh) {
  std::string out = "one:1";
  for (Index a = 0; a < mesh.size(); ++a) out += "," + name(a) + ":" + std::to_string(mesh[a]);
  return out;
}

/// Every list of different axes.
std::vector<std::vector<Index>> axis_lists(Index axes) {
  std::vector<std::vector<Index>> out = {{}};
  for (Index done = 0; done < out.size(); ++done) {
    const auto list = out[done];
    for (Index a = 0; a < axes; ++a) {
      if (std::find(list.begin(), list.end(), a) != list.end()) continue;
      out.push_back(list);
      out.back().push_back(a);
    }
  }
  return out;
}

std::string axes_text(const std::vector<Index>& list) {
  std::string out;
  for (const Index a : list) out += (out.empty() ? "" : ",") + name(a);
  return "{" + out + "}";
}

Layout layout(const std::string& mesh, const std::string& text) {
  Tokens of_mesh(mesh), in(text);
  of_mesh.next_line();
  in.next_line();
  Positions positions = read_positions(of_mesh);
  positions.order = read_order(of_mesh, positions.count, positions.count - 1);
  EXPECT_EQ(of_mesh.peek(), Tokens::end_of_line) << mesh;
  try {
    const Layout out = read_layout(in, positions);
    EXPECT_EQ(in.peek(), Tokens::end_of_line) << text;
    EXPECT_EQ(wrong_layout(out, positions.count), nullptr) << text;
    return out;
  } catch (const ParseError& error) {
    ADD_FAILURE() << mesh << " " << text << ": " << error.message;
    return {};
  }
}

/// A dimension as it is written, and which tile holds an index.
struct Spelling {
  std::string text;
  std::function<Size(Size)> tile_of;
  Size lo, hi;
};

/// The number of cuts at or below i, the first not counted.
Size cuts_below(const Sizes& o, Size i) {
  Size out = 0;
  for (Index t = 1; t < o.size(); ++t) out += o[t] <= i ? 1 : 0;
  return out;
}

Sizes listed(Size c, Size N, Size n) {
  Sizes o;
  for (Size t = 0; t <= N; ++t) o.push_back(std::min(c * t, n));
  return o;
}

std::string list_text(const Sizes& o) {
  std::string out;
  for (const Size cut : o) out += (out.empty() ? "(" : ",") + std::to_string(cut);
  return out + ")";
}

Size below(Size end, std::mt19937& random) {
  return static_cast<Size>(random() % static_cast<std::uint64_t>(end));
}

/// A grid of chunks of two dimensions, in turn or with a list of their tiles.
Spelling chunks(Size N, Size n, const std::string& axes, bool in_turn, std::mt19937& random) {
  Size w = 1 + below(n, random);
  while (n % w != 0) --w;
  Sizes rows = {0, n / w}, columns = {0, w}, t;
  for (Sizes* ends : {&rows, &columns}) {
    for (Size k = below(3, random); k > 0; --k) ends->push_back(below(ends->at(1) + 1, random));
    std::sort(ends->begin(), ends->end());
  }
  const Size across = static_cast<Size>(columns.size()) - 1;
  for (Size k = 0; k < across * (static_cast<Size>(rows.size()) - 1); ++k) {
    t.push_back(in_turn ? k % N : below(N, random));
  }
  const auto tile_of = [=](Size i) {
    return t[static_cast<Index>(cuts_below(rows, i / w) * across + cuts_below(columns, i % w))];
  };
  const std::string text = list_text(rows) + "*" + list_text(columns) + "@";
  return {text + (in_turn ? "" : list_text(t)) + axes + std::to_string(n), tile_of, 0, 0};
}

std::vector<Spelling> spellings(Size N, Size n, const std::string& axes, std::mt19937& random) {
  const auto halo_text = [](Size lo, Size hi) {
    return "<" + std::to_string(lo) + "," + std::to_string(hi) + ">";
  };
  std::vector<Spelling> out;
  const auto add = [&](const std::string& cuts, const Sizes& o) {
    const auto tile_of = [o](Size i) { return cuts_below(o, i); };
    const std::string text = cuts + axes + std::to_string(n);
    out.push_back({text, tile_of, 0, 0});
    const Size lo = static_cast<Size>(random() % static_cast<std::uint64_t>(n + 1));
    const Size hi = static_cast<Size>(random() % static_cast<std::uint64_t>(n + 1));
    out.push_back({text + halo_text(lo, hi), tile_of, lo, hi});
    out.push_back({text + halo_text(1, 0), tile_of, 1, 0});
  };
  Size ceil = 1;
  while (ceil * N < n) ++ceil;
  add(std::to_string(ceil), listed(ceil, N, n));
  for (const Size more : {Size{0}, Size{1}, n}) {
    add(std::to_string(ceil + more) + "~", listed(ceil + more, N, n));
  }
  Sizes o = {0, n};
  while (static_cast<Size>(o.size()) <= N) {
    o.push_back(static_cast<Size>(random() % static_cast<std::uint64_t>(n + 1)));
  }
  std::sort(o.begin(), o.end());
  add(list_text(o), o);
  for (const bool in_turn : {true, false}) out.push_back(chunks(N, n, axes, in_turn, random));
  return out;
}

/// All indices that position p holds: those near enough to one of its tile.
Sizes filtered(const Spelling& dim, Size n, const Sizes& point, const Sizes& mesh,
               const std::vector<Index>& axes) {
  Size t = 0;
  for (Index a = axes.size(); a-- > 0;) t = t * mesh[axes[a]] + point[axes[a]];
  Sizes core, out;
  for (Size i = 0; i < n; ++i) {
    if (dim.tile_of(i) == t) core.push_back(i);
  }
  for (Size j = 0; j < n; ++j) {
    bool holds = false;
    for (const Size i : core) holds = holds || (i - dim.lo <= j && j <= i + dim.hi);
    if (holds) out.push_back(j);
  }
  return out;
}

/// What differs between boxes and filter, over all dimensions to `most_n` and meshes of 12 devices.
/// `changed` may change what is read: a control.
template <class Changed>
Size differences(Size most_n, Size& compared, Changed changed) {
  std::mt19937 random(1);
  Size wrong = 0;
  for (const Sizes& mesh : meshes(12)) {
    const Coordinates points = coordinates(mesh);
    for (const auto& axes : axis_lists(mesh.size())) {
      Size N = 1;
      for (const Index a : axes) N *= mesh[a];
      for (Size n = 1; n <= most_n; ++n) {
        for (const Spelling& dim : spellings(N, n, axes_text(axes), random)) {
          const Layout L = changed(layout(mesh_text(mesh), "[" + dim.text + "]"));
          const auto all = boxes(L, static_cast<Size>(points.size()));
          for (Index p = 0; p < points.size(); ++p) {
            ++compared;
            wrong += all[p] == Box{filtered(dim, n, points[p], mesh, axes)} ? 0 : 1;
          }
        }
      }
    }
  }
  return wrong;
}

TEST(Boxes, are_what_a_filter_over_all_indices_gives) {
  Size compared = 0;
  EXPECT_EQ(differences(30, compared, [](const Layout& L) { return L; }), 0);
  std::cout << compared << " boxes of rank 1\n";
  EXPECT_GT(compared, 100000);
}

TEST(Boxes, control_other_cuts_halos_and_digits_are_noticed) {
  Size compared = 0;
  const auto differ = [&](auto change) {
    return differences(5, compared, [&](Layout L) {
      change(L.dims.front());
      return L;
    });
  };
  EXPECT_GT(differ([](LayoutDim& dim) { ++dim.C.c; }), 100);
  EXPECT_GT(differ([](LayoutDim& dim) {
              for (Sizes& o : dim.C.L) ++o.back();  // rows are longer
            }),
            100);
  EXPECT_GT(differ([](LayoutDim& dim) { std::reverse(dim.C.t.begin(), dim.C.t.end()); }), 100);
  EXPECT_GT(differ([](LayoutDim& dim) { ++dim.C.lo; }), 100);
  EXPECT_GT(differ([](LayoutDim& dim) { ++dim.C.hi; }), 100);
  EXPECT_GT(differ([](LayoutDim& dim) { std::reverse(dim.xs.begin(), dim.xs.end()); }), 100);
}

/// Rank 2: a box is the product of its sides, and empty where one of them is.
TEST(Boxes, are_products) {
  std::mt19937 random(2);
  const Sizes mesh = {2, 3};
  const Coordinates points = coordinates(mesh);
  Size empty = 0, whole = 0;
  const auto lists = axis_lists(2);
  for (const auto& rows : lists) {
    for (const auto& columns : lists) {
      std::vector<Index> both = rows;
      both.insert(both.end(), columns.begin(), columns.end());
      std::sort(both.begin(), both.end());
      if (std::adjacent_find(both.begin(), both.end()) != both.end()) continue;
      const auto count = [&](const auto& list) {
        Size N = 1;
        for (const Index a : list) N *= mesh[a];
        return N;
      };
      for (Size n = 1; n <= 7; ++n) {
        for (const Spelling& d_0 : spellings(count(rows), n, axes_text(rows), random)) {
          for (const Spelling& d_1 : spellings(count(columns), 5, axes_text(columns), random)) {
            const Layout L = layout(mesh_text(mesh), "[" + d_0.text + ", " + d_1.text + "]");
            const auto all = boxes(L, 6);
            for (Index p = 0; p < points.size(); ++p) {
              Box expected = {filtered(d_0, n, points[p], mesh, rows),
                              filtered(d_1, 5, points[p], mesh, columns)};
              if (expected[0].empty() || expected[1].empty()) expected = {{}, {}};
              ++(expected[0].empty() ? empty : whole);
              ASSERT_EQ(all[p], expected) << d_0.text << ", " << d_1.text;
            }
          }
        }
      }
    }
  }
  EXPECT_GT(empty, 1000);
  EXPECT_GT(whole, 1000);
}

TEST(Boxes, an_order_says_who_stands_where) {
  const std::string text = "[(0,1,4){x}4<1,0>, 2{y}4]", mesh = "x:2,y:3";
  const auto plain = boxes(layout(mesh, "[(0,1,4){x}4<1,0>, 2{y}4]"), 6);
  for (const auto& [order, devices] : std::vector<std::pair<std::string, Sizes>>{
           {"[6]<=[3,2]T(1,0)", {0, 2, 4, 1, 3, 5}}, {"[5,0,1,4,2,3]", {5, 0, 1, 4, 2, 3}}}) {
    const auto ordered = boxes(layout(mesh + " order=" + order, text), 6);
    for (Index p = 0; p < 6; ++p) {
      EXPECT_EQ(ordered[static_cast<Index>(devices[p])], plain[p]) << order;
    }
    EXPECT_NE(ordered, plain);
  }
}

TEST(Boxes, a_root_holds_everything) {
  const auto all = boxes(layout("p:4", "[2, 3]@2"), 4);
  for (Index d = 0; d < 4; ++d) {
    EXPECT_EQ(all[d], d == 2 ? (Box{{0, 1}, {0, 1, 2}}) : (Box{{}, {}}));
  }
}

/// x:(m)k is the middle digit of the coordinate of x in mixed radix m, k, the rest.
TEST(Boxes, parts_of_axes_are_middle_digits) {
  Size parts = 0;
  for (Size n = 1; n <= 12; ++n) {
    for (Size m = 1; m <= n; ++m) {
      for (Size k = 1; m * k <= n; ++k) {
        if (n % (m * k) != 0) continue;
        ++parts;
        const Size rest = n / (m * k);
        const std::string mesh = "u:2,x:" + std::to_string(n) + ",v:3";
        const auto all = boxes(layout(mesh, "[1{x:(" + std::to_string(m) + ")" + std::to_string(k) +
                                                "}" + std::to_string(k) + "]"),
                               6 * n);
        Index d = 0;
        for (Size u = 0; u < 2; ++u) {
          for (Size major = 0; major < m; ++major) {
            for (Size middle = 0; middle < k; ++middle) {
              for (Size minor = 0; minor < rest * 3; ++minor) EXPECT_EQ(all[d++], Box{{middle}});
            }
          }
        }
      }
    }
  }
  EXPECT_GT(parts, 50);
}

/// Only one c is well-formed, blocks are whatever covers, and products may pass 2^63.
TEST(Boxes, well_formed_cuts) {
  for (Size N = 1; N <= 12; ++N) {
    for (Size n = 1; n <= 30; ++n) {
      Size ceils = 0;
      for (Size c = 0; c <= 31; ++c) {
        ceils += wf_ceil(c, N, n) ? 1 : 0;
        EXPECT_EQ(wf_ceil(c, N, n), (c - 1) * N < n && n <= c * N && c > 0);
        EXPECT_EQ(covers(c, N, n), n <= c * N);
      }
      EXPECT_EQ(ceils, 1);
    }
  }
  const Size huge = std::numeric_limits<Size>::max();
  EXPECT_TRUE(covers(huge, huge, huge));
  EXPECT_FALSE(wf_ceil(huge, huge, huge));
  EXPECT_TRUE(wf_ceil(1, huge, huge));
  EXPECT_TRUE(wf_ceil(huge / 2 + 1, 2, huge));
  EXPECT_TRUE(wf_list({0, 0, 3, 3}, 3, 3));
  EXPECT_FALSE(wf_list({0, 2, 1, 3}, 3, 3));
  EXPECT_FALSE(wf_list({1, 2, 3}, 2, 3));
  EXPECT_FALSE(wf_list({0, 2, 4}, 2, 3));
  EXPECT_FALSE(wf_list({0, 3}, huge, 3));
  EXPECT_FALSE(wf_list({}, huge, 3));
}

/// The worked examples: widths of tiles.
TEST(Boxes, widths_of_ceil_tiles) {
  const auto widths = [](const std::string& mesh, const std::string& text, Size D) {
    Sizes out;
    for (const Box& box : boxes(layout(mesh, text), D)) {
      out.push_back(static_cast<Size>(box[0].size()));
    }
    return out;
  };
  EXPECT_EQ(widths("x:8", "[2{x}9]", 8), (Sizes{2, 2, 2, 2, 1, 0, 0, 0}));
  EXPECT_EQ(widths("y:2,x:3", "[1{x,y}4]", 6), (Sizes{1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(widths("x:4", "[3{x}10]", 4), (Sizes{3, 3, 3, 1}));
}

TEST(Boxes, what_is_too_large_is_said_soon) {
  constexpr Size most = most_sides / 2;  // devices of boxes with one dimension
  EXPECT_NO_THROW(boxes(layout("x:" + std::to_string(most), "[1]@0"), most));
  EXPECT_THROW(boxes(layout("x:" + std::to_string(most + 1), "[1]@0"), most + 1), TooLarge);
  EXPECT_THROW(boxes(layout("x:2147483648", "[1]"), Size{1} << 31), TooLarge);
  EXPECT_THROW(boxes(layout("x:2", "[9223372036854775807]@1"), 2), TooLarge);
  EXPECT_THROW(boxes(layout("x:2", "[4611686018427387904{x}9223372036854775807]"), 2), TooLarge);
  EXPECT_THROW(boxes(layout("x:2", "[(0,0,300000000){x}300000000, 2]"), 2), TooLarge);
}

}  // namespace
}  // namespace spec::boxes_test
