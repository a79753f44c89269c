//! Parsers of values that several options share.

/// Numbers from `least` on.
pub(crate) fn at_least(
    least: usize,
) -> impl Fn(&str) -> Result<usize, String> + Clone + Send + Sync + 'static {
    move |text| match text.trim().parse() {
        Ok(number) if number >= least => Ok(number),
        _ => Err(format!("it must be a whole number, at least {least}")),
    }
}
