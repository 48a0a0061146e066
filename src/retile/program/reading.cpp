#include "reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <numeric>

#include "retile/core/assert.h"

namespace retile::detail {

// ---- Places and failures ------------------------------------------------------------------------

void fail(const Place& place, Mistake mistake) {
  const std::string_view text = place.input->text;
  const std::size_t begin = std::min(place.span.begin, text.size());
  std::size_t line_begin = 0;
  if (begin > 0) {
    const std::size_t line_end = text.rfind('\n', begin - 1);
    if (line_end != std::string_view::npos) line_begin = line_end + 1;
  }
  std::size_t line_end = std::min(text.find('\n', begin), text.size());
  if (line_end > begin && text[line_end - 1] == '\r') --line_end;

  Diagnostic out;
  out.code = mistake.code;
  out.message = std::move(mistake.message);
  out.rule = std::move(mistake.rule);
  out.notes = std::move(mistake.notes);
  out.input = std::string(text.substr(line_begin, line_end - line_begin));
  out.where = {.begin = begin - line_begin,
               .end = std::clamp(place.span.end, begin, line_end) - line_begin};
  out.source = place.input->source;
  if (place.input->numbered) {
    const auto above = text.substr(0, line_begin);
    const auto line = std::count(above.begin(), above.end(), '\n') + 1;
    out.source += out.source.empty() ? fmt::format("line {}", line) : fmt::format(":{}", line);
  }
  throw Failure{std::move(out)};
}

namespace {

bool is_digit(int c) { return '0' <= c && c <= '9'; }
bool is_name_start(int c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_'; }
bool is_name_part(int c) { return is_name_start(c) || is_digit(c) || c == '.' || c == '-'; }
int byte(char c) { return static_cast<unsigned char>(c); }

/// For messages: the beginning of a text that may be megabytes long.
std::string shortened(std::string_view text) {
  constexpr std::size_t most = 40;
  if (text.size() <= most) return std::string(text);
  return std::string(text.substr(0, most)) + "..";
}

std::string count_of(std::size_t count, std::string_view singular) {
  return fmt::format("{} {}{}", count, singular, count == 1 ? "" : "s");
}

}  // namespace

Place number_place(const Place& value, std::size_t index) {
  const std::string_view text = value.input->text;
  std::size_t position = value.span.begin;
  while (position < value.span.end) {
    if (!is_digit(byte(text[position]))) {
      ++position;
      continue;
    }
    const std::size_t begin = position;
    while (position < value.span.end && is_digit(byte(text[position]))) ++position;
    if (index-- == 0) return {.input = value.input, .span = {.begin = begin, .end = position}};
  }
  return value;
}

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& words) {
  constexpr std::size_t longest = 24;  // longer words are not typing mistakes of ours
  constexpr std::size_t most_words = 200;
  if (word.size() > longest) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = 1 + std::max<std::size_t>((word.size() + 1) / 3, 1);
  for (std::size_t w = 0; w < std::min(words.size(), most_words); ++w) {
    const std::string& candidate = words[w];
    if (candidate.size() > longest) continue;
    std::array<std::size_t, longest + 1> row{};  // edit distance, one row at a time
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < word.size(); ++i) {
      std::size_t diagonal = row[0];
      row[0] = i + 1;
      for (std::size_t j = 0; j < candidate.size(); ++j) {
        const bool same = std::tolower(byte(word[i])) == std::tolower(byte(candidate[j]));
        const std::size_t replaced = diagonal + (same ? 0 : 1);
        diagonal = row[j + 1];
        row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
      }
    }
    if (row[candidate.size()] < best_distance) {
      best_distance = row[candidate.size()];
      best = candidate;
    }
  }
  return best;
}

// ---- Operations and keys ------------------------------------------------------------------------

bool StepDraft::has(std::string_view key) const {
  return std::any_of(keys.begin(), keys.end(), [key](const auto& own) { return own.first == key; });
}

namespace {

std::vector<std::string> op_names() {
  std::vector<std::string> out;
  for (const OpInfo& row : op_table()) out.emplace_back(row.name);
  return out;
}

/// `a, b and c`, or with another last word than `and`.
std::string listed(const std::vector<std::string>& words, std::string_view last) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? fmt::format(" {} ", last) : ", ";
    out += words[i];
  }
  return out;
}

}  // namespace

std::size_t op_row(std::string_view word, const Place& place) {
  static const std::vector<std::string> reserved = {"allreduce", "reducescatter", "reshape",
                                                    "transpose", "pad",           "concat"};
  const auto table = op_table();
  for (std::size_t row = 0; row < table.size(); ++row) {
    if (table[row].name == word) return row;
  }
  const std::vector<std::string> names = op_names();
  if (std::find(reserved.begin(), reserved.end(), word) != reserved.end()) {
    fail(place,
         {.code = Code::bad_program,
          .message = fmt::format("{} is a reserved word: no step of that name exists yet", word),
          .notes = {fmt::format("steps are {}", listed(names, "and"))}});
  }
  const std::vector<std::string> header = {"mesh", "devices", "from", "to"};
  const auto joined = [](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), more.begin(), more.end());
    return words;
  };
  const auto meant = nearest(word, joined(names, header));
  fail(place, {.code = Code::syntax,
               .message = fmt::format("{} is neither a header line nor a step", shortened(word)),
               .notes = {meant ? fmt::format("did you mean {}?", *meant)
                               : fmt::format("a line begins with {}",
                                             listed(joined(header, names), "or"))}});
}

