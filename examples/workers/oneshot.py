#!/usr/bin/env python3
"""One process per evaluation, in both ways:

cbo minimize --command "python3 oneshot.py {x}" --protocol args --dim 2 --bounds -5,5
cbo minimize --command "python3 oneshot.py" --protocol json --dim 2 --bounds -5,5
"""

import json
import sys

x = [float(word) for word in sys.argv[1:]] or json.load(sys.stdin)
print("anything may be printed before the value")
print(sum((v - k) ** 2 for k, v in enumerate(x, start=1)))
