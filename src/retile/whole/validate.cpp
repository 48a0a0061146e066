#include "retile/whole/validate.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "retile/core/layout.h"
#include "retile/core/names.h"
#include "retile/foreign/reader.h"
#include "retile/notation/sharding.h"
#include "retile/whole/array.h"
#include "retile/whole/blame.h"
#include "retile/whole/chance.h"
#include "retile/whole/constants.h"
#include "retile/whole/evaluate.h"
#include "retile/whole/explain.h"
#include "retile/whole/field.h"
#include "retile/whole/read.h"
#include "retile/whole/real.h"
#include "retile/whole/repair.h"
#include "retile/whole/smaller.h"

namespace retile::whole {
namespace {

/// What the devices hold of an argument or a result.
struct Cut {
  std::vector<Box> boxes;  ///< of every device
  ArrayType global;
  ArrayType tile;
  Size addend_count = 1;  ///< the array is the sum of so many, of each of which devices hold boxes
  std::vector<Size> addends = {};  ///< of every device: of which of them; none if it is only one
};

/// How the two texts go together.
struct Matching {
  Size devices = 1;
  bool is_partitioned = false;  ///< the text after is cut by the shardings of the one before
  bool is_per_device = false;   ///< both texts are of one device, which hold arguments of their own
  bool has_loops = false;       ///< how often they run may depend on arguments
  std::vector<Size> integers;   ///< that stand in the texts
  double coarsest = 0;          ///< what the shortest format with a point rounds by, beside 1
  std::vector<Cut> starts;
  std::vector<Cut> ends;
  /// A difference in floating point that is none, beside the number itself and beside the largest of
  /// its array.
  double beside_itself = 1e-7;
  double beside_largest = 1e-10;
  bool may_miscount = false;  ///< the extents were divided, and a constant may count them
  bool is_again = false;      ///< at other extents were draws enough: one more must do
};

/// From so many elements and products on, extents are divided, and fewer draws must do.
constexpr double much_work = 4e8;

const ArrayType& type_of(const Computation& in, ValueId value) { return in.values[value].type; }

/// All devices hold all of it.
Cut uncut(const ArrayType& type, Size devices) {
  const Box box{.at = Shape(type.extents.size(), 0), .extent = type.extents};
  return {.boxes = std::vector<Box>(static_cast<std::size_t>(devices), box),
          .global = type,
          .tile = type};
}

bool has_loops(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& one : computation.body) {
      if (one.id == Id::while_loop) return true;
    }
  }
  return false;
}

class Matcher {
 public:
  Matcher(const Module& before, const Module& after, std::string before_name)
      : before_(before), after_(after), before_name_(std::move(before_name)) {}

  [[nodiscard]] Result<Matching> matching() const {
    Matching out;
    out.devices = std::max(after_.devices(), before_.devices());
    out.has_loops = has_loops(before_) || has_loops(after_);
    for (const Module* module : {&before_, &after_}) note_numbers(*module, out);
    const Computation& a = before_.main();
    const Computation& b = after_.main();
    if (std::min(after_.devices(), before_.devices()) > 1 &&
        after_.devices() != before_.devices()) {
      return refuse(Code::bad_argument,
                    fmt::format("{} before, but {} after", counted(before_.devices(), "device"),
                                counted(after_.devices(), "device")));
    }
    if (a.parameters.size() != b.parameters.size()) {
      return refuse(Code::bad_argument, fmt::format("{} before, but {} after",
                                                    counted(a.parameters.size(), "parameter"),
                                                    counted(b.parameters.size(), "parameter")));
    }
    if (a.results.size() != b.results.size()) {
      return refuse(Code::bad_argument,
                    fmt::format("{} before, but {} after", counted(a.results.size(), "result"),
                                counted(b.results.size(), "result")));
    }
    if (same_types(a, a.parameters, b, b.parameters) && same_types(a, a.results, b, b.results) &&
        !are_tiles()) {
      out.is_per_device = are_per_device();
      for (const ValueId one : a.parameters)
        out.starts.push_back(uncut(type_of(a, one), out.devices));
      for (const ValueId one : a.results) out.ends.push_back(uncut(type_of(a, one), out.devices));
      return out;
    }
    out.is_partitioned = true;
    for (std::size_t k = 0; k < a.parameters.size(); ++k) {
      auto cut = cut_of(said(before_.starts[k], after_.starts[k]), type_of(a, a.parameters[k]),
                        type_of(b, b.parameters[k]), fmt::format("parameter {}", k), out.devices);
      if (!cut) return refuse(cut.error());
      out.starts.push_back(*std::move(cut));
    }
    for (std::size_t k = 0; k < a.results.size(); ++k) {
      auto cut = cut_of(said(before_.ends[k], after_.ends[k]), type_of(a, a.results[k]),
                        type_of(b, b.results[k]), fmt::format("result {}", k), out.devices);
      if (!cut) return refuse(cut.error());
      out.ends.push_back(*std::move(cut));
    }
    return out;
  }

