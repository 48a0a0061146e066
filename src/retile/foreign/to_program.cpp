#include "retile/foreign/to_program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "retile/core/cases.h"
#include "retile/core/index.h"
#include "retile/core/layout_facts.h"
#include "retile/core/walk.h"
#include "retile/foreign/compare.h"
#include "retile/foreign/evaluator.h"
#include "retile/foreign/grid_step.h"
#include "retile/foreign/sums.h"

namespace retile::foreign {
namespace {

constexpr Size most_bytes = Size{1} << 29;
/// More transfers than that are no Program that anybody reads.
constexpr std::size_t most_transfers = std::size_t{1} << 22;

/// The operations that each take the result of the one before, from the parameter to the result; nothing
/// where elements meet again that went apart.
std::optional<std::vector<const Operation*>> chain_of(const Function& function) {
  // What ranks did each by itself is one operation here: none of their tiles stands between steps.
  if (!function.ranks.empty()) return std::vector{&function.operations.back()};
  std::vector<const Operation*> out;
  std::vector<bool> moved(function.values.size());
  ValueId last = function.parameters.front();
  moved[last] = true;
  for (const Operation& operation : function.operations) {
    std::size_t count = 0;
    for (const ValueId value : operation.operands) {
      if (moved[value]) ++count;
    }
    if (count == 0) continue;
    if (count > 1 || operation.results.size() != 1 || !moved[last] ||
        std::find(operation.operands.begin(), operation.operands.end(), last) ==
            operation.operands.end()) {
      return std::nullopt;
    }
    last = operation.results.front();
    moved[last] = true;
    out.push_back(&operation);
  }
  if (last != function.results.front()) return std::nullopt;
  return out;
}

const Groups* groups_of(const Action& action) {
  if (const auto* gather = std::get_if<AllGather>(&action)) return &gather->groups;
  if (const auto* exchange = std::get_if<AllToAll>(&action)) return &exchange->groups;
  if (const auto* reduce = std::get_if<AllReduce>(&action)) return &reduce->groups;
  if (const auto* scatter = std::get_if<ReduceScatter>(&action)) return &scatter->groups;
  const auto* assembly = std::get_if<foreign::Assemble>(&action);
  if (assembly != nullptr && !assembly->groups.empty()) return &assembly->groups;
  return nullptr;
}

bool is_collective(const Action& action) {
  return groups_of(action) != nullptr || std::holds_alternative<CollectivePermute>(action);
}

bool are_same(const Tiles& a, const Tiles& b) {
  if (a.extents != b.extents) return false;
  for (std::size_t d = 0; d < a.blocks.size(); ++d) {
    if (a.blocks[d] != b.blocks[d] && a.blocks[d]->tags() != b.blocks[d]->tags()) return false;
  }
  return true;
}

/// Whether an action makes these tiles of those, whose extents fit it.
bool action_makes(const Action& action, const Layout& from, const Tiles& before,
                  const Tiles& after) {
  Function function;
  function.devices = from.devices();
  // A step of a Program counts exactly how often an addend is there, whatever the elements are.
  for (const Tiles* tiles : {&before, &after}) {
    function.values.push_back({.name = "", .type = {"f32", tiles->extents}, .place = {}});
  }
  function.operations = {
      {.action = action, .name = "", .place = {}, .operands = {0}, .results = {1}}};
  Evaluator evaluator(function, from, most_bytes);
  evaluator.set(0, {.content = Content::tags, .blocks = before.blocks});
  evaluator.set(1, {.content = Content::tags, .blocks = {}});
  evaluator.apply(function.operations.front());
  return are_same({after.extents, evaluator.at(1).blocks}, after);
}

/// An action on tiles, and the step that it is.
struct Candidate {
  Action action;
  Op op;
};

class Writer {
 public:
  Writer(const Function& function, const Layout& from, const Layout& to)
      : function_(function),
        from_(from),
        to_(to),
        addition_(addition_of(from, to)),
        kind_(element_kind(function.values[function.results.front()].type.element)),
        evaluator_(function, from, most_bytes) {
    program_.devices = function.devices;
    program_.numbers = DeviceNumbers(function.ranks);
    program_.from = from;
    program_.to = to;
  }

  Program program() {
    const auto chain = chain_of(function_);
    const Traits ends = traits_of(program_);
    const bool stepwise = chain && ends.alike && !ends.addition && from_.rank() > 0;
    std::map<ValueId, Tiles> seen;
    for (const Operation& operation : function_.operations) {
      evaluator_.apply(operation);
      for (const ValueId value : operation.results) {
        seen[value] = {function_.values[value].type.extents, evaluator_.at(value).blocks};
      }
    }
    tiles_ = seen[function_.parameters.front()];
    if (stepwise) write_steps(*chain, seen);
    const Tiles& end = stepwise ? tiles_ : seen[function_.results.front()];
    if (!stepwise) add_exchange(end, true);
    return std::move(program_);
  }

