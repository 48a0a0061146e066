#include "retile/exec/mpi/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "retile/core/assert.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/mpi/own_exchange.h"

namespace retile::mpi {

namespace {

/// Tries the strategies in their order. What all steps at once are is said by who is derived.
class Choice {
 public:
  explicit Choice(const Task& task) : task_(task) {}
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;
  virtual ~Choice() = default;

  [[nodiscard]] Result<Chosen> take();

 protected:
  /// A strategy, of the exchange how it goes, and whether what adds goes step by step.
  struct Candidate {
    Strategy strategy;
    Haul haul = Haul::memory;
    bool by_steps = false;
    /// Of the whole Program at once.
    [[nodiscard]] bool is_exchange() const { return strategy == Strategy::exchange && !by_steps; }
    [[nodiscard]] std::string name() const;
  };

  /// Collective: looks for all steps at once.
  /// \error mpi_error (out of memory)
  [[nodiscard]] virtual Result<void> look() = 0;
  /// The ways of strategies `automatic` and `exchange`.
  [[nodiscard]] virtual std::vector<Candidate> exchanges() const = 0;
  [[nodiscard]] virtual Result<std::unique_ptr<Mover>> run_in_place(const Task& task) const = 0;
  /// \param candidate  of strategy `exchange`
  [[nodiscard]] virtual Result<std::unique_ptr<Mover>> run_exchange(const Candidate& candidate,
                                                                    const Task& task) = 0;
  /// What was found is not needed any more.
  virtual void forget() = 0;
  [[nodiscard]] bool over(Size bytes) const {
    return task_.options.memory_limit_bytes && bytes > *task_.options.memory_limit_bytes;
  }

  const Task& task_;
  bool exchange_fits_ = true;  ///< false: a memory limit has no room for its description
  Size looking_bytes_ = 0;     ///< what it takes while nothing is made of it
  Size making_bytes_ = 0;      ///< and while something is

 private:
  [[nodiscard]] Result<std::unique_ptr<Mover>> prepared(const Candidate& candidate,
                                                        Size chunk_bytes);
  [[nodiscard]] Result<std::unique_ptr<Mover>> shrunk(const Candidate& candidate);
  [[nodiscard]] bool attempt(const Candidate& candidate);
  bool pass_over(const Candidate& candidate, const Diagnostic& why);
  [[nodiscard]] Diagnostic none() const;
  /// What a way needs at most until it is made.
  [[nodiscard]] Size needs(const Candidate& candidate, const Mover& way) const {
    return way.limit_bytes() + (candidate.is_exchange() ? making_bytes_ : 0);
  }

  Chosen chosen_;
  Size tried_ = 0;                ///< most that was held of ways that failed, and of the one taken
  std::optional<Size> smallest_;  ///< least that one of the ways over the limit needs
  bool all_known_ = true;         ///< whether no other way was too large for its need to be found
  std::optional<Diagnostic> last_;
};

std::string Choice::Candidate::name() const {
  const char* const how = haul == Haul::messages ? " by messages" : by_steps ? " by steps" : "";
  return std::string(strategy_name(strategy)) + how;
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
    } else if (candidate.strategy == Strategy::in_place) {
      out = run_in_place(task);
    } else if (candidate.is_exchange() && task.options.partition == Partition::one_node &&
               task.nodes.count > 1) {
      out = refuse(Code::unsupported,
                   fmt::format("the processes do not all share memory: they are on {} nodes",
                               task.nodes.count));
    } else {
      out = run_exchange(candidate, task);
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
    forget();
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
  const bool exchanges_are_asked = asked == Strategy::automatic || asked == Strategy::exchange;
  if (exchanges_are_asked) {
    if (auto looked = look(); !looked) return tl::unexpected(looked.error());
  }
  for (const Candidate& candidate :
       exchanges_are_asked ? exchanges() : std::vector<Candidate>{{asked}}) {
    if (attempt(candidate)) return std::move(chosen_);
  }
  return refuse(none());
}

// ---- All steps at once: an exchange ------------------------------------------------------------

/// All steps of a Program that moves elements are one exchange.
class ChoiceOfExchange final : public Choice {
 public:
  using Choice::Choice;

 private:
  [[nodiscard]] Size list_bytes(Size transfers) const;
  [[nodiscard]] Size described_bytes(Size transfers) const;
  [[nodiscard]] Size most_described() const;
  [[nodiscard]] Diagnostic too_many() const;
  void find_exchange();

