// The library as C sees it: what it says of plans and Programs, and what becomes of wrong arguments.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <thread>

#include "retile/c/retile.h"

namespace {

thread_local bool no_memory = false;

}  // namespace

// Of all of this program, so that memory can be made to fail.
void* operator new(std::size_t bytes) {
  void* const made = no_memory ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
  if (made == nullptr) throw std::bad_alloc();
  return made;
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return no_memory ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace {

struct Free {
  void operator()(retile_plan* plan) const { retile_plan_free(plan); }
  void operator()(retile_program* program) const { retile_program_free(program); }
};
using Plan = std::unique_ptr<retile_plan, Free>;
using Program = std::unique_ptr<retile_program, Free>;

constexpr const char* mesh = "x:4,y:6";
constexpr const char* from = "[3{x}12, 2{y}12]";
constexpr const char* to = "[2{y}12, 3{x}12]";

Plan planned(const retile_plan_options* options = nullptr) {
  retile_plan* plan = nullptr;
  EXPECT_EQ(retile_plan_make(mesh, nullptr, from, to, options, &plan), RETILE_OK);
  return Plan(plan);
}

Program program_of(const Plan& plan) {
  retile_program* program = nullptr;
  EXPECT_EQ(retile_program_of(plan.get(), &program), RETILE_OK);
  return Program(program);
}

retile_verdict judged(const Program& program) {
  retile_verdict verdict{};
  EXPECT_EQ(retile_check(program.get(), 60, &verdict), RETILE_OK);
  return verdict;
}

TEST(C, plans_the_problem_of_the_paper) {
  const Plan plan = planned();
  EXPECT_EQ(retile_plan_cost(plan.get()), 18);
  EXPECT_EQ(retile_plan_height(plan.get()), 6);
  EXPECT_EQ(retile_plan_bound(plan.get()), 6);
  EXPECT_EQ(retile_plan_resident(plan.get()), 12);
  EXPECT_EQ(retile_plan_is_optimal(plan.get()), 1);
  EXPECT_EQ(retile_plan_is_exchange(plan.get()), 0);
}

TEST(C, reads_any_notation) {
  retile_plan* made = nullptr;
  ASSERT_EQ(retile_plan_make("x:4", "8,8", "P('x')", "P(None, 'x')", nullptr, &made), RETILE_OK);
  const Plan plan(made);
  EXPECT_EQ(retile_plan_cost(plan.get()), 16);
}

TEST(C, judges_programs) {
  const Program right = program_of(planned());
  EXPECT_EQ(retile_program_devices(right.get()), 24);
  EXPECT_TRUE(judged(right).right && judged(right).within_bound);
  EXPECT_EQ(judged(right).cost, 18);
  for (const char* const form :
       {retile_program_text(right.get()), retile_program_json(right.get())}) {
    retile_program* read = nullptr;
    ASSERT_EQ(retile_program_read(form, &read), RETILE_OK) << retile_error_text();
    const Program again(read);
    EXPECT_STREQ(retile_program_text(again.get()), retile_program_text(right.get()));
  }
  // Without its last step it ends elsewhere.
  std::string spoiled = retile_program_text(right.get());
  spoiled.erase(spoiled.rfind("alltoall"));
  retile_program* read = nullptr;
  ASSERT_EQ(retile_program_read(spoiled.c_str(), &read), RETILE_OK) << retile_error_text();
  EXPECT_FALSE(judged(Program(read)).right);
}

TEST(C, a_direct_program_is_one_exchange) {
  retile_program* made = nullptr;
  ASSERT_EQ(retile_program_direct("x:4", nullptr, "[3{x}12, 12]", "[12, 3{x}12]", &made),
            RETILE_OK);
  const Program direct(made);
  EXPECT_NE(std::string(retile_program_text(direct.get())).find("exchange"), std::string::npos);
  EXPECT_TRUE(judged(direct).right);
}

TEST(C, refusals_say_what_is_wrong_in_their_thread) {
  retile_plan* plan = nullptr;
  EXPECT_EQ(retile_plan_make("x:4", nullptr, "[3{z}12]", "[12]", nullptr, &plan), RETILE_REFUSED);
  EXPECT_EQ(plan, nullptr);
  EXPECT_STREQ(retile_error_name(), "unknown_axis");
  EXPECT_NE(std::string(retile_error_text()).find("^"), std::string::npos);
  std::thread([] { EXPECT_STREQ(retile_error_text(), ""); }).join();
  EXPECT_EQ(retile_plan_make("", nullptr, from, to, nullptr, &plan), RETILE_REFUSED);
  EXPECT_EQ(retile_plan_make("x:4", "twelve", "P()", "P()", nullptr, &plan), RETILE_REFUSED);
  retile_program* program = nullptr;
  EXPECT_EQ(retile_program_read("nonsense", &program), RETILE_REFUSED);
  EXPECT_EQ(retile_program_read("", &program), RETILE_REFUSED);
  EXPECT_EQ(program, nullptr);
}

TEST(C, two_programs_are_not_one) {
  const std::string text = retile_program_json(program_of(planned()).get());
  retile_program* program = nullptr;
  EXPECT_EQ(retile_program_read((text + "\n" + text).c_str(), &program), RETILE_REFUSED);
  EXPECT_EQ(program, nullptr);
}

TEST(C, null_pointers_are_refused) {
  retile_plan* plan = nullptr;
  retile_program* program = nullptr;
  retile_verdict verdict{.right = 41, .within_bound = 1, .cost = 0, .height = 0, .bound = 0};
  EXPECT_EQ(retile_plan_make(mesh, nullptr, nullptr, to, nullptr, &plan), RETILE_REFUSED);
  EXPECT_EQ(retile_plan_make(mesh, nullptr, from, nullptr, nullptr, &plan), RETILE_REFUSED);
  EXPECT_EQ(retile_plan_make(nullptr, nullptr, from, to, nullptr, &plan), RETILE_REFUSED);
  EXPECT_EQ(retile_plan_make(mesh, nullptr, from, to, nullptr, nullptr), RETILE_REFUSED);
  EXPECT_EQ(retile_program_of(nullptr, &program), RETILE_REFUSED);
  EXPECT_EQ(retile_program_of(planned().get(), nullptr), RETILE_REFUSED);
  EXPECT_EQ(retile_program_read(nullptr, &program), RETILE_REFUSED);
  EXPECT_EQ(retile_check(nullptr, 0, &verdict), RETILE_REFUSED);
  EXPECT_EQ(verdict.right, 0);
  EXPECT_EQ(retile_check(program_of(planned()).get(), 0, nullptr), RETILE_REFUSED);
  EXPECT_STREQ(retile_error_name(), "bad_argument");
  retile_plan_free(nullptr);
  retile_program_free(nullptr);
}

TEST(C, numbers_of_null_are_0_and_its_texts_are_empty) {
  EXPECT_EQ(retile_plan_cost(nullptr), 0);
  EXPECT_EQ(retile_plan_height(nullptr), 0);
  EXPECT_EQ(retile_plan_bound(nullptr), 0);
  EXPECT_EQ(retile_plan_resident(nullptr), 0);
  EXPECT_EQ(retile_plan_is_optimal(nullptr), 0);
  EXPECT_EQ(retile_plan_is_exchange(nullptr), 0);
  EXPECT_EQ(retile_program_devices(nullptr), 0);
  EXPECT_STREQ(retile_program_text(nullptr), "");
  EXPECT_STREQ(retile_program_json(nullptr), "");
}

TEST(C, a_text_without_memory_for_it_is_empty_and_can_be_asked_for_again) {
  const Program program = program_of(planned());
  for (const auto& form : {retile_program_text, retile_program_json}) {
    no_memory = true;
    const char* const text = form(program.get());
    no_memory = false;
    EXPECT_STREQ(text, "");
    EXPECT_NE(std::string(form(program.get())), "");
  }
}

TEST(C, a_memory_limit_is_kept_or_is_the_answer) {
  const auto within = [](int64_t bytes) {
    const retile_plan_options options{
        .element_bytes = 8, .memory_limit_bytes = bytes, .collectives = 0};
    retile_plan* plan = nullptr;
    const retile_status status = retile_plan_make(mesh, nullptr, from, to, &options, &plan);
    EXPECT_EQ(Plan(plan) != nullptr, status == RETILE_OK);
    return status;
  };
  EXPECT_EQ(within(12 * 8), RETILE_OK);
  EXPECT_EQ(within(12 * 8 - 1), RETILE_NO);
  EXPECT_STREQ(retile_error_name(), "infeasible");
  EXPECT_EQ(within(-1), RETILE_REFUSED);
}

}  // namespace
