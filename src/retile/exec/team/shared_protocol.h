// The protocol of SharedExchange, written over a *watch*: everything by which members wait for each
// other, and by which bytes get where others see them, goes through it. The library's own watch does
// just that; those of tests delay members, kill them, or hold stores back until the fence.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <utility>

#include "retile/exec/team/shared.h"

namespace retile::team {

/// Where a watch is called: before what the name says.
enum class Moment {
  entry,
  copy,
  fence,
  exit,
  slot_wait,
  pack,
  raise_ready,
  data_wait,
  unpack,
  raise_taken,
  drain
};

/// The watch of the library.
struct Unwatched {
  /// \param other  of `pack` and `unpack`, the member that the bytes go to or come from
  void at(Moment, [[maybe_unused]] int other = -1) const {}

  /// Tells all a word and hears theirs.
  [[nodiscard]] Result<void> hear(Team& team, std::uint64_t word,
                                  std::span<std::uint64_t> words) const {
    if (auto told = team.tell(word); !told) return told;
    for (int member = 0; member < team.members(); ++member) {
      words[static_cast<std::size_t>(member)] = team.told(member);
    }
    return {};
  }
  [[nodiscard]] Result<void> leave(Team& team) const { return team.barrier(); }
  /// Waits for a counter, for the reason that the moment names; raises one of this member's.
  [[nodiscard]] Result<void> await(Moment, Team& team, int owner, int about,
                                   std::uint64_t value) const {
    return team.await(owner, about, value);
  }
  void advance(Moment, Team& team, int about, std::uint64_t value) const {
    team.advance(about, value);
  }
  /// Which of the two copies of a tile is this run's.
  [[nodiscard]] std::uint64_t copy_of(std::uint64_t run) const { return run % 2; }

