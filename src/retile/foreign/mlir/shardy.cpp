// Shardy's collectives: the types are of the whole array, and every operation says what its result
// is. What it does, its axes say to the sharding of its operand; what it says that its result is, is a
// claim.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "retile/core/digits.h"
#include "retile/core/index.h"
#include "retile/core/names.h"
#include "retile/core/primes.h"
#include "retile/foreign/mlir/build.h"
#include "retile/text/scanner.h"

namespace retile::foreign::mlir {
namespace {

using text::Scanner;

/// A value of Shardy's: what it is said to be.
struct Known {
  Spread spread;
  Layout layout;
};
using KnownPtr = std::shared_ptr<const Known>;  // shared: many values are said to be the same

/// Digits that an operation takes from a dimension or gives to one, MAJOR to minor as written.
struct WrittenDigits {
  std::vector<Digit> digits;
  std::vector<std::string> parts = {};  ///< the axes that they are parts of
  Place place = {};
  [[nodiscard]] std::vector<Digit> minor_first() const { return {digits.rbegin(), digits.rend()}; }
};

class ShardyReader {
 public:
  ShardyReader(const ModuleContext& context, Op& function)
      : context_(context), function_(function), builder_(context, function) {}

  Function read() {
    const Block& body = body_of(function_);
    Function& out = builder_.out;
    if (body.arguments.size() != 1) {
      refuse_at(function_.place, Code::unsupported,
                fmt::format("{}: a function that is judged moves one array",
                            counted(body.arguments.size(), "argument")));
    }
    add_argument(body);
    const AttributePtr last = last_claim(body);
    out.values.reserve(body.ops.size());
    out.operations.reserve(body.ops.size());
    Ops& ops = function_.regions[0].blocks[0].ops;
    for (; !ops.empty() && !stopped_; ops.pop_front()) {
      const Op& op = ops.front();
      if (op.name == "return" || op.name == "func.return") {
        out.results = builder_.operands(op);
        check_returned(op);
        break;
      }
      add(op);
    }
    if (stopped_) out.results = {out.values.size() - 1};
    set_end(last.get());
    return std::move(out);
  }

 private:
  /// That all that is returned is the array, whole as types of Shardy are.
  void check_returned(const Op& terminator) const {
    const std::vector<TileType> types(terminator.operands.size(), global_);
    check_results(builder_, function_, types);
    for (const Type& type : terminator.operand_types) {
      if (builder_.tile_of(type) == global_) continue;
      refuse_at(type.place, Code::bad_program, "what is returned has another type");
    }
  }
  /// What a sharding says of the array; of every text once.
  [[nodiscard]] KnownPtr known(const Place& place, const Shape& global) {
    KnownPtr& out = read_[text_at(place)];
    if (out != nullptr) return out;
    const Sharding sharding = sharding_at(context_, place, global);
    if (sharding.only_device) {
      refuse_at(place, Code::unsupported, "an array on one device");
    }
    out = std::make_shared<const Known>(Known{spread_of(sharding, global), sharding.layout});
    return out;
  }

  void add_argument(const Block& body) {
    Function& out = builder_.out;
    const Argument& argument = body.arguments[0];
    const TileType type = builder_.tile_of(argument.type);
    const Attribute* sharding = sharding_attribute(function_, "arg_attrs", 0);
    const KnownPtr start =
        sharding != nullptr ? known(body_of(*sharding), type.extents) : replicated(body, type);
    out.devices = start->layout.devices();
    if (out.devices > most_devices) {
      refuse_at(function_.place, Code::limit_reached,
                fmt::format("more than {} devices", most_devices));
    }
    if (!start->spread.mesh.order) out.mesh = start->spread.mesh.mesh;
    const ValueId id =
        builder_.add_parameter(argument.name, {type.element, start->spread.tile()}, argument.place);
    out.from = WrittenEnd{
        .text = sharding != nullptr ? std::string(text_at(body_of(*sharding))) : "replicated",
        .place = file_place(context_, sharding != nullptr ? sharding->place : argument.place),
        .layout = start->layout};
    builder_.know(argument.name, {id}, argument.place);
    global_ = type;
    known_.push_back(start);
  }
  /// An argument that says nothing: whole on every device of the mesh that the first operation names.
  [[nodiscard]] KnownPtr replicated(const Block& body, const TileType& type) {
    for (const Op& op : body.ops) {
      const Attribute* sharding = find(op, "out_sharding");
      if (sharding == nullptr) continue;
      Spread spread = known(body_of(*sharding), type.extents)->spread;
      spread.global = type.extents;
      spread.dims.assign(type.extents.size(), {});
      spread.addends.clear();
      const auto layout = layout_of(spread);
      if (layout) return std::make_shared<const Known>(Known{spread, *layout});
    }
    refuse_at(function_.place, Code::bad_argument, "no sharding says which mesh this is over");
  }

