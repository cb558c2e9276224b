//! What the viewer refuses, tried with requests as nobody's browser would send them.

use super::common::{Viewer, body, run, status};
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::symlink;
use std::time::Duration;

fn viewer() -> (tempfile::TempDir, Viewer) {
    let place = tempfile::tempdir().expect("a folder");
    drop(run(&place.path().join("runs"), "one").1);
    let viewer = Viewer::of(&place.path().join("runs"));
    (place, viewer)
}

#[test]
fn it_listens_on_loopback_alone() {
    let (_place, viewer) = viewer();
    let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
    let port = format!(":{:04X}", viewer.port);
    let listening: Vec<&str> = table
        .lines()
        .filter_map(|line| line.split_whitespace().nth(1))
        .filter(|local| local.ends_with(&port))
        .collect();
    assert!(!listening.is_empty() || table.is_empty());
    assert!(listening.iter().all(|local| local.starts_with("0100007F")), "{listening:?}");
    assert!(!fs::read_to_string("/proc/net/tcp6").unwrap_or_default().contains(&port));
}

#[test]
fn nothing_is_told_without_the_token_or_the_cookie() {
    let (_place, viewer) = viewer();
    let port = viewer.port;
    let ask = |path: &str, lines: &str| {
        viewer.raw(&format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{lines}Connection: close\r\n\r\n"))
    };
    for path in
        ["/", "/app.js", "/app.css", "/api/runs", "/api/live", "/api/run?id=x", "/nothing", "/?token=", "/?token=0123"]
    {
        let answer = ask(path, "");
        assert_eq!(status(&answer), 403, "{path}: {answer}");
        assert!(!answer.contains("set-cookie") && !body(&answer).contains("one"), "{answer}");
    }
    // The token opens the first page, and nothing else: it may be in a log.
    let token = &viewer.token;
    assert_eq!(status(&ask(&format!("/api/runs?token={token}"), "")), 403);
    assert_eq!(status(&ask(&format!("/?token={}", &token[..63]), "")), 403);
    let answer = ask(&format!("/?token={token}"), "");
    assert_eq!(status(&answer), 200);
    let cookie = answer.lines().find(|line| line.starts_with("set-cookie")).expect("a cookie");
    for word in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(word), "{cookie}");
    }
    let wrong = format!("cbo-view-{port}={}", "0".repeat(64));
    for cookie in [wrong.as_str(), "cbo-view=1", "", ";;;", "="] {
        assert_eq!(status(&ask("/api/runs", &format!("Cookie: {cookie}\r\n"))), 403, "{cookie}");
    }
    assert_eq!(status(&ask("/api/runs", &format!("Cookie: a=b; {}; c=d\r\n", viewer.cookie()))), 200);
    // Nor do two viewers have the same.
    let other = Viewer::of(&std::env::temp_dir());
    assert!(other.token != viewer.token && other.cookie() != viewer.cookie());
}

#[test]
fn a_wrong_host_or_origin_is_refused_whatever_else_is_right() {
    let (_place, viewer) = viewer();
    let (cookie, port) = (viewer.cookie(), viewer.port);
    let ask = |host: &str, lines: &str| {
        status(
            &viewer
                .raw(&format!("GET /api/runs HTTP/1.1\r\n{host}Cookie: {cookie}\r\n{lines}Connection: close\r\n\r\n")),
        )
    };
    for host in [
        "evil.example",
        "127.0.0.1",
        "127.0.0.1:1",
        "evil.example:80",
        "127.0.0.1.evil.example",
        "",
        "[::1]",
        "0.0.0.0",
    ] {
        let host =
            if host.contains(':') || host.is_empty() { host.to_string() } else { format!("{host}:{}", port + 1) };
        assert_eq!(ask(&format!("Host: {host}\r\n"), ""), 403, "{host}");
    }
    let right = format!("Host: 127.0.0.1:{port}\r\n");
    assert_eq!(ask("", ""), 403, "without a host");
    assert_eq!(ask(&format!("{right}Host: evil.example\r\n"), ""), 403, "with two");
    for origin in
        ["http://evil.example", "null", "https://127.0.0.1", "file://", &format!("http://127.0.0.1:{}", port + 1)]
    {
        assert_eq!(ask(&right, &format!("Origin: {origin}\r\n")), 403, "{origin}");
    }
    assert_eq!(ask(&right, &format!("Origin: http://127.0.0.1:{port}\r\n")), 200);
    assert_eq!(ask(&format!("Host: localhost:{port}\r\n"), ""), 200);
    let absolute =
        format!("GET http://evil.example/api/runs HTTP/1.1\r\n{right}Cookie: {cookie}\r\nConnection: close\r\n\r\n");
    assert_eq!(status(&viewer.raw(&absolute)), 403);
}

#[test]
fn it_only_reads() {
    let (_place, viewer) = viewer();
    let (cookie, port) = (viewer.cookie(), viewer.port);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "BREW"] {
        let head =
            format!("Host: 127.0.0.1:{port}\r\nCookie: {cookie}\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc");
        let answer = viewer.raw(&format!("{method} /api/runs HTTP/1.1\r\n{head}"));
        assert!([400, 403, 405].contains(&status(&answer)), "{method}: {answer}");
    }
}

