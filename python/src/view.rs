//! A read-only view of the engine's positions for NumPy, safe even if somebody keeps it.
//!
//! The view's base is a [`Keeper`]. While nobody else holds the view, which its reference count tells, it dies with the call
//! that it was made for. A view that is kept (in a list, by a slice, in the frames of a traceback) still points to the
//! engine's memory: the engine's run is then moved into the keeper, where it lives, unchanged, as long as the view does, and the
//! computation continues in a copy of the run. Slices, `memoryview`s and everything else that NumPy makes of an array hold the
//! array itself or its base, so the counts see them.

use crate::settings::Number;
use cbo::Ensemble;
use numpy::npyffi::{self, PY_ARRAY_API, npy_intp};
use numpy::{Element, PyArrayDescrMethods};
use pyo3::ffi;
use pyo3::prelude::*;
use std::any::Any;
use std::os::raw::c_int;
use std::sync::Mutex;

/// Keeps the memory below a view alive.
#[pyclass(frozen, module = "cbo._lib")]
pub struct Keeper(Mutex<Option<Box<dyn Any + Send>>>);

impl Keeper {
    /// A keeper of nothing yet.
    pub fn new(py: Python<'_>) -> PyResult<Bound<'_, Self>> {
        Bound::new(py, Self(Mutex::new(None)))
    }

    /// Takes what must live as long as the views.
    pub fn keep(&self, owner: impl Any + Send) {
        if let Ok(mut place) = self.0.lock() {
            *place = Some(Box::new(owner));
        }
    }
}

/// A read-only array of `rows.len() / dim` rows over `rows`, with `keeper` as its base.
///
/// # Safety
/// Before `rows` changes or is freed, the array must be gone, or the owner of the memory must have been given to `keeper`.
pub unsafe fn read_only<'py, T: Number>(
    keeper: &Bound<'py, Keeper>,
    rows: &[T],
    dim: usize,
) -> PyResult<Bound<'py, PyAny>> {
    let py = keeper.py();
    let mut dims = [(rows.len() / dim) as npy_intp, dim as npy_intp];
    let flags = npyffi::flags::NPY_ARRAY_C_CONTIGUOUS | npyffi::flags::NPY_ARRAY_ALIGNED;
    // SAFETY: the type object and the descriptor (a new reference, which the call takes) are valid, the dimensions describe the
    // slice, and no flag allows writing. The caller answers for the lifetime.
    unsafe {
        let array = PY_ARRAY_API.PyArray_NewFromDescr(
            py,
            npyffi::get_type_object(py, npyffi::NpyTypes::PyArray_Type),
            <T as Element>::get_dtype(py).into_dtype_ptr(),
            dims.len() as c_int,
            dims.as_mut_ptr(),
            std::ptr::null_mut(),
            rows.as_ptr() as *mut _,
            flags,
            std::ptr::null_mut(),
        );
        let array = Bound::from_owned_ptr_or_err(py, array)?;
        // The call takes the reference to the keeper, even if it fails.
        let base = keeper.clone().into_ptr();
        if PY_ARRAY_API.PyArray_SetBaseObject(py, array.as_ptr().cast(), base) < 0 {
            return Err(PyErr::fetch(py));
        }
        Ok(array)
    }
}

/// The positions of a swarm whose run is over, as a read-only array that owns them: a large swarm is not copied.
pub fn of_ensemble<T: Number>(py: Python<'_>, ensemble: Ensemble<T>) -> PyResult<Bound<'_, PyAny>> {
    let keeper = Keeper::new(py)?;
    // SAFETY: the keeper gets the owner of the rows at once; moving it does not move the rows, which are on the heap.
    let array = unsafe { read_only(&keeper, ensemble.rows().as_slice(), ensemble.dim()) }?;
    keeper.get().keep(ensemble);
    Ok(array)
}

/// Whether anybody but the caller holds `view`, or its base by itself.
pub fn is_kept(view: &Bound<'_, PyAny>, keeper: &Bound<'_, Keeper>) -> bool {
    // SAFETY: both pointers are those of live objects, and the interpreter is attached. The keeper is held by the caller and by
    // the view.
    unsafe { ffi::Py_REFCNT(view.as_ptr()) > 1 || ffi::Py_REFCNT(keeper.as_ptr()) > 2 }
}
