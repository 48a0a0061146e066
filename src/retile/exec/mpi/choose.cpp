#include "retile/exec/mpi/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "retile/core/assert.h"
#include "retile/exec/exchange/direct.h"

namespace retile::mpi {
namespace {

tl::unexpected<Diagnostic> refused(Code code, std::string message) {
  return refuse({.code = code, .message = std::move(message)});
}

}  // namespace

// ---- The exchange ------------------------------------------------------------------------------

/// Beside what is kept: the exchange, and a copy of what concerns a node or a process.
Size Choice::exchange_bytes(Size transfers, Size most_of_one) const {
  const auto numbers = static_cast<Size>(task_.rank()) * Size{sizeof(Size)};
  const Size copy = Size{sizeof(Transfer)} + 3 * (numbers + 16);
  // Of one process: a growing list of copies, and two passes that are compared and one in the
  // making.
  const Size own = copy + 2 * Size{sizeof(Transfer)} + 3 * (512 + 8 * numbers);
  const Size devices = task_.program.devices;
  return direct_bound_bytes(devices, transfers, task_.rank()) + transfers * copy +
         most_of_one * own + devices * 256;
}

/// The tiles and the description of an exchange of so many transfers.
Size Choice::described_bytes(Size transfers) const {
  return task_.most_in_bytes() + task_.most_out_bytes() + exchange_bytes(transfers, 0);
}

/// The most transfers in which one process takes part.
Size Choice::most_of_one() const {
  std::vector<Size> ends(static_cast<std::size_t>(task_.program.devices), 0);
  for (const Transfer& transfer : exchange_->transfers) {
    ++ends[static_cast<std::size_t>(transfer.source)];
    if (transfer.source != transfer.target) ++ends[static_cast<std::size_t>(transfer.target)];
  }
  return *std::max_element(ends.begin(), ends.end());
}

/// If the Program is a single exchange, it is used as given.
void Choice::find_exchange() {
  const std::optional<Size> limit_bytes = task_.options.memory_limit_bytes;
  Size most = DirectOptions{}.transfer_limit;
  if (limit_bytes) {
    const Size each = described_bytes(1) - described_bytes(0);
    most = std::clamp((*limit_bytes - described_bytes(0)) / each, Size{0}, most);
  }
  const auto& steps = task_.program.steps;
  if (const auto* given = steps.size() == 1 ? std::get_if<Exchange>(&steps.front().op) : nullptr) {
    exchange_fits_ = !limit_bytes || static_cast<Size>(given->transfers.size()) <= most;
    if (exchange_fits_) exchange_ = *given;
  } else if (auto made = direct(task_.program, {.transfer_limit = most})) {
    exchange_ = std::move(std::get<Exchange>(made->steps.front().op));
  } else {
    exchange_fits_ = !limit_bytes || made.error().code != Code::limit_reached;
    exchange_ = tl::unexpected(made.error());
  }
  if (!exchange_fits_) {
    exchange_ = refused(
        Code::limit_reached,
        most > 0 ? fmt::format("does not fit the memory limit: {} bytes hold the tiles and at most "
                               "{} of the exchange's transfers",
                               *limit_bytes, most)
                 : fmt::format("needs at least {} bytes, the limit is {}", described_bytes(1),
                               *limit_bytes));
  }
  if (exchange_) {
    // The lists of hand-made Programs may have room for more than they hold, but not their copies.
    const auto transfers = static_cast<Size>(exchange_->transfers.capacity());
    looking_bytes_ = exchange_bytes(transfers, 0);
    making_bytes_ = exchange_bytes(transfers, most_of_one());
  }
}

// ---- Choosing ----------------------------------------------------------------------------------

std::string Choice::Candidate::name() const {
  return std::string(strategy_name(strategy)) + (by_messages ? " by messages" : "");
}

std::vector<Choice::Candidate> Choice::candidates() const {
  const Nodes& nodes = task_.nodes;
  const auto [strategy, partition] = std::pair(task_.options.strategy, task_.options.partition);
  // Where nothing stays on a node, all goes by messages in any case.
  const bool on_node =
      partition != Partition::apart && (nodes.count == 1 || partition == Partition::one_node ||
                                        (exchange_ && shares_memory(*exchange_, nodes)));
  if (has_addends(task_.program)) {
    // What adds goes step by step, wherever processes are.
    return {{strategy == Strategy::automatic ? Strategy::exchange : strategy}};
  }
  if (strategy == Strategy::exchange) return {{Strategy::exchange, !on_node}};
  if (strategy != Strategy::automatic) return {{strategy}};
  std::vector<Candidate> out;
  if (on_node) out.push_back({Strategy::exchange, false});
  if (partition != Partition::one_node) out.push_back({Strategy::exchange, true});
  out.push_back({Strategy::collectives});
  out.push_back({Strategy::in_place});
  return out;
}

/// Nothing is composed of steps that add: each of them is an exchange of its own.
Result<std::unique_ptr<Mover>> Choice::with_addends(const Candidate& candidate, const Task& task) {
  if (candidate.is_exchange()) return adding_in_order(task);
  return refused(Code::unsupported, "a Program with addends is not run in place");
}

/// All see the same, but that one may have no memory left.
Result<std::unique_ptr<Mover>> Choice::prepared(const Candidate& candidate, Size chunk_bytes) {
  Result<std::unique_ptr<Mover>> out;
  const auto looked = or_out_of_memory([&]() -> Result<void> {
    const Task task = task_.with_chunks(chunk_bytes);
    if (candidate.strategy == Strategy::collectives) {
      out = collectives(task);
    } else if (has_addends(task.program)) {
      out = with_addends(candidate, task);
    } else if (candidate.strategy == Strategy::in_place) {
      out = in_place(task);
    } else if (task.options.partition == Partition::one_node && task.nodes.count > 1) {
      out = refused(Code::unsupported,
                    fmt::format("the processes do not all share memory: they are on {} nodes",
                                task.nodes.count));
    } else if (exchange_) {
      out = exchanging(task, *exchange_, candidate.by_messages);
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
  last_ = why;
  return false;
}

/// Whether the candidate was taken; else the reasons say why not.
bool Choice::attempt(const Candidate& candidate) {
  // Ways by steps come last, and need no exchange any more.
  if (!candidate.is_exchange()) exchange_ = refused(Code::unsupported, "not needed any more");
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
    out.message += fmt::format("; the least that one of them needs is {}", *smallest_);
  }
  return out;
}

Result<Chosen> Choice::take() {
  const Strategy asked = task_.options.strategy;
  const bool exchanges = asked == Strategy::automatic || asked == Strategy::exchange;
  if (exchanges && !has_addends(task_.program)) {
    const auto found = or_out_of_memory([&]() -> Result<void> {
      find_exchange();
      return {};
    });
    if (auto agreed = task_.comm.agree(found); !agreed) return tl::unexpected(agreed.error());
  }
  for (const Candidate& candidate : candidates()) {
    if (attempt(candidate)) return std::move(chosen_);
  }
  return refuse(none());
}

}  // namespace retile::mpi
