//! The walk along a draft before it is a program: every index is in range, the work is limited, and tables for what depends on indices.

use super::draft::{Draft, Head, Step};
use super::error::{FormulaError, FormulaFault};
use super::number::{Indices, Levels, Number, Whole};
use super::program::{Loop, Operation, Program, Tabulated};
use super::words::Reduction;
use super::{MOST_LOOPS, MOST_OPERATIONS};

/// Numbers in all tables together, at most: 8 MiB.
const MOST_TABULATED: u64 = 1 << 20;

/// Bounds of sums beyond this are refused: their products with factors of indices must not overflow.
const FARTHEST: i64 = 1_000_000_000;

/// Operations that the beginning and the end of a sum count for. It also limits how long the walk itself takes, which looks at every sum
/// but only at the first and the last term of the innermost ones.
const BEGINNING: u64 = 10;

/// The program of a draft, and how many operations a value takes.
pub(super) fn finish(draft: &Draft, dim: usize) -> Result<(Program, u64), FormulaError> {
    let visits = vec![None; draft.numbers.len()];
    let costs = draft.numbers.iter().map(Number::operations).collect();
    let levels = draft.numbers.iter().map(|number| only(number.levels())).collect();
    let mut walk = Walk { dim, operations: 0, indices: [0; MOST_LOOPS + 1], visits, costs, levels };
    walk.steps(draft.steps(), None)?;
    let mut program = Program {
        registers: draft.registers(),
        result: draft.result,
        numbers: walk.tables(draft),
        ..Program::default()
    };
    flatten(draft.steps(), &mut program);
    Ok((program, walk.operations))
}

/// The least and largest index with which a number was needed, and how often it was.
#[derive(Clone, Copy)]
struct Visits {
    least: i64,
    largest: i64,
    count: u64,
}

struct Walk {
    dim: usize,
    operations: u64,
    indices: Indices,
    visits: Vec<Option<Visits>>,
    /// What each number takes without a table.
    costs: Vec<u64>,
    /// The depth of the sum on whose index each depends, if it is one alone.
    levels: Vec<Option<usize>>,
}

/// The depth of a sum, if it is one alone.
fn only(levels: Levels) -> Option<usize> {
    (levels.count_ones() == 1).then(|| levels.ilog2() as usize)
}

impl Walk {
    /// Steps within the innermost sum are seen with its first and its last index: in between, whole numbers lie in between.
    /// `terms` is how many there are of it, and its depth.
    fn steps(&mut self, steps: &[Step], terms: Option<(u64, usize)>) -> Result<(), FormulaError> {
        for step in steps {
            match step {
                Step::Operation(operation) => self.operation(operation, terms)?,
                Step::Coordinate { index, column, written, .. } => {
                    self.count(terms.map_or(1, |(count, _)| count))?;
                    self.range(index, *column, written, terms)?;
                }
                Step::Sum { head, steps, .. } => self.sum(head, steps)?,
            }
        }
        Ok(())
    }

    fn sum(&mut self, head: &Head, steps: &[Step]) -> Result<(), FormulaError> {
        let (from, to) = (head.from.at(&self.indices), head.to.at(&self.indices));
        let refuse = |fault| Err(FormulaError::at(head.column, fault));
        let name = head.reduction.name();
        if from.abs() > FARTHEST || to.abs() > FARTHEST {
            return refuse(FormulaFault::Bounds { name, from, to });
        }
        self.count(BEGINNING)?;
        if from > to {
            return match head.reduction {
                Reduction::Sum | Reduction::Product => Ok(()),
                _ => refuse(FormulaFault::NoTerms { name, from, to, dim: self.dim }),
            };
        }
        let count = (to - from + 1) as u64;
        self.count(count)?;
        self.indices[head.level] = from;
        if is_innermost(steps) {
            return self.steps(steps, Some((count, head.level)));
        }
        for index in from..=to {
            self.indices[head.level] = index;
            self.steps(steps, None)?;
        }
        Ok(())
    }

