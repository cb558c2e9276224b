"""Reference values for the constants of the theorem, the masses of initial laws and the contraction exponents.

Evaluates the formulas of the paper by themselves, with 40 digits (mpmath), and writes theory.toml:

    pip install mpmath
    python3 theory.py > theory.toml
"""

from mpmath import mp, mpf, mpmathify as M, log, sqrt, exp, sin, cos, pi, inf, findroot, quad, erf, erfc, npdf, besseli

mp.dps = 40


def bisect(f, low, high):
    """The place where f turns from true to false."""
    for _ in range(160):
        middle = (low + high) / 2
        low, high = (middle, high) if f(middle) else (low, middle)
    return low


def least(f, low, high, count=4000):
    """The least value of f on [low, high]: a dense grid, and golden sections around its best node."""
    nodes = [low + (high - low) * k / count for k in range(count + 1)]
    best = min(range(count + 1), key=lambda k: f(nodes[k]))
    a, b = nodes[max(best - 1, 0)], nodes[min(best + 1, count)]
    golden = (sqrt(5) - 1) / 2
    for _ in range(120):
        left, right = b - golden * (b - a), a + golden * (b - a)
        a, b = (a, right) if f(left) <= f(right) else (left, b)
    return min(f(nodes[best]), f((a + b) / 2))


# Functions: what one coordinate contributes at offset s, for each coordinate; nu.
def profiles(name, d, parameter):
    if name == "sphere":
        return [lambda s: s * s] * d, mpf(1) / 2
    if name == "sum-of-squares":
        return [lambda s, k=k: (k + 1) * s * s for k in range(d)], mpf(1) / 2
    if name == "ellipsoid":
        return [lambda s, k=k: M(parameter) ** (mpf(k) / (d - 1)) * s * s for k in range(d)], mpf(1) / 2
    if name == "different-powers":
        return [lambda s, k=k: abs(s) ** (k + 2) for k in range(d)], mpf(1) / (d + 1)
    if name == "rastrigin":
        return [lambda s: s * s + M(parameter) * (1 - cos(2 * pi * s))] * d, mpf(1) / 2
    if name == "styblinski-tang":
        x = findroot(lambda x: 4 * x**3 - 32 * x + 5, mpf("-2.9035"))
        f = lambda x: (x**4 - 16 * x**2 + 5 * x) / 2
        return [lambda s: f(x + s) - f(x)] * d, mpf(1) / 2


def distinct(functions):
    return [f for k, f in enumerate(functions) if k == 0 or f is not functions[k - 1]]


def a2(name, d, parameter, r0):
    """eta, nu, E_inf and the function E_r."""
    if name == "salomon":
        g = lambda r: 2 * sin(pi * r) ** 2 + r / 10
        inner = least(lambda r: g(r) / r, mpf(10) ** -12, r0)
        outer = least(lambda r: g(r) / r0, r0, r0 * sqrt(d))
        # The quotient tends to 1/10 at 0.
        eta = min(inner, outer, mpf(1) / 10)
        far = least(g, r0, r0 + 3)
        return eta, mpf(1), far, lambda r: -least(lambda s: -g(s), mpf(0), r * sqrt(d), 400)
    functions, nu = profiles(name, d, parameter)
    few = distinct(functions)
    if name in ("rastrigin", "styblinski-tang"):
        sides = [few[0], lambda s: few[0](-s)]
        count, wide = 4000, 8
    else:
        # Powers: the least weight or the extreme powers decide, and everything is monotone.
        sides, count, wide = [few[0], few[-1]], 40, 1
    tiny = r0 * mpf(10) ** -9
    eta = min(least(lambda s: f(s) ** nu / s, tiny, r0, count) for f in sides)
    far = min(least(f, r0, r0 + wide, count) for f in sides)
    def highest(r):
        if name in ("rastrigin", "styblinski-tang"):
            top = max(-least(lambda s: -f(s), mpf(0), r, 200) for f in sides)
            return d * top
        return sum(f(r) for f in functions)
    return eta, nu, far, highest


