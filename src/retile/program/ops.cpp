#include "retile/program/ops.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "retile/core/cases.h"

namespace retile {

namespace {

template <typename... Ops>
constexpr std::array<OpInfo, sizeof...(Ops)> rows_of(const std::variant<Ops...>* /*table*/) {
  return {OpInfo{.name = OpRow<Ops>::name,
                 .keys = OpRow<Ops>::keys,
                 .needs = OpRow<Ops>::needs,
                 .not_both = OpRow<Ops>::not_both,
                 .since = OpRow<Ops>::since}...};
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

/// Writes a member of a step as values of its type are written.
class FieldWriter {
 public:
  explicit FieldWriter(KeySink& sink) : sink_(sink) {}

  void operator()(std::string_view key, const std::size_t& dim) const {
    sink_.number(key, number(dim));
  }
  void operator()(std::string_view key, const std::vector<std::size_t>& dims) const {
    sink_.ints(key, numbers(dims));
  }
  void operator()(std::string_view key, const Shape& counts) const { sink_.ints(key, counts); }
  void operator()(std::string_view key, const DeviceTable& groups) const {
    sink_.groups(key, groups);
  }
  void operator()(std::string_view /*key*/, const KeptPieces& pieces) const {
    match(
        pieces, [&](const DeviceTable& groups) { sink_.groups("groups", groups); },
        [&](const PartList& list) {
          sink_.number("parts", list.parts);
          sink_.list("part", list.part);
        });
  }
  void operator()(std::string_view /*key*/, const Sources& sources) const {
    match(
        sources, [&](const DeviceTable& source) { sink_.list("source", source); },
        [&](const PairList& pairs) {
          sink_.rows("pairs", pairs.size(), [&pairs](std::size_t p) {
            return std::vector<Size>(pairs[p].begin(), pairs[p].end());
          });
        });
  }
  void operator()(std::string_view key, const std::vector<Transfer>& transfers) const {
    sink_.rows(key, transfers.size(), [&](std::size_t t) { return row_of(transfers[t]); });
  }
  void operator()(std::string_view key, const std::optional<PieceSize>& piece) const {
    if (piece) sink_.piece(key, *piece);
  }
  void operator()(std::string_view key, const std::optional<Addition>& add) const {
    if (add) sink_.addition(key, *add);
  }
  /// Steps add up, unless they say otherwise.
  void operator()(std::string_view key, const Addition& add) const {
    if (add != Addition::sum) sink_.addition(key, add);
  }

 private:
  KeySink& sink_;
};

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

void write_keys(const Op& op, KeySink& sink) { each_field(op, FieldWriter(sink)); }

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

}  // namespace retile
