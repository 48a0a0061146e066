#include "retile/exec/mpi/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "retile/core/assert.h"
#include "retile/exec/exchange/direct.h"

namespace retile::mpi {

// ---- The exchange ------------------------------------------------------------------------------

/// Of a list of transfers, each with three lists of numbers.
Size Choice::list_bytes(Size transfers) const {
  const auto numbers = static_cast<Size>(task_.rank()) * Size{sizeof(Size)};
  return transfers * (Size{sizeof(Transfer)} + 3 * (numbers + 16));
}

/// The tiles and a description of so many transfers, where all of them concern one process.
Size Choice::described_bytes(Size transfers) const {
  const Program& program = task_.program;
  const bool routed = Routes::knows(program.from, program.to);
  return task_.most_in_bytes() + task_.most_out_bytes() + task_.program.devices * 256 +
         list_bytes(transfers) +
         (routed ? 0 : direct_bound_bytes(program.devices, transfers, task_.rank()));
}

/// How many transfers a memory limit has room for, as far as they must be described.
Size Choice::most_described() const {
  const Size each = described_bytes(1) - described_bytes(0);
  return std::max((*task_.options.memory_limit_bytes - described_bytes(0)) / each, Size{0});
}

/// Of an exchange that could not be described to the end.
Diagnostic Choice::too_many() const {
  const Size limit_bytes = *task_.options.memory_limit_bytes;
  const Size most = most_described();
  return {.code = Code::limit_reached,
          .message = most > 0
                         ? fmt::format("does not fit the memory limit: {} bytes hold the tiles and "
                                       "at most {} of the exchange's transfers",
                                       limit_bytes, most)
                         : fmt::format("needs more than {} bytes, the limit is {}",
                                       described_bytes(1), limit_bytes)};
}

/// Not collective. Only a process that has no memory left sees it otherwise than the others.
void Choice::find_exchange() {
  const bool limited = task_.options.memory_limit_bytes.has_value();
  const Size most = DirectOptions{}.transfer_limit;
  exchange_ = OwnExchange::find(task_, limited ? std::min(most, most_described()) : most);
  if (!exchange_ && limited && exchange_.error().code == Code::limit_reached) {
    exchange_fits_ = false;
    exchange_ = tl::unexpected(too_many());
  }
}

/// Collective.
/// \error mpi_error (out of memory)
Result<void> Choice::look_for_exchange() {
  OwnExchange::Numbers numbers{};
  const auto found = or_out_of_memory([&]() -> Result<void> {
    find_exchange();
    if (exchange_) numbers = exchange_->count();
    return {};
  });
  if (auto agreed = agree_on_maxima(task_.comm, found, numbers); !agreed) return agreed;
  if (!exchange_) return {};
  exchange_->learn(numbers);
  const MostBoxes& most = exchange_->most();
  const Size listed = exchange_->listed().value_or(0);
  looking_bytes_ =
      list_bytes(most.all) + most.table_bytes + task_.program.devices * 256 +
      (listed > 0 ? direct_bound_bytes(task_.program.devices, listed, task_.rank()) : 0);
  // A copy for the node or the messages, and two passes that are compared and one in the making.
  const auto index_bytes = static_cast<Size>(task_.rank()) * Size{sizeof(Size)};
  making_bytes_ =
      looking_bytes_ + list_bytes(most.all) +
      most.all * (list_bytes(1) + 2 * Size{sizeof(Transfer)} + 3 * (512 + 8 * index_bytes));
  exchange_fits_ = !over(task_.most_in_bytes() + task_.most_out_bytes() + looking_bytes_);
  return {};
}

/// All steps of a Program with addends as one.
void Choice::find_sums() {
  const std::optional<Size> limit_bytes = task_.options.memory_limit_bytes;
  const Size ends = task_.most_in_bytes() + task_.most_out_bytes();
  Size most = Size{512} << 20;
  // Two thirds are for what is made of it.
  if (limit_bytes) most = std::clamp((*limit_bytes - ends) / 3, Size{0}, most);
  sums_ = add::sums_of(task_.program, task_.shapes, most);
  if (!sums_) return;
  looking_bytes_ = sums_->making_bytes;
  making_bytes_ = 3 * sums_->making_bytes;
}

// ---- Choosing ----------------------------------------------------------------------------------

std::string Choice::Candidate::name() const {
  const char* const how = haul == Haul::messages ? " by messages" : by_steps ? " by steps" : "";
  return std::string(strategy_name(strategy)) + how;
}

std::vector<Choice::Candidate> Choice::candidates() const {
  const Nodes& nodes = task_.nodes;
  const auto [strategy, partition] = std::pair(task_.options.strategy, task_.options.partition);
  // Where nothing stays on a node, all goes by messages in any case.
  const bool on_node =
      partition != Partition::apart && (nodes.count == 1 || partition == Partition::one_node ||
                                        (exchange_ && exchange_->most().neighbours > 0));
  if (has_addends(task_.program) &&
      (strategy == Strategy::automatic || strategy == Strategy::exchange)) {
    std::vector<Candidate> out;
    if (partition == Partition::one_node || (on_node && nodes.count == 1)) {
      out.push_back({Strategy::exchange});
    }
    if (partition != Partition::one_node) out.push_back({Strategy::exchange, Haul::messages});
    if (partition != Partition::one_node) out.push_back({Strategy::exchange, Haul::memory, true});
    return out;
  }
  const bool automatic = strategy == Strategy::automatic;
  if (!automatic && strategy != Strategy::exchange) return {{strategy}};
  std::vector<Candidate> out;
  if (on_node) out.push_back({Strategy::exchange, Haul::memory});
  if (automatic ? partition != Partition::one_node : !on_node) {
    out.push_back({Strategy::exchange, Haul::messages});
  }
  if (!automatic) return out;
  out.push_back({Strategy::collectives});
  out.push_back({Strategy::in_place});
  return out;
}

Result<std::unique_ptr<Mover>> Choice::with_addends(const Candidate& candidate,
                                                    const Task& task) const {
  if (candidate.strategy == Strategy::in_place) {
    return refuse(Code::unsupported, "a Program with addends is not run in place");
  }
  if (candidate.by_steps) return adding_in_order(task);
  if (sums_) return summing(task, *sums_, candidate.haul == Haul::messages);
  return tl::unexpected(sums_.error());
}

/// All see the same, but that one may have no memory left.
Result<std::unique_ptr<Mover>> Choice::prepared(const Candidate& candidate, Size chunk_bytes) {
  Result<std::unique_ptr<Mover>> out;
  const auto looked = or_out_of_memory([&]() -> Result<void> {
    const Task task = task_.with_chunks(chunk_bytes);
    if (task.placement != nullptr && !candidate.is_exchange()) {
      out = refuse(Code::unsupported, "takes no tiles that lie in larger arrays (options.arrays)");
    } else if (candidate.strategy == Strategy::collectives) {
      out = collectives(task);
    } else if (candidate.strategy == Strategy::in_place && !has_addends(task.program)) {
      out = in_place(task);
    } else if (candidate.is_exchange() && task.options.partition == Partition::one_node &&
               task.nodes.count > 1) {
      out = refuse(Code::unsupported,
                   fmt::format("the processes do not all share memory: they are on {} nodes",
                               task.nodes.count));
    } else if (has_addends(task.program)) {
      out = with_addends(candidate, task);
    } else if (exchange_) {
      if (exchange_fits_) exchange_->take();  // else only its need is asked for
      out = exchanging(task, *exchange_, candidate.haul);
    } else {
      out = tl::unexpected(exchange_.error());
    }
    return {};
  });
  if (auto agreed = task_.comm.agree(looked); !agreed) return tl::unexpected(agreed.error());
  return out;
}

/// With smaller buffers where a memory limit asks for it; the smallest where even these need more.
Result<std::unique_ptr<Mover>> Choice::shrunk(const Candidate& candidate) {
  auto way = prepared(candidate, task_.chunk_bytes);
  if (!way || !over(needs(candidate, **way))) return way;
  way = prepared(candidate, 1);
  if (!way || over(needs(candidate, **way))) return way;
  const Size spare = *task_.options.memory_limit_bytes - needs(candidate, **way);
  way = prepared(candidate, std::min(task_.chunk_bytes, 1 + spare));
  RETILE_ASSERT(!way || !over(needs(candidate, **way)), "larger buffers need more than they have");
  return way;
}

bool Choice::pass_over(const Candidate& candidate, const Diagnostic& why) {
  chosen_.reasons.push_back(fmt::format("{}: {}", candidate.name(), why.message));
  all_known_ = all_known_ && why.code != Code::limit_reached;
  last_ = why;
  return false;
}

/// Whether the candidate was taken; else the reasons say why not.
bool Choice::attempt(const Candidate& candidate) {
  // Ways by steps come last, and need no exchange any more.
  if (!candidate.is_exchange()) {
    if (!exchange_fits_) looking_bytes_ = 0;
    exchange_ = refuse(Code::unsupported, "not needed any more");
    sums_ = refuse(Code::unsupported, "not needed any more");
  }
  auto way = shrunk(candidate);
  if (!way) return pass_over(candidate, way.error());
  const Size needed = needs(candidate, **way);
  if (over(needed)) {
    chosen_.reasons.push_back(fmt::format("{}: needs at least {} bytes, the limit is {}",
                                          candidate.name(), needed,
                                          *task_.options.memory_limit_bytes));
    smallest_ = std::min(smallest_.value_or(needed), needed);
    return false;
  }
  RETILE_ASSERT(exchange_fits_ || !candidate.is_exchange(), "it needs no more than its tiles");
  tried_ = std::max(tried_, needed);
  if (auto made = (*way)->make_ready(); !made) {
    task_.meter = {};  // some processes may have got, and counted, what others did not
    return pass_over(candidate, made.error());
  }
  chosen_.peak_limit_bytes = (*way)->limit_bytes();
  chosen_.mover = std::move(*way);
  chosen_.strategy = candidate.strategy;
  // Others were looked at before: then there was the exchange, beside tiles of the caller.
  const Size callers =
      task_.options.own_buffers ? 0 : task_.most_in_bytes() + task_.most_out_bytes();
  chosen_.preparing_limit_bytes = std::max(tried_, looking_bytes_ + callers);
  chosen_.reasons.push_back(
      fmt::format("{}: chosen, needs up to {} bytes", candidate.name(), chosen_.peak_limit_bytes));
  return true;
}

/// Why no strategy was taken.
Diagnostic Choice::none() const {
  if (!smallest_ && exchange_fits_) {
    Diagnostic out = *last_;
    if (task_.options.strategy == Strategy::automatic) {
      out.notes.insert(out.notes.end(), chosen_.reasons.begin(), chosen_.reasons.end());
    }
    return out;
  }
  Diagnostic out{.code = Code::infeasible,
                 .message = fmt::format("no way to run the Program within {} bytes per process",
                                        *task_.options.memory_limit_bytes),
                 .rule = "memory limit",
                 .notes = chosen_.reasons};
  if (smallest_) {
    out.message +=
        fmt::format("; the least that one of them needs is {}{}", *smallest_,
                    all_known_ ? "" : ", but one whose need is not known may do with less");
  }
  return out;
}

Result<Chosen> Choice::take() {
  const Strategy asked = task_.options.strategy;
  const bool exchanges = asked == Strategy::automatic || asked == Strategy::exchange;
  if (exchanges && has_addends(task_.program)) {
    const auto found = or_out_of_memory([&]() -> Result<void> {
      find_sums();
      return {};
    });
    if (auto agreed = task_.comm.agree(found); !agreed) return tl::unexpected(agreed.error());
  } else if (exchanges) {
    if (auto looked = look_for_exchange(); !looked) return tl::unexpected(looked.error());
  }
  for (const Candidate& candidate : candidates()) {
    if (attempt(candidate)) return std::move(chosen_);
  }
  return refuse(none());
}

}  // namespace retile::mpi
