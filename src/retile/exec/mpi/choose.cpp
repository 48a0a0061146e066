#include "retile/exec/mpi/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "retile/core/assert.h"
#include "retile/exec/exchange/direct.h"

namespace retile::mpi {
namespace {

tl::unexpected<Diagnostic> refused(Code code, std::string message) {
  return refuse({.code = code, .message = std::move(message)});
}

// ---- What an exchange needs while something is made of it ---------------------------------------

/// Beside what is kept: the exchange, and a copy of what concerns a node or a process.
Size exchange_bytes(const Task& task, Size transfers, Size most_of_one) {
  const auto numbers = static_cast<Size>(task.rank()) * Size{sizeof(Size)};
  const Size copy = Size{sizeof(Transfer)} + 3 * (numbers + 16);
  // Of one process: a growing list of copies, and two passes that are compared and one in the
  // making.
  const Size own = copy + 2 * Size{sizeof(Transfer)} + 3 * (512 + 8 * numbers);
  const Size devices = task.program.devices;
  return direct_bound_bytes(devices, transfers, task.rank()) + transfers * copy +
         most_of_one * own + devices * 256;
}

/// The tiles and the description of an exchange of so many transfers.
Size described_bytes(const Task& task, Size transfers) {
  return task.in_bytes() + task.out_bytes() + exchange_bytes(task, transfers, 0);
}

/// The most transfers in which one process takes part.
Size most_of_one(const Exchange& exchange, Size devices) {
  std::vector<Size> ends(static_cast<std::size_t>(devices), 0);
  for (const Transfer& transfer : exchange.transfers) {
    ++ends[static_cast<std::size_t>(transfer.source)];
    if (transfer.source != transfer.target) ++ends[static_cast<std::size_t>(transfer.target)];
  }
  return *std::max_element(ends.begin(), ends.end());
}

/// The Program as one exchange, as long as somebody may take it.
struct WholeExchange {
  Result<Exchange> exchange = refused(Code::unsupported, "not needed");
  bool fits = true;         ///< false: a memory limit has no room for it
  Size looking_bytes = 0;   ///< what it takes while nothing is made of it
  Size making_bytes = 0;    ///< and while something is
};

/// If the Program is a single exchange, it is used as given.
WholeExchange find_exchange(const Task& task, std::optional<Size> limit_bytes) {
  WholeExchange out;
  Size most = DirectOptions{}.transfer_limit;
  if (limit_bytes) {
    const Size each = described_bytes(task, 1) - described_bytes(task, 0);
    most = std::clamp((*limit_bytes - described_bytes(task, 0)) / each, Size{0}, most);
  }
  const auto& steps = task.program.steps;
  if (const auto* given = steps.size() == 1 ? std::get_if<Exchange>(&steps.front().op) : nullptr) {
    out.fits = !limit_bytes || static_cast<Size>(given->transfers.size()) <= most;
    if (out.fits) out.exchange = *given;
  } else if (auto made = direct(task.program, {.transfer_limit = most})) {
    out.exchange = std::move(std::get<Exchange>(made->steps.front().op));
  } else {
    out.fits = !limit_bytes || made.error().code != Code::limit_reached;
    out.exchange = tl::unexpected(made.error());
  }
  if (!out.fits) {
    out.exchange = refused(
        Code::limit_reached,
        most > 0 ? fmt::format("does not fit the memory limit: {} bytes hold the tiles and at most "
                               "{} of the exchange's transfers",
                               *limit_bytes, most)
                 : fmt::format("needs at least {} bytes, the limit is {}", described_bytes(task, 1),
                               *limit_bytes));
  }
  if (out.exchange) {
    // The lists of hand-made Programs may have room for more than they hold, but not their copies.
    const auto transfers = static_cast<Size>(out.exchange->transfers.capacity());
    out.looking_bytes = exchange_bytes(task, transfers, 0);
    out.making_bytes =
        exchange_bytes(task, transfers, most_of_one(*out.exchange, task.program.devices));
  }
  return out;
}

// ---- Choosing ----------------------------------------------------------------------------------

/// A strategy, and of the exchange whether all of it goes by messages.
struct Candidate {
  Strategy strategy;
  bool by_messages = false;
  [[nodiscard]] bool is_exchange() const { return strategy == Strategy::exchange; }
  [[nodiscard]] std::string name() const {
    return std::string(strategy_name(strategy)) + (by_messages ? " by messages" : "");
  }
};

class Choice {
 public:
  Choice(const Task& task, const Options& options)
      : task_(task),
        strategy_(options.strategy),
        partition_(options.partition),
        limit_bytes_(options.memory_limit_bytes) {}

  Result<Chosen> take();

 private:
  [[nodiscard]] std::vector<Candidate> candidates() const;
  [[nodiscard]] Result<Prepared> prepared(const Candidate& candidate, Size chunk_bytes);
  [[nodiscard]] Result<Prepared> shrunk(const Candidate& candidate);
  [[nodiscard]] bool attempt(const Candidate& candidate);
  [[nodiscard]] Diagnostic none() const;
  /// What a way needs at most until it is made.
  [[nodiscard]] Size needs(const Candidate& candidate, const Prepared& way) const {
    return way.limit_bytes + (candidate.is_exchange() ? whole_.making_bytes : 0);
  }
  [[nodiscard]] bool over(Size bytes) const { return limit_bytes_ && bytes > *limit_bytes_; }
  bool pass_over(const Candidate& candidate, const Diagnostic& why) {
    chosen_.reasons.push_back(fmt::format("{}: {}", candidate.name(), why.message));
    last_ = why;
    return false;
  }

