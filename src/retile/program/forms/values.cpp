#include "values.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "retile/core/layout.h"
#include "retile/core/names.h"

namespace retile::forms {
namespace {

/// The numbers of `4..7` behind the first one, as far as that has been read.
void read_range(Scanner& scanner, const Token<Size>& first, Size most, std::vector<Size>& entries) {
  const Token<Size> last = scanner.number();
  // `first` is among the entries already.
  if (last.value < first.value ||
      last.value - first.value > most - static_cast<Size>(entries.size())) {
    fail(last.place, {.code = Code::bad_number,
                      .message = last.value < first.value
                                     ? fmt::format("a range goes up, and {}..{} goes down",
                                                   first.value, last.value)
                                     : fmt::format("with {}..{} there are more than {} numbers",
                                                   first.value, last.value, most),
                      .notes = {"[4..7, 0] is [4, 5, 6, 7, 0]"}});
  }
  for (Size number = first.value; number < last.value; ++number) entries.push_back(number + 1);
}

/// \param most  of all entries where a range may stand for its numbers, and for all of them; nothing:
///     there are no ranges
void read_row(Scanner& scanner, std::vector<Size>& entries,
              std::optional<Size> most = std::nullopt) {
  if (most && scanner.sees_number()) {
    const Token<Size> first = scanner.number();
    entries.push_back(first.value);
    scanner.expect("..");
    read_range(scanner, first, *most, entries);
    return;
  }
  scanner.expect("[");
  if (scanner.accept("]")) return;
  while (true) {
    const Token<Size> number = scanner.number();
    entries.push_back(number.value);
    if (most && scanner.accept("..")) read_range(scanner, number, *most, entries);
    if (scanner.accept("]")) return;
    if (!scanner.accept(",")) scanner.fail_expected("',' or ']'");
  }
}

/// `T(2,1,0)`, if it comes next.
std::optional<std::vector<Size>> read_transpose(Scanner& scanner) {
  // No key begins with a T, so that one after a shape is always a transpose.
  if (!scanner.sees('T')) return std::nullopt;
  const Scanner before = scanner;
  if (scanner.word("T").value != "T") {
    scanner = before;
    return std::nullopt;
  }
  std::vector<Size> out;
  scanner.expect("(");
  do {
    out.push_back(scanner.number().value);
  } while (scanner.accept(","));
  if (!scanner.accept(")")) scanner.fail_expected("',' or ')'");
  return out;
}

/// `<=[2,3]T(1,0)<=[6]` behind `left`, of which there must be `wanted` numbers.
/// \param note  what they mean
void read_iota(Scanner& scanner, TableDraft& table, Token<std::vector<Size>> left,
               std::string_view key, std::size_t wanted, std::string note) {
  table.left = std::move(left.value);
  while (scanner.accept("<=")) {
    StageDraft stage;
    stage.shape = read_ints(scanner).value;
    stage.transpose = read_transpose(scanner);
    table.stages.push_back(std::move(stage));
  }
  if (!table.is_iota()) scanner.fail_expected("'<='");
  if (table.left.size() == wanted) return;
  fail(left.place,
       {.code = Code::bad_program,
        .message = fmt::format("an iota for {} has {} on its left, not {}", key,
                               wanted == 1 ? "one number" : "two numbers", table.left.size()),
        .notes = {std::move(note)}});
}

}  // namespace

Token<PieceSize> piece_of(const Token<Size>& extent) {
  if (extent.value < 1) {
    fail(extent.place, {.code = Code::bad_number, .message = "a piece has at least one element"});
  }
  return {.value = extent.value, .place = extent.place};
}

Token<PieceSize> read_piece(Scanner& scanner) {
  if (!scanner.sees_word()) return piece_of(scanner.number());
  const auto word = scanner.word("");
  if (word.value == balanced_word) return {.value = PieceSize::balanced(), .place = word.place};
  fail(word.place,
       {.code = Code::syntax,
        .message =
            fmt::format("a piece has an extent or is balanced, not {}", shortened(word.value)),
        .notes = {"piece=2 are pieces of 2 elements; of piece=balanced the first are one "
                  "element longer where they cannot be equal"}});
}

Token<std::vector<Size>> read_ints(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  std::vector<Size> entries;
  read_row(scanner, entries);
  return {.value = std::move(entries), .place = scanner.since(begin)};
}

Token<RowsDraft> read_rows(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  RowsDraft out;
  scanner.expect("[");
  if (!scanner.accept("]")) {
    while (true) {
      const std::size_t before = out.entries.size();
      if (!scanner.sees('[')) scanner.fail_expected("'[': the rows are lists themselves");
      read_row(scanner, out.entries);
      out.lengths.push_back(out.entries.size() - before);
      if (scanner.accept("]")) break;
      if (!scanner.accept(",")) scanner.fail_expected("',' or ']'");
    }
  }
  return {.value = std::move(out), .place = scanner.since(begin)};
}

Token<std::vector<Size>> read_numbers_in_a_range(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  std::vector<Size> entries;
  read_row(scanner, entries, max_listed_numbers);
  return {.value = std::move(entries), .place = scanner.since(begin)};
}

namespace {

Token<TableDraft> read_entries(Scanner& scanner, std::string_view key, std::optional<Size> most) {
  const std::size_t begin = scanner.next();
  Token<TableDraft> out;
  Token<std::vector<Size>> list;
  read_row(scanner, list.value, most);
  list.place = scanner.since(begin);
  if (scanner.sees('<')) {
    read_iota(scanner, out.value, std::move(list), key, 1,
              fmt::format("{}=[n]<=.. lists one entry per device", key));
  } else {
    out.value.rows.lengths = {list.value.size()};
    out.value.rows.entries = std::move(list.value);
  }
  out.place = scanner.since(begin);
  return out;
}

}  // namespace

Token<TableDraft> read_list_or_iota(Scanner& scanner, std::string_view key) {
  return read_entries(scanner, key, std::nullopt);
}

Token<TableDraft> read_order_list(Scanner& scanner, Size most) {
  return read_entries(scanner, "order", most);
}

Token<TableDraft> read_rows_or_iota(Scanner& scanner, std::string_view key) {
  const std::size_t begin = scanner.next();
  Token<TableDraft> out;
  const Scanner start = scanner;
  scanner.expect("[");
  const bool is_flat = scanner.sees_number();
  scanner = start;
  if (is_flat) {
    auto left = read_ints(scanner);
    if (!scanner.sees('<')) {
      fail(left.place,
           {.code = Code::bad_program,
            .message = fmt::format("{} is a list of rows or an iota, this is one row", key),
            .notes = {"a single group is written with two brackets: [[0,1,2]]"}});
    }
    read_iota(scanner, out.value, std::move(left), key, 2, "[8,3]<=.. are 8 groups of 3");
  } else {
    out.value.rows = read_rows(scanner).value;
  }
  out.place = scanner.since(begin);
  return out;
}

namespace {

/// `6:4`
DigitDraft read_stride_and_size(Scanner& scanner) {
  const std::size_t begin = scanner.next();
  const auto stride = scanner.number();
  scanner.expect(":");
  const auto size = scanner.number();
  for (const auto& number : {stride, size}) {
    if (number.value < 1) {
      fail(number.place, {.code = Code::bad_number,
                          .message = "stride and size of a digit are at least 1",
                          .notes = {"digit s:k of device d is (d div s) mod k"}});
    }
  }
  return {.digit = {.stride = stride.value, .size = size.value},
          .name = {},
          .named = false,
          .place = scanner.since(begin)};
}

DigitDraft read_digit(Scanner& scanner, const AxisTable* axes) {
  if (scanner.sees_number()) return read_stride_and_size(scanner);
  if (!scanner.sees_name()) {
    scanner.fail_expected("an axis or a digit stride:size", paper::dim_form());
  }
  const std::size_t begin = scanner.next();
  const paper::WrittenName axis = paper::read_name(scanner);
  const Place place = scanner.since(begin);
  if (axes == nullptr) {
    fail(place, {.code = Code::unknown_axis,
                 .message = fmt::format("there is no mesh line above this tiling to name axis {}",
                                        shown_name(axis.name.value)),
                 .notes = {"name the axes above it: mesh x:4,y:6; or write digits stride:size"},
                 .rule = "WF-DIM"});
  }
  return {.digit = axes->digit(axis),
          .name = axis.name.value,
          .named = true,
          .place = place,
          .is_part = axis.major.has_value()};
}

/// `sum{x}`
AddendsDraft read_addends(Scanner& scanner, const AxisTable* axes) {
  AddendsDraft out;
  const std::size_t begin = scanner.next();
  out.addition = paper::read_addition(scanner).value;
  scanner.expect("{");
  do {
    out.parts.push_back(read_digit(scanner, axes));
  } while (scanner.accept(","));
  if (!scanner.accept("}")) scanner.fail_expected("',' or '}' after an axis");
  out.place = scanner.since(begin);
  return out;
}

/// `tile=[..] global=[..] at=[[..],..]`. \param is_all  whether nothing stands behind it
TilingDraft read_listed_tiling(Scanner& scanner, bool is_all) {
  const auto key = [&scanner](std::string_view name) {
    const auto found = scanner.word(fmt::format("'{}='", name));
    if (found.value != name) {
      fail(found.place,
           {.code = Code::syntax,
            .message = fmt::format("expected '{}=', found '{}'", name, shortened(found.value)),
            .notes = {"a listed tiling is tile=[..] global=[..] at=[[..],..], in this order"}});
    }
    scanner.expect("=");
  };
  TilingDraft out;
  out.is_listed = true;
  const std::size_t begin = scanner.next();
  key("tile");
  out.tile = read_ints(scanner);
  key("global");
  out.global = read_ints(scanner);
  key("at");
  out.at = read_rows(scanner);
  if (scanner.sees_word() || (is_all && !scanner.done())) {
    key("shapes");
    out.shapes = read_rows(scanner);
  }
  out.place = scanner.since(begin);
  return out;
}

}  // namespace

std::vector<Splitter> splitters_of(const std::vector<DigitDraft>& digits) {
  std::vector<Splitter> out;
  for (const DigitDraft& draft : digits) {
    const Digit& digit = draft.digit;
    out.push_back({draft.named && !draft.is_part ? name_text(draft.name)
                                                 : fmt::format("{}:{}", digit.stride, digit.size),
                   digit.size, draft.named && !draft.is_part});
  }
  return out;
}

Token<Addition> read_addition(Scanner& scanner) {
  auto out = paper::read_addition(scanner);
  if (out.value == Addition::stack) {
    fail(out.place, {.code = Code::bad_program,
                     .message = "no step adds a stack",
                     .notes = {"add is sum, max or min"}});
  }
  return out;
}

TilingDraft read_bracket_tiling(Scanner& scanner, const AxisTable* axes) {
  const std::size_t begin = scanner.next();
  std::optional<AddendsDraft> addends;
  if (paper::sees_addition(scanner)) addends = read_addends(scanner, axes);
  if (!scanner.sees('[')) {
    scanner.fail_expected("'['", {"a tiling is written [3{x}12, 2{y}12]"});
  }
  auto read = paper::read_dims<DigitDraft>(
      scanner, [axes](Scanner& part) { return read_digit(part, axes); },
      [](const DimDraft& dim) {
        const auto note = completed(dim.tile.value, splitters_of(dim.parts));
        return note ? std::vector{*note} : paper::dim_form();
      });
  TilingDraft out;
  out.dims = std::move(read.dims);
  out.place = addends ? scanner.since(begin) : read.place;
  out.addends = std::move(addends);
  if (scanner.accept("@")) out.root = scanner.number();
  return out;
}

std::optional<Token<TableDraft>> read_order(Scanner& scanner) {
  if (scanner.done()) return std::nullopt;
  const auto word = scanner.word("',' or 'order='");
  if (word.value != "order") {
    fail(word.place,
         {.code = Code::syntax,
          .message = fmt::format("expected 'order=', found '{}'", shortened(word.value))});
  }
  scanner.expect("=");
  return read_list_or_iota(scanner, "order");
}

TilingDraft read_tiling(Scanner& scanner, const AxisTable* axes, bool is_all) {
  if (!scanner.sees('[') && !scanner.sees_word()) {
    scanner.fail_expected("a tiling",
                          {"a tiling is [3{x}12, 2{y}12] or tile=[..] global=[..] at=[[..],..]"});
  }
  const bool brackets = scanner.sees('[') || paper::sees_addition(scanner);
  TilingDraft out =
      brackets ? read_bracket_tiling(scanner, axes) : read_listed_tiling(scanner, is_all);
  if (is_all) scanner.expect_end(brackets ? "after ']'" : "");
  return out;
}

}  // namespace retile::forms
