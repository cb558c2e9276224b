//! Model files: what is written is read back bit for bit, and nothing that is wrong with a file goes unnoticed.

use cbo_problems::nn::{ForwardError, Model, ModelError, Network, Shape, Statistics};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Numbers of all sizes, with -0 and a subnormal among them; the next call continues the sequence.
fn numbers(count: usize, state: &mut u64) -> Vec<f64> {
    let mut next = || {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let scale = [1.0, 1e-3, 1e6, 1e-40][(*state >> 60) as usize % 4];
        ((*state >> 11) as f64 / (1u64 << 53) as f64 - 0.5) * scale
    };
    (0..count).map(|i| if i == 1 { -0.0 } else { next() }).collect()
}

fn model_of(network: Network) -> Model {
    let mut state = 1;
    let parameters = numbers(network.parameters(), &mut state).iter().map(|&x| x as f32).collect();
    let norms = network.stages().iter().filter(|stage| stage.layer.word() == "bn");
    let statistics = norms.map(|stage| {
        let channels = stage.input.channels();
        let variance = numbers(channels, &mut state).iter().map(|x| x.abs()).collect();
        Statistics { mean: numbers(channels, &mut state), variance }
    });
    let statistics = statistics.collect();
    let notes = [("seed", "18446744073709551615"), ("data", "a \"quoted\" \\ path\nand \u{7f} \u{1} ∑ 😀"), ("", "")];
    let notes = notes.map(|(key, value)| (key.to_string(), value.to_string())).into();
    Model { network, parameters, statistics, notes }
}

fn parsed(text: &str, input: Shape) -> Model {
    model_of(Network::parse(text, input).unwrap())
}

/// A small model with all kinds of tensors: conv1 [2,1,3,3], bn1 [2], dense1 [3,8], bn2 [3].
fn small() -> Model {
    parsed("conv 2x3, bn, pool 2, dense 3, bn", Shape::Maps { maps: 1, height: 6, width: 6 })
}

fn bits(model: &Model) -> (Vec<u32>, Vec<u64>) {
    let statistics = model.statistics.iter().flat_map(|s| s.mean.iter().chain(&s.variance));
    (model.parameters.iter().map(|x| x.to_bits()).collect(), statistics.map(|x| x.to_bits()).collect())
}

/// Header and data of a file.
fn parts(bytes: &[u8]) -> (String, Vec<u8>) {
    let end = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    (String::from_utf8(bytes[8..end].to_vec()).unwrap(), bytes[end..].to_vec())
}

fn joined(header: &str, data: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
}

fn message(bytes: &[u8]) -> String {
    Model::from_bytes(bytes, "m.safetensors").unwrap_err().to_string()
}

/// The message about the small model with one piece of its header replaced.
fn replaced(from: &str, to: &str) -> String {
    let (header, data) = parts(&small().to_bytes().unwrap());
    assert!(header.contains(from), "{from} is not in {header}");
    message(&joined(&header.replacen(from, to, 1), &data))
}

/// The message about the small model without a tensor, with its bytes removed too.
fn without(tensor: &str) -> String {
    let bytes = small().to_bytes().unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let (_, header) = safetensors::SafeTensors::read_metadata(&bytes).unwrap();
    let rest: Vec<_> = file.tensors().into_iter().filter(|(name, _)| name != tensor).collect();
    assert_eq!(rest.len(), file.len() - 1, "{tensor}");
    message(&safetensors::serialize(rest, header.metadata().clone()).unwrap())
}

#[test]
fn what_is_written_is_read_bit_by_bit() {
    let models = [
        model_of(Network::shallow()),
        model_of(Network::lenet1()),
        small(),
        parsed("conv 2x2 shared, relu, conv 2x2, bn, dense 4", Shape::Maps { maps: 3, height: 5, width: 4 }),
        parsed("dense 2, bn", Shape::Flat(5)),
        parsed("pool 2, relu", Shape::DIGIT),
    ];
    for model in models {
        let bytes = model.to_bytes().unwrap();
        let read = Model::from_bytes(&bytes, "x").unwrap();
        assert_eq!(read, model);
        assert_eq!(bits(&read), bits(&model));
        assert_eq!(bytes, read.to_bytes().unwrap());
    }
}

