//! A document of a few kinds of blocks, written as Markdown and as one self-contained HTML page.

use mahala_plot::escape;

/// A part of a document. Text may hold `` `code` ``, `**bold**` and `[words](address)`;
/// a cell of a table may have two lines.
pub(crate) enum Block {
    Heading(String),
    Text(String),
    List(Vec<String>),
    /// Name of the file beside the Markdown, the drawing, and what it shows.
    Figure {
        file: &'static str,
        svg: String,
        caption: String,
    },
    Table(Table),
}

/// Rows of cells; the first column names the row.
pub(crate) struct Table {
    pub caption: String,
    pub header: Vec<String>,
    pub rows: Vec<Vec<String>>,
    /// Too long for Markdown: there this file is named instead.
    pub file: Option<&'static str>,
}

/// The document as Markdown, with its figures as files beside it.
pub(crate) fn to_markdown(title: &str, blocks: &[Block]) -> String {
    let mut text = format!("# {title}\n");
    for block in blocks {
        text.push('\n');
        text.push_str(&match block {
            Block::Heading(heading) => format!("## {heading}\n"),
            Block::Text(words) => format!("{words}\n"),
            Block::List(items) => items.iter().map(|item| format!("- {item}\n")).collect::<Vec<_>>().concat(),
            Block::Figure { file, caption, .. } => format!("![{caption}]({file})\n"),
            Block::Table(Table { caption, file: Some(file), .. }) => {
                format!("{caption}: [{file}]({file}).\n")
            }
            Block::Table(table) => table.to_markdown(),
        });
    }
    text
}

/// The document as one page that needs nothing else.
pub(crate) fn to_html(title: &str, blocks: &[Block]) -> String {
    let body: String = blocks.iter().map(Block::to_html).collect();
    let title = escape(title);
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <link rel=\"icon\" href=\"data:,\">\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{body}</main>\n</body>\n</html>\n"
    )
}

impl Block {
    fn to_html(&self) -> String {
        match self {
            Self::Heading(heading) => format!("<h2>{}</h2>\n", inline(heading)),
            Self::Text(words) => format!("<p>{}</p>\n", inline(words)),
            Self::List(items) => {
                let items: Vec<String> =
                    items.iter().map(|item| format!("<li>{}</li>\n", inline(item))).collect();
                format!("<ul>\n{}</ul>\n", items.concat())
            }
            Self::Figure { svg, caption, .. } => {
                format!("<figure>\n{svg}<figcaption>{}</figcaption>\n</figure>\n", inline(caption))
            }
            Self::Table(table) => table.to_html(),
        }
    }
}

impl Table {
    fn to_markdown(&self) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | ").replace('\n', "<br>"));
        let rule = vec!["---".to_owned(); self.header.len()];
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}\n\n{}{}{rows}", self.caption, line(&self.header), line(&rule))
    }

    fn to_html(&self) -> String {
        let head: Vec<String> = self.header.iter().map(|cell| format!("<th>{}</th>", inline(cell))).collect();
        let head = head.concat();
        let row = |cells: &Vec<String>| -> String {
            let mut tags = std::iter::once("th").chain(std::iter::repeat("td"));
            let cell = |cell: &String| {
                let tag = tags.next().unwrap_or("td");
                format!("<{tag}>{}</{tag}>", if tag == "td" { together(&inline(cell)) } else { inline(cell) })
            };
            format!("<tr>{}</tr>\n", cells.iter().map(cell).collect::<String>())
        };
        let rows: String = self.rows.iter().map(row).collect();
        let class = if self.file.is_some() { "scroll long" } else { "scroll" };
        format!(
            "<div class=\"{class}\"><table>\n<caption>{}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n",
            inline(&self.caption)
        )
    }
}

/// A cell that breaks before a bracket alone: a number stays with its deviation and its mark.
fn together(cell: &str) -> String {
    cell.replace(' ', "&nbsp;").replace("&nbsp;(", " (").replace("&nbsp;[", " [")
}

