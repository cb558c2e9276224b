//! `cbo mnist eval`: a saved model on the test images.

use super::data::{self, DatasetName};
use super::report::{confusion_csv, data_text, network_name};
use crate::error::{CliError, print, told};
use crate::minimize::eprintln_quietly;
use crate::numbers::{Number, grouped, json, short};
use crate::text::one_line;
use cbo_problems::mnist::CLASSES;
use cbo_problems::nn::fast::{Evaluator, Workspace};
use cbo_problems::nn::reference::Mode;
use cbo_problems::nn::{ForwardError, Model, Shape};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cbo mnist eval lenet1/model.safetensors
  cbo mnist eval model.safetensors --data ~/mnist --json";

/// Arguments of `cbo mnist eval`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES)]
pub struct EvalArgs {
    /// The model that `cbo mnist train --out` wrote
    #[arg(value_name = "MODEL")]
    pub model: PathBuf,
    /// A folder with the four IDX files, plain or gzip; `fetched` or `built-in` for one of these alone [default: what cbo
    /// mnist fetch got, else the built-in subset]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Which of the fetched data sets to use
    #[arg(long, value_name = "NAME", value_enum, default_value_t)]
    pub dataset: DatasetName,
    /// Short for --dataset fashion
    #[arg(long, conflicts_with = "dataset")]
    pub fashion: bool,
    /// One JSON object on stdout, and nothing else there
    #[arg(long)]
    pub json: bool,
    /// No notes
    #[arg(long)]
    pub quiet: bool,
}

#[derive(Serialize)]
struct Evaluation {
    network: String,
    parameters: usize,
    data: String,
    images: usize,
    loss: Number,
    test_accuracy: f64,
    confusion: [[usize; CLASSES]; CLASSES],
    notes: BTreeMap<String, String>,
}

/// Runs the command.
pub fn run(args: &EvalArgs) -> Result<(), CliError> {
    let name = args.model.display().to_string();
    let bytes = std::fs::read(&args.model).map_err(|e| {
        CliError::Usage(format!("cannot read {name}: {e}; give a model that `cbo mnist train --out` wrote"))
    })?;
    let model = Model::from_bytes(&bytes, &name).map_err(|e| CliError::usage(&e))?;
    let (input, classes) = (model.network.input(), model.network.classes());
    if input != Shape::DIGIT || classes != CLASSES {
        let why = format!("takes {input} to {classes} classes; digits are 1@28x28 in {CLASSES}");
        return Err(CliError::Usage(format!("the network of {name} {why}")));
    }
    let dataset = args.dataset.chosen(args.fashion);
    let data = data::load(args.data.as_deref(), dataset)?;
    if let (Some(note), false) = (data.source.note(), args.quiet) {
        eprintln_quietly(&format!("note: {note}"));
    }
    let evaluator = Evaluator::new(&model.network);
    let all: Vec<usize> = (0..data.images.test.count()).collect();
    let batch = evaluator.batch(&data.images.test, &all);
    let mut workspace = Workspace::default();
    let outcome = evaluator
        .evaluate(&model.parameters, &batch, Mode::Test(&model.statistics), &mut workspace)
        .map_err(|e: ForwardError| CliError::Usage(format!("{name}: {}", told(&e))))?;
    let mut confusion = [[0; CLASSES]; CLASSES];
    for (label, answer) in batch.labels().iter().zip(workspace.predictions()) {
        if let Some(answer) = answer {
            confusion[usize::from(*label)][usize::from(*answer)] += 1;
        }
    }
    let evaluation = Evaluation {
        network: network_name(&model.network),
        parameters: model.network.parameters(),
        data: data_text(dataset, &data),
        images: outcome.count,
        loss: Number(outcome.loss),
        test_accuracy: outcome.accuracy(),
        confusion,
        notes: model.notes,
    };
    print(&if args.json { json(&evaluation) } else { evaluation.text() })
}

impl Evaluation {
    fn text(&self) -> String {
        let Self { network, parameters, data, images, loss, test_accuracy, confusion, .. } = self;
        let table = confusion_csv(confusion);
        let aligned: String = table
            .lines()
            .map(|line| line.split(',').map(|cell| format!("{cell:>6}")).collect::<String>() + "\n")
            .collect();
        format!(
            "{}: {} parameters, evaluated on {}\n\
             test accuracy {:.2} % of {} images, loss {}\n\n\
             true classes in rows, answers in columns:\n{aligned}",
            one_line(network),
            grouped(*parameters as u64),
            one_line(data),
            100.0 * test_accuracy,
            grouped(*images as u64),
            short(loss.0)
        )
    }
}
