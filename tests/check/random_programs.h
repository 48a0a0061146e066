// Random Programs, drawn through a support::Choose so that RapidCheck shrinks them.
#pragma once

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "check/naive.h"
#include "retile/notation/paper/problem.h"
#include "retile/program/program.h"
#include "support/mutants.h"

namespace check_tests {

using support::Choose;

/// All of 0..count-1 in random order.
inline std::vector<retile::Size> random_permutation(const Choose& choose, retile::Size count) {
  std::vector<retile::Size> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), retile::Size{0});
  for (std::size_t k = out.size(); k > 1; --k) {
    std::swap(out[k - 1], out[static_cast<std::size_t>(choose(static_cast<retile::Size>(k)))]);
  }
  return out;
}

inline std::vector<retile::Size> divisors(retile::Size n) {
  std::vector<retile::Size> out;
  for (retile::Size d = 1; d <= n; ++d) {
    if (n % d == 0) out.push_back(d);
  }
  return out;
}

inline retile::Size random_divisor(const Choose& choose, retile::Size n) {
  const auto all = divisors(n);
  return all[static_cast<std::size_t>(choose(static_cast<retile::Size>(all.size())))];
}

/// Factors >= 1 with this product.
inline retile::Shape random_factors(const Choose& choose, retile::Size product) {
  retile::Shape out;
  while (product > 1) {
    const retile::Size factor = random_divisor(choose, product);
    out.push_back(factor);
    product /= factor;
    if (out.size() == 4) break;
  }
  out.push_back(product);
  return out;
}

/// A problem over a mesh of one to three axes; every axis replicates or cuts a dimension, before
/// and after.
struct ProblemText {
  std::string mesh;
  std::string from;
  std::string to;
};

inline ProblemText random_problem(const Choose& choose) {
  const std::size_t axis_count = 1 + static_cast<std::size_t>(choose(3));
  retile::Shape axes;
  retile::Size devices = 1;
  for (std::size_t a = 0; a < axis_count; ++a) {
    const retile::Size size =
        std::array<retile::Size, 5>{2, 3, 4, 5, 6}[static_cast<std::size_t>(choose(5))];
    if (devices * size > 24) break;
    axes.push_back(size);
    devices *= size;
  }
  const std::size_t rank = 1 + static_cast<std::size_t>(choose(3));
  // Per end and dimension: the axes that cut it, minor to major.
  std::array<std::vector<std::vector<std::size_t>>, 2> cuts;
  for (auto& end : cuts) {
    end.resize(rank);
    for (const retile::Size a :
         random_permutation(choose, static_cast<retile::Size>(axes.size()))) {
      const auto dim = static_cast<std::size_t>(choose(static_cast<retile::Size>(rank) + 1));
      if (dim < rank) end[dim].push_back(static_cast<std::size_t>(a));
    }
  }
  retile::Shape global(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    std::array<retile::Size, 2> product = {1, 1};
    for (std::size_t end = 0; end < 2; ++end) {
      for (const std::size_t a : cuts[end][i]) product[end] *= axes[a];
    }
    global[i] = std::lcm(product[0], product[1]) * (1 + choose(2));
  }
  const auto type = [&](const std::vector<std::vector<std::size_t>>& end) {
    std::string out = "[";
    for (std::size_t i = 0; i < rank; ++i) {
      retile::Size tile = global[i];
      std::string names;
      for (const std::size_t a : end[i]) {
        tile /= axes[a];
        names += (names.empty() ? "x" : ",x") + std::to_string(a);
      }
      out += (i == 0 ? "" : ", ") + std::to_string(tile) + '{' + names + '}' +
             std::to_string(global[i]);
    }
    return out + ']';
  };
  ProblemText out;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    out.mesh += (a == 0 ? "x" : ",x") + std::to_string(a) + ':' + std::to_string(axes[a]);
  }
  out.from = type(cuts[0]);
  out.to = type(cuts[1]);
  return out;
}

/// A chain of up to two stages over all of 0..size-1.
inline retile::IotaChain random_chain(const Choose& choose, retile::Size size) {
  retile::IotaChain chain(size);
  for (retile::Size stages = choose(3); stages > 0; --stages) {
    retile::IotaStage stage;
    stage.shape = random_factors(choose, size);
    for (const retile::Size k :
         random_permutation(choose, static_cast<retile::Size>(stage.shape.size()))) {
      stage.transpose.push_back(static_cast<std::size_t>(k));
    }
    chain.append(std::move(stage));
  }
  return chain;
}

