#include "retile/foreign/shrink.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "retile/core/assert.h"
#include "retile/core/division.h"
#include "retile/core/layout_facts.h"
#include "retile/notation/convert.h"
#include "retile/notation/paper/notation.h"

namespace retile::foreign {
namespace {

using Parts = std::vector<AxisPart>;

tl::unexpected<Diagnostic> cut_otherwise(std::size_t dim) {
  return refuse({.code = Code::unsupported,
                 .message = fmt::format("dimension {} is not cut into blocks of ceil(n/k)", dim)});
}

/// That every dimension is cut into blocks of ceil(n/k).
Result<void> check_cuts(const Layout& layout) {
  if (!layout.halos().empty()) {
    return refuse({.code = Code::unsupported, .message = "what devices hold overlaps"});
  }
  for (std::size_t k = 0; k < layout.rank(); ++k) {
    const Cuts& cuts = layout.cuts()[k];
    if (!cuts.is_blocks() || cuts.block() != ceil_div(cuts.global(), cuts.count())) {
      return cut_otherwise(k);
    }
  }
  return {};
}

/// Into how many blocks parts of axes cut; nothing where that does not fit.
std::optional<Size> blocks_of(const Mesh& mesh, const Parts& parts) {
  Size out = 1;
  for (const AxisPart& part : parts) {
    const auto digit = digit_of(mesh, part);
    const auto product = digit ? checked_mul(out, digit->size) : std::nullopt;
    if (!product) return std::nullopt;
    out = *product;
  }
  return out;
}

/// The same of a sharding, whose layout may be listed because its devices are.
Result<void> check_cuts(const Sharding& sharding) {
  for (std::size_t k = 0; k < sharding.dims.size(); ++k) {
    const CutDim& dim = sharding.dims[k];
    const auto blocks = blocks_of(sharding.mesh.mesh, dim.parts);
    const bool has_blocks =
        dim.cutting == paper::Cutting::tile || dim.cutting == paper::Cutting::blocks;
    if (!has_blocks || dim.halo != Halo{} || !blocks || dim.tile != ceil_div(dim.global, *blocks)) {
      return cut_otherwise(k);
    }
  }
  return {};
}

Reshard::End end_of(const Sharding& sharding) {
  Reshard::End out;
  for (const CutDim& dim : sharding.dims) out.dims.push_back(joined(sharding.mesh.mesh, dim.parts));
  out.addends = joined(sharding.mesh.mesh, sharding.addends);
  return out;
}

/// A layout as a sharding: axes of the mesh, and nothing else of it.
Result<Sharding> sharding_over(const Layout& layout, const PlacedMesh& mesh) {
  if (layout.is_listed()) {
    return refuse({.code = Code::unsupported, .message = "what devices hold is listed"});
  }
  if (auto good = check_cuts(layout); !good) return refuse(std::move(good.error()));
  Sharding out;
  out.layout = layout;
  out.dims.resize(layout.rank());
  return over_mesh(out, mesh);
}

bool same_mesh(const PlacedMesh& a, const PlacedMesh& b) {
  if (a.mesh != b.mesh || a.order.has_value() != b.order.has_value()) return false;
  return !a.order || a.order->entries() == b.order->entries();
}

Reshard reshard_between(const Sharding& from, const Sharding& to) {
  return {.mesh = from.mesh,
          .shape = from.layout.global(),
          .addition = addition_of(from.layout, to.layout).value_or(Addition::sum),
          .ends = {end_of(from), end_of(to)}};
}

/// The type of one end in the paper's notation.
Result<std::string> text_of(const Reshard& reshard, const Reshard::End& end) {
  Sharding sharding;
  sharding.mesh = reshard.mesh;
  sharding.addition = reshard.addition;
  sharding.addends = end.addends;
  for (std::size_t k = 0; k < reshard.shape.size(); ++k) {
    const auto blocks = blocks_of(reshard.mesh.mesh, end.dims[k]);
    if (!blocks) return cut_otherwise(k);
    CutDim dim;
    dim.tile = ceil_div(reshard.shape[k], *blocks);
    dim.parts = end.dims[k];
    dim.global = reshard.shape[k];
    sharding.dims.push_back(std::move(dim));
  }
  return type_text(sharding);
}

/// Whether an axis stands in parts only whole.
bool is_whole(const Reshard& reshard, const std::string& axis) {
  const auto whole = [&](const Parts& parts) {
    return std::none_of(parts.begin(), parts.end(),
                        [&](const AxisPart& part) { return part.axis == axis && part.major != 0; });
  };
  return std::all_of(reshard.ends.begin(), reshard.ends.end(), [&](const Reshard::End& end) {
    return whole(end.addends) && std::all_of(end.dims.begin(), end.dims.end(), whole);
  });
}

/// Whether an axis cuts a dimension at either end.
bool cuts(const Reshard& reshard, const std::string& axis, std::size_t dim) {
  return std::any_of(reshard.ends.begin(), reshard.ends.end(), [&](const Reshard::End& end) {
    return std::any_of(end.dims[dim].begin(), end.dims[dim].end(),
                       [&](const AxisPart& part) { return part.axis == axis; });
  });
}

/// Makes smaller reshards of one.
class Maker {
 public:
  explicit Maker(const Reshard& whole) : whole_(whole) {}

