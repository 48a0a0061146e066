#include <fmt/format.h>

#include <utility>

#include "builder.h"
#include "retile/core/layout_facts.h"
#include "retile/core/names.h"
#include "retile/text/words.h"
#include "tables.h"
#include "tilings.h"

namespace retile::forms {

namespace {

/// Whether the keys of a step's members are there, and whether there are too many.
class KeysFound {
 public:
  KeysFound(const StepDraft& step, bool may_list_shapes)
      : step_(step), may_list_shapes_(may_list_shapes) {}

  template <typename Value>
  void see(std::string_view key, const Value& /*value*/) {
    need(step_.has(key));
  }
  void see(std::string_view /*key*/, const std::optional<PieceSize>& /*may lack*/) {}
  void see(std::string_view /*key*/, const Addition& /*may lack*/) {}
  void see(std::string_view /*key*/, const std::optional<Addition>& /*may lack*/) {}
  void see(std::string_view /*key*/, const KeptPieces& /*pieces*/) {
    const bool grouped = step_.has("groups");
    need(grouped || (step_.has("parts") && step_.has("part")));
    both_ = both_ || (grouped && (step_.has("parts") || step_.has("part")));
  }
  void see(std::string_view /*key*/, const Sources& /*sources*/) {
    need(step_.has("source") || step_.has("pairs"));
    both_ = both_ || (step_.has("source") && step_.has("pairs"));
  }
  void see(std::string_view key, const std::vector<Transfer>& /*transfers*/) {
    need(step_.has(key) && (step_.has("tile") || (may_list_shapes_ && step_.has("shapes"))));
  }

  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] bool both() const { return both_; }

 private:
  void need(bool found) { complete_ = complete_ && found; }

  const StepDraft& step_;
  bool may_list_shapes_;
  bool complete_ = true;
  bool both_ = false;
};

}  // namespace

void Builder::check_keys(const StepDraft& step, const Op& op) const {
  KeysFound found(step, version_ >= 2);
  each_field(op, [&found](std::string_view key, const auto& value) { found.see(key, value); });
  const OpInfo& row = info(op);
  if (found.both()) {
    fail(step.place,
         {.code = Code::bad_program, .message = fmt::format("{} has {}", row.name, row.not_both)});
  }
  if (found.complete()) return;
  fail(step.place, {.code = Code::bad_program,
                    .message = fmt::format("this {} misses a key", row.name),
                    .notes = {fmt::format("{} needs {}", row.name, row.needs)}});
}

std::size_t Builder::dimension(std::string_view key, Size dim, const Place& place) const {
  const std::size_t rank = program_.from.rank();
  if (static_cast<std::size_t>(dim) >= rank) {
    fail(place,
         {.code = Code::bad_dimension,
          .message = fmt::format("{}={}: the array has {}", key, dim, counted(rank, "dimension")),
          .notes = {rank == 0 ? std::string("an array of rank 0 has nothing to cut or concatenate")
                              : fmt::format("dimensions are numbered 0 to {}", rank - 1)}});
  }
  return static_cast<std::size_t>(dim);
}

void Builder::read(const StepDraft& step, std::string_view key, std::size_t& dim) const {
  const auto& written = step.get<Token<Size>>(key);
  dim = dimension(key, written.value, written.place);
}

void Builder::read(const StepDraft& step, std::string_view key, DeviceTable& groups) const {
  groups = build_groups(step.get<Token<TableDraft>>(key), *called_);
}

void Builder::read(const StepDraft& step, std::string_view /*key*/, KeptPieces& pieces) const {
  if (const auto* const groups = step.find<Token<TableDraft>>("groups")) {
    pieces = build_groups(*groups, *called_);
  } else {
    pieces = build_part_list(step.get<Token<Size>>("parts"), step.get<Token<TableDraft>>("part"),
                             program_.devices);
  }
}

