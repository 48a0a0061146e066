/// Reads tilings, and the lines of a Program that say how many devices there are.
///
///   tiling = "[" [dim {"," dim}] "]"  |  "tile" "=" ints "global" "=" ints "at" "=" rows
///   dim    = INT | INT "{" [digit {"," digit}] "}" INT
///   digit  = NAME [":" INT] | INT ":" INT
///
/// In version 2 the first is a layout (layout_text.h), and `"shapes" "=" rows` may follow the second.
/// All tilings with addends then add in one way, and of stacks all are, and of as many arrays.
/// Axis names become digits stride:size of the device number, and digits of size 1 are dropped.
#pragma once

#include "layout_text.h"

namespace spec {

class TilingReader : protected Tokens {
 protected:
  explicit TilingReader(std::string_view text) : Tokens(text) {}

  /// Every line that says how many devices there are must say the same.
  void device_count(Size D, const ParseError& place) {
    if (D < 1 || D > most_program_devices) fail(place, "there must be 1 to 2^31 devices");
    if (program_->devices == 0) program_->devices = D;
    if (program_->devices != D) {
      fail(place, "this means " + std::to_string(D) + " devices, not " +
                      std::to_string(program_->devices) + " as above");
    }
  }

  /// "devices" (INT | INT ".." INT | ints). Devices that are listed are called so, and are the devices
  /// 0, 1, .. in all else that is read.
  void devices(const ParseError& start) {
    Sizes names;
    if (peek() == '[') {
      names = ints(0, most_program_devices - 1);
    } else {
      const Size first = integer(0, most_program_devices);
      if (!accept("..")) return device_count(first, start);
      const Size last = integer(first, most_program_devices - 1);
      if (last - first >= Size{1} << 26) fail(start, "at most 2^26 devices are listed");
      for (Size d = first; d <= last; ++d) names.push_back(d);
    }
    for (const Size d : names) {
      const bool is_new = places_.emplace(d, static_cast<Size>(places_.size())).second;
      if (!is_new) fail(start, "device " + std::to_string(d) + " stands twice");
    }
    device_count(static_cast<Size>(names.size()), start);
    program_->names = names;
  }
  /// The device of that name. Where none has one, that it exists is looked at elsewhere.
  Size called(Size name, const ParseError& place) const {
    if (program_->names.empty()) return name;
    const auto found = places_.find(name);
    if (found == places_.end()) fail(place, "there is no device " + std::to_string(name));
    return found->second;
  }
  /// The first k numbers of each row are devices.
  void called(Rows& rows, Index k, const ParseError& place) const {
    for (Sizes& row : rows) {
      for (Index i = 0; i < std::min(k, row.size()); ++i) row[i] = called(row[i], place);
    }
  }
  Size last_name() const { return program_->names.empty() ? program_->devices - 1 : most; }

  void mesh() {
    const ParseError start = here();
    mesh_ = read_positions(*this);
    if (is_2()) mesh_.order = read_order(*this, mesh_.count, most_program_devices - 1);
    count(mesh_, false, start);
  }
  bool is_2() const { return program_->version == 2; }

  /// In version 2 a line `devices` below may still say that a mesh has fewer positions.
  void count(const Positions& positions, bool is_list, const ParseError& place) {
    if (is_2()) {
      counts_.push_back({positions, is_list, place});
    } else {
      device_count(positions.count, place);
    }
  }
  /// Version 2, when the header is complete.
  void count_devices(bool says_devices) {
    for (const auto& [positions, is_list, place] : counts_) {
      if (is_list || !says_devices) device_count(positions.count, place);
      const Size D = program_->devices;
      if (positions.order && !program_->names.empty()) {
        fail(place, "a mesh of devices that are listed has no order");
      }
      if (positions.count > D) fail(place, "this mesh has more positions than there are devices");
      if (positions.order && largest_of(*positions.order, positions.count) >= D) {
        fail(place, "order names a device that does not exist");
      }
    }
  }

  Tiling tiling() {
    const bool is_bracket = peek() == '[' || (is_2() && at_addition(*this));
    return is_bracket ? bracket_tiling() : explicit_tiling();
  }

  Tiling bracket_tiling() {
    const ParseError start = here();
    Tiling out;
    if (is_2()) {
      out.layout = read_layout(*this, mesh_);
      for (const LayoutDim& dim : out.layout->dims) out.global.push_back(dim.n);
      return out;
    }
    list('[', [&] { return dim(out); });
    if (!product(out.global)) fail(start, "the global size is not below 2^63");
    return out;
  }

