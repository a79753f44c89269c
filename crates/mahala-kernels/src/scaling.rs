//! Scaling by powers of two, which is exact.

use faer::{Mat, MatRef};

/// `x·2^exponent` for any exponent; exact unless the result overflows or becomes subnormal.
#[inline]
pub fn times_power_of_two(x: f64, exponent: i32) -> f64 {
    if exponent == 0 {
        return x;
    }
    if (-1000..=1000).contains(&exponent) {
        return x * f64::from_bits(((1023 + exponent) as u64) << 52);
    }
    let mut rest = exponent;
    let mut result = x;
    while rest != 0 {
        let step = rest.clamp(-1000, 1000);
        result *= f64::from_bits(((1023 + step) as u64) << 52);
        rest -= step;
    }
    result
}

/// `⌊log₂ x⌋` of a positive finite number; 0 for 0.
pub fn exponent_of(x: f64) -> i32 {
    if x == 0.0 { 0 } else { x.log2().floor() as i32 }
}

/// The power of two by which to scale a matrix with largest entry `x`: 0 wherever products of entries neither overflow nor
/// underflow.
pub fn extreme_exponent(x: f64) -> i32 {
    let exponent = exponent_of(x);
    if exponent.abs() <= 200 { 0 } else { exponent }
}

/// The lower triangle times `2^exponent`, with zeros above the diagonal.
pub fn scaled_lower(matrix: MatRef<'_, f64>, exponent: i32) -> Mat<f64> {
    let scale = |i, j| if i >= j { times_power_of_two(matrix[(i, j)], exponent) } else { 0.0 };
    Mat::from_fn(matrix.nrows(), matrix.ncols(), scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_two_are_exact_beyond_the_range_of_one_factor() {
        assert_eq!(times_power_of_two(1.5, 1000), 1.5 * 2f64.powi(1000));
        assert_eq!(times_power_of_two(times_power_of_two(1.5e-300, 1900), -1900), 1.5e-300);
    }
}
