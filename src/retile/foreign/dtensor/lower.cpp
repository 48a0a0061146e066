#include "retile/foreign/dtensor/lower.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "retile/core/index.h"

namespace retile::foreign::dtensor {
namespace {

/// Members of groups that are looked at, to see whether they have come.
constexpr std::size_t most_looks = std::size_t{1} << 31;

/// What the elements of a value are, where addends are made ready before they are added: as they are kept, or ready.
/// Zeros, and what nobody knows, are either.
enum class Form { either, kept, ready };

/// Checks one step after the other, and says it in operations.
class Lowering {
 public:
  Lowering(std::vector<RankTrace> ranks, const StepPlaces& places, const Preparation& preparation,
           Function& out)
      : ranks_(std::move(ranks)),
        places_(places),
        preparation_(preparation),
        out_(out),
        at_(ranks_.size(), 0) {}

  void lower() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (const Shape& shape : ranks_[rank].shapes) check_size(rank, shape);
    }
    add_values();
    begin();
    bool moved = true;
    while (moved) {
      moved = false;
      for (std::size_t rank = 0; rank < at_.size(); ++rank) moved = advance(rank) || moved;
    }
    for (std::size_t rank = 0; rank < at_.size(); ++rank) {
      if (step(rank) != nullptr) fail(rank, "this rank waits here, and others do not come");
    }
    end();
  }

 private:
  /// The next step of a rank; nothing when it is through.
  [[nodiscard]] const TraceStep* step(std::size_t rank) const {
    const auto& steps = ranks_[rank].steps;
    return at_[rank] < steps.size() ? &steps[at_[rank]] : nullptr;
  }
  [[noreturn]] void fail(std::size_t rank, std::string message,
                         Code code = Code::bad_program) const {
    text::fail(places_[rank][at_[rank]], {.code = code, .message = std::move(message)});
  }
  void check_size(std::size_t rank, const Shape& shape) const {
    if (checked_product(shape)) return;
    text::fail(places_[rank].back(),
               {.code = Code::limit_reached, .message = "a value of 2^63 elements or more"});
  }

