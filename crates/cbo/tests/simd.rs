//! Every instruction set of this machine against the portable one, bit for bit, and against the standard library.

use cbo::noise::{Noise, Stream, scratch_len};
use cbo::simd::{InstructionSet, Kernel, Real, Scalar, Vector, available, run_on};
use proptest::prelude::*;

/// One elementary function on a slice.
#[derive(Clone, Copy, Debug)]
enum Function {
    Exp,
    Ln,
    Sin,
    Cos,
    SinPi,
    SinPiSquared,
    CosPi,
    Sqrt,
    QuickSqrt,
    Round,
    Floor,
    Abs,
    Powf,
    Powi,
    SelfMin,
    Quotient,
}

const ALL: [Function; 16] = [
    Function::Exp,
    Function::Ln,
    Function::Sin,
    Function::Cos,
    Function::SinPi,
    Function::SinPiSquared,
    Function::CosPi,
    Function::Sqrt,
    Function::QuickSqrt,
    Function::Round,
    Function::Floor,
    Function::Abs,
    Function::Powf,
    Function::Powi,
    Function::SelfMin,
    Function::Quotient,
];

impl Function {
    #[inline(always)]
    fn of<R: Real>(self, x: R) -> R {
        match self {
            Self::Exp => x.exp(),
            Self::Ln => x.ln(),
            Self::Sin => x.sin(),
            Self::Cos => x.cos(),
            Self::SinPi => x.sin_pi(),
            Self::SinPiSquared => x.sin_pi_up_to_sign().square(),
            Self::CosPi => x.cos_pi(),
            Self::Sqrt | Self::QuickSqrt => x.sqrt(),
            Self::Round => x.round(),
            Self::Floor => x.floor(),
            Self::Abs => x.abs(),
            Self::Powf => x.abs().powf(2.7),
            Self::Powi => x.powi(5),
            Self::SelfMin => (x * 2.0).min(x + 1.0).max(-x),
            Self::Quotient => (x - 1.0) / (x.square() + 2.0),
        }
    }
}

struct Apply<'a, T> {
    function: Function,
    input: &'a [T],
}

impl<T: Scalar> Kernel<T> for Apply<'_, T> {
    type Output = Vec<T>;
    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) -> Vec<T> {
        let mut out = vec![T::default(); self.input.len()];
        for (x, y) in self.input.chunks(V::LANES).zip(out.chunks_mut(V::LANES)) {
            let x = V::load_partial(x);
            let value = if let Function::QuickSqrt = self.function { x.quick_sqrt() } else { self.function.of(x) };
            value.store_partial(y);
        }
        out
    }
}

fn same<T: Scalar>(a: &[T], b: &[T]) -> Result<(), String> {
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        let (x, y) = (x.to_f64(), y.to_f64());
        // Any NaN is as good as another.
        if x.to_bits() != y.to_bits() && !(x.is_nan() && y.is_nan()) {
            return Err(format!("place {i}: {x:e} and {y:e}"));
        }
    }
    Ok(())
}

/// Distance in units in the last place of `T` near `want`.
fn ulps<T: Scalar>(got: f64, want: f64) -> f64 {
    let digits = if T::NAME == "f64" { 52 } else { 23 };
    let unit = 2f64.powi((want.abs().max(f64::MIN_POSITIVE).log2().floor() as i32) - digits);
    (got - want).abs() / unit
}

/// Largest error in units in the last place against the standard library, over `inputs`, for every instruction set.
fn worst_error<T: Scalar>(function: Function, inputs: &[f64]) -> f64 {
    let rounded: Vec<T> = inputs.iter().map(|&x| T::from_f64(x)).collect();
    let mut worst = 0.0f64;
    for set in available() {
        let got = run_on(set, Apply { function, input: &rounded });
        for (x, y) in rounded.iter().zip(got) {
            let want = function.of(x.to_f64());
            // Near zeros of sine and logarithm the absolute error counts.
            let scale = if want.abs() < 0.1 { 0.1 * want.signum() } else { want };
            let error = ulps::<T>(y.to_f64() - want + scale, scale);
            assert!(error.is_finite(), "{function:?} on {set:?} at {x}: {y}, not {want}");
            worst = worst.max(error);
        }
    }
    worst
}

fn grid(low: f64, high: f64) -> Vec<f64> {
    (0..40_001).map(|i| low + (high - low) * f64::from(i) / 40_000.0).collect()
}

