// Whether a function does what its ends say, and what it holds and moves meanwhile.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "retile/core/layout.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/foreign/module.h"

namespace retile::foreign {

/// A value, where it stands and what made it.
struct ValuePlace {
  FilePlace place;
  std::string name;
  std::string op;
};

/// Why a function is wrong.
enum class Fault {
  tile,      ///< tiles of another shape
  end,       ///< something else than the element that belongs there
  replicas,  ///< devices that must hold the same addends do not
  addends,   ///< an addend is missing, or there too often
};

/// `tile`, `end`, `replicas` or `addends`: the latter three as docs/reference/program.md says it of Programs.
[[nodiscard]] std::string_view name_of(Fault fault);

/// What is in a place instead.
struct Found {
  enum class Kind { element, zero, undefined, nothing, sum };
  Kind kind = Kind::undefined;
  Shape element = {};  ///< of an element, and of a sum the first that does not belong there
};

/// `element`, `zero`, `undefined`, `nothing`, `sum`.
[[nodiscard]] std::string_view name_of(Found::Kind kind);

struct Mismatch {
  Fault fault{};
  /// As the file numbers them; nothing: the tiles of all devices have another shape.
  std::optional<Size> device = {};
  Shape at = {};       ///< in the device's tile
  Shape element = {};  ///< that belongs there
  Found found = {};
  std::optional<Size> addend = {};
  std::optional<std::uint64_t> times = {};  ///< how often it is there
  std::optional<Size> parts = {};           ///< or how many of as many parts of it
  std::optional<Size> replica = {};         ///< the device that holds something else
  Shape tile = {};                          ///< of another shape
  Shape expected = {};                      ///< the shape that belongs there
};

struct Verdict {
  /// Nothing: a limit was reached, and `limit` says which.
  std::optional<bool> right = {};
  std::string limit = {};
  std::optional<ValuePlace> first_wrong = {};
  /// A claim of the file that does not hold; else it is the end.
  bool is_claim = false;
  std::optional<Mismatch> mismatch = {};
  /// Where the end does not hold: whether the result holds every element of the argument once, in
  /// another order that all devices agree on. So does a roll, and so do groups in a wrong order.
  bool is_rearranged = false;
  Size height = 0;  ///< most elements of the array that a device has place for in one value
  std::optional<ValuePlace> height_value = {};
  Size bound = 0;  ///< of the two ends
  [[nodiscard]] bool within_bound() const { return height <= bound; }
  Size cost = 0;      ///< Fig. 11, of the collectives
  Size received = 0;  ///< most elements that one device gets of others
  Size received_bytes = 0;
  /// A value that holds the whole array on some device, where neither end does.
  std::optional<ValuePlace> whole_array = {};

  /// Why it is wrong, in one word: `claim`, or the name of the fault. Precondition: it is.
  [[nodiscard]] std::string_view reason() const;
};

struct JudgeOptions {
  /// Most bytes of tags that live at once.
  Size most_bytes = Size{1} << 29;
  /// Where all values of a function have fewer elements together, every one is followed; else strips of
  /// them, if there are any.
  Size fewest_in_strips = Size{1} << 16;
  /// After so many seconds nobody knows, of a text for all functions together. Kept to between
  /// operations.
  double timeout_seconds = std::numeric_limits<double>::infinity();
  /// Whether judge_text also plans between the same ends, and looks for ends that a wrong function
  /// is right for.
  bool explains = false;
};

/// Preconditions: types that hold (reader.h); one parameter, of tiles of `from`, and one result; as many
/// devices at both ends and one global shape.
[[nodiscard]] Verdict judge(const Function& function, const Layout& from, const Layout& to,
                            const JudgeOptions& options = {});

}  // namespace retile::foreign