 private:
  /// Whether arguments of one type before and after are tiles nevertheless: an extent of 1 that is
  /// cut has tiles of its own type, of which all but one are padding, and so have addends of a sum.
  [[nodiscard]] bool are_tiles() const {
    if (before_.is_partitioned || after_.devices() == 1) return false;
    const auto is_told = [](const End& end) { return end.sharding.has_value(); };
    const bool is_global = std::any_of(after_.starts.begin(), after_.starts.end(), is_told) ||
                           std::any_of(after_.ends.begin(), after_.ends.end(), is_told);
    return after_.is_partitioned ||
           (!is_global && (are_tiles_of(before_.starts, before_.main().parameters) ||
                           are_tiles_of(before_.ends, before_.main().results)));
  }
  [[nodiscard]] bool are_tiles_of(const std::vector<End>& ends,
                                  const std::vector<ValueId>& values) const {
    for (std::size_t k = 0; k < ends.size(); ++k) {
      const ArrayType& type = type_of(before_.main(), values[k]);
      const auto cut = cut_of(ends[k], type, type, "", after_.devices());
      if (!cut) continue;
      const auto is_part = [&](const Box& box) { return box.extent != type.extents; };
      const bool has_parts = std::any_of(cut->boxes.begin(), cut->boxes.end(), is_part);
      if (has_parts || !cut->addends.empty()) return true;
    }
    return false;
  }
  /// Whether both texts are of one device, each of which has arguments of its own: the partitioner
  /// names them so, replicas always do, and so does what exchanges without saying how arrays lie.
  [[nodiscard]] bool are_per_device() const {
    if (before_.is_partitioned && after_.is_partitioned) return true;
    if (before_.replicas > 1 && after_.replicas > 1) return true;
    const auto is_told = [](const End& end) { return end.sharding.has_value(); };
    return std::none_of(before_.starts.begin(), before_.starts.end(), is_told) &&
           std::none_of(before_.ends.begin(), before_.ends.end(), is_told) &&
           before_.devices() > 1 && is_of_one_device(before_);
  }
  static void note_numbers(const Module& module, Matching& out) {
    constexpr std::size_t most = 16;  // of one constant: others are tables
    for (const Computation& computation : module.computations) {
      for (const Value& value : computation.values) {
        if (!value.type.kind.is_real()) continue;
        const auto bits = static_cast<int>(value.type.kind.format->mantissa_bits);
        out.coarsest = std::max(out.coarsest, std::ldexp(1, 1 - bits));
      }
      for (const Instruction& one : computation.body) {
        const auto* literal = std::get_if<Literal>(&one.detail);
        if (literal == nullptr || literal->words.size() > most) continue;
        const ElementKind& kind = type_of(computation, one.results[0]).kind;
        if (kind.form != ElementKind::Form::integer) continue;
        out.integers.insert(out.integers.end(), literal->words.begin(), literal->words.end());
      }
    }
  }
  [[nodiscard]] static bool is_of_one_device(const Module& module) {
    bool exchanges = false;
    for (const Computation& computation : module.computations) {
      for (const Instruction& one : computation.body) {
        if (std::holds_alternative<ManualDetail>(one.detail)) return false;
        exchanges = exchanges || depends_on_device(one);
      }
    }
    return exchanges;
  }
  [[nodiscard]] static bool same_types(const Computation& a, const std::vector<ValueId>& some,
                                       const Computation& b, const std::vector<ValueId>& others) {
    return std::equal(some.begin(), some.end(), others.begin(), others.end(),
                      [&](ValueId x, ValueId y) { return type_of(a, x) == type_of(b, y); });
  }
  /// Shardy's text says how its tiles are cut, which the text before it need not say.
  [[nodiscard]] static const End& said(const End& before, const End& after) {
    return before.sharding ? before : after;
  }
  [[nodiscard]] Result<Cut> cut_of(const End& end, const ArrayType& global, const ArrayType& tile,
                                   const std::string& what, Size devices) const {
    if (global.kind != tile.kind) {
      return refuse(Code::bad_argument, fmt::format("{} is {} before, but {} after", what,
                                                    text_of(global), text_of(tile)));
    }
    Cut out = uncut(global, devices);
    out.tile = tile;
    Shape expected = global.extents;
    if (end.sharding && !global.extents.empty()) {
      ShardingContext context;
      context.shape = global.extents;
      context.devices = devices;
      auto sharding = parse_sharding(*end.sharding, context, before_name_);
      if (!sharding) return refuse(sharding.error());
      if (sharding->layout.devices() != devices) {
        return refuse(Code::bad_argument,
                      fmt::format("{} is cut for {}, but there are {}", what,
                                  counted(sharding->layout.devices(), "device"), devices));
      }
      if (auto added = set_addends(sharding->layout, what, out); !added) {
        return refuse(added.error());
      }
      out.boxes = sharding->layout.boxes();
      expected = sharding->layout.tile();
    }
    if (tile.extents.size() != global.extents.size() || !holds(tile.extents, expected)) {
      return refuse(Code::bad_argument,
                    fmt::format("{} is {} after, but a tile of {} is [{}]", what, text_of(tile),
                                text_of(global), fmt::join(expected, ",")));
    }
    return out;
  }
  [[nodiscard]] static bool holds(const Shape& tile, const Shape& box) { return tile == box; }
  [[nodiscard]] static Result<void> set_addends(const Layout& layout, const std::string& what,
                                                Cut& out) {
    if (!layout.addends()) return {};
    if (layout.addends()->addition != Addition::sum ||
        out.global.kind.form == ElementKind::Form::truth) {
      return refuse(Code::unsupported,
                    fmt::format("{} is made of several devices, but is no sum", what));
    }
    out.addend_count = layout.addend_count();
    for (Size d = 0; d < layout.devices(); ++d) out.addends.push_back(layout.addend(d));
    return {};
  }

  const Module& before_;
  const Module& after_;
  std::string before_name_;
};

/// a + b, or a - b.
template <typename Domain>
Word combined(const Domain& domain, const ElementKind& kind, Word a, Word b, bool is_difference) {
  if (!kind.is_number()) return is_difference ? domain.sub(a, b) : domain.add(a, b);
  const auto x = static_cast<std::uint64_t>(a);
  const auto y = static_cast<std::uint64_t>(b);
  return operations::wrapped(static_cast<Word>(is_difference ? x - y : x + y), kind);
}

/// The arguments of one draw, in one kind of numbers.
template <typename Domain>
class Arguments {
 public:
  /// Integers and truth values are the same for every kind of numbers.
  /// \param others  draws other numbers with a point beside the same integers
  Arguments(const Domain& domain, const Matching& matching, Limits& limits, std::uint64_t seed,
            Size draw, std::vector<Size> extents, std::uint64_t others = 0)
      : domain_(domain),
        matching_(matching),
        limits_(limits),
        integers_(seed * 1000003 + 17),
        reals_(seed * 7919 + 5 + others),
        draw_(draw),
        extents_(std::move(extents)) {}

  void make() {
    for (const Cut& cut : matching_.starts) {
      if (matching_.is_per_device) {
        Held tiles;
        for (Size d = 0; d < matching_.devices; ++d) tiles.push_back(array(cut.global));
        before.push_back(tiles);
        after.push_back(std::move(tiles));
        continue;
      }
      const Block whole = array(cut.global);
      before.emplace_back(static_cast<std::size_t>(matching_.devices), whole);
      after.push_back(matching_.is_partitioned ? tiles_of(cut, whole) : before.back());
    }
  }

  /// Gives an argument without dimensions another integer.
  void set(std::size_t k, Word integer) {
    const ArrayType& type = matching_.starts[k].global;
    auto scalar = new_array(limits_, type);
    scalar->words.front() = operations::wrapped(integer, type.kind);
    before[k].assign(before[k].size(), scalar);
    after[k] = before[k];
  }

  std::vector<Held> before;
  std::vector<Held> after;