  /// Writes into tiles of all members; this one's has `out_bytes`.
  void push(const copy::Pass& pass, std::span<const std::byte* const> sources,
            std::span<std::byte* const> targets, [[maybe_unused]] Size out_bytes) const {
    pass.run(sources, targets);
  }
  /// Fills a slot with what comes next.
  void pack(copy::BoxStream& boxes, copy::BoxStream::Cursor& cursor, const std::byte* tile,
            std::byte* slot, Size room) const {
    boxes.pack(cursor, tile, slot, room);
  }
  /// Copies an old tile to where others take it from.
  void copy(std::span<const std::byte> tile, std::byte* copy) const {
    if (!tile.empty()) std::memcpy(copy, tile.data(), tile.size());
  }
  /// Streaming stores are not ordered by the atomics of Team; ordinary ones are.
  void fence() const {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
  }
};

template <typename Watch>
Result<SharedPath> SharedExchange::run(std::span<const std::byte> in, std::span<std::byte> out,
                                       Watch& watch) {
  if (options_.copies) {
    if (auto done = copied(in, out, watch); !done) return refuse(std::move(done.error()));
    return SharedPath::copied;
  }
  const auto way = enter(in, out, watch);
  if (!way) return refuse(way.error());
  auto done = *way == Way::staged ? staged(in, out, watch) : straight(*way, in, out, watch);
  if (!done) return refuse(done.error());
  return *way == Way::staged ? SharedPath::staged : SharedPath::straight;
}

/// Tells all where this member's tiles are, and hears where theirs are.
template <typename Watch>
Result<SharedExchange::Way> SharedExchange::enter(std::span<const std::byte> in,
                                                  std::span<std::byte> out, Watch& watch) {
  rewind();
  watch.at(Moment::entry);
  // Where pulling is better, members tell where their old tiles lie, else where the new ones do.
  const std::span<const std::byte> told = pull_ ? in : std::span<const std::byte>(out);
  auto heard = watch.hear(team(), word_of(in, out, told), words_);
  if (!heard) return refuse(heard.error());
  if (auto all = all_fine(); !all) return refuse(std::move(all.error()));
  auto way = decide();
  if (way && *way == Way::push && pull_) {  // not all old tiles are shared, but all new ones are
    heard = watch.hear(team(), word_of(in, out, out), words_);
    if (!heard) return refuse(heard.error());
  }
  return way;
}

// No early read: all copies are made before the one barrier, and are read behind it. No early
// write: the copy of run k is overwritten in run k + 2, by a member that has left the barrier of
// run k + 1, which all have entered when they had read those of run k.
template <typename Watch>
Result<void> SharedExchange::copied(std::span<const std::byte> in, std::span<std::byte> out,
                                    Watch& watch) {
  const std::uint64_t word = word_of(in, out, out);
  const Size bytes = copies_bytes(copied_bytes_) / 2;
  const std::uint64_t turn = watch.copy_of(runs_++);
  const Size offset = options_.copies_offset + (turn == 0 ? 0 : bytes);
  watch.at(Moment::entry);
  watch.at(Moment::copy);
  if (word != 0) {
    watch.copy(in, place(team().member(), offset, bytes));
    watch.at(Moment::fence);
    watch.fence();
  }
  watch.at(Moment::exit);
  if (auto heard = watch.hear(team(), word, words_); !heard) return heard;
  if (auto all = all_fine(); !all) return all;
  for (int member = 0; member < team().members(); ++member) {
    sources_[static_cast<std::size_t>(member)] = place(member, offset, bytes);
  }
  watch.at(Moment::unpack);
  targets_[static_cast<std::size_t>(team().member())] = out.data();
  pull_->run(sources_, targets_);
  return {};
}

// Entry: nobody writes into or reads from a tile before its owner has said where it is, so its
// owner has entered run(): its old tile is complete, and it no longer reads what was in the new
// one. Exit: nobody leaves before all have copied, and what they wrote (fenced, if streamed)
// happens before. A member only writes where no other does, since transfers do not overlap.
template <typename Watch>
Result<void> SharedExchange::straight(Way way, std::span<const std::byte> in,
                                      std::span<std::byte> out, Watch& watch) {
  watch.at(Moment::copy);
  for (int member = 0; member < team().members(); ++member) {
    const auto k = static_cast<std::size_t>(member);
    const bool mine = member == team().member();
    sources_[k] = way == Way::pull ? tile_of(member) : mine ? in.data() : nullptr;
    targets_[k] = way == Way::push ? tile_of(member) : mine ? out.data() : nullptr;
  }
  if (way == Way::push) {
    watch.push(*push_, sources_, targets_, out_bytes_);
  } else {
    pull_->run(sources_, targets_);
  }
  watch.at(Moment::fence);
  watch.fence();
  watch.at(Moment::exit);
  return watch.leave(team());
}

// Between each two members flows a stream of chunks in both directions, chunk k through slot k mod
// 2. Each member does in this order: send 0 | send 1, receive 0 | send 2, receive 1 | .., each for
// all its peers.
//
// No deadlock: give "send k" the number 2k and "receive k" the number 2k + 3; every member does its
// work in ascending order. Send k waits for receive k - 2 of the target, number 2k - 1; receive k
// waits for send k of the source, number 2k. So everything waits only for what has a smaller
// number, and of all unfinished work what has the smallest number can go on. This holds for any
// number of members and any lengths of the streams.
//
// No early read: a chunk is unpacked after the wait for `given`, which is advanced behind packing.
// No early write: chunk k is packed after the wait for `taken` to pass chunk k - 2, advanced behind
// unpacking. At the end a member waits until its last chunks are taken, so that the next run finds
// all counters about it at rest.
template <typename Watch>
Result<void> SharedExchange::staged(std::span<const std::byte> in, std::span<std::byte> out,
                                    Watch& watch) {
  bool more = true;
  for (Size step = 0; more; ++step) {
    more = false;
    for (int distance = 1; distance < team().members(); ++distance) {
      if (peer(after(distance)).all_sent()) continue;
      if (auto sent = send_chunk(after(distance), in, watch); !sent) return sent;
      more = true;
    }
    if (kept_ && step < shares_of_kept_) {
      watch.at(Moment::copy);
      kept_->run(std::array{in.data()}, std::array{out.data()}, {step, shares_of_kept_});
      more = true;
    }
    if (step == 0) {
      more = true;
      continue;
    }
    for (int distance = 1; distance < team().members(); ++distance) {
      const int source = after(team().members() - distance);
      if (peer(source).all_received()) continue;
      if (auto received = receive_chunk(source, out, watch); !received) return received;
      more = true;
    }
  }
  watch.at(Moment::drain);
  const int about_me = team().members() + team().member();
  for (int distance = 1; distance < team().members(); ++distance) {
    const int target = after(distance);
    const SharedPeer& to = peer(target);
    const std::uint64_t all = to.taken_start + (to.given - to.given_start);
    auto taken = watch.await(Moment::drain, team(), target, about_me, all);
    if (!taken) return taken;
  }
  return {};
}

template <typename Watch>
Result<void> SharedExchange::send_chunk(int target, std::span<const std::byte> in, Watch& watch) {
  SharedPeer& to = peer(target);
  const std::uint64_t chunk = to.given - to.given_start;
  watch.at(Moment::slot_wait);
  if (chunk >= 2) {
    const int about_me = team().members() + team().member();
    auto free =
        watch.await(Moment::slot_wait, team(), target, about_me, to.taken_start + chunk - 1);
    if (!free) return free;
  }
  watch.at(Moment::pack, target);
  watch.pack(*to.outgoing, to.sent, in.data(), slot(team().member(), target, chunk), slot_bytes_);
  watch.fence();
  watch.at(Moment::raise_ready);
  watch.advance(Moment::raise_ready, team(), target, ++to.given);
  return {};
}

template <typename Watch>
Result<void> SharedExchange::receive_chunk(int source, std::span<std::byte> out, Watch& watch) {
  SharedPeer& from = peer(source);
  const std::uint64_t chunk = from.begun++;
  watch.at(Moment::data_wait);
  auto ready = watch.await(Moment::data_wait, team(), source, team().member(),
                           from.given_by_start + chunk + 1);
  if (!ready) return ready;
  watch.at(Moment::unpack, source);
  from.incoming->unpack(from.received, slot(source, team().member(), chunk), out.data(),
                        slot_bytes_);
  watch.at(Moment::raise_taken);
  watch.advance(Moment::raise_taken, team(), team().members() + source, ++from.taken);
  return {};
}

}  // namespace retile::team
