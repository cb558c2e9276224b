//! The viewer as a server for this machine alone: it listens on loopback, wants a token, and only reads.

mod api;
mod guard;
mod library;
mod live;
mod secret;

use guard::Guard;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use library::Library;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;

/// The port that is tried first, so that a page that was left open finds the server after a restart.
const PORT: u16 = 7373;

/// Connections, requests that are being answered, exports, and streams of events at most.
const CONNECTIONS: usize = 128;
const REQUESTS: usize = 16;
const EXPORTS: usize = 4;
const STREAMS: usize = 32;

/// How long the head of a request may take, and how long it may be.
const HEAD_TIME: Duration = Duration::from_secs(10);
const HEAD_BYTES: usize = 1 << 15;

/// How often to ask whether it is time to end.
const LOOK: Duration = Duration::from_millis(100);

/// What to show, and where.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The folders below which runs are shown.
    pub folders: Vec<PathBuf>,
    /// The port; if none is given, a usual one, or any that is free.
    pub port: Option<u16>,
    /// A file for the secret behind the cookie, made if needed; without it, pages do not survive a restart.
    pub secret: Option<PathBuf>,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// A folder that cannot be read.
    #[error("folder = {}: {error}; give a folder that exists", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A port that cannot be used.
    #[error("port = {port}: {error}; choose another, or leave it out")]
    Port {
        /// The port.
        port: u16,
        /// Why.
        error: io::Error,
    },
    /// The system refuses.
    #[error("the viewer cannot be started: {0}")]
    System(#[from] io::Error),
}

/// A server that listens already.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    app: Arc<App>,
}

/// What all requests share.
#[derive(Debug)]
struct App {
    guard: Guard,
    library: Library,
    requests: Semaphore,
    exports: Arc<Semaphore>,
    streams: Arc<Semaphore>,
}

impl Server {
    /// Listens on loopback.
    pub fn bind(settings: &Settings) -> Result<Self, ServerError> {
        let mut folders = Vec::new();
        for path in &settings.folders {
            let real = path.canonicalize().and_then(|real| std::fs::read_dir(&real).map(|_| real));
            folders.push(real.map_err(|error| ServerError::Folder { path: path.clone(), error })?);
        }
        let listener = listen(settings.port)?;
        let port = listener.local_addr()?.port();
        let guard = Guard::new(port, settings.secret.as_deref())?;
        let app = App {
            guard,
            library: Library::new(folders),
            requests: Semaphore::new(REQUESTS),
            exports: Arc::new(Semaphore::new(EXPORTS)),
            streams: Arc::new(Semaphore::new(STREAMS)),
        };
        Ok(Self { listener, app: Arc::new(app) })
    }

    /// The address to open, with the token.
    pub fn address(&self) -> String {
        self.app.guard.address()
    }

    /// Answers until `is_over` says so, which is asked several times per second.
    pub fn run(self, is_over: &dyn Fn() -> bool) -> Result<(), ServerError> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .max_blocking_threads(REQUESTS + EXPORTS + STREAMS)
            .enable_io()
            .enable_time()
            .build()?;
        self.listener.set_nonblocking(true)?;
        let (listener, app) = (self.listener, self.app);
        let outcome = runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let accepting = tokio::spawn(accept(listener, app));
            while !is_over() && !accepting.is_finished() {
                tokio::time::sleep(LOOK).await;
            }
            Ok::<_, ServerError>(())
        });
        runtime.shutdown_background();
        outcome
    }
}

fn listen(port: Option<u16>) -> Result<TcpListener, ServerError> {
    let on = |port| TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    match port {
        Some(port) => on(port).map_err(|error| ServerError::Port { port, error }),
        None => Ok(on(PORT).or_else(|_| on(0))?),
    }
}

/// Takes connections, so many at once.
async fn accept(listener: tokio::net::TcpListener, app: Arc<App>) {
    let places = Arc::new(Semaphore::new(CONNECTIONS));
    let router = api::router(app);
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Too many open files, perhaps; others may be closed meanwhile.
            tokio::time::sleep(LOOK).await;
            continue;
        };
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .header_read_timeout(HEAD_TIME)
                .max_buf_size(HEAD_BYTES)
                .serve_connection(TokioIo::new(stream), service);
            // One that breaks off is nobody's fault.
            let _ = connection.await;
            drop(place);
        });
    }
}
