#include "retile/whole/evaluate.h"

#include <fmt/format.h>

#include <algorithm>

#include "retile/core/walk.h"
#include "retile/whole/field.h"
#include "retile/whole/kernels.h"
#include "retile/whole/real.h"

namespace retile::whole {
namespace {

/// What operations between devices make, of all devices.
template <typename Domain>
class Exchange {
 public:
  Exchange(const Computation& in, Kernels<Domain>& kernels, std::size_t devices, Limits& limits)
      : in_(in), kernels_(kernels), devices_(devices), limits_(limits) {}

  [[nodiscard]] std::vector<Held> made(const Instruction& one, const std::vector<Held>& operands) {
    if (one.id == Id::all_to_all) return all_to_all(one, operands);
    std::vector<Held> out;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      out.push_back(made_of(one, operands[k], type(one.operands[k]), type(one.results[k])));
    }
    return out;
  }

 private:
  [[nodiscard]] const ArrayType& type(ValueId value) const { return in_.values[value].type; }

  [[nodiscard]] Held made_of(const Instruction& one, const Held& from, const ArrayType& before,
                             const ArrayType& to) {
    switch (one.id) {
      case Id::all_gather:
        return all_gather(one, from, before, to);
      case Id::all_reduce:
      case Id::reduce_scatter:
        return reduced(one, from, before, to);
      case Id::collective_permute:
        return permuted(one, from, to);
      case Id::collective_broadcast:
        return broadcast(one, from, to);
      case Id::slice:
        return to_tiles(one, from, before, to);
      default:
        return to_arrays(one, from, before, to);
    }
  }
  [[nodiscard]] static const DeviceGroups& groups_of(const Instruction& one) {
    return std::get<GroupsDetail>(one.detail).groups;
  }
  [[nodiscard]] Held zeros(const ArrayType& to) {
    return Held(devices_, std::make_shared<Array>(
                              limits_, count_of(to) * static_cast<Size>(words_of(to.kind))));
  }
  [[nodiscard]] static std::size_t number(Size device) { return static_cast<std::size_t>(device); }
  /// What the devices of a group hold: groups that hold the same make the same.
  using Members = std::vector<const Array*>;
  [[nodiscard]] static Members members(const Held& from, const std::vector<Size>& group) {
    Members out;
    for (const Size device : group) out.push_back(from[number(device)].get());
    return out;
  }

