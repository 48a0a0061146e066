#include "tables.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "retile/core/names.h"
#include "retile/text/words.h"

namespace retile::forms {
namespace {

/// Checks an iota from left to right. Numbers are counted as they stand, for the place of a wrong
/// one.
class IotaCheck {
 public:
  IotaCheck(const Token<TableDraft>& table, Size devices)
      : place_(table.place), devices_(devices) {}

  void shape(const Shape& shape) {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] < 1) {
        fail(number_place(place_, number_ + i),
             {.code = Code::bad_number, .message = "the extents of an iota are at least 1"});
      }
    }
    const auto product = checked_product(shape);
    if (!product) {
      fail(place_of(shape),
           {.code = Code::size_overflow, .message = "this shape has 2^63 entries or more"});
    }
    if (*product > devices_) {
      fail(place_of(shape), {.code = Code::bad_device,
                             .message = fmt::format(
                                 "device {} does not exist: this iota lists {}, the Program has {}",
                                 devices_, *product, devices_)});
    }
    if (size_ && *size_ != *product) {
      fail(place_of(shape),
           {.code = Code::bad_program,
            .message = fmt::format("the shapes of an iota have one size: this has {}, the one to "
                                   "its left has {}",
                                   *product, *size_),
            .notes = {"a stage only rearranges what the stage to its right gives"}});
    }
    size_ = product;
    number_ += shape.size();
  }

  [[nodiscard]] std::vector<std::size_t> transpose(const std::vector<Size>& transpose,
                                                   std::size_t rank) {
    if (transpose.size() != rank) {
      fail(number_place(place_, number_),
           {.code = Code::bad_program,
            .message = fmt::format("T lists {}, the shape before it has {}",
                                   counted(transpose.size(), "dimension"), rank),
            .notes = {"T names every dimension of its shape once"}});
    }
    std::vector<std::size_t> out;
    std::vector<bool> seen(rank, false);
    for (std::size_t k = 0; k < rank; ++k) {
      const auto old = static_cast<std::size_t>(transpose[k]);
      if (old >= rank || seen[old]) {
        fail(number_place(place_, number_ + k),
             {.code = Code::bad_program,
              .message = old >= rank ? fmt::format("T names dimension {} of {}", old, rank)
                                     : fmt::format("T names dimension {} twice", old),
              .notes = {"T names every dimension of its shape once, counted from 0"}});
      }
      seen[old] = true;
      out.push_back(old);
    }
    number_ += rank;
    return out;
  }

  [[nodiscard]] Size size() const { return *size_; }

 private:
  /// The first number of the shape; looked for only when needed: it takes time.
  [[nodiscard]] Place place_of(const Shape& shape) const {
    return shape.empty() ? place_ : number_place(place_, number_);
  }

  Place place_;
  Size devices_;
  std::size_t number_ = 0;
  std::optional<Size> size_;
};

DeviceTable build_iota(const Token<TableDraft>& table, Size devices) {
  const TableDraft& draft = table.value;
  IotaCheck check(table, devices);
  check.shape(draft.left);
  std::vector<IotaStage> stages;
  for (const StageDraft& stage : draft.stages) {
    check.shape(stage.shape);
    auto& built = stages.emplace_back();
    built.shape = stage.shape;
    if (stage.transpose) built.transpose = check.transpose(*stage.transpose, stage.shape.size());
  }
  IotaChain chain(check.size());
  // `<=[24]` is how 0..23 in order is written: no stage.
  const bool plain =
      stages.size() == 1 && stages[0].shape == Shape{check.size()} && stages[0].transpose.empty();
  if (!plain) {
    for (std::size_t s = stages.size(); s-- > 0;) chain.append(std::move(stages[s]));
  }
  return DeviceTable::iota(std::move(chain), draft.left.back());
}

}  // namespace

DeviceTable build_groups(const Token<TableDraft>& table, const Devices& devices) {
  if (table.value.is_iota()) return build_iota(table, devices.count());
  RowsDraft rows = table.value.rows;
  devices.take_numbers(rows.entries, table.place);
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

DeviceTable build_list(const Token<TableDraft>& table, Size devices) {
  if (table.value.is_iota()) return build_iota(table, devices);
  return DeviceTable::list(table.value.rows.entries);
}

DeviceTable build_sources(const Token<TableDraft>& table, const Devices& devices) {
  if (table.value.is_iota()) return build_iota(table, devices.count());
  std::vector<Size> sources = table.value.rows.entries;
  devices.take_numbers(sources, table.place);
  return DeviceTable::list(std::move(sources));
}

PartList build_part_list(const Token<Size>& parts, const Token<TableDraft>& part, Size devices) {
  if (parts.value < 1) {
    fail(parts.place, {.code = Code::bad_number, .message = "a tile has at least one part"});
  }
  PartList out{.parts = parts.value, .part = build_list(part, devices)};
  if (out.part.size() != devices) {
    fail(part.place,
         {.code = Code::bad_program,
          .message = fmt::format("part has {} entries for {} devices", out.part.size(), devices),
          .notes = {"part says for every device which piece it keeps"}});
  }
  if (part.value.is_iota()) {
    // An iota lists 0..D-1, whatever the order.
    if (devices > parts.value) {
      fail(part.place, {.code = Code::bad_program,
                        .message = fmt::format("this iota names part {}, there are only {}",
                                               devices - 1, parts.value)});
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

PairList build_pairs(const Token<RowsDraft>& rows, const Devices& devices) {
  const RowsDraft& draft = rows.value;
  PairList out;
  out.reserve(draft.lengths.size());
  std::size_t entry = 0;
  for (const std::size_t length : draft.lengths) {
    if (length != 2) {
      fail(length == 0 ? rows.place : number_place(rows.place, entry),
           {.code = Code::bad_program,
            .message = fmt::format("a pair is [source,target], row {} has {}", out.size(),
                                   counted(length, "number"))});
    }
    out.push_back({draft.entries[entry], draft.entries[entry + 1]});
    entry += 2;
  }
  for (std::size_t k = 0; k < entry; ++k) {
    Size& device = out[k / 2][k % 2];
    device = devices.called(device, rows.place, k);
  }
  return out;
}

}  // namespace retile::forms
