//! Linear and logarithmic scales with ticks at 1, 2 or 5 times a power of ten.

use crate::drawable;

/// Where a scale begins and ends.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Fit {
    /// At the smallest and the largest value.
    Data,
    /// A little beyond them, so that no marker touches the frame.
    Padded,
    /// At the ticks that enclose them, unless nearly a whole step would stay
    /// empty.
    Ticks,
}

/// A labelled position on a scale.
pub(crate) struct Tick {
    pub(crate) value: f64,
    pub(crate) label: String,
}

/// A map from values to fractions of an axis, with its ticks.
pub(crate) struct Scale {
    low: f64,
    high: f64,
    log: bool,
    pub(crate) ticks: Vec<Tick>,
}

impl Scale {
    /// A linear scale over `extent` with about `count` ticks.
    pub(crate) fn linear(extent: (f64, f64), fit: Fit, count: usize) -> Self {
        let (mut low, mut high) = spread(extent);
        if fit == Fit::Padded {
            let pad = 0.05 * (high - low);
            (low, high) = (low - pad, high + pad);
        }
        let step = nice_step((high - low) / count.max(1) as f64);
        if fit == Fit::Ticks {
            low = -tick_beyond(-low, step);
            high = tick_beyond(high, step);
        }
        let values = multiples(low, high, step);
        let ticks =
            values.iter().map(|&value| Tick { value, label: label(value, step, low.abs().max(high.abs())) });
        let ticks = ticks.collect();
        Self { low, high, log: false, ticks }
    }

    /// A logarithmic scale over a positive `extent` with about `count` ticks.
    pub(crate) fn log(extent: (f64, f64), fit: Fit, count: usize) -> Self {
        let (mut low, mut high) = extent;
        if high / low < 1.0 + 1e-9 {
            (low, high) = (low / 3.0, high * 3.0);
        }
        if fit != Fit::Data {
            let pad = (high / low).powf(0.05);
            (low, high) = (low / pad, high * pad);
        }
        let ticks = log_values(low, high, count).into_iter().map(|value| Tick { value, label: short(value) });
        let ticks = ticks.collect();
        Self { low, high, log: true, ticks }
    }

    /// Linear or logarithmic, as asked.
    pub(crate) fn new(log: bool, extent: (f64, f64), fit: Fit, count: usize) -> Self {
        if log { Self::log(extent, fit, count) } else { Self::linear(extent, fit, count) }
    }

