#include "retile/check/boxes.h"

#include <algorithm>
#include <utility>

#include "retile/check/pieces.h"
#include "retile/check/tables.h"
#include "retile/check/tags.h"
#include "retile/core/cases.h"

namespace retile {
namespace {

/// Members and rows of groups of n: member q of row r is members[r * n + q].
struct Groups {
  const std::vector<Size>& members;
  std::size_t n = 1;
};

/// Whether the members of every row begin `stride` apart along one dimension, in their order.
Applied neighbours(const Groups& groups, const std::vector<Size>& base, Size stride,
                   const Deadline& deadline) {
  Watch watch(deadline);
  for (std::size_t row = 0; row < groups.members.size(); row += groups.n) {
    if (!watch.in_time(static_cast<Size>(groups.n))) return Applied::too_late;
    const Size first = base[index(groups.members[row])];
    Size expected = 0;  // from the first member; the base itself may not have room for the sum
    for (std::size_t q = 1; q < groups.n; ++q) {
      expected += stride;
      if (base[index(groups.members[row + q])] - first != expected) return Applied::refused;
    }
  }
  return Applied::done;
}

}  // namespace

Boxes::Boxes(const Layout& from)
    : State(from.devices(), from.global(), from.tile()),
      base_(columns_of_rows(from.devices(), from.rank(), from.base_offsets())) {}

Boxes::Boxes(const State& other, Columns base)
    : State(other.devices(), other.global(), other.tile()), base_(std::move(base)) {}

Applied Boxes::apply(const Step& step, const Shape& after, const Limits& limits) {
  const Applied done = match(
      meaning(step.op, tile()), [&](const Keep& what) { return keep(what, limits); },
      [&](const Regroup& what) { return regroup(what, limits); },
      [&](const Fetch& what) { return fetch(what, limits); },
      // In rank 0 there is one element, and everybody has it.
      [&](const Assemble&) { return rank() == 0 ? Applied::done : Applied::refused; });
  if (done == Applied::done) set_tile(after);
  return done;
}

Applied Boxes::keep(const Keep& what, const Limits& limits) {
  const auto piece = pieces_kept(*what.pieces, devices(), limits.deadline);
  if (!piece) return Applied::too_late;
  std::vector<Size>& base = base_[what.dim];
  for (std::size_t d = 0; d < base.size(); ++d) base[d] += (*piece)[d] * what.width;
  return Applied::done;
}

Applied Boxes::regroup(const Regroup& what, const Limits& limits) {
  const std::size_t n = index(what.groups->columns());
  if (n == 1) return Applied::done;
  const auto members = entries_of(*what.groups, limits.deadline);
  if (!members) return Applied::too_late;
  const Groups groups{.members = *members, .n = n};
  for (std::size_t k = 0; k < rank(); ++k) {
    const Applied found =
        neighbours(groups, base_[k], k == what.concat ? what.stride : 0, limits.deadline);
    if (found != Applied::done) return found;
  }
  std::vector<Size>& joined = base_[what.concat];
  std::vector<Size>& cut = base_[what.split];
  for (std::size_t row = 0; row < members->size(); row += n) {
    const Size first = joined[index((*members)[row])];
    for (std::size_t q = 1; q < n; ++q) {
      joined[index((*members)[row + q])] = first;
      if (what.splits) cut[index((*members)[row + q])] += static_cast<Size>(q) * what.width;
    }
  }
  return Applied::done;
}

Applied Boxes::fetch(const Fetch& what, const Limits& limits) {
  const auto source = sources_of(*what.sources, devices(), limits.deadline);
  if (!source) return Applied::too_late;
  for (std::vector<Size>& column : base_) {
    if (limits.deadline.passed()) return Applied::too_late;
    const std::vector<Size> old = column;
    for (std::size_t d = 0; d < old.size(); ++d) column[d] = old[index((*source)[d])];
  }
  return Applied::done;
}

Shape Boxes::held(Size device, const Shape& at) const {
  Shape out = at;
  for (std::size_t k = 0; k < rank(); ++k) out[k] += base_[k][index(device)];
  return out;
}

std::optional<Witness> Boxes::difference(const Columns& expected) const {
  std::size_t device = index(devices());
  for (std::size_t k = 0; k < rank(); ++k) {
    const auto end = base_[k].begin() + static_cast<std::ptrdiff_t>(device);
    device = static_cast<std::size_t>(
        std::mismatch(base_[k].begin(), end, expected[k].begin()).first - base_[k].begin());
  }
  if (device == index(devices())) return std::nullopt;
  const Shape first(rank(), 0);
  Shape element;
  for (std::size_t k = 0; k < rank(); ++k) element.push_back(expected[k][device]);
  const auto number = static_cast<Size>(device);
  return Witness{number, Witness::OtherElement{first, element, held(number, first)}};
}

Size Boxes::numbers() const { return static_cast<Size>(rank()) * devices(); }

std::unique_ptr<State> Boxes::slower(const Limits& limits) const {
  return rank() == 0 ? Tags::of(*this, limits) : Pieces::of(*this, limits);
}

}  // namespace retile