  [[nodiscard]] Result<void> look() override;
  [[nodiscard]] std::vector<Candidate> exchanges() const override;
  [[nodiscard]] Result<std::unique_ptr<Mover>> run_in_place(const Task& task) const override {
    return in_place(task);
  }
  [[nodiscard]] Result<std::unique_ptr<Mover>> run_exchange(const Candidate& candidate,
                                                            const Task& task) override {
    if (!exchange_) return tl::unexpected(exchange_.error());
    if (exchange_fits_) exchange_->take();  // else only its need is asked for
    return exchanging(task, *exchange_, candidate.haul);
  }
  void forget() override { exchange_ = refuse(Code::unsupported, "not needed any more"); }

  // This process's part, as long as somebody may take it.
  Result<OwnExchange> exchange_ =
      refuse({.code = Code::unsupported, .message = "no exchange was looked for"});
};

/// Of a list of transfers, each with three lists of numbers.
Size ChoiceOfExchange::list_bytes(Size transfers) const {
  const auto numbers = static_cast<Size>(task_.rank()) * Size{sizeof(Size)};
  return transfers * (Size{sizeof(Transfer)} + 3 * (numbers + 16));
}

/// The tiles and a description of so many transfers, where all of them concern one process.
Size ChoiceOfExchange::described_bytes(Size transfers) const {
  const Program& program = task_.program;
  const bool routed = Routes::knows(program.from, program.to);
  return task_.most_in_bytes() + task_.most_out_bytes() + task_.program.devices * 256 +
         list_bytes(transfers) +
         (routed ? 0 : direct_bound_bytes(program.devices, transfers, task_.rank()));
}

/// How many transfers a memory limit has room for, as far as they must be described.
Size ChoiceOfExchange::most_described() const {
  const Size each = described_bytes(1) - described_bytes(0);
  return std::max((*task_.options.memory_limit_bytes - described_bytes(0)) / each, Size{0});
}

/// Of an exchange that could not be described to the end.
Diagnostic ChoiceOfExchange::too_many() const {
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
void ChoiceOfExchange::find_exchange() {
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
Result<void> ChoiceOfExchange::look() {
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

std::vector<Choice::Candidate> ChoiceOfExchange::exchanges() const {
  const Nodes& nodes = task_.nodes;
  const auto [strategy, partition] = std::pair(task_.options.strategy, task_.options.partition);
  // Where nothing stays on a node, all goes by messages in any case.
  const bool on_node =
      partition != Partition::apart && (nodes.count == 1 || partition == Partition::one_node ||
                                        (exchange_ && exchange_->most().neighbours > 0));
  const bool automatic = strategy == Strategy::automatic;
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

// ---- All steps at once: sums --------------------------------------------------------------------

/// All steps of a Program with addends are sums.
class ChoiceOfSums final : public Choice {
 public:
  using Choice::Choice;

 private:
  [[nodiscard]] Result<void> look() override;
  [[nodiscard]] std::vector<Candidate> exchanges() const override;
  [[nodiscard]] Result<std::unique_ptr<Mover>> run_in_place(const Task&) const override {
    return refuse(Code::unsupported, "a Program with addends is not run in place");
  }
  [[nodiscard]] Result<std::unique_ptr<Mover>> run_exchange(const Candidate& candidate,
                                                            const Task& task) override {
    if (candidate.by_steps) return adding_in_order(task);
    if (sums_) return summing(task, *sums_, candidate.haul == Haul::messages);
    return tl::unexpected(sums_.error());
  }
  void forget() override { sums_ = refuse(Code::unsupported, "not needed any more"); }

  Result<add::Sums> sums_;
};

Result<void> ChoiceOfSums::look() {
  const auto found = or_out_of_memory([&]() -> Result<void> {
    const std::optional<Size> limit_bytes = task_.options.memory_limit_bytes;
    const Size ends = task_.most_in_bytes() + task_.most_out_bytes();
    Size most = Size{512} << 20;
    // Two thirds are for what is made of it.
    if (limit_bytes) most = std::clamp((*limit_bytes - ends) / 3, Size{0}, most);
    sums_ = add::sums_of(task_.program, task_.shapes, most);
    if (!sums_) return {};
    looking_bytes_ = sums_->making_bytes;
    making_bytes_ = 3 * sums_->making_bytes;
    return {};
  });
  return task_.comm.agree(found);
}

std::vector<Choice::Candidate> ChoiceOfSums::exchanges() const {
  const Partition partition = task_.options.partition;
  std::vector<Candidate> out;
  if (partition == Partition::one_node ||
      (partition != Partition::apart && task_.nodes.count == 1)) {
    out.push_back({Strategy::exchange});
  }
  if (partition != Partition::one_node) out.push_back({Strategy::exchange, Haul::messages});
  if (partition != Partition::one_node) out.push_back({Strategy::exchange, Haul::memory, true});
  return out;
}

}  // namespace

Result<Chosen> choose(const Task& task) {
  if (addition_of(task.program)) return ChoiceOfSums(task).take();
  return ChoiceOfExchange(task).take();
}

}  // namespace retile::mpi
