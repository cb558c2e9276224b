// Networks: the loss of many parameter vectors on one batch of images, with the operations of `cbo_problems::nn::fast` in its order.
//
// Images lie in tiles of 64. Image 16 v + l of a tile is number v of lane l, and a value of all images of a tile is 64 numbers, the four of
// lane 0 first: a thread works on the four images of a lane, and adds them up in the order in which vectors of 16 lanes would.
//
// A network is cut into blocks `linear, relu, bn, pool, bn`. Before each, `fold` makes of the sums that the block before has left the scale
// and offset of its channels, and takes them into the weights; `linear` does the rest of a block for a tile. `network.rs` writes a struct of
// constants for each block, and what each kernel is called.

#define TILE 64
#define LANE_COUNT 16

typedef unsigned char u8;

// What the kernels of a network are told. `network.rs` writes the same.
struct NetworkArgs {
    const float* positions;  // parameter vectors, one after the other
    const u32* chosen;       // which of them are evaluated; all, if null
    const u8* images;        // all images of the data
    const u8* labels;
    const u32* batch;        // which of them are in the batch
    const float* unit;       // a byte as a number
    float* pixels;           // the batch in tiles
    float* from;             // values before a block and after it, by parameter vector, tile and value
    float* to;
    float* folded;           // by parameter vector: weights and biases of the coming block
    float* sums;             // by parameter vector: what `linear` leaves for `fold`
    u32* failed;             // by parameter vector
    u32* arrived;            // of `wide`: rows that are done, by parameter vector, tile and channel
    float* each;             // the loss of each image, by parameter vector
    double* losses;
    u32 first;               // the first of those evaluated in this launch
    u32 count;               // images in the batch
    u32 tiles;
    u32 padding;
};

struct Four { float v[4]; };

// The numbers of the four images of a lane.
FN Four four_at(const float* values, u32 lane) {
    Four four;
#ifdef __CUDACC__
    const float4 f = *(const float4*)(values + 4 * lane);
    four.v[0] = f.x; four.v[1] = f.y; four.v[2] = f.z; four.v[3] = f.w;
#else
    for (int v = 0; v < 4; ++v) four.v[v] = values[4 * lane + v];
#endif
    return four;
}
// The same of what others have just written.
FN Four far_four_at(const float* values, u32 lane) {
#ifdef __CUDACC__
    Four four;
    const float4 f = __ldcg((const float4*)(values + 4 * lane));
    four.v[0] = f.x; four.v[1] = f.y; four.v[2] = f.z; four.v[3] = f.w;
    return four;
#else
    return four_at(values, lane);
#endif
}
FN void put_four(float* values, u32 lane, const Four& four) {
#ifdef __CUDACC__
    *(float4*)(values + 4 * lane) = make_float4(four.v[0], four.v[1], four.v[2], four.v[3]);
#else
    for (int v = 0; v < 4; ++v) values[4 * lane + v] = four.v[v];
#endif
}

// max(0, x), of which a NaN stays.
FN float positive(float x) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    float r;
    asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(r) : "f"(x));
    return r;
#else
    return 0.0f > x ? 0.0f : x;
#endif
}

// Lays out the batch.
KERNEL(THREADS) lay_out(const GRID_CONSTANT NetworkArgs a) {
    LET_NEXT_BEGIN();
    AWAIT_BEFORE();
    PHASE(t) for (u32 at = BLOCK * TEAM + t; at < a.tiles * PIXELS * TILE; at += BLOCKS * TEAM) {
        const u32 tile = at / (PIXELS * TILE), pixel = at / TILE % PIXELS, image = tile * TILE + at % 4 * LANE_COUNT + at % TILE / 4;
        a.pixels[at] = image < a.count ? a.unit[a.images[(u64)a.batch[image] * PIXELS + pixel]] : 0.0f;
    }
}
RUN(lay_out, NetworkArgs)