  std::vector<Reshard> make() {
    if (whole_.mesh.order) add_with([](Reshard& one) { forget_order(one); });
    const auto& axes = whole_.mesh.mesh.axes();
    for (std::size_t k = 0; k < axes.size(); ++k) shorten_axis(k, 1);
    for (std::size_t dim = 0; dim < whole_.shape.size(); ++dim) drop_dim(dim);
    for (std::size_t k = 0; k < axes.size(); ++k) {
      if (!is_whole(whole_, axes[k].name)) continue;
      for (const Size size : below(axes[k].size)) shorten_axis(k, size);
    }
    for (std::size_t dim = 0; dim < whole_.shape.size(); ++dim) shorten_dim(dim);
    for (std::size_t end = 0; end < whole_.ends.size(); ++end) drop_cuts(end);
    return std::move(out_);
  }

 private:
  static void forget_order(Reshard& one) {
    one.mesh.order.reset();
    one.mesh.order_text.reset();
  }

  void add(Reshard one) {
    if (one.ends[0] != one.ends[1]) out_.push_back(std::move(one));
  }
  template <typename Change>
  void add_with(const Change& change) {
    Reshard one = whole_;
    change(one);
    add(std::move(one));
  }

  /// Sizes from 2 on that are worth a try, smallest first.
  static std::set<Size> below(Size size) {
    std::set<Size> out;
    for (const Size one : {Size{2}, Size{3}, size / 2, size - 1}) {
      if (one >= 2 && one < size) out.insert(one);
    }
    return out;
  }

  /// An axis of another size, 1: none, the dimensions that it cuts as much shorter, or as they are.
  void shorten_axis(std::size_t number, Size size) {
    std::vector<Axis> axes = whole_.mesh.mesh.axes();
    const Axis before = axes[number];
    if (size == 1) {
      axes.erase(axes.begin() + static_cast<std::ptrdiff_t>(number));
    } else {
      axes[number].size = size;
    }
    if (axes.empty()) return;
    Reshard one = whole_;
    one.mesh.mesh = Mesh::make(std::move(axes)).value();
    if (one.mesh.mesh.device_count() == 1) return;
    forget_order(one);
    if (size == 1) drop_axis(one, before.name);
    Reshard scaled = one;
    for (std::size_t dim = 0; dim < scaled.shape.size(); ++dim) {
      const Size extent = scaled.shape[dim];
      if (cuts(whole_, before.name, dim) && extent % before.size == 0) {
        scaled.shape[dim] = extent / before.size * size;
      }
    }
    const bool differ = scaled.shape != one.shape;
    add(std::move(scaled));
    if (differ) add(std::move(one));
  }
  static void drop_axis(Reshard& one, const std::string& axis) {
    const auto drop = [&](Parts& parts) {
      std::erase_if(parts, [&](const AxisPart& part) { return part.axis == axis; });
    };
    for (Reshard::End& end : one.ends) {
      std::for_each(end.dims.begin(), end.dims.end(), drop);
      drop(end.addends);
    }
  }

  void drop_dim(std::size_t dim) {
    if (whole_.shape.size() == 1) return;
    const auto at = static_cast<std::ptrdiff_t>(dim);
    add_with([&](Reshard& one) {
      one.shape.erase(one.shape.begin() + at);
      for (Reshard::End& end : one.ends) end.dims.erase(end.dims.begin() + at);
    });
  }

