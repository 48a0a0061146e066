#include "retile/cli/caller.h"

namespace retile::cli {
namespace {

thread_local const Caller* caller_of_this_thread = nullptr;

}  // namespace

const Caller* caller() { return caller_of_this_thread; }

const std::string* text_of_caller(const std::string& name) {
  if (caller() == nullptr) return nullptr;
  const auto found = caller()->texts.find(name);
  return found == caller()->texts.end() ? nullptr : &found->second;
}

CalledBy::CalledBy(const Caller& who) { caller_of_this_thread = &who; }
CalledBy::~CalledBy() { caller_of_this_thread = nullptr; }

}  // namespace retile::cli
