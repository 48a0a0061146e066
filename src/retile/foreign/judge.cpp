#include "retile/foreign/judge.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>
#include <vector>

#include "retile/core/assert.h"
#include "retile/core/capped.h"
#include "retile/core/deadline.h"
#include "retile/core/index.h"
#include "retile/core/layout_facts.h"
#include "retile/core/walk.h"
#include "retile/foreign/by_device.h"
#include "retile/foreign/coarse.h"
#include "retile/foreign/compare.h"
#include "retile/foreign/evaluator.h"
#include "retile/foreign/traffic.h"
#include "retile/foreign/typing.h"
#include "retile/operations/element.h"

namespace retile::foreign {
namespace {

/// Of all values of a function: what devices hold of them is kept apart for every device.
constexpr Size most_blocks = Size{1} << 26;
/// Who lost an element first is not looked for where that takes longer.
constexpr Size most_looks = Size{1} << 30;

/// Which operation makes every value.
std::vector<std::size_t> makers(const Function& function) {
  std::vector<std::size_t> out(function.values.size(), 0);
  for (std::size_t k = 0; k < function.operations.size(); ++k) {
    for (const ValueId value : function.operations[k].results) out[value] = k;
  }
  return out;
}

/// Which operation uses a value last, or makes it where none does; nobody the results, which stay.
std::vector<std::size_t> last_uses(const Function& function) {
  constexpr auto never = static_cast<std::size_t>(-1);
  std::vector<std::size_t> out(function.values.size(), never);
  for (std::size_t k = 0; k < function.operations.size(); ++k) {
    for (const ValueId value : function.operations[k].operands) out[value] = k;
    for (const ValueId value : function.operations[k].results) {
      if (out[value] == never) out[value] = k;
    }
  }
  for (const ValueId value : function.results) out[value] = never;
  return out;
}

/// The elements that are needed at the end, a bit each, and where they still are.
class Presence {
 public:
  /// All of so many.
  explicit Presence(Size elements) : needed_(index(elements), true) {}
  Presence(const Layout& from, const Layout& to)
      : needed_(index(from.global_size() * from.addend_count())) {
    const Size size = from.global_size();
    for (Size device = 0; device < to.devices(); ++device) {
      const Box box = to.box(device);
      for (Size addend = 0; addend < from.addend_count(); ++addend) mark(box, to, addend * size);
    }
  }

  void begin() { seen_.assign(needed_.size(), false); }
  void see(const State& state, const Sums& sums) {
    std::set<const Cells*> blocks;
    for (const Block& block : state.blocks) {
      if (!blocks.insert(block.get()).second || !block->are_tags()) continue;
      for (const Tag tag : block->tags()) {
        sums.each_atom(tag, [&](Tag atom) { seen_[static_cast<std::size_t>(atom)] = true; });
      }
    }
  }
  /// Whether one that is needed is nowhere.
  [[nodiscard]] bool lost() const {
    for (std::size_t k = 0; k < needed_.size(); ++k) {
      if (needed_[k] && !seen_[k]) return true;
    }
    return false;
  }

 private:
  void mark(const Box& box, const Layout& to, Size first) {
    const Shape strides = strides_of(to.global());
    const Size begin = first + offset_of(box.at, strides);
    for_box(box.extent,
            [&](const Shape& at) { needed_[index(begin + offset_of(at, strides))] = true; });
  }

  std::vector<bool> needed_;
  std::vector<bool> seen_;
};

/// How many elements all values of a function have together.
Size size_of(const Function& function) {
  Capped out;
  for (const Value& value : function.values) {
    out = out + Capped::of(checked_product(value.type.extents));
  }
  return out.value;
}

/// Whether places of strips, each of which takes longer than one of elements, are not worth it.
bool is_hardly_smaller(Size strips, Size elements) {
  constexpr Size few = Size{1} << 16;
  return strips > few && strips > elements / 4;
}

/// No more work than the tags of all elements would be, and some tenths of a second.
std::size_t work_for(Size size) {
  return index(std::clamp(size / 4, Size{1} << 16, Size{1} << 25));
}

class Judge {
 public:
  Judge(const Function& function, const Layout& from, const Layout& to, const JudgeOptions& options)
      : function_(function),
        from_(from),
        to_(to),
        options_(options),
        deadline_(Deadline::in(options.timeout_seconds)),
        moved_(values_of_parameter(function, true)),
        last_(last_uses(function)),
        makers_(makers(function)) {}

  Verdict verdict() {
    out_.bound = std::max(from_.tile_size(), to_.tile_size());
    measure();
    try {
      choose_strips();
      check_size();
      run();
    } catch (const LimitReached& limit) {
      out_.right = std::nullopt;
      out_.limit = limit.what;
    }
    return std::move(out_);
  }

 private:
  [[nodiscard]] ValuePlace place_of(ValueId id) const {
    const Value& value = run_->values[id];
    return {.place = value.place, .name = value.name, .op = maker(id).name};
  }
  /// The operation that makes a value.
  [[nodiscard]] const Operation& maker(ValueId value) const {
    return run_->operations[makers_[value]];
  }

