// Iota chains and device tables. See device_table.h.
#include "retile/core/device_table.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/index.h"
#include "retile/core/walk.h"

namespace retile {

namespace {

/// The stage as a walk over its output: extents in output order and the input stride of each.
struct Loops {
  Shape extents;
  Shape strides;
};

Loops loops_of(const IotaStage& stage) {
  const Shape strides = strides_of(stage.shape);
  Loops out;
  for (std::size_t k = 0; k < stage.shape.size(); ++k) {
    const std::size_t old = stage.transpose.empty() ? k : stage.transpose[k];
    out.extents.push_back(stage.shape[old]);
    out.strides.push_back(strides[old]);
  }
  return out;
}

/// The coarsest extents that refine both factorisations of one product, or nothing when their cuts
/// do not nest.
std::optional<Shape> common_refinement(const Shape& a, const Shape& b) {
  std::vector<Size> cuts{1};
  for (const Shape* shape : {&a, &b}) {
    Size cut = 1;
    for (std::size_t k = shape->size(); k-- > 0;) cuts.push_back(cut *= (*shape)[k]);
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  Shape refined;
  for (std::size_t k = cuts.size(); k-- > 1;) {
    if (cuts[k] % cuts[k - 1] != 0) return std::nullopt;
    refined.push_back(cuts[k] / cuts[k - 1]);
  }
  return refined;
}

/// For every extent of `shape` the run [first, last) of extents of `refined` that make it up.
std::vector<std::pair<std::size_t, std::size_t>> runs(const Shape& shape, const Shape& refined) {
  std::vector<std::pair<std::size_t, std::size_t>> out;
  std::size_t next = 0;
  for (const Size extent : shape) {
    const std::size_t first = next;
    Size product = 1;
    while (product != extent) product *= refined[next++];
    out.emplace_back(first, next);
  }
  return out;
}

/// The same stage without extents of 1 and with dimensions joined that stay neighbours; rank <= 1
/// means identity.
IotaStage normalised(const IotaStage& stage) {
  std::vector<std::size_t> order;  // old dimensions in output order, extents > 1 only
  for (std::size_t k = 0; k < stage.shape.size(); ++k) {
    const std::size_t old = stage.transpose.empty() ? k : stage.transpose[k];
    if (stage.shape[old] > 1) order.push_back(old);
  }
  std::vector<std::size_t> kept(order);
  std::sort(kept.begin(), kept.end());
  const auto rank_of = [&kept](std::size_t old) {
    return static_cast<std::size_t>(std::lower_bound(kept.begin(), kept.end(), old) - kept.begin());
  };
  // A block is a run of kept dimensions that are neighbours both before and after.
  std::vector<std::pair<std::size_t, Size>> blocks;  // first kept rank, extent; in output order
  for (std::size_t k = 0; k < order.size(); ++k) {
    const std::size_t rank = rank_of(order[k]);
    const Size extent = stage.shape[order[k]];
    if (k > 0 && rank_of(order[k - 1]) + 1 == rank) {
      blocks.back().second *= extent;
    } else {
      blocks.emplace_back(rank, extent);
    }
  }
  std::vector<std::size_t> input(blocks.size());  // blocks in input order
  std::iota(input.begin(), input.end(), std::size_t{0});
  std::sort(input.begin(), input.end(),
            [&blocks](std::size_t a, std::size_t b) { return blocks[a].first < blocks[b].first; });
  IotaStage out;
  out.transpose.resize(blocks.size());
  for (std::size_t k = 0; k < input.size(); ++k) {
    out.shape.push_back(blocks[input[k]].second);
    out.transpose[input[k]] = k;
  }
  return out;
}

/// One stage that does `right` and then `left`, if the shapes between them have a common
/// refinement.
std::optional<IotaStage> merged(const IotaStage& right, const IotaStage& left) {
  const Loops between = loops_of(right);
  const auto refined = common_refinement(between.extents, left.shape);
  if (!refined) return std::nullopt;
  const auto right_runs = runs(between.extents, *refined);
  const auto left_runs = runs(left.shape, *refined);
  // Where each refined extent stands in the input of `right`: walk its old dimensions in order.
  const std::size_t rank = right.shape.size();
  std::vector<std::size_t> output_of(rank);
  for (std::size_t k = 0; k < rank; ++k)
    output_of[right.transpose.empty() ? k : right.transpose[k]] = k;
  IotaStage out;
  std::vector<std::size_t> input_of(refined->size());
  for (std::size_t old = 0; old < rank; ++old) {
    const auto [first, last] = right_runs[output_of[old]];
    for (std::size_t piece = first; piece < last; ++piece) {
      input_of[piece] = out.shape.size();
      out.shape.push_back((*refined)[piece]);
    }
  }
  for (std::size_t k = 0; k < left.shape.size(); ++k) {
    const auto [first, last] = left_runs[left.transpose.empty() ? k : left.transpose[k]];
    for (std::size_t piece = first; piece < last; ++piece) out.transpose.push_back(input_of[piece]);
  }
  return out;
}

}  // namespace

void IotaChain::append(IotaStage stage) {
  RETILE_ASSERT(checked_product(stage.shape) == size_,
                "a stage's extents must multiply to the chain's size");
  RETILE_ASSERT(stage.transpose.empty() || stage.transpose.size() == stage.shape.size(),
                "a transpose names every dimension of its stage");
  std::vector<bool> seen(stage.transpose.size(), false);
  for (const std::size_t k : stage.transpose) {
    RETILE_ASSERT(k < seen.size() && !seen[k], "a transpose is a permutation");
    seen[k] = true;
  }
  stages_.push_back(std::move(stage));
}

Size IotaChain::at(Size position) const {
  for (std::size_t s = stages_.size(); s-- > 0;) {
    const Loops loops = loops_of(stages_[s]);
    position = offset_of(index_of(position, loops.extents), loops.strides);
  }
  return position;
}

std::optional<std::vector<Digit>> IotaChain::digits() const {
  if (stages_.empty()) return std::vector<Digit>{{1, size_}};
  if (stages_.size() > 1) return std::nullopt;
  const Loops loops = loops_of(stages_.front());
  std::vector<Digit> out;
  for (std::size_t k = loops.extents.size(); k-- > 0;) {
    out.push_back({loops.strides[k], loops.extents[k]});
  }
  return out;
}

std::vector<Size> IotaChain::list() const {
  std::vector<Size> numbers(static_cast<std::size_t>(size_));
  std::iota(numbers.begin(), numbers.end(), Size{0});
  if (size_ == 0) return numbers;
  std::vector<Size> next;
  for (const IotaStage& stage : stages_) {
    next.resize(numbers.size());
    auto out = next.begin();
    const Loops loops = loops_of(stage);
    Walk<1> walk;
    for (std::size_t k = 0; k < loops.extents.size(); ++k) {
      walk.add(loops.extents[k], {loops.strides[k]});
    }
    static_cast<void>(walk.each_row({0}, [&](const Row<1>& row) {
      for (Size k = 0; k < row.length; ++k) *out++ = numbers[index(row.at[0] + k * row.step[0])];
      return true;
    }));
    numbers.swap(next);
  }
  return numbers;
}

IotaChain IotaChain::inverse() const {
  IotaChain out(size_);
  for (std::size_t s = stages_.size(); s-- > 0;) {
    const IotaStage& stage = stages_[s];
    IotaStage back;
    back.shape = loops_of(stage).extents;
    back.transpose.resize(stage.transpose.size());
    for (std::size_t k = 0; k < stage.transpose.size(); ++k) back.transpose[stage.transpose[k]] = k;
    out.append(std::move(back));
  }
  return out;
}

IotaChain IotaChain::simplified() const {
  std::vector<IotaStage> done;
  for (const IotaStage& stage : stages_) {
    IotaStage next = normalised(stage);
    while (next.shape.size() > 1 && !done.empty()) {
      const auto both = merged(done.back(), next);
      if (!both) break;
      done.pop_back();
      next = normalised(*both);
    }
    if (next.shape.size() > 1) done.push_back(std::move(next));
  }
  IotaChain out(size_);
  out.stages_ = std::move(done);
  return out;
}

std::optional<IotaChain> chain_of(const std::vector<Size>& numbers) {
  const auto n = static_cast<Size>(numbers.size());
  const auto at = [&](Size position) { return numbers[static_cast<std::size_t>(position)]; };
  std::vector<Digit> digits;  // of a position, the fastest first
  for (Size stride = 1; stride < n;) {
    Digit digit{.stride = at(stride), .size = 1};
    while (stride * digit.size < n && at(stride * digit.size) == digit.size * digit.stride) {
      ++digit.size;
    }
    if (digit.stride < 1 || digit.size == 1 || n % (stride * digit.size) != 0) return {};
    stride *= digit.size;
    digits.push_back(digit);
  }
  std::reverse(digits.begin(), digits.end());
  std::vector<Digit> dims = digits;  // of a number, the slowest first
  std::sort(dims.begin(), dims.end(),
            [](const Digit& a, const Digit& b) { return a.stride > b.stride; });
  IotaStage stage;
  for (const Digit& dim : dims) stage.shape.push_back(dim.size);
  for (const Digit& digit : digits) {
    const auto same = [&](const Digit& dim) { return dim.stride == digit.stride; };
    const auto found = std::find_if(dims.begin(), dims.end(), same);
    stage.transpose.push_back(static_cast<std::size_t>(found - dims.begin()));
  }
  // Digits of one weight are no numbers of a mesh: no transposition has them.
  for (std::size_t k = 1; k < dims.size(); ++k) {
    if (dims[k - 1].stride == dims[k].stride) return {};
  }
  IotaChain out(n);
  if (!stage.shape.empty()) out.append(std::move(stage));
  out = out.simplified();
  if (out.list() != numbers) return {};
  return out;
}

IotaChain compose(const IotaChain& outer, const IotaChain& inner) {
  RETILE_ASSERT(outer.size() == inner.size(), "composed chains have one size");
  IotaChain out = outer;
  for (const IotaStage& stage : inner.stages()) out.append(stage);
  return out;
}

DeviceTable DeviceTable::iota(IotaChain chain, Size columns) {
  RETILE_ASSERT(columns >= 1 && chain.size() % columns == 0,
                "rows of an iota table have one length");
  DeviceTable out;
  out.row_count_ = chain.size() / columns;
  out.columns_ = columns;
  out.entries_ = std::move(chain);
  return out;
}

DeviceTable DeviceTable::rows(std::vector<std::vector<Size>> rows) {
  DeviceTable out;
  std::vector<Size> entries;
  bool ragged = false;
  for (const auto& row : rows) {
    ragged = ragged || row.size() != rows.front().size();
    entries.insert(entries.end(), row.begin(), row.end());
  }
  out.row_count_ = static_cast<Size>(rows.size());
  if (ragged) {
    for (const auto& row : rows) out.row_lengths_.push_back(static_cast<Size>(row.size()));
  } else if (!rows.empty()) {
    out.columns_ = static_cast<Size>(rows.front().size());
  }
  out.entries_ = std::move(entries);
  return out;
}

DeviceTable DeviceTable::list(std::vector<Size> entries) {
  DeviceTable out;
  out.row_count_ = 1;
  out.columns_ = static_cast<Size>(entries.size());
  out.entries_ = std::move(entries);
  return out;
}

Size DeviceTable::size() const {
  if (const IotaChain* iota = chain()) return iota->size();
  return static_cast<Size>(std::get<std::vector<Size>>(entries_).size());
}

Size DeviceTable::row_count() const { return row_count_; }

Size DeviceTable::columns() const {
  RETILE_ASSERT(!ragged(), "a ragged table has no one row length");
  return columns_;
}

Size DeviceTable::at(Size position) const {
  RETILE_ASSERT(position >= 0 && position < size(), "a position lies inside its table");
  if (const IotaChain* iota = chain()) return iota->at(position);
  return std::get<std::vector<Size>>(entries_)[static_cast<std::size_t>(position)];
}

std::vector<Size> DeviceTable::entries() const {
  if (const IotaChain* iota = chain()) return iota->list();
  return std::get<std::vector<Size>>(entries_);
}

std::vector<std::vector<Size>> DeviceTable::to_rows() const {
  const std::vector<Size> all = entries();
  std::vector<std::vector<Size>> out;
  auto next = all.begin();
  for (Size row = 0; row < row_count_; ++row) {
    const Size length = ragged() ? row_lengths_[static_cast<std::size_t>(row)] : columns_;
    out.emplace_back(next, next + length);
    next += length;
  }
  return out;
}

}  // namespace retile
