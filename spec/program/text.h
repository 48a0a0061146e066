/// Reads the Program text form `retile.program/1`.
///
///   program = "retile.program/1" NL { [line] ["#" comment] NL }
///   line    = "mesh" axis {"," axis} | "devices" INT | "from" tiling | "to" tiling
///           | OP {KEY "=" value}
///   axis    = NAME ":" INT
///   tiling  = "[" [dim {"," dim}] "]"  |  "tile" "=" ints "global" "=" ints "at" "=" rows
///   dim     = INT | INT "{" [digit {"," digit}] "}" INT
///   digit   = NAME [":" INT] | INT ":" INT
///   ints    = "[" [INT {"," INT}] "]"        rows  = "[" [ints {"," ints}] "]"
///   iota    = ints "<=" stage {"<=" stage}   stage = ints ["T" "(" INT {"," INT} ")"]
///
/// A function per name of the grammar; the first error from the left ends the reading. Axis names
/// become digits stride:size of the device number, and digits of size 1 are dropped.
#pragma once

#include <map>
#include <set>

#include "tokens.h"

namespace spec {

/// All Programs of a text, or the first error.
struct Programs {
  std::vector<Program> programs;
  std::optional<ParseError> error;
};

class ProgramReader : protected Tokens {
 public:
  explicit ProgramReader(std::string_view text) : Tokens(text) {}
  virtual ~ProgramReader() = default;

  std::vector<Program> programs() {  // throws ParseError
    std::vector<Program> out;
    while (next_line()) {
      if (peek() == end_of_line) continue;
      const ParseError start = here();
      if (accept("retile.program/1")) {
        if (!out.empty()) finish_header();
        out.emplace_back();
        program_ = &out.back();
        header_.clear();
        axes_.clear();
      } else if (out.empty()) {
        fail(start, "the first line must be retile.program/1");
      } else {
        line(bare_name(), start);
      }
      if (peek() != end_of_line) fail(here(), "unexpected text");
    }
    if (out.empty()) fail(here(), "there is no Program: it starts with the line retile.program/1");
    finish_header();
    return out;
  }

 protected:
  /// Whether the line of this word is none of a Program, but of what stands with it (certify_text.h).
  virtual bool is_other_line(const Name&, const ParseError&) { return false; }

 private:
  static constexpr Size most_devices = Size{1} << 31;

  void line(const Name& word, const ParseError& start) {
    if (is_other_line(word, start)) return;
    static const Name ops[] = {"allgather", "dynslice", "alltoall", "allpermute", "exchange"};
    static const std::set<Name> header = {"mesh", "devices", "from", "to"};
    if (const auto* op = std::find(ops, std::end(ops), word); op != std::end(ops)) {
      finish_header();
      program_->steps.push_back(step(word, op - ops, start));
      return;
    }
    if (header.count(word) == 0) fail(start, "no line starts with " + word);
    if (!program_->steps.empty()) fail(start, word + " must stand before the first step");
    header_.emplace(word, start);
    if (header_.count(word) > (word == "mesh" ? 2 : 1)) fail(start, word + " stands too often");
    if (word == "mesh") mesh();
    if (word == "devices") device_count(integer(1, most_devices), start);
    if (word == "from") program_->from = tiling();
    if (word == "to") program_->to = tiling();
  }

  /// Every line that says how many devices there are must say the same.
  void device_count(Size D, const ParseError& place) {
    if (D < 1 || D > most_devices) fail(place, "there must be 1 to 2^31 devices");
    if (program_->devices == 0) program_->devices = D;
    if (program_->devices != D) {
      fail(place, "this means " + std::to_string(D) + " devices, not " +
                      std::to_string(program_->devices) + " as above");
    }
  }

  void mesh() {
    const ParseError start = here();
    const auto H = items([&] {
      Name x = name();
      expect(":");
      return std::pair(std::move(x), integer(1, most_devices));
    });
    axes_.clear();
    Size stride = 1;  // row-major, so the last axis is the fastest
    for (Index a = H.size(); a-- > 0;) {
      const auto& [x, k] = H[a];
      if (!axes_.emplace(x, Digit{stride, k}).second)
        fail(start, "axis " + to_text(x) + " stands twice");
      if (k > most_devices / stride) fail(start, "a mesh has at most 2^31 devices");
      stride *= k;
    }
    device_count(stride, start);
  }

  /// What can only be said when the header is complete: before the first step, or at the end.
  void finish_header() {
    if (!program_->steps.empty()) return;
    const auto from = header_.find("from"), to = header_.find("to");
    if (from == header_.end()) fail(here(), "this Program has no line `from` before its steps");
    if (to == header_.end()) fail(here(), "this Program has no line `to` before its steps");
    if (program_->devices == 0) fail(here(), "mesh, devices or at must say how many devices");
    if (program_->from.global != program_->to.global) {
      fail(to->second, "`from` and `to` have different global shapes");
    }
    check_digits(program_->from, from->second);
    check_digits(program_->to, to->second);
  }

  // Tilings.

  Tiling tiling() { return peek() == '[' ? bracket_tiling() : explicit_tiling(); }

