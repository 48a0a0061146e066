#include "retile/draw/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "retile/core/names.h"
#include "retile/program/tile_shapes.h"

namespace retile {

namespace {

// ---- Sizes, in pixels of the picture ------------------------------------------------------------

constexpr double panel_width = 248;
constexpr double panel_height = 248;
constexpr double least_height = 44;
constexpr double gap = 92;  // between panels, where the steps stand
constexpr double margin = 16;
constexpr double head = 46;  // above a panel
constexpr double foot = 26;  // below the tallest panel
constexpr double block_gap = 8;
constexpr double least_cell = 7.5;
constexpr double least_row = 11;
constexpr std::size_t most_bands = 4;
constexpr std::size_t most_colours = 240;

/// The colour of a device: neighbours are far apart, and every device keeps its own in all panels.
struct Colour {
  int hue;
  int step;  ///< 0, 1 or 2: lighter to darker, so that equal hues differ
};
Colour colour_of(std::size_t device) {
  const std::size_t number = device % most_colours;
  return {static_cast<int>(number * 47 % 360), static_cast<int>(number % 3)};
}

std::string number(double value) {
  std::string out = fmt::format("{:.1f}", value);
  if (out.ends_with(".0")) out.resize(out.size() - 2);
  return out;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else {
      out += byte < 0x20 || byte >= 0x7F ? '?' : c;
    }
  }
  return out;
}

// ---- What is drawn ------------------------------------------------------------------------------

/// A state of the array, with what stands above and below it.
struct Panel {
  std::string title;
  const Layout* layout = nullptr;
  std::string arrow;  ///< the steps that lead here from the panel on the left
};

/// The devices that hold a box, by where it begins and its extents.
using Holders = std::map<std::pair<Shape, Shape>, std::vector<Size>>;

struct Held {
  Holders holders;
  Shape most;                  ///< the largest extents of all boxes
  Size empty = 0;              ///< devices that hold nothing
  std::size_t most_boxes = 0;  ///< of a device
};

Held held_in(const Layout& layout) {
  Held out{.holders = {}, .most = Shape(layout.rank(), 1), .empty = 0};
  for (Size device = 0; device < layout.devices(); ++device) {
    const std::vector<TilePart> parts = layout.parts(device);
    out.empty += parts.empty() ? 1 : 0;
    out.most_boxes = std::max(out.most_boxes, parts.size());
    for (const auto& [place, box] : parts) {
      out.holders[{box.at, box.extent}].push_back(device);
      for (std::size_t i = 0; i < layout.rank(); ++i) {
        out.most[i] = std::max(out.most[i], box.extent[i]);
      }
    }
  }
  return out;
}

bool are_all_of(const Shape& shape, const Holders& holders) {
  return std::all_of(holders.begin(), holders.end(),
                     [&](const auto& holder) { return holder.first.second == shape; });
}

/// How many devices hold each tile; 0 where that differs, or is not worth saying.
std::size_t on_each(const Holders& holders) {
  const std::size_t first = holders.empty() ? 0 : holders.begin()->second.size();
  const bool all = std::all_of(holders.begin(), holders.end(), [first](const auto& holder) {
    return holder.second.size() == first;
  });
  return all && first > 1 ? first : 0;
}

/// One axis of a panel: elements to pixels, for as many tiles as have room.
class Ruler {
 public:
  Ruler(Size global, Size tile, double length) : tile_(tile) {
    const double cells = std::ceil(static_cast<double>(global) / static_cast<double>(tile));
    const double room = std::floor(length / least_cell);
    cut_ = cells > room;
    // A row that is cut short ends in the room of one tile, where the dots stand.
    shown_ = cut_ ? static_cast<Size>(room - 1) * tile : global;
    scale_ = length / static_cast<double>(cut_ ? shown_ + tile : global);
  }