 private:
  [[nodiscard]] Size below(Size number) {
    return static_cast<Size>(integers_() % static_cast<std::uint64_t>(number));
  }
  /// Integers may be indices, so each draw looks at other places of an extent: inside of it, at its
  /// end and behind it, below 0. One in four is inside whatever the draw, lest one hides the other.
  [[nodiscard]] Word integer(const ElementKind& kind) {
    if (kind.form == ElementKind::Form::truth)
      return below(8) < (draw_ % 3 == 0 ? 4 : draw_ % 3 == 1 ? 1 : 7);
    const Size extent =
        extents_[static_cast<std::size_t>(below(static_cast<Size>(extents_.size())))];
    const Size place = below(4) == 0 ? 0 : draw_ % 6;
    Size number = below(extent);
    if (place == 1) number = extent + below(3) - below(2);
    if (place == 2) number = -1 - (below(2) == 0 ? below(3) : extent - 1 + below(3));
    if (place == 4) number = extent + below(2 * extent);
    if (place == 5) number = below(5 * extent) - 2 * extent;
    if (place == 5 && !matching_.has_loops) number = static_cast<Size>(integers_());  // any at all
    if (place == 3 && !matching_.integers.empty() && !matching_.has_loops) {
      const auto count = static_cast<Size>(matching_.integers.size());
      const auto near = static_cast<std::uint64_t>(below(3)) - 1;  // to what is compared with it
      number = static_cast<Size>(
          static_cast<std::uint64_t>(matching_.integers[static_cast<std::size_t>(below(count))]) +
          near);
    }
    return operations::wrapped(number, kind);
  }
  [[nodiscard]] Block array(const ArrayType& type) {
    auto out = new_array(limits_, type);
    limits_.work(static_cast<Size>(out->words.size()) * 8);
    for (Word& word : out->words) {
      word = type.kind.is_number() ? integer(type.kind) : domain_.drawn(reals_);
    }
    return out;
  }
  /// Arrays of which `whole` is the sum.
  [[nodiscard]] std::vector<Block> addends_of(const Cut& cut, const Block& whole) {
    std::vector<Block> out;
    auto rest = new_array(limits_, cut.global);
    rest->words = whole->words;
    for (Size k = 1; k < cut.addend_count; ++k) {
      out.push_back(array(cut.global));
      for (std::size_t w = 0; w < rest->words.size(); ++w) {
        rest->words[w] =
            combined(domain_, cut.global.kind, rest->words[w], out.back()->words[w], true);
      }
    }
    out.push_back(std::move(rest));
    return out;
  }
  /// Of a sum each device has a box of its own addend.
  [[nodiscard]] Held tiles_of(const Cut& cut, const Block& whole) {
    if (cut.addends.empty()) return boxes_of(cut, whole);
    std::vector<Held> tiles;
    for (const Block& addend : addends_of(cut, whole)) tiles.push_back(boxes_of(cut, addend));
    Held out;
    for (std::size_t d = 0; d < cut.addends.size(); ++d) {
      out.push_back(tiles[static_cast<std::size_t>(cut.addends[d])][d]);
    }
    return out;
  }
  /// Each device's box at the beginning of its tile, and behind it what nobody else has.
  [[nodiscard]] Held boxes_of(const Cut& cut, const Block& whole) {
    Held out;
    std::map<std::pair<Shape, Shape>, std::size_t> seen;
    const std::size_t width = words_of(cut.tile.kind);
    for (std::size_t d = 0; d < cut.boxes.size(); ++d) {
      const Box& box = cut.boxes[d];
      const bool is_full = box.extent == cut.tile.extents;
      if (is_full) {
        if (box.extent == cut.global.extents) {
          out.push_back(whole);
          continue;
        }
        const auto [same, is_new] = seen.emplace(std::pair(box.at, box.extent), d);
        if (!is_new) {
          out.push_back(out[same->second]);
          continue;
        }
      }
      auto tile = is_full ? new_array(limits_, cut.tile) : junk(cut.tile);
      Strided where = whole_of(cut.global.extents);
      where.offset = foreign::dot(box.at, where.strides);
      copy_box(whole->words, where, tile->words, whole_of(cut.tile.extents), box.extent, width);
      out.push_back(std::move(tile));
    }
    return out;
  }
  [[nodiscard]] std::shared_ptr<Array> junk(const ArrayType& type) {
    auto out = new_array(limits_, type);
    for (Word& word : out->words) {
      word = type.kind.is_number() ? any_integer(type.kind) : domain_.drawn(reals_);
    }
    return out;
  }
  /// In padding may be what is least, largest, or anything.
  [[nodiscard]] Word any_integer(const ElementKind& kind) {
    const Size form = below(4);
    if (form == 0 || kind.form == ElementKind::Form::truth) return integer(kind);
    const auto random = static_cast<Word>(integers_());
    if (form == 3) return operations::wrapped(random, kind);
    const auto top = static_cast<Word>(std::uint64_t{1} << static_cast<unsigned>(kind.bits - 1));
    const Word least = kind.is_signed ? top : 0;
    return operations::wrapped(form == 1 ? least : ~least, kind);
  }

  const Domain& domain_;
  const Matching& matching_;
  Limits& limits_;
  std::mt19937_64 integers_;
  std::mt19937_64 reals_;
  Size draw_;
  std::vector<Size> extents_;
};

/// Whether two words of a result are the same.
struct Same {
  const ElementKind& kind;
  bool is_exact;
  double scale;  ///< of inexact ones: what is very small beside it is nothing
  const Matching& matching;

  [[nodiscard]] bool operator()(Word a, Word b) const {
    if (a == b) return true;
    if (is_exact || kind.is_number()) return false;
    const double x = operations::real_of(a);
    const double y = operations::real_of(b);
    if (std::isnan(x) || std::isnan(y)) return std::isnan(x) && std::isnan(y);
    if (std::isinf(x) || std::isinf(y)) return x == y;
    const double beside_itself = std::max(matching.beside_itself, matching.coarsest);
    return std::fabs(x - y) <= matching.beside_largest * scale + beside_itself * std::fabs(x);
  }
};

template <typename Domain>
std::string number_text(Word word, const ElementKind& kind) {
  if (kind.form == ElementKind::Form::truth) return word != 0 ? "true" : "false";
  if (kind.is_number()) {
    return kind.is_signed ? fmt::format("{}", word)
                          : fmt::format("{}", static_cast<std::uint64_t>(word));
  }
  if (!Domain::is_exact) return fmt::format("{:.7g}", operations::real_of(word));
  return "another number";
}

Spot spot_of(const Computation& in, const Instruction& one) {
  return {.value = in.values[one.results.front()].name,
          .opcode = one.opcode,
          .line = one.place.line,
          .source = one.source};
}

/// What makes a value; of an argument itself.
Spot spot_making(const Computation& in, ValueId value) {
  for (const Instruction& one : in.body) {
    if (std::find(one.results.begin(), one.results.end(), value) != one.results.end()) {
      return spot_of(in, one);
    }
  }
  return {.value = in.values[value].name, .opcode = "parameter"};
}

/// Where an operation was dropped, its operand is copied in its place.
Spot spot_or_copy(const Computation& in, const Repair& repair) {
  const Instruction& nearest = in.body[repair.nearest];
  const ValueId value = nearest.results[repair.nearest == repair.instruction ? repair.part : 0];
  const auto copy = std::find_if(in.copies.begin(), in.copies.end(),
                                 [&](const CopiedValue& one) { return one.value == value; });
  if (copy == in.copies.end()) return spot_of(in, nearest);
  return {.value = copy->name,
          .opcode = copy->opcode,
          .line = copy->place.line,
          .source = copy->source};
}

/// All values of two entries, where they are not too many.
struct AllValues {
  AllValues(const Computation& before, const std::vector<Held>& before_arguments,
            const Computation& after, const std::vector<Held>& after_arguments)
      : first(before.values.size()), second(after.values.size()) {
    for (std::size_t k = 0; k < before_arguments.size(); ++k) {
      keep_first(before.parameters[k], before_arguments[k]);
    }
    for (std::size_t k = 0; k < after_arguments.size(); ++k) {
      keep_second(after.parameters[k], after_arguments[k]);
    }
  }
  void keep_first(ValueId value, const Held& held) { keep(first, value, held); }
  void keep_second(ValueId value, const Held& held) { keep(second, value, held); }
  [[nodiscard]] bool are_kept() const { return words_ <= most_words; }

