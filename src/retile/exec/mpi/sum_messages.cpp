#include "retile/exec/mpi/sum_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "retile/core/index.h"

namespace retile::mpi {
namespace {

constexpr Size most_window_bytes = Size{256} << 10;  // so that packing stays in a level-2 cache

}  // namespace

SumMessages::SumMessages(const Task& task, const add::Sums& sums)
    : task_(task),
      sums_(&sums),
      rounds_(std::in_place, sums, task.element_bytes),
      messages_(task.comm, 2 * kinds * index(task.comm.processes())) {
  const Size parcels = rounds_->parcels();
  const Size most = std::min({task.chunk_bytes / windows(parcels), most_window_bytes,
                              task.options.message_bytes / parcels});
  sizes_ = rounds_->sizes(std::max<Size>(most / task.element_bytes, 1));
  window_bytes_ = sizes_.window * task.element_bytes;
  const auto pointers = task_.comm.processes() * Size{sizeof(void*)};
  limit_bytes_ =
      windows(parcels) * window_bytes_ + pointers + rounds_->bound_bytes(sums, task_.rank());
}

Result<void> SumMessages::make_ready() {
  own_.emplace(task_.comm.process(), *sums_, *rounds_, sizes_, task_.shapes.front(),
               task_.shapes.back(), task_.element_bytes, task_.adder);
  rounds_.reset();
  parcels_.assign(index(task_.comm.processes()), nullptr);
  const Size bytes = windows(sizes_.parcels) * window_bytes_;
  if (!memory_.allocate(bytes, task_.meter)) {
    return refuse({.code = Code::mpi_error,
                   .message = fmt::format("out of memory: parcels of {} bytes", bytes)});
  }
  task_.meter.add(own_->held_bytes() + static_cast<Size>(parcels_.capacity() * sizeof(void*)));
  return {};
}

std::byte* SumMessages::place(Kind kind, Size round, int other) const {
  const Size processes = task_.comm.processes();
  const Size parcels = sizes_.parcels;
  const Size first = kind == Kind::parcel_in    ? 0
                     : kind == Kind::parcel_out ? 2 * processes * parcels
                                                : 4 * processes * parcels;
  const Size each = kind == Kind::sums_in ? 1 : parcels;
  return memory_.data() + (first + (round % 2 * processes + other) * each) * window_bytes_;
}

std::byte* SumMessages::own_sums(Size round) const {
  const Size processes = task_.comm.processes();
  return memory_.data() +
         (4 * processes * sizes_.parcels + 2 * processes + round % 2) * window_bytes_;
}

Result<void> SumMessages::begin(Kind kind, Size round, int other, std::byte* at, Size bytes) {
  if (bytes == 0) return {};
  const auto number = static_cast<std::size_t>(kind) * 2 + index(round % 2);
  const std::size_t place = number * index(task_.comm.processes()) + index(other);
  const std::span message(at, index(bytes));
  ++under_way_[static_cast<std::size_t>(kind)][index(round % 2)];
  const bool receives = kind == Kind::parcel_in || kind == Kind::sums_in;
  return receives ? messages_.receive(place, message, other)
                  : messages_.send(place, message, other);
}

Result<void> SumMessages::finish(Kind kind, Size round) {
  while (under_way_[static_cast<std::size_t>(kind)][index(round % 2)] > 0) {
    const auto through = messages_.wait();
    if (!through) return tl::unexpected(through.error());
    const std::size_t number = through->place / index(task_.comm.processes());
    --under_way_[number / 2][number % 2];
  }
  return {};
}

Result<void> SumMessages::begin_parcels(Size round, std::span<const std::byte> in) {
  if (auto sent = finish(Kind::parcel_out, round); !sent) return sent;
  const int self = task_.comm.process();
  const int processes = task_.comm.processes();
  for (int distance = 0; distance < processes; ++distance) {
    const int source = (self + processes - distance) % processes;
    if (source == self) {
      own_->pack(round, self, in.data(), place(Kind::parcel_in, round, self));
      continue;
    }
    auto begun = begin(Kind::parcel_in, round, source, place(Kind::parcel_in, round, source),
                       own_->received_bytes(round, source));
    if (!begun) return begun;
    const int owner = (self + distance) % processes;
    std::byte* const parcel = place(Kind::parcel_out, round, owner);
    const Size bytes = own_->pack(round, owner, in.data(), parcel);
    begun = begin(Kind::parcel_out, round, owner, parcel, bytes);
    if (!begun) return begun;
  }
  return {};
}

Result<void> SumMessages::make_sums(Size round) {
  if (auto came = finish(Kind::parcel_in, round); !came) return came;
  if (auto sent = finish(Kind::sums_out, round); !sent) return sent;
  const int self = task_.comm.process();
  const int processes = task_.comm.processes();
  for (int source = 0; source < processes; ++source) {
    parcels_[index(source)] = place(Kind::parcel_in, round, source);
  }
  std::byte* const sums = own_sums(round);
  own_->make(round, parcels_, sums);
  for (int distance = 1; distance < processes; ++distance) {
    const int owner = (self + processes - distance) % processes;
    const auto taken = own_->taken(round, owner);
    auto begun = begin(Kind::sums_in, round, owner,
                       place(Kind::sums_in, round, owner) + taken.begin, taken.bytes());
    if (!begun) return begun;
    const int target = (self + distance) % processes;
    const auto given = own_->given(round, target);
    begun = begin(Kind::sums_out, round, target, sums + given.begin, given.bytes());
    if (!begun) return begun;
  }
  return {};
}

Result<void> SumMessages::take_sums(Size round, std::span<std::byte> out) {
  if (auto came = finish(Kind::sums_in, round); !came) return came;
  for (int owner = 0; owner < task_.comm.processes(); ++owner) {
    const bool own = owner == task_.comm.process();
    own_->take(round, owner, own ? own_sums(round) : place(Kind::sums_in, round, owner),
               out.data());
  }
  return {};
}

Result<void> SumMessages::run(std::span<const std::byte> in, std::span<std::byte> out) {
  if (sizes_.rounds > 0) {
    if (auto begun = begin_parcels(0, in); !begun) return begun;
  }
  for (Size round = 0; round <= sizes_.rounds; ++round) {
    if (round + 1 < sizes_.rounds) {
      if (auto begun = begin_parcels(round + 1, in); !begun) return begun;
    }
    if (round < sizes_.rounds) {
      if (auto made = make_sums(round); !made) return made;
    }
    if (round > 0) {
      if (auto taken = take_sums(round - 1, out); !taken) return taken;
    }
  }
  for (const Kind kind : {Kind::parcel_out, Kind::sums_out}) {
    for (const Size parity : {0, 1}) {
      if (auto sent = finish(kind, parity); !sent) return sent;
    }
  }
  return {};
}

}  // namespace retile::mpi
