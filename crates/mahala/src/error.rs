//! Errors, each with the value seen, the value allowed and, where there is one, the remedy.

/// The library's result type.
pub type Result<T> = std::result::Result<T, Error>;

/// The remedy where memory would not suffice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MemoryRemedy {
    /// Learn inside leading principal directions.
    Principal,
    /// Take the kernel with fewer rows.
    Landmarks,
    /// Reduce the number of columns: the method has no parameter that would help.
    Columns,
    /// Learn on fewer rows: what is held grows with their square.
    Rows,
}

impl std::fmt::Display for MemoryRemedy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Principal => {
                "learn inside the leading principal directions of the rows (principal), or reduce the number of \
                 columns first"
            }
            Self::Landmarks => "take the kernel with fewer rows (landmarks)",
            Self::Columns => {
                "reduce the number of columns first, or learn by gmml inside the leading principal directions of the \
                 rows (principal)"
            }
            Self::Rows => "learn on fewer rows, of which a sample that keeps every class will do",
        })
    }
}

/// Gigabytes, or megabytes where they are few.
fn amount(gigabytes: f64) -> String {
    if gigabytes >= 0.1 { format!("{gigabytes:.1} GB") } else { format!("{:.1} MB", 1e3 * gigabytes) }
}

/// Why a call failed. Row and column indices count from 0.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A cell is NaN or infinite.
    #[error(
        "the cell at row index {row}, column index {column} is {value}; every cell must be a finite number (fill or drop missing cells first)"
    )]
    NotFinite {
        /// Row of the cell.
        row: usize,
        /// Column of the cell.
        column: usize,
        /// What stands there.
        value: f64,
    },
    /// Two lengths that must agree do not.
    #[error("{what}: {seen} given, {expected} expected")]
    Length {
        /// What was counted.
        what: &'static str,
        /// The length given.
        seen: usize,
        /// The length needed.
        expected: usize,
    },
    /// There is nothing to learn from.
    #[error("{what} is empty; at least one is needed")]
    Empty {
        /// What is empty.
        what: &'static str,
    },
    /// All rows carry the same label.
    #[error(
        "all {rows} rows belong to one class ('{class}'); at least two classes are needed, or pairs marked similar and dissimilar"
    )]
    OneClass {
        /// The only label.
        class: String,
        /// How many rows carry it.
        rows: usize,
    },
    /// No two rows are known to be similar.
    #[error(
        "no similar pair: {reason}; the similarity matrix S would be empty (give a class at least two rows, or mark a pair as similar)"
    )]
    NoSimilarPair {
        /// Why there is none.
        reason: String,
    },
    /// No two rows are known to be dissimilar.
    #[error(
        "no dissimilar pair: {reason}; the dissimilarity matrix D would be empty (mark at least one pair as dissimilar)"
    )]
    NoDissimilarPair {
        /// Why there is none.
        reason: String,
    },
    /// A row number in a pair does not exist.
    #[error("pair {pair} names row index {row}, but there are only {rows} rows (0 to {})", rows.saturating_sub(1))]
    PairOutOfRange {
        /// Which pair, from 0.
        pair: usize,
        /// The row it names.
        row: usize,
        /// How many rows there are.
        rows: usize,
    },
    /// A row number in a triplet or quadruplet does not exist.
    #[error("{kind} {index} names row index {row}, but there are only {rows} rows (0 to {})", rows.saturating_sub(1))]
    TupleOutOfRange {
        /// What names it: triplet, quadruplet.
        kind: &'static str,
        /// Which one, from 0.
        index: usize,
        /// The row it names.
        row: usize,
        /// How many rows there are.
        rows: usize,
    },
    /// A weight is negative, NaN or infinite.
    #[error("weight {index} is {value}; weights must be finite and not negative")]
    Weight {
        /// Which weight, from 0.
        index: usize,
        /// The weight.
        value: f64,
    },
    /// A parameter is outside its range.
    #[error("{name} is {value}; it must be {allowed}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// The value given.
        value: String,
        /// The values allowed.
        allowed: &'static str,
    },
    /// Parameters from outside that a method does not have, or not of that type.
    #[error("the parameters of {method} are wrong: {reason}")]
    MethodParameters {
        /// The method.
        method: &'static str,
        /// What is wrong, and which names or types exist.
        reason: String,
    },
    /// A matrix that must be square is not.
    #[error("{what} is {rows} x {columns}; it must be square")]
    NotSquare {
        /// Which matrix.
        what: &'static str,
        /// The number of rows.
        rows: usize,
        /// The number of columns.
        columns: usize,
    },
    /// A matrix that must be symmetric is not.
    #[error(
        "{what} is not symmetric: entries ({row}, {column}) and ({column}, {row}) are {lower} and {upper}"
    )]
    NotSymmetric {
        /// Which matrix.
        what: &'static str,
        /// Row of the worst entry.
        row: usize,
        /// Column of the worst entry.
        column: usize,
        /// The value above the diagonal.
        upper: f64,
        /// The value below the diagonal.
        lower: f64,
    },
    /// A matrix that must be positive definite is not.
    #[error(
        "{what} is not positive definite: its Cholesky factorisation breaks down at column index {column}; all eigenvalues must be above 0"
    )]
    NotPositiveDefinite {
        /// Which matrix.
        what: &'static str,
        /// Where the factorisation broke down.
        column: usize,
    },
    /// The eigenvalue iteration did not converge.
    #[error("the eigenvalues of {what} did not converge; its entries may be too far apart in scale")]
    NoConvergence {
        /// Which matrix.
        what: &'static str,
    },
    /// A result is too large or too small for a 64-bit float.
    #[error("{what} is outside the range of 64-bit numbers; rescale the columns or standardise")]
    OutOfRange {
        /// Which result.
        what: &'static str,
    },
    /// Two columns are too far apart in scale for one metric.
    #[error(
        "columns {wide} and {narrow} differ in scale by a factor of 1e{exponent}; at most 1e70 can be represented in one metric (standardise, or rescale one of them)"
    )]
    ScaleSpread {
        /// Index of the column with the widest spread.
        wide: usize,
        /// Index of the column with the narrowest spread.
        narrow: usize,
        /// The ratio, as a power of ten.
        exponent: i32,
    },
    /// No column varies.
    #[error("none of the {columns} columns varies between rows; there is no distance to learn")]
    AllConstant {
        /// How many columns there are.
        columns: usize,
    },
    /// Too few rows for the request.
    #[error("{what} needs at least {needed} rows; {seen} given")]
    TooFewRows {
        /// What needs them.
        what: &'static str,
        /// How many are needed.
        needed: usize,
        /// How many there are.
        seen: usize,
    },
    /// Rows of one group cannot be divided.
    #[error(
        "{what} needs at least 2 groups and 2 folds; {seen} given (leave the groups out, or name a column that tells groups of rows apart)"
    )]
    TooFewGroups {
        /// What needs them.
        what: &'static str,
        /// How many there are.
        seen: usize,
    },
    /// No fold of a cross-validation has pairs to learn from.
    #[error(
        "t cannot be chosen by cross-validation: {rows} rows are too few, or too alike, for a fold to learn from (give t a number instead)"
    )]
    NoUsableFold {
        /// How many rows there are.
        rows: usize,
    },
    /// Memory would not suffice.
    #[error(
        "{what} needs {} for {d} columns, above the limit of {}; {remedy}",
        amount(*gigabytes),
        amount(*limit).replace(".0 ", " ")
    )]
    Memory {
        /// What needs it.
        what: &'static str,
        /// The estimate.
        gigabytes: f64,
        /// The number of columns.
        d: usize,
        /// What is allowed.
        limit: f64,
        /// What would take less.
        remedy: MemoryRemedy,
    },
    /// The caller ended the work.
    #[error("cancelled")]
    Cancelled,
    /// Moments that cannot be combined.
    #[error("moments cannot be combined: {reason}")]
    Moments {
        /// Why not.
        reason: String,
    },
    /// Bytes that are not what they should be.
    #[error("not a valid {what}: {reason}")]
    Bytes {
        /// What was expected: model file, moments.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: String,
        /// The error of the operating system.
        source: SystemError,
    },
}

/// An error of the operating system, kept as the source of ours. Two are equal if their kinds and messages are.
#[derive(Debug, Clone, thiserror::Error)]
#[error(transparent)]
pub struct SystemError(std::sync::Arc<std::io::Error>);

impl SystemError {
    /// What kind of error it is.
    pub fn kind(&self) -> std::io::ErrorKind {
        self.0.kind()
    }
}

impl From<std::io::Error> for SystemError {
    fn from(error: std::io::Error) -> Self {
        Self(std::sync::Arc::new(error))
    }
}

impl PartialEq for SystemError {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind() && self.to_string() == other.to_string()
    }
}

impl From<mahala_kernels::error::Error> for Error {
    fn from(error: mahala_kernels::error::Error) -> Self {
        use mahala_kernels::error::Error as Kernel;
        match error {
            Kernel::NotFinite { row, column, value } => Self::NotFinite { row, column, value },
            Kernel::NotPositiveDefinite { what, column } => Self::NotPositiveDefinite { what, column },
            Kernel::OutOfRange { what } => Self::OutOfRange { what },
            Kernel::NoConvergence { what } => Self::NoConvergence { what },
        }
    }
}
