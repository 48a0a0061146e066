// Writing .npy files so that they appear complete or not at all.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
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

}  // namespace

Result<NpyOutput> NpyOutput::create(const std::string& path, NpyHeader header) {
  if (path.empty() || path.back() == '/') return failed(path, "the output has no file name");
  const auto place = resolve(path);
  if (!place) return tl::unexpected(place.error());
  auto temporary = TemporaryFile::create(place->path, place->mode);
  if (!temporary) {
    return failed(path, fmt::format("the output cannot be written: {}", detail::error_text(errno)));
  }
  NpyOutput output;
  output.path_ = place->path;
  output.temporary_ = std::move(*temporary);
  const int descriptor = output.descriptor();
  const std::vector<std::byte> bytes = make_npy_header(header);
  output.header_ = std::move(header);
  struct stat status {};
  if (!reserve(descriptor, output.header_.file_bytes()) || !write_at(descriptor, 0, bytes) ||
      ::fstat(descriptor, &status) != 0) {
    return failed(path, fmt::format("the output of {} bytes cannot be written: {}",
                                    output.header_.file_bytes(), detail::error_text(errno)));
  }
  output.identity_ = identity_of(status);
  return output;
}

Result<NpyOutput> NpyOutput::join(const std::string& temporary_path, NpyHeader header,
                                  std::uint64_t identity) {
  NpyOutput output;
  output.joined_ = Descriptor::open(temporary_path, O_WRONLY);
  struct stat status {};
  if (!output.joined_.is_open() || ::fstat(output.descriptor(), &status) != 0) {
    return failed(temporary_path,
                  fmt::format("the output cannot be opened: {}", detail::error_text(errno)));
  }
  output.identity_ = identity_of(status);
  if (output.identity_ != identity) return failed(temporary_path, "this is another process's file");
  static_cast<void>(make_npy_header(header));  // for where the elements lie
  output.header_ = std::move(header);
  return output;
}

Result<void> NpyOutput::write(TileRuns& runs, std::span<const std::byte> bytes) {
  const Size width = header_.type.bytes;
  RETILE_ASSERT(static_cast<Size>(bytes.size()) % width == 0,
                "part of an element was to be written");
  while (!bytes.empty()) {
    const Run run = runs.next(static_cast<Size>(bytes.size()) / width);
    const auto run_bytes = static_cast<std::size_t>(run.elements * width);
    const Size offset = header_.data_offset_bytes + run.global * width;
    if (!write_at(descriptor(), offset, bytes.first(run_bytes))) {
      return failed(path_, fmt::format("writing the output failed at byte {}: {}", offset,
                                       detail::error_text(errno)));
    }
    bytes = bytes.subspan(run_bytes);
  }
  return {};
}

Result<void> NpyOutput::sync() {
  if (::fsync(descriptor()) != 0) {
    return failed(path_,
                  fmt::format("the output did not reach the disk: {}", detail::error_text(errno)));
  }
  return {};
}

Result<void> NpyOutput::commit() {
  RETILE_ASSERT(temporary_, "an output that was not created here, or committed twice");
  const auto fault = temporary_->put_in_place();
  const std::string why = detail::error_text(errno);
  temporary_.reset();
  const auto refused = [&](std::string_view what) {
    return failed(path_, fmt::format("the output{}: {}", what, why));
  };
  switch (fault) {
    case TemporaryFile::Fault::none:
      break;
    case TemporaryFile::Fault::mode:
      return refused(" cannot get the mode of the file before");
    case TemporaryFile::Fault::flush:
      return refused(" did not reach the disk");
    case TemporaryFile::Fault::place:
      return refused(" cannot be put in its place");
    case TemporaryFile::Fault::folder:
      return refused("'s directory did not reach the disk");
  }
  return {};
}

}  // namespace retile
