//! Rust source as tokens, as far as imports need it.

/// A file's tokens: names, `::` and single signs. Comments, strings and lifetimes are left out: no path stands there.
pub(super) fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let name = name_length(rest);
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(length) = literal_length(rest) {
            length
        } else {
            let length = match rest {
                _ if name > 0 => name,
                _ if rest.starts_with("::") => 2,
                _ => first.len_utf8(),
            };
            tokens.push(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    tokens
}

fn name_length(source: &str) -> usize {
    let is_of_name = |character: char| character.is_alphanumeric() || character == '_';
    let end = source.find(|character| !is_of_name(character));
    end.unwrap_or(source.len())
}

/// The length of the string, character or lifetime that the source begins with.
fn literal_length(source: &str) -> Option<usize> {
    let opened = source.trim_start_matches(['b', 'c']);
    let prefix = source.len() - opened.len();
    if let Some(raw) = opened.strip_prefix('r') {
        let signs = raw.len() - raw.trim_start_matches('#').len();
        let text = raw[signs..].strip_prefix('"')?;
        let end = format!("\"{}", &raw[..signs]);
        return Some(prefix + 1 + signs + 1 + text.find(&end)? + end.len());
    }
    let quote = opened.chars().next()?;
    if quote != '"' && quote != '\'' {
        return None;
    }
    let text = &opened[1..];
    let is_lifetime = quote == '\'' && !text.starts_with('\\') && text.chars().nth(1) != Some('\'');
    if is_lifetime {
        return Some(prefix + 1 + name_length(text));
    }
    let mut is_escaped = false;
    let end = text.find(|character| {
        let closes = character == quote && !is_escaped;
        is_escaped = character == '\\' && !is_escaped;
        closes
    })?;
    Some(prefix + 1 + end + 1)
}

/// How many tokens a group takes, its delimiters included.
pub(super) fn end_of_group(tokens: &[&str]) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate() {
        match *token {
            "(" | "{" | "[" => depth += 1,
            ")" | "}" | "]" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

/// How many tokens an item takes, with its attributes: up to its `;` or its braces.
pub(super) fn end_of_item(tokens: &[&str]) -> usize {
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at] {
            ";" => return at + 1,
            "{" => return at + end_of_group(&tokens[at..]),
            "(" | "[" => at += end_of_group(&tokens[at..]),
            _ => at += 1,
        }
    }
    at
}

/// The path that the tokens begin with: `a::b::C`.
pub(super) fn leading_path<'a>(tokens: &[&'a str]) -> Vec<&'a str> {
    let mut path = Vec::new();
    for pair in tokens.chunks(2) {
        path.extend(pair.first().filter(|token| name_length(token) > 0));
        if pair.get(1) != Some(&"::") {
            break;
        }
    }
    path
}

/// Each path of a `use`, and the name that it gets; `*` for everything.
pub(super) fn names_of_use<'a>(
    tree: &[&'a str],
    before: &[&'a str],
) -> Vec<(Vec<&'a str>, &'a str)> {
    let joined = |name: &'a str| [before, &[name]].concat();
    match *tree {
        [] => Vec::new(),
        ["{", ref inner @ .., "}"] => branches(inner)
            .into_iter()
            .flat_map(|branch| names_of_use(branch, before))
            .collect(),
        ["::", ref rest @ ..] => names_of_use(rest, before),
        [name, "::", ref rest @ ..] => names_of_use(rest, &joined(name)),
        ["*"] => vec![(before.to_vec(), "*")],
        // `a::{self}` is `a`.
        ["self"] if !before.is_empty() => vec![(before.to_vec(), before[before.len() - 1])],
        ["self", "as", name] if !before.is_empty() => vec![(before.to_vec(), name)],
        [name, "as", other] => vec![(joined(name), other)],
        [name, ..] => vec![(joined(name), name)],
    }
}

/// What stands between the commas of a group, apart from those of inner groups.
fn branches<'b, 'a>(group: &'b [&'a str]) -> Vec<&'b [&'a str]> {
    let mut depth = 0;
    group
        .split(|token| {
            match *token {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            depth == 0 && *token == ","
        })
        .collect()
}

#[test]
fn strings_comments_and_lifetimes_are_no_tokens() {
    let source = r###"
        // a::b
        /// "
        fn f<'a>(x: &'a str, y: &'static [u8]) -> char { '"' }
        const TEXT: &str = "\" a::b \\";
        const RAW: &str = r##"" a::b "##;
        const BYTES: [&[u8]; 2] = [b"a", br#"b"#];
        const QUOTES: [char; 3] = ['\'', '\\', ':'];
        use a::b;
    "###;
    let joined = tokens(source).join(" ");
    let expected = "fn f < > ( x : & str , y : & [ u8 ] ) - > char { } const TEXT : & str = ; \
        const RAW : & str = ; const BYTES : [ & [ u8 ] ; 2 ] = [ , ] ; const QUOTES : [ char ; 3 ] = [ , , ] ; \
        use a :: b ;";
    assert_eq!(joined, expected);
}

#[test]
fn a_use_names_each_of_its_paths() {
    let tree = tokens("a::{self, b::C, d::{E as F, self as g, *},}, ::h");
    let names = names_of_use(&[&["{"], &tree[..], &["}"]].concat(), &[]);
    let written: Vec<_> = names
        .iter()
        .map(|(path, name)| format!("{} as {name}", path.join("::")))
        .collect();
    assert_eq!(
        written,
        [
            "a as a",
            "a::b::C as C",
            "a::d::E as F",
            "a::d as g",
            "a::d as *",
            "h as h"
        ]
    );
}