  [[nodiscard]] Held all_gather(const Instruction& one, const Held& from, const ArrayType& before,
                                const ArrayType& to) {
    const std::size_t dim = std::get<GroupsDetail>(one.detail).dim;
    Held out = zeros(to);
    std::map<Members, Block> known;
    for (const auto& group : groups_of(one)) {
      Block& whole = known[members(from, group)];
      if (!whole) whole = gathered(from, group, dim, before, to);
      for (const Size device : group) out[number(device)] = whole;
    }
    return out;
  }
  [[nodiscard]] Block gathered(const Held& from, const std::vector<Size>& group, std::size_t dim,
                               const ArrayType& before, const ArrayType& to) {
    auto whole = new_array(limits_, to);
    limits_.work(static_cast<Size>(whole->words.size()));
    Strided there = whole_of(to.extents);
    for (const Size device : group) {
      copy_box(from[number(device)]->words, whole_of(before.extents), whole->words, there,
               before.extents, words_of(to.kind));
      there.offset += before.extents[dim] * there.strides[dim];
    }
    return whole;
  }
  [[nodiscard]] Held reduced(const Instruction& one, const Held& from, const ArrayType& before,
                             const ArrayType& to) {
    Held out = one.id == Id::all_reduce ? from : zeros(to);
    std::map<Members, std::vector<Block>> known;
    for (const auto& group : groups_of(one)) {
      std::vector<Block>& made = known[members(from, group)];
      if (made.empty()) made = sums(one, from, group, before, to);
      for (std::size_t k = 0; k < group.size(); ++k) out[number(group[k])] = made[k];
    }
    return out;
  }
  /// What each device of a group gets.
  [[nodiscard]] std::vector<Block> sums(const Instruction& one, const Held& from,
                                        const std::vector<Size>& group, const ArrayType& before,
                                        const ArrayType& to) {
    std::vector<Block> addends;
    for (const Size device : group) addends.push_back(from[number(device)]);
    const Block sum = kernels_.summed(one, before, addends);
    if (one.id == Id::all_reduce) return std::vector<Block>(group.size(), sum);
    std::vector<Block> out;
    for (std::size_t k = 0; k < group.size(); ++k) out.push_back(part(one, sum, before, to, k));
    return out;
  }
  /// Part k of a sum along a dimension.
  [[nodiscard]] Block part(const Instruction& one, const Block& sum, const ArrayType& before,
                           const ArrayType& to, std::size_t k) {
    const std::size_t dim = std::get<GroupsDetail>(one.detail).dim;
    auto out = new_array(limits_, to);
    Strided where = whole_of(before.extents);
    where.offset = static_cast<Size>(k) * to.extents[dim] * where.strides[dim];
    copy_box(sum->words, where, out->words, whole_of(to.extents), to.extents, words_of(to.kind));
    return out;
  }
  [[nodiscard]] Held permuted(const Instruction& one, const Held& from, const ArrayType& to) {
    Held out = zeros(to);
    for (const auto& [source, target] : std::get<PairsDetail>(one.detail).pairs) {
      out[number(target)] = from[number(source)];
    }
    return out;
  }
  [[nodiscard]] Held broadcast(const Instruction& one, const Held& from, const ArrayType& to) {
    Held out = zeros(to);
    for (const auto& group : groups_of(one)) {
      for (const Size device : group) out[number(device)] = from[number(group.front())];
    }
    return out;
  }
  [[nodiscard]] std::vector<Held> all_to_all(const Instruction& one,
                                             const std::vector<Held>& operands) {
    const auto& detail = std::get<GroupsDetail>(one.detail);
    std::vector<Held> out;
    for (const ValueId result : one.results) out.push_back(zeros(type(result)));
    std::map<std::pair<Members, std::size_t>, Block> known;
    for (const auto& group : detail.groups) {
      for (std::size_t k = 0; k < group.size(); ++k) {
        if (detail.has_dim) {
          Block& made = known[{members(operands[0], group), k}];
          if (!made) made = exchanged(detail, operands[0], group, k, type(one.results[0]));
          out[0][number(group[k])] = made;
          continue;
        }
        for (std::size_t q = 0; q < group.size(); ++q) {
          out[q][number(group[k])] = operands[k][number(group[q])];
        }
      }
    }
    return out;
  }
  /// Part k of the tile of every member, one behind the other.
  [[nodiscard]] Block exchanged(const GroupsDetail& detail, const Held& from,
                                const std::vector<Size>& group, std::size_t k,
                                const ArrayType& to) {
    auto out = new_array(limits_, to);
    limits_.work(static_cast<Size>(out->words.size()));
    Shape extents = to.extents;
    extents[detail.dim] /= static_cast<Size>(group.size());
    for (std::size_t q = 0; q < group.size(); ++q) {
      Strided where = whole_of(to.extents);
      Strided there = where;
      const Size step = extents[detail.dim] * where.strides[detail.dim];
      where.offset = static_cast<Size>(k) * step;
      there.offset = static_cast<Size>(q) * step;
      copy_box(from[number(group[q])]->words, where, out->words, there, extents, words_of(to.kind));
    }
    return out;
  }
  [[nodiscard]] Held to_tiles(const Instruction& one, const Held& from, const ArrayType& before,
                              const ArrayType& to) {
    Held out;
    const auto& starts = std::get<ManualDetail>(one.detail).starts;
    for (std::size_t d = 0; d < devices_; ++d) {
      auto tile = new_array(limits_, to);
      Strided where = whole_of(before.extents);
      where.offset = offset_of(starts[d % starts.size()], where.strides);
      copy_box(from[d]->words, where, tile->words, whole_of(to.extents), to.extents,
               words_of(to.kind));
      out.push_back(std::move(tile));
    }
    return out;
  }
  [[nodiscard]] Held to_arrays(const Instruction& one, const Held& from, const ArrayType& before,
                               const ArrayType& to) {
    const auto& starts = std::get<ManualDetail>(one.detail).starts;
    auto whole = new_array(limits_, to);
    for (std::size_t d = devices_; d-- > 0;) {
      Strided there = whole_of(to.extents);
      there.offset = offset_of(starts[d % starts.size()], there.strides);
      copy_box(from[d]->words, whole_of(before.extents), whole->words, there, before.extents,
               words_of(to.kind));
    }
    return Held(devices_, whole);
  }

