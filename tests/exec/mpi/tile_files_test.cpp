// Runs on real processes from tiles in files to tiles in files: each process reads and writes its own, and
// whatever is wrong on one of them is told by all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/adding_programs.h"
#include "exec/mpi/redistributing.h"
#include "exec/npy/files.h"
#include "exec/programs.h"
#include "exec/spoiling.h"
#include "retile/core/index.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/mpi/environment.h"
#include "retile/exec/mpi/executor.h"
#include "retile/exec/sim/sim.h"
#include "retile/run/run.h"

namespace retile {
namespace {

using run::RunOptions;
using test::Bytes;
using test::npy_text;
using test::process;
using test::processes;
using test::read_file;
using testing::HasSubstr;
using testing::StartsWith;

/// A folder that all see, with `in` and `out`, and a folder of each process that has its own tile alone.
class TilesOfProcesses : public testing::Test {
 protected:
  TilesOfProcesses() : environment_(mpi::Environment::start(nullptr, nullptr)) {
    std::string path;
    if (process() == 0) {
      directory_.emplace();
      path = directory_->path().string();
      for (const char* const name : {"/in", "/out"}) std::filesystem::create_directory(path + name);
    }
    path_ = environment_->processes().broadcast(path, 0);
    std::filesystem::create_directory(own());
  }
  ~TilesOfProcesses() override { MPI_Barrier(MPI_COMM_WORLD); }

  [[nodiscard]] std::string own() const { return path_ + "/own" + std::to_string(process()); }
  [[nodiscard]] std::string in(int device) const { return path(path_ + "/in", device); }
  [[nodiscard]] std::string out(int device) const { return path(path_ + "/out", device); }
  [[nodiscard]] RunOptions both() const {
    return {.input_tiles = path_ + "/in/t{}.npy", .output_tiles = path_ + "/out/t{}.npy"};
  }

