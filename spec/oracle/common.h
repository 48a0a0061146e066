/// What all verbs of retile-oracle share: exit codes, refusals that point, input and output.
///
/// A verb writes its result to a buffer. What cannot be read is thrown as `Refused`, so that the
/// result is printed whole or not at all.
#pragma once

#include <cstdio>
#include <iostream>
#include <iterator>
#include <new>
#include <sstream>

#include "../program/tokens.h"

namespace spec::oracle {

enum Exit { yes = 0, no = 1, refused = 2, undecided = 3, environment = 4 };

using Words = std::vector<std::string>;

/// Input that cannot be read: its text, where and why; `source` names a file.
struct Refused {
  std::string source, text;
  ParseError error;
};

/// Refuses the command line at a word, or behind the last one.
[[noreturn]] inline void refuse(const Words& words, Index at, const std::string& message) {
  std::string text = "retile-oracle";
  std::size_t column = text.size() + 2;
  for (Index k = 0; k < words.size(); ++k) {
    text += " " + words[k];
    if (k < at) column = text.size() + 2;
  }
  throw Refused{"", text, {1, column, message}};
}

/// The error, at most 200 characters of it, its line, at most 80, and a caret below.
inline void explain(const Refused& what) {
  const auto printable = [](std::string text) {
    for (char& c : text) c = ' ' <= c && c <= '~' ? c : ' ';
    return text;
  };
  const auto& [source, text, error] = what;
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 0; number < error.line && std::getline(lines, line);) ++number;
  const std::size_t column = error.column - 1, first = column > 60 ? column - 60 : 0;
  line = first < line.size() ? line.substr(first, 80) : "";
  std::cerr << "error: ";
  if (!source.empty()) std::cerr << source << ":" << error.line << ":" << error.column << ": ";
  std::cerr << printable(error.message.substr(0, 200)) << "\n  " << printable(line) << "\n  "
            << std::string(column - first, ' ') << "^\n";
}

inline std::string standard_input(const Words& words) {
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  if (std::ferror(stdin) != 0) refuse(words, words.size(), "cannot read standard input");
  return text;
}

}  // namespace spec::oracle