// Of a block B: where its sums are. For each channel: those of the full maps, row by row of each tile, sum and sum of squares; those of
// the pooled maps, 16 pixels and 16 images at a time; and the shifts of both.
template <class B> FN u64 full_sums(u32 tiles, u32 channel, u32 tile) { return 2ull * B::HEIGHT * ((u64)channel * tiles + tile); }
template <class B> FN u64 pooled_sums(u32 tiles, u32 channel, u32 tile) {
    return 2ull * B::HEIGHT * B::CHANNELS * tiles + 8ull * B::CHUNKS * ((u64)channel * tiles + tile);
}
template <class B> FN u64 shifts(u32 tiles) { return (2ull * B::HEIGHT + 8ull * B::CHUNKS) * B::CHANNELS * tiles; }
template <class B> FN u64 all_sums(u32 tiles) { return shifts<B>(tiles) + 2ull * B::CHANNELS; }

// The value of one image before the pool: the weights of map m of a group begin at `weights`.
template <class B> FN float single(const float* in, const float* weights, float bias, u32 row, u32 column) {
    float y = bias;
#pragma unroll B::PLANES_AT_ONCE
    for (u32 plane = 0; plane < B::PLANES; ++plane)
        EACH for (u32 i = 0; i < B::SIDE; ++i)
            EACH for (u32 j = 0; j < B::SIDE; ++j) {
                const u32 tap = (plane * B::SIDE + i) * B::SIDE + j;
                y = mul_add(weights[tap * B::STRIDE], in[(plane * B::PLANE + (row + i) * B::IN_WIDTH + column + j) * TILE], y);
            }
    return B::RELU ? positive(y) : y;
}

// One square of the pool before it is pooled, for the four images of a lane and the maps of a group: relu is done, shifts are taken off.
template <class B>
FN void square_of(const float* in, const float* weights, const float (&bias)[B::GROUP], const float (&minus)[B::GROUP], u32 lane, u32 row,
                  u32 column, float (&y)[B::POOL][B::POOL][B::GROUP][4]) {
    EACH for (u32 r = 0; r < B::POOL; ++r) EACH for (u32 c = 0; c < B::POOL; ++c)
        EACH for (u32 m = 0; m < B::GROUP; ++m) EACH for (u32 v = 0; v < 4; ++v) y[r][c][m][v] = bias[m];
#pragma unroll B::PLANES_AT_ONCE
    for (u32 plane = 0; plane < B::PLANES; ++plane) {
        EACH for (u32 above = 0; above < B::POOL + B::SIDE - 1; ++above) {
            Four x[B::POOL + B::SIDE - 1];
            EACH for (u32 beside = 0; beside < B::POOL + B::SIDE - 1; ++beside)
                x[beside] = four_at(in + (plane * B::PLANE + (row + above) * B::IN_WIDTH + column + beside) * TILE, lane);
            EACH for (u32 r = 0; r < B::POOL; ++r) {
                if (above < r || above - r >= B::SIDE) continue;
                const u32 i = above - r;
                EACH for (u32 j = 0; j < B::SIDE; ++j) {
                    const float* w = weights + ((plane * B::SIDE + i) * B::SIDE + j) * B::STRIDE;
                    float weight[B::STRIDE];
                    if (B::STRIDE == 1) weight[0] = w[0];
                    else EACH for (u32 m = 0; m < B::STRIDE; m += 4) {
                        const Four four = four_at(w, m / 4);
                        EACH for (u32 k = 0; k < 4; ++k) weight[m + k] = four.v[k];
                    }
                    EACH for (u32 c = 0; c < B::POOL; ++c) EACH for (u32 m = 0; m < B::GROUP; ++m) EACH for (u32 v = 0; v < 4; ++v)
                        y[r][c][m][v] = mul_add(weight[m], x[c + j].v[v], y[r][c][m][v]);
                }
            }
        }
    }
    EACH for (u32 r = 0; r < B::POOL; ++r) EACH for (u32 c = 0; c < B::POOL; ++c)
        EACH for (u32 m = 0; m < B::GROUP; ++m) EACH for (u32 v = 0; v < 4; ++v) {
            float d = y[r][c][m][v];
            if (B::RELU) d = positive(d);
            y[r][c][m][v] = B::NORM ? d - minus[m] : d;
        }
}

