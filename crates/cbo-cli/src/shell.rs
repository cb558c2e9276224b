//! `cbo completions` and `cbo man`: what a shell and `man` want to know of the command line.

use crate::error::{CliError, print};
use clap::Args;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;

const COMPLETIONS: &str = "\
Examples:
  cbo completions bash > ~/.local/share/bash-completion/completions/cbo
  cbo completions zsh > ~/.zfunc/_cbo                  # a folder of $fpath
  cbo completions fish > ~/.config/fish/completions/cbo.fish";

const MAN: &str = "\
Examples:
  cbo man > cbo.1                  # man ./cbo.1 shows it
  cbo man minimize > cbo-minimize.1
  cbo man mnist train > cbo-mnist-train.1";

/// Arguments of `cbo completions`.
#[derive(Args, Clone, Debug)]
#[command(after_help = COMPLETIONS)]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// Arguments of `cbo man`.
#[derive(Args, Clone, Debug)]
#[command(after_help = MAN)]
pub struct ManArgs {
    /// The page of this command; the page of the program if absent
    #[arg(value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Runs `cbo completions`.
pub fn completions(args: &CompletionsArgs) -> Result<(), CliError> {
    let mut command = with_functions(crate::command());
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "cbo", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// The command line with the names of the functions as the values of FUNCTION, so that these are completed too.
fn with_functions(command: clap::Command) -> clap::Command {
    let named = |arg: clap::Arg| match arg.get_value_names() {
        Some([name]) if name == "FUNCTION" => {
            arg.value_parser(PossibleValuesParser::new(cbo_problems::all().iter().map(|info| info.name)))
        }
        _ => arg,
    };
    command.mut_args(named).mut_subcommands(with_functions)
}

/// Runs `cbo man`.
pub fn man(args: &ManArgs) -> Result<(), CliError> {
    let mut root = crate::command();
    root.build();
    let (mut found, mut name) = (&root, "cbo".to_string());
    for word in &args.command {
        found = found.find_subcommand(word).ok_or_else(|| {
            CliError::setting(
                "command",
                args.command.join(" "),
                format!("`{name}` has no such command; `{name} --help` shows all"),
            )
        })?;
        name = format!("{name} {word}");
    }
    let page = found.clone().display_name(name.replace(' ', "-"));
    let mut roff = Vec::new();
    clap_mangen::Man::new(page)
        .render(&mut roff)
        .map_err(|e| CliError::Failed(format!("the page cannot be written: {e}")))?;
    print(&String::from_utf8_lossy(&roff))
}