  [[nodiscard]] bool cut() const { return cut_; }
  [[nodiscard]] bool shows(Size at) const { return at < shown_; }
  [[nodiscard]] double place(Size at) const { return scale_ * static_cast<double>(at); }
  /// Of what is shown.
  [[nodiscard]] double length(Size at, Size extent) const {
    return place(std::min(extent, std::max(shown_ - at, tile_)));
  }
  [[nodiscard]] double tile() const { return place(tile_); }
  [[nodiscard]] double shown() const { return place(shown_); }

 private:
  Size tile_;
  Size shown_ = 0;
  double scale_ = 1;
  bool cut_ = false;
};

/// The steps between two states: `alltoall, allpermute`.
std::string names(const Program& program, std::size_t begin, std::size_t end) {
  std::string out;
  for (std::size_t k = begin; k < end; ++k) {
    if (k > begin) out += '\n';
    out += op_name(program.steps[k]);
  }
  return out;
}

Size from_end(const Shape& shape, std::size_t place) {
  return shape.size() >= place ? shape[shape.size() - place] : Size{1};
}

/// The height of one block of an array: as its extents say, but such that all states have room for
/// their rows of tiles where that can be.
double height_of(const std::vector<Panel>& panels) {
  const Shape& global = panels.front().layout->global();
  if (global.size() < 2) return least_height;
  const auto rows = static_cast<double>(from_end(global, 2));
  double height = panel_width * rows / static_cast<double>(from_end(global, 1));
  for (const Panel& panel : panels) {
    height =
        std::max(height, rows / static_cast<double>(from_end(panel.layout->tile(), 2)) * least_row);
  }
  return std::clamp(height, least_height, panel_height);
}

// ---- The picture --------------------------------------------------------------------------------

class Picture {
 public:
  Picture(double height, const DeviceNumbers& numbers) : height_(height), numbers_(numbers) {}

  /// Draws a panel with its left upper corner at (x, head).
  void panel(const Panel& panel, double x) {
    const Layout& layout = *panel.layout;
    text(x, 16, "title", panel.title);
    const Shape& tile = layout.tile();
    std::string shape;
    for (const Size extent : tile) {
      shape += shape.empty() ? "" : " x ";
      shape += fmt::to_string(extent);
    }
    const Held held = held_in(layout);
    std::string note =
        fmt::format("{} {}: ", are_all_of(tile, held.holders) ? "tile" : "tiles up to",
                    shape.empty() ? "1" : shape) +
        counted(layout.tile_size(), "element");
    if (const auto each = on_each(held.holders)) note += fmt::format(", each on {} devices", each);
    if (held.empty > 0) note += fmt::format(", {} of {} empty", held.empty, layout.devices());
    if (held.most_boxes > 1) note += fmt::format(", {} boxes", held.holders.size());
    text(x, 34, "note", note);
    blocks(layout, held, x);
  }

  void arrow(const std::string& steps, double x) {
    const double y = head + height_ / 2;
    body_ += fmt::format("<path class='arrow' d='M{} {}h{}m-7 -5l7 5l-7 5'/>\n", number(x + 8),
                         number(y), number(gap - 16));
    double line = y - 10;
    std::size_t end = steps.size();
    // The last name stands nearest to the arrow.
    while (end > 0) {
      const std::size_t begin = steps.rfind('\n', end - 1);
      const std::size_t first = begin == std::string::npos ? 0 : begin + 1;
      text(x + gap / 2, line, "step", std::string_view(steps).substr(first, end - first));
      line -= 14;
      end = begin == std::string::npos ? 0 : begin;
    }
  }

  [[nodiscard]] std::string document(double width) const {
    const double height = head + lowest_ + foot;
    std::string out = fmt::format(
        "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {0} {1}' width='{0}' height='{1}' "
        "role='img'>\n<style>\n{2}</style>\n",
        number(width), number(height), style());
    return out + body_ + "</svg>\n";
  }

 private:
  void text(double x, double y, std::string_view kind, std::string_view what) {
    body_ += fmt::format("<text class='{}' x='{}' y='{}'>{}</text>\n", kind, number(x), number(y),
                         escaped(what));
  }

