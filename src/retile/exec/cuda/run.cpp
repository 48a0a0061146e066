#include "retile/exec/cuda/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "retile/exec/cuda/boxes.h"
#include "retile/exec/cuda/cuda_device.h"
#include "retile/exec/cuda/team_transport.h"
#include "retile/exec/exchange/direct.h"
#include "retile/exec/team/fork_team.h"
#include "retile/exec/team/memory.h"

namespace retile::cuda {
namespace {

/// What a member leaves for the process that forked it.
struct Answer {
  int done = 0;  // 0: it never came to its end
  int failed = 0;
  Code code{};
  int mismatched = 0;
  Size mismatch = 0;
  Path path = Path::automatic;
  double seconds = 0;
  Size received_bytes = 0;
  Size held_bytes = 0;
  Size limit_bytes = 0;
  Size checked = 0;
  // Message and notes of an error, or reasons: lines.
  std::array<char, 4096> text{};
};
static_assert(std::is_trivially_copyable_v<Answer>);

void set_text(Answer& answer, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  std::memcpy(answer.text.data(), text.data(), std::min(text.size(), answer.text.size() - 1));
}

std::vector<std::string> lines_of(const Answer& answer) {
  std::vector<std::string> out;
  std::string_view rest(answer.text.data());
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    out.emplace_back(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return out;
}

/// The largest of what the members bring.
Result<double> slowest(Transport& transport, double mine) {
  std::vector<double> all(static_cast<std::size_t>(transport.members()));
  auto gathered =
      transport.gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)));
  if (!gathered) return refuse(gathered.error());
  return *std::max_element(all.begin(), all.end());
}

Result<Answer> work(Transport& transport, const Program& program, const DeviceProblem& problem,
                    const RunOptions& options) {
  const int member = transport.member();
  auto device = options.open ? options.open(member) : open_cuda_device(member);
  auto opened = agree(transport, device ? Result<void>() : refuse(device.error()));
  if (!opened) return refuse(opened.error());
  auto made = DeviceExchange::create(**device, transport, problem, options.exchange);
  if (!made) return refuse(made.error());
  DeviceExchange& exchange = **made;

  const auto before = pattern_tile(program.from, member, options.element_bytes);
  const auto after = pattern_tile(program.to, member, options.element_bytes);
  Result<void> ready;
  if (!before) ready = refuse(before.error());
  if (!after) ready = refuse(after.error());
  if (ready) ready = (*device)->fill(*before, exchange.input());
  if (auto agreed = agree(transport, ready); !agreed) return refuse(agreed.error());

  std::vector<double> seconds;
  for (Size repetition = 0; repetition < options.repetitions; ++repetition) {
    // What an earlier repetition left must not make up for this one.
    auto cleared = (*device)->clear(Lane::out, exchange.output(), exchange.out_bytes());
    if (cleared) cleared = (*device)->wait_for_all();
    if (auto agreed = agree(transport, cleared); !agreed) return refuse(agreed.error());
    const auto start = std::chrono::steady_clock::now();
    if (auto moved = exchange.run(); !moved) return refuse(moved.error());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    auto longest = slowest(transport, taken.count());
    if (!longest) return refuse(longest.error());
    seconds.push_back(*longest);
  }
  std::sort(seconds.begin(), seconds.end());
  const auto mismatch = (*device)->find_mismatch(*after, exchange.output());
  auto compared = agree(transport, mismatch ? Result<void>() : refuse(mismatch.error()));
  if (!compared) return refuse(compared.error());

  Answer answer;
  answer.mismatched = mismatch->has_value() ? 1 : 0;
  answer.mismatch = mismatch->value_or(0);
  answer.path = exchange.path();
  const std::size_t middle = seconds.size() / 2;
  answer.seconds =
      seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  answer.received_bytes = exchange.received_bytes();
  answer.held_bytes = exchange.held_bytes();
  answer.limit_bytes = exchange.limit_bytes();
  answer.checked = answer.mismatched != 0 ? answer.mismatch + 1 : program.to.tile_size();
  set_text(answer, exchange.reasons());
  return answer;
}

