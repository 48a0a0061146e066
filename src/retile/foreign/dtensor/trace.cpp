#include "retile/foreign/dtensor/trace.h"

#include <algorithm>
#include <array>

#include "retile/core/assert.h"
#include "retile/core/index.h"
#include "retile/core/walk.h"
#include "retile/foreign/cells.h"

namespace retile::foreign::dtensor {
namespace {

struct Row {
  std::string_view name;
  std::array<std::string_view, 3> keys = {};  ///< the empty ones are none
};

/// In the order of TraceOp.
constexpr std::array<Row, 14> table = {{{"all_gather", {"group"}},
                                        {"all_to_all", {"group", "send", "receive"}},
                                        {"reduce_scatter", {"group", "reduction"}},
                                        {"all_reduce", {"group", "reduction"}},
                                        {"broadcast", {"group", "root"}},
                                        {"split", {"dim"}},
                                        {"cat", {"dim"}},
                                        {"slice", {"dim", "start"}},
                                        {"pad", {"padding"}},
                                        {"reshape"},
                                        {"transpose", {"order"}},
                                        {"same"},
                                        {"zeros"},
                                        {"empty"}}};

/// The tiles of one step, and where a box of one goes in another.
class Runner {
 public:
  Runner(const Trace& trace, std::vector<Block> starts, Size size, Budget& budget, Sums& sums,
         const Deadline& deadline)
      : trace_(trace), size_(size), budget_(budget), sums_(sums), deadline_(deadline) {
    for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) {
      const RankTrace& one = trace.ranks[rank];
      values_.emplace_back(one.shapes.size());
      uses_.push_back(uses_of(one));
      put(rank, 0, std::move(starts[rank]));
    }
  }

