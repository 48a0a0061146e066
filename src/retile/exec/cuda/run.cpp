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

/// What a member found.
struct Share {
  Size received_bytes = 0;
  Size held_bytes = 0;
  Size limit_bytes = 0;
  Size checked = 0;
  Size mismatch = 0;
  int mismatched = 0;
};
static_assert(std::is_trivially_copyable_v<Share>);
static_assert(sizeof(Share) <= Transport::most_gathered_bytes);

/// What a member leaves for the process that forked it.
struct Answer {
  int done = 0;  // 0: it never came to its end
  int failed = 0;
  Code code{};
  // A report but for its reasons.
  int right = 0;
  Path path = Path::automatic;
  double seconds = 0;
  Size elements_checked = 0;
  Size bytes_per_process = 0;
  Size peak_bytes_per_process = 0;
  Size peak_limit_bytes = 0;
  Mismatch mismatch;  // if it is not right
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

/// All that can be said without looking at a device.
Result<DeviceProblem> problem_of(const Program& program, const RunOptions& options) {
  if (!options.open && !cuda_is_built()) {
    return refuse(
        {.code = Code::unsupported, .message = "the backend cuda is not built into this program"});
  }
  if (options.repetitions < 1) {
    return refuse(
        {.code = Code::bad_argument, .message = "the number of repetitions must be at least 1"});
  }
  const auto composed = direct(program);
  if (!composed) return refuse(composed.error());
  DeviceProblem problem;
  problem.exchange = std::get<Exchange>(composed->steps.front().op);
  problem.in_tile = program.from.tile();
  problem.out_tile = program.to.tile();
  problem.element_bytes = options.element_bytes;
  return problem;
}

Result<RunReport> work(Transport& transport, const Program& program, const DeviceProblem& problem,
                       const RunOptions& options) {
  const int place = transport.place_on_machine();
  auto device = options.open ? options.open(place) : open_cuda_device(place);
  auto opened = agree(transport, device ? Result<void>() : refuse(device.error()));
  if (!opened) return refuse(opened.error());
  auto made = DeviceExchange::create(**device, transport, problem, options.exchange);
  if (!made) return refuse(made.error());
  DeviceExchange& exchange = **made;

  const int member = transport.member();
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

  Share mine;
  mine.received_bytes = exchange.received_bytes();
  mine.held_bytes = exchange.held_bytes();
  mine.limit_bytes = exchange.limit_bytes();
  mine.mismatched = mismatch->has_value() ? 1 : 0;
  mine.mismatch = mismatch->value_or(0);
  mine.checked = mine.mismatched != 0 ? mine.mismatch + 1 : program.to.tile_size();
  std::vector<Share> shares(static_cast<std::size_t>(transport.members()));
  auto gathered = transport.gather(std::as_bytes(std::span(&mine, 1)),
                                   std::as_writable_bytes(std::span(shares)));
  if (!gathered) return refuse(gathered.error());

  RunReport report;
  report.right = true;
  report.path = exchange.path();
  report.reasons = exchange.reasons();
  report.processes = program.devices;
  report.repetitions = options.repetitions;
  const std::size_t middle = seconds.size() / 2;
  report.seconds =
      seconds.size() % 2 == 1 ? seconds[middle] : (seconds[middle - 1] + seconds[middle]) / 2;
  for (std::size_t k = 0; k < shares.size(); ++k) {
    const Share& share = shares[k];
    report.elements_checked += share.checked;
    report.bytes_per_process = std::max(report.bytes_per_process, share.received_bytes);
    report.peak_bytes_per_process = std::max(report.peak_bytes_per_process, share.held_bytes);
    report.peak_limit_bytes = std::max(report.peak_limit_bytes, share.limit_bytes);
    if (share.mismatched != 0 && report.right) {
      report.right = false;
      report.mismatch = Mismatch{static_cast<Size>(k), share.mismatch};
    }
  }
  return report;
}

Answer answer_of(const Result<RunReport>& report) {
  Answer out;
  out.done = 1;
  if (!report) {
    out.failed = 1;
    out.code = report.error().code;
    std::vector<std::string> lines{report.error().message};
    lines.insert(lines.end(), report.error().notes.begin(), report.error().notes.end());
    set_text(out, lines);
    return out;
  }
  out.right = report->right ? 1 : 0;
  out.path = report->path;
  out.seconds = report->seconds;
  out.elements_checked = report->elements_checked;
  out.bytes_per_process = report->bytes_per_process;
  out.peak_bytes_per_process = report->peak_bytes_per_process;
  out.peak_limit_bytes = report->peak_limit_bytes;
  out.mismatch = report->mismatch.value_or(Mismatch{});
  set_text(out, report->reasons);
  return out;
}

RunReport report_of(const Answer& answer, Size processes, Size repetitions) {
  RunReport out;
  out.right = answer.right != 0;
  out.path = answer.path;
  out.reasons = lines_of(answer);
  out.processes = processes;
  out.repetitions = repetitions;
  out.elements_checked = answer.elements_checked;
  out.seconds = answer.seconds;
  out.bytes_per_process = answer.bytes_per_process;
  out.peak_bytes_per_process = answer.peak_bytes_per_process;
  out.peak_limit_bytes = answer.peak_limit_bytes;
  if (!out.right) out.mismatch = answer.mismatch;
  return out;
}

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

Result<RunReport> run(Transport& transport, const Program& program, const RunOptions& options) {
  if (program.devices != transport.members()) {
    return refuse({.code = Code::bad_argument,
                   .message = fmt::format("{} devices for {} processes", program.devices,
                                          transport.members())});
  }
  const auto problem = problem_of(program, options);
  if (!problem) return refuse(problem.error());
  return work(transport, program, *problem, options);
}

Result<RunReport> run(const Program& program, const RunOptions& options) {
  constexpr Size most_processes = 1024;
  if (program.devices > most_processes) {
    return refuse({.code = Code::bad_argument,
                   .message = fmt::format("{} processes are more than {}, the most on GPUs",
                                          program.devices, most_processes)});
  }
  const auto problem = problem_of(program, options);
  if (!problem) return refuse(problem.error());
  const auto members = static_cast<std::size_t>(program.devices);
  auto shared = team::SharedMemory::create(static_cast<Size>(members * sizeof(Answer)));
  if (!shared) return refuse(shared.error());
  const auto body = [&](team::Team& team) {
    const auto transport = TeamTransport::create(team);
    const Result<RunReport> report = transport ? work(**transport, program, *problem, options)
                                               : Result<RunReport>(refuse(transport.error()));
    const Answer answer = answer_of(report);
    const auto place = static_cast<std::size_t>(team.member()) * sizeof answer;
    std::memcpy(shared->bytes().data() + place, &answer, sizeof answer);
    return report ? 0 : 1;
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
  return report_of(answers.front(), program.devices, options.repetitions);
}

}  // namespace retile::cuda
