#include "retile/exec/add/order.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/cases.h"
#include "retile/core/index.h"
#include "retile/program/moves.h"
#include "retile/program/op_facts.h"

namespace retile::add {
namespace {

std::vector<Size> ranks_after(const Step& step, const TileShapes& before,
                              const std::vector<Size>& ranks, Size none) {
  const auto moves = moves_of(step, before);
  RETILE_ASSERT(moves.has_value(), "tile_shapes() has seen that the step can be applied");
  std::vector<Size> after(ranks.size(), none);
  for (const Transfer& transfer : moves->transfers) {
    Size& rank = after[index(transfer.target)];
    rank = std::min(rank, ranks[index(transfer.source)]);
  }
  return after;
}

}  // namespace

Result<std::optional<Adder>> adder_of(const Program& program,
                                      const std::optional<ElementType>& type,
                                      std::string_view option) {
  const auto addition = addition_of(program);
  if (!addition) return std::nullopt;
  if (!type) {
    return refuse(
        {.code = Code::unsupported,
         .message = fmt::format(
             "a Program with addends is run with elements of a known type only{}", option)});
  }
  if (*addition == Addition::stack) return std::nullopt;
  auto adder = Adder::make(*addition, *type);
  if (!adder) return tl::unexpected(adder.error());
  return *adder;
}

std::vector<std::vector<Size>> ranks_before_steps(const Program& program,
                                                  const std::vector<DeviceShapes>& shapes) {
  std::vector<std::vector<Size>> out;
  std::vector<Size> ranks;
  for (Size device = 0; device < program.devices; ++device) {
    ranks.push_back(program.from.addend(device));
  }
  const Size none = program.from.addend_count();
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    std::vector<Size> next;
    if (i + 1 < program.steps.size()) {
      next = ranks_after(program.steps[i], shapes[i].of_all(program.devices), ranks, none);
    }
    out.push_back(std::exchange(ranks, std::move(next)));
  }
  return out;
}

void put_in_order(std::vector<Transfer>& transfers, const std::vector<Size>& ranks) {
  std::stable_sort(transfers.begin(), transfers.end(), [&](const Transfer& a, const Transfer& b) {
    if (a.target != b.target) return a.target < b.target;
    return ranks[index(a.source)] < ranks[index(b.source)];
  });
}

std::optional<Manner> manner_of(const Op& op) {
  const OpFacts facts = facts_of(op);
  if (!facts.add) return std::nullopt;
  const bool boxes = facts.transfers != nullptr;
  return Manner{.clears = boxes || facts.spreads(), .copies_first = !boxes};
}

}  // namespace retile::add