// What the pool makes of map m of a square.
template <class B> FN Four pooled_of(const float (&y)[B::POOL][B::POOL][B::GROUP][4], u32 m) {
    Four most;
    EACH for (u32 v = 0; v < 4; ++v) {
        most.v[v] = y[0][0][m][v];
        EACH for (u32 p = 1; p < B::POOL * B::POOL; ++p) most.v[v] = greatest_of(most.v[v], y[p / B::POOL][p % B::POOL][m][v]);
    }
    return most;
}

// One row of squares of the pool, for the four images of a lane and the maps of a group.
template <class B, bool WHOLE>
FN void row_of_squares(const float* in, const float* weights, const float* biases, const float* shift, u32 maps, float* out, u32 used,
                       u32 lane, u32 row, float (&sum)[B::POOL][B::GROUP], float (&squares)[B::POOL][B::GROUP]) {
    float bias[B::GROUP], minus[B::GROUP];
    EACH for (u32 m = 0; m < B::GROUP; ++m) { bias[m] = biases[m]; minus[m] = shift[m < maps ? m : 0]; }
    EACH for (u32 r = 0; r < B::POOL; ++r) EACH for (u32 m = 0; m < B::GROUP; ++m) sum[r][m] = squares[r][m] = 0.0f;
#pragma unroll 1
    for (u32 column = 0; column < B::WIDTH; column += B::POOL) {
        float y[B::POOL][B::POOL][B::GROUP][4];
        square_of<B>(in, weights, bias, minus, lane, row, column, y);
        if (B::NORM) EACH for (u32 r = 0; r < B::POOL; ++r) EACH for (u32 c = 0; c < B::POOL; ++c)
            EACH for (u32 m = 0; m < B::GROUP; ++m) EACH for (u32 v = 0; v < 4; ++v)
                if (WHOLE || LANE_COUNT * v + lane < used) {
                    const float d = y[r][c][m][v];
                    sum[r][m] = sum[r][m] + d;
                    squares[r][m] = mul_add(d, d, squares[r][m]);
                }
        EACH for (u32 m = 0; m < B::GROUP; ++m)
            if (m < maps) put_four(out + ((u64)m * B::POOLED_AREA + column / B::POOL) * TILE, lane, pooled_of<B>(y, m));
    }
}

// The sums of 16 pooled values of a channel, for the images of the lane of thread t, those of 16 images apart; then those of all lanes.
template <class B>
FN void sums_of_piece(const float* pooled, float shift, u32 chunk, u32 t, u32 used, float (&piece)[8][B::TEAM_SIZE]) {
    const u32 lane = t % LANE_COUNT;
    float sum[4] = {}, squares[4] = {};
    EACH_EIGHTH for (u32 pixel = 16 * chunk; pixel < 16 * chunk + 16 && pixel < B::POOLED_AREA; ++pixel) {
        const Four x = far_four_at(pooled + (u64)pixel * TILE, lane);
        EACH for (u32 v = 0; v < 4; ++v) {
            const float d = LANE_COUNT * v + lane < used ? x.v[v] - shift : 0.0f;
            sum[v] = sum[v] + d;
            squares[v] = mul_add(d, d, squares[v]);
        }
    }
    EACH for (u32 v = 0; v < 4; ++v) { piece[2 * v][t] = sum[v]; piece[2 * v + 1][t] = squares[v]; }
}
template <class B> FN float sum_of_piece(const float (&piece)[8][B::TEAM_SIZE], u32 item) {
    float lanes[LANE_COUNT];
    EACH for (u32 l = 0; l < LANE_COUNT; ++l) lanes[l] = piece[item % 8][item / 8 * LANE_COUNT + l];
    return sum_of<float, LANE_COUNT>(lanes);
}

