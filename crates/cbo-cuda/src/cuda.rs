//! A GPU of NVIDIA's through its driver, which is loaded when it is first asked for.

use crate::cache;
use crate::machine::{Entry, Fault, Grid, Kind, Machine, Program};
use cudarc::driver::{CudaContext, CudaFunction, CudaStream, DriverError, result, sys};
use cudarc::nvrtc::{Ptx, result as nvrtc};
use std::ffi::{CString, c_void};
use std::sync::Arc;

/// A GPU.
pub(crate) struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    name: String,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)
    }
}

impl Gpu {
    /// How many GPUs this machine has.
    pub fn count() -> Result<usize, Fault> {
        // SAFETY: this only looks whether the library can be loaded.
        if !unsafe { sys::is_culib_present() } {
            return Err(Fault("there is no NVIDIA driver on this machine".into()));
        }
        Ok(CudaContext::device_count().map_err(said)?.max(0) as usize)
    }

    /// The GPU with this number.
    pub fn open(number: usize) -> Result<Self, Fault> {
        let count = Self::count()?;
        if number >= count {
            return Err(Fault(match count {
                1 => format!("there is no GPU {number}: this machine has one, which is number 0"),
                _ => format!("there is no GPU {number}: this machine has {count}, counted from 0"),
            }));
        }
        let context = CudaContext::new(number).map_err(said)?;
        let name = context.name().map_err(said)?;
        let stream = context.new_stream().map_err(said)?;
        Ok(Self { context, stream, name })
    }

    /// Calls of the driver belong to a context, which belongs to a thread.
    fn here(&self) -> Result<(), Fault> {
        self.context.bind_to_thread().map_err(said)
    }

    /// Whether all that was launched is done.
    fn is_idle(&self) -> Result<bool, Fault> {
        self.here()?;
        // SAFETY: the stream is open.
        match unsafe { sys::cuStreamQuery(self.stream.cu_stream()) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
            other => other.result().map_err(said).map(|()| true),
        }
    }

    /// Machine code of a text, for this GPU.
    fn code(&self, text: &str) -> Result<Vec<u8>, Fault> {
        let (major, minor) = self.context.compute_capability().map_err(said)?;
        // Fused multiply-adds where they are written, and nowhere else.
        let options = [format!("--gpu-architecture=sm_{major}{minor}"), "--fmad=false".into(), "--std=c++17".into()];
        let key = [text, &options.join(" "), env!("CARGO_PKG_VERSION")];
        if let Some(code) = cache::find(&key) {
            return Ok(code);
        }
        let code = compile(text, &options)?;
        cache::keep(&key, &code);
        Ok(code)
    }
}

/// What the driver said.
fn said(error: DriverError) -> Fault {
    let words = error.error_string().map(|text| text.to_string_lossy().into_owned());
    Fault(words.unwrap_or_else(|_| format!("{error:?}")))
}

/// Machine code by the run-time compiler.
fn compile(text: &str, options: &[String]) -> Result<Vec<u8>, Fault> {
    // It is large, and not needed for kernels that were kept.
    // SAFETY: this only looks whether the library can be loaded.
    if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
        return Err(Fault("NVIDIA's run-time compiler (libnvrtc) is missing; install CUDA's NVRTC".into()));
    }
    let failed = |what: &str| Fault(format!("NVIDIA's run-time compiler failed: {what}"));
    let text = CString::new(text).map_err(|_| failed("a zero byte in the text"))?;
    let program = nvrtc::create_program(&text, None).map_err(|e| failed(&format!("{e:?}")))?;
    // SAFETY: the program was made above, and is destroyed at the end alone; sizes are those that the compiler gives.
    unsafe {
        let outcome = nvrtc::compile_program(program, options);
        let code = outcome.map_err(|error| {
            let log = nvrtc::get_program_log(program).unwrap_or_default();
            let log: Vec<u8> = log.iter().map(|c| *c as u8).take_while(|c| *c != 0).collect();
            let first = String::from_utf8_lossy(&log).lines().find(|line| line.contains("error")).map(String::from);
            failed(&first.unwrap_or_else(|| format!("{error:?}")))
        });
        let code = code.and_then(|()| {
            let mut size = 0;
            let ok = |r: cudarc::nvrtc::sys::nvrtcResult| r.result().map_err(|e| failed(&format!("{e:?}")));
            ok(cudarc::nvrtc::sys::nvrtcGetCUBINSize(program, &raw mut size))?;
            let mut code = vec![0u8; size];
            ok(cudarc::nvrtc::sys::nvrtcGetCUBIN(program, code.as_mut_ptr().cast()))?;
            Ok(code)
        });
        let _ = nvrtc::destroy_program(program);
        code
    }
}

impl Machine for Gpu {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn free_bytes(&self) -> Option<u64> {
        self.context.mem_get_info().ok().map(|(free, _)| free as u64)
    }

    fn compile(&self, text: &str, kernels: &[Entry]) -> Result<Arc<dyn Program>, Fault> {
        self.here()?;
        let module = self.context.load_module(Ptx::from_binary(self.code(text)?)).map_err(said)?;
        let function = |kernel: &Entry| {
            let function = module.load_function(&kernel.name).map_err(said)?;
            if kernel.shared > 0 {
                // More shared memory than kernels have without asking.
                let attribute = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
                function.set_attribute(attribute, kernel.shared as i32).map_err(said)?;
            }
            Ok(function)
        };
        let functions = kernels.iter().map(function).collect::<Result<Vec<_>, Fault>>()?;
        Ok(Arc::new(Kernels { functions, stream: self.stream.clone() }))
    }

