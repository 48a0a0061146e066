// What one process moves of a Program as one exchange. Not a public header.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/exchange/routes.h"
#include "retile/exec/mpi/task.h"

namespace retile::mpi {

/// Boxes that one process moves, the most of all processes.
struct MostBoxes {
  Size all = 0;          ///< that it sends, receives or keeps
  Size kept = 0;         ///< of these, those that it keeps
  Size on_node = 0;      ///< that stay on its node; what it keeps counts twice
  Size others = 0;       ///< that it sends to or receives from other processes
  Size neighbours = 0;   ///< of these, those of its node
  Size elsewhere = 0;    ///< and those of other nodes
  Size table_bytes = 0;  ///< no boxes: what finding them holds (Routes::table_bytes)
};

/// Where both ends are by tile numbers a process finds its own boxes by Routes and looks at no
/// others. Else it makes the whole exchange and keeps its own part; of a Program that is a single
/// exchange it takes this as given.
class OwnExchange {
 public:
  /// Not collective, and the same on all processes but for memory.
  /// \param transfer_limit  of a list of all transfers
  /// \error as direct()
  [[nodiscard]] static Result<OwnExchange> find(const Task& task, Size transfer_limit);

  /// The boxes of this process in the order of MostBoxes, and what is the most of all of them.
  using Numbers = std::array<std::uint64_t, 7>;
  [[nodiscard]] Numbers count() const;
  void learn(const Numbers& most);
  /// Makes the list of this process's transfers, once; that of all is forgotten.
  void take();

  [[nodiscard]] const MostBoxes& most() const { return most_; }
  /// Transfers for which the list of all has room; nothing where there is none but the Program's.
  [[nodiscard]] std::optional<Size> listed() const;
  /// Between the arrays where tiles lie in larger ones. Precondition: take().
  [[nodiscard]] const Exchange& exchange() const { return own_; }

 private:
  explicit OwnExchange(const Task& task) : task_(&task) {}
  template <typename Use>
  void for_each(const Use& use) const;

  const Task* task_;
  std::optional<Routes> routes_;
  std::optional<Exchange> made_;
  const Exchange* given_ = nullptr;
  MostBoxes most_;
  bool taken_ = false;
  Exchange own_;
};

}  // namespace retile::mpi
