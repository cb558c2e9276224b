//! A Python function as the engine's objective: points in, energies out, and what came back checked.

use crate::settings::Number;
use crate::view::{self, Keeper};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyTuple};
use std::time::{Duration, Instant};

/// Time between two checks for signals.
const POLL: Duration = Duration::from_millis(20);

/// A function with its further arguments.
pub struct Function<'py> {
    fun: Bound<'py, PyAny>,
    args: Vec<Bound<'py, PyAny>>,
    vectorized: bool,
    /// Reads what the fast ways here do not: (result, step, row or None, points) -> float or array.
    convert: Bound<'py, PyAny>,
    keeper: Bound<'py, Keeper>,
    /// Whether the function gets arrays of its own, because it kept a view before.
    copies: bool,
    looked: Instant,
}

/// What became of the view that a call was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Nobody has it any more.
    Gone,
    /// Somebody kept it: the memory below must not change or vanish.
    Kept,
}

impl<'py> Function<'py> {
    /// `fun(x, *args)`, for one point or (`vectorized`) for all points of a step in one call.
    pub fn new(
        fun: Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        vectorized: bool,
        convert: Bound<'py, PyAny>,
    ) -> PyResult<Self> {
        let keeper = Keeper::new(fun.py())?;
        let args = args.iter().collect();
        Ok(Self { fun, args, vectorized, convert, keeper, copies: false, looked: Instant::now() })
    }

    /// Gives the owner of the memory below a kept view to whoever keeps it.
    pub fn surrender(&mut self, owner: impl std::any::Any + Send) {
        self.keeper.get().keep(owner);
        self.copies = true;
    }

    /// Runs the handlers of signals that came in, rarely enough to cost nothing.
    pub fn poll(&mut self) -> PyResult<()> {
        if self.looked.elapsed() >= POLL {
            self.looked = Instant::now();
            self.fun.py().check_signals()?;
        }
        Ok(())
    }

    /// Writes the energies of the rows to `out`. Tells, even if it failed, what became of the view of the rows.
    pub fn energies<T: Number>(&mut self, step: u64, rows: &[T], dim: usize, out: &mut [T]) -> (PyResult<()>, Fate) {
        if !self.vectorized {
            return (self.one_by_one(step, rows, dim, out), Fate::Gone);
        }
        if self.copies {
            return (self.own_array(rows, dim).and_then(|points| self.together(step, &points, out)), Fate::Gone);
        }
        // SAFETY: `Fate::Kept` is returned if the view outlives this call; the driver then surrenders the owner of the rows
        // before it continues.
        let points = match unsafe { view::read_only(&self.keeper, rows, dim) } {
            Ok(points) => points,
            Err(error) => return (Err(error), Fate::Gone),
        };
        let outcome = self.together(step, &points, out);
        let kept = view::is_kept(&points, &self.keeper);
        (outcome, if kept { Fate::Kept } else { Fate::Gone })
    }

    /// The energy of one point that is in nobody's buffer.
    pub fn energy<T: Number>(&mut self, step: u64, point: &[T]) -> PyResult<T> {
        let mut out = [T::default()];
        if self.vectorized {
            let points = self.own_array(point, point.len())?;
            self.together(step, &points, &mut out)?;
        } else {
            self.one_by_one(step, point, point.len(), &mut out)?;
        }
        Ok(out[0])
    }

    fn own_array<T: Number>(&self, rows: &[T], dim: usize) -> PyResult<Bound<'py, PyAny>> {
        let points: Bound<'py, PyArray2<T>> =
            PyArray1::from_slice(self.fun.py(), rows).reshape([rows.len() / dim, dim])?;
        Ok(points.into_any())
    }

    fn call(&self, points: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if self.args.is_empty() {
            return self.fun.call1((points,));
        }
        let all = std::iter::once(points).chain(&self.args);
        self.fun.call1(PyTuple::new(self.fun.py(), all.collect::<Vec<_>>())?)
    }

    fn together<T: Number>(&mut self, step: u64, points: &Bound<'py, PyAny>, out: &mut [T]) -> PyResult<()> {
        let result = self.call(points)?;
        if !read(&result, out) {
            let none = self.fun.py().None();
            let array = self.convert.call1((&result, step, none, points))?;
            if !read(&array, out) {
                let message = "what the function returned could not be read as numbers";
                return Err(pyo3::exceptions::PyTypeError::new_err(message));
            }
        }
        self.poll()
    }

    fn one_by_one<T: Number>(&mut self, step: u64, rows: &[T], dim: usize, out: &mut [T]) -> PyResult<()> {
        let py = self.fun.py();
        for (row, (point, energy)) in rows.chunks_exact(dim).zip(out).enumerate() {
            // An array of its own: functions of one point often keep it, or use it as scratch.
            let point = PyArray1::from_slice(py, point).into_any();
            let result = self.call(&point)?;
            let value: f64 = match result.cast::<PyFloat>() {
                Ok(number) => number.value(),
                Err(_) => self.convert.call1((&result, step, row, &point))?.extract()?,
            };
            *energy = T::from_f64(value);
            self.poll()?;
        }
        Ok(())
    }
}

/// Copies an array of energies, in the run's precision or in double, if it is one of the right length.
fn read<T: Number>(result: &Bound<'_, PyAny>, out: &mut [T]) -> bool {
    /// Copies if the array is flat and contiguous.
    fn copied<U: Number, T: Number>(array: &Bound<'_, PyArray1<U>>, out: &mut [T]) -> bool {
        if array.len() != out.len() || !array.is_c_contiguous() {
            return false;
        }
        // SAFETY: the interpreter is attached and nothing is called while the slice lives, so nobody writes to it.
        let Ok(slice) = (unsafe { array.as_slice() }) else { return false };
        for (to, from) in out.iter_mut().zip(slice) {
            *to = T::from_f64(from.to_f64());
        }
        true
    }
    // Plain arrays only: others, masked ones for example, may mean something else by the numbers in them.
    if !result.is_exact_instance_of::<PyUntypedArray>() {
        return false;
    }
    if let Ok(array) = result.cast::<PyArray1<f64>>() {
        return copied(array, out);
    }
    result.cast::<PyArray1<f32>>().is_ok_and(|array| copied(array, out))
}
