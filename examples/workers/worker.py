#!/usr/bin/env python3
"""A worker that stays: cbo minimize --command "python3 worker.py" --protocol jsonl --dim 2 --bounds -5,5"""

import json
import sys


def evaluate(x):
    """The objective: sum of (x_k - k)^2, k = 1, 2, ... Put your own here."""
    return sum((v - k) ** 2 for k, v in enumerate(x, start=1))


# What takes long and is needed once, such as loading a model, belongs here, before the loop.
for line in sys.stdin:
    request = json.loads(line)
    answer = {"id": request["id"]}
    try:
        answer["value"] = evaluate(request["x"])
    except Exception as error:  # the point has failed, the worker continues
        answer["error"] = str(error)
    print(json.dumps(answer), flush=True)  # without the flush the answer waits in a buffer
