//! The benchmark functions, one file each, and the list of them.

use crate::error::ProblemError;
use crate::function::{Function, Info};
use crate::lanes::Evaluate;
use std::sync::Arc;

/// Declares the modules and collects their functions.
macro_rules! functions {
    ($($module:ident::$function:ident),* $(,)?) => {
        $(pub mod $module;)*
        const LIST: &[Entry] = &[$(Entry::of::<$module::$function>()),*];
    };
}

// The list: a new function is one line here.
functions! {
    ackley::Ackley,
    alpine_1::Alpine1,
    beale::Beale,
    bukin_6::Bukin6,
    canyon::Canyon,
    cross_in_tray::CrossInTray,
    different_powers::DifferentPowers,
    dixon_price::DixonPrice,
    drop_wave::DropWave,
    easom::Easom,
    eggholder::Eggholder,
    ellipsoid::Ellipsoid,
    g01::G01,
    g04::G04,
    g06::G06,
    g07::G07,
    g08::G08,
    g09::G09,
    g10::G10,
    g24::G24,
    goldstein_price::GoldsteinPrice,
    griewank::Griewank,
    hartmann_6::Hartmann6,
    himmelblau::Himmelblau,
    holder_table::HolderTable,
    levy::Levy,
    mccormick::Mccormick,
    michalewicz::Michalewicz,
    rastrigin::Rastrigin,
    rosenbrock::Rosenbrock,
    salomon::Salomon,
    schaffer_f6::SchafferF6,
    schwefel::Schwefel,
    shekel::Shekel,
    six_hump_camel::SixHumpCamel,
    sphere::Sphere,
    styblinski_tang::StyblinskiTang,
    sum_of_squares::SumOfSquares,
    three_hump_camel::ThreeHumpCamel,
    weierstrass::Weierstrass,
    xin_she_yang::XinSheYang,
    zakharov::Zakharov,
}

/// A function by its type: what is known about it, and how to make it.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) info: Info,
    pub(crate) constraints: &'static [&'static str],
    pub(crate) make: fn(&[f64]) -> Arc<dyn Evaluate>,
}

impl Entry {
    pub(crate) const fn of<F: Function>() -> Self {
        Self { info: F::INFO, constraints: F::CONSTRAINTS, make: |parameters| Arc::new(F::with_parameters(parameters)) }
    }

    /// The entry of the list called `name`; dashes, underscores and case do not matter.
    pub(crate) fn named(name: &str) -> Result<Self, ProblemError> {
        let wanted = plain(name);
        if let Some(entry) = LIST.iter().find(|entry| plain(entry.info.name) == wanted) {
            return Ok(*entry);
        }
        let distance = |entry: &Entry| edit_distance(&plain(entry.info.name), &wanted);
        let nearest = LIST.iter().min_by_key(|entry| distance(entry)).filter(|entry| {
            // With half of the letters wrong it is no longer a typing mistake.
            2 * distance(entry) <= wanted.chars().count()
        });
        Err(ProblemError::UnknownFunction { name: name.into(), nearest: nearest.map(|entry| entry.info.name) })
    }
}

/// All benchmark functions, in alphabetical order.
pub fn all() -> Vec<Info> {
    LIST.iter().map(|entry| entry.info).collect()
}

/// What is known about the function called `name`; dashes, underscores and case do not matter.
///
/// ```
/// assert_eq!(cbo_problems::find("hartmann6")?.default_dim(), Some(6));
/// assert_eq!(cbo_problems::find("Styblinski_Tang")?.name, "styblinski-tang");
/// let error = cbo_problems::find("rastrign").unwrap_err();
/// assert_eq!(error.to_string(), "unknown function `rastrign`; did you mean `rastrigin`?");
/// # Ok::<(), cbo_problems::ProblemError>(())
/// ```
pub fn find(name: &str) -> Result<Info, ProblemError> {
    Entry::named(name).map(|entry| entry.info)
}

/// The constraints of the function called `name`, in plain text; none for most.
///
/// ```
/// assert_eq!(cbo_problems::constraints("g06")?.len(), 2);
/// assert!(cbo_problems::constraints("sphere")?.is_empty());
/// # Ok::<(), cbo_problems::ProblemError>(())
/// ```
pub fn constraints(name: &str) -> Result<&'static [&'static str], ProblemError> {
    Entry::named(name).map(|entry| entry.constraints)
}

/// A name without the parts that do not matter.
pub(crate) fn plain(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// The least number of letters to insert, delete or replace that turns `a` into `b`.
pub(crate) fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut current = vec![i + 1];
        for (j, other) in b.iter().enumerate() {
            let replaced = previous[j] + usize::from(letter != *other);
            current.push(replaced.min(previous[j + 1] + 1).min(current[j] + 1));
        }
        previous = current;
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edit_distances_are_the_textbook_ones() {
        for (a, b, distance) in [("kitten", "sitting", 3), ("", "abc", 3), ("flaw", "lawn", 2), ("same", "same", 0)] {
            assert_eq!(edit_distance(a, b), distance, "{a} {b}");
            assert_eq!(edit_distance(b, a), distance, "{b} {a}");
        }
    }
}
