//! A network as a safetensors file that Python can load: `save_model [FOLDER [NETWORK]]` writes `model.safetensors` and
//! `expected.json`, the logits of a few digits. Without a folder it writes to a temporary one. The parameters are
//! drawn, not trained: `cbo mnist train` does that.

use cbo_problems::mnist;
use cbo_problems::nn::reference::{Mode, forward};
use cbo_problems::nn::{Model, Network, Shape};
use std::path::PathBuf;
use std::{env, fs, process};

/// How many of the test images have their logits in `expected.json`.
const IMAGES: usize = 8;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let given = arguments.next().map(PathBuf::from);
    let network = Network::parse(&arguments.next().unwrap_or("lenet1".into()), Shape::DIGIT)?;
    let folder = given.clone().unwrap_or(env::temp_dir().join(format!("cbo-save-model-{}", process::id())));

    // The statistics of batch normalisation are those of the training images.
    let data = mnist::subset()?;
    let doubles = |numbers: &[f32]| -> Vec<f64> { numbers.iter().copied().map(f64::from).collect() };
    let parameters = numbers_around_0(network.parameters());
    let train = doubles(&data.train.images().unit_pixels());
    let statistics = forward(&network, &doubles(&parameters), &train, Mode::Train)?.statistics;

    let notes = [("data", "MNIST subset"), ("parameters", "drawn, not trained")];
    let notes = notes.map(|(key, value)| (key.to_string(), value.to_string())).into();
    let model = Model { network, parameters, statistics, notes };
    fs::create_dir_all(&folder)?;
    let path = folder.join("model.safetensors");
    fs::write(&path, model.to_bytes()?)?;

    // What was read evaluates to the same bits as what was written.
    let read = Model::from_bytes(&fs::read(&path)?, &path.display().to_string())?;
    let test = doubles(&data.test.images().unit_pixels()[..IMAGES * mnist::PIXELS]);
    let logits = |model: &Model| {
        let mode = Mode::Test(&model.statistics);
        forward(&model.network, &doubles(&model.parameters), &test, mode).map(|forward| forward.logits().to_vec())
    };
    let expected = logits(&model)?;
    assert_eq!(read, model);
    assert_eq!(logits(&read)?, expected);

    let rows: Vec<String> = expected.chunks(model.network.classes()).map(|row| format!("{row:?}")).collect();
    fs::write(folder.join("expected.json"), format!("{{\"logits\": [{}]}}\n", rows.join(",\n ")))?;
    println!("{} and the logits of {IMAGES} images are in {}", model.network, folder.display());
    if given.is_none() {
        fs::remove_dir_all(&folder)?;
    }
    Ok(())
}

/// Fixed numbers between -0.5 and 0.5 that look drawn: a linear congruential generator.
fn numbers_around_0(count: usize) -> Vec<f32> {
    let next = |state: &u64| Some(state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407));
    let states = std::iter::successors(Some(1), next).skip(1);
    states.take(count).map(|state| (state >> 40) as f32 / (1 << 24) as f32 - 0.5).collect()
}
