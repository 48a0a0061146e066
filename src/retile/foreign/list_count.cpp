#include "retile/foreign/list_count.h"

#include <type_traits>
#include <variant>
#include <vector>

namespace retile::foreign {
namespace {

/// What a list takes by itself, in numbers.
constexpr Size of_a_list = 6;

template <typename T>
Size size_of(const std::vector<T>& list) {
  return static_cast<Size>(list.size());
}

Size numbers_of(const Groups& groups) {
  Size out = of_a_list * size_of(groups);
  for (const auto& group : groups) out += size_of(group);
  return out;
}

struct Count {
  template <typename Operation>
  Size operator()(const Operation& it) const {
    if constexpr (requires { it.groups; } && !std::is_same_v<Operation, Assemble>) {
      return numbers_of(it.groups);
    } else if constexpr (requires { it.numbers; }) {
      return size_of(it.numbers);
    } else {
      return 0;
    }
  }
  Size operator()(const CollectivePermute& it) const { return 2 * size_of(it.pairs); }
  Size operator()(const TakeBox& it) const { return numbers_of(it.starts); }
  Size operator()(const PutBox& it) const {
    Size out = 0;
    for (const auto& start : it.starts) out += of_a_list + (start ? size_of(*start) : 0);
    return out;
  }
  Size operator()(const Assemble& it) const {
    Size out = numbers_of(it.groups);
    for (const auto& pieces : it.pieces) {
      out += of_a_list;
      for (const Assemble::Piece& piece : pieces) out += 3 * (of_a_list + size_of(piece.to));
    }
    return out;
  }
};

}  // namespace

void ListCount::add(const Action& action, const text::Place& place) {
  numbers_ += std::visit(Count{}, action);
  if (numbers_ <= most_numbers) return;
  text::fail(place, {.code = Code::limit_reached,
                     .message = "the operations list devices in more than 2^26 numbers"});
}

}  // namespace retile::foreign