 private:
  /// Whether tiles can stand between steps: of the array's rank, and of elements alone.
  [[nodiscard]] bool is_state(const Tiles& tiles) const {
    if (tiles.extents.size() != from_.rank()) return false;
    std::vector<const Cells*> seen;
    for (const Block& block : tiles.blocks) {
      if (!seen.empty() && seen.back() == block.get()) continue;
      seen.push_back(block.get());
      if (!block->are_tags() || block->tags().empty()) return false;
      for (const Tag tag : block->tags()) {
        if (!Sums::is_atom(tag)) return false;
      }
    }
    return true;
  }

  /// Step by step: up to the second collective from here, the first value that a step makes of the tiles
  /// so far. Where there is none an exchange makes the last value before the first collective, which
  /// costs nothing; else the last one that can stand between steps.
  void write_steps(const std::vector<const Operation*>& chain,
                   const std::map<ValueId, Tiles>& seen) {
    std::size_t k = 0;
    while (k < chain.size()) {
      std::size_t next = chain.size();  // behind the last state before a second collective
      std::size_t local = 0;            // behind the last state before the first one
      std::size_t collectives = 0;
      bool found = false;
      const Operation* collective = nullptr;
      for (std::size_t j = k; j < chain.size() && !found; ++j) {
        if (is_collective(chain[j]->action)) {
          if (++collectives > 1 && next != chain.size()) break;
          collective = chain[j];
        }
        const Tiles& tiles = seen.at(chain[j]->results.front());
        if (!is_state(tiles)) continue;
        next = j + 1;
        if (collectives == 0) local = next;
        if (are_same(tiles_, tiles)) {
          found = true;
        } else if (collectives <= 1) {
          found = add_step(collective, tiles);
        }
      }
      if (!found && local > 0) next = local;
      const bool at_end = next == chain.size();
      const Tiles& tiles = seen.at(chain[next - 1]->results.front());
      if (!found) add_exchange(tiles, at_end);
      tiles_ = tiles;
      k = next;
    }
  }

