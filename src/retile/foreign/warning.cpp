#include "retile/foreign/warning.h"

#include <algorithm>
#include <set>
#include <utility>

#include "retile/core/division.h"
#include "retile/notation/sharding.h"

namespace retile::foreign {
namespace {

/// A text with what has been read of it.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  /// What stands before `words`, which are read, too; nothing where they do not come.
  std::optional<std::string_view> until(std::string_view words) {
    const std::size_t end = text_.find(words, at_);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view out = text_.substr(at_, end - at_);
    at_ = end + words.size();
    return out;
  }
  bool accept(std::string_view words) {
    if (text_.substr(at_, words.size()) != words) return false;
    at_ += words.size();
    return true;
  }
  /// From an opening brace, or bracket, to the one that closes it; empty where there is none.
  std::string_view braced(char opening = '{', char closing = '}') {
    const std::size_t begin = at_;
    if (text_.substr(at_, 1) != std::string_view(&opening, 1)) return {};
    std::size_t depth = 0;
    bool quoted = false;
    for (std::size_t k = at_; k < text_.size(); ++k) {
      const char c = text_[k];
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      if (c == opening) ++depth;
      if (c == closing) --depth;
      if (depth > 0) continue;
      at_ = k + 1;
      return text_.substr(begin, at_ - begin);
    }
    return {};
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

/// What the warning says of an operation: its name, and the type of a tile if it is an array.
Result<void> read_operation(Reader& reader, std::string_view source, Warning& out) {
  static_cast<void>(reader.accept(":"));
  static_cast<void>(reader.accept(" "));
  const auto name = reader.until(" = ");
  const auto element = reader.until("[");
  const auto tile = reader.until("]");
  if (!name || !element || !tile || element->find_first_of("( {") != std::string_view::npos) {
    return {};
  }
  auto shape = parse_shape(*tile, source);
  if (!shape) return refuse(std::move(shape.error()));
  out.operation = *name;
  out.element = *element;
  out.tile = *std::move(shape);
  return {};
}

Diagnostic unknown_wording(std::string_view text, std::string_view source) {
  return {.code = Code::syntax,
          .message = "neither wording of the warning that XLA prints",
          .source = std::string(source),
          .input = std::string(text),
          .where = {0, text.size()},
          .notes = {"it goes `.. go from sharding {..} to {..} ..`, all on one line"}};
}

/// A warning, of one line.
Result<Warning> read_warning(std::string_view text, std::string_view source) {
  Reader reader(text);
  Warning out;
  if (!reader.until("go from sharding ")) return refuse(unknown_wording(text, source));
  out.from = reader.braced();
  if (!reader.accept(" to ")) return refuse(unknown_wording(text, source));
  out.to = reader.braced();
  const bool is_old = reader.accept(" without doing a full rematerialization of the tensor");
  const bool is_known = is_old || reader.accept(" efficiently");
  if (!is_known) return refuse(unknown_wording(text, source));
  if (!reader.accept(" for HLO operation")) return out;
  if (auto read = read_operation(reader, source, out); !read) return refuse(read.error());
  return out;
}

/// What torch warns of, from `While redistributing from (Shard(dim=0), ..) to (..), 2 sequential all_gather
/// operations will be performed` on, all on one line.
Result<Warning> read_torch_warning(std::string_view text, std::string_view source) {
  Reader reader(text);
  Warning out{.from = {}, .to = {}, .is_torch = true};
  static_cast<void>(reader.accept(torch_warning_words));
  out.from = reader.braced('(', ')');
  const bool goes_to = reader.accept(" to ");
  out.to = reader.braced('(', ')');
  const auto operation = reader.accept(", ") ? reader.until(" will be performed") : std::nullopt;
  if (out.from.empty() || !goes_to || out.to.empty() || !operation) {
    return refuse({.code = Code::syntax,
                   .message = "not the warning that torch prints",
                   .source = std::string(source),
                   .input = std::string(text),
                   .where = {0, text.size()},
                   .notes = {"it goes `While redistributing from (..) to (..), 2 sequential "
                             "all_gather operations will be performed`, all on one line"}});
  }
  out.operation = *operation;
  return out;
}

/// Into how many parts the devices at the start cut every dimension of a tile's array.
/// Precondition: warning.tile
Result<Shape> parts_of(const Warning& warning, const std::optional<PlacedMesh>& mesh) {
  auto sharding = parse_sharding(warning.from, {.mesh = mesh, .shape = warning.tile}, "FROM");
  if (!sharding && !mesh) {  // {maximal device=0} says no mesh, but the other end may
    if (const auto other = parse_sharding(warning.to, {.shape = warning.tile}, "TO")) {
      sharding = parse_sharding(warning.from, {.mesh = other->mesh, .shape = warning.tile}, "FROM");
    }
  }
  if (!sharding) return refuse(sharding.error());
  Shape out(warning.tile->size(), 1);
  for (std::size_t i = 0; i < sharding->dims.size(); ++i) {
    // All parts together are parts of one mesh, so their product is no more than its devices.
    for (const AxisPart& part : sharding->dims[i].parts) {
      out[i] *= digit_of(sharding->mesh.mesh, part)->size;
    }
  }
  return out;
}

}  // namespace

bool has_warning(std::string_view text) {
  return text.find(warning_words) != std::string_view::npos ||
         text.find(torch_warning_words) != std::string_view::npos;
}

Result<std::vector<Warning>> read_warnings(std::string_view text, std::string_view source) {
  const auto find = [text](std::size_t begin) {
    return std::min(text.find(warning_words, begin), text.find(torch_warning_words, begin));
  };
  std::vector<Warning> out;
  std::set<std::string_view> seen;
  for (std::size_t at = find(0); at != std::string_view::npos;) {
    const std::size_t next = find(at + 1);
    std::string_view line = text.substr(at, next == std::string_view::npos ? next : next - at);
    line = line.substr(0, line.find_first_of("\r\n"));
    at = next;
    if (!seen.insert(line).second) continue;
    auto warning = line.starts_with(torch_warning_words) ? read_torch_warning(line, source)
                                                         : read_warning(line, source);
    if (!warning) return refuse(std::move(warning.error()));
    out.push_back(*std::move(warning));
  }
  return out;
}

Result<bool> is_array_of(const Warning& warning, const Shape& shape,
                         const std::optional<PlacedMesh>& mesh) {
  if (!warning.tile) return true;
  if (shape.size() != warning.tile->size()) return false;
  const auto parts = parts_of(warning, mesh);
  if (!parts) return refuse(parts.error());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (ceil_div(shape[i], (*parts)[i]) != (*warning.tile)[i]) return false;
  }
  return true;
}

Result<Shape> array_of(const Warning& warning, const std::optional<PlacedMesh>& mesh) {
  const auto parts = parts_of(warning, mesh);
  if (!parts) return refuse(parts.error());
  Shape out = *warning.tile;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const auto size = checked_mul(out[i], (*parts)[i]);
    if (!size) {
      return refuse(
          {.code = Code::size_overflow, .message = "the array has 2^63 elements or more"});
    }
    out[i] = *size;
  }
  return out;
}

}  // namespace retile::foreign
