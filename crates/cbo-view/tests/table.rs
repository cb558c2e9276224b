//! The table of evaluations.

use super::common::{Viewer, body, run, status, store};
use cbo_runs::external::{Attempt, Outcome};
use serde_json::Value;
use std::io::{Read, Write};

fn column(page: &Value, name: &str) -> Vec<String> {
    page["rows"].as_array().expect("rows").iter().map(|row| row[name].to_string()).collect()
}

#[test]
fn rows_are_sorted_filtered_and_cut_into_pages() {
    let place = tempfile::tempdir().expect("a folder");
    let (path, folder) = run(place.path(), "one");
    let store = store(&path, 1000);
    let viewer = Viewer::of(place.path());
    let id = viewer.id("one");
    let ask = |more: &str| viewer.json(&format!("/api/evaluations?id={id}{more}"));
    let page = ask("");
    assert_eq!((page["total"].as_u64(), page["rows"].as_array().map(Vec::len)), (Some(1000), Some(50)));
    assert_eq!(column(&page, "id")[..2], ["1000", "999"]);
    assert_eq!(column(&ask("&offset=990&limit=20"), "id").len(), 10);
    assert_eq!(column(&ask("&way=up&offset=5&limit=2"), "id"), ["6", "7"]);
    assert_eq!(ask("&limit=1000000")["rows"].as_array().map(Vec::len), Some(200), "a page is bounded");
    let values: Vec<f64> =
        column(&ask("&sort=value&way=up&limit=200"), "value").iter().filter_map(|v| v.parse().ok()).collect();
    assert!(values.len() == 200 && values.is_sorted(), "{values:?}");
    let failed = ask("&status=failed");
    assert_eq!(failed["count"], 100);
    assert!(column(&failed, "status").iter().all(|status| status == "\"died\""));
    assert_eq!(
        ask("&status=ok&from=10&to=12")["count"],
        3 - [10, 11, 12].iter().filter(|v| (0..1000).any(|k| k % 10 == 9 && (k * 7919) % 1000 == **v)).count()
    );
    assert_eq!(ask("&text=mesh%20FAILED")["count"], 100);
    for (nothing, why) in
        [("&text=%25", "% is no joker"), ("&text=m_sh", "nor is _"), ("&status=x%27%20OR%201=1", "nor is this SQL")]
    {
        assert_eq!(ask(nothing)["count"], 0, "{why}");
    }
    // What a sort is called cannot become SQL either.
    assert_eq!(column(&ask("&sort=id;DROP%20TABLE%20evaluations&limit=1"), "id"), ["1000"]);
    let csv = body(&viewer.get(&format!("/api/evaluations.csv?id={id}&status=failed")));
    let lines: Vec<&str> = csv.lines().filter(|line| line.contains("died")).collect();
    assert_eq!(lines.len(), 100);
    assert!(
        csv.starts_with("x1,x2,value,status,attempt,seconds,finished,message,stderr\n9.0,-0.0,,died,1,0.25,"),
        "{csv}"
    );
    assert!(csv.contains("\"'=mesh failed\n\""), "a spreadsheet must not take it for a formula: {csv}");
    drop((store, folder));
}

#[test]
fn exports_that_nobody_takes_in_are_few_and_in_nobodys_way() {
    let place = tempfile::tempdir().expect("a folder");
    let (path, folder) = run(place.path(), "one");
    let store = store(&path, 0);
    // More than the system keeps for whoever does not read.
    for k in 0..400 {
        let outcome = Outcome::Died("exit code 3".into());
        let attempt = Attempt { job: 0, attempt: 1, outcome, seconds: 0.25, stderr: "x".repeat(1 << 16) };
        store.put(&[f64::from(k)], &attempt).expect("put");
    }
    store.flush().expect("on the disk");
    drop((store, folder));
    let viewer = Viewer::of(place.path());
    let (cookie, id) = (viewer.cookie(), viewer.id("one"));
    let address = format!("/api/evaluations.csv?id={id}");
    let begun: Vec<_> = (0..4)
        .map(|_| {
            let mut stream = viewer.connect();
            write!(stream, "GET {address} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nCookie: {cookie}\r\n\r\n", viewer.port)
                .expect("sent");
            let mut first = [0; 15];
            stream.read_exact(&mut first).expect("an answer");
            assert_eq!(&first, b"HTTP/1.1 200 OK");
            stream
        })
        .collect();
    assert_eq!(status(&viewer.get(&address)), 503);
    assert_eq!(viewer.json(&format!("/api/evaluations?id={id}"))["total"], 400);
    drop(begun);
    while status(&viewer.get(&address)) != 200 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}
