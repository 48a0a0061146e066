#!/bin/sh
# compare_costs.sh PRINT_PROGRAMS RETILE_ORACLE: what our Programs cost, against the optimum of the same problems.
# Fails when the answers do not belong together: a different number of them, or one below the optimum.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" > "$work/programs"
"$1" --problems > "$work/problems"
"$2" check "$work/programs" > "$work/verdicts" || [ $? = 1 ] # wrong Programs are another test's business
"$2" optimum < "$work/problems" > "$work/optimal"
sed -n 's/^cost: //p' "$work/verdicts" > "$work/ours"
sed -n 's/^# optimum: //p' "$work/optimal" > "$work/best"
paste "$work/ours" "$work/best" | awk '
  NF != 2 || $1 < $2 { impossible++ }
  { n++; sum += $1; best += $2; if ($1 == $2) optimal++ }
  END {
    printf "%d of %d Programs are optimal; together they cost %d, the optimum is %d\n", optimal, n, sum, best
    exit impossible > 0 || n == 0
  }'