  /// A step that makes these tiles, with the groups of the collective; without one, slices.
  bool add_step(const Operation* collective, const Tiles& after) {
    if (collective == nullptr) return add_slices(after);
    std::optional<Op> made;
    for (Candidate& candidate : candidates(*collective, after.extents)) {
      if (!made && action_makes(candidate.action, from_, tiles_, after))
        made = std::move(candidate.op);
    }
    const Groups* groups = groups_of(collective->action);
    if (!made && groups != nullptr) made = grid_step(*groups, tiles_, after);
    if (!made) return false;
    program_.steps.push_back(
        {.op = *std::move(made), .claims = {.tile = after.extents, .map = {}, .at = {}}});
    return true;
  }
  /// What may make tiles of these extents.
  [[nodiscard]] std::vector<Candidate> candidates(const Operation& collective,
                                                  const Shape& extents) const {
    if (const auto* permute = std::get_if<CollectivePermute>(&collective.action)) {
      return tiles_.extents == extents ? permutation(*permute) : std::vector<Candidate>();
    }
    const Groups& groups = *groups_of(collective.action);
    const DeviceTable table = DeviceTable::rows(groups);
    const Size n = static_cast<Size>(groups.front().size());
    std::vector<Candidate> out;
    const std::size_t rank = tiles_.extents.size();
    for (std::size_t i = 0; i < rank; ++i) {
      Shape gathered = tiles_.extents;
      gathered[i] *= n;
      if (gathered == extents) out.push_back({AllGather{i, groups}, Allgather{i, table}});
      for (std::size_t j = 0; j < rank; ++j) {
        if (tiles_.extents[j] % n != 0) continue;
        Shape moved = tiles_.extents;
        moved[j] /= n;
        moved[i] *= n;
        if (moved == extents) out.push_back({AllToAll{j, i, groups}, Alltoall{j, i, table}});
      }
    }
    return out;
  }
  /// Where all devices are targets, once each.
  [[nodiscard]] std::vector<Candidate> permutation(const CollectivePermute& permute) const {
    std::vector<Size> source(index(function_.devices), -1);
    std::vector<bool> used(source.size());
    for (const auto& [from, to] : permute.pairs) {
      if (used[index(from)]) return {};
      used[index(from)] = true;
      source[index(to)] = from;
    }
    if (std::find(source.begin(), source.end(), -1) != source.end()) return {};
    return {{permute, Allpermute{DeviceTable::list(source)}}};
  }
  /// A slice for each dimension that is cut: where a device's piece lies, its first element says.
  bool add_slices(const Tiles& after) {
    const std::size_t rank = after.extents.size();
    for (std::size_t i = 0; i < rank; ++i) {
      if (after.extents[i] < 1 || tiles_.extents[i] % after.extents[i] != 0) return false;
    }
    TakeBox take;
    for (std::size_t d = 0; d < after.blocks.size(); ++d) {
      const auto& tags = tiles_.blocks[d]->tags();
      const auto first = std::find(tags.begin(), tags.end(), after.blocks[d]->tags().front());
      if (first == tags.end()) return false;
      take.starts.push_back(index_of(static_cast<Size>(first - tags.begin()), tiles_.extents));
      for (std::size_t i = 0; i < rank; ++i) {
        if (take.starts.back()[i] % after.extents[i] != 0) return false;
      }
    }
    if (!action_makes(take, from_, tiles_, after)) return false;
    for (Step& step : slices(take.starts, after.extents)) program_.steps.push_back(std::move(step));
    return true;
  }
  /// The slices that cut the tiles to pieces that start there.
  [[nodiscard]] std::vector<Step> slices(const std::vector<Shape>& starts,
                                         const Shape& pieces) const {
    std::vector<Step> out;
    Shape cut = tiles_.extents;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i] == cut[i]) continue;
      std::vector<Size> part;
      for (const Shape& start : starts) part.push_back(start[i] / pieces[i]);
      const Size parts = cut[i] / pieces[i];
      cut[i] = pieces[i];
      out.push_back({.op = Dynslice{.dim = i, .pieces = PartList{parts, DeviceTable::list(part)}},
                     .claims = {.tile = cut, .map = {}, .at = {}}});
    }
    return out;
  }

  // Exchanges.

  /// Where a device holds an element.
  struct Holder {
    Size device = 0;
    Size offset = 0;
  };
  /// Who holds which atom of the tiles so far: the first one, and for every device its own.
  void index_holders() {
    first_.clear();
    own_.assign(index(function_.devices), {});
    for (Size d = 0; d < function_.devices; ++d) {
      const auto& tags = tiles_.blocks[index(d)]->tags();
      for (std::size_t k = 0; k < tags.size(); ++k) {
        if (!Sums::is_atom(tags[k])) continue;
        const Holder holder{d, static_cast<Size>(k)};
        first_.try_emplace(tags[k], holder);
        own_[index(d)].try_emplace(tags[k], holder);
      }
    }
  }
  [[nodiscard]] std::optional<Holder> holder_of(Tag atom, Size device) const {
    const auto& own = own_[index(device)];
    if (const auto found = own.find(atom); found != own.end()) return found->second;
    if (const auto found = first_.find(atom); found != first_.end()) return found->second;
    return std::nullopt;
  }

  /// One exchange from the tiles so far to these. At the end only what lies in the boxes of `to` counts.
  void add_exchange(const Tiles& after, bool at_end) {
    index_holders();
    Step step;
    Exchange exchange;
    const bool to_boxes = at_end && after.extents == to_.tile();
    std::optional<std::vector<Size>> each = to_boxes ? to_.extents() : std::nullopt;
    const std::size_t rank = after.extents.size();
    for (Size d = 0; d < function_.devices; ++d) {
      Shape extents = after.extents;
      for (std::size_t k = 0; each && k < rank; ++k) extents[k] = (*each)[index(d) * rank + k];
      write_tile(after, d, extents, exchange);
    }
    exchange.add = addition_;
    step.claims.shapes = std::move(each);
    if (!step.claims.shapes) step.claims.tile = after.extents;
    step.op = std::move(exchange);
    program_.steps.push_back(std::move(step));
  }
  /// A place in a new tile, and what goes there.
  struct Need {
    Holder holder;
    bool done = true;
  };
  /// Boxes of one device's new tile: each as long as can be along the last dimension, then along those
  /// before it. A sum is written term by term.
  void write_tile(const Tiles& after, Size device, const Shape& extents, Exchange& exchange) {
    std::vector<std::vector<Need>> layers;  // term by term
    const Size count = checked_product(extents).value_or(0);
    const Shape in_tile = strides_of(after.extents);
    for (Size k = 0; k < count; ++k) {
      Size rest = k;
      Size offset = 0;
      for (std::size_t i = extents.size(); i-- > 0; rest /= extents[i]) {
        offset += rest % extents[i] * in_tile[i];
      }
      std::size_t layer = 0;
      const Tag tag = after.blocks[index(device)]->tags()[index(offset)];
      const Sums& sums = evaluator_.sums();
      if (sums.adds_otherwise(addition_.value_or(Addition::sum), kind_, tag) ||
          sums.parts(tag) != 1)
        continue;
      for (const Term& term : sums.terms(tag)) {
        const auto holder = holder_of(term.atom, device);
        const auto times = std::min<std::uint64_t>(term.count(), 64);
        for (std::uint64_t copy = 0; holder && copy < times; ++copy) {
          if (layers.size() <= layer) layers.emplace_back(index(count));
          layers[layer++][index(k)] = {*holder, false};
        }
      }
    }
    for (auto& layer : layers) write_layer(layer, device, extents, exchange);
  }
  void write_layer(std::vector<Need>& needs, Size device, const Shape& extents,
                   Exchange& exchange) const {
    const Shape strides = strides_of(extents);
    const Shape source = strides_of(tiles_.extents);
    for (std::size_t k = 0; k < needs.size(); ++k) {
      if (needs[k].done) continue;
      const Holder holder = needs[k].holder;
      Transfer transfer{.target = device,
                        .source = holder.device,
                        .target_start = index_of(static_cast<Size>(k), extents),
                        .source_start = index_of(holder.offset, tiles_.extents),
                        .shape = Shape(extents.size(), 1)};
      for (std::size_t i = extents.size(); i-- > 0;) {
        while (transfer.target_start[i] + transfer.shape[i] < extents[i] &&
               transfer.source_start[i] + transfer.shape[i] < tiles_.extents[i] &&
               continues(needs, k, transfer, i, strides, source)) {
          ++transfer.shape[i];
        }
      }
      for_box(transfer.shape, [&](const Shape& at) {
        needs[index(static_cast<Size>(k) + offset_of(at, strides))].done = true;
        return true;
      });
      if (exchange.transfers.size() >= most_transfers) {
        throw LimitReached{"the exchange has more than 2^22 transfers"};
      }
      exchange.transfers.push_back(std::move(transfer));
    }
  }
  /// Whether the box can be one longer in dimension i.
  static bool continues(const std::vector<Need>& needs, std::size_t begin, const Transfer& transfer,
                        std::size_t i, const Shape& strides, const Shape& source) {
    const Holder& first = needs[begin].holder;
    Shape slab = transfer.shape;
    const Size ahead = slab[i];
    slab[i] = 1;
    return for_box(slab, [&](Shape at) {
      at[i] += ahead;
      const Need& need = needs[begin + index(offset_of(at, strides))];
      return !need.done && need.holder.device == first.device &&
             need.holder.offset == first.offset + offset_of(at, source);
    });
  }

  const Function& function_;
  const Layout& from_;
  const Layout& to_;
  std::optional<Addition> addition_;
  ElementKind kind_;
  Evaluator evaluator_;
  Program program_;
  Tiles tiles_;  ///< after the steps so far
  std::map<Tag, Holder> first_;
  std::vector<std::map<Tag, Holder>> own_;
};

}  // namespace

