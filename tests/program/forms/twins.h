// Every rule of the text form as a pair of texts: one that keeps it and one that breaks nothing
// else.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/diagnostic.h"
#include "retile/core/result.h"
#include "retile/program/program.h"

namespace twins {

/// `bad` marks with « and » what its diagnostic must point at.
struct Twin {
  std::string name;
  std::string good;
  std::string bad;
  retile::Code code;
};

/// The one Program that was read from `text`.
inline retile::Program only(retile::Result<std::vector<retile::Program>> programs,
                            const std::string& text) {
  if (!programs) throw std::runtime_error(render(programs.error()) + text);
  if (programs->size() != 1) throw std::runtime_error("expected one Program");
  return std::move(programs->front());
}

/// A text without its marks, and where they were.
struct Marked {
  std::string text;
  std::size_t line = 1;   // counted from 1
  std::string line_text;  // without line end
  retile::Span span;      // bytes of line_text
};

inline Marked unmarked(std::string_view bad) {
  const std::string open = "«";
  const std::string close = "»";
  const std::size_t begin = bad.find(open);
  const std::size_t end = bad.find(close) - open.size();
  Marked out;
  out.text = bad;
  out.text.erase(bad.find(close), close.size());
  out.text.erase(begin, open.size());
  std::size_t line_begin = 0;
  for (std::size_t i = 0; i < begin; ++i) {
    if (out.text[i] == '\n') {
      ++out.line;
      line_begin = i + 1;
    }
  }
  out.line_text = out.text.substr(line_begin, out.text.find('\n', begin) - line_begin);
  if (!out.line_text.empty() && out.line_text.back() == '\r') out.line_text.pop_back();
  out.span = {.begin = begin - line_begin, .end = end - line_begin};
  return out;
}

/// A Program over x:2,y:3 whose tilings are [3{x}6, 4] and [6, 4], with these steps.
inline std::string over_six(std::string_view steps) {
  return "retile.program/1\nmesh x:2,y:3\nfrom [3{x}6, 4]\nto [6, 4]\n" + std::string(steps) + "\n";
}
/// The same Program with another header below the first line.
inline std::string header(std::string_view lines) {
  return "retile.program/1\n" + std::string(lines) + "\n";
}

inline const std::vector<Twin>& all() {
  using retile::Code;
  static const std::vector<Twin> twins = {
      // The file
      {"the header is the first line", "# comment\n\nretile.program/1\ndevices 1\nfrom []\nto []\n",
       "# comment\n\n«devices» 1\nretile.program/1\nfrom []\nto []\n", Code::syntax},
      {"version 1 has no view", header("mesh x:2\nfrom [2{x}4]\nto [4]"),
       header("mesh x:2\nfrom [2{x}4]\nto [4]\nview «[4]»"), Code::bad_program},
      {"there is a header", header("devices 1\nfrom []\nto []"), "«»# only a comment\n",
       Code::syntax},
      {"the header says a version that is known", header("devices 1\nfrom []\nto []"),
       "«retile.program/3»\ndevices 1\nfrom []\nto []\n", Code::syntax},
      {"the header is one token", header("devices 1\nfrom []\nto []"),
       "«retile.program /1»\ndevices 1\nfrom []\nto []\n", Code::syntax},
      {"nothing but a comment follows the header",
       "retile.program/1 # here\ndevices 1\nfrom []\nto []\n",
       "retile.program/1 «here»\ndevices 1\nfrom []\nto []\n", Code::syntax},
      {"lines begin with a known word", over_six("allgather dim=0 groups=[[0,1,2,3,4,5]]"),
       over_six("«allgathre» dim=0 groups=[[0,1,2,3,4,5]]"), Code::syntax},
      {"words are lower case", over_six("allpermute pairs=[]"), over_six("«Allpermute» pairs=[]"),
       Code::syntax},
      {"reserved words are no steps", over_six("allpermute pairs=[]"),
       over_six("«reshape» pairs=[]"), Code::bad_program},
      {"concat is reserved as a step", over_six("alltoall split=0 concat=0 groups=[6,1]<=[6]"),
       over_six("«concat» split=0 groups=[6,1]<=[6]"), Code::bad_program},
      {"a line ends where it ends", over_six("allpermute pairs=[] # ;"),
       over_six("allpermute pairs=[] «;»"), Code::syntax},
      {"a line holds one tiling", header("devices 1\nfrom [6]\nto [6]"),
       header("devices 1\nfrom [6] «[»6]\nto [6]"), Code::syntax},
      {"CR belongs to a line end", header("devices 1\r\nfrom []\r\nto []\r"),
       header("devices «\r»1\nfrom []\nto []"), Code::syntax},
      {"blanks are space and tab", header("devices\t 1\nfrom []\nto []"),
       header("devices «\v»1\nfrom []\nto []"), Code::syntax},
      {"NUL is no blank", header("devices 1\nfrom []\nto []"),
       header(std::string("devices 1«") + '\0' + "»\nfrom []\nto []"), Code::syntax},
      {"non-ASCII is for quoted names and comments",
       header("mesh \"\xC3\xA9\":1 # \xC3\xA9\nfrom []\nto []"),
       header("mesh «\xC3\xA9»:1\nfrom []\nto []"), Code::syntax},

      // Numbers
      {"numbers are below 2^63", over_six("allpermute pairs=[] tile=[9223372036854775807]"),
       over_six("allpermute pairs=[] tile=[«9223372036854775808»]"), Code::bad_number},
      {"numbers have not 40 digits",
       over_six("allpermute pairs=[] tile=[0000000000000000000000000000000000000001]"),
       over_six("allpermute pairs=[] tile=[«1000000000000000000000000000000000000000»]"),
       Code::bad_number},
      {"numbers are not negative", over_six("allpermute pairs=[] tile=[1]"),
       over_six("allpermute pairs=[] tile=[«-1»]"), Code::bad_number},
      {"numbers are decimal", over_six("allpermute pairs=[] tile=[0,10]"),
       over_six("allpermute pairs=[] tile=[0«x10»]"), Code::syntax},

      // Meshes and the number of devices
      {"axes have names", header("mesh x:2\nfrom []\nto []"), header("mesh «2»\nfrom []\nto []"),
       Code::syntax},
      {"a mesh has an axis", header("mesh x:1\nfrom []\nto []"), header("mesh«»\nfrom []\nto []"),
       Code::empty_mesh},
      {"a mesh ends with an axis", header("mesh x:1,y:1\nfrom []\nto []"),
       header("mesh x:1,«»\nfrom []\nto []"), Code::syntax},
      {"axes have sizes", header("mesh x:2\nfrom []\nto []"), header("mesh x«»\nfrom []\nto []"),
       Code::syntax},
      {"axes have size 1 at least", header("mesh x:1\nfrom []\nto []"),
       header("mesh x:«0»\nfrom []\nto []"), Code::bad_number},
      {"axis names differ", header("mesh x:2,\"x \":3\nfrom []\nto []"),
       header("mesh x:2,«\"x\"»:3\nfrom []\nto []"), Code::duplicate_axis},
      {"quoted names end", header("mesh \"x#\":2\nfrom []\nto []"),
       header("mesh «\"x:2»\nfrom []\nto []"), Code::syntax},
      {"quoted names hold no control characters",
       header("mesh \"\xC2\xA0\xC4\x9B\":2\nfrom []\nto []"),
       header("mesh «\"\x1B[31m\"»:2\nfrom []\nto []"), Code::syntax},
      {"quoted names hold no control characters of two bytes",
       header("mesh \"\xC2\xA0\":2\nfrom []\nto []"),
       header("mesh «\"\xC2\x9B\"»:2\nfrom []\nto []"), Code::syntax},
      {"meshes have 2^31 devices at most", header("mesh x:1,y:2147483648\nfrom []\nto []"),
       header("mesh «x:2,y:2147483648»\nfrom []\nto []"), Code::too_many_devices},
      {"mesh sizes do not wrap", header("mesh x:1,y:1\nfrom []\nto []"),
       header("mesh «x:4294967296,y:1073741824»\nfrom []\nto []"), Code::too_many_devices},
      {"devices has 2^31 at most", header("devices 2147483648\nfrom []\nto []"),
       header("devices «2147483649»\nfrom []\nto []"), Code::too_many_devices},
      {"devices has one at least", header("devices 1\nfrom []\nto []"),
       header("devices «0»\nfrom []\nto []"), Code::bad_number},
      {"two meshes at most", header("mesh x:6\nfrom []\nmesh y:6\nto []"),
       header("mesh x:6\nmesh y:6\nfrom []\nmesh «z:6»\nto []"), Code::bad_program},
      {"devices stands once", header("devices 6\nfrom []\nto []"),
       header("devices 6\ndevices «6»\nfrom []\nto []"), Code::bad_program},
      {"mesh and devices agree", header("mesh x:2,y:3\ndevices 6\nfrom []\nto []"),
       header("mesh x:2,y:3\ndevices «5»\nfrom []\nto []"), Code::bad_program},
      {"devices and mesh agree", header("devices 6\nfrom []\nto []\nmesh x:2,y:3"),
       header("devices 5\nfrom []\nto []\nmesh «x:2,y:3»"), Code::bad_program},
      {"two meshes agree", header("mesh x:6\nfrom []\nmesh y:2,z:3\nto []"),
       header("mesh x:6\nfrom []\nmesh «y:2,z:2»\nto []"), Code::bad_program},
      {"at and devices agree", header("devices 2\nfrom tile=[1] global=[2] at=[[0],[1]]\nto [2]"),
       header("devices 3\nfrom tile=[1] global=[2] at=«[[0],[1]]»\nto [2]"), Code::bad_program},
      {"at has a row", header("from tile=[] global=[] at=[[]]\nto []"),
       header("from tile=[] global=[] at=«[]»\nto []"), Code::bad_number},
      {"the number of devices is given", header("devices 1\nfrom []\nto []"),
       "«retile.program/1»\nfrom []\nto []\n", Code::bad_program},

      // from and to
      {"from stands", header("devices 1\nfrom []\nto []"), "«retile.program/1»\ndevices 1\nto []\n",
       Code::bad_program},
      {"to stands", header("devices 1\nfrom []\nto []"), "«retile.program/1»\ndevices 1\nfrom []\n",
       Code::bad_program},
      {"to stands in the first of two",
       header("devices 1\nfrom []\nto []") + header("devices 1\nfrom []\nto []"),
       "«retile.program/1»\ndevices 1\nfrom []\n" + header("devices 1\nfrom []\nto []"),
       Code::bad_program},
      {"from stands once", header("devices 1\nfrom []\nto []"),
       header("devices 1\nfrom []\nfrom «[]»\nto []"), Code::bad_program},
      {"to stands once", header("devices 1\nto []\nfrom []"),
       header("devices 1\nto []\nto «[]»\nfrom []"), Code::bad_program},
      {"to stands above the steps", header("devices 1\nfrom []\nto []\nallpermute pairs=[]"),
       "«retile.program/1»\ndevices 1\nfrom []\nallpermute pairs=[]\nto []\n", Code::bad_program},
      {"mesh stands above the steps",
       header("devices 1\nfrom []\nto []\nmesh x:1\nallpermute pairs=[]"),
       header("devices 1\nfrom []\nto []\nallpermute pairs=[]\n«mesh» x:1"), Code::bad_program},
      {"from and to have one global shape", header("devices 1\nfrom [6, 4]\nto [6, 4]"),
       header("devices 1\nfrom [6, 4]\nto [«4», 6]"), Code::globaltype_mismatch},
      {"from and to have one rank", header("devices 1\nfrom [6, 1]\nto [6, 1]"),
       header("devices 1\nfrom [6, 1]\nto «[6]»"), Code::rank_mismatch},

      // Tilings in brackets
      {"a tiling begins with a bracket", header("devices 1\nfrom [6]\nto [6]"),
       header("devices 1\nfrom «6»\nto [6]"), Code::syntax},
      {"brackets close", header("devices 1\nfrom [6]\nto [6]"),
       header("devices 1\nfrom [6«»\nto [6]"), Code::syntax},
      {"braces close", header("mesh x:2\nfrom [3{x}6]\nto [6]"),
       header("mesh x:2\nfrom [3{x«]»\nto [6]"), Code::syntax},
      {"a global extent follows braces", header("mesh x:2\nfrom [3{x}6]\nto [6]"),
       header("mesh x:2\nfrom [3{x}«]»\nto [6]"), Code::syntax},
      {"no comma at the end", header("devices 1\nfrom [6]\nto [6]"),
       header("devices 1\nfrom [6,«]»\nto [6]"), Code::syntax},
      {"a digit is stride:size", header("mesh x:2\nfrom [3{1:2}6]\nto [6]"),
       header("mesh x:2\nfrom [3{2«}»6]\nto [6]"), Code::syntax},
      {"tile times digits is global", header("mesh x:2,y:3\nfrom [3{x}6]\nto [6]"),
       header("mesh x:2,y:3\nfrom [«2{x}6»]\nto [6]"), Code::ill_formed_type},
      {"tile times no digits is global", header("mesh x:2\nfrom [6{}6]\nto [6]"),
       header("mesh x:2\nfrom [«3{}6»]\nto [6]"), Code::ill_formed_type},
      {"tiles have extent 1 at least", header("mesh x:2\nfrom [1{x}2]\nto [2]"),
       header("mesh x:2\nfrom [«0»{x}2]\nto [2]"), Code::bad_number},
      {"extents are 1 at least", header("devices 1\nfrom [1]\nto [1]"),
       header("devices 1\nfrom [«0»]\nto [1]"), Code::bad_number},
      {"the product of tile and digits does not wrap", header("mesh x:4\nfrom [1{x}4]\nto [4]"),
       header("mesh x:4\nfrom [«4611686018427387905{x}4»]\nto [4]"), Code::ill_formed_type},
      {"arrays have fewer than 2^63 elements",
       header("devices 1\nfrom [4294967296, 2147483647]\nto [4294967296, 2147483647]"),
       header("devices 1\nfrom «[4294967296, 2147483648]»\nto [4294967296, 2147483648]"),
       Code::size_overflow},
      {"names are axes", header("mesh devs:2\nfrom [3{devs}6]\nto [6]"),
       header("mesh devs:2\nfrom [3{«dev»}6]\nto [6]"), Code::unknown_axis},
      {"names need a mesh above", header("mesh x:2\nfrom [3{x}6]\nto [6]"),
       header("from [3{«x»}6]\nmesh x:2\nto [6]"), Code::unknown_axis},
      {"names are those of the nearest mesh",
       header("mesh x:2,y:3\nfrom [3{x}6]\nmesh z:6\nto [1{z}6]"),
       header("mesh x:2,y:3\nfrom [3{x}6]\nmesh z:6\nto [3{«x»}6]"), Code::unknown_axis},
      {"a repeated size is the axis's", header("mesh x:2\nfrom [3{x:2}6]\nto [6]"),
       header("mesh x:2\nfrom [3{x:«3»}6]\nto [6]"), Code::axis_size_mismatch},
      {"an axis stands once", header("mesh x:2,y:2\nfrom [3{x}6, 1{y}2]\nto [6, 2]"),
       header("mesh x:2,y:2\nfrom [3{x}6, 1{«x»}2]\nto [6, 2]"), Code::axis_used_twice},
      {"an axis of size 1 may stand twice",
       header("mesh x:1\nfrom [3{x}3, 2{x,x:1,7:1}2]\nto [3, 2]"),
       header("mesh x:1\nfrom [3{x}3, 2{x,«z»}2]\nto [3, 2]"), Code::unknown_axis},
      {"an axis stands once in one dimension", header("mesh x:2,y:2\nfrom [3{x,y}12]\nto [12]"),
       header("mesh x:2,y:2\nfrom [3{y,«y»}12]\nto [12]"), Code::axis_used_twice},
      {"strides are 1 at least", header("devices 2\nfrom [3{1:2}6]\nto [6]"),
       header("devices 2\nfrom [3{«0»:2}6]\nto [6]"), Code::bad_number},
      {"digit sizes are 1 at least", header("devices 2\nfrom [6{9:1}6]\nto [6]"),
       header("devices 2\nfrom [6{9:«0»}6]\nto [6]"), Code::bad_number},
      {"digits do not overlap", header("devices 6\nfrom [1{1:2,2:3}6]\nto [6]"),
       header("devices 6\nfrom [1{1:2,«3:3»}6]\nto [6]"), Code::ill_formed_type},
      {"digits nest", header("devices 12\nfrom [1{1:3,3:2}6]\nto [6]"),
       header("devices 12\nfrom [1{1:2,«3:2»}4]\nto [4]"), Code::ill_formed_type},
      {"an axis and its part overlap", header("mesh x:6\nfrom [2{1:2}4, 1{2:3}3]\nto [4, 3]"),
       header("mesh x:6\nfrom [2{x}12, 1{«1:3»}3]\nto [12, 3]"), Code::ill_formed_type},
      {"digits divide the devices", header("devices 12\nfrom [1{2:6}6]\nto [6]"),
       header("devices 12\nfrom [1{«3:6»}6]\nto [6]"), Code::ill_formed_type},
      {"digits stay below the devices", header("devices 6\nfrom [1{1:6}6]\nto [6]"),
       header("devices 6\nfrom [1{«1:12»}12]\nto [12]"), Code::ill_formed_type},
      {"digits are measured when the header ends", header("from [1{1:6}6]\nto [6]\ndevices 6"),
       header("from [1{«1:6»}6]\nto [6]\ndevices 4"), Code::ill_formed_type},

      // Tilings by lists
      {"tile, global, at, in this order", header("from tile=[1] global=[2] at=[[0],[1]]\nto [2]"),
       header("from tile=[1] «at»=[[0],[1]] global=[2]\nto [2]"), Code::syntax},
      {"at is needed", header("from tile=[1] global=[1] at=[[0]]\nto [1]"),
       header("from tile=[1] global=[1]«»\nto [1]"), Code::syntax},
      {"tile has the rank", header("from tile=[1,1] global=[1,2] at=[[0,0],[0,1]]\nto [1, 2]"),
       header("from tile=«[1]» global=[1,2] at=[[0,0],[0,1]]\nto [1, 2]"), Code::ill_formed_type},
      {"rows of at have the rank", header("from tile=[1] global=[2] at=[[0],[1]]\nto [2]"),
       header("from tile=[1] global=[2] at=[[0],[«1»,0]]\nto [2]"), Code::bad_program},
      {"listed tiles have extent 1 at least",
       header("from tile=[1] global=[2] at=[[0],[1]]\nto [2]"),
       header("from tile=[«0»] global=[2] at=[[0],[1]]\nto [2]"), Code::bad_number},
      {"tiles are not larger than the array",
       header("from tile=[2] global=[2] at=[[0],[0]]\nto [2]"),
       header("from tile=[«3»] global=[2] at=[[0],[0]]\nto [2]"), Code::ill_formed_type},
      {"tiles lie inside", header("from tile=[2] global=[3] at=[[0],[1]]\nto [3]"),
       header("from tile=[2] global=[3] at=[[0],[«2»]]\nto [3]"), Code::ill_formed_type},
      {"offsets do not wrap", header("from tile=[2] global=[3] at=[[0],[1]]\nto [3]"),
       header("from tile=[2] global=[3] at=[[0],[«9223372036854775807»]]\nto [3]"),
       Code::ill_formed_type},
      {"listed arrays have fewer than 2^63 elements",
       header("from tile=[1,1] global=[4294967296,2147483647] at=[[0,0]]\nto [4294967296, "
              "2147483647]"),
       header("from tile=[1,1] global=«[4294967296,2147483648]» at=[[0,0]]\nto [4294967296, "
              "2147483648]"),
       Code::size_overflow},

      // Keys
      {"keys are known", over_six("allgather dim=0 groups=[[0]]"),
       over_six("allgather dim=0 «group»=[[0]]"), Code::bad_program},
      {"keys belong to the step", over_six("alltoall split=0 concat=1 groups=[]"),
       over_six("alltoall «dim»=0 concat=1 groups=[]"), Code::bad_program},
      {"keys have values", over_six("allgather dim=0 groups=[]"), over_six("allgather dim«»\n"),
       Code::syntax},
      {"keys stand once", over_six("allgather dim=0 groups=[]"),
       over_six("allgather dim=0 «dim»=0 groups=[]"), Code::bad_program},
      {"claims stand once", over_six("allpermute pairs=[] tile=[1]"),
       over_six("allpermute pairs=[] tile=[1] «tile»=[1]"), Code::bad_program},
      {"allgather needs groups", over_six("allgather groups=[] dim=0"),
       over_six("«allgather» dim=0"), Code::bad_program},
      {"alltoall needs split", over_six("alltoall concat=0 split=0 groups=[]"),
       over_six("«alltoall» concat=0 groups=[]"), Code::bad_program},
      {"dynslice needs groups or parts", over_six("dynslice dim=0 parts=1 part=[0,0,0,0,0,0]"),
       over_six("«dynslice» dim=0"), Code::bad_program},
      {"parts needs part", over_six("dynslice dim=0 parts=1 part=[0,0,0,0,0,0]"),
       over_six("«dynslice» dim=0 parts=1"), Code::bad_program},
      {"dynslice has not both", over_six("dynslice dim=0 groups=[]"),
       over_six("«dynslice» dim=0 groups=[] parts=1 part=[0,0,0,0,0,0]"), Code::bad_program},
      {"allpermute needs a permutation", over_six("allpermute source=[]"),
       over_six("«allpermute» tile=[1]"), Code::bad_program},
      {"allpermute has not both", over_six("allpermute source=[]"),
       over_six("«allpermute» source=[] pairs=[]"), Code::bad_program},
      {"dim is below the rank", over_six("allgather dim=1 groups=[]"),
       over_six("allgather dim=«2» groups=[]"), Code::bad_dimension},
      {"split is below the rank", over_six("alltoall split=1 concat=0 groups=[]"),
       over_six("alltoall split=«2» concat=0 groups=[]"), Code::bad_dimension},
      {"concat is below the rank", over_six("alltoall split=1 concat=1 groups=[]"),
       over_six("alltoall split=1 concat=«9223372036854775807» groups=[]"), Code::bad_dimension},
      {"an array of rank 0 has no dimension",
       header("devices 1\nfrom [1]\nto [1]\nallgather dim=0 groups=[]"),
       header("devices 1\nfrom []\nto []\nallgather dim=«0» groups=[]"), Code::bad_dimension},

      // Exchanges
      {"an exchange says its tile", over_six("exchange transfers=[] tile=[1,1]"),
       over_six("«exchange» transfers=[]"), Code::bad_program},
      {"an exchange has transfers", over_six("exchange tile=[1,1] transfers=[]"),
       over_six("«exchange» tile=[1,1]"), Code::bad_program},
      {"an exchange has no groups",
       over_six("exchange tile=[1,1] transfers=[] at="
                "[[0,0],[0,0],[0,0],[0,0],[0,0],[0,0]]"),
       over_six("exchange tile=[1,1] «groups»=[] transfers=[]"), Code::bad_program},
      {"only an exchange has transfers", over_six("exchange tile=[1,1] transfers=[]"),
       over_six("allpermute «transfers»=[] pairs=[]"), Code::bad_program},
      {"the tile of an exchange has the rank", over_six("exchange transfers=[] tile=[1,1]"),
       over_six("exchange transfers=[] tile=«[1]»"), Code::bad_program},
      {"the tile of an exchange has elements", over_six("exchange transfers=[] tile=[1,1]"),
       over_six("exchange transfers=[] tile=[1,«0»]"), Code::bad_number},
      {"a transfer has two devices and three numbers per dimension",
       over_six("exchange tile=[1,1] transfers=[[5,0,0,0,0,0,1,1],[0,5,9,9,9,9,9,9]]"),
       over_six("exchange tile=[1,1] transfers=[[5,0,0,0,0,0,1,1],[«0»,5,9,9,9,9,9]]"),
       Code::bad_program},
      {"a transfer is not empty", over_six("exchange tile=[1,1] transfers=[[0,0,0,0,0,0,1,1]]"),
       over_six("exchange tile=[1,1] transfers=«[[]]»"), Code::bad_program},
      {"transfers are rows", over_six("exchange tile=[1,1] transfers=[[0,0,0,0,0,0,1,1]]"),
       over_six("exchange tile=[1,1] transfers=[«0»,0,0,0,0,0,1,1]"), Code::syntax},
      {"targets exist", over_six("exchange tile=[1,1] transfers=[[5,0,0,0,0,0,1,1]]"),
       over_six("exchange tile=[1,1] transfers=[[«6»,0,0,0,0,0,1,1]]"), Code::bad_device},
      {"sources of transfers exist", over_six("exchange tile=[1,1] transfers=[[0,5,0,0,0,0,1,1]]"),
       over_six("exchange tile=[1,1] transfers=[[0,«6»,0,0,0,0,1,1]]"), Code::bad_device},
      {"boxes have elements", over_six("exchange tile=[1,1] transfers=[[0,0,0,0,0,0,1,1]]"),
       over_six("exchange tile=[1,1] transfers=[[0,0,0,0,0,0,1,«0»]]"), Code::bad_number},

      // Tables
      {"groups are rows", over_six("allgather dim=0 groups=[[0,1]]"),
       over_six("allgather dim=0 groups=«[0,1]»"), Code::bad_program},
      {"rows are all lists", over_six("allgather dim=0 groups=[[0,1],[2]]"),
       over_six("allgather dim=0 groups=[[0,1],«2»]"), Code::syntax},
      {"devices exist", over_six("allgather dim=0 groups=[[0,1],[2,5]]"),
       over_six("allgather dim=0 groups=[[0,1],[2,«6»]]"), Code::bad_device},
      {"sources exist", over_six("allpermute source=[0,1,2,3,4,5]"),
       over_six("allpermute source=[0,1,2,3,4,«6»]"), Code::bad_device},
      {"paired devices exist", over_six("allpermute pairs=[[0,5]]"),
       over_six("allpermute pairs=[[«6»,0]]"), Code::bad_device},
      {"a source is one list", over_six("allpermute source=[0]"),
       over_six("allpermute source=[«[»0]]"), Code::syntax},
      {"pairs have two", over_six("allpermute pairs=[[0,1],[1,0]]"),
       over_six("allpermute pairs=[[0,1],[«1»]]"), Code::bad_program},
      {"an iota for groups has two numbers", over_six("allgather dim=0 groups=[2,3]<=[6]"),
       over_six("allgather dim=0 groups=«[6]»<=[6]"), Code::bad_program},
      {"an iota for source has one number", over_six("allpermute source=[6]<=[6]"),
       over_six("allpermute source=«[6,1]»<=[6]"), Code::bad_program},
      {"an iota has a stage", over_six("allpermute source=[6]<=[6]"),
       over_six("allpermute source=[6]<=«»"), Code::syntax},
      {"<= is one token", over_six("allpermute source=[6] <= [6]"),
       over_six("allpermute source=[6] «<» = [6]"), Code::syntax},
      {"stages have one size", over_six("allpermute source=[6]<=[2,3]<=[3,2]"),
       over_six("allpermute source=[6]<=[2,3]<=[«3»,3]"), Code::bad_device},
      {"stages are not smaller", over_six("allpermute source=[6]<=[2,3]"),
       over_six("allpermute source=[6]<=[«2»,2]"), Code::bad_program},
      {"iotas list devices that exist", over_six("allgather dim=0 groups=[2,3]<=[6]"),
       over_six("allgather dim=0 groups=[«2»,4]<=[8]"), Code::bad_device},
      {"iotas of fewer devices can be read", over_six("allgather dim=0 groups=[1,3]<=[3]"),
       over_six("allgather dim=0 groups=[«0»,3]<=[0]"), Code::bad_number},
      {"iota sizes do not wrap", over_six("allgather dim=0 groups=[1,1]<=[1]"),
       over_six("allgather dim=0 groups=[«4294967296»,4294967296]<=[1]"), Code::size_overflow},
      {"T names every dimension", over_six("allpermute source=[6]<=[2,3]T(1,0)"),
       over_six("allpermute source=[6]<=[2,3]T(«0»)"), Code::bad_program},
      {"T names no dimension twice", over_six("allpermute source=[6]<=[2,3]T(0,1)"),
       over_six("allpermute source=[6]<=[2,3]T(1,«1»)"), Code::bad_program},
      {"T names dimensions of its stage", over_six("allpermute source=[6]<=[2,3]T(1,0)"),
       over_six("allpermute source=[6]<=[2,3]T(1,«2»)"), Code::bad_program},
      {"T has brackets that are round", over_six("allpermute source=[6]<=[2,3] T ( 1 , 0 )"),
       over_six("allpermute source=[6]<=[2,3]T«[»1,0]"), Code::syntax},
      {"a stage of rank 0 has no T", header("devices 1\nfrom []\nto []\nallpermute source=[1]<=[]"),
       header("devices 1\nfrom []\nto []\nallpermute source=[1]<=[]T(«0»)"), Code::bad_program},
      {"parts is 1 at least", over_six("dynslice dim=0 parts=1 part=[0,0,0,0,0,0]"),
       over_six("dynslice dim=0 parts=«0» part=[0,0,0,0,0,0]"), Code::bad_number},
      {"part has one entry per device", over_six("dynslice dim=0 parts=2 part=[0,1,0,1,0,1]"),
       over_six("dynslice dim=0 parts=2 part=«[0,1,0,1,0]»"), Code::bad_program},
      {"parts exist", over_six("dynslice dim=0 parts=2 part=[0,1,0,1,0,1]"),
       over_six("dynslice dim=0 parts=2 part=[0,1,0,«2»,0,1]"), Code::bad_program},
      {"an iota of parts lists every device", over_six("dynslice dim=0 parts=6 part=[6]<=[6]"),
       over_six("dynslice dim=0 parts=6 part=«[3]<=[3]»"), Code::bad_program},
      {"an iota of parts stays below parts",
       over_six("dynslice dim=0 parts=7 part=[6]<=[2,3]T(1,0)"),
       over_six("dynslice dim=0 parts=5 part=«[6]<=[2,3]T(1,0)»"), Code::bad_program},

      // Claims
      {"a tile claim may have any rank", over_six("allpermute pairs=[] tile=[0,1,2]"),
       over_six("allpermute pairs=[] tile=[«[»0]]"), Code::syntax},
      {"a map claim is in brackets", over_six("allpermute pairs=[] map=[3{3:2}6, 4]"),
       over_six("allpermute pairs=[] map=«tile»=[6,4] global=[6,4] at=[]"), Code::syntax},
      {"a map claim has the global shape", over_six("allpermute pairs=[] map=[6, 4]"),
       over_six("allpermute pairs=[] map=[6, «8»]"), Code::globaltype_mismatch},
      {"a map claim has the rank", over_six("allpermute pairs=[] map=[6, 4]"),
       over_six("allpermute pairs=[] map=«[6]»"), Code::rank_mismatch},
      {"a map claim is well formed", over_six("allpermute pairs=[] map=[3{x}6, 4]"),
       over_six("allpermute pairs=[] map=[«3{y}6», 4]"), Code::ill_formed_type},
      {"an at claim has D rows",
       over_six("allpermute pairs=[] at=[[0,0],[0,9],[9,0],[7,7],[0,0],[0,0]]"),
       over_six("allpermute pairs=[] at=«[[0,0],[0,9],[9,0],[7,7],[0,0]]»"), Code::bad_program},
      {"rows of an at claim have the rank",
       over_six("allpermute pairs=[] at=[[0,0],[0,9],[9,0],[7,7],[0,0],[0,0]]"),
       over_six("allpermute pairs=[] at=[[0,0],[0,9],[«9»],[7,7],[0,0],[0,0]]"), Code::bad_program},
  };
  return twins;
}

}  // namespace twins
