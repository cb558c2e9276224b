//! `cbo minimize --certify`: the certificate of a run as CSV, picture and a few lines.

use crate::config_file::Origins;
use crate::error::CliError;
use crate::files::{write_own, write_whole};
use crate::numbers::{Number, grouped, short};
use crate::plot::{self, Format};
use crate::text;
use cbo::{CboConfig, Diffusion};
use cbo_lab::certificate::{Certificate, CertificateRecord, CertificateSummary};
use cbo_lab::theory::{Assumptions, Basis};
use cbo_problems::Problem;
use cbo_runs::folder::Folder;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Steps that a certificate keeps at most. Keeping one costs about as much as a step of the run.
const KEPT: usize = 1024;

const COLUMNS: &str = "step,time,alpha,sigma,v,w2_squared,variance,distance,derivative,lemma_bound,lemma_slack,\
                       lemma_bound_sharp,laplace_bound,laplace_q,laplace_r,laplace_mass,log_mass,log_mass_bound,\
                       log_mass_bound_sharp";

/// Names of the files of a certificate.
const FILES: [&str; 3] = ["certificate.csv", "certificate.svg", "certificate.png"];

/// The files of a certificate in `folder`: CSV, SVG, PNG.
pub fn files(folder: &Path) -> [PathBuf; 3] {
    FILES.map(|name| folder.join(name))
}

/// The observer of a run; a usage error where the theory has no place for the function.
pub fn begin(problem: &Problem, config: &CboConfig, origins: &Origins) -> Result<Certificate, CliError> {
    Certificate::new(problem, config, KEPT).map_err(|error| {
        let remedy = match error.field {
            "method" => "",
            _ => "; choose a function with one minimiser inside its domain, such as sphere, rastrigin or ackley",
        };
        origins.blame("certify", &format!("certify = true: {error}{remedy}"))
    })
}

/// A certificate in short, with the files that [`write()`] gives it in `folder`; `None` if the run ended before its first step.
pub fn sum_up(certificate: &Certificate, folder: &Path) -> Option<CertificateResult> {
    certificate.summary().map(|summary| CertificateResult::new(certificate, &summary, &files(folder)))
}

/// Writes the files of a certificate to the folder of the run, else to `place`.
pub fn write(
    certificate: &Certificate,
    problem: &Problem,
    place: &Path,
    folder: Option<&Folder>,
) -> Result<(), CliError> {
    if certificate.summary().is_none() {
        return Ok(());
    }
    let write = |name: &str, contents: &[u8]| match folder {
        Some(folder) => write_own(folder, name, contents),
        None => write_whole(&place.join(name), contents),
    };
    write(FILES[0], csv(certificate.records()).as_bytes())?;
    write(FILES[1], &plot::certificate::overview(problem, certificate, Format::Svg)?)?;
    write(FILES[2], &plot::certificate::overview(problem, certificate, Format::Png)?)
}

/// The records as CSV, one line per step; what does not apply is an empty cell.
fn csv(records: &[CertificateRecord]) -> String {
    let mut csv = format!("{COLUMNS}\n");
    for r in records {
        let laplace = r.laplace.map_or([None; 4], |l| [l.value, l.q, l.r, l.mass].map(Some));
        let always = [
            r.time,
            r.alpha,
            r.sigma,
            r.v,
            r.w2_squared(),
            r.variance,
            r.distance,
            r.derivative,
            r.lemma_bound,
            r.lemma_slack,
            r.lemma_bound_sharp,
        ];
        let mass = [Some(r.log_mass), r.log_mass_bound, r.log_mass_bound_sharp];
        csv += &r.step.to_string();
        for value in always.map(Some).into_iter().chain(laplace).chain(mass) {
            csv.push(',');
            csv += &value.map(text::number).unwrap_or_default();
        }
        csv.push('\n');
    }
    csv
}

/// The certificate in the JSON of a run.
#[derive(Clone, Debug, Serialize)]
pub struct CertificateResult {
    /// Kept steps.
    pub steps: usize,
    /// V at the start.
    pub v_start: Number,
    /// V at the end.
    pub v_end: Number,
    /// V at the end over V at the start.
    pub v_end_ratio: Number,
    /// The mean rate of decay of V; null if the run took no time.
    pub rate: Option<Number>,
    /// `2 lambda - sigma^2`, or `2 lambda - d sigma^2` with isotropic noise; null if sigma changes.
    pub rate_mean_field: Option<Number>,
    /// Its formula.
    #[serde(skip)]
    law: &'static str,
    /// Whether Lemma 1 held at every kept step whose numbers are finite; null if there are none.
    pub lemma_held: Option<bool>,
    /// Kept steps whose numbers are finite.
    pub lemma_steps: usize,
    /// Its smallest slack.
    pub least_slack: Number,
    /// Its smallest slack relative to the size of its terms.
    pub least_relative_slack: Number,
    /// Whether the Laplace bound held wherever it applies; null if nowhere.
    pub laplace_held: Option<bool>,
    /// Kept steps at which it applies.
    pub laplace_steps: usize,
    /// Whether the mass bound held wherever it is at least one particle's mass; null if nowhere.
    pub mass_held: Option<bool>,
    /// Kept steps at which it is.
    pub mass_steps: usize,
    /// The radius of the mass bound.
    pub mass_radius: Number,
    /// B, the largest distance of the consensus point from the minimiser, in the maximum norm.
    pub farthest: Number,
    /// eta of assumption A2.
    pub eta: Number,
    /// nu.
    pub nu: Number,
    /// R_0.
    pub r0: Number,
    /// E_inf.
    pub far_field: Number,
    /// Whether these four are proved or estimated.
    pub basis: Basis,
    /// What in the settings is outside the theory.
    pub remarks: Vec<String>,
    /// The files written.
    pub files: Vec<String>,
}

