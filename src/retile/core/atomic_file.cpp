#include "retile/core/atomic_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <system_error>

#include "retile/core/temporary_file.h"

namespace retile {
namespace {

tl::unexpected<Diagnostic> failed(const std::string& path, int error) {
  return refuse({.code = Code::file_error,
                 .message = std::generic_category().message(error),
                 .source = path});
}

/// Keeps the signals away that end a program, for as long as it lives.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int number : ending_signals) sigaddset(&ending, number);
    pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      if (count == 0) errno = EIO;
      return false;
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

Result<void> write_directly(const std::string& path, std::string_view text) {
  constexpr unsigned all = 0666;
  Descriptor file = Descriptor::open(path, O_WRONLY | O_CREAT | O_TRUNC, all);
  if (!file.is_open() || !write_all(file.number(), text) || !file.close()) {
    return failed(path, errno);
  }
  return {};
}

/// Where a path leads: itself, or what a link leads to.
std::string target_of(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? real.get() : path;
}

/// \param mode  of the file that is there, if one is
Result<void> replace(const std::string& path, std::string_view text, std::optional<mode_t> mode) {
  const SignalsWait signals_wait;
  auto file = TemporaryFile::create(path, mode);
  if (!file || !write_all(file->descriptor(), text)) return failed(path, errno);
  const auto fault = file->put_in_place();
  // Where a folder cannot be flushed, the name is there sooner or later.
  if (fault != TemporaryFile::Fault::none && fault != TemporaryFile::Fault::folder) {
    return failed(path, errno);
  }
  return {};
}

}  // namespace

Result<void> write_file(const std::string& path, std::string_view text) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT) return failed(path, errno);
    const bool is_link = ::lstat(path.c_str(), &status) == 0;  // to what is not there yet
    return is_link ? write_directly(path, text) : replace(path, text, std::nullopt);
  }
  if (S_ISDIR(status.st_mode)) return failed(path, EISDIR);
  if (!S_ISREG(status.st_mode)) return write_directly(path, text);
  constexpr mode_t permissions = 07777;
  if (::access(path.c_str(), W_OK) != 0) return failed(path, errno);
  return replace(target_of(path), text, status.st_mode & permissions);
}

}  // namespace retile
