// The protocol of SharedExchange, written over a *watch*: what happens at each step, and how bytes
// get where others see them. The library's own watch does nothing more; tests delay steps, kill
// members in them, hold stores back until the fence, and leave out one precaution at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/copy/box_stream.h"
#include "retile/exec/copy/pass.h"
#include "retile/exec/team/shared.h"
#include "retile/exec/team/team.h"

namespace retile::team {

/// Where a watch is called: before what the name says.
enum class Step {
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

/// What a negative control does wrong.
enum class Flaw {
  none,
  no_entry,      ///< writes into tiles whose owners may still read or write them
  no_fence,      ///< streaming stores may come after the barrier
  no_exit,       ///< reads its tile before the others have written
  no_slot_wait,  ///< packs into a slot that is still being read
  no_data_wait,  ///< unpacks a slot that is still being written
  early_ready,   ///< says "packed" before packing
  early_taken,   ///< says "unpacked" before unpacking
  no_drain,      ///< leaves before its last slots are read
  one_copy       ///< overwrites a copy that others may still read
};

/// The watch of the library.
struct Unwatched {
  static constexpr Flaw flaw = Flaw::none;
  void at(Step) const {}
  /// Writes into tiles of all members, of `out_bytes` each.
  void push(const copy::Pass& pass, const std::byte* in, std::span<std::byte* const> targets,
            [[maybe_unused]] Size out_bytes) const {
    pass.push(in, targets);
  }
  /// Fills a slot with what comes next.
  void pack(copy::BoxStream& boxes, copy::BoxStream::Cursor& cursor, const std::byte* tile,
            std::byte* slot, Size room) const {
    boxes.pack(cursor, tile, slot, room);
  }
  /// Copies an old tile to where others take it from.
  void copy(std::span<const std::byte> tile, std::byte* copy) const {
    std::memcpy(copy, tile.data(), tile.size());
  }
  /// Streaming stores are not ordered by the atomics of Team; ordinary ones are.
  void fence() const {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
  }
};

/// One member's side of the traffic with another member.
struct SharedPeer {
  // Where there is nothing to send or no slot to send it through there is no stream.
  std::optional<copy::BoxStream> outgoing, incoming;
  copy::BoxStream::Cursor sent, received;
  // Chunks since the team was made: where the counters stood at entry plus those of this run.
  std::uint64_t given = 0;           ///< by this member to the peer
  std::uint64_t given_start = 0;     ///< the same at entry
  std::uint64_t taken_start = 0;     ///< by the peer from this member, at entry
  std::uint64_t given_by_start = 0;  ///< by the peer to this member, at entry
  std::uint64_t taken = 0;           ///< by this member from the peer
  std::uint64_t begun = 0;           ///< chunks of this run that this member has begun to unpack

  [[nodiscard]] bool all_sent() const { return !outgoing || outgoing->finished(sent); }
  [[nodiscard]] bool all_received() const { return !incoming || incoming->finished(received); }
};

/// The transfers in which one member takes part, and how they move.
class SharedProtocol {
 public:
  /// What the members agreed on; every word of it is the same on all.
  struct Plan {
    Team* team = nullptr;
    Size in_bytes = 0, out_bytes = 0;
    Size slots_offset = 0, slots_bytes = 0;
    Size slot_bytes = 0;  ///< 0: no slots
    bool copies = false;
    Size copies_offset = 0;
    // For tiles outside shared memory: what goes through slots, by member, and what stays.
    std::vector<SharedPeer> peers;
    std::optional<copy::Pass> kept;
    // For tiles in shared memory: one pass over what this member gives, and, where that jumps less,
    // one over what it gets; with copies that one alone.
    std::optional<copy::Pass> push;
    std::optional<copy::Pass> pull;
  };

  /// Collective; what SharedExchange::create does.
  [[nodiscard]] static Result<std::unique_ptr<SharedProtocol>> create(Team& team,
                                                                      const SharedProblem& problem,
                                                                      const SharedOptions& options);

  explicit SharedProtocol(Plan plan)
      : plan_(std::move(plan)),
        words_(plan_.peers.size(), 0),
        sources_(plan_.peers.size(), nullptr),
        targets_(plan_.peers.size(), nullptr) {}

  [[nodiscard]] Size held_bytes() const;

  template <typename Watch>
  [[nodiscard]] Result<SharedPath> run(std::span<const std::byte> in, std::span<std::byte> out,
                                       Watch& watch);

 private:
  // The word that a member tells at entry: flags, and where a tile of it lies in its memory.
  static constexpr std::uint64_t fine = 1, can_stage = 2, out_is_shared = 4, in_is_shared = 8;
  static constexpr int offset_shift = 4;
  enum class Way { push, pull, staged };

  [[nodiscard]] Team& team() const { return *plan_.team; }
  [[nodiscard]] SharedPeer& peer(int member) {
    return plan_.peers[static_cast<std::size_t>(member)];
  }
  /// The member `distance` places after this one.
  [[nodiscard]] int after(int distance) const {
    return (team().member() + distance) % team().members();
  }

