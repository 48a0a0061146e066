/// A resharder to put yours in the place of: it gathers the whole array on every device, then slices, in HLO.
#include <cstddef>

#include "resharder.h"

namespace {

std::string listed(const std::vector<int>& numbers) {
  std::string out;
  for (const int n : numbers) out += (out.empty() ? "" : ",") + std::to_string(n);
  return out;
}

/// A function that is written line by line, one value after the other.
class Function {
 public:
  explicit Function(const Problem& problem) : problem_(problem), tile_(problem.shape) {
    for (const int size : problem.mesh) devices_ *= size;
    for (std::size_t i = 0; i < tile_.size(); ++i) {
      for (const int axis : problem.from[i]) tile_[i] /= size_of(axis);
    }
    start_ = type();
    add("parameter(0)");
  }

  void gather(int dim, int axis) {
    tile_[at(dim)] *= size_of(axis);
    std::string groups;
    for (int device = 0; device < devices_; ++device) {
      if (place(device, axis) != 0) continue;
      std::vector<int> group;
      for (int k = 0; k < size_of(axis); ++k) group.push_back(device + k * stride(axis));
      groups += (groups.empty() ? "{" : ",{") + listed(group) + "}";
    }
    add("all-gather(" + last() + "), channel_id=1, replica_groups={" + groups + "}, dimensions={" +
        std::to_string(dim) + "}, use_global_device_ids=true");
  }

  void slice(int dim, int axis) {
    tile_[at(dim)] /= size_of(axis);
    std::vector<int> offsets;
    for (int device = 0; device < devices_; ++device) {
#ifdef RESHARDER_BUG
      offsets.push_back((place(device, axis) + 1) % size_of(axis) * tile_[at(dim)]);
#else
      offsets.push_back(place(device, axis) * tile_[at(dim)]);
#endif
    }
    const std::string whole = last(), id = std::to_string(++values_);
    body_ += "  %id" + id + " = u32[] partition-id()\n";
    body_ += "  %table" + id + " = s32[" + std::to_string(devices_) + "] constant({" +
             listed(offsets) + "})\n";
    body_ += "  %entry" + id + " = s32[1] dynamic-slice(%table" + id + ", %id" + id +
             "), dynamic_slice_sizes={1}\n";
    body_ += "  %offset" + id + " = s32[] reshape(%entry" + id + ")\n";
    body_ += "  %zero" + id + " = s32[] constant(0)\n";
    std::string places;
    for (std::size_t i = 0; i < tile_.size(); ++i) {
      places += (i == at(dim) ? ", %offset" : ", %zero") + id;
    }
    add("dynamic-slice(" + whole + places + "), dynamic_slice_sizes={" + listed(tile_) + "}");
  }

  [[nodiscard]] std::string text() const {
    return "HloModule reshard, num_partitions=" + std::to_string(devices_) +
           "\n\nENTRY %main (start: " + start_ + ") -> " + type() + " {\n" + body_ +
           "  ROOT %end = " + type() + " copy(" + last() + ")\n}\n";
  }

 private:
  static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  [[nodiscard]] int size_of(int axis) const { return problem_.mesh[at(axis)]; }
  [[nodiscard]] int stride(int axis) const {
    int out = 1;
    for (std::size_t k = at(axis) + 1; k < problem_.mesh.size(); ++k) out *= problem_.mesh[k];
    return out;
  }
  [[nodiscard]] int place(int device, int axis) const {
    return device / stride(axis) % size_of(axis);
  }
  [[nodiscard]] std::string type() const { return "f32[" + listed(tile_) + "]"; }
  [[nodiscard]] std::string last() const { return "%v" + std::to_string(last_); }
  void add(const std::string& operation) {
    last_ = ++values_;
    body_ += "  " + last() + " = " + type() + " " + operation + "\n";
  }

  const Problem& problem_;
  std::vector<int> tile_;
  int devices_ = 1, values_ = 0, last_ = 0;
  std::string start_, body_;
};

}  // namespace

std::string reshard(const Problem& problem) {
  Function function(problem);
  for (std::size_t i = 0; i < problem.shape.size(); ++i) {
    const auto& axes = problem.from[i];
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      function.gather(static_cast<int>(i), *axis);
    }
  }
  for (std::size_t i = 0; i < problem.shape.size(); ++i) {
    for (const int axis : problem.to[i]) function.slice(static_cast<int>(i), axis);
  }
  return function.text();
}
