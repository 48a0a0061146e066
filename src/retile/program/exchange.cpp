#include "retile/program/exchange.h"

#include <algorithm>
#include <numeric>

namespace retile {

std::vector<Size> row_of(const Transfer& transfer) {
  std::vector<Size> row = {transfer.target, transfer.source};
  for (const Shape* numbers : {&transfer.target_start, &transfer.source_start, &transfer.shape}) {
    row.insert(row.end(), numbers->begin(), numbers->end());
  }
  return row;
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

}  // namespace retile