  /// Where the tile of `member` that it has told of lies in this member's address space.
  [[nodiscard]] std::byte* tile_of(int member) const {
    const std::uint64_t offset = words_[static_cast<std::size_t>(member)] >> offset_shift;
    return team().memory(member).data() + offset;
  }
  /// Hears a word from every member.
  /// \error team_broken
  [[nodiscard]] Result<void> hear(std::uint64_t word);

  /// Why these tiles cannot be taken; an empty text where they can. Allocates nothing: the others
  /// wait for this member to say that it objects.
  [[nodiscard]] std::string_view objection(std::span<const std::byte> in,
                                           std::span<const std::byte> out) const;
  /// Flags, and the place of `tile` if it lies in this member's memory.
  [[nodiscard]] std::uint64_t word_of(std::span<const std::byte> in, std::span<const std::byte> out,
                                      std::span<const std::byte> tile) const;
  /// Whether all are fine; the first argument is this member's objection to the others.
  [[nodiscard]] Result<void> all_fine(std::string_view objection, std::span<const std::byte> in,
                                      std::span<const std::byte> out) const;
  /// Which way they go then.
  [[nodiscard]] Result<Way> decide() const;
  void rewind();
  /// One of the two slots from `source` to `target`, which lie in the memory of the source.
  [[nodiscard]] std::byte* slot(int source, int target, std::uint64_t chunk) const;

  template <typename Watch>
  [[nodiscard]] Result<void> direct(Way way, std::span<const std::byte> in,
                                    std::span<std::byte> out, Watch& watch);
  template <typename Watch>
  [[nodiscard]] Result<void> copied(std::span<const std::byte> in, std::span<std::byte> out,
                                    Watch& watch);
  template <typename Watch>
  [[nodiscard]] Result<void> staged(std::span<const std::byte> in, std::span<std::byte> out,
                                    Watch& watch);
  template <typename Watch>
  [[nodiscard]] Result<void> send_chunk(int target, std::span<const std::byte> in, Watch& watch);
  template <typename Watch>
  [[nodiscard]] Result<void> receive_chunk(int source, std::span<std::byte> out, Watch& watch);

