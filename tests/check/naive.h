// Explicit replay: every element of every device, one by one. For small Programs; shares no line
// with `check`.
//
// `naive_check` gives a whole verdict but for the witness. With a Fault it is a checker that
// forgets one comparison: the negative control of everything that compares verdicts.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "retile/check/check.h"
#include "retile/program/program.h"
#include "support/verdict_fields.h"

namespace naive {

using retile::Program;
using retile::Reason;
using retile::Shape;
using retile::Size;
using retile::Step;
using support::VerdictFields;

/// One array of global indices per device, local indices in C order.
struct Arrays {
  Shape tile;
  std::vector<std::vector<Shape>> held;
  friend bool operator==(const Arrays&, const Arrays&) = default;
};

inline std::size_t to_index(Size value) { return static_cast<std::size_t>(value); }

inline Size volume(const Shape& shape) {
  Size out = 1;
  for (const Size extent : shape) out *= extent;
  return out;
}

/// All local indices of a tile in C order.
inline std::vector<Shape> indices(const Shape& tile) {
  std::vector<Shape> out;
  Shape at(tile.size(), 0);
  for (Size n = 0; n < volume(tile); ++n) {
    out.push_back(at);
    for (std::size_t k = tile.size(); k-- > 0;) {
      if (++at[k] < tile[k]) break;
      at[k] = 0;
    }
  }
  return out;
}

inline Size position(const Shape& tile, const Shape& at) {
  Size out = 0;
  for (std::size_t k = 0; k < tile.size(); ++k) out = out * tile[k] + at[k];
  return out;
}

/// Claims may lie so far out that the sum wraps; it is then negative and like no global index.
inline Shape sum(Shape a, const Shape& b) {
  for (std::size_t k = 0; k < a.size(); ++k) {
    a[k] = static_cast<Size>(static_cast<std::uint64_t>(a[k]) + static_cast<std::uint64_t>(b[k]));
  }
  return a;
}

/// What the devices hold when each has the box of shape `tile` at base(d).
template <typename Base>
Arrays boxes(Size devices, const Shape& tile, const Base& base) {
  Arrays out{tile, {}};
  const auto local = indices(tile);
  for (Size d = 0; d < devices; ++d) {
    std::vector<Shape> elements;
    for (const Shape& at : local) elements.push_back(sum(base(d), at));
    out.held.push_back(std::move(elements));
  }
  return out;
}

inline Arrays boxes(const retile::Layout& map) {
  return boxes(map.devices(), map.tile(), [&map](Size d) { return map.base_offset(d); });
}

inline Arrays boxes(Size devices, const Shape& tile, const std::vector<Size>& at) {
  return boxes(devices, tile, [&](Size d) {
    const auto begin = at.begin() + static_cast<std::ptrdiff_t>(to_index(d) * tile.size());
    return Shape(begin, begin + static_cast<std::ptrdiff_t>(tile.size()));
  });
}

inline bool one_box(const std::vector<Shape>& array, const Shape& tile) {
  const auto local = indices(tile);
  for (std::size_t n = 0; n < local.size(); ++n) {
    if (array[n] != sum(array[0], local[n])) return false;
  }
  return true;
}

inline bool all_boxes(const Arrays& arrays) {
  return std::all_of(arrays.held.begin(), arrays.held.end(),
                     [&arrays](const auto& array) { return one_box(array, arrays.tile); });
}

/// A comparison that a faulty checker forgets.
enum class Fault {
  none,
  claims,            ///< believes tile and map claims
  last_dimension,    ///< does not compare global indices along the last dimension
  last_device,       ///< does not look at the last device
  order_in_groups,   ///< takes groups for sets
  repeated_devices,  ///< lets groups and permutations repeat and miss devices
  replicas,      ///< demands nothing of which tile a device holds, only that all tiles are there
  end,           ///< does not look at the end
  divisibility,  ///< drops what does not divide
  coverage,      ///< lets transfers write an element twice, or never
};

inline bool covers(const std::vector<std::vector<Size>>& rows, Size devices) {
  std::multiset<Size> seen;
  for (const auto& row : rows) seen.insert(row.begin(), row.end());
  std::multiset<Size> all;
  for (Size d = 0; d < devices; ++d) all.insert(d);
  return seen == all;
}

inline constexpr std::array<Fault, 9> all_faults = {
    Fault::claims,           Fault::last_dimension, Fault::last_device, Fault::order_in_groups,
    Fault::repeated_devices, Fault::replicas,       Fault::end,         Fault::divisibility,
    Fault::coverage};

/// Every device's array after a step, or why it cannot be applied.
struct Applied {
  std::optional<Arrays> arrays;
  Reason reason{};
};

inline Applied apply(const Step& step, const Arrays& before, Size devices,
                     Fault fault = Fault::none) {
  if (const auto* permute = std::get_if<retile::Allpermute>(&step.op)) {
    std::vector<Size> source(to_index(devices));
    for (Size d = 0; d < devices; ++d) source[to_index(d)] = d;
    bool bijection = true;
    if (const auto* pairs = std::get_if<retile::PairList>(&permute->source)) {
      std::set<Size> from;
      std::set<Size> to;
      for (const auto& [s, t] : *pairs) {
        if (!from.insert(s).second || !to.insert(t).second) bijection = false;
        source[to_index(t)] = s;
      }
      if (from != to) bijection = false;
    } else {
      const auto entries = std::get<retile::DeviceTable>(permute->source).entries();
      if (!covers({entries}, devices)) bijection = false;
      for (Size d = 0; d < devices && to_index(d) < entries.size(); ++d)
        source[to_index(d)] = entries[to_index(d)];
    }
    if (!bijection && fault != Fault::repeated_devices) return {std::nullopt, Reason::bijection};
    Arrays after = before;
    for (Size d = 0; d < devices; ++d)
      after.held[to_index(d)] = before.held[to_index(source[to_index(d)])];
    return {after, {}};
  }

  if (const auto* exchange = std::get_if<retile::Exchange>(&step.op)) {
    Arrays after;
    after.tile = *step.claims.tile;
    const std::size_t rank = after.tile.size();
    const auto elements = to_index(volume(after.tile));
    // Only a faulty checker leaves any of these as they are.
    after.held.assign(to_index(devices), std::vector<Shape>(elements, Shape(rank, 0)));
    std::vector<std::vector<int>> written(to_index(devices), std::vector<int>(elements, 0));
    const auto inside = [](const Shape& start, const Shape& shape, const Shape& tile) {
      for (std::size_t k = 0; k < tile.size(); ++k) {
        if (start[k] > tile[k] || shape[k] > tile[k] - start[k]) return false;
      }
      return true;
    };
    for (const retile::Transfer& transfer : exchange->transfers) {
      if (!inside(transfer.target_start, transfer.shape, after.tile) ||
          !inside(transfer.source_start, transfer.shape, before.tile)) {
        return {std::nullopt, Reason::transfers};
      }
      const auto target = to_index(transfer.target);
      for (const Shape& at : indices(transfer.shape)) {
        const auto place = to_index(position(after.tile, sum(transfer.target_start, at)));
        const auto from = to_index(position(before.tile, sum(transfer.source_start, at)));
        after.held[target][place] = before.held[to_index(transfer.source)][from];
        ++written[target][place];
      }
    }
    for (const auto& counts : written) {
      const bool once = std::all_of(counts.begin(), counts.end(), [](int n) { return n == 1; });
      if (!once && fault != Fault::coverage) return {std::nullopt, Reason::transfers};
    }
    return {after, {}};
  }

  const auto* dynslice = std::get_if<retile::Dynslice>(&step.op);
  const auto* allgather = std::get_if<retile::Allgather>(&step.op);
  const auto* alltoall = std::get_if<retile::Alltoall>(&step.op);
  const retile::PartList* parts =
      dynslice ? std::get_if<retile::PartList>(&dynslice->pieces) : nullptr;
  std::vector<std::vector<Size>> rows;
  Size n = 0;
  if (parts != nullptr) {
    n = parts->parts;
    const auto part = parts->part.entries();
    for (Size d = 0; d < devices; ++d) rows.push_back({d, part[to_index(d)]});
  } else {
    const auto& table = dynslice ? std::get<retile::DeviceTable>(dynslice->pieces)
                                 : (allgather ? allgather->groups : alltoall->groups);
    rows = table.to_rows();
    const bool ragged = std::any_of(rows.begin(), rows.end(), [&rows](const auto& row) {
      return row.size() != rows[0].size();
    });
    if (ragged) return {std::nullopt, Reason::groups};
    if (fault == Fault::repeated_devices ? rows.empty() || rows[0].empty()
                                         : !covers(rows, devices)) {
      return {std::nullopt, Reason::groups};
    }
    if (fault == Fault::order_in_groups) {
      for (auto& row : rows) std::sort(row.begin(), row.end());
    }
    n = static_cast<Size>(rows[0].size());
  }

  // Everything is put together element by element: array(d)[l] for all l, from a rule that says
  // which member's which element it is.
  Arrays after = before;
  const Shape& tile = before.tile;
  const bool cuts = allgather == nullptr;
  const bool joins = dynslice == nullptr;
  const std::size_t split = dynslice ? dynslice->dim : (alltoall ? alltoall->split : 0);
  const std::size_t concat = allgather ? allgather->dim : (alltoall ? alltoall->concat : 0);
  if (cuts && tile[split] % n != 0) {
    if (fault != Fault::divisibility || tile[split] < n) return {std::nullopt, Reason::indivisible};
  }
  Shape piece = tile;  // what one member gives to one position
  if (cuts) piece[split] /= n;
  after.tile = piece;
  if (joins) after.tile[concat] *= n;
  const auto local = indices(after.tile);
  // Only a faulty checker leaves any of these as they are.
  after.held.assign(to_index(devices), std::vector<Shape>(local.size(), Shape(tile.size(), 0)));
  const auto element = [&](const std::vector<Size>& members, Size q, Shape at) {
    Size member = 0;
    if (joins) {
      member = at[concat] / piece[concat];
      at[concat] %= piece[concat];
    }
    if (cuts) at[split] += q * piece[split];
    return before.held[to_index(members[to_index(member)])][to_index(position(tile, at))];
  };
  for (const auto& row : rows) {
    const Size size = parts != nullptr ? 1 : static_cast<Size>(row.size());
    for (Size q = 0; q < size; ++q) {
      const Size device = row[to_index(q)];
      const auto members = joins ? row : std::vector<Size>{device};
      std::vector<Shape> elements;
      for (const Shape& at : local) {
        elements.push_back(element(members, parts != nullptr ? row[1] : q, at));
      }
      after.held[to_index(device)] = std::move(elements);
    }
  }
  return {after, {}};
}

inline bool same(Arrays a, Arrays b, Fault fault) {
  if (a.tile != b.tile || a.held.size() != b.held.size()) return false;
  if (fault == Fault::last_device) {
    a.held.pop_back();
    b.held.pop_back();
  }
  if (fault == Fault::last_dimension && !a.tile.empty()) {
    for (auto* arrays : {&a, &b}) {
      for (auto& array : arrays->held) {
        for (auto& element : array) element.pop_back();
      }
    }
  }
  if (fault == Fault::replicas) {
    std::sort(a.held.begin(), a.held.end());
    std::sort(b.held.begin(), b.held.end());
  }
  return a.held == b.held;
}

/// The states of a Program as far as its steps can be applied, the start first.
inline std::vector<Arrays> replay(const Program& program) {
  std::vector<Arrays> states = {boxes(program.from)};
  for (const Step& step : program.steps) {
    auto next = apply(step, states.back(), program.devices);
    if (!next.arrays) break;
    states.push_back(*std::move(next.arrays));
  }
  return states;
}

/// Every step can be applied, and the end is the target. Claims are not looked at.
inline bool ends_right(const Program& program) {
  const auto states = replay(program);
  return states.size() == program.steps.size() + 1 && states.back() == boxes(program.to);
}

/// Fig. 11, and nothing where nothing moves.
inline Size cost(const Step& step, const Shape& before, const Shape& after, Size devices) {
  if (std::holds_alternative<retile::Dynslice>(step.op)) return 0;
  if (const auto* allgather = std::get_if<retile::Allgather>(&step.op)) {
    return allgather->groups.to_rows()[0].size() == 1 ? 0 : volume(after);
  }
  if (const auto* alltoall = std::get_if<retile::Alltoall>(&step.op)) {
    return alltoall->groups.to_rows()[0].size() == 1 ? 0 : volume(before);
  }
  if (const auto* exchange = std::get_if<retile::Exchange>(&step.op)) {
    for (const retile::Transfer& transfer : exchange->transfers) {
      if (transfer.source != transfer.target) return volume(after);
    }
    return 0;
  }
  // Moving numbers instead of tiles shows whether anything moves.
  const Arrays numbers = boxes(devices, {1}, [](Size d) { return Shape{d}; });
  return apply(step, numbers, devices).arrays == numbers ? 0 : volume(before);
}

/// The verdict without witness.
inline retile::Verdict check(const Program& program, Fault fault = Fault::none) {
  retile::Verdict verdict;
  verdict.answer = retile::Answer::wrong;
  verdict.steps = static_cast<Size>(program.steps.size());
  verdict.bound = std::max(volume(program.from.tile()), volume(program.to.tile()));
  verdict.height = verdict.bound;
  const auto stop = [&verdict](std::size_t step, Reason reason) {
    verdict.wrong = {static_cast<Size>(step), reason};
    verdict.within_bound = verdict.height <= verdict.bound;
    return verdict;
  };
  Arrays state = boxes(program.from);
  std::optional<std::size_t> left_boxes;
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    const Step& step = program.steps[k];
    const Applied next = apply(step, state, program.devices, fault);
    if (!next.arrays) return stop(k, next.reason);
    const auto& claims = step.claims;
    if (fault != Fault::claims) {
      if (claims.tile && *claims.tile != next.arrays->tile) return stop(k, Reason::tile_claim);
      if (claims.map && !same(*next.arrays, boxes(*claims.map), fault))
        return stop(k, Reason::map_claim);
      if (claims.at &&
          !same(*next.arrays, boxes(program.devices, next.arrays->tile, *claims.at), fault)) {
        return stop(k, Reason::map_claim);
      }
    }
    verdict.cost += cost(step, state.tile, next.arrays->tile, program.devices);
    state = *next.arrays;
    verdict.height = std::max(verdict.height, volume(state.tile));
    if (!left_boxes && !all_boxes(state)) left_boxes = k;
  }
  verdict.within_bound = verdict.height <= verdict.bound;
  if (fault == Fault::end || same(state, boxes(program.to), fault)) {
    verdict.answer = retile::Answer::right;
    return verdict;
  }
  if (left_boxes) return stop(*left_boxes, Reason::not_a_box);
  return stop(program.steps.size(), Reason::end);
}

