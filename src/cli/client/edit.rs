//! `shunt edit`

use clap::Args;
use serde_json::{Map, Value};

use super::fields::FieldArgs;
use super::{Api, Call, Failure, ServiceArgs, show, target};

/// The changes of a link. Fields that are not named stay as they are.
#[derive(Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(in crate::cli) struct EditArgs {
    /// A short code or a short link.
    code: String,
    /// The new target.
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    #[command(flatten)]
    fields: FieldArgs,
    /// Remove its expiry.
    #[arg(long, alias = "no-expires", conflicts_with = "expiry")]
    no_expiry: bool,
    /// Remove its click limit.
    #[arg(long, conflicts_with = "max_clicks")]
    no_max_clicks: bool,
    /// Remove its title.
    #[arg(long, conflicts_with = "title")]
    no_title: bool,
    /// Remove all its tags.
    #[arg(long, conflicts_with = "tags")]
    no_tags: bool,
    /// Do not add the query of a visit to the target.
    #[arg(long, conflicts_with = "forward_query")]
    no_forward_query: bool,
    /// Resume it: visitors are redirected again.
    #[arg(long, conflicts_with = "inactive")]
    active: bool,
    /// Pause it: visitors are no longer redirected.
    #[arg(long)]
    inactive: bool,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

impl EditArgs {
    /// The changes as a merge patch (RFC 7396): `null` takes a value away.
    fn changes(&self) -> Map<String, Value> {
        let mut changes = self.fields.given();
        let taken_away = [
            (self.no_expiry, "expires_at", Value::Null),
            (self.no_max_clicks, "max_clicks", Value::Null),
            (self.no_title, "title", Value::Null),
            (self.no_tags, "tags", Value::Array(Vec::new())),
            (self.no_forward_query, "forward_query", false.into()),
            (self.active, "is_active", true.into()),
            (self.inactive, "is_active", false.into()),
        ];
        for (is_asked_for, name, value) in taken_away {
            if is_asked_for {
                changes.insert(name.into(), value);
            }
        }
        if let Some(target) = &self.target {
            changes.insert("target_url".into(), target::completed(target).into());
        }
        changes
    }
}

/// Changes a link and prints it as it is then.
pub(super) fn edit(args: EditArgs) -> Result<(), Failure> {
    let changes = args.changes();
    if changes.is_empty() {
        return Err(Failure::Usage(
            "nothing to change: name a field, such as --title or --no-expiry".into(),
        ));
    }
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let code = api.code(&args.code)?;
    let token = api.token()?;
    let path = format!("/urls/{code}");
    let edited = api.read(Call::patch(&path).token(&token).json(&changes.into()));
    show::print(
        &edited.map_err(|setback| setback.failure.not_found(&code))?,
        json,
    )
}