const Key& op_key(std::size_t row, std::string_view name, const Place& place) {
  const OpInfo& op = op_table()[row];
  std::vector<std::string> names;
  for (const std::span<const Key> keys : {op.keys, std::span<const Key>(claim_keys)}) {
    for (const Key& key : keys) {
      if (key.name == name) return key;
      names.emplace_back(key.name);
    }
  }
  std::vector<std::string> notes;
  if (const auto meant = nearest(name, names)) {
    notes.push_back(fmt::format("did you mean {}?", *meant));
  }
  notes.push_back(fmt::format("the keys of {} are {}", op.name, fmt::join(names, ", ")));
  fail(place, {.code = Code::bad_program,
               .message = fmt::format("{} has no key {}", op.name, shortened(name)),
               .notes = std::move(notes)});
}

// ---- Meshes in force ----------------------------------------------------------------------------

AxisTable::AxisTable(const std::vector<AxisDraft>& axes) {
  std::vector<Axis> list;
  list.reserve(axes.size());
  Size stride = 1;  // the last axis is the fastest
  for (std::size_t a = axes.size(); a-- > 0;) {
    const AxisDraft& axis = axes[a];
    if (axis.size < 1) {
      fail(axis.size_place, {.code = Code::bad_number,
                             .message = "the size of an axis must be at least 1",
                             .notes = {"an axis of size 1 cuts nothing"}});
    }
    if (!digits_.emplace(axis.name, Digit{.stride = stride, .size = axis.size}).second) {
      fail(axis.name_place,
           {.code = Code::duplicate_axis,
            .message = fmt::format("axis {} stands twice in this mesh", shortened(axis.name)),
            .notes = {"the axes of a mesh have different names"}});
    }
    const auto product = checked_mul(stride, axis.size);
    if (!product || *product > max_devices) {
      fail(axis.size_place, {.code = Code::too_many_devices,
                             .message = "this mesh has more than 2^31 devices",
                             .notes = {"the number of devices is the product of the axis sizes"}});
    }
    stride = *product;
    list.push_back({.name = axis.name, .size = axis.size});
  }
  std::reverse(list.begin(), list.end());
  auto mesh = Mesh::make(std::move(list));
  if (!mesh) {
    fail(axes.front().name_place, {.code = mesh.error().code, .message = mesh.error().message});
  }
  mesh_ = std::move(*mesh);
}

Digit AxisTable::digit(const DigitDraft& draft, std::optional<Size> repeated_size) const {
  const auto found = digits_.find(draft.name);
  if (found == digits_.end()) {
    std::vector<std::string> names;
    for (const Axis& axis : mesh_.axes()) {
      if (names.size() == 200) break;
      names.push_back(axis.name);
    }
    std::vector<std::string> notes;
    if (const auto meant = nearest(draft.name, names)) {
      notes.push_back(fmt::format("did you mean {}?", *meant));
    }
    if (names.size() > 12) {
      names.resize(12);
      names.emplace_back("..");
    }
    for (std::string& name : names) name = shortened(name);
    notes.push_back(fmt::format("the axes of the mesh are {}", fmt::join(names, ", ")));
    fail(draft.place, {.code = Code::unknown_axis,
                       .message = fmt::format("the mesh has no axis {}", shortened(draft.name)),
                       .notes = std::move(notes),
                       .rule = "WF-DIM"});
  }
  const Digit digit = found->second;
  if (repeated_size && *repeated_size != digit.size) {
    fail(draft.place, {.code = Code::axis_size_mismatch,
                       .message = fmt::format("axis {} has size {}, not {}", shortened(draft.name),
                                              digit.size, *repeated_size),
                       .notes = {fmt::format("a part of an axis is written stride:size; the whole "
                                             "axis is the digit {}:{}",
                                             digit.stride, digit.size)}});
  }
  return digit;
}

// ---- Tokens -------------------------------------------------------------------------------------

int Scanner::peek() {
  const std::string_view text = input_->text;
  while (position_ < end_ && (text[position_] == ' ' || text[position_] == '\t')) ++position_;
  return position_ < end_ ? byte(text[position_]) : -1;
}

bool Scanner::done() { return peek() < 0; }

void Scanner::expect_done() {
  if (!done()) fail_here("the end of the line");
}

bool Scanner::accept(std::string_view token) {
  if (peek() < 0 ||
      input_->text.substr(position_, end_ - position_).substr(0, token.size()) != token) {
    return false;
  }
  position_ += token.size();
  return true;
}

void Scanner::expect(std::string_view token) {
  if (!accept(token)) fail_here(fmt::format("`{}`", token));
}

void Scanner::fail_here(std::string_view expected, std::vector<std::string> notes) {
  const int c = peek();
  Place place = {.input = input_, .span = {.begin = position_, .end = position_}};
  std::string found = "the line ends here";
  if (c >= 0) {
    if (is_name_part(c)) {  // point at the whole word or number
      while (place.span.end < end_ && is_name_part(byte(input_->text[place.span.end]))) {
        ++place.span.end;
      }
      const Span span = place.span;
      found = fmt::format("found `{}`",
                          shortened(input_->text.substr(span.begin, span.end - span.begin)));
    } else {
      ++place.span.end;
      found = c > ' ' && c < 127 ? fmt::format("found `{}`", input_->text[position_])
                                 : fmt::format("found the byte 0x{:02x}", c);
    }
  }
  fail(place, {.code = Code::syntax,
               .message = fmt::format("expected {}, {}", expected, found),
               .notes = std::move(notes)});
}

