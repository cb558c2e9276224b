// One step: the pending move, the energies, and the sums of all blocks, in one pass over the particles.
//
// All that is done to a particle is done in the order of the engine. A thread block has the ROWS particles of a block of the engine, and sums
// them up as the engine does. Sums are merged along the engine's tree, CHUNK of them by the thread block that comes last among those that
// have them, and so on until all are one. The last one also decides where the next move goes, so that a step can follow another before
// anybody has looked at it: it reads positions and energies where the step before has left them and writes them elsewhere.
//
// Where particles are SPREAD over ranks, sums are merged as far as the tree allows without those of the others, `grain` blocks in one, and
// the processor takes each of these: it alone knows where the next move goes.
//
// From `source.rs`: T, DIM, ROWS, THREADS, CHUNK, the switches below, and the functions `energy`, `vanishes` and `energy_vanishing`; from
// `particle.cuh` the move and the sums.

#define WARPS (THREADS / WARP)
#define QUADS ((DIM + 3) / 4)

// Of CHUNK partial sums that are merged in one go, a thread has one coordinate of PART of them: the one that follows them, for item `at`.
#define PARTS (CHUNK / PART)
#define PART_OF(from, members, at) \
    (from) + FIELDS + (at) % DIM + (u64)((at) / DIM) * PART * STRIDE, (members) > (at) / DIM * PART ? (members) - (at) / DIM * PART : 0

// Words of what is published of a node: its sums, and the position of its best particle; an even number of them.
#define RECORD (2 * STRIDE + (DIM * (sizeof(T) / 4) + 1) / 2 * 2)

// What the weights of a block are relative to, if so much is its least energy. Those by rank are relative to nothing.
#if RANKED
#define SHIFT_OF(low) ((low) == (T)infinity() ? (double)(low) : 0.0)
#else
#define SHIFT_OF(low) (low)
#endif

// What a step leaves for the move of the next: the consensus point, as it is and as particles see it.
struct Heading {
    double consensus[DIM];
    T centre[DIM];
    u32 vanishes, kicks;
};

// What a step is told. `backend/launch.rs` writes the same.
struct Args {
    T* from;  // positions before the move, and after it
    T* to;
    T* energies;
    double* partials;
    double* result;  // of `widths`; `step` puts the merged sums and the best particle's position there, as `publish` does
    const T* low;
    const T* high;
    const T* far_centre;  // the centre where it does not fit below
    Heading* heading;
    const double* frozen;  // the consensus point, if it is given
    const u32* chosen;     // which particles are evaluated, if not all
    u64 particles;
    u64 launch;
    double alpha;
    double kick_below;  // how far the consensus point must have moved; 0 if it may stand still
    u32 key[2], diffusion[2], kick_noise[2];
    u32 moves, kicks, vanishes, evaluates, weighs;
    u32 extents;  // whether somebody will ask how far the swarm extends
    u32 follows;  // whether the centre and what depends on it are in `heading`
    u32 padding;
    u32* arrived;  // thread blocks that have come to a place of the tree
#if SPREAD
    u32 first;  // the number of the first particle in the run
    u32 grain;  // blocks that are merged here: a subtree of the run's tree each
#endif
#if HOPPING
    const T* widths;  // the deviations of the initial law
#endif
#if RANKED
    const double* given;  // the weights
#endif
#if PULLED
    T* points;  // what the particles remember
    u32 memory_noise[2];
#endif
    T keep, noise, kick, longest;
#if PULLED
    T pull, pull_noise;
#endif
    T centre[CENTRE];
};

