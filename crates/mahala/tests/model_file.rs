//! The model file: what is written comes back, and nothing else gets in.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;

use common::blobs;
use mahala::gmml::{Regularization, TChoice};
use mahala::kernel::{Kernel, KernelGmml, KernelMetric};
use mahala::{Error, Gmml, Labels, Mat, Metric, Model, Rows};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;

/// A model that uses every field.
fn model() -> Model {
    let data = blobs(20, 3, 2, 1);
    let fit = Gmml { t: TChoice::Fixed(0.3), standardize: true, ..Gmml::default() }.fit(&data).unwrap();
    let mut model = Model::new(fit.metric.clone());
    model.log_eigenvalues.clone_from(&fit.diagnostics.log_eigenvalues);
    model.feature_names = vec!["länge".into(), "b".into(), "\"c\\".into()];
    model.references = Some((fit.metric.transform(data.rows()).unwrap(), data.labels().clone()));
    model.threshold = Some(0.1 + 0.2);
    model.params = json!({"t": 0.3, "list": [1, 2.5, null]});
    model.diagnostics = json!({"ridge": 1e-300});
    model
}

/// A file's header and data, to be altered and put together again.
struct Parts {
    header: Value,
    data: Vec<u8>,
}

impl Parts {
    fn of(bytes: &[u8]) -> Self {
        let length = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let header = serde_json::from_slice(&bytes[8..8 + length]).unwrap();
        Self { header, data: bytes[8 + length..].to_vec() }
    }

    fn joined(&self) -> Vec<u8> {
        let header = self.header.to_string().into_bytes();
        [&(header.len() as u64).to_le_bytes()[..], &header, &self.data].concat()
    }

    /// Joined with a right checksum: what a forger, not a broken disk, would write. The sum is over
    /// metadata and tensors in the order of their names, as the module's documentation says.
    fn signed(mut self) -> Vec<u8> {
        let mut hash = Sha256::new();
        let metadata: BTreeMap<String, String> =
            serde_json::from_value(self.header["__metadata__"].clone()).unwrap();
        for (key, value) in metadata.iter().filter(|(key, _)| *key != "sha256") {
            hash.update(format!("{key}\0{value}\0"));
        }
        for (name, tensor) in
            self.header.as_object().unwrap().iter().filter(|(name, _)| *name != "__metadata__")
        {
            let dtype = tensor["dtype"].as_str().unwrap();
            let shape: Vec<u64> = serde_json::from_value(tensor["shape"].clone()).unwrap();
            hash.update(format!("{name}\0{dtype}\0{shape:?}\0"));
            let at = |i: usize| tensor["data_offsets"][i].as_u64().unwrap() as usize;
            hash.update(&self.data[at(0)..at(1)]);
        }
        let sum = hash.finalize().iter().fold(String::new(), |sum, byte| sum + &format!("{byte:02x}"));
        self.header["__metadata__"]["sha256"] = json!(sum);
        self.joined()
    }
}

fn refusal(bytes: &[u8]) -> String {
    Model::from_bytes(bytes).expect_err("this must be refused").to_string()
}

#[test]
fn a_model_comes_back_as_it_was_and_the_same_model_is_the_same_bytes() {
    let model = model();
    let bytes = model.to_bytes();
    assert_eq!(Model::from_bytes(&bytes).unwrap(), model);
    assert_eq!(model.clone().to_bytes(), bytes);
    assert_eq!(Model::from_bytes(&bytes).unwrap().to_bytes(), bytes);
    // The forger's pen writes what the library accepts: the tests below fail for their stated reason.
    assert_eq!(Model::from_bytes(&Parts::of(&bytes).signed()).unwrap(), model);
    let bare = Model::new(Metric::euclidean(1));
    assert_eq!(Model::from_bytes(&bare.to_bytes()).unwrap(), bare);
}

#[test]
fn a_file_comes_back_and_nothing_is_left_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mahala");
    model().save(&path).unwrap();
    Model::new(Metric::euclidean(2)).save(&path).unwrap();
    assert_eq!(Model::load(&path).unwrap(), Model::new(Metric::euclidean(2)));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_truncated_file_is_refused_at_every_length() {
    let bytes = model().to_bytes();
    for length in 0..bytes.len() {
        assert!(Model::from_bytes(&bytes[..length]).is_err(), "cut at {length}");
    }
    assert!(Model::from_bytes(&[bytes, vec![0]].concat()).is_err());
}

