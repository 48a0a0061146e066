// Files that are written beside the place that they take when they are complete. For the sources of
// other rooms; not installed.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "retile/core/descriptor.h"

namespace retile {

/// A file `.NAME.PID-RANDOM.retile-tmp` beside the one whose place it will take; removed with the
/// object, unless it was put there.
class TemporaryFile {
 public:
  /// What putting it in its place failed at.
  enum class Fault { none, mode, flush, place, folder };

  /// Open for reading and writing. Nothing where that fails: errno says why.
  /// \param path  where it will go; no link
  /// \param mode  of the file that is there. The new one gets it in the end, and is for its owner
  ///     alone until then. Without it the process's umask decides.
  [[nodiscard]] static std::optional<TemporaryFile> create(const std::string& path,
                                                           std::optional<unsigned> mode);

  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&& other) noexcept;
  ~TemporaryFile();

  [[nodiscard]] int descriptor() const { return descriptor_.number(); }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// Gives it its mode, flushes, closes and renames it, and flushes the folder. errno says why
  /// something failed. Then it is removed; a fault of the folder alone means that the new file is
  /// there but may be lost with the machine. To be called once.
  [[nodiscard]] Fault put_in_place();

 private:
  TemporaryFile() = default;
  void remove();

  Descriptor descriptor_;
  std::string path_;  // empty when it is in its place, or gone
  std::string target_;
  std::optional<unsigned> mode_;
  int listed_ = -1;  // its number in the list of remove_temporaries()
};

/// INT, TERM and HUP: the signals that ask a program to end.
extern const std::array<int, 3> ending_signals;

/// The folder of a path with its last slash; empty for a name alone.
[[nodiscard]] std::string folder_of(const std::string& path);

/// Removes the temporaries of this process. Safe to call in a signal handler; the process must end
/// after it.
void remove_temporaries() noexcept;

}  // namespace retile