  /// Does what this rank can do now, alone or as the first of its group. Whether there was anything.
  bool advance(std::size_t rank) {
    bool moved = false;
    while (const TraceStep* next = step(rank)) {
      if (is_collective(next->op)) {
        if (!is_ready(rank, *next)) break;
        together(*next);
      } else {
        alone(rank, *next);
        done(rank);
      }
      moved = true;
    }
    return moved;
  }
  /// What is said in operations takes no more room as a step.
  void done(std::size_t rank) { ranks_[rank].steps[at_[rank]++] = {}; }
  [[nodiscard]] static std::size_t member(const TraceStep& step, std::size_t k) {
    return static_cast<std::size_t>(step.group[k]);
  }
  /// Whether all of the group are at the same collective.
  [[nodiscard]] bool is_ready(std::size_t rank, const TraceStep& first) {
    check_group(rank, first);
    looks_ += first.group.size();
    if (looks_ > most_looks) fail(rank, "ranks wait for each other too often", Code::limit_reached);
    for (std::size_t k = 0; k < first.group.size(); ++k) {
      const TraceStep* other = step(member(first, k));
      if (other == nullptr || other->op != first.op || other->group != first.group) return false;
    }
    return true;
  }
  void check_group(std::size_t rank, const TraceStep& step) const {
    std::vector<Size> sorted = step.group;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end() || sorted.empty() ||
        sorted.back() >= static_cast<Size>(at_.size()) ||
        !std::binary_search(sorted.begin(), sorted.end(), static_cast<Size>(rank))) {
      fail(rank, "a group is of different ranks, this one among them");
    }
  }

  // Values: those of all ranks, rank by rank, and behind them what holds the tiles of all.

  void add_values() {
    std::size_t values = 3;  // the start, the result and what is padded with
    std::size_t operations = 3 + ranks_.size();
    for (const RankTrace& rank : ranks_) {
      values += rank.shapes.size();
      operations += rank.shapes.size();
    }
    out_.values.reserve(values);
    out_.operations.reserve(operations);
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      RankTrace& one = ranks_[rank];
      out_.ranks.push_back(one.number);
      first_.push_back(out_.values.size());
      const std::string name = fmt::format("rank {}", one.number);
      for (Shape& shape : one.shapes) {
        out_.values.push_back({.name = name,
                               .type = {"", std::move(shape)},
                               .place = one.place,
                               .device = static_cast<Size>(rank)});
      }
      for (const TraceStep& step : one.steps) {
        for (const std::size_t value : step.out) out_.values[id(rank, value)].place = step.place;
      }
    }
    out_.devices = static_cast<Size>(ranks_.size());
    Value start{.name = "the start", .type = {}, .place = out_.place};
    Value result{.name = "the result", .type = {}, .place = out_.place};
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      widen(start, extents(id(rank, 0)));
      widen(result, extents(id(rank, ranks_[rank].result)));
    }
    forms_.resize(out_.values.size(), Form::either);
    for (const Value* all : {&start, &result}) {
      if (checked_product(all->type.extents)) continue;
      text::fail(places_.front().back(),
                 {.code = Code::limit_reached, .message = "an array has 2^63 elements or more"});
    }
    out_.parameters = {out_.values.size()};
    out_.results = {out_.values.size() + 1};
    out_.values.push_back(std::move(start));
    out_.values.push_back(std::move(result));
  }
  /// To tiles that all fit into; of another rank is what has no elements.
  static void widen(Value& all, const Shape& tile) {
    Shape& extents = all.type.extents;
    if (tile.size() > extents.size()) extents.resize(tile.size(), 0);
    for (std::size_t k = 0; k < tile.size(); ++k) extents[k] = std::max(extents[k], tile[k]);
    all.tiles.push_back(tile);
  }
  [[nodiscard]] ValueId id(std::size_t rank, std::size_t value) const {
    return first_[rank] + value;
  }
  [[nodiscard]] const Shape& extents(ValueId value) const {
    return out_.values[value].type.extents;
  }
  [[nodiscard]] bool is_empty(ValueId value) const { return checked_product(extents(value)) == 0; }

  // Operations.

  /// Zeros, or what nobody knows.
  [[nodiscard]] static Constant constant(bool zeros) { return {{zeros ? 0 : 1}}; }
  /// Nothing is made of nothing: no operation sees a value without elements, however long it is.
  void add(Action action, std::string_view name, FilePlace place, std::vector<ValueId> operands,
           ValueId result) {
    std::erase_if(operands, [this](ValueId value) { return is_empty(value); });
    if (is_empty(result)) {
      action = constant(true);
      operands.clear();
    }
    out_.operations.push_back({.action = std::move(action),
                               .name = std::string(name),
                               .place = place,
                               .operands = std::move(operands),
                               .results = {result}});
  }
  void put(std::size_t rank, const TraceStep& step, Action action, std::size_t k = 0) {
    std::vector<ValueId> operands;
    for (const std::size_t value : step.in) operands.push_back(id(rank, value));
    if (step.op == TraceOp::same) operands = {operands[k]};
    set_form(id(rank, step.out[k]), form_of(rank, operands));
    if (std::holds_alternative<Pad>(action)) operands.push_back(zero());
    add(std::move(action), name_of(step.op), step.place, std::move(operands),
        id(rank, step.out[k]));
  }
  /// What all pad with.
  [[nodiscard]] ValueId zero() {
    if (!zero_) {
      zero_ = out_.values.size();
      out_.values.push_back({.name = "zero", .type = {}, .place = out_.place});
      add(constant(true), "zero", out_.place, {}, *zero_);
    }
    return *zero_;
  }
  /// The box of the whole that begins there.
  [[nodiscard]] static Slice part(Shape start, const Shape& box) {
    Shape limit = start;
    for (std::size_t k = 0; k < limit.size(); ++k) limit[k] += box[k];
    return {std::move(start), std::move(limit), Shape(box.size(), 1)};
  }
  /// Every rank takes its own tile of the start.
  void begin() {
    const ValueId start = out_.parameters.front();
    out_.operations.push_back({.action = Parameter{0},
                               .name = "start",
                               .place = out_.place,
                               .operands = {},
                               .results = {start}});
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const ValueId own = id(rank, 0);
      const Shape& tile = extents(own);
      Action action = part(Shape(tile.size(), 0), tile);
      if (tile == extents(start)) action = Same{};
      if (tile.size() != extents(start).size()) action = constant(false);
      const bool are_kept =
          preparation_.norm || preparation_.has_mask || !preparation_.rows.empty();
      set_form(own, are_kept ? Form::kept : Form::ready);
      add(std::move(action), "start", ranks_[rank].place, {start}, own);
    }
  }
  void end() {
    Assemble action;
    std::vector<ValueId> operands;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      operands.push_back(finished(rank));
      const Shape& tile = extents(operands.back());
      const Shape none(tile.size(), 0);
      auto& pieces = action.pieces.emplace_back();
      if (tile.size() == extents(out_.results.front()).size() && !is_empty(operands.back())) {
        pieces.push_back({static_cast<Size>(rank), none, none, tile});
      }
    }
    out_.operations.push_back({.action = std::move(action),
                               .name = "ranks",
                               .place = out_.place,
                               .operands = std::move(operands),
                               .results = out_.results});
  }

  /// What a rank ends with; nobody knows what it is to be where its elements are not as the end keeps them.
  [[nodiscard]] ValueId finished(std::size_t rank) {
    const ValueId result = id(rank, ranks_[rank].result);
    const Form form = forms_[result];
    const bool stays =
        form == Form::either ||
        (preparation_.norm ? form == Form::kept : form == Form::ready || preparation_.keeps_mask);
    if (stays) return result;
    Value unknown = out_.values[result];
    out_.values.push_back(std::move(unknown));
    add(constant(false), "result", ranks_[rank].place, {}, out_.values.size() - 1);
    return out_.values.size() - 1;
  }

  // Forms.

  void set_form(ValueId value, Form form) { forms_[value] = form; }
  /// That of several values; none is kept where another is ready.
  [[nodiscard]] Form form_of(std::size_t rank, const std::vector<ValueId>& values) const {
    Form out = Form::either;
    for (const ValueId value : values) {
      const Form form = forms_[value];
      if (form == Form::either) continue;
      if (out != Form::either && out != form) {
        fail(rank, "addends that are ready to be added beside others that are not",
             Code::unsupported);
      }
      out = form;
    }
    return out;
  }
  [[nodiscard]] Form form_in(std::size_t rank, const TraceStep& step) const {
    return forms_[id(rank, step.in[0])];
  }
  [[noreturn]] void fail_unread(std::size_t rank, const TraceStep& step) const {
    fail(rank, fmt::format("{} is not read here", name_of(step.op)), Code::unsupported);
  }
  void keeps_shape(std::size_t rank, const TraceStep& step) const {
    counts(rank, step, 1, 1);
    makes(rank, step, in(rank, step));
  }
  /// Makes elements ready, or keeps them again.
  void change(std::size_t rank, const TraceStep& step) {
    keeps_shape(rank, step);
    const Form form = form_in(rank, step);
    const bool is_mask = step.op == TraceOp::mask;
    const Form before = step.op == TraceOp::root ? Form::ready : Form::kept;
    const bool fits =
        is_mask ? preparation_.has_mask
                : preparation_.norm == step.degree && (form == Form::either || form == before);
    if (!fits) fail_unread(rank, step);
    put(rank, step, Same{});
    set_form(id(rank, step.out[0]), step.op == TraceOp::root ? Form::kept : Form::ready);
  }
  /// Nobody knows indices that are counted from a row which is not the first of the rank's own.
  void rows(std::size_t rank, const TraceStep& step) {
    keeps_shape(rank, step);
    if (preparation_.rows.empty() || form_in(rank, step) == Form::ready) fail_unread(rank, step);
    if (preparation_.rows[rank] != std::pair(step.start, step.length)) {
      return add_unknown(rank, step);
    }
    put(rank, step, Same{});
    set_form(id(rank, step.out[0]), Form::ready);
  }
  /// The n-th root of a number divides the n-th root of a sum as the number divides the sum.
  void divide(std::size_t rank, const TraceStep& step) {
    keeps_shape(rank, step);
    const bool are_roots = preparation_.norm && form_in(rank, step) == Form::kept;
    if (step.degree != (are_roots ? *preparation_.norm : 1)) fail_unread(rank, step);
    if (step.divisor < 1) fail(rank, "a divisor is at least 1", Code::bad_number);
    put(rank, step, AllReduce{Addition::sum, {{0}}, step.divisor});
  }

  // Shapes.

  [[nodiscard]] const Shape& in(std::size_t rank, const TraceStep& step, std::size_t k = 0) const {
    return extents(id(rank, step.in[k]));
  }
  void counts(std::size_t rank, const TraceStep& step, std::size_t in, std::size_t out) const {
    if (step.in.size() == in && step.out.size() == out) return;
    fail(rank, fmt::format("{} takes {} values and makes {}", name_of(step.op), in, out));
  }
  void makes(std::size_t rank, const TraceStep& step, const Shape& shape) const {
    if (step.sizes[0] == shape) return;
    fail(rank, fmt::format("{} makes [{}], not [{}]", name_of(step.op), fmt::join(shape, ","),
                           fmt::join(step.sizes[0], ",")));
  }
  void has_dim(std::size_t rank, const Shape& shape, std::size_t dim) const {
    if (dim < shape.size()) return;
    fail(rank, fmt::format("no dimension {} in [{}]", dim, fmt::join(shape, ",")),
         Code::bad_dimension);
  }

  /// An extent, which may be large also where a value has no elements.
  [[nodiscard]] Size in_range(std::size_t rank, const std::optional<Size>& extent) const {
    if (!extent) fail(rank, "an extent of 2^63 or more", Code::limit_reached);
    return *extent;
  }
  void alone(std::size_t rank, const TraceStep& step) {
    switch (step.op) {
      case TraceOp::zeros:
      case TraceOp::empty:
        counts(rank, step, 0, 1);
        return put(rank, step, constant(step.op == TraceOp::zeros));
      case TraceOp::divide:
        return divide(rank, step);
      case TraceOp::rows:
        return rows(rank, step);
      case TraceOp::power:
      case TraceOp::root:
      case TraceOp::mask:
        return change(rank, step);
      case TraceOp::split:
        return split(rank, step);
      case TraceOp::cat:
        return cat(rank, step);
      case TraceOp::slice:
        return slice(rank, step);
      case TraceOp::pad:
        return pad(rank, step);
      case TraceOp::transpose:
        return transpose(rank, step);
      case TraceOp::reshape:
        counts(rank, step, 1, 1);
        if (checked_product(step.sizes[0]) != checked_product(in(rank, step))) {
          fail(rank, "a reshape keeps the number of elements");
        }
        return put(rank, step, Reshape{});
      default:  // same
        if (step.in.size() != step.out.size()) fail(rank, "same makes as many values as it takes");
        for (std::size_t k = 0; k < step.in.size(); ++k) {
          if (in(rank, step, k) != step.sizes[k]) fail(rank, "same keeps the shape");
          put(rank, step, Same{}, k);
        }
    }
  }
  void split(std::size_t rank, const TraceStep& step) {
    if (step.in.size() != 1 || step.out.empty()) fail(rank, "split takes one value");
    Shape whole = in(rank, step);
    has_dim(rank, whole, step.dim);
    Shape start(whole.size(), 0);
    for (std::size_t k = 0; k < step.sizes.size(); ++k) {
      Shape other = step.sizes[k];
      has_dim(rank, other, step.dim);
      const Size length = std::exchange(other[step.dim], whole[step.dim]);
      const Size end = in_range(rank, checked_add(start[step.dim], length));
      if (other != whole) fail(rank, "a part of a split differs in another dimension");
      put(rank, step, part(start, step.sizes[k]), k);
      start[step.dim] = end;
    }
    if (start[step.dim] != whole[step.dim]) fail(rank, "the parts of a split are not the whole");
  }
  void cat(std::size_t rank, const TraceStep& step) {
    if (step.in.empty() || step.out.size() != 1) fail(rank, "cat makes one value of several");
    Shape made = step.sizes[0];
    has_dim(rank, made, step.dim);
    made[step.dim] = 0;
    for (std::size_t k = 0; k < step.in.size(); ++k) {
      Shape part = in(rank, step, k);
      if (part == Shape{0} && made.size() != 1) continue;  // as torch does
      has_dim(rank, part, step.dim);
      const Size length = std::exchange(part[step.dim], 0);
      made[step.dim] = in_range(rank, checked_add(made[step.dim], length));
      Shape rest = made;
      rest[step.dim] = 0;
      if (part != rest) fail(rank, "a part of a cat differs in another dimension");
    }
    makes(rank, step, made);
    put(rank, step, Concatenate{step.dim});
  }
  void slice(std::size_t rank, const TraceStep& step) {
    counts(rank, step, 1, 1);
    Shape whole = in(rank, step);
    has_dim(rank, whole, step.dim);
    has_dim(rank, step.sizes[0], step.dim);
    const Size length = step.sizes[0][step.dim];
    if (step.start > whole[step.dim] || length > whole[step.dim] - step.start) {
      fail(rank, "a slice goes past the end");
    }
    whole[step.dim] = length;
    makes(rank, step, whole);
    Shape start(whole.size(), 0);
    start[step.dim] = step.start;
    put(rank, step, part(std::move(start), whole));
  }
  void pad(std::size_t rank, const TraceStep& step) {
    counts(rank, step, 1, 1);
    Shape made = in(rank, step);
    if (step.padding.size() != made.size()) fail(rank, "padding of more dimensions than there are");
    Pad action{.low = {}, .high = {}, .interior = Shape(made.size(), 0)};
    for (std::size_t k = 0; k < made.size(); ++k) {
      const auto [low, high] = step.padding[k];
      const Size taken = std::max<Size>(-low, 0);
      if (low < -made[k] || high < taken - made[k]) fail(rank, "padding takes away too much");
      const Size sum = in_range(rank, checked_add(made[k], low));
      made[k] = in_range(rank, checked_add(sum, high));
      action.low.push_back(low);
      action.high.push_back(high);
    }
    makes(rank, step, made);
    put(rank, step, is_empty(id(rank, step.in[0])) ? Action(constant(true)) : std::move(action));
  }
  void transpose(std::size_t rank, const TraceStep& step) {
    counts(rank, step, 1, 1);
    const Shape& before = in(rank, step);
    std::vector<std::size_t> sorted = step.order;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::size_t> dims(before.size());
    std::iota(dims.begin(), dims.end(), std::size_t{0});
    if (sorted != dims) fail(rank, "the order of a transpose names every dimension once");
    Shape made;
    for (const std::size_t dim : step.order) made.push_back(before[dim]);
    makes(rank, step, made);
    put(rank, step, Transpose{step.order});
  }

  // Collectives.

  /// The ranks of a group, in its order.
  using Turn = std::vector<std::size_t>;

  /// \param first  of one of the group
  void together(const TraceStep& first) {
    Turn turn;
    for (std::size_t k = 0; k < first.group.size(); ++k) {
      const std::size_t rank = member(first, k);
      counts(rank, *step(rank), 1, 1);
      const bool has_rows = first.op != TraceOp::all_reduce && first.op != TraceOp::broadcast;
      if (has_rows && in(rank, *step(rank)).empty()) {
        fail(rank, fmt::format("{} of a tile without dimensions", name_of(first.op)));
      }
      turn.push_back(rank);
    }
    if (first.op == TraceOp::all_to_all) {
      put_together(turn, all_to_all(turn));
    } else if (first.op == TraceOp::broadcast) {
      put_together(turn, broadcast(turn));
    } else {
      put_together(turn, alike(turn));
    }
    for (const std::size_t rank : turn) done(rank);
  }
  void put_together(const Turn& turn, Action action) {
    const TraceStep& first = *step(turn[0]);
    if (!pass_form(turn, first)) {
      for (const std::size_t rank : turn) add_unknown(rank, *step(rank));
      return;
    }
    Operation out{.action = std::move(action),
                  .name = std::string(name_of(first.op)),
                  .place = first.place,
                  .operands = {},
                  .results = {}};
    for (const std::size_t rank : turn) {
      out.operands.push_back(id(rank, step(rank)->in[0]));
      out.results.push_back(id(rank, step(rank)->out[0]));
    }
    if (first.op == TraceOp::all_to_all || !is_empty(out.results[0])) {
      out_.operations.push_back(std::move(out));
    } else {
      for (const std::size_t rank : turn) put(rank, *step(rank), constant(true));
    }
  }
  /// Gives what a group makes the form of what its members have. \return whether these may be added, if they are
  bool pass_form(const Turn& turn, const TraceStep& first) {
    const bool adds = first.op == TraceOp::all_reduce || first.op == TraceOp::reduce_scatter;
    std::vector<ValueId> operands;
    for (const std::size_t rank : turn) operands.push_back(id(rank, step(rank)->in[0]));
    const auto is_kept = [this](ValueId value) { return forms_[value] == Form::kept; };
    if (adds && turn.size() > 1 && std::any_of(operands.begin(), operands.end(), is_kept)) {
      return false;
    }
    const Form form = form_of(turn[0], operands);
    for (const std::size_t rank : turn) set_form(id(rank, step(rank)->out[0]), form);
    return true;
  }
  void add_unknown(std::size_t rank, const TraceStep& step) {
    add(constant(false), name_of(step.op), step.place, {}, id(rank, step.out[0]));
  }
  [[nodiscard]] Action alike(const Turn& turn) const {
    const auto n = static_cast<Size>(turn.size());
    const TraceStep& first = *step(turn[0]);
    Shape shape = in(turn[0], first);
    Shape made = shape;
    if (first.op == TraceOp::all_gather) {
      made[0] = in_range(turn[0], checked_mul(made[0], n));
    }
    if (first.op == TraceOp::reduce_scatter) {
      if (shape[0] % n != 0) fail(turn[0], "rows that the members do not divide");
      made[0] /= n;
    }
    for (const std::size_t rank : turn) {
      const TraceStep& own = *step(rank);
      if (in(rank, own) != shape) {
        fail(rank, fmt::format("{} of tiles of different sizes", name_of(own.op)));
      }
      if (own.addition != first.addition || own.is_average != first.is_average) {
        fail(rank, "members that add in different ways");
      }
      makes(rank, own, made);
    }
    Groups group(1);
    for (Size k = 0; k < n; ++k) group.front().push_back(k);
    if (first.op == TraceOp::all_gather) return AllGather{0, std::move(group)};
    if (first.op == TraceOp::all_reduce) {
      return AllReduce{first.addition, std::move(group), first.is_average ? n : 1};
    }
    return ReduceScatter{first.addition, 0, std::move(group), first.is_average ? n : 1};
  }
  [[nodiscard]] Action broadcast(const Turn& turn) const {
    CollectivePermute out;
    for (const std::size_t rank : turn) {
      const TraceStep& own = *step(rank);
      const auto root = std::find(turn.begin(), turn.end(), own.root);
      if (root == turn.end() || own.root != step(turn[0])->root) {
        fail(rank, "a group has one root, which is a member");
      }
      makes(rank, own, in(own.root, *step(own.root)));
      out.pairs.emplace_back(root - turn.begin(), static_cast<Size>(out.pairs.size()));
    }
    return out;
  }
  [[nodiscard]] Action all_to_all(const Turn& turn) const {
    const std::size_t n = turn.size();
    for (const std::size_t rank : turn) {
      const TraceStep& own = *step(rank);
      if (own.send.size() != n || own.receive.size() != n) {
        fail(rank, "rows are sent to every member, and received of every member");
      }
      Shape made = in(rank, own);
      if (sum(own.send) != made[0]) fail(rank, "what is sent is not all rows");
      made[0] = in_range(rank, sum(own.receive));
      makes(rank, own, made);
    }
    Assemble out;
    out.pieces.resize(n);
    Shape received(n, 0);  // rows, by member
    for (std::size_t source = 0; source < n; ++source) {
      const TraceStep& from = *step(turn[source]);
      Shape rows = in(turn[source], from);
      Shape start(rows.size(), 0);
      for (std::size_t target = 0; target < n; ++target) {
        const TraceStep& to = *step(turn[target]);
        if (from.send[target] != to.receive[source]) {
          fail(turn[target], "what is sent is not what is received");
        }
        rows[0] = from.send[target];
        if (checked_product(rows) != 0) {
          check_rows(turn[target], rows);
          Shape place(rows.size(), 0);
          place[0] = received[target];
          out.pieces[target].push_back({static_cast<Size>(source), start, std::move(place), rows});
        }
        start[0] += rows[0];
        received[target] += rows[0];
      }
    }
    if (n == 1) return Same{};
    return out;
  }
  /// That a rank gets rows as long as its own.
  void check_rows(std::size_t rank, const Shape& rows) const {
    const Shape& own = step(rank)->sizes[0];
    if (std::equal(rows.begin() + 1, rows.end(), own.begin() + 1, own.end())) return;
    fail(rank, fmt::format("{} of rows of different sizes", name_of(TraceOp::all_to_all)));
  }
  [[nodiscard]] static std::optional<Size> sum(const std::vector<Size>& numbers) {
    std::optional<Size> out = 0;
    for (const Size number : numbers) {
      if (out) out = checked_add(*out, number);
    }
    return out;
  }

  std::vector<RankTrace> ranks_;
  const StepPlaces& places_;
  const Preparation& preparation_;
  Function& out_;
  std::vector<ValueId> first_;  // of each rank
  std::vector<Form> forms_;     // of each value of a rank
  std::optional<ValueId> zero_ = {};
  std::vector<std::size_t> at_;  // steps that each rank has done
  std::size_t looks_ = 0;
};

}  // namespace

void lower(std::vector<RankTrace> ranks, const StepPlaces& places, const Preparation& preparation,
           Function& out) {
  Lowering(std::move(ranks), places, preparation, out).lower();
}

}  // namespace retile::foreign::dtensor
