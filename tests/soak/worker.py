"""A program to minimise, in any protocol: `worker.py PROTOCOL [COORDINATES]`. It misbehaves at some points, always the same.

SOAK_MODES: what it does there, a list; SOAK_RATE: how often; SOAK_MEEK: it says `nan` instead of any fault; SOAK_SLEEP:
seconds for each point; SOAK_LOG: where it notes points, before it answers; SOAK_FOLDER: the run folder, in which it destroys
files.
"""

import json
import math
import os
import resource
import signal
import sys
import time
import zlib

MODES = [mode for mode in os.environ.get("SOAK_MODES", "").split(",") if mode]
RATE = float(os.environ.get("SOAK_RATE", "0"))
MEEK = "SOAK_MEEK" in os.environ
PROTOCOL = sys.argv[1]
# What has a value all the same, if the run does not stop on its account.
HARMLESS = {"twice", "flood", "late", "child", "pieces", "noise", "vandal", "itself"}


def value_at(x):
    return sum((v - k) ** 2 + 1.0 - math.cos(3.0 * (v - k)) for k, v in enumerate(x, start=1))


def write(descriptor, data):
    while data:
        data = data[os.write(descriptor, data):]


def mode_at(x):
    """What is wrong here, and a number to do it with. Depends on the point alone, so that runs can be compared."""
    drawn, chosen = (zlib.crc32(f"{salt} {x}".encode()) for salt in ("whether", "which"))
    if not MODES or drawn >= RATE * 2**32:
        return "none", 0
    return MODES[chosen % len(MODES)], chosen // len(MODES)


def answer(number, value):
    text = repr(value) if PROTOCOL != "jsonl" else json.dumps({"id": number, "value": value})
    return text.encode() + b"\n"


def background():
    """A child that outlives what it was started for. Half of them keep the streams open."""
    if os.fork() == 0:
        if time.time_ns() % 2:
            os.closerange(0, 3)
        hang()


def destroy(chosen):
    """Removes or shortens a file in the folder of the run."""
    folder = os.environ["SOAK_FOLDER"]
    try:
        names = sorted(os.listdir(folder))
        path = os.path.join(folder, names[chosen % len(names)])
        # SQLite has its -shm in memory: a program that uses SQLite dies of SIGBUS if that becomes shorter.
        shorten = chosen & 0x10000 and not path.endswith("-shm")
        os.truncate(path, 10) if shorten else os.remove(path)
    except OSError:
        pass


def hang(unkind=True):
    if unkind:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        time.sleep(1000)


def fault(mode, chosen, number):
    """Never returns where the process cannot go on."""
    write(2, b"\x1b[31mtrouble\xff\0\r\n")
    if mode == "nan":
        return write(1, answer(number, math.nan).replace(b"NaN", b'"nan"'))
    if mode == "minus-inf":
        return write(1, answer(number, -math.inf).replace(b"-Infinity", b'"-inf"'))
    if mode == "error" and PROTOCOL == "jsonl":
        return write(1, b'{"id":%d,"error":"no mesh \\u001b[2J"}\n' % number)
    if mode == "garbage":
        write(1, b"Segmentation fault\n")
    elif mode == "binary":
        write(1, bytes(byte for byte in range(256) if byte != 10) + b"\n")
    elif mode == "endless":
        write(1, b"9" * (3 << 20))
    elif mode == "other-id":
        write(1, answer(number + 1000000, 1.0) if PROTOCOL == "jsonl" else b"none\n")
    elif mode == "exits":
        write(1, answer(number, 1.0) if PROTOCOL != "jsonl" else b"")
        os._exit(1 + chosen % 125)
    elif mode == "crashes":
        ways = [signal.SIGSEGV, signal.SIGKILL, signal.SIGABRT, signal.SIGTERM, signal.SIGXCPU]
        os.kill(os.getpid(), ways[chosen % len(ways)])
        time.sleep(1000)
    elif mode == "closes":
        os.close(1)
        if PROTOCOL == "jsonl":
            hang()
    elif mode == "hangs":
        hang(unkind=chosen % 2)
    elif mode == "forks":
        background()
    # A process that is started for each point ends now; one that stays was given up with its garbage, or says nothing.
    os._exit(0)


def evaluate(number, x):
    mode, chosen = mode_at(x)
    if "SOAK_LOG" in os.environ:
        log = os.open(os.environ["SOAK_LOG"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(log, f"{json.dumps(x)}\n".encode())
        os.close(log)
    time.sleep(float(os.environ.get("SOAK_SLEEP", "0")))
    if mode == "inf":
        return write(1, answer(number, math.inf))
    if mode not in HARMLESS and mode != "none":
        return fault("nan" if MEEK else mode, chosen, number)
    line = answer(number, value_at(x))
    if MEEK:
        return write(1, line)
    if mode == "flood":
        write(2, b"\x1b[31mflood\xff\0" * 60000)
    elif mode == "late":
        time.sleep(0.05)
    elif mode == "child":
        background()
    elif mode == "twice":
        line += line
    elif mode == "noise" and PROTOCOL != "jsonl":
        write(1, b"reading mesh\n\n\xff\xfe\0\n17\n")
    elif mode == "vandal":
        destroy(chosen)
    elif mode == "itself":
        with open(__file__, "a", encoding="utf-8") as file:
            file.write(f"# {chosen}\n")
    step = 3 if mode == "pieces" else len(line)
    for place in range(0, len(line), step):
        write(1, line[place:place + step])
        time.sleep(0.001 if mode == "pieces" else 0)


def main():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if PROTOCOL == "args":
        return evaluate(1, [float(word) for word in sys.argv[2:]])
    if PROTOCOL == "json":
        return evaluate(1, json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        request = json.loads(line)
        evaluate(request["id"], request["x"])


main()
