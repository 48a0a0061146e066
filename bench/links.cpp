// Links of a given bandwidth and latency between network namespaces, where the kernel has no netem:
//
//   links BYTES_PER_SECOND MICROSECONDS PROCESS:ADDRESS ..
//
// Each device is an address in the network of some process, and gets a TUN interface link0, link1, ..
// there. What it sends takes its turn on the device's own way out, then the latency, then its turn on
// the receiver's way in; both go on at once, as on a wire. Prints "ready", and ends when it is killed.
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;
using std::chrono::nanoseconds;

struct Packet {
  Time due;
  std::vector<unsigned char> bytes;
};

struct Device {
  int interface = -1;
  std::uint32_t address = 0;  // as in a packet
  Time out_free = {};
  Time in_free = {};
  std::deque<Packet> arriving = {};  // by time, as all take their turn on one way in
};

struct Link {
  double bytes_per_second;
  nanoseconds latency;
};

constexpr std::size_t header_bytes = 20;
constexpr std::size_t target_at = 16;
constexpr int packets_at_once = 64;  // before other devices have their turn

[[noreturn]] void fail(const std::string& what) {
  std::perror(("links: " + what).c_str());
  std::exit(1);
}

[[noreturn]] void misuse(std::string_view what) {
  std::fprintf(stderr, "links: %.*s; links BYTES_PER_SECOND MICROSECONDS PROCESS:ADDRESS ..\n",
               static_cast<int>(what.size()), what.data());
  std::exit(2);
}

double positive(const char* text, std::string_view what) {
  double value = 0;
  const char* const end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, value);
  if (error != std::errc() || rest != end || !(value > 0) || value > 1e15) misuse(what);
  return value;
}

Device device_in(const std::string& place, std::size_t number) {
  const std::size_t colon = place.find(':');
  in_addr address{};
  if (colon == std::string::npos || inet_aton(place.c_str() + colon + 1, &address) == 0) {
    misuse("a device is PROCESS:ADDRESS");
  }
  const std::string network = "/proc/" + place.substr(0, colon) + "/ns/net";
  const int entered = open(network.c_str(), O_RDONLY | O_CLOEXEC);
  if (entered < 0 || setns(entered, CLONE_NEWNET) != 0) fail(network);
  close(entered);
  const int interface = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  std::snprintf(request.ifr_name, IFNAMSIZ, "link%zu", number);
  if (interface < 0 || ioctl(interface, TUNSETIFF, &request) != 0) fail("/dev/net/tun");
  return {.interface = interface, .address = address.s_addr};
}

void deliver(Device& device, Time now) {
  while (!device.arriving.empty() && device.arriving.front().due <= now) {
    const auto& bytes = device.arriving.front().bytes;
    // What a full interface drops is sent again by TCP.
    if (write(device.interface, bytes.data(), bytes.size()) < 0 && errno != EAGAIN) fail("write");
    device.arriving.pop_front();
  }
}

void take(Device& source, std::vector<Device>& devices, const Link& link, Time now) {
  static std::array<unsigned char, 65536> packet;
  for (int k = 0; k < packets_at_once; ++k) {
    const ssize_t read_bytes = read(source.interface, packet.data(), packet.size());
    if (read_bytes < 0) return;
    const auto bytes = static_cast<std::size_t>(read_bytes);
    if (bytes < header_bytes || packet[0] >> 4 != 4) continue;  // not IPv4
    std::uint32_t address = 0;
    std::memcpy(&address, &packet[target_at], sizeof address);
    const auto target = std::find_if(devices.begin(), devices.end(),
                                     [&](const Device& d) { return d.address == address; });
    if (target == devices.end()) continue;
    const nanoseconds on_wire(
        static_cast<std::int64_t>(static_cast<double>(bytes) / link.bytes_per_second * 1e9));
    const Time out = std::max(now, source.out_free);
    source.out_free = out + on_wire;
    target->in_free = std::max(out + link.latency, target->in_free) + on_wire;
    target->arriving.push_back(
        {target->in_free, {packet.begin(), packet.begin() + static_cast<std::ptrdiff_t>(bytes)}});
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) misuse("too few arguments");
  const Link link{.bytes_per_second = positive(argv[1], "bytes per second are a positive number"),
                  .latency = nanoseconds(static_cast<std::int64_t>(
                      positive(argv[2], "microseconds are a positive number") * 1e3))};
  std::vector<Device> devices;
  std::vector<pollfd> sources;
  for (int k = 3; k < argc; ++k) {
    devices.push_back(device_in(argv[k], devices.size()));
    sources.push_back({.fd = devices.back().interface, .events = POLLIN, .revents = 0});
  }
  // Before the processes, which share the machine's cores with it. Without the right it is only less
  // exact.
  const sched_param first{.sched_priority = 10};
  sched_setscheduler(0, SCHED_FIFO, &first);
  std::puts("ready");
  std::fflush(stdout);
  while (true) {
    Time next = Time::max();
    for (Device& device : devices) {
      deliver(device, Clock::now());
      if (!device.arriving.empty()) next = std::min(next, device.arriving.front().due);
    }
    const auto left = std::max(nanoseconds(0),
                               std::min<nanoseconds>(next - Clock::now(), std::chrono::seconds(1)));
    const timespec wait{.tv_sec = left.count() / 1000000000, .tv_nsec = left.count() % 1000000000};
    if (ppoll(sources.data(), sources.size(), &wait, nullptr) < 0 && errno != EINTR) fail("ppoll");
    for (std::size_t k = 0; k < devices.size(); ++k) {
      if ((sources[k].revents & POLLIN) != 0) take(devices[k], devices, link, Clock::now());
    }
  }
}