impl CertificateResult {
    fn new(certificate: &Certificate, summary: &CertificateSummary, files: &[PathBuf]) -> Self {
        let Assumptions { eta, nu, r0, far_field, basis, .. } = *certificate.assumptions();
        Self {
            steps: summary.steps,
            v_start: Number(summary.v_start),
            v_end: Number(summary.v_end),
            v_end_ratio: Number(summary.v_end_ratio),
            rate: summary.rate.map(Number),
            rate_mean_field: certificate.rate().map(Number),
            law: match certificate.diffusion() {
                Diffusion::Anisotropic => "2 lambda - sigma^2",
                Diffusion::Isotropic => "2 lambda - d sigma^2",
            },
            lemma_held: summary.lemma_held,
            lemma_steps: summary.lemma_steps,
            least_slack: Number(summary.least_slack),
            least_relative_slack: Number(summary.least_relative_slack),
            laplace_held: summary.laplace_held,
            laplace_steps: summary.laplace_steps,
            mass_held: summary.mass_held,
            mass_steps: summary.mass_steps,
            mass_radius: Number(certificate.mass_radius()),
            farthest: Number(certificate.farthest()),
            eta: Number(eta),
            nu: Number(nu),
            r0: Number(r0),
            far_field: Number(far_field),
            basis,
            remarks: certificate.remarks().iter().map(ToString::to_string).collect(),
            files: files.iter().map(|file| file.display().to_string()).collect(),
        }
    }

    /// A few lines for people: a name and what it says.
    pub fn lines(&self) -> Vec<(&'static str, String)> {
        let (from, to) = (short(self.v_start.0), short(self.v_end.0));
        let decay = match (self.rate, self.rate_mean_field) {
            (Some(rate), Some(law)) => format!(", rate {} ({} = {})", short(rate.0), self.law, short(law.0)),
            (Some(rate), None) => format!(", rate {}", short(rate.0)),
            _ => String::new(),
        };
        let verdict = |held: bool| if held { "held at all of" } else { "FAILED at some of" };
        let kept = |count: usize| {
            if count == 1 { "1 kept step".to_string() } else { format!("{} kept steps", grouped(count as u64)) }
        };
        let (slack, relative) = (short(self.least_slack.0), short(self.least_relative_slack.0));
        let lemma = match self.lemma_held {
            Some(held) => {
                format!("{} {}; least slack {slack}, relative {relative}", verdict(held), kept(self.lemma_steps))
            }
            None => "the swarm left the range of numbers at once".into(),
        };
        let lost = self.steps - self.lemma_steps;
        let laplace = match self.laplace_held {
            Some(held) => format!("{} the {} where it applies", verdict(held), kept(self.laplace_steps)),
            None => "applies at no step".into(),
        };
        let mass = match self.mass_held {
            Some(held) => format!("{} the {} where it is", verdict(held), kept(self.mass_steps)),
            None => "at no step".into(),
        };
        let radius = short(self.mass_radius.0);
        let mut rows = vec![
            ("V", format!("{from} -> {to}{decay}")),
            ("Lemma 1", lemma),
            ("Laplace", format!("bound {laplace}; {}", self.constants())),
            ("mass", format!("bound within {radius} of the minimiser {mass} above one particle's mass")),
        ];
        if lost > 0 {
            rows.push(("remark", format!("at {} the swarm had left the range of numbers", kept(lost))));
        }
        rows.extend(self.remarks.iter().map(|remark| ("remark", remark.clone())));
        rows.push(("written", self.files.join(", ")));
        rows
    }

    fn constants(&self) -> String {
        let basis = match self.basis {
            Basis::Exact => "proved",
            Basis::Estimate => "estimated",
        };
        let (eta, nu, r0, far) = (short(self.eta.0), short(self.nu.0), short(self.r0.0), short(self.far_field.0));
        format!("eta = {eta}, nu = {nu}, R_0 = {r0}, E_inf = {far} are {basis}")
    }
}
