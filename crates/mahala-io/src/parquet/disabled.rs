//! In place of the reader of Parquet files, where the crate is built without it.

pub(crate) mod blocks {
    //! Files that cannot be opened.

    use std::path::Path;
    use std::sync::Arc;

    use crate::column_block::ColumnBlock;
    use crate::error::ReadError;
    use crate::missing::RowPolicy;
    use crate::options::ReadOptions;
    use crate::source::Source;

    /// No file.
    pub(crate) struct ColumnFile {
        pub(crate) notes: Vec<String>,
        never: Never,
    }

    /// No value.
    #[derive(Clone, Copy)]
    enum Never {}

    impl ColumnFile {
        pub(crate) fn open(source: Source, _: &ReadOptions, _: bool) -> Result<Self, ReadError> {
            Err(ReadError::new(source.name, "this program was built without the reader of Parquet files"))
        }

        pub(crate) fn name(&self) -> &str {
            match self.never {}
        }

        pub(crate) fn names(&self) -> &[String] {
            match self.never {}
        }

        pub(crate) fn policy(&self) -> Arc<RowPolicy> {
            match self.never {}
        }

        pub(crate) fn is_single(&self) -> bool {
            match self.never {}
        }

        pub(crate) fn rows(&self) -> Option<usize> {
            match self.never {}
        }

        pub(crate) fn next_block(&mut self) -> Result<Option<ColumnBlock>, ReadError> {
            match self.never {}
        }
    }

    /// Not known.
    pub(crate) fn cells(_: &Path) -> Option<u64> {
        None
    }
}
