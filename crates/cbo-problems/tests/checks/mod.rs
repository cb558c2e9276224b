//! What must hold for any bytes that are read as a file of images, as a network, as a model or as a formula. The short fuzzing in
//! `fuzz.rs` and the long one in `fuzz/` check the same.

use cbo_problems::Formula;
use cbo_problems::mnist::idx::{File, Kind, MOST};
use cbo_problems::mnist::{CLASSES, Labelled, PIXELS};
use cbo_problems::nn::{Model, Network, NetworkError, Shape};

/// What `checks::idx`, `checks::network`, `checks::model` and `checks::formula` are; true if the bytes were accepted.
#[allow(dead_code)]
pub type Check = fn(&[u8]) -> bool;

/// A message is one line of reasonable length, and nothing in it moves a terminal's cursor.
fn refused(error: &dyn std::error::Error) -> bool {
    let message = error.to_string();
    assert!(!message.is_empty() && message.chars().count() < 600, "{message}");
    assert!(!message.contains(char::is_control), "{message:?}");
    false
}

/// Accepted values are exactly those that the header promises, and no more than there may be.
#[allow(dead_code)]
pub fn idx(bytes: &[u8]) -> bool {
    let file = File { name: "file", bytes };
    let read = |kind: Kind, header: usize, each: usize| match file.values(kind) {
        Err(error) => refused(&error),
        Ok(values) => {
            let content = file.unpacked().unwrap();
            let count = u32::from_be_bytes(content[4..8].try_into().unwrap());
            assert!((1..=MOST).contains(&count));
            assert_eq!(values.len(), count as usize * each);
            assert_eq!(values, content[header..]);
            true
        }
    };
    let (images, labels) = (read(Kind::Images, 16, PIXELS), read(Kind::Labels, 8, 1));
    // A pair reads as its files do. Gzip is slow: what neither reads is tried in one place only.
    if images || !labels {
        match Labelled::from_idx(file, File { name: "labels", bytes: &[0, 0, 8, 1, 0, 0, 0, 1, 9] }) {
            Err(error) => _ = refused(&error),
            Ok(pair) => assert!(images && pair.count() == 1 && pair.images().pixels().len() == PIXELS),
        }
    }
    if labels {
        let image = [&[0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 28][..], &[7; PIXELS]].concat();
        match Labelled::from_idx(File { name: "images", bytes: &image }, file) {
            Err(error) => _ = refused(&error),
            Ok(pair) => assert!(pair.labels().len() == 1 && usize::from(pair.labels()[0]) < CLASSES),
        }
    }
    images || labels
}

/// What parses prints, and the print parses to the same; the tensors are the parameters, none forgotten.
#[allow(dead_code)]
pub fn network(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let inputs = [Shape::DIGIT, Shape::Maps { maps: 3, height: 8, width: 6 }, Shape::Flat(12)];
    let mut accepted = false;
    for input in inputs {
        match Network::parse(&text, input) {
            // The text alone is wrong, with any input.
            Err(error @ (NetworkError::Text { .. } | NetworkError::NoLayers)) => return refused(&error),
            Err(error) => _ = refused(&error),
            Ok(network) => {
                fits(&network);
                assert_eq!(network.input(), input);
                assert_eq!(Network::parse(&network.to_string(), input).unwrap(), network);
                assert_eq!(Network::new(input, network.layers()).unwrap(), network);
                accepted = true;
            }
        }
    }
    accepted
}

fn fits(network: &Network) {
    let mut end = 0;
    for tensor in network.tensors() {
        assert_eq!(tensor.range.start, end);
        assert_eq!(tensor.range.len(), tensor.shape.iter().product::<usize>());
        end = tensor.range.end;
    }
    assert_eq!(network.parameters(), end);
    let mut shape = network.input();
    for stage in network.stages() {
        assert_eq!(stage.input, shape);
        assert!(stage.output.values() > 0);
        shape = stage.output;
    }
    assert_eq!(network.classes(), shape.values());
}

/// What is read can be written, and reads as the same again.
#[allow(dead_code)]
pub fn model(bytes: &[u8]) -> bool {
    match Model::from_bytes(bytes, "file") {
        Err(error) => refused(&error),
        Ok(model) => {
            fits(&model.network);
            assert_eq!(model.parameters.len(), model.network.parameters());
            assert!(model.parameters.iter().all(|x| x.is_finite()));
            model.network.check_statistics(&model.statistics).unwrap();
            let written = model.to_bytes().unwrap();
            let read = Model::from_bytes(&written, "file").unwrap();
            assert_eq!(read, model);
            assert_eq!(read.to_bytes().unwrap(), written);
            true
        }
    }
}

/// What parses prints, and the print parses to the same; it has values in every dimension in which it is accepted, and they are the same for
/// one point and on lanes up to what the functions of the standard library differ by.
#[allow(dead_code)]
pub fn formula(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut accepted = false;
    for dim in [1, 2, 5, 9] {
        let formula = match Formula::new(&text, dim) {
            Ok(formula) => formula,
            Err(error) => {
                let length = text.chars().count();
                assert!(error.column.is_none_or(|column| (1..=length + 1).contains(&column)), "{error}");
                refused(&error);
                continue;
            }
        };
        let printed = formula.to_string();
        // Parentheses may be more than there were only in number, never in depth.
        let again = Formula::new(&printed, dim).unwrap_or_else(|error| panic!("{printed}: {error}"));
        assert_eq!(again, formula, "{printed}");
        assert_eq!(again.to_string(), printed);
        accepted = true;
        // Most texts take little; what takes long would only make fuzzing slow.
        if formula.operations() > 100_000 {
            continue;
        }
        let x: Vec<f64> = (0..dim).map(|k| 0.75 * k as f64 - 1.25).collect();
        let (_, mut slopes) = (formula.value(&x), vec![0.0; dim]);
        formula.gradient(&x, &mut slopes);
        assert!(slopes.iter().all(|slope| slope.is_finite()));
        let mut energy = [f64::NAN];
        formula.energies_on(cbo::simd::current(), cbo::Rows::new(&x, dim), &mut energy);
    }
    accepted
}