  std::vector<Held> first;
  std::vector<Held> second;

 private:
  static constexpr std::size_t most_words = std::size_t{1} << 25U;
  void keep(std::vector<Held>& values, ValueId value, const Held& held) {
    for (std::size_t d = 0; d < held.size(); ++d) {
      if (d == 0 || held[d] != held[d - 1]) words_ += held[d]->words.size();
    }
    if (are_kept()) {
      values[value] = held;
    } else {
      first.clear();
      second.clear();
    }
  }
  std::size_t words_ = 0;
};

template <typename Domain>
class Run {
 public:
  /// \param in_after  set while the second text is run
  /// \param other  the second text's numbers, where they are others
  Run(const Module& before, const Module& after, const Matching& matching, const Domain& domain,
      Limits& limits, bool& in_after, const Domain* other = nullptr)
      : matching_(matching),
        in_after_(in_after),
        is_large_(words_of_values(before.main()) >= least_shared),
        limits_beside_(limits, stops_),
        first_(before, domain, matching.devices, limits),
        second_(after, other == nullptr ? domain : *other, matching.devices, limits_beside_),
        domain_(domain),
        limits_(limits) {}

  [[nodiscard]] std::optional<Difference> difference(const Arguments<Domain>& arguments) {
    std::vector<Held> expected;
    std::vector<Held> found;
    in_after_ = false;
    const auto run_first = [&] { expected = first_.run(arguments.before); };
    const auto run_second = [&] { found = second_.run(arguments.after); };
    if (is_large_) {
      at_once(run_first, run_second);
    } else {
      run_first();
      in_after_ = true;
      run_second();
    }
    in_after_ = false;
    for (std::size_t k = 0; k < expected.size(); ++k) {
      const std::vector<Word>& words = expected[k].front()->words;
      if (std::any_of(words.begin(), words.end(), Domain::is_finite)) finite_.push_back(k);
      if (auto out = compared(k, expected[k], summed(matching_.ends[k], std::move(found[k])))) {
        return out;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] const Counts& counts() const { return second_.counts(); }
  /// Of the loops of both texts.
  [[nodiscard]] Rounds rounds() const {
    Rounds out = first_.counts().rounds;
    out.insert(second_.counts().rounds.begin(), second_.counts().rounds.end());
    return out;
  }
  [[nodiscard]] const std::set<std::pair<const Instruction*, Word>>& branches() const {
    return first_.counts().branches;
  }
  /// An exchange of the text before that some devices of a group do not come to.
  [[nodiscard]] const Instruction* parted_before() const { return first_.counts().parted; }
  [[nodiscard]] const Instruction* parted_after() const { return second_.counts().parted; }
  /// Results of the last comparison that have a finite number before the pass.
  [[nodiscard]] const std::vector<std::size_t>& finite_results() const { return finite_; }

  /// Runs both once more, and finds what was lost on the way to a result.
  [[nodiscard]] std::optional<Blame> blame(const Arguments<Domain>& arguments, const Module& before,
                                           const Module& after, std::size_t result) {
    const Computation& first = before.main();
    const Computation& second = after.main();
    Search search(first);
    AllValues all(first, arguments.before, second, arguments.after);
    static_cast<void>(first_.run(
        arguments.before,
        [&](const Computation& in, const Instruction* one, ValueId value, const Held& held) {
          if (&in != &first || one == nullptr) return;
          search.look_for(value, held);
          all.keep_first(value, held);
        }));
    static_cast<void>(second_.run(
        arguments.after,
        [&](const Computation& in, const Instruction* one, ValueId value, const Held& held) {
          if (&in != &second) return;
          std::optional<std::size_t> index;
          if (one != nullptr) index = static_cast<std::size_t>(one - second.body.data());
          search.see(index, second.values[value].type, held);
          if (one != nullptr) all.keep_second(value, held);
        }));
    const auto lost = search.lost(result);
    const auto repair = repair_of(before, after, std::move(all), result, lost);
    if (!lost && !repair) return std::nullopt;
    Blame out{.lost = spot_making(first, lost ? *lost : repair->value)};
    if (const auto last = lost ? search.last_seen(*lost) : std::nullopt) {
      out.last = spot_of(second, second.body[*last]);
    }
    if (repair) {
      out.nearest = spot_or_copy(second, *repair);
      out.meant = spot_making(first, repair->value);
    }
    return out;
  }

 private:
  /// Which operation should have made another value, where all values may be kept.
  [[nodiscard]] std::optional<Repair> repair_of(const Module& before, const Module& after,
                                                AllValues all, std::size_t result,
                                                std::optional<ValueId> lost) {
    if (!all.are_kept()) return std::nullopt;
    Repairs repairs(before, after, std::move(all.first), std::move(all.second), limits_);
    for (const auto* cuts : {&matching_.starts, &matching_.ends}) {
      for (const Cut& cut : *cuts) repairs.note_cut(cut.global.extents, cut.boxes);
    }
    return repairs.first_of(second_, {.number = result, .boxes = matching_.ends[result].boxes},
                            lost.value_or(before.main().results[result]));
  }
  /// From so many words of values on a thread is worth its while.
  static constexpr Size least_shared = Size{1} << 16U;

  [[nodiscard]] static Size words_of_values(const Computation& in) {
    Size out = 0;
    for (const Value& value : in.values) {
      const auto count = checked_product(value.type.extents);
      out = std::min(out + std::min(count.value_or(least_shared), least_shared), least_shared);
    }
    return out;
  }
  /// Runs both texts, the second one in a thread of its own. What goes wrong is what would have gone
  /// wrong first, had they been run one behind the other.
  template <typename First, typename Second>
  void at_once(const First& run_first, const Second& run_second) {
    std::exception_ptr fault;
    const auto guarded = [&] {
      try {
        run_second();
      } catch (...) {
        fault = std::current_exception();
      }
    };
    std::thread other;
    try {
      other = std::thread(guarded);
    } catch (const std::system_error&) {  // then one behind the other
    }
    try {
      run_first();
    } catch (...) {
      stops_ = true;
      if (other.joinable()) other.join();
      throw;
    }
    if (other.joinable()) {
      other.join();
    } else {
      guarded();
    }
    in_after_ = true;
    if (fault) std::rethrow_exception(fault);
  }
  /// What each device holds of the whole: its own addend, and with it one of every other.
  [[nodiscard]] Held summed(const Cut& cut, Held held) const {
    if (cut.addends.empty()) return held;
    Held out;
    for (std::size_t d = 0; d < held.size(); ++d) {
      auto sum = new_array(limits_, cut.tile);
      sum->words = held[d]->words;
      std::set<Size> seen = {cut.addends[d]};
      for (std::size_t e = 0; e < held.size(); ++e) {
        if (cut.boxes[e] != cut.boxes[d] || !seen.insert(cut.addends[e]).second) continue;
        for (std::size_t w = 0; w < sum->words.size(); ++w) {
          sum->words[w] =
              combined(domain_, cut.global.kind, sum->words[w], held[e]->words[w], false);
        }
      }
      out.push_back(std::move(sum));
    }
    return out;
  }
  [[nodiscard]] std::optional<Difference> compared(std::size_t k, const Held& expected,
                                                   const Held& found) const {
    const Cut& cut = matching_.ends[k];
    const std::size_t width = words_of(cut.global.kind);
    std::set<std::tuple<const Array*, const Array*, Shape, Shape>> seen;
    for (std::size_t d = 0; d < found.size(); ++d) {
      const Box& box = cut.boxes[d];
      if (!seen.emplace(expected[d].get(), found[d].get(), box.at, box.extent).second) continue;
      const Array& whole = *expected[d];
      if (holds_box(whole, *found[d], cut, box)) continue;
      const Same same{cut.global.kind, Domain::is_exact, scale_of(whole, cut.global.kind),
                      matching_};
      const Shape wide = strides_of(cut.global.extents);
      const Shape narrow = strides_of(cut.tile.extents);
      std::optional<Difference> out;
      Size elements = 0;
      Size differing = 0;
      if (std::find(box.extent.begin(), box.extent.end(), 0) != box.extent.end()) continue;
      foreign::for_box(box.extent, [&](const Shape& at) {
        Shape element = at;
        for (std::size_t i = 0; i < at.size(); ++i) element[i] += box.at[i];
        const auto there = static_cast<std::size_t>(foreign::dot(element, wide)) * width;
        const auto here = static_cast<std::size_t>(foreign::dot(at, narrow)) * width;
        ++elements;
        for (std::size_t w = 0; w < width; ++w) {
          const Word a = whole.words[there + w];
          const Word b = found[d]->words[here + w];
          if (same(a, b)) continue;
          ++differing;
          if (!out) {
            out = Difference{.result = k,
                             .device = static_cast<Size>(d),
                             .at = at,
                             .element = element,
                             .expected = number_text<Domain>(a, cut.global.kind),
                             .found = number_text<Domain>(b, cut.global.kind),
                             .integers = {}};
          }
          break;
        }
        return true;
      });
      if (out) {
        out->differing = differing;
        out->elements = elements;
        return out;
      }
    }
    return std::nullopt;
  }
  /// Whether a tile has exactly the words of its box, row by row.
  [[nodiscard]] static bool holds_box(const Array& whole, const Array& tile, const Cut& cut,
                                      const Box& box) {
    const auto width = static_cast<Size>(words_of(cut.global.kind));
    const Shape wide = strides_of(cut.global.extents);
    const Shape narrow = strides_of(cut.tile.extents);
    Shape rows = box.extent;
    const Size words = (rows.empty() ? 1 : rows.back()) * width;
    if (!rows.empty()) rows.back() = 1;
    if (std::find(box.extent.begin(), box.extent.end(), 0) != box.extent.end()) return true;
    bool is_same = true;
    foreign::for_box(rows, [&](const Shape& at) {
      const Size there = (foreign::dot(at, wide) + foreign::dot(box.at, wide)) * width;
      const Word* const first = whole.words.data() + there;
      is_same =
          std::equal(first, first + words, tile.words.data() + foreign::dot(at, narrow) * width);
      return is_same;
    });
    return is_same;
  }
  [[nodiscard]] static double scale_of(const Array& array, const ElementKind& kind) {
    double out = 1;
    if (Domain::is_exact || kind.is_number()) return out;
    for (const Word word : array.words) {
      const double size = std::fabs(operations::real_of(word));
      if (std::isfinite(size)) out = std::max(out, size);
    }
    return out;
  }

  const Matching& matching_;
  bool& in_after_;
  bool is_large_;
  std::atomic<bool> stops_ = false;  // the second text need not be run any more
  Limits limits_beside_;
  Evaluator<Domain> first_;
  Evaluator<Domain> second_;
  const Domain& domain_;
  Limits& limits_;
  std::vector<std::size_t> finite_;
};

/// The order of roots of 1 that transforms of a module need.
Size root_order(const Module& module) {
  Size out = 4;
  for (const Computation& computation : module.computations) {
    for (const Instruction& one : computation.body) {
      const auto* fft = std::get_if<FftDetail>(&one.detail);
      if (fft == nullptr) continue;
      for (const Size length : fft->lengths) {
        constexpr Size most = Size{1} << 30U;
        if (length >= 1 && length <= most) out = std::lcm(out, length);
        if (length > most || out > most) throw LimitReached{"transforms of too many lengths"};
      }
    }
  }
  return out;
}

/// The extents that an index of the module may lie in.
std::vector<Size> indexed_extents(const Module& module) {
  std::set<Size> out;
  for (const Computation& computation : module.computations) {
    for (const Instruction& one : computation.body) {
      if (one.id == Id::conditional) out.insert(static_cast<Size>(one.calls.size()));
      const bool is_indexed = one.id == Id::dynamic_slice || one.id == Id::dynamic_update_slice ||
                              one.id == Id::gather || one.id == Id::scatter;
      if (!is_indexed) continue;
      for (const Size extent : computation.values[one.operands[0]].type.extents) {
        if (extent > 1) out.insert(std::min(extent, Size{1} << 30U));
      }
    }
  }
  if (out.empty()) return {8};
  return {out.begin(), out.end()};
}

/// Whether something in it depends on which number is larger.
bool is_ordered(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& one : computation.body) {
      if (operations::row_of(one.id).in_field == operations::InField::ordered) return true;
    }
  }
  return false;
}

