#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <cstring>
#include <string>
#include <vector>

#include "exec/npy/files.h"
#include "retile/exec/npy/npy.h"
#include "retile/exec/npy/pattern.h"

namespace retile::npy_file_test {
namespace {

using test::npy_header;
using test::read_file;
using test::TemporaryDirectory;
using test::write_file;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* twelve_floats = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";

std::string message_of(const std::string& path) {
  const auto file = NpyFile::open(path);
  if (file) return "accepted";
  EXPECT_EQ(file.error().code, Code::bad_file);
  EXPECT_EQ(file.error().source, path);
  return file.error().message;
}

TEST(NpyFile, must_be_as_long_as_its_header_says) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.npy");
  const std::string header = npy_header(1, twelve_floats);
  write_file(path, header + std::string(48, 'x'));
  EXPECT_EQ(message_of(path), "accepted");
  write_file(path, header + std::string(47, 'x'));
  EXPECT_THAT(message_of(path), HasSubstr("truncated"));
  write_file(path, header);
  EXPECT_THAT(message_of(path), HasSubstr("truncated"));
  write_file(path, header + std::string(49, 'x'));
  EXPECT_THAT(message_of(path), HasSubstr("follow the last element"));
  write_file(path, "");
  EXPECT_THAT(message_of(path), HasSubstr("no .npy file"));
}

TEST(NpyFile, must_be_a_regular_file_that_can_be_opened) {
  const TemporaryDirectory directory;
  EXPECT_THAT(message_of(directory.path().string()), HasSubstr("directory"));
  EXPECT_THAT(message_of(directory.file("missing.npy")), HasSubstr("cannot be opened"));
  EXPECT_THAT(message_of(directory.file("no/such/place.npy")), HasSubstr("cannot be opened"));
  const std::string pipe = directory.file("pipe.npy");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(message_of(pipe), HasSubstr("not a regular file"));
}

TEST(NpyFile, a_header_longer_than_the_first_read_is_read) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.npy");
  for (const int version : {1, 2, 3}) {
    write_file(path,
               npy_header(version, twelve_floats + std::string(20000, ' ')) + std::string(48, 'x'));
    EXPECT_EQ(message_of(path), "accepted");
  }
  write_file(path, npy_header(3, twelve_floats + std::string((1U << 20U) + 10, ' ')) +
                       std::string(48, 'x'));
  EXPECT_THAT(message_of(path), HasSubstr("claims to be"));
}

TEST(NpyFile, the_fingerprint_tells_files_apart) {
  const TemporaryDirectory directory;
  const std::string header = npy_header(1, twelve_floats);
  write_file(directory.file("a.npy"), header + std::string(48, 'x'));
  write_file(directory.file("b.npy"),
             npy_header(1, "{'descr': '>f4', 'fortran_order': False, 'shape': (3, 4), }") +
                 std::string(48, 'x'));
  const auto a = NpyFile::open(directory.file("a.npy"));
  const auto again = NpyFile::open(directory.file("a.npy"));
  const auto b = NpyFile::open(directory.file("b.npy"));
  ASSERT_TRUE(a && again && b);
  EXPECT_EQ(a->fingerprint(), again->fingerprint());
  EXPECT_NE(a->fingerprint(), b->fingerprint());
}

/// A file of the generated array and the array's bytes.
std::vector<std::byte> make_pattern_file(const std::string& path, const Shape& shape,
                                         const std::string& descr, Size element_bytes) {
  NpyHeader header = test::header_of(descr, shape);
  const auto start = make_npy_header(header);
  const std::vector<std::vector<Digit>> uncut(shape.size());
  const Layout whole = Layout::compact(1, shape, shape, uncut).value();
  std::vector<std::byte> data(static_cast<std::size_t>(whole.tile_size() * element_bytes));
  fill_pattern(whole, 0, element_bytes, data);
  std::string bytes(start.size() + data.size(), '\0');
  std::memcpy(bytes.data(), start.data(), start.size());
  std::memcpy(bytes.data() + start.size(), data.data(), data.size());
  write_file(path, bytes);
  return data;
}

/// The elements of a box, one by one.
std::vector<std::byte> box_of(const std::vector<std::byte>& array, const Shape& global,
                              const Shape& tile, const Shape& base, Size element_bytes) {
  std::vector<std::byte> out;
  TileRuns runs(global, tile, base);
  while (!runs.done()) {
    const Run run = runs.next(1);
    const auto begin = array.begin() + run.global * element_bytes;
    out.insert(out.end(), begin, begin + element_bytes);
  }
  return out;
}

