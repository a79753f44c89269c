//! Tables people can read.

/// A plain table: the first column to the left, numbers to the right, a rule under the header.
pub(crate) fn render(header: &[&str], rows: &[Vec<String>]) -> String {
    let width = |j: usize| {
        let cells = rows.iter().map(|row| row[j].chars().count());
        cells.chain([header[j].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..header.len()).map(width).collect();
    let line = |cells: &[&str]| {
        let cell = |(j, text): (usize, &&str)| match j {
            0 => format!("{text:<width$}", width = widths[0]),
            _ => format!("{text:>width$}", width = widths[j]),
        };
        let cells: Vec<String> = cells.iter().enumerate().map(cell).collect();
        format!("  {}\n", cells.join("   ").trim_end())
    };
    let mut text = line(header);
    let rule = widths.iter().sum::<usize>() + 3 * (widths.len() - 1);
    text.push_str(&format!("  {}\n", "─".repeat(rule)));
    for row in rows {
        text.push_str(&line(&row.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    text
}