    fn allocate(&self, bytes: usize, kind: Kind) -> Result<u64, Fault> {
        self.here()?;
        // SAFETY: the memory is set to zero before anybody reads it, and given back by `release` once.
        unsafe {
            match kind {
                Kind::Device => {
                    let address = result::malloc_sync(bytes).map_err(said)?;
                    result::memset_d8_async(address, 0, bytes, self.stream.cu_stream()).map_err(said)?;
                    Ok(address)
                }
                Kind::Shared => {
                    // Portable, and at the same address for the device.
                    let at = result::malloc_host(bytes, 0x01 | 0x02).map_err(said)?;
                    std::ptr::write_bytes(at.cast::<u8>(), 0, bytes);
                    Ok(at as u64)
                }
            }
        }
    }

    fn release(&self, address: u64, kind: Kind) {
        // Whatever was launched may still use it.
        let _ = self.wait();
        // SAFETY: it was allocated as this kind, and nobody uses it any more.
        let _ = unsafe {
            match kind {
                Kind::Device => result::free_sync(address),
                Kind::Shared => result::free_host(address as *mut c_void),
            }
        };
    }

    fn upload(&self, to: u64, bytes: &[u8]) -> Result<(), Fault> {
        self.here()?;
        // SAFETY: whoever uploads has allocated as much there; the copy is over when `wait` returns.
        unsafe { result::memcpy_htod_async(to, bytes, self.stream.cu_stream()) }.map_err(said)?;
        self.wait()
    }

    fn download(&self, from: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        self.here()?;
        // SAFETY: as above.
        unsafe { result::memcpy_dtoh_async(bytes, from, self.stream.cu_stream()) }.map_err(said)?;
        self.wait()
    }

    unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), Fault> {
        self.here()?;
        // SAFETY: the caller answers for both ends.
        unsafe { result::memcpy_dtod_async(to, from, bytes, self.stream.cu_stream()) }.map_err(said)
    }

    fn place(&self) -> (i32, i32) {
        // kDLCUDA
        (2, self.context.ordinal() as i32)
    }

    fn stream(&self) -> Option<u64> {
        Some(self.stream.cu_stream() as u64)
    }

    unsafe fn precede(&self, stream: u64) -> Result<(), Fault> {
        let event = self.stream.record_event(None).map_err(said)?;
        let flags = sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT;
        // SAFETY: the caller answers for the stream; 1 and 2 are the driver's own names for the default one and that of the thread. The
        // driver keeps the event as long as somebody waits for it.
        unsafe { result::stream::wait_event(stream as sys::CUstream, event.cu_event(), flags) }.map_err(said)
    }

    fn wait_for(&self, from: u64, mark: u32, words: &mut [u32]) -> Result<(), Fault> {
        let mut looks = 0u64;
        for (at, word) in words.iter_mut().enumerate() {
            // SAFETY: the words lie in shared memory that is still allocated; the device writes them while we look.
            let look = || unsafe { (from as *const u64).add(at).read_volatile() };
            loop {
                let marked = look();
                if (marked >> 32) as u32 == mark {
                    *word = marked as u32;
                    break;
                }
                std::hint::spin_loop();
                looks += 1;
                // A kernel that failed writes nothing.
                if looks.is_multiple_of(1 << 16) && self.is_idle()? && (look() >> 32) as u32 != mark {
                    return Err(Fault("a kernel ended without a result".into()));
                }
            }
        }
        Ok(())
    }

    fn wait(&self) -> Result<(), Fault> {
        self.here()?;
        self.stream.synchronize().map_err(said)
    }

    fn look(&self, at: u64, bytes: &mut [u8]) {
        // SAFETY: whoever looks has allocated as much shared memory there, and the device is not writing it.
        unsafe { std::ptr::copy_nonoverlapping(at as *const u8, bytes.as_mut_ptr(), bytes.len()) }
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        // SAFETY: whoever writes has allocated as much shared memory there, and the device is not reading it.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), at as *mut u8, bytes.len()) }
    }

    fn send(&self, to: u64, from: u64, bytes: usize) -> Result<(), Fault> {
        self.here()?;
        // SAFETY: whoever sends has allocated as much in both places, and leaves it as it is until it has waited.
        unsafe {
            let source = std::slice::from_raw_parts(from as *const u8, bytes);
            result::memcpy_htod_async(to, source, self.stream.cu_stream()).map_err(said)
        }
    }
}

/// The kernels of a run.
struct Kernels {
    /// In the order in which they were asked for.
    functions: Vec<CudaFunction>,
    stream: Arc<CudaStream>,
}

impl std::fmt::Debug for Kernels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("kernels")
    }
}

impl Program for Kernels {
    fn launch(&self, kernel: usize, grid: Grid, args: &[u8]) -> Result<(), Fault> {
        self.stream.context().bind_to_thread().map_err(said)?;
        let function = &self.functions[kernel];
        let mut parameters = [args.as_ptr().cast_mut().cast::<c_void>()];
        let mut attribute = sys::CUlaunchAttribute {
            id: sys::CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
            pad: [0; 4],
            value: sys::CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
        };
        let config = sys::CUlaunchConfig {
            gridDimX: grid.blocks,
            gridDimY: 1,
            gridDimZ: 1,
            blockDimX: grid.threads,
            blockDimY: 1,
            blockDimZ: 1,
            sharedMemBytes: grid.shared,
            hStream: self.stream.cu_stream(),
            attrs: &raw mut attribute,
            numAttrs: grid.early.into(),
        };
        // SAFETY: the kernels take one struct, whose bytes these are (`backend/launch.rs`, `network.rs`); the driver copies them.
        unsafe {
            let no_more = std::ptr::null_mut();
            sys::cuLaunchKernelEx(&raw const config, function.cu_function(), parameters.as_mut_ptr(), no_more).result()
        }
        .map_err(said)
    }
}
