/// Brute force: the sequence of strong collectives that takes the least time on a network.
///
/// Not in the paper. Every axis has a link, numbered from the inside out; two devices talk over the
/// outermost link of the axes in which they differ. Devices that agree in all axes of link l and beyond
/// are a domain of l. A step takes, over each link, what its busiest device gets by the bandwidth, all
/// links at once, and once the largest latency of those used (docs/reference/network.md).
#pragma once

#include <stdexcept>

#include "types.h"

namespace spec {

/// Bytes per second of a device, and picoseconds.
struct Link {
  Size bandwidth = 1;
  Size latency = 0;
};

struct Network {
  std::vector<Link> links;     // from the inside out
  std::map<Name, Index> link;  // of each axis of H
};

__extension__ typedef unsigned __int128 Picoseconds;

/// What bytes over each link take.
inline Picoseconds time_of(const Network& N, const std::vector<Picoseconds>& bytes) {
  Picoseconds out = 0, latency = 0;
  for (Index l = 0; l < N.links.size(); ++l) {
    if (bytes[l] == 0) continue;
    const auto bandwidth = static_cast<Picoseconds>(N.links[l].bandwidth);
    out = std::max(out, (bytes[l] * 1'000'000'000'000 + bandwidth - 1) / bandwidth);
    latency = std::max(latency, static_cast<Picoseconds>(N.links[l].latency));
  }
  return out + latency;
}

/// The outermost link of the axes in which two points differ, counted from 1; 0: they are one point.
inline Index link_between(const Mesh& H, const Network& N, const Point& a, const Point& b) {
  Index out = 0;
  for (Index k = 0; k < H.size(); ++k) {
    if (a[k] != b[k]) out = std::max(out, N.link.at(H[k].x) + 1);
  }
  return out;
}

/// The types of a mesh and a globaltype, and what every step between them takes.
class TimedTypes {
 public:
  TimedTypes(Mesh H, Network N, const Sizes& g, Size bytes)
      : H_(std::move(H)),
        N_(std::move(N)),
        bytes_(bytes),
        points_(points(H_)),
        types_(all_types(H_, g)) {
    for (const Type& tau : types_) maps_.push_back(*base_offset_map(H_, tau));
    for (Index a = 0; a < types_.size(); ++a) {
      std::vector<Names> lists;
      for (const Dim& d : types_[a]) lists.push_back(d.xs);
      number_[lists] = a;
    }
    for (const Type& tau : types_) {
      steps_.emplace_back();
      for (const auto& [p, to] : strong_steps(H_, tau, types_, {})) {
        const Index b = number(to);
        steps_.back().emplace_back(b, time(p, tau, number(tau), b));
      }
    }
  }

  const std::vector<Type>& types() const { return types_; }

  /// The least that a sequence within (4) takes from τ_1 to each type of localsize L_2.
  std::vector<std::optional<Picoseconds>> least(Index tau_1, Size L_2) const {
    const Size bound = std::max(localsize(types_[tau_1]), L_2);
    std::vector<std::optional<Picoseconds>> out(types_.size());
    std::set<std::pair<Picoseconds, Index>> open = {{0, tau_1}};
    out[tau_1] = 0;
    while (!open.empty()) {
      const auto [t_a, a] = *open.begin();
      open.erase(open.begin());
      for (const auto& [b, t] : steps_[a]) {
        if (localsize(types_[b]) > bound || (out[b] && *out[b] <= t_a + t)) continue;
        if (out[b]) open.erase({*out[b], b});
        out[b] = t_a + t;
        open.insert({*out[b], b});
      }
    }
    return out;
  }

 private:
  Index number(const Type& tau) const {
    std::vector<Names> lists;
    for (const Dim& d : tau) lists.push_back(d.xs);
    return number_.at(lists);
  }

  /// How many points of a group, which are those that differ from i in axes x alone, are in the domain of
  /// each link that i is in; and all of them.
  std::vector<Picoseconds> members(const Names& x) const {
    std::vector<Picoseconds> m(N_.links.size() + 1, 0);
    const Point& i = points_.front();
    for (const Point& j : points_) {
      bool in_group = true;
      for (Index k = 0; k < H_.size(); ++k) {
        in_group = in_group && (i[k] == j[k] || std::find(x.begin(), x.end(), H_[k].x) != x.end());
      }
      for (Index l = link_between(H_, N_, i, j); in_group && l < m.size(); ++l) ++m[l];
    }
    return m;
  }

  /// The least link such that every domain beyond it has the same tiles, equally often, before and after.
  Index permuted_within(Index a, Index b) const {
    for (Index l = 0; l < N_.links.size(); ++l) {
      std::map<Sizes, std::map<Sizes, Size>> balance;  // by domain and tile
      for (Index d = 0; d < points_.size(); ++d) {
        Sizes domain;
        for (Index k = 0; k < H_.size(); ++k) {
          domain.push_back(N_.link.at(H_[k].x) > l ? points_[d][k] : 0);
        }
        ++balance[domain][maps_[a][d]];
        --balance[domain][maps_[b][d]];
      }
      bool same = true;
      for (const auto& [domain, tiles] : balance) {
        for (const auto& [tile, times] : tiles) same = same && times == 0;
      }
      if (same) return l;
    }
    throw std::logic_error("a permutation keeps the tiles of all devices");
  }

  Picoseconds time(const MultiCollective& p, const Type& tau, Index a, Index b) const {
    const auto t = static_cast<Picoseconds>(localsize(tau)) * static_cast<Picoseconds>(bytes_);
    std::vector<Picoseconds> bytes(N_.links.size(), 0);
    if (p.p == Op::allpermute) bytes[permuted_within(a, b)] = t;
    if (p.p == Op::allgather || p.p == Op::alltoall) {
      const std::vector<Picoseconds> m = members(p.x);
      const Picoseconds n = m.back();
      for (Index l = 0; l < bytes.size(); ++l) {
        // Every tile enters a domain once, and its members share it; or everybody gets a piece of each.
        bytes[l] =
            p.p == Op::allgather ? n * t / m[l] - n * t / m[l + 1] : t / n * (m[l + 1] - m[l]);
      }
    }
    return time_of(N_, bytes);
  }

  Mesh H_;
  Network N_;
  Size bytes_;
  std::vector<Point> points_;
  std::vector<Type> types_;
  std::vector<BaseOffsetMap> maps_;
  std::map<std::vector<Names>, Index> number_;
  std::vector<std::vector<std::pair<Index, Picoseconds>>> steps_;
};

}  // namespace spec