bool Scanner::at_word() { return is_name_start(peek()); }

Field<std::string> Scanner::word(std::string_view what) {
  if (!at_word()) fail_here(what);
  const std::size_t begin = position_;
  while (position_ < end_ && is_name_part(byte(input_->text[position_]))) ++position_;
  return {.value = std::string(input_->text.substr(begin, position_ - begin)),
          .place = since(begin)};
}

Field<Size> Scanner::integer() {
  const int c = peek();
  if (c == '-' || c == '+') {
    Place place = {.input = input_, .span = {.begin = position_, .end = position_ + 1}};
    while (place.span.end < end_ && is_digit(byte(input_->text[place.span.end]))) ++place.span.end;
    fail(place, {.code = Code::bad_number,
                 .message = "numbers have no sign",
                 .notes = {"sizes, offsets and device numbers are never negative"}});
  }
  if (!is_digit(c)) fail_here("a number");
  const std::size_t begin = position_;
  bool fits = true;
  Size value = 0;
  for (; position_ < end_ && is_digit(byte(input_->text[position_])); ++position_) {
    fits = fits && !__builtin_mul_overflow(value, Size{10}, &value) &&
           !__builtin_add_overflow(value, Size{input_->text[position_] - '0'}, &value);
  }
  if (!fits) {
    fail(since(begin), {.code = Code::bad_number,
                        .message = "this number does not fit: numbers are below 2^63",
                        .notes = {"the largest is 9223372036854775807"}});
  }
  return {.value = value, .place = since(begin)};
}

void Scanner::row(std::vector<Size>& entries) {
  expect("[");
  if (accept("]")) return;
  while (true) {
    entries.push_back(integer().value);
    if (accept("]")) return;
    if (!accept(",")) fail_here("`,` or `]`");
  }
}

Field<std::vector<Size>> Scanner::ints() {
  const std::size_t begin = next();
  std::vector<Size> entries;
  row(entries);
  return {.value = std::move(entries), .place = since(begin)};
}

Field<RowsDraft> Scanner::rows() {
  const std::size_t begin = next();
  RowsDraft out;
  expect("[");
  if (!accept("]")) {
    while (true) {
      const std::size_t before = out.entries.size();
      if (peek() != '[') fail_here("`[`: the rows are lists themselves");
      row(out.entries);
      out.lengths.push_back(out.entries.size() - before);
      if (accept("]")) break;
      if (!accept(",")) fail_here("`,` or `]`");
    }
  }
  return {.value = std::move(out), .place = since(begin)};
}

void Scanner::iota_stages(TableDraft& table) {
  while (accept("<=")) {
    StageDraft stage;
    stage.shape = ints().value;
    // No key is called T, so the word T after a shape is always a transpose.
    if (at_word()) {
      const std::size_t before = position_;
      if (word("T").value == "T") {
        expect("(");
        auto& transpose = stage.transpose.emplace();
        do {
          transpose.push_back(integer().value);
        } while (accept(","));
        if (!accept(")")) fail_here("`,` or `)`");
      } else {
        position_ = before;
      }
    }
    table.stages.push_back(std::move(stage));
  }
}

Field<TableDraft> Scanner::list_or_iota(std::string_view key) {
  const std::size_t begin = next();
  Field<TableDraft> out;
  auto list = ints();
  if (peek() == '<') {
    out.value.left = std::move(list.value);
    iota_stages(out.value);
    if (!out.value.is_iota()) fail_here("`<=`");
    if (out.value.left.size() != 1) {
      fail(list.place, {.code = Code::bad_program,
                        .message = fmt::format("an iota for {} has one number on its left, not {}",
                                               key, out.value.left.size()),
                        .notes = {fmt::format("{}=[n]<=.. lists one entry per device", key)}});
    }
  } else {
    out.value.rows.lengths = {list.value.size()};
    out.value.rows.entries = std::move(list.value);
  }
  out.place = since(begin);
  return out;
}

Field<TableDraft> Scanner::rows_or_iota(std::string_view key) {
  const std::size_t begin = next();
  Field<TableDraft> out;
  const Scanner start = *this;
  expect("[");
  if (is_digit(peek())) {
    *this = start;
    auto left = ints();
    if (peek() != '<') {
      fail(left.place,
           {.code = Code::bad_program,
            .message = fmt::format("{} is a list of rows or an iota, this is one row", key),
            .notes = {"a single group is written with two brackets: [[0,1,2]]"}});
    }
    out.value.left = std::move(left.value);
    iota_stages(out.value);
    if (!out.value.is_iota()) fail_here("`<=`");
    if (out.value.left.size() != 2) {
      fail(left.place, {.code = Code::bad_program,
                        .message = fmt::format("an iota for {} has two numbers on its left, not {}",
                                               key, out.value.left.size()),
                        .notes = {"[8,3]<=.. are 8 groups of 3"}});
    }
  } else {
    *this = start;
    out.value.rows = rows().value;
  }
  out.place = since(begin);
  return out;
}

Field<std::string> Scanner::axis_name() {
  if (peek() != '"') return word("an axis name");
  const std::size_t begin = position_;
  const std::size_t close = input_->text.substr(0, end_).find('"', begin + 1);
  if (close == std::string_view::npos) {
    position_ = end_;
    fail(since(begin), {.code = Code::syntax,
                        .message = "this quoted name has no end",
                        .notes = {"a name in quotes ends with a quote on the same line"}});
  }
  position_ = close + 1;
  return {.value = std::string(input_->text.substr(begin + 1, close - begin - 1)),
          .place = since(begin)};
}