// A block for one parameter vector and one tile.
template <class B> FN void linear_of(const NetworkArgs& a) {
    SHARED float shift[B::CHANNELS], pooled_shift[B::CHANNELS];
    SHARED float part[2 * B::POOL * B::GROUP][B::TEAM_SIZE];
    const u32 slot = BLOCK / a.tiles, tile = BLOCK % a.tiles, left = a.count - tile * TILE, used = left < TILE ? left : TILE;
    const float* folded = a.folded + (u64)slot * B::FOLDED;
    const float* values = B::FIRST ? a.pixels : a.from + (u64)slot * a.tiles * B::IN_VALUES * TILE;
    const float* in = values + (u64)tile * B::IN_VALUES * TILE;
    float* out = a.to + ((u64)slot * a.tiles + tile) * B::OUT_VALUES * TILE;
    float* sums = a.sums + slot * all_sums<B>(a.tiles);

    // What is taken from all values of a channel, so that sums stay small: its first value.
    PHASE(t) for (u32 channel = t; channel < B::CHANNELS; channel += TEAM) {
        float first = 0.0f, most = 0.0f;
        if (B::NORM || B::NORM_AFTER) {
            const u32 map = channel / B::KERNELS, kernel = channel % B::KERNELS, member = map * B::GROUPS + kernel / B::GROUP;
            const float* weights = folded + (u64)member * B::TAPS * B::STRIDE + kernel % B::GROUP;
            const float bias = folded[(u64)B::INPUTS * B::GROUPS * B::TAPS * B::STRIDE + member * B::GROUP + kernel % B::GROUP];
            const float* of_map = values + (u64)map * B::IN_AREA * TILE;
            const float y = single<B>(of_map, weights, bias, 0, 0);
            if (B::NORM) first = y;
            most = y - first;
            if (B::NORM_AFTER)
                for (u32 p = 1; p < B::POOL * B::POOL; ++p)
                    most = greatest_of(most, single<B>(of_map, weights, bias, p / B::POOL, p % B::POOL) - first);
        }
        shift[channel] = first; pooled_shift[channel] = most;
        if (tile == 0) {
            float* kept = sums + shifts<B>(a.tiles);
            kept[channel] = first; kept[B::CHANNELS + channel] = most;
        }
    }

    // Values, and their sums over the rows.
    for (u32 begun = 0; begun < B::UNITS; begun += TEAM / LANE_COUNT) {
        PHASE(t) {
            const u32 unit = begun + t / LANE_COUNT, lane = t % LANE_COUNT;
            if (unit < B::UNITS) {
                const u32 member = unit / B::POOLED_HEIGHT, row = unit % B::POOLED_HEIGHT;
                const u32 map = member / B::GROUPS, kernel = member % B::GROUPS * B::GROUP, channel = map * B::KERNELS + kernel;
                const u32 maps = B::KERNELS - kernel < B::GROUP ? B::KERNELS - kernel : B::GROUP;
                const float* weights = folded + (u64)member * B::TAPS * B::STRIDE;
                const float* biases = folded + (u64)B::INPUTS * B::GROUPS * B::TAPS * B::STRIDE + member * B::GROUP;
                const float* of_map = in + (u64)map * B::IN_AREA * TILE;
                float* to = out + ((u64)channel * B::POOLED_AREA + row * (B::WIDTH / B::POOL)) * TILE;
                float sum[B::POOL][B::GROUP], squares[B::POOL][B::GROUP];
                if (used == TILE)
                    row_of_squares<B, true>(of_map, weights, biases, shift + channel, maps, to, used, lane, row * B::POOL, sum, squares);
                else
                    row_of_squares<B, false>(of_map, weights, biases, shift + channel, maps, to, used, lane, row * B::POOL, sum, squares);
                if (B::NORM)
                    EACH for (u32 r = 0; r < B::POOL; ++r) EACH for (u32 m = 0; m < B::GROUP; ++m) {
                        part[2 * (r * B::GROUP + m)][t] = sum[r][m];
                        part[2 * (r * B::GROUP + m) + 1][t] = squares[r][m];
                    }
            }
        }
        if (B::NORM) {
            PHASE(t) for (u32 at = t; at < TEAM / LANE_COUNT * 2 * B::POOL * B::GROUP; at += TEAM) {
                const u32 kind = at / (TEAM / LANE_COUNT), place = at % (TEAM / LANE_COUNT), unit = begun + place;
                const u32 member = unit / B::POOLED_HEIGHT, row = unit % B::POOLED_HEIGHT * B::POOL + kind / 2 / B::GROUP;
                const u32 kernel = member % B::GROUPS * B::GROUP + kind / 2 % B::GROUP;
                if (unit < B::UNITS && kernel < B::KERNELS) {
                    float lanes[LANE_COUNT];
                    EACH for (u32 l = 0; l < LANE_COUNT; ++l) lanes[l] = part[kind][place * LANE_COUNT + l];
                    const u32 channel = member / B::GROUPS * B::KERNELS + kernel;
                    sums[full_sums<B>(a.tiles, channel, tile) + 2 * row + kind % 2] = sum_of<float, LANE_COUNT>(lanes);
                }
            }
        }
    }

    // The sums of the pooled values.
    if (B::NORM_AFTER) {
        SHARED float piece[8][B::TEAM_SIZE];
        for (u32 begun = 0; begun < B::CHANNELS * B::CHUNKS; begun += TEAM / LANE_COUNT) {
            PHASE(t) if (begun + t / LANE_COUNT < B::CHANNELS * B::CHUNKS) {
                const u32 at = begun + t / LANE_COUNT, channel = at / B::CHUNKS;
                sums_of_piece<B>(out + (u64)channel * B::POOLED_AREA * TILE, pooled_shift[channel], at % B::CHUNKS, t, used, piece);
            }
            PHASE(t) for (u32 item = t; item < TEAM / LANE_COUNT * 8; item += TEAM) {
                const u32 at = begun + item / 8;
                if (at < B::CHANNELS * B::CHUNKS)
                    sums[pooled_sums<B>(a.tiles, at / B::CHUNKS, tile) + 8 * (at % B::CHUNKS) + item % 8] = sum_of_piece<B>(piece, item);
            }
        }
    }
}

