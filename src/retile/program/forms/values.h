// The values of a Program's text, read from a line or from a JSON string. Private to the forms.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "axis_table.h"
#include "drafts.h"
#include "retile/notation/paper/wellformed.h"
#include "retile/text/scanner.h"

namespace retile::forms {

using text::Scanner;

/// `[2,3]`
[[nodiscard]] Token<std::vector<Size>> read_ints(Scanner& scanner);
/// Reads `4..7`, of no more numbers than a list may have.
[[nodiscard]] Token<std::vector<Size>> read_numbers_in_a_range(Scanner& scanner);
/// Reads a list in which a range may stand for its numbers, `[4..7, 0..3]`, or one range, `4..7`, or an iota.
/// \param most  with ranges there are no more numbers
[[nodiscard]] Token<TableDraft> read_order_list(Scanner& scanner, Size most);
/// Reads `2` or `balanced`.
[[nodiscard]] Token<PieceSize> read_piece(Scanner& scanner);
/// Fails unless the extent is at least 1.
[[nodiscard]] Token<PieceSize> piece_of(const Token<Size>& extent);
/// `[[0,4],[1,5]]`
[[nodiscard]] Token<RowsDraft> read_rows(Scanner& scanner);
/// ints, or an iota with one number on the left.
[[nodiscard]] Token<TableDraft> read_list_or_iota(Scanner& scanner, std::string_view key);
/// rows, or an iota with two numbers on the left.
[[nodiscard]] Token<TableDraft> read_rows_or_iota(Scanner& scanner, std::string_view key);

/// `sum`, `max` or `min`: how a step adds.
[[nodiscard]] Token<Addition> read_addition(Scanner& scanner);

/// The digits of a dimension for messages about it.
[[nodiscard]] std::vector<Splitter> splitters_of(const std::vector<DigitDraft>& digits);

/// `order=[1,0]`, or an iota, which is all that may stand behind the axes of a mesh; nothing where
/// nothing does.
[[nodiscard]] std::optional<Token<TableDraft>> read_order(Scanner& scanner);

/// Dimensions in brackets, with `sum{x}` or the like before them; names are looked up in `axes`, null where no mesh is in force.
[[nodiscard]] TilingDraft read_bracket_tiling(Scanner& scanner, const AxisTable* axes);
/// Either form of a tiling. \param is_all  whether it must be all that is left
[[nodiscard]] TilingDraft read_tiling(Scanner& scanner, const AxisTable* axes, bool is_all);

}  // namespace retile::forms
