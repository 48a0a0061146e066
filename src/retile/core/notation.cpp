#include "retile/core/notation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/names.h"
#include "retile/core/type_text.h"
#include "retile/core/wellformed.h"

namespace retile {
namespace {

constexpr std::string_view mesh_form = "a mesh is written x:4,y:6";
constexpr std::string_view dim_form =
    "a dimension is written tile{axes}global, such as 3{x}12, or 12 when no axis splits it";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

template <typename T>
struct Token {
  T value;
  Span where;
};

/// Reads tokens from one line of text, left to right.
class Reader {
 public:
  Reader(std::string_view text, std::string_view source) : text_(text), source_(source) {}

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] bool at_end() const { return position_ == text_.size(); }

  void skip_blanks() {
    while (!at_end() && (text_[position_] == ' ' || text_[position_] == '\t')) ++position_;
  }

  /// Blanks, then whether `c` follows; reads nothing but the blanks.
  [[nodiscard]] bool sees(char c) {
    skip_blanks();
    return !at_end() && text_[position_] == c;
  }

  /// Blanks, then `c` if it follows.
  bool accept(char c) {
    if (!sees(c)) return false;
    ++position_;
    return true;
  }

  /// Does a name without or with quotes follow?
  [[nodiscard]] bool sees_name() {
    return sees('"') || (!at_end() && begins_name(text_[position_]));
  }
  [[nodiscard]] bool sees_number() {
    skip_blanks();
    return !at_end() && is_digit(text_[position_]);
  }
  /// Does `stride:` follow, the beginning of a digit of the device number?
  [[nodiscard]] bool sees_stride() {
    if (!sees_number()) return false;
    const std::size_t end = text_.find_first_not_of("0123456789 \t", position_);
    return end != std::string_view::npos && text_[end] == ':';
  }

  /// A refusal that points into the text. An empty text is shown as `""`, so that there is
  /// something to point at.
  [[nodiscard]] Diagnostic diagnostic(Code code, std::string message, Span where,
                                      std::vector<std::string> notes = {}) const {
    Diagnostic out{.code = code, .message = std::move(message)};
    out.notes = std::move(notes);
    place(out, where);
    return out;
  }

  /// Puts a refusal that has no place yet into the text.
  void place(Diagnostic& diagnostic, Span where) const {
    diagnostic.source = source_;
    if (text_.empty()) {
      diagnostic.input = "\"\"";
      diagnostic.where = {0, 2};
    } else {
      diagnostic.input = text_;
      diagnostic.where = where;
    }
  }

  /// "expected `wanted`, found .." at the next token.
  [[nodiscard]] Diagnostic expected(std::string_view wanted, std::vector<std::string> notes = {}) {
    skip_blanks();
    const auto [what, where] = next_character();
    return diagnostic(Code::syntax, fmt::format("expected {}, found {}", wanted, what), where,
                      std::move(notes));
  }

  /// A number of at least 1. `what` names it in refusals: "the size of axis x".
  [[nodiscard]] Result<Token<Size>> number(std::string_view what,
                                           std::vector<std::string> notes = {}) {
    skip_blanks();
    const std::size_t begin = position_;
    if (!at_end() && text_[position_] == '-' && position_ + 1 < text_.size() &&
        is_digit(text_[position_ + 1])) {
      ++position_;
      skip_digits();
      return refuse(diagnostic(Code::bad_number, fmt::format("{} cannot be negative", what),
                               {begin, position_}, {"sizes are whole numbers from 1"}));
    }
    if (!sees_number()) return refuse(expected(what, std::move(notes)));
    skip_digits();
    const Span where{begin, position_};
    std::optional<Size> value = 0;
    for (const char c : text_.substr(begin, position_ - begin)) {
      value = checked_mul(*value, 10);
      if (value) value = checked_add(*value, c - '0');
      if (!value) {
        return refuse(diagnostic(Code::bad_number, fmt::format("{} does not fit in 63 bits", what),
                                 where, {"the largest number is 9223372036854775807"}));
      }
    }
    if (*value == 0) {
      return refuse(diagnostic(Code::bad_number, fmt::format("{} must be at least 1, not 0", what),
                               where, {"sizes are whole numbers from 1"}));
    }
    return Token<Size>{*value, where};
  }