/// Whether a number with a point decides how often a loop runs.
bool has_loops_by_reals(const Module& module) {
  for (const Computation& computation : module.computations) {
    for (const Instruction& one : computation.body) {
      if (one.id != Id::while_loop) continue;
      const Computation& condition = module.computations[one.calls[0]];
      for (const Instruction& test : condition.body) {
        const bool is_of_reals =
            test.id == Id::compare && type_of(condition, test.operands[0]).kind.is_real();
        if (is_of_reals) return true;
      }
    }
  }
  return false;
}

std::size_t count_of(const Module& module) {
  std::size_t out = 0;
  for (const Computation& computation : module.computations) out += computation.body.size();
  return out;
}

/// Of all values.
double elements_of(const Module& module) {
  double out = 0;
  for (const Computation& computation : module.computations) {
    for (const Value& value : computation.values) {
      double count = 1;
      for (const Size extent : value.type.extents) count *= static_cast<double>(extent);
      out += count;
    }
  }
  return out;
}

class Validator {
 public:
  Validator(const Module& before, const Module& after, const Matching& matching,
            const ValidateOptions& options)
      : before_(before),
        after_(after),
        matching_(matching),
        options_(options),
        limits_(options.most_bytes, Deadline::in(options.timeout_seconds)) {}

  [[nodiscard]] Validation validation() {
    out_.devices = matching_.devices;
    out_.results = matching_.ends.size();
    out_.arguments = matching_.starts.size();
    out_.seed = options_.seed;
    out_.comparison = matching_.is_partitioned  ? "partitioned"
                      : matching_.is_per_device ? "per device"
                                                : "same shapes";
    try {
      out_.is_judged = options_.judges;
      const Size draws = options_.judges ? draw_count() : 0;
      for (Size draw = 0; goes_on(draw, draws); ++draw) look(draw);
      out_.draws = static_cast<Size>(out_.primes.size());
      if (!options_.judges) return std::move(out_);
      find_unseen();
      if (!out_.difference && out_.why.empty()) look_in_reals();
      if (out_.answer == Answer::undecided && out_.why.empty()) set_right();
    } catch (const LimitReached& limit) {
      undecided(limit.what, 0);
    } catch (const NotEvaluated& refused) {
      undecided(refused.what, refused.place.line);
    }
    return std::move(out_);
  }
  /// What the text after moves, in a draw of its own.
  void explain(Validation& out) {
    try {
      const Field field(options_.seed, order_of_roots(), literals());
      Arguments<Field> arguments(field, matching_, limits_, options_.seed, 0,
                                 indexed_extents(before_));
      arguments.make();
      std::vector<ArrayType> tiles;
      for (const auto* cuts : {&matching_.starts, &matching_.ends}) {
        for (const Cut& cut : *cuts) tiles.push_back(cut.tile);
      }
      out.movement = movement_of({.before = before_,
                                  .after = after_,
                                  .field = field,
                                  .before_arguments = arguments.before,
                                  .after_arguments = arguments.after,
                                  .devices = matching_.devices,
                                  .tiles = tiles,
                                  .is_global = !matching_.is_per_device},
                                 limits_);
    } catch (const LimitReached& limit) {
      out.unexplained = limit.what;
    } catch (const NotEvaluated& refused) {
      out.unexplained = refused.what;
    }
  }