  void add(const Op& op) {
    if (op.operands.size() != 1 || op.result_types.size() != 1 || op.operand_types.size() != 1) {
      fail_unread(op.name, op.place);
    }
    if (op.name == "stablehlo.optimization_barrier" || op.name == "sdy.propagation_barrier") {
      return same(op);
    }
    if (op.name.rfind("sdy.", 0) != 0) {
      refuse_at(op.place, Code::unsupported,
                fmt::format("{} is not read among Shardy's collectives", shown_name(op.name)));
    }
    for (const Type* type : {&op.operand_types[0], &op.result_types[0]}) {
      if (builder_.tile_of(*type) == global_) continue;
      refuse_at(type->place, Code::bad_program,
                "Shardy's collectives keep the type, which is the whole array's");
    }
    from_ = builder_.look_up(op.operands[0]);
    out_ = known_[from_]->spread;
    apply(op);
    finish(op);
  }
  void same(const Op& op) {
    const ValueId operand = builder_.look_up(op.operands[0]);
    const ValueId id = builder_.add(Same{}, op, Builder::result_name(op), {operand},
                                    builder_.out.values[operand].type);
    builder_.know(op, {id});
    auto copy = known_[operand];
    known_.push_back(std::move(copy));
  }

  void apply(const Op& op) {
    if (op.name == "sdy.all_gather") return all_gather(op);
    if (op.name == "sdy.all_slice") return all_slice(op);
    if (op.name == "sdy.all_to_all") return all_to_all(op);
    if (op.name == "sdy.collective_permute") return permute(op);
    if (op.name == "sdy.all_reduce") return all_reduce(op);
    if (op.name == "sdy.reduce_scatter") return reduce_scatter(op);
    if (op.name == "sdy.replicated_to_unreduced") return to_unreduced(op, false);
    if (op.name == "sdy.sharded_to_unreduced") return to_unreduced(op, true);
    fail_unread(op.name, op.place);
  }

  /// One operation on the tiles, of which an operation of the file may be several.
  void put(const Op& op, Action action, Shape extents) {
    from_ = builder_.add(std::move(action), op, Builder::result_name(op), {from_},
                         {global_.element, std::move(extents)});
    known_.push_back(nullptr);  // replaced by the claim of the last one
  }
  [[nodiscard]] const Shape& extents() const { return builder_.out.values[from_].type.extents; }

  /// The claim of the result. Where it does not hold, nothing that follows says more.
  void finish(const Op& op) {
    const Attribute& sharding = need(op, "out_sharding");
    KnownPtr claimed = known(body_of(sharding), global_.extents);
    const auto made = layout_of(out_);
    if (!made)
      refuse_at(op.place, Code::axis_used_twice, "these axes stand in the operand's sharding");
    if (claimed->layout.devices() != builder_.out.devices) {
      refuse_at(sharding.place, Code::unsupported, "a mesh of another number of devices");
    }
    const auto same_axis = [](const Axis& a, const Axis& b) {
      return a.name == b.name && a.size == b.size;
    };
    const auto& said = claimed->spread.mesh.mesh.axes();
    const auto& own = out_.mesh.mesh.axes();
    if (op.name != "sdy.collective_permute" &&
        !std::equal(said.begin(), said.end(), own.begin(), own.end(), same_axis)) {
      refuse_at(sharding.place, Code::bad_program, "the result has another mesh than the operand");
    }
    if (builder_.out.operations.empty() || known_.size() == before_) put(op, Same{}, extents());
    builder_.out.values[from_].claim = std::shared_ptr<const Layout>(claimed, &claimed->layout);
    stopped_ = !claimed->layout.equivalent(*made);
    known_.back() = std::move(claimed);
    builder_.know(op, {from_});
    before_ = known_.size();
  }