  void shorten_dim(std::size_t dim) {
    const Size extent = whole_.shape[dim];
    std::set<Size> extents = below(extent);
    if (extent > 1) extents.insert(1);
    for (const Size prime : {2, 3, 5, 7}) {
      if (extent % prime == 0) extents.insert(extent / prime);
    }
    for (const Reshard::End& end : whole_.ends) {
      const auto blocks = blocks_of(whole_.mesh.mesh, end.dims[dim]);
      if (blocks && *blocks < extent) extents.insert(*blocks);
    }
    for (const Size one : extents) {
      if (one < extent) add_with([&](Reshard& made) { made.shape[dim] = one; });
    }
  }

  void drop_cuts(std::size_t end) {
    for (std::size_t dim = 0; dim < whole_.shape.size(); ++dim) {
      for (std::size_t k = 0; k < whole_.ends[end].dims[dim].size(); ++k) {
        add_with([&](Reshard& one) {
          Parts& parts = one.ends[end].dims[dim];
          parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(k));
        });
      }
    }
  }

  const Reshard& whole_;
  std::vector<Reshard> out_;
};

/// All of a reshard, so that none is asked of twice.
std::string name_of(const Reshard& reshard, const std::array<Sharding, 2>& ends) {
  return fmt::format("{} {} {} {}", to_text(reshard.mesh.mesh), reshard.mesh.order ? "placed" : "",
                     type_text(ends[0]), type_text(ends[1]));
}

}  // namespace

Result<Reshard> reshard_of(const Layout& from, const Layout& to, const PlacedMesh& mesh) {
  RETILE_ASSERT(from.global() == to.global(), "two ends of one array");
  const Result<Sharding> start = sharding_over(from, mesh);
  if (!start) return refuse(start.error());
  const Result<Sharding> end = sharding_over(to, mesh);
  if (!end) return refuse(end.error());
  return reshard_between(*start, *end);
}

Result<Reshard> reshard_of(const Sharding& from, const Sharding& to) {
  RETILE_ASSERT(from.layout.global() == to.layout.global(), "two ends of one array");
  for (const Sharding* end : {&from, &to}) {
    if (end->only_device) {
      return refuse({.code = Code::unsupported, .message = "one device holds everything"});
    }
    if (auto good = check_cuts(*end); !good) return refuse(std::move(good.error()));
  }
  if (same_mesh(from.mesh, to.mesh)) return reshard_between(from, to);
  const Result<Sharding> over = over_mesh(to, from.mesh);
  if (!over) return refuse(over.error());
  return reshard_between(from, *over);
}

Result<std::array<Sharding, 2>> shardings_of(const Reshard& reshard) {
  std::array<Sharding, 2> out;
  for (std::size_t k = 0; k < out.size(); ++k) {
    const Result<std::string> text = text_of(reshard, reshard.ends[k]);
    if (!text) return refuse(text.error());
    Result<Sharding> sharding =
        parse_sharding(*text, {.mesh = reshard.mesh, .shape = reshard.shape}, "the smaller end");
    if (!sharding) return refuse(std::move(sharding.error()));
    out[k] = *std::move(sharding);
  }
  return out;
}

std::vector<Reshard> smaller(const Reshard& reshard) { return Maker(reshard).make(); }

Result<Shrunk> shrink(Reshard reshard,
                      const std::function<Result<bool>(const Reshard&)>& goes_wrong,
                      Size most_runs) {
  Shrunk out{.reshard = std::move(reshard)};
  std::set<std::string> asked;
  while (!out.complete) {
    out.complete = true;
    for (Reshard& one : smaller(out.reshard)) {
      const auto ends = shardings_of(one);
      if (!ends || !asked.insert(name_of(one, *ends)).second) continue;
      if (out.runs == most_runs) {
        out.complete = false;
        return out;
      }
      ++out.runs;
      const Result<bool> wrong = goes_wrong(one);
      if (!wrong) return refuse(wrong.error());
      if (!*wrong) continue;
      out.reshard = std::move(one);
      out.complete = false;
      break;
    }
  }
  return out;
}

}  // namespace retile::foreign
