//! Which of many runs can be made by the same kernels: those whose formulas differ in their constants alone.

use crate::Cuda;
use crate::emit::{function_of_run, operands};
use crate::source::{NEAR, Shape, dynamics, is_sampled};
use cbo::device::Errand;
use cbo::simd::{Operand, Trace};
use cbo::{CboConfig, EnergyTrace, Scalar, SolveError};
use rayon::prelude::*;

/// Runs that are made by the same kernels.
pub(super) struct Group {
    /// The settings of one of them: all have its switches.
    pub config: CboConfig,
    /// A formula of their form.
    pub energy: EnergyTrace,
    pub dim: usize,
    /// Whether they fit into the shared memory of a block.
    pub near: bool,
    /// Whether each finds the alpha of its weights from a sample size.
    sampled: bool,
    /// Those with the fewest particles first.
    pub runs: Vec<Member>,
    /// Which form the formula has.
    form: usize,
    /// The constants of the formula that are not those of all runs.
    varies: Vec<bool>,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Member {
    /// Its place among all runs.
    pub place: usize,
    /// The place of its objective among the different ones.
    pub objective: usize,
    pub particles: usize,
}

/// What a run computes with, in numbers of 64 bits: as in `swarms.cuh`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Room {
    pub positions: usize,
    pub whole: usize,
}

impl Room {
    fn of<T>(dim: usize, energy: &EnergyTrace, particles: usize, sampled: bool) -> Self {
        let shape = Shape::of::<T>(dim, false);
        let blocks = particles.div_ceil(shape.rows);
        let positions = (dim * (particles | 1) * size_of::<T>()).div_ceil(8);
        let groups = energy.vanishing.as_ref().map_or(0, |v| shape.rows.div_ceil(v.rows.unwrap_or(shape.rows)));
        let sums = (blocks + blocks.div_ceil(2)) * shape.stride();
        let marks = (blocks * (shape.rows.div_ceil(32) + groups)).div_ceil(2);
        let sample = if sampled { 2 * particles } else { 0 };
        Self { positions, whole: positions + particles + 2 * dim + sums + 32 * blocks + marks + sample }
    }
}

impl Group {
    pub fn room<T>(&self, particles: usize) -> Room {
        Room::of::<T>(self.dim, &self.energy, particles, self.sampled)
    }

    /// The functions of the formula.
    pub fn functions(&self) -> String {
        let (mut constants, mut place) = (self.varies.iter(), 0);
        let mut varies = || {
            let varies = constants.next().copied().unwrap_or(false);
            place += usize::from(varies);
            varies.then(|| place - 1)
        };
        let names = ["energy", "vanishes", "energy_vanishing"].into_iter();
        names.zip(traces(&self.energy)).map(|(name, trace)| function_of_run(name, trace, &mut varies)).collect()
    }

    /// How many of the constants a run has for itself.
    pub fn own_count(&self) -> usize {
        self.varies.iter().filter(|varies| **varies).count()
    }

    /// Those of the constants of a formula that differ from run to run.
    pub fn own<'a>(&'a self, constants: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
        constants.iter().zip(&self.varies).filter(|(_, varies)| **varies).map(|(constant, _)| *constant)
    }
}

/// The runs in groups, and the constants of each different objective.
pub(super) fn groups<T: Scalar>(
    cuda: &Cuda,
    runs: &[Errand<'_, T>],
) -> Result<(Vec<Group>, Vec<Vec<f64>>), SolveError> {
    // Neighbours often have the same objective.
    let is_new = |i: usize| i == 0 || !std::ptr::addr_eq(runs[i].objective, runs[i - 1].objective);
    let different: Vec<usize> = (0..runs.len()).filter(|i| is_new(*i)).collect();
    let Some(first) = different.first() else { return Ok((Vec::new(), Vec::new())) };
    let mut forms = vec![cuda.energy_of(runs[*first].objective)?];
    // A trace is long, and most have the form of the first: of them the constants are enough.
    let traced: Vec<(Vec<f64>, Option<EnergyTrace>)> = different
        .par_iter()
        .map(|i| {
            let energy = cuda.energy_of(runs[*i].objective)?;
            Ok((constants_of(&energy), (!have_one_form(&energy, &forms[0])).then_some(energy)))
        })
        .collect::<Result<_, SolveError>>()?;
    let (mut constants, mut form_of) = (Vec::new(), Vec::new());
    for (own, other) in traced {
        form_of.push(match other {
            None => 0,
            Some(energy) => forms.iter().position(|form| have_one_form(form, &energy)).unwrap_or_else(|| {
                forms.push(energy);
                forms.len() - 1
            }),
        });
        constants.push(own);
    }
    let written: Vec<Vec<f64>> = forms.iter().map(constants_of).collect();
    let mut groups: Vec<Group> = Vec::new();
    let mut objective = 0;
    for (place, errand) in runs.iter().enumerate() {
        objective += usize::from(place > 0 && is_new(place));
        let (config, dim, form) = (errand.plan.config(), errand.plan.dim(), form_of[objective]);
        let sampled = is_sampled(config);
        let near = 8 * Room::of::<T>(dim, &forms[form], config.particles, sampled).whole <= NEAR;
        let fits = |group: &Group| {
            (group.form, group.near, group.sampled, group.dim) == (form, near, sampled, dim)
                && dynamics(&group.config) == dynamics(config)
        };
        let known = groups.iter().position(fits).unwrap_or_else(|| {
            groups.push(Group {
                config: config.clone(),
                energy: forms[form].clone(),
                dim,
                near,
                sampled,
                runs: Vec::new(),
                form,
                varies: vec![false; constants[objective].len()],
            });
            groups.len() - 1
        });
        let group = &mut groups[known];
        if group.runs.last().is_none_or(|last| last.objective != objective) {
            let (own, written) = (&constants[objective], &written[form]);
            for ((varies, own), written) in group.varies.iter_mut().zip(own).zip(written) {
                *varies |= own.to_bits() != written.to_bits();
            }
        }
        group.runs.push(Member { place, objective, particles: config.particles });
    }
    for group in &mut groups {
        group.runs.sort_by_key(|run| run.particles);
    }
    Ok((groups, constants))
}

/// The formula, and what takes its place where it is flat.
fn traces(energy: &EnergyTrace) -> impl Iterator<Item = &Trace> {
    let others = energy.vanishing.iter().flat_map(|vanishing| [&vanishing.when, &vanishing.then]);
    std::iter::once(&energy.operations).chain(others)
}

fn constants_of(energy: &EnergyTrace) -> Vec<f64> {
    traces(energy).flat_map(operands).filter_map(constant).collect()
}

fn constant(operand: &Operand) -> Option<f64> {
    if let Operand::Constant(value) = operand { Some(*value) } else { None }
}

/// Whether two formulas differ in their constants alone.
fn have_one_form(one: &EnergyTrace, other: &EnergyTrace) -> bool {
    let same = |a: &Operand, b: &Operand| constant(a).is_some() && constant(b).is_some() || a == b;
    let similar = |a: &Trace, b: &Trace| {
        let operations = |trace: &Trace| trace.lines.iter().map(|line| line.operation).collect::<Vec<_>>();
        operations(a) == operations(b) && operands(a).zip(operands(b)).all(|(a, b)| same(a, b))
    };
    let rows = |energy: &EnergyTrace| energy.vanishing.as_ref().map(|vanishing| vanishing.rows);
    rows(one) == rows(other) && traces(one).zip(traces(other)).all(|(a, b)| similar(a, b))
}
