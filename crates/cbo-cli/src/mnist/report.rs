//! The report of a training run: JSON, CSV, text, pictures and the model.

use super::args::TrainArgs;
use super::data::{Data, DatasetName};
use super::settings::{described, method_text};
use crate::error::{CliError, told};
use crate::numbers::{Number, grouped, json, short};
use crate::plot::digits::{self, Wrong};
use crate::plot::training::{Series, TrainingPoint, learning_curves};
use crate::plot::{Format, digits::Confusion};
use crate::text::one_line;
use crate::{files, progress, text};
use cbo_lab::training::{Point, Settings, Trained};
use cbo_problems::mnist::{Dataset, Labelled};
use cbo_problems::nn::{Model, Network};
use cbo_runs::folder::Folder;
use serde::Serialize;
use serde_json::{Map, Value};
use std::path::Path;

/// The files of a training run; the result is written last, so that a folder with a result has everything.
pub const FILES: [&str; 10] = [
    "model.safetensors",
    "curve.csv",
    "training.svg",
    "training.png",
    "confusion.csv",
    "confusion.svg",
    "confusion.png",
    "misclassified.png",
    "misclassified.csv",
    "result.json",
];

/// A point of the curve.
#[derive(Serialize)]
struct Row {
    epoch: f64,
    step: u64,
    loss: Number,
    train_accuracy: f64,
    test_accuracy: f64,
    alpha: Number,
    sigma: f64,
    particles: usize,
    seconds: f64,
}

impl Row {
    const HEAD: &'static str = "epoch,step,loss,train_accuracy,test_accuracy,alpha,sigma,particles,seconds\n";

    fn new(p: &Point) -> Self {
        Self {
            epoch: p.epoch,
            step: p.step,
            loss: Number(p.loss),
            train_accuracy: p.train_accuracy,
            test_accuracy: p.test_accuracy,
            alpha: Number(p.alpha),
            sigma: p.sigma,
            particles: p.particles,
            seconds: p.seconds,
        }
    }

    fn csv(&self) -> String {
        let Self { epoch, step, loss, train_accuracy, test_accuracy, alpha, sigma, particles, seconds } = self;
        let (loss, alpha) = (text::number(loss.0), text::number(alpha.0));
        format!("{epoch},{step},{loss},{train_accuracy},{test_accuracy},{alpha},{sigma},{particles},{seconds:.3}\n")
    }
}

/// A curve as CSV.
pub fn curve_csv(curve: &[Point]) -> String {
    curve.iter().fold(Row::HEAD.to_string(), |csv, point| csv + &Row::new(point).csv())
}

/// A finished run with everything that is reported about it.
pub struct Report<'a> {
    args: &'a TrainArgs,
    settings: &'a Settings,
    images: &'a Dataset,
    trained: &'a Trained,
    network: String,
    data: String,
}

/// `shallow` or `lenet1` if it is one of them, else its layers.
pub fn network_name(network: &Network) -> String {
    match network {
        n if *n == Network::shallow() => "shallow".into(),
        n if *n == Network::lenet1() => "lenet1".into(),
        n => n.to_string(),
    }
}

/// `mnist, 60000 + 10000 images (where from)`.
pub fn data_text(dataset: DatasetName, data: &Data) -> String {
    let (train, test) = (data.images.train.count(), data.images.test.count());
    format!("{}, {train} + {test} images ({})", dataset.name(), data.source.description())
}

/// A confusion matrix as CSV, true classes in rows.
pub fn confusion_csv(matrix: &Confusion) -> String {
    let mut csv = String::from("true,0,1,2,3,4,5,6,7,8,9\n");
    for (class, row) in matrix.iter().enumerate() {
        let counts: Vec<String> = row.iter().map(usize::to_string).collect();
        csv += &format!("{class},{}\n", counts.join(","));
    }
    csv
}

/// The misclassified images, with their places.
pub fn wrong<'a>(data: &'a Labelled, answers: &'a [Option<u8>]) -> impl Iterator<Item = (usize, Wrong<'a>)> {
    let images = (0..data.count()).filter_map(|i| Some((i, data.images().image(i)?)));
    let answered = images.zip(data.labels().iter().zip(answers));
    answered
        .filter(|(_, (label, answer))| **answer != Some(**label))
        .map(|((i, pixels), (label, answer))| (i, Wrong { pixels, label: *label, predicted: *answer }))
}

impl<'a> Report<'a> {
    /// The report of a run.
    pub fn new(args: &'a TrainArgs, settings: &'a Settings, data: &'a Data, trained: &'a Trained) -> Self {
        Self {
            args,
            settings,
            images: &data.images,
            trained,
            network: network_name(&settings.network),
            data: data_text(args.dataset, data),
        }
    }

    fn epochs(&self) -> f64 {
        self.trained.last().epoch
    }

    /// Image evaluations of training in a second of it.
    fn speed(&self) -> f64 {
        self.trained.image_evaluations as f64 / (self.trained.seconds - self.trained.judging_seconds)
    }

