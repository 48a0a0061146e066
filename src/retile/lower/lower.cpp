// Lowering plans to Programs. See lower.h.
//
// The running tile map says for every position v of its order which tile device order(v) holds. A
// group of an allgather or alltoall is a set of positions that differ in the popped digits only; so
// the table is the order followed by one transposition that puts those digits last, and the members
// come out in the order of the digits' value.
#include "retile/lower/lower.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/cases.h"
#include "retile/core/digits.h"
#include "retile/core/layout_facts.h"
#include "retile/core/pop_each.h"
#include "retile/exec/exchange/direct.h"
#include "retile/plan/nesting.h"
#include "retile/program/op_facts.h"

namespace retile {

namespace {

/// `order` followed by the transposition that makes `last` (minor to major) the minor-most digits,
/// value kept.
IotaChain with_minor(const IotaChain& order, const std::vector<Digit>& last) {
  const std::vector<Digit> atoms = common_factors(order.size(), last).value();  // of one map
  IotaStage stage;
  for (std::size_t k = 0; k < atoms.size(); ++k) {
    stage.shape.push_back(atoms[k].size);
    if (std::find(last.begin(), last.end(), atoms[k]) == last.end()) stage.transpose.push_back(k);
  }
  for (auto digit = last.rbegin(); digit != last.rend(); ++digit) {
    stage.transpose.push_back(
        static_cast<std::size_t>(std::find(atoms.begin(), atoms.end(), *digit) - atoms.begin()));
  }
  IotaChain out = order;
  out.append(std::move(stage));
  return out.simplified();
}

DeviceTable groups_of(const IotaChain& order, const std::vector<Digit>& digits) {
  Size n = 1;
  for (const Digit& digit : digits) n *= digit.size;
  return DeviceTable::iota(with_minor(order, digits), n);
}

// ---- The permutation ----------------------------------------------------------------------------

/// Numbers (tile, replica) to devices: the last dimension slowest, replicas fastest, in the order
/// of `replicas` (minor to major). Any order of tiles would do, as long as both maps use the same.
IotaChain by_tile(const Layout& map, const std::vector<Digit>& replicas) {
  std::vector<Digit> minor_to_major = replicas;
  for (const auto& list : map.digits())
    minor_to_major.insert(minor_to_major.end(), list.begin(), list.end());
  return with_minor(map.order(), minor_to_major);
}

/// A place in a tile number: the part of dimension `dim` that starts at `reach` tiles.
using Slot = std::pair<std::size_t, Size>;

/// The device number cut finely enough that both maps use whole atoms in equal slots; nothing when
/// the cuts do not nest.
class Alignment {
 public:
  static std::optional<Alignment> make(const Layout& before, const Layout& after) {
    Alignment out;
    if (!before.is_compact() || !after.is_compact()) return std::nullopt;
    out.cuts_ = {1, before.devices()};
    for (const Layout* map : {&before, &after}) {
      for (const auto& list : map->digits()) {
        for (const Digit& digit : list) {
          out.cuts_.push_back(digit.stride);
          out.cuts_.push_back(digit.stride * digit.size);
        }
      }
    }
    // Cutting one map's slots may cut a device digit, and that the other map's slots; cuts only
    // grow, so this ends.
    while (true) {
      if (!out.settle_cuts()) return std::nullopt;
      const std::size_t known = out.cuts_.size();
      for (std::size_t i = 0; i < before.rank(); ++i) {
        const auto a = out.atoms(before.digits()[i]);
        const auto b = out.atoms(after.digits()[i]);
        // Atoms are looked up among cuts in order.
        if (!out.cut_like(a, b) || !out.cut_like(b, a) || !out.settle_cuts()) return std::nullopt;
      }
      if (out.cuts_.size() == known) return out;
    }
  }

  /// Replicas of both maps in matching order: where a chain of "this slot before, that slot after"
  /// joins an atom unused before to one unused after, both get the same place. Then a device that
  /// holds its new tile already keeps it.
  [[nodiscard]] std::pair<std::vector<Digit>, std::vector<Digit>> replicas(
      const Layout& before, const Layout& after) const {
    const auto slots_before = slots(before);
    const auto slots_after = slots(after);
    std::map<Slot, Digit> atom_before;
    for (const auto& [stride, slot] : slots_before) atom_before[slot.first] = slot.second;
    std::vector<Digit> first;
    std::vector<Digit> second;
    for (std::size_t k = 0; k + 1 < cuts_.size(); ++k) {
      const Digit unused_before{cuts_[k], cuts_[k + 1] / cuts_[k]};
      if (slots_before.count(unused_before.stride) != 0) continue;
      Digit atom = unused_before;
      for (auto slot = slots_after.find(atom.stride); slot != slots_after.end();
           slot = slots_after.find(atom.stride)) {
        atom = atom_before.at(slot->second.first);
      }
      first.push_back(unused_before);
      second.push_back(atom);
    }
    return {first, second};
  }

