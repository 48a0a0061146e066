#include "exec/cuda/program_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exec/cuda/forwarding_device.h"
#include "exec/team/fork_team.h"
#include "retile/exec/cuda/cuda_device.h"
#include "retile/exec/team/memory.h"

namespace retile::test {
namespace {

/// The members of a transport as the processes of a job. A run without files needs no messages.
class TransportProcesses final : public Processes {
 public:
  explicit TransportProcesses(cuda::Transport& transport) : transport_(transport) {}

  [[nodiscard]] int process() const override { return transport_.member(); }
  [[nodiscard]] int processes() const override { return transport_.members(); }
  [[nodiscard]] Result<void> agree(const Result<void>& mine) const override {
    return cuda::agree(transport_, mine);
  }
  void barrier() const override { static_cast<void>(transport_.barrier()); }
  [[nodiscard]] std::string broadcast(const std::string& text, int) const override { return text; }
  [[nodiscard]] std::uint64_t broadcast(std::uint64_t number, int root) const override {
    return all(number)[static_cast<std::size_t>(root)];
  }
  [[nodiscard]] std::vector<bool> gather(bool mine) const override {
    const auto said = all(mine ? 1 : 0);
    return {said.begin(), said.end()};
  }
  void maximum(std::span<std::uint64_t> numbers) const override {
    for (std::uint64_t& number : numbers) {
      const auto said = all(number);
      number = *std::max_element(said.begin(), said.end());
    }
  }
  void sum(std::span<std::uint64_t> numbers) const override {
    for (std::uint64_t& number : numbers) {
      const auto said = all(number);
      number = 0;
      for (const std::uint64_t it : said) number += it;
    }
  }
  [[nodiscard]] double maximum(double number) const override {
    const auto said = all(number);
    return *std::max_element(said.begin(), said.end());
  }
  void send(std::span<const std::byte>, int) const override {}
  void receive(std::span<std::byte>, int) const override {}

 private:
  template <typename T>
  [[nodiscard]] std::vector<T> all(T mine) const {
    std::vector<T> out(static_cast<std::size_t>(processes()), mine);
    static_cast<void>(transport_.gather(std::as_bytes(std::span(&mine, 1)),
                                        std::as_writable_bytes(std::span(out))));
    return out;
  }

