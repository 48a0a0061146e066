#include "retile/exec/copy/stores.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

#include "retile/exec/copy/kernels.h"

namespace retile::copy {

namespace {

constexpr std::array<StreamingRow, 3> table{{{0, 0.125}, {4096, 0.25}, {16384, 0.5}}};

struct Cache {
  Size bytes = 0;
  Size processors = 1;
};

constexpr Size least_cache_share_bytes = Size{1} << 20;

// How many processors a list such as `0-3,8` names.
Size processors_in(const std::string& list) {
  std::istringstream in(list);
  Size out = 0;
  for (Size first = 0; in >> first;) {
    Size last = first;
    if (in.peek() == '-') {
      in.get();
      in >> last;
    }
    out += std::max<Size>(last - first + 1, 0);
    if (in.peek() == ',') in.get();
  }
  return out;
}

// A line that the system writes; empty where it cannot be read. Streams of C++ would do, but where
// a process may open nothing more, UBSan takes them for no streams.
std::string line_of(const std::string& path) {
  std::array<char, 4096> line{};
  std::FILE* const file = std::fopen(path.c_str(), "r");
  if (file == nullptr) return {};
  const bool read = std::fgets(line.data(), static_cast<int>(line.size()), file) != nullptr;
  std::fclose(file);
  return read ? line.data() : "";
}

// sysconf would be simpler, but in virtual machines it has been seen to answer with the last caches
// of the whole host, twelve times what there was.
Cache last_cache() {
  Cache out;
  for (int index = 0; index < 8; ++index) {
    const std::string directory =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    const Size kibibytes =
        std::strtoll(line_of(directory + "size").c_str(), nullptr, 10);  // `32768K`
    const std::string processors = line_of(directory + "shared_cpu_list");
    if (kibibytes < 1 || processors.empty()) break;
    out = {kibibytes * 1024, std::max<Size>(processors_in(processors), 1)};
  }
  return out;
}

}  // namespace

std::span<const StreamingRow> streaming_table() { return table; }

bool streams(Size run_bytes, Size bytes, Size cache_share_bytes) {
  const StreamingRow* row = &table.front();
  for (const StreamingRow& next : table) {
    if (next.run_bytes <= run_bytes) row = &next;
  }
  return static_cast<double>(bytes) >= row->cache_shares * static_cast<double>(cache_share_bytes);
}

Size detected_cache_share_bytes(Size processes) {
  static const Cache cache = last_cache();
  return std::max(cache.bytes / std::max(cache.processors, processes), least_cache_share_bytes);
}

bool can_stream() { return kernels().streaming; }

void copy_past_caches(std::byte* target, const std::byte* source, Size bytes) {
  const auto past = static_cast<Size>(reinterpret_cast<std::uintptr_t>(target) %
                                      static_cast<std::uintptr_t>(line_bytes));
  const Size head = std::min(past == 0 ? 0 : line_bytes - past, bytes);
  const Size lines = (bytes - head) / line_bytes * line_bytes;
  const auto ordinary = [&](Size begin, Size end) {
    if (begin < end) {
      std::memcpy(target + begin, source + begin, static_cast<std::size_t>(end - begin));
    }
  };
  ordinary(0, head);
  if (lines > 0) kernels().lines(target + head, source + head, lines);
  ordinary(head + lines, bytes);
}

void stores_fence() { kernels().fence(); }

}  // namespace retile::copy
