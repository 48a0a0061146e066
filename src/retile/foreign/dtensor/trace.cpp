#include "retile/foreign/dtensor/trace.h"

#include <algorithm>
#include <array>

namespace retile::foreign::dtensor {
namespace {

struct Row {
  std::string_view name;
  std::array<std::string_view, 3> keys = {};  ///< the empty ones are none
};

/// In the order of TraceOp.
constexpr std::array<Row, 19> table = {{{"all_gather", {"group"}},
                                        {"all_to_all", {"group", "send", "receive"}},
                                        {"reduce_scatter", {"group", "reduction"}},
                                        {"all_reduce", {"group", "reduction"}},
                                        {"broadcast", {"group", "root"}},
                                        {"divide", {"divisor", "degree"}},
                                        {"power", {"degree"}},
                                        {"root", {"degree"}},
                                        {"mask"},
                                        {"rows", {"start", "length"}},
                                        {"split", {"dim"}},
                                        {"cat", {"dim"}},
                                        {"slice", {"dim", "start"}},
                                        {"pad", {"padding"}},
                                        {"reshape"},
                                        {"transpose", {"order"}},
                                        {"same"},
                                        {"zeros"},
                                        {"empty"}}};

}  // namespace

std::string_view name_of(TraceOp op) { return table[static_cast<std::size_t>(op)].name; }

std::optional<TraceOp> op_named(std::string_view name) {
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Row& row) { return row.name == name; });
  if (found == table.end()) return std::nullopt;
  return static_cast<TraceOp>(found - table.begin());
}

std::span<const std::string_view> keys_of(TraceOp op) {
  const auto& keys = table[static_cast<std::size_t>(op)].keys;
  const auto end = std::find(keys.begin(), keys.end(), std::string_view());
  return std::span(keys).first(static_cast<std::size_t>(end - keys.begin()));
}

}  // namespace retile::foreign::dtensor