  /// Shows the values that nobody uses after an operation, be it twice.
  template <typename See>
  void for_dead(std::size_t number, const See& see) const {
    const Operation& operation = run_->operations[number];
    for (const auto* values : {&operation.operands, &operation.results}) {
      for (const ValueId value : *values) {
        if (last_[value] == number) see(value);
      }
    }
  }

  /// Takes strips in place of elements where there are many, and few strips: as all devices cut them, or each
  /// by itself.
  void choose_strips() {
    const Size size = size_of(function_);
    if (size < options_.fewest_in_strips || size / 16 < lines_of_devices()) return;
    coarse_ = coarsened(function_, from_, to_, work_for(size));
    if (!coarse_) by_device_ = by_device(function_);
    if (by_device_) coarse_ = coarsened(*by_device_, from_, to_, work_for(size));
    if (coarse_ && is_hardly_smaller(size_of(coarse_->function), size)) coarse_.reset();
    if (!coarse_) return;
    if (by_device_) full_ = &*by_device_;
    run_ = &coarse_->function;
    moved_ = values_of_parameter(*run_, true);
    last_ = last_uses(*run_);
    makers_ = makers(*run_);
  }
  /// Strips look at every device in every operation. A few of them cost nothing.
  [[nodiscard]] Size lines_of_devices() const {
    constexpr Size few = 4096;
    const Capped out =
        Capped{function_.devices} * Capped{static_cast<Size>(function_.operations.size())};
    return out.value <= few ? 0 : out.value;
  }
  /// All that types say.
  void measure() {
    for (ValueId value = 0; value < function_.values.size(); ++value) {
      const Size size = count_of(function_.values[value].type.extents);
      if (moved_[value] && size > out_.height) {
        out_.height = size;
        out_.height_value = place_of(value);
      }
    }
    const Traffic traffic = traffic_of(function_);
    out_.cost = traffic.cost;
    out_.received = traffic.received;
    out_.received_bytes = traffic.received_bytes;
  }
  void check_size() const {
    const auto atoms = checked_mul(array_size(), from_.addend_count());
    if (!atoms || *atoms > Sums::first) throw LimitReached{"the array has more than 2^30 elements"};
    const auto of_all = std::count_if(
        run_->operations.begin(), run_->operations.end(),
        [&](const Operation& one) { return !run_->values[one.results.front()].device; });
    const auto blocks = checked_mul(function_.devices, static_cast<Size>(of_all));
    if (!blocks || *blocks > most_blocks) {
      throw LimitReached{"devices times operations are more than 2^26"};
    }
  }

  void check_time() const {
    if (deadline_.passed()) throw LimitReached{"no verdict in time"};
  }

  void run() {
    Evaluator evaluator = begun();
    for (std::size_t k = 0; k < run_->operations.size(); ++k) {
      const Operation& operation = run_->operations[k];
      check_time();
      evaluator.apply(operation);
      look_for_all(evaluator, operation);
      if (!claims_hold(evaluator, operation)) return;
      for_dead(k, [&](ValueId value) { evaluator.drop(value); });
    }
    const ValueId result = full_->results.front();
    out_.right = holds(evaluator, result, to_);
    if (*out_.right) return;
    out_.is_rearranged =
        out_.mismatch->fault == Fault::end && is_rearranged_at_end(evaluator.at(result));
    out_.first_wrong = place_of(result);
    if (const std::vector<Size>& ranks = full_->ranks; !ranks.empty()) {
      const std::size_t rank = index(out_.mismatch->device.value_or(0));
      out_.first_wrong = place_of(maker(result).operands[rank]);
      for (auto* device : {&out_.mismatch->device, &out_.mismatch->replica}) {
        if (*device) *device = ranks[index(**device)];
      }
    } else if (const auto lost = first_loss()) {
      out_.first_wrong = lost;
    }
  }
  void other_shape(const Shape& tile, Shape expected) {
    Mismatch& out = out_.mismatch.emplace();
    out.fault = Fault::tile;
    out.tile = tile;
    out.expected = std::move(expected);
  }
  /// Whether all devices hold of a value what a layout says; what they hold instead goes to the verdict.
  bool holds(Evaluator& evaluator, ValueId value, const Layout& claim) {
    const Shape& extents = full_->values[value].type.extents;
    if (extents != claim.tile()) {
      other_shape(extents, claim.tile());
      return false;
    }
    if (const auto device = other_tile(full_->values[value], claim)) {
      other_shape(full_->values[value].tiles[index(*device)], claim.box(*device).extent);
      out_.mismatch->device = device;
      return false;
    }
    const auto divisor = [](const std::optional<WrittenEnd>& end) {
      return end ? end->divisor : 1;
    };
    const auto places = coarse_ ? std::optional<CoarsePlaces>({*coarse_, value}) : std::nullopt;
    out_.mismatch =
        find_mismatch(evaluator.at(value), run_->values[value].type, from_, claim, evaluator.sums(),
                      {divisor(full_->from), divisor(full_->to)}, places ? &*places : nullptr);
    return !out_.mismatch;
  }
  [[nodiscard]] bool is_rearranged_at_end(const State& state) const {
    const ValueId result = full_->results.front();
    const Shape& extents = run_->values[result].type.extents;
    if (addition_of(from_, to_)) return false;
    if (!coarse_) return is_rearranged(state, extents, to_);
    return to_.covers_once() && is_rearranged(state, extents, to_, {*coarse_, result});
  }
  bool claims_hold(Evaluator& evaluator, const Operation& operation) {
    for (const ValueId value : operation.results) {
      const auto& claim = run_->values[value].claim;
      if (!claim || holds(evaluator, value, *claim)) continue;
      out_.right = false;
      out_.is_claim = true;
      out_.first_wrong = place_of(value);
      return false;
    }
    return true;
  }

