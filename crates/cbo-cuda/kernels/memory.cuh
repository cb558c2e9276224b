// What particles remember: points, which lie as positions do, and their energies.
//
// A particle belongs to one thread: nobody waits for anybody.

enum Remembering { FIRST, HARD, SMOOTH, BRING_BACK };

// What `remember` is told. `backend/memory.rs` writes the same.
struct RememberArgs {
    T* positions;
    T* energies;  // of the step: of those chosen, one after the other, if not all are evaluated
    T* points;
    T* values;
    T* gathered;        // the values of those chosen, one after the other
    const u32* chosen;  // which are evaluated, if not all
    u64 evaluated;
    u64 particles;
    double share, lean, beta;
    u32 what, padding;
};

// An energy, infinite where there is none.
FN double comparable(T energy) {
    const double e = (double)energy;
    return fabs(e) < infinity() ? e : infinity();
}

// `tanh` in `method/memory.rs`.
FN double tanh_of(double x) {
    const double fall = exponential(-2.0 * fabs(x)), size = (1.0 - fall) / (1.0 + fall);
    return x < 0.0 ? -size : size;
}

// Y+ = Y + share (V - Y), between the two whatever the rounding. A particle that went astray is not followed.
FN void follow(Lying& point, const Lying& row, double share) {
    if (share > 0.0) EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) {
        const double from = (double)point.at(k), to = (double)row.at(k);
        if (fabs(to) < infinity()) point.set(k, (T)fmin(fmax(from + share * (to - from), fmin(from, to)), fmax(from, to)));
    }
}

KERNEL(THREADS) remember(const GRID_CONSTANT RememberArgs a) {
    const u64 first = (u64)BLOCK * ROWS;
    PHASE(t) for (u64 i = first + t; i < first + ROWS && i < a.evaluated; i += TEAM) {
        const u64 number = a.chosen ? a.chosen[i] : i;
        T& value = a.values[number];
        if (a.what == BRING_BACK) { value = a.gathered[i]; continue; }
        const Lying row = {first_coordinate(a.positions, number), a.particles};
        Lying point = {first_coordinate(a.points, number), a.particles};
        const T energy = a.energies[i];
        const double here = comparable(energy), there = comparable(value);
        if (a.what == SMOOTH) {
            const double gap = here == there ? 0.0 : there - here;
            follow(point, row, a.share * (a.lean + tanh_of(a.beta * gap)));
            continue;
        }
        if (a.what == FIRST || here < there) {
            EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) point.set(k, row.at(k));
            value = energy;
        }
        if (a.gathered) a.gathered[i] = value;
    }
}

RUN(remember, RememberArgs)