/// Byte by byte, so that nothing in it can depend on the order of a hash table.
#[test]
fn the_bytes_are_fixed() {
    let network = Network::parse("dense 1, bn", Shape::Flat(2)).unwrap();
    let statistics = vec![Statistics { mean: vec![1.5], variance: vec![0.25] }];
    let notes = BTreeMap::from([("zeta".to_string(), "1".to_string()), ("data".to_string(), "MNIST".to_string())]);
    let model = Model { network, parameters: vec![1.0, -2.0, 0.5], statistics, notes };
    let header = concat!(
        r#"{"__metadata__":{"cbo.epsilon":"1e-4","cbo.input":"2","cbo.network":"dense 1, bn","#,
        r#""data":"MNIST","format":"pt","zeta":"1"},"#,
        r#""bn1.running_mean":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},"#,
        r#""bn1.running_var":{"dtype":"F64","shape":[1],"data_offsets":[8,16]},"#,
        r#""dense1.weight":{"dtype":"F32","shape":[1,2],"data_offsets":[16,24]},"#,
        r#""dense1.bias":{"dtype":"F32","shape":[1],"data_offsets":[24,28]}}"#,
    );
    let doubles = [1.5f64, 0.25].map(f64::to_le_bytes).concat();
    let singles = [1.0f32, -2.0, 0.5].map(f32::to_le_bytes).concat();
    let (found, data) = parts(&model.to_bytes().unwrap());
    assert_eq!(found.trim_end(), header);
    assert_eq!(found.len() % 8, 0);
    assert_eq!(data, [doubles, singles].concat());
}

#[test]
fn the_papers_network_has_the_documented_tensors() {
    let bytes = model_of(Network::lenet1()).to_bytes().unwrap();
    let file = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let mut found: Vec<String> =
        file.iter().map(|(name, view)| format!("{name} {} {:?}", view.dtype(), view.shape())).collect();
    found.sort();
    let norm = |number: usize, maps: usize| {
        ["mean", "var"].map(|part| format!("bn{number}.running_{part} F64 [{maps}]")).to_vec()
    };
    let mut expected: Vec<String> = [(1, 4), (2, 4), (3, 12), (4, 12), (5, 10)].map(|(n, maps)| norm(n, maps)).concat();
    expected.extend(["conv1.bias F32 [4]", "conv1.weight F32 [4, 1, 5, 5]"].map(String::from));
    expected.extend(["conv2.bias F32 [3]", "conv2.weight F32 [3, 1, 5, 5]"].map(String::from));
    expected.extend(["dense1.bias F32 [10]", "dense1.weight F32 [10, 192]"].map(String::from));
    assert_eq!(found, expected);
}

/// PyTorch keeps running statistics in F32, and the number of batches that they come from.
#[test]
fn statistics_may_come_from_pytorch() {
    let mut model = parsed("bn", Shape::Flat(1));
    model.statistics = vec![Statistics { mean: vec![1.5], variance: vec![0.25] }];
    let (header, _) = parts(&model.to_bytes().unwrap());
    let header = header.replace("F64", "F32").replace("[0,8]", "[0,4]").replace("[8,16]", "[4,8]");
    let header = header.trim_end().strip_suffix('}').unwrap();
    let count = r#""bn1.num_batches_tracked":{"dtype":"I64","shape":[],"data_offsets":[8,16]}"#;
    let header = format!("{header},{count}}}");
    let data = [&[1.5f32, 0.25].map(f32::to_le_bytes).concat(), &[0; 8][..]].concat();
    assert_eq!(Model::from_bytes(&joined(&header, &data), "x").unwrap(), model);
}

#[test]
fn parts_that_do_not_fit_are_not_written() {
    let mut model = small();
    model.parameters.pop();
    let error = model.to_bytes().unwrap_err();
    assert_eq!(error.to_string(), "the parts of the model do not fit");
    let cause = std::error::Error::source(&error).expect("a cause").to_string();
    assert_eq!(cause, "46 parameters given, but the network has 47");
    let mut model = small();
    model.parameters[7] = f32::NAN;
    let error = model.to_bytes().unwrap_err().to_string();
    assert_eq!(error, "the model cannot be written: parameter 7 is NaN; it must be finite");

    let mut model = small();
    model.statistics.pop();
    let count = ForwardError::StatisticsCount { given: 1, needed: 2 };
    assert_eq!(model.to_bytes().unwrap_err(), ModelError::Parts(count));
    for (mean, variance) in [(0.0, -1.0), (f64::INFINITY, 1.0), (0.0, f64::NAN)] {
        let mut model = small();
        model.statistics[1] = Statistics { mean: vec![mean; 3], variance: vec![variance; 3] };
        let wrong = ForwardError::Statistics { number: 5, channels: 3 };
        assert_eq!(model.to_bytes().unwrap_err(), ModelError::Parts(wrong));
    }
    for key in ["format", "cbo.network", "cbo.anything"] {
        let mut model = small();
        model.notes.insert(key.into(), "x".into());
        assert_eq!(model.to_bytes().unwrap_err(), ModelError::Note { key: key.into() });
    }
}