  /// Looks for the first value that holds the whole array on one device.
  void look_for_all(const Evaluator& evaluator, const Operation& operation) {
    const Size size = from_.global_size();
    if (out_.whole_array || out_.bound >= size) return;
    for (const ValueId value : operation.results) {
      if (!moved_[value] || count_of(full_->values[value].type.extents) < size) continue;
      std::set<const Cells*> blocks;
      for (const Block& block : evaluator.at(value).blocks) {
        if (blocks.insert(block.get()).second && is_all(*block, evaluator)) {
          out_.whole_array = place_of(value);
          return;
        }
      }
    }
  }
  [[nodiscard]] bool is_all(const Cells& cells, const Evaluator& evaluator) const {
    if (!cells.are_tags()) return false;
    const Size size = array_size();
    std::vector<bool> seen(index(size));
    Size count = 0;
    const auto see = [&](Tag atom) {
      const std::size_t element = index(atom % size);
      if (!seen[element]) ++count;
      seen[element] = true;
    };
    for (const Tag tag : cells.tags()) evaluator.sums().each_atom(tag, see);
    return count == size;
  }

  /// The first value after which an element that is needed is nowhere; nothing where that takes too long.
  [[nodiscard]] std::optional<ValuePlace> first_loss() const {
    try {
      return looked_for_loss();
    } catch (const LimitReached&) {
      return std::nullopt;  // that the end does not hold is known
    }
  }
  [[nodiscard]] std::optional<ValuePlace> looked_for_loss() const {
    const Size elements = array_size() * from_.addend_count();
    const auto looks = checked_mul(elements, static_cast<Size>(run_->operations.size()));
    if (!looks || *looks > most_looks || (coarse_ && !to_.covers_once())) return std::nullopt;
    Presence presence = coarse_ ? Presence(elements) : Presence(from_, to_);
    Evaluator evaluator = begun();
    std::set<ValueId> live;
    auto parameters = std::count_if(
        run_->operations.begin(), run_->operations.end(),
        [](const Operation& one) { return std::holds_alternative<Parameter>(one.action); });
    for (std::size_t k = 0; k < run_->operations.size(); ++k) {
      const Operation& operation = run_->operations[k];
      if (deadline_.passed()) return std::nullopt;
      evaluator.apply(operation);
      for (const ValueId value : operation.results) {
        if (moved_[value]) live.insert(value);
      }
      if (std::holds_alternative<Parameter>(operation.action)) --parameters;
      for_dead(k, [&](ValueId value) {
        evaluator.drop(value);
        live.erase(value);
      });
      if (parameters > 0) continue;
      presence.begin();
      for (const ValueId value : live) presence.see(evaluator.at(value), evaluator.sums());
      if (presence.lost()) return place_of(operation.results.back());
    }
    return std::nullopt;
  }

  /// Nothing of what is evaluated is evaluated yet.
  [[nodiscard]] Evaluator begun() const {
    return coarse_ ? Evaluator(*run_, coarse_->start, options_.most_bytes)
                   : Evaluator(*run_, from_, options_.most_bytes);
  }
  /// Of the array that is evaluated.
  [[nodiscard]] Size array_size() const {
    return coarse_ ? count_of(coarse_->start.global) : from_.global_size();
  }

  const Function& function_;
  std::optional<Function> by_device_;
  std::optional<Coarse> coarse_;
  const Function* full_ = &function_;  // what is judged, in its own extents
  const Function* run_ = &function_;   // and what is evaluated
  const Layout& from_;
  const Layout& to_;
  const JudgeOptions& options_;
  Deadline deadline_;
  std::vector<bool> moved_;
  std::vector<std::size_t> last_;  // of every value, the number of the operation that uses it last
  std::vector<std::size_t> makers_;  // of every value, the number of its operation
  Verdict out_;
};

}  // namespace

std::string_view name_of(Fault fault) {
  static constexpr std::array<std::string_view, 4> names = {"tile", "end", "replicas", "addends"};
  return names[static_cast<std::size_t>(fault)];
}

std::string_view name_of(Found::Kind kind) {
  static constexpr std::array<std::string_view, 5> names = {"element", "zero", "undefined",
                                                            "nothing", "sum"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view Verdict::reason() const { return is_claim ? "claim" : name_of(mismatch->fault); }

Verdict judge(const Function& function, const Layout& from, const Layout& to,
              const JudgeOptions& options) {
  return Judge(function, from, to, options).verdict();
}

}  // namespace retile::foreign
