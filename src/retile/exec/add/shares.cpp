#include "retile/exec/add/shares.h"

#include <algorithm>

namespace retile::add {

std::vector<std::vector<Share>> shares_of(const Sums& sums, Size element_bytes) {
  constexpr Size line_bytes = 64;
  const Size unit = std::max<Size>(line_bytes / element_bytes, 1);
  std::vector<std::vector<Share>> out(static_cast<std::size_t>(sums.devices));
  for (std::size_t k = 0; k < sums.boxes.size(); ++k) {
    const SumBox& box = sums.boxes[k];
    Size elements = 1;
    for (const Size extent : box.shape) elements *= extent;
    const auto parts = static_cast<Size>(box.targets.size());
    // So many units that the last one who gets some may get fewer.
    const Size units = (elements + unit - 1) / unit;
    Size begin = 0;
    for (Size part = 0; part < parts; ++part) {
      const Size more = units / parts + (part < units % parts ? 1 : 0);
      const Size end = std::min(elements, begin + more * unit);
      const auto owner =
          static_cast<std::size_t>(box.targets[static_cast<std::size_t>(part)].device);
      if (begin < end) out[owner].push_back({k, begin, end});
      begin = end;
    }
  }
  return out;
}

Size received_bytes(const Sums& sums, Size process, Size element_bytes) {
  Size elements = 0;
  const auto shares = shares_of(sums, element_bytes);
  for (std::size_t owner = 0; owner < shares.size(); ++owner) {
    const bool own = static_cast<Size>(owner) == process;
    for (const Share& share : shares[owner]) {
      const SumBox& box = sums.boxes[share.box];
      const auto gets = [&](bool counts) { elements += counts ? share.end - share.begin : 0; };
      for (const Term& term : box.terms) {
        gets(own && term.is_element() && term.device != process);
      }
      for (const Term& target : box.targets) gets(!own && target.device == process);
    }
  }
  return elements * element_bytes;
}

}  // namespace retile::add