// What `Mover` reads.
struct Now {
    const u32 (&key)[2], (&diffusion)[2], (&kick_noise)[2];
    const T &keep, &noise, &kick, &longest;
    const T *low, *high, *centre;
    u32 kicks, vanishes;
#if SPREAD
    u32 first;
#endif
#if HOPPING
    const T* widths;
#endif
#if PULLED
    T* points;
    u64 particles;
    const u32 (&memory_noise)[2];
    const T &pull, &pull_noise;
#endif
    FN_MEMBER Now(const Args& a, const T* centre)
        : key(a.key), diffusion(a.diffusion), kick_noise(a.kick_noise), keep(a.keep), noise(a.noise), kick(a.kick), longest(a.longest),
          low(a.low), high(a.high), centre(centre), kicks(a.kicks), vanishes(a.vanishes)
#if SPREAD
          , first(a.first)
#endif
#if HOPPING
          , widths(a.widths)
#endif
#if PULLED
          , points(a.points), particles(a.particles), memory_noise(a.memory_noise), pull(a.pull), pull_noise(a.pull_noise)
#endif
    {
        if (a.follows) { kicks = a.heading->kicks; vanishes = a.heading->vanishes; }
    }
};

// A particle after the move, and before it; one of those chosen, if there are batches of them.
FN u64 number_of(const Args& a, u64 i) {
#if BATCHES
    if (a.chosen) return a.chosen[i];
#endif
    return i;
}
FN Lying particle(const Args& a, u64 i) { return {first_coordinate(a.to, number_of(a, i)), a.particles}; }
FN Lying origin(const Args& a, u64 i) { return {first_coordinate(a.from, number_of(a, i)), a.particles}; }

// The coordinates of one particle that moves while its energy is computed: four of them are moved and written when they are first needed,
// and the next ones are on their way. A call waits for all that is on its way to registers, so where normals are CALLED it is on its way to
// shared memory. Where the formula is ROLLED up, it has the last four alone.
struct Moving {
    Mover<Now> mover;
    Lying from, to;
    const Normals* drawn;  // if they are PREDRAWN
#if ROLLED
    T x[4];
    FN_MEMBER T at(u32 k) const { return x[k % 4]; }
#else
    T x[(DIM + 3) / 4 * 4];
    FN_MEMBER T at(u32 k) const { return x[k]; }
#endif
#if CALLED
    T* ring;  // this thread's first one of (AHEAD + 1) times four
    FN_MEMBER T* next(u32 quad, u32 j) { return ring + (quad % (AHEAD + 1) * 4 + j) * THREADS; }
    FN_MEMBER void fetch(u32 quad) {
        EACH for (u32 j = 0; j < 4; ++j) if (4 * quad + j < DIM) COPY_AHEAD(next(quad, j), &from.of(4 * quad + j));
        COPIES_END();
    }
    FN_MEMBER void take(u32 quad, T (&four)[4]) {
        COPIES_LEFT(AHEAD - 1);
        EACH for (u32 j = 0; j < 4; ++j) four[j] = *next(quad, j);
        fetch(quad + AHEAD);
    }
    FN_MEMBER Moving(const Args& a, const Now& now, u64 i, T* room, const Normals*)
        : mover(now, (u32)i, origin(a, i)), from(origin(a, i)), to(particle(a, i)), ring(room) {
        EACH for (u32 quad = 0; quad < AHEAD; ++quad) fetch(quad);
    }
#else
    // Those of the next one first.
    T next[AHEAD][4];
    FN_MEMBER void fetch(u32 quad, u32 place) {
        EACH for (u32 j = 0; j < 4; ++j) if (4 * quad + j < DIM) next[place][j] = from.at(4 * quad + j);
    }
    FN_MEMBER void take(u32 quad, T (&four)[4]) {
        EACH for (u32 j = 0; j < 4; ++j) {
            four[j] = next[0][j];
            EACH for (u32 place = 1; place < AHEAD; ++place) next[place - 1][j] = next[place][j];
        }
        fetch(quad + AHEAD, AHEAD - 1);
    }
    FN_MEMBER Moving(const Args& a, const Now& now, u64 i, T*, const Normals* drawn)
        : mover(now, (u32)i, origin(a, i)), from(origin(a, i)), to(particle(a, i)), drawn(drawn) {
        EACH for (u32 quad = 0; quad < AHEAD; ++quad) fetch(quad, quad);
    }
#endif
    FN_MEMBER void four(u32 quad, T (&y)[4]) {
        take(quad, y);
#if PREDRAWN
        mover.move(quad, y, drawn[quad]);
#else
        mover.move(quad, y);
#endif
        EACH for (u32 j = 0; j < 4; ++j) if (INSIDE(4 * quad + j)) to.set(4 * quad + j, y[j]);
    }
    FN_MEMBER void need(u32 quad) {
        T y[4];
        four(quad, y);
#if ROLLED
        EACH for (u32 j = 0; j < 4; ++j) x[j] = y[j];
#else
        EACH for (u32 j = 0; j < 4; ++j) x[4 * quad + j] = y[j];
#endif
    }
};

