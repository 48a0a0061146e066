#include "retile/program/op_facts.h"

#include "retile/core/assert.h"
#include "retile/core/cases.h"

namespace retile {

namespace {

std::span<const std::size_t> one(const std::size_t& dim) { return {&dim, 1}; }

/// What each step says of itself.
OpFacts facts_said(const Op& op) {
  return match(
      op,
      [](const Dynslice& step) -> OpFacts {
        return {.kind = CollectiveKind::slice,
                .cuts = one(step.dim),
                .groups = std::get_if<DeviceTable>(&step.pieces),
                .pieces = &step.pieces,
                .piece = step.piece};
      },
      [](const Allgather& step) -> OpFacts {
        return {.kind = CollectiveKind::gather, .joins = one(step.dim), .groups = &step.groups};
      },
      [](const Alltoall& step) -> OpFacts {
        return {.kind = CollectiveKind::all_to_all,
                .cuts = one(step.split),
                .joins = one(step.concat),
                .groups = &step.groups,
                .piece = step.piece};
      },
      [](const Allpermute& step) -> OpFacts {
        return {.kind = CollectiveKind::permute, .sources = &step.source};
      },
      [](const Exchange& step) -> OpFacts {
        // It costs what the gathers do that it may stand for.
        return {.kind = CollectiveKind::gather, .transfers = &step.transfers, .add = step.add};
      },
      [](const Reducescatter& step) -> OpFacts {
        return {.kind = CollectiveKind::reduce_scatter,
                .cuts = one(step.dim),
                .groups = &step.groups,
                .piece = step.piece,
                .add = step.add};
      },
      [](const Allreduce& step) -> OpFacts {
        return {.kind = CollectiveKind::all_reduce, .groups = &step.groups, .add = step.add};
      },
      [](const Unreduce& step) -> OpFacts {
        return {.kind = CollectiveKind::slice, .groups = &step.groups, .add = step.add};
      },
      [](const Embed& step) -> OpFacts {
        return {.kind = CollectiveKind::slice,
                .joins = one(step.dim),
                .groups = &step.groups,
                .add = step.add};
      },
      [](const AllgatherDims& step) -> OpFacts {
        return {.kind = CollectiveKind::gather,
                .joins = step.dims,
                .counts = &step.counts,
                .groups = &step.groups};
      },
      [](const AlltoallDims& step) -> OpFacts {
        return {.kind = CollectiveKind::all_to_all,
                .cuts = step.splits,
                .joins = step.concats,
                .counts = &step.counts,
                .groups = &step.groups};
      });
}

}  // namespace

bool OpFacts::is_known() const {
  const bool is_along = !cuts.empty() || !joins.empty();
  if (transfers != nullptr) return groups == nullptr && sources == nullptr && !is_along;
  if (sources != nullptr) {
    return groups == nullptr && kind == CollectiveKind::permute && !is_along && !add;
  }
  if (counts != nullptr) return groups != nullptr && !add;
  if (pieces != nullptr) return cuts.size() == 1 && joins.empty() && !add;
  if (groups == nullptr || cuts.size() > 1 || joins.size() > 1) return false;
  if (add) return true;
  // Of every member of a group a piece, or all: what moves is told by the kind.
  return joins.size() == 1 &&
         kind == (cuts.empty() ? CollectiveKind::gather : CollectiveKind::all_to_all);
}

OpFacts facts_of(const Op& op) {
  OpFacts out = facts_said(op);
  RETILE_ASSERT(out.is_known(),
                "facts of a new form: docs/dev/adding.md says which rooms must learn it first");
  return out;
}

Size group_size(const OpFacts& facts) {
  if (facts.groups != nullptr) return facts.groups->columns();
  return facts.pieces == nullptr ? 1 : std::get<PartList>(*facts.pieces).parts;
}

Size members_added(const OpFacts& facts) { return facts.add ? group_size(facts) : 1; }

Size moved_extent(const OpFacts& facts, const Shape& tile, std::size_t dim) {
  const bool is_cut = !facts.cuts.empty() && facts.cuts.front() == dim;
  return is_cut ? tile[dim] / group_size(facts) : tile[dim];
}

Meaning meaning(const Op& op, const Shape& tile) {
  const OpFacts facts = facts_of(op);
  if (facts.transfers != nullptr) return Assemble{.transfers = facts.transfers};
  RETILE_ASSERT(facts.is_plain(),
                "what adds, or goes along several dimensions, is put together from boxes");
  if (facts.sources != nullptr) return Fetch{.sources = facts.sources};
  const bool splits = !facts.cuts.empty();
  const std::size_t split = splits ? facts.cuts.front() : facts.joins.front();
  const Size width = moved_extent(facts, tile, split);
  if (facts.pieces != nullptr) return Keep{.pieces = facts.pieces, .dim = split, .width = width};
  const std::size_t concat = facts.joins.front();
  return Regroup{.groups = facts.groups,
                 .split = split,
                 .width = width,
                 .concat = concat,
                 .stride = moved_extent(facts, tile, concat),
                 .splits = splits};
}

}  // namespace retile
