/// The paper's notation: meshes `x:4,y:6`, types `[3{x}12, 2{"y"}12]`, collectives `alltoall(1,0)`.
///
/// Axes are listed minor to major; in a type an axis may repeat its size, as Fig. 13 prints; quotes
/// and blanks are free. Only the notation is read here; whether a type is well-formed Fig. 7 says.
/// `read_` takes the next tokens and throws ParseError; `parse_` reads a text of one line.
#pragma once

#include <map>

#include "../paper/sec7_multi_axis.h"
#include "tokens.h"

namespace spec {

/// x:4,y:6
inline Mesh read_mesh(Tokens& in) {
  return in.items([&] {
    Name x = in.name();
    in.expect(":");
    return Axis{std::move(x), in.integer(1)};
  });
}

/// The sizes of axes by name: what a reader looks up where there may be very many.
using AxisSizes = std::map<Name, Size>;

inline std::optional<Size> lookup(const AxisSizes& sizes, const Name& x) {
  const auto at = sizes.find(x);
  return at == sizes.end() ? std::nullopt : std::optional(at->second);
}

/// Fails where `sign` stands next: it makes a layout (layout_text.h), which is no type of the paper.
inline void refuse_layout(Tokens& in, const char* sign) {
  const ParseError place = in.here();
  if (in.accept(sign))
    Tokens::fail(place, "only boxes and check read tiles that are not all alike");
}

/// [3{x}12, 2{y:6}12, 12], where 12 is short for 12{}12. H: a Mesh or AxisSizes.
template <class Axes>
Type read_type(Tokens& in, const Axes& H) {
  return in.list('[', [&] {
    Dim d;
    refuse_layout(in, "(");
    d.c = d.s = in.integer(1);
    refuse_layout(in, "~");
    refuse_layout(in, "=");
    if (in.peek() != '{') return d;
    d.xs = in.list('{', [&] {
      Name x = in.name();
      if (!in.accept(":")) return x;
      refuse_layout(in, "(");
      const ParseError place = in.here();
      if (lookup(H, x) != in.integer()) {
        Tokens::fail(place, "this is not the size of axis " + to_text(x));
      }
      return x;
    });
    d.s = in.integer(1);
    refuse_layout(in, "<");
    return d;
  });
}

inline const std::vector<std::pair<Name, Op>>& op_names() {
  static const std::vector<std::pair<Name, Op>> all = {{"allgather", Op::allgather},
                                                       {"dynslice", Op::dynslice},
                                                       {"alltoall", Op::alltoall},
                                                       {"allpermute", Op::allpermute}};
  return all;
}

/// allgather(i), dynslice(i,x), alltoall(i,j), or over several axes allgather(i,{x,y}),
/// dynslice(i,{x,y}), alltoall(i,j,{x,y}); allpermute [3{x}12], or, where `to` is given, allpermute
/// alone, which leads there. Where no axes are named there are none yet: see `with_axes`.
template <class Axes>
MultiCollective read_collective(Tokens& in, const Axes& H, const Type* to = nullptr) {
  const ParseError start = in.here();
  const Name word = in.bare_name();
  const auto op = std::find_if(op_names().begin(), op_names().end(),
                               [&](const std::pair<Name, Op>& o) { return o.first == word; });
  if (op == op_names().end()) {
    Tokens::fail(start, "expected allgather, dynslice, alltoall or allpermute");
  }
  MultiCollective p;
  p.p = op->second;
  if (p.p == Op::allpermute) {
    if (in.peek() != '[' && to == nullptr) {
      Tokens::fail(in.here(), "expected the type to which this allpermute leads, as in [6{y}12]");
    }
    p.to = in.peek() == '[' ? read_type(in, H) : *to;
    return p;
  }
  in.expect("(");
  p.i = static_cast<Index>(in.integer());
  if (p.p == Op::alltoall) {
    in.expect(",");
    p.j = static_cast<Index>(in.integer());
  }
  if (p.p == Op::dynslice || in.peek() == ',') {  // a dynslice must name its axes
    in.expect(",");
    const ParseError place = in.here();
    p.x = in.peek() == '{' ? in.list('{', [&] { return in.name(); }) : Names{in.name()};
    if (p.x.empty()) Tokens::fail(place, "expected at least one axis");
  }
  in.expect(")");
  return p;
}

/// p, where no axes are named over the minor-most one of dimension i of τ.
inline MultiCollective with_axes(MultiCollective p, const Type& tau) {
  if (p.x.empty() && p.i < tau.size() && !tau[p.i].xs.empty()) p.x = {tau[p.i].xs.front()};
  return p;
}

/// Runs `read` over a text of one line. nullopt when it fails or leaves something over.
template <class Result, class Read>
std::optional<Result> read_line(std::string_view text, Read read) {
  try {
    Tokens in(text);
    if (!in.next_line()) return std::nullopt;
    std::optional<Result> out = read(in);
    if (in.peek() != Tokens::end_of_line || in.next_line()) return std::nullopt;
    return out;
  } catch (const ParseError&) {
    return std::nullopt;
  }
}

/// An empty text is no mesh; one device is x:1.
inline std::optional<Mesh> parse_mesh(std::string_view text) {
  return read_line<Mesh>(text, [](Tokens& in) { return read_mesh(in); });
}

inline std::optional<Type> parse_type(const Mesh& H, std::string_view text) {
  return read_line<Type>(text, [&](Tokens& in) { return read_type(in, H); });
}

/// A collective from τ; an allpermute leads to the type `to`.
inline std::optional<MultiCollective> parse_collective(std::string_view text, const Type& tau,
                                                       const Type& to) {
  return read_line<MultiCollective>(text, [&](Tokens& in) {
    MultiCollective p = with_axes(read_collective(in, Mesh(), &to), tau);
    if (p.p == Op::allpermute) p.to = to;
    return p;
  });
}

/// x,y
inline std::string to_text(const Names& xs) {
  std::string out;
  for (Index a = 0; a < xs.size(); ++a) out += (a > 0 ? "," : "") + to_text(xs[a]);
  return out;
}

inline std::string to_text(const Mesh& H) {
  std::string out;
  for (const auto& [x, k] : H)
    out += (out.empty() ? "" : ",") + to_text(x) + ":" + std::to_string(k);
  return out;
}

inline std::string to_text(const Type& tau) {
  std::string out = "[";
  for (const auto& [c, xs, s] : tau) {
    if (out.size() > 1) out += ", ";
    out += std::to_string(c);
    if (!xs.empty() || c != s) out += "{" + to_text(xs) + "}" + std::to_string(s);
  }
  return out + "]";
}

inline std::string to_text(const MultiCollective& p) {
  std::string out;
  for (const auto& [name, op] : op_names()) out += op == p.p ? name : "";
  if (p.p == Op::allpermute) return out + to_text(p.to);
  out += "(" + std::to_string(p.i);
  if (p.p == Op::alltoall) out += "," + std::to_string(p.j);
  if (!p.x.empty()) out += p.x.size() == 1 ? "," + to_text(p.x) : ",{" + to_text(p.x) + "}";
  return out + ")";
}

/// H without its axes of size 1, which mean nothing.
inline Mesh without_unit_axes(Mesh H) {
  std::erase_if(H, [](const Axis& alpha) { return alpha.k == 1; });
  return H;
}

/// τ without the axes that have size 1 in H.
template <class Axes>
Type without_unit_axes(const Axes& H, Type tau) {
  for (Dim& d : tau) {
    std::erase_if(d.xs, [&](const Name& x) { return lookup(H, x) == Size{1}; });
  }
  return tau;
}

}  // namespace spec
