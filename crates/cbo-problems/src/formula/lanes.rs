//! A program on SIMD lanes: one walk along it serves eight (or sixteen) points.

use super::program::{Program, WIDTH};
use crate::lanes::{STACK_DIM, run, transpose_group};
use cbo::simd::{InstructionSet, Kernel, Vector};
use cbo::{Rows, Scalar};

/// The energies of `rows`, on a chosen instruction set or on the best.
pub(super) fn energies<T: Scalar>(program: &Program, set: Option<InstructionSet>, rows: Rows<'_, T>, out: &mut [T]) {
    run(set, Lanes { program, rows, out });
}

struct Lanes<'a, T> {
    program: &'a Program,
    rows: Rows<'a, T>,
    out: &'a mut [T],
}

/// Up to this many registers are held on the stack.
const STACK_REGISTERS: usize = 16;

impl<T: Scalar> Kernel<T> for Lanes<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let dim = self.rows.dim();
        let padded = dim.div_ceil(V::LANES) * V::LANES;
        let mut stack = [V::constant(0.0); STACK_DIM];
        let mut heap = Vec::new();
        let x = if padded <= STACK_DIM {
            &mut stack[..padded]
        } else {
            heap.resize(padded, V::constant(0.0));
            &mut heap[..]
        };
        let mut few = [[V::constant(0.0); WIDTH]; STACK_REGISTERS];
        let mut many = Vec::new();
        let registers = if self.program.registers <= STACK_REGISTERS {
            &mut few[..]
        } else {
            many.resize(self.program.registers, [V::constant(0.0); WIDTH]);
            &mut many[..]
        };
        for (group, energies) in self.out.chunks_mut(V::LANES).enumerate() {
            transpose_group(self.rows, group * V::LANES, x);
            self.program.value(&x[..dim], registers).store_partial(energies);
        }
    }
}
