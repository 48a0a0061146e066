// Files that appear whole or not at all.
#pragma once

#include <string>
#include <string_view>

#include "retile/core/result.h"

namespace retile {

/// Puts `text` in the place of what a file holds, or makes the file.
///
/// Who reads the file finds the old text or the new one, whole, also after the power failed: the
/// text is written beside it (`.NAME.PID-RANDOM.retile-tmp`), flushed to the disk and renamed. An
/// existing file keeps its mode, but not its hard links; a symbolic link still leads to it. What is
/// no regular file, such as a pipe, is written directly. The signals HUP, INT and TERM wait until
/// no temporary is left.
/// \error file_error, with the system's reason: then the file is as it was, and no temporary is
/// left
[[nodiscard]] Result<void> write_file(const std::string& path, std::string_view text);

}  // namespace retile