std::vector<AxisDraft> Scanner::axes() {
  std::vector<AxisDraft> out;
  do {
    auto name = axis_name();
    expect(":");
    const auto size = integer();
    out.push_back({.name = std::move(name.value),
                   .size = size.value,
                   .name_place = name.place,
                   .size_place = size.place});
  } while (accept(","));
  return out;
}

DigitDraft Scanner::digit(const AxisTable* axes) {
  DigitDraft out;
  const std::size_t begin = next();
  if (is_digit(peek())) {
    const auto stride = integer();
    expect(":");
    const auto size = integer();
    for (const auto& number : {stride, size}) {
      if (number.value < 1) {
        fail(number.place, {.code = Code::bad_number,
                            .message = "stride and size of a digit are at least 1",
                            .notes = {"digit s:k of device d is (d div s) mod k"}});
      }
    }
    out.digit = {.stride = stride.value, .size = size.value};
    out.place = since(begin);
    return out;
  }
  if (peek() != '"' && !at_word()) fail_here("an axis or a digit stride:size");
  auto name = axis_name();
  out.named = true;
  out.name = std::move(name.value);
  out.place = name.place;
  std::optional<Size> repeated_size;
  if (accept(":")) {
    repeated_size = integer().value;
    out.place = since(begin);
  }
  if (axes == nullptr) {
    fail(out.place,
         {.code = Code::unknown_axis,
          .message = fmt::format("there is no mesh line above this tiling to name axis {}",
                                 shortened(out.name)),
          .notes = {"name the axes above it: mesh x:4,y:6; or write digits stride:size"},
          .rule = "WF-DIM"});
  }
  out.digit = axes->digit(out, repeated_size);
  return out;
}

DimDraft Scanner::dim(const AxisTable* axes) {
  DimDraft out;
  const std::size_t begin = next();
  const auto tile = integer();
  auto global = tile;
  if (accept("{")) {
    if (!accept("}")) {
      while (true) {
        out.digits.push_back(digit(axes));
        if (accept("}")) break;
        if (!accept(",")) fail_here("`,` or `}`");
      }
    }
    global = integer();
  }
  for (const auto& number : {tile, global}) {
    if (number.value < 1) {
      fail(number.place, {.code = Code::bad_number,
                          .message = "tile and global extents are at least 1",
                          .notes = {"arrays have no empty dimensions"}});
    }
  }
  out.tile = tile.value;
  out.global = global.value;
  out.place = since(begin);
  return out;
}

TilingDraft Scanner::bracket_tiling(const AxisTable* axes) {
  TilingDraft out;
  const std::size_t begin = next();
  expect("[");
  if (!accept("]")) {
    while (true) {
      out.dims.push_back(dim(axes));
      if (accept("]")) break;
      if (!accept(","))
        fail_here(out.dims.back().digits.empty() ? "`{`, `,` or `]`" : "`,` or `]`");
    }
  }
  out.place = since(begin);
  return out;
}

TilingDraft Scanner::tiling(const AxisTable* axes) {
  if (peek() == '[') return bracket_tiling(axes);
  if (!at_word()) {
    fail_here("a tiling", {"a tiling is [3{x}12, 2{y}12] or tile=[..] global=[..] at=[[..],..]"});
  }
  TilingDraft out;
  out.is_explicit = true;
  const std::size_t begin = next();
  const auto key = [this](std::string_view name) {
    const auto found = word(fmt::format("`{}=`", name));
    if (found.value != name) {
      fail(found.place,
           {.code = Code::syntax,
            .message = fmt::format("expected `{}=`, found `{}`", name, shortened(found.value)),
            .notes = {"a listed tiling is tile=[..] global=[..] at=[[..],..], in this order"}});
    }
    expect("=");
  };
  key("tile");
  out.tile = ints();
  key("global");
  out.global = ints();
  key("at");
  out.at = rows();
  out.place = since(begin);
  return out;
}

// ---- Building: the header -----------------------------------------------------------------------

namespace {

void fail_doubled_line(const Place& place, std::string_view word) {
  fail(place, {.code = Code::bad_program,
               .message = fmt::format("this Program has a {} line already", word),
               .notes = {"a new Program begins with retile.program/1"}});
}

}  // namespace

void Builder::set_devices(Size count, const Place& place, std::string_view what) {
  if (count < 1) {
    fail(place, {.code = Code::bad_number, .message = "a Program has at least one device"});
  }
  if (count > max_devices) {
    fail(place, {.code = Code::too_many_devices, .message = "a Program has at most 2^31 devices"});
  }
  if (devices_ && *devices_ != count) {
    fail(place, {.code = Code::bad_program,
                 .message = fmt::format("{} says {} devices, but {} said {}", what, count,
                                        devices_from_, *devices_),
                 .notes = {"mesh, devices and the number of rows of at must agree"}});
  }
  if (!devices_) devices_from_ = what;
  devices_ = count;
}

void Builder::mesh(const std::vector<AxisDraft>& axes, const Place& place) {
  if (++mesh_count_ > 2) {
    fail(place, {.code = Code::bad_program,
                 .message = "a Program has at most two mesh lines",
                 .notes = {"one for from, and one for to if it has a mesh of its own"}});
  }
  axes_.emplace(axes);
  set_devices(axes_->mesh().device_count(), place, "this mesh");
  devices_from_ = devices_from_ == "this mesh" ? "the mesh above" : devices_from_;
}

void Builder::devices(const Field<Size>& count) {
  if (std::exchange(has_devices_line_, true)) fail_doubled_line(count.place, "devices");
  set_devices(count.value, count.place, "devices");
}