 private:
  bool settle_cuts() {
    std::sort(cuts_.begin(), cuts_.end());
    cuts_.erase(std::unique(cuts_.begin(), cuts_.end()), cuts_.end());
    for (std::size_t k = 1; k < cuts_.size(); ++k) {
      if (cuts_[k] % cuts_[k - 1] != 0) return false;
    }
    return true;
  }

  /// The digits cut at all cuts, minor to major.
  [[nodiscard]] std::vector<Digit> atoms(const std::vector<Digit>& digits) const {
    std::vector<Digit> out;
    for (const Digit& digit : digits) {
      auto cut = std::lower_bound(cuts_.begin(), cuts_.end(), digit.stride);
      for (; *cut != digit.stride * digit.size; ++cut) {
        RETILE_ASSERT(cut + 1 != cuts_.end(), "a digit ends at a cut");
        out.push_back({*cut, *(cut + 1) / *cut});
      }
    }
    return out;
  }

  /// Cuts `list` (by adding device cuts) wherever `other` has a slot boundary; false when a
  /// boundary does not nest.
  bool cut_like(const std::vector<Digit>& list, const std::vector<Digit>& other) {
    Size boundary = 1;
    for (const Digit& digit : other) {
      boundary *= digit.size;
      Size reach = 1;
      for (const Digit& mine : list) {
        if (boundary > reach && boundary < reach * mine.size) {
          if (boundary % reach != 0 || mine.size % (boundary / reach) != 0) return false;
          cuts_.push_back(mine.stride * (boundary / reach));
        }
        reach *= mine.size;
      }
    }
    return true;
  }

  /// Atom (by its stride) to its slot and itself.
  [[nodiscard]] std::map<Size, std::pair<Slot, Digit>> slots(const Layout& map) const {
    std::map<Size, std::pair<Slot, Digit>> out;
    for (std::size_t i = 0; i < map.rank(); ++i) {
      Size reach = 1;
      for (const Digit& atom : atoms(map.digits()[i])) {
        out[atom.stride] = {{i, reach}, atom};
        reach *= atom.size;
      }
    }
    return out;
  }

