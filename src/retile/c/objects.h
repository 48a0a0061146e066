// What C holds a pointer to.
#pragma once

#include <mutex>
#include <string>

#include "retile/plan/plan.h"
#include "retile/program/program.h"

struct retile_plan {
  retile::Plan plan;
};

namespace retile::c {

/// Made when it is asked for, by whichever thread asks first.
struct OnceWritten {
  mutable std::once_flag made = {};
  mutable std::string text = {};
};

}  // namespace retile::c

struct retile_program {
  retile::Program program;
  retile::c::OnceWritten text = {};
  retile::c::OnceWritten json = {};
};