void Builder::from(TilingDraft tiling) {
  if (from_) fail_doubled_line(tiling.place, "from");
  if (axes_) program_.mesh = axes_->mesh();
  from_ = std::move(tiling);
}

void Builder::to(TilingDraft tiling) {
  if (to_) fail_doubled_line(tiling.place, "to");
  to_ = std::move(tiling);
}

void Builder::finish_header() {
  if (std::exchange(header_done_, true)) return;
  for (const bool is_from : {true, false}) {
    const auto& tiling = is_from ? from_ : to_;
    const char* word = is_from ? "from" : "to";
    if (!tiling) {
      fail(start_, {.code = Code::bad_program,
                    .message = fmt::format("this Program has no {} line before its steps", word),
                    .notes = {"from says what the devices hold at the start, to what at the end"}});
    }
    if (tiling->is_explicit) {
      set_devices(static_cast<Size>(tiling->at.value.lengths.size()), tiling->at.place,
                  fmt::format("at of {}", word));
    }
  }
  if (!devices_) {
    fail(start_, {.code = Code::bad_program,
                  .message = "the number of devices is not given",
                  .notes = {"a line `mesh x:4,y:6` or `devices 24` says it"}});
  }
  program_.devices = *devices_;
  program_.from = build_tiling(*from_);
  program_.to = build_tiling(*to_);
  check_global(program_.to, to_->place, "to");
  // Whatever mesh is in force at the end names the axes of the claims.
  if (axes_ && axes_->mesh() != program_.mesh) program_.mesh_to = axes_->mesh();
  from_.reset();
  to_.reset();
}

void Builder::check_global(const Layout& map, const Place& place, std::string_view what) const {
  if (map.global() == program_.from.global()) return;
  const bool same_rank = map.rank() == program_.from.rank();
  fail(place, {.code = same_rank ? Code::globaltype_mismatch : Code::rank_mismatch,
               .message = fmt::format(
                   "{} has the global shape [{}], from has [{}]", what,
                   shortened(fmt::format("{}", fmt::join(map.global(), ","))),
                   shortened(fmt::format("{}", fmt::join(program_.from.global(), ",")))),
               .notes = {"all tilings of a Program cut the same array"},
               .rule = "Sec. 2.5"});
}

Layout Builder::build_tiling(const TilingDraft& draft) const {
  return draft.is_explicit ? build_explicit_tiling(draft) : build_bracket_tiling(draft);
}

namespace {

/// Fails unless the array has fewer than 2^63 elements.
void check_global_size(const Shape& global, const Place& place) {
  if (!checked_product(global)) {
    fail(place, {.code = Code::size_overflow,
                 .message = "the array has 2^63 elements or more",
                 .notes = {"the product of the global extents must be below 2^63"}});
  }
}

}  // namespace

Layout Builder::build_bracket_tiling(const TilingDraft& draft) const {
  Shape tile;
  Shape global;
  std::vector<std::vector<Digit>> digits;
  for (const DimDraft& dim : draft.dims) {
    std::optional<Size> parts = 1;
    auto& list = digits.emplace_back();
    for (const DigitDraft& digit : dim.digits) {
      if (parts) parts = checked_mul(*parts, digit.digit.size);
      if (digit.digit.size > 1) list.push_back(digit.digit);
    }
    const auto extent = parts ? checked_mul(dim.tile, *parts) : std::nullopt;
    if (!extent || *extent != dim.global) {
      std::vector<std::string> notes;
      if (parts && dim.global % *parts == 0) {
        notes.push_back(fmt::format("a tile of {} would do", dim.global / *parts));
      } else if (extent) {
        notes.push_back(fmt::format("a global extent of {} would do", *extent));
      }
      fail(dim.place,
           {.code = Code::ill_formed_type,
            .message = parts ? fmt::format(
                                   "tile times digits must equal the global extent: {} * {} = {}, "
                                   "not {}",
                                   dim.tile, *parts,
                                   extent ? fmt::format("{}", *extent) : "2^63 or more", dim.global)
                             : fmt::format("the digits of this dimension make 2^63 parts or more"),
            .notes = std::move(notes),
            .rule = "WF-DIM"});
    }
    tile.push_back(dim.tile);
    global.push_back(dim.global);
  }
  check_global_size(global, draft.place);
  check_digits(draft);
  auto map =
      Layout::compact(program_.devices, std::move(global), std::move(tile), std::move(digits));
  if (!map) fail(draft.place, {.code = map.error().code, .message = map.error().message});
  return std::move(*map);
}

void Builder::check_digits(const TilingDraft& draft) const {
  std::vector<const DigitDraft*> sorted;
  for (const DimDraft& dim : draft.dims) {
    for (const DigitDraft& digit : dim.digits) {
      if (digit.digit.size > 1) sorted.push_back(&digit);
    }
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const DigitDraft* a, const DigitDraft* b) {
    return a->digit.stride < b->digit.stride;
  });
  const auto written = [](const DigitDraft& digit) {
    const std::string numbers = fmt::format("{}:{}", digit.digit.stride, digit.digit.size);
    return digit.named ? fmt::format("{} ({})", shortened(digit.name), numbers) : numbers;
  };
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const DigitDraft& digit = *sorted[i];
    const auto period = checked_mul(digit.digit.stride, digit.digit.size);
    if (i + 1 == sorted.size()) {
      if (period && program_.devices % *period == 0) continue;
      fail(digit.place, {.code = Code::ill_formed_type,
                         .message = fmt::format(
                             "digit {} does not fit {} devices: stride times size must divide them",
                             written(digit), program_.devices),
                         .rule = "WF-TYPE"});
    }
    const DigitDraft& above = *sorted[i + 1];
    if (period && above.digit.stride % *period == 0) continue;
    if (digit.named && above.named && digit.name == above.name) {
      fail(above.place,
           {.code = Code::axis_used_twice,
            .message = fmt::format("axis {} stands twice in this tiling", shortened(above.name)),
            .notes = {"an axis cuts one dimension, once"},
            .rule = "WF-TYPE"});
    }
    fail(above.place,
         {.code = Code::ill_formed_type,
          .message = fmt::format(
              "digits {} and {} overlap: stride times size of the lower must divide the "
              "stride of the higher",
              written(digit), written(above)),
          .rule = "WF-TYPE"});
  }
}

