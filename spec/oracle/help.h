/// What retile-oracle says about itself.
#pragma once

#include <map>

#include "limits.h"

namespace spec::oracle {

/// The version of the project, which a test compares.
constexpr const char* version = "0.1.0";

constexpr const char* general_help =
    R"(usage: retile-oracle VERB .. | VERB --help | --help | --version

The paper's definitions, executable; built from the folder spec/ and the standard library alone.

  types      all well-formed types of a mesh and a globaltype
  apply      the type after each collective
  height     the largest tile of a sequence, the memory bound, whether it is a normal form
  cost       the cost of a sequence, in elements per device
  normalize  a sequence rewritten to normal form, step by step
  optimum    the cheapest sequence, by brute force, as a Program
  boxes      what each device holds where tiles need not be alike
  check      whether Programs are right, by moving every element
  certify    whether a Program is right and nothing is cheaper, by a proof that stands with it
  rewrite    an expression of PartIR by one of its rules, and whether type and values stay

Queries are words, or lines of standard input. There `mesh x:4,y:2` gives the mesh of the lines
below it, and # starts a comment. Answers of several lines are separated by a blank line. Nothing is
printed before all queries were read.

  mesh        x:4,y:2                     device numbers row-major, last axis fastest
  type        [3{x}12, 2{y}12, 12]        tile{axes}global, axes minor to major
  collective  allgather(0)                the minor-most axis of dimension 0
              dynslice(1,x)               dimension 1, over axis x
              alltoall(0,1)               the minor-most axis of dimension 0 to dimension 1
              allpermute [6{y}12, 12]     to a type, which has to be named
              allgather(0,{x,y})  dynslice(1,{x,y})  alltoall(0,1,{x,y})    several axes at once

Dimensions and steps count from 0. Behind -- no word is an option. Exit codes: 0 yes, 1 no, 2 the
input cannot be read, 3 undecided because of a limit or the memory, 4 no output. Of several answers
the largest counts.

Limits. Beyond them the answer to a query is undecided:
)";

