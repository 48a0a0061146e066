/// Queries of retile-oracle: how every verb but `check` and `certify` is asked.
///
///   retile-oracle VERB [--mesh MESH] [--] [QUERY.. | -]
///
/// The words after the options are one query, joined by blanks; `-` or none stands for standard
/// input, a query a line. There a line `mesh x:4,y:2` gives the mesh of the lines below it, blank
/// lines are passed over, and # starts a comment. All queries are read before one is answered.
#pragma once

#include <map>
#include <memory>
#include <set>

#include "../program/layout_text.h"
#include "../program/type_text.h"
#include "limits.h"

namespace spec::oracle {

/// The axes as given, and the mesh without those of size 1, which the definitions do not know (E6).
struct GivenMesh {
  AxisSizes all;
  Mesh H;
  Positions positions = {};  // where the verb reads an order of the devices
};

/// What the names of the axes take in a type beyond that they are axes: 1 for every 32 bytes.
inline Index long_names(const Mesh& H) {
  Index out = 0;
  for (const Axis& alpha : H) out += alpha.x.size() / 32;
  return out;
}

/// All queries below a mesh share it.
using SharedMesh = std::shared_ptr<const GivenMesh>;

inline SharedMesh given_mesh(Tokens& in, bool has_order) {
  const ParseError start = in.here();
  if (has_order) {
    Positions positions = read_positions(in);
    positions.order = read_order(in, positions.count, positions.count - 1);
    return std::make_shared<GivenMesh>(GivenMesh{{}, {}, std::move(positions)});
  }
  const Mesh all = read_mesh(in);
  const ParseError end = in.here();
  if (in.accept("order")) Tokens::fail(end, "only boxes and check read an order of the devices");
  AxisSizes sizes;
  for (const Axis& alpha : all) {
    if (!sizes.emplace(alpha.x, alpha.k).second) {
      Tokens::fail(start, "an axis stands twice in the mesh");
    }
  }
  if (!device_count(all)) Tokens::fail(start, "the number of devices is not below 2^63");
  return std::make_shared<GivenMesh>(GivenMesh{std::move(sizes), without_unit_axes(all)});
}

/// A type that is well-formed in the mesh.
inline Type well_formed_type(Tokens& in, const GivenMesh& mesh) {
  const ParseError start = in.here();
  Type tau = without_unit_axes(mesh.all, read_type(in, mesh.all));
  refuse_layout(in, "@");
  for (const Name& x : axes(tau)) {
    if (!lookup(mesh.H, x)) Tokens::fail(start, "axis " + to_text(x) + " is not in the mesh");
  }
  for (Index i = 0; i < rank(tau); ++i) {
    const auto N = lookup(mesh.H, tau[i].xs);
    const bool is_even = !pairwise_distinct(tau[i].xs) || wf_dim(mesh.H, tau[i]);
    if (!is_even && N && wf_ceil(tau[i].c, *N, tau[i].s)) {
      Tokens::fail(start, "in dimension " + std::to_string(i) +
                              " the tiles are not all alike, only boxes and check read such types"
                              " [WF-DIM]");
    }
    if (!is_even) {
      Tokens::fail(start, "in dimension " + std::to_string(i) +
                              " tile size times axis sizes is not the global size [WF-DIM]");
    }
  }
  if (!pairwise_distinct(axes(tau))) Tokens::fail(start, "an axis stands twice [WF-TYPE]");
  if (!wf_type(mesh.H, tau)) Tokens::fail(start, "the global size is not below 2^63");
  return tau;
}

/// What a verb was asked, not yet read.
struct Questions {
  std::string source, text;  // source: <stdin>, or nothing for the command line
  SharedMesh mesh;           // of --mesh
  std::set<std::string> flags;
  bool has_order = false;  // whether an order of the devices may stand behind a mesh
};

/// words: VERB [--mesh MESH] [FLAG..] [--] [QUERY.. | -], where the verb has these flags.
inline Questions questions(const Words& words, const std::set<std::string>& flags = {},
                           bool has_order = false) {
  Questions out;
  out.has_order = has_order;
  Words query;
  bool ended = false;  // the options
  for (Index k = 1; k < words.size(); ++k) {
    const std::string& word = words[k];
    if (!ended && word == "--") {
      ended = true;
    } else if (!ended && flags.count(word) != 0) {
      out.flags.insert(word);
    } else if (!ended && (word == "--mesh" || word.rfind("--mesh=", 0) == 0)) {
      if (out.mesh) refuse(words, k, "--mesh stands twice");
      if (word == "--mesh" && ++k == words.size()) refuse(words, k, "expected a mesh");
      const std::string text = word == "--mesh" ? words[k] : word.substr(7);
      try {
        Tokens in(text);
        in.next_line();
        out.mesh = given_mesh(in, has_order);
        if (in.peek() != Tokens::end_of_line || in.next_line()) {
          Tokens::fail(in.here(), "unexpected text behind the mesh");
        }
      } catch (const ParseError& error) {
        throw Refused{"", text, error};
      }
    } else if (!ended && word != "-" && word.rfind('-', 0) == 0) {
      refuse(words, k, words[0] + " has no option " + word);
    } else {
      if (word == "-" ? !query.empty() : query == Words{"-"}) {
        refuse(words, k, "expected either a query or - for standard input");
      }
      query.push_back(word);
    }
  }
  if (query.empty() || query == Words{"-"}) {
    out.source = "<stdin>";
    out.text = standard_input(words);
    return out;
  }
  for (const std::string& word : query) out.text += (out.text.empty() ? "" : " ") + word;
  return out;
}

/// Every query of the text, as `read` reads one from its line. Throws Refused.
template <class Read>
auto read_queries(const Questions& asked, Read read) {
  using Query = decltype(read(std::declval<Tokens&>(), std::declval<const SharedMesh&>()));
  std::vector<Query> out;
  SharedMesh mesh = asked.mesh;
  Tokens in(asked.text);
  try {
    while (in.next_line()) {
      if (in.peek() == Tokens::end_of_line) continue;
      const ParseError start = in.here();
      if (in.peek() == '[' || (asked.has_order && at_addition(in))) {
        if (!mesh) Tokens::fail(start, "there is no mesh: give --mesh x:4 or a line mesh x:4");
        out.push_back(read(in, mesh));
      } else {
        if (in.word() != "mesh") {
          Tokens::fail(start, "a query starts with [, or with the word mesh");
        }
        mesh = given_mesh(in, asked.has_order);
      }
      if (in.peek() != Tokens::end_of_line) Tokens::fail(in.here(), "unexpected text");
    }
    if (out.empty()) Tokens::fail(in.here(), "there is no query");
  } catch (const ParseError& error) {
    throw Refused{asked.source, asked.text, error};
  }
  return out;
}

/// Answers each query in turn, with a blank line between answers of several lines. Where the memory
/// does not suffice for one, the others are answered all the same.
template <class Query, class Answer>
int answer_all(const std::vector<Query>& queries, std::ostream& out, const char* between,
               Answer answer, const char* comment = "") {
  int code = yes;
  for (const Query& query : queries) {
    if (&query != &queries.front()) out << between;
    std::ostringstream text;
    int own = undecided;
    try {
      own = answer(query, text);
    } catch (const std::bad_alloc&) {
      text = std::ostringstream();
      text << comment << "undecided: out of memory\n";
    }
    out << text.str();
    code = std::max(code, own);
  }
  return code;
}

}  // namespace spec::oracle
