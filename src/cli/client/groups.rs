//! `shunt groups`: groups, their members, and links that move.

use std::io::{self, Write};

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use url::form_urlencoded::byte_serialize;

use super::output::{HANDLE, HEAD, harmless};
use super::several::Several;
use super::{Api, Call, Failure, ServiceArgs, output};
use crate::cli::failure::exit_codes;

/// What to do with groups.
#[derive(Subcommand)]
pub(in crate::cli) enum Command {
    /// List your groups.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    List(ListArgs),
    /// Create a group, of which you are the owner, and print its number.
    #[command(after_long_help = exit_codes!(0 1 2 3 5))]
    New(NewArgs),
    /// List the members of a group.
    #[command(after_long_help = exit_codes!(0 1 2 3 group 5))]
    Members(MembersArgs),
    /// Add a member to a group, or give a member another role.
    #[command(after_long_help = exit_codes!(0 1 2 3 group 5))]
    Add(AddArgs),
    /// Remove a member from a group, or leave it.
    #[command(after_long_help = exit_codes!(0 1 2 3 group 5))]
    Rm(RmArgs),
    /// Move links to a group, or back to yourself.
    ///
    /// With `--group` the links of that group are moved. If a link cannot be moved, the rest is moved all the same; the exit code is that of
    /// the first failure.
    #[command(after_long_help = exit_codes!(0 1 2 3 4 5))]
    Move(MoveArgs),
}

/// The service whose groups are listed.
#[derive(Args)]
pub(in crate::cli) struct ListArgs {
    #[command(flatten)]
    service: ServiceArgs,
}

/// The group to create.
#[derive(Args)]
pub(in crate::cli) struct NewArgs {
    /// Its name.
    #[arg(value_name = "NAME")]
    name: String,
    #[command(flatten)]
    service: ServiceArgs,
}

/// The group whose members are listed.
#[derive(Args)]
pub(in crate::cli) struct MembersArgs {
    /// The number of the group.
    #[arg(value_name = "GROUP", value_parser = clap::value_parser!(i64).range(1..))]
    id: i64,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Who becomes a member of which group.
#[derive(Args)]
pub(in crate::cli) struct AddArgs {
    /// The number of the group.
    #[arg(value_name = "GROUP", value_parser = clap::value_parser!(i64).range(1..))]
    id: i64,
    /// The e-mail address of the account.
    #[arg(value_name = "EMAIL")]
    email: String,
    /// viewer, editor or owner.
    #[arg(long, value_name = "ROLE", default_value = "viewer", value_parser = ["viewer", "editor", "owner"])]
    role: String,
    #[command(flatten)]
    service: ServiceArgs,
}

/// Who leaves which group.
#[derive(Args)]
pub(in crate::cli) struct RmArgs {
    /// The number of the group.
    #[arg(value_name = "GROUP", value_parser = clap::value_parser!(i64).range(1..))]
    id: i64,
    /// The e-mail address of the member.
    #[arg(value_name = "EMAIL")]
    email: String,
    #[command(flatten)]
    service: ServiceArgs,
}

/// The links to move.
#[derive(Args)]
pub(in crate::cli) struct MoveArgs {
    /// `me`, or the number of a group.
    #[arg(value_name = "TO")]
    to: String,
    /// Short codes or short links.
    #[arg(required = true, value_name = "CODE")]
    codes: Vec<String>,
    #[command(flatten)]
    service: ServiceArgs,
}

#[derive(Serialize, Deserialize)]
struct Group {
    id: i64,
    name: String,
    role: String,
    members: u64,
    created_at: String,
}

#[derive(Serialize, Deserialize)]
struct Member {
    id: i64,
    email: String,
    role: String,
    joined_at: String,
}

/// Does what was asked for.
pub(super) fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::List(args) => list(args),
        Command::New(args) => new(args),
        Command::Members(args) => members(args),
        Command::Add(args) => add(args),
        Command::Rm(args) => remove(args),
        Command::Move(args) => move_links(args),
    }
}

