//! Migrations only add: an older version goes on to run on the new schema. What takes something away says which versions
//! may still run, in the name of its file (see CONTRIBUTING.md).

use std::fs;
use std::path::Path;

/// How the description in a file's name begins if the migration takes something away; the oldest version that may run follows.
const CONTRACT: &str = "contract_";

/// What an older version may miss, or be refused by.
const TAKES_AWAY: [&str; 11] = [
    "DROP ",
    "RENAME ",
    "TRUNCATE ",
    "SET NOT NULL",
    "SET DATA TYPE",
    "SET SCHEMA",
    "SET LOGGED",
    "REVOKE ",
    "DISABLE TRIGGER",
    "DETACH PARTITION",
    "DELETE FROM ",
];

/// Statements without comments, bodies of functions and texts, in capitals with single spaces.
fn statements(sql: &str) -> Vec<String> {
    let without_comments: Vec<_> = sql
        .lines()
        .map(|line| line.split("--").next().unwrap())
        .collect();
    let joined = without_comments.join("\n");
    let outside = |text: &str, mark: &str| -> String {
        let parts = text.split(mark).enumerate();
        let parts = parts.filter(|(at, _)| at % 2 == 0);
        parts.map(|(_, part)| part).collect::<Vec<_>>().join(" ")
    };
    let plain = outside(&outside(&joined, "$$"), "'").to_uppercase();
    // The body of a trigger of SQLite ends with END, and its statements with semicolons.
    let mut statements = Vec::<String>::new();
    let mut is_within = false;
    for piece in plain.split(';') {
        let piece = piece.split_whitespace().collect::<Vec<_>>().join(" ");
        if is_within {
            is_within = piece != "END";
            continue;
        }
        is_within = piece.starts_with("CREATE TRIGGER") && piece.contains(" BEGIN ");
        let head = piece.split(" BEGIN ").next().unwrap().to_owned();
        statements.push(head);
    }
    statements
}

/// Why an older version may not run after this statement.
fn fault(statement: &str, made_here: &[String]) -> Option<String> {
    let spaced = format!(" {statement} ");
    if let Some(what) = TAKES_AWAY
        .iter()
        .find(|what| spaced.contains(&format!(" {what}")))
    {
        return Some(format!("`{}`", what.trim()));
    }
    let table = |after: &str| {
        let rest = statement.split(after).nth(1)?;
        let name = rest
            .trim_start_matches("IF EXISTS ")
            .trim_start_matches("ONLY ");
        name.split([' ', '(']).next().map(str::to_owned)
    };
    let is_new = |name: Option<String>| name.is_some_and(|name| made_here.contains(&name));
    if statement.starts_with("ALTER TABLE") && !is_new(table("ALTER TABLE ")) {
        if spaced.contains(" TYPE ") {
            return Some("another type".into());
        }
        for constraint in [
            " CHECK ",
            " CHECK(",
            " UNIQUE",
            " CONSTRAINT ",
            " REFERENCES ",
            " FOREIGN KEY",
        ] {
            if spaced.contains(constraint) {
                return Some(format!("a new rule for old rows:{constraint}"));
            }
        }
        for column in statement.split(',') {
            if column.contains("NOT NULL")
                && !column.contains("DEFAULT")
                && !column.contains("GENERATED")
            {
                return Some("NOT NULL without a default".into());
            }
        }
    }
    if statement.starts_with("CREATE UNIQUE INDEX") && !is_new(table(" ON ")) {
        return Some("a unique index on rows of older versions".into());
    }
    None
}

/// What a file takes away.
fn faults(sql: &str) -> Vec<String> {
    let statements = statements(sql);
    let made_here: Vec<_> = statements
        .iter()
        .filter_map(|statement| statement.strip_prefix("CREATE TABLE "))
        .map(|rest| rest.trim_start_matches("IF NOT EXISTS "))
        .filter_map(|rest| Some(rest.split([' ', '(']).next()?.to_owned()))
        .collect();
    statements
        .iter()
        .filter_map(|statement| fault(statement, &made_here))
        .collect()
}

#[test]
fn a_migration_that_takes_something_away_says_which_versions_may_still_run() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
    let (mut read, mut wrong) = (0, Vec::new());
    for kind in ["postgres", "sqlite"] {
        for entry in fs::read_dir(folder.join(kind)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            let (version, description) = name.split_once('_').unwrap();
            let version: u64 = version.parse().unwrap();
            read += 1;
            if let Some(oldest) = description.strip_prefix(CONTRACT) {
                let oldest = oldest.split('_').next().map(str::parse::<u64>);
                let oldest = oldest.and_then(Result::ok);
                let is_read = oldest.is_some_and(|oldest| oldest <= version);
                assert!(is_read, "{kind}/{name} names no oldest version");
                continue;
            }
            for fault in faults(&fs::read_to_string(&path).unwrap()) {
                wrong.push(format!(
                    "{kind}/{name}: {fault}; only add, or name it N_{CONTRACT}OLDEST_…"
                ));
            }
        }
    }
    assert!(read > 0, "no file was read");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn what_takes_something_away_is_found() {
    for sql in [
        "DROP TABLE links;",
        "drop index links_newest_first;",
        "ALTER TABLE links\n    DROP COLUMN is_active;",
        "ALTER TABLE links ALTER is_active DROP DEFAULT;",
        "ALTER TABLE links RENAME COLUMN is_active TO active;",
        "ALTER TABLE links ALTER COLUMN id TYPE text;",
        "ALTER TABLE links ALTER COLUMN id SET DATA TYPE text;",
        "ALTER TABLE links ALTER note SET NOT NULL;",
        "ALTER TABLE links ADD COLUMN note text NOT NULL;",
        "ALTER TABLE links ADD a int DEFAULT 1, ADD COLUMN note text NOT NULL;",
        "ALTER TABLE links ADD CONSTRAINT short CHECK (length(short_code) < 9);",
        "ALTER TABLE links ADD COLUMN note text UNIQUE;",
        "CREATE UNIQUE INDEX one_target ON links (target_url);",
        "TRUNCATE link_changes;",
        "DELETE FROM link_changes;",
        "CREATE TABLE t (id bigint);\nALTER TABLE links RENAME TO t2;",
        "CREATE TRIGGER t AFTER DELETE ON links BEGIN DELETE FROM a; END;\nDROP TABLE links;",
    ] {
        assert!(!faults(sql).is_empty(), "{sql}");
    }
}

#[test]
fn what_only_adds_passes() {
    for sql in [
        "-- A table, after which the older one may be dropped: DROP TABLE x.\nCREATE TABLE t (id bigint NOT NULL);",
        "CREATE TABLE t (id bigint);\nCREATE UNIQUE INDEX t_id ON t (id);\nALTER TABLE t ADD CHECK (id > 0);",
        "ALTER TABLE links ADD COLUMN note text, ADD COLUMN n int NOT NULL DEFAULT 0;",
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM t; DROP TABLE u; END $$;",
        "CREATE TRIGGER t AFTER DELETE ON links BEGIN DELETE FROM a; END;\nCREATE TABLE u (a);",
        "CREATE TRIGGER t AFTER DELETE ON links FOR EACH ROW EXECUTE FUNCTION f();",
        "INSERT INTO t SELECT 'DROP TABLE x';",
        "ALTER TABLE links SET (autovacuum_vacuum_threshold = 1000);",
    ] {
        assert_eq!(faults(sql), Vec::<String>::new(), "{sql}");
    }
}
