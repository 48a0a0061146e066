// Whoever calls a verb from inside of another program, and not by a command line. It hands over texts in
// the place of files, and neither the process nor its terminal belong to the verb.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "retile/core/deadline.h"
#include "retile/core/size.h"

namespace retile::cli {

struct Caller {
  /// Of files that are none, by their names.
  std::map<std::string, std::string, std::less<>> texts = {};
  std::optional<Size> seconds = {};  ///< nothing: as long as it takes
  Deadline deadline = {};
  Size memory_bytes = Size{2} << 30;  ///< what a verb that can tell takes at most
};

/// That of this thread; null: the command line.
[[nodiscard]] const Caller* caller();

/// The text that a caller has handed over by this name; null: it is that of a file.
[[nodiscard]] const std::string* text_of_caller(const std::string& name);

/// For as long as it lives, verbs on this thread have this caller.
class CalledBy {
 public:
  explicit CalledBy(const Caller& who);
  ~CalledBy();
  CalledBy(const CalledBy&) = delete;
  CalledBy& operator=(const CalledBy&) = delete;
};

}  // namespace retile::cli
