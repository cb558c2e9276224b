//! The binding below the Python package `cbo`: runs, problems and theory as functions and classes of the module `_lib`.
//!
//! It knows nothing of defaults or of how results are shown: the engine has the former, the package around it the latter.

mod answers;
mod builtin;
mod called;
mod compare;
mod device;
mod dlpack;
mod driver;
mod errors;
mod formula;
mod function;
mod many;
mod on_device;
mod optimizer;
mod page;
mod problem;
mod sample;
mod settings;
mod success;
mod surface;
mod theory;
mod view;
mod watch;

use cbo::simd;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;

/// The module.
#[pymodule]
fn _lib(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // The environment holds for the whole program: an impossible CBO_SIMD is an error at once.
    if let Err(error) = simd::chosen() {
        let message = format!("{} = {}: {}", simd::VARIABLE, error.name, error.remedy());
        return Err(PyImportError::new_err(message));
    }
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("NoFiniteEnergy", module.py().get_type::<errors::NoFiniteEnergy>())?;
    module.add_class::<answers::Answers>()?;
    module.add_class::<problem::Problem>()?;
    module.add_class::<formula::Formula>()?;
    module.add_class::<dlpack::Points>()?;
    module.add_class::<optimizer::Run>()?;
    module.add_class::<sample::Proposal>()?;
    module.add_class::<surface::Surface>()?;
    module.add_function(wrap_pyfunction!(page::page_of_folder, module)?)?;
    module.add_function(wrap_pyfunction!(page::page_of_data, module)?)?;
    module.add_function(wrap_pyfunction!(problem::problem_names, module)?)?;
    module.add_function(wrap_pyfunction!(settings::check, module)?)?;
    module.add_function(wrap_pyfunction!(settings::defaults, module)?)?;
    module.add_function(wrap_pyfunction!(driver::minimize_function, module)?)?;
    module.add_function(wrap_pyfunction!(device::check_device, module)?)?;
    module.add_function(wrap_pyfunction!(on_device::minimize_on_device, module)?)?;
    module.add_function(wrap_pyfunction!(builtin::minimize_problem, module)?)?;
    module.add_function(wrap_pyfunction!(called::minimize_called, module)?)?;
    module.add_function(wrap_pyfunction!(settings::follows_gradient, module)?)?;
    module.add_function(wrap_pyfunction!(success::success_runs, module)?)?;
    module.add_function(wrap_pyfunction!(success::wilson, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare_methods, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare_names, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare_cloud, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare_scale, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare_trials, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare_baseline, module)?)?;
    module.add_function(wrap_pyfunction!(compare::compare_summary, module)?)?;
    module.add_function(wrap_pyfunction!(theory::theory, module)?)
}
