// What only a GPU can show: the kernels, memory of other processes, whole Programs. Skipped with
// the reason where there is none. Only forked processes use CUDA, since it does not survive a fork.
//
// A tool that watches only the process it started sets RETILE_GPU_ONE_PROCESS: tests in that
// process are named one_process_*. The same file is run over a device of host memory
// (gpu_on_host.cpp), so that what it asks for was seen to be right before there is a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "exec/cuda/forwarding_device.h"
#include "exec/cuda/host_device.h"
#include "exec/cuda/program_run.h"
#include "exec/programs.h"
#include "exec/team/fork_team.h"
#include "exec/team/thread_team.h"
#include "retile/exec/cuda/boxes.h"
#include "retile/exec/cuda/cuda_device.h"
#include "retile/exec/exchange/direct.h"
#include "retile/notation/paper/problem.h"
#include "retile/program/forms/text.h"
#include "spec/paper/examples.h"

namespace retile::cuda::gpu_test {
namespace {

using test::named_program;
using test::ProgramRun;
using test::run_on_forks;

/// Why there is no GPU; empty where there is one.
const std::string& why_none() {
  static const std::string reason = [] {
    const auto tried = run_on_forks(named_program("one_device"), {});
    return tried ? std::string() : tried.error().message;
  }();
  return reason;
}

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    // Any other failure is one of the tests.
    if (why_none().rfind("no CUDA device", 0) == 0) GTEST_SKIP() << why_none();
  }
};

/// Runs a body with a device in a process of its own; its complaints, one per line.
std::string in_process(const std::function<std::string(Device&)>& body) {
  if (std::getenv("RETILE_GPU_ONE_PROCESS") != nullptr) {
    auto device = open_cuda_device(0);
    return device ? body(**device) : device.error().message;
  }
  auto text = team::SharedMemory::create(4096).value();
  const auto ends = team::run_forked(1, 64, [&](team::Team&) {
    auto device = open_cuda_device(0);
    const std::string said = device ? body(**device) : device.error().message;
    std::memcpy(text.bytes().data(), said.data(), std::min<std::size_t>(said.size(), 4000));
    return 0;
  });
  if (!ends) return ends.error().message;
  if (ends->front() != team::MemberEnd{}) return "the process ended early";
  return reinterpret_cast<const char*>(text.bytes().data());
}

/// For what must succeed: an exception ends the process, which the test sees.
void must(const Result<void>& result) {
  if (!result) throw std::runtime_error(result.error().message);
}