  Ran run() {
    for (const Turn& turn : trace_.turns) {
      if (deadline_.passed()) throw LimitReached{"no verdict in time"};
      const TraceStep& first = step(turn.steps.front());
      if (is_collective(first.op)) {
        together(turn, first);
      } else {
        alone(turn.steps.front().first, first);
      }
      for (const auto& one : turn.steps) forget(one);
    }
    for (std::size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      out_.results.push_back(values_[rank][trace_.ranks[rank].result]);
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] const TraceStep& step(const std::pair<std::size_t, std::size_t>& at) const {
    return trace_.ranks[at.first].steps[at.second];
  }
  [[nodiscard]] const Shape& shape(std::size_t rank, std::size_t value) const {
    return trace_.ranks[rank].shapes[value];
  }
  [[nodiscard]] const Block& in(std::size_t rank, const TraceStep& step, std::size_t k = 0) const {
    return values_[rank][step.in[k]];
  }
  [[nodiscard]] const Shape& in_shape(std::size_t rank, const TraceStep& step,
                                      std::size_t k = 0) const {
    return shape(rank, step.in[k]);
  }
  [[nodiscard]] std::shared_ptr<Cells> fresh(const Shape& extents, Tag fill) const {
    return std::make_shared<Cells>(budget_, Content::tags, count_of(extents), fill);
  }

  // Values, which live until their last use.

  static std::vector<std::size_t> uses_of(const RankTrace& rank) {
    std::vector<std::size_t> out(rank.shapes.size());
    for (const TraceStep& step : rank.steps) {
      for (const std::size_t value : step.in) ++out[value];
    }
    ++out[rank.result];
    return out;
  }
  void forget(const std::pair<std::size_t, std::size_t>& at) {
    for (const std::size_t value : step(at).in) {
      if (--uses_[at.first][value] == 0) values_[at.first][value].reset();
    }
    for (const std::size_t value : step(at).out) {
      if (uses_[at.first][value] == 0) values_[at.first][value].reset();
    }
  }
  void put(std::size_t rank, std::size_t value, Block cells) {
    if (!out_.whole && is_whole(*cells)) out_.whole = std::pair(rank, value);
    values_[rank][value] = std::move(cells);
  }
  [[nodiscard]] bool is_whole(const Cells& cells) const {
    if (static_cast<Size>(cells.tags().size()) < size_) return false;
    std::vector<bool> seen(index(size_));
    Size count = 0;
    const auto see = [&](Tag atom) {
      const std::size_t element = index(atom % size_);
      if (!seen[element]) ++count;
      seen[element] = true;
    };
    for (const Tag tag : cells.tags()) {
      if (Sums::is_atom(tag)) {
        see(tag);
      } else if (Sums::is_sum(tag)) {
        for (const Term& term : sums_.terms(tag)) see(term.atom);
      }
    }
    return count == size_;
  }

  /// A box of one array as an array of its own.
  [[nodiscard]] Block box(const Block& from, const Shape& extents, const Shape& start,
                          const Shape& box_extents) const {
    auto out = fresh(box_extents, undefined_tag);
    copy({.source = from.get(),
          .extents = box_extents,
          .from = lane_at(start, extents),
          .to = lane_at(Shape(start.size(), 0), box_extents)},
         *out);
    return out;
  }
  /// Arrays one behind the other along a dimension; those without elements are left out.
  [[nodiscard]] Block joined(const std::vector<std::pair<Block, Shape>>& parts, std::size_t dim,
                             const Shape& extents) const {
    auto out = fresh(extents, undefined_tag);
    Shape start(extents.size(), 0);
    for (const auto& [cells, part] : parts) {
      if (part.size() != extents.size()) continue;
      copy({.source = cells.get(),
            .extents = part,
            .from = lane_at(Shape(part.size(), 0), part),
            .to = lane_at(start, extents)},
           *out);
      start[dim] += part[dim];
    }
    return out;
  }

  // What a rank does by itself.

  void alone(std::size_t rank, const TraceStep& step) {
    switch (step.op) {
      case TraceOp::zeros:
      case TraceOp::empty: {
        const Tag fill = step.op == TraceOp::zeros ? zero_tag : undefined_tag;
        return put(rank, step.out[0], fresh(step.sizes[0], fill));
      }
      case TraceOp::split:
        return split(rank, step);
      case TraceOp::slice: {
        Shape start(step.sizes[0].size(), 0);
        start[step.dim] = step.start;
        return put(rank, step.out[0],
                   box(in(rank, step), in_shape(rank, step), start, step.sizes[0]));
      }
      case TraceOp::cat: {
        std::vector<std::pair<Block, Shape>> parts;
        for (std::size_t k = 0; k < step.in.size(); ++k) {
          parts.emplace_back(in(rank, step, k), in_shape(rank, step, k));
        }
        return put(rank, step.out[0], joined(parts, step.dim, step.sizes[0]));
      }
      case TraceOp::pad:
        return pad(rank, step);
      case TraceOp::transpose:
        return transpose(rank, step);
      default:  // the same elements in the same order
        for (std::size_t k = 0; k < step.out.size(); ++k) {
          put(rank, step.out[k], in(rank, step, k));
        }
    }
  }
  void split(std::size_t rank, const TraceStep& step) {
    Shape start(in_shape(rank, step).size(), 0);
    for (std::size_t k = 0; k < step.out.size(); ++k) {
      put(rank, step.out[k], box(in(rank, step), in_shape(rank, step), start, step.sizes[k]));
      start[step.dim] += step.sizes[k][step.dim];
    }
  }
  void pad(std::size_t rank, const TraceStep& step) {
    const Shape& before = in_shape(rank, step);
    auto out = fresh(step.sizes[0], zero_tag);
    Shape from(before.size(), 0);
    Shape to(before.size(), 0);
    Shape extents = before;
    for (std::size_t k = 0; k < before.size(); ++k) {
      const auto [low, high] = step.padding[k];
      from[k] = std::max<Size>(-low, 0);
      to[k] = std::max<Size>(low, 0);
      extents[k] = before[k] - from[k] - std::max<Size>(-high, 0);
    }
    copy({.source = in(rank, step).get(),
          .extents = extents,
          .from = lane_at(from, before),
          .to = lane_at(to, step.sizes[0])},
         *out);
    put(rank, step.out[0], std::move(out));
  }
  void transpose(std::size_t rank, const TraceStep& step) {
    const Shape strides = strides_of(in_shape(rank, step));
    Lane from{.offset = 0, .strides = Shape(strides.size())};
    for (std::size_t k = 0; k < strides.size(); ++k) from.strides[k] = strides[step.order[k]];
    auto out = fresh(step.sizes[0], undefined_tag);
    copy({.source = in(rank, step).get(),
          .extents = step.sizes[0],
          .from = from,
          .to = lane_at(Shape(strides.size(), 0), step.sizes[0])},
         *out);
    put(rank, step.out[0], std::move(out));
  }

  // What a group does together.

  void together(const Turn& turn, const TraceStep& first) {
    switch (first.op) {
      case TraceOp::all_gather: {
        std::vector<std::pair<Block, Shape>> parts;
        for (std::size_t k = 0; k < turn.steps.size(); ++k) parts.push_back(part(turn, k));
        return give_all(turn, joined(parts, 0, first.sizes[0]));
      }
      case TraceOp::broadcast:
        return give_all(turn, part(turn, member_of(turn, first.root)).first);
      case TraceOp::all_to_all:
        return all_to_all(turn);
      default:
        return reduce(turn, first);
    }
  }
  [[nodiscard]] std::pair<Block, Shape> part(const Turn& turn, std::size_t member) const {
    const std::size_t rank = turn.steps[member].first;
    const TraceStep& own = step(turn.steps[member]);
    return {in(rank, own), in_shape(rank, own)};
  }
  [[nodiscard]] static std::size_t member_of(const Turn& turn, std::size_t rank) {
    std::size_t k = 0;
    while (turn.steps[k].first != rank) ++k;
    return k;
  }
  void give_all(const Turn& turn, const Block& cells) {
    for (const auto& one : turn.steps) put(one.first, step(one).out[0], cells);
  }
  void all_to_all(const Turn& turn) {
    const std::size_t n = turn.steps.size();
    std::vector<std::vector<std::pair<Block, Shape>>> parts(n);  // by target
    for (std::size_t source = 0; source < n; ++source) {
      const auto [cells, extents] = part(turn, source);
      Shape start(extents.size(), 0);
      for (std::size_t target = 0; target < n; ++target) {
        Shape rows = extents;
        rows[0] = step(turn.steps[source]).send[target];
        parts[target].emplace_back(box(cells, extents, start, rows), rows);
        start[0] += rows[0];
      }
    }
    for (std::size_t target = 0; target < n; ++target) {
      const TraceStep& own = step(turn.steps[target]);
      put(turn.steps[target].first, own.out[0], joined(parts[target], 0, own.sizes[0]));
    }
  }
  void reduce(const Turn& turn, const TraceStep& first) {
    const auto [own, extents] = part(turn, 0);
    auto total = fresh(extents, undefined_tag);
    total->tags() = own->tags();
    for (std::size_t k = 1; k < turn.steps.size(); ++k) {
      const auto& tags = part(turn, k).first->tags();
      for (std::size_t at = 0; at < tags.size(); ++at) {
        // A trace does not say what elements are: so it counts how often one is there.
        total->tags()[at] = sums_.add(first.addition, {}, total->tags()[at], tags[at]);
      }
    }
    if (first.is_average) {
      const auto members = static_cast<Size>(turn.steps.size());
      for (Tag& tag : total->tags()) tag = sums_.part_of(tag, members);
    }
    if (first.op == TraceOp::all_reduce) return give_all(turn, total);
    Shape start(extents.size(), 0);
    for (const auto& one : turn.steps) {
      const Shape& rows = step(one).sizes[0];
      put(one.first, step(one).out[0], box(total, extents, start, rows));
      start[0] += rows[0];
    }
  }

  const Trace& trace_;
  Size size_;
  Budget& budget_;
  Sums& sums_;
  Deadline deadline_;
  std::vector<std::vector<Block>> values_;      // by rank
  std::vector<std::vector<std::size_t>> uses_;  // that are still to come
  Ran out_;
};

}  // namespace

std::string_view name_of(TraceOp op) { return table[static_cast<std::size_t>(op)].name; }

std::optional<TraceOp> op_named(std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Row& row) { return row.name == name; });
  if (found == table.end()) return std::nullopt;
  return static_cast<TraceOp>(found - table.begin());
}

