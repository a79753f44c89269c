//! Results and parameters can be shared between threads and sent to others.

use mahala::{Auto, AutoFit, Dataset, Error, Fit, Gmml, Knn, Labels, Metric, Model, Rows};

fn shared<T: Send + Sync + 'static>() {}

#[test]
fn every_type_at_the_root_can_be_shared_between_threads() {
    shared::<Dataset>();
    shared::<Rows>();
    shared::<Labels>();
    shared::<Gmml>();
    shared::<Fit>();
    shared::<Auto>();
    shared::<AutoFit>();
    shared::<Metric>();
    shared::<Knn>();
    shared::<Model>();
    shared::<Error>();
}
