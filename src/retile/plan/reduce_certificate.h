// Certificates of plans between addends. Private to this room.
#pragma once

#include "retile/core/result.h"
#include "retile/plan/certificate.h"
#include "retile/plan/plan.h"

namespace retile {

/// The lines of a plan of steps between addends, in the paper's cost model and without a memory limit.
/// \error limit_reached
[[nodiscard]] Result<Certificate> certify_adding(const Plan& plan,
                                                 const CertificateOptions& options);

}  // namespace retile