/// Answer, step, reason, height, bound, cost and steps agree: everything but the choice of a
/// witness.
inline bool same_judgement(const retile::Verdict& a, const retile::Verdict& b) {
  const bool same_place =
      !a.wrong || !b.wrong ? a.wrong.has_value() == b.wrong.has_value()
                           : a.wrong->step == b.wrong->step && a.wrong->reason == b.wrong->reason;
  return a.answer == b.answer && same_place && a.within_bound == b.within_bound &&
         a.height == b.height && a.bound == b.bound && a.cost == b.cost && a.steps == b.steps;
}

/// Whether the verdict names what its device holds at local index 0.
inline bool names_first_element(const Arrays& state, const VerdictFields& verdict) {
  return !verdict.found && verdict.at == Shape(state.tile.size(), 0) &&
         verdict.element == state.held[to_index(*verdict.device)].front();
}

/// What a checker names where tiles have another shape: `check` an element, the oracle none.
enum class OtherShape { names_an_element, names_none };

/// Empty when the verdict names an element that shows that tiles do not have the shape `expected`,
/// else what is wrong with it. `base`: where the expected tile of device 0 lies, if that is said.
inline std::string shape_fault(const Arrays& state, const Shape& expected,
                               const std::optional<Shape>& base, const VerdictFields& verdict,
                               OtherShape other_shape) {
  const Shape& tile = state.tile;
  if (verdict.device != Size{0}) return "another device is meant";
  if (other_shape == OtherShape::names_none) return verdict.at ? "an element is named" : "";
  if (!verdict.at) {
    bool some = false;
    for (std::size_t k = 0; tile.size() == expected.size() && k < tile.size(); ++k) {
      Size element = 0;
      const bool fits = base && !__builtin_add_overflow((*base)[k], tile[k], &element);
      some = some || tile[k] > expected[k] || (tile[k] < expected[k] && fits);
    }
    return some ? "an element is meant, but none is named" : "";
  }
  const auto inside = [&verdict](const Shape& shape) {
    bool all = verdict.at->size() == shape.size();
    for (std::size_t k = 0; all && k < shape.size(); ++k) {
      all = (*verdict.at)[k] >= 0 && (*verdict.at)[k] < shape[k];
    }
    return all;
  };
  if (verdict.found && verdict.element) return "no place is in both shapes";
  if (verdict.found) {
    if (!inside(tile) || inside(expected)) return "not only the tile has that place";
    const auto where = to_index(position(tile, *verdict.at));
    return state.held[0][where] == *verdict.found ? "" : "another element is there";
  }
  if (!base || !inside(expected) || inside(tile)) return "no element is claimed there";
  return sum(*base, *verdict.at) == *verdict.element ? "" : "another element is expected";
}

