//! `shunt edit`

use clap::Args;
use serde_json::json;
use shunt::domain::FieldEdit;
use shunt::wire::LinkFields;

use super::fields::{ClearArgs, FieldArgs};
use super::{Api, Call, Failure, ServiceArgs, show, target};

/// The changes of a link. Fields that are not named stay as they are.
#[derive(Args)]
pub(in crate::cli) struct EditArgs {
    /// A short code, or a short link, also at another host of the service.
    code: String,
    /// The new target.
    #[arg(long, value_name = "URL")]
    target: Option<String>,
    #[command(flatten)]
    fields: FieldArgs,
    #[command(flatten)]
    cleared: ClearArgs,
    /// Resume it: visitors are redirected again.
    #[arg(long, conflicts_with = "inactive")]
    active: bool,
    /// Pause it: visitors are no longer redirected.
    #[arg(long)]
    inactive: bool,
    #[command(flatten)]
    pub(super) service: ServiceArgs,
}

/// Changes a link and prints it as it is then.
pub(super) fn edit(args: EditArgs) -> Result<(), Failure> {
    let target = args
        .target
        .map(|target| target::completed(&target).into_owned());
    let is_active = (args.active || args.inactive).then_some(args.active);
    // A merge patch (RFC 7396): `null` takes a value away.
    let changes = LinkFields {
        target_url: FieldEdit::set_if(target),
        is_active: FieldEdit::set_if(is_active),
        ..args.fields.fields_without(&args.cleared)?
    };
    let changes = serde_json::to_value(changes).map_err(|error| Failure::of(&error))?;
    if changes == json!({}) {
        return Err(Failure::Usage(
            "nothing to change: name a field, such as --title or --no-expiry".into(),
        ));
    }
    let json = args.service.json;
    let api = Api::new(args.service)?;
    let code = api.code(&args.code)?;
    let token = api.token()?;
    let path = code.path("");
    let edited = api.read(Call::patch(&path).token(&token).json(&changes));
    show::print(
        &edited.map_err(|setback| setback.failure.not_found(&code))?,
        json,
    )
}
