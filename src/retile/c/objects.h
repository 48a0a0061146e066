// What C holds a pointer to.
#pragma once

#include <mutex>
#include <string>

#include "retile/plan/plan.h"
#include "retile/program/program.h"

struct retile_plan {
  retile::Plan plan;
};

struct retile_program {
  retile::Program program;
  // Made when they are asked for, by whichever thread asks first.
  mutable std::once_flag text_made = {};
  mutable std::once_flag json_made = {};
  mutable std::string text = {};
  mutable std::string json = {};
};