  /// A name, with or without quotes.
  [[nodiscard]] Result<Token<std::string>> name(std::string_view what,
                                                std::vector<std::string> notes) {
    if (!sees_name()) return refuse(expected(what, std::move(notes)));
    const std::size_t begin = position_;
    if (accept('"')) {
      const std::size_t close = text_.find_first_of("\"\n", position_);
      if (close == std::string_view::npos || text_[close] != '"') {
        const std::size_t end = std::min(close, text_.size());
        return refuse(diagnostic(Code::syntax, "a quoted name has no closing quote", {begin, end},
                                 {"a name stands between two double quotes on one line"}));
      }
      const std::string_view name = text_.substr(position_, close - position_);
      position_ = close + 1;
      return Token<std::string>{std::string(name), {begin, position_}};
    }
    while (!at_end() && continues_name(text_[position_])) ++position_;
    return Token<std::string>{std::string(text_.substr(begin, position_ - begin)),
                              {begin, position_}};
  }

 private:
  void skip_digits() {
    while (!at_end() && is_digit(text_[position_])) ++position_;
  }

  /// The next character in words and its place; multi-byte characters are taken whole.
  [[nodiscard]] std::pair<std::string, Span> next_character() const {
    if (at_end()) return {"the end", {position_, position_}};
    std::size_t end = position_ + 1;
    const auto byte = static_cast<unsigned char>(text_[position_]);
    if (byte >= 0xC0) {
      while (end < text_.size() && end < position_ + 4 &&
             (static_cast<unsigned char>(text_[end]) & 0xC0) == 0x80) {
        ++end;
      }
    }
    if (byte < 0x20 || byte == 0x7F || (byte >= 0x80 && end == position_ + 1)) {
      return {fmt::format("the byte 0x{:02X}", byte), {position_, end}};
    }
    return {fmt::format("'{}'", text_.substr(position_, end - position_)), {position_, end}};
  }

  std::string_view text_;
  std::string_view source_;
  std::size_t position_ = 0;
};

/// An axis in a type, maybe with its size; and a dimension, as written.
struct WrittenAxis {
  Token<std::string> name;
  std::optional<Token<Size>> size;
};
struct WrittenDim {
  Token<Size> tile;
  std::vector<WrittenAxis> axes;
  Token<Size> global;
  Span where;
};

Result<WrittenAxis> read_axis(Reader& reader) {
  if (reader.sees_stride()) {
    // Programs split by any digit of the device number; a type only by axes.
    return refuse(
        reader.expected("the name of an axis",
                        {"digits stride:size belong to a Program, a type names axes of the mesh"}));
  }
  auto name = reader.name("the name of an axis", {std::string(dim_form)});
  if (!name) return refuse(std::move(name.error()));
  WrittenAxis axis{std::move(*name), std::nullopt};
  if (reader.accept(':')) {
    auto size = reader.number(fmt::format("the size of axis {}", name_text(axis.name.value)));
    if (!size) return refuse(std::move(size.error()));
    axis.size = *size;
  }
  return axis;
}

/// The note that completes a dimension whose global size is missing, when its axes are known.
std::vector<std::string> completion(const Mesh& mesh, const WrittenDim& written) {
  DistDim dim{written.tile.value, {}, 1};
  for (const WrittenAxis& axis : written.axes) dim.axes.push_back(axis.name.value);
  DistDim alone{1, dim.axes, 1};
  const auto violation = find_violation(mesh, {alone});
  // Only that 1{axes}1 does not add up may be wrong with it.
  if (violation && violation->diagnostic.code != Code::ill_formed_type) {
    return {std::string(dim_form)};
  }
  const auto global = covered(mesh, dim);
  if (!global) return {std::string(dim_form)};
  dim.global = *global;
  return {fmt::format("{} is well formed", dim_text(dim))};
}

Result<WrittenDim> read_dim(Reader& reader, const Mesh& mesh) {
  reader.skip_blanks();
  const std::size_t begin = reader.position();
  auto tile = reader.number("the size of a dimension", {std::string(dim_form)});
  if (!tile) return refuse(std::move(tile.error()));
  WrittenDim dim{*tile, {}, *tile, tile->where};
  if (!reader.accept('{')) return dim;
  const std::size_t brace = reader.position();  // columns count from 1
  if (!reader.accept('}')) {
    do {
      auto axis = read_axis(reader);
      if (!axis) return refuse(std::move(axis.error()));
      dim.axes.push_back(std::move(*axis));
    } while (reader.accept(','));
    if (!reader.accept('}')) {
      return refuse(reader.expected("',' or '}' after an axis",
                                    {fmt::format("the '{{' at column {} is not closed", brace)}));
    }
  }
  auto global = reader.number("the global size of a dimension", completion(mesh, dim));
  if (!global) return refuse(std::move(global.error()));
  dim.global = *global;
  dim.where = {begin, reader.position()};
  return dim;
}

/// The first axis that repeats its size wrongly. Unknown axes are not its business.
std::optional<Diagnostic> size_mismatch(const Reader& reader, const Mesh& mesh,
                                        const std::vector<WrittenDim>& dims) {
  for (const WrittenDim& dim : dims) {
    for (const WrittenAxis& axis : dim.axes) {
      const auto digit = mesh.digit(axis.name.value);
      if (!axis.size || !digit || axis.size->value == digit->size) continue;
      const std::string name = name_text(axis.name.value);
      Diagnostic out = reader.diagnostic(
          Code::axis_size_mismatch,
          fmt::format("axis {} has size {} in the mesh, not {}", name, digit->size,
                      axis.size->value),
          axis.size->where,
          {fmt::format("the size may be left out: {} stands for {}:{}", name, name, digit->size)});
      out.rule = "WF-DIM";
      return out;
    }
  }
  return std::nullopt;
}

/// Where a violation lies in the text.
Span place_of(const TypeViolation& violation, const std::vector<WrittenDim>& dims, Span whole) {
  if (!violation.dim) return whole;
  const WrittenDim& dim = dims[*violation.dim];
  return violation.axis ? dim.axes[*violation.axis].name.where : dim.where;
}

/// A digit list with everything joined that touches: 1:2,2:3 is 1:6.
std::vector<Digit> joined(const std::vector<Digit>& digits) {
  std::vector<Digit> out;
  for (const Digit& digit : digits) {
    if (!out.empty() && out.back().stride * out.back().size == digit.stride) {
      out.back().size *= digit.size;
    } else {
      out.push_back(digit);
    }
  }
  return out;
}

/// The digit cut at the strides of the mesh's axes, minor to major; where an axis boundary does not
/// divide it, it stays whole.
std::vector<Digit> cut(Digit digit, const Mesh& mesh) {
  std::vector<Digit> out;
  const std::vector<Axis>& axes = mesh.axes();
  Size boundary = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend();
       ++axis) {  // strides grow from the last axis to the first
    boundary *= axis->size;
    if (boundary <= digit.stride || boundary % digit.stride != 0) continue;
    const Size below = boundary / digit.stride;
    if (below >= digit.size || digit.size % below != 0) continue;
    out.push_back({digit.stride, below});
    digit = {boundary, digit.size / below};
  }
  out.push_back(digit);
  return out;
}