#[test]
fn an_altered_bit_is_noticed_wherever_it_is() {
    let bytes = model().to_bytes();
    let header = 8 + u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
    let everywhere = (0..8 * header).chain((8 * header..8 * bytes.len()).step_by(13));
    for bit in everywhere {
        let mut altered = bytes.clone();
        altered[bit / 8] ^= 1 << (bit % 8);
        assert!(Model::from_bytes(&altered).is_err(), "bit {bit} of byte {}", bit / 8);
    }
    for byte in 0..header {
        let mut altered = bytes.clone();
        altered[byte] ^= 0xff;
        assert!(Model::from_bytes(&altered).is_err(), "byte {byte}");
    }
}

#[test]
fn numbers_that_are_not_finite_are_refused_even_with_a_right_checksum() {
    let bytes = model().to_bytes();
    for name in ["components", "mean", "scale", "log_eigenvalues", "references"] {
        for bad in [f64::NAN, f64::INFINITY] {
            let mut parts = Parts::of(&bytes);
            let start = parts.header[name]["data_offsets"][0].as_u64().unwrap() as usize;
            parts.data[start..start + 8].copy_from_slice(&bad.to_le_bytes());
            let expected = format!("not a valid model file: the tensor '{name}' holds {bad} at place 0");
            assert_eq!(refusal(&parts.signed()), expected);
        }
    }
    let mut parts = Parts::of(&bytes);
    let start = parts.header["scale"]["data_offsets"][0].as_u64().unwrap() as usize;
    parts.data[start..start + 8].copy_from_slice(&0f64.to_le_bytes());
    assert_eq!(refusal(&parts.signed()), "not a valid model file: scale is 0; it must be above 0");
}

#[test]
fn sizes_beyond_the_file_are_refused_before_anything_is_allocated() {
    let bytes = model().to_bytes();
    for length in [u64::MAX, u64::MAX - 7, 1 << 40, bytes.len() as u64] {
        let altered = [&length.to_le_bytes()[..], &bytes[8..]].concat();
        assert_eq!(
            refusal(&altered),
            "not a valid model file: its header is longer than the file (truncated, or not a safetensors file)"
        );
    }
    for shape in [json!([u64::MAX, u64::MAX]), json!([1u64 << 40, 3]), json!([-1, 3]), json!([])] {
        let mut parts = Parts::of(&bytes);
        parts.header["components"]["shape"] = shape;
        assert!(Model::from_bytes(&parts.joined()).is_err());
    }
    for offsets in [json!([0, u64::MAX]), json!([8, 0]), json!([0, 1u64 << 40])] {
        let mut parts = Parts::of(&bytes);
        parts.header["components"]["data_offsets"] = offsets;
        assert!(Model::from_bytes(&parts.joined()).is_err());
    }
}

