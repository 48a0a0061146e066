#include "retile/c/retile.h"

#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "retile/c/guard.h"
#include "retile/c/objects.h"
#include "retile/check/check.h"
#include "retile/exec/exchange/direct.h"
#include "retile/lower/lower.h"
#include "retile/notation/paper/problem.h"
#include "retile/notation/sharding.h"
#include "retile/plan/plan.h"
#include "retile/program/forms/json.h"
#include "retile/program/forms/text.h"

namespace retile::c {
namespace {

struct Words {
  std::string text;
  std::string name;
};
thread_local Words words;

/// A Problem of texts, of which mesh and shape may be missing.
Result<Problem> read_problem(const char* mesh, const char* shape, const char* from,
                             const char* to) {
  for (const auto& [text, name] : {std::pair(from, "from"), std::pair(to, "to")}) {
    if (auto there = is_there(text, name); !there) return refuse(there.error());
  }
  ProblemText out{.from = from, .to = to};
  if (mesh != nullptr) {
    auto read = parse_any_mesh(mesh, "mesh");
    if (!read) return refuse(std::move(read.error()));
    out.mesh = *std::move(read);
  }
  if (shape != nullptr) {
    auto read = parse_shape(shape, "shape");
    if (!read) return refuse(std::move(read.error()));
    out.shape = *std::move(read);
  }
  return parse_problem(out);
}

Result<PlanOptions> read_options(const retile_plan_options* given) {
  PlanOptions out;
  if (given == nullptr) return out;
  if (given->element_bytes < 0 || given->memory_limit_bytes < 0) {
    return refuse(
        {.code = Code::bad_argument, .message = "a number of bytes below 0", .source = "options"});
  }
  if (given->element_bytes > 0) out.element_bytes = given->element_bytes;
  if (given->memory_limit_bytes > 0) out.memory_limit_bytes = given->memory_limit_bytes;
  out.collectives = given->collectives != 0;
  return out;
}

/// A form of a Program, which is kept in it; "" where it cannot be made.
const char* written(const retile_program* program, OnceWritten retile_program::*form,
                    std::string (*write)(const Program&)) noexcept {
  const retile_status status = guarded([&]() -> Result<void> {
    if (auto there = is_there(program, "program"); !there) return there;
    const OnceWritten& once = program->*form;
    std::call_once(once.made, [&] { once.text = write(program->program); });
    return {};
  });
  return status == RETILE_OK ? (program->*form).text.c_str() : "";
}

void hand_over(Program program, retile_program** out) {
  *out = new retile_program{.program = std::move(program)};
}

}  // namespace

retile_status keep(const Diagnostic& diagnostic) noexcept {
  try {
    words.text = render(diagnostic);
    words.name = code_name(diagnostic.code);
  } catch (const std::bad_alloc&) {
    return keep_no_memory();
  }
  return static_cast<retile_status>(code_row(diagnostic.code).exit_code);
}

retile_status keep_no_memory() noexcept {
  words.text.clear();  // a text may not fit any more
  words.name.clear();
  return RETILE_ENVIRONMENT;
}

}  // namespace retile::c

using retile::Result;
namespace c = retile::c;

retile_status retile_plan_make(const char* mesh, const char* shape, const char* from,
                               const char* to, const retile_plan_options* options,
                               retile_plan** plan) {
  return c::guarded([&]() -> Result<void> {
    if (auto there = c::is_there(plan, "plan"); !there) return there;
    *plan = nullptr;
    const auto problem = c::read_problem(mesh, shape, from, to);
    if (!problem) return retile::refuse(problem.error());
    const auto wanted = c::read_options(options);
    if (!wanted) return retile::refuse(wanted.error());
    auto made = retile::plan(*problem, *wanted);
    if (!made) return retile::refuse(made.error());
    *plan = new retile_plan{*std::move(made)};
    return {};
  });
}

void retile_plan_free(retile_plan* plan) { delete plan; }

int64_t retile_plan_cost(const retile_plan* plan) { return plan ? plan->plan.cost : 0; }
int64_t retile_plan_height(const retile_plan* plan) { return plan ? plan->plan.height : 0; }
int64_t retile_plan_bound(const retile_plan* plan) { return plan ? plan->plan.bound : 0; }
int64_t retile_plan_resident(const retile_plan* plan) { return plan ? plan->plan.resident : 0; }
int retile_plan_is_optimal(const retile_plan* plan) { return plan && plan->plan.optimal; }
int retile_plan_is_exchange(const retile_plan* plan) { return plan && plan->plan.exchange; }

retile_status retile_program_of(const retile_plan* plan, retile_program** program) {
  return c::guarded([&]() -> Result<void> {
    if (auto there = c::is_there(program, "program"); !there) return there;
    *program = nullptr;
    if (auto there = c::is_there(plan, "plan"); !there) return there;
    auto made = retile::program_of(plan->plan);
    if (!made) return retile::refuse(made.error());
    c::hand_over(*std::move(made), program);
    return {};
  });
}

retile_status retile_program_direct(const char* mesh, const char* shape, const char* from,
                                    const char* to, retile_program** program) {
  return c::guarded([&]() -> Result<void> {
    if (auto there = c::is_there(program, "program"); !there) return there;
    *program = nullptr;
    const auto problem = c::read_problem(mesh, shape, from, to);
    if (!problem) return retile::refuse(problem.error());
    auto made = retile::direct(*problem);
    if (!made) return retile::refuse(made.error());
    c::hand_over(*std::move(made), program);
    return {};
  });
}

retile_status retile_program_read(const char* text, retile_program** program) {
  return c::guarded([&]() -> Result<void> {
    if (auto there = c::is_there(program, "program"); !there) return there;
    *program = nullptr;
    if (auto there = c::is_there(text, "text"); !there) return there;
    auto read = retile::parse_any(text, "text");
    if (!read) return retile::refuse(read.error());
    if (read->size() != 1) {
      return retile::refuse({.code = retile::Code::bad_argument,
                             .message = "not one Program but " + std::to_string(read->size()),
                             .source = "text"});
    }
    c::hand_over(std::move(read->front()), program);
    return {};
  });
}

void retile_program_free(retile_program* program) { delete program; }

int64_t retile_program_devices(const retile_program* program) {
  return program ? program->program.devices : 0;
}

const char* retile_program_text(const retile_program* program) {
  return c::written(program, &retile_program::text, retile::to_text);
}

const char* retile_program_json(const retile_program* program) {
  return c::written(program, &retile_program::json, retile::to_json);
}

retile_status retile_check(const retile_program* program, double seconds, retile_verdict* verdict) {
  return c::guarded([&]() -> Result<void> {
    if (auto there = c::is_there(verdict, "verdict"); !there) return there;
    *verdict = {};
    if (auto there = c::is_there(program, "program"); !there) return there;
    retile::CheckOptions options;
    if (seconds > 0) options.timeout_seconds = seconds;
    const retile::Verdict found = retile::check(program->program, options);
    verdict->right = found.answer == retile::Answer::right ? 1 : 0;
    verdict->within_bound = found.within_bound ? 1 : 0;
    verdict->cost = found.cost;
    verdict->height = found.height;
    verdict->bound = found.bound;
    if (found.answer != retile::Answer::undecided) return {};
    return retile::refuse({.code = retile::Code::limit_reached,
                           .message = found.out_of_time ? "undecided: the time is over"
                                                        : "undecided: a limit is reached"});
  });
}

const char* retile_error_text(void) { return c::words.text.c_str(); }
const char* retile_error_name(void) { return c::words.name.c_str(); }
const char* retile_version(void) { return RETILE_VERSION; }
