//! Numbers at the beginning of bytes: the usual ones quickly, all others by the general parser.
//!
//! A decimal `w / 10^q` of at most 19 digits is usually between two doubles, and far from half way. Then some 128 bits
//! of `w · 10^-q` tell which of them is nearest; where they do not, or there is an exponent, the general parser does.

/// A finite number at the beginning of the bytes, and its length.
pub(crate) fn number(bytes: &[u8]) -> Option<(f64, usize)> {
    plain(bytes).or_else(|| {
        let parsed = fast_float2::parse_partial::<f64, _>(bytes).ok();
        parsed.filter(|(value, _)| value.is_finite())
    })
}

/// Digits with a point among them, and a sign before.
fn plain(bytes: &[u8]) -> Option<(f64, usize)> {
    let negative = bytes.first() == Some(&b'-');
    let first = usize::from(negative);
    let (mut w, mut at) = digits(bytes, first, 0);
    let mut significant = at - first - usize::from(bytes.get(first) == Some(&b'0'));
    let mut q = 0;
    if bytes.get(at) == Some(&b'.') {
        let point = at + 1;
        (w, at) = digits(bytes, point, w);
        q = at - point;
        significant += q;
    }
    let nothing = at == first + usize::from(q == 0 && bytes.get(first) == Some(&b'.'));
    if nothing || significant > 19 || matches!(bytes.get(at), Some(b'e' | b'E')) {
        return None;
    }
    let value = quotient(w, q)?;
    Some((if negative { -value } else { value }, at))
}

/// Appends the digits that follow to `w`, eight at a time while there are so many; more than 19 overflow.
fn digits(bytes: &[u8], mut at: usize, mut w: u64) -> (u64, usize) {
    while let Some(eight) = bytes.get(at..at + 8).and_then(|eight| <[u8; 8]>::try_from(eight).ok()) {
        let eight = u64::from_le_bytes(eight);
        let outside = eight.wrapping_add(0x4646_4646_4646_4646) | eight.wrapping_sub(0x3030_3030_3030_3030);
        if outside & 0x8080_8080_8080_8080 != 0 {
            break;
        }
        // Neighbouring digits, then pairs, then fours.
        let pairs = eight.wrapping_sub(0x3030_3030_3030_3030);
        let pairs = pairs.wrapping_mul(10).wrapping_add(pairs >> 8);
        let fours = (pairs & 0x0000_00FF_0000_00FF).wrapping_mul(0x000F_4240_0000_0064);
        let rest = ((pairs >> 16) & 0x0000_00FF_0000_00FF).wrapping_mul(0x0000_2710_0000_0001);
        w = w.wrapping_mul(100_000_000).wrapping_add(fours.wrapping_add(rest) >> 32);
        at += 8;
    }
    while let Some(digit) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
        w = w.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
        at += 1;
    }
    (w, at)
}

/// Powers of ten that are doubles.
const EXACT: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];
const MOST: usize = 28;
/// `10^-q` as `m · 2^-e`, the 128 bits of `m` cut off below.
const RECIPROCALS: [(u128, u32); MOST] = {
    let mut all = [(0, 0); MOST];
    let mut q = 0;
    while q < MOST {
        all[q] = reciprocal(10u128.pow(q as u32));
        q += 1;
    }
    all
};

/// Long division of a power of two, bit by bit.
const fn reciprocal(d: u128) -> (u128, u32) {
    let (mut m, mut rest, mut e) = (if d == 1 { 1u128 } else { 0 }, if d == 1 { 0 } else { 1u128 }, 0);
    while m >> 127 == 0 {
        rest *= 2;
        m *= 2;
        e += 1;
        if rest >= d {
            rest -= d;
            m += 1;
        }
    }
    (m, e)
}

/// The double nearest to `w / 10^q`; `None` where 128 bits do not tell.
fn quotient(w: u64, q: usize) -> Option<f64> {
    if w <= 1 << 53 && q < EXACT.len() {
        // Both are doubles, and a division rounds once.
        return Some(w as f64 / EXACT[q]);
    }
    let &(m, e) = RECIPROCALS.get(q)?;
    let zeros = w.leading_zeros();
    let (w, low) = (u128::from(w << zeros), u128::from(m as u64));
    // The upper 128 of 192 bits; the true product is at most two units above.
    let upper = w * (m >> 64) + ((w * low) >> 64);
    let shift = 75 - upper.leading_zeros();
    let (mantissa, rest, half) = ((upper >> shift) as u64, upper & ((1 << shift) - 1), 1u128 << (shift - 1));
    let mantissa = if rest > half {
        mantissa + 1
    } else if rest + 2 < half {
        mantissa
    } else {
        return None;
    };
    let exponent = 1023 + 64 + shift - zeros - e;
    Some(mantissa as f64 * f64::from_bits(u64::from(exponent) << 52))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mahala::data::Random;

    /// The general parser must give the same bits and the same length.
    fn check(text: &str) {
        let general = fast_float2::parse_partial::<f64, _>(text).ok().filter(|(value, _)| value.is_finite());
        let bits = |found: Option<(f64, usize)>| found.map(|(value, length)| (value.to_bits(), length));
        assert_eq!(bits(number(text.as_bytes())), bits(general), "{text}");
    }

    #[test]
    fn odd_numbers_are_read_as_the_general_parser_reads_them() {
        for text in [
            "",
            "-",
            ".",
            "-.",
            "+1",
            "1.",
            ".5",
            "-.5",
            "0",
            "-0",
            "00",
            "007.50",
            "1e5",
            "1E",
            "1.5e-3,",
            "nan",
            "inf",
            "-inf",
            "1,2",
            "1.2.3",
            "12345678",
            "123456789",
            "1234567.8",
            "0.12345678",
            "9007199254740993",
            "0.50000000000000000",
            "18446744073709551615",
            "18446744073709551616",
            "99999999999999999999",
            "0.1234567890123456789",
            "0.01234567890123456789",
            "123456789.123456789012345678901",
            "0.0000000000000000000000000001",
            "1.00000000000000011102230246251565",
            "4503599627370497.5",
            "8.5x",
            "1 ",
        ] {
            check(text);
        }
    }

    #[test]
    fn a_million_numbers_are_read_to_the_bit() {
        let mut random = Random::new(5, 0);
        for i in 0..1_000_000 {
            let x = (random.uniform() - 0.5) * 10f64.powi((i % 25) - 8);
            check(&x.to_string());
            if i % 8 == 0 {
                let digits = 1 + random.below(20);
                check(&format!("{x:.digits$},"));
                let (w, q) = (random.below(usize::MAX), random.below(20));
                let text = format!("{w:021}");
                check(&format!("{}.{}", &text[..21 - q], &text[21 - q..]));
            }
        }
    }
}