  Plan plan_;
  std::uint64_t runs_ = 0;            ///< with copies; the same on all members
  std::vector<std::uint64_t> words_;  ///< what each member has told at entry
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> targets_;
};

template <typename Watch>
Result<SharedPath> SharedProtocol::run(std::span<const std::byte> in, std::span<std::byte> out,
                                       Watch& watch) {
  if (plan_.copies) {
    if (auto done = copied(in, out, watch); !done) return refuse(std::move(done.error()));
    return SharedPath::copied;
  }
  const std::string_view complaint = objection(in, out);
  rewind();
  watch.at(Step::entry);
  // Where pulling is better, members tell where their old tiles lie, else where the new ones do.
  const std::span<const std::byte> told = plan_.pull ? in : std::span<const std::byte>(out);
  const std::uint64_t word = complaint.empty() ? word_of(in, out, told) : 0;
  if constexpr (Watch::flaw == Flaw::no_entry) {
    words_.assign(words_.size(), word);  // takes it that all are where it is itself
  } else {
    if (auto heard = hear(word); !heard) return refuse(heard.error());
  }
  if (auto all = all_fine(complaint, in, out); !all) {
    return refuse(std::move(all.error()));
  }
  const auto way = decide();
  if (!way) return refuse(way.error());
  if (*way == Way::push && plan_.pull) {  // not all old tiles are shared, but all new ones are
    const std::uint64_t new_word = word_of(in, out, out);
    if constexpr (Watch::flaw == Flaw::no_entry) {
      words_.assign(words_.size(), new_word);
    } else {
      if (auto heard = hear(new_word); !heard) return refuse(heard.error());
    }
  }
  auto done = *way == Way::staged ? staged(in, out, watch) : direct(*way, in, out, watch);
  if (!done) return refuse(done.error());
  return *way == Way::staged ? SharedPath::staged : SharedPath::direct;
}

// No early read: all copies are made before the one barrier, and are read behind it. No early
// write: the copy of run k is overwritten in run k + 2, by a member that has left the barrier of
// run k + 1, which all have entered when they had read those of run k.
template <typename Watch>
Result<void> SharedProtocol::copied(std::span<const std::byte> in, std::span<std::byte> out,
                                    Watch& watch) {
  const std::string_view complaint = objection(in, out);
  const Size second = copies_bytes(plan_.in_bytes) / 2;
  const std::uint64_t turn = Watch::flaw == Flaw::one_copy ? 0 : runs_++ % 2;
  const auto offset = static_cast<std::size_t>(plan_.copies_offset + (turn == 0 ? 0 : second));
  watch.at(Step::entry);
  watch.at(Step::copy);
  if (complaint.empty()) {
    watch.copy(in, team().memory(team().member()).data() + offset);
    watch.at(Step::fence);
    if constexpr (Watch::flaw != Flaw::no_fence) watch.fence();
  }
  watch.at(Step::exit);
  if constexpr (Watch::flaw == Flaw::no_entry) {
    words_.assign(words_.size(), fine);
  } else {
    if (auto heard = hear(complaint.empty() ? fine : 0); !heard) return heard;
  }
  if (auto all = all_fine(complaint, in, out); !all) return all;
  for (int member = 0; member < team().members(); ++member) {
    sources_[static_cast<std::size_t>(member)] = team().memory(member).data() + offset;
  }
  watch.at(Step::unpack);
  plan_.pull->pull(sources_, out.data());
  return {};
}

// Entry: nobody writes into or reads from a tile before its owner has said where it is, so its
// owner has entered run(): its old tile is complete, and it no longer reads what was in the new
// one. Exit: nobody leaves before all have copied, and what they wrote (fenced, if streamed)
// happens before. A member only writes where no other does, since transfers do not overlap.
template <typename Watch>
Result<void> SharedProtocol::direct(Way way, std::span<const std::byte> in,
                                    std::span<std::byte> out, Watch& watch) {
  watch.at(Step::copy);
  for (int member = 0; member < team().members(); ++member) {
    const auto k = static_cast<std::size_t>(member);
    if (way == Way::push) {
      targets_[k] = tile_of(member);
    } else {
      sources_[k] = tile_of(member);
    }
  }
  if (way == Way::push) {
    watch.push(*plan_.push, in.data(), targets_, plan_.out_bytes);
  } else {
    plan_.pull->pull(sources_, out.data());
  }
  watch.at(Step::fence);
  if constexpr (Watch::flaw != Flaw::no_fence) watch.fence();
  watch.at(Step::exit);
  if constexpr (Watch::flaw == Flaw::no_exit) return {};
  return team().barrier();
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
Result<void> SharedProtocol::staged(std::span<const std::byte> in, std::span<std::byte> out,
                                    Watch& watch) {
  bool more = true;
  for (int step = 0; more; ++step) {
    more = false;
    for (int distance = 1; distance < team().members(); ++distance) {
      if (peer(after(distance)).all_sent()) continue;
      if (auto sent = send_chunk(after(distance), in, watch); !sent) return sent;
      more = true;
    }
    if (step == 0) {
      watch.at(Step::copy);
      if (plan_.kept) {
        targets_[static_cast<std::size_t>(team().member())] = out.data();
        plan_.kept->push(in.data(), targets_);
      }
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
  watch.at(Step::drain);
  if constexpr (Watch::flaw == Flaw::no_drain) return {};
  for (int distance = 1; distance < team().members(); ++distance) {
    const int target = after(distance);
    const SharedPeer& to = peer(target);
    const std::uint64_t all = to.taken_start + (to.given - to.given_start);
    auto taken = team().await(target, team().members() + team().member(), all);
    if (!taken) return taken;
  }
  return {};
}

template <typename Watch>
Result<void> SharedProtocol::send_chunk(int target, std::span<const std::byte> in, Watch& watch) {
  SharedPeer& to = peer(target);
  const std::uint64_t chunk = to.given - to.given_start;
  watch.at(Step::slot_wait);
  if (Watch::flaw != Flaw::no_slot_wait && chunk >= 2) {
    auto free =
        team().await(target, team().members() + team().member(), to.taken_start + chunk - 1);
    if (!free) return free;
  }
  ++to.given;
  if constexpr (Watch::flaw == Flaw::early_ready) team().advance(target, to.given);
  watch.at(Step::pack);
  watch.pack(*to.outgoing, to.sent, in.data(), slot(team().member(), target, chunk),
             plan_.slot_bytes);
  if constexpr (Watch::flaw != Flaw::no_fence) watch.fence();
  watch.at(Step::raise_ready);
  if constexpr (Watch::flaw != Flaw::early_ready) team().advance(target, to.given);
  return {};
}

template <typename Watch>
Result<void> SharedProtocol::receive_chunk(int source, std::span<std::byte> out, Watch& watch) {
  SharedPeer& from = peer(source);
  const std::uint64_t chunk = from.begun++;
  watch.at(Step::data_wait);
  if constexpr (Watch::flaw != Flaw::no_data_wait) {
    auto ready = team().await(source, team().member(), from.given_by_start + chunk + 1);
    if (!ready) return ready;
  }
  ++from.taken;
  const int about = team().members() + source;
  if constexpr (Watch::flaw == Flaw::early_taken) team().advance(about, from.taken);
  watch.at(Step::unpack);
  from.incoming->unpack(from.received, slot(source, team().member(), chunk), out.data(),
                        plan_.slot_bytes);
  watch.at(Step::raise_taken);
  if constexpr (Watch::flaw != Flaw::early_taken) team().advance(about, from.taken);
  return {};
}

}  // namespace retile::team
