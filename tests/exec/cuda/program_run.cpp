#include "exec/cuda/program_run.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "exec/team/fork_team.h"
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
  [[nodiscard]] std::string broadcast(const std::string& text) const override { return text; }
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

Result<run::Report> run_on_forks(const Program& program, const ProgramRun& how) {
  const auto members = static_cast<std::size_t>(program.devices);
  auto shared = team::SharedMemory::create(static_cast<Size>(members * sizeof(Answer)));
  if (!shared) return refuse(shared.error());
  const auto body = [&](team::Team& team) {
    const Answer answer = answer_of(run_as_member(team, program, how));
    const auto place = static_cast<std::size_t>(team.member()) * sizeof answer;
    std::memcpy(shared->bytes().data() + place, &answer, sizeof answer);
    return answer.failed;
  };
  const auto ends =
      team::run_forked(static_cast<int>(program.devices), cuda::TeamTransport::memory_bytes, body);
  if (!ends) return refuse(ends.error());
  std::vector<Answer> answers(members);
  std::memcpy(answers.data(), shared->bytes().data(), members * sizeof(Answer));
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

}  // namespace retile::test
