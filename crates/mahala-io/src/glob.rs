//! The files that a name stands for: one, those of a folder, or those that match a pattern.

use std::path::{Path, PathBuf};

use crate::error::{ReadError, list};

/// The ends of names that files of tables have.
const ENDS: [&str; 10] =
    [".csv", ".tsv", ".tab", ".txt", ".parquet", ".pq", ".jsonl", ".ndjson", ".arrow", ".feather"];

/// The files in the order of their names; the path itself if it is neither a folder nor a pattern.
pub(crate) fn expand(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let shown = path.display().to_string();
    if path.is_dir() {
        let names = names_in(path, &shown)?;
        let tables: Vec<&String> = names.iter().filter(|name| is_table(name)).collect();
        if tables.is_empty() {
            let seen = if names.is_empty() { without_files(path) } else { list(&names) };
            return Err(ReadError::new(shown, format!("the folder has no tables: {seen}")).hint(
                "files of a folder must end with .csv, .tsv, .txt, .parquet, .arrow or .jsonl, or with .gz or .zst after that",
            ));
        }
        return Ok(tables.into_iter().map(|name| path.join(name)).collect());
    }
    let Some(pattern) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
        return Ok(vec![path.to_owned()]);
    };
    if path.exists() || !pattern.contains(['*', '?']) {
        return Ok(vec![path.to_owned()]);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let names = names_in(folder.unwrap_or(Path::new(".")), &shown)?;
    let pattern: Vec<char> = pattern.chars().collect();
    let matching = names.iter().filter(|name| matches(&pattern, &name.chars().collect::<Vec<_>>()));
    let found: Vec<PathBuf> =
        matching.map(|name| folder.map_or_else(|| PathBuf::from(name), |folder| folder.join(name))).collect();
    if found.is_empty() {
        return Err(ReadError::new(shown, "no file matches this pattern")
            .hint("* stands for any letters and ? for one, in the last part of the path"));
    }
    Ok(found)
}

/// What a folder without files holds.
fn without_files(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<String> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| format!("{}/", entry.file_name().to_string_lossy()))
        .collect();
    folders.sort();
    match folders[..] {
        [] => "it is empty".to_owned(),
        _ => format!("it has only folders in it, which are not looked into: {}", list(&folders)),
    }
}

/// Whether the name ends like that of a table; names that begin with a dot or an underscore are for programs.
fn is_table(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let plain = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    !name.starts_with(['.', '_']) && ENDS.iter().any(|end| plain.ends_with(end))
}

/// The names of the files in a folder, sorted.
fn names_in(folder: &Path, shown: &str) -> Result<Vec<String>, ReadError> {
    let cannot = |error: std::io::Error| ReadError::open(shown, error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(cannot)? {
        let entry = entry.map_err(cannot)?;
        if entry.path().is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Whether a name matches a pattern of `*` and `?`. On a mismatch the last star takes one letter more.
fn matches(pattern: &[char], name: &[char]) -> bool {
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(&c) if c == '?' || c == name[n] => (p, n) = (p + 1, n + 1),
            _ => match star {
                Some((at, from)) => {
                    star = Some((at, from + 1));
                    (p, n) = (at + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_and_question_marks_match_as_in_a_shell() {
        let matches = |pattern: &str, name: &str| {
            super::matches(&pattern.chars().collect::<Vec<_>>(), &name.chars().collect::<Vec<_>>())
        };
        for (pattern, name) in
            [("*.csv", "a.csv"), ("a*b*c", "aXbYbZc"), ("?", "é"), ("*", ""), ("p-??", "p-07")]
        {
            assert!(matches(pattern, name), "{pattern} {name}");
        }
        for (pattern, name) in [("*.csv", "a.csv.gz"), ("a?", "a"), ("", "a"), ("a*b", "abc")] {
            assert!(!matches(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn a_folder_stands_for_its_tables_in_order() {
        let folder = tempfile::tempdir().expect("a directory");
        for name in ["b.csv", "a.CSV.gz", "_SUCCESS", ".x.csv", "c.json"] {
            std::fs::write(folder.path().join(name), "").expect("a file");
        }
        let names = |path: &Path| -> Vec<String> {
            let files = expand(path).expect("files");
            files.iter().map(|f| f.file_name().expect("a name").to_string_lossy().into_owned()).collect()
        };
        assert_eq!(names(folder.path()), ["a.CSV.gz", "b.csv"]);
        assert_eq!(names(&folder.path().join("?.*s*")), ["b.csv", "c.json"]);
        assert!(expand(&folder.path().join("no*")).is_err());
    }
}
