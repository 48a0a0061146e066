#include "tilings.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "retile/core/names.h"
#include "retile/notation/paper/wellformed.h"
#include "retile/text/words.h"
#include "values.h"

namespace retile::forms {
namespace {

/// Fails unless the array has fewer than 2^63 elements.
void check_global_size(const Shape& global, const Place& place) {
  if (!checked_product(global)) {
    fail(place, {.code = Code::size_overflow,
                 .message = "the array has 2^63 elements or more",
                 .notes = {"the product of the global sizes must be below 2^63"}});
  }
}

/// A digit that cuts, and the dimension that it cuts.
struct Cutter {
  const DigitDraft* draft = nullptr;
  std::size_t dim = 0;
};

/// The digits of size 2 and more by their strides.
std::vector<Cutter> by_stride(const TilingDraft& draft) {
  std::vector<Cutter> out;
  for (std::size_t i = 0; i < draft.dims.size(); ++i) {
    for (const DigitDraft& digit : draft.dims[i].parts) {
      if (digit.digit.size > 1) out.push_back({&digit, i});
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Cutter& a, const Cutter& b) {
    return a.draft->digit.stride < b.draft->digit.stride;
  });
  return out;
}

std::string written(const DigitDraft& draft) {
  const std::string numbers = fmt::format("{}:{}", draft.digit.stride, draft.digit.size);
  return draft.named ? fmt::format("{} ({})", shortened(draft.name), numbers) : numbers;
}

[[noreturn]] void fail_overlap(const Cutter& below, const Cutter& above) {
  const DigitDraft& lower = *below.draft;
  const DigitDraft& higher = *above.draft;
  if (lower.named && higher.named && lower.name == higher.name) {
    Diagnostic twice = axis_used_twice(higher.name, below.dim, above.dim);
    twice.notes.emplace_back("an axis cuts one dimension, once");
    fail_with(higher.place, std::move(twice));
  }
  fail(higher.place,
       {.code = Code::ill_formed_type,
        .message =
            fmt::format("digits {} and {} overlap: stride times size of the lower must divide the "
                        "stride of the higher",
                        written(lower), written(higher)),
        .rule = "WF-TYPE"});
}

/// Fails unless the digits nest in the device number.
void check_digits(const TilingDraft& draft, Size devices) {
  const std::vector<Cutter> sorted = by_stride(draft);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const DigitDraft& digit = *sorted[i].draft;
    const auto period = checked_mul(digit.digit.stride, digit.digit.size);
    if (i + 1 == sorted.size()) {
      if (period && devices % *period == 0) continue;
      fail(digit.place, {.code = Code::ill_formed_type,
                         .message = fmt::format(
                             "digit {} does not fit {} devices: stride times size must divide them",
                             written(digit), devices),
                         .rule = "WF-TYPE"});
    }
    const DigitDraft& above = *sorted[i + 1].draft;
    if (period && above.digit.stride % *period == 0) continue;
    fail_overlap(sorted[i], sorted[i + 1]);
  }
}

Layout build_bracket_tiling(const TilingDraft& draft, Size devices) {
  Shape tile;
  Shape global;
  std::vector<std::vector<Digit>> digits;
  for (const DimDraft& dim : draft.dims) {
    std::optional<Size> extent = dim.tile.value;
    auto& list = digits.emplace_back();
    for (const DigitDraft& part : dim.parts) {
      if (extent) extent = checked_mul(*extent, part.digit.size);
      if (part.digit.size > 1) list.push_back(part.digit);
    }
    if (extent != dim.global.value) {
      fail_with(dim.place, wrong_tile(dim.tile.value, splitters_of(dim.parts), dim.global.value));
    }
    tile.push_back(dim.tile.value);
    global.push_back(dim.global.value);
  }
  check_global_size(global, draft.place);
  check_digits(draft, devices);
  auto layout = Layout::compact(devices, global, tile, std::move(digits));
  if (!layout) fail(draft.place, {.code = layout.error().code, .message = layout.error().message});
  return std::move(*layout);
}

/// Fails unless tile and global are extents of one rank, and the tile is no larger.
void check_extents(const TilingDraft& draft) {
  const Shape& tile = draft.tile.value;
  const Shape& global = draft.global.value;
  const std::size_t rank = global.size();
  if (tile.size() != rank) {
    fail(draft.tile.place, {.code = Code::ill_formed_type,
                            .message = fmt::format("tile has {}, but global has {}",
                                                   counted(tile.size(), "extent"), rank)});
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
}

Layout build_listed_tiling(const TilingDraft& draft, Size devices) {
  check_extents(draft);
  const Shape& tile = draft.tile.value;
  const Shape& global = draft.global.value;
  const std::size_t rank = global.size();
  check_global_size(global, draft.global.place);
  check_offset_rows(draft.at, rank, devices);
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
  auto layout = Layout::listed(devices, global, tile, at);
  if (!layout) fail(draft.place, {.code = layout.error().code, .message = layout.error().message});
  return std::move(*layout);
}

}  // namespace

Layout build_tiling(const TilingDraft& draft, Size devices) {
  return draft.is_listed ? build_listed_tiling(draft, devices)
                         : build_bracket_tiling(draft, devices);
}

void check_offset_rows(const Token<RowsDraft>& rows, std::size_t rank, Size devices) {
  const auto& lengths = rows.value.lengths;
  if (static_cast<Size>(lengths.size()) != devices) {
    fail(rows.place, {.code = Code::bad_program,
                      .message = fmt::format("at has {} for {} devices",
                                             counted(lengths.size(), "row"), devices),
                      .notes = {"row d is the base offset of device d"}});
  }
  std::size_t entry = 0;
  for (std::size_t d = 0; d < lengths.size(); ++d) {
    if (lengths[d] != rank) {
      fail(lengths[d] == 0 ? rows.place : number_place(rows.place, entry),
           {.code = Code::bad_program,
            .message = fmt::format("row {} of at has {}, the array has {}", d,
                                   counted(lengths[d], "offset"), counted(rank, "dimension"))});
    }
    entry += rank;
  }
}

}  // namespace retile::forms