    fn operation(&mut self, operation: &Operation, terms: Option<(u64, usize)>) -> Result<(), FormulaError> {
        let count = terms.map_or(1, |(count, _)| count);
        let Some(place) = number_of(operation) else { return self.count(count) };
        self.count(count.saturating_mul(self.costs[place]))?;
        let Some(level) = self.levels[place] else { return Ok(()) };
        let least = self.indices[level];
        let largest = if terms.is_some_and(|(_, own)| own == level) { least + count as i64 - 1 } else { least };
        let seen = self.visits[place].get_or_insert(Visits { least, largest, count: 0 });
        (seen.least, seen.largest) = (seen.least.min(least), seen.largest.max(largest));
        seen.count += count;
        Ok(())
    }

    fn range(
        &mut self,
        index: &Whole,
        column: usize,
        written: &str,
        terms: Option<(u64, usize)>,
    ) -> Result<(), FormulaError> {
        let first = index.at(&self.indices);
        let last = match terms {
            Some((count, level)) => {
                let mut indices = self.indices;
                indices[level] += count as i64 - 1;
                index.at(&indices)
            }
            None => first,
        };
        match [first, last].into_iter().find(|value| *value < 1 || *value > self.dim as i64) {
            None => Ok(()),
            Some(value) => {
                let fault = FormulaFault::OutOfRange { written: written.into(), value, dim: self.dim };
                Err(FormulaError::at(column, fault))
            }
        }
    }

    fn count(&mut self, more: u64) -> Result<(), FormulaError> {
        self.operations = self.operations.saturating_add(more);
        match self.operations <= MOST_OPERATIONS {
            true => Ok(()),
            false => Err(FormulaError::whole(FormulaFault::TooManyOperations { dim: self.dim })),
        }
    }

    /// Numbers of one index that are needed again and again have tables, as long as these are small.
    fn tables(&self, draft: &Draft) -> Vec<Tabulated> {
        let mut left = MOST_TABULATED;
        let places = draft.numbers.iter().zip(self.visits.iter().zip(&self.levels));
        places
            .map(|(number, (visits, level))| {
                let table = visits.zip(*level).and_then(|(visits, level)| {
                    let size = (visits.largest - visits.least + 1) as u64;
                    if size > visits.count || size > left {
                        return None;
                    }
                    left -= size;
                    let mut indices = [0; MOST_LOOPS + 1];
                    let mut value = |index: i64| {
                        indices[level] = index;
                        number.value(&indices)
                    };
                    Some((level, visits.least, (visits.least..=visits.largest).map(&mut value).collect()))
                });
                Tabulated { number: number.clone(), table }
            })
            .collect()
    }
}

/// The place of the number that an operation needs.
fn number_of(operation: &Operation) -> Option<usize> {
    match operation {
        Operation::Number { number, .. } | Operation::PowerAt { number, .. } => Some(*number as usize),
        _ => None,
    }
}

fn is_innermost(steps: &[Step]) -> bool {
    !steps.iter().any(|step| matches!(step, Step::Sum { .. }))
}

/// One list of all steps, sums with their begin and their end.
fn flatten(steps: &[Step], program: &mut Program) {
    for step in steps {
        match step {
            Step::Operation(operation) => program.operations.push(*operation),
            Step::Coordinate { to, index, .. } => {
                let operation = coordinate(*to, index, &mut program.wholes);
                program.operations.push(operation);
            }
            Step::Sum { head, steps, term, result } => {
                let sum = program.loops.len();
                program.operations.push(Operation::Begin { sum: sum as u32 });
                program.loops.push(Loop {
                    reduction: head.reduction,
                    level: head.level,
                    from: head.from.clone(),
                    to: head.to.clone(),
                    result: *result,
                    term: *term,
                    innermost: is_innermost(steps),
                    start: program.operations.len(),
                    end: 0,
                });
                flatten(steps, program);
                program.operations.push(Operation::End { sum: sum as u32 });
                program.loops[sum].end = program.operations.len();
            }
        }
    }
}

/// A coordinate by one index, or by several.
fn coordinate(to: u32, index: &Whole, wholes: &mut Vec<Whole>) -> Operation {
    let (level, factor) = match index.terms[..] {
        [] => (0, 0),
        [(level, factor)] => (level, factor),
        _ => {
            wholes.push(index.clone());
            return Operation::CoordinateAt { to, whole: wholes.len() as u32 - 1 };
        }
    };
    Operation::Coordinate { to, level: level as u8, factor, offset: index.constant - 1 }
}