/// Groups of n that hold every device once.
inline retile::DeviceTable random_groups(const Choose& choose, retile::Size devices,
                                         retile::Size n) {
  if (choose(2) == 0) return retile::DeviceTable::iota(random_chain(choose, devices), n);
  std::vector<std::vector<retile::Size>> rows;
  // Mostly in order, so that boxes stay boxes now and then.
  auto entries =
      choose(3) == 0 ? random_permutation(choose, devices) : random_chain(choose, devices).list();
  for (auto entry = entries.begin(); entry != entries.end(); entry += n)
    rows.emplace_back(entry, entry + n);
  return retile::DeviceTable::rows(std::move(rows));
}

/// New tiles of any shape, each cut into boxes that come from anywhere; now and then one of them is
/// left out, doubled or moved.
inline retile::Step random_exchange(const Choose& choose, const retile::Shape& tile,
                                    retile::Size devices) {
  retile::Shape after;
  for (const retile::Size extent : tile) {
    after.push_back(choose(3) == 0 ? 1 + choose(std::min<retile::Size>(2 * extent, 6)) : extent);
  }
  const bool whole = after == tile && choose(2) == 0;
  retile::Exchange out;
  for (retile::Size d = 0; d < devices; ++d) {
    std::vector<retile::Transfer> boxes = {{.target = d,
                                            .source = 0,
                                            .target_start = retile::Shape(tile.size(), 0),
                                            .source_start = retile::Shape(tile.size(), 0),
                                            .shape = after}};
    for (std::size_t b = 0; b < boxes.size(); ++b) {
      for (std::size_t k = 0; k < tile.size(); ++k) {
        while (boxes[b].shape[k] > tile[k] ||
               (boxes[b].shape[k] > 1 && boxes.size() < 4 && !whole && choose(3) == 0)) {
          retile::Transfer rest = boxes[b];
          const retile::Size cut = 1 + choose(std::min(tile[k], rest.shape[k] - 1));
          boxes[b].shape[k] = cut;
          rest.target_start[k] += cut;
          rest.shape[k] -= cut;
          boxes.push_back(std::move(rest));
        }
      }
    }
    for (retile::Transfer& box : boxes) {
      box.source = choose(devices);
      for (std::size_t k = 0; k < tile.size(); ++k) {
        const bool stays = box.target_start[k] <= tile[k] - box.shape[k];
        box.source_start[k] =
            stays && choose(3) > 0 ? box.target_start[k] : choose(tile[k] - box.shape[k] + 1);
      }
      out.transfers.push_back(std::move(box));
    }
  }
  if (choose(8) == 0) {
    retile::Transfer& any = out.transfers[static_cast<std::size_t>(
        choose(static_cast<retile::Size>(out.transfers.size())))];
    const retile::Size kind = choose(3);
    if (kind == 0) std::swap(any, out.transfers.back());
    if (kind == 0) out.transfers.pop_back();
    if (kind == 1) out.transfers.push_back(retile::Transfer(any));
    if (kind == 2 && !tile.empty()) ++(choose(2) == 0 ? any.source_start : any.target_start)[0];
  }
  retile::Step step{std::move(out), {}};
  step.claims.tile = after;
  return step;
}

inline retile::Step random_step(const Choose& choose, const retile::Shape& tile,
                                retile::Size devices) {
  const auto rank = static_cast<retile::Size>(tile.size());
  const auto dim = [&choose, rank] { return static_cast<std::size_t>(choose(rank)); };
  const retile::Size kind = rank == 0 ? 0 : choose(9);
  if (kind == 8 || (rank == 0 && choose(4) == 3)) return random_exchange(choose, tile, devices);
  retile::Size size = 1;
  for (const retile::Size extent : tile) size *= extent;
  if (kind == 0) {
    if (choose(2) == 0) {
      return {retile::Allpermute{retile::DeviceTable::list(random_permutation(choose, devices))},
              {}};
    }
    retile::PairList pairs;
    const auto from = random_permutation(choose, devices);
    const retile::Size count = choose(devices + 1);
    for (retile::Size k = 0; k < count; ++k) {  // a cycle
      pairs.push_back(
          {from[static_cast<std::size_t>(k)], from[static_cast<std::size_t>((k + 1) % count)]});
    }
    return {retile::Allpermute{std::move(pairs)}, {}};
  }
  if (kind <= 2) {
    retile::Dynslice step;
    step.dim = dim();
    const retile::Size n = random_divisor(choose, tile[step.dim]);
    if (devices % n == 0 && choose(2) == 0) {
      step.pieces = random_groups(choose, devices, n);
    } else {
      std::vector<retile::Size> part;
      for (retile::Size d = 0; d < devices; ++d) part.push_back(choose(n));
      step.pieces = retile::PartList{n, retile::DeviceTable::list(std::move(part))};
    }
    return {std::move(step), {}};
  }
  if (kind <= 4 && size <= 64) {
    const std::size_t i = dim();
    const retile::Size n = random_divisor(choose, devices);
    return {retile::Allgather{i, random_groups(choose, devices, n)}, {}};
  }
  const std::size_t j = dim();
  const std::size_t i = dim();
  retile::Size n = random_divisor(choose, devices);
  if (choose(8) != 0) n = std::gcd(n, tile[j]);
  return {retile::Alltoall{j, i, random_groups(choose, devices, n)}, {}};
}

