#include "retile/whole/explain.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "retile/notation/sharding.h"
#include "retile/whole/blame.h"
#include "retile/whole/evaluate.h"
#include "retile/whole/flow.h"
#include "retile/whole/holdings.h"
#include "retile/whole/traffic.h"

namespace retile::whole {
namespace {

/// One computation of the text after, and what its values hold.
struct Watched {
  explicit Watched(const Computation& computation) : in(computation), flow(computation) {}

  const Computation& in;
  Flow flow;
  std::map<ValueId, std::size_t> sought = {};  // by the number that they are looked for by
  std::map<ValueId, Held> held = {};           // of these, in the first run
  std::map<const Instruction*, Size> times = {};
  std::map<const Instruction*, std::size_t> transfers = {};
};

/// Whether all devices hold the same.
bool are_alike(const Held& held) {
  const Block& first = held.front();
  return std::all_of(held.begin(), held.end(), [&](const Block& block) { return block == first; });
}

/// A move from one value that is known to be held to the next.
struct Step {
  ValueId source = 0;
  std::set<const Instruction*> by;
};

/// Two ends as boxes of one reference.
struct Ends {
  std::size_t reference = 0;
  std::vector<Box> from;
  std::vector<Box> to;
};

/// Finds the moves of one computation.
class Flows {
 public:
  Flows(const Watched& watched, const Holdings& holdings)
      : watched_(watched), flow_(watched.flow), holdings_(holdings) {}

  /// Steps by the value in which they end.
  [[nodiscard]] std::map<ValueId, Step> steps() const {
    std::map<ValueId, Step> out;
    for (const auto& [value, sought] : watched_.sought) {
      if (holdings_.of(sought).empty()) continue;
      if (auto step = step_to(value)) out.emplace(value, *std::move(step));
    }
    return out;
  }
  /// Both values as boxes of one reference; nothing where there is none.
  [[nodiscard]] std::optional<Ends> ends_of(ValueId begin, ValueId end) const {
    for (const Holding& to : holdings(end)) {
      for (const Holding& from : holdings(begin)) {
        if (from.reference == to.reference) return Ends{to.reference, from.boxes, to.boxes};
      }
    }
    for (const Holding& to : holdings(end)) {
      const Word names = holdings_.reference(to.reference).names;
      for (const Holding& from : holdings(begin)) {
        if (holdings_.reference(from.reference).names != names) continue;
        if (auto boxes = holdings_.as_boxes_of(to.reference, from)) {
          return Ends{to.reference, *std::move(boxes), to.boxes};
        }
        if (auto boxes = holdings_.as_boxes_of(from.reference, to)) {
          return Ends{from.reference, from.boxes, *std::move(boxes)};
        }
      }
    }
    return std::nullopt;
  }

 private:
  [[nodiscard]] const std::vector<Holding>& holdings(ValueId value) const {
    static const std::vector<Holding> none;
    const auto sought = watched_.sought.find(value);
    return sought == watched_.sought.end() ? none : holdings_.of(sought->second);
  }
  [[nodiscard]] bool holds_same(ValueId one, ValueId other) const {
    for (const Holding& a : holdings(one)) {
      for (const Holding& b : holdings(other)) {
        if (holdings_.reference(a.reference).names == holdings_.reference(b.reference).names)
          return true;
      }
    }
    return false;
  }
  /// The step that ends in a value: back through operations that move to the one value that holds the
  /// same elements. Whatever else they take is constant, unless that is what moves.
  [[nodiscard]] std::optional<Step> step_to(ValueId end) const {
    Step out;
    std::set<ValueId> sources;
    std::vector<ValueId> waiting = {end};
    std::set<ValueId> visited = {end};
    while (!waiting.empty() || sources.size() > 1) {
      ValueId value = 0;
      if (waiting.empty()) {  // of several the last is made of others
        value = *sources.rbegin();
        sources.erase(value);
      } else {
        value = waiting.back();
        waiting.pop_back();
      }
      const Instruction* maker = flow_.maker(value);
      if (maker == nullptr) return std::nullopt;
      const std::vector<ValueId> operands = moved_operands(*maker);
      if (operands.empty()) return std::nullopt;
      out.by.insert(maker);
      for (const ValueId operand : operands) {
        if (!visited.insert(operand).second) continue;
        if (holds_same(operand, end)) {
          sources.insert(operand);
        } else if (!flow_.is_constant(operand) || flow_.is_constant(end)) {
          waiting.push_back(operand);
        }
      }
    }
    if (sources.empty()) return std::nullopt;
    out.source = *sources.begin();
    if (!ends_of(out.source, end)) return std::nullopt;
    return out;
  }