/// Random boxes of all unit sizes on the device and by the host's arithmetic.
std::string compare_kernels(Device& device) {
  constexpr Size bytes = Size{1} << 20;
  std::byte* const source = device.allocate(bytes).value();
  std::byte* const target = device.allocate(bytes).value();
  std::byte* const lists = device.allocate(bytes).value();
  std::vector<std::byte> filled(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < filled.size(); ++i) {
    filled[i] = static_cast<std::byte>(splitmix64(i));
  }
  const auto good = [](const Result<void>& result) { return result.has_value(); };
  if (!good(device.upload(Lane::out, source, filled.data(), bytes))) return "upload failed";
  std::mt19937_64 random(3);
  const auto below = [&](Size end) {
    return static_cast<Size>(random() % static_cast<std::uint64_t>(end));
  };
  for (int k = 0; k < 400; ++k) {
    const Size element = test::element_sizes[below(5)];
    const auto rank = static_cast<std::size_t>(1 + below(5));
    Transfer transfer;
    Shape source_tile;
    Shape target_tile;
    for (std::size_t i = 0; i < rank; ++i) {
      const Size extent = 1 + below(i + 1 == rank ? 40 : 5);
      transfer.shape.push_back(extent);
      transfer.source_start.push_back(below(2));
      transfer.target_start.push_back(below(2));
      source_tile.push_back(transfer.source_start.back() + extent);
      target_tile.push_back(transfer.target_start.back() + extent);
    }
    Size tile_bytes = 0;
    for (const Shape* tile : {&source_tile, &target_tile}) {
      tile_bytes = std::max(tile_bytes, checked_product(*tile).value() * element);
    }
    if (tile_bytes > bytes) return "a tile larger than the memory";
    const Region region = between_tiles(transfer, source_tile, target_tile, element);
    // The same box of several tiles, which take turns.
    const Size tiles = std::min<Size>(k % 2 == 0 ? 1 : 1 + below(80), bytes / tile_bytes);
    const auto built = [&](const std::byte* from, const std::byte* to) {
      BatchBuilder builder;
      const auto number = [](const std::byte* at) {
        return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(at));
      };
      for (Size tile = 0; tile < tiles; ++tile) {
        must(builder.add(region, {0, number(from + tile * tile_bytes)},
                         {0, number(to + tile * tile_bytes)}, 0, bytes_of(region)));
      }
      return std::move(builder).build(true);
    };
    const auto on_device = built(source, target);
    const auto box_bytes = static_cast<Size>(on_device.boxes.size() * sizeof(Place));
    const auto group_bytes = static_cast<Size>(on_device.groups.size() * sizeof(Group));
    const Batch batch{.boxes = reinterpret_cast<const Place*>(lists),
                      .groups = reinterpret_cast<const Group*>(lists + bytes / 2),
                      .group_count = static_cast<std::uint32_t>(on_device.groups.size()),
                      .portions = on_device.portions};
    std::vector<std::byte> got(filled.size());
    const auto list = [](const auto& values) { return std::as_bytes(std::span(values)).data(); };
    const bool done =
        good(device.clear(Lane::out, target, bytes)) &&
        good(device.upload(Lane::out, lists, list(on_device.boxes), box_bytes)) &&
        good(device.upload(Lane::out, lists + bytes / 2, list(on_device.groups), group_bytes)) &&
        good(device.copy(Lane::out, batch)) &&
        good(device.download(Lane::out, got.data(), target, bytes)) && good(device.wait(Lane::out));
    if (!done) return "the device failed at transfer " + std::to_string(k);

    // Aligned as the device's memory is, so that the units are the same.
    std::vector<std::byte> space(2 * filled.size() + place_alignment, std::byte{0});
    const auto at = reinterpret_cast<std::uintptr_t>(space.data());
    std::byte* const from =
        space.data() + (place_alignment - at % place_alignment) % place_alignment;
    std::byte* const to = from + bytes;
    std::memcpy(from, filled.data(), filled.size());
    const auto on_host = built(from, to);
    test::copy_on_host({.boxes = on_host.boxes.data(),
                        .groups = on_host.groups.data(),
                        .group_count = static_cast<std::uint32_t>(on_host.groups.size()),
                        .portions = on_host.portions});
    if (std::memcmp(got.data(), to, got.size()) != 0) {
      return "other bytes after transfer " + std::to_string(k);
    }
  }
  for (std::byte* const memory : {source, target, lists}) device.release(memory);
  return {};
}

TEST_F(Gpu, one_process_kernels_copy_what_the_hosts_arithmetic_copies) {
  EXPECT_EQ(in_process(compare_kernels), "");
}

/// Tiles filled on the device, then spoilt in two places.
std::string find_spoilt(Device& device) {
  for (const Size element_bytes : test::element_sizes) {
    const auto map = Layout::listed(1, {300, 70, 40}, {200, 35, 40}, {17, 20, 0}).value();
    const PatternTile tile = pattern_tile(map, 0, element_bytes).value();
    const Size bytes = tile.elements * element_bytes;
    std::byte* const memory = device.allocate(bytes).value();
    if (!device.fill(tile, memory)) return "filling failed";
    std::vector<std::byte> there(static_cast<std::size_t>(bytes));
    must(device.download(Lane::out, there.data(), memory, bytes));
    must(device.wait(Lane::out));
    if (there != test::pattern_tile(map, 0, element_bytes)) return "filled with something else";
    if (device.find_mismatch(tile, memory).value()) return "a mismatch where there is none";
    for (const Size first : {Size{0}, Size{1}, Size{5000}, tile.elements - 1}) {
      for (const Size wrong : {tile.elements - 1, first}) {
        const Size place = wrong * element_bytes + element_bytes - 1;
        const std::byte flipped = there[static_cast<std::size_t>(place)] ^ std::byte{1};
        must(device.upload(Lane::out, memory + place, &flipped, 1));
        must(device.wait(Lane::out));
      }
      if (device.find_mismatch(tile, memory).value() != std::optional<Size>(first)) {
        return "not the first mismatch, " + std::to_string(first);
      }
      must(device.upload(Lane::out, memory, there.data(), bytes));
      must(device.wait(Lane::out));
    }
    device.release(memory);
  }
  return {};
}