  const Computation& in_;
  Kernels<Domain>& kernels_;
  std::size_t devices_;
  Limits& limits_;
};

}  // namespace

bool is_collective(Id id) {
  switch (id) {
    case Id::all_gather:
    case Id::all_to_all:
    case Id::all_reduce:
    case Id::reduce_scatter:
    case Id::collective_permute:
    case Id::collective_broadcast:
      return true;
    default:
      return false;
  }
}

bool exchanges(const Instruction& one) {
  return is_collective(one.id) || std::holds_alternative<ManualDetail>(one.detail);
}

bool depends_on_device(const Instruction& one) {
  return exchanges(one) || std::holds_alternative<OfDevices>(one.detail);
}

template <typename Domain>
std::vector<Held> Evaluator<Domain>::run(std::vector<Held> arguments, const Look& look) {
  random_ = 0;
  comes_.assign(devices_, true);
  return run_computation(module_.entry, std::move(arguments), look);
}

template <typename Domain>
const std::vector<std::vector<ValueId>>& Evaluator<Domain>::lifetimes(ComputationId id) {
  std::vector<std::vector<ValueId>>& out = lifetimes_[id];
  const Computation& in = module_.computations[id];
  if (!out.empty() || in.body.empty()) return out;
  out.resize(in.body.size());
  std::vector<bool> is_needed(in.values.size(), false);
  for (const ValueId result : in.results) is_needed[result] = true;
  for (std::size_t k = in.body.size(); k-- > 0;) {
    const auto see = [&](ValueId value) {
      if (is_needed[value]) return;
      is_needed[value] = true;
      out[k].push_back(value);
    };
    for (const ValueId operand : in.body[k].operands) see(operand);
    for (const ValueId result : in.body[k].results) see(result);
  }
  return out;
}

template <typename Domain>
std::vector<Held> Evaluator<Domain>::run_computation(ComputationId id, std::vector<Held> arguments,
                                                     const Look& look) {
  const Computation& in = module_.computations[id];
  const auto& dying = lifetimes(id);
  Frame frame(in.values.size());
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    if (look) look(in, nullptr, in.parameters[k], arguments[k]);
    frame[in.parameters[k]] = std::move(arguments[k]);
  }
  for (std::size_t k = 0; k < in.body.size(); ++k) {
    const Instruction& one = in.body[k];
    ++counts_.instructions;
    std::vector<Held> made = applied(in, one, frame, look);
    for (std::size_t r = 0; r < made.size(); ++r) {
      if (look) look(in, &one, one.results[r], made[r]);
      frame[one.results[r]] = std::move(made[r]);
    }
    for (const ValueId value : dying[k]) frame[value].clear();
  }
  std::vector<Held> out;
  for (const ValueId result : in.results) out.push_back(frame[result]);
  return out;
}

