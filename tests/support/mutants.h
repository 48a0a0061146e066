// Mutation operators: what goes wrong in Programs that people write, applied to Programs that are
// right.
//
// An operator draws its choices from a `Choose`: random ones for properties, all of them in turn
// for exhaustive tests. A mutant need not be wrong (two replicas may have been swapped): who uses
// one replays it first.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "retile/program/program.h"

namespace support {

/// A number in [0, bound), bound >= 1.
using Choose = std::function<retile::Size(retile::Size bound)>;

/// Random choices; the same seed gives the same choices.
[[nodiscard]] inline Choose random_choices(std::uint64_t seed) {
  return [engine = std::mt19937_64(seed)](retile::Size bound) mutable {
    return static_cast<retile::Size>(engine() % static_cast<std::uint64_t>(bound));
  };
}

/// All sequences of choices that a function can make, one per run, like an odometer:
///     Odometer all;
///     do { use(all.choose()); } while (all.advance());
class Odometer {
 public:
  [[nodiscard]] Choose choose() {
    next_ = 0;
    return [this](retile::Size bound) {
      if (next_ == wheels_.size()) wheels_.push_back({0, bound});
      return wheels_[next_++][0];
    };
  }
  [[nodiscard]] bool advance() {
    while (!wheels_.empty() && wheels_.back()[0] + 1 == wheels_.back()[1]) wheels_.pop_back();
    if (wheels_.empty()) return false;
    ++wheels_.back()[0];
    return true;
  }

