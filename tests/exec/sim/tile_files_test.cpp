// Runs from tiles in files to tiles in files, in the simulator: what is read, written and compared, and
// everything that can be wrong with the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/adding_programs.h"
#include "exec/npy/files.h"
#include "exec/programs.h"
#include "exec/spoiling.h"
#include "retile/core/boxes.h"
#include "retile/core/index.h"
#include "retile/core/walk.h"
#include "retile/exec/npy/splitmix.h"
#include "retile/exec/sim/executor.h"
#include "retile/exec/sim/sim.h"
#include "retile/run/run.h"
#include "support/samples.h"

namespace retile::sim_tiles_test {
namespace {

using run::Mismatch;
using run::RunOptions;
using test::npy_text;
using test::parsed;
using test::read_file;
using test::write_file;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Bytes = std::vector<std::byte>;

/// The number of an element in the array, in C order, by its number in a device's tile.
Size global_of(const Layout& layout, Size device, Size local) {
  Shape place = layout.tile(device);
  for (std::size_t i = place.size(); i-- > 0;) {
    const Size extent = place[i];
    place[i] = local % extent;
    local /= extent;
  }
  return offset_of(element_at(layout.parts(device), place), strides_of(layout.global()));
}

/// The tile of a device, element by element: what is there says which addend and which element it is.
Bytes tile_of(const Layout& layout, Size device, Size width) {
  Bytes out;
  for (Size local = 0; local < layout.tile_size(device); ++local) {
    const Size global = global_of(layout, device, local);
    const auto number = static_cast<std::uint64_t>(1000 * global + layout.addend(device));
    const std::uint64_t words[] = {splitmix64(number), splitmix64(~number)};
    const auto bytes = std::as_bytes(std::span(words)).first(static_cast<std::size_t>(width));
    out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

class Tiles : public testing::Test {
 protected:
  Tiles() {
    for (const char* const name : {"in", "out"}) {
      std::filesystem::create_directory(folder_.path() / name);
    }
  }
  [[nodiscard]] std::string in(Size device) const { return path("in", device); }
  [[nodiscard]] std::string out(Size device) const { return path("out", device); }
  [[nodiscard]] std::vector<std::string> names(const std::string& inner) const {
    std::vector<std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path() / inner))
      all.push_back(entry.path().filename().string());
    return all;
  }
  void write_tiles(const Layout& from, const std::string& descr,
                   const std::function<Bytes(Size)>& tile) const {
    for (Size device = 0; device < from.devices(); ++device) {
      std::filesystem::remove(in(device));
      if (from.tile_size(device) == 0) continue;
      write_file(in(device), npy_text(descr, from.tile(device), tile(device)));
    }
  }
  void write_tiles(const Layout& from, const std::string& descr) const {
    const Size width = npy_element_type(descr).value().bytes;
    write_tiles(from, descr, [&](Size device) { return tile_of(from, device, width); });
  }
  [[nodiscard]] RunOptions both() const {
    return {.input_tiles = folder_.file("in/t{}.npy"), .output_tiles = folder_.file("out/t{}.npy")};
  }
  static Result<run::Report> run(const Program& program, const RunOptions& options,
                                 const std::vector<Mismatch>& spoiled = {}) {
    const auto source = run::open_source(OneProcess(), program, options);
    if (!source) return tl::unexpected(source.error());
    auto executor = sim::make_executor(program, source->type());
    if (!executor) return tl::unexpected(executor.error());
    test::Spoiling spoiling(*std::move(executor), spoiled, source->type().bytes);
    return run::run(spoiling, program, *source, options);
  }
  /// What the run says that it cannot do, before it moves or writes anything.
  [[nodiscard]] std::string refused(const Program& program, RunOptions options) const {
    options.progress = [](std::string_view stage, Size, Size) {
      EXPECT_NE(stage, "move") << "something was moved before";
    };
    const auto report = run(program, options);
    EXPECT_THAT(names("out"), IsEmpty());
    return report ? "accepted"
                  : std::string(code_name(report.error().code)) + "\n" + render(report.error());
  }
  /// Runs it from files to files, and looks into those.
  void goes_through(const Program& program, const std::string& descr) const {
    write_tiles(program.from, descr);
    const auto report = run(program, both());
    ASSERT_TRUE(report) << render(report.error());
    EXPECT_TRUE(report->right);
    EXPECT_LE(report->peak_bytes_per_process, report->peak_limit_bytes);
    Size elements = 0;
    for (Size device = 0; device < program.devices; ++device) {
      elements += program.to.tile_size(device);
      EXPECT_EQ(std::filesystem::exists(out(device)), program.to.tile_size(device) > 0);
      if (program.to.tile_size(device) == 0) continue;
      EXPECT_EQ(read_file(out(device)),
                npy_text(descr, program.to.tile(device),
                         tile_of(program.to, device, report->element_bytes)));
      std::filesystem::remove(out(device));
    }
    EXPECT_EQ(report->elements_checked, elements);
    EXPECT_THAT(names("out"), IsEmpty());
  }

  test::TemporaryDirectory folder_;

 private:
  [[nodiscard]] std::string path(const std::string& inner, Size device) const {
    return folder_.file(inner + "/t" + std::to_string(device) + ".npy");
  }
};

/// Tiles of other shapes and of several boxes, halos that overlap, devices without elements, and all on one
/// device.
const char* const uneven_programs[] = {
    "retile.program/2\nmesh x:4\nfrom [3{x}10, 2]\nto [10, 2]\n"
    "exchange transfers=[[0,0,0,0,0,0,3,2],[0,1,3,0,0,0,3,2],[0,2,6,0,0,0,3,2],[0,3,9,0,0,0,1,2],"
    "[1,0,0,0,0,0,3,2],[1,1,3,0,0,0,3,2],[1,2,6,0,0,0,3,2],[1,3,9,0,0,0,1,2],"
    "[2,0,0,0,0,0,3,2],[2,1,3,0,0,0,3,2],[2,2,6,0,0,0,3,2],[2,3,9,0,0,0,1,2],"
    "[3,0,0,0,0,0,3,2],[3,1,3,0,0,0,3,2],[3,2,6,0,0,0,3,2],[3,3,9,0,0,0,1,2]] tile=[10,2]\n",
    "retile.program/2\nmesh x:4\nfrom [4~{x}10]\nto [10]@1\n"
    "exchange transfers=[[1,0,0,0,4],[1,1,4,0,4],[1,2,8,0,2]] shapes=[[0],[10],[0],[0]]\n",
    "retile.program/2\nmesh x:2\nfrom [4{x}8<1,1>]\nto [4{x}8]\n"
    "exchange transfers=[[0,0,0,0,4],[1,1,0,1,4]] tile=[4]\n",
    "retile.program/2\nmesh x:2\nfrom [2@{x}7]\nto [1@{x}7]\n"
    "exchange transfers=[[0,0,0,0,1],[0,1,1,0,1],[0,0,2,2,1],[0,1,3,2,1],[1,0,0,1,1],[1,1,1,1,1],"
    "[1,0,2,3,1]] shapes=[[4],[3]]\n",
};

TEST_F(Tiles, go_through_every_program) {
  const std::string descrs[] = {"|u1", ">i2", "<f4", "<M8[ns]", "<c16"};
  std::size_t number = 0;
  for (const test::NamedProgram& named : test::right_programs()) {
    SCOPED_TRACE(named.name);
    goes_through(parsed(named.text), descrs[number++ % 5]);
  }
  for (const char* const text : uneven_programs) {
    SCOPED_TRACE(text);
    goes_through(parsed(text), descrs[number++ % 5]);
  }
}

Program rows_to_columns(Size rows, Size columns) {
  return parsed("retile.program/1\nmesh d:2\nfrom [" + std::to_string(rows) + "{d}" +
                std::to_string(2 * rows) + ", " + std::to_string(2 * columns) + "]\nto [" +
                std::to_string(2 * rows) + ", " + std::to_string(columns) + "{d}" +
                std::to_string(2 * columns) + "]\nalltoall split=1 concat=0 groups=[1,2]<=[2]\n");
}

TEST_F(Tiles, of_several_pieces_are_streamed) {
  if (!support::instrumented) goes_through(rows_to_columns(3, 11003), "<c16");
  goes_through(rows_to_columns(11003, 3), "<c16");
}

TEST_F(Tiles, of_a_view_have_the_shapes_of_the_arrays) {
  const Program program = parsed(
      "retile.program/2\nmesh x:2\nfrom [4{x}8]\nto [2@{x}8]\nview [2,2,2]\n"
      "alltoall split=1 concat=0 groups=[1,2]<=[2]\n");
  write_tiles(program.array_from(), "<i4");
  const auto report = run(program, both());
  ASSERT_TRUE(report) << render(report.error());
  EXPECT_TRUE(report->right);
  const Bytes all = tile_of(Layout::listed(1, {8}, {8}, {0}).value(), 0, 4);
  Bytes wanted(all.begin() + 8, all.begin() + 16);
  wanted.insert(wanted.end(), all.begin() + 24, all.end());
  EXPECT_EQ(read_file(out(1)), npy_text("<i4", {4}, wanted));
}

/// How often a file is opened by what is done.
std::size_t times_opened(const std::string& path, const std::function<void()>& done) {
  const int watch = inotify_init1(IN_NONBLOCK);
  // Two events that are alike and follow each other are one, so it must be seen to be closed between them.
  if (watch < 0 || inotify_add_watch(watch, path.c_str(), IN_OPEN | IN_CLOSE) < 0) {
    ADD_FAILURE() << "the kernel tells nothing of " << path;
    return 0;
  }
  done();
  std::size_t out = 0;
  inotify_event event{};
  while (read(watch, &event, sizeof event) == sizeof event) {
    if ((event.mask & IN_OPEN) != 0) ++out;
  }
  close(watch);
  return out;
}

TEST_F(Tiles, are_not_opened_for_every_piece_or_box) {
  for (const char* const text :
       {"retile.program/2\nmesh x:2\nfrom [2097152{x}4194304]\nto [2097152{x}4194304]\n",
        "retile.program/2\nmesh x:2\nfrom [1@{x}64]\nto [1@{x}64]\n"}) {
    const Program program = parsed(text);
    write_tiles(program.from, "<i4", [&](Size device) {
      return Bytes(static_cast<std::size_t>(4 * program.from.tile_size(device)));
    });
    const std::size_t opened = times_opened(in(0), [&] {
      const auto report = run(program, both());
      ASSERT_TRUE(report.has_value());
      EXPECT_TRUE(report->right);
    });
    // To be told of, to be read, to be looked for before anything moves, and to be compared with.
    EXPECT_GE(opened, 2U);
    EXPECT_LE(opened, 5U) << text;
  }
}

TEST_F(Tiles, and_one_file_may_be_mixed) {
  const Program program = rows_to_columns(3, 5);
  const Layout whole = Layout::listed(1, {6, 10}, {6, 10}, {0, 0}).value();
  const std::string array = npy_text(">f4", {6, 10}, tile_of(whole, 0, 4));
  write_file(folder_.file("a.npy"), array);
  const auto apart =
      run(program, {.input = folder_.file("a.npy"), .output_tiles = both().output_tiles});
  ASSERT_TRUE(apart) << render(apart.error());
  for (Size device : {0, 1}) {
    EXPECT_EQ(read_file(out(device)), npy_text(">f4", {6, 5}, tile_of(program.to, device, 4)));
  }
  write_tiles(program.from, ">f4");
  const auto together =
      run(program, {.output = folder_.file("b.npy"), .input_tiles = both().input_tiles});
  ASSERT_TRUE(together) << render(together.error());
  EXPECT_EQ(read_file(folder_.file("b.npy")), array);
  const auto generated = run(program, {.output_tiles = both().output_tiles});
  ASSERT_TRUE(generated) << render(generated.error());
  EXPECT_EQ(read_file(out(1)), npy_text("<f4", {6, 5}, test::pattern_tile(program.to, 1, 4)));
}

TEST_F(Tiles, may_take_the_place_of_those_that_were_read) {
  const Program program = rows_to_columns(3, 3);
  write_tiles(program.from, "<i8");
  RunOptions options = both();
  options.output_tiles = options.input_tiles;
  const auto report = run(program, options);
  ASSERT_TRUE(report) << render(report.error());
  EXPECT_EQ(read_file(in(1)), npy_text("<i8", {6, 3}, tile_of(program.to, 1, 8)));
  EXPECT_THAT(names("in"), UnorderedElementsAre("t0.npy", "t1.npy"));
}

// ---- What is compared -------------------------------------------------------------------------------

TEST_F(Tiles, every_wrong_element_is_found) {
  for (const char* const text : uneven_programs) {
    const Program program = parsed(text);
    write_tiles(program.from, "<u2");
    for (Size device = 0; device < program.devices; ++device) {
      for (Size local = 0; local < program.to.tile_size(device); ++local) {
        const Mismatch wrong{.device = device, .local_index = local};
        const auto report = run(program, both(), {wrong});
        ASSERT_TRUE(report) << render(report.error());
        EXPECT_FALSE(report->right);
        EXPECT_EQ(report->mismatch, wrong) << device << " " << local << "\n" << text;
      }
    }
  }
  EXPECT_THAT(names("out"), IsEmpty());
}

TEST_F(Tiles, of_wrong_elements_the_first_is_told) {
  // Device 1 reads its own file first, which has the rows from 3 on.
  const Program program = rows_to_columns(3, 3);
  write_tiles(program.from, "<u2");
  const Mismatch early{.device = 1, .local_index = 2};
  const Mismatch late{.device = 1, .local_index = 12};
  EXPECT_EQ(run(program, both(), {late, early})->mismatch, early);
  EXPECT_EQ(run(program, both(), {late})->mismatch, late);
}

TEST_F(Tiles, in_every_piece_are_compared) {
  const Program program = rows_to_columns(3, 11003);
  write_tiles(program.from, "<c16");
  const Mismatch last{.device = 1, .local_index = program.to.tile_size(1) - 1};
  EXPECT_EQ(run(program, both(), {last})->mismatch, last);
}

TEST_F(Tiles, of_replicas_must_be_alike_before_anything_moves) {
  const Program program = parsed(
      "retile.program/1\nmesh x:2,y:2\nfrom [2{y}4, 3]\nto [4, 3]\n"
      "allgather dim=0 groups=[2,2]<=[4]\n");
  for (Size local = 0; local < 6; ++local) {
    write_tiles(program.from, "<f4", [&](Size device) {
      Bytes tile = tile_of(program.from, device, 4);
      if (device == 3) tile[static_cast<std::size_t>(4 * local)] ^= std::byte{1};
      return tile;
    });
    const std::string said = refused(program, both());
    EXPECT_THAT(said, HasSubstr("bad_file"));
    EXPECT_THAT(said, HasSubstr("in/t3.npy"));
    EXPECT_THAT(said, HasSubstr("the tiles of devices 1 and 3 differ in the element [" +
                                std::to_string(2 + local / 3) + ", " + std::to_string(local % 3) +
                                "], which both hold"));
  }
}

TEST_F(Tiles, that_overlap_must_be_alike_there) {
  const Program program = parsed(uneven_programs[2]);
  for (const Size local : {0, 1}) {  // elements 3 and 4 of 8, which device 0 has, too
    write_tiles(program.from, "|i1", [&](Size device) {
      Bytes tile = tile_of(program.from, device, 1);
      if (device == 1) tile[static_cast<std::size_t>(local)] ^= std::byte{1};
      return tile;
    });
    EXPECT_THAT(refused(program, both()), HasSubstr("devices 0 and 1 differ in the element [" +
                                                    std::to_string(3 + local) + "]"));
  }
  write_tiles(program.from, "|i1", [&](Size device) {  // and an element that device 1 has alone
    Bytes tile = tile_of(program.from, device, 1);
    if (device == 1) tile[2] ^= std::byte{1};
    return tile;
  });
  EXPECT_TRUE(run(program, both())->right);
}

TEST_F(Tiles, that_nobody_holds_at_the_start_are_not_called_right) {
  const Program program = parsed(
      "retile.program/1\ndevices 2\nfrom tile=[2] global=[4] at=[[0],[0]]\n"
      "to tile=[2] global=[4] at=[[0],[1]]\n");
  write_tiles(program.from, "<f4");
  EXPECT_THAT(refused(program, both()),
              HasSubstr("device 1 must hold the element [2] at the end, which is in no tile"));
}

// ---- Addends ----------------------------------------------------------------------------------------

TEST_F(Tiles, of_addends_are_added_as_the_program_says) {
  // Integers, and floating numbers of which every sum depends on its order.
  const std::string descrs[] = {"<i4", "<f4", "|V2", "<c8"};
  Size number = 0;
  for (const test::NamedProgram& named : test::adding_programs()) {
    for (const Addition addition : test::additions) {
      SCOPED_TRACE(std::string(named.name) + " " + std::string(name_of(addition)));
      const Program program = test::adding_program(named.text, addition);
      const std::string& descr = descrs[++number % 4];
      const ElementType type = npy_element_type(descr).value();
      if (!test::can_add(addition, type)) continue;
      sim::Tiles tiles;
      for (Size device = 0; device < program.devices; ++device) {
        // Replicas are those of the first device that holds the addend.
        Size first = 0;
        while (program.from.addend(first) != program.from.addend(device) ||
               program.from.box(first) != program.from.box(device)) {
          ++first;
        }
        tiles.push_back(test::rough_tile(program.from, first, type));
      }
      write_tiles(program.from, descr, [&](Size device) { return tiles[index(device)]; });
      const auto report = run(program, both());
      ASSERT_TRUE(report) << render(report.error());
      EXPECT_TRUE(report->right) << descr;
      const auto wanted = sim::run(program, tiles, type);
      for (Size device = 0; device < program.devices; ++device) {
        if (program.to.tile_size(device) == 0) continue;
        EXPECT_EQ(read_file(out(device)),
                  npy_text(descr, program.to.box(device).extent, wanted->tiles[index(device)]));
      }
      const Size spoiled = number % program.devices;
      if (program.to.tile_size(spoiled) == 0) continue;
      const Mismatch wrong{spoiled, program.to.tile_size(spoiled) - 1};
      EXPECT_EQ(run(program, {.input_tiles = both().input_tiles}, {wrong})->mismatch, wrong);
    }
  }
}

TEST_F(Tiles, of_long_addends_are_compared_in_blocks) {
  const Program program = parsed(
      "retile.program/2\nmesh x:4\nfrom sum{x}[3, 30011]\nto [3, 30011]\n"
      "allreduce groups=[1,4]<=[4]\n");
  write_tiles(program.from, "<c16");
  EXPECT_TRUE(run(program, {.input_tiles = both().input_tiles})->right);
  const Mismatch last{.device = 3, .local_index = 3 * 30011 - 1};
  EXPECT_EQ(run(program, {.input_tiles = both().input_tiles}, {last})->mismatch, last);
}

TEST_F(Tiles, of_a_stack_stay_apart) {
  const Program program = parsed(
      "retile.program/2\nmesh x:2,y:2\nfrom stack{x}[4, 2{y}4]\nto stack{x}[2{y}4, 4]\n"
      "alltoall split=0 concat=1 groups=[2,2]<=[4]\n");
  goes_through(program, ">f8");
  const Mismatch wrong{.device = 2, .local_index = 7};
  EXPECT_EQ(run(program, both(), {wrong})->mismatch, wrong);
  const Program swapped = parsed(
      "retile.program/2\nmesh x:2\nfrom stack{x}[4]\nto stack{x}[4]\nallpermute source=[1,0]\n");
  write_tiles(swapped.from, ">f8");
  EXPECT_FALSE(run(swapped, both())->right);
}

TEST_F(Tiles, of_addends_have_replicas_too) {
  const Program program = parsed(
      "retile.program/2\nmesh x:2,y:2\nfrom sum{x}[4]\nto [4]\nallreduce groups=[[0,2],[1,3]]\n");
  write_tiles(program.from, "<i4");
  EXPECT_TRUE(run(program, {.input_tiles = both().input_tiles})->right);
  write_tiles(program.from, "<i4", [&](Size device) {
    Bytes tile = tile_of(program.from, device, 4);
    if (device == 3) tile[8] ^= std::byte{1};
    return tile;
  });
  EXPECT_THAT(refused(program, both()), HasSubstr("devices 2 and 3 differ in the element [2]"));
}

TEST_F(Tiles, of_addends_have_the_order_of_bytes_of_this_machine) {
  const Program program =
      parsed("retile.program/2\nmesh x:2\nfrom sum{x}[4]\nto [4]\nallreduce groups=[[0,1]]\n");
  write_tiles(program.from, ">i4");
  EXPECT_THAT(refused(program, both()),
              HasSubstr("unsupported\nerror: elements of type >i4 have another"));
  write_tiles(program.from, "|i1");
  EXPECT_TRUE(run(program, both())->right);
}

// ---- Files that do not fit --------------------------------------------------------------------------

TEST_F(Tiles, that_do_not_fit_are_refused) {
  const Program program = rows_to_columns(2, 2);
  write_tiles(program.from, "<f4");
  const std::string good = read_file(in(1));
  const auto outcome = [&](const std::string& content, RunOptions options = {}) {
    write_file(in(1), content);
    options.input_tiles = both().input_tiles;
    options.output_tiles = both().output_tiles;
    return refused(program, options);
  };
  const std::string data(32, 'x');
  EXPECT_THAT(outcome(good.substr(0, good.size() - 1)), HasSubstr("the file is truncated"));
  EXPECT_THAT(outcome(good + "x"), HasSubstr("follow the last element"));
  EXPECT_THAT(outcome(npy_text("<f4", {4, 2}, Bytes(32))),
              HasSubstr("t1.npy: holds an array of shape [4, 2], where [2, 4] is the tile of "
                        "device 1"));
  EXPECT_THAT(outcome(npy_text("<i4", {2, 4}, Bytes(32))),
              HasSubstr("holds elements of type <i4, where the first tile holds <f4"));
  EXPECT_THAT(outcome(npy_text(">f4", {2, 4}, Bytes(32))),
              HasSubstr("holds elements of type >f4, where the first tile holds <f4"));
  EXPECT_THAT(outcome(good, {.type = ElementType{ElementKind::floating, 8}}),
              HasSubstr("holds elements of type <f4, where --dtype says <f8"));
  EXPECT_THAT(
      outcome(test::npy_header(1, "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 4), }") +
              data),
      HasSubstr("Fortran order"));
  EXPECT_THAT(outcome(""), HasSubstr("no .npy file"));
  std::filesystem::remove(in(1));
  EXPECT_THAT(refused(program, both()), HasSubstr("bad_file"));
  EXPECT_THAT(refused(program, both()),
              HasSubstr("t1.npy: the file cannot be opened: No such file"));
  std::filesystem::create_directory(in(1));
  EXPECT_THAT(refused(program, both()), HasSubstr("this is a directory"));
}

TEST_F(Tiles, that_cannot_be_written_leave_nothing) {
  const Program program = rows_to_columns(2, 2);
  RunOptions options{.output_tiles = folder_.file("missing/{}.npy")};
  EXPECT_THAT(refused(program, options), HasSubstr("file_error"));
  options.output_tiles = folder_.file("out/{}/t.npy");
  std::filesystem::create_directory(folder_.path() / "out" / "0");
  const auto half = run(program, options);  // device 0 could be written
  ASSERT_FALSE(half);
  EXPECT_EQ(half.error().code, Code::file_error);
  EXPECT_TRUE(std::filesystem::is_empty(folder_.path() / "out" / "0"));
  options.output_tiles = folder_.file("out/{}");
  EXPECT_THAT(run(program, options).error().message, HasSubstr("is a directory"));
  EXPECT_THAT(names("out"), UnorderedElementsAre("0"));
}

TEST_F(Tiles, have_a_pattern_with_one_place_for_the_number) {
  const Program program = rows_to_columns(2, 2);
  for (const char* const name : {"t.npy", "{}{}", "{}/t{}.npy", "{0}", "{ }"}) {
    EXPECT_FALSE(run::is_tile_pattern(name));
    const std::string pattern = folder_.file("out/" + std::string(name));
    EXPECT_THAT(refused(program, {.input_tiles = pattern}), HasSubstr("must hold {} once"));
    EXPECT_THAT(refused(program, {.output_tiles = pattern}), HasSubstr("must hold {} once"));
  }
  EXPECT_EQ(run::tile_path("{}", 12), "12");
  EXPECT_EQ(run::tile_path("a/{{}}.npy", 3), "a/{3}.npy");
  for (const RunOptions& options :
       {RunOptions{.input = "a", .input_tiles = both().input_tiles},
        RunOptions{.output = in(0), .output_tiles = both().output_tiles}}) {
    EXPECT_THAT(refused(program, options), HasSubstr("not both"));
  }
}

}  // namespace
}  // namespace retile::sim_tiles_test