TEST_F(Gpu, one_process_the_first_wrong_element_is_found) {
  EXPECT_EQ(in_process(find_spoilt), "");
}

/// A device of threads of one process, which cannot open each other's memory by handles and need
/// not.
class ThreadsDevice final : public test::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  [[nodiscard]] Result<MemoryHandle> share(std::byte* memory) override {
    MemoryHandle out{};
    std::memcpy(out.data(), &memory, sizeof memory);
    return out;
  }
  [[nodiscard]] Result<std::byte*> open(const MemoryHandle& handle) override {
    std::byte* out = nullptr;
    std::memcpy(&out, handle.data(), sizeof out);
    return out;
  }
  void close(std::byte*) override {}
};

/// Both paths between threads, of small Programs with every kind of step.
std::string run_threads(Device&) {
  std::string said;
  for (const test::NamedProgram& program : test::right_programs()) {
    const Program parsed = test::parsed(program.text);
    if (parsed.devices > 8) continue;
    for (const Path path : {Path::peer, Path::staged}) {
      ProgramRun options;
      options.exchange.path = path;
      options.exchange.chunk_bytes = 256;
      options.open = [](int) -> Result<std::unique_ptr<Device>> {
        auto device = open_cuda_device(0);
        if (!device) return device;
        return std::make_unique<ThreadsDevice>(std::move(*device));
      };
      std::atomic<int> right = 0;
      const auto outcomes =
          team::run_threads(static_cast<int>(parsed.devices), TeamTransport::memory_bytes,
                            [&](team::Team& team) -> Result<void> {
                              const auto report = test::run_as_member(team, parsed, options);
                              if (!report) return refuse(report.error());
                              right += report->right && report->way == path_name(path) ? 1 : 0;
                              return {};
                            });
      for (const auto& outcome : outcomes) {
        if (!outcome) said += std::string(program.name) + ": " + outcome.error().message + "\n";
      }
      if (right != parsed.devices) said += std::string(program.name) + ": wrong\n";
    }
  }
  return said;
}

TEST_F(Gpu, one_process_threads_exchange_tiles_on_both_paths) {
  EXPECT_EQ(in_process(run_threads), "");
}

/// Copies twice as much as its memory holds.
std::string leave_memory(Device& device) {
  constexpr Size bytes = 512;
  std::byte* const source = device.allocate(bytes).value();
  std::byte* const target = device.allocate(2 * bytes).value();
  std::byte* const lists = device.allocate(4096).value();
  const auto number = [](const std::byte* at) {
    return static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(at));
  };
  const Region region{.extents = {2 * bytes}, .source_strides = {1}, .target_strides = {1}};
  BatchBuilder builder;
  must(builder.add(region, {0, number(source)}, {0, number(target)}, 0, 2 * bytes));
  const auto built = std::move(builder).build(true);
  must(device.upload(Lane::out, lists, std::as_bytes(std::span(built.boxes)).data(),
                     static_cast<Size>(sizeof(Place))));
  must(device.upload(Lane::out, lists + 2048, std::as_bytes(std::span(built.groups)).data(),
                     static_cast<Size>(sizeof(Group))));
  must(device.copy(Lane::out, {.boxes = reinterpret_cast<const Place*>(lists),
                               .groups = reinterpret_cast<const Group*>(lists + 2048),
                               .group_count = 1,
                               .portions = built.portions}));
  must(device.wait(Lane::out));
  for (std::byte* const memory : {source, target, lists}) device.release(memory);
  return {};
}

