// Segments of shared memory: what they promise, what is refused, what is left behind.
#include "retile/exec/team/memory.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

namespace memory_test {
namespace {

using retile::Code;
using retile::Size;
using retile::team::SharedHandle;
using retile::team::SharedKind;
using retile::team::SharedMemory;

constexpr SharedKind kinds[] = {SharedKind::anonymous, SharedKind::named};

/// The exit code of `body` in a process of its own.
int in_a_process(const std::function<int()>& body) {
  const pid_t process = fork();
  if (process == 0) _exit(body());
  int status = 0;
  if (process < 0 || waitpid(process, &status, 0) != process) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/// Names that this process's segments have in /dev/shm.
int names_left() {
  const std::string mine = "retile-" + std::to_string(getpid()) + "-";
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
    count += entry.path().filename().string().rfind(mine, 0) == 0;
  }
  return count;
}

TEST(SharedMemory, another_process_that_attaches_sees_and_changes_the_same_bytes) {
  for (const SharedKind kind : kinds) {
    for (const Size bytes : {Size{1}, Size{4097}, Size{5} << 20}) {
      auto mine = SharedMemory::create(bytes, kind);
      ASSERT_TRUE(mine.has_value()) << retile::render(mine.error());
      ASSERT_EQ(mine->bytes().size(), static_cast<std::size_t>(bytes));
      mine->bytes().back() = std::byte{42};
      const SharedHandle handle = mine->handle();
      EXPECT_EQ(in_a_process([&] {
                  const auto theirs = SharedMemory::attach(handle, bytes);
                  if (!theirs) return 1;
                  if (theirs->bytes().data() == mine->bytes().data()) return 2;
                  if (theirs->bytes().back() != std::byte{42}) return 3;
                  theirs->bytes().front() = std::byte{43};
                  return 0;
                }),
                0);
      EXPECT_EQ(mine->bytes().front(), std::byte{43});
    }
  }
}

TEST(SharedMemory, large_segments_lie_at_multiples_of_huge_pages_and_have_all_their_pages) {
  for (const SharedKind kind : kinds) {
    const Size bytes = (Size{5} << 20) + 1;
    const auto memory = SharedMemory::create(bytes, kind);
    ASSERT_TRUE(memory.has_value());
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory->bytes().data()) % (2U << 20), 0U);
    std::vector<unsigned char> present((memory->bytes().size() + 4095) / 4096);
    ASSERT_EQ(mincore(memory->bytes().data(), memory->bytes().size(), present.data()), 0);
    EXPECT_TRUE(
        std::all_of(present.begin(), present.end(), [](auto page) { return (page & 1) != 0; }));
  }
}

/// Bytes of this process's mapping at `begin` that /proc/self/smaps counts under `name`.
Size mapped_bytes(const void* begin, const std::string& name) {
  std::ifstream maps("/proc/self/smaps");
  std::ostringstream address;
  address << std::hex << reinterpret_cast<std::uintptr_t>(begin) << '-';
  bool here = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(' ')) here = line.rfind(address.str(), 0) == 0;
    if (here && line.rfind(name + ":", 0) == 0)
      return std::stoll(line.substr(name.size() + 1)) << 10;
  }
  return -1;
}

