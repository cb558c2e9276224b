#!/usr/bin/env bash
# One process per evaluation, in both ways:
# cbo minimize --command "bash oneshot.sh {x}" --protocol args --dim 2 --bounds -5,5
# cbo minimize --command "bash oneshot.sh" --protocol json --dim 2 --bounds -5,5

if (($# == 0)); then
    read -r line # [0.5,-1.0]
    line=${line#'['}
    IFS=, read -ra point <<<"${line%']'}"
    set -- "${point[@]}"
fi
awk 'BEGIN { for (k = 1; k < ARGC; k++) sum += (ARGV[k] - k) ^ 2; printf "%.17g\n", sum }' "$@"
