//! What the loop asks of the particles of a run on a device.

use super::launch::{Route, Work};
use super::layout::laid_out;
use super::{OnDevice, Particles, Seen, lost, same_batches, together};
use crate::machine::{Fault, Kernel, Kind, Memory};
use cbo::device::{Backend, Move, Reader, SQUARES, Share, Weighing, Writer};
use cbo::{Answers, Ensemble, EvalError, Objective, Partial, Rows, Scalar, StateError, StepContext};
use std::sync::Arc;

impl<T: Scalar> Backend<T> for OnDevice<T> {
    fn advance_and_evaluate(
        &mut self,
        pending: Option<&Move>,
        step: u64,
        weighing: Weighing,
        _objective: &dyn Objective<T>,
    ) -> Result<f64, EvalError> {
        self.step(pending, step, weighing).map_err(lost)
    }

    fn advance(&mut self, pending: &Move, _step: u64) {
        if let Err(fault) = self.move_all(pending) {
            self.note(fault);
        }
    }

    fn prepare(&mut self, _decided: &mut Move, _alpha: f64) {}

    fn pool(&self) -> Option<Arc<rayon::ThreadPool>> {
        None
    }

    fn draw_ahead(&mut self, _step: u64) {}

    fn points(&self, round: usize) -> Rows<'_, T> {
        if round == 0 { self.ensemble().rows() } else { self.remembered_rows().rows() }
    }

    fn take(&mut self, _round: usize, _step: u64, energies: &[T], weighing: Option<Weighing>) -> Option<f64> {
        self.seen.energies.take();
        let outcome = self.here().energies.upload(energies).and_then(|()| weighing.map(|w| self.weigh(w)).transpose());
        outcome.unwrap_or_else(|fault| {
            self.note(fault);
            Some(f64::NAN)
        })
    }

    fn weigh_there(&mut self, weighing: Weighing) -> Result<f64, EvalError> {
        self.seen.energies.take();
        self.weigh(weighing).map_err(lost)
    }

    fn ask(
        &mut self,
        _round: usize,
        _at: StepContext,
        _objective: &dyn Objective<T>,
        _answers: &Answers<T>,
    ) -> Result<(), EvalError> {
        Err(EvalError::new("only formulas are evaluated on a device"))
    }

    fn differentiate(&mut self, _at: StepContext, _objective: &dyn Objective<T>) -> Result<(), EvalError> {
        Err(EvalError::new("gradients are not on the device"))
    }

    fn sums(&mut self) -> &mut [Partial] {
        &mut self.sums
    }

    fn count(&self) -> usize {
        self.count_here()
    }

    fn row(&self, round: usize, place: usize) -> &[T] {
        let particle = |place: usize| self.evaluated().map_or(place, |chosen| chosen[place] as usize);
        if (round, place) == self.best_at { &self.best } else { self.points(round).row(particle(place)) }
    }

    fn is_narrower_than(&self, limit: f64) -> bool {
        if self.extent >= limit {
            return false;
        }
        match self.edges() {
            Ok(edges) => edges.iter().map(|[low, high]| high - low).fold(0.0, f64::max) < limit,
            Err(fault) => {
                self.note(fault);
                false
            }
        }
    }

    fn ensemble(&self) -> &Ensemble<T> {
        self.seen.ensemble.get_or_init(|| {
            if self.forgets {
                return Ensemble::of_rows(&[], self.shape.dim);
            }
            self.copied(&self.here().positions)
        })
    }

    fn mean_of_squares(&self) -> f64 {
        let blocks = (self.particles * self.shape.dim).div_ceil(SQUARES);
        let sums = || -> Result<Vec<f64>, Fault> {
            let mut sums = vec![0.0f64; blocks];
            let found = match self.squares.get() {
                Some(found) => found,
                None => {
                    let found = Memory::new(&self.machine, blocks * 8, Kind::Shared)?;
                    self.squares.get_or_init(|| found)
                }
            };
            let mut bytes = Vec::new();
            let route = Route { result: found.address(), ..self.route(self.current) };
            self.write_args(None, Work::default(), route, &mut bytes)?;
            self.program.launch(Kernel::Squares as usize, self.grid(blocks), &bytes)?;
            self.machine.wait()?;
            found.look(0, &mut sums);
            Ok(sums)
        };
        match sums() {
            Ok(sums) => sums.iter().sum::<f64>() / self.particles as f64,
            Err(fault) => {
                self.note(fault);
                f64::NAN
            }
        }
    }

    fn energies(&self, round: usize) -> &[T] {
        if round == 0 { self.energies_here() } else { self.seen.weighed.get_or_init(|| self.remembered_here()) }
    }

    fn evaluated(&self) -> Option<&[u32]> {
        self.batches.as_ref().map(|chosen| chosen.batches.current())
    }

    fn round_of_batches(&self) -> Option<u64> {
        self.batches.as_ref().map(|chosen| chosen.batches.round())
    }

    fn remembered_points(&self) -> &[T] {
        self.remembered_rows().rows().as_slice()
    }

    fn remembered(&self) -> &[T] {
        self.all_remembered()
    }

    fn remembered_mut(&mut self) -> &mut [T] {
        &mut []
    }

    fn save(&self, to: &mut Writer) {
        // As the processor does it, so that either can resume what the other has saved.
        to.count(self.particles);
        to.numbers(self.ensemble().rows().as_slice());
        to.numbers(self.energies(0));
        to.numbers(self.remembered_points());
        to.numbers(self.remembered());
        self.save_rest(to);
    }

    fn load(&mut self, from: &mut Reader<'_>, rounds: usize) -> Result<(), StateError> {
        let mut start = self.on_processor()?;
        start.load(from, rounds)?;
        if start.ensemble().len() != self.particles || start.energies(0).len() != self.count() {
            return Err(StateError::Damaged);
        }
        if let Some(chosen) = &mut self.batches {
            chosen.batches = same_batches(self.plan.config(), &*start).ok_or(StateError::Damaged)?;
        }
        (self.seen, self.ahead, self.headed) = (Seen::default(), None, None);
        let Particles { positions, energies } = self.here();
        let uploaded = positions
            .upload(&laid_out(self.shape, start.ensemble().rows()))
            .and_then(|()| energies.upload(start.energies(0)))
            .and_then(|()| self.load_remembered(&*start));
        let uploaded = uploaded.map_err(|fault| crate::refuse("device", self.machine.name(), fault.0));
        Ok(together(self.seat.as_ref(), uploaded)?)
    }

    fn into_parts(self: Box<Self>) -> (Ensemble<T>, Vec<T>) {
        self.ensemble();
        self.energies(0);
        let Seen { ensemble, energies, .. } = self.seen;
        let nobody = || Ensemble::of_rows(&[], self.shape.dim);
        (ensemble.into_inner().unwrap_or_else(nobody), energies.into_inner().unwrap_or_default())
    }
}
