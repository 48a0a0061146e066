// main() of a fuzz target without a fuzzer: runs every file of the folders and files given through
// the target once, in every configuration. Ends with 1 when too few of them reach the comparison.
//
//     replay_apply fuzz/corpus/apply tests/regress/apply
//
// RETILE_FUZZ_VERBOSE=1 says which files reach the comparison, RETILE_FUZZ_CONTROL=1 makes the
// comparison one with the mistake of the negative control, which must be found.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fuzz/fuzz_target.h"

/// There is no fuzzer here; custom mutators are linked but never called.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* /*data*/, std::size_t size,
                                        std::size_t /*max_size*/) {
  return size;
}

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    const std::filesystem::path path = argv[i];
    if (!std::filesystem::exists(path)) continue;  // no case was found yet
    if (!std::filesystem::is_directory(path)) {
      files.push_back(path);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(path)) {
      if (entry.is_regular_file() && entry.path().filename() != "README.md")
        files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  const bool verbose = std::getenv("RETILE_FUZZ_VERBOSE") != nullptr;
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in),
                                  std::istreambuf_iterator<char>()};
    if (!in && !in.eof()) {
      std::fprintf(stderr, "%s cannot be read\n", file.c_str());
      return EXIT_FAILURE;
    }
    const auto before = fuzz::counts().reached;
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    if (verbose)
      std::printf("%s %s\n", fuzz::counts().reached > before ? "reached" : "refused", file.c_str());
  }
  const auto& counts = fuzz::counts();
  if (fuzz::control()) {
    std::fprintf(stderr, "the control of %s goes unnoticed\n", fuzz::target.name);
    return EXIT_FAILURE;
  }
  const double share =
      files.empty() ? 0.0 : static_cast<double>(counts.reached) / static_cast<double>(files.size());
  if (files.empty() || counts.reached == 0 || share < fuzz::target.least_share) {
    std::fprintf(stderr, "%s: only %llu of %zu files reach the comparison\n", fuzz::target.name,
                 static_cast<unsigned long long>(counts.reached), files.size());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