    /// One line of JSON.
    pub fn json(&self) -> String {
        let (settings, trained, last) = (self.settings, self.trained, self.trained.last());
        let mut object = Map::new();
        let mut put = |key: &str, value: Value| object.insert(key.into(), value);
        put("network", self.network.as_str().into());
        put("parameters", settings.network.parameters().into());
        put("epochs", self.epochs().into());
        put("loss", value(Number(last.loss)));
        put("train_accuracy", last.train_accuracy.into());
        put("test_accuracy", last.test_accuracy.into());
        put("best_test_accuracy", trained.best_test_accuracy().into());
        put("iterations", last.step.into());
        put("image_evaluations", trained.image_evaluations.into());
        put("image_evaluations_per_second", value(Number(self.speed())));
        put("seconds", trained.seconds.into());
        put("seconds_per_epoch", (trained.seconds / self.epochs().max(f64::MIN_POSITIVE)).into());
        put("judging_seconds", trained.judging_seconds.into());
        put("seed", settings.config.seed.into());
        put("data", self.data.as_str().into());
        put("preset", self.args.preset.name().into());
        put("method", method_text(settings.config.method).into());
        put("particles", settings.config.particles.into());
        put("batch_particles", settings.config.batch.unwrap_or(settings.config.particles).into());
        put("batch_data", settings.batch_data.into());
        put("shuffle", settings.shuffle.into());
        put("lambda", settings.config.lambda.into());
        put("dt", settings.config.dt.into());
        for (key, text) in described(settings) {
            put(key, text.into());
        }
        put("kicks", trained.kicks.into());
        put("interrupted", trained.interrupted.into());
        put("confusion", value(trained.confusion));
        put("curve", value(trained.curve.iter().map(Row::new).collect::<Vec<_>>()));
        json(&object)
    }

    /// How long was trained, in words.
    fn length(&self) -> String {
        format!("{} {}", short(self.epochs()), if self.epochs() == 1.0 { "epoch" } else { "epochs" })
    }

    /// A few lines for people.
    pub fn text(&self, folder: Option<&Path>) -> String {
        let (trained, last) = (self.trained, self.trained.last());
        let percent = |fraction: f64| format!("{:.2} %", 100.0 * fraction);
        let best = trained.curve.iter().fold(last, |a, b| if b.test_accuracy > a.test_accuracy { *b } else { a });
        let ended = if trained.interrupted { ", ended early" } else { "" };
        let mut lines = format!(
            "{}: {} parameters, trained on {}\n\
             after {}{ended}: loss {}, training accuracy {}, test accuracy {} (highest {} after {})\n\
             {} in all, {:.1} s per epoch, {} image evaluations, {} a second\n",
            self.network,
            grouped(self.settings.network.parameters() as u64),
            one_line(&self.data),
            self.length(),
            short(last.loss),
            percent(last.train_accuracy),
            percent(last.test_accuracy),
            percent(best.test_accuracy),
            short(best.epoch),
            progress::duration(trained.seconds),
            trained.seconds / self.epochs().max(f64::MIN_POSITIVE),
            rounded(trained.image_evaluations as f64),
            rounded(self.speed()),
        );
        if let Some(folder) = folder {
            let model = folder.join("model.safetensors").display().to_string();
            lines += &format!("written: {}\n", one_line(&model));
        }
        lines
    }

    /// The model with notes on where it comes from.
    fn model(&self) -> Model {
        let notes = [
            ("data", self.data.clone()),
            ("epochs", short(self.epochs())),
            ("preset", self.args.preset.name().into()),
            ("seed", self.settings.config.seed.to_string()),
            ("test_accuracy", self.trained.last().test_accuracy.to_string()),
        ];
        let notes = notes.into_iter().map(|(key, text)| (key.to_string(), text)).collect();
        Model { notes, ..self.trained.model.clone() }
    }

    /// Writes all files of the run.
    pub fn write(&self, folder: &Folder) -> Result<(), CliError> {
        let trained = self.trained;
        let model = self
            .model()
            .to_bytes()
            .map_err(|e| CliError::Failed(format!("the model cannot be saved: {}", told(&e))))?;
        let point = |p: &Point| TrainingPoint {
            epoch: p.epoch,
            loss: p.loss,
            train_accuracy: p.train_accuracy,
            test_accuracy: p.test_accuracy,
        };
        let points: Vec<TrainingPoint> = trained.curve.iter().map(point).collect();
        let series = [Series {
            label: format!("{}, {} particles", self.network, grouped(self.settings.config.particles as u64)),
            points: &points,
        }];
        let title = format!(
            "{} after {}: {:.2} % of {} test images",
            self.network,
            self.length(),
            100.0 * trained.last().test_accuracy,
            grouped(self.images.test.count() as u64)
        );
        let wrong: Vec<(usize, Wrong)> = wrong(&self.images.test, &trained.answers).collect();
        let sheet: Vec<Wrong> = wrong.iter().map(|(_, digit)| *digit).collect();
        let mut list = String::from("image,true,predicted\n");
        for (index, digit) in &wrong {
            let predicted = digit.predicted.map_or_else(|| "nan".to_string(), |p| p.to_string());
            list += &format!("{index},{},{predicted}\n", digit.label);
        }
        let contents: [Vec<u8>; FILES.len()] = [
            model,
            curve_csv(&trained.curve).into_bytes(),
            learning_curves(&series, Format::Svg)?,
            learning_curves(&series, Format::Png)?,
            confusion_csv(&trained.confusion).into_bytes(),
            digits::confusion(&trained.confusion, &title, Format::Svg)?,
            digits::confusion(&trained.confusion, &title, Format::Png)?,
            digits::misclassified(&sheet, sheet.len())?,
            list.into_bytes(),
            self.json().into_bytes(),
        ];
        for (name, bytes) in FILES.iter().zip(&contents) {
            files::write_own(folder, name, bytes)?;
        }
        Ok(())
    }
}

/// Two digits of a large number.
fn rounded(number: f64) -> String {
    format!("{number:.1e}")
}

/// Anything as a JSON value.
fn value(from: impl Serialize) -> Value {
    serde_json::to_value(from).unwrap_or(Value::Null)
}
