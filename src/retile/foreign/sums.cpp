#include "retile/foreign/sums.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>

namespace retile::foreign {
namespace {

/// More terms in all sums than that are half a gigabyte.
constexpr std::size_t most_terms = std::size_t{1} << 24;

/// The terms of two sums together; nothing where one is there too often to count.
std::optional<std::vector<Term>> merged(bool counts, const std::vector<Term>& a,
                                        const std::vector<Term>& b) {
  std::vector<Term> out;
  out.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  std::size_t last = 0;
  for (std::size_t k = 1; k < out.size(); ++k) {
    if (out[k].atom != out[last].atom) {
      out[++last] = out[k];
    } else if (counts) {
      const auto times = checked_add(out[last].times, out[k].times);
      if (!times) return std::nullopt;
      out[last].times = *times;
    }
  }
  if (!out.empty()) out.resize(last + 1);
  return out;
}

[[noreturn]] void fail_count() { throw LimitReached{"an addend is there too often to count"}; }

/// The terms of parts as those of smaller ones: `parts` of them are one.
std::vector<Term> scaled(std::vector<Term> terms, Size parts) {
  for (Term& term : terms) {
    const auto times = checked_mul(term.times, parts);
    if (!times) fail_count();
    term.times = *times;
  }
  return terms;
}

}  // namespace

std::vector<Term> Sums::terms(Tag tag) const {
  if (is_atom(tag)) return {{.atom = tag}};
  return is_sum(tag) ? sums_[static_cast<std::size_t>(tag - first)]->terms : std::vector<Term>{};
}

Size Sums::parts(Tag tag) const {
  return is_sum(tag) ? sums_[static_cast<std::size_t>(tag - first)]->parts : 1;
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
  if (a == b && !counts(addition)) return a;
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
  const Size one = parts(a);
  const Size other = parts(b);
  if (addition != Addition::sum && (one != 1 || other != 1)) return undefined_tag;
  const auto both = checked_mul(one / std::gcd(one, other), other);
  if (!both) fail_count();
  auto all =
      merged(counts(addition), scaled(terms(a), *both / one), scaled(terms(b), *both / other));
  if (!all) fail_count();
  return reduced({.addition = addition, .terms = std::move(*all), .parts = *both});
}

Tag Sums::part_of(Tag tag, Size count) {
  if (count == 1 || tag == zero_tag) return tag;
  if (tag < 0 || adds_otherwise(Addition::sum, tag)) return undefined_tag;
  const auto all = checked_mul(parts(tag), count);
  if (!all) fail_count();
  return reduced({.addition = Addition::sum, .terms = terms(tag), .parts = *all});
}

Tag Sums::reduced(Sum sum) {
  Size common = sum.parts;
  for (const Term& term : sum.terms) common = std::gcd(common, term.times);
  sum.parts /= common;
  for (Term& term : sum.terms) term.times /= common;
  const bool is_atom = sum.terms.size() == 1 && sum.terms.front().times == 1 && sum.parts == 1;
  return is_atom ? sum.terms.front().atom : number_of(std::move(sum));
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
