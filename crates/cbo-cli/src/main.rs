//! The command `cbo`: hands its arguments to the library and its exit code to the system.

use std::process::ExitCode;

fn main() -> ExitCode {
    // A bug in the program itself should read like a message, not like a trace.
    std::panic::set_hook(Box::new(|fault| {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "error: a bug in cbo itself, please report it: {fault}");
    }));
    let code = std::panic::catch_unwind(|| cbo_cli::run(std::env::args_os().collect()));
    ExitCode::from(code.unwrap_or(1))
}
