//! Numbers of a file that are read where they lie, mapped into memory: the only `unsafe` code of this crate.

use std::fs::File;
use std::marker::PhantomData;
use std::path::Path;

use bytemuck::AnyBitPattern;
use memmap2::Mmap;

/// Numbers in a file that is mapped into memory, read only. Pages are read as they are needed, and memory that is short
/// takes them back.
pub(crate) struct MappedNumbers<T> {
    map: Mmap,
    /// The bytes before the first number, and after the last.
    start: usize,
    end: usize,
    number: PhantomData<fn() -> T>,
}

impl<T: AnyBitPattern> MappedNumbers<T> {
    /// `count` numbers from the byte `start` on; `None` where the file is too short, cannot be mapped, or has the numbers
    /// at places where a processor does not read them.
    ///
    /// # Contract
    /// The file must not be shortened while the numbers are in use: the system ends a process that reads what is gone. What
    /// is written over them meanwhile may be seen. A file that is replaced as a whole keeps the numbers it had.
    #[allow(unsafe_code)]
    pub(crate) fn open(path: &Path, start: u64, count: usize) -> Option<Self> {
        let file = File::open(path).ok()?;
        // SAFETY: the mapping is read only, every pattern of bits is a number of type T, and the contract above is that of the
        // files a user names, which also NumPy's memory maps have.
        let map = unsafe { Mmap::map(&file) }.ok()?;
        let start = usize::try_from(start).ok()?;
        let end = start.checked_add(count.checked_mul(size_of::<T>())?)?;
        let numbers = map.get(start..end)?;
        bytemuck::try_cast_slice::<u8, T>(numbers).ok()?;
        Some(Self { map, start, end, number: PhantomData })
    }
}

impl<T: AnyBitPattern> AsRef<[T]> for MappedNumbers<T> {
    fn as_ref(&self) -> &[T] {
        // The cast was tried when the file was mapped.
        bytemuck::try_cast_slice(&self.map[self.start..self.end]).unwrap_or_default()
    }
}
