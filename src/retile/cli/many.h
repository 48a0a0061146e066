// `--many`: arrays that a file names, each with its two ends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "retile/cli/common.h"
#include "retile/cli/verb.h"
#include "retile/core/result.h"
#include "retile/many/arrays.h"
#include "retile/many/schedule.h"
#include "retile/network/network.h"
#include "retile/network/plan.h"
#include "retile/plan/plan.h"

namespace retile::cli {

/// What --many takes, in the help of several verbs.
inline constexpr std::string_view many_help =
    "in the place of FROM and TO: arrays, JSON objects with name, shape, dtype, mesh, mesh_to, "
    "from and to; - for stdin";

/// What --node takes.
inline constexpr std::string_view node_help =
    "with --many: devices of a node, by their numbers; what several of them need alike comes from "
    "other nodes once";

/// The arrays of a file, and how the first one of every kind is written there.
struct ReadArrays {
  many::Arrays arrays;
  std::vector<ProblemArguments> texts;  ///< of every kind
  std::vector<std::string>
      elements;  ///< of every kind, its type as it was given; empty: nobody says it
};

/// Reads JSON objects, one behind the other. One with a name is an array; one without says what the arrays
/// below it leave out, as the options beside --many do for all.
/// \param problem  of the command line
/// \error file_error; syntax, bad_program (a key that is not one, or twice), bad_file (no array, a name twice);
///     as ProblemArguments::read, with the line of the array
[[nodiscard]] Result<ReadArrays> read_arrays(const std::string& path,
                                             const ProblemArguments& problem,
                                             const std::optional<std::string>& dtype);

/// The same of a text.
/// \param source  what messages call it
[[nodiscard]] Result<ReadArrays> read_arrays_of(std::string_view text, const std::string& source,
                                                const ProblemArguments& problem,
                                                const std::optional<std::string>& dtype);

/// Why FROM, TO or a shape do not go with --many.
[[nodiscard]] std::optional<Complaint> beside_many(const ProblemArguments& problem);

/// What is asked of plans of many arrays.
struct ManyQuestion {
  PlanOptions options;
  std::optional<std::string> node = {};     ///< devices of a node, as text
  std::optional<std::string> network = {};  ///< links, for steps that take the least time
  bool json = false;
};

/// Links, and what the steps of a kind take over them.
struct TimedKind {
  network::Network network;
  network::NetworkPlan plan;
};

/// The schedule, or the answer that there is none.
/// \param timed  gets one of every kind where links are given
[[nodiscard]] tl::expected<many::Schedule, Outcome> scheduled(
    const ReadArrays& read, const ManyQuestion& question, std::vector<TimedKind>* timed = nullptr);

/// Whether what devices get and give is counted (many::count_traffic), or the answer that it cannot be.
[[nodiscard]] tl::expected<bool, Outcome> counted_traffic(const ReadArrays& read,
                                                          many::Schedule& schedule);

/// `layers.0.wq`, `layers.0.wq and 79 more`
/// \param count  how many have what is said of this one, itself included
[[nodiscard]] std::string name_and_more(std::string_view name, std::size_t count);
[[nodiscard]] std::string arrays_text(const many::Arrays& arrays, const many::Kind& kind);
/// What devices hold and move in all, some lines.
[[nodiscard]] std::string totals_text(const many::Arrays& arrays, const many::Schedule& schedule,
                                      bool is_counted);

/// Every kind in a line, and what the devices hold and move in all; or retile.many/1.
[[nodiscard]] Outcome plan_of_many(const ReadArrays& read, const ManyQuestion& question);

/// What the device of that number sends and gets, kind by kind, and in which rounds; or retile.rank/1.
[[nodiscard]] Outcome rank_outcome(const ReadArrays& read, const ManyQuestion& question, Size rank);

}  // namespace retile::cli
