#include "retile/network/network.h"

#include <algorithm>
#include <utility>

#include "retile/core/assert.h"

namespace retile::network {

Network::Network(Size devices, std::vector<Level> levels)
    : devices_(devices), levels_(std::move(levels)) {
  std::vector<std::pair<Digit, std::size_t>> all;
  domain_sizes_.push_back(1);
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    Size size = domain_sizes_.back();
    for (const Digit& digit : levels_[l].digits) {
      all.emplace_back(digit, l);
      size *= digit.size;
    }
    domain_sizes_.push_back(size);
    if (l == 0) continue;
    const Link& inner = levels_[l - 1].link;
    const Link& outer = levels_[l].link;
    RETILE_ASSERT(
        outer.bytes_per_second <= inner.bytes_per_second && outer.latency >= inner.latency,
        "levels go from the inside out");
  }
  std::sort(all.begin(), all.end(),
            [](const auto& a, const auto& b) { return a.first.stride < b.first.stride; });
  Size reach = 1;
  for (const auto& [digit, level] : all) {
    RETILE_ASSERT(digit.stride == reach, "every digit has one level");
    reach *= digit.size;
    all_.push_back(digit);
    level_at_.push_back(level);
  }
  RETILE_ASSERT(reach == devices_, "every digit has one level");
  for (std::size_t k = 1; k < all_.size(); ++k) {
    if (level_at_[k] != level_at_[k - 1]) ends_.push_back(all_[k].stride);
  }
}

std::size_t Network::level_of(const Digit& digit) const {
  std::size_t out = 0;
  const Size end = digit.stride * digit.size;
  for (std::size_t k = 0; k < all_.size(); ++k) {
    const bool meets = all_[k].stride < end && digit.stride < all_[k].stride * all_[k].size;
    if (meets) out = std::max(out, level_at_[k]);
  }
  return out;
}

bool Network::nests(Size stride) const {
  return std::all_of(ends_.begin(), ends_.end(),
                     [&](Size at) { return at % stride == 0 || stride % at == 0; });
}

bool Network::nests(std::span<const Digit> digits) const {
  return std::all_of(digits.begin(), digits.end(), [this](const Digit& digit) {
    return nests(digit.stride) && nests(digit.stride * digit.size);
  });
}

std::size_t Network::level_between(Size a, Size b) const {
  std::size_t out = 0;
  for (std::size_t k = 0; k < all_.size(); ++k) {
    const Digit& digit = all_[k];
    if (a / digit.stride % digit.size != b / digit.stride % digit.size) {
      out = std::max(out, level_at_[k]);
    }
  }
  return out;
}

Size Network::domain_of(Size device, std::size_t level) const {
  Size out = 0;
  for (std::size_t k = 0; k < all_.size(); ++k) {
    const Digit& digit = all_[k];
    if (level_at_[k] >= level) out += device / digit.stride % digit.size * digit.stride;
  }
  return out;
}

Members Network::members_of(std::span<const Digit> digits) const {
  Members out(levels_.size() + 1, 1);
  for (const Digit& digit : digits) {
    each_cut(digit, [&](const Digit& part) {
      for (std::size_t l = level_of(part) + 1; l < out.size(); ++l) out[l] *= part.size;
    });
  }
  return out;
}

std::vector<Digit> Network::cut(const std::vector<Digit>& digits) const {
  std::vector<Digit> out;
  for (const Digit& digit : digits) {
    each_cut(digit, [&](const Digit& part) { out.push_back(part); });
  }
  return out;
}

Wide Network::time(const Amounts& bytes) const {
  constexpr Wide second = 1'000'000'000'000;
  Wide out = 0;
  Size latency = 0;
  for (std::size_t l = 0; l < levels_.size(); ++l) {
    if (bytes[l] == 0) continue;
    const auto rate = static_cast<Wide>(levels_[l].link.bytes_per_second);
    out = std::max(out, (bytes[l] * second + rate - 1) / rate);
    latency = std::max(latency, levels_[l].link.latency);
  }
  return out + static_cast<Wide>(latency);
}

namespace {

Wide wide(Size size) { return static_cast<Wide>(size); }

}  // namespace

Amounts Traffic::allgather(Wide tile, const Members& members) {
  Amounts out;
  const Wide all = tile * wide(members.back());
  for (std::size_t l = 0; l + 1 < members.size(); ++l) {
    // The rounding up of what comes in from outside is what is left inside.
    out.push_back((all + wide(members[l]) - 1) / wide(members[l]) -
                  (all + wide(members[l + 1]) - 1) / wide(members[l + 1]));
  }
  return out;
}

Amounts Traffic::alltoall(Wide tile, const Members& members) {
  Amounts out;
  const Wide all = wide(members.back());
  for (std::size_t l = 0; l + 1 < members.size(); ++l) {
    out.push_back((tile * wide(members[l + 1] - members[l]) + all - 1) / all);
  }
  return out;
}

Amounts Traffic::reducescatter(Wide tile, const Members& members) {
  const Wide all = wide(members.back());
  return allgather((tile + all - 1) / all, members);
}

Amounts Traffic::allreduce(Wide tile, const Members& members) {
  Amounts out = reducescatter(tile, members);
  for (Wide& bytes : out) bytes *= 2;
  return out;
}

}  // namespace retile::network
