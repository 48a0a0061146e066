// Random HLO modules that are well typed: numbers that come from devices, and what they do to the
// parameter.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "retile/core/size.h"

namespace retile::foreign::testing {

/// A number in [0, bound).
using Choose = std::function<Size(Size bound)>;

class RandomModule {
 public:
  /// \param scale  what most extents and offsets are a multiple of; above 1 there are more reshapes, and no
  ///     strides
  explicit RandomModule(Choose choose, Size scale = 1)
      : choose_(std::move(choose)), scale_(scale) {}

  /// A text with as many devices as `devices` afterwards says.
  std::string text() {
    static const std::vector<Size> counts = {1, 2, 3, 4, 6, 8};
    devices_ = counts[static_cast<std::size_t>(choose_(static_cast<Size>(counts.size())))];
    const std::size_t rank = static_cast<std::size_t>(choose_(3));
    for (std::size_t k = 0; k < rank; ++k) tile_.push_back(scale_ * (1 + choose_(6)));
    extents_ = tile_;
    line("parameter(0)");
    numbers();
    for (Size k = choose_(7); k >= 0; --k) step();
    body_.insert(body_.rfind("\n v") + 1, " ROOT");
    return of_type(fmt::format(
        "HloModule random, num_partitions={}\n\n%add (a: f32[], b: f32[]) -> f32[] {{\n"
        " a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] {}(a, b)\n}}\n\n"
        "ENTRY e {{\n{}}}\n",
        devices_, choose_(3) == 0 ? "maximum" : "add", body_));
  }
  [[nodiscard]] Size devices() const { return devices_; }
  /// Of the parameter.
  [[nodiscard]] const Shape& tile() const { return tile_; }

 private:
  static std::string shape(const Shape& extents) {
    return fmt::format("[{}]", fmt::join(extents, ","));
  }
  /// The same text with elements of some type; how often one is added counts otherwise in each.
  std::string of_type(std::string text) {
    static const std::vector<std::string> types = {"f32", "f32", "pred", "s2", "u4", "s8", "u64"};
    const std::string& type = types[static_cast<std::size_t>(choose_(7))];
    for (std::size_t at = text.find("f32"); at != std::string::npos; at = text.find("f32", at)) {
      text.replace(at, 3, type);
      at += type.size();
    }
    return text;
  }
  /// An instruction on the array so far, `v<last_>`, with these extents afterwards.
  void line(const std::string& instruction) {
    body_ += fmt::format(" v{} = f32{} {}\n", ++last_, shape(extents_), instruction);
  }
  [[nodiscard]] std::string here() const { return fmt::format("v{}", last_); }

  /// Scalars: `id`, `n0` to `n2`, and a zero.
  void numbers() {
    body_ += " id = u32[] partition-id()\n z = f32[] constant(0)\n";
    for (int k = 0; k < 3; ++k) {
      std::vector<Size> table;
      for (Size d = 0; d < devices_; ++d) table.push_back(offset());
      body_ += fmt::format(
          " t{0} = s32[{1}] constant({{{2}}})\n s{0} = s32[1] dynamic-slice(t{0}, id), "
          "dynamic_slice_sizes={{1}}\n n{0} = s32[] reshape(s{0})\n",
          k, devices_, fmt::join(table, ", "));
    }
    body_ += " n3 = s32[] subtract(n0, n1)\n p0 = pred[] compare(n1, n2), direction=LT\n";
  }
  /// One of a device.
  Size offset() {
    const Size out = scale_ * (choose_(9) - 1);
    return scale_ > 1 && choose_(40) == 0 ? out + 1 : out;
  }
  /// An extent up to this one.
  Size up_to(Size extent) {
    const Size unit = extent % scale_ == 0 ? scale_ : 1;
    return unit * (1 + choose_(extent / unit));
  }
  std::string offsets() {
    std::string out;
    for (std::size_t k = 0; k < extents_.size(); ++k) out += fmt::format(", n{}", choose_(4));
    return out;
  }
  /// Groups of n in some order.
  std::string groups(Size size) {
    std::vector<Size> all;
    for (Size d = 0; d < devices_; ++d) all.push_back(d);
    for (Size k = devices_; k > 1; --k) {
      std::swap(all[static_cast<std::size_t>(k - 1)], all[static_cast<std::size_t>(choose_(k))]);
    }
    std::string out;
    for (Size d = 0; d < devices_; ++d) {
      out += d == 0 ? "{{" : d % size == 0 ? "},{" : ",";
      out += std::to_string(all[static_cast<std::size_t>(d)]);
    }
    return fmt::format(", channel_id=1, replica_groups={}}}}}", out);
  }
  [[nodiscard]] Size group_size() {
    std::vector<Size> sizes;
    for (Size n = 1; n <= devices_; ++n) {
      if (devices_ % n == 0) sizes.push_back(n);
    }
    return sizes[static_cast<std::size_t>(choose_(static_cast<Size>(sizes.size())))];
  }
  [[nodiscard]] Size count() const {
    Size out = 1;
    for (const Size extent : extents_) out *= extent;
    return out;
  }

