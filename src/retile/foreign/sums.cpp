#include "retile/foreign/sums.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace retile::foreign {
namespace {

/// More terms in all sums than that are half a gigabyte.
constexpr std::size_t most_terms = std::size_t{1} << 24;

/// The terms of two sums together; nothing where one is there too often to count.
std::optional<std::vector<Term>> merged(Addition addition, const std::vector<Term>& a,
                                        const std::vector<Term>& b) {
  std::vector<Term> out;
  out.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  std::size_t last = 0;
  for (std::size_t k = 1; k < out.size(); ++k) {
    if (out[k].atom != out[last].atom) {
      out[++last] = out[k];
    } else if (addition == Addition::sum) {
      const auto times = checked_add(out[last].times, out[k].times);
      if (!times) return std::nullopt;
      out[last].times = *times;
    }
  }
  if (!out.empty()) out.resize(last + 1);
  return out;
}

}  // namespace

std::vector<Term> Sums::terms(Tag tag) const {
  if (is_atom(tag)) return {{.atom = tag}};
  return is_sum(tag) ? sums_[static_cast<std::size_t>(tag - first)]->terms : std::vector<Term>{};
}

bool Sums::adds_otherwise(Addition addition, Tag tag) const {
  return is_sum(tag) && sums_[static_cast<std::size_t>(tag - first)]->addition != addition;
}

Tag Sums::add(Addition addition, Tag a, Tag b) {
  const Tag neutral = addition == Addition::sum ? zero_tag : nothing_tag;
  if (a == neutral) return b;
  if (b == neutral) return a;
  if (a == zero_tag && b == zero_tag) return zero_tag;
  if (a < 0 || b < 0) return undefined_tag;
  if (a > b) std::swap(a, b);
  const std::uint64_t pair = (static_cast<std::uint64_t>(a) << 32) | static_cast<std::uint32_t>(b);
  auto& known = known_[static_cast<std::size_t>(addition)];
  const auto found = known.find(pair);
  if (found != known.end()) return found->second;
  const Tag out = add_terms(addition, a, b);
  known.emplace(pair, out);
  return out;
}

Tag Sums::add_terms(Addition addition, Tag a, Tag b) {
  for (const Tag tag : {a, b}) {
    if (adds_otherwise(addition, tag)) return undefined_tag;
  }
  auto all = merged(addition, terms(a), terms(b));
  if (!all) throw LimitReached{"an addend is there too often to count"};
  if (all->size() == 1 && all->front().times == 1) return all->front().atom;
  return number_of({.addition = addition, .terms = std::move(*all)});
}

Tag Sums::number_of(Sum sum) {
  const std::size_t length = sum.terms.size();
  const Tag next = first + static_cast<Tag>(sums_.size());
  const auto [place, is_new] = numbers_.try_emplace(std::move(sum), next);
  if (is_new) {
    term_count_ += length;
    if (term_count_ > most_terms || sums_.size() >= static_cast<std::size_t>(first) - 1) {
      throw LimitReached{"too many different sums"};
    }
    sums_.push_back(&place->first);
  }
  return place->second;
}

}  // namespace retile::foreign
