// Messages over a transport, for the tests of all transports.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "retile/core/result.h"
#include "retile/exec/cuda/transport.h"
#include "retile/exec/npy/splitmix.h"

namespace retile::test {

inline std::byte byte_of(int from, int to, int message, std::size_t i) {
  const auto number = static_cast<std::uint64_t>((from * 64 + to) * 1024 + message) << 24U;
  return static_cast<std::byte>(splitmix64(number + i));
}

/// Bytes of a message; some are empty, some fill many slots, and the two directions differ.
inline std::size_t size_of(int from, int to, int message) {
  const auto drawn = splitmix64(static_cast<std::uint64_t>((from * 64 + to) * 1024 + message));
  return drawn % 4 == 0 ? 0 : static_cast<std::size_t>(drawn >> 8U) % 3000;
}

/// All to all in rounds, gathers between them; what is wrong is counted.
inline Result<int> send_messages(cuda::Transport& transport, int messages) {
  const int me = transport.member();
  const int members = transport.members();
  int wrong = 0;
  for (int message = 0; message < messages; ++message) {
    for (int round = 1; round < members; ++round) {
      const int target = (me + round) % members;
      const int source = (me - round + members) % members;
      std::vector<std::byte> out(size_of(me, target, message));
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = byte_of(me, target, message, i);
      std::vector<std::byte> in(size_of(source, me, message));
      auto moved = transport.send_receive(target, out, source, in);
      if (!moved) return refuse(moved.error());
      std::fill(out.begin(), out.end(), std::byte{0});  // it has left
      for (std::size_t i = 0; i < in.size(); ++i) {
        wrong += in[i] != byte_of(source, me, message, i) ? 1 : 0;
      }
    }
    const int mine = me * 1000 + message;
    std::vector<int> all(static_cast<std::size_t>(members));
    auto gathered = transport.gather(std::as_bytes(std::span(&mine, 1)),
                                     std::as_writable_bytes(std::span(all)));
    if (!gathered) return refuse(gathered.error());
    for (int k = 0; k < members; ++k) {
      wrong += all[static_cast<std::size_t>(k)] != k * 1000 + message ? 1 : 0;
    }
  }
  return wrong;
}

}  // namespace retile::test
