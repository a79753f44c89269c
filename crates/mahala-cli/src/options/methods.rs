//! Options of `mahala methods`.

use crate::options::method::Method;
use clap::Args;

/// Options of `mahala methods`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  mahala methods                            all, with what each learns from
  mahala methods itml                       its parameters, for --set
  mahala methods lmnn --json")]
pub(crate) struct Methods {
    /// Show the parameters of this method
    #[arg(value_enum, value_name = "NAME", hide_possible_values = true)]
    pub name: Option<Method>,
    /// Print as JSON, with all parameters
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