Layout Builder::build_explicit_tiling(const TilingDraft& draft) const {
  const Shape& tile = draft.tile.value;
  const Shape& global = draft.global.value;
  const std::size_t rank = global.size();
  if (tile.size() != rank) {
    fail(draft.tile.place, {.code = Code::ill_formed_type,
                            .message = fmt::format("tile has {}, but global has {}",
                                                   count_of(tile.size(), "extent"), rank)});
  }
  for (std::size_t i = 0; i < rank; ++i) {
    for (const auto* list : {&draft.tile, &draft.global}) {
      if (list->value[i] < 1) {
        fail(number_place(list->place, i), {.code = Code::bad_number,
                                            .message = "tile and global extents are at least 1",
                                            .notes = {"arrays have no empty dimensions"}});
      }
    }
    if (tile[i] > global[i]) {
      fail(number_place(draft.tile.place, i),
           {.code = Code::ill_formed_type,
            .message = fmt::format("the tile is larger than the array in dimension {}: {} > {}", i,
                                   tile[i], global[i])});
    }
  }
  check_global_size(global, draft.global.place);
  check_offset_rows(draft.at, rank);
  const std::vector<Size>& at = draft.at.value.entries;
  for (std::size_t e = 0; e < at.size(); ++e) {
    const std::size_t i = e % rank;
    if (at[e] > global[i] - tile[i]) {
      fail(number_place(draft.at.place, e),
           {.code = Code::ill_formed_type,
            .message = fmt::format(
                "the tile of device {} ends outside the array in dimension {}: {} + {} > {}",
                e / rank, i, at[e], tile[i], global[i])});
    }
  }
  auto map = Layout::listed(program_.devices, global, tile, at);
  if (!map) fail(draft.place, {.code = map.error().code, .message = map.error().message});
  return std::move(*map);
}

// ---- Building: steps ----------------------------------------------------------------------------

void Builder::check_keys(const StepDraft& step, bool complete, bool both) const {
  const OpInfo& op = op_table()[step.op];
  if (both) {
    fail(step.place,
         {.code = Code::bad_program, .message = fmt::format("{} has {}", op.name, op.not_both)});
  }
  if (complete) return;
  fail(step.place, {.code = Code::bad_program,
                    .message = fmt::format("this {} misses a key", op.name),
                    .notes = {fmt::format("{} needs {}", op.name, op.needs)}});
}

std::size_t Builder::dimension(const StepDraft& step, std::string_view key) const {
  const auto& dim = step.get<Field<Size>>(key);
  const std::size_t rank = program_.from.rank();
  if (static_cast<std::uint64_t>(dim.value) >= rank) {
    fail(dim.place,
         {.code = Code::bad_dimension,
          .message =
              fmt::format("{}={}: the array has {}", key, dim.value, count_of(rank, "dimension")),
          .notes = {rank == 0 ? std::string("an array of rank 0 has nothing to cut or concatenate")
                              : fmt::format("dimensions are numbered 0 to {}", rank - 1)}});
  }
  return static_cast<std::size_t>(dim.value);
}

void Builder::check_device(Size device, const Place& place, std::size_t number) const {
  if (device < program_.devices) return;
  fail(number_place(place, number),
       {.code = Code::bad_device,
        .message = fmt::format("device {} does not exist", device),
        .notes = {fmt::format("the devices are 0 to {}", program_.devices - 1)}});
}

void Builder::check_devices(const std::vector<Size>& entries, const Place& place) const {
  for (std::size_t e = 0; e < entries.size(); ++e) check_device(entries[e], place, e);
}

