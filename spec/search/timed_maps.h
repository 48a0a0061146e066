/// Brute force: the sequence of strong collectives that takes the least time, between more devices.
///
/// Not in the paper. Times are those of network.h. Three things let it look at some ten thousand types:
/// a state is a base offset map, so types of several meshes over the same devices are one graph; its steps
/// stand in units of tiles, so one graph serves all networks and sizes; and who can become what by a
/// permutation within domains is said by what each domain holds, counted, and not pair by pair.
#pragma once

#include <functional>

#include "network.h"

namespace spec {

/// Links from the inside out, and who is in which domain of each: devices with the same number in
/// `domain[l]` differ in links below l alone. So domain[0] tells all apart, and the last one nobody.
struct Domains {
  std::vector<Link> links;
  std::vector<Sizes> domain;
};

/// What a sequence may hold.
struct TimedLimits {
  Size tile = 0;                      // by a tile
  std::optional<Size> resident = {};  // before and after a step; a dynslice holds the larger
  std::function<Size(const Sizes&)> held = size_of;  // by a tile of a localtype
};

class TimedMaps {
 public:
  /// The meshes have equally many devices.
  TimedMaps(const std::vector<Mesh>& meshes, const Sizes& g) {
    for (const Mesh& H : meshes) {
      for (const Type& tau : all_types(H, g)) {
        const auto [at, is_new] = number_.emplace(*base_offset_map(H, tau), sizes_.size());
        if (!is_new) continue;
        maps_.push_back(at->first);
        sizes_.push_back(localsize(tau));
        localtypes_.push_back(spec::localtype(tau));
        steps_.emplace_back();
      }
    }
    for (const Mesh& H : meshes) {
      for (const Type& tau : all_types(H, g)) {
        auto& steps = steps_[*number(*base_offset_map(H, tau))];
        for (const auto& [p, to] : strong_steps(H, tau, {}, {})) {
          steps.insert({p.p, groups(H, p.x), *number(*base_offset_map(H, to))});
        }
      }
    }
  }

  Index count() const { return maps_.size(); }
  const BaseOffsetMap& map(Index a) const { return maps_[a]; }
  const Sizes& localtype(Index a) const { return localtypes_[a]; }
  std::optional<Index> number(const BaseOffsetMap& beta) const {
    const auto found = number_.find(beta);
    return found == number_.end() ? std::nullopt : std::optional(found->second);
  }

  /// The least that a sequence from a to b takes on N, of units of so many bytes.
  std::optional<Picoseconds> least(const Domains& N, Size unit, Index a, Index b,
                                   const TimedLimits& limits) const {
    const auto classes = permuted(N);
    std::vector<std::vector<std::vector<Picoseconds>>>
        members_of;  // each different kind of group once
    for (const auto& groups : groups_) {
      std::set<std::vector<Picoseconds>> kinds;
      for (const auto& group : groups) kinds.insert(members(N, group));
      members_of.emplace_back(kinds.begin(), kinds.end());
    }
    Sizes held;
    for (const Sizes& c : localtypes_) held.push_back(limits.held(c));
    std::set<std::pair<Index, Index>>
        entered;  // link and class: the first one to enter is the soonest
    std::vector<std::optional<Picoseconds>> out(count());
    std::set<std::pair<Picoseconds, Index>> open = {{0, a}};
    out[a] = 0;
    const auto reach = [&](Index to, Picoseconds t) {
      if (out[to] && *out[to] <= t) return;
      if (out[to]) open.erase({*out[to], to});
      out[to] = t;
      open.insert({t, to});
    };
    while (!open.empty() && open.begin()->second != b) {
      const auto [t, at] = *open.begin();
      open.erase(open.begin());
      for (const auto& [p, groups, to] : steps_[at]) {
        if (p != Op::dynslice && !fits(held[at], held[to], limits)) continue;
        reach(to, t + time(N, unit, p, members_of[groups], sizes_[at]));
      }
      if (!fits(held[at], held[at], limits)) continue;
      for (Index l = 0; l < N.links.size(); ++l) {
        if (!entered.insert({l, classes.of[l][at]}).second) continue;
        std::vector<Picoseconds> bytes(N.links.size(), 0);
        bytes[l] = static_cast<Picoseconds>(sizes_[at]) * static_cast<Picoseconds>(unit);
        for (const Index to : classes.members[l][classes.of[l][at]]) {
          reach(to, t + time_of(N, bytes));
        }
      }
    }
    return out[b];
  }