template <typename Domain>
Held Evaluator<Domain>::again_with(std::vector<Held> values, ValueId value, Held replaced,
                                   ValueId result) {
  const Computation& in = module_.main();
  std::vector<bool> is_needed(in.values.size(), false);
  is_needed[result] = true;
  for (std::size_t k = in.body.size(); k-- > 0;) {
    for (const ValueId made : in.body[k].results) {
      if (!is_needed[made]) continue;
      for (const ValueId operand : in.body[k].operands) is_needed[operand] = true;
    }
  }
  std::vector<bool> is_other(in.values.size(), false);
  is_other[value] = true;
  values[value] = std::move(replaced);
  for (const Instruction& one : in.body) {
    const bool takes_other = std::any_of(one.operands.begin(), one.operands.end(),
                                         [&](ValueId operand) { return is_other[operand]; });
    const bool counts = std::any_of(one.results.begin(), one.results.end(),
                                    [&](ValueId made) { return is_needed[made]; });
    if (!takes_other || !counts) continue;
    std::vector<Held> made = applied(in, one, values, {});
    for (std::size_t r = 0; r < made.size(); ++r) {
      is_other[one.results[r]] = true;
      values[one.results[r]] = std::move(made[r]);
    }
  }
  return values[result];
}

template <typename Domain>
std::vector<Held> Evaluator<Domain>::applied(const Computation& in, const Instruction& one,
                                             const Frame& frame, const Look& look) {
  limits_.work(1000);
  std::vector<Held> operands;
  for (const ValueId operand : one.operands) operands.push_back(frame[operand]);
  if (one.id == Id::while_loop) return looped(one, std::move(operands), look);
  if (one.id == Id::conditional) return chosen(in, one, operands, look);
  Kernels<Domain> kernels(module_, in, domain_, limits_);
  Exchange<Domain> exchange(in, kernels, devices_, limits_);
  if (exchanges(one) && static_cast<std::size_t>(module_.devices()) != devices_) {
    throw NotEvaluated{one.opcode + ": the other text has more devices", one.place};
  }
  if (exchanges(one)) {
    see_parted(one);
    return exchange.made(one, operands);
  }
  std::vector<Held> out(one.results.size());
  if (const auto* each = std::get_if<OfDevices>(&one.detail)) {
    for (std::size_t d = 0; d < devices_; ++d) {
      auto scalar = new_array(limits_, in.values[one.results[0]].type);
      scalar->words[0] = each->words[d % each->words.size()];
      out[0].push_back(std::move(scalar));
    }
    return out;
  }
  if (one.id == Id::constant) {
    out[0].assign(devices_, kernels.literal(one));
    return out;
  }
  if (one.id == Id::custom_call || one.id == Id::rng || one.id == Id::cholesky) {
    ++counts_.unknown;
    ++counts_.unknown_by_name[one.opcode];
  }
  // Devices draw numbers of their own, and each time others.
  const bool is_random = one.id == Id::rng;
  if (is_random) random_ += devices_;
  std::vector<const ArrayType*> types;
  for (const ValueId operand : one.operands) types.push_back(&in.values[operand].type);
  // Devices that hold the same operands make the same.
  std::map<std::vector<const Array*>, std::size_t> seen;
  for (std::size_t d = 0; d < devices_; ++d) {
    std::vector<Block> here;
    std::vector<const Array*> key;
    for (const Held& held : operands) {
      here.push_back(held[d]);
      key.push_back(held[d].get());
    }
    const auto [same, is_new] = seen.emplace(std::move(key), d);
    if (is_random) {
      kernels.set_random(random_ + (module_.is_partitioned ? d : 0));
    } else if (!is_new) {
      for (Held& held : out) held.push_back(held[same->second]);
      continue;
    }
    if (is_moving(one.id)) {
      out[0].push_back(moved(one, types, here, in.values[one.results[0]].type, limits_));
      continue;
    }
    std::vector<Block> made = kernels.made(one, here);
    for (std::size_t r = 0; r < made.size(); ++r) out[r].push_back(std::move(made[r]));
  }
  return out;
}

