// Plans that know the network, as people and scripts read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "retile/cli/verb.h"
#include "retile/core/problem.h"
#include "retile/core/result.h"
#include "retile/network/network.h"
#include "retile/network/plan.h"
#include "retile/plan/plan.h"
#include "retile/program/program.h"
#include "retile/report/json.h"

namespace retile::cli {

/// What --network takes.
inline constexpr std::string_view network_help =
    "plan for the least time: links as 'dp:50GB/s:15us,*:450GB/s:5us', by mesh axis, or "
    "'8:450GB/s:5us,*:50GB/s:15us', by groups of successive devices; or a file with them";

/// Links as they were written.
struct Links {
  std::string text;
  std::string source;  ///< what messages call it
  bool in_lines = false;
};

/// An option's text, or that of the file that it names.
/// \error file_error
[[nodiscard]] Result<Links> read_links(const std::string& option);

/// What links are between the devices of a mesh.
/// \error as network::read_network
[[nodiscard]] Result<network::Network> read_network(const Links& links, const Mesh& mesh,
                                                    Size devices);
/// And between those of a problem.
/// \error as network::read_network; unsupported (groups of devices that have listed numbers)
[[nodiscard]] Result<network::Network> read_network(const Links& links, const Problem& problem);

/// A table: what the busiest device gets over each axis of the mesh, step by step, and in all of the plans with
/// other costs. Two devices that differ in several axes talk over the first of these. Empty where devices are
/// no places of one mesh, or what is sent cannot be counted.
/// \param labels    of the steps of `program`
/// \param in_bytes  besides elements
/// \param network   that says what the steps take; null: none is known
[[nodiscard]] std::string axes_text(const Problem& problem, const PlanOptions& options,
                                    const Program& program, const std::vector<std::string>& labels,
                                    bool in_bytes, const network::Network* network);

/// Bandwidths and latencies, from the inside out; the levels of retile.network/1.
[[nodiscard]] report::Json levels_json(const network::Network& network);

/// Three digits and a unit, such as `37.6 us`.
[[nodiscard]] std::string time_text(Size picoseconds);

/// retile.network/1
[[nodiscard]] report::Json network_object(const network::NetworkPlan& plan,
                                          const network::Network& network);
/// The steps with what they take, and what is proved.
[[nodiscard]] std::string network_text(const network::NetworkPlan& plan,
                                       const network::Network& network);
/// The steps of a Program, without what they claim.
[[nodiscard]] std::vector<std::string> bare_labels(const Program& program);

/// The same as text or JSON.
[[nodiscard]] Outcome network_outcome(const network::NetworkPlan& plan,
                                      const network::Network& network, bool json);

}  // namespace retile::cli