  std::vector<Size> cuts_;  // strides at which atoms begin, ascending, and the number of devices
};

/// source[d] for f' = f o source: the device that holds, before, the tile that d holds after. With
/// addends as the last dimension these count as tiles: addend k after is addend k before.
DeviceTable source_of(const Layout& before, const Layout& after) {
  const auto minor_to_major = [](std::vector<Digit> digits) {
    std::reverse(digits.begin(), digits.end());
    return digits;
  };
  std::vector<Digit> replicas_before = minor_to_major(before.unused());
  std::vector<Digit> replicas_after = minor_to_major(after.unused());
  if (const auto alignment = Alignment::make(before, after)) {
    std::tie(replicas_before, replicas_after) = alignment->replicas(before, after);
  }
  const IotaChain from = by_tile(before, replicas_before);
  const IotaChain to = by_tile(after, replicas_after);
  return DeviceTable::iota(compose(from, to.inverse()).simplified(), before.devices());
}

/// \param addition  of a map with addends as its last dimension
Claims claims_of(const Layout& map, std::optional<Addition> addition) {
  Claims claims;
  claims.tile = map.tile();
  if (map.is_compact()) claims.map = addition ? map.unstacked(*addition) : map;
  if (addition) claims.tile->pop_back();
  return claims;
}

// ---- Renamed devices ----------------------------------------------------------------------------

/// The table with device p called device_at.at(p).
DeviceTable renamed(const DeviceTable& table, const DeviceTable& device_at) {
  RETILE_ASSERT(table.chain() != nullptr, "lowering writes chains");
  if (const IotaChain* names = device_at.chain()) {
    return DeviceTable::iota(compose(*names, *table.chain()).simplified(), table.columns());
  }
  std::vector<std::vector<Size>> rows = table.to_rows();
  for (std::vector<Size>& row : rows) {
    for (Size& device : row) device = device_at.at(device);
  }
  return DeviceTable::rows(std::move(rows));
}

/// A source list says it for device number d at place d, so both are renamed.
DeviceTable renamed_sources(const DeviceTable& table, const DeviceTable& device_at) {
  RETILE_ASSERT(table.chain() != nullptr, "lowering writes chains");
  if (const IotaChain* names = device_at.chain()) {
    const IotaChain sources = compose(*table.chain(), names->inverse());
    return DeviceTable::iota(compose(*names, sources).simplified(), table.columns());
  }
  std::vector<Size> sources(static_cast<std::size_t>(table.size()));
  for (Size p = 0; p < table.size(); ++p) {
    sources[static_cast<std::size_t>(device_at.at(p))] = device_at.at(table.at(p));
  }
  return DeviceTable::list(std::move(sources));
}

Op renamed(Op op, const DeviceTable& device_at) {
  const OpFacts facts = facts_of(op);
  RETILE_ASSERT(facts.transfers == nullptr, "plans have no exchanges");
  RETILE_ASSERT(!facts.spreads(), "plans make no addends");
  const Cases rename{
      [&](DeviceTable& groups) { groups = renamed(groups, device_at); },
      [&](KeptPieces& pieces) { pieces = renamed(std::get<DeviceTable>(pieces), device_at); },
      [&](Sources& sources) {
        sources = renamed_sources(std::get<DeviceTable>(sources), device_at);
      },
      [](const auto& /*names no devices*/) {}};
  each_field(op, [&rename](std::string_view /*key*/, auto& value) { rename(value); });
  return op;
}

/// Calls device p device_at.at(p).
void rename(Program& program, const DeviceTable& device_at) {
  program.from = program.from.placed(device_at, program.devices);
  program.to = program.to.placed(device_at, program.devices);
  for (Step& step : program.steps) {
    step.op = renamed(step.op, device_at);
    if (!step.claims.map) continue;
    Layout map = step.claims.map->placed(device_at, program.devices);
    step.claims.map.reset();
    if (map.is_compact()) {
      step.claims.map = std::move(map);
      continue;
    }
    Layout::Rows rows = map.rows();
    step.claims.at = std::move(rows.at);
    step.claims.shapes = std::move(rows.extents);
  }
}

// ---- Slices that mix ----------------------------------------------------------------------------

/// The device with number p where the place of a digit of addends stands for a sum (Twist).
DeviceTable untwisted(const Plan& plan) {
  std::vector<Size> device_at(static_cast<std::size_t>(plan.problem.from.devices()));
  for (std::size_t p = 0; p < device_at.size(); ++p) {
    Size device = static_cast<Size>(p);
    for (const auto& [sliced, addend] : plan.twists) {
      const Size n = addend.size;
      const Size sum = static_cast<Size>(p) / addend.stride % n;
      const Size part = static_cast<Size>(p) / sliced.stride % n;
      device += ((sum - part + n) % n - sum) * addend.stride;
    }
    device_at[p] = device;
  }
  return DeviceTable::list(std::move(device_at));
}

/// The groups of a slice: devices that differ in its digits alone, in the order of what these and,
/// where they mix, the digits of addends say.
DeviceTable mixed_groups(const Plan& plan, const PlanStep& step) {
  std::map<Size, std::map<Size, Size>> rows;  // by the other digits, by position
  for (Size d = 0; d < plan.problem.from.devices(); ++d) {
    Size others = d;
    Size position = 0;
    Size weight = 1;
    for (const Digit& digit : step.digits) {
      Size value = d / digit.stride % digit.size;
      others -= value * digit.stride;
      for (const auto& [sliced, addend] : plan.twists) {
        if (sliced == digit) value = (value + d / addend.stride) % digit.size;
      }
      position += weight * value;
      weight *= digit.size;
    }
    rows[others][position] = d;
  }
  std::vector<std::vector<Size>> out;
  for (const auto& [others, row] : rows) {
    out.emplace_back();
    for (const auto& [position, device] : row) out.back().push_back(device);
  }
  return DeviceTable::rows(std::move(out));
}

/// Of steps between the ends of an even problem makes the same steps on what lies in the array of every
/// tile (docs/ledger/statements.md, U1).
class Clipping {
 public:
  Clipping(const Problem& even, const Problem& ends) : before_(even.from.tile()) {
    for (std::size_t i = 0; i < before_.size(); ++i) {
      auto nesting = Nesting::make(ends.from.cuts()[i], ends.to.cuts()[i]);
      RETILE_ASSERT(nesting.has_value(), "planned over what nests");
      dims_.push_back({*std::move(nesting), even.from.global()[i]});
    }
  }