 private:
  void undecided(const std::string& why, std::size_t line) {
    out_.answer = Answer::undecided;
    out_.why = why;
    out_.line = line;
    out_.in_after = in_after_;
    out_.draws = static_cast<Size>(out_.primes.size());
  }
  void set_right() {
    out_.answer = Answer::right;
    Formulas formulas;
    formulas.add(before_, rounds_, matching_.is_per_device ? matching_.devices : 1);
    formulas.add(after_, rounds_, matching_.devices);
    out_.draw_bits = formulas.bits(order_of_roots());
  }
  /// That the prime of a draw must have.
  [[nodiscard]] Size order_of_roots() const {
    return std::lcm(root_order(before_), root_order(after_));
  }
  [[nodiscard]] bool has_integers() const {
    return std::any_of(matching_.starts.begin(), matching_.starts.end(), [](const Cut& cut) {
      return cut.global.kind.form == ElementKind::Form::integer;
    });
  }
  /// Branches may need draws of their own.
  [[nodiscard]] bool goes_on(Size draw, Size draws) const {
    constexpr Size most = 64;
    if (out_.difference) return false;
    if (matching_.is_again) return draw < draws;
    return draw < draws || (draw < most && is_small() && !untaken().empty());
  }
  [[nodiscard]] bool is_small() const { return count_of(before_) + count_of(after_) < 2000; }
  /// Lines of conditionals of which a branch was taken in no draw.
  [[nodiscard]] std::vector<std::size_t> untaken() const {
    std::vector<std::size_t> out;
    for (const Computation& computation : before_.computations) {
      for (const Instruction& one : computation.body) {
        if (one.id != Id::conditional) continue;
        for (std::size_t k = 0; k < one.calls.size(); ++k) {
          if (!branches_.contains({&one, static_cast<Word>(k)})) out.push_back(one.place.line);
        }
      }
    }
    return out;
  }
  /// Loops that go on for as long as a number is larger than another are soon over in the field, where
  /// that is as likely as not. So the two are tried in floating point as well. What differs is no
  /// mistake where the last bits of what is computed matter as much.
  void look_in_reals() {
    constexpr Size draws = 3;
    constexpr double last_bits = 4e-15;
    if (!has_loops_by_reals(before_) && !has_loops_by_reals(after_)) return;
    const std::vector<Size> extents = indexed_extents(before_);
    Matching whole = matching_;
    whole.ends.clear();
    for (const Cut& cut : matching_.ends) whole.ends.push_back(uncut(cut.global, whole.devices));
    for (Size draw = 0; draw < draws; ++draw) {
      const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(draw);
      const Real real(seed);
      Arguments<Real> arguments(real, matching_, limits_, seed, draw, extents);
      arguments.make();
      std::optional<Difference> difference;
      try {
        difference =
            Run<Real>(before_, after_, matching_, real, limits_, in_after_).difference(arguments);
        if (!difference) continue;
        arguments.after = arguments.before;
        const Real shaken(seed, 1, last_bits);
        Run<Real> again(before_, before_, whole, real, limits_, in_after_, &shaken);
        if (again.difference(arguments)) continue;
      } catch (const NotEvaluated&) {
        return;
      }
      difference->draw = draw;
      difference->integers = integers_of(arguments.before);
      out_.difference = std::move(difference);
      out_.answer = Answer::wrong;
      return;
    }
  }
  /// Devices that wait for each other, but do not all come, wait for ever.
  void find_parted(const Run<Field>& run) {
    for (const bool is_after : {false, true}) {
      const Instruction* one = is_after ? run.parted_after() : run.parted_before();
      if (one == nullptr) continue;
      in_after_ = is_after;
      throw NotEvaluated{one->opcode + ": devices of a group go different ways", one->place};
    }
  }
  /// What no draw has looked at: branches, and results that never were numbers.
  void find_unseen() {
    for (const std::size_t line : untaken()) {
      out_.notes.push_back(
          fmt::format("a branch of the conditional in line {} before was never taken", line));
    }
    for (std::size_t k = 0; k < matching_.ends.size() && !out_.difference; ++k) {
      const ArrayType& type = matching_.ends[k].global;
      if (type.kind.is_number() || retile::whole::count_of(type) == 0 || finite_.contains(k))
        continue;
      if (out_.why.empty()) out_.why = fmt::format("result {} is no finite number in any draw", k);
    }
  }
  /// Whether integers or truth values are arguments.
  [[nodiscard]] bool has_whole_numbers() const {
    return std::any_of(matching_.starts.begin(), matching_.starts.end(),
                       [](const Cut& cut) { return cut.global.kind.is_number(); });
  }
  /// More than were asked for where a few may show nothing: where integers are arguments, which may
  /// be indices, or truth values, which choose, and where something depends on which number is
  /// larger, as each draw tries one order.
  [[nodiscard]] Size draw_count() const {
    constexpr double most_elements = 1e5;
    if (matching_.is_again) return 1;
    if (!is_small()) return options_.draws;
    if (!has_whole_numbers() && !is_ordered(before_) && !is_ordered(after_)) return options_.draws;
    if (work_of(before_) + work_of(after_) > much_work) return options_.draws;
    const bool is_tiny = elements_of(before_) + elements_of(after_) < most_elements;
    return std::max(options_.draws, is_tiny ? Size{36} : Size{12});
  }
  /// Numbers with a point that stand in the texts, and 0 and 1.
  [[nodiscard]] std::vector<double> literals() const {
    constexpr std::size_t most = 16;  // of one constant: others are tables
    std::vector<double> out = {-1, 0, 1};
    for (const Module* module : {&before_, &after_}) {
      for (const Computation& computation : module->computations) {
        for (const Instruction& one : computation.body) {
          const auto* literal = std::get_if<Literal>(&one.detail);
          if (literal == nullptr || literal->words.size() > most) continue;
          if (computation.values[one.results[0]].type.kind.is_number()) continue;
          for (const Word word : literal->words) {
            out.push_back(operations::real_of(word));
            out.push_back(-operations::real_of(word));  // signs go with the order
          }
        }
      }
    }
    return out;
  }
  void look(Size draw) {
    const std::uint64_t seed = options_.seed + static_cast<std::uint64_t>(draw) * 0x9e3779b97f4aU;
    const std::vector<Size> extents = indexed_extents(before_);
    const Field field(seed, order_of_roots(), literals());
    out_.primes.push_back(field.prime());
    Run<Field> run(before_, after_, matching_, field, limits_, in_after_);
    Arguments<Field> arguments(field, matching_, limits_, seed, draw, extents);
    arguments.make();
    auto difference = run.difference(arguments);
    note_unknown(run.counts());
    branches_.merge(std::set(run.branches()));
    for (const std::size_t result : run.finite_results()) finite_.insert(result);
    for (const auto& [loop, rounds] : run.rounds()) {
      Size& most = rounds_[loop];
      most = std::max(most, rounds);
    }
    if (!difference) return find_parted(run);
    difference->draw = draw;
    difference->integers = integers_of(arguments.before);
    const std::size_t result = difference->result;
    confirm(*difference, seed, draw, extents);
    const Validation confirmed = out_;
    try {
      if (out_.answer == Answer::wrong && is_small()) {
        take_small_integers(run, arguments, seed, draw, extents);
      }
      out_.blame = run.blame(arguments, before_, after_, result);
      if (out_.answer == Answer::wrong && has_integers())
        out_.is_right_inside = is_right_inside(seed, extents);
    } catch (const LimitReached&) {
      if (confirmed.answer != Answer::wrong) throw;
      out_ = confirmed;  // it stands, whatever else could have been said of it
    }
  }
  /// Looks for the same with integers near 0 in the place of those that were drawn, one argument after
  /// the other. What is not confirmed stays as it was.
  void take_small_integers(Run<Field>& run, Arguments<Field>& arguments, std::uint64_t seed,
                           Size draw, const std::vector<Size>& extents) {
    for (std::size_t k = 0; k < matching_.starts.size(); ++k) {
      const ArrayType& type = matching_.starts[k].global;
      if (type.kind.form != ElementKind::Form::integer || !type.extents.empty()) continue;
      const Word drawn = arguments.before[k].front()->words.front();
      auto difference = with_small_integer(run, arguments, k, drawn);
      if (!difference) continue;
      difference->integers = integers_of(arguments.before);
      Validation found = out_;
      out_.answer = Answer::undecided;
      confirm(*difference, seed, draw, extents);
      if (out_.answer == Answer::wrong) continue;
      out_ = std::move(found);
      small_integers_.erase(k);
      arguments.set(k, drawn);
    }
  }
  /// The first of 0, -1, 1, -2, .. that shows a difference; none if that is the one that was drawn.
  [[nodiscard]] std::optional<Difference> with_small_integer(Run<Field>& run,
                                                             Arguments<Field>& arguments,
                                                             std::size_t k, Word drawn) {
    constexpr Word most = 16;
    for (Word step = 0; step <= 2 * most; ++step) {
      const Word integer = step % 2 == 0 ? step / 2 : -(step / 2 + 1);
      if (integer == drawn) break;
      arguments.set(k, integer);
      small_integers_[k] = integer;
      if (auto out = run.difference(arguments)) return out;
    }
    small_integers_.erase(k);
    arguments.set(k, drawn);
    return std::nullopt;
  }
  /// The same integers must tell the two apart in floating point as well, with some numbers.
  void confirm(const Difference& difference, std::uint64_t seed, Size draw,
               const std::vector<Size>& extents) {
    constexpr std::uint64_t most = 8;
    constexpr double wider = 4;  // some are compared with more than 1
    try {
      for (std::uint64_t k = 0; k < most && out_.answer != Answer::wrong; ++k) {
        const Real real(seed, k < most / 2 ? 1 : wider);
        Run<Real> run(before_, after_, matching_, real, limits_, in_after_);
        Arguments<Real> arguments(real, matching_, limits_, seed, draw, extents, k);
        arguments.make();
        for (const auto& [argument, integer] : small_integers_) arguments.set(argument, integer);
        std::optional<Difference> confirmed = run.difference(arguments);
        if (!confirmed) continue;
        confirmed->draw = draw;
        confirmed->integers = difference.integers;
        out_.difference = std::move(confirmed);
        out_.answer = Answer::wrong;
      }
    } catch (const NotEvaluated& refused) {
      undecided(
          "it differs in exact arithmetic, and cannot be tried in floating point: " + refused.what,
          refused.place.line);
    }
    if (out_.answer == Answer::wrong && matching_.may_miscount) {
      out_.answer = Answer::undecided;
      out_.why = "with smaller extents it differs, but a constant may count elements";
    }
    if (out_.answer == Answer::wrong) return;
    if (out_.why.empty()) out_.why = "it differs in exact arithmetic, not in floating point";
    out_.difference = difference;
  }
  /// Whether integers that lie inside of what they may index do not tell the two apart.
  [[nodiscard]] bool is_right_inside(std::uint64_t seed, const std::vector<Size>& extents) {
    constexpr Size draws = 3;
    for (Size draw = 0; draw < draws; ++draw) {
      const std::uint64_t other = seed + 77 + static_cast<std::uint64_t>(draw);
      const Field field(other, order_of_roots(), literals());
      Run<Field> run(before_, after_, matching_, field, limits_, in_after_);
      Arguments<Field> arguments(field, matching_, limits_, other, 0, extents);
      arguments.make();
      if (run.difference(arguments)) return false;
    }
    return true;
  }
  [[nodiscard]] std::vector<ArgumentValue> integers_of(const std::vector<Held>& arguments) const {
    constexpr Size most = 8;
    std::vector<ArgumentValue> out;
    const Computation& main = before_.main();
    for (std::size_t k = 0; k < arguments.size(); ++k) {
      const Value& value = main.values[main.parameters[k]];
      const bool is_short = retile::whole::count_of(value.type) <= most;
      if (!value.type.kind.is_number() || !is_short) continue;
      out.push_back({.name = value.name, .numbers = arguments[k].front()->words});
    }
    return out;
  }
  void note_unknown(const Counts& counts) {
    out_.unknown.clear();
    for (const auto& [name, number] : counts.unknown_by_name)
      out_.unknown.emplace_back(name, number);
  }