void Builder::read(const StepDraft& step, std::string_view /*key*/, Sources& sources) const {
  if (const auto* const source = step.find<Token<TableDraft>>("source")) {
    sources = build_sources(*source, *called_);
  } else {
    sources = build_pairs(step.get<Token<RowsDraft>>("pairs"), *called_);
  }
}

void Builder::read(const StepDraft& step, std::string_view key,
                   std::optional<PieceSize>& piece) const {
  if (const auto* const written = step.find<Token<PieceSize>>(key)) piece = written->value;
}

void Builder::read(const StepDraft& step, std::string_view key, Addition& add) const {
  if (const auto* const written = step.find<Token<Addition>>(key)) add = written->value;
}

void Builder::read(const StepDraft& step, std::string_view key,
                   std::optional<Addition>& add) const {
  if (const auto* const written = step.find<Token<Addition>>(key)) add = written->value;
}

namespace {

const Shape& counts_of(const StepDraft& step) {
  const auto& counts = step.get<Token<std::vector<Size>>>("counts");
  if (counts.value.empty()) {
    fail(counts.place, {.code = Code::bad_program,
                        .message = "counts has one number at least",
                        .notes = {"a step along several dimensions has a count for each"}});
  }
  for (std::size_t k = 0; k < counts.value.size(); ++k) {
    if (counts.value[k] >= 1) continue;
    fail(number_place(counts.place, k),
         {.code = Code::bad_number, .message = "a count is at least 1"});
  }
  if (!checked_product(counts.value)) {
    fail(counts.place,
         {.code = Code::bad_number, .message = "the product of the counts is not below 2^63"});
  }
  return counts.value;
}

}  // namespace

void Builder::read(const StepDraft& step, std::string_view key,
                   std::vector<std::size_t>& dims) const {
  const auto& written = step.get<Token<std::vector<Size>>>(key);
  const Shape& counts = counts_of(step);
  if (written.value.size() != counts.size()) {
    fail(written.place,
         {.code = Code::bad_program,
          .message = fmt::format("{} has {}, counts has {}", key,
                                 counted(written.value.size(), "dimension"),
                                 counted(counts.size(), "number")),
          .notes = {"a member's place in its group has a digit for each count, and each digit "
                    "belongs to a dimension"}});
  }
  for (std::size_t k = 0; k < written.value.size(); ++k) {
    dims.push_back(dimension(key, written.value[k], number_place(written.place, k)));
  }
}

void Builder::read(const StepDraft& step, std::string_view /*key*/, Shape& counts) const {
  counts = counts_of(step);
}

namespace {

void fail_extent(const Place& extent) {
  fail(extent, {.code = Code::bad_number,
                .message = "the extents of tiles and boxes are at least 1",
                .notes = {"a box without elements is left out"}});
}

void check_new_tile(const Token<std::vector<Size>>& tile, std::size_t rank) {
  if (tile.value.size() != rank) {
    fail(tile.place,
         {.code = Code::bad_program,
          .message = fmt::format("the new tiles have {}, the array has {}",
                                 counted(tile.value.size(), "extent"), counted(rank, "dimension")),
          .notes = {"tile of an exchange says the shape of the new tiles"}});
  }
  for (std::size_t i = 0; i < rank; ++i) {
    if (tile.value[i] < 1) fail_extent(number_place(tile.place, i));
  }
}

/// The transfer in row `row`, whose numbers begin at `entry`.
Transfer build_transfer(const Token<RowsDraft>& rows, std::size_t row, std::size_t entry,
                        std::size_t rank, const Devices& devices) {
  const std::vector<Size>& entries = rows.value.entries;
  const std::size_t length = rows.value.lengths[row];
  if (length != 2 + 3 * rank) {
    fail(length == 0 ? rows.place : number_place(rows.place, entry),
         {.code = Code::bad_program,
          .message =
              fmt::format("transfer {} has {}, an array of {} needs {}", row,
                          counted(length, "number"), counted(rank, "dimension"), 2 + 3 * rank),
          .notes = {"a transfer is [target, source, start in the target's new tile, start in the "
                    "source's tile, shape]"}});
  }
  for (std::size_t k = entry + 2 + 2 * rank; k < entry + length; ++k) {
    if (entries[k] < 1) fail_extent(number_place(rows.place, k));
  }
  const auto begin = entries.begin() + static_cast<std::ptrdiff_t>(entry) + 2;
  const auto dims = static_cast<std::ptrdiff_t>(rank);
  return {.target = devices.called(entries[entry], rows.place, entry),
          .source = devices.called(entries[entry + 1], rows.place, entry + 1),
          .target_start = Shape(begin, begin + dims),
          .source_start = Shape(begin + dims, begin + 2 * dims),
          .shape = Shape(begin + 2 * dims, begin + 3 * dims)};
}

}  // namespace

