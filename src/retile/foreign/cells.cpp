#include "retile/foreign/cells.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "retile/core/assert.h"

namespace retile::foreign {
namespace {

/// The loops of a box, and where it begins.
struct Loops {
  Walk<2> walk;
  Walk<2>::Strides begin{};
};
Loops loops_of(const Shape& extents, const Lane& from, const Lane& to) {
  Loops out{.walk = {}, .begin = {from.offset, to.offset}};
  for (std::size_t k = 0; k < extents.size(); ++k) {
    out.walk.add(extents[k], {from.strides[k], to.strides[k]});
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
void copy_box(const std::vector<From>& from, std::vector<To>& to, const Loops& loops,
              const Change& change) {
  const auto copy = [&](const Row<2>& row) {
    copy_row(from.data(), to.data(), row, change);
    return true;
  };
  static_cast<void>(loops.walk.each_row(loops.begin, copy));
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
  Lane out = lane_of(extents);
  out.offset = offset_of(start, out.strides);
  return out;
}

Lane lane_of(const Shape& extents) { return {.offset = 0, .strides = strides_of(extents)}; }

void copy(const Cells& source, const Lane& from, const Shape& extents, Cells& target,
          const Lane& to) {
  const Loops loops = loops_of(extents, from, to);
  if (!target.are_tags()) {
    copy_box(source.numbers(), target.numbers(), loops, Kept{});
  } else if (source.are_tags()) {
    copy_box(source.tags(), target.tags(), loops, Kept{});
  } else {
    copy_box(source.numbers(), target.tags(), loops, Tagged{source.content()});
  }
}

}  // namespace retile::foreign