// Moves and evaluates particle i, and returns its energy; says at `sign`, if that is given, whether it vanishes. `room` and
// `drawn` are of this thread.
FN T visit(const Args& a, const Now& now, u64 i, u32* sign, T* room, const Normals* drawn) {
    Lying lying = particle(a, i);
#if LAZY
    if (a.moves) {
        Moving p(a, now, i, room, drawn);
        const T e = energy(p);
#if VANISHING
#if HELD
        Held moved;
        EACH for (u32 k = 0; k < DIM; ++k) moved.x[k] = p.x[k];
#else
        Lying& moved = lying;
#endif
        if (sign && a.evaluates) *sign = vanishes(moved) > (T)0.0;
#endif
        return a.evaluates ? e : a.energies[i];
    }
    Lying& p = lying;
#elif HELD
    const Lying before = origin(a, i);
    Held p;
    EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) p.x[k] = before.at(k);
    if (a.moves) {
        advance(p, now, (u32)i);
        EACH_COORDINATE for (u32 k = 0; k < DIM; ++k) lying.set(k, p.x[k]);
    }
#else
    Lying& p = lying;
    if (a.moves) {
        Passing passing = {origin(a, i), lying};
        advance(passing, now, (u32)i);
    }
#endif
    if (!a.evaluates) return a.energies[i];
#if VANISHING
    if (sign) *sign = vanishes(p) > (T)0.0;
    // Too many to be kept: they are read again.
    FORGET();
#endif
    return energy(p);
}

// How far the swarm extends at the least, from some first coordinates.
FN double extent_of(const T* edge) {
    T low = edge[0], high = edge[0];
    EACH_EIGHTH for (u32 i = 1; i < 32; ++i) { low = least_of(edge[i], low); high = greatest_of(edge[i], high); }
    return (double)high - (double)low;
}

// One coordinate of PART members of a chunk, of which so many are there.
FN void load_coordinate(double* x, const double* from, u32 members) {
    EACH for (u32 m = 0; m < PART; ++m) x[m] = m < members ? LOAD_FAR(from[m * STRIDE]) : 0.0;
}
// One coordinate of COUNT neighbours, the `part`th of all, with the weights of all pairs of NODES, level by level.
template <u32 COUNT, u32 NODES> FN double merged_coordinate(double* x, const double* mine, const double* theirs, u32 part) {
    EACH for (u32 pair = 0; pair < COUNT / 2; ++pair) {
        const u32 at = part * (COUNT / 2) + pair;
        x[pair] = merged(mine[at], theirs[at], x[2 * pair], x[2 * pair + 1]);
    }
    if constexpr (COUNT > 2) return merged_coordinate<COUNT / 2, NODES / 2>(x, mine + NODES / 2, theirs + NODES / 2, part);
    return x[0];
}

// Half a number for whoever waits for it in this machine's memory, each with the number of the launch: so nobody need say when all are there.
FN void publish_word(const Args& a, u32 place, u32 word) { ((volatile u64*)a.result)[place] = a.launch << 32 | word; }
FN void publish(const Args& a, u32 place, float x) { publish_word(a, place, (u32)__float_as_int(x)); }
FN void publish(const Args& a, u32 place, double x) {
    const u64 bits = (u64)__double_as_longlong(x), mark = a.launch << 32;
    STORE_TWO((u64*)a.result + place, mark | (u32)bits, mark | bits >> 32);
}

