// The protocol of SharedExchange, written over a *watch*: what happens at each step, and how bytes
// are stored. The library's own watch does nothing; tests delay steps, kill members in them, hold
// stores back until the fence, and leave out one precaution at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/exec/copy/pass.h"
#include "retile/exec/team/copy_box.h"
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
  no_drain       ///< leaves before its last slots are read
};

/// The watch of the library.
struct Unwatched {
  static constexpr Flaw flaw = Flaw::none;
  PlainStore store;
  void at(Step) const {}
  /// Streaming stores are not ordered by the atomics of Team; ordinary ones are.
  void fence() const {
#if defined(__x86_64__)
    __builtin_ia32_sfence();
#endif
  }
};

/// A box between a tile and a stream of packed bytes, or between two tiles. All in bytes.
struct SharedBox {
  Shape shape;   ///< elements, >= 1 dimension
  Shape packed;  ///< strides of the box without gaps
  Size in_offset = 0;
  Size out_offset = 0;
  Size bytes = 0;
};

/// How far a stream of boxes has been packed or unpacked. Both ends hold the same boxes in the same
/// order, so both cut them alike.
struct SharedCursor {
  std::size_t box = 0;
  std::size_t end = 0;
  Size at = 0;  ///< bytes of the box behind us
  [[nodiscard]] bool finished() const { return box == end; }
};

/// One member's side of the traffic with another member.
struct SharedPeer {
  std::size_t send_begin = 0, send_end = 0;        ///< of the outgoing boxes
  std::size_t receive_begin = 0, receive_end = 0;  ///< of the incoming boxes
  SharedCursor send, receive;
  // Chunks since the team was made: where the counters stood at entry plus those of this run.
  std::uint64_t given = 0;           ///< by this member to the peer
  std::uint64_t given_start = 0;     ///< the same at entry
  std::uint64_t taken_start = 0;     ///< by the peer from this member, at entry
  std::uint64_t given_by_start = 0;  ///< by the peer to this member, at entry
  std::uint64_t taken = 0;           ///< by this member from the peer
  std::uint64_t received = 0;        ///< chunks of this run that this member has begun to unpack
};

/// Boxes of the transfers in which one member takes part, and how they move.
class SharedProtocol {
 public:
  /// What the members agreed on; every word of it is the same on all.
  struct Plan {
    Team* team = nullptr;
    Size element_bytes = 0;
    Size in_bytes = 0, out_bytes = 0;
    Shape in_strides, out_strides;
    Size slots_offset = 0, slots_bytes = 0;
    Size slot_bytes = 0;              ///< 0: nothing can be staged
    std::vector<SharedBox> outgoing;  ///< own first, then by distance of the target
    std::vector<SharedBox> incoming;  ///< by distance of the source, own left out
    std::vector<SharedPeer> peers;    ///< by member; [own] has the boxes that stay
    // The same boxes for tiles in shared memory: one pass over what this member gives, and, where
    // that jumps less, one over what it gets.
    std::optional<copy::Pass> push;
    std::optional<copy::Pass> pull;
  };

  /// Collective; what SharedExchange::create does.
  [[nodiscard]] static Result<std::unique_ptr<SharedProtocol>> create(Team& team,
                                                                      const SharedProblem& problem,
                                                                      const SharedOptions& options);

  explicit SharedProtocol(Plan plan)
      : plan_(std::move(plan)),
        piece_shape_(plan_.in_strides.size(), 1),
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
  /// Hears a word from every member. \error team_broken
  [[nodiscard]] Result<void> hear(std::uint64_t word);

  /// Why these tiles cannot be taken; an empty text where they can.
  [[nodiscard]] std::string objection(std::span<const std::byte> in,
                                      std::span<const std::byte> out) const;
  /// Flags, and the place of `tile` if it lies in this member's memory.
  [[nodiscard]] std::uint64_t word_of(std::span<const std::byte> in, std::span<const std::byte> out,
                                      std::span<const std::byte> tile) const;
  /// Whether all are fine, and which way they go.
  [[nodiscard]] Result<Way> decide(const std::string& objection) const;
  void rewind();
  /// One of the two slots from `source` to `target`, which lie in the memory of the source.
  [[nodiscard]] std::byte* slot(int source, int target, std::uint64_t chunk) const;

  struct Piece {
    Size in_offset = 0, out_offset = 0;
    Size bytes = 0;
  };
  /// The next piece of at most `room` bytes, a box whose shape is then in piece_shape_.
  Piece take(const std::vector<SharedBox>& boxes, SharedCursor& cursor, Size room);

  template <typename Watch>
  [[nodiscard]] Result<void> direct(Way way, std::span<const std::byte> in,
                                    std::span<std::byte> out, Watch& watch);
  template <typename Watch>
  [[nodiscard]] Result<void> staged(std::span<const std::byte> in, std::span<std::byte> out,
                                    Watch& watch);
  template <typename Watch>
  [[nodiscard]] Result<void> send_chunk(int target, std::span<const std::byte> in, Watch& watch);
  template <typename Watch>
  [[nodiscard]] Result<void> receive_chunk(int source, std::span<std::byte> out, Watch& watch);
  template <typename Watch>
  void copy_own(std::span<const std::byte> in, std::byte* out, Watch& watch);

  Plan plan_;
  Shape piece_shape_;
  std::vector<std::uint64_t> words_;  ///< what each member has told at entry
  std::vector<const std::byte*> sources_;
  std::vector<std::byte*> targets_;
};