  const Watched& watched_;
  const Flow& flow_;
  const Holdings& holdings_;
};

class Explainer {
 public:
  Explainer(const Drawn& drawn, Limits& limits)
      : drawn_(drawn), limits_(limits), holdings_(limits) {
    for (const Computation& computation : drawn.after.computations) {
      watched_.emplace_back(computation);
    }
    out_.devices = drawn.devices;
  }

  [[nodiscard]] Movement movement() {
    if (drawn_.is_global) read_declared();
    find_transfers();
    run_after();
    if (drawn_.is_global) {
      run_before();
      look_up_alike();
      for (Watched& watched : watched_) find_reshards(watched);
    }
    say_values();
    return std::move(out_);
  }

 private:
  Watched& watched(const Computation& in) {
    return watched_[static_cast<std::size_t>(&in - drawn_.after.computations.data())];
  }
  /// In the order of the text: computations before whoever calls them.
  void find_transfers() {
    for (Watched& watched : watched_) {
      for (const Instruction& one : watched.in.body) {
        if (!exchanges(one) || std::holds_alternative<ManualDetail>(one.detail)) continue;
        Transfer transfer = transfer_of(watched.in, one, drawn_.devices);
        transfer.spot = spot_of(watched.in, &one, one.results.front());
        watched.transfers.emplace(&one, out_.transfers.size());
        out_.transfers.push_back(std::move(transfer));
      }
    }
  }
  void run_after() {
    Evaluator<Field> evaluator(drawn_.after, drawn_.field, drawn_.devices, limits_);
    static_cast<void>(evaluator.run(
        drawn_.after_arguments,
        [&](const Computation& in, const Instruction* one, ValueId value, const Held& held) {
          Watched& here = watched(in);
          if (one != nullptr && value == one->results.front()) {
            const auto transfer = here.transfers.find(one);
            if (transfer != here.transfers.end()) ++out_.transfers[transfer->second].times;
          }
          const ArrayType& type = in.values[value].type;
          if (!drawn_.is_global) return;
          if (!here.flow.is_near_exchange(value) && !is_large(type)) return;
          if (!here.held.emplace(value, held).second) return;
          here.sought.emplace(value, holdings_.look_for(type, held));
        }));
  }
  void run_before() {
    Evaluator<Field> evaluator(drawn_.before, drawn_.field, drawn_.devices, limits_);
    std::set<std::pair<const Computation*, ValueId>> seen;
    static_cast<void>(evaluator.run(
        drawn_.before_arguments,
        [&](const Computation& in, const Instruction* one, ValueId value, const Held& held) {
          if (!seen.emplace(&in, value).second) return;
          if (!are_alike(held)) return;  // in a manual region: tiles, and no array
          lookups_.push_back({.spot = spot_of(in, one, value), .is_before = true});
          holdings_.look_in(lookups_.size() - 1, in.values[value].type, held.front());
        }));
  }
  /// What all devices hold alike, and nobody before: others may hold boxes of that.
  void look_up_alike() {
    for (const Watched& watched : watched_) {
      for (const auto& [value, held] : watched.held) {
        if (!holdings_.of(watched.sought.at(value)).empty()) continue;
        if (!are_alike(held)) continue;
        lookups_.push_back(
            {.spot = spot_of(watched.in, watched.flow.maker(value), value), .is_before = false});
        holdings_.look_in(lookups_.size() - 1, watched.in.values[value].type, held.front());
      }
    }
  }

