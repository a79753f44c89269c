//! What the machine leaves this process: memory, address space, signals that are ignored.
//!
//! Read from `/proc` and `/sys`; where those are not there, nothing is known and the library's own limit stays.

use anyhow::{Result, bail};
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Memory of the program itself, its threads and what it writes, beside what is estimated.
const SPARE: u64 = 64 << 20;
/// What a process needs beside the addresses of matrix products: itself, and as much for the tables it reads.
const LEAST: u64 = 2 * SPARE;
/// The cache taken for the last level where the system does not tell it.
const CACHE: u64 = 64 << 20;
/// Addresses that matrix products will reserve, where the address space is limited.
static RESERVED: AtomicU64 = AtomicU64::new(0);

/// Tells the library how much memory there is, now.
///
/// # Errors
/// The limit of the address space leaves nothing to learn with.
pub(crate) fn tell_memory() -> Result<()> {
    let addresses = unused_addresses().map(|left| left.saturating_sub(RESERVED.load(Relaxed)));
    if addresses.is_some_and(|left| left <= SPARE) {
        bail!(
            "the limit of this shell on the address space leaves nothing to learn with, beside the {} MB that matrix \
             products reserve\nhint: ulimit -v unlimited",
            RESERVED.load(Relaxed).div_ceil(1 << 20)
        );
    }
    let left = [unused_memory(), unused_group_memory(), addresses];
    if let Some(least) = left.into_iter().flatten().min() {
        mahala::footprint::set_memory_limit_gb(least.saturating_sub(SPARE) as f64 / 1e9);
    }
    Ok(())
}

/// The number of threads to work with where the address space is limited; `None` if it is not.
///
/// The matrix product reserves, for each thread that takes part and before it touches any of it, twice the size of the last
/// cache.
///
/// # Errors
/// Not even one thread has room.
pub(crate) fn threads_within_addresses(wanted: Option<usize>) -> Result<Option<usize>> {
    let Some(left) = unused_addresses() else { return Ok(None) };
    let wanted = wanted.or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    let reserve = 2 * last_cache().unwrap_or(CACHE);
    let room = left.saturating_sub(LEAST) / reserve;
    // The thread that waits for the others computes, too.
    let threads = usize::try_from(room).unwrap_or(usize::MAX).saturating_sub(1);
    if threads == 0 {
        let megabytes = |bytes: u64| bytes.div_ceil(1 << 20);
        bail!(
            "the address space left by the limit of this shell is {} MB, and {} MB are needed: matrix products reserve \
             {} MB for each thread\nhint: ulimit -v unlimited",
            megabytes(left),
            megabytes(2 * reserve + LEAST),
            megabytes(reserve)
        );
    }
    let threads = threads.min(wanted);
    RESERVED.store((threads as u64 + 1) * reserve, Relaxed);
    Ok(Some(threads))
}

/// Whether the parent asked that a signal be ignored, as `nohup` does.
///
/// Where that cannot be known (macOS), yes: a signal that is left alone stays ignored under `nohup` and ends the process otherwise.
#[cfg(unix)]
pub(crate) fn ignores(signal: u32) -> bool {
    let Ok(status) = fs::read_to_string("/proc/self/status") else { return true };
    let mask = field(&status, "SigIgn:").and_then(|mask| u64::from_str_radix(mask, 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

/// Memory that can be had without swapping.
fn unused_memory() -> Option<u64> {
    let kilobytes: u64 = field(&fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")?.parse().ok()?;
    Some(kilobytes << 10)
}

/// What the control group (of a container, say) leaves; version 2.
fn unused_group_memory() -> Option<u64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let path = groups.lines().find_map(|line| line.strip_prefix("0::"))?.trim_start_matches('/').to_owned();
    let of = |file: &str| -> Option<u64> {
        fs::read_to_string(format!("/sys/fs/cgroup/{path}/{file}")).ok()?.trim().parse().ok()
    };
    Some(of("memory.max")?.saturating_sub(of("memory.current")?))
}

/// What `ulimit -v` leaves; `None` if it is unlimited.
fn unused_addresses() -> Option<u64> {
    let limits = fs::read_to_string("/proc/self/limits").ok()?;
    let limit: u64 = field(&limits, "Max address space")?.parse().ok()?;
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let used: u64 = field(&status, "VmSize:")?.parse().ok()?;
    Some(limit.saturating_sub(used << 10))
}

/// The size of the last level of cache.
fn last_cache() -> Option<u64> {
    let text = fs::read_to_string("/sys/devices/system/cpu/cpu0/cache/index3/size").ok()?;
    let kilobytes: u64 = text.trim().strip_suffix('K')?.parse().ok()?;
    Some(kilobytes << 10)
}

/// The first word after a name at the start of a line.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::field;

    #[test]
    fn fields_are_found_as_the_system_writes_them() {
        let text = "Max cpu time              unlimited            unlimited            seconds\n\
                    Max address space         614400000            unlimited            bytes\n";
        assert_eq!(field(text, "Max address space"), Some("614400000"));
        assert_eq!(field(text, "Max cpu time"), Some("unlimited"));
        assert_eq!(field("VmPeak:\t 12 kB\nVmSize:\t 1234 kB\n", "VmSize:"), Some("1234"));
        assert_eq!(field(text, "MemAvailable:"), None);
    }
}
