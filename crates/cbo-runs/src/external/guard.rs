//! Ends what the workers have started if this program is killed before it can do so.
//!
//! Workers themselves end with this program on Linux, but their children do not. A small shell reads which groups of
//! processes there are. When its stdin ends, because this program has gone, it kills those that are left.

use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use super::poll::never_block;

const SCRIPT: &str = r#"
trap '' HUP INT TERM
groups=
while read -r sign group; do
    if [ "$sign" = + ]; then
        groups="$groups $group"
    else
        left=
        for g in $groups; do [ "$g" = "$group" ] || left="$left $g"; done
        groups=$left
    fi
done
for g in $groups; do kill -9 "-$g"; done
"#;

/// The shell. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Guard(Option<Child>);

impl Guard {
    /// Starts the shell. Without one there is no guard, and everything else works.
    pub(super) fn start() -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", SCRIPT]).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().ok();
        // A shell that was halted must not halt this program.
        Self(child.filter(|child| child.stdin.as_ref().is_some_and(|stdin| never_block(stdin).is_ok())))
    }

    /// There is a group.
    pub(super) fn watch(&self, group: i32) {
        self.tell('+', group);
    }

    /// The group was ended.
    pub(super) fn forget(&self, group: i32) {
        self.tell('-', group);
    }

    fn tell(&self, sign: char, group: i32) {
        if let Some(mut stdin) = self.0.as_ref().and_then(|child| child.stdin.as_ref()) {
            // One short write, which a pipe takes whole, so that several threads can write.
            let _ = stdin.write_all(format!("{sign} {group}\n").as_bytes());
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