  // The axes of an operation.

  [[nodiscard]] Scanner axes(const Op& op, std::initializer_list<std::string_view> names) const {
    const Attribute* list = find(op, "axes");
    for (const std::string_view name : names) {
      if (list == nullptr) list = find(op, name);
    }
    if (list == nullptr) {
      refuse_at(op.place, Code::syntax, fmt::format("{} without its axes", shown_name(op.name)));
    }
    const Place& body = body_of(*list);
    Scanner scanner(*body.input, body.span);
    scanner.read_over_lines();
    // `#sdy<list_of_axis_ref_lists[{"x"}]>`: the generic form names the kind of list.
    if (scanner.accept("<") && scanner.sees_word()) {
      static_cast<void>(scanner.word("a list of axes").value);
    }
    return scanner;
  }
  void axis(Scanner& scanner, WrittenDigits& out) const {
    const std::size_t begin = scanner.next();
    AxisPart part{scanner.quoted("the name of an axis").value};
    if (scanner.accept(":")) {
      scanner.expect("(");
      part.major = scanner.size("what is cut off before a part of an axis").value;
      scanner.expect(")");
      part.size = scanner.size("the size of a part of an axis").value;
    }
    const auto digit = digit_of(out_.mesh.mesh, part);
    if (!digit) {
      refuse_at(
          scanner.since(begin), Code::unknown_axis,
          fmt::format("the mesh has no axis {}, or no such part of it", shown_name(part.axis)));
    }
    out.digits.push_back(*digit);
    out.parts.push_back(part.axis);
  }
  /// Reads `{"x", "y":(1)2}`.
  [[nodiscard]] WrittenDigits axis_list(Scanner& scanner) const {
    WrittenDigits out;
    const std::size_t begin = scanner.next();
    scanner.expect("{");
    if (!scanner.accept("}")) {
      do {
        axis(scanner, out);
      } while (scanner.accept(","));
      if (!scanner.accept("}")) scanner.fail_expected("',' or '}' after an axis");
    }
    out.place = scanner.since(begin);
    check_parts(out);
    std::erase_if(out.digits, [](const Digit& digit) { return digit.size == 1; });
    return out;
  }
  /// As Shardy's verifier: parts of an axis that are one part are written as one.
  static void check_parts(const WrittenDigits& axes) {
    for (std::size_t k = 1; k < axes.digits.size(); ++k) {
      const Digit& major = axes.digits[k - 1];
      const Digit& minor = axes.digits[k];
      if (axes.parts[k - 1] == axes.parts[k] && major.stride == minor.stride * minor.size) {
        refuse_at(axes.place, Code::ill_formed_type, "two parts of an axis that are one part");
      }
    }
  }
  /// Reads `[{"x"}, {}]`, a list for every dimension.
  [[nodiscard]] std::vector<WrittenDigits> axis_lists(const Op& op, Scanner scanner) const {
    std::vector<WrittenDigits> out;
    const std::size_t begin = scanner.next();
    scanner.expect("[");
    if (!scanner.accept("]")) {
      do {
        out.push_back(axis_list(scanner));
      } while (scanner.accept(","));
      if (!scanner.accept("]")) scanner.fail_expected("',' or ']' after the axes of a dimension");
    }
    if (out.size() != global_.extents.size()) {
      refuse_at(scanner.since(begin), Code::rank_mismatch,
                fmt::format("{} for an array of {}: {}", counted(out.size(), "list"),
                            counted(global_.extents.size(), "dimension"), shown_name(op.name)));
    }
    return out;
  }

  // What they do to the sharding.

