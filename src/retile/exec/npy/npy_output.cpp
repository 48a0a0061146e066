// Writing .npy files so that they appear complete or not at all.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <random>
#include <system_error>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/hash.h"
#include "retile/exec/npy/file_support.h"
#include "retile/exec/npy/npy.h"

namespace retile {

std::string detail::error_text(int error_number) {
  return std::generic_category().message(error_number);
}

namespace {

tl::unexpected<Diagnostic> failed(const std::string& path, std::string message) {
  return refuse({.code = Code::file_error, .message = std::move(message), .source = path});
}

/// open(2) that survives interruptions.
int open_file(const std::string& path, int flags, mode_t mode = 0) {
  int descriptor = -1;
  do {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

/// Writes everything or says in errno why not.
bool write_at(int descriptor, Size offset_bytes, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::size_t part = std::min(bytes.size(), std::size_t{1} << 30);
    const ssize_t written =
        ::pwrite(descriptor, bytes.data(), part, static_cast<off_t>(offset_bytes));
    if (written < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    if (written == 0) {
      errno = ENOSPC;
      return false;
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
    offset_bytes += written;
  }
  return true;
}

/// Reserves the file's whole length, so that a full disk is noticed before any data is moved.
bool reserve(int descriptor, Size bytes) {
  int result = 0;
  do {
    result = ::fallocate(descriptor, 0, 0, static_cast<off_t>(bytes));
  } while (result != 0 && errno == EINTR);
  // Not every file system can reserve; posix_fallocate would then write every block, which costs as
  // much as the data.
  if (result != 0 && (errno == EOPNOTSUPP || errno == ENOSYS)) {
    result = ::ftruncate(descriptor, static_cast<off_t>(bytes));
  }
  return result == 0;
}

std::uint64_t identity_of(const struct stat& status) {
  // Not the device number: two hosts may number one network file system differently.
  std::uint64_t hash = hash_number(hash_start, status.st_ino);
  return hash_number(hash, static_cast<std::uint64_t>(status.st_size));
}

/// Where a file given as `path` really lies, and its mode if there is one already.
struct Place {
  std::string path;
  std::optional<mode_t> mode;
};

/// Symbolic links are followed, so that a link stays one.
Result<Place> resolve(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return Place{.path = path, .mode = {}};
    return failed(path, fmt::format("the output cannot be written: {}", detail::error_text(errno)));
  }
  std::string resolved = path;
  if (S_ISLNK(status.st_mode)) {
    char* real = ::realpath(path.c_str(), nullptr);
    if (real == nullptr || ::stat(real, &status) != 0) {
      const int error = errno;
      std::free(real);
      return failed(path, fmt::format("the output is a link that leads nowhere: {}",
                                      detail::error_text(error)));
    }
    resolved = real;
    std::free(real);
  }
  if (S_ISDIR(status.st_mode)) return failed(path, "the output is a directory");
  if (!S_ISREG(status.st_mode))
    return failed(path, "the output is there and is not a regular file");
  return Place{.path = resolved, .mode = status.st_mode & 0777};
}

// ---- Temporaries that a signal leaves behind -----------------------------------------------------

/// What a signal handler can read: a path that is complete once `used` says so.
struct Temporary {
  std::atomic<bool> taken{false};
  std::atomic<bool> used{false};
  std::array<char, PATH_MAX> path{};
};
static_assert(std::atomic<bool>::is_always_lock_free);

std::array<Temporary, 8> temporaries;

/// The place of a path in the list, or -1: then a signal leaves the file behind.
int enlist(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t k = 0; k < temporaries.size(); ++k) {
    Temporary& it = temporaries[k];
    if (it.taken.exchange(true)) continue;
    std::memcpy(it.path.data(), path.c_str(), path.size() + 1);
    it.used.store(true);
    return static_cast<int>(k);
  }
  return -1;
}

void strike(int place) {
  if (place < 0) return;
  Temporary& it = temporaries[static_cast<std::size_t>(place)];
  it.used.store(false);
  it.taken.store(false);
}

}  // namespace

void remove_temporaries() noexcept {
  for (const Temporary& it : temporaries) {
    if (it.used.load()) ::unlink(it.path.data());
  }
}

Result<NpyOutput> NpyOutput::create(const std::string& path, NpyHeader header) {
  if (path.empty() || path.back() == '/') return failed(path, "the output has no file name");
  const auto place = resolve(path);
  if (!place) return tl::unexpected(place.error());
  const std::size_t slash = place->path.rfind('/');
  const std::string directory = slash == std::string::npos ? "" : place->path.substr(0, slash + 1);
  // A name may have 255 bytes; ours keeps the start of the original for people who find it.
  const std::string name = place->path.substr(directory.size()).substr(0, 180);
  // What was there before may be for its owner alone.
  const mode_t mode = place->mode ? 0600 : 0666;

  NpyOutput output;
  std::random_device random;
  constexpr int attempts = 16;
  for (int attempt = 0; attempt < attempts && output.descriptor_ < 0; ++attempt) {
    const std::string temporary =
        fmt::format("{}.{}.{}-{:08x}.retile-tmp", directory, name, ::getpid(), random());
    output.descriptor_ = open_file(temporary, O_RDWR | O_CREAT | O_EXCL, mode);
    if (output.descriptor_ >= 0) {
      output.temporary_path_ = temporary;
      output.registered_ = enlist(temporary);
    } else if (errno != EEXIST) {
      break;
    }
  }
  if (output.descriptor_ < 0) {
    return failed(path, fmt::format("the output cannot be written: {}", detail::error_text(errno)));
  }
  output.path_ = place->path;
  output.mode_ = place->mode;
  const std::vector<std::byte> bytes = make_npy_header(header);
  output.header_ = std::move(header);
  struct stat status {};
  if (!reserve(output.descriptor_, output.header_.file_bytes()) ||
      !write_at(output.descriptor_, 0, bytes) || ::fstat(output.descriptor_, &status) != 0) {
    return failed(path, fmt::format("the output of {} bytes cannot be written: {}",
                                    output.header_.file_bytes(), detail::error_text(errno)));
  }
  output.identity_ = identity_of(status);
  return output;
}

Result<NpyOutput> NpyOutput::join(const std::string& temporary_path, const NpyHeader& header,
                                  std::uint64_t identity) {
  NpyOutput output;
  output.descriptor_ = open_file(temporary_path, O_WRONLY);
  struct stat status {};
  if (output.descriptor_ < 0 || ::fstat(output.descriptor_, &status) != 0) {
    return failed(temporary_path,
                  fmt::format("the output cannot be opened: {}", detail::error_text(errno)));
  }
  output.identity_ = identity_of(status);
  if (output.identity_ != identity) return failed(temporary_path, "this is another process's file");
  output.header_ = header;
  return output;
}

NpyOutput::NpyOutput(NpyOutput&& other) noexcept
    : path_(std::exchange(other.path_, {})),
      temporary_path_(std::exchange(other.temporary_path_, {})),
      header_(std::move(other.header_)),
      identity_(other.identity_),
      mode_(other.mode_),
      descriptor_(std::exchange(other.descriptor_, -1)),
      registered_(std::exchange(other.registered_, -1)) {}

NpyOutput& NpyOutput::operator=(NpyOutput&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(temporary_path_, other.temporary_path_);
  std::swap(header_, other.header_);
  std::swap(identity_, other.identity_);
  std::swap(mode_, other.mode_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(registered_, other.registered_);
  return *this;
}

NpyOutput::~NpyOutput() { close_and_remove(); }

void NpyOutput::close_and_remove() {
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  if (!temporary_path_.empty()) ::unlink(temporary_path_.c_str());
  temporary_path_.clear();
  strike(std::exchange(registered_, -1));
}

Result<void> NpyOutput::write(TileRuns& runs, std::span<const std::byte> bytes) {
  const Size width = header_.type.bytes;
  RETILE_ASSERT(static_cast<Size>(bytes.size()) % width == 0,
                "part of an element was to be written");
  while (!bytes.empty()) {
    const Run run = runs.next(static_cast<Size>(bytes.size()) / width);
    const auto run_bytes = static_cast<std::size_t>(run.elements * width);
    const Size offset = header_.data_offset_bytes + run.global * width;
    if (!write_at(descriptor_, offset, bytes.first(run_bytes))) {
      return failed(path_, fmt::format("writing the output failed at byte {}: {}", offset,
                                       detail::error_text(errno)));
    }
    bytes = bytes.subspan(run_bytes);
  }
  return {};
}

Result<void> NpyOutput::sync() {
  if (::fsync(descriptor_) != 0) {
    return failed(path_,
                  fmt::format("the output did not reach the disk: {}", detail::error_text(errno)));
  }
  return {};
}

Result<void> NpyOutput::commit() {
  RETILE_ASSERT(!path_.empty() && !temporary_path_.empty() && descriptor_ >= 0,
                "an output committed twice");
  const bool mode_kept = !mode_ || ::fchmod(descriptor_, *mode_) == 0;
  Result<void> ready;
  if (!mode_kept) {
    ready = failed(path_, fmt::format("the output cannot get the mode of the file before: {}",
                                      detail::error_text(errno)));
  }
  if (ready) ready = sync();
  if (!ready) {
    close_and_remove();
    return ready;
  }
  // close reports errors that some network file systems keep until then.
  if (::close(std::exchange(descriptor_, -1)) != 0 ||
      ::rename(temporary_path_.c_str(), path_.c_str()) != 0) {
    const int error = errno;
    close_and_remove();
    return failed(
        path_, fmt::format("the output cannot be put in its place: {}", detail::error_text(error)));
  }
  temporary_path_.clear();
  strike(std::exchange(registered_, -1));
  // The new name is in the directory, and that may still be lost with the machine; not every file
  // system can sync one.
  const std::size_t slash = path_.rfind('/');
  const int directory =
      open_file(slash == std::string::npos ? "." : path_.substr(0, slash + 1), O_RDONLY);
  if (directory >= 0) {
    const int synced = ::fsync(directory);
    const int error = errno;
    ::close(directory);
    if (synced != 0 && error != EINVAL && error != EROFS) {
      return failed(path_, fmt::format("the output's directory did not reach the disk: {}",
                                       detail::error_text(error)));
    }
  }
  return {};
}

}  // namespace retile
