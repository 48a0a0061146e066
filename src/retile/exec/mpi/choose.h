// Which strategy a Redistributor takes. Not a public header.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/mpi/options.h"
#include "retile/exec/mpi/own_exchange.h"
#include "retile/exec/mpi/task.h"

namespace retile::mpi {

/// A strategy that was made, and what is to be said of it (Redistributor says what it means).
struct Chosen {
  std::unique_ptr<Mover> mover;
  Strategy strategy = Strategy::collectives;
  Size peak_limit_bytes = 0;
  Size preparing_limit_bytes = 0;
  std::vector<std::string> reasons;
};

/// Tries the strategies in their order and makes the first that is possible.
class Choice {
 public:
  explicit Choice(const Task& task) : task_(task) {}

  /// Collective, and the same on all processes.
  /// \error infeasible (the memory limit); unsupported, shared_memory_error, limit_reached,
  ///     inapplicable (why the last one could not be taken); mpi_error (out of memory)
  [[nodiscard]] Result<Chosen> take();

 private:
  /// A strategy, of the exchange how it goes, and whether what adds goes step by step.
  struct Candidate {
    Strategy strategy;
    Haul haul = Haul::memory;
    bool by_steps = false;
    /// Of the whole Program at once.
    [[nodiscard]] bool is_exchange() const { return strategy == Strategy::exchange && !by_steps; }
    [[nodiscard]] std::string name() const;
  };

  [[nodiscard]] Size list_bytes(Size transfers) const;
  [[nodiscard]] Size described_bytes(Size transfers) const;
  [[nodiscard]] Size most_described() const;
  [[nodiscard]] Diagnostic too_many() const;
  void find_exchange();
  [[nodiscard]] Result<void> look_for_exchange();
  void find_sums();

  [[nodiscard]] std::vector<Candidate> candidates() const;
  [[nodiscard]] Result<std::unique_ptr<Mover>> prepared(const Candidate& candidate,
                                                        Size chunk_bytes);
  [[nodiscard]] Result<std::unique_ptr<Mover>> with_addends(const Candidate& candidate,
                                                            const Task& task) const;
  [[nodiscard]] Result<std::unique_ptr<Mover>> shrunk(const Candidate& candidate);
  [[nodiscard]] bool attempt(const Candidate& candidate);
  bool pass_over(const Candidate& candidate, const Diagnostic& why);
  [[nodiscard]] Diagnostic none() const;
  /// What a way needs at most until it is made.
  [[nodiscard]] Size needs(const Candidate& candidate, const Mover& way) const {
    return way.limit_bytes() + (candidate.is_exchange() ? making_bytes_ : 0);
  }
  [[nodiscard]] bool over(Size bytes) const {
    return task_.options.memory_limit_bytes && bytes > *task_.options.memory_limit_bytes;
  }

  const Task& task_;
  // This process's part of the Program as one exchange, as long as somebody may take it.
  Result<OwnExchange> exchange_ =
      refuse({.code = Code::unsupported, .message = "no exchange was looked for"});
  Result<add::Sums> sums_;     ///< of one with addends
  bool exchange_fits_ = true;  ///< false: a memory limit has no room for its description
  Size looking_bytes_ = 0;     ///< what it takes while nothing is made of it
  Size making_bytes_ = 0;      ///< and while something is
  Chosen chosen_;
  Size tried_ = 0;                ///< most that was held of ways that failed, and of the one taken
  std::optional<Size> smallest_;  ///< least that one of the ways over the limit needs
  bool all_known_ = true;         ///< whether no other way was too large for its need to be found
  std::optional<Diagnostic> last_;
};

}  // namespace retile::mpi
