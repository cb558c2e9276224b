use cbo::simd::*;
use cbo::*;
struct Ras<'a, T> {
    rows: &'a [T],
    dim: usize,
    out: &'a mut [T],
}
impl<T: Scalar> Kernel<T> for Ras<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let mut sq = [V::constant(0.0); 16];
        let d = self.dim;
        for (r, o) in self.rows.chunks(V::LANES * d).zip(self.out.chunks_mut(V::LANES)) {
            let n = r.len() / d;
            let mut e = V::constant(0.0);
            let mut k = 0;
            while k < d {
                let w = V::LANES.min(d - k);
                for i in 0..V::LANES {
                    sq[i] = if i < n { V::load_partial(&r[i * d + k..i * d + k + w]) } else { V::constant(0.0) };
                }
                V::transpose(&mut sq[..V::LANES]);
                for i in 0..w {
                    let x = sq[i];
                    let s = x.sin_pi();
                    e = x.mul_add(x, e);
                    e = (s * s).mul_add(V::constant(5.0), e);
                }
                k += w;
            }
            e.store_partial(o);
        }
    }
}
struct O(usize);
impl<T: Scalar> Objective<T> for O {
    fn dim(&self) -> usize {
        self.0
    }
    fn energies(&self, _: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        simd::run(Ras { rows: rows.as_slice(), dim: self.0, out });
        Ok(())
    }
}
fn go<T: Scalar>(n: usize, d: usize, steps: u64, threads: usize, diffusion: Diffusion, alpha: f64) {
    let c = CboConfig {
        particles: n,
        steps: Some(steps),
        threads,
        diffusion,
        alpha: Alpha::Constant(alpha),
        sigma: Sigma::Constant(0.32),
        dt: 0.01,
        ..Default::default()
    };
    let mut best = f64::INFINITY;
    let mut v = 0.0;
    for _ in 0..3 {
        let r = solve::<T>(&c, &O(d), &mut ()).unwrap();
        best = best.min(r.seconds);
        v = r.best.value;
    }
    println!(
        "{} N={n} d={d} threads={threads} {diffusion:?} alpha={alpha:e}: {:.3} ms/step {:.3} ns/coord*thread  total {:.2} ms best {v:.3e}",
        T::NAME,
        best * 1e3 / steps as f64,
        best * 1e9 * threads as f64 / (steps as usize * n * d) as f64,
        best * 1e3
    );
}
fn main() {
    for t in [1, 2] {
        for df in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            go::<f64>(320000, 16, 10, t, df, 1e15);
            go::<f32>(320000, 16, 10, t, df, 1e15);
        }
    }
    go::<f64>(320000, 16, 10, 2, Diffusion::Anisotropic, 1.0);
    go::<f64>(100, 20, 1000, 1, Diffusion::Anisotropic, 1e15);
    go::<f64>(100, 20, 1000, 1, Diffusion::Anisotropic, 1e-2);
    go::<f32>(100, 20, 1000, 1, Diffusion::Anisotropic, 1e15);
    go::<f64>(100, 20, 1000, 1, Diffusion::Isotropic, 1e15);
}
