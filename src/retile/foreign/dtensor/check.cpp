#include "retile/foreign/dtensor/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

namespace retile::foreign {
namespace dtensor {
namespace {

/// Of one value: what is larger no verdict is found on.
constexpr Size most_elements = Size{1} << 30;
/// Members of groups that are looked at, to see whether they have come.
constexpr std::size_t most_looks = std::size_t{1} << 31;

class Checker {
 public:
  Checker(Trace& trace, const StepPlaces& places)
      : trace_(trace), places_(places), at_(trace.ranks.size(), 0) {}

  void check() {
    for (std::size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      for (const Shape& shape : trace_.ranks[rank].shapes) check_size(rank, shape);
    }
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t rank = 0; rank < at_.size(); ++rank) moved = advance(rank) || moved;
    }
    for (std::size_t rank = 0; rank < at_.size(); ++rank) {
      if (step(rank) != nullptr) fail(rank, "this rank waits here, and others do not come");
    }
  }

 private:
  /// The next step of a rank; nothing when it is through.
  [[nodiscard]] const TraceStep* step(std::size_t rank) const {
    const auto& steps = trace_.ranks[rank].steps;
    return at_[rank] < steps.size() ? &steps[at_[rank]] : nullptr;
  }
  [[noreturn]] void fail(std::size_t rank, std::string message,
                         Code code = Code::bad_program) const {
    text::fail(places_[rank][at_[rank]], {.code = code, .message = std::move(message)});
  }
  void check_size(std::size_t rank, const Shape& shape) const {
    const auto count = checked_product(shape);
    if (count && *count <= most_elements) return;
    text::fail(places_[rank].back(),
               {.code = Code::limit_reached, .message = "a value of more than 2^30 elements"});
  }

  /// Does what this rank can do now, alone or as the first of its group. Whether there was anything.
  bool advance(std::size_t rank) {
    bool moved = false;
    while (const TraceStep* next = step(rank)) {
      if (is_collective(next->op)) {
        if (!is_ready(rank, *next)) break;
        together(*next);
      } else {
        check_alone(rank, *next);
        trace_.turns.push_back({{{rank, at_[rank]++}}});
      }
      moved = true;
    }
    return moved;
  }
  [[nodiscard]] static std::size_t member(const TraceStep& step, std::size_t k) {
    return static_cast<std::size_t>(step.group[k]);
  }
  /// Whether all of the group are at the same collective.
  [[nodiscard]] bool is_ready(std::size_t rank, const TraceStep& first) {
    check_group(rank, first);
    looks_ += first.group.size();
    if (looks_ > most_looks) fail(rank, "ranks wait for each other too often", Code::limit_reached);
    for (std::size_t k = 0; k < first.group.size(); ++k) {
      const TraceStep* other = step(member(first, k));
      if (other == nullptr || other->op != first.op || other->group != first.group) return false;
    }
    return true;
  }
  void check_group(std::size_t rank, const TraceStep& step) const {
    std::vector<Size> sorted = step.group;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end() || sorted.empty() ||
        sorted.back() >= static_cast<Size>(at_.size()) ||
        !std::binary_search(sorted.begin(), sorted.end(), static_cast<Size>(rank))) {
      fail(rank, "a group is of different ranks, this one among them");
    }
  }

  // Shapes.

  [[nodiscard]] const Shape& in(std::size_t rank, const TraceStep& step, std::size_t k = 0) const {
    return trace_.ranks[rank].shapes[step.in[k]];
  }
  void counts(std::size_t rank, const TraceStep& step, std::size_t in, std::size_t out) const {
    if (step.in.size() == in && step.out.size() == out) return;
    fail(rank, fmt::format("{} takes {} values and makes {}", name_of(step.op), in, out));
  }
  void makes(std::size_t rank, const TraceStep& step, const Shape& shape) const {
    if (step.sizes[0] == shape) return;
    fail(rank, fmt::format("{} makes [{}], not [{}]", name_of(step.op), fmt::join(shape, ","),
                           fmt::join(step.sizes[0], ",")));
  }
  void has_dim(std::size_t rank, const Shape& shape, std::size_t dim) const {
    if (dim < shape.size()) return;
    fail(rank, fmt::format("no dimension {} in [{}]", dim, fmt::join(shape, ",")),
         Code::bad_dimension);
  }