// The same where there are few parameter vectors: a thread block has one row of squares of one map, and a thread one square of it. Sums over
// the row follow when all of it is there, in the same order; those of the pooled values when all rows of the map are.
template <class B> FN void wide_of(const NetworkArgs& a) {
    constexpr u32 columns = B::WIDTH / B::POOL;
    SHARED float first[B::POOL * B::POOL], shift, pooled_shift;
    SHARED ALIGNED float row_of[B::POOL][B::WIDTH][TILE];
    SHARED float part[2 * B::POOL][LANE_COUNT];
    SHARED float piece[8][B::TEAM_SIZE];
    SHARED u32 last;
    const u32 unit = BLOCK % B::UNITS, tile = BLOCK / B::UNITS % a.tiles, slot = BLOCK / B::UNITS / a.tiles;
    const u32 left = a.count - tile * TILE, used = left < TILE ? left : TILE;
    const u32 channel = unit / B::POOLED_HEIGHT, row = unit % B::POOLED_HEIGHT, map = channel / B::KERNELS;
    const float* folded = a.folded + (u64)slot * B::FOLDED;
    const float* values = B::FIRST ? a.pixels : a.from + (u64)slot * a.tiles * B::IN_VALUES * TILE;
    const float* in = values + ((u64)tile * B::IN_VALUES + (u64)map * B::IN_AREA) * TILE;
    const float* weights = folded + (u64)channel * B::TAPS;
    const float bias[1] = {folded[(u64)B::INPUTS * B::GROUPS * B::TAPS + channel]};
    float* out = a.to + (((u64)slot * a.tiles + tile) * B::OUT_VALUES + (u64)channel * B::POOLED_AREA) * TILE;
    float* sums = a.sums + slot * all_sums<B>(a.tiles);

    // What is taken from all values of the channel, so that sums stay small: its first value.
    if (B::NORM || B::NORM_AFTER) {
        PHASE(t) if (t < (B::NORM_AFTER ? B::POOL * B::POOL : 1))
            first[t] = single<B>(values + (u64)map * B::IN_AREA * TILE, weights, bias[0], t / B::POOL, t % B::POOL);
    }
    PHASE(t) if (t == 0) {
        shift = B::NORM ? first[0] : 0.0f;
        float most = B::NORM || B::NORM_AFTER ? first[0] - shift : 0.0f;
        if (B::NORM_AFTER) EACH for (u32 p = 1; p < B::POOL * B::POOL; ++p) most = greatest_of(most, first[p] - shift);
        pooled_shift = most;
        if (tile == 0 && row == 0) {
            float* kept = sums + shifts<B>(a.tiles);
            kept[channel] = shift; kept[B::CHANNELS + channel] = most;
        }
    }

    // Values.
    PHASE(t) for (u32 at = t; at < columns * LANE_COUNT; at += TEAM) {
        const u32 column = at / LANE_COUNT, lane = at % LANE_COUNT;
        const float minus[1] = {shift};
        float y[B::POOL][B::POOL][1][4];
        square_of<B>(in, weights, bias, minus, lane, row * B::POOL, column * B::POOL, y);
        if (B::NORM) EACH for (u32 r = 0; r < B::POOL; ++r) EACH for (u32 c = 0; c < B::POOL; ++c) {
            Four four;
            EACH for (u32 v = 0; v < 4; ++v) four.v[v] = y[r][c][0][v];
            put_four(row_of[r][column * B::POOL + c], lane, four);
        }
        put_four(out + (u64)(row * columns + column) * TILE, lane, pooled_of<B>(y, 0));
    }

    // Their sums over the rows.
    if (B::NORM) {
        PHASE(t) for (u32 at = t; at < 2 * B::POOL * LANE_COUNT; at += TEAM) {
            const u32 lane = at % LANE_COUNT, kind = at / LANE_COUNT;
            float sum = 0.0f;
            EACH_EIGHTH for (u32 column = 0; column < B::WIDTH; ++column) {
                const Four four = four_at(row_of[kind / 2][column], lane);
                EACH for (u32 v = 0; v < 4; ++v) if (LANE_COUNT * v + lane < used)
                    sum = kind % 2 ? mul_add(four.v[v], four.v[v], sum) : sum + four.v[v];
            }
            part[kind][lane] = sum;
        }
        PHASE(t) if (t < 2 * B::POOL) {
            float lanes[LANE_COUNT];
            EACH for (u32 l = 0; l < LANE_COUNT; ++l) lanes[l] = part[t][l];
            sums[full_sums<B>(a.tiles, channel, tile) + 2 * (row * B::POOL + t / 2) + t % 2] = sum_of<float, LANE_COUNT>(lanes);
        }
    }

    // The sums of the pooled values, by whoever comes last among the rows.
    if (B::NORM_AFTER) {
        PHASE(t) if (t == 0) {
            last = LAST_OF(a.arrived[((u64)slot * a.tiles + tile) * B::CHANNELS + channel], B::POOLED_HEIGHT);
            SEE_OTHERS();
        }
        if (!last) return;
        for (u32 begun = 0; begun < B::CHUNKS; begun += TEAM / LANE_COUNT) {
            PHASE(t) if (begun + t / LANE_COUNT < B::CHUNKS) sums_of_piece<B>(out, pooled_shift, begun + t / LANE_COUNT, t, used, piece);
            PHASE(t) for (u32 item = t; item < TEAM / LANE_COUNT * 8; item += TEAM)
                if (begun + item / 8 < B::CHUNKS)
                    sums[pooled_sums<B>(a.tiles, channel, tile) + 8 * (begun + item / 8) + item % 8] = sum_of_piece<B>(piece, item);
        }
    }
}

