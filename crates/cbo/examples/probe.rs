use cbo::noise::*;
use cbo::simd::*;
use std::time::Instant;
fn go<T: Scalar>() {
    for set in available() {
        for (rows, dim) in [(64usize, 16usize), (100, 20)] {
            let n = Noise::new(1, Stream::Diffusion, 3);
            let mut out = vec![T::default(); scratch_len(rows, dim)];
            let reps = 20000usize * 64 * 16 / (rows * dim) / (if set == InstructionSet::Portable { 20 } else { 1 });
            let t = Instant::now();
            for i in 0..reps {
                run_on(set, n.normals(i as u32, rows, dim, &mut out));
            }
            let s = t.elapsed().as_secs_f64();
            let mean: f64 = out.iter().map(|x| x.to_f64()).sum::<f64>() / out.len() as f64;
            let var: f64 = out.iter().map(|x| x.to_f64().powi(2)).sum::<f64>() / out.len() as f64;
            println!(
                "{} {:?} d={dim}: {:.3} ns/normal mean {mean:.4} var {var:.4} first {:?}",
                T::NAME,
                set,
                s * 1e9 / (reps * rows * dim) as f64,
                &out[..4]
            );
        }
    }
}
fn main() {
    go::<f64>();
    go::<f32>();
}