/// Whether this kernel makes huge pages of such memory when told to: asked of it directly.
/// \param sharing  MAP_SHARED or MAP_PRIVATE
bool huge_pages_can_be_had(int sharing) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  constexpr int collapse = 25;  // MADV_COLLAPSE, which older headers do not know
  constexpr int access = PROT_READ | PROT_WRITE;
  void* const hole = mmap(nullptr, 2 * huge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (hole == MAP_FAILED) return false;
  const auto past = reinterpret_cast<std::uintptr_t>(hole) % huge;
  void* const wanted = static_cast<std::byte*>(hole) + (huge - past) % huge;
  void* const at = mmap(wanted, huge, access, sharing | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  bool had = false;
  if (at != MAP_FAILED) {
    std::memset(at, 1, huge);
    had = madvise(at, huge, collapse) == 0;
  }
  munmap(hole, 2 * huge);
  return had;
}

TEST(SharedMemory, whole_huge_pages_are_huge_for_all_and_take_no_more_memory) {
  if (!huge_pages_can_be_had(MAP_SHARED))
    GTEST_SKIP() << "this kernel makes no huge pages of shared memory";
  constexpr Size huge = Size{2} << 20;
  for (const SharedKind kind : kinds) {
    for (const Size bytes : {huge - 1, huge, 2 * huge + 5000, 3 * huge - 1}) {
      const auto mine = SharedMemory::create(bytes, kind);
      ASSERT_TRUE(mine.has_value());
      const auto& all = mine->bytes();
      EXPECT_EQ(std::count(all.begin(), all.end(), std::byte{0}), bytes);
      EXPECT_EQ(mapped_bytes(all.data(), "ShmemPmdMapped"), bytes / huge * huge) << bytes;
      EXPECT_EQ(mapped_bytes(all.data(), "Rss"), (bytes + 4095) / 4096 * 4096) << bytes;
      const auto theirs = SharedMemory::attach(mine->handle(), bytes);
      ASSERT_TRUE(theirs.has_value());
      EXPECT_EQ(mapped_bytes(theirs->bytes().data(), "ShmemPmdMapped"), bytes / huge * huge)
          << bytes;
    }
  }
}

TEST(AdviseHugePages, makes_whole_ones_of_small_ones_and_keeps_what_lies_there) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  void* const all =
      mmap(nullptr, 5 * huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(all, MAP_FAILED);
  ASSERT_EQ(madvise(all, 5 * huge, MADV_NOHUGEPAGE), 0);
  auto* const begin =
      static_cast<std::byte*>(all) + (huge - reinterpret_cast<std::uintptr_t>(all) % huge) % huge;
  for (std::size_t at = 0; at < 4 * huge; ++at) begin[at] = static_cast<std::byte>(at % 251);
  // Less than a whole page, though as long as one; then two whole ones, and what is before and behind.
  retile::team::advise_huge_pages({begin + 1, huge});
  retile::team::advise_huge_pages({begin + 100, 3 * huge});
  for (std::size_t at = 0; at < 4 * huge; ++at) {
    ASSERT_EQ(begin[at], static_cast<std::byte>(at % 251)) << at;
  }
  const Size made = mapped_bytes(begin + huge, "AnonHugePages");
  const Size first = mapped_bytes(all, "AnonHugePages");
  munmap(all, 5 * huge);
  EXPECT_EQ(first, 0);
  if (!huge_pages_can_be_had(MAP_PRIVATE)) GTEST_SKIP() << "this kernel makes no huge pages";
  EXPECT_EQ(made, static_cast<Size>(2 * huge));
}

TEST(SharedMemory, names_go_when_all_have_attached_and_with_their_maker) {
  const int before = names_left();
  {
    auto segment = SharedMemory::create(100, SharedKind::named);
    ASSERT_TRUE(segment.has_value());
    EXPECT_EQ(names_left(), before + 1);
    auto moved = std::move(*segment);
    EXPECT_EQ(names_left(), before + 1);
    moved.unlink();
    EXPECT_EQ(names_left(), before);
    moved.bytes().front() = std::byte{1};
  }
  { const auto kept = SharedMemory::create(100, SharedKind::named); }
  EXPECT_EQ(names_left(), before);
  EXPECT_TRUE(SharedMemory::create(100, SharedKind::anonymous).has_value());
  EXPECT_EQ(names_left(), before);
}

TEST(SharedMemory, what_is_not_the_segment_meant_is_not_attached) {
  for (const SharedKind kind : kinds) {
    const auto segment = SharedMemory::create(4096, kind);
    ASSERT_TRUE(segment.has_value());
    const auto expect_refused = [&](SharedHandle handle, Size bytes) {
      const auto attached = SharedMemory::attach(handle, bytes);
      ASSERT_FALSE(attached.has_value());
      EXPECT_EQ(attached.error().code, Code::shared_memory_error);
    };
    EXPECT_TRUE(SharedMemory::attach(segment->handle(), 4096).has_value());
    expect_refused(segment->handle(), 4097);
    SharedHandle other = segment->handle();
    ++other.identity;
    expect_refused(other, 4096);
    other = segment->handle();
    other.place += 1000;
    expect_refused(other, 4096);
    expect_refused({}, 4096);
  }
}

TEST(SharedMemory, limits_of_the_process_are_errors_and_not_signals) {
  for (const SharedKind kind : kinds) {
    EXPECT_EQ(in_a_process([&] {
                const rlimit limit{1 << 20, 1 << 20};
                if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
                if (!SharedMemory::create(1 << 20, kind)) return 2;
                const auto made = SharedMemory::create((1 << 20) + 1, kind);
                return !made && made.error().code == Code::shared_memory_error ? 0 : 3;
              }),
              0);
    EXPECT_EQ(in_a_process([&] {
                const rlimit limit{3, 3};  // no more descriptors
                if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
                const auto made = SharedMemory::create(4096, kind);
                return !made && made.error().code == Code::shared_memory_error ? 0 : 3;
              }),
              0);
    const auto huge = SharedMemory::create(Size{1} << 62, kind);
    ASSERT_FALSE(huge.has_value());
    EXPECT_EQ(huge.error().code, Code::shared_memory_error);
    EXPECT_FALSE(SharedMemory::create(0, kind).has_value());
  }
}

#ifndef RETILE_SANITIZED  // it needs terabytes of addresses itself
TEST(SharedMemory, an_address_space_that_is_too_small_is_an_error) {
  for (const SharedKind kind : kinds) {
    EXPECT_EQ(in_a_process([&] {
                const rlimit limit{Size{1} << 30, Size{1} << 30};
                if (setrlimit(RLIMIT_AS, &limit) != 0) return 1;
                if (!SharedMemory::create(Size{1} << 20, kind)) return 2;
                const auto made = SharedMemory::create(Size{1} << 30, kind);
                return !made && made.error().code == Code::shared_memory_error ? 0 : 3;
              }),
              0);
  }
}
#endif

/// The exit code that says that this process may not mount.
constexpr int may_not_mount = 77;

TEST(SharedMemory, a_small_dev_shm_refuses_named_segments_and_does_not_matter_to_others) {
  const int code = in_a_process([] {
    // A file system of one megabyte over /dev/shm, which only this process sees.
    if (unshare(CLONE_NEWNS) != 0 ||
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("tmpfs", "/dev/shm", "tmpfs", 0, "size=1m") != 0) {
      return may_not_mount;
    }
    if (!SharedMemory::create(Size{1} << 19, SharedKind::named)) return 1;
    const auto named = SharedMemory::create(Size{4} << 20, SharedKind::named);
    if (named || named.error().code != Code::shared_memory_error) return 2;
    if (named.error().message.find("no space left") == std::string::npos) return 3;
    if (names_left() != 0) return 4;
    return SharedMemory::create(Size{4} << 20, SharedKind::anonymous) ? 0 : 5;
  });
  if (code == may_not_mount) GTEST_SKIP() << "this process may not mount a file system";
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace memory_test
