//! Fields with a fixed set of values, as the OpenAPI document lists them. The words themselves are the words of the domain: a
//! test compares them.

use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{Object, ObjectBuilder, OneOfBuilder, Schema, Type};
use utoipa::{PartialSchema, ToSchema};

/// Declares lists of words for the document.
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$of:meta])* $variant:ident = $word:literal,)+ })+) => { $(
        $(#[$doc])*
        #[derive(ToSchema)]
        #[expect(dead_code, reason = "it only describes a field in the OpenAPI document")]
        pub(super) enum $name {
            $($(#[$of])* #[schema(rename = $word)] $variant,)+
        }
    )+ };
}

words! {
    /// An order of links.
    SortWord {
        Newest = "-created_at",
        Oldest = "created_at",
        MostClicks = "-clicks",
        FewestClicks = "clicks",
    }

    /// The role of an account.
    RoleWord {
        Administrator = "admin",
    }

    /// What a member of a group is.
    GroupRoleWord {
        Viewer = "viewer",
        Editor = "editor",
        Owner = "owner",
    }

    /// The length of a point.
    IntervalWord {
        Hour = "hour",
        Day = "day",
        Month = "month",
    }

    /// What a breakdown has a row for.
    DimensionWord {
        Referrer = "referrer",
        Country = "country",
        Browser = "browser",
        Os = "os",
        Device = "device",
        Rule = "rule",
        Bot = "bot",
        Code = "code",
    }

    /// The form of an export.
    ExportWord {
        Csv = "csv",
        Ndjson = "ndjson",
    }

    /// The form of an image.
    ImageWord {
        Svg = "svg",
        Png = "png",
    }

    /// The error correction of a QR code.
    CorrectionWord {
        Low = "L",
        Medium = "M",
        Quartile = "Q",
        High = "H",
    }

    /// What an administrator removes.
    RemovalKindWord {
        Link = "link",
        Host = "host",
        User = "user",
        Address = "address",
    }

    /// What was removed.
    RemovedKindWord {
        Link = "link",
        Host = "host",
        User = "user",
        Address = "address",
        Blocklist = "blocklist",
    }

    /// What an administrator did.
    ActionWord {
        Remove = "remove",
        Revoke = "revoke",
        Grant = "grant",
        RevokeRole = "revoke_role",
        ResetPassword = "reset_password",
        CloseReport = "close_report",
        SeeTargets = "see_targets",
        AddDomain = "add_domain",
        EditDomain = "edit_domain",
        RemoveDomain = "remove_domain",
        Invite = "invite",
        RevokeInvitation = "revoke_invitation",
        Join = "join",
        CreateAdministrator = "create_administrator",
        ResetForgotten = "reset_forgotten",
        ChangeEmail = "change_email",
        SetEmail = "set_email",
        AddFactor = "add_factor",
        RemoveFactor = "remove_factor",
        ResetFactors = "reset_factors",
        RecoveryCode = "recovery_code",
        NewRecoveryCodes = "new_recovery_codes",
        AddPasskey = "add_passkey",
        RemovePasskey = "remove_passkey",
        MakeGroup = "make_group",
        RenameGroup = "rename_group",
        EndGroup = "end_group",
        AddMember = "add_member",
        SetMemberRole = "set_member_role",
        RemoveMember = "remove_member",
        Move = "move",
    }

    /// How far a removal is.
    ProgressWord {
        Running = "running",
        Done = "done",
    }
}

/// A list of words, and the word that is meant if none is given.
fn with_default<T: PartialSchema>(default: &str) -> RefOr<Schema> {
    let mut schema = T::schema();
    if let RefOr::T(Schema::Object(object)) = &mut schema {
        object.default = Some(default.into());
    }
    schema
}

/// The length of a point, which is a day unless given.
pub(super) fn interval() -> RefOr<Schema> {
    with_default::<IntervalWord>("day")
}

/// What a breakdown is by, which is the referrer unless given.
pub(super) fn dimension() -> RefOr<Schema> {
    with_default::<DimensionWord>("referrer")
}

/// The form of an image, which is SVG unless given.
pub(super) fn image() -> RefOr<Schema> {
    with_default::<ImageWord>("svg")
}

/// The error correction of a QR code, which is `M` unless given.
pub(super) fn correction() -> RefOr<Schema> {
    with_default::<CorrectionWord>("M")
}

/// The kind of device that a filter lets through; empty: not known.
pub(super) fn device() -> Object {
    let words = ["desktop", "phone", "tablet", "tv", "console", ""];
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(words))
        .build()
}

/// Whether a filter lets known bots through, or other visitors; empty: visitors of whom that is not known.
pub(super) fn bot() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(["true", "false", ""]))
        .build()
}

/// The status by which the links of a removal are answered.
pub(super) fn removal_status() -> Object {
    ObjectBuilder::new()
        .schema_type(Type::Integer)
        .description(Some("How its links are answered: 410 or 451"))
        .enum_values(Some([410, 451]))
        .examples([json!(410)])
        .build()
}

/// The same in a request, which may leave it out.
pub(super) fn wanted_status() -> Schema {
    status_or_null(
        "How the links are answered: 410 (gone; without a status), or 451 (unavailable for legal reasons)",
    )
}

/// The same of a link that may not be removed.
pub(super) fn status_of_link() -> Schema {
    status_or_null("410 or 451, if it is removed")
}

fn status_or_null(description: &str) -> Schema {
    let one_of = OneOfBuilder::new()
        .item(ObjectBuilder::new().schema_type(Type::Null))
        .item(removal_status())
        .description(Some(description));
    Schema::OneOf(one_of.build())
}
