//! Who may ask: the browser of whoever has started the viewer, and nobody else.

use super::secret;
use axum::http::header::{COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use std::io;
use std::path::Path;

/// The longest address of a request.
const LONGEST: usize = 4096;

/// What a request must show.
#[derive(Debug)]
pub struct Guard {
    port: u16,
    /// In the address that is opened.
    token: String,
    /// In the cookie, from then on.
    cookie: String,
}

/// What becomes of a request.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is answered.
    Welcome,
    /// It is answered with a cookie: it has the token.
    Newcomer,
    /// It is refused, with this status and these words.
    Refused(StatusCode, &'static str),
}

impl Guard {
    pub fn new(port: u16, file: Option<&Path>) -> io::Result<Self> {
        let secret = secret::kept(file)?;
        let cookie = secret::derived(&secret, &format!("cookie {port}"));
        Ok(Self { port, token: secret::word()?, cookie })
    }

    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/?token={}", self.port, self.token)
    }

    /// The cookie for a newcomer.
    pub fn cookie(&self) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000", self.name(), self.cookie)
    }

    fn name(&self) -> String {
        format!("cbo-view-{}", self.port)
    }

    /// Judges a request.
    pub fn judge(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Verdict {
        use Verdict::{Newcomer, Refused, Welcome};
        let hosts = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        // Browsers leave out the usual port.
        let is_usual =
            |ours: &str, host: &str| ours.strip_suffix(":80").is_some_and(|ours| ours.eq_ignore_ascii_case(host));
        let is_ours = |host: &str| hosts.iter().any(|ours| ours.eq_ignore_ascii_case(host) || is_usual(ours, host));
        // A page elsewhere whose name leads to this machine comes with that name.
        let mut host = headers.get_all(HOST).iter();
        let named = host.next().and_then(|host| host.to_str().ok()).is_some_and(is_ours) && host.next().is_none();
        if !named || uri.authority().is_some_and(|authority| !is_ours(authority.as_str())) {
            return Refused(StatusCode::FORBIDDEN, "the Host of the request is not this viewer");
        }
        let foreign = |origin: &str| origin.strip_prefix("http://").is_none_or(|host| !is_ours(host));
        if headers.get_all(ORIGIN).iter().any(|origin| origin.to_str().map_or(true, foreign)) {
            return Refused(StatusCode::FORBIDDEN, "the Origin of the request is not this viewer");
        }
        if method != Method::GET && method != Method::HEAD {
            return Refused(StatusCode::METHOD_NOT_ALLOWED, "the viewer only reads: ask with GET");
        }
        if uri.path().len() + uri.query().map_or(0, str::len) > LONGEST {
            return Refused(StatusCode::URI_TOO_LONG, "the address is too long");
        }
        let token = uri.query().filter(|_| uri.path() == "/").and_then(|query| query.strip_prefix("token="));
        if token.is_some_and(|token| secret::same(token, &self.token)) {
            return Newcomer;
        }
        let (name, mut cookies) =
            (self.name(), headers.get_all(COOKIE).iter().filter_map(|cookies| cookies.to_str().ok()));
        let is_ours = |cookie: &str| {
            cookie.trim().split_once('=').is_some_and(|(n, value)| n == name && secret::same(value, &self.cookie))
        };
        if cookies.any(|cookies| cookies.split(';').any(is_ours)) {
            return Welcome;
        }
        Refused(StatusCode::FORBIDDEN, "open the address that `cbo view` has printed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn the_usual_port_may_be_left_out_and_no_other() {
        let judge = |port, host: &str| {
            let guard = Guard::new(port, None).expect("a guard");
            let uri = format!("/?token={}", guard.token).parse().expect("an address");
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_str(host).expect("a host"));
            guard.judge(&Method::GET, &uri, &headers) == Verdict::Newcomer
        };
        assert!(judge(80, "127.0.0.1") && judge(80, "localhost:80") && judge(7373, "localhost:7373"));
        for (port, host) in [
            (80, "evil.example"),
            (80, "127.0.0.1:7373"),
            (7373, "127.0.0.1"),
            (7380, "127.0.0.1:73"),
            (7380, "127.0.0.1"),
        ] {
            assert!(!judge(port, host), "{port} {host}");
        }
    }
}