#[test]
fn elementary_functions_are_accurate() {
    use Function::*;
    let cases = [
        (Exp, grid(-80.0, 80.0), 3.0),
        (Ln, grid(1e-6, 50.0), 3.0),
        (Ln, grid(1.0, 1e30), 3.0),
        (Sin, grid(-100.0, 100.0), 3.0),
        (Cos, grid(-100.0, 100.0), 3.0),
        (Sin, grid(-1e5, 1e5), 4.0),
        (SinPi, grid(-40.0, 40.0), 3.0),
        (SinPiSquared, grid(-40.0, 40.0), 7.0),
        (CosPi, grid(-40.0, 40.0), 3.0),
        (Sqrt, grid(0.0, 1e3), 0.5),
        (QuickSqrt, grid(1e-9, 60.0), 64.0), // 2^-46
        (Round, grid(-9.0, 9.0), 0.0),
        (Floor, grid(-9.0, 9.0), 0.0),
        (Quotient, grid(-9.0, 9.0), 3.0),
    ];
    for (function, inputs, bound) in cases {
        let (double, single) = (worst_error::<f64>(function, &inputs), worst_error::<f32>(function, &inputs));
        assert!(double <= bound, "{function:?} in f64: {double} units in the last place");
        assert!(single <= bound + 1.0, "{function:?} in f32: {single} units in the last place");
    }
}

#[test]
fn special_values() {
    use Function::*;
    let inputs =
        [0.0, -0.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.0, 1e300, -1e300, 5e-324, 800.0, -800.0, 3e9];
    for set in available() {
        for function in [Exp, Ln, Sin, Cos, SinPi, Sqrt, Abs, Floor] {
            let got = run_on(set, Apply { function, input: &inputs });
            for (x, y) in inputs.iter().zip(got) {
                let want = function.of(*x);
                let fine =
                    (y.is_nan() && want.is_nan()) || y == want || (y - want).abs() < 1e-9 * want.abs().max(1e-12);
                assert!(fine, "{function:?}({x}) on {set:?}: {y}, not {want}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn all_instruction_sets_agree_bit_for_bit(input in prop::collection::vec(prop::num::f64::ANY, 1..40)) {
        let single: Vec<f32> = input.iter().map(|&x| x as f32).collect();
        for function in ALL {
            let double_reference = run_on(InstructionSet::PORTABLE, Apply { function, input: &input });
            let single_reference = run_on(InstructionSet::PORTABLE, Apply { function, input: &single });
            for set in available() {
                let double = same(&run_on(set, Apply { function, input: &input }), &double_reference);
                prop_assert!(double.is_ok(), "{function:?} f64 on {set:?}: {double:?}");
                let single = same(&run_on(set, Apply { function, input: &single }), &single_reference);
                prop_assert!(single.is_ok(), "{function:?} f32 on {set:?}: {single:?}");
            }
        }
    }

    #[test]
    fn normals_agree_bit_for_bit(seed: u64, step in 0u64..1 << 50, first: u32, rows in 1usize..70, dim in 1usize..40) {
        fn check<T: Scalar>(noise: Noise, first: u32, rows: usize, dim: usize) -> Result<(), String> {
            let mut reference = vec![T::default(); scratch_len(rows, dim)];
            run_on(InstructionSet::PORTABLE, noise.normals(first, rows, dim, &mut reference));
            for set in available() {
                let mut out = vec![T::default(); scratch_len(rows, dim)];
                run_on(set, noise.normals(first, rows, dim, &mut out));
                same(&out, &reference).map_err(|e| format!("{} on {set:?}, {e}", T::NAME))?;
            }
            Ok(())
        }
        let noise = Noise::new(seed, Stream::Diffusion, step);
        prop_assert_eq!(check::<f64>(noise, first, rows, dim), Ok(()));
        prop_assert_eq!(check::<f32>(noise, first, rows, dim), Ok(()));
    }
}

struct Transpose;

impl<T: Scalar> Kernel<T> for Transpose {
    type Output = Vec<T>;
    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) -> Vec<T> {
        let count = V::LANES * V::LANES;
        let numbers: Vec<T> = (0..count).map(|i| T::from_f64(i as f64)).collect();
        let mut square: Vec<V> = numbers.chunks(V::LANES).map(V::load).collect();
        V::transpose(&mut square);
        let mut out = vec![T::default(); count];
        square.iter().zip(out.chunks_mut(V::LANES)).for_each(|(v, to)| v.store(to));
        out
    }
}

#[test]
fn transpose_exchanges_rows_and_columns() {
    fn check<T: Scalar>(lanes: usize) {
        for set in available() {
            for (i, x) in run_on::<T, _>(set, Transpose).iter().enumerate() {
                assert_eq!(x.to_f64(), (i % lanes * lanes + i / lanes) as f64, "{set:?} {}", T::NAME);
            }
        }
    }
    check::<f64>(8);
    check::<f32>(16);
}

struct LoadTransposed<'a, T>(&'a [T], usize, usize);

impl<T: Scalar> Kernel<T> for LoadTransposed<'_, T> {
    type Output = Vec<T>;
    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) -> Vec<T> {
        let mut square = vec![V::splat(T::from_f64(9.0)); V::LANES];
        V::load_transposed(self.0, self.1, self.2, &mut square);
        let mut out = vec![T::default(); V::LANES * V::LANES];
        square.iter().zip(out.chunks_mut(V::LANES)).for_each(|(v, to)| v.store(to));
        out
    }
}