 private:
  std::vector<std::array<retile::Size, 2>> wheels_;  // value, bound
  std::size_t next_ = 0;
};

enum class Mutation {
  devices_swapped,   ///< two devices of a group change places
  wrong_group,       ///< two devices of different groups change places
  wrong_dimension,   ///< one of a step's dimensions is another
  wrong_part_order,  ///< all groups, or all parts, in another order
  step_left_out,
  step_doubled,
  pair_changed,  ///< one or two entries of a permutation are others
  wrong_final_type,
  device_missing_or_repeated,
  transfer_changed,  ///< left out, doubled, moved by one, shrunk, cut off, or with another's source
};

inline constexpr std::array<Mutation, 10> all_mutations = {
    Mutation::devices_swapped,  Mutation::wrong_group,      Mutation::wrong_dimension,
    Mutation::wrong_part_order, Mutation::step_left_out,    Mutation::step_doubled,
    Mutation::pair_changed,     Mutation::wrong_final_type, Mutation::device_missing_or_repeated,
    Mutation::transfer_changed,
};

/// Whether Programs of the planner have such mutants.
[[nodiscard]] constexpr bool changes_plans(Mutation mutation) {
  return mutation != Mutation::transfer_changed;  // plans have no exchange
}

[[nodiscard]] inline std::string_view name(Mutation mutation) {
  constexpr std::array<std::string_view, 10> names = {
      "two devices of a group swapped",
      "a group of the wrong devices",
      "wrong dimension",
      "wrong part order",
      "a step left out",
      "a step doubled",
      "a permutation changed",
      "a wrong final type",
      "a device missing or repeated",
      "a transfer changed",
  };
  return names[static_cast<std::size_t>(mutation)];
}

struct Mutant {
  Mutation mutation{};
  retile::Size step = 0;  ///< where it first shows: left out: the step now there; doubled: the
                          ///< second copy; final type: the end
  retile::Program program;
};

/// The Program without any claim, but for the tiles that exchanges make.
[[nodiscard]] inline retile::Program without_claims(retile::Program program) {
  for (retile::Step& step : program.steps) {
    const bool makes_tile = std::holds_alternative<retile::Exchange>(step.op);
    step.claims = {.tile = makes_tile ? step.claims.tile : std::nullopt, .map = {}, .at = {}};
  }
  return program;
}

namespace detail {

using Rows = std::vector<std::vector<retile::Size>>;

inline retile::DeviceTable* groups_of(retile::Step& step) {
  if (auto* dynslice = std::get_if<retile::Dynslice>(&step.op)) {
    return std::get_if<retile::DeviceTable>(&dynslice->pieces);
  }
  if (auto* allgather = std::get_if<retile::Allgather>(&step.op)) return &allgather->groups;
  if (auto* alltoall = std::get_if<retile::Alltoall>(&step.op)) return &alltoall->groups;
  return nullptr;
}

inline std::vector<std::size_t*> dimensions_of(retile::Step& step) {
  if (auto* dynslice = std::get_if<retile::Dynslice>(&step.op)) return {&dynslice->dim};
  if (auto* allgather = std::get_if<retile::Allgather>(&step.op)) return {&allgather->dim};
  if (auto* alltoall = std::get_if<retile::Alltoall>(&step.op)) {
    return {&alltoall->split, &alltoall->concat};
  }
  return {};
}

inline std::size_t pick(const Choose& choose, std::size_t bound) {
  return static_cast<std::size_t>(choose(static_cast<retile::Size>(bound)));
}

/// Two different numbers below bound >= 2, the smaller first.
inline std::array<std::size_t, 2> pick_two(const Choose& choose, std::size_t bound) {
  const std::size_t low = pick(choose, bound - 1);
  return {low, low + 1 + pick(choose, bound - 1 - low)};
}

/// A number below bound >= 2 that is not `other`.
inline std::size_t pick_other(const Choose& choose, std::size_t bound, std::size_t other) {
  const std::size_t value = pick(choose, bound - 1);
  return value < other ? value : value + 1;
}

/// Rows may have been mutated before, so that they are not of one length.
inline bool mutate_rows(Mutation mutation, retile::Size devices, const Choose& choose, Rows& rows) {
  if (rows.empty()) return false;
  switch (mutation) {
    case Mutation::devices_swapped: {
      auto& row = rows[pick(choose, rows.size())];
      if (row.size() < 2) return false;
      const auto [a, b] = pick_two(choose, row.size());
      std::swap(row[a], row[b]);
      return true;
    }
    case Mutation::wrong_group: {
      if (rows.size() < 2) return false;
      const auto [r, s] = pick_two(choose, rows.size());
      if (rows[r].empty() || rows[s].empty() || rows[r].size() + rows[s].size() < 3) return false;
      const std::size_t a = pick(choose, rows[r].size());
      const std::size_t b = pick(choose, rows[s].size());
      std::swap(rows[r][a], rows[s][b]);
      return true;
    }
    case Mutation::wrong_part_order: {
      const std::size_t n = rows.front().size();
      if (n < 2) return false;
      const bool rotate = n > 2 && choose(2) == 1;
      for (auto& row : rows) {
        if (rotate && !row.empty()) {
          std::rotate(row.begin(), row.begin() + 1, row.end());
        } else {
          std::reverse(row.begin(), row.end());
        }
      }
      return true;
    }
    case Mutation::device_missing_or_repeated: {
      if (devices < 2) return false;
      const std::size_t r = pick(choose, rows.size());
      const std::size_t n = rows[r].size();
      if (n == 0) return false;
      switch (choose(4)) {
        case 0: {  // a device replaced by another one
          const std::size_t a = pick(choose, n);
          rows[r][a] = static_cast<retile::Size>(pick_other(
              choose, static_cast<std::size_t>(devices), static_cast<std::size_t>(rows[r][a])));
          return true;
        }
        case 1:  // a device left out of its row
          rows[r].erase(rows[r].begin() + static_cast<std::ptrdiff_t>(pick(choose, n)));
          return true;
        case 2:  // a row left out
          rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(r));
          return true;
        default: {  // a row twice
          const auto row = rows[r];
          rows.push_back(row);
          return true;
        }
      }
    }
    default:
      return false;
  }
}

/// The same dynslice with `parts` and `part`, if its groups are of one length and hold devices
/// only.
inline void use_parts(retile::Dynslice& dynslice, retile::Size devices) {
  const auto* groups = std::get_if<retile::DeviceTable>(&dynslice.pieces);
  if (groups == nullptr) return;
  const Rows rows = groups->to_rows();
  std::vector<retile::Size> part(static_cast<std::size_t>(devices));
  for (const auto& row : rows) {
    if (row.size() != rows.front().size()) return;
    for (std::size_t q = 0; q < row.size(); ++q) {
      if (row[q] < 0 || row[q] >= devices) return;
      part[static_cast<std::size_t>(row[q])] = static_cast<retile::Size>(q);
    }
  }
  if (rows.empty()) return;
  const auto parts = static_cast<retile::Size>(rows.front().size());
  dynslice.pieces = retile::PartList{parts, retile::DeviceTable::list(std::move(part))};
}

inline bool mutate_parts(retile::Size devices, const Choose& choose, retile::Dynslice& dynslice) {
  use_parts(dynslice, devices);
  auto* list = std::get_if<retile::PartList>(&dynslice.pieces);
  if (list == nullptr || list->parts < 2) return false;
  auto entries = list->part.entries();
  if (entries.empty()) return false;
  switch (choose(3)) {
    case 0:  // all parts in opposite order
      for (auto& entry : entries) entry = list->parts - 1 - entry;
      break;
    case 1:  // all parts one further
      for (auto& entry : entries) entry = (entry + 1) % list->parts;
      break;
    default: {  // one device takes another part
      auto& entry = entries[pick(choose, entries.size())];
      entry = (entry + 1) % list->parts;
    }
  }
  list->part = retile::DeviceTable::list(std::move(entries));
  return true;
}

/// Changes a permutation by exchanging two sources or by replacing one, in either form.
inline bool mutate_permutation(retile::Size devices, const Choose& choose,
                               retile::Allpermute& step) {
  const auto* table = std::get_if<retile::DeviceTable>(&step.source);
  if (table == nullptr || devices < 2) return false;
  auto source = table->entries();
  const auto count = static_cast<std::size_t>(devices);
  if (source.size() != count) return false;
  const bool as_pairs = choose(2) == 1;
  if (choose(2) == 0) {
    const auto [a, b] = pick_two(choose, count);
    std::swap(source[a], source[b]);
  } else {
    const std::size_t d = pick(choose, count);
    source[d] =
        static_cast<retile::Size>(pick_other(choose, count, static_cast<std::size_t>(source[d])));
  }
  if (as_pairs) {
    retile::PairList pairs;
    for (std::size_t d = 0; d < count; ++d)
      pairs.push_back({source[d], static_cast<retile::Size>(d)});
    step.source = std::move(pairs);
  } else {
    step.source = retile::DeviceTable::list(std::move(source));
  }
  return true;
}

inline bool mutate_transfers(const Choose& choose, retile::Exchange& step) {
  auto& transfers = step.transfers;
  if (transfers.empty()) return false;
  const std::size_t n = pick(choose, transfers.size());
  retile::Transfer& transfer = transfers[n];
  const std::size_t rank = transfer.shape.size();
  const retile::Size kind = choose(rank == 0 ? 3 : 6);
  if (kind == 0) {
    transfers.erase(transfers.begin() + static_cast<std::ptrdiff_t>(n));
    return true;
  }
  if (kind == 1) {
    const retile::Transfer copy = transfer;
    transfers.push_back(copy);
    return true;
  }
  if (kind == 2) {
    if (transfers.size() < 2) return false;
    retile::Transfer& other = transfers[pick_other(choose, transfers.size(), n)];
    if (other.source == transfer.source) return false;
    std::swap(other.source, transfer.source);
    return true;
  }
  const std::size_t k = pick(choose, rank);
  if (kind == 3) {  // one start by one
    retile::Size& start = choose(2) == 0 ? transfer.target_start[k] : transfer.source_start[k];
    start += start > 0 && choose(2) == 0 ? -1 : 1;
    return true;
  }
  if (kind == 4) {
    if (transfer.shape[k] < 2) return false;
    --transfer.shape[k];
    return true;
  }
  transfer.source_start[k] = std::array<retile::Size, 2>{
      1'000'000, std::numeric_limits<retile::Size>::max()}[pick(choose, 2)];
  return true;
}

/// Another target over the same array: a dimension whole, its digits in another order, a digit in
/// another dimension, or two devices' tiles exchanged.
inline bool mutate_target(const Choose& choose, retile::Layout& to) {
  const std::size_t rank = to.rank();
  if (rank == 0) return false;
  retile::Shape tile = to.tile();
  auto digits = to.digits();
  const retile::Size form = choose(to.is_compact() ? 4 : 1);
  if (form == 0) {
    if (to.devices() < 2) return false;
    auto at = to.base_offsets();
    const auto [a, b] = pick_two(choose, static_cast<std::size_t>(to.devices()));
    for (std::size_t k = 0; k < rank; ++k) std::swap(at[a * rank + k], at[b * rank + k]);
    auto map = retile::Layout::listed(to.devices(), to.global(), to.tile(), std::move(at));
    if (!map) return false;
    to = *std::move(map);
    return true;
  }
  const std::size_t i = pick(choose, rank);
  if (digits[i].empty()) return false;
  if (form == 1) {
    tile[i] = to.global()[i];
    digits[i].clear();
  } else if (form == 2) {
    if (digits[i].size() < 2) return false;
    std::rotate(digits[i].begin(), digits[i].begin() + 1, digits[i].end());
  } else {
    if (rank < 2) return false;
    const std::size_t j = pick_other(choose, rank, i);
    const retile::Digit digit = digits[i].front();
    if (tile[j] % digit.size != 0) return false;
    digits[i].erase(digits[i].begin());
    tile[i] *= digit.size;
    digits[j].insert(digits[j].begin(), digit);
    tile[j] /= digit.size;
  }
  auto map = retile::Layout::compact(to.devices(), to.global(), tile, digits);
  if (!map) return false;
  to = *std::move(map);
  return true;
}

}  // namespace detail