  void find_reshards(Watched& watched) {
    const Flows moves(watched, holdings_);
    const std::map<ValueId, Step> steps = moves.steps();
    std::map<ValueId, std::vector<ValueId>> ends;
    for (const auto& [end, step] : steps) ends[step.source].push_back(end);
    // A station on a way, that nobody else uses.
    const auto is_passed = [&](ValueId value) {
      const auto next = ends.find(value);
      if (next == ends.end() || next->second.size() != 1 || watched.flow.is_result(value) ||
          !steps.contains(value)) {
        return false;
      }
      const std::set<const Instruction*>& by = steps.at(next->second.front()).by;
      const auto& users = watched.flow.users(value);
      return std::all_of(users.begin(), users.end(),
                         [&](const Instruction* user) { return by.contains(user); });
    };
    for (const auto& [end, step] : steps) {
      if (is_passed(end)) continue;
      std::set<const Instruction*> by = step.by;
      ValueId begin = step.source;
      while (is_passed(begin)) {
        const Step& before = steps.at(begin);
        by.insert(before.by.begin(), before.by.end());
        begin = before.source;
      }
      const auto found = moves.ends_of(begin, end);
      if (found) add_reshard(watched, {begin, end}, by, *found);
    }
  }
  void add_reshard(const Watched& watched, std::pair<ValueId, ValueId> values,
                   const std::set<const Instruction*>& by, const Ends& ends) {
    const auto [begin, end] = values;
    Reshard out;
    for (const Instruction* one : by) {
      const auto transfer = watched.transfers.find(one);
      if (transfer == watched.transfers.end()) continue;
      if (out_.transfers[transfer->second].reshard) continue;
      if (out_.transfers[transfer->second].bytes() > 0) out.transfers.push_back(transfer->second);
    }
    if (out.transfers.empty()) return;
    std::sort(out.transfers.begin(), out.transfers.end());
    for (const std::size_t k : out.transfers) out_.transfers[k].reshard = out_.reshards.size();
    const Reference& reference = holdings_.reference(ends.reference);
    out.value = lookups_[reference.number];
    out.kind = reference.type.kind;
    out.extents = reference.type.extents;
    out.from = ends.from;
    out.to = ends.to;
    out.first = spot_of(watched.in, watched.flow.maker(begin), begin);
    out.last = spot_of(watched.in, watched.flow.maker(end), end);
    out.times = out_.transfers[out.transfers.front()].times;
    out.height = count_of(watched.in.values[begin].type);
    for (const Instruction* one : by) {
      for (const ValueId value : one->results) {
        out.height = std::max(out.height, count_of(watched.in.values[value].type));
      }
    }
    out_.reshards.push_back(std::move(out));
  }
  /// What collectives and large values hold.
  void say_values() {
    for (const Watched& watched : watched_) {
      for (const auto& [one, k] : watched.transfers) {
        out_.transfers[k].value = value_of(watched, one->results.front());
      }
      for (ValueId value = 0; value < watched.in.values.size(); ++value) {
        const ArrayType& type = watched.in.values[value].type;
        if (!is_large(type)) continue;
        out_.large.push_back({.spot = spot_of(watched.in, watched.flow.maker(value), value),
                              .kind = type.kind,
                              .extents = type.extents,
                              .bytes = bytes_of(type),
                              .value = value_of(watched, value)});
      }
    }
  }
  [[nodiscard]] std::optional<Lookup> value_of(const Watched& watched, ValueId value) const {
    const auto sought = watched.sought.find(value);
    if (sought == watched.sought.end() || holdings_.of(sought->second).empty()) return {};
    const Holding& holding = holdings_.of(sought->second).front();
    return lookups_[holdings_.reference(holding.reference).number];
  }
  [[nodiscard]] static Size bytes_of(const ArrayType& type) {
    constexpr Size most = std::numeric_limits<Size>::max();
    return checked_mul(checked_product(type.extents).value_or(most), type.kind.bytes())
        .value_or(most);
  }
  [[nodiscard]] bool is_large(const ArrayType& type) const {
    return out_.declared_bytes > 0 && bytes_of(type) > out_.declared_bytes;
  }
  /// The largest tile of the text before, and a mesh that it names.
  void read_declared() {
    for (const ArrayType& tile : drawn_.tiles) see_tile(tile);
    for (const Declared& one : drawn_.before.declared) {
      // A manual one is of tiles already.
      const auto sharding = read(one.sharding, one.type);
      see_tile({one.type.kind, sharding ? sharding->layout.tile() : one.type.extents});
    }
    const Computation& main = drawn_.before.main();
    for (std::size_t k = 0; k < main.parameters.size(); ++k) {
      const End& end = drawn_.before.starts[k];
      if (end.sharding)
        static_cast<void>(read(*end.sharding, main.values[main.parameters[k]].type));
    }
  }
  [[nodiscard]] Result<Sharding> read(const std::string& text, const ArrayType& type) {
    ShardingContext context;
    context.shape = type.extents;
    context.devices = drawn_.devices;
    auto out = parse_sharding(text, context);
    if (out) see_mesh(text, *out);
    return out;
  }
  void see_tile(const ArrayType& tile) {
    out_.declared_bytes = std::max(out_.declared_bytes, bytes_of(tile));
  }
  void see_mesh(const std::string& text, const Sharding& sharding) {
    const bool has_names = sharding.notation != Notation::hlo || text.find("mesh['") != text.npos;
    const bool fits = sharding.mesh.devices() == drawn_.devices;
    if (!out_.mesh && has_names && fits && !sharding.mesh.mesh.axes().empty())
      out_.mesh = sharding.mesh;
  }

  const Drawn& drawn_;
  Limits& limits_;
  Holdings holdings_;
  std::vector<Watched> watched_;
  std::vector<Lookup> lookups_;
  Movement out_;
};

}  // namespace

bool Reshard::is_whole() const {
  const Size all = checked_product(extents).value_or(0);
  const auto holds_all = [&](const Box& box) { return box.extent == extents; };
  return height >= all && std::none_of(from.begin(), from.end(), holds_all) &&
         std::none_of(to.begin(), to.end(), holds_all);
}

Movement movement_of(const Drawn& drawn, Limits& limits) {
  return Explainer(drawn, limits).movement();
}

}  // namespace retile::whole