#[test]
fn rows_are_loaded_into_lanes() {
    fn check<T: Scalar>(lanes: usize) {
        for set in available() {
            let widths = (1..=lanes).flat_map(|width| [0, 1, 7, 40].map(|more| (width + more, width)));
            for (stride, width) in widths {
                // Exactly as long as it must be.
                let rows: Vec<T> = (0..(lanes - 1) * stride + width).map(|i| T::from_f64(i as f64 + 1.0)).collect();
                let loaded = run_on(set, LoadTransposed(&rows, stride, width));
                for (i, x) in loaded[..lanes * width].iter().enumerate() {
                    let (k, r) = (i / lanes, i % lanes);
                    let want = (r * stride + k + 1) as f64;
                    assert_eq!(x.to_f64(), want, "{set:?} {} stride {stride} width {width}", T::NAME);
                }
            }
        }
    }
    check::<f64>(8);
    check::<f32>(16);
}

/// A stride so large that its multiples wrap around must not let a load leave the rows.
#[test]
fn rows_that_lie_too_far_apart_are_refused() {
    let rows = vec![1.0f64; 64];
    for set in available() {
        for stride in [9, 1 << 40, 1 << 61, usize::MAX / 7 + 1] {
            let load = || run_on(set, LoadTransposed(&rows, stride, 8));
            assert!(std::panic::catch_unwind(load).is_err(), "{set:?} stride {stride}");
        }
    }
}

struct Sum<'a>(&'a [f64]);

impl Kernel<f64> for Sum<'_> {
    type Output = (f64, bool);
    #[inline(always)]
    fn run<V: Vector<Scalar = f64>>(self) -> (f64, bool) {
        let v = V::load_partial(self.0);
        (v.sum(), v.all_less(V::splat(6.0)))
    }
}

struct SumAll<'a, T>(&'a [T]);

impl<T: Scalar> Kernel<T> for SumAll<'_, T> {
    type Output = T;
    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) -> T {
        V::load_partial(self.0).sum()
    }
}

#[test]
fn sums_are_the_same_tree_everywhere() {
    let numbers: Vec<f64> = (0..16).map(|i| (f64::from(i) * 1.7).exp() * if i % 3 == 0 { -1.0 } else { 1.0 }).collect();
    let singles: Vec<f32> = numbers.iter().map(|&x| x as f32).collect();
    let reference = run_on(InstructionSet::PORTABLE, SumAll(&numbers[..8]));
    assert!((reference - numbers[..8].iter().sum::<f64>()).abs() < 1e-9);
    let single = run_on(InstructionSet::PORTABLE, SumAll(&singles));
    for set in available() {
        assert_eq!(run_on(set, SumAll(&numbers[..8])).to_bits(), reference.to_bits(), "{set:?}");
        assert_eq!(run_on(set, SumAll(&singles)).to_bits(), single.to_bits(), "{set:?}");
    }
}

/// The first `self.1` lanes of a vector that holds `self.0`.
struct StorePartial<'a, T>(&'a [T], usize);

impl<T: Scalar> Kernel<T> for StorePartial<'_, T> {
    type Output = Vec<T>;
    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) -> Vec<T> {
        let mut out = vec![T::from_f64(-1.0); V::LANES + 1];
        V::load_partial(self.0).store_partial(&mut out[..self.1]);
        out
    }
}

#[test]
fn partial_loads_and_stores_of_every_length() {
    fn check<T: Scalar>(lanes: usize) {
        let numbers: Vec<T> = (0..lanes).map(|i| T::from_f64(i as f64 + 1.0)).collect();
        for set in available() {
            for (loaded, stored) in (0..=lanes).flat_map(|l| (0..=lanes).map(move |s| (l, s))) {
                for (i, x) in run_on(set, StorePartial(&numbers[..loaded], stored)).iter().enumerate() {
                    let want = if i >= stored {
                        -1.0
                    } else if i < loaded {
                        i as f64 + 1.0
                    } else {
                        0.0
                    };
                    assert_eq!(x.to_f64(), want, "{set:?} {} {loaded} {stored}", T::NAME);
                }
            }
        }
    }
    check::<f64>(8);
    check::<f32>(16);
}

#[test]
fn partial_loads_fill_with_zeros() {
    for set in available() {
        assert_eq!(run_on(set, Sum(&[1.0, 2.0, 3.0])), (6.0, true), "{set:?}");
        assert_eq!(run_on(set, Sum(&[])), (0.0, true), "{set:?}");
        assert_eq!(run_on(set, Sum(&[1.0, 7.0])), (8.0, false), "{set:?}");
        assert!(!run_on(set, Sum(&[1.0, f64::NAN])).1, "{set:?}");
    }
}