def interval(a, b):
    """The probability of [a, b] under the standard normal law."""
    if a > 0:
        return (erfc(a / sqrt(2)) - erfc(b / sqrt(2))) / 2
    if b < 0:
        return interval(-b, -a)
    return (erf(b / sqrt(2)) - erf(a / sqrt(2))) / 2


def log_mass(law, v, r):
    """Sum over coordinates of the logarithm of the mass of [v - r, v + r]."""
    total, cache = mpf(0), {}
    for k, x in enumerate(v):
        kind, a, b = law[0], M(law[1][k]), M(law[2][k])
        key = (a, b, x)
        if key not in cache:
            if kind == "normal":
                s = sqrt(b)
                mp.dps = 40 if abs(x - a) / s < 20 else 40 + int((x - a) ** 2 / (2 * b) / 2)
                cache[key] = log(interval((x - a - r) / s, (x - a + r) / s))
                mp.dps = 40
            else:
                cache[key] = log((min(b, x + r) - max(a, x - r)) / (b - a))
        total += cache[key]
    return total


def spread(law, v):
    kind, a, b = law
    if kind == "normal":
        return sum((M(m) - x) ** 2 + M(s) for m, s, x in zip(a, b, v)) / 2
    return sum(quad(lambda y: (y - x) ** 2 / (M(h) - M(l)), [M(l), M(h)]) for l, h, x in zip(a, b, v)) / 2


def sharp_p(lam, sig, b, d):
    """sup over s in [0, 1), |a| <= b of -(T_1 + T_2) / phi, r = 1."""
    def worst(s):
        gap = 1 - s * s
        linear, square = 2 * lam * s / gap**2, sig**2 * (3 * s**4 - 1) / gap**4
        value = lambda w: w * (linear + w * square)
        ends = [s - b, s + b]
        if square > 0:
            ends.append(min(max(-linear / (2 * square), s - b), s + b))
        return min(value(w) for w in ends)
    return -d * least(worst, mpf(0), mpf("0.999999"), 20000)


def constants(case):
    d, r0 = case["dim"], M(case["r0"])
    lam, sig, tau = M(case["lambda"]), M(case["sigma"]), M(case["tau"])
    eta, nu, far, highest = a2(case["function"], d, case.get("parameter"), r0)
    law = case["law"]
    if case["function"] == "styblinski-tang":
        x = findroot(lambda x: 4 * x**3 - 32 * x + 5, mpf("-2.9035"))
        v = [x] * d
    else:
        v = [M(case.get("shift", 0))] * d
    v0 = spread(law, v)
    epsilon = M(case["ratio"]) * v0
    rate = 2 * lam - sig**2
    out = {"eta": eta, "nu": nu, "e_inf": far, "v0": v0, "t_star": log(v0 / epsilon) / ((1 - tau) * rate)}
    out["hitting_low"] = (1 - tau) / (1 + tau / 2) * out["t_star"]
    for kind in ("paper", "sharp"):
        total = lam + sig**2 if kind == "paper" else abs(lam - sig**2)
        first = tau / 2 * rate / (sqrt(2) * total) if total else inf
        c_tau = min(first, sqrt(tau * rate / sig**2))
        q = min((eta * c_tau * sqrt(epsilon) / (2 * sqrt(d))) ** (1 / nu), far) / 2
        if highest(r0) <= q:
            r = r0
        else:
            # In logarithms: q may be far below every ordinary number.
            r = exp(bisect(lambda t: highest(exp(t)) <= q, log(r0) + log(q) - 10, log(r0)))
        b = c_tau * sqrt(v0)
        if kind == "paper":
            branch1 = lambda c: 2 * d * (lam * (c * r + b * sqrt(c)) / ((1 - c) ** 2 * r) + sig**2 * (c * r * r + b * b) * (2 * c + 1) / ((1 - c) ** 4 * r * r))
            branch2 = lambda c: 2 * d * 2 * lam**2 / ((2 * c - 1) * sig**2)
            lowest = (sqrt(5) - 1) / 2
            if "c" in case:
                c = M(case["c"])
            elif branch1(lowest) >= branch2(lowest):
                c = lowest
            else:
                c = bisect(lambda c: branch1(c) < branch2(c), lowest, mpf(1))
            p = max(branch1(c), branch2(c))
            out.update({"c": c, "log_first": log(branch1(c)), "log_second": log(branch2(c))})
            mollifier = mpf(2) ** d
        else:
            p = sharp_p(lam, sig, b / r, d)
            mollifier = exp(mpf(d) / 3)
        mass = log_mass(law, v, r / 2)
        alpha = (log(2 * mollifier * sqrt(2 * d * v0) / (c_tau * sqrt(epsilon))) + p * out["t_star"] - mass) / q
        name = lambda key: key if kind == "paper" else "sharp_" + key
        out.update({name("c_tau"): c_tau, name("log_q"): log(q), name("log_r"): log(r), name("log_b"): log(b), name("log_p"): log(p), name("log_mass"): mass, name("log_alpha_0"): log(alpha)})
    return out


