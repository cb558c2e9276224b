//! The randomness contract: known answers, the distribution of the normals, and what they may not depend on.

use cbo::noise::{Noise, Stream, padded, philox, scratch_len};
use cbo::simd::Scalar;

/// Known-answer vectors of the Random123 library for philox4x32-10 (file `kat_vectors`).
#[test]
fn philox_known_answers() {
    let vectors: [([u32; 4], [u32; 2], [u32; 4]); 3] = [
        ([0; 4], [0; 2], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]),
        ([u32::MAX; 4], [u32::MAX; 2], [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]),
        (
            [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
            [0xa4093822, 0x299f31d0],
            [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
        ),
    ];
    for (counter, key, answer) in vectors {
        assert_eq!(philox(counter, key), answer);
    }
}

/// `rows` particles from `first` on, without padding.
fn normals<T: Scalar>(noise: Noise, first: u32, rows: usize, dim: usize) -> Vec<f64> {
    let mut out = vec![T::default(); scratch_len(rows, dim)];
    noise.fill_normals(first, rows, dim, &mut out);
    out.chunks_exact(padded(dim)).take(rows).flat_map(|row| &row[..dim]).map(|z| z.to_f64()).collect()
}

/// The transform in the words of the module's documentation, with the standard library's functions.
fn reference(noise: Noise, particle: u32, coordinate: u32) -> f64 {
    let words = noise.words(particle, coordinate / 4);
    let pair = coordinate as usize % 4 / 2 * 2;
    let (w0, w1) = (words[pair], words[pair + 1]);
    let r = (-2.0 * ((f64::from(w0) + 0.5) / 4294967296.0).ln()).sqrt();
    let angle = ((f64::from(w1 & 0x3fffffff) + 0.5) / 536870912.0 - 1.0) * std::f64::consts::FRAC_PI_4;
    let cosine = if w1 >> 31 == 1 { -angle.cos() } else { angle.cos() };
    let both = if w1 & (1 << 30) != 0 { [angle.sin(), cosine] } else { [cosine, angle.sin()] };
    r * both[coordinate as usize % 2]
}

#[test]
fn normals_are_box_muller_of_the_documented_words() {
    for step in [0, 1, 77, (1 << 40) + 5] {
        let noise = Noise::new(0xdead_beef_0123, Stream::Diffusion, step);
        for (first, rows, dim) in
            [(0u32, 9usize, 1usize), (5, 33, 2), (1_000_000, 7, 13), (3, 5, 64), (4_294_967_000, 100, 3)]
        {
            let double = normals::<f64>(noise, first, rows, dim);
            let single = normals::<f32>(noise, first, rows, dim);
            for i in 0..rows * dim {
                let want = reference(noise, first + (i / dim) as u32, (i % dim) as u32);
                assert!((double[i] - want).abs() < 2e-9, "f64 {} instead of {want}", double[i]);
                assert!((single[i] - want).abs() < 2e-6 * (1.0 + want.abs()), "f32 {} instead of {want}", single[i]);
            }
        }
    }
}

#[test]
fn a_normal_depends_on_seed_stream_step_particle_and_coordinate_alone() {
    let noise = Noise::new(5, Stream::Diffusion, 9);
    let all = normals::<f64>(noise, 0, 500, 10);
    // Any blocking of the same particles, bit for bit.
    for block in [1, 3, 64, 499] {
        let mut pieces = Vec::new();
        for first in (0..500).step_by(block) {
            pieces.extend(normals::<f64>(noise, first as u32, block.min(500 - first), 10));
        }
        assert!(pieces.iter().zip(&all).all(|(a, b)| a.to_bits() == b.to_bits()), "blocks of {block}");
    }
    // Any dimension: the first coordinates are the same.
    let wide = normals::<f64>(noise, 0, 500, 23);
    for particle in 0..500 {
        assert_eq!(wide[particle * 23..particle * 23 + 10], all[particle * 10..particle * 10 + 10]);
    }
    // And each of the five matters.
    let first = |noise: Noise, particle: u32| normals::<f64>(noise, particle, 1, 2);
    let here = first(noise, 3);
    assert_ne!(here, first(Noise::new(6, Stream::Diffusion, 9), 3));
    assert_ne!(here, first(Noise::new(5 + (1 << 32), Stream::Diffusion, 9), 3));
    assert_ne!(here, first(Noise::new(5, Stream::Kick, 9), 3));
    assert_ne!(here, first(Noise::new(5, Stream::Diffusion, 10), 3));
    assert_ne!(here, first(Noise::new(5, Stream::Diffusion, 9 + (1 << 32)), 3));
    assert_ne!(here, first(noise, 4));
    assert_ne!(here[0], here[1]);
}

/// E x^(2 m) of a standard normal.
fn moment(order: i32) -> f64 {
    (1..=order).filter(|k| k % 2 == 1).map(f64::from).product()
}

/// Moments to order 8, each within 4.5 of its own standard errors `sqrt((E x^2p - (E x^p)^2) / n)`.
fn check_moments<T: Scalar>(seed: u64) {
    let n = 4_000_000usize;
    let z = normals::<T>(Noise::new(seed, Stream::Diffusion, 0), 0, n / 16, 16);
    for order in 1..=8 {
        let mean = z.iter().map(|x| x.powi(order)).sum::<f64>() / n as f64;
        let expected = if order % 2 == 0 { moment(order) } else { 0.0 };
        let error = ((moment(2 * order) - expected * expected) / n as f64).sqrt();
        assert!((mean - expected).abs() < 4.5 * error, "{} moment {order}: {mean}, not {expected} +- {error}", T::NAME);
    }
}

#[test]
fn moments_to_order_eight() {
    check_moments::<f64>(1);
    check_moments::<f32>(2);
}

/// The normal distribution function.
fn phi(x: f64) -> f64 {
    // Complementary error function by its continued fraction or series, to about 1e-14.
    let t = x.abs() / std::f64::consts::SQRT_2;
    let upper = if t < 2.5 {
        let (mut sum, mut term) = (t, t);
        for k in 1..200 {
            term *= -t * t / f64::from(k);
            sum += term / f64::from(2 * k + 1);
        }
        0.5 - sum / std::f64::consts::PI.sqrt()
    } else {
        let mut fraction = 0.0;
        for k in (1..200).rev() {
            fraction = f64::from(k) / 2.0 / (t + fraction);
        }
        0.5 * (-t * t).exp() / std::f64::consts::PI.sqrt() / (t + fraction)
    };
    if x < 0.0 { upper } else { 1.0 - upper }
}

#[test]
fn kolmogorov_smirnov() {
    // The 1 - 1e-6 quantile of sqrt(n) D is 2.69.
    fn distance<T: Scalar>(seed: u64) -> f64 {
        let n = 1_000_000;
        let mut z = normals::<T>(Noise::new(seed, Stream::Diffusion, 3), 0, n / 20, 20);
        z.sort_by(f64::total_cmp);
        let worst = z.iter().enumerate().map(|(i, &x)| {
            let f = phi(x);
            (f - i as f64 / n as f64).abs().max(((i + 1) as f64 / n as f64 - f).abs())
        });
        worst.fold(0.0, f64::max) * (n as f64).sqrt()
    }
    assert!((phi(1.0) - 0.8413447460685429).abs() < 1e-13 && (phi(-4.0) - 3.167124183311992e-5).abs() < 1e-16);
    let (double, single) = (distance::<f64>(4), distance::<f32>(5));
    assert!(double < 2.69, "f64: {double}");
    assert!(single < 2.69, "f32: {single}");
}

#[test]
fn tails() {
    let n = 20_000_000usize;
    let mut counts = [[0u64; 2]; 6];
    let mut largest = 0.0f64;
    for step in 0..10 {
        for z in normals::<f64>(Noise::new(8, Stream::Diffusion, step), 0, n / 160, 16) {
            largest = largest.max(z.abs());
            for (k, count) in counts.iter_mut().enumerate() {
                if z.abs() > k as f64 {
                    count[usize::from(z > 0.0)] += 1;
                }
            }
        }
    }
    for (k, sides) in counts.iter().enumerate() {
        let expected = n as f64 * phi(-(k as f64));
        for (side, &count) in sides.iter().enumerate() {
            let deviation = (count as f64 - expected).abs();
            assert!(deviation < 4.5 * expected.sqrt(), "beyond {k}, side {side}: {count}, not {expected}");
        }
    }
    // The documented bound, and a value that 20 million normals exceed with probability 1 - 1e-5.
    let bound = (66.0 * std::f64::consts::LN_2).sqrt();
    assert!(largest < bound && largest > 4.9, "largest {largest}, bound {bound}");
}

/// Correlation of z and of z^2 between neighbours, each within 4.5 standard errors 1/sqrt(n).
#[test]
fn coordinates_particles_steps_and_streams_are_uncorrelated() {
    let (rows, dim) = (50_000usize, 20usize);
    let noise = |seed, stream, step| normals::<f64>(Noise::new(seed, stream, step), 0, rows, dim);
    let here = noise(1, Stream::Diffusion, 0);
    let cases = [
        ("coordinates", here[1..].to_vec()),
        ("coordinates two apart", here[2..].to_vec()),
        ("coordinates four apart", here[4..].to_vec()),
        ("particles", here[dim..].to_vec()),
        ("steps", noise(1, Stream::Diffusion, 1)),
        ("seeds", noise(2, Stream::Diffusion, 0)),
        ("streams", noise(1, Stream::Kick, 0)),
    ];
    for (name, there) in cases {
        let n = there.len().min(here.len()) as f64;
        let product = |f: fn(f64) -> f64| here.iter().zip(&there).map(|(a, b)| f(*a) * f(*b)).sum::<f64>() / n;
        let plain = product(|x| x);
        let squares = product(|x| (x * x - 1.0) / std::f64::consts::SQRT_2);
        let bound = 4.5 / n.sqrt();
        assert!(plain.abs() < bound && squares.abs() < bound, "{name}: {plain}, squares {squares}, bound {bound}");
    }
}
