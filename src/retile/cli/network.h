// Plans that know the network, as people and scripts read them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "retile/cli/verb.h"
#include "retile/core/problem.h"
#include "retile/core/result.h"
#include "retile/network/network.h"
#include "retile/network/plan.h"
#include "retile/plan/plan.h"

namespace retile::cli {

/// What --network takes.
inline constexpr std::string_view network_help =
    "plan for the least time: links as 'dp:50GB/s:15us,*:450GB/s:5us', by mesh axis, or "
    "'8:450GB/s:5us,*:50GB/s:15us', by groups of successive devices; or a file with them";

/// The network of an option's text, or of the file that it names.
/// \error as network::read_network; unsupported (axes of a mesh whose devices have another order)
[[nodiscard]] Result<network::Network> read_network(const std::string& text,
                                                    const Problem& problem);

/// The steps with what they take, and what is proved.
[[nodiscard]] Outcome network_outcome(const network::NetworkPlan& plan,
                                      const network::Network& network, bool json);

}  // namespace retile::cli
