#include "retile/exec/team/memory.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "retile/core/descriptor.h"

namespace retile::team {
namespace {

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25  // Linux 6.1; the C library's headers may be older than the kernel
#endif

// A place: 1 bit for the kind, 31 for the process, 32 for the descriptor or the number in the name.
constexpr std::uint64_t named_bit = std::uint64_t{1} << 63;

std::uint64_t place_of(bool named, pid_t process, std::uint32_t number) {
  return (named ? named_bit : 0) | static_cast<std::uint64_t>(process) << 32 | number;
}
std::uint64_t process_of(const SharedHandle& handle) { return (handle.place & ~named_bit) >> 32; }
std::uint32_t number_of(const SharedHandle& handle) {
  return static_cast<std::uint32_t>(handle.place);
}

std::string name_of(const SharedHandle& handle) {
  return fmt::format("/retile-{}-{}", process_of(handle), number_of(handle));
}

/// Numbers of names, one after the other for all threads of the process.
std::uint32_t next_number() {
  static std::atomic<std::uint32_t> last{0};
  return ++last;
}

Diagnostic failure(std::string message, std::vector<std::string> notes = {}) {
  return {
      .code = Code::shared_memory_error, .message = std::move(message), .notes = std::move(notes)};
}

Diagnostic cannot_make(Size bytes, const std::string& why, std::vector<std::string> notes = {}) {
  return failure(fmt::format("cannot make {} bytes of shared memory: {}", bytes, why),
                 std::move(notes));
}

std::string system_message(int error) { return std::strerror(error); }

/// Maps a segment, at a multiple of 2 MiB where it is as long as that; null and errno otherwise.
std::byte* map(int descriptor, std::size_t bytes) {
  constexpr int access = PROT_READ | PROT_WRITE;
  if (bytes < huge_page_bytes) {
    void* const at = mmap(nullptr, bytes, access, MAP_SHARED, descriptor, 0);
    return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
  }
  const std::size_t reserved = bytes + huge_page_bytes;
  void* const hole =
      mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (hole == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<std::byte*>(hole);
  const auto address = reinterpret_cast<std::uintptr_t>(hole);
  const std::size_t before = (huge_page_bytes - address % huge_page_bytes) % huge_page_bytes;
  std::byte* const wanted = begin + before;
  void* const at = mmap(wanted, bytes, access, MAP_SHARED | MAP_FIXED, descriptor, 0);
  if (at == MAP_FAILED) {
    const int error = errno;
    munmap(hole, reserved);
    errno = error;
    return nullptr;
  }
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t mapped = (bytes + page - 1) / page * page;
  if (before != 0) munmap(begin, before);
  if (before + mapped < reserved) munmap(wanted + mapped, reserved - before - mapped);
  madvise(at, bytes, MADV_HUGEPAGE);  // a wish: fails where the kernel has no such pages
  return wanted;
}

/// Gives the file all its pages; an errno where they are not there. A file system that is too small
/// says so here and not by a signal in the midst of a copy.
int reserve(int descriptor, Size bytes) {
  int error = 0;
  do {
    error = posix_fallocate(descriptor, 0, bytes);
  } while (error == EINTR);
  return error;
}

/// Makes one huge page of what lies there in small ones. Whether the kernel did.
bool collapse_page(std::byte* begin) { return madvise(begin, huge_page_bytes, MADV_COLLAPSE) == 0; }

/// Makes huge pages of what is whole. To ask for them is not enough: most systems give none to
/// shared memory unless they are told to collapse small ones, and then fill up what is missing, so
/// one small page is enough. The rest comes as small pages later, and so does everything from the
/// first failure on: a kernel that found no huge page would look as long for each.
void collapse(int descriptor, std::byte* begin, std::size_t bytes) {
  for (std::size_t at = 0; bytes - at >= huge_page_bytes; at += huge_page_bytes) {
    if (posix_fallocate(descriptor, static_cast<off_t>(at), 1) != 0) return;
    if (!collapse_page(begin + at)) return;
  }
}

/// Puts all pages into this process's tables, so that no fault falls into a measured copy.
int touch(std::byte* begin, std::size_t bytes, bool writing) {
#if defined(MADV_POPULATE_WRITE) && defined(MADV_POPULATE_READ)
  if (madvise(begin, bytes, writing ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0) return 0;
  if (errno != EINVAL) return errno;
#else
  static_cast<void>(writing);
#endif
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (std::size_t at = 0; at < bytes; at += page) {
    // Reading is enough: the pages are there already, and others may be writing.
    static_cast<void>(*static_cast<const volatile unsigned char*>(static_cast<void*>(begin + at)));
  }
  return 0;
}

std::uint64_t identity_of(const struct stat& status) {
  return static_cast<std::uint64_t>(status.st_ino);
}

/// A longer file than the process's limit would end it by a signal.
std::optional<Diagnostic> over_file_limit(Size bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
      static_cast<rlim_t>(bytes) <= limit.rlim_cur) {
    return std::nullopt;
  }
  return cannot_make(bytes,
                     fmt::format("more than the limit of file sizes, {} bytes", limit.rlim_cur),
                     {"ulimit -f unlimited lifts it"});
}

}  // namespace

void advise_huge_pages(std::span<const std::byte> bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
  const std::size_t before = (huge_page_bytes - address % huge_page_bytes) % huge_page_bytes;
  if (bytes.size() < before + huge_page_bytes) return;
  const std::size_t whole = (bytes.size() - before) / huge_page_bytes * huge_page_bytes;
  // Pages change, not what is in them.
  std::byte* const begin = const_cast<std::byte*>(bytes.data()) + before;
  if (madvise(begin, whole, MADV_HUGEPAGE) != 0) return;
  for (std::size_t at = 0; at < whole; at += huge_page_bytes) {
    if (!collapse_page(begin + at)) return;
  }
}

Result<SharedMemory> SharedMemory::create(Size bytes, SharedKind kind) {
  if (bytes < 1) {
    return refuse({.code = Code::bad_argument, .message = "shared memory needs at least a byte"});
  }
  if (auto over = over_file_limit(bytes)) return refuse(std::move(*over));

  SharedMemory out;
  int number = -1;
  if (kind == SharedKind::anonymous) {
    number = memfd_create("retile", MFD_CLOEXEC);
  } else {
    // A name that somebody left behind is not ours to open.
    do {
      out.handle_.place = place_of(true, getpid(), next_number());
      number = shm_open(name_of(out.handle_).c_str(), O_CREAT | O_EXCL | O_RDWR, 0600);
    } while (number < 0 && errno == EEXIST);
    out.named_ = number >= 0;
  }
  Descriptor descriptor(number);
  if (number < 0) return refuse(cannot_make(bytes, system_message(errno)));
  if (kind == SharedKind::anonymous) {
    out.handle_.place = place_of(false, getpid(), static_cast<std::uint32_t>(number));
  }

  if (ftruncate(number, bytes) != 0) return refuse(cannot_make(bytes, system_message(errno)));
  struct stat status {};
  if (fstat(number, &status) != 0) return refuse(cannot_make(bytes, system_message(errno)));
  out.handle_.identity = identity_of(status);

  const auto length = static_cast<std::size_t>(bytes);
  std::byte* const begin = map(number, length);
  if (begin == nullptr) {
    return refuse(
        cannot_make(bytes, system_message(errno), {"the address space may be limited: ulimit -v"}));
  }
  out.bytes_ = {begin, length};
  collapse(number, begin, length);
  int error = kind == SharedKind::named ? reserve(number, bytes) : 0;
  if (error == ENOSPC) {
    return refuse(cannot_make(bytes, "no space left in the file system of shared memory",
                              {"containers often have a /dev/shm of 64 MB; docker run --shm-size "
                               "gives them more"}));
  }
  if (error == 0) error = touch(begin, length, true);
  // Where the kernel cannot touch pages for us, the file has to get them before we do.
  if (error == 0 && kind == SharedKind::anonymous) error = reserve(number, bytes);
  if (error != 0) return refuse(cannot_make(bytes, system_message(error)));
  out.descriptor_ = descriptor.release();
  return out;
}

Result<SharedMemory> SharedMemory::attach(const SharedHandle& handle, Size bytes) {
  const bool named = (handle.place & named_bit) != 0;
  const std::string where =
      named ? name_of(handle)
            : fmt::format("/proc/{}/fd/{}", process_of(handle), number_of(handle));
  const auto refused = [&](const std::string& why) {
    return refuse(failure(fmt::format("cannot reach the shared memory {}: {}", where, why),
                          {"processes of one team need the same user and node, and to see each "
                           "other in /proc or /dev/shm"}));
  };
  if (handle.place == 0 || bytes < 1) return refused("there is none");

  const Descriptor descriptor(named ? shm_open(where.c_str(), O_RDWR, 0)
                                    : open(where.c_str(), O_RDWR | O_CLOEXEC));
  if (descriptor.number() < 0) return refused(system_message(errno));
  struct stat status {};
  if (fstat(descriptor.number(), &status) != 0) return refused(system_message(errno));
  // A process of the same number in another container has other files.
  if (!S_ISREG(status.st_mode) || identity_of(status) != handle.identity ||
      status.st_size != bytes) {
    return refused("it is another file");
  }
  SharedMemory out;
  out.handle_ = handle;
  const auto length = static_cast<std::size_t>(bytes);
  std::byte* const begin = map(descriptor.number(), length);
  if (begin == nullptr) return refused(system_message(errno));
  out.bytes_ = {begin, length};
  if (const int error = touch(begin, length, false); error != 0) {
    return refused(system_message(error));
  }
  return out;
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept { *this = std::move(other); }

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  std::swap(handle_, other.handle_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(named_, other.named_);
  return *this;
}

SharedMemory::~SharedMemory() {
  unlink();
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
  if (descriptor_ >= 0) close(descriptor_);
}

void SharedMemory::unlink() {
  if (named_) shm_unlink(name_of(handle_).c_str());
  named_ = false;
}

namespace {

/// One round of share_memory with segments of one kind.
struct Attempt {
  std::vector<SharedMemory> segments;
  std::optional<Diagnostic> mine;  ///< why this member failed
  int failed = -1;                 ///< the first member that failed
  bool made = true;                ///< whether all segments were made
};

Result<Attempt> attempt(Team& team, Size bytes, SharedKind kind) {
  Attempt out;
  out.segments.resize(static_cast<std::size_t>(team.members()));
  const auto self = static_cast<std::size_t>(team.member());
  if (auto made = SharedMemory::create(bytes, kind)) {
    out.segments[self] = std::move(*made);
  } else {
    out.mine = made.error();
  }

  const SharedHandle& mine = out.segments[self].handle();
  const auto places = tell_all(team, mine.place);
  if (!places) return refuse(places.error());
  const auto identities = tell_all(team, mine.identity);
  if (!identities) return refuse(identities.error());
  auto failed = first_failed(team, !out.mine);
  if (!failed) return refuse(failed.error());
  out.failed = *failed;
  out.made = *failed < 0;
  if (!out.made) return out;

  for (std::size_t member = 0; member < places->size() && !out.mine; ++member) {
    if (member == self) continue;
    auto attached = SharedMemory::attach({(*places)[member], (*identities)[member]}, bytes);
    if (attached) {
      out.segments[member] = std::move(*attached);
    } else {
      out.mine = attached.error();
    }
  }
  failed = first_failed(team, !out.mine);
  if (!failed) return refuse(failed.error());
  out.failed = *failed;
  out.segments[self].unlink();
  return out;
}

/// Most bytes of a member's words that the others hear.
constexpr std::size_t most_told_bytes = 240;

/// The text that `speaker` has, on all members, cut off after most_told_bytes.
Result<std::string> hear_text(Team& team, int speaker, std::string text) {
  text.resize(most_told_bytes);
  for (std::size_t at = 0; at < most_told_bytes; at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + at, sizeof word);
    if (auto told = team.tell(word); !told) return refuse(told.error());
    word = team.told(speaker);
    std::memcpy(text.data() + at, &word, sizeof word);
  }
  text.resize(text.find_last_not_of('\0') + 1);
  return text;
}

}  // namespace

Result<std::vector<SharedMemory>> share_memory(Team& team, Size bytes) {
  auto out = attempt(team, bytes, SharedKind::anonymous);
  // Every member sees the same outcome, so all try again or none does. Names are tried also where
  // there is no memfd_create.
  if (out && out->failed >= 0) {
    out->segments.clear();
    auto named = attempt(team, bytes, SharedKind::named);
    if (!named) return refuse(named.error());
    // The reason of the first attempt says more where memory was lacking.
    if (named->failed < 0 || out->made) out = std::move(named);
  }
  if (!out) return refuse(out.error());
  if (out->failed < 0) return std::move(out->segments);
  const auto why = hear_text(team, out->failed, out->mine ? out->mine->message : "");
  if (!why) return refuse(why.error());
  if (out->mine) return refuse(*out->mine);
  return refuse(failure(fmt::format("member {} cannot make or reach {} bytes of shared memory: {}",
                                    out->failed, bytes, *why)));
}

std::vector<std::span<std::byte>> spans_of(const std::vector<SharedMemory>& segments) {
  std::vector<std::span<std::byte>> out;
  out.reserve(segments.size());
  for (const SharedMemory& segment : segments) out.push_back(segment.bytes());
  return out;
}

}  // namespace retile::team