  [[noreturn]] static void fail_axes(const WrittenDigits& axes, std::string message) {
    refuse_at(axes.place, Code::inapplicable, std::move(message));
  }
  void take(std::size_t dim, const WrittenDigits& axes) {
    if (take_minor(out_.dims[dim], axes.minor_first())) return;
    fail_axes(axes,
              fmt::format("these axes are not the last ones of dimension {} of the operand", dim));
  }
  /// Whether the operand uses one of these digits already.
  void give(std::size_t dim, const WrittenDigits& axes) {
    std::vector<Digit>& digits = out_.dims[dim];
    const std::vector<Digit> minor = axes.minor_first();
    digits.insert(digits.begin(), minor.begin(), minor.end());
    digits = joined(digits);
    if (!layout_of(out_)) fail_axes(axes, "the operand uses these axes already, or they meet");
  }
  void drop_addends(const WrittenDigits& axes) {
    for (Digit digit : axes.digits) {
      for (const PrimePower& factor : factorize(digit.size)) {
        for (Size k = 0; k < factor.exponent; ++k) {
          static_cast<void>(take_out(out_.addends, {{digit.stride, factor.prime}}));
          digit.stride *= factor.prime;
        }
      }
    }
  }
  [[nodiscard]] static Size size_of(const WrittenDigits& axes) { return product_of(axes.digits); }
  [[nodiscard]] Groups groups(const WrittenDigits& axes) const {
    return groups_along(out_.mesh, axes.digits);
  }

  /// Whether tiles begin at the same places before and after axes come or go, or one of them is whole.
  [[nodiscard]] static bool fits(Size smaller, Size count, Size larger, const WrittenDigits& axes) {
    const Size parts = size_of(axes);
    return count == parts || smaller * parts == larger;
  }
  void check_cuts(std::size_t dim, Size smaller, Size count, Size larger,
                  const WrittenDigits& axes) const {
    if (!fits(smaller, count, larger, axes)) fail_uneven(dim, axes);
  }
  [[noreturn]] void fail_uneven(std::size_t dim, const WrittenDigits& axes) const {
    refuse_at(
        axes.place, Code::unsupported,
        fmt::format("dimension {} of {} elements is cut unevenly: tiles begin at other places "
                    "before and after",
                    dim, global_.extents[dim]));
  }
  /// Takes what is too much at the end of a dimension.
  void shorten(const Op& op, std::size_t dim, Size extent) {
    Shape limit = extents();
    if (limit[dim] == extent) return;
    limit[dim] = extent;
    const Shape begin(limit.size(), 0);
    put(op, Slice{begin, limit, Shape(limit.size(), 1)}, limit);
  }
  /// Adds what is missing at the end of a dimension; nobody looks at it.
  void lengthen(const Op& op, std::size_t dim, Size extent) {
    Shape longer = extents();
    if (longer[dim] == extent) return;
    const ValueId array = from_;
    const ValueId zero =
        builder_.add(Constant{{0}}, op, Builder::result_name(op), {}, {global_.element, {}});
    known_.push_back(nullptr);  // replaced by the claim of the last one
    Shape high(longer.size(), 0);
    high[dim] = extent - longer[dim];
    longer[dim] = extent;
    const Shape none(longer.size(), 0);
    from_ = builder_.add(Pad{none, high, none}, op, Builder::result_name(op), {array, zero},
                         {global_.element, longer});
    known_.push_back(nullptr);  // replaced by the claim of the last one
  }

  /// What one collective makes of several dimensions, or of tiles that begin at other places than
  /// before: every device gets what it needs of who has it.
  /// \param axes  those of the collective, if its tiles are even
  void assemble(const Op& op, const Spread& before, const std::vector<Digit>& axes = {}) {
    auto action = assembly(before, out_);
    if (!action) {
      refuse_at(op.place, Code::limit_reached, "more pieces than are looked at one by one");
    }
    if (!axes.empty()) action->groups = groups_along(out_.mesh, axes);
    put(op, *std::move(action), out_.tile());
  }

  void all_gather(const Op& op) {
    const std::vector<WrittenDigits> lists = axis_lists(op, axes(op, {"gathering_axes"}));
    const Spread before = out_;
    std::size_t dim = 0;
    std::size_t gathered = 0;
    std::vector<Digit> all;
    bool fit = true;
    for (std::size_t k = 0; k < lists.size(); ++k) {
      if (lists[k].digits.empty()) continue;
      take(k, lists[k]);
      fit = fit && fits(before.tile(k), before.count(k), out_.tile(k), lists[k]);
      all.insert(all.end(), lists[k].digits.begin(), lists[k].digits.end());
      dim = k;
      ++gathered;
    }
    if (gathered == 0) return;
    if (!fit) return assemble(op, before);
    if (gathered > 1) return assemble(op, before, all);
    Shape grown = extents();
    grown[dim] *= size_of(lists[dim]);
    put(op, AllGather{dim, groups(lists[dim])}, grown);
    shorten(op, dim, out_.tile(dim));
  }