  /// An extent, which may be large also where a value has no elements.
  [[nodiscard]] Size in_range(std::size_t rank, const std::optional<Size>& extent) const {
    if (!extent) fail(rank, "an extent of 2^63 or more", Code::limit_reached);
    return *extent;
  }
  void check_alone(std::size_t rank, const TraceStep& step) const {
    switch (step.op) {
      case TraceOp::zeros:
      case TraceOp::empty:
        return counts(rank, step, 0, 1);
      case TraceOp::split:
        return check_split(rank, step);
      case TraceOp::cat:
        return check_cat(rank, step);
      case TraceOp::slice:
        return check_slice(rank, step);
      case TraceOp::pad:
        return check_pad(rank, step);
      case TraceOp::transpose:
        return check_transpose(rank, step);
      case TraceOp::reshape:
        counts(rank, step, 1, 1);
        if (checked_product(step.sizes[0]) != checked_product(in(rank, step))) {
          fail(rank, "a reshape keeps the number of elements");
        }
        return;
      default:  // same
        if (step.in.size() != step.out.size()) fail(rank, "same makes as many values as it takes");
        for (std::size_t k = 0; k < step.in.size(); ++k) {
          if (in(rank, step, k) != step.sizes[k]) fail(rank, "same keeps the shape");
        }
    }
  }
  void check_split(std::size_t rank, const TraceStep& step) const {
    if (step.in.size() != 1 || step.out.empty()) fail(rank, "split takes one value");
    Shape whole = in(rank, step);
    has_dim(rank, whole, step.dim);
    Size sum = 0;
    for (const Shape& part : step.sizes) {
      Shape other = part;
      has_dim(rank, other, step.dim);
      sum = in_range(rank, checked_add(sum, part[step.dim]));
      other[step.dim] = whole[step.dim];
      if (other != whole) fail(rank, "a part of a split differs in another dimension");
    }
    if (sum != whole[step.dim]) fail(rank, "the parts of a split are not the whole");
  }
  void check_cat(std::size_t rank, const TraceStep& step) const {
    if (step.in.empty() || step.out.size() != 1) fail(rank, "cat makes one value of several");
    Shape made = step.sizes[0];
    has_dim(rank, made, step.dim);
    made[step.dim] = 0;
    for (std::size_t k = 0; k < step.in.size(); ++k) {
      Shape part = in(rank, step, k);
      if (part == Shape{0} && made.size() != 1) continue;  // as torch does
      has_dim(rank, part, step.dim);
      const Size length = std::exchange(part[step.dim], 0);
      made[step.dim] = in_range(rank, checked_add(made[step.dim], length));
      Shape rest = made;
      rest[step.dim] = 0;
      if (part != rest) fail(rank, "a part of a cat differs in another dimension");
    }
    makes(rank, step, made);
  }
  void check_slice(std::size_t rank, const TraceStep& step) const {
    counts(rank, step, 1, 1);
    Shape whole = in(rank, step);
    has_dim(rank, whole, step.dim);
    has_dim(rank, step.sizes[0], step.dim);
    const Size length = step.sizes[0][step.dim];
    if (step.start > whole[step.dim] || length > whole[step.dim] - step.start) {
      fail(rank, "a slice goes past the end");
    }
    whole[step.dim] = length;
    makes(rank, step, whole);
  }
  void check_pad(std::size_t rank, const TraceStep& step) const {
    counts(rank, step, 1, 1);
    Shape made = in(rank, step);
    if (step.padding.size() != made.size()) fail(rank, "padding of more dimensions than there are");
    for (std::size_t k = 0; k < made.size(); ++k) {
      const auto [low, high] = step.padding[k];
      const Size taken = std::max<Size>(-low, 0);
      if (low < -made[k] || high < taken - made[k]) fail(rank, "padding takes away too much");
      const Size sum = in_range(rank, checked_add(made[k], low));
      made[k] = in_range(rank, checked_add(sum, high));
    }
    makes(rank, step, made);
  }
  void check_transpose(std::size_t rank, const TraceStep& step) const {
    counts(rank, step, 1, 1);
    const Shape& before = in(rank, step);
    std::vector<std::size_t> sorted = step.order;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::size_t> all(before.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    if (sorted != all) fail(rank, "the order of a transpose names every dimension once");
    Shape made;
    for (const std::size_t dim : step.order) made.push_back(before[dim]);
    makes(rank, step, made);
  }

  // Collectives.

  /// \param first  of one of the group
  void together(const TraceStep& first) {
    Turn turn;
    for (std::size_t k = 0; k < first.group.size(); ++k) {
      const std::size_t rank = member(first, k);
      counts(rank, *step(rank), 1, 1);
      if (in(rank, *step(rank)).empty()) fail(rank, "a collective of a tile without dimensions");
      turn.steps.emplace_back(rank, at_[rank]);
    }
    if (first.op == TraceOp::all_to_all) {
      check_all_to_all(turn);
    } else if (first.op == TraceOp::broadcast) {
      check_broadcast(turn);
    } else {
      check_alike(turn);
    }
    for (const auto& one : turn.steps) ++at_[one.first];
    trace_.turns.push_back(std::move(turn));
  }
  void check_alike(const Turn& turn) const {
    const auto n = static_cast<Size>(turn.steps.size());
    const TraceStep& first = *step(turn.steps[0].first);
    Shape shape = in(turn.steps[0].first, first);
    Shape made = shape;
    if (first.op == TraceOp::all_gather) {
      made[0] = in_range(turn.steps[0].first, checked_mul(made[0], n));
    }
    if (first.op == TraceOp::reduce_scatter) {
      if (shape[0] % n != 0) fail(turn.steps[0].first, "rows that the members do not divide");
      made[0] /= n;
    }
    for (const auto& one : turn.steps) {
      const TraceStep& own = *step(one.first);
      if (in(one.first, own) != shape) {
        fail(one.first, fmt::format("{} of tiles of different sizes", name_of(own.op)));
      }
      if (own.addition != first.addition || own.is_average != first.is_average) {
        fail(one.first, "members that add in different ways");
      }
      makes(one.first, own, made);
    }
  }
  void check_broadcast(const Turn& turn) const {
    for (const auto& one : turn.steps) {
      const TraceStep& own = *step(one.first);
      const auto root = std::find(own.group.begin(), own.group.end(), static_cast<Size>(own.root));
      if (root == own.group.end() || own.root != step(turn.steps[0].first)->root) {
        fail(one.first, "a group has one root, which is a member");
      }
      makes(one.first, own, in(own.root, *step(own.root)));
    }
  }
  void check_all_to_all(const Turn& turn) const {
    const std::size_t n = turn.steps.size();
    for (const auto& one : turn.steps) {
      const TraceStep& own = *step(one.first);
      if (own.send.size() != n || own.receive.size() != n) {
        fail(one.first, "rows are sent to every member, and received of every member");
      }
      Shape made = in(one.first, own);
      if (sum(own.send) != made[0]) fail(one.first, "what is sent is not all rows");
      made[0] = in_range(one.first, sum(own.receive));
      makes(one.first, own, made);
    }
    for (std::size_t source = 0; source < n; ++source) {
      const TraceStep& from = *step(turn.steps[source].first);
      for (std::size_t target = 0; target < n; ++target) {
        const TraceStep& to = *step(turn.steps[target].first);
        if (from.send[target] == to.receive[source]) continue;
        fail(turn.steps[target].first, "what is sent is not what is received");
      }
    }
  }
  [[nodiscard]] static std::optional<Size> sum(const std::vector<Size>& numbers) {
    std::optional<Size> out = 0;
    for (const Size number : numbers) {
      if (out) out = checked_add(*out, number);
    }
    return out;
  }

  Trace& trace_;
  const StepPlaces& places_;
  std::vector<std::size_t> at_;  // steps that each rank has done
  std::size_t looks_ = 0;
};

}  // namespace
}  // namespace dtensor

void check_dtensor_trace(dtensor::Trace& trace, const dtensor::StepPlaces& places) {
  dtensor::Checker(trace, places).check();
}

}  // namespace retile::foreign
