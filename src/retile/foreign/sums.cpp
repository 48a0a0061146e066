#include "retile/foreign/sums.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <optional>

namespace retile::foreign {
namespace {

using operations::ElementKind;

/// More terms in all sums than that are half a gigabyte.
constexpr std::size_t most_terms = std::size_t{1} << 24;

[[noreturn]] void fail_count() { throw LimitReached{"an addend is there too often to count"}; }

/// Of truth values a sum and a maximum are `or`.
Addition way_of(Addition addition, const ElementKind& kind) {
  const bool is_or = kind.form == ElementKind::Form::truth && addition == Addition::sum;
  return is_or ? Addition::max : addition;
}

/// What a type is to one that counts: which power of two is none; 0 where all count, -1 where none does.
Size counts_to(Addition way, const ElementKind& kind) {
  if (way != Addition::sum) return -1;
  return kind.form == ElementKind::Form::integer ? kind.bits : 0;
}

/// Whether a place changes nothing that it is added to.
bool is_neutral(Addition way, const ElementKind& kind, Tag tag) {
  if (way == Addition::sum) return tag == zero_tag;
  const bool least_is_zero = kind.has_words() && !kind.is_signed;
  return tag == nothing_tag || (tag == zero_tag && way == Addition::max && least_is_zero);
}

/// How often an addend is there that is there so often in one sum, and so often in the other.
Size times_of_both(Size one, Size other, Size counts) {
  if (counts < 0) return 1;
  if (counts == 0) {
    const auto out = checked_add(one, other);
    if (!out) fail_count();
    return *out;
  }
  const auto sum = static_cast<std::uint64_t>(one) + static_cast<std::uint64_t>(other);
  return operations::wrapped(
      static_cast<Size>(sum),
      {.form = ElementKind::Form::integer, .bits = counts, .is_signed = false});
}

void drop_absent(std::vector<Term>& terms) {
  terms.erase(
      std::remove_if(terms.begin(), terms.end(), [](const Term& term) { return term.times == 0; }),
      terms.end());
}

/// The terms of two sums together.
std::vector<Term> merged(Size counts, const std::vector<Term>& a, const std::vector<Term>& b) {
  std::vector<Term> out;
  out.reserve(a.size() + b.size());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  std::size_t last = 0;
  for (std::size_t k = 1; k < out.size(); ++k) {
    if (out[k].atom != out[last].atom) {
      out[++last] = out[k];
    } else {
      out[last].times = times_of_both(out[last].times, out[k].times, counts);
    }
  }
  if (!out.empty()) out.resize(last + 1);
  drop_absent(out);
  return out;
}

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

bool Sums::adds_otherwise(Addition addition, const ElementKind& kind, Tag tag) const {
  const auto way = added_by(tag);
  return way && *way != way_of(addition, kind);
}

std::optional<Addition> Sums::added_by(Tag tag) const {
  if (!is_sum(tag)) return std::nullopt;
  return sums_[static_cast<std::size_t>(tag - first)]->addition;
}

Tag Sums::addend(Addition addition, const ElementKind& kind, operations::Word word) {
  using operations::End;
  const Addition way = way_of(addition, kind);
  const bool adds_nothing = (way == Addition::max && operations::is_end(word, kind, End::least)) ||
                            (way == Addition::min && operations::is_end(word, kind, End::largest));
  if (adds_nothing) return nothing_tag;
  return tag_of(word, kind.is_real() ? Content::reals : Content::integers);
}

Tag Sums::add(Addition addition, const ElementKind& kind, Tag a, Tag b) {
  const Addition way = way_of(addition, kind);
  if (is_neutral(way, kind, a)) return b;
  if (is_neutral(way, kind, b)) return a;
  if (a == zero_tag && b == zero_tag) return zero_tag;
  if (a < 0 || b < 0) return undefined_tag;
  const Size counts = counts_to(way, kind);
  if (a == b && counts < 0) return a;
  if (a > b) std::swap(a, b);
  const std::uint64_t pair = (static_cast<std::uint64_t>(a) << 32) | static_cast<std::uint32_t>(b);
  auto& known = known_[{way, counts}];
  const auto found = known.find(pair);
  if (found != known.end()) return found->second;
  const Tag out = add_terms(way, kind, a, b);
  known.emplace(pair, out);
  return out;
}

Tag Sums::add_terms(Addition addition, const ElementKind& kind, Tag a, Tag b) {
  for (const Tag tag : {a, b}) {
    if (adds_otherwise(addition, kind, tag)) return undefined_tag;
  }
  const Size one = parts(a);
  const Size other = parts(b);
  const Size counts = counts_to(addition, kind);
  if (counts != 0 && (one != 1 || other != 1)) return undefined_tag;
  const auto both = checked_mul(one / std::gcd(one, other), other);
  if (!both) fail_count();
  auto all = merged(counts, scaled(terms(a), *both / one), scaled(terms(b), *both / other));
  return reduced({.addition = addition, .terms = std::move(all), .parts = *both});
}

Tag Sums::within(const ElementKind& kind, Tag tag) {
  if (!is_sum(tag)) return tag;
  Sum sum = *sums_[static_cast<std::size_t>(tag - first)];
  const Size counts = counts_to(sum.addition, kind);
  for (Term& term : sum.terms) term.times = times_of_both(term.times, 0, counts);
  drop_absent(sum.terms);
  return reduced(std::move(sum));
}

Tag Sums::part_of(Tag tag, Size count) {
  if (count == 1 || tag == zero_tag) return tag;
  if (tag < 0 || added_by(tag).value_or(Addition::sum) != Addition::sum) return undefined_tag;
  const auto all = checked_mul(parts(tag), count);
  if (!all) fail_count();
  return reduced({.addition = Addition::sum, .terms = terms(tag), .parts = *all});
}

Tag Sums::reduced(Sum sum) {
  if (sum.terms.empty()) return zero_tag;
  Size common = sum.parts;
  for (std::size_t k = 0; k < sum.terms.size() && common != 1; ++k) {
    common = std::gcd(common, sum.terms[k].times);
  }
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
