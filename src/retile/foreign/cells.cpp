#include "retile/foreign/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "retile/core/assert.h"

namespace retile::foreign {
namespace {

/// The loops of a box.
Walk<2> walk_of(const Piece& piece) {
  Walk<2> out;
  for (std::size_t k = 0; k < piece.extents.size(); ++k) {
    out.add(piece.extents[k], {piece.from.strides[k], piece.to.strides[k]});
  }
  return out;
}

/// A cell as it is.
struct Kept {
  template <typename T>
  T operator()(T cell) const {
    return cell;
  }
};
/// A number that becomes a tag.
struct Tagged {
  Content content;
  Tag operator()(std::int64_t word) const { return tag_of(word, content); }
};

template <typename From, typename To, typename Change>
void copy_row(const From* from, To* to, const Row<2>& row, const Change& change) {
  from += row.at[0];
  to += row.at[1];
  const auto [from_step, to_step] = row.step;
  if constexpr (std::is_same_v<From, To>) {
    if (from_step == 1 && to_step == 1) {
      std::copy_n(from, row.length, to);
      return;
    }
  }
  for (Size k = 0; k < row.length; ++k) to[k * to_step] = change(from[k * from_step]);
}

template <typename From, typename To, typename Change>
void copy_box(const std::vector<From>& from, std::vector<To>& to, const Piece& piece,
              const Change& change) {
  const auto copy = [&](const Row<2>& row) {
    copy_row(from.data(), to.data(), row, change);
    return true;
  };
  static_cast<void>(walk_of(piece).each_row({piece.from.offset, piece.to.offset}, copy));
}

}  // namespace

void Budget::take(Size bytes) {
  if (bytes > most_ - used_) {
    throw LimitReached{
        fmt::format("the devices hold more than {} MiB of tags; a smaller array on the same mesh "
                    "takes fewer",
                    most_ / (Size{1} << 20))};
  }
  used_ += bytes;
}

Cells::Cells(Budget& budget, Content content, Size count, std::int64_t fill)
    : budget_(&budget), content_(content) {
  const Size each = are_tags() ? Size{sizeof(Tag)} : Size{sizeof(std::int64_t)};
  const auto bytes = checked_mul(count, each);
  if (!bytes) throw LimitReached{"a tile has too many elements"};
  budget.take(*bytes);
  bytes_ = *bytes;
  if (are_tags()) {
    of_.emplace<Tags>(static_cast<std::size_t>(count), static_cast<Tag>(fill));
  } else {
    of_.emplace<Numbers>(static_cast<std::size_t>(count), fill);
  }
}

Cells::~Cells() { budget_->give_back(bytes_); }

Lane lane_at(const Shape& start, const Shape& extents) {
  Lane out{.offset = 0, .strides = strides_of(extents)};
  out.offset = offset_of(start, out.strides);
  return out;
}

void copy(const Piece& piece, Cells& target) {
  const Cells& source = *piece.source;
  if (!target.are_tags()) {
    copy_box(source.numbers(), target.numbers(), piece, Kept{});
  } else if (source.are_tags()) {
    copy_box(source.tags(), target.tags(), piece, Kept{});
  } else {
    copy_box(source.numbers(), target.tags(), piece, Tagged{source.content()});
  }
}

}  // namespace retile::foreign
