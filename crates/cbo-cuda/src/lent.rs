//! Runs whose energies come from elsewhere: the caller reads the positions where they are, and writes the energies beside them.

use crate::backend::OnDevice;
use crate::machine::{Fault, Kind, Memory};
use crate::{Cuda, refuse};
use cbo::device::{Backend, Device, remembers};
use cbo::simd::{Operand, Trace};
use cbo::{AskTell, EnergyTrace, Objective, Plan, Scalar, Settings, SolveError, StateError};
use std::sync::{Arc, Mutex, PoisonError};

/// Points on a device that somebody else evaluates, and room for their energies. The memory lives as long as this, or the run.
///
/// Positions lie coordinate by coordinate: coordinate k of point i of n at k n + i.
#[derive(Clone, Debug)]
pub struct Lent {
    positions: Arc<Memory>,
    energies: Arc<Memory>,
    count: usize,
    dim: usize,
}

impl Lent {
    pub(crate) fn new(positions: &Arc<Memory>, energies: &Arc<Memory>, count: usize, dim: usize) -> Self {
        Self { positions: positions.clone(), energies: energies.clone(), count, dim }
    }

    /// Where the positions begin, in the memory of the device.
    pub fn address(&self) -> u64 {
        self.positions.address()
    }

    /// How many points there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Their dimension.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Kind and number of the device, as DLPack counts them.
    pub fn place(&self) -> (i32, i32) {
        self.positions.machine().place()
    }

    /// The stream of the run, for those whose work it has to wait for; none if the device has no streams.
    pub fn stream(&self) -> Option<u64> {
        self.positions.machine().stream()
    }

    /// Lets another stream of the device wait for everything that the run has begun, such as the last move.
    ///
    /// # Safety
    /// It is a stream of this device (1: the default one, 2: that of the thread).
    pub unsafe fn precede(&self, stream: u64) -> Result<(), Fault> {
        // SAFETY: the caller knows.
        unsafe { self.positions.machine().precede(stream) }
    }

    /// Copies the energies of all points from elsewhere on the device, on the stream of the run. The copy may still be under way when this
    /// returns, but not when the run was told of it.
    ///
    /// # Safety
    /// As many numbers lie there, and stay there for as long.
    pub unsafe fn take<T: Scalar>(&self, from: u64) -> Result<(), Fault> {
        // SAFETY: there is room for the energies of all points; for the other end the caller answers.
        unsafe { self.energies.machine().copy(self.energies.address(), from, self.count * size_of::<T>()) }
    }

    /// Copies the energies of all points from this machine's memory.
    ///
    /// # Panics
    /// If there are not as many as points.
    pub fn upload<T: Scalar>(&self, energies: &[T]) -> Result<(), Fault> {
        assert_eq!(energies.len(), self.count, "energies for points");
        self.energies.upload(energies)
    }

    /// The positions that lie there.
    pub fn positions<T: Scalar>(&self) -> Result<Vec<T>, Fault> {
        let mut positions = vec![T::default(); self.count * self.dim];
        self.positions.download(&mut positions)?;
        Ok(positions)
    }

    /// The energies that lie there.
    pub fn energies<T: Scalar>(&self) -> Result<Vec<T>, Fault> {
        let mut energies = vec![T::default(); self.count];
        self.energies.download(&mut energies)?;
        Ok(energies)
    }

    /// A single point on the same device.
    pub fn single<T: Scalar>(&self, point: &[T]) -> Result<Self, Fault> {
        let machine = self.positions.machine();
        let energy = Memory::new(machine, size_of::<T>(), Kind::Device)?;
        Ok(Self::new(&Arc::new(Memory::of(machine, point)?), &Arc::new(energy), 1, point.len()))
    }
}

/// The device of a run whose memory is lent.
struct Lending<'a> {
    cuda: &'a Cuda,
    lent: Mutex<Option<Lent>>,
}

impl<T: Scalar> Device<T> for Lending<'_> {
    fn begin(&self, plan: &Plan, objective: &dyn Objective<T>) -> Result<Box<dyn Backend<T>>, SolveError> {
        self.cuda.begin(plan, objective)
    }

    fn begin_told(&self, plan: &Plan) -> Result<Box<dyn Backend<T>>, SolveError> {
        self.cuda.check(plan)?;
        if remembers(plan.config()).is_some() {
            let remedy = format!("is not for functions of the caller on {}; use device cpu", self.cuda.name);
            return Err(refuse("method", plan.config().method.to_string(), remedy));
        }
        if plan.config().batch.is_some() {
            let remedy = format!("is not for functions of the caller on {}; use device cpu", self.cuda.name);
            return Err(refuse("batch", plan.batch_size().to_string(), remedy));
        }
        // Nobody asks the kernels for an energy.
        let nothing = Trace { lines: Vec::new(), value: Operand::Constant(0.0) };
        let energy = EnergyTrace { operations: nothing, vanishing: None };
        // In columns, as `Lent` says.
        let run: OnDevice<T> = self.cuda.run_with(plan, &energy, false, true)?;
        *self.lent.lock().unwrap_or_else(PoisonError::into_inner) = Some(run.lend());
        Ok(Box::new(run))
    }
}

impl Lending<'_> {
    fn lent(self) -> Result<Lent, SolveError> {
        let lent = self.lent.into_inner().unwrap_or_else(PoisonError::into_inner);
        lent.ok_or_else(|| refuse("device", self.cuda.name.clone(), "lends no memory to this run"))
    }
}

impl Cuda {
    /// A run for ask and tell on the GPU ([`cbo::AskTell`]), and its memory: `ask_there` moves the particles, whoever evaluates them reads
    /// the positions where they are and writes the energies to their place, and `tell_there` goes on with them.
    pub fn ask_tell<T: Scalar>(&self, settings: impl Settings, dim: usize) -> Result<(AskTell<T>, Lent), SolveError> {
        let lending = Lending { cuda: self, lent: Mutex::new(None) };
        let run = AskTell::on(&lending, settings, dim)?;
        Ok((run, lending.lent()?))
    }

    /// The same from what was saved on either device.
    pub fn load<T: Scalar>(
        &self,
        settings: impl Settings,
        dim: usize,
        bytes: &[u8],
    ) -> Result<(AskTell<T>, Lent), StateError> {
        let lending = Lending { cuda: self, lent: Mutex::new(None) };
        let run = AskTell::load_on(&lending, settings, dim, bytes)?;
        Ok((run, lending.lent()?))
    }
}
