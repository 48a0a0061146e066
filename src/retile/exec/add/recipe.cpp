#include "retile/exec/add/recipe.h"

#include <algorithm>

namespace retile::add {

Recipe::Recipe(const std::vector<Term>& terms) {
  std::uint32_t level = 0;  // the next one that is free
  actions_.reserve(terms.size());
  const auto is = [&](std::size_t at, Size device) {
    return at < terms.size() && terms[at].device == device;
  };
  const auto is_element = [&](std::size_t at) {
    return at < terms.size() && terms[at].is_element();
  };
  const auto addend = [this] { return static_cast<std::uint32_t>(addends_); };
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (is(i, Term::neutral)) {
      actions_.push_back({Kind::put_neutral, level++, 0});
    } else if (is(i, Term::plus)) {
      --level;
      actions_.push_back({Kind::add_level, level - 1, 0});
    } else if (level > 0 && is(i + 1, Term::plus)) {
      actions_.push_back({Kind::add_addend, level - 1, addend()});
      ++addends_;
      ++i;
    } else if (is_element(i + 1) && is(i + 2, Term::plus)) {
      actions_.push_back({Kind::put_sum, level++, addend()});
      addends_ += 2;
      i += 2;
    } else {
      if (terms.size() > 1) actions_.push_back({Kind::put_addend, level++, addend()});
      ++addends_;
    }
    levels_ = std::max<Size>(levels_, level);
  }
}

}  // namespace retile::add