// Batch normalisation of one channel: what it makes of a scale and an offset. Says whether its statistics are numbers.
FN bool normalised(double shift, double sum, double squares, double count, double& scale, double& offset) {
    const double own = shift + sum / count;
    double v = (squares - sum * sum / count) / (count - 1.0);
    if (v < 0.0) v = 0.0;
    const double mean = scale * own + offset, variance = scale * scale * v, root = sqrt(variance + EPSILON);
    scale = scale / root;
    offset = (offset - mean) / root;
    return fabs(mean) < infinity() && fabs(variance) < infinity() && variance >= 0.0;
}

// The scale and offset of a channel after block B, from the sums that the block has left.
template <class B> FN bool affine_of(const NetworkArgs& a, u32 slot, u32 channel, double& scale, double& offset) {
    const float* sums = a.sums + slot * all_sums<B>(a.tiles);
    const float* kept = sums + shifts<B>(a.tiles);
    bool right = true;
    scale = 1.0; offset = (double)kept[channel];
    if (B::NORM) {
        double sum = 0.0, squares = 0.0;
        for (u32 tile = 0; tile < a.tiles; ++tile) {
            const float* rows = sums + full_sums<B>(a.tiles, channel, tile);
            EACH_EIGHTH for (u32 row = 0; row < B::HEIGHT; ++row) { sum = sum + (double)rows[2 * row]; squares = squares + (double)rows[2 * row + 1]; }
        }
        right = normalised(0.0, sum, squares, (double)((u64)a.count * B::FULL_AREA), scale, offset);
    }
    if (B::NORM_AFTER) {
        double sum = 0.0, squares = 0.0;
        for (u32 tile = 0; tile < a.tiles; ++tile) {
            const float* pieces = sums + pooled_sums<B>(a.tiles, channel, tile);
            EACH_EIGHTH for (u32 at = 0; at < 4 * B::CHUNKS; ++at) { sum = sum + (double)pieces[2 * at]; squares = squares + (double)pieces[2 * at + 1]; }
        }
        const double shift = (double)kept[B::CHANNELS + channel];
        right = normalised(shift, sum, squares, (double)((u64)a.count * B::POOLED_AREA), scale, offset) && right;
    }
    return right;
}

