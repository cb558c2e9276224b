//! Networks: shapes, parameters, texts and messages. The reference forward pass is tested in `network_reference.rs`.

use cbo_problems::nn::{Layer, Misfit, Network, NetworkError, Shape};
use proptest::prelude::*;

const LENET1: &str = "conv 4x5, relu, bn, pool 2, bn, conv 3x5 shared, relu, bn, pool 2, bn, dense 10, relu, bn";

fn digits(text: &str) -> Network {
    Network::parse(text, Shape::DIGIT).unwrap()
}

fn message(text: &str) -> String {
    Network::parse(text, Shape::DIGIT).unwrap_err().to_string()
}

#[test]
fn parameters_of_the_papers_networks() {
    assert_eq!(Network::shallow().parameters(), 7850);
    assert_eq!(Network::lenet1().parameters(), 2112);
    assert_eq!(Network::shallow().classes(), 10);
    assert_eq!(Network::lenet1().classes(), 10);
    assert_eq!((Network::shallow().batch_norms(), Network::lenet1().batch_norms()), (1, 5));
    let own: Vec<usize> = Network::lenet1().stages().iter().map(|s| s.biases.end - s.weights.start).collect();
    assert_eq!(own, [104, 0, 0, 0, 0, 78, 0, 0, 0, 0, 1930, 0, 0]);
}

#[test]
fn shapes_through_lenet1() {
    let shapes: Vec<String> = Network::lenet1().stages().iter().map(|stage| stage.output.to_string()).collect();
    let expected = [
        "4@24x24",
        "4@24x24",
        "4@24x24",
        "4@12x12",
        "4@12x12",
        "12@8x8",
        "12@8x8",
        "12@8x8",
        "12@4x4",
        "12@4x4",
        "10 values",
        "10 values",
        "10 values",
    ];
    assert_eq!(shapes, expected);
    assert_eq!(Network::lenet1().stages()[10].input.values(), 192);
}

#[test]
fn tensors_have_names_shapes_and_places() {
    let list = |network: Network| -> Vec<String> {
        network.tensors().iter().map(|t| format!("{t} {}..{}", t.range.start, t.range.end)).collect()
    };
    let expected = [
        "conv1.weight [4,1,5,5] 0..100",
        "conv1.bias [4] 100..104",
        "conv2.weight [3,1,5,5] 104..179",
        "conv2.bias [3] 179..182",
        "dense1.weight [10,192] 182..2102",
        "dense1.bias [10] 2102..2112",
    ];
    assert_eq!(list(Network::lenet1()), expected);
    assert_eq!(list(Network::shallow()), ["dense1.weight [10,784] 0..7840", "dense1.bias [10] 7840..7850"]);
    // Without sharing a kernel has a plane for each input map.
    let full = list(digits("conv 4x5, conv 3x5, dense 2, dense 7"));
    assert_eq!(full[2..4], ["conv2.weight [3,4,5,5] 104..404", "conv2.bias [3] 404..407"]);
    assert_eq!(full[6..], ["dense2.weight [7,2] 2809..2823", "dense2.bias [7] 2823..2830"]);
}

#[test]
fn texts_of_the_papers_networks() {
    assert_eq!(Network::lenet1().to_string(), LENET1);
    assert_eq!(Network::shallow().to_string(), "dense 10, relu, bn");
    for text in [LENET1, "lenet1", "LeNet-1", " lenet_1 "] {
        assert_eq!(digits(text), Network::lenet1(), "{text}");
    }
    assert_eq!(digits("Shallow"), Network::shallow());
}

/// Each text on the left means the one on the right.
#[test]
fn texts_are_read_forgivingly() {
    for (text, plain) in [
        ("Conv 4X5,RELU ,  Bn", "conv 4x5, relu, bn"),
        ("4x5 conv, relu", "conv 4x5, relu"),
        ("shared 3x5 conv", "conv 3x5 shared"),
        ("conv shared 3@5x5", "conv 3x5 shared"),
        ("conv 3 x 5 shared", "conv 3x5 shared"),
        ("conv 3 5 full", "conv 3x5"),
        ("conv4×5 -> pool2→dense10", "conv 4x5, pool 2, dense 10"),
        ("relu->bn", "relu, bn"),
        ("conv 4x5\nmax pool 2x2\nbatch norm\n", "conv 4x5, pool 2, bn"),
        ("Max-Pool 2; batch_norm; BatchNorm", "pool 2, bn, bn"),
        ("linear 10, softmax", "dense 10"),
        ("dense 10, soft-max,", "dense 10"),
    ] {
        assert_eq!(digits(text).to_string(), plain, "{text}");
    }
}