    /// The fraction of the axis at which a value lies; 0 and 1 at the ends
    /// and for everything beyond them.
    pub(crate) fn unit(&self, value: f64) -> f64 {
        let fraction = if self.log {
            (value.max(self.low) / self.low).log10() / (self.high / self.low).log10()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        fraction.clamp(0.0, 1.0)
    }
}

/// The smallest and the largest drawable value, if there is one.
pub(crate) fn extent(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    values.filter(|&v| drawable(v)).fold(None, |range, v| {
        let (low, high): (f64, f64) = range.unwrap_or((v, v));
        Some((low.min(v), high.max(v)))
    })
}

/// A number as a reader writes it: four significant digits, no exponent
/// between a thousandth and a million.
pub(crate) fn short(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    let exponent = exponent_of(value);
    let plain = (-3..6).contains(&exponent);
    let shift = if plain { 0 } else { exponent };
    let decimals = (3 - exponent + shift).clamp(0, 6) as usize;
    let digits = format!("{:.decimals$}", value / 10f64.powi(shift));
    let digits = trim(&digits).replace('-', "−");
    if plain {
        digits
    } else if digits == "1" {
        format!("10{}", superscript(exponent))
    } else {
        format!("{digits}×10{}", superscript(exponent))
    }
}

/// Drops the zeros after the last significant decimal.
pub(crate) fn trim(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

/// Widens a range that is (nearly) one value, which no scale can divide.
fn spread((low, high): (f64, f64)) -> (f64, f64) {
    let size = low.abs().max(high.abs());
    if size < 1e-290 {
        (-1.0, 1.0)
    } else if high - low <= 1e-9 * size {
        (low - 0.5 * size, high + 0.5 * size)
    } else {
        (low, high)
    }
}

/// The upper end of a scale for values up to `high`: the next tick, or a
/// little beyond a value that has just passed one.
fn tick_beyond(high: f64, step: f64) -> f64 {
    let passed = (high / step + 1e-6).floor();
    match high / step - passed {
        // The slack keeps a rounding error from counting as a passed tick.
        over if over < 1e-6 => passed * step,
        over if over < 0.2 => high + 0.05 * step,
        _ => (passed + 1.0) * step,
    }
}

/// 1, 2, 5 or 10 times a power of ten, nearest to `raw` by ratio.
fn nice_step(raw: f64) -> f64 {
    let power = 10f64.powi(exponent_of(raw));
    let factor = match raw / power {
        f if f < 2f64.sqrt() => 1.0,
        f if f < 10f64.sqrt() => 2.0,
        f if f < 50f64.sqrt() => 5.0,
        _ => 10.0,
    };
    factor * power
}

/// The multiples of `step` from `low` to `high`.
fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let first = (low / step - 1e-6).ceil() as i64;
    let last = (high / step + 1e-6).floor() as i64;
    (first..=last).map(|i| i as f64 * step).collect()
}

/// Powers of ten, or their multiples by 1, 2 and 5 where the range is short.
fn log_values(low: f64, high: f64, count: usize) -> Vec<f64> {
    let (first, last) = (exponent_of(low), exponent_of(high));
    let stride = (f64::from(last - first) / count.max(1) as f64).ceil().max(1.0) as i32;
    let factors: &[f64] = if last - first > 2 { &[1.0] } else { &[1.0, 2.0, 5.0] };
    let values: Vec<f64> = (first..=last)
        .filter(|k| k.rem_euclid(stride) == 0)
        .flat_map(|k| factors.iter().map(move |f| f * 10f64.powi(k)))
        .filter(|v| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(v))
        .collect();
    if values.len() >= 2 {
        return values;
    }
    let even = multiples(low, high, nice_step((high - low) / count.max(1) as f64));
    even.into_iter().filter(|&v| v > 0.0).collect()
}

/// A tick's label: as many decimals as the step needs, and one common power
/// of ten for an axis of very large or very small numbers.
fn label(value: f64, step: f64, largest: f64) -> String {
    let value = if value.abs() < 1e-6 * step { 0.0 } else { value };
    let top = exponent_of(largest);
    let shift = if (-3..6).contains(&top) || value == 0.0 { 0 } else { top };
    let decimals = if value == 0.0 && !(-3..6).contains(&top) {
        0
    } else {
        (shift - exponent_of(step)).clamp(0, 12) as usize
    };
    let digits = format!("{:.decimals$}", value / 10f64.powi(shift)).replace('-', "−");
    if shift == 0 { digits } else { format!("{digits}×10{}", superscript(shift)) }
}

/// The power of ten of a number's first digit.
fn exponent_of(value: f64) -> i32 {
    // The slack takes 0.001 for 10^-3, which its logarithm just misses.
    (value.abs().log10() + 1e-12).floor() as i32
}

fn superscript(number: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    let digit = |c: char| c.to_digit(10).map_or('⁻', |d| DIGITS[d as usize]);
    number.to_string().chars().map(digit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale) -> Vec<&str> {
        scale.ticks.iter().map(|t| t.label.as_str()).collect()
    }

    #[test]
    fn the_unit_interval_has_even_ticks() {
        let scale = Scale::linear((0.0, 1.0), Fit::Data, 5);
        assert_eq!(labels(&scale), ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    }

    #[test]
    fn a_scale_that_ends_at_ticks_encloses_the_data() {
        let scale = Scale::linear((0.113, 0.287), Fit::Ticks, 5);
        assert_eq!(labels(&scale), ["0.10", "0.15", "0.20", "0.25", "0.30"]);
        assert!((scale.unit(0.2) - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_value_just_past_a_tick_does_not_add_an_empty_step() {
        let scale = Scale::linear((-0.01, 0.41), Fit::Ticks, 5);
        assert_eq!(labels(&scale), ["0.0", "0.1", "0.2", "0.3", "0.4"]);
        assert!(scale.unit(-0.01) > 0.0 && scale.unit(0.41) < 1.0);
    }

    #[test]
    fn equal_values_lie_in_the_middle() {
        for v in [0.0, 3.0, -7e-5, 1e300, 1e-310, -1e299] {
            let scale = Scale::linear((v, v), Fit::Data, 5);
            assert!((scale.unit(v) - 0.5).abs() < 1e-9, "{v}");
            assert!((2..=12).contains(&scale.ticks.len()), "{v}");
        }
        let scale = Scale::log((5.0, 5.0), Fit::Data, 5);
        assert!((scale.unit(5.0) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn large_and_small_numbers_share_one_power_of_ten() {
        let scale = Scale::linear((-2e7, 4e7), Fit::Data, 3);
        assert_eq!(labels(&scale), ["−2×10⁷", "0", "2×10⁷", "4×10⁷"]);
        let scale = Scale::linear((0.0, 3e-5), Fit::Data, 3);
        assert_eq!(labels(&scale), ["0", "1×10⁻⁵", "2×10⁻⁵", "3×10⁻⁵"]);
    }

    #[test]
    fn a_logarithmic_scale_ticks_decades_then_their_parts_then_evenly() {
        let ticks = |low, high| Scale::log((low, high), Fit::Data, 6);
        assert_eq!(labels(&ticks(1e-4, 1.0)), ["10⁻⁴", "0.001", "0.01", "0.1", "1"]);
        assert_eq!(labels(&ticks(1.0, 20.0)), ["1", "2", "5", "10", "20"]);
        assert_eq!(labels(&ticks(3.0, 4.0)), ["3", "3.2", "3.4", "3.6", "3.8", "4"]);
    }

    #[test]
    fn the_extent_leaves_out_what_cannot_be_drawn() {
        let values = [f64::NAN, 2.0, f64::INFINITY, -1.0, f64::MAX];
        assert_eq!(extent(values.into_iter()), Some((-1.0, 2.0)));
        assert_eq!(extent([f64::NAN].into_iter()), None);
    }

    #[test]
    fn a_number_in_prose_has_four_digits() {
        assert_eq!(short(0.123_456), "0.1235");
        assert_eq!(short(-12.0), "−12");
        assert_eq!(short(1.5e-9), "1.5×10⁻⁹");
    }
}
