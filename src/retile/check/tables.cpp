#include "retile/check/tables.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "retile/core/cases.h"
#include "retile/core/index.h"
#include "retile/program/apply.h"

namespace retile {
namespace {

/// Stage by stage, so that a long chain over many devices does not make anybody wait.
std::optional<std::vector<Size>> entries_of(const IotaChain& chain, const Deadline& deadline) {
  std::vector<Size> numbers = IotaChain(chain.size()).list();
  for (const IotaStage& stage : chain.stages()) {
    if (deadline.passed()) return std::nullopt;
    IotaChain single(chain.size());
    single.append(stage);
    std::vector<Size> next = single.list();
    for (Size& position : next) position = numbers[index(position)];
    numbers.swap(next);
  }
  return numbers;
}

}  // namespace

std::optional<std::vector<Size>> entries_of(const DeviceTable& table, const Deadline& deadline) {
  constexpr std::size_t few_stages = 4;
  if (deadline.passed()) return std::nullopt;
  const IotaChain* const chain = table.chain();
  if (chain == nullptr || chain->stages().size() <= few_stages) return table.entries();
  return entries_of(chain->simplified(), deadline);
}

std::optional<std::vector<Size>> pieces_kept(const KeptPieces& pieces, Size devices,
                                             const Deadline& deadline) {
  return match(
      pieces,
      [&](const DeviceTable& groups) -> std::optional<std::vector<Size>> {
        const auto members = entries_of(groups, deadline);
        if (!members) return std::nullopt;
        std::vector<Size> piece(index(devices));
        const Size n = groups.columns();
        Size position = 0;
        for (const Size member : *members) {
          piece[index(member)] = position;
          position = position + 1 == n ? 0 : position + 1;
        }
        return piece;
      },
      [&](const PartList& list) { return entries_of(list.part, deadline); });
}

std::optional<std::vector<Size>> sources_of(const Sources& sources, Size devices,
                                            const Deadline& deadline) {
  return match(
      sources, [&](const DeviceTable& table) { return entries_of(table, deadline); },
      [&](const PairList&) -> std::optional<std::vector<Size>> {
        return sources_of(sources, devices);
      });
}

SharedParts shared_parts(const ArrayOf& array_of, const std::vector<Size>& piece) {
  std::vector<std::size_t> order(array_of.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto wanted = [&](std::size_t d) { return std::pair(array_of[d], piece[d]); };
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return wanted(a) < wanted(b); });
  SharedParts out;
  out.array_of.resize(array_of.size());
  for (const std::size_t d : order) {
    if (out.parts.empty() || out.parts.back() != wanted(d)) out.parts.push_back(wanted(d));
    out.array_of[d] = static_cast<std::uint32_t>(out.parts.size() - 1);
  }
  return out;
}

}  // namespace retile