  void all_slice(const Op& op) {
    const std::vector<WrittenDigits> lists = axis_lists(op, axes(op, {"slicing_axes"}));
    const Spread before = out_;
    bool fit = true;
    for (std::size_t k = 0; k < lists.size(); ++k) {
      if (lists[k].digits.empty()) continue;
      // Slicing along axes of addends drops addends: every device keeps a part of its own one. The
      // claim, which has none of them, then does not hold.
      drop_addends(lists[k]);
      give(k, lists[k]);
      fit = fit && fits(out_.tile(k), out_.count(k), before.tile(k), lists[k]);
    }
    if (!fit && before.addends != out_.addends) {
      refuse_at(op.place, Code::unsupported, "an uneven slice along axes of addends");
    }
    if (!fit) return assemble(op, before);
    const Shape tile = out_.tile();
    TakeBox boxes;
    boxes.starts.assign(index(builder_.out.devices), Shape(lists.size(), 0));
    for (Size p = 0; p < out_.mesh.mesh.device_count(); ++p) {
      Shape& start = boxes.starts[index(device_at(out_.mesh, p))];
      for (std::size_t k = 0; k < lists.size(); ++k) {
        start[k] = std::min(number_at(p, lists[k].minor_first()) * tile[k], extents()[k]);
      }
    }
    put(op, std::move(boxes), tile);
  }

  struct Move {
    WrittenDigits axes;
    std::size_t source = 0;
    std::size_t target = 0;
  };
  /// Reads `[{"y"}: 0->2, {"z"}: 1->3]`, or in the generic form `<[{"y"}: 0->2]>`.
  [[nodiscard]] std::vector<Move> moves(const Op& op) const {
    Scanner scanner = axes(op, {"params"});
    std::vector<Move> out;
    scanner.expect("[");
    do {
      Move& move = out.emplace_back();
      move.axes = axis_list(scanner);
      scanner.expect(":");
      const auto source = scanner.number();
      scanner.expect("->");
      const auto target = scanner.number();
      for (const auto& dim : {source, target}) {
        if (dim.value < static_cast<Size>(global_.extents.size())) continue;
        refuse_at(dim.place, Code::bad_dimension, "the array has no such dimension");
      }
      move.source = index(source.value);
      move.target = index(target.value);
      check_move(out, source.place, target.place);
    } while (scanner.accept(","));
    scanner.expect("]");
    return out;
  }
  /// As Shardy's verifier: each dimension once, be it source or target, and sources in their order.
  static void check_move(const std::vector<Move>& moves, const Place& source, const Place& target) {
    const Move& last = moves.back();
    if (last.source == last.target) {
      refuse_at(target, Code::inapplicable, "a move from a dimension to itself");
    }
    for (std::size_t k = 0; k + 1 < moves.size(); ++k) {
      const Move& other = moves[k];
      for (const auto& [dim, place] :
           {std::pair(last.source, &source), std::pair(last.target, &target)}) {
        if (dim != other.source && dim != other.target) continue;
        refuse_at(*place, Code::inapplicable,
                  fmt::format("dimension {} stands in two moves of one all_to_all", dim));
      }
      if (last.source < other.source) {
        refuse_at(source, Code::inapplicable,
                  fmt::format("source dimension {} stands behind {}", last.source, other.source));
      }
    }
  }
  void all_to_all(const Op& op) {
    const std::vector<Move> list = moves(op);
    const Spread before = out_;
    // All that is taken is taken from the operand before anything is given.
    for (const Move& move : list) take(move.source, move.axes);
    for (const Move& move : list) give(move.target, move.axes);
    const Move& move = list.front();
    const auto [source, target] = std::pair(move.source, move.target);
    std::vector<Digit> all;
    bool fit = true;
    for (const auto& [axes, from, to] : list) {
      fit = fit && fits(before.tile(from), before.count(from), out_.tile(from), axes) &&
            fits(out_.tile(to), out_.count(to), before.tile(to), axes);
      all.insert(all.end(), axes.digits.begin(), axes.digits.end());
    }
    if (!fit) return assemble(op, before);
    if (list.size() > 1) return assemble(op, before, all);
    const Size n = size_of(move.axes);
    lengthen(op, target, out_.tile(target) * n);
    Shape moved = extents();
    moved[target] /= n;
    moved[source] *= n;
    put(op, AllToAll{target, source, groups(move.axes)}, moved);
    shorten(op, source, out_.tile(source));
  }