/// One mutant of `program`, or nothing when the choices made lead to none.
[[nodiscard]] inline std::optional<Mutant> mutate(const retile::Program& program, Mutation mutation,
                                                  const Choose& choose) {
  Mutant mutant{mutation, 0, program};
  auto& steps = mutant.program.steps;
  if (mutation == Mutation::wrong_final_type) {
    mutant.step = static_cast<retile::Size>(steps.size());
    if (!detail::mutate_target(choose, mutant.program.to)) return std::nullopt;
    return mutant;
  }
  if (steps.empty()) return std::nullopt;
  const std::size_t k = detail::pick(choose, steps.size());
  const auto position = steps.begin() + static_cast<std::ptrdiff_t>(k);
  mutant.step = static_cast<retile::Size>(k);
  if (mutation == Mutation::step_left_out) {
    steps.erase(position);
    return mutant;
  }
  if (mutation == Mutation::step_doubled) {
    const retile::Step copy = *position;
    steps.insert(position, copy);
    ++mutant.step;
    return mutant;
  }
  retile::Step& step = steps[k];
  if (mutation == Mutation::pair_changed) {
    auto* allpermute = std::get_if<retile::Allpermute>(&step.op);
    if (allpermute == nullptr) return std::nullopt;
    if (!detail::mutate_permutation(program.devices, choose, *allpermute)) return std::nullopt;
    return mutant;
  }
  if (mutation == Mutation::transfer_changed) {
    auto* exchange = std::get_if<retile::Exchange>(&step.op);
    if (exchange == nullptr || !detail::mutate_transfers(choose, *exchange)) return std::nullopt;
    return mutant;
  }
  if (mutation == Mutation::wrong_dimension) {
    const auto dimensions = detail::dimensions_of(step);
    const std::size_t rank = program.from.rank();
    if (dimensions.empty() || rank < 2) return std::nullopt;
    std::size_t& dimension = *dimensions[detail::pick(choose, dimensions.size())];
    dimension = detail::pick_other(choose, rank, dimension);
    return mutant;
  }
  auto* dynslice = std::get_if<retile::Dynslice>(&step.op);
  if (mutation == Mutation::wrong_part_order && dynslice != nullptr && choose(2) == 1) {
    if (!detail::mutate_parts(program.devices, choose, *dynslice)) return std::nullopt;
    return mutant;
  }
  retile::DeviceTable* groups = detail::groups_of(step);
  if (groups == nullptr) return std::nullopt;
  detail::Rows rows = groups->to_rows();
  if (!detail::mutate_rows(mutation, program.devices, choose, rows)) return std::nullopt;
  *groups = retile::DeviceTable::rows(std::move(rows));
  return mutant;
}

/// Hands every mutant of one kind to `use`.
inline void for_each_mutant(const retile::Program& program, Mutation mutation,
                            const std::function<void(const Mutant&)>& use) {
  Odometer all;
  do {
    if (const auto mutant = mutate(program, mutation, all.choose())) use(*mutant);
  } while (all.advance());
}

}  // namespace support