std::string digit_text(const Digit& digit, const Mesh* mesh) {
  if (mesh != nullptr) {
    for (const Axis& axis : mesh->axes()) {
      // Looked up once more because the digit of an axis is known by its name; of axes of size 1 no
      // digit remains.
      if (axis.size == digit.size && mesh->digit(axis.name) == digit) return name_text(axis.name);
    }
  }
  return fmt::format("{}:{}", digit.stride, digit.size);
}

/// `12`, or `3{inner}12`.
std::string dim_text(Size tile, const std::vector<std::string>& digits, Size global) {
  if (digits.empty()) return fmt::to_string(global);
  std::string inner;
  for (const std::string& digit : digits) {
    if (!inner.empty()) inner += ',';
    inner += digit;
  }
  return fmt::format("{}{{{}}}{}", tile, inner, global);
}

}  // namespace

Result<Mesh> parse_mesh(std::string_view text, std::string_view source) {
  Reader reader(text, source);
  reader.skip_blanks();
  if (reader.at_end()) {
    return refuse(reader.diagnostic(Code::empty_mesh, "a mesh needs at least one axis",
                                    {0, text.size()},
                                    {fmt::format("{}; a single device is x:1", mesh_form)}));
  }
  const std::size_t begin = reader.position();
  std::vector<Axis> axes;
  std::vector<Span> spans;
  do {
    auto name = reader.name("the name of an axis", {std::string(mesh_form)});
    if (!name) return refuse(std::move(name.error()));
    const std::string shown = name_text(name->value);
    if (!reader.accept(':')) {
      return refuse(reader.expected(fmt::format("':' and the size of axis {}", shown),
                                    {std::string(mesh_form)}));
    }
    auto size = reader.number(fmt::format("the size of axis {}", shown), {std::string(mesh_form)});
    if (!size) return refuse(std::move(size.error()));
    axes.push_back({std::move(name->value), size->value});
    spans.push_back(name->where);
  } while (reader.accept(','));
  const std::size_t end = reader.position();
  reader.skip_blanks();
  if (!reader.at_end()) {
    return refuse(reader.expected("',' or the end after an axis", {std::string(mesh_form)}));
  }
  if (auto violation = find_violation(axes)) {
    reader.place(violation->diagnostic,
                 violation->axis ? spans[*violation->axis] : Span{begin, end});
    return refuse(std::move(violation->diagnostic));
  }
  return Mesh::make(std::move(axes));
}

