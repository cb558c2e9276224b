//! The training objective: which images a step sees, and that it returns the mean cross-entropy on them.

use cbo::{Grouping, Objective, Rows, StepContext};
use cbo_problems::mnist::{self, unit};
use cbo_problems::nn::reference::{Mode, forward};
use cbo_problems::nn::{BatchSizeError, CrossEntropy, Network, Order};

fn at(data_batch: u64) -> StepContext {
    StepContext { step: 123, epoch: 45, data_batch }
}

#[test]
fn sequential_batches_follow_the_file_and_begin_anew_each_epoch() {
    let data = mnist::subset().expect("the subset");
    let objective = CrossEntropy::new(&Network::shallow(), &data.train, 50, Order::Sequential).expect("an objective");
    assert_eq!(objective.batches(), 20);
    assert_eq!(objective.images(0), (0..50).collect::<Vec<_>>());
    assert_eq!(objective.images(19), (950..1000).collect::<Vec<_>>());
    assert_eq!(objective.images(41), (50..100).collect::<Vec<_>>());
}

#[test]
fn shuffled_batches_use_every_image_once_an_epoch_and_depend_on_their_number_alone() {
    let data = mnist::subset().expect("the subset");
    let order = |seed| Order::Shuffled { seed };
    let new = |seed| CrossEntropy::new(&Network::shallow(), &data.train, 50, order(seed)).expect("an objective");
    let objective = new(3);
    let epoch = |e: u64| -> Vec<usize> { (20 * e..20 * (e + 1)).flat_map(|b| objective.images(b)).collect() };
    let (first, second) = (epoch(0), epoch(1));
    assert_ne!(first, second);
    for mut images in [first.clone(), second] {
        images.sort_unstable();
        assert_eq!(images, (0..1000).collect::<Vec<_>>());
    }
    // Out of turn, from a new start, and with another seed.
    assert_eq!(objective.images(7), first[350..400]);
    assert_eq!(new(3).images(27), objective.images(27));
    assert_ne!(new(4).images(7), first[350..400]);
}

#[test]
fn the_energy_is_the_mean_cross_entropy_on_the_batch() {
    let data = mnist::subset().expect("the subset");
    let network = Network::lenet1();
    let objective = CrossEntropy::new(&network, &data.train, 40, Order::Shuffled { seed: 8 }).expect("an objective");
    assert_eq!((objective.dim(), objective.grouping(), objective.is_stochastic()), (2112, Grouping::Single, true));
    let points: Vec<f32> = (0..3 * 2112).map(|i| ((i * 7919) % 1000) as f32 / 500.0 - 1.0).collect();
    for number in [30, 2, 2, 30] {
        let mut energies = [0.0f32; 3];
        objective.energies(at(number), Rows::new(&points, 2112), &mut energies).expect("energies");
        let images = objective.images(number);
        let pixels = images.iter().flat_map(|&i| data.train.images().image(i).expect("an image"));
        let pixels: Vec<f64> = pixels.map(|p| f64::from(unit(*p))).collect();
        let labels: Vec<u8> = images.iter().map(|&i| data.train.labels()[i]).collect();
        for (row, energy) in points.chunks_exact(2112).zip(energies) {
            let row: Vec<f64> = row.iter().map(|x| f64::from(*x)).collect();
            let wanted =
                forward(&network, &row, &pixels, Mode::Train).expect("a pass").cross_entropy(&labels).expect("");
            assert!((f64::from(energy) - wanted).abs() < 1e-4, "{energy} for {wanted}");
        }
    }
}

#[test]
fn batches_must_divide_the_images() {
    let data = mnist::subset().expect("the subset");
    let new = |size| CrossEntropy::new(&Network::shallow(), &data.train, size, Order::Sequential).map(|_| ());
    assert_eq!(new(60), Err(BatchSizeError { size: 60, images: 1000, nearest: 50 }));
    assert_eq!(new(0), Err(BatchSizeError { size: 0, images: 1000, nearest: 1 }));
    assert_eq!(new(2000), Err(BatchSizeError { size: 2000, images: 1000, nearest: 1000 }));
    assert_eq!(new(1000), Ok(()));
}

#[test]
fn a_batch_of_one_image_is_an_error_of_batch_norm_and_not_a_panic() {
    let data = mnist::subset().expect("the subset");
    let objective = CrossEntropy::new(&Network::shallow(), &data.train, 1, Order::Sequential).expect("an objective");
    let error = objective.energies(at(0), Rows::new(&[0.0; 7850], 7850), &mut [0.0]).unwrap_err();
    assert_eq!(error.row, Some(0));
    assert!(error.to_string().contains("at least 2 images"), "{error}");
}

#[test]
fn shuffled_batches_may_leave_images_out() {
    let data = mnist::subset().expect("the subset");
    let new = |size| CrossEntropy::new(&Network::shallow(), &data.train, size, Order::Shuffled { seed: 3 });
    let objective = new(300).expect("an objective");
    assert_eq!(objective.batches(), 3);
    let epoch = |e: u64| -> Vec<usize> { (3 * e..3 * (e + 1)).flat_map(|b| objective.images(b)).collect() };
    for mut images in [epoch(0), epoch(1)] {
        images.sort_unstable();
        images.dedup();
        assert_eq!(images.len(), 900);
    }
    assert_ne!(epoch(0), epoch(1));
    assert!(new(0).is_err() && new(1001).is_err() && new(1000).is_ok());
    assert_eq!(CrossEntropy::fitting_size(&data.train, 300, true), 300);
    assert_eq!(CrossEntropy::fitting_size(&data.train, 300, false), 250);
    assert_eq!(CrossEntropy::fitting_size(&data.train, 3000, true), 1000);
}