std::span<const std::string_view> keys_of(TraceOp op) {
  const auto& keys = table[static_cast<std::size_t>(op)].keys;
  const auto end = std::find(keys.begin(), keys.end(), std::string_view());
  return std::span(keys).first(static_cast<std::size_t>(end - keys.begin()));
}

std::pair<std::size_t, std::size_t> Trace::largest() const {
  std::pair<std::size_t, std::size_t> out{0, 0};
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t value = 0; value < ranks[rank].shapes.size(); ++value) {
      if (count_of(ranks[rank].shapes[value]) > count_of(ranks[out.first].shapes[out.second])) {
        out = {rank, value};
      }
    }
  }
  return out;
}

std::pair<Size, Size> Trace::traffic(std::size_t rank) const {
  Size cost = 0;
  Size received = 0;
  for (const TraceStep& step : ranks[rank].steps) {
    const auto n = static_cast<Size>(step.group.size());
    if (!is_collective(step.op) || n == 1) continue;
    const Size before = count_of(ranks[rank].shapes[step.in[0]]);
    const Size after = count_of(step.sizes[0]);
    switch (step.op) {
      case TraceOp::all_gather:
        cost += after;
        received += after - before;
        break;
      case TraceOp::broadcast:
        cost += after;
        received += step.root == rank ? 0 : after;
        break;
      case TraceOp::all_reduce:
        cost += 2 * before;
        received += 2 * (before - before / n);
        break;
      case TraceOp::reduce_scatter:
        cost += before;
        received += before - after;
        break;
      default: {
        const auto self = std::find(step.group.begin(), step.group.end(), static_cast<Size>(rank));
        const auto own = static_cast<std::size_t>(self - step.group.begin());
        const Size rows = step.sizes[0][0];
        cost += std::max(before, after);
        if (rows > 0) received += after / rows * (rows - step.receive[own]);
      }
    }
  }
  return {cost, received};
}

FilePlace Trace::place_of(std::size_t rank, std::size_t value) const {
  for (const TraceStep& step : ranks[rank].steps) {
    if (std::find(step.out.begin(), step.out.end(), value) != step.out.end()) return step.place;
  }
  return ranks[rank].place;
}

std::string_view Trace::op_of(std::size_t rank, std::size_t value) const {
  for (const TraceStep& step : ranks[rank].steps) {
    if (std::find(step.out.begin(), step.out.end(), value) != step.out.end()) {
      return name_of(step.op);
    }
  }
  return "start";
}

Ran run(const Trace& trace, std::vector<Block> starts, Size size, Budget& budget, Sums& sums,
        const Deadline& deadline) {
  return Runner(trace, std::move(starts), size, budget, sums, deadline).run();
}

}  // namespace retile::foreign::dtensor
