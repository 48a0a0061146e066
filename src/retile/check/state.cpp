#include "retile/check/state.h"

#include "retile/check/digit_weights.h"

namespace retile {
namespace {

Columns columns_of(const Layout& map) {
  if (const auto weights = DigitWeights::of(map)) return weights->columns();
  return columns_of_rows(map.devices(), map.rank(), map.base_offsets());
}

}  // namespace

Columns columns_of_rows(Size devices, std::size_t rank, const std::vector<Size>& rows) {
  Columns columns(rank, std::vector<Size>(index(devices)));
  for (std::size_t d = 0; d < index(devices); ++d) {
    for (std::size_t k = 0; k < rank; ++k) columns[k][d] = rows[d * rank + k];
  }
  return columns;
}

std::optional<Witness> State::difference(const Layout& expected) const {
  return difference(columns_of(expected));
}

}  // namespace retile
