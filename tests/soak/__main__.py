"""A soak test: random trials of the built program until the time is over. `make soak` runs it.

Each trial depends on the seed and its number alone; `--seed S --trial N` repeats one. The folder of a trial that failed is
kept.
"""

import argparse
import collections
import os
import pathlib
import random
import shutil
import signal
import sys
import threading
import time
import traceback

import damage
import disk
import functions
import hostile
import siege
import together
from trial import Failure, Skipped, Trial, check_gone

# What is tried, and how often compared with the others.
KINDS = [
    (functions.random_settings, 8),
    (siege.killed, 4),
    (siege.cut_short, 2),
    (siege.extended, 2),
    (hostile.hostile, 4),
    (hostile.hanging, 1),
    (hostile.vandals, 2),
    (disk.full_disk, 2),
    (disk.limited_files, 1),
    (disk.full_device, 1),
    (damage.damaged, 3),
    (together.together, 2),
]


class Soak:
    """What the threads share."""

    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.begin = time.monotonic()
        self.told = self.begin
        self.numbers = iter([options.trial] if options.trial is not None else range(1 << 62))
        self.trials = collections.Counter()
        self.counts = collections.Counter()
        self.skipped = set()
        self.failures = 0

    def work(self):
        """Takes one trial after the other."""
        while True:
            with self.lock:
                number = next(self.numbers, None)
                if number is None or time.monotonic() > self.begin + self.options.seconds:
                    return
            self.attempt(number)
            self.progress()

    def attempt(self, number):
        """One trial, and what becomes of its folder."""
        chosen = random.Random(f"{self.options.seed}/{number}")
        kinds = [kind for kind in KINDS if self.options.kind in (None, kind[0].__name__)]
        kind = chosen.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])[0]
        trial = Trial(kind.__name__, number, self.options.seed, self.options.cbo)
        failure = carry_out(kind, trial)
        with self.lock:
            if isinstance(failure, Skipped):
                self.skipped.add(str(failure))
            else:
                self.trials[trial.kind] += 1
            self.counts += trial.counts
            if failure is None or isinstance(failure, Skipped):
                shutil.rmtree(trial.place, ignore_errors=True)
            else:
                self.failures += 1
                self.report(trial, number, failure)

    def report(self, trial, number, failure):
        print(f"FAILED: trial {number}, {trial.kind}: {failure}", flush=True)
        print(f"  what was done is in {trial.place}/commands.txt; to repeat it:", flush=True)
        print(f"  {self.command()} --trial {number}", flush=True)

    def command(self):
        kind = f" --kind {self.options.kind}" if self.options.kind else ""
        return f"python3 tests/soak --cbo {self.options.cbo} --seed {self.options.seed}{kind}"

    def progress(self):
        with self.lock:
            now = time.monotonic()
            if now > self.told + 60:
                self.told = now
                print(f"{now - self.begin:.0f} s: {self.summary()}", flush=True)

    def summary(self):
        kinds = ", ".join(f"{name} {count}" for name, count in sorted(self.trials.items()))
        counts = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()) if count)
        return f"{self.trials.total()} trials ({kinds}); survived {counts or 'nothing yet'}; {self.failures} failed"


def carry_out(kind, trial):
    """What went wrong, if anything did. A trial that cannot be judged is a failure too."""
    failure = None
    try:
        kind(trial)
    except (Failure, Skipped) as error:
        failure = error
    except Exception:
        failure = Failure(traceback.format_exc())
    try:
        check_gone(trial.token)
    except Failure as error:
        failure = failure if isinstance(failure, Failure) else error
    return failure


def options():
    root = pathlib.Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(prog="python3 tests/soak", description=__doc__.splitlines()[0])
    parser.add_argument("--cbo", default=str(root / "target/release/cbo"), help="the program")
    parser.add_argument("--seconds", type=float, default=3600, help="begins no trial after this time")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="trials at once")
    parser.add_argument("--kind", choices=[kind.__name__ for kind, _ in KINDS], help="only trials of this kind")
    parser.add_argument("--trial", type=int, help="only the trial of this number")
    found = parser.parse_args()
    found.cbo = str(pathlib.Path(found.cbo).resolve())
    if not os.access(found.cbo, os.X_OK):
        parser.error(f"there is no program {found.cbo}: build it with `cargo build --release`, or name it with --cbo")
    return found


def main():
    # What ignores a signal has children that ignore it too, and a soak may be started by nohup or in the background.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, lambda number, frame: None)
    soak = Soak(options())
    print(f"seed {soak.options.seed}", flush=True)
    threads = [threading.Thread(target=soak.work) for _ in range(soak.options.jobs)]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        print("ending with the trials that are under way", flush=True)
        soak.options.seconds = 0
        for thread in threads:
            thread.join()
    for note in sorted(soak.skipped):
        print(f"skipped: {note}")
    print(f"{time.monotonic() - soak.begin:.0f} s, seed {soak.options.seed}: {soak.summary()}")
    sys.exit(1 if soak.failures else 0)


main()
