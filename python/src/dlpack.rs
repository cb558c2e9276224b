//! Tensors of other libraries on the same device, without a copy: [DLPack](https://dmlc.github.io/dlpack), both ways.

use crate::device;
use cbo_cuda::Lent;
use pyo3::exceptions::{PyBufferError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::ffi::{CStr, c_void};
use std::ptr;

const PLAIN: &CStr = c"dltensor";
const PLAIN_USED: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const VERSIONED_USED: &CStr = c"used_dltensor_versioned";

/// The version that is spoken here; tensors of the next major one look different.
const VERSION: [u32; 2] = [1, 0];

/// Nobody may write to it.
const READ_ONLY: u64 = 1;

/// The processor among the kinds of devices.
pub const CPU: i32 = 1;
const CUDA: i32 = 2;

/// Real numbers among the types.
const FLOAT: u8 = 2;

/// `DLTensor`
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: [i32; 2],
    ndim: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *mut i64,
    strides: *mut i64,
    byte_offset: u64,
}

/// `DLManagedTensor`
#[repr(C)]
struct Plain {
    tensor: Tensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Plain)>,
}

/// `DLManagedTensorVersioned`
#[repr(C)]
struct Versioned {
    version: [u32; 2],
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Versioned)>,
    flags: u64,
    tensor: Tensor,
}

/// What a capsule of ours owns.
#[repr(C)]
struct Owned<M> {
    managed: M,
    extents: [i64; 4],
    /// Keeps the memory alive.
    _lent: Lent,
}

/// Frees what a capsule of ours owned; whoever has taken it calls this once.
unsafe extern "C" fn free<M>(managed: *mut M) {
    // SAFETY: it is the first field of a box that was leaked below.
    drop(unsafe { Box::from_raw(managed.cast::<Owned<M>>()) });
}

/// Frees a capsule that nobody has taken.
unsafe extern "C" fn free_plain(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this for a capsule made below; one that was taken has another name.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, PLAIN.as_ptr()) != 0 {
            free(ffi::PyCapsule_GetPointer(capsule, PLAIN.as_ptr()).cast::<Plain>());
        }
    }
}

/// The same for the other kind.
unsafe extern "C" fn free_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            free(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast::<Versioned>());
        }
    }
}

/// The points of a step on a device: ``from_dlpack`` of torch, JAX, CuPy or NumPy makes a tensor of them, without a copy.
///
/// The tensor is a view of the run's memory, in which the next step writes other points. It must not be written to.
#[pyclass(frozen, module = "cbo._lib")]
pub struct Points {
    lent: Lent,
    bits: u8,
}

impl Points {
    /// The points that are lent, of numbers with so many bits.
    pub fn new(lent: Lent, bits: u8) -> Self {
        Self { lent, bits }
    }

    fn tensor(&self, extents: *mut i64) -> Tensor {
        let (kind, number) = self.lent.place();
        Tensor {
            data: self.lent.address() as *mut c_void,
            device: [kind, number],
            ndim: 2,
            code: FLOAT,
            bits: self.bits,
            lanes: 1,
            shape: extents,
            // SAFETY: there are four extents.
            strides: unsafe { extents.add(2) },
            byte_offset: 0,
        }
    }

    /// A capsule for a tensor that `fill` makes.
    fn capsule<'py, M>(
        &self,
        py: Python<'py>,
        managed: M,
        fill: impl FnOnce(&mut M, *mut c_void, Tensor),
        name: &'static CStr,
        destructor: unsafe extern "C" fn(*mut ffi::PyObject),
    ) -> PyResult<Bound<'py, PyAny>> {
        let (count, dim) = (self.lent.count() as i64, self.lent.dim() as i64);
        // Coordinate by coordinate.
        let extents = [count, dim, 1, count];
        let owned = Box::into_raw(Box::new(Owned { managed, extents, _lent: self.lent.clone() }));
        // SAFETY: the box stays where it is until `free`; the capsule takes it, or else it is freed here.
        unsafe {
            let tensor = self.tensor((&raw mut (*owned).extents).cast());
            fill(&mut (*owned).managed, owned.cast(), tensor);
            let capsule = ffi::PyCapsule_New(owned.cast(), name.as_ptr(), Some(destructor));
            if capsule.is_null() {
                free(owned.cast::<M>());
            }
            Bound::from_owned_ptr_or_err(py, capsule)
        }
    }
}

