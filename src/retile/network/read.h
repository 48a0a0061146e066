// Networks as text: `dp:50GB/s:15us, *:450GB/s:5us`, or `8:450GB/s:5us, *:50GB/s:15us`.
#pragma once

#include <string_view>

#include "retile/core/mesh.h"
#include "retile/core/result.h"
#include "retile/core/size.h"
#include "retile/network/network.h"

namespace retile::network {

inline constexpr std::string_view network_schema = "retile.network/1";

/// Each entry says who talks over a link, its bandwidth and its latency. Who: a mesh axis, so devices that
/// differ there; a number n, so devices of the same n successive ones; or `*`, all others. Bandwidths
/// are of a device in each direction, in B/s, kB/s, MB/s, GB/s, TB/s, KiB/s, MiB/s, GiB/s, TiB/s or
/// Gbit/s; latencies in ns, us, ms or s. Entries of equal links are one level.
///
/// Or in JSON, as retile.network/1 has them: {"levels": [{"name": "dp", "bytes_per_second": .., "latency_ps": ..}]}.
///
/// In a file entries may stand on lines of their own, and `//` begins a comment.
/// \param source   what diagnostics call the text
/// \param in_lines whether it is a file's
/// \error syntax, unknown_axis, duplicate_axis, bad_number (a bandwidth of 0; numbers of devices that do
///     not divide each other), bad_program and bad_file (JSON without a key, or with another one),
///     unsupported (another schema), bad_argument (some digits have no level; a slower link with less latency)
[[nodiscard]] Result<Network> read_network(std::string_view text, std::string_view source,
                                           const Mesh& mesh, Size devices, bool in_lines = false);

}  // namespace retile::network
