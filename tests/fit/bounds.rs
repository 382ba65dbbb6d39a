//! Bounds of the public types, checked at compile time: values go to other threads, and into statics and channels.

use topicbook::{
    Budget, Checkpoint, Corpus, Counts, Doctor, Epoch, Error, Fit, Matrix, Plan, Resample,
    Settings, Summary, Synthetic, Terms, TopicModel, Training,
};

const fn assert_shareable<T: Send + Sync + 'static>() {}

const _: () = {
    assert_shareable::<Budget>();
    assert_shareable::<Checkpoint>();
    assert_shareable::<Corpus>();
    assert_shareable::<Counts>();
    assert_shareable::<Doctor>();
    assert_shareable::<Epoch>();
    assert_shareable::<Error>();
    assert_shareable::<Fit>();
    assert_shareable::<Matrix>();
    assert_shareable::<Plan>();
    assert_shareable::<Resample>();
    assert_shareable::<Settings>();
    assert_shareable::<Summary>();
    assert_shareable::<Synthetic>();
    assert_shareable::<Terms>();
    assert_shareable::<TopicModel>();
    assert_shareable::<Training>();
};

#[cfg(feature = "polars")]
const _: () = assert_shareable::<topicbook::Table>();

#[cfg(feature = "charts")]
const _: () = assert_shareable::<topicbook::Chart>();

#[cfg(feature = "notebook")]
const _: () = assert_shareable::<topicbook::MemoryScope>();

/// The same, as a program uses it: a fit made on one thread is read on another.
#[test]
fn a_fit_goes_to_another_thread() {
    let fit = std::thread::spawn(|| {
        let counts = Synthetic::new(20, 10, 2).seed(1).generate()?.counts();
        TopicModel::new(2).epochs(2).quiet().fit(&counts)
    });
    let fit = fit.join().unwrap().unwrap();
    let shape = std::thread::scope(|scope| scope.spawn(|| fit.l().shape()).join().unwrap());
    assert_eq!(shape, (20, 2));
}