void Builder::read(const StepDraft& step, std::string_view key,
                   std::vector<Transfer>& transfers) const {
  const std::size_t rank = program_.from.rank();
  if (version_ < 2 || !step.has("shapes")) {
    check_new_tile(step.get<Token<std::vector<Size>>>("tile"), rank);
  } else if (step.has("tile")) {
    fail(step.place,
         {.code = Code::bad_program, .message = "exchange has either tile or shapes, not both"});
  }
  const auto& rows = step.get<Token<RowsDraft>>(key);
  const auto& lengths = rows.value.lengths;
  transfers.reserve(lengths.size());
  std::size_t entry = 0;
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    transfers.push_back(build_transfer(rows, row, entry, rank, *called_));
    entry += lengths[row];
  }
}

namespace {

bool is_exchange_row(const StepDraft& step) {
  return op_table()[step.op].name == OpRow<Exchange>::name;
}

}  // namespace

Claims Builder::claims(const StepDraft& step) const {
  Claims out;
  // A tile claim of another length is false, not unreadable: `check` says so.
  if (const auto* tile = step.find<Token<std::vector<Size>>>("tile")) out.tile = tile->value;
  if (const auto* map = step.find<TilingDraft>("map")) {
    out.map = build_tiling(called(*map), ground_);
    check_global(*out.map, *map, "map");
    check_addition(*out.map, *map, "map");
  }
  if (const auto* at = step.find<Token<RowsDraft>>("at")) {
    check_offset_rows(*at, program_.from.rank(), program_.devices);
    out.at = at->value.entries;
  }
  if (const auto* shapes = step.find<Token<RowsDraft>>("shapes")) {
    const std::size_t rank = program_.from.rank();
    const auto* const at = step.find<Token<RowsDraft>>("at");
    if (at == nullptr && !is_exchange_row(step)) {
      fail(shapes->place, {.code = Code::bad_program, .message = "shapes stands beside at"});
    }
    if (rank == 0) {
      fail(shapes->place,
           {.code = Code::bad_program, .message = "an array of rank 0 has one element everywhere"});
    }
    check_offset_rows(*shapes, rank, program_.devices, "shapes");
    check_shape_rows(*shapes, at, rank);
    out.shapes = shapes->value.entries;
  }
  return out;
}

template <std::size_t Row>
Op Builder::op(const StepDraft& step) const {
  if constexpr (Row + 1 < std::variant_size_v<Op>) {
    if (step.op != Row) return op<Row + 1>(step);
  }
  Op out(std::in_place_index<Row>);
  check_keys(step, out);
  each_field(out, [&](std::string_view key, auto& value) { read(step, key, value); });
  return out;
}

void Builder::step(const StepDraft& step) {
  finish_header();
  Step out;
  out.op = op(step);
  out.claims = claims(step);
  if (out.claims.map && !addition_) addition_ = addition_of(*out.claims.map);
  program_.steps.push_back(std::move(out));
}

}  // namespace retile::forms
