#include "tilings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/names.h"
#include "retile/notation/paper/wellformed.h"
#include "retile/text/words.h"
#include "tables.h"
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

/// A digit that cuts or counts, and the dimension that it cuts.
struct Cutter {
  const DigitDraft* draft = nullptr;
  std::optional<std::size_t> dim;  ///< nothing: it counts addends
};

/// The digits of size 2 and more by their strides.
std::vector<Cutter> by_stride(const TilingDraft& draft) {
  std::vector<Cutter> out;
  for (std::size_t i = 0; i < draft.dims.size(); ++i) {
    for (const DigitDraft& digit : draft.dims[i].parts) {
      if (digit.digit.size > 1) out.push_back({&digit, i});
    }
  }
  if (draft.addends) {
    for (const DigitDraft& digit : draft.addends->parts) {
      if (digit.digit.size > 1) out.push_back({&digit, std::nullopt});
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
    if (!below.dim || !above.dim) {
      fail_with(higher.place, addends_use_twice(higher.name, below.dim ? below.dim : above.dim));
    }
    Diagnostic twice = axis_used_twice(higher.name, *below.dim, *above.dim);
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

/// What only tiles that differ need.
void check_version(const TilingDraft& draft, int version) {
  const auto refuse_at = [](const Place& place) {
    fail(place, {.code = Code::bad_program,
                 .message = "a Program whose tiles differ begins with retile.program/2",
                 .notes = {"retile.program/1 has tiles of one shape only"}});
  };
  if (version >= 2) return;
  if (draft.addends) {
    fail(draft.addends->place, {.code = Code::bad_program,
                                .message = "a Program with addends begins with retile.program/2"});
  }
  if (draft.root) refuse_at(draft.root->place);
  if (draft.shapes) refuse_at(draft.shapes->place);
  for (const DimDraft& dim : draft.dims) {
    if (!dim.is_plain()) refuse_at(dim.place);
    for (const DigitDraft& part : dim.parts) {
      if (part.is_part) refuse_at(part.place);
    }
  }
}

/// The cuts of a dimension whose tiles may differ.
Cuts build_cuts(const DimDraft& dim) {
  CutText text{dim.cutting,      dim.tile.value, {},        splitters_of(dim.parts),
               dim.global.value, dim.sections,   dim.chunks};
  for (const Token<Size>& cut : dim.cuts) text.cuts.push_back(cut.value);
  auto cuts = cuts_of(text);
  if (!cuts) {
    const auto& [diagnostic, cut] = cuts.error();
    fail_with(cut ? dim.cuts[*cut].place : dim.place, diagnostic);
  }
  if (auto wrong = wrong_halo(dim.halo, dim.is_dealt(), dim.global.value)) {
    fail_with(dim.halo_place, *std::move(wrong));
  }
  return std::move(*cuts);
}

Layout build_cut_tiling(const TilingDraft& draft, Size positions) {
  std::vector<Cuts> cuts;
  std::vector<Halo> halos;
  std::vector<std::vector<Digit>> digits;
  Shape global;
  for (const DimDraft& dim : draft.dims) {
    cuts.push_back(build_cuts(dim));
    halos.push_back(dim.halo);
    global.push_back(dim.global.value);
    auto& list = digits.emplace_back();
    for (const DigitDraft& part : dim.parts) {
      if (part.digit.size > 1) list.push_back(part.digit);
    }
  }
  check_global_size(global, draft.place);
  check_digits(draft, positions);
  auto layout = Layout::numbered(positions, std::move(cuts), std::move(digits), std::move(halos));
  if (!layout) fail(draft.place, {.code = layout.error().code, .message = layout.error().message});
  if (!draft.addends) return std::move(*layout);
  std::vector<Digit> counting;
  for (const DigitDraft& part : draft.addends->parts) counting.push_back(part.digit);
  auto added = layout->with_addends(draft.addends->addition, std::move(counting));
  if (!added) fail(draft.place, {.code = added.error().code, .message = added.error().message});
  return std::move(*added);
}

void check_room(const Ground& ground, std::size_t rank, const Place& place) {
  if (auto listed = check_listed(ground.devices, rank); !listed) fail_with(place, listed.error());
}

/// The layout of the devices that stand at the positions of another.
Layout place_devices(const Layout& positions, const Ground& ground, const Place& place) {
  if (positions.rank() == 0 && ground.positions < ground.devices) {
    fail(place, {.code = Code::bad_program,
                 .message = "every device holds the one element of an array of rank 0"});
  }
  const bool in_order = !ground.order || (ground.order->chain() != nullptr &&
                                          ground.order->chain()->simplified().stages().empty());
  if (positions.addends() && (!in_order || ground.positions != ground.devices)) {
    fail(place, {.code = Code::unsupported,
                 .message = "a mesh with an order, or of fewer positions than devices, has no "
                            "addends yet"});
  }
  const bool is_list = ground.order && ground.order->chain() == nullptr;
  if (is_list || ground.positions != ground.devices) {
    check_room(ground, positions.rank(), place);
  }
  auto out = placed(positions, ground.order, ground.devices);
  if (!out) fail_with(place, out.error());
  return *std::move(out);
}

/// `[9, 4]@3`
Layout build_rooted_tiling(const TilingDraft& draft, const Ground& ground) {
  const Token<Size>& root = *draft.root;
  if (draft.addends) {
    fail(draft.addends->place,
         {.code = Code::ill_formed_type, .message = "what one device holds alone has no addends"});
  }
  if (root.value >= ground.devices) {
    fail(root.place, {.code = Code::bad_device,
                      .message = fmt::format("there is no device {}", root.value),
                      .notes = {fmt::format("devices are 0 to {}", ground.devices - 1)}});
  }
  const std::size_t rank = draft.dims.size();
  if (rank == 0) {
    fail(draft.place, {.code = Code::bad_program,
                       .message = "every device holds the one element of an array of rank 0"});
  }
  check_room(ground, rank, root.place);
  Shape global;
  for (const DimDraft& dim : draft.dims) {
    const bool is_whole = std::all_of(dim.parts.begin(), dim.parts.end(),
                                      [](const DigitDraft& part) { return part.digit.size == 1; });
    if (!is_whole || build_cuts(dim).count() != 1) {
      fail(dim.place, {.code = Code::ill_formed_type,
                       .message = "what one device holds alone is not cut",
                       .notes = {"[9, 4]@3 is all of an array on device 3"}});
    }
    global.push_back(dim.global.value);
  }
  check_global_size(global, draft.place);
  return Layout::rooted(ground.devices, std::move(global), root.value);
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

/// Fails where a tile ends outside the array.
/// \param extent  that of the tile of device d in dimension i
template <typename Extent>
void check_ends(const TilingDraft& draft, const Extent& extent) {
  const Shape& global = draft.global.value;
  const std::size_t rank = global.size();
  const std::vector<Size>& at = draft.at.value.entries;
  for (std::size_t e = 0; e < at.size(); ++e) {
    const std::size_t i = e % rank;
    if (extent(e) <= global[i] && at[e] <= global[i] - extent(e)) continue;
    fail(number_place(draft.at.place, e),
         {.code = Code::ill_formed_type,
          .message = fmt::format(
              "the tile of device {} ends outside the array in dimension {}: {} + {} > {}",
              e / rank, i, at[e], extent(e), global[i])});
  }
}

Layout build_boxes_tiling(const TilingDraft& draft, Size devices) {
  const std::size_t rank = draft.global.value.size();
  check_global_size(draft.global.value, draft.global.place);
  check_offset_rows(draft.at, rank, devices);
  check_offset_rows(*draft.shapes, rank, devices, "shapes");
  check_shape_rows(*draft.shapes, &draft.at, rank);
  const std::vector<Size>& shapes = draft.shapes->value.entries;
  check_ends(draft, [&shapes](std::size_t e) { return shapes[e]; });
  auto layout = Layout::listed_boxes(devices, draft.global.value, draft.at.value.entries, shapes);
  if (!layout) fail(draft.place, {.code = layout.error().code, .message = layout.error().message});
  if (layout->tile() != draft.tile.value) {
    fail(draft.tile.place,
         {.code = Code::ill_formed_type,
          .message = "beside shapes, tile is the largest extent in each dimension",
          .notes = {fmt::format("that is [{}]", fmt::join(layout->tile(), ","))}});
  }
  return std::move(*layout);
}

Layout build_listed_tiling(const TilingDraft& draft, Size devices) {
  check_extents(draft);
  if (draft.shapes) return build_boxes_tiling(draft, devices);
  const Shape& tile = draft.tile.value;
  const Shape& global = draft.global.value;
  const std::size_t rank = global.size();
  check_global_size(global, draft.global.place);
  check_offset_rows(draft.at, rank, devices);
  check_ends(draft, [&](std::size_t e) { return tile[e % rank]; });
  auto layout = Layout::listed(devices, global, tile, draft.at.value.entries);
  if (!layout) fail(draft.place, {.code = layout.error().code, .message = layout.error().message});
  return std::move(*layout);
}

}  // namespace

Layout build_tiling(const TilingDraft& draft, const Ground& ground) {
  check_version(draft, ground.version);
  if (draft.is_listed) return build_listed_tiling(draft, ground.devices);
  if (ground.version == 1) return build_bracket_tiling(draft, ground.devices);
  if (draft.root) return build_rooted_tiling(draft, ground);
  return place_devices(build_cut_tiling(draft, ground.positions), ground, draft.place);
}

DeviceTable build_order(const Token<TableDraft>& draft, Size positions, Size devices) {
  const auto fail_at = [](const Place& place, std::string message) {
    fail(place, {.code = Code::bad_program,
                 .message = std::move(message),
                 .notes = {"order lists the device at each position of the mesh, each once"}});
  };
  // How many it lists is not for build_list to say, which knows nothing of a mesh.
  DeviceTable out = build_list(draft, std::numeric_limits<Size>::max());
  if (out.size() != positions) {
    fail_at(draft.value.is_iota() ? number_place(draft.place, 0) : draft.place,
            fmt::format("order has {}, the mesh has {}", counted(out.size(), "entry", "entries"),
                        counted(positions, "position")));
  }
  // An iota lists each number below its size, once, and there are no more positions than devices.
  if (out.chain() != nullptr) return out;
  const std::vector<Size> entries = out.entries();
  std::unordered_set<Size> seen;
  for (std::size_t k = 0; k < entries.size(); ++k) {
    if (entries[k] >= devices) {
      fail_at(number_place(draft.place, k), fmt::format("there is no device {}", entries[k]));
    }
    if (!seen.insert(entries[k]).second) {
      fail_at(number_place(draft.place, k), fmt::format("device {} stands twice", entries[k]));
    }
  }
  return out;
}

void check_shape_rows(const Token<RowsDraft>& shapes, const Token<RowsDraft>* at,
                      std::size_t rank) {
  const std::vector<Size>& extents = shapes.value.entries;
  for (std::size_t row = 0; row < extents.size(); row += rank) {
    const auto first = extents.begin() + static_cast<std::ptrdiff_t>(row);
    const auto zeros = std::count(first, first + static_cast<std::ptrdiff_t>(rank), Size{0});
    if (zeros == 0) continue;
    if (zeros < static_cast<std::ptrdiff_t>(rank)) {
      fail(number_place(shapes.place, row),
           {.code = Code::bad_program, .message = "the shape of an empty tile is all zeros"});
    }
    for (std::size_t e = row; at != nullptr && e < row + rank; ++e) {
      if (at->value.entries[e] == 0) continue;
      fail(number_place(at->place, e),
           {.code = Code::bad_program, .message = "an empty tile lies at zeros"});
    }
  }
}

void check_offset_rows(const Token<RowsDraft>& rows, std::size_t rank, Size devices,
                       std::string_view key) {
  const auto& lengths = rows.value.lengths;
  if (static_cast<Size>(lengths.size()) != devices) {
    fail(rows.place, {.code = Code::bad_program,
                      .message = fmt::format("{} has {} for {} devices", key,
                                             counted(lengths.size(), "row"), devices),
                      .notes = {key == "at" ? "row d is the base offset of device d"
                                            : "row d is the shape of the tile of device d"}});
  }
  std::size_t entry = 0;
  for (std::size_t d = 0; d < lengths.size(); ++d) {
    if (lengths[d] != rank) {
      fail(lengths[d] == 0 ? rows.place : number_place(rows.place, entry),
           {.code = Code::bad_program,
            .message = fmt::format("row {} of {} has {}, the array has {}", d, key,
                                   counted(lengths[d], key == "at" ? "offset" : "extent"),
                                   counted(rank, "dimension"))});
    }
    entry += rank;
  }
}

}  // namespace retile::forms
