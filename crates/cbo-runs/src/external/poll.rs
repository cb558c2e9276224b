//! Waiting for several streams at once, and a bell that ends the wait.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// Makes reading from or writing to a stream return at once, ready or not.
pub(super) fn never_block(stream: &impl AsRawFd) -> io::Result<()> {
    let fd = stream.as_raw_fd();
    // SAFETY: the descriptor is open as long as `stream` is borrowed; these calls only take and give flags.
    let done = unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        if flags < 0 { flags } else { libc::fcntl(fd, libc::F_SETFL, flags | libc::O_NONBLOCK) }
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// There is something to read, or the other side has closed.
    Readable,
    /// There is room to write, or the other side has closed.
    Writable,
    /// The other side has closed.
    Closed,
}

/// Waits until one of the streams is ready or the time is over, and says which are. A signal may end the wait early.
pub(super) fn wait<const N: usize>(streams: [Option<(BorrowedFd<'_>, Until)>; N], time: Option<Duration>) -> [bool; N] {
    let mut list = streams.map(|stream| match stream {
        Some((fd, until)) => {
            let events = match until {
                Until::Readable => libc::POLLIN,
                Until::Writable => libc::POLLOUT,
                Until::Closed => 0,
            };
            libc::pollfd { fd: fd.as_raw_fd(), events, revents: 0 }
        }
        // Descriptors below zero are ignored.
        None => libc::pollfd { fd: -1, events: 0, revents: 0 },
    });
    // Rounded up, so that a deadline has passed when the wait is over.
    let milliseconds = time.map_or(-1, |t| i32::try_from(t.as_micros().div_ceil(1000)).unwrap_or(i32::MAX));
    // SAFETY: the list is valid and its length is given; the descriptors are borrowed, hence open.
    let ready = unsafe { libc::poll(list.as_mut_ptr(), N as libc::nfds_t, milliseconds) };
    list.map(|entry| ready > 0 && entry.revents != 0)
}

/// The inside of a bell: hears it.
#[derive(Debug)]
pub(super) struct Bell(PipeReader);

/// The outside of a bell: rings it.
#[derive(Debug)]
pub(super) struct Button(PipeWriter);

/// A bell and its button.
pub(super) fn bell() -> io::Result<(Bell, Button)> {
    let (reader, writer) = io::pipe()?;
    never_block(&reader)?;
    never_block(&writer)?;
    Ok((Bell(reader), Button(writer)))
}

impl Button {
    /// Rings. A bell that is full of rings rings already.
    pub(super) fn ring(&self) {
        let _ = (&self.0).write(&[1]);
    }
}

impl Bell {
    /// What to wait for.
    pub(super) fn stream(&self) -> BorrowedFd<'_> {
        use std::os::fd::AsFd;
        self.0.as_fd()
    }

    /// Waits for a ring, or until the time is over, and forgets the rings so far.
    pub(super) fn listen(&self, time: Option<Duration>) {
        if wait([Some((self.stream(), Until::Readable))], time)[0] {
            self.silence();
        }
    }

    /// Forgets the rings so far.
    pub(super) fn silence(&self) {
        let mut rings = [0; 64];
        while matches!((&self.0).read(&mut rings), Ok(n) if n > 0) {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bell_ends_the_wait() {
        let (bell, button) = bell().expect("a pipe");
        bell.listen(Some(Duration::from_millis(1)));
        (0..100_000).for_each(|_| button.ring());
        bell.listen(None);
        let ready = wait([Some((bell.stream(), Until::Readable)), None], Some(Duration::ZERO));
        assert_eq!(ready, [false, false]);
        drop(button);
        assert_eq!(wait([Some((bell.stream(), Until::Closed))], None), [true]);
    }
}