  Tiling bracket_tiling() {
    const ParseError start = here();
    Tiling out;
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

  Digit digit() {
    const ParseError start = here();
    if (at_digit()) {
      const Size stride = integer(1);
      expect(":");
      return {stride, integer(1)};
    }
    const Name x = name();
    const auto found = axes_.find(x);
    if (found == axes_.end()) fail(start, "axis " + to_text(x) + " is not in the mesh");
    const Size k = found->second.size;
    if (accept(":") && integer() != k) {
      fail(start, "axis " + to_text(x) + " has size " + std::to_string(k));
    }
    return found->second;
  }

  /// Sorted by stride, s·k divides the next s, and the last s·k divides D. So no axis stands twice.
  void check_digits(const Tiling& tiling, const ParseError& place) const {
    std::vector<Digit> all;
    for (const auto& xs : tiling.digits) all.insert(all.end(), xs.begin(), xs.end());
    const auto by_stride = [](const Digit& a, const Digit& b) { return a.stride < b.stride; };
    std::sort(all.begin(), all.end(), by_stride);
    all.push_back({program_->devices, 1});
    for (Index a = 0; a + 1 < all.size(); ++a) {
      const auto end = times(all[a].stride, all[a].size);
      if (!end || all[a + 1].stride % *end != 0) {
        fail(place, "axes overlap, stand twice, or do not divide the number of devices");
      }
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
    out.at = rows();
    if (!product(out.global)) fail(start, "the global size is not below 2^63");
    bool inside = out.tile.size() == out.global.size();
    for (const Sizes& b : *out.at) {
      inside = inside && b.size() == out.tile.size();
      for (Index i = 0; inside && i < b.size(); ++i) {
        inside = out.tile[i] <= out.global[i] && b[i] <= out.global[i] - out.tile[i];
      }
    }
    if (!inside) fail(start, "tile, global and at need one rank, and every tile must lie inside");
    device_count(static_cast<Size>(out.at->size()), start);
    return out;
  }

  // Steps.

  Step step(const Name& op, Size number, const ParseError& start) {
    static const std::set<std::string> forms = {
        "dynslice dim groups",          "dynslice dim part parts", "allgather dim groups",
        "alltoall concat groups split", "allpermute pairs",        "allpermute source",
        "exchange tile transfers"};
    const Size D = program_->devices;
    const Index rank = program_->from.tile.size();
    Step out;
    out.p = static_cast<Op>(std::min<Size>(number, 3));  // an exchange permutes boxes
    std::set<Name> keys;
    while (peek() != end_of_line) {
      const ParseError place = here();
      const Name key = bare_name();
      if (!keys.insert(key).second) fail(place, key + " stands twice");
      expect("=");
      if (key == "dim" || key == "split" || key == "concat") {
        const Size i = integer();
        if (i >= static_cast<Size>(rank)) fail(place, "there is no such dimension");
        if (key != "concat") out.split = static_cast<Index>(i);
        if (key != "split") out.concat = static_cast<Index>(i);
      } else if (key == "groups" || key == "source" || key == "part") {
        out.table = table(key == "groups" ? 2 : 1, key == "part" ? most : D - 1, D);
      } else if (key == "parts") {
        out.parts = integer(1);
      } else if (key == "pairs") {
        out.pairs = rows(D - 1);
      } else if (key == "tile") {
        out.tile = ints(op == "exchange" ? 1 : 0);
      } else if (key == "map") {
        out.map = bracket_tiling();
        check_digits(*out.map, place);
        if (out.map->global != program_->from.global) fail(place, "this global shape differs");
      } else if (key == "at") {
        out.at = rows();
        if (out.at->size() != static_cast<std::size_t>(D)) fail(place, "one row per device");
        for (const Sizes& b : *out.at) {
          if (b.size() != rank) fail(place, "one number per dimension");
        }
      } else if (key == "transfers") {
        out.transfers = rows();
        for (const Sizes& t : *out.transfers) {
          const bool fits = t.size() == 2 + 3 * rank && t[0] < D && t[1] < D;
          if (!fits || std::count(t.data() + 2 + 2 * rank, t.data() + t.size(), 0) > 0) {
            fail(place, "a transfer is [target,source,start in each,extents], with extents not 0");
          }
        }
      } else {
        fail(place, key + " is not a key");
      }
    }
    std::string form = op;
    for (const Name& key : keys) {
      if (key != "map" && key != "at" && (key != "tile" || out.transfers)) form += " " + key;
    }
    if (forms.count(form) == 0 || (out.transfers && out.tile->size() != rank)) {
      fail(start, "the keys of this step are missing, or do not fit it or each other");
    }
    for (const Sizes& pair : out.pairs.value_or(Rows())) {
      if (pair.size() != 2) fail(start, "a pair is [source,target]");
    }
    if (out.parts && !is_part(out.table, *out.parts)) {
      fail(start, "part must give each device a number below parts");
    }
    return out;
  }

  bool is_part(const Table& L, Size parts) const {
    const Size D = program_->devices;
    if (!L.stages.empty()) return L.length == D && D <= parts;  // an iota lists 0..D-1
    const Sizes& l = L.listed.front();
    return l.size() == static_cast<std::size_t>(D) && *std::max_element(l.begin(), l.end()) < parts;
  }

  Program* program_ = nullptr;
  std::multimap<Name, ParseError> header_;  // the lines seen, and where
  std::map<Name, Digit> axes_;              // of the nearest mesh line above
};

/// Reads every Program of a text before any is looked at.
inline Programs parse_programs(std::string_view text) {
  try {
    return {ProgramReader(text).programs(), std::nullopt};
  } catch (const ParseError& error) {
    return {{}, error};
  }
}

}  // namespace spec
