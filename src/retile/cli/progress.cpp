#include "retile/cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "retile/cli/caller.h"
#include "retile/cli/common.h"
#include "retile/cli/launch.h"
#include "retile/core/names.h"

namespace retile::cli {

Stderr stderr_of_this() {
  if (caller() != nullptr) return Stderr::nobody;
  const char* const launcher = std::getenv(launched_variable);
  const bool terminal = launcher != nullptr ? std::string_view(launcher) == launched_from_terminal
                                            : isatty(STDERR_FILENO) == 1;
  return terminal ? Stderr::terminal : Stderr::file;
}

Progress::Progress(Stderr where) : where_(where) {
  if (where != Stderr::nobody) thread_ = std::thread([this] { print_until_ended(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ending_.notify_all();
  thread_.join();
}

void Progress::update(std::string_view stage, Size done, Size total, std::string what) {
  const std::lock_guard lock(mutex_);
  stage_ = stage;
  what_ = std::move(what);
  done_ = done;
  total_ = total;
}

std::string Progress::line() const {
  if (stage_.empty()) return "retile: starting";
  if (stage_ == "plan") {
    return fmt::format("retile: {} redistributions planned, of {} at most", done_, total_);
  }
  if (stage_ == "shrink" || stage_ == "shrink program") {
    return fmt::format("retile: {} smaller {} tried, of {} at most", done_,
                       stage_ == "shrink" ? "reshards" : "programs", total_);
  }
  if (stage_ == "module" || stage_ == "text") {
    return fmt::format("retile: {}, {} {} of {}", clean(what_), stage_, std::min(done_ + 1, total_),
                       total_);
  }
  if (stage_ == "move") {
    return fmt::format("retile: move, repetition {} of {}", std::min(done_ + 1, total_), total_);
  }
  return fmt::format("retile: {}, {} of {}", stage_, bytes_text(done_), bytes_text(total_));
}

void Progress::print_until_ended() {
  constexpr std::chrono::seconds wait(1);
  // Ends with a carriage return, so that what comes next stands in its place.
  constexpr const char* erase_rest = "\033[K\r";
  const bool terminal = where_ == Stderr::terminal;
  std::optional<std::string> printed;  // the stage of the last line, and of what
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, wait, [this] { return ended_; })) {
    if (!terminal && printed == stage_ + what_) continue;
    printed = stage_ + what_;
    std::fputs((line() + (terminal ? erase_rest : "\n")).c_str(), stderr);
    std::fflush(stderr);
  }
  if (terminal && printed) std::fputs(erase_rest, stderr);
}

std::string bytes_text(Size bytes) {
  constexpr Size kibi = 1024;
  if (bytes < kibi) return counted(bytes, "byte");
  double value = static_cast<double>(bytes) / static_cast<double>(kibi);
  std::string_view unit = "KiB";
  for (const std::string_view next : {"MiB", "GiB", "TiB", "PiB", "EiB"}) {
    if (value < static_cast<double>(kibi)) break;
    value /= static_cast<double>(kibi);
    unit = next;
  }
  return fmt::format("{:.1f} {}", value, unit);
}

}  // namespace retile::cli