  /// One block of the last two dimensions per tile number of the others.
  void blocks(const Layout& layout, const Held& held, double x) {
    const Holders& holders = held.holders;
    const std::size_t rank = layout.rank();
    std::map<Shape, std::vector<const Holders::value_type*>> by_block;
    for (const auto& holder : holders) {
      const Shape& at = holder.first.first;
      const auto leading = static_cast<std::ptrdiff_t>(rank > 2 ? rank - 2 : 0);
      by_block[Shape(at.begin(), at.begin() + leading)].push_back(&holder);
    }
    const auto most = static_cast<std::size_t>(
        std::max(1.0, std::floor((panel_height + block_gap) / (least_height + block_gap))));
    const std::size_t shown = std::min(by_block.size(), most);
    const double each =
        std::min(height_, (panel_height - block_gap * static_cast<double>(shown - 1)) /
                              static_cast<double>(shown));
    const Ruler across(from_end(layout.global(), 1), from_end(held.most, 1), panel_width);
    const Ruler down(from_end(layout.global(), 2), from_end(held.most, 2), each);
    double y = head;
    std::size_t drawn = 0;
    for (const auto& [leading, tiles] : by_block) {
      if (drawn++ == shown) break;
      for (const auto* tile : tiles) {
        const auto& [at, extent] = tile->first;
        const Size row = rank >= 2 ? from_end(at, 2) : 0;
        const Size column = rank >= 1 ? from_end(at, 1) : 0;
        if (!across.shows(column) || !down.shows(row)) continue;
        cell(x + across.place(column), y + down.place(row),
             across.length(column, from_end(extent, 1)), down.length(row, from_end(extent, 2)),
             tile->second);
      }
      if (across.cut()) dots(x + across.shown() + across.tile() / 2, y + each / 2);
      if (down.cut()) dots(x + panel_width / 2, y + down.shown() + down.tile() / 2);
      y += each + block_gap;
    }
    y -= block_gap;
    if (across.cut() || down.cut() || shown < by_block.size()) {
      text(x, y + 16, "note", fmt::format("{} tiles in all", holders.size()));
      y += 16;
    }
    lowest_ = std::max(lowest_, y - head);
  }

  void dots(double x, double y) { text(x, y + 4, "number", "..."); }

  /// A tile and who holds it: a band of colour for each, and their numbers.
  void cell(double x, double y, double width, double height, const std::vector<Size>& devices) {
    const std::size_t bands = std::min(devices.size(), most_bands);
    const double band = width / static_cast<double>(bands);
    for (std::size_t b = 0; b < bands; ++b) {
      const auto device = static_cast<std::size_t>(devices[b]) % most_colours;
      if (std::find(used_.begin(), used_.end(), device) == used_.end()) used_.push_back(device);
      body_ += fmt::format("<rect class='d{}' x='{}' y='{}' width='{}' height='{}'/>\n", device,
                           number(x + band * static_cast<double>(b)), number(y), number(band),
                           number(height));
    }
    body_ += fmt::format("<rect class='tile' x='{}' y='{}' width='{}' height='{}'/>\n", number(x),
                         number(y), number(width), number(height));
    for (std::size_t b = 0; b < bands; ++b) {
      const bool rest = b + 1 == bands && devices.size() > bands;
      label(x + band * static_cast<double>(b), y, band, height,
            fmt::format("{}{}", numbers_.of(devices[b]), rest ? ".." : ""));
    }
  }

  /// The number of a holder in its band, if it has room; upright where the band is narrow.
  void label(double x, double y, double width, double height, const std::string& what) {
    struct Font {
      std::string_view kind;
      double letter;
      double line;
    };
    const double middle = x + width / 2;
    const double base = y + height / 2;
    constexpr std::array fonts = {Font{"number", 6.2, 9.5}, Font{"small", 4.7, 7}};
    for (const bool upright : {false, true}) {
      for (const Font& font : fonts) {
        const double length = font.letter * static_cast<double>(what.size()) + 1;
        if (length > (upright ? height : width) || font.line > (upright ? width : height)) continue;
        const double drop = font.line * 0.37;  // from the middle of a line to its base
        if (upright) {
          body_ +=
              fmt::format("<text class='{}' transform='translate({} {}) rotate(-90)'>{}</text>\n",
                          font.kind, number(middle + drop), number(base), what);
        } else {
          text(middle, base + drop, font.kind, what);
        }
        return;
      }
    }
  }

