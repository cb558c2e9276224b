//! The particles of one of several ranks on its device.

use super::OnDevice;
use super::launch::{Route, Work};
use crate::machine::{Fault, Kernel};
use cbo::device::{Backend, Extent, Part, Seat, Share, Writer, on_processor};
use cbo::{EvalError, Scalar, SolveError, alpha_for_sample_size};

/// Begins on all ranks or on none, if there are several.
pub(crate) fn together<R>(seat: Option<&Seat>, begun: Result<R, SolveError>) -> Result<R, SolveError> {
    match seat {
        Some(seat) => seat.begin_together(begun),
        None => begun,
    }
}

impl<T: Scalar> OnDevice<T> {
    /// The same particles in this machine's memory, at time 0.
    pub(super) fn on_processor(&self) -> Result<Box<dyn Backend<T>>, SolveError> {
        match &self.seat {
            Some(seat) => seat.on_processor(&self.plan),
            None => on_processor(&self.plan),
        }
    }

    /// Fails on all ranks together, where they have energies to exchange before they weigh.
    pub(super) fn settled(&self, outcome: Result<(), Fault>) -> Result<(), Fault> {
        let Some(seat) = &self.seat else { return outcome };
        let agreed = seat.agree(outcome.map_err(|fault| EvalError::new(fault.0)));
        agreed.map_err(|error| Fault(error.message))
    }

    /// The alpha at which the weights of these energies, and of those of the other ranks, have such an effective sample size.
    pub(super) fn alpha_for(&self, fraction: f64, energies: &[T]) -> f64 {
        let finite: Vec<f64> = energies.iter().map(|e| e.to_f64()).filter(|e| e.is_finite()).collect();
        match &self.seat {
            Some(seat) => seat.alpha_for(fraction, &finite),
            None => alpha_for_sample_size(fraction, &finite),
        }
    }

    /// The least and the greatest number of each coordinate. There are particles.
    pub(super) fn edges(&self) -> Result<Vec<[f64; 2]>, Fault> {
        let mut edges = vec![0.0f64; 2 * self.shape.dim];
        let mut bytes = Vec::new();
        let route = Route { result: self.widths.address(), ..self.route(self.current) };
        self.write_args(None, Work::default(), route, &mut bytes)?;
        self.program.launch(Kernel::Widths as usize, self.grid(self.shape.dim), &bytes)?;
        self.machine.wait()?;
        self.widths.look(0, &mut edges);
        Ok(edges.as_chunks().0.to_vec())
    }
}

impl<T: Scalar> Share<T> for OnDevice<T> {
    fn grain(&self) -> usize {
        self.grain
    }

    fn part(&self) -> &Part {
        self.seat.as_ref().expect("a share has a seat").part()
    }

    fn extent(&self) -> Option<Extent<T>> {
        if self.particles == 0 {
            return None;
        }
        let edges = self.edges().unwrap_or_else(|fault| {
            self.note(fault);
            vec![[f64::NAN; 2]; self.shape.dim]
        });
        let side = |which: usize| edges.iter().map(|edge| T::from_f64(edge[which])).collect();
        Some(Extent { low: side(0), high: side(1) })
    }

    fn columns(&self) -> [&[T]; 5] {
        let points = self.ensemble().rows().as_slice();
        [points, self.energies(0), self.remembered_points(), &[], self.remembered()]
    }

    fn save_rest(&self, to: &mut Writer) {
        // As the processor does it, for which a swarm may also shrink.
        to.numbers(&[0.0f64]);
        let (round, position) = self.batches.as_ref().map_or((0, 0), |chosen| chosen.batches.place());
        to.whole(round);
        to.count(position);
    }
}
