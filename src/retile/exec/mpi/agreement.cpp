#include "retile/exec/mpi/agreement.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

#include "retile/core/assert.h"

namespace retile::mpi {
namespace {

constexpr std::size_t most_given = 15;

// A Diagnostic as one text, for sending: every field behind its length.
std::string pack(const Diagnostic& diagnostic) {
  std::string text = fmt::format("{} {} {} ", static_cast<int>(diagnostic.code),
                                 diagnostic.where.begin, diagnostic.where.end);
  const auto add = [&](const std::string& field) {
    text += fmt::format("{} {}", field.size(), field);
  };
  add(diagnostic.message);
  add(diagnostic.rule);
  add(diagnostic.source);
  add(diagnostic.input);
  for (const std::string& note : diagnostic.notes) add(note);
  return text;
}

/// Only texts of pack() come here.
Diagnostic unpack(const std::string& text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto number = [&] {
    std::size_t value = 0;
    at = std::from_chars(at, end, value).ptr + 1;  // past the blank behind it
    return value;
  };
  const auto field = [&] {
    const std::size_t length = number();
    const char* const begin = std::exchange(at, at + length);
    return std::string(begin, length);
  };
  Diagnostic diagnostic;
  diagnostic.code = static_cast<Code>(number());
  diagnostic.where.begin = number();
  diagnostic.where.end = number();
  diagnostic.message = field();
  diagnostic.rule = field();
  diagnostic.source = field();
  diagnostic.input = field();
  while (at < end) diagnostic.notes.push_back(field());
  return diagnostic;
}

Result<void> refused_by(int process, const Communicator& comm, const Result<void>& mine) {
  std::string text;
  if (process == comm.process()) {
    Diagnostic diagnostic = mine.error();
    if (comm.processes() > 1) diagnostic.notes.push_back(found_by(process, comm));
    text = pack(diagnostic);
  }
  return refuse(unpack(comm.broadcast(text, process)));
}

}  // namespace

std::optional<int> first_failed(const Communicator& comm, bool failed) {
  // The largest of these numbers belongs to the lowest process that failed; 0 when none did.
  const auto processes = static_cast<std::uint64_t>(comm.processes());
  const auto process = static_cast<std::uint64_t>(comm.process());
  std::uint64_t worst = failed ? processes - process : 0;
  comm.maximum(std::span(&worst, 1));
  if (worst == 0) return std::nullopt;
  return static_cast<int>(processes - worst);
}

std::string found_by(int process, const Communicator& comm) {
  return fmt::format("found by process {} of {}", process, comm.processes());
}

Result<void> Communicator::agree(const Result<void>& mine) const {
  const auto failed = first_failed(*this, !mine);
  if (!failed) return {};
  return refused_by(*failed, *this, mine);
}

Result<void> agree_on_maxima(const Communicator& comm, const Result<void>& mine,
                             std::span<std::uint64_t> numbers) {
  std::array<std::uint64_t, 1 + 2 * most_given> values{};
  RETILE_ASSERT(numbers.size() < values.size(), "too much to agree on at once");
  values[0] = mine ? 0 : static_cast<std::uint64_t>(comm.processes() - comm.process());
  std::copy(numbers.begin(), numbers.end(), values.begin() + 1);
  comm.maximum(std::span(values).first(1 + numbers.size()));
  if (values[0] != 0) {
    return refused_by(comm.processes() - static_cast<int>(values[0]), comm, mine);
  }
  std::copy_n(values.begin() + 1, numbers.size(), numbers.begin());
  return {};
}

Result<void> agree(const Communicator& comm, const Result<void>& mine,
                   std::span<const Given> given) {
  // Of x and of ~x: the maxima are complements of each other iff x is the same everywhere. First,
  // as in first_failed(), who failed.
  std::array<std::uint64_t, 1 + 2 * most_given> values{};
  RETILE_ASSERT(given.size() <= most_given, "too much to agree on at once");
  values[0] = mine ? 0 : static_cast<std::uint64_t>(comm.processes() - comm.process());
  for (std::size_t i = 0; i < given.size(); ++i) {
    values[1 + 2 * i] = given[i].value;
    values[2 + 2 * i] = ~given[i].value;
  }
  comm.maximum(std::span(values).first(1 + 2 * given.size()));
  if (values[0] != 0) {
    return refused_by(comm.processes() - static_cast<int>(values[0]), comm, mine);
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (values[1 + 2 * i] == ~values[2 + 2 * i]) continue;
    return refuse({.code = Code::disagreement,
                   .message = fmt::format("the processes were given different {}", given[i].name)});
  }
  return {};
}

}  // namespace retile::mpi