  /// Every process writes the tile of its device, if it has elements.
  void write_tiles(const Layout& from, const std::string& descr,
                   const std::function<Bytes(Size)>& tile) const {
    MPI_Barrier(MPI_COMM_WORLD);
    std::filesystem::remove(in(process()));
    if (from.tile_size(process()) > 0) {
      test::write_file(in(process()), npy_text(descr, from.box(process()).extent, tile(process())));
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void write_tiles(const Layout& from, const std::string& descr) const {
    const Size width = npy_element_type(descr).value().bytes;
    write_tiles(from, descr, [&](Size device) { return test::pattern_tile(from, device, width); });
  }

  [[nodiscard]] Result<run::Report> run(const Program& program, const RunOptions& options,
                                        mpi::Options how = {},
                                        const std::vector<run::Mismatch>& spoiled = {}) const {
    auto result = run_alone(program, options, how, spoiled);
    EXPECT_TRUE(test::same_everywhere(test::outcome_text(result)));
    return result;
  }
  /// What the run says that it cannot do, before it moves or writes anything.
  [[nodiscard]] std::string refused(const Program& program, RunOptions options,
                                    const mpi::Options& how = {}) const {
    options.progress = [](std::string_view stage, Size, Size) {
      EXPECT_NE(stage, "move") << "something was moved before";
    };
    const std::string said = test::outcome_text(run(program, options, how));
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_TRUE(std::filesystem::is_empty(path_ + "/out"));
    MPI_Barrier(MPI_COMM_WORLD);
    return said;
  }

  Result<mpi::Environment> environment_;
  std::optional<test::TemporaryDirectory> directory_;
  std::string path_;

 private:
  [[nodiscard]] static std::string path(const std::string& folder, int device) {
    return folder + "/t" + std::to_string(device) + ".npy";
  }
  [[nodiscard]] Result<run::Report> run_alone(const Program& program, const RunOptions& options,
                                              mpi::Options& how,
                                              const std::vector<run::Mismatch>& spoiled) const {
    const Processes& all = environment_->processes();
    const auto source = run::open_source(all, program, options);
    if (!source) return refuse(source.error());
    how.element_type = source->type();
    auto executor = mpi::make_executor(all, program, source->type().bytes, how);
    if (!executor) return refuse(executor.error());
    if (spoiled.empty()) return run::run(**executor, program, *source, options);
    test::Spoiling spoiling(*std::move(executor), spoiled, source->type().bytes);
    return run::run(spoiling, program, *source, options);
  }
};

Program columns_of_rows() {
  return test::with_processes(
      "[2{d}" + std::to_string(2 * processes()) + ", " + std::to_string(3 * processes()) + ", 5]",
      "[" + std::to_string(2 * processes()) + ", 3{d}" + std::to_string(3 * processes()) + ", 5]",
      "alltoall split=1 concat=0");
}

TEST_F(TilesOfProcesses, go_through_every_strategy) {
  const Program program = columns_of_rows();
  for (const mpi::Strategy strategy : {mpi::Strategy::automatic, mpi::Strategy::collectives,
                                       mpi::Strategy::exchange, mpi::Strategy::in_place}) {
    for (const char* const descr : {"|u1", ">f4", "<c16"}) {
      write_tiles(program.from, descr);
      RunOptions options = both();
      options.repetitions = 3;
      const auto report = run(program, options, {.strategy = strategy, .own_buffers = true});
      ASSERT_TRUE(report) << render(report.error());
      EXPECT_TRUE(report->right);
      EXPECT_EQ(report->elements_checked, program.to.global_size());
      EXPECT_LE(report->peak_bytes_per_process, report->peak_limit_bytes);
      EXPECT_EQ(read_file(out(process())),
                npy_text(descr, program.to.box(process()).extent,
                         test::pattern_tile(program.to, process(), report->element_bytes)));
      MPI_Barrier(MPI_COMM_WORLD);
      std::filesystem::remove(out(process()));
    }
  }
}

TEST_F(TilesOfProcesses, every_wrong_element_is_found_by_all) {
  const Program program = columns_of_rows();
  write_tiles(program.from, ">i2");
  for (Size device = 0; device < processes(); ++device) {
    for (const Size local : {Size{0}, program.to.tile_size() / 2, program.to.tile_size() - 1}) {
      const run::Mismatch wrong{.device = device, .local_index = local};
      const auto report = run(program, both(), {}, {wrong});
      ASSERT_TRUE(report) << render(report.error());
      EXPECT_FALSE(report->right);
      EXPECT_EQ(report->mismatch, wrong);
      MPI_Barrier(MPI_COMM_WORLD);
      EXPECT_TRUE(std::filesystem::is_empty(path_ + "/out"));
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
}

TEST_F(TilesOfProcesses, need_not_be_alike) {
  // Blocks whose last one is short; and all on the last device, so that process 0 has no file.
  const Shape global{2 * processes() - 1, 3};
  const Layout blocks =
      Layout::numbered(processes(),
                       {Cuts::blocks(2, processes(), global[0]), Cuts::blocks(3, 1, 3)},
                       {{{.stride = 1, .size = processes()}}, {}})
          .value();
  const Layout one = Layout::rooted(processes(), global, processes() - 1);
  for (const auto& [from, to] : {std::pair(blocks, one), std::pair(one, blocks)}) {
    const Program program = direct(Problem::make(from, to).value()).value();
    write_tiles(program.from, "<M8[25s]");
    const auto report = run(program, both());
    ASSERT_TRUE(report) << render(report.error());
    EXPECT_TRUE(report->right);
    const bool holds = program.to.tile_size(process()) > 0;
    EXPECT_EQ(std::filesystem::exists(out(process())), holds);
    if (holds) {
      EXPECT_EQ(read_file(out(process())), npy_text("<M8[25s]", program.to.box(process()).extent,
                                                    test::pattern_tile(program.to, process(), 8)));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    std::filesystem::remove(out(process()));
  }
}

TEST_F(TilesOfProcesses, that_one_process_cannot_use_are_an_error_of_all) {
  const Program program = columns_of_rows();
  for (int bad = 0; bad < processes(); ++bad) {
    SCOPED_TRACE(bad);
    const std::string name = "t" + std::to_string(bad) + ".npy";
    const auto spoil = [&](const std::function<std::string(std::string)>& change) {
      write_tiles(program.from, "<f4");
      const std::string good = read_file(in(process()));
      if (process() == bad) test::write_file(in(bad), change(good));
      MPI_Barrier(MPI_COMM_WORLD);
    };
    spoil([](const std::string& good) { return good.substr(0, good.size() - 4); });
    EXPECT_THAT(refused(program, both()), HasSubstr("truncated"));
    spoil([](const std::string&) { return npy_text("<f4", {1, 2}, Bytes(8)); });
    EXPECT_THAT(refused(program, both()), HasSubstr(name + ": holds an array of shape [1, 2]"));
    spoil([&](const std::string&) {
      return npy_text("<i4", program.from.tile(), Bytes(index(4 * program.from.tile_size())));
    });
    EXPECT_THAT(refused(program, both()), HasSubstr("where the first tile holds"));
    spoil([](const std::string& good) { return good; });
    if (process() == bad) std::filesystem::remove(in(bad));
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_THAT(refused(program, both()), HasSubstr(name + ": the file cannot be opened"));
  }
}

TEST_F(TilesOfProcesses, that_a_process_does_not_see_are_named_before_anything_moves) {
  const Program program = columns_of_rows();
  write_tiles(program.from, "<f4");
  std::filesystem::copy(in(process()), own() + "/t" + std::to_string(process()) + ".npy");
  const auto before = std::filesystem::current_path();
  RunOptions options = both();
  options.input_tiles = "t{}.npy";
  // Process 0 sees all files, the others their own.
  std::filesystem::current_path(process() == 0 ? path_ + "/in" : own());
  const std::string said = refused(program, options);
  std::filesystem::current_path(before);
  EXPECT_THAT(said, StartsWith("bad_file"));
  const int other = processes() == 2 ? 0 : 2;  // process 1 begins with its own and goes on
  EXPECT_THAT(said, HasSubstr("t" + std::to_string(other) + ".npy: the file cannot be opened"));
  EXPECT_THAT(said, HasSubstr("note: device 1 needs it, to compare its tile with"));
}

TEST_F(TilesOfProcesses, of_replicas_must_be_alike) {
  const std::string rows = std::to_string(2 * processes());
  const Program program =
      test::with_processes("[" + rows + "]", "[2{d}" + rows + "]", "dynslice dim=0");
  write_tiles(program.from, "<f4", [&](Size device) {
    Bytes tile = test::pattern_tile(program.from, device, 4);
    if (device == processes() - 1) tile.back() ^= std::byte{1};
    return tile;
  });
  const std::string last = std::to_string(processes() - 1);
  EXPECT_THAT(refused(program, both()),
              HasSubstr("the tiles of devices 0 and " + last + " differ"));
}

/// While it lives, files of this process cannot grow beyond a limit, as on a full disk.
class SmallFiles {
 public:
  explicit SmallFiles(bool on) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    previous_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit low = before_;
    low.rlim_cur = 200;
    if (on) ::setrlimit(RLIMIT_FSIZE, &low);
  }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;
  ~SmallFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, previous_);
  }

 private:
  rlimit before_{};
  void (*previous_)(int) = SIG_DFL;
};

TEST_F(TilesOfProcesses, that_one_process_cannot_write_are_written_by_none) {
  const Program program = columns_of_rows();
  for (int full = 0; full < processes(); ++full) {
    const SmallFiles limit(process() == full);
    const std::string said = refused(program, {.output_tiles = both().output_tiles});
    EXPECT_THAT(said, StartsWith("file_error"));
    EXPECT_THAT(said, HasSubstr("File too large"));
  }
}

TEST_F(TilesOfProcesses, of_addends_are_added_in_the_programs_order_or_not_at_all) {
  const Program program =
      test::parsed("retile.program/2\nmesh d:" + std::to_string(processes()) +
                   "\nfrom sum{d}[8]\nto [8]\n" + "allreduce groups=[1," +
                   std::to_string(processes()) + "]<=[" + std::to_string(processes()) + "]\n");
  for (const std::string descr : {"<i4", "<f4", "|V2"}) {
    const ElementType type = npy_element_type(descr).value();
    sim::Tiles tiles;
    for (Size device = 0; device < processes(); ++device) {
      tiles.push_back(test::rough_tile(program.from, device, type));
    }
    write_tiles(program.from, descr, [&](Size device) { return tiles[index(device)]; });
    const bool rounds = type.kind != ElementKind::signed_integer;
    const RunOptions input{.input_tiles = both().input_tiles};
    const mpi::Options by_steps{.strategy = mpi::Strategy::collectives};
    if (rounds) {
      EXPECT_THAT(refused(program, input, by_steps), HasSubstr("MPI chooses the order"));
    } else {
      EXPECT_TRUE(run(program, input, by_steps)->right);
    }
    const auto report = run(program, both());
    ASSERT_TRUE(report) << render(report.error());
    EXPECT_TRUE(report->right);
    EXPECT_LE(report->peak_bytes_per_process, report->peak_limit_bytes);
    EXPECT_EQ(read_file(out(process())),
              npy_text(descr, {8}, sim::run(program, tiles, type)->tiles[index(process())]));
    MPI_Barrier(MPI_COMM_WORLD);
    std::filesystem::remove(out(process()));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(TilesOfProcesses, have_one_pattern_on_all_processes) {
  const Program program = columns_of_rows();
  write_tiles(program.from, "<f4");
  RunOptions options = both();
  if (process() == 1) options.input_tiles.back() = 'x';
  EXPECT_THAT(refused(program, options), StartsWith("disagreement"));
  options = both();
  if (process() == 1) std::swap(options.output, options.output_tiles);
  EXPECT_THAT(refused(program, options), StartsWith("disagreement"));
}

}  // namespace
}  // namespace retile
