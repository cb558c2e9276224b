//! Where the images of a run come from: a folder of the user, the cache folder, or the program itself.

use super::cache;
use super::checksums::{Checksums, hexadecimal, read_verified, stored};
use crate::error::CliError;
use cbo_problems::mnist::{Dataset, Labelled, MnistError, idx, subset};
use sha2::{Digest, Sha256};
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
    /// What is asked for, by its name or by the short flag for clothes.
    pub fn chosen(self, fashion: bool) -> Self {
        if fashion { Self::Fashion } else { self }
    }

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

/// What `--data` calls the images that `cbo mnist fetch` got.
pub const FETCHED: &str = "fetched";

/// What `--data` calls the images inside the program.
pub const BUILT_IN: &str = "built-in";

/// Where images came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The folder that `--data` names, as an absolute path.
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

    /// What to give to `--data` for the same images.
    pub fn place(&self) -> String {
        match self {
            Self::Folder(folder) => folder.display().to_string(),
            Self::Cache(..) => FETCHED.into(),
            Self::BuiltIn => BUILT_IN.into(),
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

impl Data {
    /// The SHA-256 of all images and labels.
    pub fn checksum(&self) -> String {
        let mut sum = Sha256::new();
        for part in [&self.images.train, &self.images.test] {
            sum.update((part.count() as u64).to_le_bytes());
            sum.update(part.images().pixels());
            sum.update(part.labels());
        }
        hexadecimal(&sum.finalize())
    }
}

/// The images of a run: from the place that `--data` names if it is given, else from the cache folder if all four files are
/// there, else, for MNIST, the built-in subset. Data that cannot be used are a usage error.
pub fn load(place: Option<&Path>, dataset: DatasetName) -> Result<Data, CliError> {
    let cached = cache::folder().ok().map(|caches| caches.join(dataset.name()));
    load_from(place, dataset, cached.as_deref(), &Checksums::of(dataset))
}

fn load_from(
    place: Option<&Path>,
    dataset: DatasetName,
    cached: Option<&Path>,
    checksums: &Checksums,
) -> Result<Data, CliError> {
    let word = place.map(Path::to_str);
    if let (Some(folder), false) = (place, [Some(Some(FETCHED)), Some(Some(BUILT_IN))].contains(&word)) {
        let images = Dataset::from_folder(folder).map_err(unusable)?;
        // A run that is resumed from another folder must find them again.
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.into());
        return Ok(Data { images, source: Source::Folder(folder) });
    }
    if let (Some(folder), false) = (cached, word == Some(Some(BUILT_IN)))
        && let Some(images) = from_cache(folder, dataset, checksums)?
    {
        return Ok(Data { images, source: Source::Cache(dataset, folder.into()) });
    }
    let name = dataset.name();
    let fetch = format!("get them with `cbo mnist fetch --dataset {name}`");
    match (dataset, word) {
        (_, Some(Some(FETCHED))) => {
            let remedy = format!("the files of {} are not here; {fetch}", dataset.title());
            Err(CliError::setting("data", FETCHED, remedy))
        }
        (DatasetName::Mnist, _) => Ok(Data { images: subset().map_err(unusable)?, source: Source::BuiltIn }),
        (DatasetName::Fashion, Some(_)) => {
            let remedy = format!("the program holds no images of {}; {fetch}", dataset.title());
            Err(CliError::setting("data", BUILT_IN, remedy))
        }
        (DatasetName::Fashion, None) => {
            let remedy = format!("its files are not here yet; {fetch}, or give a folder with `--data DIR`");
            Err(CliError::setting("dataset", name, remedy))
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
    CliError::usage(&error)
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
        let error = load_from(Some(Path::new(FETCHED)), mnist, cache, &checksums).unwrap_err();
        assert!(format!("{error:?}").contains("data = fetched: the files of MNIST are not here"));
        let error = load_from(Some(folder.path()), mnist, None, &checksums).unwrap_err();
        assert_eq!(error.code(), 2);
        assert!(format!("{error:?}").contains("has no file `t10k-images-idx3-ubyte`"));
    }

    #[test]
    fn a_run_finds_its_images_again() {
        let (folder, checksums) = cached();
        let cache = Some(folder.path());
        let again = |data: &Data, cache| {
            load_from(Some(Path::new(&data.source.place())), DatasetName::Mnist, cache, &checksums)
        };
        let built_in = load_from(None, DatasetName::Mnist, None, &checksums).expect("from the program");
        // Files that were fetched since do not take their place.
        assert_eq!(again(&built_in, cache).expect("from the program").source, Source::BuiltIn);
        let fetched = load_from(None, DatasetName::Mnist, cache, &checksums).expect("from the cache");
        assert_eq!(again(&fetched, cache).expect("from the cache").source, fetched.source);
        assert_eq!(again(&fetched, None).unwrap_err().code(), 2);
        let given = load_from(cache, DatasetName::Mnist, None, &checksums).expect("from the folder");
        assert_eq!(again(&given, None).expect("from the folder").source, given.source);
        let place = Some(Path::new(BUILT_IN));
        let error = load_from(place, DatasetName::Fashion, cache, &checksums).unwrap_err();
        assert!(format!("{error:?}").contains("data = built-in: the program holds no images of Fashion-MNIST"));
    }

    #[test]
    fn the_checksum_tells_images_and_labels_apart() {
        let data = |images| Data { images, source: Source::BuiltIn };
        let whole = subset().expect("the subset");
        let sum = data(whole.clone()).checksum();
        assert_eq!((sum.len(), &sum), (64, &data(whole.clone()).checksum()));
        let swapped = Dataset { train: whole.test.clone(), test: whole.train.clone() };
        assert_ne!(sum, data(swapped).checksum());
        let mut labels = whole.test.labels().to_vec();
        labels[499] ^= 1;
        let test = Labelled::new(whole.test.images().clone(), labels).expect("labels");
        assert_ne!(sum, data(Dataset { test, ..whole }).checksum());
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
