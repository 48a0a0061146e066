// The grammar of the paper's notation, apart from what it means: axes `x:4,y:6` and dimensions
// `[3{x}12, 2{y}12]`; and of what it has been extended by: blocks `4~{x}12`, balanced tiles `3={x}10`,
// listed cuts `(0,5,12){x}12`, chunks `(0,3,10)@{x}10`, halos `3{x}12<1,1>`. Types and the tilings of Programs are both read by it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/addition.h"
#include "retile/core/cuts.h"
#include "retile/core/diagnostic.h"
#include "retile/core/mesh.h"
#include "retile/core/size.h"
#include "retile/text/scanner.h"

namespace retile::paper {

using text::Place;
using text::Scanner;
using text::Token;

/// `x:4`, in a mesh.
struct WrittenAxis {
  Token<std::string> name;
  Token<Size> size;
};

/// Reads `x:4,y:6`, which must be all that is left, unless something else may follow; at least one
/// axis.
[[nodiscard]] std::vector<WrittenAxis> read_axes(Scanner& scanner, bool more = false);

/// The mesh of these axes; fails at the axis, or at `all`, where they are none.
[[nodiscard]] Mesh mesh_of(const std::vector<WrittenAxis>& axes, const Place& all);

/// How a dimension says where its tiles lie.
enum class Cutting {
  tile,      ///< `3{x}10`: the only tile size that makes so many tiles of it; the last may be short
  blocks,    ///< `4~{x}10`: blocks of that size, as many as there are elements for
  balanced,  ///< `3={x}10`: as `3{x}10`, but the tiles differ by one element at most
  listed,    ///< `(0,3,10){x}10`
  dealt,     ///< `2@{x}10`: blocks of that size, dealt out in turn
  chunks,    ///< `(0,3,10)@{x}10`, `(0,3,10)@(1,0){x}10`: chunks, dealt out in turn or by a list
};

/// Whether tiles that are cut so may have several boxes.
[[nodiscard]] inline bool may_deal(Cutting cutting) {
  switch (cutting) {
    case Cutting::tile:
    case Cutting::blocks:
    case Cutting::balanced:
    case Cutting::listed:
      break;
    case Cutting::dealt:
    case Cutting::chunks:
      return true;
  }
  return false;
}

/// One dimension as written; a Part is what may stand in its braces.
template <typename Part>
struct WrittenDim {
  Token<Size> tile;  ///< of listed cuts the first
  std::vector<Part> parts;
  Token<Size> global;
  std::vector<Size> sections = {};  ///< of `8+4` both; else none
  Place place;
  Cutting cutting = Cutting::tile;
  std::vector<Token<Size>> cuts = {};
  Chunks chunks = {};  ///< dealt out in turn where there are no tiles
  Halo halo = {};
  Place halo_place = {};
  bool has_halo = false;  ///< is written, whatever it says

