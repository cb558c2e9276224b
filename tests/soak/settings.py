"""Random settings of `cbo minimize`: nearly all of them valid, the others refused with a message."""

import json

DYNAMICS_STEPS = 60


def number(random, low, high):
    """A number with few digits: those are what people write."""
    return f"{random.uniform(low, high):.{random.randint(0, 4)}f}"


def functions(trial):
    """What `cbo list` knows."""
    return json.loads(trial.run(["list", "--json"]).stdout)


def dimension(random, function):
    if function["dim"]:
        return function["dim"]
    least = 2 if "at least 2" in function["dims"] else 1
    return max(least, random.choice([1, 2, 2, 3, 4, 5, 7, 8, 16, 33, random.randint(1, 100)]))


def problem(random, function, dim):
    """The function and what can be done to it; also needed to evaluate a point again."""
    words = [function["name"], "--dim", dim]
    if random.random() < 0.3:
        each = ";".join(number(random, -1, 1) for _ in range(dim))
        words += ["--shift", random.choice(["random", number(random, -1, 1), each])]
    if random.random() < 0.3:
        words += ["--rotate", random.choice(["random", random.randrange(1000)])]
    for parameter in function["parameters"]:
        if random.random() < 0.5:
            words += [f"--{parameter['name']}", number(random, parameter["least"], 100)]
    words += ["--precision", random.choice(["f64", "f64", "f32"]), "--seed", random.randrange(1 << 32)]
    return words


def box(random, function, dim):
    """Where particles start and stay."""
    words = []
    low, high = function["domain"][0]
    if random.random() < 0.3:
        words += ["--bounds", random.choice([f"{low},{high}", f"{low / 2 + high / 2},{high}"])]
        words += ["--bound-handling", random.choice(["reflect", "clip", "none"])]
    if random.random() < 0.3:
        middle, width = low / 2 + high / 2, high - low
        laws = [f"uniform:{middle - width / 8},{middle + width / 4}", f"normal:{middle},{width / 10}"]
        each = ";".join(f"{random.uniform(middle, high):.3f}" for _ in range(dim))
        words += ["--init", random.choice([*laws, f"normal:{each},{width / 50}"])]
    return words


def schedule(random, low, high, kind):
    """A weight parameter or a diffusion."""
    start = number(random, low, high)
    unit = random.choice(["", ",step", ",epoch"])
    choices = [start, start, f"log:{start}{unit}"]
    if kind == "alpha":
        choices += ["inf", "inf", f"ess:{number(random, 0.05, 0.9)}", f"geometric:{start},1.05,1e6{unit}"]
    else:
        choices += [f"geometric:{start},0.98{unit}"]
    return random.choice(choices)


def dynamics(random, dim):
    """The settings of the methods of a swarm."""
    particles = random.choice([1, 2, 3, 8, 10, 33, 64, 100, 120, 400, random.randint(1, 600)])
    dt = random.choice(["0.01", "0.05", "0.1", "0.1", "0.5", "1"])
    words = ["--particles", particles, "--dt", dt]
    some = {
        "--lambda": lambda: number(random, 0.1, 2),
        "--sigma": lambda: schedule(random, 0.1, 5, "sigma"),
        "--alpha": lambda: schedule(random, 0.1, 1000, "alpha"),
        "--diffusion": lambda: random.choice(["anisotropic", "isotropic"]),
        "--scheme": lambda: random.choice(["euler-maruyama", "drift-first"]),
        "--batch": lambda: random.choice([n for n in range(1, particles + 1) if particles % n == 0]),
        "--update": lambda: random.choice(["full", "partial"]),
        "--kick": lambda: number(random, 0.001, 2),
        "--epoch-steps": lambda: random.randint(1, 9),
        "--reduction": lambda: random.choice(["on", "0.5,0.1", "0.9,0.5"]),
        "--diameter": lambda: random.choice(["1e-3", "0.5"]),
        "--freeze": lambda: random.choice(["minimiser", ",".join(["0.5"] * dim)]),
    }
    for flag, value in some.items():
        if random.random() < 0.25:
            words += [flag, value()]
    steps = random.choice([0, 1, 2, DYNAMICS_STEPS, random.randint(1, DYNAMICS_STEPS)])
    words += random.choice([
        ["--steps", steps],
        ["--steps", steps],
        ["--time", f"{steps * float(dt):.10g}"],
        ["--max-evaluations", random.randint(1, 20000)],
        ["--max-seconds", "0.05"],
    ])
    return words


def method(random, dim):
    """A method with its settings and its limits."""
    memory = random.choice(["memory", "memory:drift=0.5,beta=30", "memory:beta=inf,noise=1,theta=0.1"])
    others = ["jumps", "jumps:rate=20,size=0.5", "adam", "adam:beta1=0,epsilon=1e-3", "mirror", "mirror:map=simplex"]
    others += ["mirror:map=ball,radius=2,centre=1", "mirror:map=sparse", "sphere", "sphere:radius=3"]
    others += ["hypersurface", "hypersurface:surface=torus", "hypersurface:surface=stiefel,columns=2"]
    name = random.choice(["auto", "auto", "", "cbo", memory, random.choice(others)])
    words = ["--method", name] if name else []
    if name not in ("auto", ""):
        words += dynamics(random, dim)
    else:
        words += ["--max-evaluations", random.choice([1, 2, 3, 100, 1000, random.randint(1, 5000)])]
        words += random.choice([[], [], ["--local"], ["--batch", random.randint(1, 40)], ["--explain"]])
    if random.random() < 0.15:
        words += ["--target", number(random, -5, 5)]
    if random.random() < 0.15:
        words += ["--stagnation", random.randint(1, 20)]
    if random.random() < 0.1:
        words += ["--strict"]
    return words


def outputs(random, dim):
    """Files that a run leaves; their names."""
    words, files = [], []
    for flag, name in [("--plot", "plot.svg"), ("--plot", "plot.png"), ("--history", "history.csv")]:
        if random.random() < 0.1 and flag not in words:
            words += [flag, name]
            files.append(name)
    if dim <= 2 and random.random() < 0.05:
        words += ["--animate", "frames"]
    return words, files