  [[nodiscard]] std::string style() const {
    std::string out =
        "text{font-family:ui-sans-serif,system-ui,'DejaVu Sans',sans-serif;fill:#1f2328}\n"
        ".title{font-size:13px;font-weight:600}\n.note{font-size:11px;fill:#59636e}\n"
        ".small{font-size:7.5px;text-anchor:middle}\n.step{font-size:11px;text-anchor:middle}\n."
        "number{font-size:10px;text-anchor:middle}\n"
        ".tile{fill:none;stroke:#1f2328;stroke-width:.7}\n"
        ".arrow{fill:none;stroke:#59636e;stroke-width:1.5}\n";
    std::string dark =
        "text{fill:#f0f6fc}\n.note{fill:#9198a1}\n.tile{stroke:#f0f6fc}\n.arrow{stroke:#9198a1}\n";
    for (const std::size_t device : used_) {
      const Colour colour = colour_of(device);
      out += fmt::format(".d{}{{fill:hsl({},{}%,{}%)}}\n", device, colour.hue, 70 - 8 * colour.step,
                         82 - 6 * colour.step);
      dark += fmt::format(".d{}{{fill:hsl({},{}%,{}%)}}\n", device, colour.hue,
                          42 + 6 * colour.step, 26 + 6 * colour.step);
    }
    return out + "@media (prefers-color-scheme:dark){\n" + dark + "}\n";
  }

  double height_;
  const DeviceNumbers& numbers_;
  std::string body_;
  std::vector<std::size_t> used_;
  double lowest_ = 0;
};

/// Where the tiles lie after a step, by what it claims.
std::optional<Layout> layout_after(const Step& step, const Program& program) {
  const Claims& claims = step.claims;
  if (claims.map) return claims.map;
  if (!claims.at || !(claims.tile || claims.shapes)) return std::nullopt;
  const Shape& global = program.from.global();
  auto out = claims.shapes
                 ? Layout::listed_boxes(program.devices, global, *claims.at, *claims.shapes)
                 : Layout::listed(program.devices, global, *claims.tile, *claims.at);
  return out ? std::optional(*std::move(out)) : std::nullopt;
}

}  // namespace

Result<std::string> to_svg(const Program& program) {
  if (program.devices > most_drawn_devices) {
    return refuse({.code = Code::limit_reached,
                   .message = fmt::format("a picture shows at most {} devices, not {}",
                                          most_drawn_devices, program.devices)});
  }
  // States between the steps; the last one is `to`.
  std::optional<Layout> largest;  // of those after a step, ends left out
  std::size_t steps_before = 0;
  for (std::size_t k = 0; k + 1 < program.steps.size(); ++k) {
    std::optional<Layout> after = layout_after(program.steps[k], program);
    if (!after) {
      return refuse({.code = Code::unsupported,
                     .message = fmt::format(
                         "step {} ({}) says by no map where its tiles lie, so it cannot be drawn",
                         k, op_name(program.steps[k]))});
    }
    if (largest && after->tile_size() <= largest->tile_size()) continue;
    largest = std::move(after);
    steps_before = k + 1;
  }
  const std::size_t count = program.steps.size();
  std::vector<Panel> panels = {{"before", &program.from, ""}};
  if (largest) {
    panels.push_back({"largest in between", &*largest, names(program, 0, steps_before)});
    panels.push_back({"after", &program.to, names(program, steps_before, count)});
  } else {
    panels.push_back({"after", &program.to, names(program, 0, count)});
  }
  Picture picture(height_of(panels), program.numbers);
  double x = margin;
  for (std::size_t p = 0; p < panels.size(); ++p) {
    if (p > 0) {
      picture.arrow(panels[p].arrow, x);
      x += gap;
    }
    picture.panel(panels[p], x);
    x += panel_width;
  }
  return picture.document(x + margin);
}

}  // namespace retile
