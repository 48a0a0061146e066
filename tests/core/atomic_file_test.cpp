#include "retile/core/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace retile::atomic_file_test {
namespace {

namespace fs = std::filesystem;

class AtomicFile : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  static std::string content(const std::string& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  static mode_t mode(const std::string& path) {
    struct stat status {};
    return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
  }

 private:
  std::string folder_ = testing::TempDir() + "retile_atomic_file." + std::to_string(::getpid());
};

TEST_F(AtomicFile, holds_the_text_whether_it_was_there_or_not) {
  const std::string file = path("file");
  for (const std::string& text :
       {std::string("first\n"), std::string(3 << 20, 'x'), std::string("a\0b", 3), std::string()}) {
    ASSERT_TRUE(write_file(file, text).has_value());
    EXPECT_EQ(content(file), text);
    EXPECT_EQ(files(), 1U) << "nothing is left beside it";
  }
}

TEST_F(AtomicFile, keeps_the_mode_of_a_file_and_gives_a_new_one_the_usual) {
  const mode_t mask = ::umask(022);
  ASSERT_TRUE(write_file(path("new"), "x"));
  EXPECT_EQ(mode(path("new")), 0644U);
  for (const mode_t wanted : {0600U, 0666U, 0640U}) {
    ASSERT_EQ(::chmod(path("new").c_str(), wanted), 0);
    ASSERT_TRUE(write_file(path("new"), "y"));
    EXPECT_EQ(mode(path("new")), wanted);
  }
  ::umask(mask);
}

TEST_F(AtomicFile, follows_links) {
  ASSERT_TRUE(write_file(path("file"), "old"));
  fs::create_symlink("file", path("link"));
  ASSERT_TRUE(write_file(path("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(content(path("file")), "new");
  fs::create_symlink("later", path("link_to_later"));
  ASSERT_TRUE(write_file(path("link_to_later"), "made"));
  EXPECT_EQ(content(path("later")), "made");
}

TEST_F(AtomicFile, what_cannot_be_written_is_refused_with_the_reason) {
  for (const std::string& bad : {path("no/such/folder"), path(""), std::string()}) {
    const auto refused = write_file(bad, "x");
    ASSERT_FALSE(refused.has_value()) << bad;
    EXPECT_EQ(refused.error().code, Code::file_error);
    EXPECT_FALSE(refused.error().message.empty());
  }
  const auto full = write_file("/dev/full", "x");
  ASSERT_FALSE(full.has_value());
  EXPECT_NE(full.error().message.find("No space left"), std::string::npos) << full.error().message;
  EXPECT_TRUE(write_file("/dev/null", "x").has_value());
}

TEST_F(AtomicFile, where_there_is_no_room_the_old_text_stays) {
  ASSERT_TRUE(write_file(path("file"), "old"));
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit little{4096, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &little), 0);
  const auto refused = write_file(path("file"), std::string(8192, 'x'));
  const auto refused_new = write_file(path("new"), std::string(8192, 'x'));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_FALSE(refused.has_value());
  EXPECT_FALSE(refused_new.has_value());
  EXPECT_EQ(content(path("file")), "old");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFile, signals_that_waited_arrive_afterwards) {
  // Whoever blocks them goes on doing so.
  sigset_t terminate;
  sigemptyset(&terminate);
  sigaddset(&terminate, SIGTERM);
  sigset_t before;
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &terminate, &before), 0);
  ASSERT_TRUE(write_file(path("file"), "x"));
  sigset_t after;
  ASSERT_EQ(pthread_sigmask(SIG_SETMASK, &before, &after), 0);
  EXPECT_EQ(sigismember(&after, SIGTERM), 1);
  EXPECT_EQ(sigismember(&after, SIGINT), 0);
}

}  // namespace
}  // namespace retile::atomic_file_test
