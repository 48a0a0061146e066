#include "retile/exec/copy/pass.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/element_type.h"
#include "retile/core/walk.h"
#include "retile/exec/copy/kernels.h"
#include "retile/exec/copy/repeats.h"
#include "retile/exec/copy/runs.h"

namespace retile::copy {

namespace {

// Up to this, runs that are not whole lines are joined with those of other boxes that complete the
// lines; longer ones only with their own.
constexpr Size longest_chained_run_bytes = 512;

// From this on it pays to read one source in order and to let the target be written with jumps.
constexpr Size in_order_run_bytes = 256;

// Short runs are put together here before they are appended to what is streamed.
constexpr Size staging_bytes = Size{6} << 10;
// Of it, what is filled at once where one row of a chain is less.
constexpr Size staged_block_bytes = 256;

// Every loop counts at least two, and no tile has 2^63 elements.
constexpr std::size_t max_loops = 64;
// The most groups that take turns.
constexpr std::ptrdiff_t most_together = 8;

void assert_inside(const Shape& tile, const Shape& start, const Shape& shape) {
  RETILE_ASSERT(start.size() == tile.size() && shape.size() == tile.size(),
                "a box of another rank than its tile");
  for (std::size_t i = 0; i < tile.size(); ++i) {
    RETILE_ASSERT(shape[i] >= 1 && start[i] >= 0 && shape[i] <= tile[i] - start[i],
                  "a box that is not inside of its tile");
  }
}

// The loops over boxes that lie in regular steps, the innermost first.
[[nodiscard]] std::vector<Loop> loops_around(const Repeats& boxes, const Shape& source_strides,
                                             const Shape& target_strides) {
  std::vector<Loop> out;
  const auto add = [&](Size count, const Transfer* next) {
    if (count == 1) return;
    out.push_back({count, step_of(*boxes.first, *next, &Transfer::source_start, source_strides),
                   step_of(*boxes.first, *next, &Transfer::target_start, target_strides)});
  };
  add(boxes.inner, boxes.next);
  add(boxes.outer, boxes.next_row);
  return out;
}

// What the loops over a box depend on: its shape, the extents of the tiles that make their strides,
// and the loops around.
[[nodiscard]] Shape loops_key(const Transfer& transfer, const DeviceShapes& sources,
                              const DeviceShapes& targets, std::span<const Loop> around) {
  Shape key = transfer.shape;
  key.reserve(3 * key.size() + 3 * around.size());
  for (const Shape* tile : {&sources.of(transfer.source), &targets.of(transfer.target)}) {
    for (std::size_t k = 1; k < tile->size(); ++k) key.push_back((*tile)[k]);
  }
  for (const Loop& loop : around) {
    key.insert(key.end(), {loop.count, loop.source_stride, loop.target_stride});
  }
  return key;
}

// Those of each two devices together, in their order.
[[nodiscard]] std::vector<const Transfer*> by_devices(std::span<const Transfer> transfers) {
  std::vector<const Transfer*> out;
  out.reserve(transfers.size());
  for (const Transfer& transfer : transfers) out.push_back(&transfer);
  std::stable_sort(out.begin(), out.end(), [](const Transfer* a, const Transfer* b) {
    return std::tie(a->source, a->target) < std::tie(b->source, b->target);
  });
  return out;
}

}  // namespace

Pass::Pass(Size element_bytes, const DeviceShapes& source_tiles, const DeviceShapes& target_tiles,
           std::span<const Transfer> transfers, Options options) {
  RETILE_ASSERT(is_element_size(element_bytes), "an element size that cannot be moved");
  struct Alike {
    const Transfer* first = nullptr;
    std::vector<Loop> around;
    std::vector<Member> members;
  };
  std::map<Shape, Alike> members_of_shape;
  Size all_bytes = 0;
  for (const Transfer& transfer : transfers) {
    const Shape& shape = transfer.shape;
    assert_inside(source_tiles.of(transfer.source), transfer.source_start, shape);
    assert_inside(target_tiles.of(transfer.target), transfer.target_start, shape);
    all_bytes += checked_product(shape).value() * element_bytes;
  }
  for (const Repeats& boxes : repeats_of(by_devices(transfers))) {
    const Transfer& transfer = *boxes.first;
    const Shape& source_tile = source_tiles.of(transfer.source);
    const Shape& target_tile = target_tiles.of(transfer.target);
    const Shape source_strides = byte_strides(source_tile, element_bytes);
    const Shape target_strides = byte_strides(target_tile, element_bytes);
    std::vector<Loop> around = loops_around(boxes, source_strides, target_strides);
    Alike& alike = members_of_shape[loops_key(transfer, source_tiles, target_tiles, around)];
    if (alike.first == nullptr) {
      alike.first = &transfer;
      alike.around = std::move(around);
    }
    alike.members.push_back({transfer.source, transfer.target,
                             offset_of(transfer.source_start, source_strides),
                             offset_of(transfer.target_start, target_strides)});
    sources_ = std::max(sources_, transfer.source + 1);
    targets_ = std::max(targets_, transfer.target + 1);
  }
  for (auto& [key, alike] : members_of_shape) {
    Group group =
        loops_over(alike.first->shape, element_bytes, source_tiles.of(alike.first->source),
                   target_tiles.of(alike.first->target), alike.around);
    group.members = std::move(alike.members);
    arrange(group);
    add_in_segments(std::move(group));
  }
  join_rows();
  const Size cache_share =
      options.cache_share_bytes > 0 ? options.cache_share_bytes : detected_cache_share_bytes(1);
  streaming_ = can_stream() && (options.stores == Stores::streaming ||
                                (options.stores == Stores::automatic &&
                                 streams(typical_run_bytes(), all_bytes, cache_share)));
  for (Group& group : groups_) {
    // Lines that are streamed whole are waited for by nobody, wherever they go.
    if (streaming_ && group.run_bytes >= in_order_run_bytes && group.run_bytes % line_bytes == 0) {
      group.in_order_bytes = group.read_in_order_bytes;
    }
  }
}

Pass::Group Pass::loops_over(const Shape& shape, Size element_bytes, const Shape& source_tile,
                             const Shape& target_tile, std::span<const Loop> around) {
  Group group;
  group.run_bytes = element_bytes;
  Size source_stride = element_bytes;
  Size target_stride = element_bytes;
  for (std::size_t i = shape.size(); i-- > 0;) {
    put_around(group.run_bytes, group.loops, {shape[i], source_stride, target_stride});
    source_stride *= source_tile[i];
    target_stride *= target_tile[i];
  }
  for (const Loop& loop : around) put_around(group.run_bytes, group.loops, loop);
  std::reverse(group.loops.begin(), group.loops.end());
  // Boxes beside each other take turns row by row, so that the source is read in its order.
  std::stable_sort(group.loops.begin(), group.loops.end(),
                   [](const Loop& a, const Loop& b) { return a.source_stride > b.source_stride; });
  if (group.loops.empty()) group.loops.push_back({1, group.run_bytes, group.run_bytes});
  for (const Loop& loop : group.loops) group.rows *= loop.count;
  return group;
}

// Segments hold so many members at most, chains stay whole.
void Pass::add_in_segments(Group group) {
  // A copy of all members would leave each segment with room for all of them.
  const std::vector<Member> members = std::exchange(group.members, {});
  const auto most = static_cast<std::size_t>(max_members / group.chain * group.chain);
  for (std::size_t begin = 0; begin < members.size(); begin += most) {
    Group part = group;
    const auto end = std::min(begin + most, members.size());
    part.members.assign(members.begin() + static_cast<std::ptrdiff_t>(begin),
                        members.begin() + static_cast<std::ptrdiff_t>(end));
    const Member& first = part.members.front();
    part.same_source =
        part.members.size() > 1 &&
        std::all_of(part.members.begin(), part.members.end(), [&first](const Member& member) {
          return member.source == first.source && member.source_offset == first.source_offset;
        });
    groups_.push_back(std::move(part));
  }
}

// Groups that go through the rows of one source in the same steps, as boxes of different widths do,
// take turns in the order in which they lie there: else the source would be read as often as there
// are groups, with gaps.
void Pass::join_rows() {
  const auto one_source = [](const Group& group) {
    return group.run_bytes > longest_chained_run_bytes &&
           group.members.front().source == group.members.back().source;
  };
  const auto same_steps = [](const Loop& a, const Loop& b) {
    return a.count == b.count && a.source_stride == b.source_stride;
  };
  const auto joins = [&](const Group& a, const Group& b) {
    const Size apart = a.members.front().source_offset - b.members.front().source_offset;
    return one_source(a) && one_source(b) && a.members.front().source == b.members.front().source &&
           std::abs(apart) < a.loops.back().source_stride &&
           std::equal(a.loops.begin(), a.loops.end(), b.loops.begin(), b.loops.end(), same_steps);
  };
  for (auto first = groups_.begin(); first != groups_.end();) {
    auto last = first + 1;
    while (last != groups_.end() && last - first < most_together && joins(*first, *last)) ++last;
    std::sort(first, last, [](const Group& a, const Group& b) {
      return a.members.front().source_offset < b.members.front().source_offset;
    });
    for (; first + 1 != last; ++first) first->with_next = true;
    first = last;
  }
}

// Sorts the members by their place on one side. How many of them in turn lie end to end there: the
// greatest number that divides the lengths of all such rows.
Size Pass::end_to_end_members(Group& group, Size Member::*device, Size Member::*offset) {
  const auto place = [device, offset](const Member& member) {
    return std::make_tuple(member.*device, member.*offset);
  };
  std::sort(group.members.begin(), group.members.end(),
            [&](const Member& a, const Member& b) { return place(a) < place(b); });
  Size common = 0;
  Size length = 1;
  for (std::size_t i = 1; i <= group.members.size(); ++i) {
    const bool continues =
        i < group.members.size() && group.members[i].*device == group.members[i - 1].*device &&
        group.members[i].*offset == group.members[i - 1].*offset + group.run_bytes;
    if (continues) {
      ++length;
    } else {
      common = std::gcd(common, length);
      length = 1;
    }
  }
  return common;
}

// Finds chains of members that lie end to end in a target, and the members' order.
void Pass::arrange(Group& group) {
  const Loop& inner = group.loops.back();
  const auto in_order_bytes = [&group, &inner](Size members, Size stride) {
    const Size bytes = members * group.run_bytes;
    return stride == bytes ? bytes * inner.count : bytes;
  };
  group.read_in_order_bytes = in_order_bytes(
      end_to_end_members(group, &Member::source, &Member::source_offset), inner.source_stride);
  group.in_order_bytes =
      std::min(group.read_in_order_bytes,
               in_order_bytes(end_to_end_members(group, &Member::target, &Member::target_offset),
                              inner.target_stride));
  group.source_in_order = inner.source_stride == group.run_bytes && inner.count > 1;
  if (group.run_bytes <= longest_chained_run_bytes) {
    const Size common = end_to_end_members(group, &Member::target, &Member::target_offset);
    const Size longest = std::min(max_members, staging_bytes / group.run_bytes);
    group.chain = 1;
    for (Size chain = 1; chain <= std::min(common, longest); ++chain) {
      if (common % chain == 0) group.chain = chain;
    }
  }
  if (group.chain == 1) {
    std::sort(group.members.begin(), group.members.end(), [](const Member& a, const Member& b) {
      return std::tie(a.source, a.source_offset, a.target, a.target_offset) <
             std::tie(b.source, b.source_offset, b.target, b.target_offset);
    });
  }
}

/// One run of a pass: where the tiles are, and what is staged.
class Pass::Execution {
 public:
  Execution(const Pass& pass, std::span<const std::byte* const> sources,
            std::span<std::byte* const> targets)
      : pass_(pass), sources_(sources), targets_(targets), kernels_(kernels()) {}

