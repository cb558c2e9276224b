//! Instruction sets: which of them this machine has, and which one the program uses.

use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

/// The environment variable that chooses the instruction set of the whole program.
pub const VARIABLE: &str = "CBO_SIMD";

/// An instruction set that this machine has.
///
/// It is also the proof of that: only detection makes one, so no kernel can run on a set that the processor would not
/// understand. [`InstructionSet::PORTABLE`] is everywhere; the others come from [`available`], from [`current`], or from a name:
///
/// ```
/// use cbo::simd::{self, InstructionSet};
///
/// for set in simd::available() {
///     assert_eq!(set.name().parse::<InstructionSet>(), Ok(set));
/// }
/// let error = "mmx".parse::<InstructionSet>().unwrap_err();
/// assert!(error.to_string().starts_with("mmx: no such instruction set; this machine has "));
/// ```
///
/// ```compile_fail
/// use cbo::simd::InstructionSet;
/// let unproven = InstructionSet::Avx512; // nobody asked the processor
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct InstructionSet(pub(super) Kind);

/// The sets that this build has kernels for, best first.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "only x86 processors have them"))]
pub(super) enum Kind {
    /// AVX-512 F and DQ: 512-bit registers.
    Avx512,
    /// AVX2 with FMA: pairs of 256-bit registers.
    Avx2,
    /// Plain Rust arrays, left to the compiler.
    Portable,
}

const NAMES: [(Kind, &str); 3] = [(Kind::Avx512, "avx512"), (Kind::Avx2, "avx2"), (Kind::Portable, "portable")];

impl InstructionSet {
    /// Plain Rust: every machine has it.
    pub const PORTABLE: Self = Self(Kind::Portable);

    /// Its name, as `CBO_SIMD` takes it: `avx512`, `avx2` or `portable`.
    pub fn name(self) -> &'static str {
        NAMES.iter().find(|(kind, _)| *kind == self.0).map_or("portable", |(_, name)| name)
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Debug for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for InstructionSet {
    type Err = UnavailableSet;

    fn from_str(name: &str) -> Result<Self, UnavailableSet> {
        find(name, available())
    }
}

/// An instruction set that was asked for by name and that this machine does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnavailableSet {
    /// The name.
    pub name: String,
    /// What the machine has, best first.
    pub available: Vec<InstructionSet>,
}

impl UnavailableSet {
    /// What is wrong with the name, and what would be right.
    pub fn remedy(&self) -> String {
        let known = NAMES.iter().any(|(_, name)| *name == self.name);
        let fault =
            if known { "this machine lacks that instruction set; it" } else { "no such instruction set; this machine" };
        let names: Vec<&str> = self.available.iter().map(|set| set.name()).collect();
        format!("{fault} has {}", names.join(", "))
    }
}

impl fmt::Display for UnavailableSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.name, self.remedy())
    }
}

impl std::error::Error for UnavailableSet {}

/// The instruction sets that this machine has, best first; the portable one is always last.
pub fn available() -> Vec<InstructionSet> {
    let mut sets = Vec::new();
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512dq") && has_avx2() {
            sets.push(InstructionSet(Kind::Avx512));
        }
        if has_avx2() {
            sets.push(InstructionSet(Kind::Avx2));
        }
    }
    sets.push(InstructionSet::PORTABLE);
    sets
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

/// The set called `name`, if it is among `available`.
fn find(name: &str, available: Vec<InstructionSet>) -> Result<InstructionSet, UnavailableSet> {
    match available.iter().find(|set| set.name() == name) {
        Some(set) => Ok(*set),
        None => Err(UnavailableSet { name: name.into(), available }),
    }
}

/// What `CBO_SIMD` chooses, or the best set of this machine if it is not set or empty; the same during the whole life of the
/// program. A run checks it with its settings, so an impossible choice is an error there.
pub fn chosen() -> Result<InstructionSet, UnavailableSet> {
    choice().clone()
}

/// The instruction set that [`run`](super::run) uses: the [`chosen`] one, or the best where the choice is impossible.
#[inline]
pub fn current() -> InstructionSet {
    match choice() {
        Ok(set) => *set,
        Err(error) => error.available[0],
    }
}

fn choice() -> &'static Result<InstructionSet, UnavailableSet> {
    static CHOICE: OnceLock<Result<InstructionSet, UnavailableSet>> = OnceLock::new();
    CHOICE.get_or_init(|| match std::env::var_os(VARIABLE) {
        Some(name) if !name.is_empty() => find(&name.to_string_lossy(), available()),
        _ => Ok(available()[0]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AVX2: InstructionSet = InstructionSet(Kind::Avx2);

    #[test]
    fn a_set_that_the_machine_lacks_is_refused() {
        let old_machine = || vec![AVX2, InstructionSet::PORTABLE];
        assert_eq!(find("avx2", old_machine()), Ok(AVX2));
        assert_eq!(find("portable", old_machine()), Ok(InstructionSet::PORTABLE));
        let message = |name| find(name, old_machine()).unwrap_err().to_string();
        assert_eq!(message("avx512"), "avx512: this machine lacks that instruction set; it has avx2, portable");
        assert_eq!(message("AVX2"), "AVX2: no such instruction set; this machine has avx2, portable");
        let plain = find("avx2", vec![InstructionSet::PORTABLE]).unwrap_err().to_string();
        assert_eq!(plain, "avx2: this machine lacks that instruction set; it has portable");
    }

    #[test]
    fn detection_agrees_with_the_processor() {
        let names: Vec<&str> = available().iter().map(|set| set.name()).collect();
        assert_eq!(names.last(), Some(&"portable"));
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        if let Some(flags) = info.lines().find(|line| line.starts_with("flags")) {
            let has = |flag: &str| flags.split_whitespace().any(|f| f == flag);
            assert_eq!(names.contains(&"avx2"), has("avx2") && has("fma"));
            assert_eq!(names.contains(&"avx512"), has("avx512f") && has("avx512dq") && has("avx2") && has("fma"));
        }
    }
}