#[test]
fn every_truncation_is_refused() {
    let bytes = small().to_bytes().unwrap();
    for length in 0..bytes.len() {
        let error = message(&bytes[..length]);
        assert!(error.starts_with("`m.safetensors` is not a whole safetensors file: "), "{error}");
    }
    assert_eq!(
        message(&bytes[..5]),
        "`m.safetensors` is not a whole safetensors file: it has 5 bytes, too few for a header; \
         give a model that cbo wrote"
    );
    assert!(message(&bytes[..100]).contains("promise a header that is longer than its 100 bytes"));
    let short = message(&bytes[..bytes.len() - 1]);
    assert!(short.contains(&format!("its {} bytes are fewer or more", bytes.len() - 1)), "{short}");
    assert!(message(&[&bytes[..], &[0]].concat()).contains("fewer or more"));
}

/// Faults in the header: what is replaced, by what, and what the message must say.
#[test]
fn faults_in_the_header_are_named() {
    let cases = [
        ("{\"__meta", "[\"__meta", "its header is faulty ("),
        ("\"cbo.network\"", "\"network\"", "has no `cbo.network` in its metadata"),
        ("\"cbo.input\"", "\"input\"", "has no `cbo.input` in its metadata"),
        ("\"cbo.epsilon\"", "\"epsilon\"", "has no `cbo.epsilon` in its metadata"),
        ("\"__metadata__\":{", "\"__metadata__\":{\"cbo.new\":\"1\\n\",", "has cbo.new = `1\\n` in its metadata; this"),
        ("\"1e-4\"", "\"1e-5\"", "has cbo.epsilon = `1e-5` in its metadata; batch normalisation here uses 1e-4"),
        ("\"1e-4\"", "\"\"", "has cbo.epsilon = `` in its metadata"),
        ("\"6x6\"", "\"six\"", "has cbo.input = `six` in its metadata; an input is `28x28`"),
        ("\"6x6\"", "\"6x+6\"", "has cbo.input = `6x+6`"),
        ("\"6x6\"", "\"0x6\"", "faulty cbo.network in its metadata: the input 1@0x6 of the network must have from 1"),
        (
            "conv 2x3, bn",
            "conv 2x3, bm",
            "faulty cbo.network in its metadata: network text, layer 2, character 11: `bm`",
        ),
        ("pool 2", "pool 3", "layer 3 (pool 3) does not fit its input 2@4x4"),
        // Another network than the one whose tensors these are.
        (
            "dense 3, bn",
            "dense 3, bn, bn",
            "has no tensor `bn3.running_mean`, but its network needs it with the shape [3]",
        ),
        (
            "dense 3, bn",
            "dense 3",
            "has a tensor `bn2.running_mean` that its network does not have; the network has bn1",
        ),
        ("dense 3", "dense 4", "has the tensor `bn2.running_mean` with the shape [3]; its network needs [4]"),
        ("[3,8]", "[8,3]", "has the tensor `dense1.weight` with the shape [8,3]; its network needs [3,8]"),
        ("[3,8]", "[24]", "has the tensor `dense1.weight` with the shape [24]; its network needs [3,8]"),
        ("[3,8]", "[3,9]", "a tensor's shape does not fit its bytes"),
        ("\"F32\",\"shape\":[3,8]", "\"I32\",\"shape\":[3,8]", "has the tensor `dense1.weight` in I32; it must be F32"),
        ("\"F64\"", "\"I64\"", "has the tensor `bn1.running_mean` in I64; it must be F64 or F32"),
        ("\"F32\"", "\"F\\u000a99\"", "its header is faulty (unknown variant `F\\n99`"),
        ("[0,16]", "[0,17]", "a tensor's shape does not fit its bytes"),
        ("[16,32]", "[8,32]", "the place of the tensor `bn1.running_var` is wrong"),
        ("[0,16]", "[0,9223372036854775807]", "its header has the number 9223372036854775807, but it is only"),
        ("[0,16]", "[0,99999999999999999999999]", "its header has the number 99999999999999999999999, but"),
    ];
    for (from, to, words) in cases {
        let error = replaced(from, to);
        assert!(error.starts_with("`m.safetensors` ") && error.contains(words), "{from} -> {to}: {error}");
        assert!(!error.contains(char::is_control), "{error}");
    }
}

