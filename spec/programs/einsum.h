/// The subscripts of einsum: "ik,kj->ij", "2i+k,k->i".
#pragma once

#include <string>

#include "tensor.h"

namespace spec::spmd {

/// A subscript: labels whose indices are added up. 2i+k is iik.
using Subscript = std::string;
constexpr Size most_factor = 4096;

struct Einsum {
  std::vector<std::vector<Subscript>> in;
  std::vector<Subscript> out;
};

/// "ik,kj->ij", "2i+k,k->i"; nullopt where it is none.
inline std::optional<Einsum> einsum_of(const std::string& text) {
  const std::size_t arrow = text.find("->");
  if (arrow == std::string::npos) return std::nullopt;
  Einsum out;
  out.in.emplace_back();
  bool joins = false;
  Size factor = 0;  // 0: none is written
  const auto read = [&](char c, std::vector<Subscript>& subscripts) {
    const bool is_label = ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z');
    if (c == '+' && !joins && factor == 0 && !subscripts.empty()) {
      joins = true;
      return true;
    }
    if ('0' <= c && c <= '9') {
      factor = 10 * factor + (c - '0');
      return factor > 0 && factor <= most_factor;
    }
    if (!is_label) return false;
    if (!joins) subscripts.emplace_back();
    subscripts.back() += std::string(static_cast<Index>(std::max<Size>(factor, 1)), c);
    joins = false;
    factor = 0;
    return true;
  };
  for (std::size_t k = 0; k < arrow; ++k) {
    if (text[k] == ',' && !joins && factor == 0) {
      out.in.emplace_back();
    } else if (!read(text[k], out.in.back())) {
      return std::nullopt;
    }
  }
  if (joins || factor > 0) return std::nullopt;
  for (std::size_t k = arrow + 2; k < text.size(); ++k) {
    const bool is_digit = '0' <= text[k] && text[k] <= '9';
    if (text[k] == '+' || is_digit || !read(text[k], out.out)) return std::nullopt;
  }
  return out;
}

/// How many values each label has. A sum f i+k of an array of extent n leaves n - (n_k - 1) = 1 +
/// f (n_i - 1) elements for i, where n_k is known. nullopt where labels disagree, or one of them stays unknown.
inline std::optional<std::map<char, Size>> label_extents(const Einsum& e,
                                                         const std::vector<Sizes>& shapes) {
  std::map<char, Size> n;
  if (shapes.size() != e.in.size()) return std::nullopt;
  for (bool more = true; more;) {
    more = false;
    for (Index a = 0; a < shapes.size(); ++a) {
      if (shapes[a].size() != e.in[a].size()) return std::nullopt;
      for (Index d = 0; d < shapes[a].size(); ++d) {
        Size rest = shapes[a][d];
        std::string unknown;
        bool is_empty = false;
        for (const char i : e.in[a][d]) {
          const auto known = n.find(i);
          if (known == n.end()) unknown += i;
          if (known != n.end()) rest -= known->second - 1;
          is_empty = is_empty || (known != n.end() && known->second == 0);
        }
        if (unknown.empty()) {
          if (!is_empty && rest != 1) return std::nullopt;  // n - 1 = f (n_i - 1) + (n_k - 1)
          if (is_empty && e.in[a][d].size() == 1 && shapes[a][d] != 0) return std::nullopt;
        } else if (unknown == std::string(unknown.size(), unknown[0])) {
          const Size f = static_cast<Size>(unknown.size());
          n[unknown[0]] = rest > 0 ? (rest - 1) / f + 1 : 0;
          more = true;  // and once more, whether n is just that long
        }
      }
    }
  }
  for (const auto& subscripts : e.in) {
    for (const Subscript& s : subscripts) {
      for (const char i : s) {
        if (n.count(i) == 0) return std::nullopt;
      }
    }
  }
  for (Index d = 0; d < e.out.size(); ++d) {
    if (n.count(e.out[d][0]) == 0) return std::nullopt;
    if (std::count(e.out.begin(), e.out.end(), e.out[d]) != 1) return std::nullopt;
  }
  return n;
}

}  // namespace spec::spmd
