#include <iostream>

#include "spec/oracle/apply.h"
#include "spec/search/search.h"
#include "tests/spec/values.h"

namespace spec::oracle::reasons_test {
namespace {

/// Lists of at most two axes, also of one twice and of one that the mesh does not have.
std::vector<Names> axis_lists() {
  std::vector<Names> out = {{}};
  for (const char* x : {"x", "y", "?"}) {
    out.push_back({x});
    for (const char* y : {"x", "y"}) out.push_back({x, y});
  }
  return out;
}

std::vector<MultiCollective> all_collectives(Index r) {
  std::vector<MultiCollective> out;
  for (const Op op : {Op::allgather, Op::dynslice, Op::alltoall}) {
    for (Index i = 0; i <= r; ++i) {
      for (Index j = 0; j <= (op == Op::alltoall ? r : 0); ++j) {
        for (const Names& xs : axis_lists()) out.push_back({op, i, j, xs, {}});
      }
    }
  }
  return out;
}

bool says(const std::string& reason, const char* words) {
  return reason.find(words) != std::string::npos;
}

/// The premise that a reason names, looked at by itself. False: it holds, so it is no reason.
bool fails(const Mesh& H, const MultiCollective& p, const Type& tau, const std::string& reason) {
  const bool exchanges = p.p == Op::alltoall;
  if (says(reason, "no dimension")) return p.i >= rank(tau) || (exchanges && p.j >= rank(tau));
  if (says(reason, "are the same")) return exchanges && p.i == p.j;
  const bool is_sliced = p.p == Op::dynslice;
  if (says(reason, "has no axes")) return p.x.empty() && !is_sliced && tau.at(p.i).xs.empty();
  if (says(reason, "have size 1")) return p.x.empty() && (is_sliced || !tau.at(p.i).xs.empty());
  if (says(reason, "not in the mesh")) return !lookup(H, p.x);
  if (says(reason, "in use")) {
    const Names used = axes(tau);
    return std::any_of(p.x.begin(), p.x.end(), [&](const Name& x) {
      return says(reason, ("axis " + x + " is").c_str()) &&
             std::find(used.begin(), used.end(), x) != used.end();
    });
  }
  if (says(reason, "names an axis twice")) return !pairwise_distinct(p.x);
  if (says(reason, "do not begin with")) return !after(p.x, tau.at(p.i).xs);
  if (says(reason, "does not divide"))
    return tau.at(exchanges ? p.j : p.i).c % *lookup(H, p.x) != 0;
  return false;
}

/// Steps that do not apply and whose reason is none. Bound: meshes 2x2 and 2x3, rank up to 2, sizes
/// 1 to 6, lists of up to two axes.
template <class Why>
Size wrong_reasons(const Why& why, Size& checked) {
  Size wrong = 0;
  for (const char* mesh_text : {"x:2,y:2", "x:2,y:3"}) {
    const Mesh H = mesh(mesh_text);
    for (const Sizes& g : std::vector<Sizes>{{}, {4}, {6}, {4, 6}, {2, 1}, {12, 12}}) {
      for (const Type& tau : all_types(H, g)) {
        for (const MultiCollective& p : all_collectives(g.size())) {
          if (spec::apply(H, p, tau)) continue;
          ++checked;
          if (!fails(H, p, tau, why(H, p, tau))) ++wrong;
        }
      }
    }
  }
  return wrong;
}

TEST(OracleReasons, a_step_does_not_apply_for_the_reason_given) {
  Size checked = 0;
  EXPECT_EQ(wrong_reasons(why_not, checked), 0);
  std::cout << checked << " steps that do not apply\n";
  EXPECT_GT(checked, 5000);
}

TEST(OracleReasons, control_another_reason_is_noticed) {
  Size checked = 0;
  const auto always = [](const Mesh&, const MultiCollective&, const Type&) {
    return std::string("there is no dimension 0");
  };
  EXPECT_GT(wrong_reasons(always, checked), 0);
}

TEST(OracleReasons, collectives_are_printed_as_they_are_read) {
  const Mesh H = mesh("x:2,\"a b\":3");
  for (const char* text : {"allgather(0)", "allgather(0,x)", "dynslice(1,{x,\"a b\"})",
                           "alltoall(0,1)", "alltoall(2,0,\"a b\")", "allpermute[2{x}4, 3]"}) {
    Tokens in(text);
    ASSERT_TRUE(in.next_line());
    EXPECT_EQ(to_text(read_collective(in, H)), text);
    EXPECT_EQ(in.peek(), Tokens::end_of_line);
  }
  EXPECT_EQ(to_text(H), "x:2,\"a b\":3");
}

}  // namespace
}  // namespace spec::oracle::reasons_test