  /// Every device gets the tile that it is said to hold from one that holds it: itself, or the device
  /// that has been asked least.
  void permute(const Op& op) {
    const KnownPtr target = known(body_of(need(op, "out_sharding")), global_.extents);
    const auto source = layout_of(out_);
    if (!source || target->layout.devices() != builder_.out.devices) {
      refuse_at(op.place, Code::inapplicable, "a permutation to a mesh of other devices");
    }
    // No permutation makes another tile: whoever claims that is wrong.
    if (target->spread.tile() != out_.tile()) return put(op, Same{}, extents());
    const std::vector<Box> held = source->boxes();
    const std::vector<Box> wanted = target->layout.boxes();
    using Key = std::tuple<Shape, Shape, Size>;
    std::map<Key, std::vector<Size>> holders;
    for (Size d = 0; d < builder_.out.devices; ++d) {
      const Box& box = held[index(d)];
      holders[{box.at, box.extent, source->addend(d)}].push_back(d);
    }
    std::map<Key, std::size_t> asked;
    CollectivePermute action;
    for (Size d = 0; d < builder_.out.devices; ++d) {
      const Box& box = wanted[index(d)];
      const Key key{box.at, box.extent, target->layout.addend(d)};
      const auto holder = holders.find(key);
      if (holder == holders.end()) continue;  // nobody can send it that
      const std::vector<Size>& from = holder->second;
      const bool own = std::find(from.begin(), from.end(), d) != from.end();
      action.pairs.emplace_back(own ? d : from[asked[key]++ % from.size()], d);
    }
    // What nobody holds nobody sends: then the claim does not hold.
    if (action.pairs.size() == wanted.size()) out_ = target->spread;
    put(op, std::move(action), extents());
  }

  // Sums.

