//! Where the images of a run come from: a folder of the user, the cache folder, or the program itself.

use super::cache;
use super::checksums::{Checksums, read_verified, stored};
use crate::error::CliError;
use cbo_problems::mnist::{Dataset, Labelled, MnistError, idx, subset};
use std::path::{Path, PathBuf};

/// The data sets that can be fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum DatasetName {
    /// Handwritten digits.
    #[default]
    Mnist,
    /// Fashion-MNIST: pieces of clothing, in the same format.
    Fashion,
}

impl DatasetName {
    /// As the flag has it; also the name of its folder in the cache.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mnist => "mnist",
            Self::Fashion => "fashion",
        }
    }

    /// As people write it.
    pub fn title(self) -> &'static str {
        match self {
            Self::Mnist => "MNIST",
            Self::Fashion => "Fashion-MNIST",
        }
    }
}

/// Where images came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The folder that `--data` names.
    Folder(PathBuf),
    /// The user's cache folder, filled by `cbo mnist fetch`; the checksums are right.
    Cache(DatasetName, PathBuf),
    /// The small part of MNIST inside the program.
    BuiltIn,
}

impl Source {
    /// In a few words, for people and for JSON.
    pub fn description(&self) -> String {
        match self {
            Self::Folder(folder) => folder.display().to_string(),
            Self::Cache(dataset, folder) => format!("{} in {}", dataset.title(), folder.display()),
            Self::BuiltIn => "built-in subset of MNIST".into(),
        }
    }

    /// What the user should know before the run, if anything.
    pub fn note(&self) -> Option<&'static str> {
        match self {
            Self::BuiltIn => {
                Some("using the built-in subset of 1000 + 500 digits; `cbo mnist fetch` gets the full set")
            }
            _ => None,
        }
    }
}

/// Images and where they came from.
#[derive(Clone, Debug)]
pub struct Data {
    /// The images, to train and to test with.
    pub images: Dataset,
    /// Where they came from.
    pub source: Source,
}

/// The images of a run: from the folder of `--data` if it is given, else from the cache folder if all four files are
/// there, else, for MNIST, the built-in subset. Data that cannot be used are a usage error.
pub fn load(folder: Option<&Path>, dataset: DatasetName) -> Result<Data, CliError> {
    let cached = cache::folder().ok().map(|caches| caches.join(dataset.name()));
    load_from(folder, dataset, cached.as_deref(), &Checksums::of(dataset))
}

fn load_from(
    folder: Option<&Path>,
    dataset: DatasetName,
    cached: Option<&Path>,
    checksums: &Checksums,
) -> Result<Data, CliError> {
    if let Some(folder) = folder {
        let images = Dataset::from_folder(folder).map_err(unusable)?;
        return Ok(Data { images, source: Source::Folder(folder.into()) });
    }
    if let Some(folder) = cached
        && let Some(images) = from_cache(folder, dataset, checksums)?
    {
        return Ok(Data { images, source: Source::Cache(dataset, folder.into()) });
    }
    match dataset {
        DatasetName::Mnist => Ok(Data { images: subset().map_err(unusable)?, source: Source::BuiltIn }),
        DatasetName::Fashion => {
            let remedy = "its files are not here yet; get them with `cbo mnist fetch --dataset fashion`, or give a \
                          folder with `--data DIR`";
            Err(CliError::setting("dataset", dataset.name(), remedy))
        }
    }
}

/// The data set in the cache folder; nothing if a file is not there.
fn from_cache(folder: &Path, dataset: DatasetName, checksums: &Checksums) -> Result<Option<Dataset>, CliError> {
    let found: Option<Vec<(PathBuf, &str)>> =
        checksums.iter().map(|(file, sum)| Some((stored(folder, file)?, sum))).collect();
    let mut files = Vec::new();
    for (path, sum) in found.unwrap_or_default() {
        let content = read_verified(&path, sum).map_err(|why| {
            let command = format!("cbo mnist fetch --dataset {}", dataset.name());
            CliError::Usage(format!("{why}; `{command}` replaces it"))
        })?;
        files.push((path.display().to_string(), content));
    }
    match &files[..] {
        [train_images, train_labels, test_images, test_labels] => Ok(Some(Dataset {
            train: labelled(train_images, train_labels)?,
            test: labelled(test_images, test_labels)?,
        })),
        _ => Ok(None),
    }
}