#[test]
fn foreign_files_are_told_apart() {
    let parts = |metadata: Value| Parts {
        header: json!({"__metadata__": metadata, "w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}),
        data: vec![0; 4],
    };
    assert_eq!(
        refusal(&parts(json!({})).joined()),
        "not a valid model file: it is a safetensors file of something else, with no format entry"
    );
    assert_eq!(
        refusal(&parts(json!({"format": "pt"})).joined()),
        "not a valid model file: its format is 'pt', not 'mahala-metric'"
    );
    assert_eq!(refusal(b"PK"), "not a valid model file: it has 2 bytes; not even a header fits");
    assert!(Model::from_bytes(b"sepal_length,sepal_width\n5.1,3.5\n").is_err());
    assert!(Model::from_bytes(&[2, 0, 0, 0, 0, 0, 0, 0, b'{', b'}']).is_err());
}

#[test]
fn other_versions_are_told_apart() {
    let with_version = |version: &str| {
        let mut parts = Parts::of(&model().to_bytes());
        parts.header["__metadata__"]["format_version"] = json!(version);
        parts.signed()
    };
    assert!(Model::from_bytes(&with_version("1.9")).is_ok());
    assert_eq!(
        refusal(&with_version("3.0")),
        "not a valid model file: its format version is 3.0; this release reads up to 2.0: please update"
    );
    assert_eq!(refusal(&with_version("x")), "not a valid model file: its format version is 'x'");
    assert_eq!(refusal(&with_version("0.3")), "not a valid model file: its format version is '0.3'");
}

/// The model with one tensor taken out, offsets closed up again.
fn without(name: &str) -> Vec<u8> {
    let mut parts = Parts::of(&model().to_bytes());
    let header = parts.header.as_object_mut().unwrap();
    let removed = header.remove(name).unwrap();
    let at = |tensor: &Value, i: usize| tensor["data_offsets"][i].as_u64().unwrap();
    let (start, end) = (at(&removed, 0), at(&removed, 1));
    parts.data.drain(start as usize..end as usize);
    for tensor in header.values_mut().filter(|tensor| tensor.get("dtype").is_some() && at(tensor, 0) >= end) {
        tensor["data_offsets"] = json!([at(tensor, 0) - (end - start), at(tensor, 1) - (end - start)]);
    }
    parts.signed()
}

#[test]
fn missing_tensors_are_named() {
    for name in ["components", "mean"] {
        assert_eq!(
            refusal(&without(name)),
            format!("not a valid model file: the tensor '{name}' is missing")
        );
    }
    for name in ["references", "reference_classes"] {
        assert_eq!(
            refusal(&without(name)),
            "not a valid model file: of 'references' and 'reference_classes' one is missing"
        );
    }
    assert_eq!(Model::from_bytes(&without("scale")).unwrap().metric.scale(), None);
    assert!(Model::from_bytes(&without("log_eigenvalues")).unwrap().log_eigenvalues.is_empty());
}

#[test]
fn wrong_shapes_and_types_are_named() {
    let altered = |name: &str, key: &str, value: Value| {
        let mut parts = Parts::of(&model().to_bytes());
        parts.header[name][key] = value;
        refusal(&parts.signed())
    };
    assert_eq!(
        altered("mean", "shape", json!([3, 1])),
        "not a valid model file: the tensor 'mean' is F64 [3, 1]; F64 [3] was expected"
    );
    assert_eq!(
        altered("components", "shape", json!([9])),
        "not a valid model file: 'components' is not a matrix"
    );
    assert!(altered("mean", "dtype", json!("I64")).contains("'mean' is I64 [3]; F64 [3] was expected"));
    assert!(altered("reference_classes", "dtype", json!("F32")).contains("does not fit 'references'"));
    let metadata = |key: &str, value: &str| {
        let mut parts = Parts::of(&model().to_bytes());
        parts.header["__metadata__"][key] = json!(value);
        refusal(&parts.signed())
    };
    assert_eq!(metadata("feature_names", "[\"a\"]"), "not a valid model file: 1 feature names for 3 columns");
    assert!(metadata("feature_names", "{").contains("the entry 'feature_names' cannot be read"));
    assert!(metadata("threshold", "\"x\"").contains("the entry 'threshold' cannot be read"));
    // A reference row's class beyond the list of classes.
    assert!(metadata("classes", "[\"0\"]").contains("class code is 1"));
    assert!(metadata("params", &"[".repeat(100_000)).contains("the entry 'params' cannot be read"));
}

#[test]
fn what_could_not_be_read_again_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    let mut wrong = Model::new(Metric::euclidean(2));
    wrong.log_eigenvalues = vec![1.0; 5];
    assert!(wrong.save(&path).is_err());
    let mut wrong = Model::new(Metric::euclidean(2));
    wrong.references = Some((Rows::new(vec![1.0; 3], 3).unwrap(), Labels::new(["a"])));
    assert!(wrong.save(&path).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_failed_save_keeps_the_old_file_and_leaves_no_part() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing").join("model");
    let error = model().save(&missing).unwrap_err();
    assert!(matches!(error, Error::Io { .. }));
    let cause = std::error::Error::source(&error)
        .and_then(|cause| cause.downcast_ref::<mahala::error::SystemError>());
    assert_eq!(cause.map(mahala::error::SystemError::kind), Some(std::io::ErrorKind::NotFound));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    // A folder stands where the file should go: the rename fails after the part was written.
    let taken = folder.path().join("taken");
    fs::create_dir(&taken).unwrap();
    fs::write(taken.join("inside"), "kept").unwrap();
    assert!(matches!(model().save(&taken), Err(Error::Io { .. })));
    assert_eq!(fs::read_to_string(taken.join("inside")).unwrap(), "kept");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    assert!(matches!(model().save(""), Err(Error::Io { .. })));
    assert!(matches!(model().save("/"), Err(Error::Io { .. })));
}

#[cfg(unix)]
#[test]
fn an_unwritable_folder_keeps_its_old_file() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model");
    model().save(&path).unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let saved = Model::new(Metric::euclidean(1)).save(&path);
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    // The superuser may write anywhere; everyone else must find the old model.
    if saved.is_err() {
        assert_eq!(Model::load(&path).unwrap(), model());
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_is_not_there_or_not_a_model_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("nothing");
    assert!(Model::load(&path).unwrap_err().to_string().contains("nothing: "));
    fs::write(&path, "hello").unwrap();
    assert!(Model::load(&path).unwrap_err().to_string().contains("nothing: it has 5 bytes"));
}

#[test]
fn metrics_that_cannot_be_are_refused() {
    let components = |x: f64| Mat::from_fn(1, 2, |_, _| x);
    assert!(Metric::new(components(f64::NAN), vec![0.0; 2], None).is_err());
    assert!(Metric::new(components(1.0), vec![0.0; 3], None).is_err());
    assert!(Metric::new(components(1.0), vec![0.0; 2], Some(vec![1.0, -1.0])).is_err());
    assert!(Metric::new(Mat::zeros(0, 2), vec![0.0; 2], None).is_err());
}

fn kernel_model() -> Model {
    let data = blobs(20, 3, 2, 1);
    let gmml = Gmml { t: TChoice::Fixed(0.3), standardize: true, ..Gmml::default() };
    let kernel = KernelGmml { gmml, kernel: Kernel::Rbf { gamma: 0.1 }, landmarks: Some(12) };
    kernel.fit(&data).unwrap().into_model(&kernel, vec!["a".into(), "b".into(), "c".into()])
}

#[test]
fn a_kernel_model_comes_back_and_older_releases_are_told() {
    let (data, model) = (blobs(5, 3, 2, 9), kernel_model());
    let bytes = model.to_bytes();
    let again = Model::from_bytes(&bytes).unwrap();
    assert_eq!(again, model);
    assert_eq!(again.columns(), 3);
    assert_eq!(again.transform(data.rows()).unwrap(), model.transform(data.rows()).unwrap());
    assert_eq!(Parts::of(&bytes).header["__metadata__"]["format_version"], "2.0");
    assert_eq!(Parts::of(&self::model().to_bytes()).header["__metadata__"]["format_version"], "1.0");
}

#[test]
fn a_weight_outside_comes_back() {
    let metric =
        Metric::new(Mat::identity(1, 3), vec![0.0; 3], None).unwrap().with_weight_outside(0.25).unwrap();
    let again = Model::from_bytes(&Model::new(metric.clone()).to_bytes()).unwrap().metric;
    assert_eq!(again, metric);
    assert_eq!(again.squared_distance(&[0.0; 3], &[1.0, 2.0, 0.0]).unwrap(), 1.0 + 0.25 * 4.0);
}

#[test]
fn the_weight_outside_of_a_kernel_metric_comes_back() {
    let data = blobs(20, 3, 2, 1);
    let regularization = Regularization::Lambda(0.2);
    let gmml = Gmml { t: TChoice::Fixed(0.3), regularization, standardize: true, ..Gmml::default() };
    let kernel = KernelGmml { gmml, kernel: Kernel::Rbf { gamma: 0.1 }, landmarks: None };
    let fit = kernel.fit(&data).unwrap();
    // A row far from all others lies outside the span of them.
    let (far, near) = ([40.0, -30.0, 20.0], data.rows().row(0));
    let expected = fit.metric.squared_distance(&far, near).unwrap();
    let model = fit.into_model(&kernel, Vec::new());
    assert_eq!(model.weight_outside(), Some(0.2f64.powf(2.0 * 0.3 - 1.0)));
    let again = Model::from_bytes(&model.to_bytes()).unwrap();
    assert_eq!(again, model);
    let metric = KernelMetric::new(again.kernel.unwrap(), again.metric).unwrap();
    assert_eq!(metric.squared_distance(&far, near).unwrap(), expected);
    let inside = metric.metric().squared_distance(
        metric.map().values(&Rows::new(far.to_vec(), 3).unwrap()).unwrap().row(0),
        metric.map().values(&Rows::new(near.to_vec(), 3).unwrap()).unwrap().row(0),
    );
    assert!(inside.unwrap() < 0.99 * expected, "the part outside counts");
    let mut parts = Parts::of(&model.to_bytes());
    parts.header["__metadata__"]["weight_outside"] = json!("-1");
    assert!(refusal(&parts.signed()).contains("weight outside is -1"));
}

#[test]
fn a_kernel_that_cannot_be_is_refused_even_with_a_right_checksum() {
    let forged = |key: &str, value: &str| {
        let mut parts = Parts::of(&kernel_model().to_bytes());
        parts.header["__metadata__"][key] = json!(value);
        refusal(&parts.signed())
    };
    let refused = |text: String, reason: &str| assert!(text.contains(reason), "{text}");
    refused(forged("kernel", "{\"kernel\":\"sigmoid\"}"), "names no kernel");
    refused(forged("kernel", "{\"kernel\":\"rbf\"}"), "names no kernel");
    refused(forged("kernel", "{\"kernel\":\"rbf\",\"gamma\":-1.0}"), "gamma is -1");
    refused(forged("kernel", "{\"kernel\":\"precomputed\"}"), "rows a kernel is taken with");
    refused(forged("kernel", "[]"), "names no kernel");
    refused(forged("weight_outside", "-1"), "weight outside is -1");
    refused(forged("feature_names", "[\"a\"]"), "1 feature names for 3 columns");
    let mut parts = Parts::of(&kernel_model().to_bytes());
    parts.header["landmarks"]["shape"] = json!([9, 4]);
    refused(refusal(&parts.signed()), "does not fit 'components'");
}
