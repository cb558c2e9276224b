//! A traced formula as a function of the kernels' language.

mod rolled;

use cbo::simd::{Operand, Operation, Trace};
pub(crate) use rolled::Rolled;
use std::fmt::Write;

/// The function in which particles may move, so that its loops are long enough. Others read again what was written, and wait for that less
/// often if their loops read more at once.
pub(crate) const MOVING: &str = "energy";

/// The function `name` of one particle: its operations one after the other, or, if they repeat and `rolls` says so, a loop.
pub(crate) fn function(name: &str, dim: usize, trace: &Trace, rolls: bool) -> String {
    let mut text = format!("template <class P> FN T {name}(P& p) {{\n");
    let rolled = if rolls { Rolled::of(dim, trace) } else { None };
    // Coordinates move by fours, in their order, when they are first needed.
    let mut moved = 0;
    for (place, line) in trace.lines.iter().enumerate() {
        if let Some(rolled) = &rolled {
            if place == rolled.first {
                text += &rolled.text(trace, if name == MOVING { "EACH_SECOND" } else { "EACH_EIGHTH" });
                moved = rolled.quads + 1;
            }
            if (rolled.first..rolled.end()).contains(&place) {
                continue;
            }
        }
        let quads = line.operands[..line.operation.arity()].iter().filter_map(quad_of);
        let needed = quads.max().map_or(moved, |quad| moved.max(quad + 1));
        for quad in moved..needed {
            let _ = writeln!(text, "    p.need({quad});");
        }
        moved = needed;
        let written = |given: &Operand| rolled.as_ref().map_or_else(|| operand(given), |rolled| rolled.outside(given));
        let operands: Vec<String> = line.operands[..line.operation.arity()].iter().map(written).collect();
        // Writing to a string does not fail.
        let _ = writeln!(text, "    const T n{place} = {};", expression(line.operation, &operands));
    }
    // Those that the formula does not look at move too.
    for quad in moved..dim.div_ceil(4) {
        let _ = writeln!(text, "    p.need({quad});");
    }
    let value = rolled.as_ref().map_or_else(|| operand(&trace.value), |rolled| rolled.outside(&trace.value));
    let _ = writeln!(text, "    return {value};\n}}");
    text
}

/// The most coordinates that are needed at once, if each is read when it is first needed, those before it before.
pub(crate) fn live(dim: usize, trace: &Trace) -> usize {
    // The lines that need a coordinate: from and to.
    let mut needed = vec![(usize::MAX, 0); dim];
    for (place, line) in trace.lines.iter().enumerate() {
        for operand in &line.operands[..line.operation.arity()] {
            if let Operand::X(k) = *operand {
                let (first, last) = &mut needed[k as usize];
                (*first, *last) = (place.min(*first), place);
            }
        }
    }
    let mut earliest = usize::MAX;
    let mut change = vec![0isize; trace.lines.len() + 1];
    for (first, last) in needed.into_iter().rev().filter(|(first, _)| *first != usize::MAX) {
        earliest = earliest.min(first);
        change[earliest] += 1;
        change[last + 1] -= 1;
    }
    let counts = change.iter().scan(0, |count, change| {
        *count += change;
        Some(*count)
    });
    counts.max().unwrap_or(0) as usize
}

/// The four coordinates that an operand is one of.
fn quad_of(operand: &Operand) -> Option<usize> {
    match *operand {
        Operand::X(k) => Some(k as usize / 4),
        _ => None,
    }
}

/// A constant, rounded to the precision of the kernel by its compiler.
pub(crate) fn constant(value: f64) -> String {
    match value {
        _ if value.is_nan() => "(T)not_a_number()".into(),
        f64::INFINITY => "(T)infinity()".into(),
        f64::NEG_INFINITY => "(T)-infinity()".into(),
        _ => format!("(T){value:?}"),
    }
}

fn operand(operand: &Operand) -> String {
    match *operand {
        Operand::X(k) => format!("p.at({k})"),
        Operand::Constant(value) => constant(value),
        Operand::Node(place) => format!("n{place}"),
    }
}

fn expression(operation: Operation, operands: &[String]) -> String {
    let infix = |sign: &str| format!("{} {sign} {}", operands[0], operands[1]);
    let call = |name: &str| format!("{name}({})", operands.join(", "));
    match operation {
        Operation::Add => infix("+"),
        Operation::Subtract => infix("-"),
        Operation::Multiply => infix("*"),
        Operation::Divide => infix("/"),
        Operation::Negate => format!("-{}", operands[0]),
        Operation::MultiplyAdd => call("mul_add"),
        Operation::Sqrt => call("root"),
        Operation::Abs => call("absolute"),
        Operation::Floor => call("down"),
        Operation::Round => call("nearest"),
        Operation::Min => call("least_of"),
        Operation::Max => call("greatest_of"),
        Operation::SelectLess => call("select_less"),
        Operation::Exp => call("exponential"),
        Operation::Ln => call("logarithm"),
        Operation::Sin => call("sine"),
        Operation::Cos => call("cosine"),
        Operation::SinPi => call("sin_pi"),
        Operation::SinPiUpToSign => call("sin_pi_up_to_sign"),
        // The engine may learn operations that the kernels do not know yet: then they do not compile.
        other => format!("unknown_{other:?}({})", operands.join(", ")),
    }
}

/// [`function`] of a particle of one of many runs, whose constants may be its `own`: `varies` is asked of one constant after the other for
/// its place there.
pub(crate) fn function_of_run(name: &str, trace: &Trace, mut varies: impl FnMut() -> Option<usize>) -> String {
    let mut written = |given: &Operand| match given {
        Operand::Constant(_) => varies().map_or_else(|| operand(given), |place| format!("own[{place}]")),
        _ => operand(given),
    };
    let mut text = format!("template <class P> FN T {name}(const P& p, const T* own) {{\n");
    for (place, line) in trace.lines.iter().enumerate() {
        let operands: Vec<String> = line.operands[..line.operation.arity()].iter().map(&mut written).collect();
        let _ = writeln!(text, "    const T n{place} = {};", expression(line.operation, &operands));
    }
    let _ = writeln!(text, "    return {};\n}}", written(&trace.value));
    text
}

/// The operands of a trace, in the order in which they are written.
pub(crate) fn operands(trace: &Trace) -> impl Iterator<Item = &Operand> {
    let of_lines = trace.lines.iter().flat_map(|line| &line.operands[..line.operation.arity()]);
    of_lines.chain(std::iter::once(&trace.value))
}
