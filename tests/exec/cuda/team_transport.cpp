#include "exec/cuda/team_transport.h"

#include <algorithm>
#include <cstring>

#include "retile/core/assert.h"

namespace retile::cuda {

TeamTransport::TeamTransport(team::Team& team, std::size_t slot)
    : team_(&team), slot_(slot), peers_(static_cast<std::size_t>(team.members())) {
  const int me = team.member();
  for (int other = 0; other < team.members(); ++other) {
    peers_[static_cast<std::size_t>(other)] = {
        .given = team.counter(me, other),
        .taken_by_peer = team.counter(other, team.members() + me),
        .received = team.counter(other, me),
        .taken = team.counter(me, team.members() + other),
    };
  }
}

Result<std::unique_ptr<TeamTransport>> TeamTransport::create(team::Team& team, Size slot) {
  RETILE_ASSERT(slot >= 1 && slot <= slot_bytes, "a slot that does not fit its place");
  RETILE_ASSERT(static_cast<Size>(team.memory(team.member()).size()) >= memory_bytes,
                "a team with too little memory for a transport");
  // Private constructor, so no make_unique.
  std::unique_ptr<TeamTransport> out(new TeamTransport(team, static_cast<std::size_t>(slot)));
  if (auto met = team.barrier(); !met) return refuse(met.error());
  return out;
}

Result<void> TeamTransport::gather(std::span<const std::byte> mine, std::span<std::byte> all) {
  const auto count = static_cast<std::size_t>(members());
  RETILE_ASSERT(mine.size() <= most_gathered_bytes && all.size() == count * mine.size(),
                "a gather of other sizes");
  if (!mine.empty()) std::memcpy(team_->memory(member()).data(), mine.data(), mine.size());
  if (auto met = team_->barrier(); !met) return met;
  for (int other = 0; other < members() && !mine.empty(); ++other) {
    std::memcpy(all.data() + static_cast<std::size_t>(other) * mine.size(),
                team_->memory(other).data(), mine.size());
  }
  return team_->barrier();  // nobody writes anew before all have read
}

std::byte* TeamTransport::slot(int member, std::size_t number) const {
  return team_->memory(member).data() + most_gathered_bytes + number * slot_;
}

Result<void> TeamTransport::send_piece(int target, std::size_t slot_number,
                                       std::span<const std::byte> piece) {
  const int me = member();
  Reader& reader = readers_[slot_number];
  if (reader.target >= 0) {
    auto read = team_->await(reader.target, members() + me, reader.taken);
    if (!read) return read;
  }
  std::memcpy(slot(me, slot_number), piece.data(), piece.size());
  Peer& peer = peers_[static_cast<std::size_t>(target)];
  reader = {.target = target, .taken = ++peer.taken_by_peer};
  team_->advance(target, ++peer.given);
  return {};
}

Result<void> TeamTransport::receive_piece(int source, std::size_t slot_number,
                                          std::span<std::byte> piece) {
  Peer& peer = peers_[static_cast<std::size_t>(source)];
  auto there = team_->await(source, member(), ++peer.received);
  if (!there) return there;
  std::memcpy(piece.data(), slot(source, slot_number), piece.size());
  team_->advance(members() + source, ++peer.taken);
  return {};
}

Result<void> TeamTransport::send_receive(int target, std::span<const std::byte> out, int source,
                                         std::span<std::byte> in) {
  // Piece k of a call lies in slot k mod 2, on both sides. Whoever has done fewest pieces of a
  // round is waited for by nobody it waits for, so somebody always goes on.
  for (std::size_t k = 0; !out.empty() || !in.empty(); ++k) {
    if (!out.empty()) {
      const auto piece = out.first(std::min(out.size(), slot_));
      if (auto sent = send_piece(target, k % 2, piece); !sent) return sent;
      out = out.subspan(piece.size());
    }
    if (!in.empty()) {
      const auto piece = in.first(std::min(in.size(), slot_));
      if (auto received = receive_piece(source, k % 2, piece); !received) return received;
      in = in.subspan(piece.size());
    }
  }
  return {};
}

}  // namespace retile::cuda
