// Whole runs: data in, moved, every element verified, data out; and everything that can be wrong
// with files.
#include "retile/run/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exec/mpi/processes.h"
#include "exec/npy/files.h"
#include "exec/programs.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/mpi/environment.h"
#include "retile/exec/mpi/executor.h"
#include "retile/exec/npy/npy.h"

namespace {

// Put under the library to change data behind the verifier's back: after an alltoall on process 0,
// the two elements of this size that lie at the start and the end of what was received change
// places.
std::size_t exchanged_bytes = 0;

}  // namespace

extern "C" int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive,
                            int receive_count, MPI_Datatype receive_type, MPI_Comm comm) {
  const int code =
      PMPI_Alltoall(send, send_count, send_type, receive, receive_count, receive_type, comm);
  int process = 0;
  int processes = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &process);
  PMPI_Comm_size(comm, &processes);
  if (exchanged_bytes > 0 && process == 0) {
    auto* first = static_cast<std::byte*>(receive);
    std::byte* last =
        first + static_cast<std::ptrdiff_t>(receive_count) * processes - exchanged_bytes;
    std::swap_ranges(first, first + exchanged_bytes, last);
  }
  return code;
}

namespace retile {
namespace {

using mpi::Environment;
using run::RunOptions;
using test::outcome_text;
using test::parsed;
using test::read_file;
using test::same_everywhere;
using test::write_file;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::UnorderedElementsAre;

/// An element type as .npy files call it.
struct Element {
  const char* descr;
  [[nodiscard]] ElementType type() const { return npy_element_type(descr).value(); }
};
const Element elements[] = {{"|u1"}, {">i2"}, {"<f4"}, {">c8"}, {"<c16"}};

const mpi::Options by_steps{.strategy = mpi::Strategy::collectives};

bool is_first() { return test::process_of(MPI_COMM_WORLD) == 0; }
Size processes() { return test::processes_of(MPI_COMM_WORLD); }

/// Tests with files: a directory of process 0 that all know, removed at the end.
class Run : public testing::Test {
 protected:
  Run() : environment_(Environment::start(nullptr, nullptr)) {
    std::string path;
    if (is_first()) {
      directory_.emplace();
      path = directory_->path().string();
    }
    path_ = job().broadcast(path, 0);
  }
  ~Run() override { MPI_Barrier(MPI_COMM_WORLD); }

  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

  /// Names in the directory, seen after all processes are done with it.
  [[nodiscard]] std::vector<std::string> names() const {
    MPI_Barrier(MPI_COMM_WORLD);
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
      out.push_back(entry.path().filename().string());
    MPI_Barrier(MPI_COMM_WORLD);
    return out;
  }

  /// Process 0 writes a file; all wait for it.
  void make_file(const std::string& name, const std::string& bytes) const {
    if (is_first()) write_file(file(name), bytes);
    MPI_Barrier(MPI_COMM_WORLD);
  }

  [[nodiscard]] const Processes& job() const { return environment_->processes(); }

  [[nodiscard]] Result<run::Report> run(const Program& program, const RunOptions& options,
                                        const mpi::Options& how = {}) const {
    auto result = run_alone(program, options, how);
    EXPECT_TRUE(same_everywhere(outcome_text(result)));
    return result;
  }

  /// Runs it from this file to another, where all processes see both and where only process 0 does.
  void keeps_the_file(const Program& program, const std::string& bytes) const;

  Result<Environment> environment_;
  std::optional<test::TemporaryDirectory> directory_;
  std::string path_;