RC_GTEST_PROP(TileReader, reads_any_box_in_any_pieces, ()) {
  static const TemporaryDirectory directory;
  const Size width = *rc::gen::element<Size>(1, 2, 4, 8, 16);
  const char* descr = width == 1   ? "|u1"
                      : width == 2 ? "<i2"
                      : width == 4 ? ">f4"
                      : width == 8 ? "<c8"
                                   : "<c16";
  // Rows long and short: gaps below and above a page.
  const Shape global{*rc::gen::inRange<Size>(1, 5), *rc::gen::inRange<Size>(1, 7),
                     *rc::gen::element<Size>(1, 3, 60, 3000)};
  Shape tile;
  Shape base;
  for (const Size extent : global) {
    tile.push_back(*rc::gen::inRange<int>(0, 2) == 0
                       ? extent
                       : *rc::gen::inRange<Size>(1, std::min<Size>(extent, 70) + 1));
    base.push_back(*rc::gen::inRange<Size>(0, extent - tile.back() + 1));
  }
  const auto array = make_pattern_file(directory.file("a.npy"), global, descr, width);
  const auto file = NpyFile::open(directory.file("a.npy"));
  RC_ASSERT(file.has_value());
  const auto want = box_of(array, global, tile, base, width);

  TileReader reader(*file, tile, base);
  std::vector<std::byte> got(want.size());
  std::span<std::byte> left = got;
  while (!left.empty()) {
    const auto most = static_cast<Size>(left.size()) / width;
    const auto bytes = static_cast<std::size_t>(*rc::gen::inRange<Size>(1, most + 1) * width);
    RC_ASSERT(reader.read(left.first(bytes)).has_value());
    left = left.subspan(bytes);
  }
  RC_ASSERT(got == want);
  RC_ASSERT(reader.buffer_bytes() <= (Size{3} << 19));
}

TEST(TileReader, a_file_that_shrinks_underneath_is_an_error) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.npy");
  make_pattern_file(path, {100, 100}, "<f4", 4);
  const auto file = NpyFile::open(path);
  ASSERT_TRUE(file);
  std::vector<std::byte> tile(100 * 50 * 4);
  EXPECT_TRUE(TileReader(*file, {100, 50}, {0, 50}).read(tile));
  std::filesystem::resize_file(path, 1000);
  const auto read = TileReader(*file, {100, 50}, {0, 50}).read(tile);
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("ended early"));
}

TEST(NpyOutput, appears_only_with_commit_and_is_what_was_written) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("b.npy");
  const Shape global{6, 8};
  const auto array = make_pattern_file(directory.file("want.npy"), global, "<i8", 8);
  {
    auto output = NpyOutput::create(path, test::header_of("<i8", global));
    ASSERT_TRUE(output) << render(output.error());
    auto other = NpyOutput::join(output->temporary_path(), output->header(), output->identity());
    ASSERT_TRUE(other) << render(other.error());
    for (const Size column : {0, 4}) {
      const auto tile = box_of(array, global, {6, 4}, {0, column}, 8);
      TileRuns runs(global, {6, 4}, {0, column});
      // In two pieces, the first of which ends inside a run.
      NpyOutput& writer = column == 0 ? *output : *other;
      ASSERT_TRUE(writer.write(runs, std::span(tile).first(80)));
      ASSERT_TRUE(writer.write(runs, std::span(tile).subspan(80)));
    }
    ASSERT_TRUE(other->sync());
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE(output->commit());
  }
  EXPECT_EQ(read_file(path), read_file(directory.file("want.npy")));
  EXPECT_THAT(directory.names(), testing::UnorderedElementsAre("b.npy", "want.npy"));
}

TEST(NpyOutput, leaves_nothing_and_touches_nothing_without_commit) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("b.npy");
  write_file(path, "precious");
  {
    auto output = NpyOutput::create(path, test::header_of("<f4", {3}));
    ASSERT_TRUE(output);
    EXPECT_EQ(directory.names().size(), 2U);
    const auto moved = std::move(*output);
    EXPECT_EQ(directory.names().size(), 2U);
  }
  EXPECT_THAT(directory.names(), ElementsAre("b.npy"));
  EXPECT_EQ(read_file(path), "precious");
}

TEST(NpyOutput, replaces_a_file_and_keeps_a_link) {
  const TemporaryDirectory directory;
  write_file(directory.file("real.npy"), "old");
  std::filesystem::create_symlink("real.npy", directory.path() / "link.npy");
  auto output = NpyOutput::create(directory.file("link.npy"), test::header_of("|u1", {3}));
  ASSERT_TRUE(output) << render(output.error());
  ASSERT_TRUE(output->commit());
  EXPECT_TRUE(std::filesystem::is_symlink(directory.path() / "link.npy"));
  EXPECT_TRUE(NpyFile::open(directory.file("real.npy")));
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 0777;
}

