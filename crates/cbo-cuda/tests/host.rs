//! A machine that runs the kernels on the processor: their text, compiled by the system's C++ compiler.

use cbo_cuda::machine::{Entry, Fault, Grid, Kind, Machine, Program};
use libloading::Library;
use std::collections::HashMap;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::{fs, slice};

/// The processor in the place of a GPU.
#[derive(Debug, Default)]
pub struct Host {
    /// Bytes that it pretends to have.
    pub free: Option<u64>,
    /// Launches after which it pretends to be lost.
    pub lost_after: Option<u64>,
    /// What was allocated.
    pub memory: Mutex<Vec<Box<[u64]>>>,
}

/// Whether there is a compiler; tests say that they were left out where there is none.
pub fn is_there() -> bool {
    let there = std::env::var_os("CBO_CUDA").is_some()
        || Command::new("c++").arg("--version").output().is_ok_and(|output| output.status.success());
    if !there {
        eprintln!("left out: there is no C++ compiler `c++`");
    }
    there
}

impl Machine for Host {
    fn name(&self) -> String {
        "the processor".into()
    }

    fn free_bytes(&self) -> Option<u64> {
        self.free
    }

    fn compile(&self, text: &str, kernels: &[Entry]) -> Result<Arc<dyn Program>, Fault> {
        let known = COMPILED.lock().unwrap().get(text).cloned();
        let library = match known {
            Some(library) => library,
            None => {
                let library = Arc::new(Compiled::new(text)?);
                COMPILED.lock().unwrap().insert(text.into(), Arc::clone(&library));
                library
            }
        };
        let names = kernels.iter().map(|kernel| kernel.name.clone()).collect();
        Ok(Arc::new(Launcher { library, names, launches: AtomicU64::new(0), lost_after: self.lost_after }))
    }

    fn allocate(&self, bytes: usize, _kind: Kind) -> Result<u64, Fault> {
        let memory = vec![0u64; bytes.div_ceil(8)].into_boxed_slice();
        let address = memory.as_ptr() as u64;
        self.memory.lock().unwrap().push(memory);
        Ok(address)
    }

    fn release(&self, address: u64, _kind: Kind) {
        self.memory.lock().unwrap().retain(|memory| memory.as_ptr() as u64 != address);
    }

    fn upload(&self, to: u64, bytes: &[u8]) -> Result<(), Fault> {
        // SAFETY: memory that was allocated here, at least as long.
        unsafe { slice::from_raw_parts_mut(to as *mut u8, bytes.len()) }.copy_from_slice(bytes);
        Ok(())
    }

    fn download(&self, from: u64, bytes: &mut [u8]) -> Result<(), Fault> {
        self.look(from, bytes);
        Ok(())
    }

    fn wait_for(&self, from: u64, mark: u32, words: &mut [u32]) -> Result<(), Fault> {
        for (at, word) in words.iter_mut().enumerate() {
            let mut bytes = [0; 8];
            self.look(from + 8 * at as u64, &mut bytes);
            let marked = u64::from_le_bytes(bytes);
            // A launch is over when it returns.
            assert_eq!((marked >> 32) as u32, mark, "the kernel has not written word {at}");
            *word = marked as u32;
        }
        Ok(())
    }

    fn wait(&self) -> Result<(), Fault> {
        Ok(())
    }

    fn look(&self, at: u64, bytes: &mut [u8]) {
        // SAFETY: as above.
        bytes.copy_from_slice(unsafe { slice::from_raw_parts(at as *const u8, bytes.len()) });
    }

    fn put(&self, at: u64, bytes: &[u8]) {
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(at as *mut u8, bytes.len()) }.copy_from_slice(bytes);
    }

    fn send(&self, to: u64, from: u64, bytes: usize) -> Result<(), Fault> {
        // SAFETY: as above.
        self.upload(to, unsafe { slice::from_raw_parts(from as *const u8, bytes) })
    }
}

/// Libraries by their text: many settings have the same.
static COMPILED: LazyLock<Mutex<HashMap<String, Arc<Compiled>>>> = LazyLock::new(Mutex::default);

#[derive(Debug)]
struct Compiled {
    library: Library,
    /// What stands in for shared memory of a block is static: one launch at a time.
    running: Mutex<()>,
}

impl Compiled {
    fn new(text: &str) -> Result<Self, Fault> {
        let folder = tempfile::tempdir().map_err(|e| Fault(e.to_string()))?;
        let (source, library) = (folder.path().join("kernels.cpp"), folder.path().join("kernels.so"));
        fs::write(&source, text).map_err(|e| Fault(e.to_string()))?;
        // Fused multiply-adds where they are written, and nowhere else.
        let flags = ["-O0", "-std=c++17", "-shared", "-fPIC", "-ffp-contract=off", "-w"];
        let output = Command::new("c++").args(flags).arg("-o").arg(&library).arg(&source).output();
        let output = output.map_err(|e| Fault(e.to_string()))?;
        if !output.status.success() {
            return Err(Fault(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        // SAFETY: the library was compiled above, and has nothing that runs when it is loaded.
        let library = unsafe { Library::new(&library) }.map_err(|e| Fault(e.to_string()))?;
        // The folder is removed here; what is loaded stays.
        Ok(Self { library, running: Mutex::new(()) })
    }
}

/// The kernels of one run.
#[derive(Debug)]
struct Launcher {
    library: Arc<Compiled>,
    names: Vec<String>,
    launches: AtomicU64,
    lost_after: Option<u64>,
}

impl Program for Launcher {
    fn launch(&self, kernel: usize, grid: Grid, args: &[u8]) -> Result<(), Fault> {
        let before = self.launches.fetch_add(1, Ordering::Relaxed);
        if self.lost_after.is_some_and(|most| before >= most) {
            return Err(Fault("the device fell off the bus".into()));
        }
        let name = format!("run_{}", self.names[kernel]);
        // Arguments begin at a multiple of eight.
        let mut aligned = vec![0u64; args.len().div_ceil(8)];
        // SAFETY: as long as that, in bytes.
        unsafe { slice::from_raw_parts_mut(aligned.as_mut_ptr().cast::<u8>(), args.len()) }.copy_from_slice(args);
        let _alone = self.library.running.lock().unwrap();
        // SAFETY: the kernels have these functions with these arguments.
        unsafe {
            let library = &self.library.library;
            let run = library
                .get::<unsafe extern "C" fn(*const u64, u32, u32)>(name.as_bytes())
                .map_err(|e| Fault(e.to_string()))?;
            run(aligned.as_ptr(), grid.blocks, grid.threads);
        }
        Ok(())
    }
}
