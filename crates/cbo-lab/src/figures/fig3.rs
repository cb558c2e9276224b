//! Figure 3: the two networks of the machine learning example, their shapes and parameters counted from their definitions.

use super::{FigureError, experiment};
use cbo_problems::nn::{Layer, Network, Shape};
use serde::{Deserialize, Serialize};

/// `experiments/fig3.toml`.
#[derive(Clone, Debug, Deserialize)]
pub struct Experiment {
    /// What is expected of each network.
    pub networks: Vec<Expected>,
}

/// What is expected of a network.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expected {
    /// Its name.
    pub name: String,
    /// The number of its parameters.
    pub parameters: usize,
    /// Those of the layers that have any.
    pub layers: Vec<usize>,
}

/// One layer.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The layer as in a network text.
    pub layer: String,
    /// What goes in.
    pub input: String,
    /// What comes out.
    pub output: String,
    /// Its parameters.
    pub parameters: usize,
}

/// One network.
#[derive(Clone, Debug, Serialize)]
pub struct Architecture {
    /// Its name.
    pub name: String,
    /// The number of its parameters, counted.
    pub parameters: usize,
    /// The number expected.
    pub parameters_expected: usize,
    /// Whether the total and every layer have the parameters expected.
    pub agrees: bool,
    /// Its layers in order.
    pub layers: Vec<Row>,
    /// What a picture shows: the shapes between the layers that change them.
    #[serde(skip)]
    pub blocks: Vec<Block>,
}

/// A shape in the picture, and what leads to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// The shape.
    pub shape: Shape,
    /// The layers from the block before, in words.
    pub layers: Vec<String>,
    /// Their parameters.
    pub parameters: usize,
}

/// The experiment as the paper has it.
pub fn load() -> Result<Experiment, FigureError> {
    experiment("fig3", include_str!("../../experiments/fig3.toml"))
}

/// Counts the networks of the experiment.
pub fn architectures(experiment: &Experiment) -> Result<Vec<Architecture>, FigureError> {
    let unknown = |name: &str, e: String| FigureError::Experiment { name: "fig3", message: format!("{name}: {e}") };
    experiment
        .networks
        .iter()
        .map(|expected| {
            let network =
                Network::parse(&expected.name, Shape::DIGIT).map_err(|e| unknown(&expected.name, e.to_string()))?;
            Ok(architecture(expected, &network))
        })
        .collect()
}

fn architecture(expected: &Expected, network: &Network) -> Architecture {
    let mut blocks = vec![Block { shape: network.input(), layers: Vec::new(), parameters: 0 }];
    let mut layers = Vec::new();
    for stage in network.stages() {
        let parameters = stage.weights.len() + stage.biases.len();
        let text = stage.layer.to_string();
        let (input, output) = (stage.input.to_string(), stage.output.to_string());
        layers.push(Row { layer: text.clone(), input, output, parameters });
        match (stage.layer, blocks.last_mut()) {
            // They change no shape: they belong to the block that they work on.
            (Layer::Relu | Layer::BatchNorm, Some(last)) => last.layers.push(text),
            _ => blocks.push(Block { shape: stage.output, layers: vec![text], parameters }),
        }
    }
    let counted: Vec<usize> = layers.iter().map(|row| row.parameters).filter(|count| *count > 0).collect();
    let parameters = network.parameters();
    Architecture {
        name: expected.name.clone(),
        parameters,
        parameters_expected: expected.parameters,
        agrees: parameters == expected.parameters && counted == expected.layers,
        layers,
        blocks,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_networks_have_the_parameters_of_the_paper() {
        let networks = architectures(&load().expect("the experiment")).expect("the networks");
        assert_eq!(networks.iter().map(|n| n.parameters).collect::<Vec<_>>(), [7850, 2112]);
        assert!(networks.iter().all(|n| n.agrees));
        let shapes: Vec<String> = networks[1].blocks.iter().map(|b| b.shape.to_string()).collect();
        assert_eq!(shapes, ["1@28x28", "4@24x24", "4@12x12", "12@8x8", "12@4x4", "10 values"]);
        assert_eq!(networks[1].blocks[1].layers, ["conv 4x5", "relu", "bn"]);
    }

    #[test]
    fn another_network_does_not_agree() {
        let mut experiment = load().expect("the experiment");
        experiment.networks[0].name = "dense 20, relu, dense 10".into();
        assert!(!architectures(&experiment).expect("a network")[0].agrees);
        experiment.networks[0].name = "dense 20, pool".into();
        assert!(architectures(&experiment).is_err());
    }
}
