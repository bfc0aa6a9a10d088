//! `shunt shorten`

use std::io::{self, BufRead, Read, Write};

use clap::Args;
use shunt::domain::FieldEdit;
use shunt::wire::{FullLinkBody, LinkFields};

use super::fields::FieldArgs;
use super::several::Several;
use super::{Api, Call, Failure, ServiceArgs, output, target};

/// Far longer than any target: a longer line is not an address.
const MAX_LINE: u64 = 16 * 1024;

/// The targets to shorten, and the fields of their links.
#[derive(Args)]
pub(in crate::cli) struct ShortenArgs {
    /// The targets: http:// or https:// addresses. `-` reads them from standard input, one per line.
    #[arg(required = true, value_name = "URL")]
    targets: Vec<String>,
    /// The code of the link, instead of a random code.
    #[arg(long, value_name = "CODE", alias = "custom-code")]
    code: Option<String>,
    /// Another host of the service for the link, as `GET /domains` names it.
    #[arg(long, value_name = "HOST")]
    domain: Option<String>,
    #[command(flatten)]
    fields: FieldArgs,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// Creates links and prints nothing but their short URLs, so that they can be piped on.
pub(super) fn shorten(args: ShortenArgs) -> Result<(), Failure> {
    let is_one = matches!(&args.targets[..], [target] if target != "-");
    if args.code.is_some() && !is_one {
        return Err(Failure::Usage(
            "--code is for one link: give one URL".into(),
        ));
    }
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let token = api.token()?;
    let mut fields = LinkFields {
        custom_code: FieldEdit::set_if(args.code),
        domain: FieldEdit::set_if(args.domain),
        view: FieldEdit::Set("full".to_owned()),
        ..args.fields.fields()?
    };
    let mut several = Several::new(is_one, json);
    for target in args.targets.into_iter().flat_map(lines_of) {
        let target = target?;
        let shortened = shorten_one(&api, &token, &target, &mut fields);
        let printed = shortened.map(|link| print(&link, json));
        several.note(&target, printed)?;
    }
    several.end()
}

fn shorten_one(
    api: &Api,
    token: &str,
    target: &str,
    fields: &mut LinkFields,
) -> Result<FullLinkBody, Failure> {
    fields.target_url = FieldEdit::Set(target::completed(target).into_owned());
    let body = serde_json::to_value(fields).map_err(|error| Failure::of(&error))?;
    Ok(api.read(Call::post("/urls/shorten").token(token).json(&body))?)
}

fn print(link: &FullLinkBody, json: bool) -> Result<(), Failure> {
    if json {
        return output::json_line(link);
    }
    writeln!(output::stdout(), "{}", output::harmless(&link.short_url))?;
    Ok(())
}

/// The targets that an argument stands for.
fn lines_of(target: String) -> Box<dyn Iterator<Item = Result<String, Failure>>> {
    if target == "-" {
        Box::new(lines(io::stdin().lock()))
    } else {
        Box::new(std::iter::once(Ok(target)))
    }
}

/// Lines of an input, as they arrive, without empty lines.
fn lines(mut input: impl BufRead) -> impl Iterator<Item = Result<String, Failure>> {
    let mut number = 0_u64;
    std::iter::from_fn(move || {
        loop {
            let mut line = Vec::new();
            number += 1;
            match input.by_ref().take(MAX_LINE).read_until(b'\n', &mut line) {
                Ok(0) => return None,
                Err(error) => return Some(Err(unreadable(number, &error))),
                Ok(length) if length as u64 == MAX_LINE => {
                    return Some(Err(unreadable(number, &"it is longer than 16 KiB")));
                }
                Ok(_) => {}
            }
            // Some programs begin what they pass on with a byte order mark.
            let text = match number {
                1 => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line),
                _ => &line,
            };
            match std::str::from_utf8(text).map(str::trim) {
                Ok("") => {}
                Ok(line) => return Some(Ok(line.to_owned())),
                Err(_) => return Some(Err(unreadable(number, &"it is not UTF-8"))),
            }
        }
    })
}

fn unreadable(number: u64, why: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!(
        "line {number} of standard input cannot be read: {why}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_that_is_not_empty_is_a_target() {
        let input = "\u{feff}https://a.example\r\n\n  https://b.example  \nhttps://c.example";
        let lines: Result<Vec<_>, _> = lines(input.as_bytes()).collect();
        let expected = [
            "https://a.example",
            "https://b.example",
            "https://c.example",
        ];
        assert_eq!(lines.ok().as_deref(), Some(&expected.map(String::from)[..]));
    }

    #[test]
    fn a_line_that_is_no_text_or_far_too_long_is_refused_by_its_number() {
        let endless = [&b"https://a.example\n"[..], &vec![b'a'; 20_000]].concat();
        for input in [&b"https://a.example\n\xff\n"[..], &endless] {
            match lines(input).nth(1) {
                Some(Err(Failure::Failed(message))) => assert!(message.starts_with("line 2 of")),
                _ => panic!("the second line is refused"),
            }
        }
    }
}