KERNEL(STEP_BOUNDS) step(const GRID_CONSTANT Args a) {
    SHARED T energies[ROWS], best[WARPS], edge[32];
    SHARED double weights[ROWS], lanes[8], squares[8];
    SHARED u32 place[WARPS], failed[WARPS], weighed[WORDS];
    SHARED u32 last, moved, vanishing;
#if CALLED
    SHARED T room[(AHEAD + 1) * 4 * THREADS];
#else
    T* const room = 0;
#endif
    const u64 first = (u64)BLOCK * ROWS;
    const u32 rows = a.particles - first < ROWS ? (u32)(a.particles - first) : ROWS;

    LET_NEXT_BEGIN();
#if PREDRAWN
    // While the step before may still be looking for the centre.
    OWN(Normals, drawn, QUADS)
    if (a.moves) PHASE(t) EACH for (u32 quad = 0; quad < QUADS; ++quad) {
        Normals& four = OWN_OF(drawn, t)[quad];
        four = four_normals(DRAWN_AS(NUMBER(a, (u32)first + t)), quad, a.diffusion[0], a.diffusion[1], a.key[0], a.key[1]);
        EACH for (u32 j = 0; j < 4; ++j) now_known(four.z[j]);
    }
#else
    OWN(Normals, drawn, 1)
#endif
    AWAIT_BEFORE();
#if CENTRE >= DIM
    SHARED ALIGNED T centre[DIM];
    PHASE(t) for (u32 k = t; k < DIM; k += TEAM) centre[k] = a.follows ? a.heading->centre[k] : a.centre[k];
#else
    const T* const centre = a.far_centre;
#endif
    const Now now(a, centre);

    // Positions and energies, and the least of those, the place of that, and the failures in each warp. If energies vanish, all again.
#if VANISHING
    SHARED u32 vanished[(ROWS + VANISHING - 1) / VANISHING];
    for (u32 again = 0; again < 2; ++again)
#endif
    {
        PHASE(t) {
            T low = (T)infinity();
            u32 where = 0, fails = 0;
            for (u32 r = t; r < rows; r += TEAM) {
#if VANISHING
                T e;
                if (again) {
                    e = energies[r];
                    if (vanished[r / VANISHING]) {
                        Lying p = particle(a, first + r);
                        e = energy_vanishing(p);
                    }
                } else {
                    u32* const sign = r % VANISHING == 0 ? &vanished[r / VANISHING] : 0;
                    if (sign) *sign = 0;
                    e = visit(a, now, first + r, sign, room + t, OWN_OF(drawn, t));
                }
#else
                const T e = visit(a, now, first + r, 0, room + t, OWN_OF(drawn, t));
#endif
                if (a.evaluates) a.energies[first + r] = e;
                energies[r] = e;
                const bool finite = absolute(e) < (T)infinity();
                // Infinite ones in the upper half.
                if (!finite) fails += e == (T)infinity() ? 0x10000 : 1;
                if (finite && e < low) { low = e; where = r; }
            }
            least_of_warp(low, where, fails);
            if (t % WARP == 0) { best[t / WARP] = low; place[t / WARP] = where; failed[t / WARP] = fails; }
        }
#if VANISHING
        u32 any = 0;
        for (u32 g = 0; g < (rows + VANISHING - 1) / VANISHING; ++g) any |= vanished[g];
        if (!any) break;
#endif
    }
    if (!a.weighs) return;

    // Weights relative to the least energy.
    PHASE(t) {
        T low = best[0];
        EACH for (u32 w = 1; w < WARPS; ++w) low = least_of(best[w], low);
        if (a.extents && t < 32) edge[t] = particle(a, first + (t < rows ? t : 0)).at(0);
        for (u32 r = t; r < 32 * WORDS; r += TEAM) {
            double w = 0.0;
            if (r < rows && low != (T)infinity()) {
#if RANKED
                w = a.given[first + r];
#else
                const double e = energies[r], gap = e - (double)low;
                w = 0.0 < gap ? (gap * -a.alpha < -709.0 ? 0.0 : exponential(gap * -a.alpha)) : 1.0;
                if (!(fabs(e) < infinity())) w = 0.0;
#endif
                if (w != 0.0) weights[r] = w;
            }
            MARK(weighed[r / 32], r % 32, w != 0.0)
        }
    }

    // Their sums, lane by lane, and the weighted sums of the positions, coordinate by coordinate. Weights of zero add nothing.
    double* sums = a.partials + (u64)BLOCK * STRIDE;
    PHASE(t) for (u32 what = t; what < 8 + DIM; what += TEAM) {
#if RANKED
        // Of either sign, and their sizes are added up one after the other: in one lane.
        const u32 mine = what == 0 || what >= 8 ? 0xffffffffu : 0;
#else
        const u32 mine = what < 8 ? 0x01010101u << what : 0xffffffffu;
#endif
        double sum = 0.0, square = 0.0;
        for (u32 word = 0; word < WORDS; ++word)
            for (u32 bits = weighed[word] & mine; bits; bits &= bits - 1) {
                const u32 r = 32 * word + FIRST_BIT(bits);
                const double w = weights[r];
#if RANKED
                sum = what < 8 ? sum + fabs(w) : mul_add((double)particle(a, first + r).at(what - 8), w, sum);
                square = square + w * w;
#else
                sum = what < 8 ? sum + w : mul_add((double)particle(a, first + r).at(what - 8), w, sum);
                square = mul_add(w, w, square);
#endif
            }
        if (what < 8) { lanes[what] = sum; squares[what] = square; }
        else sums[FIELDS + what - 8] = sum;
    }

    // The tree: whoever comes last merges what is there, and goes on with that.
    u32 node = BLOCK, count = BLOCKS, counters = 0;
    double* level = a.partials;
#if SPREAD
    u32 grain = a.grain, width = grain < CHUNK ? grain : CHUNK;
#else
    const u32 width = CHUNK;
#endif
    PHASE(t) if (t == 0) {
        T low = best[0];
        u32 where = place[0], fails = failed[0];
        EACH for (u32 w = 1; w < WARPS; ++w) {
            if (best[w] < low || (best[w] == low && place[w] < where)) { low = best[w]; where = place[w]; }
            fails += failed[w];
        }
        sums[LEAST] = low; sums[PARTICLE] = (double)(first + (low == (T)infinity() ? 0 : where));
        sums[FAILED] = fails & 0xffff; sums[INFEASIBLE] = fails >> 16; sums[SHIFT] = SHIFT_OF(low); sums[EXTENT] = a.extents ? extent_of(edge) : 0.0;
        sums[MASS] = sum_of<double, 8>(lanes); sums[SQUARES] = sum_of<double, 8>(squares);
        const u32 left = count - node / width * width;
        last = LAST_OF(a.arrived[node / width], left < width ? left : width);
        moved = vanishing = 0;
        SEE_OTHERS();
    }
    // Of each of them, then of merged ones, level by level, all but the coordinates; and the weights of all pairs.
    SHARED double heads[2 * CHUNK * FIELDS], mine[CHUNK], theirs[CHUNK], pieces[PARTS > 1 ? PARTS * DIM : 1];
    OWN(double, own, PART)
    while (last) {
        const u32 chunk = node / width, left = count - chunk * width, members = left < width ? left : width;
        const double* from = level + (u64)chunk * width * STRIDE;
        PHASE(t) {
            for (u32 at = t; at < CHUNK * FIELDS; at += TEAM) {
                const u32 member = at / FIELDS, what = at % FIELDS;
                // Nobody is as one without finite energies.
                heads[at] = member < members ? LOAD_FAR(from[member * STRIDE + what]) : what == LEAST || what == SHIFT ? infinity() : 0.0;
            }
            if (t < DIM * PARTS) load_coordinate(OWN_OF(own, t), PART_OF(from, members, t));
        }
        for (u32 begin = 0, nodes = CHUNK; nodes > 1; begin += nodes, nodes /= 2)
            PHASE(t) for (u32 at = t; at < nodes / 2 * FIELDS; at += TEAM) {
                const u32 pair = begin / 2 + at / FIELDS, what = at % FIELDS;
                const double *one = heads + 2 * pair * FIELDS, *other = one + FIELDS;
                double its, others;
                weights_of(a.alpha, one, other, its, others);
                heads[(begin + nodes) * FIELDS + at] = merged_field(its, others, one, other, what);
                if (what == 0) { mine[pair] = its; theirs[pair] = others; }
            }
        const double* head = heads + (2 * CHUNK - 2) * FIELDS;
#if SPREAD
        const bool all = grain == width;
        const u32 record = chunk * RECORD;
#else
        const bool all = count <= CHUNK;
        const u32 record = 0;
#endif
        level += (u64)count * STRIDE;
        double* to = level + (u64)chunk * STRIDE;
#if PARTS > 1
        PHASE(t) for (u32 at = t; at < DIM * PARTS; at += TEAM) {
            if (at != t) load_coordinate(OWN_OF(own, t), PART_OF(from, members, at));
            pieces[at] = merged_coordinate<PART, CHUNK>(OWN_OF(own, t), mine, theirs, at / DIM);
        }
#endif
        PHASE(t) {
            for (u32 k = t; k < DIM; k += TEAM) {
#if PARTS > 1
                double x[PARTS];
                EACH for (u32 part = 0; part < PARTS; ++part) x[part] = pieces[part * DIM + k];
                const double sum = merged_coordinate<PARTS, PARTS>(x, mine + CHUNK - PARTS, theirs + CHUNK - PARTS, 0);
#else
                if (k != t) load_coordinate(OWN_OF(own, t), PART_OF(from, members, k));
                const double sum = merged_coordinate<PART, CHUNK>(OWN_OF(own, t), mine, theirs, 0);
#endif
                if (!all) { to[FIELDS + k] = sum; continue; }
                publish(a, record + 2 * (FIELDS + k), sum);
#if !SPREAD
                // As `Run::agree` and `Run::decide` do.
                const double agreed = a.frozen ? a.frozen[k] : head[MASS] == 0.0 ? 0.0 : sum / head[MASS];
                const T seen = fabs(agreed) < TINY ? (T)0.0 : (T)agreed;
                if (fabs(agreed - a.heading->consensus[k]) >= a.kick_below) moved = 1;
                if (seen == (T)0.0) vanishing = 1;
                a.heading->consensus[k] = agreed;
                a.heading->centre[k] = seen;
#endif
            }
            for (u32 what = t; what < FIELDS; what += TEAM)
                if (all) publish(a, record + 2 * what, head[what]); else to[what] = head[what];
            if (all) for (u32 k = t; k < DIM; k += TEAM)
                publish(a, record + 2 * STRIDE + k * (sizeof(T) / 4), LOAD_FAR(particle(a, (u64)head[PARTICLE]).of(k)));
        }
        if (all) {
#if !SPREAD
            PHASE(t) if (t == 0) { a.heading->kicks = a.kick_below > 0.0 && !moved; a.heading->vanishes = vanishing; }
#endif
            return;
        }
        counters += (count + width - 1) / width;
        count = (count + width - 1) / width;
        node = chunk;
#if SPREAD
        grain /= width;
        width = grain < CHUNK ? grain : CHUNK;
#endif
        PHASE(t) if (t == 0) {
            const u32 left = count - node / width * width;
            last = LAST_OF(a.arrived[counters + node / width], left < width ? left : width);
            SEE_OTHERS();
        }
    }
}

RUN(step, Args)
