//! The lines that go to a program and come from it, as pure functions.
//!
//! Answers are read by hand and not by a JSON library, because programs write numbers that JSON does not have: Python's `NaN` and
//! `Infinity`, C's `-nan` and `inf`, `1e400`, `.5`. Whatever is not needed in a line is ignored, not judged.

use std::io::Write;

use super::Outcome;

/// An answer of a worker that speaks jsonl.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// Which point it is about.
    pub id: u64,
    /// [`Outcome::Value`] or [`Outcome::NoValue`].
    pub outcome: Outcome,
}

/// Why a line is not an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AnswerError(&'static str);

/// A number as programs write it: as in Rust, with `inf` and `nan` in any case, spaces around it.
pub fn read_value(text: &[u8]) -> Option<f64> {
    std::str::from_utf8(text.trim_ascii()).ok()?.parse().ok()
}

/// Reads a line such as `{"id":7,"value":1.25}` or `{"id":7,"error":"no mesh"}`. Other keys are ignored.
pub fn read_answer(line: &[u8]) -> Result<Answer, AnswerError> {
    let (mut id, mut value, mut error) = (None, None, None);
    members(line, |key, token| match key {
        b"id" => id = Some(token),
        b"value" => value = Some(token),
        b"error" if token != b"null" => error = Some(token),
        _ => (),
    })?;
    let id = read_id(id.ok_or(AnswerError("no \"id\""))?).ok_or(AnswerError("\"id\" is not a whole number"))?;
    let outcome = match (error, value) {
        (Some(words), _) => Outcome::NoValue(read_words(words)),
        (None, Some(b"null")) => Outcome::NoValue("the value is null".into()),
        (None, Some(token)) => {
            let text = token.strip_prefix(b"\"").and_then(|t| t.strip_suffix(b"\"")).unwrap_or(token);
            Outcome::of(read_value(text).ok_or(AnswerError("\"value\" is not a number"))?)
        }
        (None, None) => return Err(AnswerError("neither \"value\" nor \"error\"")),
    };
    Ok(Answer { id, outcome })
}

/// The request for a point: `{"id":7,"x":[0.5,-1.0]}` and the end of the line.
pub(super) fn write_request(out: &mut Vec<u8>, id: u64, x: &[f64]) {
    // Writing to memory cannot fail.
    let _ = write!(out, "{{\"id\":{id},\"x\":");
    write_point(out, x);
    out.truncate(out.len() - 1);
    out.extend_from_slice(b"}\n");
}

/// A point as a line: `[0.5,-1.0]`. Each number is the shortest that reads back exactly.
pub(super) fn write_point(out: &mut Vec<u8>, x: &[f64]) {
    out.push(b'[');
    for (i, v) in x.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{v:?}");
    }
    out.extend_from_slice(b"]\n");
}

/// The keys of an object and the bytes of their values, without spaces around them.
fn members<'a>(line: &'a [u8], mut each: impl FnMut(&'a [u8], &'a [u8])) -> Result<(), AnswerError> {
    const BROKEN: AnswerError = AnswerError("not a JSON object");
    let inside = line.trim_ascii().strip_prefix(b"{").and_then(|l| l.strip_suffix(b"}")).ok_or(BROKEN)?;
    let mut rest = inside.trim_ascii();
    while !rest.is_empty() {
        let end = string_end(rest).ok_or(BROKEN)?;
        let key = &rest[1..end - 1];
        let after = rest[end..].trim_ascii_start().strip_prefix(b":").ok_or(BROKEN)?;
        let end = value_end(after).ok_or(BROKEN)?;
        let token = after[..end].trim_ascii();
        if token.is_empty() {
            return Err(BROKEN);
        }
        each(key, token);
        match after[end..].split_first() {
            Some((_, more)) if !more.trim_ascii().is_empty() => rest = more.trim_ascii(),
            Some(_) => return Err(BROKEN), // a comma and nothing after it
            None => break,
        }
    }
    Ok(())
}