  /// Whether a step does that; if not, it is left as it is in part.
  [[nodiscard]] bool clip(Step& step) {
    const Shape tile = *step.claims.tile;
    const auto cut = [&](std::size_t dim, std::optional<PieceSize>& piece) {
      const auto pieces = dims_[dim].nesting.pieces(dims_[dim].filled / before_[dim],
                                                    dims_[dim].filled / tile[dim]);
      if (pieces) piece = pieces->size;
      return pieces.has_value();
    };
    const OpFacts facts = facts_of(step.op);
    bool done = true;
    if (facts.is_plain() && !facts.cuts.empty()) {
      const std::size_t dim = facts.cuts.front();
      const Cases say{[&](std::optional<PieceSize>& piece) { done = cut(dim, piece); },
                      [](const auto& /*no size of a piece*/) {}};
      each_field(step.op, [&say](std::string_view /*key*/, auto& value) { say(value); });
    }
    if (!done) return false;
    std::vector<Cuts> cuts;
    Claims claims;
    claims.tile.emplace();
    for (std::size_t i = 0; i < tile.size(); ++i) {
      auto now = dims_[i].nesting.cuts(dims_[i].filled / tile[i]);
      if (!now) return false;
      claims.tile->push_back(now->largest());
      cuts.push_back(*std::move(now));
    }
    if (step.claims.map && step.claims.map->is_compact()) {
      const Layout& even = *step.claims.map;
      auto map = Layout::numbered(even.devices(), std::move(cuts), even.digits());
      RETILE_ASSERT(map.has_value(), "as many tiles as the even ones");
      claims.map = *std::move(map);
    }
    step.claims = std::move(claims);
    before_ = tile;
    return true;
  }

 private:
  struct Dim {
    Nesting nesting;
    Size filled;  ///< its extent in the even problem
  };

  std::vector<Dim> dims_;
  Shape before_;  // the even tile
};

/// The steps of all legs.
Program one_after_the_other(const Plan& plan) {
  Program program = without_steps(plan.problem);
  for (const Plan& leg : plan.legs) {
    std::vector<Step> steps = lower(leg).steps;
    program.steps.insert(program.steps.end(), std::make_move_iterator(steps.begin()),
                         std::make_move_iterator(steps.end()));
  }
  return program;
}

/// How the tile map runs along a plan.
class Lowering {
 public:
  explicit Lowering(const Plan& plan)
      : plan_(plan), map_(plan.problem.from), addition_(addition_of(plan.problem.from)) {
    auto stacked = addends_as_dimension(plan.problem.from);
    RETILE_ASSERT(stacked.has_value(), "the planner stacked it, too");
    map_ = *std::move(stacked);
    if (!plan.twists.empty()) device_at_ = untwisted(plan);
  }

  Step lower(const PlanStep& step) {
    Step lowered;
    lowered.op = op_of(step);
    if (device_at_ && step.op != Collective::dynslice) {
      lowered.op = renamed(lowered.op, *device_at_);
    }
    map_.compact_in_place();
    lowered.claims = claims_of(map_, addition_);
    if (uses_sums()) lowered.claims.map.reset();
    RETILE_ASSERT(lowered.claims.tile == step.tile, "the running tile map has the plan's tiles");
    return lowered;
  }

 private:
  /// Pops what a step along several dimensions moves; digits part by part, and its groups.
  std::pair<std::vector<std::vector<Digit>>, DeviceTable> pop_parts(const PlanStep& step) {
    std::vector<std::pair<std::size_t, Size>> factors;  // the fastest digit first
    for (auto part = step.parts.rbegin(); part != step.parts.rend(); ++part) {
      factors.emplace_back(part->dim, part->factor);
    }
    std::vector<std::vector<Digit>> popped = pop_each(map_, factors);
    std::vector<Digit> digits;
    for (const auto& list : popped) digits.insert(digits.end(), list.begin(), list.end());
    std::reverse(popped.begin(), popped.end());
    return {std::move(popped), groups_of(map_.order(), digits)};
  }

