// What the readers of the text and the JSON form share: the tokens inside values, what is known
// about a Program before it is built, and the checks that both owe it. Private to this room.
//
// A reader turns its syntax into drafts, values with the place they stand at, and hands them to a
// Builder. Inside, the first mistake is thrown as a Failure; parse_programs and parse_program_json
// turn it into a Result.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "retile/core/mesh.h"
#include "retile/core/result.h"
#include "retile/program/program.h"

namespace retile::detail {

/// A text that diagnostics point into. Numbered ones say `source:line`; the others are one line of
/// a known place.
struct Input {
  std::string_view text;
  std::string source;
  bool numbered = true;
};

/// Bytes of an Input.
struct Place {
  const Input* input = nullptr;
  Span span;
};

/// The first mistake of a text, on its way to the reader's Result.
struct Failure {
  Diagnostic diagnostic;
};

struct Mistake {
  Code code{};
  std::string message;
  std::vector<std::string> notes = {};
  std::string rule = {};
};

[[noreturn]] void fail(const Place& place, Mistake mistake);

/// The place of number `index`, counted from 0, among the numbers of a value; the whole value if it
/// has fewer. Tables keep no place per entry: it is looked for when an entry is wrong.
[[nodiscard]] Place number_place(const Place& value, std::size_t index);

/// The word closest to `word` in spelling, if one is close enough to be meant.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 const std::vector<std::string>& words);

// ---- Drafts: values as written, with their places -----------------------------------------------

template <typename T>
struct Field {
  T value;
  Place place;
};

/// `[[0,4],[1,5]]`, flat.
struct RowsDraft {
  std::vector<Size> entries;
  std::vector<std::size_t> lengths;
};

struct StageDraft {
  Shape shape;
  std::optional<std::vector<Size>> transpose;
};

/// Rows, or an iota: then `stages` is not empty and `left` stands before its first `<=`. Stages as
/// written, left to right.
struct TableDraft {
  RowsDraft rows;
  Shape left;
  std::vector<StageDraft> stages;
  [[nodiscard]] bool is_iota() const { return !stages.empty(); }
};

/// `name`, `name:4` or `6:4`; the stride of a name is looked up when the tiling is read.
struct DigitDraft {
  Digit digit;
  std::string name;  ///< empty for stride:size
  bool named = false;
  Place place;
};

struct DimDraft {
  Size tile = 1;
  std::vector<DigitDraft> digits;
  Size global = 1;
  Place place;
};

/// Dimensions in brackets, or three lists.
struct TilingDraft {
  Place place;
  std::vector<DimDraft> dims;
  bool is_explicit = false;
  Field<Shape> tile;
  Field<Shape> global;
  Field<RowsDraft> at;
};

struct AxisDraft {
  std::string name;
  Size size = 1;
  Place name_place;
  Place size_place;
};

/// The value of a key of any kind.
using ValueDraft = std::variant<Field<Size>, Field<TableDraft>, Field<RowsDraft>,
                                Field<std::vector<Size>>, TilingDraft>;

/// A step with the keys that it has; which ones it needs is the Builder's question.
struct StepDraft {
  std::size_t op = 0;  ///< the row of op_table()
  Place place;
  std::vector<std::pair<std::string_view, ValueDraft>> keys;

  [[nodiscard]] bool has(std::string_view key) const;
  /// The value of a key of type T, or null when the step has none.
  template <typename T>
  [[nodiscard]] const T* find(std::string_view key) const {
    for (const auto& [name, value] : keys) {
      if (name == key) return &std::get<T>(value);
    }
    return nullptr;
  }
  /// The same. Precondition: the step has the key.
  template <typename T>
  [[nodiscard]] const T& get(std::string_view key) const {
    return *find<T>(key);
  }
};

/// The row of op_table() with that name. Unknown and reserved names fail at `place`.
[[nodiscard]] std::size_t op_row(std::string_view word, const Place& place);
/// The key of that name that a step of this row can have. Fails at `place` where it has none.
[[nodiscard]] const Key& op_key(std::size_t row, std::string_view name, const Place& place);

// ---- Meshes in force ----------------------------------------------------------------------------

/// A mesh with its axes by name: tilings of foreign Programs may name very many.
class AxisTable {
 public:
  /// Fails at an axis of size 0, a doubled name, more than 2^31 devices.
  explicit AxisTable(const std::vector<AxisDraft>& axes);

  [[nodiscard]] const Mesh& mesh() const { return mesh_; }
  /// The digit that a named digit is. Fails where the name is unknown or the repeated size is not
  /// the axis's.
  [[nodiscard]] Digit digit(const DigitDraft& draft, std::optional<Size> repeated_size) const;

 private:
  Mesh mesh_;
  std::unordered_map<std::string, Digit> digits_;
};

// ---- Tokens -------------------------------------------------------------------------------------

/// Reads tokens of one line (or one JSON string) from left to right. Blanks before a token are
/// skipped.
class Scanner {
 public:
  Scanner(const Input& input, Span range)
      : input_(&input), position_(range.begin), end_(range.end) {}