DeviceTable Builder::iota(const Field<TableDraft>& table) const {
  const TableDraft& draft = table.value;
  // Numbers are counted as they stand, for the place of a wrong one.
  std::size_t number = 0;
  std::optional<Size> size;
  const auto check_shape = [&](const Shape& shape) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] < 1) {
        fail(number_place(table.place, number + i),
             {.code = Code::bad_number, .message = "the extents of an iota are at least 1"});
      }
    }
    const auto product = checked_product(shape);
    const auto place = [&] {  // looked for only when needed: it takes time
      return shape.empty() ? table.place : number_place(table.place, number);
    };
    if (!product) {
      fail(place(),
           {.code = Code::size_overflow, .message = "this shape has 2^63 entries or more"});
    }
    if (*product > program_.devices) {
      fail(place(), {.code = Code::bad_device,
                     .message = fmt::format(
                         "device {} does not exist: this iota lists {}, the Program has {}",
                         program_.devices, *product, program_.devices)});
    }
    if (size && *size != *product) {
      fail(place(), {.code = Code::bad_program,
                     .message = fmt::format(
                         "the shapes of an iota have one size: this has {}, the one to its "
                         "left has {}",
                         *product, *size),
                     .notes = {"a stage only rearranges what the stage to its right gives"}});
    }
    size = product;
    number += shape.size();
  };
  check_shape(draft.left);
  std::vector<IotaStage> stages;
  for (const StageDraft& stage : draft.stages) {
    check_shape(stage.shape);
    auto& built = stages.emplace_back();
    built.shape = stage.shape;
    if (!stage.transpose) continue;
    const std::vector<Size>& transpose = *stage.transpose;
    const std::size_t rank = stage.shape.size();
    if (transpose.size() != rank) {
      fail(number_place(table.place, number),
           {.code = Code::bad_program,
            .message = fmt::format("T lists {}, the shape before it has {}",
                                   count_of(transpose.size(), "dimension"), rank),
            .notes = {"T names every dimension of its shape once"}});
    }
    std::vector<bool> seen(rank, false);
    for (std::size_t k = 0; k < rank; ++k) {
      const auto old = static_cast<std::uint64_t>(transpose[k]);
      if (old >= rank || seen[old]) {
        fail(number_place(table.place, number + k),
             {.code = Code::bad_program,
              .message = old >= rank ? fmt::format("T names dimension {} of {}", old, rank)
                                     : fmt::format("T names dimension {} twice", old),
              .notes = {"T names every dimension of its shape once, counted from 0"}});
      }
      seen[old] = true;
      built.transpose.push_back(static_cast<std::size_t>(old));
    }
    number += rank;
  }
  IotaChain chain(*size);
  // `<=[24]` is how 0..23 in order is written: no stage.
  const bool plain =
      stages.size() == 1 && stages[0].shape == Shape{*size} && stages[0].transpose.empty();
  if (!plain) {
    for (std::size_t s = stages.size(); s-- > 0;) chain.append(std::move(stages[s]));
  }
  return DeviceTable::iota(std::move(chain), draft.left.back());
}

DeviceTable Builder::groups(const Field<TableDraft>& table) const {
  if (table.value.is_iota()) return iota(table);
  const RowsDraft& rows = table.value.rows;
  check_devices(rows.entries, table.place);
  std::vector<std::vector<Size>> out;
  out.reserve(rows.lengths.size());
  auto entry = rows.entries.begin();
  for (const std::size_t length : rows.lengths) {
    const auto end = entry + static_cast<std::ptrdiff_t>(length);
    out.emplace_back(entry, end);
    entry = end;
  }
  return DeviceTable::rows(std::move(out));
}

DeviceTable Builder::list(const Field<TableDraft>& table) const {
  if (table.value.is_iota()) return iota(table);
  return DeviceTable::list(table.value.rows.entries);
}

PartList Builder::part_list(const Field<Size>& parts, const Field<TableDraft>& part) const {
  if (parts.value < 1) {
    fail(parts.place, {.code = Code::bad_number, .message = "a tile has at least one part"});
  }
  PartList out{.parts = parts.value, .part = list(part)};
  if (out.part.size() != program_.devices) {
    fail(part.place, {.code = Code::bad_program,
                      .message = fmt::format("part has {} entries for {} devices", out.part.size(),
                                             program_.devices),
                      .notes = {"part says for every device which piece it keeps"}});
  }
  if (part.value.is_iota()) {
    // An iota lists 0..D-1, whatever the order.
    if (program_.devices > parts.value) {
      fail(part.place, {.code = Code::bad_program,
                        .message = fmt::format("this iota names part {}, there are only {}",
                                               program_.devices - 1, parts.value)});
    }
    return out;
  }
  const std::vector<Size>& entries = part.value.rows.entries;
  for (std::size_t e = 0; e < entries.size(); ++e) {
    if (entries[e] >= parts.value) {
      fail(number_place(part.place, e),
           {.code = Code::bad_program,
            .message = fmt::format("part {} does not exist", entries[e]),
            .notes = {fmt::format("the parts are 0 to {}", parts.value - 1)}});
    }
  }
  return out;
}

PairList Builder::pairs(const Field<RowsDraft>& rows) const {
  const RowsDraft& draft = rows.value;
  PairList out;
  out.reserve(draft.lengths.size());
  std::size_t entry = 0;
  for (const std::size_t length : draft.lengths) {
    if (length != 2) {
      fail(length == 0 ? rows.place : number_place(rows.place, entry),
           {.code = Code::bad_program,
            .message = fmt::format("a pair is [source,target], row {} has {}", out.size(),
                                   count_of(length, "number"))});
    }
    out.push_back({draft.entries[entry], draft.entries[entry + 1]});
    entry += 2;
  }
  check_devices(draft.entries, rows.place);
  return out;
}

void Builder::make(const StepDraft& step, Dynslice& op) const {
  const auto* const table = step.find<Field<TableDraft>>("groups");
  const auto* const parts = step.find<Field<Size>>("parts");
  const auto* const part = step.find<Field<TableDraft>>("part");
  const bool listed = parts != nullptr && part != nullptr;
  check_keys(step, step.has("dim") && (table != nullptr || listed),
             table != nullptr && (parts != nullptr || part != nullptr));
  op.dim = dimension(step, "dim");
  if (table != nullptr) {
    op.pieces = groups(*table);
  } else {
    op.pieces = part_list(*parts, *part);
  }
}

void Builder::make(const StepDraft& step, Allgather& op) const {
  check_keys(step, step.has("dim") && step.has("groups"));
  op.dim = dimension(step, "dim");
  op.groups = groups(step.get<Field<TableDraft>>("groups"));
}

