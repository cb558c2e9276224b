//! `cbo view`: runs in a browser, during them and after.

use crate::error::{CliError, print, told};
use crate::interrupt;
use crate::minimize::eprintln_quietly;
use cbo_view::server::{Server, ServerError, Settings};
use clap::Args;
use std::path::PathBuf;
use std::process::{Command, Stdio};

const EXAMPLES: &str = "\
Examples:
  cbo view results
  cbo view                                  # all runs below the current folder
  cbo view results/wing --no-open           # prints the address, and opens nothing

The address is for this machine and this user alone: whoever has it can read the runs, and nothing else. Ctrl-C ends the viewer.";

/// Arguments of `cbo view`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct ViewArgs {
    /// Folders of runs, or with runs below them, four levels down; links are not followed
    #[arg(value_name = "FOLDER", default_value = ".", hide_default_value = true)]
    pub folders: Vec<PathBuf>,
    /// The port to listen on [default: 7373, or any other if that is in use]
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
    /// Only prints the address
    #[arg(long)]
    pub no_open: bool,
}

/// Runs the command.
pub fn run(args: &ViewArgs) -> Result<(), CliError> {
    interrupt::listen();
    let settings = Settings { folders: args.folders.clone(), port: args.port, secret: secret() };
    let failed = |error: ServerError| match error {
        ServerError::System(_) => CliError::failed(&error),
        _ => CliError::Usage(told(&error)),
    };
    let server = Server::bind(&settings).map_err(failed)?;
    let address = server.address();
    print(&format!("{address}\n"))?;
    if !args.no_open && !open(&address) {
        eprintln_quietly("note: no browser could be opened; open the address by hand");
    }
    server.run(&interrupt::requested).map_err(failed)
}

/// Where the secret behind the cookie is kept, so that pages that are open survive a restart of the viewer.
fn secret() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = folder("XDG_STATE_HOME").or_else(|| Some(folder("HOME")?.join(".local/state")));
    Some(state.or_else(|| folder("LOCALAPPDATA"))?.join("cbo/view.key"))
}

/// Opens the address in the user's browser; false if there is no way to.
fn open(address: &str) -> bool {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let quiet = Command::new(program)
        .args(arguments)
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = quiet else { return false };
    // It may be the browser itself, which lives on.
    std::thread::spawn(move || child.wait());
    true
}
