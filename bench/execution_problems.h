// What bench/execution.cpp moves: redistributions of about a given size, in the paper's notation.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "retile/core/size.h"
#include "retile/program/ops.h"

namespace execution_bench {

using retile::Exchange;
using retile::Shape;
using retile::Size;
using retile::Transfer;

inline constexpr Size element_bytes = 4;

struct Problem {
  std::string name;
  std::string kind;  ///< problems of one kind are summed up together
  std::string mesh;
  std::string from;
  std::string to;
};

/// The shortest piece that lies together in the tile before and in the tile after.
inline Size run_bytes(const Exchange& exchange, const Shape& in_tile, const Shape& out_tile) {
  Size shortest = 0;
  for (const Transfer& transfer : exchange.transfers) {
    Size run = element_bytes;
    for (std::size_t i = in_tile.size(); i-- > 0;) {
      run *= transfer.shape[i];
      if (transfer.shape[i] != in_tile[i] || transfer.shape[i] != out_tile[i]) break;
    }
    shortest = shortest == 0 ? run : std::min(shortest, run);
  }
  return shortest;
}

/// Writes types: extents and which axes split them.
class Notation {
 public:
  explicit Notation(Size processes) : processes_(processes) {}

  [[nodiscard]] static std::string whole(Size extent) { return std::to_string(extent); }
  [[nodiscard]] std::string split(Size extent) const { return split(extent, processes_, "d"); }
  /// Blocks of ceil(extent / parts).
  [[nodiscard]] static std::string split(Size extent, Size parts, const std::string& axes) {
    return std::to_string((extent + parts - 1) / parts) + "{" + axes + "}" + std::to_string(extent);
  }
  /// All dimensions whole but number `at`.
  [[nodiscard]] std::string type(const Shape& extents, std::size_t at) const {
    std::string out = "[";
    for (std::size_t i = 0; i < extents.size(); ++i) {
      out += (i == 0 ? "" : ", ") + (i == at ? split(extents[i]) : whole(extents[i]));
    }
    return out + "]";
  }

