// Steps that make both programs of a pair smaller at once.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "retile/whole/pair.h"

namespace retile::whole {
namespace {

using PairMoves = std::vector<Move<DraftPair>>;

/// Operations that do the same to all elements of a dimension, however long it is.
bool is_alike_at_all_extents(std::string_view opcode) {
  constexpr std::array<std::string_view, 17> moved = {"parameter",
                                                      "tuple",
                                                      "get-tuple-element",
                                                      "copy",
                                                      "broadcast",
                                                      "transpose",
                                                      "reduce",
                                                      "dot",
                                                      "convert",
                                                      "all-reduce",
                                                      "all-gather",
                                                      "all-to-all",
                                                      "reduce-scatter",
                                                      "collective-permute",
                                                      "collective-broadcast",
                                                      "select",
                                                      "reshape"};
  constexpr std::array<std::string_view, 26> by_element = {
      "add",      "subtract", "multiply", "divide",  "negate", "exponential", "tanh",
      "abs",      "maximum",  "minimum",  "compare", "and",    "or",          "not",
      "xor",      "log",      "sqrt",     "rsqrt",   "power",  "sine",        "cosine",
      "logistic", "floor",    "ceil",     "sign",    "clamp"};
  return std::find(moved.begin(), moved.end(), opcode) != moved.end() ||
         std::find(by_element.begin(), by_element.end(), opcode) != by_element.end();
}

/// Whether nothing in it looks at single indices. Constants without dimensions are the same everywhere.
bool has_free_extents(const Draft& draft) {
  const auto& body = draft.entry().body;
  return std::all_of(body.begin(), body.end(), [](const DraftInstruction& one) {
    if (one.opcode == "constant") return extents_of(one.type).empty();
    return is_alike_at_all_extents(one.opcode);
  });
}

/// What becomes of the extents after where those before become shorter: tiles are so many times shorter,
/// too, and none where they would not be as many as before.
std::optional<std::map<Size, Size>> of_tiles(const std::map<Size, Size>& before,
                                             const Draft& after) {
  std::map<Size, Size> out;
  const Size devices = after.replicas * after.partitions;
  const std::set<Size> there = extents_in(after);
  for (const auto& [from, to] : before) {
    for (Size parts = devices; parts >= 1; --parts) {
      if (from % parts != 0 || !there.contains(from / parts)) continue;
      if (to % parts != 0) return std::nullopt;
      out[from / parts] = to / parts;
    }
  }
  return out;
}

PairMoves shorter_in_both(const DraftPair& pair) {
  PairMoves out;
  if (!has_free_extents(pair.before) || !has_free_extents(pair.after)) return out;
  const std::set<Size> all = extents_in(pair.before);
  const auto add = [&](const std::map<Size, Size>& extents) {
    std::string key = "both";
    for (const auto& [from, to] : extents) key += fmt::format(" {}:{}", from, to);
    out.push_back({.key = key, .make = [extents](DraftPair& next) {
                     const auto tiles = of_tiles(extents, next.after);
                     if (!tiles) return false;
                     auto before = with_extents(next.before, extents);
                     auto after = with_extents(next.after, *tiles);
                     if (!before || !after) return false;
                     next = {*std::move(before), *std::move(after)};
                     return true;
                   }});
  };
  std::map<Size, Size> halves;
  for (const Size extent : all) {
    if (extent % 2 == 0) halves[extent] = extent / 2;
  }
  add(halves);
  for (auto at = all.rbegin(); at != all.rend(); ++at) {
    if (*at % 2 == 0) add({{*at, *at / 2}});
  }
  return out;
}

/// `copy(x)` is x; but a result that is a copy says how it lies.
PairMoves no_copies(const DraftPair& /*pair*/) {
  return {{.key = "no copies", .make = [](DraftPair& next) {
             for (Draft* draft : {&next.before, &next.after}) {
               DraftComputation& in = draft->entry();
               const std::vector<DraftInstruction> body = in.body;
               for (const DraftInstruction& one : body) {
                 if (one.opcode != "copy" || one.is_root || one.is_tuple()) continue;
                 replace_uses(in, one.name, std::string(in.find(one.name)->operands.front()));
               }
             }
             drop_unused(next);
             return true;
           }}};
}

}  // namespace

std::vector<Kind<DraftPair>> kinds_for_pairs() { return {no_copies, shorter_in_both}; }

}  // namespace retile::whole