void Builder::make(const StepDraft& step, Alltoall& op) const {
  check_keys(step, step.has("split") && step.has("concat") && step.has("groups"));
  op.split = dimension(step, "split");
  op.concat = dimension(step, "concat");
  op.groups = groups(step.get<Field<TableDraft>>("groups"));
}

void Builder::make(const StepDraft& step, Allpermute& op) const {
  const auto* const source = step.find<Field<TableDraft>>("source");
  const auto* const listed = step.find<Field<RowsDraft>>("pairs");
  check_keys(step, source != nullptr || listed != nullptr, source != nullptr && listed != nullptr);
  if (source == nullptr) {
    op.source = pairs(*listed);
    return;
  }
  op.source = list(*source);
  if (!source->value.is_iota()) check_devices(source->value.rows.entries, source->place);
}

void Builder::make(const StepDraft& step, Exchange& op) const {
  check_keys(step, step.has("transfers") && step.has("tile"));
  const std::size_t rank = program_.from.rank();
  const auto& tile = step.get<Field<std::vector<Size>>>("tile");
  if (tile.value.size() != rank) {
    fail(tile.place, {.code = Code::bad_program,
                      .message = fmt::format("the new tiles have {}, the array has {}",
                                             count_of(tile.value.size(), "extent"),
                                             count_of(rank, "dimension")),
                      .notes = {"tile of an exchange says the shape of the new tiles"}});
  }
  const auto fail_extent = [](const Place& extent) {
    fail(extent, {.code = Code::bad_number,
                  .message = "the extents of tiles and boxes are at least 1",
                  .notes = {"a box without elements is left out"}});
  };
  for (std::size_t i = 0; i < rank; ++i) {
    if (tile.value[i] < 1) fail_extent(number_place(tile.place, i));
  }

  const auto& transfers = step.get<Field<RowsDraft>>("transfers");
  const RowsDraft& draft = transfers.value;
  const Place& place = transfers.place;
  op.transfers.reserve(draft.lengths.size());
  std::size_t entry = 0;
  for (const std::size_t length : draft.lengths) {
    if (length != 2 + 3 * rank) {
      fail(length == 0 ? place : number_place(place, entry),
           {.code = Code::bad_program,
            .message =
                fmt::format("transfer {} has {}, an array of {} needs {}", op.transfers.size(),
                            count_of(length, "number"), count_of(rank, "dimension"), 2 + 3 * rank),
            .notes = {"a transfer is [target, source, start in the target's new tile, start in the "
                      "source's tile, shape]"}});
    }
    for (std::size_t k = 0; k < 2; ++k) check_device(draft.entries[entry + k], place, entry + k);
    for (std::size_t k = entry + 2 + 2 * rank; k < entry + length; ++k) {
      if (draft.entries[k] < 1) fail_extent(number_place(place, k));
    }
    const auto begin = draft.entries.begin() + static_cast<std::ptrdiff_t>(entry) + 2;
    const auto dims = static_cast<std::ptrdiff_t>(rank);
    op.transfers.push_back({.target = draft.entries[entry],
                            .source = draft.entries[entry + 1],
                            .target_start = Shape(begin, begin + dims),
                            .source_start = Shape(begin + dims, begin + 2 * dims),
                            .shape = Shape(begin + 2 * dims, begin + 3 * dims)});
    entry += length;
  }
}

void Builder::check_offset_rows(const Field<RowsDraft>& rows, std::size_t rank) const {
  const auto& lengths = rows.value.lengths;
  if (static_cast<Size>(lengths.size()) != program_.devices) {
    fail(rows.place, {.code = Code::bad_program,
                      .message = fmt::format("at has {} for {} devices",
                                             count_of(lengths.size(), "row"), program_.devices),
                      .notes = {"row d is the base offset of device d"}});
  }
  std::size_t entry = 0;
  for (std::size_t d = 0; d < lengths.size(); ++d) {
    if (lengths[d] != rank) {
      fail(lengths[d] == 0 ? rows.place : number_place(rows.place, entry),
           {.code = Code::bad_program,
            .message = fmt::format("row {} of at has {}, the array has {}", d,
                                   count_of(lengths[d], "offset"), count_of(rank, "dimension"))});
    }
    entry += rank;
  }
}

Claims Builder::claims(const StepDraft& step) const {
  Claims out;
  // A tile claim of another length is false, not unreadable: `check` says so.
  if (const auto* tile = step.find<Field<std::vector<Size>>>("tile")) out.tile = tile->value;
  if (const auto* map = step.find<TilingDraft>("map")) {
    out.map = build_tiling(*map);
    check_global(*out.map, map->place, "map");
  }
  if (const auto* at = step.find<Field<RowsDraft>>("at")) {
    check_offset_rows(*at, program_.from.rank());
    out.at = at->value.entries;
  }
  return out;
}

template <std::size_t Row>
Op Builder::op(const StepDraft& step) const {
  if constexpr (Row + 1 < std::variant_size_v<Op>) {
    if (step.op != Row) return op<Row + 1>(step);
  }
  std::variant_alternative_t<Row, Op> out;
  make(step, out);
  return out;
}

void Builder::step(const StepDraft& step) {
  finish_header();
  Step out;
  out.op = op(step);
  out.claims = claims(step);
  program_.steps.push_back(std::move(out));
}

Program Builder::finish() {
  finish_header();
  return std::move(program_);
}

}  // namespace retile::detail