 private:
  [[nodiscard]] Result<run::Report> run_alone(const Program& program, const RunOptions& options,
                                              const mpi::Options& how) const {
    const auto source = run::open_source(job(), program, options);
    if (!source) return refuse(source.error());
    const auto executor = mpi::make_executor(job(), program, source->type().bytes, how);
    if (!executor) return refuse(executor.error());
    return run::run(**executor, program, *source, options);
  }
};

/// What a process sees of the folders `in` and `out`, as on hosts of which not all have them.
enum class Sees { both, input, output, neither };

/// While it lives, this process is in a folder that has those.
class View {
 public:
  View(const std::string& path, Sees sees) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(path + "/view" + std::to_string(static_cast<int>(sees)));
  }
  View(const View&) = delete;
  View& operator=(const View&) = delete;
  ~View() { std::filesystem::current_path(before_); }

  /// Collective: process 0 makes the folders.
  static void make_folders(const std::string& path) {
    namespace fs = std::filesystem;
    for (int sees = 0; sees < 4 && is_first(); ++sees) {
      const fs::path view = path + "/view" + std::to_string(sees);
      fs::create_directories(view);
      for (const char* const folder : {"in", "out"}) {
        fs::create_directories(fs::path(path) / folder);
        const bool seen = sees == 0 || (sees == 1) == (std::string(folder) == "in");
        if (sees != 3 && seen) fs::create_directory_symlink(fs::path(path) / folder, view / folder);
      }
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }

 private:
  std::filesystem::path before_;
};

void Run::keeps_the_file(const Program& program, const std::string& bytes) const {
  make_file("in/a.npy", bytes);
  for (const Sees sees : {Sees::both, Sees::neither}) {
    const View view(path_, is_first() ? Sees::both : sees);
    const auto report = run(program, {.input = "in/a.npy", .output = "out/b.npy"});
    ASSERT_TRUE(report) << render(report.error());
    EXPECT_TRUE(report->right);
    EXPECT_EQ(report->elements_checked, program.to.global_size());
    EXPECT_TRUE(!is_first() || read_file(file("out/b.npy")) == bytes);
    EXPECT_LE(report->peak_bytes_per_process, report->peak_limit_bytes);
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// From rows to columns over all processes; rank 3, so that runs are neither rows nor single
/// elements.
Program rows_to_columns(const std::string& steps = "") {
  const std::string d = std::to_string(processes());
  return parsed(
      "retile.program/1\nmesh d:" + d + "\nfrom [2{d}" + std::to_string(2 * processes()) + ", " +
      std::to_string(3 * processes()) + ", 5]\nto [" + std::to_string(2 * processes()) + ", 3{d}" +
      std::to_string(3 * processes()) + ", 5]\n" +
      (steps.empty() ? "alltoall split=1 concat=0 groups=[1," + d + "]<=[" + d + "]\n" : steps));
}

/// A .npy file with the generated array of `program`, or with other bytes when `salt` is not 0.
std::string pattern_file(const Program& program, const Element& element, unsigned char salt = 0) {
  NpyHeader header = test::header_of(element.descr, program.from.global());
  const auto start = make_npy_header(header);
  const std::vector<std::vector<Digit>> uncut(header.shape.size());
  const Layout whole = Layout::compact(1, header.shape, header.shape, uncut).value();
  auto data = test::pattern_tile(whole, 0, element.type().bytes);
  for (std::byte& byte : data) byte ^= static_cast<std::byte>(salt);
  std::string bytes(start.size() + data.size(), '\0');
  std::memcpy(bytes.data(), start.data(), start.size());
  std::memcpy(bytes.data() + start.size(), data.data(), data.size());
  return bytes;
}

TEST_F(Run, the_generated_array_arrives) {
  for (const Element& element : elements) {
    const Program program = rows_to_columns();
    const Size bytes = element.type().bytes;
    const auto report = run(program, {.type = element.type(), .repetitions = 3});
    ASSERT_TRUE(report) << render(report.error());
    EXPECT_TRUE(report->right);
    EXPECT_EQ(report->processes, processes());
    EXPECT_EQ(report->repetitions, 3);
    EXPECT_EQ(report->element_bytes, bytes);
    EXPECT_EQ(report->elements_checked, 2 * 3 * 5 * processes() * processes());
    EXPECT_GE(report->seconds, 0);
    const Size tile = 2 * 3 * 5 * processes() * bytes;
    EXPECT_EQ(report->bytes_per_process, tile / processes() * (processes() - 1));
    EXPECT_EQ(report->bound_bytes, tile);
    EXPECT_EQ(report->resident_bytes, 2 * tile);
    EXPECT_GE(report->peak_bytes_per_process, 2 * tile);
    EXPECT_LE(report->peak_bytes_per_process, report->peak_limit_bytes);
    EXPECT_EQ(report->mismatch, std::nullopt);
  }
}

TEST_F(Run, elements_exchanged_behind_the_verifiers_back_are_caught) {
  if (processes() == 1) GTEST_SKIP() << "nothing is exchanged on one process";
  make_file("b.npy", "precious");
  for (const Element& element : elements) {
    RunOptions options{.type = element.type(), .output = file("b.npy")};
    exchanged_bytes = static_cast<std::size_t>(element.type().bytes);
    const auto wrong = run(rows_to_columns(), options, by_steps);
    make_file("a.npy", pattern_file(rows_to_columns(), element, 77));
    options.input = file("a.npy");
    const auto wrong_from_file = run(rows_to_columns(), options, by_steps);
    exchanged_bytes = 0;
    for (const auto* report : {&wrong, &wrong_from_file}) {
      ASSERT_TRUE(*report) << render(report->error());
      EXPECT_FALSE((*report)->right);
      ASSERT_TRUE((*report)->mismatch);
      EXPECT_EQ((*report)->mismatch->device, 0);
      EXPECT_EQ((*report)->mismatch->local_index, 0);
    }
    // What is wrong is not written.
    EXPECT_THAT(names(), UnorderedElementsAre("a.npy", "b.npy"));
    EXPECT_EQ(read_file(file("b.npy")), "precious");
  }
}

TEST_F(Run, a_wrong_program_is_caught) {
  if (processes() == 1) GTEST_SKIP() << "one device holds everything";
  // Rows to columns, then each tile goes to the next device.
  const std::string d = std::to_string(processes());
  std::string next;
  for (Size p = 0; p < processes(); ++p)
    next += (p == 0 ? "" : ",") + std::to_string((p + 1) % processes());
  const Program program = rows_to_columns("alltoall split=1 concat=0 groups=[1," + d + "]<=[" + d +
                                          "]\nallpermute source=[" + next + "]\n");
  for (const Element& element : elements) {
    // Others do not look at the steps, so they do what the ends say.
    const auto report = run(program, {.type = element.type()}, by_steps);
    ASSERT_TRUE(report);
    EXPECT_FALSE(report->right);
    const auto by_the_ends = run(program, {.type = element.type()});
    ASSERT_TRUE(by_the_ends);
    EXPECT_TRUE(by_the_ends->right);
  }
}

TEST_F(Run, a_file_arrives_in_a_file) {
  for (const Element& element : elements) {
    SCOPED_TRACE(element.descr);
    const std::string bytes = pattern_file(rows_to_columns(), element, 55);
    make_file("a.npy", bytes);
    const auto report =
        run(rows_to_columns(), {.input = file("a.npy"), .output = file("b.npy"), .repetitions = 2});
    ASSERT_TRUE(report) << render(report.error());
    EXPECT_TRUE(report->right);
    EXPECT_EQ(report->element_bytes, element.type().bytes);
    EXPECT_EQ(report->elements_checked, 2 * 3 * 5 * processes() * processes());
    EXPECT_LE(report->peak_bytes_per_process, report->peak_limit_bytes);
    EXPECT_THAT(names(), UnorderedElementsAre("a.npy", "b.npy"));
    EXPECT_EQ(read_file(file("b.npy")), bytes);  // one global array, whoever held what
  }
}

TEST_F(Run, processes_that_cannot_open_the_files_are_served_by_process_0) {
  const int process = test::process_of(MPI_COMM_WORLD);
  const std::string bytes = pattern_file(rows_to_columns(), elements[2], 31);
  View::make_folders(path_);
  make_file("in/a.npy", bytes);
  const bool even = process % 2 == 0;
  for (const Sees sees : {Sees::neither, even ? Sees::both : Sees::neither,
                          even ? Sees::neither : Sees::both, even ? Sees::input : Sees::output}) {
    SCOPED_TRACE(static_cast<int>(sees));
    const View view(path_, process == 0 ? Sees::both : sees);
    const auto report = run(rows_to_columns(), {.input = "in/a.npy", .output = "out/b.npy"});
    ASSERT_TRUE(report) << render(report.error());
    EXPECT_TRUE(report->right);
    EXPECT_LE(report->peak_bytes_per_process, report->peak_limit_bytes);
    EXPECT_EQ(read_file(file("out/b.npy")), bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    if (is_first()) std::filesystem::remove(file("out/b.npy"));
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_TRUE(std::filesystem::is_empty(file("out")));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

TEST_F(Run, more_than_one_piece_is_streamed) {
  // Tiles of a little more than 3 MiB, in runs that do not end where a piece does.
  constexpr Size columns = 3145734;
  ASSERT_EQ(columns % processes(), 0);
  const std::string d = std::to_string(processes());
  const std::string all = std::to_string(columns);
  const Program program =
      parsed("retile.program/1\nmesh d:" + d + "\nfrom [1{d}" + d + ", " + all + "]\nto [" + d +
             ", " + std::to_string(columns / processes()) + "{d}" + all +
             "]\nalltoall split=1 concat=0 groups=[1," + d + "]<=[" + d + "]\n");
  View::make_folders(path_);
  keeps_the_file(program, pattern_file(program, elements[0], 7));
}

TEST_F(Run, replicas_write_once_and_rank_0_works) {
  const std::string d = std::to_string(processes());
  const Program gather =
      parsed("retile.program/1\nmesh d:" + d + "\nfrom [2{d}" + std::to_string(2 * processes()) +
             ", 3]\nto [" + std::to_string(2 * processes()) + ", 3]\nallgather dim=0 groups=[1," +
             d + "]<=[" + d + "]\n");
  const Program scalar = parsed("retile.program/1\ndevices " + d + "\nfrom []\nto []\n");
  View::make_folders(path_);
  for (const Program& program : {gather, scalar}) {
    for (const Sees sees : {Sees::both, Sees::neither}) {
      const View view(path_, is_first() ? Sees::both : sees);
      const auto report = run(
          program, {.type = ElementType{ElementKind::signed_integer, 8}, .output = "out/b.npy"});
      ASSERT_TRUE(report) << render(report.error());
      EXPECT_TRUE(report->right);
      EXPECT_EQ(report->element_bytes, 8);
      EXPECT_EQ(read_file(file("out/b.npy")), pattern_file(program, {"<i8"}));
      MPI_Barrier(MPI_COMM_WORLD);
    }
  }
}

TEST_F(Run, files_of_tiles_that_are_not_alike_are_read_and_written) {
  // Blocks whose last ones are short or empty; and the last device alone, beside empty tiles.
  const Size devices = processes();
  const Shape global{2 * devices - 1, 3};
  const Layout blocks =
      Layout::numbered(devices, {Cuts::blocks(2, devices, global[0]), Cuts::blocks(3, 1, 3)},
                       {{{.stride = 1, .size = devices}}, {}})
          .value();
  const Layout one = Layout::rooted(devices, global, devices - 1);
  View::make_folders(path_);
  for (const auto& [from, to] : {std::pair(blocks, one), std::pair(one, blocks)}) {
    const Program program = direct(Problem::make(from, to).value()).value();
    keeps_the_file(program, pattern_file(program, elements[2], 5));
  }
}

TEST_F(Run, inputs_that_do_not_fit_are_refused_by_all) {
  const Program program = rows_to_columns();
  const std::string good = pattern_file(program, elements[2]);
  const auto outcome = [&](RunOptions options) {
    options.input = file("a.npy");
    options.output = file("b.npy");
    return outcome_text(run(program, options));
  };
  make_file("a.npy", good);
  EXPECT_EQ(outcome({}), "accepted");
  EXPECT_EQ(outcome({.type = ElementType{ElementKind::floating, 4}}), "accepted");
  EXPECT_THAT(outcome({.type = ElementType{ElementKind::floating, 8}}), StartsWith("bad_file"));
  EXPECT_THAT(outcome({.type = ElementType{ElementKind::signed_integer, 4}}),
              StartsWith("bad_file"));
  if (is_first()) std::filesystem::remove(file("b.npy"));
  const std::vector<std::string> bad{
      good + "x",
      good.substr(0, good.size() - 1),
      "",
      "rubbish",
      good.substr(0, 100),
      test::npy_header(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }") +
          std::string(12, 'x'),
      test::npy_header(1, "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }")};
  for (const std::string& bytes : bad) {
    make_file("a.npy", bytes);
    EXPECT_THAT(outcome({}), StartsWith("bad_file"));
    EXPECT_THAT(names(), UnorderedElementsAre("a.npy"));
  }
  RunOptions missing{.input = file("missing.npy")};
  EXPECT_THAT(outcome_text(run(program, missing)), StartsWith("bad_file"));
  missing.input = path_;
  EXPECT_THAT(outcome_text(run(program, missing)), HasSubstr("directory"));
}

TEST_F(Run, outputs_that_cannot_be_written_are_refused_by_all_and_leave_nothing) {
  const Program program = rows_to_columns();
  const auto outcome = [&](const std::string& path) {
    return outcome_text(run(program, {.output = path}));
  };
  EXPECT_EQ(outcome(file("b.npy")), "accepted");
  if (is_first()) std::filesystem::create_directory(file("inner"));
  EXPECT_THAT(outcome(file("missing/b.npy")), StartsWith("file_error"));
  EXPECT_THAT(outcome(file("b.npy/c.npy")), StartsWith("file_error"));
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_THAT(outcome(file("inner")), HasSubstr("is a directory"));
  EXPECT_THAT(names(), UnorderedElementsAre("b.npy", "inner"));
}

/// While it lives, files of this process cannot grow beyond a limit, as on a full disk.
class FileLimit {
 public:
  explicit FileLimit(bool on) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    previous_ = std::signal(SIGXFSZ, SIG_IGN);
    rlimit low = before_;
    low.rlim_cur = 200;
    if (on) ::setrlimit(RLIMIT_FSIZE, &low);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, previous_);
  }

 private:
  rlimit before_{};
  void (*previous_)(int) = SIG_DFL;
};

TEST_F(Run, a_full_disk_on_any_process_is_an_error_of_all_and_leaves_the_old_file) {
  make_file("b.npy", "precious");
  const Program program = rows_to_columns();
  for (int full = 0; full < test::processes_of(MPI_COMM_WORLD); ++full) {
    SCOPED_TRACE(full);
    std::string outcome;
    {
      const FileLimit limit(test::process_of(MPI_COMM_WORLD) == full);
      outcome = outcome_text(run(program, {.type = elements[4].type(), .output = file("b.npy")}));
    }
    EXPECT_THAT(outcome, StartsWith("file_error"));
    EXPECT_THAT(outcome, HasSubstr("File too large"));
    EXPECT_THAT(names(), UnorderedElementsAre("b.npy"));
    EXPECT_EQ(read_file(file("b.npy")), "precious");
  }
}

TEST_F(Run, target_tiles_that_make_no_array_make_no_file) {
  if (processes() == 1) GTEST_SKIP() << "needs a part that nobody holds";
  std::string at;
  for (Size p = 0; p < processes(); ++p) at += p == 0 ? "[0]" : ",[0]";
  const std::string d = std::to_string(processes());
  std::string parts;
  for (Size p = 0; p < processes(); ++p) parts += p == 0 ? "0" : ",0";
  const Program program =
      parsed("retile.program/1\nfrom [" + std::to_string(2 * processes()) +
             "]\nto tile=[2] global=[" + std::to_string(2 * processes()) + "] at=[" + at +
             "]\ndynslice dim=0 parts=" + d + " part=[" + parts + "]\n");
  EXPECT_TRUE(run(program, {})->right);
  EXPECT_THAT(outcome_text(run(program, {.output = file("b.npy")})), StartsWith("unsupported"));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(Run, processes_with_different_options_or_programs_get_one_error) {
  if (processes() == 1) GTEST_SKIP() << "one process always agrees with itself";
  const Program program = rows_to_columns();
  const auto outcome = [&](const RunOptions& options) {
    return outcome_text(run(program, options));
  };
  EXPECT_EQ(outcome({.repetitions = 2}), "accepted");
  EXPECT_THAT(outcome({.repetitions = is_first() ? 2 : 3}), StartsWith("disagreement"));
  EXPECT_THAT(outcome({.input = is_first() ? file("a.npy") : ""}), StartsWith("disagreement"));
  EXPECT_THAT(outcome({.output = is_first() ? file("a.npy") : ""}), StartsWith("disagreement"));
  EXPECT_THAT(outcome({.repetitions = 0}), StartsWith("bad_argument"));
  const Program other =
      parsed("retile.program/1\ndevices " + std::to_string(processes()) + "\nfrom [4]\nto [4]\n");
  EXPECT_THAT(outcome_text(run(is_first() ? other : program, {})), StartsWith("disagreement"));
  const Program one = parsed("retile.program/1\ndevices 1\nfrom [4]\nto [4]\n");
  EXPECT_THAT(outcome_text(run(is_first() ? one : program, {})), StartsWith("bad_argument"));
  EXPECT_THAT(names(), IsEmpty());
}

TEST_F(Run, progress_is_told_on_process_0_only) {
  std::vector<std::string> stages;
  RunOptions options{.output = file("b.npy")};
  options.progress = [&](std::string_view stage, Size done, Size total) {
    EXPECT_LE(done, total);
    if (stages.empty() || stages.back() != stage) stages.emplace_back(stage);
  };
  ASSERT_TRUE(run(rows_to_columns(), options));
  if (is_first()) {
    EXPECT_THAT(stages, testing::ElementsAre("generate", "move", "verify", "write"));
  } else {
    EXPECT_THAT(stages, IsEmpty());
  }
}

TEST_F(Run, the_environment_agrees) {
  const Processes& all = job();
  const int process = test::process_of(MPI_COMM_WORLD);
  EXPECT_EQ(all.processes(), processes());
  EXPECT_EQ(all.process(), process);
  EXPECT_EQ(all.broadcast(is_first() ? "from process 0" : "other", 0), "from process 0");
  EXPECT_EQ(all.broadcast("", 0), "");
  const int last = all.processes() - 1;
  EXPECT_EQ(all.broadcast(static_cast<std::uint64_t>(process), last),
            static_cast<std::uint64_t>(last));
  std::vector<std::uint64_t> numbers{1, static_cast<std::uint64_t>(process)};
  all.maximum(numbers);
  EXPECT_THAT(numbers, testing::ElementsAre(1U, static_cast<std::uint64_t>(last)));
  numbers = {1};
  all.sum(numbers);
  EXPECT_EQ(numbers.front(), static_cast<std::uint64_t>(all.processes()));
  EXPECT_EQ(all.maximum(-1.0 - process), -1.0);
  std::vector<bool> lasts(static_cast<std::size_t>(all.processes()), false);
  lasts.back() = true;
  EXPECT_EQ(all.gather(process == last), lasts);
  EXPECT_TRUE(Environment::started_by_launcher());
}

}  // namespace
}  // namespace retile
