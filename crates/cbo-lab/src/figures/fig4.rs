//! Figure 4: test accuracy and loss of the two networks over the epochs of their training. The runs are made elsewhere and
//! come in as numbers; this is what is expected of them, and the comparison.

use super::{FigureError, experiment};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// `experiments/fig4.toml`.
#[derive(Clone, Debug, Deserialize)]
pub struct Experiment {
    /// What a run must share with the paper's, for anything to be expected of it.
    pub paper: Paper,
    /// What is expected, by network, scheme and alpha.
    pub settings: Vec<Setting>,
}

/// The setting that all expectations share: the paper's.
#[derive(Clone, Debug, Deserialize)]
pub struct Paper {
    /// The data.
    pub dataset: String,
    /// Number of training images.
    pub train: usize,
    /// Number of test images.
    pub test: usize,
    /// Everything else, by name.
    pub settings: BTreeMap<String, String>,
}

/// A setting, and what is expected of a run with it.
#[derive(Clone, Debug, Deserialize)]
pub struct Setting {
    /// The network.
    pub network: String,
    /// The time discretisation; either, if there is none.
    pub scheme: Option<String>,
    /// alpha over time.
    pub alpha: String,
    /// What is expected.
    pub claims: Vec<Claim>,
}

/// An expected test accuracy, in per cent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// After this many epochs.
    pub epoch: f64,
    /// The best of all until then, not the one of this epoch.
    #[serde(default)]
    pub best: bool,
    /// What another program reached.
    pub expected: f64,
    /// The claim holds from here on.
    pub least: f64,
}

/// A training run as the comparison sees it.
#[derive(Clone, Debug)]
pub struct Run {
    /// The network.
    pub network: String,
    /// What it was trained with, in words that begin with the name of the data and its numbers of images.
    pub data: String,
    /// Everything else that was set, by name.
    pub settings: BTreeMap<String, String>,
    /// Epochs and test accuracies (fractions), in order.
    pub accuracy: Vec<(f64, f64)>,
}

impl Run {
    /// A setting of the run; empty if it has none of this name.
    pub fn setting(&self, name: &str) -> &str {
        self.settings.get(name).map_or("", String::as_str)
    }
}

/// What became of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It holds.
    Holds,
    /// It does not hold.
    Fails,
    /// The run was too short to tell.
    NotReached,
}

/// A claim about a run, checked.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Check {
    /// The claim.
    #[serde(flatten)]
    pub claim: Claim,
    /// The accuracy of the run, in per cent; absent if the run was too short. Of a best one, the best so far.
    pub measured: Option<f64>,
    /// What became of it.
    pub status: Status,
}

/// The expectations, as they are stored.
pub fn load() -> Result<Experiment, FigureError> {
    experiment("fig4", include_str!("../../experiments/fig4.toml"))
}

impl Experiment {
    /// Compares a run with what is expected of it. If nothing is expected, says why, in a few words.
    pub fn check(&self, run: &Run) -> Result<Vec<Check>, String> {
        self.paper.covers(run)?;
        let same_network: Vec<&Setting> = self.settings.iter().filter(|s| s.network == run.network).collect();
        if same_network.is_empty() {
            return Err("another network".into());
        }
        let (scheme, alpha) = (run.setting("scheme"), run.setting("alpha"));
        let fits = |s: &&&Setting| same(&s.alpha, alpha) && s.scheme.as_ref().is_none_or(|x| x == scheme);
        let mut claims: Vec<Claim> =
            same_network.iter().filter(fits).flat_map(|setting| setting.claims.iter().copied()).collect();
        if claims.is_empty() {
            return Err(format!("no numbers for scheme {scheme} with alpha {alpha}"));
        }
        claims.sort_by(|a, b| a.epoch.total_cmp(&b.epoch));
        Ok(claims.into_iter().map(|claim| claim.check(&run.accuracy)).collect())
    }
}

impl Paper {
    fn covers(&self, run: &Run) -> Result<(), String> {
        let numbers = numbers(&run.data);
        if !run.data.starts_with(&self.dataset) || numbers.get(..2) != Some(&[self.train, self.test]) {
            return Err("other data".into());
        }
        let differs = |(name, paper): (&String, &String)| match run.settings.get(name) {
            Some(value) if same(value, paper) => None,
            Some(value) => Some(format!("{name} is {value}, not {paper}")),
            None => Some(format!("{name} is not known")),
        };
        let differences: Vec<String> = self.settings.iter().filter_map(differs).collect();
        if differences.is_empty() { Ok(()) } else { Err(differences.join(", ")) }
    }
}

/// The whole numbers of a text, in order.
fn numbers(text: &str) -> Vec<usize> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

/// Whether two settings are the same, as texts or as numbers.
fn same(a: &str, b: &str) -> bool {
    a == b || a.parse::<f64>().is_ok_and(|x| b.parse() == Ok(x))
}