/// Any tile map: digits over a random mesh, or boxes anywhere.
inline retile::Layout random_tile_map(const Choose& choose, retile::Size devices,
                                      const retile::Shape& global) {
  const std::size_t rank = global.size();
  if (choose(3) > 0) {
    const auto axes = random_factors(choose, devices);
    std::vector<std::vector<retile::Digit>> digits(rank);
    retile::Shape tile = global;
    retile::Size stride = 1;
    for (const retile::Size size : axes) {
      const auto i = static_cast<std::size_t>(choose(static_cast<retile::Size>(rank) + 1));
      if (i < rank && tile[i] % size == 0) {
        digits[i].insert(choose(2) == 0 ? digits[i].begin() : digits[i].end(),
                         retile::Digit{stride, size});
        tile[i] /= size;
      }
      stride *= size;
    }
    auto map = retile::Layout::compact(devices, global, tile, digits);
    if (map) return *std::move(map);
  }
  retile::Shape tile;
  for (const retile::Size extent : global) tile.push_back(1 + choose(extent));
  std::vector<retile::Size> at;
  for (retile::Size d = 0; d < devices; ++d) {
    for (std::size_t k = 0; k < rank; ++k) at.push_back(choose(global[k] - tile[k] + 1));
  }
  return *retile::Layout::listed(devices, global, tile, std::move(at));
}

/// The base offsets of arrays that are boxes, or anything if they are not.
inline std::vector<retile::Size> bases(const naive::Arrays& arrays) {
  std::vector<retile::Size> at;
  for (const auto& array : arrays.held) at.insert(at.end(), array[0].begin(), array[0].end());
  return at;
}

/// Steps in any order with tables of any kind, true and false claims; right about as often as
/// wrong.
inline retile::Program random_program(const Choose& choose) {
  retile::Program program;
  program.devices =
      std::array<retile::Size, 8>{1, 2, 3, 4, 6, 8, 12, 5}[static_cast<std::size_t>(choose(8))];
  retile::Shape global;
  for (retile::Size rank = choose(4); rank > 0; --rank) {
    global.push_back(std::array<retile::Size, 6>{
        4, 6, 1, 2, 8, 12}[static_cast<std::size_t>(choose(global.empty() ? 6 : 4))]);
  }
  program.from = random_tile_map(choose, program.devices, global);
  naive::Arrays state = naive::boxes(program.from);
  for (retile::Size steps = choose(6); steps > 0; --steps) {
    retile::Step step = random_step(choose, state.tile, program.devices);
    auto next = naive::apply(step, state, program.devices);
    if (!next.arrays) {
      program.steps.push_back(std::move(step));
      break;
    }
    state = *std::move(next.arrays);
    if (!std::holds_alternative<retile::Exchange>(step.op) && choose(2) == 0) {
      step.claims.tile = state.tile;
      if (!state.tile.empty() && choose(32) == 0) step.claims.tile->front() += 1;
    }
    const bool boxes = naive::all_boxes(state);
    if (choose(boxes ? 3 : 24) == 0) {
      step.claims.at = bases(state);
      if (!step.claims.at->empty() && choose(12) == 0) step.claims.at->back() += 1;
    }
    if (choose(48) == 0)
      step.claims.map = *retile::Layout::compact(
          program.devices, global, global, std::vector<std::vector<retile::Digit>>(global.size()));
    program.steps.push_back(std::move(step));
  }
  program.to = program.from;
  if (choose(6) == 0) {
    program.to = random_tile_map(choose, program.devices, global);
  } else {
    // Where the end lies in the array this makes the Program right, up to the last entries.
    auto at = bases(state);
    if (!at.empty() && choose(6) == 0) at.back() = 0;
    auto map = retile::Layout::listed(program.devices, global, state.tile, std::move(at));
    if (map) program.to = *std::move(map);
  }
  return program;
}

}  // namespace check_tests