/// Empty when the verdict on a wrong Program carries a true witness, else what is wrong with it.
inline std::string witness_fault(const Program& program, const retile::Verdict& judged,
                                 OtherShape other_shape = OtherShape::names_an_element) {
  const VerdictFields verdict = support::fields_of(judged);
  const auto states = replay(program);
  const bool names_element = verdict.at.has_value();
  const bool of_transfers = verdict.reason == Reason::transfers;
  if (of_transfers && (!names_element || verdict.element || verdict.found)) {
    return "transfers have a local index and no element";
  }
  if (!of_transfers &&
      names_element != (verdict.element.has_value() || verdict.found.has_value())) {
    return "an element that is expected or found has a place, and a place has one";
  }
  if (!verdict.first_wrong_step || !verdict.reason)
    return "a wrong Program has a step and a reason";
  const auto wrong_step = to_index(*verdict.first_wrong_step);
  const Step* step = wrong_step < program.steps.size() ? &program.steps[wrong_step] : nullptr;
  if (verdict.device && (*verdict.device < 0 || *verdict.device >= program.devices))
    return "no such device";

  switch (*verdict.reason) {
    case Reason::groups:
    case Reason::bijection: {
      if (wrong_step + 1 != states.size()) return "an earlier or later step cannot be applied";
      if (!verdict.device) return names_element ? "an element of no device" : "";
      if (!names_first_element(states.back(), verdict)) return "another element is meant";
      std::map<Size, int> seen;
      std::map<Size, int> targets;
      if (const auto* permute = std::get_if<retile::Allpermute>(&step->op)) {
        if (const auto* pairs = std::get_if<retile::PairList>(&permute->source)) {
          for (const auto& [s, t] : *pairs) {
            ++seen[s];
            ++targets[t];
          }
          const int as_source = seen[*verdict.device];
          const int as_target = targets[*verdict.device];
          return as_source == as_target && as_source <= 1 ? "the device stands once on each side"
                                                          : "";
        }
        for (const Size s : std::get<retile::DeviceTable>(permute->source).entries()) ++seen[s];
      } else {
        const retile::DeviceTable* groups = nullptr;
        if (const auto* dynslice = std::get_if<retile::Dynslice>(&step->op)) {
          groups = std::get_if<retile::DeviceTable>(&dynslice->pieces);
        } else if (const auto* allgather = std::get_if<retile::Allgather>(&step->op)) {
          groups = &allgather->groups;
        } else {
          groups = &std::get<retile::Alltoall>(step->op).groups;
        }
        for (const auto& row : groups->to_rows()) {
          for (const Size d : row) ++seen[d];
        }
      }
      return seen[*verdict.device] == 1 ? "the device stands once in the table" : "";
    }
    case Reason::indivisible:
      if (wrong_step + 1 != states.size()) return "the step can be applied";
      return verdict.device == Size{0} && names_first_element(states.back(), verdict)
                 ? ""
                 : "another element is meant";
    case Reason::transfers: {
      if (wrong_step + 1 != states.size()) return "an earlier or later step cannot be applied";
      // Everything before the place is right: no transfer sticks out, or this one does; and no
      // place before it is written other than once.
      const auto& transfers = std::get<retile::Exchange>(step->op).transfers;
      const Shape& tile = *step->claims.tile;
      const auto sticks_out = [&](const Shape& start, const Shape& shape, const Shape& whole) {
        for (std::size_t k = 0; k < whole.size(); ++k) {
          if (start[k] > whole[k] || shape[k] > whole[k] - start[k]) return true;
        }
        return false;
      };
      for (const retile::Transfer& transfer : transfers) {
        if (sticks_out(transfer.target_start, transfer.shape, tile)) {
          return verdict.device == transfer.target && verdict.at == transfer.target_start
                     ? ""
                     : "another box lies outside a new tile first";
        }
        if (sticks_out(transfer.source_start, transfer.shape, states.back().tile)) {
          return verdict.device == transfer.source && verdict.at == transfer.source_start
                     ? ""
                     : "another box lies outside an old tile first";
        }
      }
      for (Size d = 0; d < program.devices; ++d) {
        for (const Shape& at : indices(tile)) {
          int writers = 0;
          for (const retile::Transfer& transfer : transfers) {
            bool writes = transfer.target == d;
            for (std::size_t k = 0; k < tile.size(); ++k) {
              writes = writes && transfer.target_start[k] <= at[k] &&
                       at[k] < transfer.target_start[k] + transfer.shape[k];
            }
            writers += writes ? 1 : 0;
          }
          if (writers == 1) continue;
          return verdict.device == d && verdict.at == at ? "" : "another element is wrong first";
        }
      }
      return "every element is written once";
    }
    case Reason::tile_claim: {
      if (wrong_step + 1 >= states.size()) return "no claim there";
      const Arrays& there = states[wrong_step + 1];
      if (!step->claims.tile || *step->claims.tile == there.tile) return "the claim is true";
      const Shape& claimed = *step->claims.tile;
      std::optional<Shape> base;
      if (step->claims.map) {
        if (step->claims.map->tile() == claimed) base = step->claims.map->base_offset(0);
      } else if (step->claims.at && claimed.size() == there.tile.size()) {
        const auto first = step->claims.at->begin();
        base = Shape(first, first + static_cast<std::ptrdiff_t>(claimed.size()));
      }
      return shape_fault(there, claimed, base, verdict, other_shape);
    }
    default:
      break;
  }

  if (!verdict.device) return "no device";
  const bool at_end = *verdict.reason == Reason::end;
  if (at_end ? states.size() != wrong_step + 1 || step != nullptr
             : states.size() < wrong_step + 2) {
    return "no state there";
  }
  const Arrays& state = at_end ? states.back() : states[wrong_step + 1];
  std::vector<Arrays> claimed;
  if (*verdict.reason == Reason::map_claim) {
    if (step->claims.map) claimed.push_back(boxes(*step->claims.map));
    if (step->claims.at) claimed.push_back(boxes(program.devices, state.tile, *step->claims.at));
  } else if (at_end) {
    claimed.push_back(boxes(program.to));
  }
  for (const Arrays& claim : claimed) {
    if (*verdict.reason != Reason::not_a_box && claim.tile != state.tile) {
      return shape_fault(state, claim.tile, claim.held[0].front(), verdict, other_shape);
    }
  }
  if (!verdict.element || !verdict.found) return "an element is meant, but none is named";
  const Shape& at = *verdict.at;
  if (at.size() != state.tile.size()) return "the local index has another rank";
  for (std::size_t k = 0; k < at.size(); ++k) {
    if (at[k] < 0 || at[k] >= state.tile[k]) return "no such local index";
  }
  const auto where = to_index(position(state.tile, at));
  const auto& array = state.held[to_index(*verdict.device)];
  if (array[where] != *verdict.found) return "another element is there";
  if (*verdict.element == *verdict.found) return "the element is the one expected";
  if (*verdict.reason == Reason::not_a_box) {
    if (states.back() == boxes(program.to)) return "the end is right";
    return sum(array[0], at) == *verdict.element ? "" : "another element is expected";
  }
  for (const Arrays& claim : claimed) {
    if (claim.tile == state.tile &&
        claim.held[to_index(*verdict.device)][where] == *verdict.element)
      return "";
  }
  return "another element is expected";
}

}  // namespace naive
