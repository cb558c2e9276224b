//! What decides a training run: its settings, and those with a name.

use cbo::{
    Alpha, CboConfig, Clock, Coordinates, Geometric, Hopping, HoppingStart, HoppingWeights, InitialLaw, Method, Sigma,
};
use cbo_problems::nn::Network;

/// Everything that decides a training run, apart from the data.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The network.
    pub network: Network,
    /// The dynamics. `epoch_steps`, `steps` and the other limits are set here.
    pub config: CboConfig,
    /// Passes through the training images.
    pub epochs: u64,
    /// Steps of the run; if given, they count, and not the epochs.
    pub iterations: Option<u64>,
    /// Images in a data batch: a divisor of their number, or any number up to theirs if they are shuffled.
    pub batch_data: usize,
    /// Whether each epoch takes the images in a new random order. Those that do not fill a batch at its end are left out.
    pub shuffle: bool,
}

impl Settings {
    /// The paper's setting: 100 particles, of which 10 are evaluated per step and all move, on 60 images; alpha doubles and
    /// sigma falls like 1 / log2 with each epoch; a kick where consensus stalls.
    pub fn paper(network: Network) -> Self {
        let config = CboConfig {
            particles: 100,
            batch: Some(10),
            dt: 0.1,
            lambda: 1.0,
            sigma: Sigma::Logarithmic { start: 0.4f64.sqrt(), clock: Clock::Epoch },
            alpha: Alpha::Geometric(Geometric { start: 50.0, factor: 2.0, cap: f64::INFINITY, clock: Clock::Epoch }),
            init: InitialLaw::Normal { mean: Coordinates::All(0.0), variance: Coordinates::All(1.0) },
            kick: Some(1e-5),
            ..CboConfig::default()
        };
        Self { network, config, epochs: 30, iterations: None, batch_data: 60, shuffle: false }
    }

    /// Consensus hopping: all particles of a step are drawn around one centre and see the same images, other images in each step. 5.2e7
    /// images are evaluated, as in nine epochs of the paper's setting.
    pub fn hopping(network: Network) -> Self {
        let hopping = Hopping {
            momentum: 0.9,
            rate: 5.0,
            cosine: true,
            antithetic: true,
            weights: HoppingWeights::Ranks,
            start: HoppingStart::Point,
        };
        let config = CboConfig {
            particles: 256,
            // Relative to the deviation of the start: from 0.05 to 0.02.
            sigma: Sigma::Falling { start: 0.5 / 3.0, end: 0.2 / 3.0 },
            init: InitialLaw::Normal { mean: Coordinates::All(0.0), variance: Coordinates::All(0.09) },
            ..CboConfig::of(Method::Hopping(hopping))
        };
        Self { network, config, epochs: 1, iterations: Some(800), batch_data: 256, shuffle: true }
    }

    /// The most accurate LeNet-1 found: consensus hopping with many particles, 4.2e9 images evaluated.
    pub fn best(network: Network) -> Self {
        let hopping = Self::hopping(network);
        let config = CboConfig { particles: 2048, ..hopping.config };
        Self { config, iterations: Some(8000), ..hopping }
    }
}

/// Settings with a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Preset {
    /// The paper's.
    #[default]
    Paper,
    /// Found by experiment: the most accurate LeNet-1, by consensus hopping.
    Best,
}

impl Preset {
    /// The settings for a network.
    pub fn settings(self, network: Network) -> Settings {
        match self {
            Self::Paper => Settings::paper(network),
            Self::Best => Settings::best(network),
        }
    }
}
