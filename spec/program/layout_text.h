/// Reads meshes as digits of positions, and the layouts of version 2 of docs/reference/program.md.
///
///   mesh   = axis {"," axis} ["order" "=" (iota | ints)]
///   layout = "[" [dim {"," dim}] "]" ["@" INT] | addition "{" digit {"," digit} "}" "[" [dim {"," dim}] "]"
///   addition = "sum" | "max" | "min" | "stack"
///   dim    = INT | cuts "{" [digit {"," digit}] "}" INT {"+" INT} ["<" INT "," INT ">"]
///   cuts   = INT | INT "~" | INT "=" | INT "@" | "(" INT {"," INT} ")"
///   digit  = NAME [":" INT] | NAME ":" "(" INT ")" INT | INT ":" INT
///
/// `read_` takes the next tokens and throws ParseError.
#pragma once

#include <map>

#include "addends_text.h"

namespace spec {

constexpr Size most_program_devices = Size{1} << 31;

/// The positions of a mesh: the axes are digits of their numbers.
struct Positions {
  std::map<Name, Digit> axes;
  Size count = 0;  // 0: there is no mesh, and every device is a position
  std::shared_ptr<const Table> order = {};
};

/// The largest number of a row of P different ones; -1 where it is none.
inline Size largest_of(const Table& order, Size P) {
  if (!order.stages.empty()) return order.length == P ? P - 1 : -1;  // an iota lists 0..P-1
  Sizes sorted = order.listed.front();
  std::sort(sorted.begin(), sorted.end());
  const bool repeats = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  return repeats || static_cast<Size>(sorted.size()) != P ? -1 : sorted.back();
}

/// ["order" "=" (iota | ints)], behind a mesh of P positions
inline std::shared_ptr<const Table> read_order(Tokens& in, Size P, Size last_device) {
  if (!in.accept("order")) return nullptr;
  in.expect("=");
  const ParseError place = in.here();
  Table out = in.table(1, last_device, P);
  if (largest_of(out, P) < 0) {
    Tokens::fail(place, "order must name a device for each of the " + std::to_string(P) +
                            " positions, none twice");
  }
  return std::make_shared<const Table>(std::move(out));
}

inline Positions read_positions(Tokens& in) {
  const ParseError start = in.here();
  const auto H = in.items([&] {
    Name x = in.name();
    in.expect(":");
    return std::pair(std::move(x), in.integer(1, most_program_devices));
  });
  Positions out;
  Size stride = 1;  // row-major, so the last axis is the fastest
  for (Index a = H.size(); a-- > 0;) {
    const auto& [x, k] = H[a];
    if (!out.axes.emplace(x, Digit{stride, k}).second) {
      Tokens::fail(start, "axis " + to_text(x) + " stands twice");
    }
    if (k > most_program_devices / stride) Tokens::fail(start, "a mesh has at most 2^31 devices");
    stride *= k;
  }
  out.count = stride;
  return out;
}

/// A digit s:k, an axis, or a part of one (version 2): x:(m)k, where m k divides the size of x.
inline Digit read_digit(Tokens& in, const std::map<Name, Digit>& axes, bool has_parts) {
  const ParseError start = in.here();
  if (in.at_digit()) {
    const Size stride = in.integer(1);
    in.expect(":");
    return {stride, in.integer(1)};
  }
  const Name x = in.name();
  const auto found = axes.find(x);
  if (found == axes.end()) Tokens::fail(start, "axis " + to_text(x) + " is not in the mesh");
  const auto [stride, n] = found->second;
  if (!in.accept(":")) return found->second;
  if (!has_parts || !in.accept("(")) {
    if (in.integer() != n) {
      Tokens::fail(start, "axis " + to_text(x) + " has size " + std::to_string(n));
    }
    return found->second;
  }
  const Size m = in.integer(1);
  in.expect(")");
  const Size k = in.integer(1);
  if (n % m != 0 || n / m % k != 0) {
    Tokens::fail(start, "axis " + to_text(x) + " has size " + std::to_string(n) +
                            ", which is no multiple of " + std::to_string(m) + " times " +
                            std::to_string(k));
  }
  return {stride * (n / m / k), k};
}

/// Why c{x̄}n is none, or c={x̄}n, and what may have been meant. `xs` is the text of x̄.
inline std::string no_ceil(Size c, Size N, Size n, const std::string& xs, char mark) {
  const auto said = [&](Size extent, const char* sign) {
    return std::to_string(extent) + sign + "{" + xs + "}" + std::to_string(n);
  };
  const Size ceil = n / N + (n % N != 0 ? 1 : 0);
  return "tiles of " + std::to_string(c) + " are not " + std::to_string(n) + " over " +
         std::to_string(N) + ", rounded up: " + said(ceil, mark == '=' ? "=" : "") +
         (covers(c, N, n) ? ", or " + said(c, "~") + " for blocks of " + std::to_string(c) : "") +
         " [WF-DIM-CEIL]";
}

inline void check_cuts(const LayoutDim& dim, const ParseError& place, const std::string& xs) {
  const auto N = tile_count(dim.xs);
  if (!N) Tokens::fail(place, "the number of tiles is not below 2^63");
  const auto& [c, mark, o, lo, hi, sections, L, t] = dim.C;
  if (!L.empty() && !(sections.empty() && wf_chunks(L, t, *N, dim.n))) {
    Tokens::fail(place, "chunks are of another array than one of " + std::to_string(dim.n) +
                            ", or are in tiles that there are not [WF-CHUNKS]");
  }
  if (!L.empty()) return;
  if (!sections.empty() && (o || mark == '~' || mark == '=')) {
    Tokens::fail(place, "sections stand behind c{..} and c@{..} alone");
  }
  if (!sections.empty() && mark == ' ' && !wf_sections(c, sections, *N)) {
    Tokens::fail(place, "the largest tile of these sections has other than " + std::to_string(c) +
                            " elements [WF-DIM-CEIL]");
  }
  if (mark == '@' || !sections.empty()) return;
  if (o && !wf_list(*o, *N, dim.n)) {
    Tokens::fail(place, "a list has one number more than there are tiles, " + std::to_string(*N) +
                            ", and goes from 0 to " + std::to_string(dim.n) + " and never down");
  }
  if (!o && mark != '~' && !wf_ceil(c, *N, dim.n)) {
    Tokens::fail(place, no_ceil(c, *N, dim.n, xs, mark));
  }
  if (!o && !covers(c, *N, dim.n)) {
    Tokens::fail(place, std::to_string(*N) + " blocks of " + std::to_string(c) + " do not cover " +
                            std::to_string(dim.n));
  }
}

/// What stands behind the first list of chunks, if it is one.
inline void read_chunks(Tokens& in, Cuts& C) {
  if (in.peek() == '*' || in.peek() == '@') {
    C.L.push_back(*C.o);
    C.o.reset();
  }
  while (in.accept("*")) {
    in.expect("(");
    C.L.push_back(in.items([&] { return in.integer(); }));
    in.expect(")");
  }
  if (C.L.empty()) return;
  in.expect("@");
  if (!in.accept("(")) return;
  C.t = in.items([&] { return in.integer(); });
  in.expect(")");
}

inline LayoutDim read_layout_dim(Tokens& in, const std::map<Name, Digit>& axes) {
  const ParseError start = in.here();
  LayoutDim out;
  if (in.accept("(")) {
    out.C.o = in.items([&] { return in.integer(); });
    in.expect(")");
    read_chunks(in, out.C);
  } else {
    out.C.c = out.n = in.integer(1);
    for (const char mark : {'~', '=', '@'}) {
      if (out.C.mark == ' ' && in.accept(std::string(1, mark))) out.C.mark = mark;
    }
    if (out.C.mark == ' ' && in.peek() != '{') return out;  // c alone means c{}c
  }
  const ParseError braces = in.here();
  out.xs = in.list('{', [&] { return read_digit(in, axes, true); });
  std::string xs = in.since(braces);
  std::erase_if(out.xs, [](const Digit& x) { return x.size == 1; });
  out.n = in.integer(1);
  while (in.accept("+")) {
    if (out.C.sections.empty()) out.C.sections = {out.n};
    out.C.sections.push_back(in.integer(1));
    if (__builtin_add_overflow(out.n, out.C.sections.back(), &out.n)) {
      Tokens::fail(start, "the sections together are not below 2^63");
    }
  }
  check_cuts(out, start, xs.substr(1, xs.size() - 2));
  if (!in.accept("<")) return out;
  if (out.C.mark == '@' || !out.C.sections.empty() || !out.C.L.empty()) {
    Tokens::fail(start, "what is dealt out, or cut in sections, has no halo");
  }
  out.C.lo = in.integer(0, out.n);
  in.expect(",");
  out.C.hi = in.integer(0, out.n);
  in.expect(">");
  return out;
}

/// How many positions there are is said later where there is no mesh. That the digits are those of
/// positions, and that devices exist, is not looked at here (see `wrong_layout`).
inline Layout read_layout(Tokens& in, const Positions& mesh) {
  const ParseError start = in.here();
  Layout out;
  const Addition addition = accept_addition(in);
  if (addition != Addition::none) {
    in.expect("{");
    out.zs = in.items([&] { return read_digit(in, mesh.axes, true); });
    in.expect("}");
  }
  std::erase_if(out.zs, [](const Digit& z) { return z.size == 1; });
  if (!out.zs.empty()) out.addition = addition;
  out.dims = in.list('[', [&] { return read_layout_dim(in, mesh.axes); });
  out.positions = mesh.count;
  out.order = mesh.order;
  Sizes global;
  for (const LayoutDim& dim : out.dims) global.push_back(dim.n);
  if (!product(global)) Tokens::fail(start, "the global size is not below 2^63");
  if (addition == Addition::none && in.accept("@")) {
    out.root = in.integer(0, most_program_devices - 1);
  }
  return out;
}

/// What is wrong with a layout over D devices, if anything.
inline const char* wrong_layout(const Layout& L, Size D) {
  std::vector<Digit> all = L.zs;
  for (const LayoutDim& dim : L.dims) all.insert(all.end(), dim.xs.begin(), dim.xs.end());
  if (!are_digits_of(L.positions, all)) {
    return "axes overlap, stand twice, or do not divide the number of devices";
  }
  if (L.root && *L.root >= D) return "the device behind @ does not exist";
  if (L.root && !all.empty()) return "with @ one device holds everything, so nothing stands in {}";
  if (L.addition != Addition::none && (L.positions < D || !keeps_order(L.order.get(), D))) {
    return "with addends every device stands at the position of its number";
  }
  if (L.dims.empty() && (L.root || L.positions < D)) {
    return "an array of rank 0 has no empty tiles: every device holds it";
  }
  return nullptr;
}

/// The value of a key of a grid: dims or concats, splits, or counts. False: it is no such key.
inline bool read_grid(Tokens& in, Grid& out, const Name& key, Index rank) {
  const ParseError start = in.here();
  if (key == "counts") {
    out.counts = in.ints(1);
    if (!product(out.counts)) Tokens::fail(start, "the product of the counts is not below 2^63");
    return true;
  }
  if (key != "dims" && key != "concats" && key != "splits") return false;
  for (const Size i : in.ints()) {
    if (i >= static_cast<Size>(rank)) Tokens::fail(start, "there is no such dimension");
    (key == "splits" ? out.splits : out.concats).push_back(static_cast<Index>(i));
  }
  return true;
}
/// Whether a step with these keys has as many dimensions as counts, and one at least.
inline bool is_grid(const Grid& grid, const Name& keys) {
  const Index n = grid.counts.size();
  const bool cuts = keys == "alltoall_dims concats counts groups splits";
  if (!cuts && keys != "allgather_dims counts dims groups") return false;
  return n > 0 && grid.concats.size() == n && grid.splits.size() == (cuts ? n : 0);
}

}  // namespace spec
