// HLO text as it stands there, before anything is known of what it means. Room-internal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/size.h"
#include "retile/foreign/module.h"
#include "retile/text/place.h"
#include "retile/text/scanner.h"

namespace retile::foreign::hlo {

using text::Place;
using text::Scanner;
using text::Token;

/// `f32[4,8]{1,0}`, or a tuple of such.
struct WrittenType {
  std::vector<TileType> parts;  ///< one, where it is no tuple
  bool is_tuple = false;
  std::vector<WrittenType> elements = {};  ///< of a tuple, whose parts are those of its elements
  /// Where a layout is written in which elements do not lie row by row, tiles of memory included.
  bool is_reordered = false;
  bool is_tiled = false;  ///< whether a layout has tiles of memory
  /// Of an array whose elements do not lie row by row: its dimensions, the major one first.
  std::vector<std::size_t> order = {};
  Place place;
};

/// `replica_groups={{0,1}}`: the name and where the value stands.
struct Attribute {
  std::string name;
  Place name_place;
  Place value;
};

/// `p`, or `p#1`: part 1 of the tuple `p`.
struct Operand {
  std::string value;  ///< the name, without `%`
  Place place;
  std::optional<Size> part = {};
  std::optional<WrittenType> type = {};  ///< where it stands before the name
};

struct Instruction {
  bool is_root = false;
  Token<std::string> name;  ///< with the `%` that it has
  WrittenType type;
  Token<std::string> opcode;
  std::vector<Operand> operands;  ///< of parameters and constants none
  Place inside;                   ///< all between the parentheses
  std::vector<Attribute> attributes;

  [[nodiscard]] const Attribute* find(std::string_view attribute) const;
};

struct Computation {
  Token<std::string> name;
  bool is_entry = false;
  std::vector<Instruction> instructions;
};

struct Module {
  Token<std::string> name;
  bool has_header = false;
  std::vector<Attribute> attributes;
  Place tables = {};  ///< of places in Python, behind the header
  std::vector<Computation> computations;

  [[nodiscard]] const Attribute* find(std::string_view attribute) const;
};

/// A name without the `%` before it.
[[nodiscard]] std::string_view bare(std::string_view name);

/// Reads modules up to the end. The first mistake is thrown.
[[nodiscard]] std::vector<Module> parse_modules(const text::Input& input);

/// The bytes of a place.
[[nodiscard]] std::string_view text_of(const Place& place);
/// Reads a value from its first token on; lines are blanks.
[[nodiscard]] Scanner scanner_of(const Place& place);

}  // namespace retile::foreign::hlo
