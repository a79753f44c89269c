//! The kernel of `mahala fit`, as it is typed.

use clap::{Args, ValueEnum};
use mahala::kernel::{Kernel, KernelGmml};
use mahala::{Gmml, Rows};

use crate::options::parse::at_least;

/// Learning in the feature space of a kernel.
#[derive(Args, Debug, Clone)]
#[command(next_help_heading = "Method")]
pub(crate) struct KernelArgs {
    /// Learn in the feature space of this kernel
    #[arg(long, value_enum, hide_short_help = true)]
    pub kernel: Option<KernelName>,
    /// The width of rbf, exp(-gamma*|x-y|^2), or factor of polynomial [default: 1 / (columns * variance)]
    #[arg(
        long,
        value_name = "NUMBER",
        requires = "kernel",
        allow_negative_numbers = true,
        hide_short_help = true
    )]
    pub gamma: Option<f64>,
    /// The power of polynomial, (gamma*x*y + coef0)^degree
    #[arg(long, value_name = "N", default_value_t = 3, requires = "kernel", hide_short_help = true)]
    pub degree: u32,
    /// The constant of polynomial
    #[arg(long, value_name = "NUMBER", default_value_t = 1.0, requires = "kernel", hide_short_help = true)]
    #[arg(allow_negative_numbers = true)]
    pub coef0: f64,
    /// Take the kernel with this many rows, drawn at random [default: all up to 5000 rows, else 1000]
    #[arg(long, value_name = "N", requires = "kernel", value_parser = at_least(1), hide_short_help = true)]
    pub landmarks: Option<usize>,
}

/// A kernel by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum KernelName {
    /// The plain product: as without a kernel
    Linear,
    /// Near is alike, at any place
    Rbf,
    /// Products of features up to a degree
    Polynomial,
    /// The columns are kernel values with all rows
    Precomputed,
}

impl KernelArgs {
    /// The library's parameters for these rows, if a kernel was asked for.
    pub(crate) fn kernel_gmml(&self, gmml: &Gmml, rows: &Rows) -> KernelGmml {
        // Standardised cells have variance 1.
        let suitable =
            || if gmml.standardize { 1.0 / rows.columns() as f64 } else { Kernel::gamma_for(rows) };
        let gamma = self.gamma.unwrap_or_else(suitable);
        let kernel = match self.kernel {
            Some(KernelName::Linear) | None => Kernel::Linear,
            Some(KernelName::Rbf) => Kernel::Rbf { gamma },
            Some(KernelName::Polynomial) => {
                Kernel::Polynomial { degree: self.degree, gamma, coef0: self.coef0 }
            }
            Some(KernelName::Precomputed) => Kernel::Precomputed,
        };
        KernelGmml { gmml: gmml.clone(), kernel, landmarks: self.landmarks }
    }
}