  [[nodiscard]] WrittenDigits one_list(const Op& op,
                                       std::initializer_list<std::string_view> names) const {
    Scanner scanner = axes(op, names);
    return axis_list(scanner);
  }
  /// Axes of no addends add what all hold alike, as often as there are devices along them; they must not
  /// cut the operand.
  void reduce(const WrittenDigits& axes) {
    drop_addends(axes);
    Spread used = out_;
    used.addends.clear();
    used.dims.push_back(axes.minor_first());
    used.global.push_back(size_of(axes));
    if (!layout_of(used)) fail_axes(axes, "the operand is cut along these axes");
  }
  void all_reduce(const Op& op) {
    const WrittenDigits list = one_list(op, {"reduction_axes"});
    const Addition addition = addition_of(op);
    for (std::size_t k = 1; k < list.digits.size(); ++k) {
      if (list.digits[k].stride < list.digits[k - 1].stride) continue;
      fail_axes(list, "axes of a reduction stand in the order of the mesh");
    }
    reduce(list);
    put(op, AllReduce{addition, groups(list)}, extents());
  }
  void reduce_scatter(const Op& op) {
    const std::vector<WrittenDigits> lists = axis_lists(op, axes(op, {"reduce_scatter_axes"}));
    const Addition addition = addition_of(op);
    for (std::size_t k = 0; k < lists.size(); ++k) {
      if (lists[k].digits.empty()) continue;
      reduce(lists[k]);
      const Size whole = out_.tile(k);
      give(k, lists[k]);
      check_cuts(k, out_.tile(k), out_.count(k), whole, lists[k]);
      const Size n = size_of(lists[k]);
      lengthen(op, k, out_.tile(k) * n);
      Shape less = extents();
      less[k] /= n;
      put(op, ReduceScatter{addition, k, groups(lists[k])}, less);
    }
  }
  /// What is added by: as the verifier has it a word of its own, or else a sum; and the operand's addends
  /// are such.
  [[nodiscard]] Addition addition_of(const Op& op) const {
    Addition out = Addition::sum;
    for (const Addition addition : {Addition::max, Addition::min}) {
      if (find(op, retile::name_of(addition)) != nullptr) out = addition;
    }
    if (!out_.addends.empty() && out != out_.addition) {
      refuse_at(op.place, Code::inapplicable,
                fmt::format("the operand is a {} of its addends, and this reduces by {}",
                            retile::name_of(out_.addition), retile::name_of(out)));
    }
    return out;
  }
  /// Whose digits are 0 keeps what all hold; or everybody keeps what he holds, in its place.
  void to_unreduced(const Op& op, bool sharded) {
    std::vector<WrittenDigits> lists;
    std::vector<Digit> added;
    if (sharded) {
      lists = axis_lists(op, axes(op, {"axes", "sharded_to_unreduced_axes"}));
      for (std::size_t k = 0; k < lists.size(); ++k) take_part(k, lists[k], added);
    } else {
      added = one_list(op, {"axes", "replicated_to_unreduced_axes"}).minor_first();
    }
    const KnownPtr claimed = known(body_of(need(op, "out_sharding")), global_.extents);
    if (out_.addends.empty()) out_.addition = claimed->spread.addition;
    PutBox boxes{.addition = out_.addition, .starts = {}};
    boxes.starts.assign(index(builder_.out.devices), std::nullopt);
    for (Size p = 0; p < out_.mesh.mesh.device_count(); ++p) {
      if (!sharded && number_at(p, added) != 0) continue;
      Shape start(extents().size(), 0);
      for (std::size_t k = 0; k < lists.size(); ++k) {
        start[k] = number_at(p, lists[k].minor_first()) * extents()[k];
      }
      boxes.starts[index(device_at(out_.mesh, p))] = std::move(start);
    }
    out_.addends.insert(out_.addends.end(), added.begin(), added.end());
    Shape grown = extents();
    for (std::size_t k = 0; k < lists.size(); ++k) grown[k] *= size_of(lists[k]);
    put(op, std::move(boxes), grown);
    for (std::size_t k = 0; k < lists.size(); ++k) shorten(op, k, out_.tile(k));
  }
  void take_part(std::size_t dim, const WrittenDigits& list, std::vector<Digit>& added) {
    if (list.digits.empty()) return;
    const Size tile = out_.tile(dim);
    const Size count = out_.count(dim);
    take(dim, list);
    check_cuts(dim, tile, count, out_.tile(dim), list);
    const std::vector<Digit> minor = list.minor_first();
    added.insert(added.end(), minor.begin(), minor.end());
  }

  /// Who says nothing else of the end says it by the last claim.
  [[nodiscard]] static AttributePtr last_claim(const Block& body) {
    for (auto op = body.ops.rbegin(); op != body.ops.rend(); ++op) {
      for (const NamedAttribute& attribute : op->attributes) {
        if (attribute.name == "out_sharding") return attribute.value;
      }
    }
    return nullptr;
  }
  void set_end(const Attribute* last) {
    const Attribute* sharding = sharding_attribute(function_, "res_attrs", 0);
    if (sharding == nullptr) sharding = last;
    if (sharding == nullptr) return;
    builder_.out.to = WrittenEnd{.text = std::string(text_at(body_of(*sharding))),
                                 .place = file_place(context_, sharding->place),
                                 .layout = known(body_of(*sharding), global_.extents)->layout};
  }

  const ModuleContext& context_;
  Op& function_;
  Builder builder_;
  TileType global_;
  std::unordered_map<std::string_view, KnownPtr> read_;  // by the text that says it
  std::vector<KnownPtr> known_;                          // of every value
  ValueId from_ = 0;                                     // what the operation at hand works on
  Spread out_;  // and what it has made of the sharding so far
  std::size_t before_ = 1;
  bool stopped_ = false;
};

}  // namespace

Function read_shardy(const ModuleContext& context, Op& function) {
  return ShardyReader(context, function).read();
}

}  // namespace retile::foreign::mlir
