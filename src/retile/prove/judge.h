// `prove` with another encoding: for tests, which put wrong rules in the place of right ones.
#pragma once

#include <functional>
#include <memory>

#include "retile/prove/encode.h"
#include "retile/prove/prove.h"

namespace retile {

using MakeEncoder = std::function<std::unique_ptr<symbolic::Encoder>()>;

/// \param replays  whether a counterexample is replayed before it is reported
[[nodiscard]] Result<Proof> prove_with(const Program& program, const ProveOptions& options,
                                       const MakeEncoder& make, bool replays);

}  // namespace retile