  Op over_dims(const PlanStep& step) {
    auto [popped, groups] = pop_parts(step);
    std::vector<std::size_t> dims;
    std::vector<std::size_t> to_dims;
    Shape counts;
    for (std::size_t k = 0; k < step.parts.size(); ++k) {
      dims.push_back(step.parts[k].dim);
      to_dims.push_back(step.parts[k].to_dim);
      counts.push_back(step.parts[k].factor);
      if (step.op == Collective::alltoall) map_.push(step.parts[k].to_dim, popped[k]);
    }
    if (step.op == Collective::allgather) return AllgatherDims{dims, counts, std::move(groups)};
    return AlltoallDims{std::move(to_dims), std::move(dims), counts, std::move(groups)};
  }

  Op op_of(const PlanStep& step) {
    if (!step.parts.empty()) return over_dims(step);
    switch (step.op) {
      case Collective::dynslice: {
        Dynslice op{step.dim,
                    device_at_ ? mixed_groups(plan_, step) : groups_of(map_.order(), step.digits)};
        plan_.slice(map_, step);
        return op;
      }
      case Collective::alltoall: {
        const std::vector<Digit> digits = map_.pop(step.dim, step.factor);
        Alltoall op{step.to_dim, step.dim, groups_of(map_.order(), digits)};
        map_.push(step.to_dim, digits);
        return op;
      }
      case Collective::allgather: {
        const std::vector<Digit> digits = map_.pop(step.dim, step.factor);
        return Allgather{step.dim, groups_of(map_.order(), digits)};
      }
      case Collective::allpermute:
        RETILE_ASSERT(plan_.permutation.has_value(),
                      "a plan with a permutation says what it joins");
        map_ = plan_.permutation->after;
        return Allpermute{source_of(plan_.permutation->before, plan_.permutation->after)};
      case Collective::reducescatter: {
        Reducescatter op{step.dim, groups_of(map_.order(), step.digits), {}, *addition_};
        map_.pull(map_.rank() - 1, step.digits);
        map_.push(step.dim, step.digits);
        return op;
      }
      case Collective::allreduce:
        map_.pull(map_.rank() - 1, step.digits);
        return Allreduce{groups_of(map_.order(), step.digits), *addition_};
    }
    RETILE_ASSERT(false, "every collective stands above");
  }

  /// Whether the tile map has digits that stand for sums: then no claim of device numbers says it.
  [[nodiscard]] bool uses_sums() const {
    for (const Twist& twist : plan_.twists) {
      for (const auto& list : map_.digits()) {
        for (const Digit& digit : list) {
          const Size stride = twist.addend.stride;
          if (digit.stride <= stride && stride < digit.stride * digit.size) return true;
        }
      }
    }
    return false;
  }

  const Plan& plan_;
  Layout map_;
  std::optional<Addition> addition_;
  std::optional<DeviceTable> device_at_;  // where digits stand for sums
};

/// With the devices of plan.problem.
Program lowered(const Plan& plan) {
  if (!plan.legs.empty()) return one_after_the_other(plan);
  Program program = without_steps(plan.uneven ? *plan.uneven : plan.problem);
  Lowering lowering(plan);
  for (const PlanStep& step : plan.steps) program.steps.push_back(lowering.lower(step));
  if (plan.uneven) {
    const bool is_clipped = clip_steps(program.steps, plan.problem, *plan.uneven);
    RETILE_ASSERT(is_clipped, "the planner asked whether steps do that");
  }
  return program;
}

}  // namespace

bool clip_steps(std::vector<Step>& steps, const Problem& even, const Problem& ends) {
  Clipping clipping(even, ends);
  return std::all_of(steps.begin(), steps.end(),
                     [&clipping](Step& step) { return clipping.clip(step); });
}

Program lower(const Plan& plan) {
  RETILE_ASSERT(!plan.exchange, "an exchange is made of its problem");
  Program program = lowered(plan);
  if (plan.device_at) rename(program, *plan.device_at);
  if (plan.array) program.array = {plan.array->from, plan.array->to};
  program.numbers = plan.problem.numbers;
  return program;
}

Result<Program> program_of(const Plan& plan) {
  if (plan.exchange) return direct(plan.problem);
  return lower(plan);
}

}  // namespace retile