#[test]
fn texts_that_do_not_parse_say_where_and_what_would_be_right() {
    let layers = "layers are `conv MAPSxKERNEL [shared]`, `dense OUTPUTS`, `pool SIZE`, `relu` and `bn`";
    for text in ["", "  \t ", "softmax"] {
        assert_eq!(message(text), "the network has no layers; write for example `dense 10, relu, bn`");
    }
    for (text, expected) in [
        ("dense 10, rleu, bn", format!("layer 2, character 11: `rleu` is not known; {layers}")),
        ("dense 10,, bn", "layer 2, character 10: a layer is missing before the separator".into()),
        (", bn", "layer 1, character 1: a layer is missing before the separator".into()),
        ("relu bn", "layer 1, character 6: `bn` is a second layer; put a comma before it".into()),
        ("bn, dense", "layer 2, character 5: `dense` needs one number, its outputs, as in `dense 10`".into()),
        ("dense 10 5", "layer 1, character 1: `dense` needs one number, its outputs, as in `dense 10`".into()),
        ("dense -3", format!("layer 1, character 7: `-` is not known; {layers}")),
        ("dense 2.5", format!("layer 1, character 8: `.` is not known; {layers}")),
        ("dense 0", "layer 1, character 7: `0` must be a whole number from 1 to 16777216".into()),
        (
            "dense 99999999999999999999999999999",
            "layer 1, character 7: `999999999999999999999999...` must be a whole number from 1 to 16777216".into(),
        ),
        (
            "conv 4",
            "layer 1, character 1: `conv` needs the number of maps and the size of a square kernel, as in `conv 4x5`"
                .into(),
        ),
        (
            "conv 4x5x3",
            "layer 1, character 1: `conv` needs the number of maps and the size of a square kernel, as in `conv 4x5`"
                .into(),
        ),
        ("conv 4x", "layer 1, character 7: `x` must stand between two numbers, as in `conv 4x5`".into()),
        ("pool", "layer 1, character 1: `pool` needs one number, the side of its squares, as in `pool 2`".into()),
        ("relu 3", "layer 1, character 1: `relu` takes no number".into()),
        ("dense 3 shared", "layer 1, character 9: `shared` belongs only to `conv`".into()),
        ("conv 3x5 shared full", "layer 1, character 17: `full` repeats `shared` or `full`; write one of them".into()),
        ("10", format!("layer 1, character 1: `10` has no layer with it; {layers}")),
        ("softmax, dense 10", "layer 1, character 1: `softmax` can only be the end of a network".into()),
        ("dense 10, lenet1", format!("layer 2, character 11: `lenet` is not known; {layers}")),
        ("bn, \u{1b}[1m", format!("layer 2, character 5: `\\u{{1b}}` is not known; {layers}")),
        ("dense 10, ünknown", format!("layer 2, character 11: `ünknown` is not known; {layers}")),
    ] {
        assert_eq!(message(text), format!("network text, {expected}"), "{text:?}");
    }
}

#[test]
fn shapes_that_do_not_fit_name_the_layer() {
    for (text, expected) in [
        (
            "dense 10, relu, conv 4x5",
            "layer 3 (conv 4x5) does not fit its input 10 values: it needs maps, so it must come before every dense layer",
        ),
        (
            "dense 10, pool 2",
            "layer 2 (pool 2) does not fit its input 10 values: it needs maps, so it must come before every dense layer",
        ),
        (
            "conv 4x5, pool 2, conv 3x13 shared",
            "layer 3 (conv 3x13 shared) does not fit its input 4@12x12: the 13x13 kernel is larger than the 12x12 maps; \
             it may be at most 12",
        ),
        (
            "conv 8x3, pool 2, conv 8x3, pool 2",
            "layer 4 (pool 2) does not fit its input 8@11x11: 11x11 maps do not divide into squares of 2x2; \
             the size must divide height and width",
        ),
        (
            "dense 100000",
            "layer 1 (dense 100000) does not fit its input 1@28x28: it has 100000 outputs and brings the parameters to \
             78500000; each may be at most 16777216",
        ),
        // Shared kernels have few parameters, but each one multiplies the maps.
        (
            "conv 20000x1 shared, conv 20000x1 shared",
            "layer 2 (conv 20000x1 shared) does not fit its input 20000@28x28: it has 313600000000 outputs and brings \
             the parameters to 80000; each may be at most 16777216",
        ),
    ] {
        assert_eq!(message(text), expected, "{text}");
    }
}