// The parameters of the next evaluation.
FN const float* parameters_of(const NetworkArgs& a, u32 slot) {
    const u32 row = a.first + slot;
    return a.positions + (u64)(a.chosen ? a.chosen[row] : row) * PARAMETERS;
}

// Before the first block: the weights as they are, in the order of the hot loop.
template <class B> FN void begin_of(const NetworkArgs& a) {
    SHARED u32 wrong;
    const float* parameters = parameters_of(a, BLOCK);
    float* folded = a.folded + (u64)BLOCK * B::FOLDED;
    PHASE(t) if (t == 0) wrong = 0;
    PHASE(t) {
        EACH_EIGHTH for (u32 at = t; at < PARAMETERS; at += TEAM) if (!(fabsf(parameters[at]) < (float)infinity())) wrong = 1;
        for (u32 at = t; at < B::GROUPS * B::TAPS * B::STRIDE; at += TEAM) {
            const u32 group = at / (B::TAPS * B::STRIDE), tap = at / B::STRIDE % B::TAPS, kernel = group * B::GROUP + at % B::STRIDE;
            const bool is_there = at % B::STRIDE < B::GROUP && kernel < B::KERNELS;
            for (u32 map = 0; map < B::INPUTS; ++map)
                folded[(u64)(map * B::GROUPS + group) * B::TAPS * B::STRIDE + tap * B::STRIDE + at % B::STRIDE] =
                    is_there ? parameters[B::WEIGHTS + kernel * B::TAPS + tap] : 0.0f;
        }
        for (u32 at = t; at < B::INPUTS * B::GROUPS * B::GROUP; at += TEAM) {
            const u32 kernel = at / B::GROUP % B::GROUPS * B::GROUP + at % B::GROUP;
            folded[(u64)B::INPUTS * B::GROUPS * B::TAPS * B::STRIDE + at] = kernel < B::KERNELS ? parameters[B::BIASES + kernel] : 0.0f;
        }
    }
    PHASE(t) if (t == 0) a.failed[BLOCK] = wrong;
}