  const Module& before_;
  const Module& after_;
  const Matching& matching_;
  const ValidateOptions& options_;
  Limits limits_;
  Validation out_;
  bool in_after_ = false;
  std::set<std::pair<const Instruction*, Word>> branches_;  // that were taken before the pass
  Rounds rounds_;
  std::map<std::size_t, Word>
      small_integers_;            // of arguments, in the place of those that were drawn
  std::set<std::size_t> finite_;  // results that were numbers in some draw
};

/// What each device holds of arguments or results; nothing where it holds all of them.
Boxes boxes_of(const Matching& matching, const std::vector<Cut>& cuts) {
  Boxes out;
  if (!matching.is_partitioned) return out;
  for (const Cut& cut : cuts) out.push_back(cut.boxes);
  return out;
}

/// Two texts and how they go together.
struct Pair {
  Module before;
  Module after;
  Matching matching;
  std::vector<std::pair<Size, Size>>
      reduced;  ///< extents that were divided, and what became of them
};

/// Texts with other extents go together as those that they were made of.
Result<Pair> remade(const Pair& pair, const std::string& before_name, Divided texts,
                    bool may_miscount) {
  auto matching = Matcher(texts.before, texts.after, before_name).matching();
  if (!matching) return refuse(matching.error());
  matching->beside_itself = pair.matching.beside_itself;
  matching->beside_largest = pair.matching.beside_largest;
  matching->may_miscount = may_miscount;
  return Pair{std::move(texts.before), std::move(texts.after), *std::move(matching),
              std::move(texts.extents)};
}