/// A tensor that is filled in later.
const NOTHING: Tensor = Tensor {
    data: ptr::null_mut(),
    device: [0; 2],
    ndim: 0,
    code: 0,
    bits: 0,
    lanes: 0,
    shape: ptr::null_mut(),
    strides: ptr::null_mut(),
    byte_offset: 0,
};

#[pymethods]
impl Points {
    /// ``(n, d)``
    #[getter]
    fn shape(&self) -> (usize, usize) {
        (self.lent.count(), self.lent.dim())
    }

    /// ``"float32"`` or ``"float64"``
    #[getter]
    fn dtype(&self) -> String {
        format!("float{}", self.bits)
    }

    /// ``"cuda:0"``
    #[getter]
    fn device(&self) -> String {
        device_name(self.lent.place())
    }

    fn __len__(&self) -> usize {
        self.lent.count()
    }

    fn __repr__(&self) -> String {
        let (count, dim) = self.shape();
        format!("<cbo points: shape ({count}, {dim}), {}, on {}>", self.dtype(), self.device())
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        self.lent.place()
    }

    /// A capsule with a view of the points, which the given stream may use at once.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<i64>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Some(other) = dl_device.filter(|other| *other != self.lent.place()) {
            let (own, other) = (self.device(), device_name(other));
            return Err(PyBufferError::new_err(format!("the points are on {own}, and are not copied to {other}")));
        }
        if copy == Some(true) {
            return Err(PyBufferError::new_err("the points are not copied: copy the tensor"));
        }
        if self.lent.stream().is_some() {
            // 1 is the default stream, which is meant if none is named, 2 that of the thread; -1 wants nobody to wait.
            match stream.unwrap_or(1) {
                -1 => (),
                stream @ 1.. => {
                    // SAFETY: whoever asks for a tensor on this device names a stream of it.
                    let waits = unsafe { self.lent.precede(stream as u64) };
                    waits.map_err(|fault| device::lost(&fault))?;
                }
                other => return Err(PyValueError::new_err(format!("stream = {other}: must be -1, 1, 2 or a stream"))),
            }
        }
        if max_version.is_some_and(|version| version.0 >= VERSION[0]) {
            let managed = Versioned {
                version: VERSION,
                context: ptr::null_mut(),
                deleter: Some(free::<Versioned>),
                flags: READ_ONLY,
                tensor: NOTHING,
            };
            let fill = |to: &mut Versioned, owner, tensor| (to.context, to.tensor) = (owner, tensor);
            return self.capsule(py, managed, fill, VERSIONED, free_versioned);
        }
        let managed = Plain { tensor: NOTHING, context: ptr::null_mut(), deleter: Some(free::<Plain>) };
        let fill = |to: &mut Plain, owner, tensor| (to.context, to.tensor) = (owner, tensor);
        self.capsule(py, managed, fill, PLAIN, free_plain)
    }
}

/// A device in words.
pub fn device_name((kind, number): (i32, i32)) -> String {
    match kind {
        CPU => "cpu".into(),
        CUDA => format!("cuda:{number}"),
        _ => format!("a device of kind {kind}"),
    }
}

/// A tensor that another library has lent; given back when this is dropped, to be done with the interpreter attached.
pub enum Borrowed {
    /// Of the first protocol.
    Plain(*mut c_void),
    /// Of the one with versions.
    Versioned(*mut c_void),
}