type Named = (String, Vec<u8>);

fn labelled(images: &Named, labels: &Named) -> Result<Labelled, CliError> {
    let [images, labels] = [images, labels].map(|(name, bytes)| idx::File { name, bytes });
    Labelled::from_idx(images, labels).map_err(unusable)
}

fn unusable(error: MnistError) -> CliError {
    CliError::Usage(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mnist::checksums::{FILES, sha256};
    use std::fs;

    /// A folder with the built-in subset as plain files, and its checksums.
    fn cached() -> (tempfile::TempDir, Checksums) {
        let folder = tempfile::tempdir().expect("a folder");
        let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../cbo-problems/data");
        let mut list = String::new();
        for name in FILES {
            let bytes = fs::read(data.join(format!("{name}.gz"))).expect("a file of the subset");
            let content = idx::File { name, bytes: &bytes }.unpacked().expect("gzip").into_owned();
            list += &format!("{}  {name}\n", sha256(&content));
            fs::write(folder.path().join(name), content).expect("written");
        }
        let file = folder.path().join("SHA256SUMS");
        fs::write(&file, list).expect("written");
        let checksums = Checksums::read(&file).expect("checksums");
        (folder, checksums)
    }

    #[test]
    fn the_users_folder_comes_first_then_the_cache_then_the_program() {
        let (folder, checksums) = cached();
        let cache = Some(folder.path());
        let [mnist, fashion] = [DatasetName::Mnist, DatasetName::Fashion];
        let whole = subset().expect("the subset");

        let data = load_from(cache, fashion, None, &checksums).expect("from the folder");
        assert_eq!(data.source, Source::Folder(folder.path().into()));
        assert_eq!(data.images, whole);

        let data = load_from(None, fashion, cache, &checksums).expect("from the cache");
        assert_eq!(data.source, Source::Cache(fashion, folder.path().into()));
        assert_eq!((&data.images, data.source.note()), (&whole, None));
        assert!(data.source.description().starts_with("Fashion-MNIST in "));

        // One file of four is not there.
        fs::remove_file(folder.path().join(FILES[2])).expect("removed");
        for cache in [cache, None] {
            let data = load_from(None, mnist, cache, &checksums).expect("from the program");
            assert_eq!(data.source, Source::BuiltIn);
            assert!(data.source.note().is_some_and(|note| note.contains("cbo mnist fetch")));
            let error = load_from(None, fashion, cache, &checksums).unwrap_err();
            assert_eq!(error.code(), 2);
            assert!(format!("{error:?}").contains("cbo mnist fetch --dataset fashion"));
        }
        let error = load_from(Some(folder.path()), mnist, None, &checksums).unwrap_err();
        assert_eq!(error.code(), 2);
        assert!(format!("{error:?}").contains("has no file `t10k-images-idx3-ubyte`"));
    }

    #[test]
    fn a_damaged_file_in_the_cache_is_named() {
        let (folder, checksums) = cached();
        let path = folder.path().join(FILES[1]);
        let mut content = fs::read(&path).expect("a file");
        content[100] ^= 1;
        fs::write(&path, content).expect("written");
        let error = load_from(None, DatasetName::Mnist, Some(folder.path()), &checksums).unwrap_err();
        assert_eq!(error.code(), 2);
        let message = format!("{error:?}");
        assert!(message.contains(FILES[1]) && message.contains("`cbo mnist fetch --dataset mnist` replaces it"));
    }
}
