#include "retile/core/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <random>
#include <utility>

namespace retile {
namespace {

/// What a signal handler can read: a path that is complete once `used` says so.
struct Listed {
  std::atomic<bool> taken{false};
  std::atomic<bool> used{false};
  std::array<char, PATH_MAX> path{};
};
static_assert(std::atomic<bool>::is_always_lock_free);

// As many as a process may usually have open files: a run may write one for every device. Pages that
// nobody writes to take no memory.
std::array<Listed, 1024> temporaries;

/// The number of a path in the list, or -1: then a signal leaves the file behind.
int enlist(const std::string& path) {
  if (path.size() >= PATH_MAX) return -1;
  for (std::size_t k = 0; k < temporaries.size(); ++k) {
    Listed& it = temporaries[k];
    if (it.taken.exchange(true)) continue;
    std::memcpy(it.path.data(), path.c_str(), path.size() + 1);
    it.used.store(true);
    return static_cast<int>(k);
  }
  return -1;
}

void strike(int number) {
  if (number < 0) return;
  Listed& it = temporaries[static_cast<std::size_t>(number)];
  it.used.store(false);
  it.taken.store(false);
}

/// A name beside a path, another one with every call.
std::string name_beside(const std::string& path) {
  static std::random_device random;
  // Of the 255 bytes that a name may have: the start of the original, for people who find it.
  constexpr std::size_t longest_start = 180;
  const std::string folder = folder_of(path);
  return fmt::format("{}.{}.{}-{:08x}.retile-tmp", folder,
                     path.substr(folder.size()).substr(0, longest_start), ::getpid(), random());
}

/// Not every file system can flush a folder, or let it be opened.
bool flush_folder(const std::string& path) {
  const std::string folder = folder_of(path);
  const Descriptor opened = Descriptor::open(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
  return !opened.is_open() || ::fsync(opened.number()) == 0 || errno == EINVAL || errno == EROFS;
}

}  // namespace

const std::array<int, 3> ending_signals = {SIGINT, SIGTERM, SIGHUP};

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash + 1);
}

void remove_temporaries() noexcept {
  for (const Listed& it : temporaries) {
    if (it.used.load()) ::unlink(it.path.data());
  }
}

std::optional<TemporaryFile> TemporaryFile::create(const std::string& path,
                                                   std::optional<unsigned> mode) {
  constexpr unsigned owner_alone = 0600;
  constexpr unsigned all = 0666;
  constexpr int attempts = 16;
  TemporaryFile out;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::string name = name_beside(path);
    // Listed before it is there: a signal may come right behind its making.
    const int listed = enlist(name);
    out.descriptor_ = Descriptor::open(name, O_RDWR | O_CREAT | O_EXCL, mode ? owner_alone : all);
    if (out.descriptor_.is_open()) {
      out.path_ = name;
      out.listed_ = listed;
      out.target_ = path;
      out.mode_ = mode;
      return out;
    }
    const bool exists = errno == EEXIST;
    strike(listed);
    if (!exists) break;
  }
  return std::nullopt;
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept { *this = std::move(other); }

TemporaryFile& TemporaryFile::operator=(TemporaryFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  std::swap(target_, other.target_);
  std::swap(mode_, other.mode_);
  std::swap(listed_, other.listed_);
  return *this;
}

TemporaryFile::~TemporaryFile() { remove(); }

void TemporaryFile::remove() {
  const int error = errno;
  descriptor_.close();
  if (!path_.empty()) ::unlink(path_.c_str());
  path_.clear();
  strike(std::exchange(listed_, -1));
  errno = error;
}

TemporaryFile::Fault TemporaryFile::put_in_place() {
  Fault fault = Fault::none;
  if (mode_ && ::fchmod(descriptor_.number(), static_cast<mode_t>(*mode_)) != 0) {
    fault = Fault::mode;
  } else if (::fsync(descriptor_.number()) != 0) {
    fault = Fault::flush;
  } else if (!descriptor_.close() || ::rename(path_.c_str(), target_.c_str()) != 0) {
    fault = Fault::place;
  } else {
    path_.clear();
  }
  remove();
  if (fault != Fault::none) return fault;
  return flush_folder(target_) ? Fault::none : Fault::folder;
}

}  // namespace retile
