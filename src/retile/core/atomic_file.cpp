#include "retile/core/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <system_error>
#include <utility>

namespace retile {
namespace {

tl::unexpected<Diagnostic> failed(const std::string& path, int error) {
  return refuse({.code = Code::file_error,
                 .message = std::generic_category().message(error),
                 .source = path});
}

/// A descriptor that is closed when this is gone.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }
  /// Closes it; errno says why that failed, as network file systems report here what they did not
  /// write.
  [[nodiscard]] bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// Keeps the signals away that end a program, for as long as it lives.
class SignalsWait {
 public:
  SignalsWait() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int number : {SIGHUP, SIGINT, SIGTERM}) sigaddset(&ending, number);
    pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

int open_file(const std::string& path, int flags) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

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
  Descriptor file(open_file(path, O_WRONLY | O_CREAT | O_TRUNC));
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

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

/// A name beside a path, at another one with every call.
std::string temporary_beside(const std::string& path) {
  static std::random_device random;
  constexpr std::size_t longest_start = 180;  // of the 255 bytes that a name may have
  const std::string folder = folder_of(path);
  return fmt::format("{}.{}.{}-{:08x}.retile-tmp", folder,
                     path.substr(folder.size()).substr(0, longest_start), ::getpid(), random());
}

/// Flushes the folder, so that the new name is there after a crash. Where that is not possible, the
/// name is there sooner or later.
void flush_folder(const std::string& path) {
  const std::string folder = folder_of(path);
  const Descriptor opened(open_file(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY));
  if (opened.is_open()) ::fsync(opened.number());
}

/// \param mode  of the file that is there, if one is
Result<void> replace(const std::string& path, std::string_view text, std::optional<mode_t> mode) {
  const SignalsWait signals_wait;
  constexpr int attempts = 16;
  std::string temporary;
  int descriptor = -1;
  for (int attempt = 0; attempt < attempts && descriptor < 0; ++attempt) {
    temporary = temporary_beside(path);
    descriptor = open_file(temporary, O_WRONLY | O_CREAT | O_EXCL);
    if (descriptor < 0 && errno != EEXIST) break;
  }
  if (descriptor < 0) return failed(path, errno);
  Descriptor file(descriptor);
  const bool done = (!mode || ::fchmod(descriptor, *mode) == 0) && write_all(descriptor, text) &&
                    ::fsync(descriptor) == 0 && file.close() &&
                    ::rename(temporary.c_str(), path.c_str()) == 0;
  if (!done) {
    const int error = errno;
    ::unlink(temporary.c_str());
    return failed(path, error);
  }
  flush_folder(path);
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