// Between block A and block B.
template <class A, class B> FN void fold_of(const NetworkArgs& a) {
    constexpr u32 channels = B::SHARED_KERNELS ? 1 : A::CHANNELS, taps = B::TAPS / channels, members = B::INPUTS * B::GROUPS;
    SHARED double scale[A::CHANNELS], offset[A::CHANNELS], sums[B::KERNELS * channels];
    SHARED u32 plain;
    const float* parameters = parameters_of(a, BLOCK);
    float* folded = a.folded + (u64)BLOCK * B::FOLDED;
    PHASE(t) {
        if (t == 0) plain = 1;
        for (u32 channel = t; channel < A::CHANNELS; channel += TEAM)
            if (!affine_of<A>(a, BLOCK, channel, scale[channel], offset[channel])) a.failed[BLOCK] = 1;
        // The sums of the weights of each channel, by the threads that are left.
        for (u32 at = TEAM - 1 - t; at < B::KERNELS * channels; at += TEAM) {
            const float* from = parameters + B::WEIGHTS + at / channels * B::TAPS + at % channels * taps;
            double sum = 0.0;
            EACH_EIGHTH for (u32 tap = 0; tap < taps; ++tap) sum = sum + (double)from[tap];
            sums[at] = sum;
        }
    }
    PHASE(t) for (u32 channel = t; channel < A::CHANNELS; channel += TEAM) if (scale[channel] != 1.0 || offset[channel] != 0.0) plain = 0;
    PHASE(t) {
        EACH_EIGHTH for (u32 at = t; at < members * B::TAPS * B::STRIDE; at += TEAM) {
            const u32 member = at / (B::TAPS * B::STRIDE), tap = at / B::STRIDE % B::TAPS, m = at % B::STRIDE;
            const u32 kernel = member % B::GROUPS * B::GROUP + m, channel = B::SHARED_KERNELS ? member / B::GROUPS : tap / taps;
            float weight = 0.0f;
            if (m < B::GROUP && kernel < B::KERNELS) {
                weight = parameters[B::WEIGHTS + kernel * B::TAPS + tap];
                if (!plain) weight = weight * (float)scale[channel];
            }
            folded[at] = weight;
        }
        for (u32 at = TEAM - 1 - t; at < members * B::GROUP; at += TEAM) {
            const u32 member = at / B::GROUP, kernel = member % B::GROUPS * B::GROUP + at % B::GROUP;
            double bias = kernel < B::KERNELS ? (double)parameters[B::BIASES + kernel] : 0.0;
            if (!plain && kernel < B::KERNELS)
                for (u32 c = 0; c < channels; ++c)
                    bias = bias + sums[kernel * channels + c] * offset[B::SHARED_KERNELS ? member / B::GROUPS : c];
            folded[(u64)members * B::TAPS * B::STRIDE + at] = (float)bias;
        }
    }
}

// The loss after the last block A.
template <class A> FN void loss_of(const NetworkArgs& a) {
    SHARED float scale[CLASSES], offset[CLASSES];
    constexpr u32 area = CLASSES / A::CHANNELS;
    PHASE(t) for (u32 channel = t; channel < A::CHANNELS; channel += TEAM) {
        double s, o;
        if (!affine_of<A>(a, BLOCK, channel, s, o)) a.failed[BLOCK] = 1;
        for (u32 k = 0; k < area; ++k) { scale[channel * area + k] = (float)s; offset[channel * area + k] = (float)o; }
    }
    float* each = a.each + (u64)BLOCK * a.count;
    PHASE(t) for (u32 image = t; image < a.count; image += TEAM) {
        const u32 tile = image / TILE, place = image % LANE_COUNT * 4 + image % TILE / LANE_COUNT;
        const float* values = a.from + ((u64)BLOCK * a.tiles + tile) * CLASSES * TILE + place;
        const u32 label = a.labels[a.batch[image]];
        float logits[CLASSES];
        for (u32 k = 0; k < CLASSES; ++k) logits[k] = mul_add(values[k * TILE], scale[k], offset[k]);
        float greatest = logits[0], own = logits[0], sum = 0.0f;
        for (u32 k = 1; k < CLASSES; ++k) {
            greatest = greatest < logits[k] ? logits[k] : greatest;
            if (k == label) own = logits[k];
        }
        for (u32 k = 0; k < CLASSES; ++k) sum = sum + exponential(logits[k] - greatest);
        each[image] = greatest + logarithm(sum) - own;
    }
    PHASE(t) if (t == 0) {
        double loss = 0.0;
        EACH_EIGHTH for (u32 image = 0; image < a.count; ++image) loss = loss + (double)each[image];
        a.losses[a.first + BLOCK] = a.failed[BLOCK] ? not_a_number() : loss / (double)a.count;
    }
}
