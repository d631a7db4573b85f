//! Tables as Markdown, aligned so that the source is readable too.

/// One table; all columns but the first are aligned to the right.
pub fn markdown(head: &[&str], rows: &[Vec<String>]) -> String {
    let length = |text: &str| text.chars().count();
    let width = |column: usize| {
        let cells = rows.iter().map(|row| length(&row[column]));
        cells.chain([length(head[column]), 3]).max().unwrap_or(3)
    };
    let line = |cells: &[&str]| {
        let padded = cells.iter().enumerate().map(|(column, cell)| {
            let space = " ".repeat(width(column) - length(cell));
            if column == 0 { format!("{cell}{space}") } else { format!("{space}{cell}") }
        });
        format!("| {} |\n", padded.collect::<Vec<_>>().join(" | "))
    };
    let rules: Vec<_> = (0..head.len())
        .map(|column| if column == 0 { "-".repeat(width(column)) } else { "-".repeat(width(column) - 1) + ":" })
        .collect();
    let mut text = line(head) + &line(&rules.iter().map(String::as_str).collect::<Vec<_>>());
    for row in rows {
        text += &line(&row.iter().map(String::as_str).collect::<Vec<_>>());
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["flush".to_owned(), "1.5%".to_owned()], vec!["µ".to_owned(), "12.5%".to_owned()]];
        let expected = "| Part  |     A |\n| ----- | ----: |\n| flush |  1.5% |\n| µ     | 12.5% |\n\n";
        assert_eq!(markdown(&["Part", "A"], &rows), expected);
    }
}
