/// Reads the Program text form, `retile.program/1` and `retile.program/2`.
///
/// Version 1 has the grammar below, but for `view`. Version 2 has other tilings (tiling_text.h), the keys
/// `piece`, `shapes` and `add` of steps, the steps that add, and those along several dimensions.
///
///   program = "retile.program/1" NL { [line] ["#" comment] NL }
///   line    = "mesh" axis {"," axis} | "devices" (tiling_text.h) | "from" tiling | "to" tiling
///           | "view" ints | OP {KEY "=" value}
///   axis    = NAME ":" INT
///   tiling  = (tiling_text.h)
///   ints    = "[" [INT {"," INT}] "]"        rows  = "[" [ints {"," ints}] "]"
///   iota    = ints "<=" stage {"<=" stage}   stage = ints ["T" "(" INT {"," INT} ")"]
///
/// A function per name of the grammar; the first error from the left ends the reading.
#pragma once

#include <limits>
#include <set>

#include "../layout/views.h"
#include "tiling_text.h"

namespace spec {

/// All Programs of a text, or the first error.
struct Programs {
  std::vector<Program> programs;
  std::optional<ParseError> error;
};

class ProgramReader : protected TilingReader {
 public:
  explicit ProgramReader(std::string_view text) : TilingReader(text) {}
  virtual ~ProgramReader() = default;

  std::vector<Program> programs() {  // throws ParseError
    std::vector<Program> out;
    while (next_line()) {
      if (peek() == end_of_line) continue;
      const ParseError start = here();
      const bool is_1 = accept("retile.program/1");
      if (is_1 || accept("retile.program/2")) {
        if (!is_1) version_2(start);
        if (!out.empty()) finish_header();
        out.emplace_back();
        program_ = &out.back();
        program_->version = is_1 ? 1 : 2;
        header_.clear();
        counts_.clear();
        mesh_ = {};
        places_.clear();
        addition_ = Addition::none;
      } else if (out.empty()) {
        fail(start, "the first line must be retile.program/1 or retile.program/2");
      } else {
        line(bare_name(), start);
      }
      if (peek() != end_of_line) fail(here(), "unexpected text");
    }
    if (out.empty())
      fail(here(), "there is no Program: it starts with the line retile.program/1 or /2");
    finish_header();
    return out;
  }

 protected:
  /// Whether the line of this word is none of a Program, but of what stands with it (certify_text.h).
  virtual bool is_other_line(const Name&, const ParseError&) { return false; }
  /// A Program of version 2 begins. A reader that has no use for it throws ParseError.
  virtual void version_2(const ParseError&) {}

 private:
  void line(const Name& word, const ParseError& start) {
    if (is_other_line(word, start)) return;
    static const Name ops[] = {"allgather", "dynslice",       "alltoall",     "allpermute",
                               "exchange",  "reducescatter",  "allreduce",    "unreduce",
                               "embed",     "allgather_dims", "alltoall_dims"};
    static const std::set<Name> header = {"mesh", "devices", "from", "to", "view"};
    const auto* const last = is_2() ? std::end(ops) : ops + 5;
    if (const auto* op = std::find(ops, last, word); op != last) {
      finish_header();
      program_->steps.push_back(step(word, op - ops, start));
      return;
    }
    if (header.count(word) == 0 || (word == "view" && !is_2()))
      fail(start, "no line starts with " + word);
    if (!program_->steps.empty()) fail(start, word + " must stand before the first step");
    header_.emplace(word, start);
    if (header_.count(word) > (word == "mesh" ? 2 : 1)) fail(start, word + " stands too often");
    if (word == "mesh") mesh();
    if (word == "devices") devices(start);
    if (word == "from") program_->from = tiling();
    if (word == "to") program_->to = tiling();
    if (word == "view") program_->view = ints(1);
  }

  /// What can only be said when the header is complete: before the first step, or at the end.
  void finish_header() {
    if (!program_->steps.empty()) return;
    const auto from = header_.find("from"), to = header_.find("to");
    if (from == header_.end()) fail(here(), "this Program has no line `from` before its steps");
    if (to == header_.end()) fail(here(), "this Program has no line `to` before its steps");
    count_devices(header_.count("devices") > 0);
    if (program_->devices == 0) fail(here(), "mesh, devices or at must say how many devices");
    if (program_->from.global != program_->to.global) {
      fail(to->second, "`from` and `to` have different global shapes");
    }
    check_digits(program_->from, from->second);
    check_digits(program_->to, to->second);
    check_addition(program_->from, from->second);
    check_addition(program_->to, to->second);
    if (!program_->view) return;
    for (const Tiling* end : {&program_->from, &program_->to}) {
      const ParseError& place = header_.find("view")->second;
      try {
        if (wf_view(*end->layout, *program_->view)) continue;
      } catch (const TooLarge& what) {
        fail(place, what.why);
      }
      fail(place, "blocks and rounds must end where dimensions of a view do");
    }
  }