  [[nodiscard]] bool done();  ///< only blanks are left
  void expect_done();
  /// The next character that is no blank, or -1 at the end.
  [[nodiscard]] int peek();
  [[nodiscard]] bool accept(std::string_view token);
  void expect(std::string_view token);

  [[nodiscard]] bool at_word();                                  ///< whether a bare name comes next
  [[nodiscard]] Field<std::string> word(std::string_view what);  ///< a bare name
  [[nodiscard]] Field<Size> integer();
  [[nodiscard]] Field<std::vector<Size>> ints();
  [[nodiscard]] Field<RowsDraft> rows();
  /// ints, or an iota with one number on the left.
  [[nodiscard]] Field<TableDraft> list_or_iota(std::string_view key);
  /// rows, or an iota with two numbers on the left.
  [[nodiscard]] Field<TableDraft> rows_or_iota(std::string_view key);
  /// Dimensions in brackets; names are looked up in `axes`, null where no mesh is in force.
  [[nodiscard]] TilingDraft bracket_tiling(const AxisTable* axes);
  /// Either form of a tiling.
  [[nodiscard]] TilingDraft tiling(const AxisTable* axes);
  [[nodiscard]] std::vector<AxisDraft> axes();

  /// Bytes from `begin` to the end of the last token.
  [[nodiscard]] Place since(std::size_t begin) const {
    return {.input = input_, .span = {.begin = begin, .end = position_}};
  }
  /// Where the next token begins.
  [[nodiscard]] std::size_t next() {
    static_cast<void>(peek());
    return position_;
  }

 private:
  [[noreturn]] void fail_here(std::string_view expected, std::vector<std::string> notes = {});
  [[nodiscard]] Field<std::string> axis_name();
  [[nodiscard]] DigitDraft digit(const AxisTable* axes);
  [[nodiscard]] DimDraft dim(const AxisTable* axes);
  void row(std::vector<Size>& entries);
  void iota_stages(TableDraft& table);

  const Input* input_;
  std::size_t position_;
  std::size_t end_;
};

// ---- Building -----------------------------------------------------------------------------------

/// Assembles one Program from drafts in the order of the text: header lines, then steps. Every
/// method fails on the first thing that makes it no Program.
class Builder {
 public:
  /// `start`: where the Program begins, for what is missing.
  explicit Builder(const Place& start) : start_(start) {}

  void mesh(const std::vector<AxisDraft>& axes, const Place& place);
  void devices(const Field<Size>& count);
  void from(TilingDraft tiling);
  void to(TilingDraft tiling);
  void step(const StepDraft& step);
  [[nodiscard]] Program finish();

  /// The axes that the next tiling may name, or null.
  [[nodiscard]] const AxisTable* axes() const { return axes_ ? &*axes_ : nullptr; }
  /// Whether header lines may still come.
  [[nodiscard]] bool in_header() const { return !header_done_; }
  /// Ends the header: everything that needs the number of devices is checked now.
  void finish_header();

 private:
  void set_devices(Size count, const Place& place, std::string_view what);
  [[nodiscard]] Layout build_tiling(const TilingDraft& draft) const;
  [[nodiscard]] Layout build_bracket_tiling(const TilingDraft& draft) const;
  [[nodiscard]] Layout build_explicit_tiling(const TilingDraft& draft) const;
  void check_digits(const TilingDraft& draft) const;
  void check_global(const Layout& map, const Place& place, std::string_view what) const;
  /// Fails where a step has keys that exclude each other, or lacks one.
  void check_keys(const StepDraft& step, bool complete, bool both = false) const;
  [[nodiscard]] std::size_t dimension(const StepDraft& step, std::string_view key) const;
  [[nodiscard]] DeviceTable groups(const Field<TableDraft>& table) const;
  [[nodiscard]] DeviceTable list(const Field<TableDraft>& table) const;
  [[nodiscard]] DeviceTable iota(const Field<TableDraft>& table) const;
  void check_device(Size device, const Place& place, std::size_t number) const;
  void check_devices(const std::vector<Size>& entries, const Place& place) const;
  [[nodiscard]] PartList part_list(const Field<Size>& parts, const Field<TableDraft>& part) const;
  [[nodiscard]] PairList pairs(const Field<RowsDraft>& rows) const;
  void make(const StepDraft& step, Dynslice& op) const;
  void make(const StepDraft& step, Allgather& op) const;
  void make(const StepDraft& step, Alltoall& op) const;
  void make(const StepDraft& step, Allpermute& op) const;
  void make(const StepDraft& step, Exchange& op) const;
  template <std::size_t Row = 0>
  [[nodiscard]] Op op(const StepDraft& step) const;
  [[nodiscard]] Claims claims(const StepDraft& step) const;
  void check_offset_rows(const Field<RowsDraft>& rows, std::size_t rank) const;

  Place start_;
  Program program_;
  std::optional<AxisTable> axes_;
  int mesh_count_ = 0;
  bool has_devices_line_ = false;
  bool header_done_ = false;
  std::optional<Size> devices_;
  std::string devices_from_;  ///< what said the number of devices first
  std::optional<TilingDraft> from_;
  std::optional<TilingDraft> to_;
};

}  // namespace retile::detail