  /// Elements of a value.
  [[nodiscard]] Size most() const { return scale_ > 1 ? 400 * scale_ * scale_ : 400; }

  void step() {
    const std::string v = here();
    const Size rank = static_cast<Size>(extents_.size());
    const Size kind = choose_(rank == 0 ? 4 : scale_ > 1 ? 17 : 13);
    const std::string global = ", use_global_device_ids=true";
    const auto dim = static_cast<std::size_t>(rank == 0 ? 0 : choose_(rank));
    const auto before = extents_;
    switch (kind) {
      case 0: {
        std::string pairs;
        std::vector<bool> used(static_cast<std::size_t>(devices_));
        for (Size d = 0; d < devices_; ++d) {
          const Size target = choose_(devices_);
          if (used[static_cast<std::size_t>(target)]) continue;
          used[static_cast<std::size_t>(target)] = true;
          pairs += fmt::format("{}{{{},{}}}", pairs.empty() ? "" : ",", d, target);
        }
        return line(fmt::format("collective-permute({}), channel_id=1, source_target_pairs={{{}}}",
                                v, pairs));
      }
      case 1:
        return line(
            fmt::format("all-reduce({}){}, to_apply=%add{}", v, groups(group_size()), global));
      case 2: {
        const std::string name = fmt::format("b{}", last_);
        body_ += fmt::format(" {} = f32{} broadcast(z), dimensions={{}}\n", name, shape(extents_));
        return line(fmt::format("select(p0, {}, {})", v, name));
      }
      case 3:
        extents_.insert(extents_.begin(), 1 + choose_(2));
        return line(fmt::format("broadcast({}), dimensions={{{}}}", v, ascending(rank)));
      case 4: {
        const Size n = group_size();
        if (count() * n > most()) return line(fmt::format("copy({})", v));
        extents_[dim] *= n;
        return line(
            fmt::format("all-gather({}){}, dimensions={{{}}}{}", v, groups(n), dim, global));
      }
      case 5: {
        const Size n = group_size();
        if (before[dim] % n != 0) return line(fmt::format("copy({})", v));
        return line(fmt::format("all-to-all({}){}, dimensions={{{}}}", v, groups(n), dim));
      }
      case 6: {
        const Size n = group_size();
        if (before[dim] % n != 0) return line(fmt::format("copy({})", v));
        extents_[dim] /= n;
        return line(fmt::format("reduce-scatter({}){}, dimensions={{{}}}, to_apply=%add{}", v,
                                groups(n), dim, global));
      }
      case 7: {
        for (Size& extent : extents_) extent = up_to(extent);
        const std::string starts = offsets();
        return line(fmt::format("dynamic-slice({}{}), dynamic_slice_sizes={{{}}}", v, starts,
                                fmt::join(extents_, ",")));
      }
      case 8: {
        Shape box = extents_;
        for (Size& extent : box) extent = up_to(extent);
        const std::string name = fmt::format("u{}", last_);
        body_ += fmt::format(" {} = f32{} slice({}), slice={{{}}}\n", name, shape(box), v,
                             ranges(Shape(box.size(), 0), box, Shape(box.size(), 1)));
        return line(fmt::format("dynamic-update-slice({}, {}{})", v, name, offsets()));
      }
      case 9: {
        std::vector<std::size_t> order(extents_.size());
        for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
        for (std::size_t k = order.size(); k > 1; --k) {
          std::swap(order[k - 1], order[static_cast<std::size_t>(choose_(static_cast<Size>(k)))]);
        }
        for (std::size_t k = 0; k < order.size(); ++k) extents_[k] = before[order[k]];
        return line(fmt::format("transpose({}), dimensions={{{}}}", v, fmt::join(order, ",")));
      }
      case 10: {
        std::string padding;
        for (Size& extent : extents_) {
          const Size low = scale_ * (choose_(4) - 1);
          const Size high = scale_ * (choose_(4) - 1);
          const Size inside = scale_ > 1 ? 0 : choose_(2);
          const Size next = extent + inside * (extent - 1) + low + high;
          const bool fits = next >= 1 && next <= 12 * scale_;
          padding += padding.empty() ? "" : "x";
          padding += fits ? fmt::format("{}_{}_{}", low, high, inside) : "0_0";
          if (fits) extent = next;
        }
        return line(fmt::format("pad({}, z), padding={}", v, padding));
      }
      case 11: {
        Shape start;
        Shape limit;
        Shape stride;
        for (Size& extent : extents_) {
          start.push_back(up_to(extent) - (extent % scale_ == 0 ? scale_ : 1));
          limit.push_back(start.back() + up_to(extent - start.back()));
          stride.push_back(scale_ > 1 ? 1 : 1 + choose_(2));
          extent = (limit.back() - start.back() + stride.back() - 1) / stride.back();
        }
        return line(fmt::format("slice({}), slice={{{}}}", v, ranges(start, limit, stride)));
      }
      case 13:
      case 14: {  // one dimension as two
        const Size part = choose_(2) == 0 ? scale_ : 1 + choose_(extents_[dim]);
        if (extents_[dim] % part != 0) return line(fmt::format("copy({})", v));
        extents_[dim] /= part;
        extents_.insert(extents_.begin() + static_cast<std::ptrdiff_t>(dim) + 1, part);
        return line(fmt::format("reshape({})", v));
      }
      case 15: {  // two as one
        if (dim + 1 == extents_.size()) return line(fmt::format("copy({})", v));
        extents_[dim] *= extents_[dim + 1];
        extents_.erase(extents_.begin() + static_cast<std::ptrdiff_t>(dim) + 1);
        return line(fmt::format("reshape({})", v));
      }
      default: {
        if (count() > most() / 2) {
          extents_ = {count()};
          return line(fmt::format("reshape({})", v));
        }
        extents_[dim] *= 2;
        return line(fmt::format("concatenate({0}, {0}), dimensions={{{1}}}", v, dim));
      }
    }
  }
  static std::string ascending(Size rank) {
    std::string out;
    for (Size k = 0; k < rank; ++k) out += (k > 0 ? "," : "") + std::to_string(k + 1);
    return out;
  }
  static std::string ranges(const Shape& start, const Shape& limit, const Shape& stride) {
    std::string out;
    for (std::size_t k = 0; k < start.size(); ++k) {
      out += fmt::format("{}[{}:{}:{}]", k > 0 ? ", " : "", start[k], limit[k], stride[k]);
    }
    return out;
  }

  Choose choose_;
  Size scale_;
  Size devices_ = 1;
  Shape tile_;
  Shape extents_;
  int last_ = -1;
  std::string body_;
};

}  // namespace retile::foreign::testing