  void run(Share share) {
    for (auto first = pass_.groups_.begin(); first != pass_.groups_.end();) {
      auto last = first;
      while (last->with_next) ++last;
      run_rows({first, ++last}, share);
      first = last;
    }
    if (pass_.streaming_) kernels_.fence();
  }

 private:
  // Of several groups one row after the other (join_rows).
  void run_rows(std::span<const Group> groups, Share share) {
    const Group& first = groups.front();
    const Loop& inner = first.loops.back();
    alone_ = groups.size() == 1;
    std::array<Size, max_loops> at{};
    Size source_offset = 0;
    std::array<Size, static_cast<std::size_t>(most_together)> target_offsets{};
    const auto step = [&](std::size_t i, Size steps) {
      source_offset += steps * first.loops[i].source_stride;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        target_offsets[g] += steps * groups[g].loops[i].target_stride;
      }
    };
    Size left = share.end_of(first.rows) - share.begin_of(first.rows);
    Size outside = share.begin_of(first.rows);
    for (std::size_t i = first.loops.size(); i-- > 0;) {
      at[i] = outside % first.loops[i].count;
      outside /= first.loops[i].count;
      if (i + 1 < first.loops.size()) step(i, at[i]);
    }
    for (Size row = at[first.loops.size() - 1]; left > 0; row = 0) {
      const Size end = row + std::min(inner.count - row, left);
      left -= end - row;
      const Size rows_at_once = alone_ ? end - row : 1;
      for (; row < end; row += rows_at_once) {
        for (std::size_t g = 0; g < groups.size(); ++g) {
          run_segment(groups[g], rows_at_once, source_offset + row * inner.source_stride,
                      target_offsets[g] + row * groups[g].loops.back().target_stride);
        }
      }
      for (std::size_t i = first.loops.size() - 1; i-- > 0;) {
        const Size count = first.loops[i].count;
        const bool again = ++at[i] == count;
        if (again) at[i] = 0;
        step(i, again ? 1 - count : 1);
        if (!again) break;
      }
    }
    for (Joiner& joiner : joiners_) joiner.finish();
  }