namespace {

/// That ranks end with tiles of the shapes of the end: a Program has no word for others.
Result<void> check_tiles(const Function& function, const Layout& to) {
  const Value& result = function.values[function.results.front()];
  const auto rank = other_tile(result, to);
  if (!rank) return {};
  return refuse({.code = Code::unsupported,
                 .message = fmt::format(
                     "rank {} ends with a tile {}, but its tile of the end is {}",
                     function.ranks[index(*rank)], fmt::join(result.tiles[index(*rank)], ","),
                     fmt::join(to.box(*rank).extent, ",")),
                 .notes = {"that is wrong, and no Program says it"}});
}

/// That what is added is added as it is: steps of a Program do nothing else.
Result<void> check_additions(const Function& function) {
  const auto divides = [](const Operation& operation) {
    const auto* reduce = std::get_if<AllReduce>(&operation.action);
    const auto* scatter = std::get_if<ReduceScatter>(&operation.action);
    return (reduce != nullptr && reduce->divisor != 1) ||
           (scatter != nullptr && scatter->divisor != 1);
  };
  const auto is_average = [](const std::optional<WrittenEnd>& end) {
    return end && end->divisor != 1;
  };
  const auto& operations = function.operations;
  if (is_average(function.from) || is_average(function.to) ||
      std::any_of(operations.begin(), operations.end(), divides)) {
    return refuse(
        {.code = Code::unsupported, .message = "steps of a Program divide nothing: this does"});
  }
  if (!function.prepares_addends) return {};
  return refuse({.code = Code::unsupported,
                 .message = "steps of a Program add what there is: here powers are added, or rows "
                            "that a mask leaves"});
}

}  // namespace

Result<Program> to_program(const Function& function, const Layout& from, const Layout& to) {
  if (auto fits = check_tiles(function, to); !fits) return refuse(std::move(fits.error()));
  if (auto plain = check_additions(function); !plain) return refuse(std::move(plain.error()));
  try {
    const auto atoms = checked_mul(from.global_size(), from.addend_count());
    if (!atoms || *atoms > Sums::first) throw LimitReached{"the array has more than 2^30 elements"};
    return Writer(function, from, to).program();
  } catch (const LimitReached& limit) {
    return refuse({.code = Code::limit_reached, .message = limit.what});
  }
}

}  // namespace retile::foreign
