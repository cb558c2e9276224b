//! Runs of a Python function whose particles are on a device: the function gets a view of them there.

use crate::device::{self, lost};
use crate::dlpack::{Borrowed, CPU, Points, device_name};
use crate::driver::{Listen, Listeners};
use crate::errors;
use crate::function::{Function, Way, read_all};
use crate::settings::{self, Number, Precision};
use crate::surface::Raised;
use crate::watch::Watch;
use cbo::{AskTell, Plan, RunReport, StopReason};
use cbo_cuda::{Cuda, Lent};
use numpy::PyUntypedArray;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Minimises a vectorised Python function on the device that the settings name: what the run found, as a dictionary. If it ends with an
/// exception, `unfinished` is told before.
#[pyfunction]
#[pyo3(signature = (fun, dim, settings, *, args, convert, unfinished, callback=None, progress=None))]
#[expect(clippy::too_many_arguments, reason = "keywords, given by name by one caller")]
pub fn minimize_on_device<'py>(
    py: Python<'py>,
    fun: Bound<'py, PyAny>,
    dim: usize,
    settings: &Bound<'py, PyDict>,
    args: &Bound<'py, PyTuple>,
    convert: Bound<'py, PyAny>,
    unfinished: Bound<'py, PyAny>,
    callback: Option<Bound<'py, PyAny>>,
    progress: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let (plan, precision) = settings::plan(settings, dim)?;
    let listeners = Listeners::new(callback, progress, unfinished, Raised::of(settings)?, &plan);
    let function = Function::new(fun, args, Way::Points, convert)?;
    let Some(gpu) = device::of(settings)? else {
        return Err(PyValueError::new_err("device = 'cpu': there are no tensors to lend"));
    };
    match precision {
        Precision::F32 => run::<f32>(py, &gpu, &plan, function, listeners),
        Precision::F64 => run::<f64>(py, &gpu, &plan, function, listeners),
    }
}

fn run<'py, T: Number>(
    py: Python<'py>,
    gpu: &Cuda,
    plan: &Plan,
    mut function: Function<'py>,
    mut listeners: Listeners<'py>,
) -> PyResult<Bound<'py, PyDict>> {
    let mut watch = Watch::new(plan.dim(), false).there();
    let begun = py.detach(|| gpu.ask_tell::<T>(plan, plan.dim()));
    let (mut run, lent) = begun.map_err(|e| listeners.reason(device::of_run(&e)))?;
    match follow(py, &mut run, &lent, &mut function, &mut listeners, &mut watch) {
        Ok((stop, report)) => {
            watch.finish(&report, run.told());
            watch.result(py, stop.name(), Some(report))
        }
        Err(error) => {
            let report = run.report();
            watch.finish(&report, run.told());
            listeners.unfinished(watch.result(py, errors::ending(py, &error), Some(report))?)?;
            Err(error)
        }
    }
}

/// The loop.
fn follow<'py, T: Number>(
    py: Python<'py>,
    run: &mut AskTell<T>,
    lent: &Lent,
    function: &mut Function<'py>,
    listeners: &mut Listeners<'py>,
    watch: &mut Watch,
) -> PyResult<(StopReason, RunReport<T>)> {
    let stop = loop {
        py.detach(|| run.ask_there());
        let energies = evaluate::<T>(py, function, run.step(), lent)?;
        let mut listen = Listen { watch: &mut *watch, moment: None, wanted: listeners.want_moments() };
        let told = py.detach(|| run.tell_there(&mut listen)).map_err(|e| errors::of_run(&e))?;
        // The run has read them.
        drop(energies);
        let moment = listen.moment;
        if listeners.after(py, function, run.step(), watch, moment)? {
            break StopReason::Observer;
        }
        if let Some(reason) = told {
            break reason;
        }
    };
    if matches!(stop, StopReason::Seconds | StopReason::Target | StopReason::Observer) {
        return Ok((stop, run.report()));
    }
    let single = lent.single(&run.consensus()).map_err(|fault| lost(&fault))?;
    let energy = evaluate::<T>(py, function, run.step(), &single)?;
    let value = single.energies::<T>().map_err(|fault| lost(&fault))?;
    drop(energy);
    Ok((stop, run.report_with_consensus(value[0], &[])))
}

/// Calls the function with points on the device, and has the energies copied to their place. What is returned must live until they are.
fn evaluate<T: Number>(py: Python<'_>, function: &Function<'_>, step: u64, lent: &Lent) -> PyResult<Option<Borrowed>> {
    let points = Bound::new(py, Points::new(lent.clone(), bits::<T>()))?.into_any();
    let result = function.call(&points)?;
    receive::<T>(&result, function.convert(), step, &points, lent)
}

/// The bits of a number.
pub fn bits<T>() -> u8 {
    8 * size_of::<T>() as u8
}

/// Has the energies that a function returned for `points` copied to their place on the device: from there, or from this machine's
/// memory. What is returned must live until they are.
pub fn receive<T: Number>(
    result: &Bound<'_, PyAny>,
    convert: &Bound<'_, PyAny>,
    step: u64,
    points: &Bound<'_, PyAny>,
    lent: &Lent,
) -> PyResult<Option<Borrowed>> {
    let py = result.py();
    let is_array = result.is_instance_of::<PyUntypedArray>();
    let (count, place) = (lent.count(), lent.place());
    let wrong = |what: String| {
        let (shape, on) = (format!("({count}, {})", lent.dim()), device_name(place));
        let right = format!("a contiguous tensor of shape ({count},) and dtype float{} on {on}", bits::<T>());
        format!("fun returned {what} in step {step}: for points of shape {shape} it returns {right}")
    };
    if !is_array && result.hasattr("__dlpack__")? && result.hasattr("__dlpack_device__")? {
        let (kind, number) = result.call_method0("__dlpack_device__")?.extract::<(i32, i32)>()?;
        if (kind, number) == place {
            let energies = Borrowed::new(result, lent.stream())?;
            let from = energies.numbers(count, bits::<T>(), place);
            let from = from.map_err(|what| PyValueError::new_err(wrong(what)))?;
            // SAFETY: as many numbers lie there, and their owner is kept until the run was told.
            unsafe { lent.take::<T>(from) }.map_err(|fault| lost(&fault))?;
            return Ok(Some(energies));
        }
        if kind != CPU {
            return Err(PyValueError::new_err(wrong(format!("a tensor on {}", device_name((kind, number))))));
        }
        let array = py.import("numpy")?.call_method1("from_dlpack", (result,))?;
        upload::<T>(&array, convert, step, points, lent)?;
        return Ok(None);
    }
    upload::<T>(result, convert, step, points, lent).map(|()| None)
}

/// Copies energies from this machine's memory.
fn upload<T: Number>(
    array: &Bound<'_, PyAny>,
    convert: &Bound<'_, PyAny>,
    step: u64,
    points: &Bound<'_, PyAny>,
    lent: &Lent,
) -> PyResult<()> {
    let mut energies = vec![T::default(); lent.count()];
    read_all(convert, array, step, points, &mut energies)?;
    array.py().detach(|| lent.upload(&energies)).map_err(|fault| lost(&fault))
}