  void run_segment(const Group& group, Size rows, Size source_offset, Size target_offset) {
    const Loop& inner = group.loops.back();
    std::array<const std::byte*, max_members> sources;
    std::array<std::byte*, max_members> targets;
    Size bits = inner.target_stride;
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      const Member& member = group.members[i];
      sources[i] =
          sources_[static_cast<std::size_t>(member.source)] + member.source_offset + source_offset;
      targets[i] =
          targets_[static_cast<std::size_t>(member.target)] + member.target_offset + target_offset;
      bits |= static_cast<Size>(reinterpret_cast<std::uintptr_t>(targets[i]) % line_bytes);
    }
    const Segment segment{
        sources.data(), targets.data(),      static_cast<Size>(group.members.size()),
        rows,           inner.source_stride, inner.target_stride,
        group.run_bytes};
    const bool in_order = group.source_in_order && group.run_bytes >= in_order_run_bytes;
    const Order order = group.same_source ? Order::dealt
                        : in_order        ? Order::members_outer
                                          : Order::members_inner;
    const Size run = group.run_bytes;
    const Size chain_bytes = group.chain * run;
    const bool end_to_end = inner.target_stride == chain_bytes;
    // Lines in which a run ends, others complete.
    const bool completed = end_to_end || (group.chain > 1 && chain_bytes >= line_bytes);
    if (end_to_end && run <= 32 && (run & (run - 1)) == 0 &&
        (!pass_.streaming_ || bits % run == 0) && rows * chain_bytes >= 4 * line_bytes) {
      const Size line_runs = line_bytes / run;
      if (group.chain == 1) return gathered(segment, pass_.streaming_);
      if (group.chain % line_runs == 0 || line_runs % group.chain == 0) {
        for (Size first = 0; first < segment.members; first += group.chain) {
          Segment one = segment;
          one.sources += first;
          one.targets += first;
          one.members = group.chain;
          zipped(one, pass_.streaming_);
        }
        return;
      }
    }
    if (!pass_.streaming_) return ordinary_runs(segment, order);
    if (completed && alone_ && (bits | run) % line_bytes != 0) {
      ask_for_chains(group, segment);
      if (run < line_bytes) return stage(group, segment);
      return kernels_.join(segment, group.chain, order, joiners_.data());
    }
    if (!runs_stream(bits, run)) return ordinary_runs(segment, order);
    kernels_.runs(segment, order);
  }

  // Of every chain of a segment, and of the one that the next segment goes on with.
  void ask_for_chains(const Group& group, const Segment& segment) {
    const std::size_t loops = group.loops.size();
    const Size next = loops > 1 ? group.loops[loops - 2].target_stride : 0;
    for (Size m = 0; m < segment.members; m += group.chain) {
      ask_for_ends(segment.targets[m],
                   (segment.rows - 1) * segment.target_stride + group.chain * segment.run_bytes,
                   next);
    }
  }

  void stage(const Group& group, const Segment& segment) {
    const Size run = group.run_bytes;
    const Size chain_bytes = group.chain * run;
    const bool end_to_end = segment.target_stride == chain_bytes;
    const Size block_rows = end_to_end ? std::max(staged_block_bytes / chain_bytes, Size{1}) : 1;
    for (Size first = 0; first < segment.rows; first += block_rows) {
      const Size rows = std::min(block_rows, segment.rows - first);
      for (Size c = 0; c < segment.members; c += group.chain) {
        Joiner& joiner = joiners_[static_cast<std::size_t>(c / group.chain)];
        joiner.continue_at(segment.targets[c] + first * segment.target_stride);
        for (Size k = 0; k < group.chain; ++k) {
          copy_runs({.target = staging_.data() + k * run,
                     .target_stride = chain_bytes,
                     .source = segment.sources[c + k] + first * segment.source_stride,
                     .source_stride = segment.source_stride,
                     .run_bytes = run,
                     .count = rows});
        }
        kernels_.append(joiner, staging_.data(), rows * chain_bytes);
      }
    }
  }

  const Pass& pass_;
  std::span<const std::byte* const> sources_;
  std::span<std::byte* const> targets_;
  const Kernels& kernels_;
  bool alone_ = true;  // no group takes turns with the one that is copied
  std::array<Joiner, static_cast<std::size_t>(max_members)> joiners_;
  alignas(line_bytes) std::array<std::byte, staging_bytes> staging_;
};