Result<WrittenType> parse_written_type(std::string_view text, const Mesh& mesh,
                                       std::string_view source) {
  Reader reader(text, source);
  reader.skip_blanks();
  const Span opening{reader.position(), reader.position() + 1};
  if (!reader.accept('[')) {
    return refuse(reader.expected("'['", {"a type is written [3{x}12, 2{y}12]"}));
  }
  std::vector<WrittenDim> written;
  if (!reader.sees(']')) {
    do {
      auto dim = read_dim(reader, mesh);
      if (!dim) return refuse(std::move(dim.error()));
      written.push_back(std::move(*dim));
    } while (reader.accept(','));
  }
  if (!reader.accept(']')) {
    std::vector<std::string> notes;
    if (reader.at_end()) {
      notes.push_back(fmt::format("the '[' at column {} is not closed", opening.end));
    } else {
      notes.emplace_back(dim_form);
    }
    return refuse(reader.expected("',' or ']' after a dimension", std::move(notes)));
  }
  const std::size_t end = reader.position();
  reader.skip_blanks();
  if (!reader.at_end()) {
    return refuse(reader.expected("the end after ']'", {"nothing may follow a type"}));
  }

  std::vector<DistDim> dims;
  TypeText places{std::string(text), {}, {end - 1, end}};
  for (const WrittenDim& dim : written) {
    DistDim out{dim.tile.value, {}, dim.global.value};
    for (const WrittenAxis& axis : dim.axes) out.axes.push_back(axis.name.value);
    dims.push_back(std::move(out));
    places.dims.push_back(dim.where);
  }
  auto mismatch = size_mismatch(reader, mesh, written);
  auto violation = find_violation(mesh, dims);
  if (violation) {
    reader.place(violation->diagnostic, place_of(*violation, written, {opening.begin, end}));
  }
  // A wrongly repeated size explains tiles that do not add up in its own dimension, and what comes
  // earlier goes first.
  if (mismatch &&
      (!violation || mismatch->where.begin < violation->diagnostic.where.end || !violation->dim)) {
    return refuse(std::move(*mismatch));
  }
  if (violation) return refuse(std::move(violation->diagnostic));
  auto type = DistType::make(mesh, std::move(dims));
  if (!type) return refuse(std::move(type.error()));
  return WrittenType{std::move(*type), std::move(places)};
}

Result<DistType> parse_type(std::string_view text, const Mesh& mesh, std::string_view source) {
  auto written = parse_written_type(text, mesh, source);
  if (!written) return refuse(std::move(written.error()));
  return std::move(written->type);
}

std::string to_text(const Mesh& mesh) {
  std::string out;
  for (const Axis& axis : mesh.axes()) {
    if (!out.empty()) out += ',';
    out += fmt::format("{}:{}", name_text(axis.name), axis.size);
  }
  return out;
}

std::string dim_text(const DistDim& dim) {
  std::vector<std::string> names;
  for (const std::string& axis : dim.axes) names.push_back(name_text(axis));
  return dim_text(dim.tile, names, dim.global);
}

TypeText type_text(const DistType& type) {
  TypeText out;
  out.text = "[";
  for (const DistDim& dim : type.dims()) {
    if (!out.dims.empty()) out.text += ", ";
    const std::size_t begin = out.text.size();
    out.text += dim_text(dim);
    out.dims.push_back({begin, out.text.size()});
  }
  out.text += "]";
  out.closing = {out.text.size() - 1, out.text.size()};
  return out;
}

std::string to_text(const DistType& type) { return type_text(type).text; }

std::string to_text(const Layout& map, const Mesh* mesh) {
  RETILE_ASSERT(map.is_compact(), "only compact tile maps can be written as a bracket tiling");
  std::string out = "[";
  for (std::size_t i = 0; i < map.rank(); ++i) {
    if (i > 0) out += ", ";
    std::vector<std::string> digits;
    for (const Digit& digit : joined(map.digits()[i])) {
      if (mesh == nullptr) {
        digits.push_back(digit_text(digit, nullptr));
        continue;
      }
      for (const Digit& piece : cut(digit, *mesh)) digits.push_back(digit_text(piece, mesh));
    }
    out += dim_text(map.tile()[i], digits, map.global()[i]);
  }
  return out + "]";
}

Layout layout_of(const Mesh& mesh, const DistType& type) {
  std::vector<std::vector<Digit>> digits;
  for (const DistDim& dim : type.dims()) {
    std::vector<Digit>& out = digits.emplace_back();
    for (const std::string& axis : dim.axes) {
      const auto digit = mesh.digit(axis);
      RETILE_ASSERT(digit.has_value(), "the type belongs to another mesh");
      out.push_back(*digit);
    }
  }
  auto map =
      Layout::compact(mesh.device_count(), type.globaltype(), type.localtype(), std::move(digits));
  RETILE_ASSERT(map.has_value(), "a well-formed type has a tile map");
  return std::move(*map);
}

}  // namespace retile