template <typename Watch>
Result<SharedPath> SharedProtocol::run(std::span<const std::byte> in, std::span<std::byte> out,
                                       Watch& watch) {
  const std::string complaint = objection(in, out);
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
  const auto way = decide(complaint);
  if (!way) return refuse(way.error());
  if (*way == Way::push && plan_.pull) {  // not all old tiles are shared, but all new ones are
    if (auto heard = hear(word_of(in, out, out)); !heard) return refuse(heard.error());
  }
  auto done = *way == Way::staged ? staged(in, out, watch) : direct(*way, in, out, watch);
  if (!done) return refuse(done.error());
  return *way == Way::staged ? SharedPath::staged : SharedPath::direct;
}

// Entry: nobody writes into or reads from a tile before its owner has said where it is, so its
// owner has entered run(): its old tile is complete, and it no longer reads what was in the new
// one. Exit: nobody leaves before all have copied, and what they wrote (fenced, if streamed)
// happens before. A member only writes where no other does, since transfers do not overlap.
template <typename Watch>
Result<void> SharedProtocol::direct(Way way, std::span<const std::byte> in,
                                    std::span<std::byte> out, Watch& watch) {
  watch.at(Step::copy);
  if constexpr (std::is_same_v<decltype(watch.store), PlainStore>) {
    for (int member = 0; member < team().members(); ++member) {
      const auto k = static_cast<std::size_t>(member);
      if (way == Way::push) {
        targets_[k] = tile_of(member);
      } else {
        sources_[k] = tile_of(member);
      }
    }
    if (way == Way::push) {
      plan_.push->push(in.data(), targets_);
    } else {
      plan_.pull->pull(sources_, out.data());
    }
  } else {  // a test's stores, run by run
    RETILE_ASSERT(way == Way::push, "stores of a test are pushed");
    for (int distance = 0; distance < team().members(); ++distance) {
      const int target = after(distance);
      for (std::size_t k = peer(target).send_begin; k < peer(target).send_end; ++k) {
        const SharedBox& box = plan_.outgoing[k];
        copy_box(box.shape, plan_.element_bytes, in.data() + box.in_offset, plan_.in_strides,
                 tile_of(target) + box.out_offset, plan_.out_strides, watch.store);
      }
    }
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
      SharedPeer& target = peer(after(distance));
      if (target.send.finished()) continue;
      if (auto sent = send_chunk(after(distance), in, watch); !sent) return sent;
      more = true;
    }
    if (step == 0) {
      copy_own(in, out.data(), watch);
      more = true;
      continue;
    }
    for (int distance = 1; distance < team().members(); ++distance) {
      const int source = after(team().members() - distance);
      if (peer(source).receive.finished()) continue;
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
  std::byte* const begin = slot(team().member(), target, chunk);
  Size filled = 0;
  while (!to.send.finished() && plan_.slot_bytes - filled >= plan_.element_bytes) {
    const std::size_t box = to.send.box;
    const Piece piece = take(plan_.outgoing, to.send, plan_.slot_bytes - filled);
    copy_box(piece_shape_, plan_.element_bytes, in.data() + piece.in_offset, plan_.in_strides,
             begin + filled, plan_.outgoing[box].packed, watch.store);
    filled += piece.bytes;
  }
  if constexpr (Watch::flaw != Flaw::no_fence) watch.fence();
  watch.at(Step::raise_ready);
  if constexpr (Watch::flaw != Flaw::early_ready) team().advance(target, to.given);
  return {};
}

template <typename Watch>
Result<void> SharedProtocol::receive_chunk(int source, std::span<std::byte> out, Watch& watch) {
  SharedPeer& from = peer(source);
  const std::uint64_t chunk = from.received++;
  watch.at(Step::data_wait);
  if constexpr (Watch::flaw != Flaw::no_data_wait) {
    auto ready = team().await(source, team().member(), from.given_by_start + chunk + 1);
    if (!ready) return ready;
  }
  ++from.taken;
  const int about = team().members() + source;
  if constexpr (Watch::flaw == Flaw::early_taken) team().advance(about, from.taken);
  watch.at(Step::unpack);
  const std::byte* const begin = slot(source, team().member(), chunk);
  Size read = 0;
  while (!from.receive.finished() && plan_.slot_bytes - read >= plan_.element_bytes) {
    const std::size_t box = from.receive.box;
    const Piece piece = take(plan_.incoming, from.receive, plan_.slot_bytes - read);
    copy_box(piece_shape_, plan_.element_bytes, begin + read, plan_.incoming[box].packed,
             out.data() + piece.out_offset, plan_.out_strides, PlainStore{});
    read += piece.bytes;
  }
  watch.at(Step::raise_taken);
  if constexpr (Watch::flaw != Flaw::early_taken) team().advance(about, from.taken);
  return {};
}

template <typename Watch>
void SharedProtocol::copy_own(std::span<const std::byte> in, std::byte* out, Watch& watch) {
  watch.at(Step::copy);
  const SharedPeer& own = peer(team().member());
  for (std::size_t k = own.send_begin; k < own.send_end; ++k) {
    const SharedBox& box = plan_.outgoing[k];
    copy_box(box.shape, plan_.element_bytes, in.data() + box.in_offset, plan_.in_strides,
             out + box.out_offset, plan_.out_strides, PlainStore{});
  }
}

}  // namespace retile::team