void Pass::run(std::span<const std::byte* const> sources, std::span<std::byte* const> targets,
               Share share) const {
  RETILE_ASSERT(static_cast<Size>(sources.size()) >= sources_ &&
                    static_cast<Size>(targets.size()) >= targets_,
                fmt::format("{} of {} sources, {} of {} targets", sources.size(), sources_,
                            targets.size(), targets_));
  Execution(*this, sources, targets).run(share);
}

Size Pass::held_bytes() const {
  auto bytes = static_cast<Size>(sizeof(*this) + groups_.capacity() * sizeof(Group));
  for (const Group& group : groups_) {
    bytes += static_cast<Size>(group.loops.capacity() * sizeof(Loop) +
                               group.members.capacity() * sizeof(Member));
  }
  return bytes;
}

Size Pass::bound_bytes(Size transfers, std::size_t rank) {
  // Vectors hold at most twice what is in them, and every transfer may be a group of its own.
  const std::size_t each = 2 * (sizeof(Group) + sizeof(Member) + (rank + 2) * sizeof(Loop));
  return static_cast<Size>(sizeof(Pass)) + transfers * static_cast<Size>(each);
}

Size Pass::typical_run_bytes() const { return typical(&Group::run_bytes); }

Size Pass::in_order_bytes() const { return typical(&Group::in_order_bytes); }

// What at least half of the bytes have at least.
Size Pass::typical(Size Group::*what) const {
  std::map<Size, Size> bytes_of;
  Size all = 0;
  for (const Group& group : groups_) {
    const Size bytes = group.rows * group.run_bytes * static_cast<Size>(group.members.size());
    bytes_of[group.*what] += bytes;
    all += bytes;
  }
  Size longer = 0;
  for (auto at = bytes_of.rbegin(); at != bytes_of.rend(); ++at) {
    longer += at->second;
    if (longer >= all - longer) return at->first;
  }
  return 0;
}

}  // namespace retile::copy
