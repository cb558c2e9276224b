//! `cbo report`: a run, or all runs below a folder, as one HTML file.

use crate::config_file::Origins;
use crate::error::{CliError, print, told};
use crate::files;
use crate::files::uses::Uses;
use crate::minimize::outputs::is_of_a_run;
use crate::text::one_line;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cbo report results/wing --out wing.html
  cbo report results --out all.html";

/// Arguments of `cbo report`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ReportArgs {
    /// A run folder, or a folder with runs below it
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
    /// The HTML file
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub out: PathBuf,
}

/// Runs the command.
pub fn run(args: &ReportArgs) -> Result<(), CliError> {
    let is_page = args.out.extension().is_some_and(|e| e.eq_ignore_ascii_case("html") || e.eq_ignore_ascii_case("htm"));
    if !is_page {
        return Err(CliError::setting("out", args.out.display(), "the name must end in .html"));
    }
    let origins = Origins::default();
    let mut uses = Uses::new(&origins, false);
    uses.folder("the folder", &args.folder, is_of_a_run);
    uses.output("out", &args.out)?;
    let page =
        cbo_view::report::of_folder(&args.folder).map_err(|e| CliError::Usage(format!("folder: {}", told(&e))))?;
    files::write_whole(&args.out, page.as_bytes())?;
    print(&format!("written: {}\n", one_line(&args.out.display().to_string())))
}
