//! Formulas that do the same with four coordinates after the other, as a loop: code that is short enough for the cache of instructions.

use super::{expression, operand};
use cbo::simd::{Line, Operand, Trace};
use std::collections::BTreeSet;
use std::fmt::Write;

/// Rounds of a loop that are worth it.
const FEWEST: usize = 4;

/// The lines of a trace that are a loop: round after round of so many lines, each for the next four coordinates, from the second four on.
#[derive(Debug)]
pub(crate) struct Rolled {
    /// Its first line.
    pub first: usize,
    period: usize,
    /// Rounds, which is also the last four coordinates.
    pub quads: usize,
    /// Lines of a round, counted from its first, whose values the next round needs, or what follows the loop.
    carried: BTreeSet<usize>,
    left: BTreeSet<usize>,
}

/// What an operand of the first round is.
enum Role {
    /// The same in all rounds.
    Fixed,
    /// Coordinate of this round or of the one before.
    Coordinate(usize),
    /// A line of this round.
    Own(usize),
    /// A line of the round before.
    Before(usize),
}

impl Rolled {
    /// The loop of a trace, if it has one, and nothing outside needs more of it than its last round.
    pub fn of(dim: usize, trace: &Trace) -> Option<Self> {
        let first_of = |quad: usize| trace.lines.iter().position(|line| operands(line).any(|x| is_of(x, quad)));
        let (first, second) =
            (first_of(1).filter(|first| first_of(0).is_some_and(|begin| begin < *first))?, first_of(2)?);
        let period = second.checked_sub(first).filter(|period| *period > 0 && first >= *period)?;
        let mut rolled = Self { first, period, quads: 0, carried: BTreeSet::new(), left: BTreeSet::new() };
        let fits = |round: usize| {
            let begin = first + round * period;
            begin + period <= trace.lines.len()
                && (0..period).all(|line| rolled.is_repeated(trace, line, &trace.lines[begin + line], round))
        };
        // Whole fours only: in a further round not all coordinates would be there.
        rolled.quads = (0..dim / 4 - 1).take_while(|round| fits(*round)).count();
        if rolled.quads < FEWEST || dim.div_ceil(4) > rolled.quads + 2 {
            return None;
        }
        for operand in (0..period).flat_map(|line| operands(&trace.lines[first + line])) {
            if let Role::Before(line) = rolled.role(trace, operand)? {
                rolled.carried.insert(line);
            }
        }
        let after = trace.lines[rolled.end()..].iter().flat_map(operands).chain([&trace.value]);
        for operand in after {
            match *operand {
                Operand::Node(place) if (first..rolled.end()).contains(&(place as usize)) => {
                    rolled.left.insert((place as usize).checked_sub(rolled.end() - period)?);
                }
                Operand::X(k) if (k as usize) < 4 * rolled.quads => return None,
                _ => {}
            }
        }
        Some(rolled)
    }

    /// The line after the loop.
    pub fn end(&self) -> usize {
        self.first + self.quads * self.period
    }

    /// Whether a line of a round does what the same line of the first round does, for its own coordinates.
    fn is_repeated(&self, trace: &Trace, line: usize, found: &Line, round: usize) -> bool {
        let known = &trace.lines[self.first + line];
        let same = |(known, found): (&Operand, &Operand)| match (self.role(trace, known), known, found) {
            (None, ..) => false,
            (Some(Role::Fixed), Operand::Constant(a), Operand::Constant(b)) => a.to_bits() == b.to_bits(),
            (Some(Role::Fixed), _, _) => known == found,
            (Some(Role::Coordinate(_)), Operand::X(a), Operand::X(b)) => *b as usize == *a as usize + 4 * round,
            (Some(_), Operand::Node(a), Operand::Node(b)) => *b as usize == *a as usize + self.period * round,
            _ => false,
        };
        known.operation == found.operation && operands(known).zip(operands(found)).all(same)
    }

