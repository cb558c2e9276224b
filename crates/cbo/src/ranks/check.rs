//! Whether all ranks are about to do the same.

use super::{Communicator, Team};
use crate::state::{Reader, Writer};
use std::sync::Arc;

/// Why ranks cannot work together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Disagreement {
    /// This rank could not prepare itself; the error is its own.
    #[error("this rank cannot take part")]
    Own,
    /// Another one could not.
    #[error("rank {rank}: {message}")]
    Refused {
        /// Which one.
        rank: usize,
        /// What it said.
        message: String,
    },
    /// It is about to do something else.
    #[error("rank {rank} has another {what} than rank 0: start all ranks by one command")]
    Differs {
        /// Which one.
        rank: usize,
        /// In what it differs.
        what: String,
    },
}

/// Compares what the ranks are about to do: names and fingerprints of what must be the same, or why a rank cannot take part. To be called
/// by all of them; all get the same answer, but for the rank whose own error it is.
pub fn agree_on(
    communicator: &Arc<dyn Communicator>,
    mine: Result<Vec<(String, String)>, String>,
) -> Result<(), Disagreement> {
    let team = Team::new(communicator.clone());
    let own_error = mine.is_err();
    let mut to = Writer::plain();
    to.flag(mine.is_ok());
    let text = mine.map_or_else(
        |error| error,
        |facts| facts.iter().map(|(name, value)| format!("{name}\0{value}\0")).collect::<String>(),
    );
    to.append(text.as_bytes());
    let all: Vec<(bool, String)> = team
        .gather(to.into_bytes())
        .iter()
        .map(|bytes| {
            let mut from = Reader::plain(bytes);
            (from.flag().unwrap_or(false), from.text())
        })
        .collect();
    let verdict = all.iter().enumerate().find_map(|(rank, (fine, text))| match fine {
        false => Some((rank, 1, text.clone())),
        true if *text != all[0].1 => Some((rank, 2, difference(&all[0].1, text))),
        true => None,
    });
    // A rank that refuses says more than one that differs, and the first rank speaks for itself.
    let refused = all.iter().position(|(fine, _)| !fine).map(|rank| (rank, 1, all[rank].1.clone()));
    let mut to = Writer::plain();
    let (rank, kind, text) = refused.or(verdict).unwrap_or((0, 0, String::new()));
    to.count(rank);
    to.count(kind);
    to.append(text.as_bytes());
    let bytes = team.broadcast_all(to.into_bytes());
    let mut from = Reader::plain(&bytes);
    let (rank, kind) = (from.count().unwrap_or(0), from.count().unwrap_or(0));
    match kind {
        _ if own_error => Err(Disagreement::Own),
        0 => Ok(()),
        1 => Err(Disagreement::Refused { rank, message: from.text() }),
        _ => Err(Disagreement::Differs { rank, what: from.text() }),
    }
}

/// The first fact of which another rank has another value.
fn difference(first: &str, other: &str) -> String {
    let facts = |text: &str| -> Vec<(String, String)> {
        let words: Vec<&str> = text.split('\0').collect();
        words.chunks_exact(2).map(|pair| (pair[0].to_string(), pair[1].to_string())).collect()
    };
    let (first, other) = (facts(first), facts(other));
    let differs = first.iter().find(|fact| !other.contains(fact)).or(other.iter().find(|fact| !first.contains(fact)));
    differs.map_or_else(|| "order of settings".into(), |(name, _)| name.clone())
}

#[cfg(test)]
mod tests {
    use super::super::in_threads;
    use super::*;

    type Facts = Result<Vec<(String, String)>, String>;

    fn verdicts(facts: impl Fn(usize) -> Facts + Sync) -> Vec<Result<(), Disagreement>> {
        in_threads(3, |rank| {
            let mine = facts(rank.rank());
            agree_on(&(rank as Arc<dyn Communicator>), mine)
        })
    }

    #[test]
    fn all_ranks_hear_the_same() {
        let facts = |seed: usize| vec![("dim".into(), "3".into()), ("seed".into(), seed.to_string())];
        assert_eq!(verdicts(|_| Ok(facts(1))), [Ok(()), Ok(()), Ok(())]);
        let differs = Err(Disagreement::Differs { rank: 2, what: "seed".into() });
        assert_eq!(verdicts(|rank| Ok(facts(rank / 2))), [differs.clone(), differs.clone(), differs]);
        let refused = Err(Disagreement::Refused { rank: 1, message: "no file".into() });
        let verdicts = verdicts(|rank| if rank == 1 { Err("no file".into()) } else { Ok(facts(rank)) });
        assert_eq!(verdicts, [refused.clone(), Err(Disagreement::Own), refused]);
    }
}
