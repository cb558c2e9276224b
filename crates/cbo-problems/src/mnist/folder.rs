//! The four files of a data set in a folder, under any of their usual spellings.

use super::idx::{File, MOST_BYTES};
use super::{Dataset, Labelled, MnistError};
use std::fs;
use std::io::Read;
use std::path::Path;

impl Dataset {
    /// The data set whose four IDX files, plain or gzip, are in this folder.
    ///
    /// `train-images-idx3-ubyte.gz`, `train-images.idx3-ubyte` and similar spellings are found; the test files may
    /// start with `t10k` or `test`. If a file occurs more than once, the alphabetically first name is taken.
    pub fn from_folder(folder: &Path) -> Result<Dataset, MnistError> {
        let names = file_names(folder)?;
        let part = |stems: &[&str]| {
            let (images_name, images) = read(folder, &names, stems, "images-idx3-ubyte")?;
            let (labels_name, labels) = read(folder, &names, stems, "labels-idx1-ubyte")?;
            Labelled::from_idx(File { name: &images_name, bytes: &images }, File { name: &labels_name, bytes: &labels })
        };
        Ok(Dataset { train: part(&["train"])?, test: part(&["t10k", "test"])? })
    }
}

/// The names of the plain files in a folder, sorted: the order in which a system lists them is not fixed.
fn file_names(folder: &Path) -> Result<Vec<String>, MnistError> {
    let unreadable = |error: std::io::Error| MnistError::Folder { folder: folder.into(), reason: error.to_string() };
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        // A name that is not Unicode is not one of ours. `is_file` follows links.
        if let Ok(name) = entry.file_name().into_string()
            && entry.path().is_file()
        {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// The path and the bytes of the file whose usual name is one of the stems and the ending.
fn read(folder: &Path, names: &[String], stems: &[&str], ending: &str) -> Result<(String, Vec<u8>), MnistError> {
    let wanted = |name: &&String| stems.iter().any(|stem| same(name, &format!("{stem}-{ending}")));
    let Some(name) = names.iter().find(wanted) else {
        return Err(MnistError::Missing { folder: folder.into(), wanted: format!("{}-{ending}", stems[0]) });
    };
    let path = folder.join(name);
    let file = path.display().to_string();
    let mut bytes = Vec::new();
    let result = fs::File::open(&path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    match result {
        Ok(_) => Ok((file, bytes)),
        Err(error) => Err(MnistError::Unreadable { file, reason: error.to_string() }),
    }
}

/// Whether a file's name is the usual one, apart from `.gz`, upper case, and dots or underscores in place of dashes.
fn same(name: &str, usual: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.strip_suffix(".gz").unwrap_or(&name).replace(['.', '_'], "-") == usual
}