// The negative control of memcheck, which must find errors here; scripts/gpu runs it.
TEST_F(Gpu, DISABLED_control_a_box_leaves_its_memory) { EXPECT_EQ(in_process(leave_memory), ""); }

test::WantedRun wanted(const Program& program, std::string_view name, Path path, Size element_bytes,
                       const OpenDevice& open) {
  test::WantedRun out{.name = std::string(name), .program = program, .how = {}};
  out.how.element_bytes = element_bytes;
  out.how.repetitions = 2;
  out.how.exchange.path = path;
  out.how.exchange.chunk_bytes = 4096;
  out.how.open = open;
  return out;
}

TEST_F(Gpu, every_program_is_right_on_both_paths) {
  const OpenDevice open = test::kept_open();
  std::vector<test::WantedRun> runs;
  for (const test::NamedProgram& program : test::right_programs()) {
    const Program parsed = test::parsed(program.text);
    if (parsed.devices > 8) continue;
    for (const Path path : {Path::peer, Path::staged}) {
      for (const Size element_bytes : {Size{1}, Size{4}, Size{16}}) {
        runs.push_back(wanted(parsed, program.name, path, element_bytes, open));
      }
    }
  }
  test::expect_all_right(runs);
}

TEST_F(Gpu, every_example_of_the_paper_is_right) {
  constexpr Size most_processes = 32;
  constexpr Size most_bytes = Size{1} << 30;
  const OpenDevice open = test::kept_open();
  std::vector<test::WantedRun> runs;
  for (const spec::Example& example : spec::examples()) {
    const auto problem = parse_problem(example.mesh, example.from, example.to).value();
    const Size tile = std::max(problem.from.tile_size(), problem.to.tile_size());
    if (problem.from.devices() > most_processes || tile > most_bytes / 4) continue;
    runs.push_back(wanted(direct(problem).value(), example.name, Path::automatic, 4, open));
  }
  test::expect_all_right(runs);
  std::cout << runs.size() << " of " << spec::examples().size() << " examples\n";
  EXPECT_EQ(runs.size(), spec::examples().size());
}

/// A device that is told to copy wrong units.
class MisledDevice final : public test::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  [[nodiscard]] Result<void> upload(Lane lane, std::byte* device, const std::byte* host,
                                    Size bytes) override {
    // The second thing that is brought there is the list of groups.
    if (++uploads_ != 2) return ForwardingDevice::upload(lane, device, host, bytes);
    groups_.assign(host, host + bytes);
    Group group;
    std::memcpy(&group, groups_.data(), sizeof group);
    test::mislead(group);
    std::memcpy(groups_.data(), &group, sizeof group);
    return ForwardingDevice::upload(lane, device, groups_.data(), bytes);
  }

 private:
  std::vector<std::byte> groups_;
  int uploads_ = 0;
};

TEST_F(Gpu, boxes_of_which_wrong_units_are_copied_are_noticed) {
  for (const Path path : {Path::peer, Path::staged}) {
    ProgramRun options;
    options.exchange.path = path;
    options.open = [](int member) -> Result<std::unique_ptr<Device>> {
      auto device = open_cuda_device(member);
      if (!device || member != 0) return device;
      return std::make_unique<MisledDevice>(std::move(*device));
    };
    const auto report = run_on_forks(named_program("listing_3_small"), options);
    ASSERT_TRUE(report) << render(report.error());
    EXPECT_FALSE(report->right);
  }
}

TEST_F(Gpu, processes_that_share_one_reach_each_others_tiles) {
  const auto report = run_on_forks(named_program("listing_3_small"), {});
  ASSERT_TRUE(report) << render(report.error());
  for (const std::string& reason : report->reasons) std::cout << reason << '\n';
  EXPECT_EQ(report->way, "peer");
}

}  // namespace
}  // namespace retile::cuda::gpu_test
