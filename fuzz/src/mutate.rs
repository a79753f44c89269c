//! Damage: what happens to files on their way.

/// `SplitMix64`: small, and the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, run: u64) -> Self {
        Self(seed ^ run.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Numbers and marks at which parsers err.
const TEXTS: [&[u8]; 16] = [
    b"",
    b"nan",
    b"-inf",
    b"1e309",
    b"-1",
    b"0",
    b"18446744073709551616",
    b"2147483648",
    b"\"",
    b"\n",
    b"\r",
    b",",
    b":",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\0",
];

const WORDS: [u64; 8] = [0, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, 1 << 40, u64::MAX];

/// A file with one to four damages.
pub(crate) fn damaged(seed: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..=random.below(4) {
        damage(&mut bytes, random);
    }
    bytes
}

fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(bytes.len());
    let rest = bytes.len() - at;
    match random.below(9) {
        0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
        1 if !bytes.is_empty() => bytes[at] = random.next() as u8,
        2 => bytes.truncate(at),
        3 => drop(bytes.drain(at..at + random.below(rest.min(64) + 1))),
        4 => {
            let copied = bytes[at..at + random.below(rest.min(256) + 1)].to_vec();
            let to = random.below(bytes.len() + 1);
            bytes.splice(to..to, copied);
        }
        5 => {
            let text = TEXTS[random.below(TEXTS.len())];
            bytes.splice(at..(at + random.below(5)).min(bytes.len()), text.iter().copied());
        }
        6 | 7 if rest >= 8 => {
            let word = WORDS[random.below(WORDS.len())].to_le_bytes();
            let width = [1, 2, 4, 8][random.below(4)];
            bytes[at..at + width].copy_from_slice(&word[..width]);
        }
        _ => {
            let to = random.below(bytes.len());
            if !bytes.is_empty() {
                bytes.swap(at, to);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_depends_on_seed_and_run_alone_and_changes_most_files() {
        let seed = b"a,b,class\n1,2,u\n3,4,v\n";
        let of = |run| damaged(seed, &mut Random::new(3, run));
        assert_eq!(of(5), of(5));
        let changed = (0..200).filter(|&run| of(run) != seed).count();
        // Deletions and copies of no bytes leave a file as it is.
        assert!(changed > 150, "{changed} of 200 changed");
    }

    #[test]
    fn an_empty_file_can_be_damaged() {
        for run in 0..200 {
            damaged(b"", &mut Random::new(1, run));
        }
    }
}
