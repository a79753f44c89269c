//! Matrices as `.npy` files, version 1.0 of the format.

use crate::write_error::WriteError;

/// The bytes of a `.npy` file: float64, little-endian, row by row.
///
/// # Errors
/// When the shape does not hold as many numbers as `data` has.
pub fn npy_bytes(shape: &[usize], data: &[f64]) -> Result<Vec<u8>, WriteError> {
    let count = shape.iter().try_fold(1usize, |n, &side| n.checked_mul(side));
    if count != Some(data.len()) {
        return Err(WriteError::new(format!(
            "cannot write {} numbers as an array of shape {shape:?}: the sides must multiply to the number of numbers",
            data.len()
        )));
    }
    let mut bytes = npy_header(shape);
    bytes.reserve_exact(data.len() * 8);
    bytes.extend(data.iter().flat_map(|v| v.to_le_bytes()));
    Ok(bytes)
}

/// What stands before the numbers of a float64 array, for those who write the numbers themselves.
pub fn npy_header(shape: &[usize]) -> Vec<u8> {
    npy_header_of("<f8", shape)
}

/// What stands before the numbers of an array of another type, such as `<i8`: int64, little-endian.
pub fn npy_header_of(dtype: &str, shape: &[usize]) -> Vec<u8> {
    let sides: Vec<String> = shape.iter().map(usize::to_string).collect();
    // "(3,)" is a tuple in Python, "(3)" a number.
    let comma = if shape.len() == 1 { "," } else { "" };
    let sides = sides.join(", ") + comma;
    let mut dict = format!("{{'descr': '{dtype}', 'fortran_order': False, 'shape': ({sides}), }}");
    // Magic, version and length take 10 bytes, the line break 1; the numbers
    // begin at a multiple of 64.
    let padding = (dict.len() + 11).next_multiple_of(64) - (dict.len() + 11);
    dict.push_str(&" ".repeat(padding));
    dict.push('\n');
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((dict.len() as u16).to_le_bytes());
    bytes.extend(dict.as_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_has_the_header_numpy_writes() {
        let bytes = npy_bytes(&[2, 1], &[1.0, -0.5]).expect("shape fits");
        let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 1), }";
        assert_eq!(&bytes[..8], b"\x93NUMPY\x01\x00");
        assert_eq!(u16::from_le_bytes([bytes[8], bytes[9]]), 118);
        assert_eq!(&bytes[10..10 + text.len()], text.as_bytes());
        assert_eq!(bytes[127], b'\n');
        assert_eq!(bytes[128..136], 1f64.to_le_bytes());
        assert_eq!(bytes[136..], (-0.5f64).to_le_bytes());
    }

    #[test]
    fn one_side_keeps_its_comma_and_no_side_is_empty() {
        let text = |shape: &[usize]| String::from_utf8_lossy(&npy_header(shape)).into_owned();
        assert!(text(&[3]).contains("'shape': (3,), }"));
        assert!(text(&[]).contains("'shape': (), }"));
        let integers = String::from_utf8_lossy(&npy_header_of("<i8", &[2])).into_owned();
        assert!(integers.contains("'descr': '<i8',"));
        assert!(npy_header(&[usize::MAX; 4]).len().is_multiple_of(64));
    }

    #[test]
    fn a_wrong_shape_is_refused_with_both_numbers() {
        let error = npy_bytes(&[2, 3], &[0.0; 5]).expect_err("5 is not 6");
        assert!(error.to_string().contains("5 numbers as an array of shape [2, 3]"));
    }
}
