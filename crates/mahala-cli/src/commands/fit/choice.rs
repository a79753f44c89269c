//! What a method chose, in words: of the automatic mode also why, and beside what.

use crate::terminal::format;
use crate::terminal::table;
use serde_json::Value;

/// Recipes in the table, beside those chosen and the references.
const SHOWN: usize = 8;
/// The name of the recipe that leaves the rows as they are.
const PLAIN: &str = "plain distance";

/// A line of the table: what it is, its share of the blend, its loss.
struct Line {
    name: String,
    chosen: bool,
    share: Option<f64>,
    loss: f64,
}

/// What the method chose; the automatic mode also why, and the best of what it tried.
pub(super) fn in_words(choice: &Value) -> Vec<String> {
    if let Some(gamma) = choice["gamma"].as_f64() {
        return vec![format!("chose: gamma = {gamma}")];
    }
    if choice["trials"].is_null() {
        let numbers = choice.as_object().into_iter().flatten().filter(|(_, value)| value.is_number());
        return numbers.map(|(key, value)| format!("{key} = {value}")).collect();
    }
    let trials = list(&choice["trials"]);
    let mut chosen = list(&choice["recipes"]);
    chosen.sort_by(|a, b| loss(a, &trials).total_cmp(&loss(b, &trials)));
    let shares: Vec<f64> = chosen.iter().map(|one| number(&one["weight"])).collect();
    let mut lines = match &chosen[..] {
        [only] => vec![format!("chose: {}", text(&only["recipe"]))],
        _ => vec![format!("chose: a blend of {} recipes, {}", chosen.len(), parts(&shares))],
    };
    if let [_, _, ..] = &chosen[..] {
        lines.extend(chosen.iter().map(|one| format!("chose: {}", text(&one["recipe"]))));
    }
    if let Some(name) = choice["known_as"].as_str() {
        lines.push(format!("this is {name}"));
    }
    if trials.is_empty() {
        lines.push(text(&choice["reason"]).to_owned());
        return lines;
    }
    let folds = format::count(choice["folds"].as_u64().unwrap_or(0), "fold");
    lines.push(format!("because {}", text(&choice["reason"])));
    lines.push(format!("over {folds}; work of {:.1} plain fits", number(&choice["cost"])));
    lines.push(text(&choice["verdict"]).to_owned());
    lines.push(compared(choice, &chosen, &trials));
    lines
}

/// The loss of a chosen recipe on held-out rows, by which the table is sorted, too.
fn loss(chosen: &Value, trials: &[&Value]) -> f64 {
    let tried = trials.iter().find(|trial| trial["recipe"] == chosen["recipe"]);
    tried.map_or(f64::INFINITY, |trial| number(&trial["error"]))
}

/// How the members of a blend count.
fn parts(shares: &[f64]) -> &'static str {
    let equal = shares.iter().all(|share| (share - shares[0]).abs() < 1e-9);
    if equal { "in equal parts" } else { "by the shares in the table" }
}

/// The best of what was tried, everything chosen, and the references, by their losses.
fn compared(choice: &Value, chosen: &[&Value], trials: &[&Value]) -> String {
    let member = |name: &str| chosen.iter().find(|one| text(&one["recipe"]) == name);
    let references = list(&choice["references"]);
    // The plain distance is among the references, on the same rows.
    let twice = |name: &str| name == PLAIN && references.iter().any(|one| text(&one["name"]) == "Euclidean");
    let queries = |trial: &Value| trial["queries"].as_u64().unwrap_or(0);
    let whole = trials.iter().map(|trial| queries(trial)).max().unwrap_or(0);
    // What was dropped on the first queries has a rough error, which is not to be compared.
    let mut sorted: Vec<&&Value> = trials
        .iter()
        .filter(|trial| queries(trial) == whole || member(text(&trial["recipe"])).is_some())
        .collect();
    let dropped = trials.len() - sorted.len();
    sorted.retain(|trial| member(text(&trial["recipe"])).is_some() || !twice(text(&trial["recipe"])));
    sorted.sort_by(|a, b| number(&a["error"]).total_cmp(&number(&b["error"])));
    let best =
        sorted.iter().enumerate().filter(|(i, trial)| *i < SHOWN || member(text(&trial["recipe"])).is_some());
    let line = |(_, trial): (usize, &&&Value)| {
        let name = text(&trial["recipe"]);
        let share = member(name).filter(|_| chosen.len() > 1).map(|one| number(&one["weight"]));
        Line { name: name.to_owned(), chosen: member(name).is_some(), share, loss: number(&trial["error"]) }
    };
    let mut lines: Vec<Line> = best.map(line).collect();
    if chosen.len() > 1 {
        let name = format!("the blend of {}", chosen.len());
        lines.push(Line { name, chosen: true, share: Some(1.0), loss: number(&choice["error"]) });
    }
    lines.extend(references.iter().map(|one| {
        let name = format!("{} (for comparison)", text(&one["name"]));
        Line { name, chosen: false, share: None, loss: number(&one["error"]) }
    }));
    lines.sort_by(|a, b| a.loss.total_cmp(&b.loss));
    let cells = |line: &Line| {
        let mark = if line.chosen { "* " } else { "  " };
        let share = line.share.map_or(String::new(), |share| format!("{share:.2}"));
        let mut cells = vec![format!("{mark}{}", line.name), format!("{:.2}", 100.0 * line.loss)];
        if chosen.len() > 1 {
            cells.insert(1, share);
        }
        cells
    };
    let rows: Vec<Vec<String>> = lines.iter().map(cells).collect();
    let title = format!("the best of {} tried (* chosen)", trials.len());
    let heads = if chosen.len() > 1 { vec![&*title, "share", "loss %"] } else { vec![&*title, "loss %"] };
    let others = format::count(dropped as u64, "other");
    let note =
        if dropped > 0 { format!("  {others} dropped on the first held-out rows\n") } else { String::new() };
    table::render(&heads, &rows) + &note
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn list(value: &Value) -> Vec<&Value> {
    value.as_array().into_iter().flatten().collect()
}
