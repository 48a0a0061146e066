// The grammar of the paper's notation, apart from what it means: axes `x:4,y:6` and dimensions
// `[3{x}12, 2{y}12]`. Types and the tilings of Programs are both read by it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

/// Reads `x:4,y:6`, which must be all that is left; at least one axis.
[[nodiscard]] std::vector<WrittenAxis> read_axes(Scanner& scanner);

/// The mesh of these axes; fails at the axis, or at `all`, where they are none.
[[nodiscard]] Mesh mesh_of(const std::vector<WrittenAxis>& axes, const Place& all);

/// One dimension as written; a Part is what may stand in its braces.
template <typename Part>
struct WrittenDim {
  Token<Size> tile;
  std::vector<Part> parts;
  Token<Size> global;
  Place place;
};

/// Dimensions in brackets.
template <typename Part>
struct WrittenDims {
  std::vector<WrittenDim<Part>> dims;
  Place place;
  Place closing;  ///< the closing bracket
};

/// A part by name, `x` or `x:4`.
struct WrittenName {
  Token<std::string> name;
  std::optional<Token<Size>> size;  ///< repeats the size of the axis
};
[[nodiscard]] WrittenName read_name(Scanner& scanner);

/// How a dimension is written, for notes.
[[nodiscard]] std::vector<std::string> dim_form();

/// `the '[' at column 1 is not closed`
[[nodiscard]] std::string unclosed(std::string_view bracket, std::size_t column);

/// Reads `3{x}12`, or `12` for `12{}12`.
///
/// \param read_part   Part(Scanner&): what stands between commas in the braces
/// \param completion  notes(const WrittenDim<Part>&) for a dimension whose global size is missing
template <typename Part, typename ReadPart, typename Completion>
[[nodiscard]] WrittenDim<Part> read_dim(Scanner& scanner, const ReadPart& read_part,
                                        const Completion& completion) {
  const std::size_t begin = scanner.next();
  const Token<Size> tile = scanner.size("the size of a dimension", dim_form);
  WrittenDim<Part> dim{tile, {}, tile, tile.place};
  if (!scanner.accept("{")) return dim;
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
