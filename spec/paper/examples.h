/// The paper's own examples as data, in its notation, and a few that are not in it.
///
/// Not in it are: counterexamples to 4.6 and 4.7; "Fig. 12, replacement", which stands on the mesh
/// of Fig. 12 for a picture that cannot be read; S6 and S10 of our list of stronger statements; and
/// "Replication changes place", a small problem of our own whose optimum is above W.
///
/// spec/program/type_text.h reads the notation.
/// Meshes and types are as printed, with the errata applied that are named. W is the cost of a
/// cheapest weak sequence over prime axes (Sec. 7.2), `optimum` that of a cheapest sequence that
/// reaches the target exactly, both in elements per device by Fig. 11, where known.
#pragma once

#include "notation.h"

namespace spec {

/// A redistribution problem from ⇝ to.
struct Example {
  const char* name;
  const char* mesh;
  const char* from;
  const char* to;
  std::optional<Size> weak_cost = std::nullopt;
  std::optional<Size> optimum = std::nullopt;
  std::optional<Size> permutes = std::nullopt;  // how many some optimal sequence needs
};

/// Problems that can be solved: equal globaltypes.
inline const std::vector<Example>& examples() {
  static const std::vector<Example> all = {
      {"Listing 3", "devs:32", "[32, 64{devs}2048]", "[1{devs}32, 2048]", 2048, 2048, 0},
      {"Fig. 3, swap within dimension", "xdev:4,ydev:4", "[64{ydev,xdev}1024, 128]",
       "[64{xdev,ydev}1024, 128]", 0, 8192, 1},
      {"Fig. 3, swap across dimensions", "xdev:4,ydev:4", "[32{xdev}128, 16{ydev}64]",
       "[32{ydev}128, 16{xdev}64]", 0, 512, 1},
      {"Fig. 3, swap for replicated axis", "xdev:4,ydev:4", "[32{xdev}128]", "[32{ydev}128]", 0, 32,
       1},
      {"Fig. 4, allgather", "xdev:4,ydev:4", "[32{xdev,ydev}512, 512]", "[128{ydev}512, 512]",
       65536, 65536, 0},
      {"Fig. 5, row 1", "x:4,y:4", "[32{x,y}512, 128]", "[128{x}512, 32{y}128]", 4096, 8192},
      {"Fig. 5, row 2", "x:4,y:4", "[32{x}128, 512, 32{y}128]", "[128, 32{y,x}512, 128]", 1048576,
       1048576, 0},
      {"Fig. 5, row 3", "x:4,y:4", "[32{x}128, 512, 32{y}128]", "[128, 128{y}512, 128]", 2621440,
       2621440, 0},
      {"Example 2.1, not a composition of the three (E16)", "x:4,y:2,z:2", "[2{x}8]", "[2{y,z}8]",
       0, 2, 1},
      {"Example 3.1 (E17)", "x:4,y:6", "[3{x}12, 2{y}12]", "[2{y}12, 3{x}12]", 12, 18, 1},
      {"Example 3.1, split axes", "x1:2,x2:2,y1:3,y2:2", "[3{x1,x2}12, 2{y1,y2}12]",
       "[2{y1,y2}12, 3{x1,x2}12]", 12, 18},
      {"Sec. 4.3, peak on a mesh that is not prime (4.6)", "x:4,y:2", "[1{x}4, 2]", "[2{y}4, 2]", 4,
       6},
      {"Sec. 4.3, peak over several axes (4.6)", "x:2,y:2,z:3", "[12, 3{x,y}12]", "[2{z,y}12, 12]",
       std::nullopt, 48},
      {"Sec. 4.3, edge over several axes (4.7)", "x:2,y:2,z:2", "[1{x,y}4, 1{z}2]", "[2{z}4, 2]",
       std::nullopt, 7},
      {"Example 4.9 (E18)", "a:8", "[1{a}8, 8]", "[8, 1{a}8]", 8, 8, 0},
      {"Examples 6.8 and 7.1 (E19, E20)", "a0:2,a1:2,a2:2", "[1{a0,a1,a2}8, 8]",
       "[8, 1{a0,a1,a2}8]", 8, 8, 0},
      {"Example 6.8, order reversed (E19)", "a0:2,a1:2,a2:2", "[1{a0,a1,a2}8, 8]",
       "[8, 1{a2,a1,a0}8]", 8, 16},
      {"Sec. 7.3 (E22)", "x:4,y:4", "[16]", "[4{x}16]", 0, 0, 0},
      {"Fig. 12, replacement", "x:4,y:2,z:4", "[8{x}32, 16{y}32, 32]", "[32, 32, 4{x,y}32]", 5120,
       6144, 1},
      {"Fig. 13, P1 (E23)", "a:2,b:2,c:2", "[360, 184{c:2}368, 320]",
       "[90{c:2,a:2}360, 368, 160{b:2}320]", 5299200, 5299200, 0},
      {"Fig. 13, P2 (E23)", "a:2,b:2,c:2", "[80, 40{c:2}80, 72, 64]",
       "[40{b:2}80, 80, 36{c:2}72, 64]", 7372800, 7372800, 0},
      {"Fig. 13, P3 (E23)", "a:2,b:2,c:2", "[296, 360, 156{c:2}312]",
       "[74{b:2,c:2}296, 180{a:2}360, 312]", 4155840, 4155840, 0},
      {"Fig. 13, P4", "a:2,b:2,c:2", "[8{c:2}16, 16, 16, 8{a:2}16, 16, 8{b:2}16]",
       "[16, 16, 16, 16, 16, 8{a:2}16]", std::nullopt, 12582912},
      {"S6, factor two, q = 3", "a:2,b:2,c:3", "[12, 3{a,b}12]", "[6{b}12, 6{a}12]", 36, 60},
      {"S10, sizes out of order", "a:2,b:3,c:5", "[1{a,b}6, 3{c}15]", "[6, 15]", 99, 99, 0},
      {"Replication changes place", "a:2,b:2,c:2", "[4, 1{a,b}4]", "[1{a,c}4, 4]", 4, 6, 0},
  };
  return all;
}

/// Pairs that are no problems: different globaltypes.
inline const std::vector<Example>& not_redistributions() {
  static const std::vector<Example> all = {
      {"Sec. 2.5, a larger global array", "devs:32", "[512, 32{devs}1024]", "[1024, 32{devs}1024]"},
      {"Sec. 2.5, the reverse", "devs:32", "[1024, 32{devs}1024]", "[512, 32{devs}1024]"},
      {"Sec. 2.5, equal tiles (E15)", "xdevs:4,ydevs:8", "[32{xdevs}128, 32{ydevs}256]",
       "[32{xdevs,ydevs}1024, 32]"},
  };
  return all;
}

/// Types that stand alone in the paper, with their localtypes as it states them.
struct TypeExample {
  const char* name;
  const char* mesh;
  const char* type;
  Sizes localtype;
};

inline const std::vector<TypeExample>& type_examples() {
  static const std::vector<TypeExample> all = {
      {"Listing 1, x", "devices:32", "[8{\"devices\"}256, 1024]", {8, 1024}},
      {"Listing 1, p", "devices:32", "[1024, 10]", {1024, 10}},
      {"Listing 1, result", "devices:32", "[8{\"devices\"}256, 10]", {8, 10}},
      {"Sec. 2.1", "x:2,y:2", "[8{\"x\",\"y\"}32]", {8}},
      {"Fig. 1, left; Listing 2, x", "xdev:4,ydev:8", "[64{\"xdev\"}256, 1024]", {64, 1024}},
      {"Fig. 1, right; Listing 2, p", "xdev:4,ydev:8", "[1024, 128{\"ydev\"}1024]", {1024, 128}},
      {"Listing 2, y", "xdev:4,ydev:8", "[64{\"xdev\"}256, 128{\"ydev\"}1024]", {64, 128}},
      {"Listing 3, x", "devs:32", "[32, 1024]", {32, 1024}},
      {"Listing 3, w1", "devs:32", "[1024, 64{\"devs\"}2048]", {1024, 64}},
      {"Listing 3, y", "devs:32", "[32, 64{\"devs\"}2048]", {32, 64}},
      {"Listing 3, z", "devs:32", "[1{\"devs\"}32, 2048]", {1, 2048}},
      {"Listing 3, w", "devs:32", "[1{\"devs\"}32, 256]", {1, 256}},
  };
  return all;
}

/// A sequence that the paper spells out: a type, then labels with the types that they lead to.
struct Arrow {
  const char* label;
  const char* type;
};
struct WorkedSequence {
  const char* name;
  const char* mesh;
  const char* from;
  std::vector<Arrow> arrows;
  Size cost;
};

inline const std::vector<WorkedSequence>& worked_sequences() {
  static const std::vector<WorkedSequence> all = {
      {"Fig. 4, right",
       "xdev:4,ydev:4",
       "[32{xdev,ydev}512, 512]",
       {{"allgather(0)", "[128{ydev}512, 512]"}},
       65536},
      {"Fig. 5, row 1, left",
       "x:4,y:4",
       "[32{x,y}512, 128]",
       {{"allpermute", "[32{y,x}512, 128]"}, {"alltoall(0,1)", "[128{x}512, 32{y}128]"}},
       8192},
      {"Fig. 5, row 1, right",
       "x:4,y:4",
       "[32{x,y}512, 128]",
       {{"alltoall(0,1)", "[128{y}512, 32{x}128]"}, {"allpermute", "[128{x}512, 32{y}128]"}},
       8192},
      {"Fig. 5, row 2, left",
       "x:4,y:4",
       "[32{x}128, 512, 32{y}128]",
       {{"alltoall(0,1)", "[128, 128{x}512, 32{y}128]"},
        {"alltoall(2,1)", "[128, 32{y,x}512, 128]"}},
       1048576},
      {"Fig. 5, row 2, right",
       "x:4,y:4",
       "[32{x}128, 512, 32{y}128]",
       {{"alltoall(2,1)", "[32{x}128, 128{y}512, 128]"},
        {"alltoall(0,1)", "[128, 32{x,y}512, 128]"},
        {"allpermute", "[128, 32{y,x}512, 128]"}},
       1572864},
      {"Fig. 5, row 3, left",
       "x:4,y:4",
       "[32{x}128, 512, 32{y}128]",
       {{"allgather(0)", "[128, 512, 32{y}128]"}, {"alltoall(2,1)", "[128, 128{y}512, 128]"}},
       4194304},
      {"Fig. 5, row 3, right",
       "x:4,y:4",
       "[32{x}128, 512, 32{y}128]",
       {{"alltoall(2,1)", "[32{x}128, 128{y}512, 128]"}, {"allgather(0)", "[128, 128{y}512, 128]"}},
       2621440},
      {"Example 3.1 (E17: the third step is alltoall(0,1))",
       "x1:2,x2:2,y1:3,y2:2",
       "[3{x1,x2}12, 2{y1,y2}12]",
       {{"alltoall(1,0)", "[1{y1,x1,x2}12, 6{y2}12]"},
        {"allpermute", "[1{x1,y1,x2}12, 6{y2}12]"},
        {"alltoall(0,1)", "[2{y1,x2}12, 3{x1,y2}12]"},
        {"allpermute", "[2{y1,y2}12, 3{x1,x2}12]"}},
       24},
      {"Example 3.1 with whole axes (E17)",
       "x:4,y:6",
       "[3{x}12, 2{y}12]",
       {{"allgather(0)", "[12, 2{y}12]"},
        {"alltoall(1,0)", "[2{y}12, 12]"},
        {"dynslice(1,x)", "[2{y}12, 3{x}12]"}},
       48},
      {"(5)",
       "a0:2,a1:2,a2:2",
       "[1{a0,a1,a2}8, 8]",
       {{"alltoall(0,1)", "[2{a1,a2}8, 4{a0}8]"},
        {"allpermute", "[2{a2,a1}8, 4{a0}8]"},
        {"alltoall(0,1)", "[4{a1}8, 2{a2,a0}8]"},
        {"allpermute", "[4{a1}8, 2{a0,a2}8]"},
        {"alltoall(0,1)", "[8, 1{a1,a0,a2}8]"},
        {"allpermute", "[8, 1{a0,a1,a2}8]"}},
       48},
      {"(9), all device maps equal (E19)",
       "a0:2,a1:2,a2:2",
       "[1{a0,a1,a2}8, 8]",
       {{"alltoall(0,1)", "[2{a1,a2}8, 4{a0}8]"},
        {"alltoall(0,1)", "[4{a2}8, 2{a1,a0}8]"},
        {"alltoall(0,1)", "[8, 1{a2,a1,a0}8]"},
        {"allpermute", "[8, 1{a0,a1,a2}8]"}},
       32},
      {"Example 7.1 (E20: no allpermute)",
       "a0:2,a1:2,a2:2",
       "[1{a0,a1,a2}8, 8]",
       {{"alltoall(0,1,{a0,a1,a2})", "[8, 1{a0,a1,a2}8]"}},
       8},
      {"Sec. 7.3", "x:4,y:4", "[16]", {{"dynslice(0,x)", "[4{x}16]"}}, 0},
      {"Fig. 12, replacement, with over-partitioning",
       "x:4,y:2,z:4",
       "[8{x}32, 16{y}32, 32]",
       {{"dynslice(2,z)", "[8{x}32, 16{y}32, 8{z}32]"},
        {"alltoall(1,2)", "[8{x}32, 32, 4{y,z}32]"},
        {"allpermute", "[8{z}32, 32, 4{x,y}32]"},
        {"allgather(0)", "[32, 32, 4{x,y}32]"}},
       6144},
      {"Fig. 13, P1",
       "a:2,b:2,c:2",
       "[360, 184{c}368, 320]",
       {{"dynslice(0,a)", "[180{a}360, 184{c}368, 320]"},
        {"dynslice(2,b)", "[180{a}360, 184{c}368, 160{b}320]"},
        {"alltoall(1,0)", "[90{c,a}360, 368, 160{b}320]"}},
       5299200},
      {"Fig. 13, P2",
       "a:2,b:2,c:2",
       "[80, 40{c}80, 72, 64]",
       {{"dynslice(0,b)", "[40{b}80, 40{c}80, 72, 64]"},
        {"alltoall(1,2)", "[40{b}80, 80, 36{c}72, 64]"}},
       7372800},
      {"Fig. 13, P3",
       "a:2,b:2,c:2",
       "[296, 360, 156{c}312]",
       {{"dynslice(1,a)", "[296, 180{a}360, 156{c}312]"},
        {"dynslice(2,b)", "[296, 180{a}360, 78{b,c}312]"},
        {"alltoall(2,0,{b,c})", "[74{b,c}296, 180{a}360, 312]"}},
       4155840},
  };
  return all;
}

/// A sequence of Fig. 10: the axis that each alltoall moves from dimension 0 to 1, or none for the
/// allpermute, and the type after it. Of the device maps only the last is printed: it is the first.
/// In between some must exist.
struct LowLevelArrow {
  const char* axis;
  const char* type;
};
struct LowLevelSequence {
  const char* name;
  const char* mesh;
  const char* from;
  std::vector<LowLevelArrow> arrows;
};

inline const std::vector<LowLevelSequence>& low_level_sequences() {
  static const std::vector<LowLevelSequence> all = {
      {"(9)",
       "a0:2,a1:2,a2:2",
       "[1{a0,a1,a2}8, 8]",
       {{"a0", "[2{a1,a2}8, 4{a0}8]"},
        {"a1", "[4{a2}8, 2{a1,a0}8]"},
        {"a2", "[8, 1{a2,a1,a0}8]"},
        {nullptr, "[8, 1{a0,a1,a2}8]"}}},
      {"(10)",
       "a0:2,a1:2,a2:2",
       "[1{a0,a1,a2}8, 8]",
       {{"a2", "[2{a0,a1}8, 4{a2}8]"},
        {"a1", "[4{a0}8, 2{a1,a2}8]"},
        {"a0", "[8, 1{a0,a1,a2}8]"},
        {nullptr, "[8, 1{a0,a1,a2}8]"}}},
  };
  return all;
}

}  // namespace spec