def figure1(d):
    equal = max(d // 2, 1)
    return ("normal", [2 / sqrt(equal) if k < equal else mpf(0) for k in range(d)], [32] * d)


def everywhere(kind, a, b, d):
    return (kind, [a] * d, [b] * d)


FIGURE = {"lambda": "1", "sigma": "0.32", "tau": "0.7", "ratio": "0.01", "r0": "0.1"}
CASES = [dict(FIGURE, function="rastrigin", parameter="2.5", dim=d, law=figure1(d), law_name="figure-1") for d in (1, 2, 4, 16, 200)]
CASES += [
    dict(function="rastrigin", parameter="10", dim=3, shift="0.75", law=everywhere("normal", "1", "2", 3), law_name="normal:1,2", **{"lambda": "1.5", "sigma": "1.6", "tau": "0.5", "ratio": "0.2", "r0": "2.3"}),
    dict(function="sphere", dim=10, law=everywhere("normal", "1", "4", 10), law_name="normal:1,4", c="0.8", **{"lambda": "2", "sigma": "1", "tau": "0.3", "ratio": "0.05", "r0": "2"}),
    dict(function="styblinski-tang", dim=3, law=everywhere("uniform", "-5", "5", 3), law_name="uniform:-5,5", **{"lambda": "1", "sigma": "0.7", "tau": "0.4", "ratio": "0.5", "r0": "1"}),
    dict(function="different-powers", dim=4, law=everywhere("uniform", "-1", "1", 4), law_name="uniform:-1,1", **{"lambda": "1", "sigma": "1", "tau": "0.5", "ratio": "0.1", "r0": "0.5"}),
    dict(function="different-powers", dim=200, law=everywhere("uniform", "-1", "1", 200), law_name="uniform:-1,1", **{"lambda": "1", "sigma": "0.5", "tau": "0.5", "ratio": "0.1", "r0": "0.5"}),
    dict(function="ellipsoid", parameter="1e6", dim=5, law=everywhere("normal", "0", "9", 5), law_name="normal:0,9", **{"lambda": "1", "sigma": "0.32", "tau": "0.7", "ratio": "0.01", "r0": "1"}),
    dict(function="salomon", dim=3, law=everywhere("normal", "2", "4", 3), law_name="normal:2,4", **{"lambda": "1", "sigma": "0.4", "tau": "0.6", "ratio": "0.01", "r0": "1.7"}),
    dict(function="sum-of-squares", dim=1000, law=everywhere("normal", "3", "1e-2", 1000), law_name="normal:3,1e-2", **{"lambda": "1", "sigma": "0.1", "tau": "0.7", "ratio": "0.5", "r0": "9"}),
]

MASSES = [("normal", "0", "1", r, x) for r in ("1e-12", "0.01", "0.4", "3", "50") for x in ("0", "1.3", "-7", "30")]
MASSES += [("uniform", "-1", "2", r, x) for r in ("1e-3", "0.7", "10") for x in ("0.3", "2", "-1.5")]


def mollified(kind, a, b, r, x):
    """The logarithm of the integral of the mollifier's factor against one coordinate of the law."""
    a, b, r, x = M(a), M(b), M(r), M(x)
    phi = lambda t: exp(1 - 1 / (1 - t * t)) if abs(t) < 1 else mpf(0)
    if kind == "normal":
        s = sqrt(b)
        f = lambda t: phi(t) * r * npdf(x + r * t, a, s)
        cuts = sorted({mpf(-1), mpf(1)} | {mpf(k) / 8 for k in range(-8, 9)} | {t for k in range(-10, 11) if -1 < (t := (a + k * s - x) / r) < 1})
    else:
        f = lambda t: phi(t) * r / (b - a)
        low, high = max((a - x) / r, mpf(-1)), min((b - x) / r, mpf(1))
        if low >= high:
            return None
        cuts = [low + (high - low) * k / 8 for k in range(9)]
    edges = {side * (1 - mpf(2) ** -j) for j in range(2, 12) for side in (-1, 1)}
    cuts = sorted(set(cuts) | {t for t in edges if cuts[0] < t < cuts[-1]})
    return log(quad(f, cuts))


def mean_log(a, b):
    """E log|a + b xi|, cut at the singularity."""
    a, b = M(a), M(b)
    zero = -a / b
    f = lambda z: log(abs(a + b * z)) * npdf(z)
    cuts = sorted({mpf(-14), mpf(14)} | {mpf(k) for k in range(-12, 13, 2)} | ({zero} if abs(zero) < 14 else set()))
    return quad(f, cuts)


def mean_log_norm(a, b, d):
    """E log|a u + b xi| in d = 2 (Rice) or 3 dimensions, from the density of the norm."""
    a, b = M(a), M(b)
    if d == 2:
        density = lambda R: R / b**2 * exp(-(R - a) ** 2 / (2 * b**2)) * exp(-R * a / b**2) * besseli(0, R * a / b**2)
    else:
        density = lambda R: R / (a * b * sqrt(2 * pi)) * (exp(-((R - a) ** 2) / (2 * b**2)) - exp(-((R + a) ** 2) / (2 * b**2)))
    low = max(a - 14 * b, mpf(0))
    cuts = [low + (a + 14 * b - low) * k / 14 for k in range(15)]
    return quad(lambda R: log(R) * density(R) if R > 0 else mpf(0), cuts)


def show(x):
    return mp.nstr(x, 20, min_fixed=0, max_fixed=0) if x is not None else "-inf"


def main():
    print("# Written by theory.py: reference values with 20 digits.\n")
    for case in CASES:
        print("[[constants]]")
        print(f'function = "{case["function"]}"\ndim = {case["dim"]}\nlaw = "{case["law_name"]}"')
        for key in ("parameter", "shift", "lambda", "sigma", "tau", "ratio", "r0", "c"):
            if key in case:
                name = "given_c" if key == "c" else key
                print(f"{name} = {float(case[key])!r}")
        for key, value in constants(case).items():
            print(f"{key} = {show(value)}")
        print()
    for kind, a, b, r, x in MASSES:
        law = (kind, [a], [b])
        try:
            mass = log_mass(law, [M(x)], M(r))
            mass = mass if mass.imag == 0 else None
        except ValueError:
            mass = None
        bump = mollified(kind, a, b, r, x)
        print(f'[[mass]]\nlaw = "{kind}"\na = {float(a)!r}\nb = {float(b)!r}\nr = {float(r)!r}\nx = {float(x)!r}')
        print(f"log_mass = {show(mass)}\nlog_mollified = {show(bump)}\n")
    for lam, sig, dt in (("1", "0.32", "0.01"), ("1", "3", "0.1"), ("2", "0.5", "0.3"), ("1", "1", "1.5"), ("1", "5.2", "0.1")):
        kept, noise = 1 - M(lam) * M(dt), M(sig) * sqrt(M(dt))
        print(f"[[exponent]]\nlambda = {float(lam)!r}\nsigma = {float(sig)!r}\ndt = {float(dt)!r}")
        print(f"euler = {show(mean_log(kept, noise))}")
        print(f"drift_first = {show(log(abs(kept)) + mean_log(1, noise))}")
        for d in (2, 3):
            print(f"isotropic_{d} = {show(mean_log_norm(abs(kept), noise, d))}")
        print()


main()