/// The length of the string that begins here, with its quotes.
fn string_end(text: &[u8]) -> Option<usize> {
    if text.first() != Some(&b'"') {
        return None;
    }
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// The length of the value that begins here: up to the comma that ends it, or to the end.
fn value_end(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0usize);
    while at < text.len() {
        match text[at] {
            b'"' => at += string_end(&text[at..])? - 1,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.checked_sub(1)?,
            b',' if depth == 0 => return Some(at),
            _ => (),
        }
        at += 1;
    }
    (depth == 0).then_some(at)
}

/// A whole number; `7.0` is one, since some languages write all numbers like that.
fn read_id(token: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(token).ok()?;
    let whole = |v: &f64| v.fract() == 0.0 && (0.0..9e15).contains(v);
    text.parse().ok().or_else(|| text.parse().ok().filter(whole).map(|v: f64| v as u64))
}

/// The words of an error: the text of a string, or whatever else there is.
fn read_words(token: &[u8]) -> String {
    let words = serde_json::from_slice(token).unwrap_or_else(|_| String::from_utf8_lossy(token).into_owned());
    beginning(words.as_bytes())
}

/// The first 200 bytes of a text, in whole characters.
pub(super) fn beginning(text: &[u8]) -> String {
    const MOST: usize = 200;
    let text = text.trim_ascii();
    let mut shown = String::from_utf8_lossy(&text[..text.len().min(MOST + 4)]).into_owned();
    if shown.len() > MOST {
        let end = (0..=MOST).rev().find(|i| shown.is_char_boundary(*i)).unwrap_or(0);
        shown.truncate(end);
        shown += "...";
    }
    shown
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn value(line: &str) -> Outcome {
        let answer = read_answer(line.as_bytes()).unwrap_or_else(|e| panic!("{line}: {e}"));
        assert_eq!(answer.id, 7, "{line}");
        answer.outcome
    }

    #[test]
    fn numbers_of_all_languages_are_read() {
        for (text, expected) in [
            ("1.25", 1.25),
            ("-3", -3.0),
            ("+.5", 0.5),
            ("1.", 1.0),
            ("1E-400", 0.0),
            ("1e400", f64::INFINITY),
            ("inf", f64::INFINITY),
            ("Infinity", f64::INFINITY),
            ("\"INF\"", f64::INFINITY),
            ("\"1.5\"", 1.5),
        ] {
            assert_eq!(value(&format!("{{\"id\":7,\"value\":{text}}}")), Outcome::Value(expected), "{text}");
        }
        for text in ["NaN", "nan", "-nan", "\"NaN\"", "-inf", "-Infinity", "-1e400", "null"] {
            let outcome = value(&format!("{{\"id\":7,\"value\":{text}}}"));
            assert!(matches!(outcome, Outcome::NoValue(_)), "{text}: {outcome:?}");
        }
        assert_eq!(read_value(b" 2.5\r"), Some(2.5));
        for text in ["", " ", "1,5", "1 2", "one", "0x10", "\u{ff11}"] {
            assert_eq!(read_value(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn what_is_not_needed_is_passed_over() {
        let line = r#" { "x" : [1,{"id":3}], "t": NaN, "value" : 2 , "s":"a\"},{", "id" : 7.0 } "#;
        assert_eq!(value(line), Outcome::Value(2.0));
        assert_eq!(value(r#"{"value":1,"id":7,"error":null}"#), Outcome::Value(1.0));
        assert_eq!(value(r#"{"id":7,"value":1,"error":"no mesh\n\u00e9"}"#), Outcome::NoValue("no mesh\né".into()));
        assert_eq!(value(r#"{"id":7,"error":{"code":3}}"#), Outcome::NoValue("{\"code\":3}".into()));
    }

    #[test]
    fn what_is_no_answer_is_refused() {
        for (line, says) in [
            ("", "not a JSON object"),
            ("hello", "not a JSON object"),
            ("1.5", "not a JSON object"),
            ("{", "not a JSON object"),
            ("{}", "no \"id\""),
            ("[1]", "not a JSON object"),
            (r#"{"id":7,"value":1"#, "not a JSON object"),
            (r#"{"id":7,"value":1,}"#, "not a JSON object"),
            (r#"{"id":7,"value":}"#, "not a JSON object"),
            (r#"{"id":7,"value":1}{"id":8,"value":1}"#, "not a JSON object"),
            (r#"{id:7,"value":1}"#, "not a JSON object"),
            (r#"{"id":7,"value":1]}"#, "not a JSON object"),
            (r#"{"id":7,"value":"1}"#, "not a JSON object"),
            (r#"{"value":1}"#, "no \"id\""),
            (r#"{"id":"7","value":1}"#, "\"id\" is not a whole number"),
            (r#"{"id":-1,"value":1}"#, "\"id\" is not a whole number"),
            (r#"{"id":7.5,"value":1}"#, "\"id\" is not a whole number"),
            (r#"{"id":7}"#, "neither \"value\" nor \"error\""),
            (r#"{"id":7,"value":true}"#, "\"value\" is not a number"),
            (r#"{"id":7,"value":[1]}"#, "\"value\" is not a number"),
            (r#"{"id":7,"value":"\"}"#, "not a JSON object"),
        ] {
            assert_eq!(read_answer(line.as_bytes()).expect_err(line).to_string(), says, "{line}");
        }
    }

    #[test]
    fn requests_are_json() {
        let mut line = Vec::new();
        write_request(&mut line, 7, &[0.5, -1.0, 1e300, 5e-324, -0.0]);
        assert_eq!(line, b"{\"id\":7,\"x\":[0.5,-1.0,1e300,5e-324,-0.0]}\n");
        line.clear();
        write_point(&mut line, &[]);
        assert_eq!(line, b"[]\n");
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        assert_eq!(beginning(b" abc\n"), "abc");
        let cut = beginning("é".repeat(1000).as_bytes());
        assert_eq!(cut, format!("{}...", "é".repeat(100)));
        assert!(beginning(&[0xff; 5000]).len() <= 203);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(line in proptest::collection::vec(any::<u8>(), 0..64)) {
            let _ = read_answer(&line);
        }

        #[test]
        fn pieces_of_answers_are_read_or_refused(
            pieces in proptest::collection::vec(
                prop_oneof![
                    Just("{"), Just("}"), Just("["), Just("]"), Just("\""), Just("\\"), Just(","), Just(":"), Just("\"id\""),
                    Just("\"value\""), Just("\"error\""), Just("7"), Just("1e400"), Just("null"), Just(" "), Just("é"),
                ],
                0..24,
            ),
        ) {
            if let Ok(answer) = read_answer(pieces.concat().as_bytes()) {
                prop_assert!(!answer.outcome.may_be_retried());
                prop_assert!(answer.outcome.message().len() <= 203);
            }
        }

        #[test]
        fn finite_values_come_back(id in 0u64.., value in any::<f64>().prop_filter("finite", |v| v.is_finite())) {
            let line = format!("{{\"id\": {id}, \"value\": {value:?}}}");
            let answer = read_answer(line.as_bytes()).expect("an answer");
            prop_assert_eq!(answer, Answer { id, outcome: Outcome::Value(value) });
        }

        #[test]
        fn requests_read_back(id: u64, x in proptest::collection::vec(-1e300f64..1e300, 0..9)) {
            let mut line = Vec::new();
            write_request(&mut line, id, &x);
            let read: serde_json::Value = serde_json::from_slice(&line).expect("JSON");
            prop_assert_eq!(read["id"].as_u64(), Some(id));
            let numbers = read["x"].as_array().expect("an array").iter();
            prop_assert_eq!(numbers.map(|v| v.as_f64().expect("a number")).collect::<Vec<_>>(), x);
        }
    }
}
