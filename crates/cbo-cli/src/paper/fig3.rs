//! Figure 3: the two networks, with their layers and parameters.

use crate::error::CliError;
use crate::numbers::json;
use crate::plot;
use crate::sheet::{Sheet, Table, pictures};
use cbo_lab::figures::fig3::{self, Architecture};
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    figure: &'static str,
    agrees: bool,
    networks: &'a [Architecture],
}

pub fn sheet() -> Result<Sheet, CliError> {
    let networks = fig3::architectures(&fig3::load()?)?;
    let (svg, png) = pictures(|format| plot::networks::fig3(&networks, format))?;
    let agrees = networks.iter().all(|n| n.agrees);
    let mut csv = String::from("network,number,layer,input,output,parameters\n");
    let mut rows = Vec::new();
    for network in &networks {
        for (number, row) in network.layers.iter().enumerate() {
            let cells = [
                network.name.clone(),
                (number + 1).to_string(),
                row.layer.clone(),
                row.input.clone(),
                row.output.clone(),
                row.parameters.to_string(),
            ];
            csv += &(cells.join(",") + "\n");
            rows.push(cells.to_vec());
        }
    }
    let counts: Vec<String> = networks.iter().map(|n| format!("{} {}", n.name, n.parameters)).collect();
    let expected: Vec<String> = networks.iter().map(|n| n.parameters_expected.to_string()).collect();
    let word = if agrees { "as expected" } else { "but expected" };
    Ok(Sheet {
        name: "fig3",
        title: "Figure 3: the two networks",
        about: "Shapes and parameters as counted from the networks' definitions".into(),
        table: Table { head: vec!["network", "", "layer", "input", "output", "parameters"], rows },
        verdict: format!("parameters: {}, {word} ({})", counts.join(", "), expected.join(", ")),
        agrees,
        csv,
        json: json(&Report { figure: "fig3", agrees, networks: &networks }),
        svg,
        png,
    })
}
