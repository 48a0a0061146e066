/// The paper's notation: meshes `x:4,y:6`, types `[3{x}12, 2{"y"}12]`, collectives `alltoall(1,0)`.
///
/// Axes are listed minor to major; in a type an axis may repeat its size, as Fig. 13 prints; quotes
/// and blanks are free. Only the notation is read here; whether a type is well-formed Fig. 7 says.
#pragma once

#include "program_tokens.h"
#include "sec7_multi_axis.h"

namespace spec {

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

/// x:4,y:6. An empty text is no mesh; one device is x:1.
inline std::optional<Mesh> parse_mesh(std::string_view text) {
  return read_line<Mesh>(text, [](Tokens& in) {
    return in.items([&] {
      const Name x = in.name();
      in.expect(":");
      return Axis{x, in.integer(1)};
    });
  });
}

/// [3{x}12, 2{y:6}12, 12], where 12 is short for 12{}12.
inline std::optional<Type> parse_type(const Mesh& H, std::string_view text) {
  return read_line<Type>(text, [&](Tokens& in) {
    return in.list('[', [&] {
      Dim d;
      d.c = d.s = in.integer(1);
      if (in.peek() != '{') return d;
      d.xs = in.list('{', [&] {
        const Name x = in.name();
        if (in.accept(":") && lookup(H, x) != in.integer()) Tokens::fail(in.here(), "size of " + x);
        return x;
      });
      d.s = in.integer(1);
      return d;
    });
  });
}

inline std::string to_text(const Mesh& H) {
  std::string out;
  for (const auto& [x, k] : H) out += (out.empty() ? "" : ",") + x + ":" + std::to_string(k);
  return out;
}

inline std::string to_text(const Type& tau) {
  std::string out = "[";
  for (const auto& [c, xs, s] : tau) {
    if (out.size() > 1) out += ", ";
    out += std::to_string(c);
    if (xs.empty() && c == s) continue;
    out += "{";
    for (Index a = 0; a < xs.size(); ++a) out += (a > 0 ? "," : "") + xs[a];
    out += "}" + std::to_string(s);
  }
  return out + "]";
}

/// H without its axes of size 1, which mean nothing.
inline Mesh without_unit_axes(Mesh H) {
  std::erase_if(H, [](const Axis& alpha) { return alpha.k == 1; });
  return H;
}

/// τ without the axes that have size 1 in H.
inline Type without_unit_axes(const Mesh& H, Type tau) {
  for (Dim& d : tau) {
    std::erase_if(d.xs, [&](const Name& x) { return lookup(H, x) == Size{1}; });
  }
  return tau;
}

/// allgather(i), dynslice(i,x), alltoall(i,j), or over several axes allgather(i,{x,y}),
/// dynslice(i,{x,y}), alltoall(i,j,{x,y}); allpermute, to the type `to`. Where no axes are named
/// they are the minor-most one of dimension i of τ. nullopt when the text says nothing of the kind.
inline std::optional<MultiCollective> parse_collective(std::string_view text, const Type& tau,
                                                       const Type& to) {
  static const std::vector<std::pair<Name, Op>> ops = {{"allgather", Op::allgather},
                                                       {"dynslice", Op::dynslice},
                                                       {"alltoall", Op::alltoall},
                                                       {"allpermute", Op::allpermute}};
  return read_line<MultiCollective>(text, [&](Tokens& in) -> std::optional<MultiCollective> {
    MultiCollective p;
    p.to = to;
    const Name word = in.bare_name();
    const auto op = std::find_if(ops.begin(), ops.end(),
                                 [&](const std::pair<Name, Op>& o) { return o.first == word; });
    if (op == ops.end()) return std::nullopt;
    p.p = op->second;
    if (p.p == Op::allpermute) return p;
    in.expect("(");
    p.i = static_cast<Index>(in.integer());
    if (p.p == Op::alltoall) {
      in.expect(",");
      p.j = static_cast<Index>(in.integer());
    }
    if (in.accept(",")) {
      p.x = in.peek() == '{' ? in.list('{', [&] { return in.name(); }) : Names{in.name()};
    } else if (p.i < tau.size() && !tau[p.i].xs.empty()) {
      p.x = {tau[p.i].xs.front()};
    }
    in.expect(")");
    return p;
  });
}

}  // namespace spec