  // Steps.

  Step step(const Name& op, Size number, const ParseError& start) {
    static const std::set<std::string> forms = {"dynslice dim groups",
                                                "dynslice dim part parts",
                                                "allgather dim groups",
                                                "alltoall concat groups split",
                                                "allpermute pairs",
                                                "allpermute source",
                                                "exchange tile transfers",
                                                "dynslice dim groups piece",
                                                "dynslice dim part parts piece",
                                                "alltoall concat groups piece split",
                                                "exchange shapes transfers",
                                                "reducescatter dim groups",
                                                "reducescatter dim groups piece",
                                                "allreduce groups",
                                                "unreduce groups",
                                                "embed dim groups"};
    const Size D = program_->devices;
    const Index rank = steps_shape(*program_).size();
    Step out;
    if (number <= 4) {
      out.p = static_cast<Op>(std::min<Size>(number, 3));  // an exchange permutes boxes
    } else if (number <= 8) {
      out.adding = static_cast<Adding>(number - 4);
      out.add = Addition::sum;  // where nothing else is said
    } else {
      out.p = number == 9 ? Op::allgather : Op::alltoall;
      out.grid.emplace();
    }
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
        out.table = table(key == "groups" ? 2 : 1, key == "part" ? most : last_name(), D);
        if (key != "part") called(out.table.listed, std::numeric_limits<Index>::max(), place);
      } else if (key == "parts") {
        out.parts = integer(1);
      } else if (key == "pairs") {
        out.pairs = rows(last_name());
        called(*out.pairs, 2, place);
      } else if (key == "tile") {
        out.tile = ints(op == "exchange" ? 1 : 0);
      } else if (key == "map") {
        out.map = bracket_tiling();
        check_digits(*out.map, place);
        if (out.map->global != steps_shape(*program_)) fail(place, "this global shape differs");
        check_addition(*out.map, place);
      } else if (key == "at") {
        out.at = rows();
        if (out.at->size() != static_cast<std::size_t>(D)) fail(place, "one row per device");
        for (const Sizes& b : *out.at) {
          if (b.size() != rank) fail(place, "one number per dimension");
        }
      } else if (key == "transfers") {
        out.transfers = rows();
        called(*out.transfers, 2, place);
        for (const Sizes& t : *out.transfers) {
          const bool fits = t.size() == 2 + 3 * rank && t[0] < D && t[1] < D;
          if (!fits || std::count(t.data() + 2 + 2 * rank, t.data() + t.size(), 0) > 0) {
            fail(place, "a transfer is [target,source,start in each,extents], with extents not 0");
          }
        }
      } else if (is_2() && key == "piece") {
        out.balanced = !at_digit() && bare_name() == "balanced";
        if (!out.balanced) out.piece = integer(1);
      } else if (out.grid && read_grid(*this, *out.grid, key, rank)) {  // it is read
      } else if (is_2() && key == "add" && (out.adding != Adding::none || op == "exchange")) {
        out.add = read_add(*this);
      } else if (is_2() && key == "shapes") {
        out.shapes = shapes_of(static_cast<Index>(D), rank);
      } else {
        fail(place, key + " is not a key");
      }
    }
    std::string form = op;
    for (const Name& key : keys) {
      const bool is_claim = key == "map" || key == "at" || (key == "shapes" && out.at);
      if (key == "add") continue;
      if ((!is_claim && key != "tile") || (out.transfers && key != "map" && key != "at")) {
        form += " " + key;
      }
    }
    const bool is_form = out.grid ? is_grid(*out.grid, form) : forms.count(form) > 0;
    if (!is_form || (out.transfers && out.tile && out.tile->size() != rank)) {
      fail(start, "the keys of this step are missing, or do not fit it or each other");
    }
    if (out.at && out.shapes) zeros_agree(*out.at, *out.shapes, start);
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

  std::multimap<Name, ParseError> header_;  // the lines seen, and where
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
