"""The program `retile`, as the package brings it: all of its verbs but those that take MPI or a solver."""

import signal
import sys

from . import _retile


def main() -> int:
    """Does what the command line says, and gives the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # it keeps nothing that Python would have to put in order
    return _retile.main(["retile", *sys.argv[1:]])
