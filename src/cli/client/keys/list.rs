//! `shunt keys list`

use std::io::{self, Write};

use clap::Args;
use serde::{Deserialize, Serialize};

use super::output::{HANDLE, HEAD, harmless};
use super::scope::Scope;
use super::{Api, Call, Failure, ServiceArgs, output};

/// The service whose keys are listed.
#[derive(Args)]
pub(in crate::cli) struct ListArgs {
    #[command(flatten)]
    service: ServiceArgs,
}

/// A key without its text, which the service does not have.
#[derive(Serialize, Deserialize)]
struct Key {
    id: i64,
    name: String,
    scope: Scope,
    created_at: String,
    expires_at: Option<String>,
    last_used_on: Option<String>,
}

/// Prints the keys of the account.
pub(super) fn list(args: ListArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let keys: Vec<Key> = api.read(Call::get("/auth/keys").token(&token))?;
    if json {
        return output::json_line(&keys);
    }
    print_table(&mut output::stdout(), &keys)?;
    Ok(())
}

fn print_table(out: &mut impl Write, keys: &[Key]) -> io::Result<()> {
    let lengths = keys.iter().map(|key| key.id.to_string().len());
    let ids = lengths.max().unwrap_or_default().max("ID".len());
    // The date is enough for people; `--json` has the time.
    let day = |time: &str| time.chars().take(10).collect::<String>();
    writeln!(
        out,
        "{HEAD}{:>ids$}  SCOPE   CREATED     EXPIRES     LAST USED   NAME{HEAD:#}",
        "ID"
    )?;
    for key in keys {
        let expires = key.expires_at.as_deref().map_or("never".into(), day);
        let used = key.last_used_on.as_deref().map_or("never".into(), day);
        writeln!(
            out,
            "{HANDLE}{:>ids$}{HANDLE:#}  {:6}  {:10}  {:10}  {:10}  {}",
            key.id,
            key.scope.name(),
            harmless(&day(&key.created_at)),
            harmless(&expires),
            harmless(&used),
            harmless(&key.name)
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_an_absent_date_is_never() {
        let key = |id, scope, expires_at: Option<&str>, last_used_on: Option<&str>| Key {
            id,
            name: "backup\u{1b}".into(),
            scope,
            created_at: "2027-01-31T18:00:00Z".into(),
            expires_at: expires_at.map(Into::into),
            last_used_on: last_used_on.map(Into::into),
        };
        let keys = [
            key(
                120,
                Scope::Read,
                Some("2028-01-31T18:00:00Z"),
                Some("2027-02-01"),
            ),
            key(7, Scope::Write, None, None),
        ];
        let mut table = Vec::new();
        print_table(&mut table, &keys).unwrap();
        let plain = anstream::adapter::strip_bytes(&table).into_vec();
        let expected = " ID  SCOPE   CREATED     EXPIRES     LAST USED   NAME\n\
                        120  read    2027-01-31  2028-01-31  2027-02-01  backup\\u{1b}\n  \
                        7  write   2027-01-31  never       never       backup\\u{1b}\n";
        assert_eq!(String::from_utf8_lossy(&plain), expected);
    }
}
