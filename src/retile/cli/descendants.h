// Ending all that a process has started, whatever it has done to get away.
#pragma once

namespace retile::cli {

/// From now on whatever loses its parent among the descendants of this process becomes its child, so
/// that end_descendants() finds it. Not inherited by children.
void adopt_orphans() noexcept;

/// Kills all children of this process and theirs, those in other groups and sessions, too, and waits
/// until they are gone, half a second at most. Safe in a signal handler. Where there is no /proc, it
/// does nothing.
void end_descendants() noexcept;

}  // namespace retile::cli