TEST(NpyOutput, a_file_keeps_its_mode_and_nobody_else_reads_the_temporary) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("b.npy");
  const mode_t mask = ::umask(022);
  for (const mode_t mode : {0600U, 0640U, 0664U, 0444U}) {
    write_file(path, "before");
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    auto output = NpyOutput::create(path, test::header_of("<f4", {3}));
    ASSERT_TRUE(output) << render(output.error());
    EXPECT_EQ(mode_of(output->temporary_path()), 0600U);
    // Processes of the same user write into it.
    EXPECT_TRUE(NpyOutput::join(output->temporary_path(), output->header(), output->identity()));
    ASSERT_TRUE(output->commit());
    EXPECT_EQ(mode_of(path), mode);
    std::filesystem::remove(path);
  }
  auto output = NpyOutput::create(path, test::header_of("<f4", {3}));
  ASSERT_TRUE(output);
  EXPECT_EQ(mode_of(output->temporary_path()), 0644U);
  ASSERT_TRUE(output->commit());
  EXPECT_EQ(mode_of(path), 0644U);
  ::umask(mask);
}

TEST(NpyOutput, what_is_half_written_can_be_removed_at_once) {
  const TemporaryDirectory directory;
  // As many as there are tiles, where one process has all.
  constexpr std::size_t count = 100;
  std::vector<NpyOutput> outputs;
  for (std::size_t k = 0; k < count; ++k) {
    auto output =
        NpyOutput::create(directory.file(std::to_string(k) + ".npy"), test::header_of("<f4", {3}));
    ASSERT_TRUE(output);
    outputs.push_back(std::move(*output));
  }
  ASSERT_TRUE(outputs[1].commit());
  outputs.pop_back();
  EXPECT_EQ(directory.names().size(), count - 1);
  remove_temporaries();
  EXPECT_THAT(directory.names(), ElementsAre("1.npy"));
}

TEST(NpyOutput, refuses_what_cannot_be_a_file) {
  const TemporaryDirectory directory;
  const auto code = [](const std::string& path) {
    const auto output = NpyOutput::create(path, test::header_of("<f4", {3}));
    return output ? std::string("accepted")
                  : std::string(code_name(output.error().code)) + ": " + output.error().message;
  };
  std::filesystem::create_directory(directory.path() / "inner");
  std::filesystem::create_symlink("nowhere", directory.path() / "dangling");
  ASSERT_EQ(::mkfifo(directory.file("pipe").c_str(), 0600), 0);
  EXPECT_THAT(code(directory.file("inner")), HasSubstr("file_error: the output is a directory"));
  EXPECT_THAT(code(directory.file("inner/")), HasSubstr("no file name"));
  EXPECT_THAT(code(""), HasSubstr("no file name"));
  EXPECT_THAT(code(directory.file("missing/b.npy")), HasSubstr("cannot be written"));
  EXPECT_THAT(code(directory.file("pipe")), HasSubstr("not a regular file"));
  EXPECT_THAT(code(directory.file("pipe/b.npy")), HasSubstr("cannot be written"));
  EXPECT_THAT(code(directory.file("dangling")), HasSubstr("leads nowhere"));
  EXPECT_THAT(code(directory.file(std::string(300, 'x'))), HasSubstr("cannot be written"));
  EXPECT_THAT(directory.names(), testing::UnorderedElementsAre("inner", "pipe", "dangling"));
  EXPECT_EQ(code(directory.file("b.npy")), "accepted");
}

TEST(NpyOutput, no_space_is_an_error_before_any_data_and_leaves_nothing) {
  const TemporaryDirectory directory;
  // A limit on the size of files stands in for a full disk: reserving the space fails in the same
  // place.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto previous = std::signal(SIGXFSZ, SIG_IGN);
  rlimit low = before;
  low.rlim_cur = 10000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &low), 0);
  const auto large = NpyOutput::create(directory.file("b.npy"), test::header_of("<f4", {10000}));
  const bool small =
      NpyOutput::create(directory.file("c.npy"), test::header_of("<f4", {10})).has_value();
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, previous);
  EXPECT_TRUE(small);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, Code::file_error);
  EXPECT_THAT(directory.names(), IsEmpty());
}

TEST(NpyOutput, join_refuses_another_file_of_that_name) {
  const TemporaryDirectory directory;
  auto output = NpyOutput::create(directory.file("b.npy"), test::header_of("<f4", {3}));
  ASSERT_TRUE(output);
  EXPECT_TRUE(NpyOutput::join(output->temporary_path(), output->header(), output->identity()));
  EXPECT_FALSE(NpyOutput::join(output->temporary_path(), output->header(), output->identity() + 1));
  EXPECT_FALSE(NpyOutput::join(directory.file("missing"), output->header(), output->identity()));
}

}  // namespace
}  // namespace retile::npy_file_test
