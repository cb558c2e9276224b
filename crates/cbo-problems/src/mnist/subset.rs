//! A small part of MNIST inside the program, so that everything runs at once and without a network.

use super::idx::File;
use super::{Dataset, Labelled, MnistError};

/// The built-in subset of MNIST: the first 100 training and the first 50 test images of each digit, in file order.
///
/// `data/ATTRIBUTION.md` says where it comes from and under which licence; it is not under the licence of the project.
pub fn subset() -> Result<Dataset, MnistError> {
    let train = Labelled::from_idx(
        File { name: "built-in train-images", bytes: include_bytes!("../../data/train-images-idx3-ubyte.gz") },
        File { name: "built-in train-labels", bytes: include_bytes!("../../data/train-labels-idx1-ubyte.gz") },
    )?;
    let test = Labelled::from_idx(
        File { name: "built-in t10k-images", bytes: include_bytes!("../../data/t10k-images-idx3-ubyte.gz") },
        File { name: "built-in t10k-labels", bytes: include_bytes!("../../data/t10k-labels-idx1-ubyte.gz") },
    )?;
    Ok(Dataset { train, test })
}
