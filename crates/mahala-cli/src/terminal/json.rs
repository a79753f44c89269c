//! Output for machines: every object says what it is and by which version of its schema.

use serde_json::{Map, Value, json};

/// Raised when a field is renamed or removed; fields may be added at any time.
pub(crate) const SCHEMA_VERSION: u32 = 1;

/// An object with `schema` (what it is) and `schema_version` before its other fields.
pub(crate) fn versioned(schema: &str, fields: Value) -> Value {
    let mut object = Map::new();
    object.insert("schema".into(), json!(format!("mahala/{schema}")));
    object.insert("schema_version".into(), json!(SCHEMA_VERSION));
    if let Value::Object(fields) = fields {
        object.extend(fields);
    }
    Value::Object(object)
}