  const Task& task_;
  Strategy strategy_;
  Partition partition_;
  std::optional<Size> limit_bytes_;
  WholeExchange whole_;
  Chosen chosen_;
  Size tried_ = 0;               // most that was held of ways that failed, and of the one taken
  std::optional<Size> smallest_;  // least that one of the ways over the limit needs
  std::optional<Diagnostic> last_;
};

std::vector<Candidate> Choice::candidates() const {
  const Nodes& nodes = task_.nodes;
  const bool apart = partition_ == Partition::apart;
  // Where nothing stays on a node, all goes by messages in any case.
  const bool on_node = !apart && (nodes.count == 1 || partition_ == Partition::one_node ||
                                  (whole_.exchange && shares_memory(*whole_.exchange, nodes)));
  if (strategy_ == Strategy::exchange) return {{Strategy::exchange, !on_node}};
  if (strategy_ != Strategy::automatic) return {{strategy_}};
  std::vector<Candidate> out;
  if (on_node) out.push_back({Strategy::exchange, false});
  if (partition_ != Partition::one_node) out.push_back({Strategy::exchange, true});
  out.push_back({Strategy::collectives});
  out.push_back({Strategy::in_place});
  return out;
}

/// All see the same, but that one may have no memory left.
Result<Prepared> Choice::prepared(const Candidate& candidate, Size chunk_bytes) {
  Result<Prepared> out;
  const auto looked = or_out_of_memory([&]() -> Result<void> {
    const Task task = task_.with_chunks(chunk_bytes);
    if (candidate.strategy == Strategy::collectives) {
      out = prepare_collectives(task);
    } else if (candidate.strategy == Strategy::in_place) {
      out = prepare_in_place(task);
    } else if (partition_ == Partition::one_node && task.nodes.count > 1) {
      out = refused(Code::unsupported,
                    fmt::format("the processes do not all share memory: they are on {} nodes",
                                task.nodes.count));
    } else {
      out = whole_.exchange ? prepare_exchange(task, *whole_.exchange, candidate.by_messages)
                            : tl::unexpected(whole_.exchange.error());
    }
    return {};
  });
  if (auto agreed = agree(task_.comm, looked); !agreed) return tl::unexpected(agreed.error());
  return out;
}

/// With smaller buffers where a memory limit asks for it; the smallest where even these need more.
Result<Prepared> Choice::shrunk(const Candidate& candidate) {
  auto way = prepared(candidate, task_.chunk_bytes);
  if (!way || !over(needs(candidate, *way))) return way;
  way = prepared(candidate, 1);
  if (!way || over(needs(candidate, *way))) return way;
  const Size spare = *limit_bytes_ - needs(candidate, *way);
  way = prepared(candidate, std::min(task_.chunk_bytes, 1 + spare));
  RETILE_ASSERT(!way || !over(needs(candidate, *way)), "larger buffers need more than they have");
  return way;
}

/// Whether the candidate was taken; else the reasons say why not.
bool Choice::attempt(const Candidate& candidate) {
  // Ways by steps come last, and need no exchange any more.
  if (!candidate.is_exchange()) {
    whole_.exchange = refused(Code::unsupported, "not needed any more");
  }
  auto way = shrunk(candidate);
  if (!way) return pass_over(candidate, way.error());
  const Size needed = needs(candidate, *way);
  if (over(needed)) {
    chosen_.reasons.push_back(fmt::format("{}: needs at least {} bytes, the limit is {}",
                                          candidate.name(), needed, *limit_bytes_));
    smallest_ = std::min(smallest_.value_or(needed), needed);
    return false;
  }
  tried_ = std::max(tried_, needed);
  auto made = way->make();
  if (!made) {
    task_.meter = {};  // some processes may have got, and counted, what others did not
    return pass_over(candidate, made.error());
  }
  chosen_.mover = std::move(*made);
  chosen_.strategy = candidate.strategy;
  chosen_.peak_limit_bytes = way->limit_bytes;
  // Others were looked at before: then there was the exchange, beside tiles of the caller.
  const Size callers = task_.own_buffers ? 0 : task_.in_bytes() + task_.out_bytes();
  const Size looked_at = whole_.looking_bytes + callers;
  chosen_.preparing_limit_bytes = std::max(tried_, looked_at);
  chosen_.reasons.push_back(
      fmt::format("{}: chosen, needs up to {} bytes", candidate.name(), way->limit_bytes));
  return true;
}

/// Why no strategy was taken.
Diagnostic Choice::none() const {
  if (!smallest_ && whole_.fits) {
    Diagnostic out = *last_;
    if (strategy_ == Strategy::automatic) {
      out.notes.insert(out.notes.end(), chosen_.reasons.begin(), chosen_.reasons.end());
    }
    return out;
  }
  Diagnostic out{.code = Code::infeasible,
                 .message = fmt::format("no way to run the Program within {} bytes per process",
                                        *limit_bytes_),
                 .rule = "memory limit",
                 .notes = chosen_.reasons};
  if (smallest_) {
    out.message += fmt::format("; the least that one of them needs is {}", *smallest_);
  }
  return out;
}

Result<Chosen> Choice::take() {
  if (strategy_ != Strategy::collectives && strategy_ != Strategy::in_place) {
    const auto found = or_out_of_memory([&]() -> Result<void> {
      whole_ = find_exchange(task_, limit_bytes_);
      return {};
    });
    if (auto agreed = agree(task_.comm, found); !agreed) return tl::unexpected(agreed.error());
  }
  for (const Candidate& candidate : candidates()) {
    if (attempt(candidate)) return std::move(chosen_);
  }
  return refuse(none());
}

}  // namespace

Result<Chosen> choose(const Task& task, const Options& options) {
  return Choice(task, options).take();
}

}  // namespace retile::mpi
