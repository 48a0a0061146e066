// --only-file=tests/core/mesh_test.cpp: a test program runs no tests but those of one file. So a ctest entry stands for a file
// although a program holds the tests of many. --leave-out=Mesh.*: of these, not the ones that fit.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace retile_tests {

/// Whether GoogleTest's pattern (`*` any text, `?` any character) fits the name.
inline bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    return fits(pattern.substr(1), name) || (!name.empty() && fits(pattern, name.substr(1)));
  }
  if (name.empty() || (pattern.front() != '?' && pattern.front() != name.front())) return false;
  return fits(pattern.substr(1), name.substr(1));
}

/// Whether one of the patterns, which colons separate, fits.
inline bool any_fits(std::string_view patterns, std::string_view name) {
  while (!patterns.empty()) {
    const std::string_view pattern = patterns.substr(0, patterns.find(':'));
    if (!pattern.empty() && fits(pattern, name)) return true;
    patterns.remove_prefix(std::min(patterns.size(), pattern.size() + 1));
  }
  return false;
}

/// Whether a filter such as `Mesh.*:Type.*-*slow*` lets the test run.
inline bool lets_run(std::string_view filter, std::string_view name) {
  const std::size_t minus = filter.find('-');
  const std::string_view wanted = filter.substr(0, minus);
  const std::string_view unwanted = minus == filter.npos ? "" : filter.substr(minus + 1);
  return (wanted.empty() || any_fits(wanted, name)) && !any_fits(unwanted, name);
}

/// The tests of the suite that the filter lets run, that stand in a file whose path ends with `path` and that are not left out,
/// each with a colon.
inline std::string chosen(const testing::TestSuite& suite, std::string_view path,
                          std::string_view filter, std::string_view left_out) {
  std::string out;
  bool all = true;
  for (int i = 0; i < suite.total_test_count(); ++i) {
    const auto& test = *suite.GetTestInfo(i);
    const std::string name = std::string(suite.name()) + "." + test.name();
    const std::string_view file = test.file();
    const bool in_file =
        file.size() >= path.size() && file.substr(file.size() - path.size()) == path;
    const bool runs = in_file && lets_run(filter, name) && !any_fits(left_out, name);
    if (runs) out += name + ":";
    all = all && runs;
  }
  return all && !out.empty() ? std::string(suite.name()) + ".*:"
                             : out;  // short, as GoogleTest prints it
}

/// Takes the argument `option`VALUE out of the others. Returns VALUE, or an empty text.
inline std::string take_option(std::string_view option, int& argc, char** argv) {
  std::string value;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]).substr(0, option.size()) == option) {
      value = std::string_view(argv[i]).substr(option.size());
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  argv[argc] = nullptr;
  return value;
}

/// Takes --only-file=PATH and --leave-out=PATTERNS out of the arguments, after GoogleTest has taken its own, and narrows the
/// filter to the tests of the files whose path ends with PATH.
inline void narrow_to_file(int& argc, char** argv) {
  const std::string path = take_option("--only-file=", argc, argv);
  const std::string left_out = take_option("--leave-out=", argc, argv);
  if (path.empty()) return;
  const std::string filter = GTEST_FLAG_GET(filter);
  std::string narrowed;
  const auto& tests = *testing::UnitTest::GetInstance();
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    narrowed += chosen(*tests.GetTestSuite(i), path, filter, left_out);
  }
  // main() reports that nothing ran as a failure.
  if (narrowed.empty()) narrowed = "no test of " + path;
  GTEST_FLAG_SET(filter, narrowed);
}

}  // namespace retile_tests