fn list(args: ListArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let groups: Vec<Group> = api.read(Call::get("/groups").token(&token))?;
    if json {
        return output::json_line(&groups);
    }
    let rows = groups.iter().map(|group| {
        let members = group.members.to_string();
        [
            group.id.to_string(),
            group.role.clone(),
            members,
            harmless(&group.name).to_string(),
        ]
    });
    let (heads, rows) = (["ID", "ROLE", "MEMBERS", "NAME"], rows.collect::<Vec<_>>());
    print_table(&mut output::stdout(), heads, &rows)?;
    Ok(())
}

/// Columns as wide as their longest cell; the last one is as long as it is.
fn print_table<const N: usize>(
    out: &mut impl Write,
    heads: [&str; N],
    rows: &[[String; N]],
) -> io::Result<()> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.max().unwrap_or_default().max(heads[column].len())
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |cells: [&str; N]| {
        let padded = cells.iter().zip(widths);
        let padded: Vec<_> = padded
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    writeln!(out, "{HEAD}{}{HEAD:#}", line(heads))?;
    for row in rows {
        writeln!(out, "{}", line(row.each_ref().map(String::as_str)))?;
    }
    Ok(())
}

fn new(args: NewArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let body = json!({ "name": args.name });
    let group: Group = api.read(Call::post("/groups").token(&token).json(&body))?;
    if json {
        return output::json_line(&group);
    }
    let name = harmless(&group.name);
    writeln!(
        output::stdout(),
        "created group {HANDLE}{}{HANDLE:#}, {name}",
        group.id
    )?;
    Ok(())
}

fn members(args: MembersArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let path = format!("/groups/{}/members", args.id);
    let members: Vec<Member> = api.read(Call::get(&path).token(&token))?;
    if json {
        return output::json_line(&members);
    }
    let rows = members
        .iter()
        .map(|member| [member.role.clone(), harmless(&member.email).to_string()]);
    let rows: Vec<_> = rows.collect();
    print_table(&mut output::stdout(), ["ROLE", "E-MAIL"], &rows)?;
    Ok(())
}

fn member_path(group: i64, email: &str) -> String {
    let email: String = byte_serialize(email.trim().as_bytes()).collect();
    format!("/groups/{group}/members/{}", email.replace('+', "%20"))
}

fn add(args: AddArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let path = member_path(args.id, &args.email);
    let body = json!({ "role": args.role });
    let member: Member = api.read(Call::put(&path).token(&token).json(&body))?;
    if json {
        return output::json_line(&member);
    }
    let email = harmless(&member.email);
    writeln!(
        output::stdout(),
        "{HANDLE}{email}{HANDLE:#} is {} now",
        member.role
    )?;
    Ok(())
}

fn remove(args: RmArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let path = member_path(args.id, &args.email);
    api.carry_out(Call::delete(&path).token(&token))?;
    if json {
        return output::json_line(&json!({ "email": args.email, "removed": true }));
    }
    let email = harmless(&args.email);
    writeln!(output::stdout(), "removed {HANDLE}{email}{HANDLE:#}")?;
    Ok(())
}

fn move_links(args: MoveArgs) -> Result<(), Failure> {
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let codes = args.codes.iter().map(|given| api.code(given));
    let codes = codes.collect::<Result<Vec<_>, _>>()?;
    let token = api.token()?;
    let body = json!({ "owner": args.to });
    let mut several = Several::new(codes.len() == 1, json);
    for code in codes {
        let path = code.path("");
        let moved: Result<Value, _> = api.read(Call::patch(&path).token(&token).json(&body));
        let moved = moved.map_err(|setback| setback.failure.not_found(&code));
        let shown = moved.map(|moved| {
            if json {
                return output::json_line(&moved);
            }
            writeln!(output::stdout(), "moved {HANDLE}{code}{HANDLE:#}")?;
            Ok(())
        });
        several.note(&code.to_string(), shown)?;
    }
    several.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_an_address_is_one_part_of_a_path() {
        let rows = [["12", "editor"], ["7", "owner"]].map(|row| row.map(str::to_owned));
        let mut table = Vec::new();
        print_table(&mut table, ["ID", "ROLE"], &rows).unwrap();
        let plain = anstream::adapter::strip_bytes(&table).into_vec();
        assert_eq!(
            String::from_utf8_lossy(&plain),
            "ID  ROLE\n12  editor\n7   owner\n"
        );
        let path = member_path(12, "ada/b@example.org");
        assert_eq!(path, "/groups/12/members/ada%2Fb%40example.org");
    }
}
