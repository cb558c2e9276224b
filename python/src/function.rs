//! A Python function as the engine's objective: points in, energies out, and what came back checked.

use crate::answers::{self, Round, Single, Sink};
use crate::settings::Number;
use crate::view::{self, Keeper};
use cbo::{Answers, Rows};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyFloat, PyTuple};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time between two checks for signals.
const POLL: Duration = Duration::from_millis(20);

/// How a function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `fun(x)` with one point gives its value.
    Point,
    /// `fun(x)` with all points of a round gives an array.
    Points,
    /// `fun(x, answers)` with all points of a round gives their values to `answers`, one by one.
    Answers,
}

impl std::str::FromStr for Way {
    type Err = PyErr;

    fn from_str(text: &str) -> PyResult<Self> {
        match text {
            "point" => Ok(Self::Point),
            "points" => Ok(Self::Points),
            "answers" => Ok(Self::Answers),
            _ => Err(PyValueError::new_err(format!("way = {text}: must be point, points or answers"))),
        }
    }
}

/// A function with its further arguments.
pub struct Function<'py> {
    fun: Bound<'py, PyAny>,
    args: Vec<Bound<'py, PyAny>>,
    way: Way,
    /// Reads what the fast ways here do not: (result, step, row or None, points) -> float or array.
    convert: Bound<'py, PyAny>,
    keeper: Bound<'py, Keeper>,
    /// The constraints of rows, if there are any: (n, d) -> (n, count).
    constraints: Option<(Bound<'py, PyAny>, usize)>,
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
    /// `fun(x, *args)`, called in this way.
    pub fn new(
        fun: Bound<'py, PyAny>,
        args: &Bound<'py, PyTuple>,
        way: Way,
        convert: Bound<'py, PyAny>,
    ) -> PyResult<Self> {
        let keeper = Keeper::new(fun.py())?;
        let args = args.iter().collect();
        Ok(Self { fun, args, way, convert, keeper, constraints: None, copies: false, looked: Instant::now() })
    }

    /// The same under constraints: a function that gives those of all rows, and how many each has.
    pub fn under(self, constraints: Option<(Bound<'py, PyAny>, usize)>) -> Self {
        Self { constraints, ..self }
    }

    /// How many constraints a point has.
    pub fn constraints(&self) -> usize {
        self.constraints.as_ref().map_or(0, |(_, count)| *count)
    }

    /// Writes the constraints of the rows, one row after the other.
    pub fn constrain<T: Number>(&self, rows: &[T], dim: usize, out: &mut [T]) -> PyResult<()> {
        let Some((constraints, _)) = self.constraints.as_ref().filter(|_| !rows.is_empty()) else { return Ok(()) };
        let values = constraints.call1((self.own_array(rows, dim)?,))?;
        if read(&values, out) {
            Ok(())
        } else {
            Err(PyTypeError::new_err("the constraints could not be read as numbers"))
        }
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

    /// Whether a round of evaluations is one call that returns all values together.
    pub fn is_vectorized(&self) -> bool {
        self.way == Way::Points
    }

    /// Gives the energies of the rows to `answers`, as long as these are not enough. What came before an exception is in them.
    pub fn answer<T: Number>(
        &mut self,
        step: u64,
        rows: Rows<'_, T>,
        answers: Answers<T>,
    ) -> (Answers<T>, PyResult<()>) {
        if let Err(error) = self.constrain_answers(rows, &answers) {
            return (answers, Err(error));
        }
        if self.way == Way::Answers {
            let round = Round::new(answers, rows.len());
            let outcome = self.own_array(rows.as_slice(), rows.dim()).and_then(|points| self.ask(&points, &round));
            return (round.take().expect("answers that nobody else takes"), outcome);
        }
        let outcome = self.one_by_one(step, rows, &answers);
        (answers, outcome)
    }

    /// Gives the constraints of the rows to `answers`, before any energy.
    fn constrain_answers<T: Number>(&self, rows: Rows<'_, T>, answers: &Answers<T>) -> PyResult<()> {
        let count = self.constraints();
        let mut values = vec![T::default(); rows.len() * count];
        self.constrain(rows.as_slice(), rows.dim(), &mut values)?;
        for (row, values) in values.chunks_exact(count.max(1)).enumerate() {
            answers.constrain(row, values);
        }
        Ok(())
    }

    /// Writes the energies of the rows to `out`, in one call. Tells, even if it failed, what became of the view of the rows.
    pub fn energies<T: Number>(&mut self, step: u64, rows: &[T], dim: usize, out: &mut [T]) -> (PyResult<()>, Fate) {
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
        match self.way {
            Way::Point => self.value(step, 0, point),
            Way::Points => {
                let mut out = [T::default()];
                self.together(step, &self.own_array(point, point.len())?, &mut out)?;
                Ok(out[0])
            }
            Way::Answers => {
                let single = Arc::new(Single::default());
                self.ask(&self.own_array(point, point.len())?, &single)?;
                single.value().map(T::from_f64).ok_or_else(|| PyRuntimeError::new_err("the point has no value"))
            }
        }
    }

    fn own_array<T: Number>(&self, rows: &[T], dim: usize) -> PyResult<Bound<'py, PyAny>> {
        let points: Bound<'py, PyArray2<T>> =
            PyArray1::from_slice(self.fun.py(), rows).reshape([rows.len() / dim, dim])?;
        Ok(points.into_any())
    }

    /// What the function returns for these points.
    pub fn call(&self, points: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if self.args.is_empty() {
            return self.fun.call1((points,));
        }
        let all = std::iter::once(points).chain(&self.args);
        self.fun.call1(PyTuple::new(self.fun.py(), all.collect::<Vec<_>>())?)
    }

    fn together<T: Number>(&self, step: u64, points: &Bound<'py, PyAny>, out: &mut [T]) -> PyResult<()> {
        read_all(&self.convert, &self.call(points)?, step, points, out)
    }

    /// Reads what the fast ways here do not: (result, step, row or None, points) -> float or array.
    pub fn convert(&self) -> &Bound<'py, PyAny> {
        &self.convert
    }

    /// Has the values of the points given to `sink`.
    fn ask<S: Sink + 'static>(&self, points: &Bound<'py, PyAny>, sink: &Arc<S>) -> PyResult<()> {
        let answers = Bound::new(self.fun.py(), answers::Answers(sink.clone()))?;
        self.fun.call1((points, answers)).map(|_| ())
    }

    fn one_by_one<T: Number>(&mut self, step: u64, rows: Rows<'_, T>, answers: &Answers<T>) -> PyResult<()> {
        for (row, point) in rows.iter().enumerate() {
            if answers.are_enough() {
                break;
            }
            answers.give(row, self.value(step, row, point)?);
            self.poll()?;
        }
        Ok(())
    }

    fn value<T: Number>(&self, step: u64, row: usize, point: &[T]) -> PyResult<T> {
        // An array of its own: functions of one point often keep it, or use it as scratch.
        let point = PyArray1::from_slice(self.fun.py(), point).into_any();
        let result = self.call(&point)?;
        let value: f64 = match result.cast::<PyFloat>() {
            Ok(number) => number.value(),
            Err(_) => self.convert.call1((&result, step, row, &point))?.extract()?,
        };
        Ok(T::from_f64(value))
    }
}

/// Copies the energies of all points that a function returned.
pub fn read_all<T: Number>(
    convert: &Bound<'_, PyAny>,
    result: &Bound<'_, PyAny>,
    step: u64,
    points: &Bound<'_, PyAny>,
    out: &mut [T],
) -> PyResult<()> {
    if !read(result, out) {
        let array = convert.call1((result, step, convert.py().None(), points))?;
        if !read(&array, out) {
            return Err(PyTypeError::new_err("what the function returned could not be read as numbers"));
        }
    }
    Ok(())
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