#[test]
fn every_answer_says_what_a_browser_may_do_with_it() {
    let (_place, viewer) = viewer();
    let port = viewer.port;
    let refused = viewer.raw(&format!("GET /x HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"));
    for answer in [viewer.get("/"), viewer.get("/api/runs"), viewer.get("/nothing"), refused] {
        let head = answer.split("\r\n\r\n").next().expect("a head");
        for line in [
            "content-security-policy: default-src 'none'; script-src 'self'",
            "x-content-type-options: nosniff",
            "x-frame-options: DENY",
        ] {
            assert!(head.contains(line), "{head}");
        }
        for word in ["frame-ancestors 'none'", "no-referrer", "cross-origin-resource-policy: same-origin", "no-store"] {
            assert!(head.contains(word), "{head}");
        }
        assert!(!head.contains("unsafe") && !head.contains("access-control"), "{head}");
    }
    // The page has no script or style of its own, which the policy would forbid.
    let page = body(&viewer.get("/"));
    assert!(!page.contains("<style") && !page.contains("style=") && page.matches("<script").count() == 1, "{page}");
}

#[test]
fn no_path_leaves_the_folders() {
    let (place, viewer) = viewer();
    fs::write(place.path().join("secret.txt"), "the secret").expect("a file");
    let id = viewer.id("one");
    let ways = [
        "/../secret.txt",
        "/..%2fsecret.txt",
        "/%2e%2e/secret.txt",
        "//etc/passwd",
        "/....//etc/passwd",
        "/..%5c..%5csecret.txt",
        "/%252e%252e%252fsecret.txt",
        "/app.js/../../../../etc/passwd",
        "/api/run?id=../secret.txt",
        "/api/run?id=..%2f..%2fetc",
        "/api/picture?id=ID&name=../../secret.txt",
        "/api/picture?id=ID&name=..%2f..%2fsecret",
        "/api/picture?id=ID&name=misclassified%00.txt",
        "/api/run?id=%00",
        "/api/run?id=/etc/passwd",
        "/api/evaluations?id=/etc",
        "/api/swarm?id=ID%2f..",
        "/file:///etc/passwd",
    ];
    for way in ways {
        let answer = viewer.get(&way.replace("ID", &id));
        assert!([400, 404].contains(&status(&answer)), "{way}: {answer}");
        assert!(!answer.contains("the secret") && !answer.contains("root:"), "{way}: {answer}");
    }
}

#[test]
fn no_link_leads_out() {
    let place = tempfile::tempdir().expect("a folder");
    let (inside, outside) = (place.path().join("runs"), place.path().join("outside"));
    drop(run(&inside, "one").1);
    drop(run(&outside, "secret-run").1);
    fs::write(outside.join("secret.txt"), "the secret\n").expect("a file");
    symlink(&outside, inside.join("link")).expect("a link");
    symlink(outside.join("secret-run"), inside.join("run-link")).expect("a link");
    let viewer = Viewer::of(&inside);
    let runs = viewer.json("/api/runs");
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "{runs}");
    // Files of a run that are links are not read.
    let (_, folder) = run(&inside, "two");
    drop(folder);
    for name in ["log.txt", "result.json", "history.csv", "steps.track", "workers.json", "misclassified.png"] {
        let _ = fs::remove_file(inside.join("two").join(name));
        symlink(outside.join("secret.txt"), inside.join("two").join(name)).expect("a link");
    }
    std::thread::sleep(Duration::from_millis(1100));
    let id = viewer.id("two");
    for path in [
        format!("/api/run?id={id}"),
        format!("/api/history?id={id}"),
        format!("/api/picture?id={id}&name=misclassified"),
    ] {
        assert!(!viewer.get(&path).contains("the secret"), "{path}");
    }
    // A folder that has become a link since it was found is gone.
    let id = viewer.id("one");
    assert_eq!(status(&viewer.get(&format!("/api/run?id={id}"))), 200);
    fs::rename(inside.join("one"), place.path().join("moved")).expect("moved");
    symlink(outside.join("secret-run"), inside.join("one")).expect("a link");
    assert_eq!(status(&viewer.get(&format!("/api/run?id={id}"))), 404);
}

#[test]
fn long_requests_and_many_of_them_are_refused_and_others_are_still_answered() {
    let (_place, viewer) = viewer();
    assert_eq!(status(&viewer.get(&format!("/api/runs?x={}", "a".repeat(5000)))), 414);
    let answer = viewer.get_with("/api/runs", &format!("X-Long: {}\r\n", "a".repeat(100_000)));
    assert!([0, 400, 431].contains(&status(&answer)), "{answer}");
    assert!([0, 400, 431].contains(&status(&viewer.get_with("/api/runs", &"X-Many: 1\r\n".repeat(3000)))));
    assert_eq!(status(&viewer.raw("\0\0\0garbage\r\n\r\n")), 400);
    // A page of rows and a stream are bounded, however many are asked for.
    let cookie = viewer.cookie();
    let ask = format!("GET /api/live HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {cookie}\r\n\r\n", viewer.port);
    let mut streams = Vec::new();
    let mut first_lines = Vec::new();
    for _ in 0..40 {
        let mut stream = viewer.connect();
        stream.write_all(ask.as_bytes()).expect("sent");
        let mut start = [0; 12];
        stream.read_exact(&mut start).expect("an answer");
        first_lines.push(String::from_utf8_lossy(&start).into_owned());
        streams.push(stream);
    }
    let refused = first_lines.iter().filter(|line| line.ends_with("503")).count();
    assert_eq!(refused, 8, "{first_lines:?}");
    assert_eq!(status(&viewer.get("/api/runs")), 200, "others are answered");
}