#[test]
fn networks_from_layers_are_checked_like_texts() {
    let flat = Shape::Flat(3);
    assert_eq!(Network::new(flat, []), Err(NetworkError::NoLayers));
    for input in [Shape::Flat(0), Shape::Flat(usize::MAX), Shape::Maps { maps: 0, height: 3, width: 3 }] {
        assert_eq!(Network::new(input, [Layer::Relu]), Err(NetworkError::Input { input }));
    }
    for layer in [
        Layer::Dense { outputs: 0 },
        Layer::Conv { maps: 0, kernel: 1, shared: true },
        Layer::Conv { maps: 1, kernel: 0, shared: false },
        Layer::MaxPool { size: 0 },
    ] {
        let error = Network::new(Shape::DIGIT, [Layer::Relu, layer]).unwrap_err();
        assert_eq!(error, NetworkError::Layer { number: 2, layer, input: Shape::DIGIT, misfit: Misfit::Zero });
    }
    let huge = Layer::Dense { outputs: usize::MAX };
    assert!(matches!(
        Network::new(flat, [huge]),
        Err(NetworkError::Layer { number: 1, misfit: Misfit::TooLarge { .. }, .. })
    ));
    // A limit reached by many small layers is a limit too.
    let wide = std::iter::repeat_n(Layer::Dense { outputs: 2000 }, 6);
    assert!(matches!(
        Network::new(flat, wide),
        Err(NetworkError::Layer { number: 6, misfit: Misfit::TooLarge { .. }, .. })
    ));
}

/// Any layer, fitting or not.
fn any_layer() -> impl Strategy<Value = Layer> {
    prop_oneof![
        (1usize..20).prop_map(|outputs| Layer::Dense { outputs }),
        (1usize..5, 1usize..6, any::<bool>()).prop_map(|(maps, kernel, shared)| Layer::Conv { maps, kernel, shared }),
        (1usize..4).prop_map(|size| Layer::MaxPool { size }),
        Just(Layer::Relu),
        Just(Layer::BatchNorm),
    ]
}

/// Words that are almost a network.
fn almost_network() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "conv",
        "dense",
        "pool",
        "relu",
        "bn",
        "batch",
        "norm",
        "max",
        "shared",
        "full",
        "softmax",
        "lenet1",
        "x",
        "×",
        "@",
        "->",
        "-",
        ">",
        ",",
        ";",
        "\n",
        " ",
        "0",
        "1",
        "2",
        "5",
        "10",
        "99999999999999999999",
        "É",
        "ß",
        "İ",
        "\0",
    ]);
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_parser_panic(text in any::<String>()) {
        let _ = Network::parse(&text, Shape::DIGIT);
    }

    /// What is accepted is written and read back as the same; what is refused is refused in one line with a place in the
    /// text.
    #[test]
    fn texts_that_look_like_networks(text in almost_network()) {
        match Network::parse(&text, Shape::DIGIT) {
            Ok(network) => prop_assert_eq!(Network::parse(&network.to_string(), Shape::DIGIT), Ok(network)),
            Err(error) => {
                if let NetworkError::Text { number, column, .. } = &error {
                    prop_assert!((1..=text.chars().count()).contains(column) && *number >= 1, "{}", error);
                }
            }
        }
    }

    /// Layers that fit are kept, one that does not is named, and the parameters are cut into tensors without gap.
    #[test]
    fn any_layers(layers in prop::collection::vec(any_layer(), 1..12)) {
        let mut fitting = Vec::new();
        for layer in layers {
            let longer = fitting.iter().copied().chain([layer]);
            match Network::new(Shape::DIGIT, longer) {
                Ok(_) => fitting.push(layer),
                Err(NetworkError::Layer { number, layer: named, .. }) => {
                    prop_assert_eq!((number, named), (fitting.len() + 1, layer));
                }
                Err(other) => prop_assert!(false, "{}", other),
            }
        }
        prop_assume!(!fitting.is_empty());
        let network = Network::new(Shape::DIGIT, fitting.iter().copied()).unwrap();
        prop_assert_eq!(network.layers().collect::<Vec<_>>(), fitting);
        let text = network.to_string();
        let read = Network::parse(&text, Shape::DIGIT).unwrap();
        prop_assert_eq!(read.to_string(), text);

        let mut end = 0;
        for tensor in network.tensors() {
            prop_assert_eq!(tensor.range.start, end);
            prop_assert_eq!(tensor.range.len(), tensor.shape.iter().product::<usize>());
            end = tensor.range.end;
        }
        prop_assert_eq!(end, network.parameters());
        prop_assert_eq!(read, network);
    }
}