/// The first failure, with what is known of the others.
Diagnostic failure_of(const Answer& answer) {
  std::vector<std::string> lines = lines_of(answer);
  Diagnostic out;
  out.code = answer.code;
  if (!lines.empty()) {
    out.message = lines.front();
    out.notes.assign(lines.begin() + 1, lines.end());
  }
  return out;
}

}  // namespace

Result<RunReport> run(const Program& program, const RunOptions& options) {
  if (!options.open && !cuda_is_built()) {
    return refuse(
        {.code = Code::unsupported, .message = "the backend cuda is not built into this program"});
  }
  if (options.repetitions < 1) {
    return refuse(
        {.code = Code::bad_argument, .message = "the number of repetitions must be at least 1"});
  }
  constexpr Size most_processes = 1024;
  if (program.devices > most_processes) {
    return refuse({.code = Code::bad_argument,
                   .message = fmt::format("{} processes are more than {}, the most on GPUs",
                                          program.devices, most_processes)});
  }
  const auto composed = direct(program);
  if (!composed) return refuse(composed.error());
  DeviceProblem problem;
  problem.exchange = std::get<Exchange>(composed->steps.front().op);
  problem.in_tile = program.from.tile();
  problem.out_tile = program.to.tile();
  problem.element_bytes = options.element_bytes;

  const auto members = static_cast<std::size_t>(program.devices);
  auto shared = team::SharedMemory::create(static_cast<Size>(members * sizeof(Answer)));
  if (!shared) return refuse(shared.error());
  const auto place = [&](std::size_t member) {
    return shared->bytes().data() + member * sizeof(Answer);
  };
  const auto body = [&](team::Team& team) {
    const auto transport = TeamTransport::create(team);
    const Result<Answer> outcome = transport ? work(**transport, program, problem, options)
                                             : Result<Answer>(refuse(transport.error()));
    Answer answer;
    if (outcome) {
      answer = *outcome;
    } else {
      answer.failed = 1;
      answer.code = outcome.error().code;
      std::vector<std::string> lines{outcome.error().message};
      lines.insert(lines.end(), outcome.error().notes.begin(), outcome.error().notes.end());
      set_text(answer, lines);
    }
    answer.done = 1;
    std::memcpy(place(static_cast<std::size_t>(team.member())), &answer, sizeof answer);
    return outcome ? 0 : 1;
  };
  const auto ends =
      team::run_forked(static_cast<int>(program.devices), TeamTransport::memory_bytes, body);
  if (!ends) return refuse(ends.error());

  std::vector<Answer> answers(members);
  std::memcpy(answers.data(), shared->bytes().data(), members * sizeof(Answer));
  const Answer* failed = nullptr;
  for (std::size_t k = 0; k < members; ++k) {
    if (answers[k].done == 0) {
      return refuse({.code = Code::cuda_error,
                     .message = fmt::format("process {} ended early, with exit code {}, signal {}",
                                            k, (*ends)[k].exit_code, (*ends)[k].signal)});
    }
    // Who only saw that another gave up has less to say.
    const bool more = failed == nullptr || failed->code == Code::team_broken;
    if (answers[k].failed != 0 && more) failed = &answers[k];
  }
  if (failed != nullptr) return refuse(failure_of(*failed));

  RunReport report;
  report.right = true;
  report.path = answers.front().path;
  report.reasons = lines_of(answers.front());
  report.processes = program.devices;
  report.repetitions = options.repetitions;
  report.seconds = answers.front().seconds;
  for (std::size_t k = 0; k < members; ++k) {
    const Answer& answer = answers[k];
    report.elements_checked += answer.checked;
    report.bytes_per_process = std::max(report.bytes_per_process, answer.received_bytes);
    report.peak_bytes_per_process = std::max(report.peak_bytes_per_process, answer.held_bytes);
    report.peak_limit_bytes = std::max(report.peak_limit_bytes, answer.limit_bytes);
    if (answer.mismatched != 0 && report.right) {
      report.right = false;
      report.mismatch = Mismatch{static_cast<Size>(k), answer.mismatch};
    }
  }
  return report;
}

}  // namespace retile::cuda
