// Ends for direct(), small enough to look at every element.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "retile/check/check.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/sim/sim.h"
#include "retile/program/forms/text.h"
#include "spec/program/check.h"
#include "support/mutants.h"
#include "support/program_bridge.h"
#include "support/verdict_fields.h"

namespace retile::test {

/// All maps of an array over a mesh with these axes: every axis replicates or cuts a dimension, in
/// every order.
inline std::vector<Layout> all_maps(const Shape& axes, const Shape& global) {
  Size devices = 1;
  for (const Size axis : axes) devices *= axis;
  std::vector<Layout> out;
  support::Odometer all;
  do {
    const support::Choose choose = all.choose();
    Shape tile = global;
    std::vector<std::vector<Digit>> digits(global.size());
    Size stride = 1;
    bool divides = true;
    for (std::size_t a = axes.size(); a-- > 0;) {
      const auto dim = static_cast<std::size_t>(choose(static_cast<Size>(global.size()) + 1));
      if (dim < global.size()) {
        auto& list = digits[dim];
        const Size place = choose(static_cast<Size>(list.size()) + 1);
        list.insert(list.begin() + place, Digit{.stride = stride, .size = axes[a]});
        divides = divides && tile[dim] % axes[a] == 0;
        tile[dim] /= axes[a];
      }
      stride *= axes[a];
    }
    if (!divides) continue;
    out.push_back(Layout::compact(devices, global, tile, digits).value());
  } while (all.advance());
  return out;
}

inline Program ends(const Layout& from, const Layout& to) {
  Program out;
  out.devices = from.devices();
  out.from = from;
  out.to = to;
  return out;
}

/// A box of a direct exchange that comes from another node though a device of the own one holds it; empty
/// if there is none.
inline std::string fault_of_nodes(const Program& program, Size node_devices) {
  for (const Transfer& transfer : std::get<Exchange>(program.steps.front().op).transfers) {
    const Size node = transfer.target / node_devices;
    if (transfer.source / node_devices == node) continue;
    const Box tile = program.to.box(transfer.target);
    const Size end = std::min((node + 1) * node_devices, program.devices);
    for (Size d = node * node_devices; d < end; ++d) {
      const Box old = program.from.box(d);
      bool holds = !old.is_empty();
      for (std::size_t k = 0; k < tile.at.size(); ++k) {
        const Size begin = tile.at[k] + transfer.target_start[k];
        holds =
            holds && old.at[k] <= begin && begin + transfer.shape[k] <= old.at[k] + old.extent[k];
      }
      if (holds) return std::to_string(d) + " could have served " + std::to_string(transfer.target);
    }
  }
  return "";
}

/// Per device, the row-major number of every element, 8 bytes each.
inline sim::Tiles tags(const Layout& map) {
  sim::Tiles tiles;
  for (Size device = 0; device < map.devices(); ++device) {
    const Shape base = map.base_offset(device);
    std::vector<std::byte> bytes;
    for (Size local = 0; local < map.tile_size(); ++local) {
      Size rest = local;
      std::int64_t number = 0;
      Size stride = 1;
      for (std::size_t i = map.rank(); i-- > 0;) {
        number += (base[i] + rest % map.tile()[i]) * stride;
        rest /= map.tile()[i];
        stride *= map.global()[i];
      }
      const auto* const raw = reinterpret_cast<const std::byte*>(&number);
      bytes.insert(bytes.end(), raw, raw + sizeof number);
    }
    tiles.push_back(std::move(bytes));
  }
  return tiles;
}

/// Whether check and the oracle say the same, in every field; empty if so.
inline std::string disagreement(const Program& program) {
  const Verdict got = check(program);
  const spec::Verdict want = spec::check(support::to_spec(program));
  const auto same = [](const std::optional<Shape>& a, const std::optional<spec::Sizes>& b) {
    return a.has_value() == b.has_value() && (!a || *a == *b);
  };
  if (!want.decided || got.answer == Answer::undecided) return "undecided: " + to_text(program);
  bool agree = support::same_judgement(got, want);
  if (agree && want.wrong) {
    const support::VerdictFields fields = support::fields_of(got);
    agree = fields.device == want.wrong->device && same(fields.at, want.wrong->at) &&
            same(fields.element, want.wrong->element) && same(fields.found, want.wrong->found);
  }
  return agree ? "" : "check and the oracle disagree about\n" + to_text(program);
}

/// What is wrong with the direct exchange between these ends; empty if nothing is.
inline std::string direct_fault(const Layout& from, const Layout& to) {
  const auto made = direct(ends(from, to));
  if (!made) return render(made.error());
  if (auto fault = disagreement(*made); !fault.empty()) return fault;
  const Verdict verdict = check(*made);
  if (verdict.answer != Answer::right || !verdict.within_bound) {
    return "not right:\n" + to_text(*made);
  }
  const auto outcome = sim::run(*made, tags(from), 8);
  if (!outcome) return render(outcome.error());
  if (outcome->tiles != tags(to)) return "a wrong element after\n" + to_text(*made);
  return "";
}

/// Elements that each device sends to others.
inline std::vector<Size> sent(const Program& program) {
  std::vector<Size> out(static_cast<std::size_t>(program.devices), 0);
  for (const Transfer& transfer : std::get<Exchange>(program.steps.front().op).transfers) {
    if (transfer.source == transfer.target) continue;
    out[static_cast<std::size_t>(transfer.source)] += checked_product(transfer.shape).value();
  }
  return out;
}

}  // namespace retile::test