impl Borrowed {
    /// Borrows the tensor of an object that has ``__dlpack__``; work on `stream` may use it at once.
    pub fn new(object: &Bound<'_, PyAny>, stream: Option<u64>) -> PyResult<Self> {
        let py = object.py();
        let named = PyDict::new(py);
        if let Some(stream) = stream {
            named.set_item("stream", stream)?;
        }
        named.set_item("max_version", PyTuple::new(py, VERSION)?)?;
        let capsule = object.call_method("__dlpack__", (), Some(&named)).or_else(|error| {
            if !error.is_instance_of::<PyTypeError>(py) {
                return Err(error);
            }
            // It does not know of versions.
            named.del_item("max_version")?;
            object.call_method("__dlpack__", (), Some(&named))
        })?;
        let raw = capsule.as_ptr();
        // SAFETY: the name of a capsule says what it points to; one that is taken is renamed, so that nobody else takes it.
        unsafe {
            if ffi::PyCapsule_IsValid(raw, VERSIONED.as_ptr()) != 0 {
                let managed = ffi::PyCapsule_GetPointer(raw, VERSIONED.as_ptr());
                if (*managed.cast::<Versioned>()).version[0] > VERSION[0] {
                    return Err(PyBufferError::new_err("fun returned a tensor of a DLPack version that is too new"));
                }
                ffi::PyCapsule_SetName(raw, VERSIONED_USED.as_ptr());
                return Ok(Self::Versioned(managed));
            }
            if ffi::PyCapsule_IsValid(raw, PLAIN.as_ptr()) != 0 {
                let managed = ffi::PyCapsule_GetPointer(raw, PLAIN.as_ptr());
                ffi::PyCapsule_SetName(raw, PLAIN_USED.as_ptr());
                return Ok(Self::Plain(managed));
            }
        }
        Err(PyTypeError::new_err("fun returned an object whose __dlpack__ gives no DLPack tensor"))
    }

    fn tensor(&self) -> &Tensor {
        // SAFETY: it was taken from a capsule of that name, and is given back by `drop` alone.
        unsafe {
            match self {
                Self::Plain(managed) => &(*managed.cast::<Plain>()).tensor,
                Self::Versioned(managed) => &(*managed.cast::<Versioned>()).tensor,
            }
        }
    }

    /// The shape, or the strides if they are told.
    fn extents(&self, from: *mut i64) -> Option<Vec<i64>> {
        if from.is_null() {
            return None;
        }
        // SAFETY: where there is something, there are as many numbers as dimensions.
        Some(unsafe { std::slice::from_raw_parts(from, self.tensor().ndim.max(0) as usize) }.to_vec())
    }

    /// Where `count` numbers of so many bits lie on a device, one after the other; or what the tensor is instead.
    pub fn numbers(&self, count: usize, bits: u8, place: (i32, i32)) -> Result<u64, String> {
        let tensor = self.tensor();
        let shape = self.extents(tensor.shape).unwrap_or_default();
        let strides = self.extents(tensor.strides);
        let dense = count <= 1 || strides.as_ref().is_none_or(|strides| strides[..] == [1]);
        let here = (tensor.device[0], tensor.device[1]);
        let right = (tensor.code, tensor.bits, tensor.lanes) == (FLOAT, bits, 1);
        if shape[..] == [count as i64] && dense && here == place && right {
            return Ok(tensor.data as u64 + tensor.byte_offset);
        }
        let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
        let comma = if sizes.len() == 1 { "," } else { "" };
        let kind = match tensor.code {
            0 => "int",
            1 => "uint",
            FLOAT => "float",
            4 => "bfloat",
            5 => "complex",
            6 => "bool",
            _ => "type of ",
        };
        let apart = if dense || shape.len() != 1 { "" } else { " that is not contiguous," };
        let (sizes, on) = (sizes.join(", "), device_name(here));
        Err(format!("a tensor{apart} of shape ({sizes}{comma}) and dtype {kind}{} on {on}", tensor.bits))
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // SAFETY: it was taken once, and is given back once; the owner may have nothing to do then.
        unsafe {
            match self {
                Self::Plain(managed) => {
                    let managed = managed.cast::<Plain>();
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
                Self::Versioned(managed) => {
                    let managed = managed.cast::<Versioned>();
                    if let Some(deleter) = (*managed).deleter {
                        deleter(managed);
                    }
                }
            }
        }
    }
}