impl Claim {
    /// Checks the claim. The accuracy after an epoch is the last that was measured until then.
    fn check(self, accuracy: &[(f64, f64)]) -> Check {
        // Epochs are sums of parts of an epoch.
        let reached = accuracy.last().is_some_and(|(epoch, _)| *epoch >= self.epoch - 1e-6);
        let until: Vec<f64> =
            accuracy.iter().filter(|(epoch, _)| *epoch <= self.epoch + 1e-6).map(|(_, a)| 100.0 * a).collect();
        // 0.953 is 95.3 %, whatever its binary digits are.
        let holds = |value: f64| value >= self.least - 1e-9;
        let (measured, status) = if self.best {
            let best = until.into_iter().reduce(f64::max);
            match best {
                Some(value) if holds(value) => (best, Status::Holds),
                _ if reached => (best, Status::Fails),
                _ => (best, Status::NotReached),
            }
        } else {
            match until.last() {
                Some(&value) if reached => (Some(value), if holds(value) { Status::Holds } else { Status::Fails }),
                _ => (None, Status::NotReached),
            }
        };
        Check { claim: self, measured, status }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The paper's LeNet-1 with a test accuracy (in per cent) that stays the same for this many epochs.
    fn run(epochs: usize, per_cent: f64) -> Run {
        let mut settings = load().expect("the experiment").paper.settings;
        settings.insert("scheme".into(), "euler-maruyama".into());
        settings.insert("alpha".into(), "geometric:50.0,2.0,inf,epoch".into());
        Run {
            network: "lenet1".into(),
            data: "mnist, 60000 + 10000 images (/data/2026)".into(),
            settings,
            accuracy: (0..=2 * epochs).map(|i| (i as f64 / 2.0, per_cent / 100.0)).collect(),
        }
    }

    fn set(run: &mut Run, name: &str, value: &str) {
        run.settings.insert(name.into(), value.into());
    }

    fn statuses(run: &Run) -> Vec<(f64, Status)> {
        let checks = load().expect("the experiment").check(run).expect("an expectation");
        checks.iter().map(|c| (c.claim.epoch, c.status)).collect()
    }

    #[test]
    fn the_expectations_are_in_order() {
        let experiment = load().expect("the experiment");
        for setting in &experiment.settings {
            assert!(setting.claims.windows(2).all(|c| c[0].epoch < c[1].epoch), "{setting:?}");
            for claim in &setting.claims {
                assert!(claim.least < claim.expected && claim.expected < 100.0, "{claim:?}");
            }
        }
    }

    #[test]
    fn what_is_expected_holds_and_a_little_less_than_the_least_fails() {
        let experiment = load().expect("the experiment");
        for setting in &experiment.settings {
            for claim in &setting.claims {
                let at = |per_cent: f64| claim.check(&[(0.0, 0.1), (claim.epoch, per_cent / 100.0)]).status;
                assert_eq!(at(claim.expected), Status::Holds);
                assert_eq!(at(claim.least), Status::Holds);
                assert_eq!(at(claim.least - 0.01), Status::Fails, "one test image less");
                assert_eq!(at(f64::NAN), Status::Fails, "no number is no accuracy");
            }
        }
    }

    #[test]
    fn a_short_run_has_not_reached_what_comes_later() {
        let (holds, not) = (Status::Holds, Status::NotReached);
        let known = [(1.0, holds), (5.0, holds), (10.0, holds), (30.0, not), (60.0, not), (85.0, not), (100.0, not)];
        assert_eq!(statuses(&run(29, 96.0)), known);
        // The best may be there before the end.
        assert_eq!(statuses(&run(29, 96.5)).last(), Some(&(100.0, holds)));
        // And if it is not there in the end, it is not.
        assert_eq!(statuses(&run(100, 96.4)).last(), Some(&(100.0, Status::Fails)));
        // What comes after does not count.
        let mut late = run(101, 96.4);
        late.accuracy.last_mut().expect("a row").1 = 0.99;
        assert_eq!(statuses(&late).last(), Some(&(100.0, Status::Fails)));
    }

    #[test]
    fn the_accuracy_is_that_of_the_epoch() {
        let mut run = run(30, 97.0);
        run.accuracy[60].1 = 0.95;
        let at_30 = |run: &Run| statuses(run)[3];
        assert_eq!(at_30(&run), (30.0, Status::Fails));
        run.accuracy.push((30.5, 0.99));
        assert_eq!(at_30(&run), (30.0, Status::Fails));
    }

    #[test]
    fn of_another_setting_nothing_is_expected() {
        let experiment = load().expect("the experiment");
        let refused = |change: fn(&mut Run), word: &str| {
            let mut other = run(30, 96.0);
            change(&mut other);
            let why = experiment.check(&other).expect_err("nothing to expect");
            assert!(why.contains(word), "{why}");
        };
        refused(|r| set(r, "preset", "best"), "preset is best");
        refused(|r| drop(r.settings.remove("preset")), "preset is not known");
        refused(|r| r.data = "mnist, 1000 + 500 images (built-in subset of MNIST)".into(), "other data");
        refused(|r| r.data = "fashion, 60000 + 10000 images".into(), "other data");
        refused(|r| r.network = "dense 10".into(), "another network");
        refused(|r| set(r, "particles", "400"), "particles is 400, not 100");
        refused(|r| set(r, "kick", "off"), "kick is off, not 1e-5");
        refused(|r| set(r, "alpha", "50.0"), "alpha 50");
        // The same number in another form is the same.
        let mut same = run(30, 96.0);
        set(&mut same, "lambda", "1.0");
        set(&mut same, "kick", "0.00001");
        assert!(experiment.check(&same).is_ok());
    }

    #[test]
    fn each_setting_has_its_own_expectations() {
        let experiment = load().expect("the experiment");
        let expected = |network: &str, scheme: &str, alpha: f64| {
            let mut other = Run { network: network.into(), ..run(1, 90.0) };
            set(&mut other, "scheme", scheme);
            set(&mut other, "alpha", &format!("geometric:{alpha:?},2.0,inf,epoch"));
            experiment.check(&other).map(|checks| checks.iter().map(|c| c.claim.expected).collect::<Vec<_>>())
        };
        assert_eq!(expected("lenet1", "drift-first", 5.0).expect("known")[..2], [78.1, 90.7]);
        assert_eq!(expected("shallow", "drift-first", 50.0).expect("known"), [75.1, 84.4, 86.3, 88.3, 89.4]);
        assert_eq!(expected("shallow", "euler-maruyama", 50.0).expect("known"), [89.4]);
        assert!(expected("lenet1", "euler-maruyama", 5.0).is_err());
    }
}