  cuda::Transport& transport_;
};

/// What a forked member leaves behind.
struct Answer {
  int done = 0;  // 0: it never came to its end
  int failed = 0;
  Code code{};
  std::array<char, 1000> message{};  // of an error, or the last reason
  int right = 0;
  std::array<char, 16> way{};
  Size elements_checked = 0, peak_bytes = 0, limit_bytes = 0;
  double seconds = 0;
};
static_assert(std::is_trivially_copyable_v<Answer>);

template <std::size_t size>
void put(std::array<char, size>& place, const std::string& text) {
  std::memcpy(place.data(), text.data(), std::min(text.size(), size - 1));
}

Answer answer_of(const Result<run::Report>& report) {
  Answer out;
  out.done = 1;
  if (!report) {
    out.failed = 1;
    out.code = report.error().code;
    put(out.message, report.error().message);
    return out;
  }
  out.right = report->right ? 1 : 0;
  put(out.way, report->way);
  if (!report->reasons.empty()) put(out.message, report->reasons.back());
  out.elements_checked = report->elements_checked;
  out.peak_bytes = report->peak_bytes_per_process;
  out.limit_bytes = report->peak_limit_bytes;
  out.seconds = report->seconds;
  return out;
}

run::Report report_of(const Answer& answer, const Program& program) {
  run::Report out;
  out.right = answer.right != 0;
  out.way = answer.way.data();
  out.reasons = {answer.message.data()};
  out.processes = program.devices;
  out.elements_checked = answer.elements_checked;
  out.peak_bytes_per_process = answer.peak_bytes;
  out.peak_limit_bytes = answer.limit_bytes;
  out.seconds = answer.seconds;
  return out;
}

Result<run::Report> outcome_of(std::span<const Answer> answers, const Program& program) {
  const Answer* failed = nullptr;
  for (const Answer& answer : answers) {
    if (answer.done == 0) {
      return refuse({.code = Code::cuda_error, .message = "a process ended early"});
    }
    // Who only saw that another gave up has less to say.
    const bool more = failed == nullptr || failed->code == Code::team_broken;
    if (answer.failed != 0 && more) failed = &answer;
  }
  if (failed != nullptr) return refuse({.code = failed->code, .message = failed->message.data()});
  return report_of(answers.front(), program);
}

/// Runs of Programs of equally many devices, on one team.
std::vector<Result<run::Report>> run_on_team(const std::vector<const WantedRun*>& runs) {
  const Size devices = runs.front()->program.devices;
  const auto members = static_cast<std::size_t>(devices);
  const auto all = [&](const Diagnostic& why) {
    return std::vector<Result<run::Report>>(runs.size(), refuse(why));
  };
  auto shared =
      team::SharedMemory::create(static_cast<Size>(runs.size() * members * sizeof(Answer)));
  if (!shared) return all(shared.error());
  const auto body = [&](team::Team& team) {
    for (std::size_t k = 0; k < runs.size(); ++k) {
      const Answer answer = answer_of(run_as_member(team, runs[k]->program, runs[k]->how));
      const std::size_t place = k * members + static_cast<std::size_t>(team.member());
      std::memcpy(shared->bytes().data() + place * sizeof answer, &answer, sizeof answer);
      if (answer.failed != 0) return 1;
    }
    return 0;
  };
  const auto ends =
      team::run_forked(static_cast<int>(devices), cuda::TeamTransport::memory_bytes, body);
  if (!ends) return all(ends.error());
  std::vector<Answer> answers(runs.size() * members);
  std::memcpy(answers.data(), shared->bytes().data(), answers.size() * sizeof(Answer));
  std::vector<Result<run::Report>> out;
  for (std::size_t k = 0; k < runs.size(); ++k) {
    if (!out.empty() && !out.back()) {
      out.resize(runs.size(), refuse({.code = Code::cuda_error,
                                      .message = "not begun, since a run before failed"}));
      break;
    }
    out.push_back(outcome_of(std::span(answers).subspan(k * members, members), runs[k]->program));
  }
  const auto is_clean = [](const team::MemberEnd& end) { return end == team::MemberEnd{}; };
  if (out.back() && !std::all_of(ends->begin(), ends->end(), is_clean)) {
    out.back() = refuse({.code = Code::cuda_error, .message = "a process ended badly"});
  }
  return out;
}

}  // namespace

Result<run::Report> run_as_member(team::Team& team, const Program& program, const ProgramRun& how) {
  auto transport = cuda::TeamTransport::create(team);
  if (!transport) return refuse(transport.error());
  const TransportProcesses processes(**transport);
  run::RunOptions options;
  options.type = ElementType{ElementKind::unsigned_integer, how.element_bytes};
  options.repetitions = how.repetitions;
  const auto source = run::open_source(processes, program, options);
  if (!source) return refuse(source.error());
  const auto executor = cuda::make_executor(processes, std::move(*transport), program,
                                            how.element_bytes, how.exchange, how.open);
  if (!executor) return refuse(executor.error());
  return run::run(**executor, program, *source, options);
}

cuda::OpenDevice kept_open(cuda::OpenDevice open) {
  auto kept = std::make_shared<std::shared_ptr<cuda::Device>>();
  return [open = std::move(open), kept](int place) -> Result<std::unique_ptr<cuda::Device>> {
    if (*kept == nullptr) {
      auto device = open ? open(place) : cuda::open_cuda_device(place);
      if (!device) return device;
      *kept = std::move(*device);
    }
    return std::make_unique<ForwardingDevice>(*kept);
  };
}

std::vector<Result<run::Report>> run_all_on_forks(const std::vector<WantedRun>& runs) {
  std::map<Size, std::vector<std::size_t>> by_devices;
  for (std::size_t k = 0; k < runs.size(); ++k) by_devices[runs[k].program.devices].push_back(k);
  std::vector<Result<run::Report>> out(runs.size());
  for (const auto& [devices, numbers] : by_devices) {
    std::vector<const WantedRun*> together;
    for (const std::size_t k : numbers) together.push_back(&runs[k]);
    std::vector<Result<run::Report>> reports = run_on_team(together);
    for (std::size_t k = 0; k < numbers.size(); ++k) out[numbers[k]] = std::move(reports[k]);
  }
  return out;
}

void expect_all_right(const std::vector<WantedRun>& runs) {
  const auto reports = run_all_on_forks(runs);
  ASSERT_EQ(reports.size(), runs.size());
  for (std::size_t k = 0; k < runs.size(); ++k) {
    const auto& [name, program, how] = runs[k];
    ASSERT_TRUE(reports[k]) << name << ": " << render(reports[k].error());
    const run::Report& report = *reports[k];
    EXPECT_TRUE(report.right) << name;
    if (how.exchange.path != cuda::Path::automatic) {
      EXPECT_EQ(report.way, cuda::path_name(how.exchange.path)) << name;
    }
    EXPECT_EQ(report.elements_checked, program.devices * program.to.tile_size()) << name;
    EXPECT_EQ(report.processes, program.devices) << name;
    EXPECT_LE(report.peak_bytes_per_process, report.peak_limit_bytes) << name;
    EXPECT_GT(report.seconds, 0) << name;
    EXPECT_FALSE(report.reasons.empty()) << name;
  }
}

Result<run::Report> run_on_forks(const Program& program, const ProgramRun& how) {
  return run_all_on_forks({{.name = {}, .program = program, .how = how}}).front();
}

}  // namespace retile::test