/// `code`, bold and links; everything else is plain.
fn inline(text: &str) -> String {
    let mut html = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['`', '*', '[']) {
        html.push_str(&escape(&rest[..at]));
        rest = &rest[at..];
        let (piece, length) = marked(rest).unwrap_or_else(|| (escape(&rest[..1]), 1));
        html.push_str(&piece);
        rest = &rest[length..];
    }
    html.push_str(&escape(rest));
    html.replace('\n', "<br>")
}

/// The marked piece at the start of a text as HTML, and its length.
fn marked(text: &str) -> Option<(String, usize)> {
    if let Some(code) = text.strip_prefix('`') {
        let end = code.find('`')?;
        return Some((format!("<code>{}</code>", escape(&code[..end])), end + 2));
    }
    if let Some(bold) = text.strip_prefix("**") {
        let end = bold.find("**")?;
        return Some((format!("<strong>{}</strong>", inline(&bold[..end])), end + 4));
    }
    let link = text.strip_prefix('[')?;
    let middle = link.find("](")?;
    let end = middle + link[middle..].find(')')?;
    let (words, address) = (&link[..middle], &link[middle + 2..end]);
    Some((format!("<a href=\"{}\">{}</a>", escape(address), escape(words)), end + 2))
}

const STYLE: &str = "\
:root{--page:#ffffff;--ink:#1b1f24;--muted:#515a64;--line:#d9dde2;--head:#f3f5f7;--link:#0a5ca8}
@media screen and (prefers-color-scheme:dark){:root{--page:#12161b;--ink:#e6e9ec;--muted:#a6b0ba;--line:#2f3740;--head:#1b2128;--link:#6cb2ee}}
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);font:16px/1.55 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif}
main{max-width:72rem;margin:0 auto;padding:1.5rem 1.25rem 4rem}
h1{font-size:1.7rem;line-height:1.25}
h2{font-size:1.25rem;margin:2.2em 0 .5em;border-bottom:1px solid var(--line);padding-bottom:.2em}
p,li{max-width:48rem}
a{color:var(--link)}
code{font-size:.9em;background:var(--head);padding:.1em .3em;border-radius:3px}
figure{margin:1.2rem 0}
figure svg{max-width:100%;height:auto;display:block}
figcaption,caption{color:var(--muted);font-size:.9rem;text-align:left;padding:.4rem 0}
.scroll{overflow-x:auto;margin:1rem 0}
.long{max-height:26rem;overflow-y:auto}
table{border-collapse:collapse;font-size:.84rem;font-variant-numeric:tabular-nums}
th,td{padding:.3rem .45rem;border-bottom:1px solid var(--line);text-align:right;vertical-align:top}
thead th{white-space:nowrap}
th:first-child{text-align:left}
tbody th{font-weight:600;white-space:normal}
thead th{background:var(--head);vertical-align:bottom;position:sticky;top:0}
@media print{body{font-size:10pt}h2{break-after:avoid}figcaption,caption{font-size:8pt}main{max-width:none;padding:0}.scroll,.long{overflow:visible;max-height:none}table{font-size:7pt}th,td{padding:.15rem .25rem}figure,tr{break-inside:avoid}}
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_become_tags_and_the_rest_is_escaped() {
        assert_eq!(
            inline("a < `b<c` **d** [e](f.md) * ["),
            "a &lt; <code>b&lt;c</code> <strong>d</strong> <a href=\"f.md\">e</a> * ["
        );
    }

    #[test]
    fn a_table_is_the_same_in_both_forms() {
        let cells = |row: &str| row.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let table =
            Table { caption: "Errors".into(), header: cells("set a"), rows: vec![cells("x 1")], file: None };
        assert_eq!(table.to_markdown(), "Errors\n\n| set | a |\n| --- | --- |\n| x | 1 |\n");
        let html = to_html("T", &[Block::Table(table)]);
        assert!(html.contains("<tr><th>x</th><td>1</td></tr>") && html.contains("<caption>Errors</caption>"));
    }

    #[test]
    fn a_cell_breaks_before_a_bracket_alone() {
        assert_eq!(together("8.5 ± 5.1 ▲ (3.9 ± 0.3)"), "8.5&nbsp;±&nbsp;5.1&nbsp;▲ (3.9&nbsp;±&nbsp;0.3)");
    }
}
