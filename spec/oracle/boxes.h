/// retile-oracle boxes: which indices each device holds of a layout.
#pragma once

#include "../layout/addends.h"
#include "queries.h"

namespace spec::oracle {

/// A layout over the positions of a mesh, which all devices stand at.
inline Layout well_formed_layout(Tokens& in, const Positions& mesh) {
  const ParseError start = in.here();
  Layout out = read_layout(in, mesh);
  if (const char* const wrong = wrong_layout(out, mesh.count)) Tokens::fail(start, wrong);
  return out;
}

/// 0..2+8..10
inline void print_side(std::ostream& out, const Sizes& side) {
  out << side.front() << "..";
  for (Index a = 1; a < side.size(); ++a) {
    if (side[a] != side[a - 1] + 1) out << side[a - 1] + 1 << "+" << side[a] << "..";
  }
  out << side.back() + 1;
}

/// 3: [0..6, 18..23]
inline void print_box(std::ostream& out, Size d, const Box& box) {
  const auto is_empty = [](const Sizes& side) { return side.empty(); };
  out << d << ": ";
  if (std::any_of(box.begin(), box.end(), is_empty)) {
    out << "empty";
    return;
  }
  const char* between = "[";
  for (const Sizes& side : box) {
    out << between;
    print_side(out, side);
    between = ", ";
  }
  out << (box.empty() ? "[]" : "]");
}

/// words: boxes --mesh MESH LAYOUT
inline int boxes(const Words& words, std::ostream& out) {
  struct Question {
    SharedMesh mesh;
    Layout layout;
  };
  const auto queries =
      read_queries(questions(words, {}, true), [](Tokens& in, const SharedMesh& mesh) {
        return Question{mesh, well_formed_layout(in, mesh->positions)};
      });
  return answer_all(queries, out, "\n", [](const Question& question, std::ostream& text) {
    try {
      const Size D = question.mesh->positions.count;
      const auto all = spec::boxes(question.layout, D);
      const auto of = shares(question.layout, D);
      for (Index d = 0; d < all.size(); ++d) {
        print_box(text, static_cast<Size>(d), all[d]);
        if (question.layout.addition != Addition::none) text << " addend " << of[d]->kappa;
        text << "\n";
      }
      return int{yes};
    } catch (const TooLarge& what) {
      text << "undecided: " << what.why << "\n";
      return int{undecided};
    }
  });
}

}  // namespace spec::oracle
