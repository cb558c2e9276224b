//! The loss after the last layer: mean cross-entropy, and the answers.

use super::affine::Affine;
use super::batch::{Batch, LANES, Tile};
use cbo::simd::{self, InstructionSet, Kernel, Vector};

/// What an evaluation finds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Mean cross-entropy.
    pub loss: f64,
    /// Images whose class is the label.
    pub right: usize,
    /// Images.
    pub count: usize,
}

impl Outcome {
    /// The fraction of images whose class is the label.
    pub fn accuracy(&self) -> f64 {
        self.right as f64 / self.count as f64
    }
}

/// Loss and answers from the last layer's values, whose affine map is still to be applied.
pub fn judge(
    set: InstructionSet,
    values: &[f32],
    affine: &Affine,
    classes: usize,
    batch: &Batch,
    predictions: &mut Vec<Option<u8>>,
) -> Outcome {
    predictions.clear();
    let (mut loss, mut right) = (0.0, 0);
    let area = classes / affine.scale.len();
    let (scale, offset): (Vec<f32>, Vec<f32>) =
        (0..classes).map(|k| (affine.scale[k / area] as f32, affine.offset[k / area] as f32)).unzip();
    for Tile { first, lanes, used } in batch.tiles() {
        let tile = &values[first * classes..][..lanes * classes];
        let labels = &batch.labels()[first..][..used];
        for start in (0..used).step_by(LANES) {
            let labels = &labels[start..used.min(start + LANES)];
            let group = Logits { values: &tile[start..], lanes, scale: &scale, offset: &offset, labels };
            let (losses, answers) = simd::run_on(set, group);
            for ((one, answer), label) in losses.iter().zip(answers).zip(labels) {
                loss += f64::from(*one);
                // A NaN among the logits makes the loss NaN.
                let answer = (!one.is_nan()).then_some(answer as u8);
                right += usize::from(answer == Some(*label));
                predictions.push(answer);
            }
        }
    }
    Outcome { loss: loss / batch.len() as f64, right, count: batch.len() }
}

/// The logits of 16 images.
struct Logits<'a> {
    values: &'a [f32],
    lanes: usize,
    scale: &'a [f32],
    offset: &'a [f32],
    labels: &'a [u8],
}

impl Logits<'_> {
    #[inline(always)]
    fn logit<V: Vector<Scalar = f32>>(&self, class: usize) -> V {
        let x = V::load(&self.values[class * self.lanes..]);
        x.mul_add(V::splat(self.scale[class]), V::splat(self.offset[class]))
    }
}

impl Kernel<f32> for Logits<'_> {
    type Output = ([f32; LANES], [f32; LANES]);

    #[inline(always)]
    fn run<V: Vector<Scalar = f32>>(self) -> Self::Output {
        let mut labels = [0.0; LANES];
        labels.iter_mut().zip(self.labels).for_each(|(to, label)| *to = f32::from(*label));
        let label = V::load(&labels);
        let (mut greatest, mut answer, mut own) = (self.logit::<V>(0), V::splat(0.0), self.logit::<V>(0));
        for class in 1..self.scale.len() {
            let (z, number) = (self.logit::<V>(class), V::splat(class as f32));
            answer = greatest.select_less(z, number, answer);
            greatest = greatest.select_less(z, z, greatest);
            own = (label - number).abs().select_less(V::splat(0.5), z, own);
        }
        let mut sum = V::splat(0.0);
        for class in 0..self.scale.len() {
            sum = sum + (self.logit::<V>(class) - greatest).exp();
        }
        let (mut losses, mut answers) = ([0.0; LANES], [0.0; LANES]);
        (greatest + sum.ln() - own).store(&mut losses);
        answer.store(&mut answers);
        (losses, answers)
    }
}
