//! The IDX reader on good and on bad files, and the subset of MNIST that is built in.

use cbo_problems::mnist::idx::{File, Kind, MOST};
use cbo_problems::mnist::{Dataset, Images, Labelled, MnistError, PIXELS, subset, unit};
use flate2::{Compression, write::GzEncoder};
use proptest::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};

/// An IDX file from the numbers of its header and its values.
fn idx(header: &[u32], values: &[u8]) -> Vec<u8> {
    let mut bytes: Vec<u8> = header.iter().flat_map(|number| number.to_be_bytes()).collect();
    bytes.extend(values);
    bytes
}

fn images_file(count: usize) -> Vec<u8> {
    let pixels: Vec<u8> = (0..count * PIXELS).map(|i| (i * 7 % 256) as u8).collect();
    idx(&[0x803, count as u32, 28, 28], &pixels)
}

fn labels_file(labels: &[u8]) -> Vec<u8> {
    idx(&[0x801, labels.len() as u32], labels)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn values(bytes: &[u8], kind: Kind) -> Result<Vec<u8>, MnistError> {
    File { name: "x", bytes }.values(kind)
}

fn message(bytes: &[u8], kind: Kind) -> String {
    values(bytes, kind).unwrap_err().to_string()
}

fn pair(images: &[u8], labels: &[u8]) -> Result<Labelled, MnistError> {
    Labelled::from_idx(File { name: "i", bytes: images }, File { name: "l", bytes: labels })
}

#[test]
fn good_files_are_read_plain_and_packed() {
    let (images, labels) = (images_file(3), labels_file(&[9, 0, 4]));
    let data = pair(&images, &labels).unwrap();
    assert_eq!(data, pair(&gzip(&images), &gzip(&labels)).unwrap());
    assert_eq!((data.count(), data.images().count(), data.labels()), (3, 3, &[9, 0, 4][..]));
    assert_eq!(data.class_counts(), [1, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
    assert_eq!(data.images().pixels(), &images[16..]);
    assert_eq!(data.images().image(1), Some(&images[16 + PIXELS..16 + 2 * PIXELS]));
    assert_eq!(data.images().image(3), None);
    assert_eq!(data, Labelled::new(Images::new(images[16..].to_vec()).unwrap(), vec![9, 0, 4]).unwrap());

    // A gzip file may consist of several parts.
    let parts = [gzip(&labels[..5]), gzip(&labels[5..])].concat();
    assert_eq!(values(&parts, Kind::Labels).unwrap(), [9, 0, 4]);
    assert_eq!(File { name: "x", bytes: &parts }.unpacked().unwrap()[..], labels[..]);
}

#[test]
fn pixels_become_numbers_from_0_to_1() {
    assert_eq!([unit(0), unit(51), unit(255)], [0.0, 0.2, 1.0]);
    let bytes: Vec<u8> = (0..PIXELS).map(|i| i as u8).collect();
    let numbers = Images::new(bytes.clone()).unwrap().unit_pixels();
    assert_eq!(numbers.len(), PIXELS);
    assert!(numbers.iter().zip(&bytes).all(|(&number, &byte)| (number * 255.0).round() == f32::from(byte)));
}

#[test]
fn a_wrong_magic_number_is_named() {
    assert_eq!(
        message(&images_file(1), Kind::Labels),
        "`x` starts with the magic number 0x00000803, which says that it holds images; \
         a file of labels starts with 0x00000801"
    );
    assert_eq!(
        message(&labels_file(&[1]), Kind::Images),
        "`x` starts with the magic number 0x00000801, which says that it holds labels; \
         a file of images starts with 0x00000803"
    );
    assert_eq!(
        message(b"<html></html>", Kind::Images),
        "`x` starts with the magic number 0x3c68746d; a file of images starts with 0x00000803"
    );
    // Floats (type 13) instead of bytes.
    let floats = idx(&[0xd03, 1, 28, 28], &[0; PIXELS]);
    assert!(matches!(values(&floats, Kind::Images), Err(MnistError::Magic { magic: 0xd03, .. })));
}

#[test]
fn absurd_headers_are_refused_without_memory_for_them() {
    assert_eq!(
        message(&idx(&[0x803, u32::MAX, 28, 28], &[0; 9]), Kind::Images),
        "`x` has a count of 4294967295 images in its header; it must be from 1 to 500000"
    );
    assert_eq!(
        message(&idx(&[0x801, 0], &[]), Kind::Labels),
        "`x` has a count of 0 labels in its header; it must be from 1 to 500000"
    );
    assert_eq!(
        message(&idx(&[0x803, 1, 32, 28], &[0; 32 * 28]), Kind::Images),
        "`x` has images of 32 x 28 pixels; they must be 28 x 28"
    );
    for (rows, columns) in [(0, 0), (28, 0), (784, 1), (u32::MAX, u32::MAX)] {
        let error = values(&idx(&[0x803, 1, rows, columns], &[0; PIXELS]), Kind::Images).unwrap_err();
        assert_eq!(error, MnistError::Size { file: "x".into(), rows, columns });
    }
    // The largest count that is allowed, and hardly any data, packed and plain.
    let short = idx(&[0x803, MOST, 28, 28], &[0; 9]);
    let expected = 16 + u64::from(MOST) * PIXELS as u64;
    for bytes in [gzip(&short), short] {
        let error = values(&bytes, Kind::Images).unwrap_err();
        assert_eq!(error, MnistError::Truncated { file: "x".into(), length: 25, expected, header: false });
    }
}

#[test]
fn files_of_the_wrong_length_are_refused() {
    let long = [labels_file(&[1, 2]), vec![3]].concat();
    for bytes in [gzip(&long), long] {
        assert_eq!(
            message(&bytes, Kind::Labels),
            "`x` is too long: its unpacked length is more than the 10 bytes that its header promises"
        );
    }
    assert_eq!(
        message(&idx(&[0x801, 3], &[1, 2]), Kind::Labels),
        "`x` is cut off: its unpacked length is 10 bytes; it must be 11 by its header"
    );
    assert_eq!(
        message(&idx(&[0x803, 3], &[]), Kind::Images),
        "`x` is cut off: its unpacked length is 8 bytes; it must be 16 for the header alone"
    );
    assert_eq!(
        message(&[], Kind::Labels),
        "`x` is cut off: its unpacked length is 0 bytes; it must be 8 for the header alone"
    );
}

/// 64 MB of zeros after a header that promises 3 labels. The gzip data are cut in the middle: a reader that unpacked
/// more than it needs would come upon that first.
#[test]
fn a_gzip_bomb_is_not_unpacked() {
    let bomb = gzip(&idx(&[0x801, 3], &vec![0; 64 << 20]));
    assert!(bomb.len() < 100_000);
    let error = values(&bomb[..bomb.len() / 2], Kind::Labels).unwrap_err();
    assert_eq!(error, MnistError::TooLong { file: "x".into(), expected: 11 });
}

#[test]
fn damaged_gzip_is_refused() {
    let good = gzip(&labels_file(&[1, 2, 3]));
    let end = good.len();
    // A byte in the header, in the checksum and in the length of the data.
    for position in [2, end - 8, end - 1] {
        let mut bad = good.clone();
        bad[position] ^= 1;
        let error = values(&bad, Kind::Labels).unwrap_err();
        assert!(matches!(error, MnistError::Gzip { .. }), "byte {position}: {error}");
        assert!(error.to_string().starts_with("`x` cannot be unpacked: the gzip data are damaged ("), "{error}");
    }
    let garbage = [&good[..], b"garbage"].concat();
    assert!(matches!(values(&garbage, Kind::Labels), Err(MnistError::Gzip { .. })));
    assert_eq!(
        message(&good[..end - 1], Kind::Labels),
        "`x` cannot be unpacked: the gzip data end too early; it must be a whole gzip file or a plain IDX file"
    );
}

#[test]
fn every_truncation_is_an_error() {
    for (whole, kind) in [(images_file(2), Kind::Images), (labels_file(&[3, 1, 4]), Kind::Labels)] {
        for bytes in [gzip(&whole), whole] {
            assert!(values(&bytes, kind).is_ok());
            for length in 0..bytes.len() {
                assert!(values(&bytes[..length], kind).is_err(), "{kind} cut to {length} bytes of {}", bytes.len());
            }
        }
    }
}

#[test]
fn labels_must_be_digits_and_as_many_as_the_images() {
    assert_eq!(
        pair(&images_file(3), &labels_file(&[9, 10, 255])).unwrap_err().to_string(),
        "`l` has the label 10 at position 1 (from 0); labels must be from 0 to 9"
    );
    assert_eq!(
        pair(&images_file(3), &labels_file(&[1, 2])).unwrap_err().to_string(),
        "`l` has 2 labels, but `i` has 3 images; the counts must agree"
    );
    for length in [0, 1, PIXELS - 1, PIXELS + 1] {
        assert_eq!(Images::new(vec![0; length]), Err(MnistError::Pixels { length }));
    }
}

/// A folder of its own for a test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("mnist-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.0.join(name), bytes).unwrap();
    }

    fn message(&self) -> String {
        Dataset::from_folder(&self.0).unwrap_err().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_folder_may_spell_its_files_in_the_usual_ways() {
    let spellings = [
        ["train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"],
        ["train-images.idx3-ubyte", "train-labels.idx1-ubyte", "t10k-images.idx3-ubyte", "t10k-labels.idx1-ubyte"],
        ["train_images_idx3_ubyte", "Train-Labels-IDX1-ubyte", "test-images-idx3-ubyte", "test-labels-idx1-ubyte"],
    ];
    for (i, names) in spellings.iter().enumerate() {
        let folder = Folder::new(&format!("spelling-{i}"));
        let files = [images_file(2), labels_file(&[1, 2]), images_file(1), labels_file(&[7])];
        for (j, (name, bytes)) in names.iter().zip(&files).enumerate() {
            // What a file is called does not say whether it is packed: mix all four cases.
            let bytes = if j % 2 == 0 { gzip(bytes) } else { bytes.clone() };
            folder.write(&if j < 2 { format!("{name}.gz") } else { name.to_string() }, &bytes);
        }
        folder.write("README", b"other files do not matter");
        let data = Dataset::from_folder(&folder.0).unwrap();
        assert_eq!((data.train.labels(), data.test.labels()), (&[1, 2][..], &[7][..]));
    }
}

#[test]
fn what_is_wrong_in_a_folder_is_named() {
    let folder = Folder::new("wrong");
    let path = folder.0.display().to_string();
    let nowhere = Dataset::from_folder(&folder.0.join("nowhere")).unwrap_err();
    assert!(matches!(nowhere, MnistError::Folder { .. }), "{nowhere}");

    let missing = |name| format!("the data folder `{path}` has no file `{name}`, plain or with `.gz`");
    assert_eq!(folder.message(), missing("train-images-idx3-ubyte"));
    // A folder of that name is not a file.
    std::fs::create_dir(folder.0.join("train-images-idx3-ubyte")).unwrap();
    assert_eq!(folder.message(), missing("train-images-idx3-ubyte"));
    folder.write("train-images.idx3-ubyte", &images_file(2));
    assert_eq!(folder.message(), missing("train-labels-idx1-ubyte"));
    folder.write("train-labels.idx1-ubyte", &labels_file(&[1]));
    assert_eq!(
        folder.message(),
        format!(
            "`{}` has 1 labels, but `{}` has 2 images; the counts must agree",
            folder.0.join("train-labels.idx1-ubyte").display(),
            folder.0.join("train-images.idx3-ubyte").display()
        )
    );
    folder.write("train-labels.idx1-ubyte", &labels_file(&[1, 2]));
    assert_eq!(folder.message(), missing("t10k-images-idx3-ubyte"));
    let not_a_folder = Dataset::from_folder(&folder.0.join("train-labels.idx1-ubyte")).unwrap_err();
    assert!(matches!(not_a_folder, MnistError::Folder { .. }), "{not_a_folder}");
}

fn sum(data: &Labelled) -> u64 {
    data.images().pixels().iter().map(|&pixel| u64::from(pixel)).sum()
}

/// The sum of each pixel times the label of its image: a slip in the order of images against labels changes it.
fn weighted_sum(data: &Labelled) -> u64 {
    let images = data.images().pixels().chunks_exact(PIXELS);
    images
        .zip(data.labels())
        .map(|(image, &label)| u64::from(label) * image.iter().map(|&p| u64::from(p)).sum::<u64>())
        .sum()
}

/// The sums are those of the selection made in Python straight from the full files.
#[test]
fn the_subset_is_the_one_that_was_selected() {
    let data = subset().unwrap();
    assert_eq!(data.train.class_counts(), [100; 10]);
    assert_eq!(data.test.class_counts(), [50; 10]);
    assert_eq!((sum(&data.train), sum(&data.test)), (25_786_920, 12_335_785));
    assert_eq!((weighted_sum(&data.train), weighted_sum(&data.test)), (112_816_892, 56_231_639));
    assert_eq!(data.train.labels()[..10], [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]);
    assert_eq!(data.test.labels()[..10], [7, 2, 1, 0, 4, 1, 4, 9, 5, 9]);
    assert_eq!(data, subset().unwrap());
}

/// `CBO_MNIST=FOLDER cargo test -p cbo-problems --test mnist -- --ignored`, with the four full files in the folder.
#[test]
#[ignore = "needs the full files of MNIST, which are not part of the project"]
fn the_full_files_and_the_subset_of_them() {
    let folder = PathBuf::from(std::env::var_os("CBO_MNIST").expect("CBO_MNIST names the folder of the full files"));
    let data = Dataset::from_folder(&folder).unwrap();
    assert_eq!((data.train.count(), data.test.count()), (60_000, 10_000));

    // The subset is the first of each digit, in file order.
    let small = subset().unwrap();
    for (full, small) in [(&data.train, &small.train), (&data.test, &small.test)] {
        let per_digit = small.class_counts()[0];
        let mut taken = [0; 10];
        let (mut pixels, mut labels) = (Vec::new(), Vec::new());
        for (image, &label) in full.images().pixels().chunks_exact(PIXELS).zip(full.labels()) {
            if taken[usize::from(label)] < per_digit {
                taken[usize::from(label)] += 1;
                pixels.extend(image);
                labels.push(label);
            }
        }
        assert_eq!(small, &Labelled::new(Images::new(pixels).unwrap(), labels).unwrap());
    }
}

/// Good and nearly good files, from which the random tests start.
fn seeds() -> Vec<Vec<u8>> {
    let plain = [
        images_file(1),
        labels_file(&[0, 9, 5]),
        idx(&[0x803, MOST, 28, 28], &[]),
        idx(&[0x803, 1, 0, u32::MAX], &[1]),
        idx(&[0x801, u32::MAX], &[]),
    ];
    let packed = plain.iter().map(|bytes| gzip(bytes)).chain([gzip(&gzip(&plain[1])), vec![0x1f, 0x8b]]);
    packed.chain(plain.clone()).collect()
}

/// Reads the bytes as either kind; what is accepted must be what the header of the unpacked file says.
fn read_both_ways(bytes: &[u8]) {
    for kind in [Kind::Images, Kind::Labels] {
        if let Ok(values) = values(bytes, kind) {
            let content = File { name: "x", bytes }.unpacked().unwrap();
            let (header, each) = if kind == Kind::Images { (16, PIXELS) } else { (8, 1) };
            let count = u32::from_be_bytes(content[4..8].try_into().unwrap()) as usize;
            assert_eq!(values, content[header..]);
            assert_eq!(values.len(), count * each);
        }
    }
    let _ = pair(bytes, bytes);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..2000), start in 0..4) {
        // Random bytes hardly ever get past the first four: put a good start before some of them.
        let starts: [&[u8]; 4] = [&[], &[0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 28], &[0, 0, 8, 1, 0, 0],
            &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]];
        bytes.splice(..0, starts[start as usize].iter().copied());
        read_both_ways(&bytes);
    }

    #[test]
    fn changed_files_never_panic(
        seed in prop::sample::select(seeds()),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        tail in prop::collection::vec(any::<u8>(), 0..3),
    ) {
        let mut bytes = seed;
        for (position, byte) in changes {
            // Half of the changes fall into the header, where they matter most.
            let range = if byte % 2 == 0 { bytes.len().min(20) } else { bytes.len() };
            let position = position.index(range);
            bytes[position] = byte;
        }
        bytes.extend(tail);
        read_both_ways(&bytes);
    }

    #[test]
    fn plain_and_packed_give_the_same(labels in prop::collection::vec(0u8..12, 1..200)) {
        let file = labels_file(&labels);
        prop_assert_eq!(values(&file, Kind::Labels), Ok(labels));
        prop_assert_eq!(values(&gzip(&file), Kind::Labels), values(&file, Kind::Labels));
    }
}
