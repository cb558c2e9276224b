#!/usr/bin/env bash
# A worker that stays: cbo minimize --command "bash worker.sh" --protocol jsonl --dim 2 --bounds -5,5

# The objective: sum of (x_k - k)^2, k = 1, 2, ... Call your own program here.
evaluate() {
    awk 'BEGIN { for (k = 1; k < ARGC; k++) sum += (ARGV[k] - k) ^ 2; printf "%.17g\n", sum }' "$@"
}

# Requests always look like {"id":7,"x":[0.5,-1.0]}, without spaces, so they are easy to take apart.
while IFS= read -r line; do
    id=${line#*'"id":'}
    id=${id%%,*}
    x=${line#*'['}
    x=${x%%']'*}
    IFS=, read -ra point <<<"$x"
    if value=$(evaluate "${point[@]}"); then
        printf '{"id":%s,"value":%s}\n' "$id" "$value"
    else
        printf '{"id":%s,"error":"exit code %s"}\n' "$id" "$?"
    fi
done