template <typename Domain>
void Evaluator<Domain>::see_parted(const Instruction& one) {
  const auto comes = [&](Size device) { return comes_[static_cast<std::size_t>(device)]; };
  bool is_parted = false;
  if (const auto* some = std::get_if<GroupsDetail>(&one.detail)) {
    for (const auto& group : some->groups) {
      is_parted = is_parted || (std::any_of(group.begin(), group.end(), comes) &&
                                !std::all_of(group.begin(), group.end(), comes));
    }
  } else if (const auto* pairs = std::get_if<PairsDetail>(&one.detail)) {
    for (const auto& [from, to] : pairs->pairs) is_parted = is_parted || comes(from) != comes(to);
  } else {
    is_parted = std::find(comes_.begin(), comes_.end(), false) != comes_.end();
  }
  if (is_parted && counts_.parted == nullptr) counts_.parted = &one;
}

template <typename Domain>
std::vector<Held> Evaluator<Domain>::looped(const Instruction& one, std::vector<Held> operands,
                                            const Look& look) {
  const std::vector<bool> here = comes_;
  for (Size rounds = 0;; ++rounds) {
    const std::vector<Held> goes_on = run_computation(one.calls[0], operands, look);
    for (std::size_t d = 0; d < devices_; ++d) {
      comes_[d] = comes_[d] && goes_on.front()[d]->words.front() != 0;
    }
    if (std::find(comes_.begin(), comes_.end(), true) == comes_.end()) {
      Size& most = counts_.rounds[&one];
      most = std::max(most, rounds);
      comes_ = here;
      return operands;
    }
    if (comes_ == here) {
      operands = run_computation(one.calls[1], std::move(operands), look);
      continue;
    }
    // Devices that are through keep what they have.
    const std::vector<Held> next = run_computation(one.calls[1], operands, look);
    for (std::size_t k = 0; k < operands.size(); ++k) {
      for (std::size_t d = 0; d < devices_; ++d) {
        if (comes_[d]) operands[k][d] = next[k][d];
      }
    }
  }
}

template <typename Domain>
std::vector<Held> Evaluator<Domain>::run_branch(const Instruction& one, Word branch,
                                                const std::vector<Held>& operands,
                                                const Look& look) {
  counts_.branches.emplace(&one, branch);
  std::size_t begin = 1;
  for (Word k = 0; k < branch; ++k) {
    begin += module_.computations[one.calls[static_cast<std::size_t>(k)]].parameters.size();
  }
  const ComputationId chosen = one.calls[static_cast<std::size_t>(branch)];
  const std::size_t count = module_.computations[chosen].parameters.size();
  const auto first = operands.begin() + static_cast<std::ptrdiff_t>(begin);
  return run_computation(chosen, {first, first + static_cast<std::ptrdiff_t>(count)}, look);
}

template <typename Domain>
std::vector<Held> Evaluator<Domain>::chosen(const Computation& in, const Instruction& one,
                                            const std::vector<Held>& operands, const Look& look) {
  const auto branches = static_cast<Word>(one.calls.size());
  // A truth value chooses the first branch where it is true; an index beyond the ends the last one.
  const ElementKind& kind = in.values[one.operands.front()].type.kind;
  const bool by_truth = kind.form == ElementKind::Form::truth;
  std::map<Word, std::vector<bool>> devices;  // by the branch that they take
  for (std::size_t d = 0; d < devices_; ++d) {
    const Word number = operands.front()[d]->words.front();
    Word branch = by_truth ? (number != 0 ? 0 : 1) : number;
    if (branch < 0 || branch >= branches) branch = branches - 1;
    if (comes_[d]) devices.try_emplace(branch, devices_, false).first->second[d] = true;
  }
  const std::vector<bool> here = comes_;
  std::vector<Held> out;
  for (const auto& [branch, mine] : devices) {
    comes_ = mine;
    std::vector<Held> made = run_branch(one, branch, operands, look);
    if (out.empty()) out = made;
    for (std::size_t k = 0; k < out.size(); ++k) {
      for (std::size_t d = 0; d < devices_; ++d) {
        if (mine[d]) out[k][d] = made[k][d];
      }
    }
  }
  comes_ = here;
  return out;
}

template class Evaluator<Field>;
template class Evaluator<Real>;

}  // namespace retile::whole