#[test]
fn every_tensor_is_needed() {
    for tensor in ["conv1.weight", "conv1.bias", "dense1.weight", "dense1.bias", "bn1.running_mean", "bn2.running_var"]
    {
        let error = without(tensor);
        let words = format!("`m.safetensors` has no tensor `{tensor}`, but its network needs it with the shape [");
        assert!(error.starts_with(&words), "{error}");
    }
}

#[test]
fn numbers_that_cannot_be_are_named() {
    let bytes = small().to_bytes().unwrap();
    let (header, data) = parts(&bytes);
    let with = |place: usize, new: &[u8]| {
        let mut data = data.clone();
        data[place..place + new.len()].copy_from_slice(new);
        message(&joined(&header, &data))
    };
    // bn1: 2 means, 2 variances; bn2: 3 and 3; then conv1.weight.
    let eight = |place: usize, value: f64| with(8 * place, &value.to_le_bytes());
    assert!(eight(1, f64::NAN).contains("has NaN at place 1 of the tensor `bn1.running_mean`; it must be finite"));
    assert!(eight(0, f64::NEG_INFINITY).contains("has -inf at place 0 of the tensor `bn1.running_mean`"));
    assert!(
        eight(2, -1.0).contains("has -1 at place 0 of the tensor `bn1.running_var`; it must be finite and at least 0")
    );
    assert!(eight(9, f64::INFINITY).contains("has inf at place 2 of the tensor `bn2.running_var`"));
    let weight = with(80 + 4 * 5, &f32::INFINITY.to_le_bytes());
    assert_eq!(weight, "`m.safetensors` has inf at place 5 of the tensor `conv1.weight`; it must be finite");
}

/// Sizes whose sum overflows: each fits a usize, and together with the length of the header they do not.
#[test]
fn sizes_that_overflow_are_refused() {
    let each = (1u64 << 61) - 1;
    let entry = |i: u64| {
        format!(r#""t{i}":{{"dtype":"U8","shape":[{each}],"data_offsets":[{},{}]}}"#, i * each, (i + 1) * each)
    };
    let header = format!("{{{}}}", (0..8).map(entry).collect::<Vec<_>>().join(","));
    assert!(message(&joined(&header, &[])).contains("its header has the number"));
}

#[test]
fn a_long_text_is_shortened_in_a_message() {
    let long = "x".repeat(10_000);
    assert!(replaced("\"6x6\"", &format!("\"{long}\"")).len() < 300);
    assert!(replaced("\"dense1.bias\"", &format!("\"{long}\"")).len() < 300);
    assert!(replaced("conv 2x3", &long).len() < 300);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Changed bytes are refused, or are a model that can be written and read again.
    #[test]
    fn changed_bytes_never_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        end in any::<prop::sample::Index>(),
        cut in prop::bool::weighted(0.2),
    ) {
        let mut bytes = small().to_bytes().unwrap();
        for (place, mask) in flips {
            let place = place.index(bytes.len());
            bytes[place] ^= mask;
        }
        if cut {
            bytes.truncate(end.index(bytes.len()));
        }
        match Model::from_bytes(&bytes, "x") {
            Ok(model) => prop_assert_eq!(Model::from_bytes(&model.to_bytes().unwrap(), "x").unwrap(), model),
            Err(error) => prop_assert!(!error.to_string().contains(char::is_control)),
        }
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), header in 0usize..200) {
        let _ = Model::from_bytes(&bytes, "x");
        let _ = Model::from_bytes(&[&(header as u64).to_le_bytes()[..], &bytes].concat(), "x");
    }
}
