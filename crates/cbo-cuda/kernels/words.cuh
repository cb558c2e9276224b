// The words of the device, and what stands in for them where a C++ compiler builds the same kernels for the processor.
//
// A kernel is a sequence of phases: PHASE(t) is done by every thread t of a block, and is over for all of them before the next begins.
// What outlives a phase is in SHARED memory, or each thread's OWN. On the processor a
// phase is a loop, in the order of the threads.
//
// A launch may begin while the one before still runs, once all blocks of that have come to LET_NEXT_BEGIN; it may touch what others write
// after AWAIT_BEFORE only.

#ifdef __CUDACC__
#define FN static __device__ __forceinline__
#define FN_MEMBER __device__ __forceinline__
#define GRID_CONSTANT __grid_constant__
#define FIRST_BIT(bits) (__ffs(bits) - 1)
#define EACH _Pragma("unroll")
#define EACH_EIGHTH _Pragma("unroll 8")
#define EACH_SECOND _Pragma("unroll 2")
#define ALIGNED __align__(16)
#if HELD
#define EACH_COORDINATE _Pragma("unroll")
#else
#define EACH_COORDINATE _Pragma("unroll 16")
#endif
#define KERNEL(...) extern "C" __global__ void __launch_bounds__(__VA_ARGS__)
#define TEAM blockDim.x
#define BLOCK blockIdx.x
#define BLOCKS gridDim.x
#define SHARED __shared__
#define PHASE(t) for (unsigned t = threadIdx.x, once_ = 1; once_; once_ = 0, __syncthreads())
#define WARP 32
#define MARK(word, bit, yes) { const u32 marks_ = __ballot_sync(~0u, yes); if ((bit) == 0) (word) = marks_; }
#define LAST_OF(counter, members) (__threadfence(), atomicInc(&(counter), (members) - 1) == (members) - 1)
#define SEE_OTHERS() __threadfence()
#define SEE_FAR() __threadfence_system()
#define LOAD_FAR(x) __ldcg(&(x))
#define STORE_TWO(to, x, y) asm volatile("st.volatile.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(x), "l"(y) : "memory")
#define OWN(type, name, count) type name[count];
#define OWN_OF(name, t) name
#if __CUDA_ARCH__ >= 900
#define LET_NEXT_BEGIN() asm volatile("griddepcontrol.launch_dependents;" ::: "memory")
#define AWAIT_BEFORE() asm volatile("griddepcontrol.wait;" ::: "memory")
#else
#define LET_NEXT_BEGIN() ((void)0)
#define AWAIT_BEFORE() ((void)0)
#endif
#define FORGET() asm volatile("" ::: "memory")
#define APART static __device__ __noinline__
#define RUN(kernel, args)
#else
#include <math.h>
#include <string.h>
#define FN static inline
#define FN_MEMBER inline
#define GRID_CONSTANT
#define FIRST_BIT(bits) ((u32)__builtin_ctz(bits))
#define EACH
#define EACH_EIGHTH
#define EACH_SECOND
#define ALIGNED
#define EACH_COORDINATE
#define KERNEL(...) static void
#define TEAM team_
#define BLOCK block_
#define BLOCKS blocks_
#define SHARED static
#define PHASE(t) for (unsigned t = 0; t < team_; ++t)
#define WARP 1
#define MARK(word, bit, yes) { (word) = ((bit) == 0 ? 0u : (word)) | (u32)(yes) << (bit); }
#define LAST_OF(counter, members) (((counter) = (counter) + 1 == (members) ? 0 : (counter) + 1) == 0)
#define SEE_OTHERS() ((void)0)
#define SEE_FAR() ((void)0)
#define LOAD_FAR(x) (x)
#define STORE_TWO(to, x, y) ((to)[0] = (x), (to)[1] = (y))
#define OWN(type, name, count) static type name[THREADS][count];
#define OWN_OF(name, t) name[t]
#define LET_NEXT_BEGIN() ((void)0)
#define AWAIT_BEFORE() ((void)0)
#define FORGET() ((void)0)
#define APART static inline
static unsigned block_, blocks_, team_;
// A kernel as a function that tests can call.
#define RUN(kernel, args)                                                              \
    extern "C" void run_##kernel(const args* a, unsigned blocks, unsigned threads) {   \
        blocks_ = blocks; team_ = threads;                                             \
        for (block_ = 0; block_ < blocks; ++block_) kernel(*a);                        \
    }
FN float __int_as_float(int x) { float r; memcpy(&r, &x, 4); return r; }
FN int __float_as_int(float x) { int r; memcpy(&r, &x, 4); return r; }
FN double __longlong_as_double(long long x) { double r; memcpy(&r, &x, 8); return r; }
FN long long __double_as_longlong(double x) { long long r; memcpy(&r, &x, 8); return r; }
#endif

typedef unsigned long long u64;
typedef unsigned u32;

// Copies to shared memory that a thread need not wait for, where the device has them.
#if defined(__CUDACC__) && __CUDA_ARCH__ >= 800
#define COPY_AHEAD(to, from) \
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from), "n"(sizeof(T)) : "memory")
#define COPIES_END() asm volatile("cp.async.commit_group;" ::: "memory")
#define COPIES_LEFT(count) asm volatile("cp.async.wait_group %0;" ::"n"(count) : "memory")
#else
#define COPY_AHEAD(to, from) (*(to) = *(from))
#define COPIES_END() ((void)0)
#define COPIES_LEFT(count) ((void)0)
#endif

// The least of the values of the threads of a warp, the first of its places, and the sum of their counts. On the processor a warp is one
// thread.
template <class R> FN void least_of_warp(R& least, u32& place, u32& count) {
#ifdef __CUDACC__
    EACH for (u32 far = 16; far > 0; far /= 2) {
        const R other = __shfl_xor_sync(~0u, least, far);
        const u32 at = __shfl_xor_sync(~0u, place, far);
        if (other < least || (other == least && at < place)) { least = other; place = at; }
    }
    if (__any_sync(~0u, count)) EACH for (u32 far = 16; far > 0; far /= 2) count += __shfl_xor_sync(~0u, count, far);
#endif
}

// A number that is computed here, and not later, when somebody needs it.
#ifdef __CUDACC__
FN void now_known(double& x) { asm volatile("" : "+d"(x)); }
FN void now_known(float& x) { asm volatile("" : "+f"(x)); }
#else
template <class R> FN void now_known(R&) {}
#endif

// a b + c, rounded once.
FN double mul_add(double a, double b, double c) { return fma(a, b, c); }
FN float mul_add(float a, float b, float c) { return fmaf(a, b, c); }

// Lowest coefficient first, by Horner's rule.
template <class R, int N> FN R polynomial(const double (&c)[N], R x) {
    R sum = (R)c[N - 1];
    EACH for (int i = N - 2; i >= 0; --i) sum = mul_add(sum, x, (R)c[i]);
    return sum;
}