inline const std::map<std::string, const char*>& verb_help() {
  static const std::map<std::string, const char*> all = {
      {"types", R"(usage: retile-oracle types --mesh MESH [GLOBALTYPE | -]

Prints every well-formed type of the mesh with these global sizes, one per line.

Examples:
  retile-oracle types --mesh x:2,y:2 '[4, 4]'
  printf '%s\n' 'mesh x:2' '[4]' 'mesh x:3' '[6, 3]' | retile-oracle types

Exit codes: 0; 2 the input cannot be read; 3 undecided: `retile-oracle --help` lists the limits.
)"},
      {"apply", R"(usage: retile-oracle apply --mesh MESH [TYPE COLLECTIVE.. | -]

Prints the type after each collective, one per line. Where a rule does not apply, the last line is
  no: step K, COLLECTIVE: REASON [RULE]

Examples:
  retile-oracle apply --mesh x:4,y:2 '[2{x}8, 8]' 'alltoall(0,1)' 'dynslice(0,y)'
  retile-oracle apply --mesh x:2,y:2 '[1{x,y}4, 4]' 'alltoall(0,1,{x,y})'
  printf '%s\n' 'mesh x:2,y:2' '[2{x}4] allpermute [2{y}4]' '[4] dynslice(0,z)' | retile-oracle apply

Exit codes: 0 every rule applies; 1 one does not; 2 the input cannot be read; 3 undecided:
`retile-oracle --help` lists the limits.
)"},
      {"height", R"(usage: retile-oracle height --mesh MESH [TYPE COLLECTIVE.. | -]

Prints one line per sequence: the largest localsize, both ends included (Def. 4.4); the larger
localsize of the two ends, and whether the sequence stays within it (4); whether it is a normal
form (Def. 4.5). Where a rule does not apply: no: step K, COLLECTIVE: REASON [RULE]

Examples:
  retile-oracle height --mesh x:4 '[2{x}8, 8]' 'allgather(0)' 'dynslice(1,x)'
  my-partitioner --print-sequences | retile-oracle height

Exit codes: 0 every rule applies; 1 one does not; 2 the input cannot be read; 3 undecided:
`retile-oracle --help` lists the limits.
)"},
      {"cost", R"(usage: retile-oracle cost --mesh MESH [TYPE COLLECTIVE.. | -]

Prints one number per sequence: the elements per device that it moves (Fig. 11): an allgather its
result, an alltoall or allpermute its input, a dynslice nothing. Where a rule does not apply:
no: step K, COLLECTIVE: REASON [RULE]

Examples:
  retile-oracle cost --mesh x:4 '[2{x}8, 8]' 'allgather(0)' 'dynslice(1,x)'
  printf '%s\n' 'mesh x:2' '[1{x}2, 2] alltoall(0,1)' '[1{x}2, 2]' | retile-oracle cost

Exit codes: 0 every rule applies; 1 one does not; 2 the input cannot be read; 3 undecided: the cost
is not below 2^63, or a limit that `retile-oracle --help` lists was reached.
)"},
      {"normalize", R"(usage: retile-oracle normalize --mesh MESH [TYPE COLLECTIVE.. | -]

Rewrites a sequence to normal form (Theorem 4.8) and prints the mesh, the sequence, and the sequence
after each rewriting, with the lemma used and the measure that falls: the tile sizes of all types
between the first and the last, the largest first. The last line is the normal form. What is printed
can be read again by every verb.

Axes are first split into prime ones, x:4 into x.2:2,x.1:2, and several axes at once are moved one
by one; an alltoall over several is completed by an allpermute, which restores their order.

Examples:
  retile-oracle normalize --mesh x:2,y:2 '[1{x}2, 4]' 'allgather(0)' 'dynslice(1,y)' 'dynslice(1,x)'
  retile-oracle normalize --mesh x:2 '[1{x}2, 2]' 'allgather(0)' 'dynslice(1,x)' | retile-oracle cost

Exit codes: 0; 1 a rule does not apply; 2 the input cannot be read; 3 undecided: `retile-oracle
--help` lists the limits.
)"},
      {"optimum", R"(usage: retile-oracle optimum --mesh MESH [--unbounded] [FROM TO | -]

Prints W, the cost of a cheapest sequence that reaches TO up to a permutation of the devices; the
optimum, the cost of a cheapest sequence that reaches TO; and such a sequence as a Program. Both
costs are comments, so the whole can be given to check. No tile is larger than the larger of FROM
and TO (4), unless --unbounded. All axes count as split into prime ones.

Examples:
  retile-oracle optimum --mesh x:4,y:2 '[2{x}8, 8]' '[8, 2{x}8]'
  retile-oracle optimum --mesh x:2,y:3 '[1{x,y}6, 6]' '[6, 1{x,y}6]' | retile-oracle check
  printf '%s\n' 'mesh x:4' '[2{x}8] [8]' '[8] [2{x}8]' | retile-oracle optimum | grep optimum

Exit codes: 0; 2 the input cannot be read; 3 undecided: every cost is 2^63 or more, or a limit that
`retile-oracle --help` lists was reached.
)"},
      {"boxes", R"(usage: retile-oracle boxes --mesh MESH [LAYOUT | -]

Prints the box of every device, a line each: in each dimension the first index that it holds, and
the one behind the last; where there are gaps, those of each stretch, as 0..2+8..10. A device that
holds nothing is empty. Layouts are those of a Program retile.program/2:

  6{a}16                dimension 16 cut every 6 = 16 / 3, rounded up, over an axis a:3
  8~{a}16               cut every 8, the last tile is empty
  (0,4,12,16){a}16      cut at 4 and 12
  2@{a}16               blocks of 2, dealt out in turn
  (0,3,4)*(0,1,4)@{a}16 chunks of an array of 4 x 4, dealt out in turn
  4{a}8+4               the first 8 and the last 4 cut each by itself
  6{a}16<1,1>           and one more index on each side, where there is one
  [9, 4]@3              device 3 holds everything
  3{x:(1)2}6            over the major 2 of an axis x:6
  sum{a}[16, 6{b}23]    addends of a sum: with each box stands the number of its addend, along a

Behind a mesh `order` may say which device stands at each of its positions.

Examples:
  retile-oracle boxes --mesh a:3,b:4 '[6{a}16, 6{b}23]'
  retile-oracle boxes --mesh 'x:2,y:3 order=[6]<=[3,2]T(1,0)' '[(0,1,4){x}4<1,0>, 2{y}4]'
  retile-oracle boxes --mesh x:2,y:2 'sum{x}[4{y}8]'

Exit codes: 0; 2 the input cannot be read; 3 undecided: `retile-oracle --help` lists the limits.
)"},
      {"check", R"(usage: retile-oracle check [PROGRAM|MODULE|-]

Reads Programs in the text forms retile.program/1 and /2 from a file, or from standard input, and
replays each one: an array of global indices per device, moved element by element. Prints, per Program, the
lines right, within_bound, height, bound, cost and steps; when it is wrong also first_wrong_step,
reason, device, at (local index), element (global index expected there) and found. Where tiles have
another shape than is said, no element is named.

In a Program with addends, such as one from sum{x}[8], the elements are formal sums: how often each
element of each addend was added. Then these lines may follow: addend and times, an addend and how
often it is there; replica and replica_times, a device that should hold the same, and how often it
has that addend.

A file may be a module instead, retile.spmd/1: operations on the tiles of devices, and redistributions
between them. Each operation is carried out on every device, on formal polynomials, and so is what the
clause denotes says. So the verdict holds for all numbers. Prints right, devices, statements and claims;
when it is wrong also reason, statement, device and element. The reasons: replicas, devices that hold
one element of one addend disagree; uncovered, an element that no device holds; denotes, the result is
another one. Maxima are compared by what they are taken of. Where that decides nothing, and no drawn
numbers show a difference, the module is undecided. So it is above 2^20 elements on all devices, or 2^22
terms to add up. An operation whose shapes do not fit is refused with a caret.

An undecided Program has right: undecided, reason: limit, and a comment that says which limit.
Dimensions are first divided by the gcd of all tile extents along them: blocks move whole, and each
has one tag. Above 2^28 tags on all devices together a Program is undecided. So it is above 2^32 units
of work: one for every tag and each of its coordinates, at the start and in each step; and in each
step one for every device and each dimension of the stages of an iota. In retile.program/2 each element
has a tag, and a piece takes the units of the tile that it is cut from. With addends each term of a sum
that is looked at takes units, too; at most 2^23 terms are kept in different sums, and how often an
addend is added is below 2^63.

Exit codes: 0 right, 1 wrong, 2 usage or syntax error, 3 undecided, 4 no output. Of several Programs
the largest code counts.

Examples:
  retile-oracle check program.txt
  my-partitioner --print-program | retile-oracle check
  printf '%s\n' retile.program/1 'mesh x:2' 'from [2{x}4]' 'to [4]' \
    'allgather dim=0 groups=[[0,1]]' | retile-oracle check -
)"},
      {"certify", R"(usage: retile-oracle certify [--optimal] [CERTIFICATE|-]

Reads one Program and the lines that prove how cheap a sequence from its `from` to its `to` can be
at all when no tile is larger than the larger of both (4). Replays the Program, checks each line of
the proof, and searches for nothing. What is proved is the cost in elements per device (Fig. 11):

  lower_bound C
  potential [c_0,..] P Q     from localtype c the cost is at least P, and at least Q with an
                             allpermute on the way; from what is not listed it is at least C
  refuted [b_0,..] [p,..]    slicing `from` to localtype b and then doing the steps p does not lead
                             to `to` for less than C without an allpermute, whatever follows; p is
                             [i,j,n], an alltoall(i,j) of the factor n, or, if j is the rank, an
                             allgather(i)

With the line `scope several_dims` in the place of those below `lower_bound` the steps may go along
several dimensions at once, and the oracle tries all that could cost less.

With lines of `retile prove` in their place, or before them, it checks what these say of every device:

  fact groups [k,m,n]        step k has m groups of n devices, and every device is in one of them
  fact bijection [k]         step k gives the tile of every device to one device
  fact inside [k]            step k reads no element outside a tile
  fact map [k,c_0,..]        after step k the tiles have localtype c, and lie as the step claims
  fact end [c_0,..]          in the end the tiles have localtype c, and lie as `to` says
  fact bound [h,b]           the largest tile has h elements; h is at most b, the larger end
  fact cost [C]              the steps cost C

All facts must be there, in the order of the steps.

The line `end` stands behind all of these. A certificate without it was cut and is refused.

Prints the lines of check, then certified, and of which Program: its devices, and the global shape
and the localtypes of its ends. Then follow the number of facts, the scope of the lower bound, the
lower bound, and whether the Program is optimal: it is when its cost is the lower bound, and not
comparable when it has an exchange or costs less. When the proof fails: why, and the localtype or
the number of the fact at which that shows. Where nothing is claimed: `certified: nothing`.

  --optimal  demands that the Program is proved to be optimal: exit code 1 where it is right and
             not so

When the Program or the proof is undecided: reason: limit, and a comment that says which limit. For
the Program they are those of check. The proof may take 2^32 units of work, one for every number up
to that of the devices in each line, and for every number of a tile that is written or compared; and
the tiles of the devices and of all refuted lines are kept: at most 2^29 numbers, with 4 more a tile.

Exit codes: 0 right and proved, 1 wrong or not proved, 2 usage or syntax error, 3 undecided, or
nothing is claimed, 4 no output.

Examples:
  retile-oracle certify program.txt
  printf '%s\n' retile.program/1 'mesh x:2' 'from [2{x}4]' 'to [4]' \
    'allgather dim=0 groups=[[0,1]]' 'lower_bound 4' 'potential [4] 0 4' end | \
    retile-oracle certify --optimal
)"},
      {"rewrite",
       R"(usage: retile-oracle rewrite [FILE|-] --rule NAME [--at PATH] [--dim D] [--range NAME:WIDTH]
       retile-oracle rewrite [FILE|-] --to FILE  |  retile-oracle rewrite --rules

Applies a rule of PartIR to a part of an expression, retile.partir/1: to the whole, or with --at 0,1
to operand 1 of operand 0. Prints the text, and in comments the obligations that prove the rule for all
shapes, and that type and values are the same: as formal polynomials, so for all numbers, or where that
is too much work, for numbers drawn modulo 2^31 - 1. --dim is for dumb-tiling, --range names the new
range value. --to compares with another file, and --rules lists the rules and what they need.

Examples:
  printf '%s\n' retile.partir/1 'x : [4, 3]' 'y : [3, 2]' 'matmul x y' | \
    retile-oracle rewrite --rule matmul-sum --range r:2

Exit codes: 0 the same; 1 another type or value, or no such rule applies; 2 the input cannot be read;
3 undecided: `retile-oracle --help` lists the limits.
)"},
  };
  return all;
}

inline bool asks_about_itself(const std::string& word) {
  return word == "--help" || word == "-h" || word == "--version";
}

/// Whether the words ask for help or the version; if so, that is printed.
inline bool about_itself(const Words& words, std::ostream& out) {
  const auto end = std::find(words.begin(), words.end(), "--");
  const auto has = [&](const char* word) { return std::find(words.begin(), end, word) != end; };
  const bool helps = has("--help") || has("-h");
  if (!helps && has("--version")) out << "retile-oracle " << version << "\n";
  if (!helps) return has("--version");
  if (const auto help = verb_help().find(words[0]); help != verb_help().end()) {
    out << help->second;
    return true;
  }
  out << general_help;
  for (const Limit& limit : all_limits) {
    const std::string verbs = limit.verbs;
    out << "  " << verbs << std::string(32 - verbs.size(), ' ') << described(limit) << "\n";
  }
  return true;
}

}  // namespace spec::oracle
