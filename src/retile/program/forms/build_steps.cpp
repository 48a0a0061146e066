#include <fmt/format.h>

#include <utility>

#include "builder.h"
#include "retile/core/names.h"
#include "retile/text/words.h"
#include "tables.h"
#include "tilings.h"

namespace retile::forms {

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
  const auto& dim = step.get<Token<Size>>(key);
  return dimension(key, dim.value, dim.place);
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

namespace {

std::optional<PieceSize> piece_in(const StepDraft& step) {
  const auto* const piece = step.find<Token<PieceSize>>("piece");
  return piece == nullptr ? std::nullopt : std::optional(piece->value);
}

}  // namespace

void Builder::make(const StepDraft& step, Dynslice& op) const {
  const auto* const table = step.find<Token<TableDraft>>("groups");
  const auto* const parts = step.find<Token<Size>>("parts");
  const auto* const part = step.find<Token<TableDraft>>("part");
  const bool listed = parts != nullptr && part != nullptr;
  check_keys(step, step.has("dim") && (table != nullptr || listed),
             table != nullptr && (parts != nullptr || part != nullptr));
  op.dim = dimension(step, "dim");
  if (table != nullptr) {
    op.pieces = build_groups(*table, *called_);
  } else {
    op.pieces = build_part_list(*parts, *part, program_.devices);
  }
  op.piece = piece_in(step);
}

void Builder::make(const StepDraft& step, Allgather& op) const {
  check_keys(step, step.has("dim") && step.has("groups"));
  op.dim = dimension(step, "dim");
  op.groups = build_groups(step.get<Token<TableDraft>>("groups"), *called_);
}

void Builder::make(const StepDraft& step, Alltoall& op) const {
  check_keys(step, step.has("split") && step.has("concat") && step.has("groups"));
  op.split = dimension(step, "split");
  op.concat = dimension(step, "concat");
  op.groups = build_groups(step.get<Token<TableDraft>>("groups"), *called_);
  op.piece = piece_in(step);
}

void Builder::make(const StepDraft& step, Allpermute& op) const {
  const auto* const source = step.find<Token<TableDraft>>("source");
  const auto* const pairs = step.find<Token<RowsDraft>>("pairs");
  check_keys(step, source != nullptr || pairs != nullptr, source != nullptr && pairs != nullptr);
  if (source != nullptr) {
    op.source = build_sources(*source, *called_);
  } else {
    op.source = build_pairs(*pairs, *called_);
  }
}

namespace {

Addition addition_of(const StepDraft& step) {
  const auto* const add = step.find<Token<Addition>>("add");
  return add == nullptr ? Addition::sum : add->value;
}

}  // namespace

void Builder::make(const StepDraft& step, Reducescatter& op) const {
  check_keys(step, step.has("dim") && step.has("groups"));
  op.dim = dimension(step, "dim");
  op.groups = build_groups(step.get<Token<TableDraft>>("groups"), *called_);
  op.piece = piece_in(step);
  op.add = addition_of(step);
}

void Builder::make(const StepDraft& step, Allreduce& op) const {
  check_keys(step, step.has("groups"));
  op.groups = build_groups(step.get<Token<TableDraft>>("groups"), *called_);
  op.add = addition_of(step);
}

void Builder::make(const StepDraft& step, Unreduce& op) const {
  check_keys(step, step.has("groups"));
  op.groups = build_groups(step.get<Token<TableDraft>>("groups"), *called_);
  op.add = addition_of(step);
}

void Builder::make(const StepDraft& step, Embed& op) const {
  check_keys(step, step.has("dim") && step.has("groups"));
  op.dim = dimension(step, "dim");
  op.groups = build_groups(step.get<Token<TableDraft>>("groups"), *called_);
  op.add = addition_of(step);
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

std::vector<std::size_t> Builder::dimensions(const StepDraft& step, std::string_view key) const {
  const auto& dims = step.get<Token<std::vector<Size>>>(key);
  const Shape& counts = counts_of(step);
  if (dims.value.size() != counts.size()) {
    fail(dims.place,
         {.code = Code::bad_program,
          .message =
              fmt::format("{} has {}, counts has {}", key, counted(dims.value.size(), "dimension"),
                          counted(counts.size(), "number")),
          .notes = {"a member's place in its group has a digit for each count, and each digit "
                    "belongs to a dimension"}});
  }
  std::vector<std::size_t> out;
  for (std::size_t k = 0; k < dims.value.size(); ++k) {
    out.push_back(dimension(key, dims.value[k], number_place(dims.place, k)));
  }
  return out;
}

void Builder::make(const StepDraft& step, AllgatherDims& op) const {
  check_keys(step, step.has("dims") && step.has("counts") && step.has("groups"));
  op.dims = dimensions(step, "dims");
  op.counts = counts_of(step);
  op.groups = build_groups(step.get<Token<TableDraft>>("groups"), *called_);
}

void Builder::make(const StepDraft& step, AlltoallDims& op) const {
  check_keys(step,
             step.has("splits") && step.has("concats") && step.has("counts") && step.has("groups"));
  op.splits = dimensions(step, "splits");
  op.concats = dimensions(step, "concats");
  op.counts = counts_of(step);
  op.groups = build_groups(step.get<Token<TableDraft>>("groups"), *called_);
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

void Builder::make(const StepDraft& step, Exchange& op) const {
  const bool listed = version_ >= 2 && step.has("shapes");
  check_keys(step, step.has("transfers") && (step.has("tile") || listed));
  const std::size_t rank = program_.from.rank();
  if (!listed) {
    check_new_tile(step.get<Token<std::vector<Size>>>("tile"), rank);
  } else if (step.has("tile")) {
    fail(step.place,
         {.code = Code::bad_program, .message = "exchange has either tile or shapes, not both"});
  }
  const auto& transfers = step.get<Token<RowsDraft>>("transfers");
  const auto& lengths = transfers.value.lengths;
  if (step.has("add")) op.add = addition_of(step);
  op.transfers.reserve(lengths.size());
  std::size_t entry = 0;
  for (std::size_t row = 0; row < lengths.size(); ++row) {
    op.transfers.push_back(build_transfer(transfers, row, entry, rank, *called_));
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
  std::variant_alternative_t<Row, Op> out;
  make(step, out);
  return out;
}

void Builder::step(const StepDraft& step) {
  finish_header();
  Step out;
  out.op = op(step);
  out.claims = claims(step);
  if (out.claims.map && out.claims.map->addends()) {
    addition_ = out.claims.map->addends()->addition;
  }
  program_.steps.push_back(std::move(out));
}

}  // namespace retile::forms