/// The same two with smaller extents, where these take long and something can be divided, and with
/// extents that are smaller in another way; none where nothing is divided.
Result<std::vector<Pair>> smaller_of(const Pair& pair, const std::string& before_name,
                                     Extents extents) {
  std::vector<Pair> out;
  const bool is_asked = extents == Extents::reduced;
  const double work = work_of(pair.before) + work_of(pair.after);
  if (extents == Extents::full || (!is_asked && work <= much_work)) return out;
  auto small = smaller(pair.before, pair.after, boxes_of(pair.matching, pair.matching.starts),
                       boxes_of(pair.matching, pair.matching.ends), is_asked ? 0 : much_work);
  if (!small) return out;
  auto first = remade(pair, before_name, std::move(small->texts), small->may_miscount);
  if (!first) return refuse(first.error());
  out.push_back(*std::move(first));
  if (!small->others) return out;
  auto second = remade(pair, before_name, *std::move(small->others), small->may_miscount);
  if (!second) return refuse(second.error());
  second->matching.is_again = true;
  out.push_back(*std::move(second));
  return out;
}

Validation validation_of(const Pair& pair, const ValidateOptions& options) {
  Validation out = Validator(pair.before, pair.after, pair.matching, options).validation();
  out.reduced = pair.reduced;
  return out;
}

/// At the extents that are asked for. A difference of the smaller ones that may be one of counting is
/// looked at with all elements in the time that is left.
Result<Validation> validation_of(const Pair& pair, const std::string& before_name,
                                 const ValidateOptions& options) {
  const Deadline deadline = Deadline::in(options.timeout_seconds);
  const auto small = smaller_of(pair, before_name, options.extents);
  if (!small) return refuse(small.error());
  if (small->empty()) return validation_of(pair, options);
  Validation out = validation_of(small->front(), options);
  ValidateOptions left = options;
  if (out.answer == Answer::right && small->size() > 1) {
    left.timeout_seconds = deadline.seconds_left();
    Validation again = validation_of(small->back(), left);
    if (again.difference) out = std::move(again);
  }
  const bool may_miscount = small->front().matching.may_miscount;
  if (out.answer != Answer::undecided || !out.difference || !may_miscount) return out;
  left.timeout_seconds = deadline.seconds_left();
  Validation whole = validation_of(pair, left);
  return whole.answer == Answer::undecided ? std::move(out) : std::move(whole);
}

Result<Module> read_any(const text::Input& input) {
  return foreign::language_of(input.text) == foreign::Language::mlir ? read_stablehlo(input)
                                                                     : read_hlo(input);
}

/// Gives ends without a sharding that of the option.
/// \error bad_argument (another number of them)
Result<void> give(std::vector<End>& ends, const std::vector<std::string>& shardings,
                  std::string_view what) {
  if (shardings.empty()) return {};
  if (shardings.size() != ends.size()) {
    return refuse(Code::bad_argument,
                  fmt::format("{} for {}", counted(shardings.size(), "sharding"),
                              counted(ends.size(), what)));
  }
  for (std::size_t k = 0; k < ends.size(); ++k) {
    if (!ends[k].sharding && !shardings[k].empty()) ends[k].sharding = shardings[k];
  }
  return {};
}

}  // namespace

Result<Validation> validate(std::string_view before, const std::string& before_name,
                            std::string_view after, const std::string& after_name,
                            const ValidateOptions& options) {
  const Deadline deadline = Deadline::in(options.timeout_seconds);
  const text::Input first{before, before_name, true};
  const text::Input second{after, after_name, true};
  auto a = read_any(first);
  if (!a) return refuse(a.error());
  auto b = read_any(second);
  if (!b) return refuse(b.error());
  if (auto given = give(a->starts, options.from, "argument"); !given) return refuse(given.error());
  if (auto given = give(a->ends, options.to, "result"); !given) return refuse(given.error());
  auto matching = Matcher(*a, *b, before_name).matching();
  if (!matching) return refuse(matching.error());
  // A computed constant was rounded as its type is, which 64 bits see.
  if (has_computed_constants(*a, *b)) {
    matching->beside_itself = 1e-5;
    matching->beside_largest = 1e-6;
  }
  const std::size_t count_before = count_of(*a);
  const std::size_t count_after = count_of(*b);
  const Size computed = with_computed_constants(*a, *b);
  const Size reciprocals = with_whole_reciprocals(*a, *b);
  const Pair pair{*std::move(a), *std::move(b), *std::move(matching), {}};
  auto validation = validation_of(pair, before_name, options);
  if (!validation) return refuse(validation.error());
  Validation out = *std::move(validation);
  if (options.explains) {  // at all extents, as bytes are told
    ValidateOptions left = options;
    left.timeout_seconds = deadline.seconds_left();
    Validator(pair.before, pair.after, pair.matching, left).explain(out);
  }
  out.instructions_before = count_before;
  out.instructions_after = count_after;
  const auto note = [&](Size count, std::string_view one, std::string_view several) {
    if (count == 1) out.notes.push_back(fmt::format("1 {}", one));
    if (count > 1) out.notes.push_back(fmt::format("{} {}", count, several));
  };
  note(computed, "operation on constants was taken as the constant after it",
       "operations on constants were taken as the constants after them");
  note(reciprocals, "constant was taken as the reciprocal that it rounds",
       "constants were taken as the reciprocals that they round");
  return out;
}

Result<void> readable(std::string_view text, const std::string& name) {
  const text::Input input{text, name, true};
  const auto module = read_any(input);
  if (!module) return refuse(module.error());
  return {};
}

}  // namespace retile::whole