  /// Whether a tile may have several boxes.
  [[nodiscard]] bool is_dealt() const { return may_deal(cutting) || !sections.empty(); }
  /// Whether the paper has this form.
  [[nodiscard]] bool is_plain() const {
    return cutting == Cutting::tile && !has_halo && sections.empty();
  }
};

/// Dimensions in brackets.
template <typename Part>
struct WrittenDims {
  std::vector<WrittenDim<Part>> dims;
  Place place;
  Place closing;  ///< the closing bracket
};

/// A part by name, `x` or `x:4`; or a part of an axis, `x:(2)3`.
struct WrittenName {
  Token<std::string> name;
  std::optional<Token<Size>> size;   ///< repeats the size of the axis; of a part its own
  std::optional<Token<Size>> major;  ///< of a part: the product of what is cut off before it
};
[[nodiscard]] WrittenName read_name(Scanner& scanner);

/// Whether `sum{` or the like comes next.
[[nodiscard]] bool sees_addition(Scanner& scanner);
/// Reads `sum`, `max`, `min` or `stack`.
[[nodiscard]] Token<Addition> read_addition(Scanner& scanner);

/// How a dimension is written, for notes.
[[nodiscard]] std::vector<std::string> dim_form();

/// `the '[' at column 1 is not closed`
[[nodiscard]] std::string unclosed(std::string_view bracket, std::size_t column);

/// Reads `(0,3,10)`: the offsets behind the bracket that has been read.
[[nodiscard]] std::vector<Token<Size>> read_cuts(Scanner& scanner);

/// Reads `*(0,5,10)@(1,0)`, as much of it as is there, behind the cuts of the first dimension of a grid of chunks.
[[nodiscard]] Chunks read_chunks(Scanner& scanner, const std::vector<Token<Size>>& first);

/// Reads `+4+4`, behind the first section, and makes `global` the sum of all.
void read_sections(Scanner& scanner, Token<Size>& global, std::vector<Size>& sections);

/// Reads `1,1>`, behind the bracket that has been read.
[[nodiscard]] Halo read_halo(Scanner& scanner);
/// That tiles which may have several boxes have no halo, not even one of nothing.
[[nodiscard]] Diagnostic halo_of_dealt();

/// Reads `3{x}12`, or `12` for `12{}12`.
///
/// \param read_part   Part(Scanner&): what stands between commas in the braces
/// \param completion  notes(const WrittenDim<Part>&) for a dimension whose global size is missing
template <typename Part, typename ReadPart, typename Completion>
[[nodiscard]] WrittenDim<Part> read_dim(Scanner& scanner, const ReadPart& read_part,
                                        const Completion& completion) {
  const std::size_t begin = scanner.next();
  WrittenDim<Part> dim;
  if (scanner.accept("(")) {
    dim.cutting = Cutting::listed;
    dim.cuts = read_cuts(scanner);
    dim.tile = dim.cuts.front();
    if (scanner.sees('*') || scanner.sees('@')) {
      dim.cutting = Cutting::chunks;
      dim.chunks = read_chunks(scanner, dim.cuts);
    }
    scanner.expect("{");
  } else {
    const Token<Size> tile = scanner.size("the size of a dimension", dim_form);
    dim.tile = dim.global = tile;
    dim.place = tile.place;
    if (scanner.accept("~")) {
      dim.cutting = Cutting::blocks;
      scanner.expect("{");
    } else if (scanner.accept("=")) {
      dim.cutting = Cutting::balanced;
      scanner.expect("{");
    } else if (scanner.accept("@")) {
      dim.cutting = Cutting::dealt;
      scanner.expect("{");
    } else if (!scanner.accept("{")) {
      return dim;
    }
  }
  const std::size_t brace = scanner.column();
  if (!scanner.accept("}")) {
    do {
      dim.parts.push_back(read_part(scanner));
    } while (scanner.accept(","));
    if (!scanner.accept("}")) {
      scanner.fail_expected("',' or '}' after an axis", {unclosed("{", brace)});
    }
  }
  dim.global = scanner.size("the global size of a dimension", [&] { return completion(dim); });
  if (scanner.sees('+')) read_sections(scanner, dim.global, dim.sections);
  const std::size_t halo = scanner.next();
  if (scanner.accept("<")) {
    dim.has_halo = true;
    dim.halo = read_halo(scanner);
    dim.halo_place = scanner.since(halo);
    if (dim.is_dealt()) fail_with(dim.halo_place, halo_of_dealt());
  }
  dim.place = scanner.since(begin);
  return dim;
}

/// Reads `[3{x}12, 2{y}12]`; parameters as of read_dim.
template <typename Part, typename ReadPart, typename Completion>
[[nodiscard]] WrittenDims<Part> read_dims(Scanner& scanner, const ReadPart& read_part,
                                          const Completion& completion) {
  WrittenDims<Part> out;
  const std::size_t begin = scanner.next();
  if (!scanner.accept("[")) {
    scanner.fail_expected("'['", {"a type is written [3{x}12, 2{y}12]"});
  }
  const std::size_t bracket = scanner.column();
  if (!scanner.sees(']')) {
    do {
      out.dims.push_back(read_dim<Part>(scanner, read_part, completion));
    } while (scanner.accept(","));
  }
  const std::size_t closing = scanner.next();
  if (!scanner.accept("]")) {
    scanner.fail_expected("',' or ']' after a dimension",
                          scanner.done() ? std::vector{unclosed("[", bracket)} : dim_form());
  }
  out.place = scanner.since(begin);
  out.closing = scanner.since(closing);
  return out;
}

}  // namespace retile::paper