 private:
  Size processes_;
};

inline std::string size_text(Size bytes) {
  return bytes % 1024 == 0 ? std::to_string(bytes / 1024) + " KiB" : std::to_string(bytes) + " B";
}

/// The problems for this number of processes with arrays of about `bytes` bytes. Fig. 13 is as
/// printed (64 to 170 MB) for 256 MiB and smaller in proportion below.
inline std::vector<Problem> problems(Size processes, Size bytes) {
  const Size p = processes;
  const Size elements = bytes / element_bytes;
  const Notation notation(p);
  const std::string mesh = "d:" + std::to_string(p);
  // An extent that the processes divide and that makes an array with others of `rest` elements.
  const auto fill = [&](Size rest) { return std::max<Size>(elements / rest / p * p, p); };
  std::vector<Problem> out;
  const auto add = [&](const std::string& kind, const std::string& name, const Shape& extents,
                       std::size_t from, std::size_t to) {
    out.push_back({name, kind, mesh, notation.type(extents, from), notation.type(extents, to)});
  };

  for (const Size run : {64, 256, 4096, 32768}) {
    const Size columns = run / element_bytes * p;
    if (elements / columns < p) continue;
    const Shape extents{fill(columns), columns};
    add("rows and columns", "rows to columns, runs of " + size_text(run), extents, 0, 1);
    add("rows and columns", "columns to rows, runs of " + size_text(run), extents, 1, 0);
  }
  if (p >= 4 && p % 2 == 0) {
    const Size a = 2;
    const Size b = p / 2;
    const Size columns = std::min<Size>(1024 * b, elements / p / p * p);
    const Size rows = fill(columns);
    out.push_back(
        {"mesh swap", "mesh swap", "a:" + std::to_string(a) + ",b:" + std::to_string(b),
         "[" + Notation::split(rows, a, "a") + ", " + Notation::split(columns, b, "b") + "]",
         "[" + Notation::split(rows, b, "b") + ", " + Notation::split(columns, a, "a") + "]"});
  }
  for (const Size run : {64, 1024, 8192}) {
    const Size last = run / element_bytes * p;
    const Size middle = 8 * p;
    if (elements < middle * last) continue;
    add("axis moves", "3-D, second to third, runs of " + size_text(run),
        {elements / middle / last, middle, last}, 1, 2);
  }
  {
    const Size middle = 8 * p;
    const Size last = 64 * p;
    add("axis moves", "3-D, third to second, runs of " + size_text(last / p * element_bytes),
        {std::max<Size>(elements / middle / last, 1), middle, last}, 2, 1);
  }
  for (const Size run : {256, 4096}) {
    const Size third = 4 * p;
    const Size last = run / element_bytes / 4;
    const Size second = 2 * p;
    if (elements < second * third * last) continue;
    add("axis moves", "4-D, second to third, runs of " + size_text(run),
        {elements / second / third / last, second, third, last}, 1, 2);
  }
  {
    // Batch, sequence, heads, size of a head.
    const Size heads = 16;
    const Size size = 64;
    add("attention", "attention, sequence to heads", {2, fill(2 * heads * size), heads, size}, 1,
        2);
  }
  {
    // The result is the whole array on everyone, so the array is smaller.
    const Size columns = 1024;
    const Size rows = std::max<Size>(elements / p / columns / p * p, p);
    const std::string whole = "[" + Notation::whole(rows) + ", " + Notation::whole(columns) + "]";
    out.push_back({"gather rows", "gathers", mesh, notation.type({rows, columns}, 0), whole});
    out.push_back({"gather columns", "gathers", mesh, notation.type({rows, columns}, 1), whole});
  }
  if (p == 8) {
    const std::string cube = "a:2,b:2,c:2";
    const auto scaled = [&](Size printed, int rank) {
      const double part = static_cast<double>(bytes) / static_cast<double>(Size{256} << 20);
      const double extent = static_cast<double>(printed) * std::pow(part, 1.0 / rank);
      return std::max<Size>(4, std::lround(extent / 4) * 4);
    };
    const auto add_cube = [&](const std::string& name, const Shape& printed,
                              const std::vector<std::string>& from,
                              const std::vector<std::string>& to) {
      const auto type = [&](const std::vector<std::string>& axes) {
        std::string text = "[";
        for (std::size_t i = 0; i < printed.size(); ++i) {
          const Size extent = scaled(printed[i], static_cast<int>(printed.size()));
          const auto parts = static_cast<Size>(std::size_t{1} << ((axes[i].size() + 1) / 2));
          text += i == 0 ? "" : ", ";
          text +=
              axes[i].empty() ? Notation::whole(extent) : Notation::split(extent, parts, axes[i]);
        }
        return text + "]";
      };
      out.push_back({"Fig. 13 " + name, "Fig. 13", cube, type(from), type(to)});
    };
    add_cube("P1", {360, 368, 320}, {"", "c", ""}, {"c,a", "", "b"});
    add_cube("P2", {80, 80, 72, 64}, {"", "c", "", ""}, {"b", "", "c", ""});
    add_cube("P3", {296, 360, 312}, {"", "", "c"}, {"b,c", "a", ""});
    add_cube("P4", {16, 16, 16, 16, 16, 16}, {"c", "", "", "a", "", "b"},
             {"", "", "", "", "", "a"});
  }
  return out;
}

/// Extents that no number of processes divides, each problem behind its neighbour that is even.
inline std::vector<Problem> uneven_problems(Size processes, Size bytes) {
  const Notation notation(processes);
  const std::string mesh = "d:" + std::to_string(processes);
  // 8192 for 256 MiB, where 8191 and 8209 are primes.
  const auto side = static_cast<Size>(
      std::lround(std::sqrt(static_cast<double>(bytes / element_bytes))) / 16 * 16);
  std::vector<Problem> out;
  const auto add = [&](const std::string& name, const std::string& axes, const auto& ends) {
    for (const Size odd : {0, 1}) {
      const Shape extents{side - odd, side + 16 + odd};
      const auto [from, to] = ends(extents);
      out.push_back({name + ", " + std::to_string(extents[0]) + " x " + std::to_string(extents[1]),
                     odd == 0 ? "even neighbour" : "uneven", axes, from, to});
    }
  };
  using Ends = std::pair<std::string, std::string>;
  add("rows to columns", mesh, [&](const Shape& extents) {
    return Ends{notation.type(extents, 0), notation.type(extents, 1)};
  });
  add("columns to rows", mesh, [&](const Shape& extents) {
    return Ends{notation.type(extents, 1), notation.type(extents, 0)};
  });
  if (processes >= 4 && processes % 2 == 0) {
    const Size b = processes / 2;
    add("mesh swap", "a:2,b:" + std::to_string(b), [&](const Shape& extents) {
      const auto type = [&](Size first, const char* major, Size second, const char* minor) {
        return "[" + Notation::split(extents[0], first, major) + ", " +
               Notation::split(extents[1], second, minor) + "]";
      };
      return Ends{type(2, "a", b, "b"), type(b, "b", 2, "a")};
    });
  }
  return out;
}

}  // namespace execution_bench