    /// What an operand of the first round is; none if it reaches too far back.
    fn role(&self, trace: &Trace, operand: &Operand) -> Option<Role> {
        match *operand {
            Operand::Constant(_) => Some(Role::Fixed),
            Operand::X(k) => ((k as usize) < 8).then_some(Role::Coordinate(k as usize)),
            Operand::Node(place) => {
                let place = place as usize;
                if place >= self.first {
                    return Some(Role::Own(place - self.first));
                }
                // Of the round before, if the second round has the same of the first.
                let before = place.checked_sub(self.first - self.period);
                let lines = (0..self.period)
                    .map(|line| (&trace.lines[self.first + line], trace.lines.get(self.first + self.period + line)));
                let moves = lines.into_iter().any(|(one, other)| {
                    let other = other.into_iter().flat_map(operands);
                    operands(one).zip(other).any(|(a, b)| a == operand && a != b)
                });
                if moves { before.map(Role::Before) } else { Some(Role::Fixed) }
            }
        }
    }

    /// The loop.
    fn loop_of(&self, trace: &Trace) -> String {
        let mut text = String::new();
        for line in 0..self.period {
            let known = &trace.lines[self.first + line];
            let written = |given: &Operand| match self.role(trace, given) {
                Some(Role::Coordinate(k)) if k < 4 => format!("before[{k}]"),
                Some(Role::Coordinate(k)) => format!("x[{}]", k - 4),
                Some(Role::Own(line)) => format!("m{line}"),
                Some(Role::Before(line)) => format!("c{line}"),
                _ => operand(given),
            };
            let operands: Vec<String> = operands(known).map(written).collect();
            let _ = writeln!(text, "        const T m{line} = {};", expression(known.operation, &operands));
        }
        text
    }

    /// The text of the loop, with what it needs and leaves; `each` says how many rounds are written down.
    pub fn text(&self, trace: &Trace, each: &str) -> String {
        let mut text = String::from("    T before[4] = {p.at(0), p.at(1), p.at(2), p.at(3)};\n");
        for line in self.carried.union(&self.left) {
            let begins = format!("n{}", self.first - self.period + line);
            let begins = if self.carried.contains(line) { &begins } else { "(T)0.0" };
            let _ = writeln!(text, "    T c{line} = {begins};");
        }
        let _ = writeln!(text, "    {each} for (u32 quad = 1; quad <= {}; ++quad) {{", self.quads);
        text += "        T x[4];\n        p.four(quad, x);\n";
        text += &self.loop_of(trace);
        for line in self.carried.union(&self.left) {
            let _ = writeln!(text, "        c{line} = m{line};");
        }
        text + "        EACH for (u32 j = 0; j < 4; ++j) before[j] = x[j];\n    }\n"
    }

    /// An operand of what precedes the loop or follows it.
    pub fn outside(&self, given: &Operand) -> String {
        let last = self.end() - self.period;
        match *given {
            Operand::Node(place) if (last..self.end()).contains(&(place as usize)) => {
                format!("c{}", place as usize - last)
            }
            Operand::X(k) if k as usize / 4 == self.quads => format!("before[{}]", k % 4),
            _ => operand(given),
        }
    }
}

fn operands(line: &Line) -> impl Iterator<Item = &Operand> {
    line.operands[..line.operation.arity()].iter()
}

fn is_of(operand: &Operand, quad: usize) -> bool {
    matches!(*operand, Operand::X(k) if k as usize / 4 == quad)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cbo::Objective;
    use cbo_problems::Problem;

    fn rolled(name: &str, dim: usize) -> Option<Rolled> {
        let problem = Problem::named(name, dim).expect("a problem");
        let energy = Objective::<f32>::trace(&problem).expect("a trace");
        Rolled::of(dim, &energy.operations)
    }

    #[test]
    fn sums_over_coordinates_are_loops() {
        for (name, dim) in [("rastrigin", 128), ("rastrigin", 131), ("sphere", 70), ("ackley", 100)] {
            let rolled = rolled(name, dim).unwrap_or_else(|| panic!("{name} in {dim} dimensions is no loop"));
            assert!(rolled.quads + 2 >= dim.div_ceil(4), "{name}: {rolled:?}");
        }
        // Each of its factors has a constant of its own.
        assert!(rolled("griewank", 128).is_none());
    }
}
