#!/bin/sh
# A stand-in for another system: our plan, with two devices of its first group exchanged.
retile lower --as stablehlo --mesh "$1" "$2" "$3" | sed 's/\[\[0, 1/[[1, 0/'