 private:
  /// By link: the class of each state, and the states of each class.
  struct Classes {
    std::vector<std::vector<Index>> of;
    std::vector<std::vector<std::vector<Index>>> members;
  };
  struct Step {
    Op p{};
    Index groups = 0;
    Index to = 0;
    auto operator<=>(const Step&) const = default;
  };

  static Picoseconds time_of(const Domains& N, const std::vector<Picoseconds>& bytes) {
    return spec::time_of(Network{N.links, {}}, bytes);
  }

  static bool fits(Size before, Size after, const TimedLimits& limits) {
    return after <= limits.tile && (!limits.resident || before + after <= *limits.resident);
  }

  /// The groups of devices that differ in axes x alone.
  Index groups(const Mesh& H, const Names& x) {
    std::map<Point, std::vector<Index>> groups;  // by all other coordinates
    const std::vector<Point> all = points(H);
    for (Index d = 0; d < all.size(); ++d) {
      Point others = all[d];
      for (Index k = 0; k < H.size(); ++k) {
        if (std::find(x.begin(), x.end(), H[k].x) != x.end()) others[k] = 0;
      }
      groups[others].push_back(d);
    }
    std::vector<std::vector<Index>> out;
    for (auto& [others, members] : groups) out.push_back(std::move(members));
    const auto known = std::find(groups_.begin(), groups_.end(), out);
    if (known != groups_.end()) return static_cast<Index>(known - groups_.begin());
    groups_.push_back(std::move(out));
    return groups_.size() - 1;
  }

  /// Of the members of a group that are in one domain of each link, the fewest.
  static std::vector<Picoseconds> members(const Domains& N, const std::vector<Index>& group) {
    std::vector<Picoseconds> m;
    for (const Sizes& domain : N.domain) {
      std::map<Size, Picoseconds> counts;
      for (const Index d : group) ++counts[domain[d]];
      m.push_back(group.size());
      for (const auto& [number, count] : counts) m.back() = std::min(m.back(), count);
    }
    return m;
  }

  /// What the busiest group's devices get of each link.
  static Picoseconds time(const Domains& N, Size unit, Op p,
                          const std::vector<std::vector<Picoseconds>>& groups, Size tile) {
    if (p == Op::dynslice) return 0;
    const Picoseconds t = static_cast<Picoseconds>(tile) * static_cast<Picoseconds>(unit);
    std::vector<Picoseconds> bytes(N.links.size(), 0);
    for (const auto& m : groups) {
      const Picoseconds n = m.back();
      for (Index l = 0; l < bytes.size(); ++l) {
        bytes[l] = std::max(bytes[l], p == Op::allgather ? n * t / m[l] - n * t / m[l + 1]
                                                         : t * (m[l + 1] - m[l]) / n);
      }
    }
    return time_of(N, bytes);
  }

  /// Within the domains of a link a permutation makes whatever leaves each domain the tiles that it has.
  Classes permuted(const Domains& N) const {
    Classes out;
    for (Index l = 0; l < N.links.size(); ++l) {
      std::map<std::pair<Sizes, std::vector<std::pair<Size, Offset>>>, Index> known;
      out.of.emplace_back();
      out.members.emplace_back();
      for (Index a = 0; a < count(); ++a) {
        std::vector<std::pair<Size, Offset>> held;
        for (Index d = 0; d < maps_[a].size(); ++d) {
          held.emplace_back(N.domain[l + 1][d], maps_[a][d]);
        }
        std::sort(held.begin(), held.end());
        const Index next = known.size();
        const Index number =
            known.try_emplace({localtypes_[a], std::move(held)}, next).first->second;
        if (number == next) out.members[l].emplace_back();
        out.of[l].push_back(number);
        out.members[l][number].push_back(a);
      }
    }
    return out;
  }

  std::map<BaseOffsetMap, Index> number_;
  std::vector<BaseOffsetMap> maps_;
  Sizes sizes_;
  std::vector<Sizes> localtypes_;
  std::vector<std::vector<std::vector<Index>>> groups_;
  std::vector<std::set<Step>> steps_;
};

}  // namespace spec
