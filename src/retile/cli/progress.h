// What a long run says on stderr.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "retile/core/size.h"

namespace retile::cli {

/// Where words for people go.
enum class Stderr { file, terminal, nobody };

/// Of this process: its own, or that of the launcher which passes its words on. Nobody's in a process that is
/// somebody else's.
[[nodiscard]] Stderr stderr_of_this();

/// Says from the second second on what is going on: each stage of each module once, and on a terminal in one line
/// that is written anew every second and is gone at the end.
class Progress {
 public:
  explicit Progress(Stderr where);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `move` counts repetitions, `plan` redistributions, `shrink` reshards, `shrink program` programs,
  /// `module` modules of a folder, `text` those of one module, every other stage bytes.
  /// \param what  which module
  void update(std::string_view stage, Size done, Size total, std::string what = {});

 private:
  void print_until_ended();
  [[nodiscard]] std::string line() const;

  Stderr where_;
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ended_ = false;
  std::string stage_;
  std::string what_;
  Size done_ = 0;
  Size total_ = 0;
  std::thread thread_;
};

/// 1.5 MiB, 96 bytes
[[nodiscard]] std::string bytes_text(Size bytes);

}  // namespace retile::cli
