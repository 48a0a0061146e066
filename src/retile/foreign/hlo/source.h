// Lines of the user's program that instructions come from.
#pragma once

#include <map>
#include <string>

#include "retile/core/size.h"
#include "retile/foreign/hlo/syntax.h"

namespace retile::foreign::hlo {

/// What a module's tables FileNames, FileLocations and StackFrames say of its instructions.
class SourceLines {
 public:
  explicit SourceLines(const Module& module);

  /// `model.py:12` of the metadata, or nothing. Of a stack frame it is the innermost of its callers
  /// that lies outside of installed packages; where all lie inside, the frame itself.
  [[nodiscard]] std::string of(const Instruction& instruction) const;

 private:
  struct Frame {
    std::string line;           ///< `model.py:12`
    bool is_installed = false;  ///< whether no frame of it and its callers is the user's
  };

  std::map<Size, Frame> frames_;  // by their numbers, each as `of` says it
};

}  // namespace retile::foreign::hlo
