#include "retile/program/ops.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/cases.h"

namespace retile {

namespace {

template <typename... Ops>
constexpr std::array<OpInfo, sizeof...(Ops)> rows_of(const std::variant<Ops...>* /*table*/) {
  return {OpInfo{.name = OpRow<Ops>::name,
                 .keys = OpRow<Ops>::keys,
                 .needs = OpRow<Ops>::needs,
                 .not_both = OpRow<Ops>::not_both,
                 .since = OpRow<Ops>::since,
                 .has_grid = OverDims<Ops>}...};
}

constexpr auto all_rows = rows_of(static_cast<const Op*>(nullptr));

Size number(std::size_t dim) { return static_cast<Size>(dim); }

std::vector<Size> numbers(const std::vector<std::size_t>& dims) {
  return {dims.begin(), dims.end()};
}

/// What the keys are that a step has.
class KeysSeen final : public KeySink {
 public:
  explicit KeysSeen(const OpInfo& info) : keys_(info.keys), since_(info.since) {}

  void number(std::string_view key, Size /*value*/) override { see(key); }
  void piece(std::string_view key, PieceSize /*value*/) override { see(key); }
  void groups(std::string_view key, const DeviceTable& /*table*/) override { see(key); }
  void list(std::string_view key, const DeviceTable& /*table*/) override { see(key); }
  void rows(std::string_view key, std::size_t /*count*/,
            const std::function<std::vector<Size>(std::size_t)>& /*row*/) override {
    see(key);
  }
  void ints(std::string_view key, const std::vector<Size>& /*values*/) override { see(key); }
  void addition(std::string_view key, Addition /*value*/) override { see(key); }

  [[nodiscard]] int since() const { return since_; }
  [[nodiscard]] bool has_piece() const { return has_piece_; }

 private:
  void see(std::string_view name) {
    for (const Key& key : keys_) {
      if (key.name != name) continue;
      since_ = std::max(since_, key.since);
      has_piece_ = has_piece_ || key.kind == KeyKind::piece;
    }
  }

  std::span<const Key> keys_;
  int since_;
  bool has_piece_ = false;
};

/// Steps add up, unless they say otherwise.
void write_addition(Addition add, KeySink& sink) {
  if (add != Addition::sum) sink.addition("add", add);
}

}  // namespace

std::vector<Size> row_of(const Transfer& transfer) {
  std::vector<Size> row = {transfer.target, transfer.source};
  for (const Shape* numbers : {&transfer.target_start, &transfer.source_start, &transfer.shape}) {
    row.insert(row.end(), numbers->begin(), numbers->end());
  }
  return row;
}

std::span<const OpInfo> op_table() { return all_rows; }

const OpInfo& info(const Op& op) { return all_rows[op.index()]; }

bool says_pieces(const Op& op) {
  KeysSeen keys(info(op));
  write_keys(op, keys);
  return keys.has_piece();
}

int since(const Op& op) {
  KeysSeen keys(info(op));
  write_keys(op, keys);
  return keys.since();
}

void write_keys(const Op& op, KeySink& sink) {
  match(
      op,
      [&sink](const Dynslice& step) {
        sink.number("dim", number(step.dim));
        match(
            step.pieces, [&sink](const DeviceTable& groups) { sink.groups("groups", groups); },
            [&sink](const PartList& list) {
              sink.number("parts", list.parts);
              sink.list("part", list.part);
            });
        if (step.piece) sink.piece("piece", *step.piece);
      },
      [&sink](const Allgather& step) {
        sink.number("dim", number(step.dim));
        sink.groups("groups", step.groups);
      },
      [&sink](const Alltoall& step) {
        sink.number("split", number(step.split));
        sink.number("concat", number(step.concat));
        sink.groups("groups", step.groups);
        if (step.piece) sink.piece("piece", *step.piece);
      },
      [&sink](const Allpermute& step) {
        match(
            step.source, [&sink](const DeviceTable& source) { sink.list("source", source); },
            [&sink](const PairList& pairs) {
              sink.rows("pairs", pairs.size(), [&pairs](std::size_t p) {
                return std::vector<Size>(pairs[p].begin(), pairs[p].end());
              });
            });
      },
      [&sink](const Exchange& step) {
        sink.rows("transfers", step.transfers.size(),
                  [&step](std::size_t t) { return row_of(step.transfers[t]); });
        if (step.add) sink.addition("add", *step.add);
      },
      [&sink](const Reducescatter& step) {
        sink.number("dim", number(step.dim));
        sink.groups("groups", step.groups);
        if (step.piece) sink.piece("piece", *step.piece);
        write_addition(step.add, sink);
      },
      [&sink](const Allreduce& step) {
        sink.groups("groups", step.groups);
        write_addition(step.add, sink);
      },
      [&sink](const Unreduce& step) {
        sink.groups("groups", step.groups);
        write_addition(step.add, sink);
      },
      [&sink](const Embed& step) {
        sink.number("dim", number(step.dim));
        sink.groups("groups", step.groups);
        write_addition(step.add, sink);
      },
      [&sink](const AllgatherDims& step) {
        sink.ints("dims", numbers(step.dims));
        sink.ints("counts", step.counts);
        sink.groups("groups", step.groups);
      },
      [&sink](const AlltoallDims& step) {
        sink.ints("splits", numbers(step.splits));
        sink.ints("concats", numbers(step.concats));
        sink.ints("counts", step.counts);
        sink.groups("groups", step.groups);
      });
}

std::vector<std::size_t> by_target(const std::vector<Transfer>& transfers) {
  std::vector<std::size_t> order(transfers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto earlier = [&transfers](std::size_t a, std::size_t b) {
    return transfers[a].target < transfers[b].target;
  };
  if (!std::is_sorted(order.begin(), order.end(), earlier)) {
    std::stable_sort(order.begin(), order.end(), earlier);
  }
  return order;
}

Meaning meaning(const Op& op, const Shape& tile) {
  return match(
      op,
      [&tile](const Dynslice& step) -> Meaning {
        const Size parts = match(
            step.pieces, [](const DeviceTable& groups) { return groups.columns(); },
            [](const PartList& list) { return list.parts; });
        return Keep{.op = &step, .dim = step.dim, .width = tile[step.dim] / parts};
      },
      [&tile](const Allgather& step) -> Meaning {
        const Size extent = tile[step.dim];
        return Regroup{.groups = &step.groups,
                       .split = step.dim,
                       .width = extent,
                       .concat = step.dim,
                       .stride = extent,
                       .splits = false};
      },
      [&tile](const Alltoall& step) -> Meaning {
        const Size width = tile[step.split] / step.groups.columns();
        return Regroup{.groups = &step.groups,
                       .split = step.split,
                       .width = width,
                       .concat = step.concat,
                       .stride = step.split == step.concat ? width : tile[step.concat],
                       .splits = true};
      },
      [](const Allpermute& step) -> Meaning { return Fetch{.op = &step}; },
      [](const Exchange& step) -> Meaning { return Assemble{.transfers = &step.transfers}; },
      [](const OverDims auto& /*step*/) -> Meaning {
        RETILE_ASSERT(false, "what goes along several dimensions is put together from boxes");
      },
      [](const Adding auto& /*step*/) -> Meaning {
        RETILE_ASSERT(false, "what adds is put together from boxes");
      });
}

}  // namespace retile