  bool dim(Tiling& out) {
    const ParseError start = here();
    const Size c = integer(1);
    const bool is_cut = peek() == '{';  // c alone means c{}c
    auto xs = is_cut ? list('{', [&] { return digit(); }) : std::vector<Digit>();
    const Size s = is_cut ? integer(1) : c;
    std::optional<Size> covered = c;
    for (const Digit& x : xs) covered = covered ? times(*covered, x.size) : covered;
    if (covered != s) fail(start, "tile size times axis sizes must be the global size");
    std::erase_if(xs, [](const Digit& x) { return x.size == 1; });
    out.tile.push_back(c);
    out.digits.push_back(std::move(xs));
    out.global.push_back(s);
    return true;
  }

  Digit digit() { return read_digit(*this, mesh_.axes, false); }

  void check_digits(Tiling& tiling, const ParseError& place) const {
    if (tiling.layout) {
      Layout& L = *tiling.layout;
      if (L.positions == 0) L.positions = program_->devices;  // there is no mesh
      if (L.root) L.root = called(*L.root, place);
      if (const char* const wrong = wrong_layout(L, program_->devices)) fail(place, wrong);
      return;
    }
    std::vector<Digit> all;
    for (const auto& xs : tiling.digits) all.insert(all.end(), xs.begin(), xs.end());
    if (!are_digits_of(program_->devices, all)) {
      fail(place, "axes overlap, stand twice, or do not divide the number of devices");
    }
  }

  void check_addition(const Tiling& tiling, const ParseError& place) {
    if (!is_2()) return;
    const Layout& L = *tiling.layout;
    if (addition_ == Addition::none) addition_ = L.addition;
    if (const char* const why = wrong_addition(addition_, *program_->from.layout, L)) {
      fail(place, why);
    }
  }

  Tiling explicit_tiling() {
    const ParseError start = here();
    Tiling out;
    expect("tile"), expect("=");
    out.tile = ints(1);
    expect("global"), expect("=");
    out.global = ints(1);
    expect("at"), expect("=");
    const Rows at = rows();
    if (!product(out.global)) fail(start, "the global size is not below 2^63");
    const Index rank = out.global.size();
    std::optional<Rows> shapes;
    if (is_2() && accept("shapes")) {
      expect("=");
      shapes = shapes_of(at.size(), rank);
      if (largest(*shapes, rank) != out.tile) fail(start, "tile must be the largest of shapes");
    }
    bool inside = out.tile.size() == rank;
    for (Index d = 0; d < at.size(); ++d) {
      const Sizes& c = shapes ? (*shapes)[d] : out.tile;
      inside = inside && at[d].size() == rank;
      for (Index i = 0; inside && i < rank; ++i) {
        inside = c[i] <= out.global[i] && at[d][i] <= out.global[i] - c[i];
      }
    }
    if (!inside) fail(start, "tile, global and at need one rank, and every tile must lie inside");
    count({{}, static_cast<Size>(at.size()), {}}, true, start);
    if (is_2()) {
      out.layout.emplace();
      for (const Size n : out.global) out.layout->dims.push_back({{}, {}, n});
      out.layout->shapes = shapes.value_or(Rows(at.size(), out.tile));
      zeros_agree(at, *out.layout->shapes, start);
    }
    (out.layout ? out.layout->at : out.at) = at;
    return out;
  }

  // Shapes of version 2: row d is that of device d's tile, all zeros where it is empty.

  Rows shapes_of(Index D, Index rank) {
    const ParseError place = here();
    Rows out = rows();
    bool fits = out.size() == D;
    for (const Sizes& c : out) {
      const auto zeros = static_cast<Index>(std::count(c.begin(), c.end(), 0));
      fits = fits && c.size() == rank && (zeros == 0 || zeros == rank);
    }
    if (!fits) fail(place, "shapes has a row for each device, all zeros for an empty tile");
    return out;
  }
  static Sizes largest(const Rows& shapes, Index rank) {
    Sizes out(rank, 0);
    for (const Sizes& c : shapes) {
      for (Index i = 0; i < rank; ++i) out[i] = std::max(out[i], c[i]);
    }
    return out;
  }
  static void zeros_agree(const Rows& at, const Rows& shapes, const ParseError& place) {
    for (Index d = 0; d < at.size(); ++d) {
      if (shapes[d] == Sizes(at[d].size(), 0) && at[d] != shapes[d]) {
        fail(place, "the tile of device " + std::to_string(d) + " is empty, and begins at zeros");
      }
    }
  }

  Program* program_ = nullptr;
  std::map<Size, Size> places_;  // of devices by their names, where these are listed
  Positions mesh_;               // of the nearest mesh line above
  struct Count {
    Positions positions;
    bool is_list;
    ParseError place;
  };
  std::vector<Count> counts_;           // of version 2
  Addition addition_ = Addition::none;  // of the tilings up to here
};

}  // namespace spec
