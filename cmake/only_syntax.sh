#!/bin/sh
# A compiler launcher: reads the source and says what is wrong, but makes no code. The object is an empty file.
set -eu
"$@" -fsyntax-only
while [ "$1" != -o ]; do shift; done
: >"$2"
