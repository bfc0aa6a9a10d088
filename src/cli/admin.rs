//! `shunt admin`: what operators do on the database itself.

use std::error::Error;

use clap::{Args, Subcommand};
use serde_json::json;
use shunt::abuse::{Abuse, AbuseError, Administrator, join_path};
use shunt::accounts::{PasswordHasher, random_text};
use shunt::config::Config;
use shunt::domain::{
    InvitedRole, NamedUser, Password, Reason, Removal, RemovalId, RemovalStatus, RemovalTarget,
    SearchText, Timestamp, TokenKey, UserId,
};

use work::{newest, on_database, print};

use super::Failure;
use super::harmless::harmless;
use super::number::number;

mod domains;
mod work;

#[derive(Subcommand)]
pub(super) enum Action {
    /// Invite somebody to make an account that administers the service: prints a link that works once, for seven days.
    Create(OfAccount),
    /// Make an account an administrator.
    Grant(OfAccount),
    /// Take the role of an administrator from an account; the last administrator keeps it.
    RevokeRole(OfAccount),
    /// Give an account a new password, which is printed; all its tokens are revoked.
    ResetPassword(OfAccount),
    /// Give an account another e-mail address; all its tokens are revoked.
    SetEmail(SetEmail),
    /// Take the second factors from an account whose owner has lost them; all its tokens are revoked.
    ResetTwoFactors(OfAccount),
    /// List accounts, newest first.
    Users(Users),
    /// Ban an account: its tokens, sessions and keys are revoked, it cannot log in, and its links are removed.
    Ban(Ban),
    /// Revoke the ban of an account. Its keys stay revoked.
    Unban(OfAccount),
    /// Remove a link, all links to a host, an account with its links, or all links from an address.
    Remove(Remove),
    /// List removals, newest first.
    Removals(Removals),
    /// Revoke a removal: its links work again.
    Revoke(Revoke),
    /// List what administrators did, newest first.
    Audit(Audit),
    /// List, add, change and remove hosts beside that of `BASE_URL`.
    Domain {
        #[command(subcommand)]
        action: domains::DomainAction,
    },
}

#[derive(Args)]
pub(super) struct OfAccount {
    /// Its e-mail address.
    email: String,
    #[command(flatten)]
    config: Config,
}

#[derive(Args)]
pub(super) struct SetEmail {
    /// Its e-mail address.
    old: String,
    /// Its e-mail address from now on. No mail is sent.
    new: String,
    #[command(flatten)]
    config: Config,
}

#[derive(Args)]
pub(super) struct Users {
    /// Only accounts with this text in the e-mail address.
    text: Option<String>,
    #[command(flatten)]
    config: Config,
}

#[derive(Args)]
pub(super) struct Ban {
    /// Its e-mail address.
    email: String,
    /// The reason, for the audit.
    #[arg(long, default_value = "banned by the operator")]
    reason: String,
    #[command(flatten)]
    config: Config,
}

#[derive(Args)]
pub(super) struct Remove {
    /// What is removed.
    #[arg(value_parser = ["link", "host", "user", "address"])]
    kind: String,
    /// A short code; a host, or `*.HOST` with all below it; an account's e-mail address or number; an IP address, or a range (an
    /// address of IPv6 stands for its /64).
    value: String,
    /// The reason, which visitors of its links see.
    #[arg(long)]
    reason: String,
    /// How its links are answered: 410 (gone), or 451 (unavailable for legal reasons).
    #[arg(long, default_value = "410", value_parser = status)]
    status: RemovalStatus,
    #[command(flatten)]
    config: Config,
}

#[derive(Args)]
pub(super) struct Removals {
    #[command(flatten)]
    config: Config,
}

#[derive(Args)]
pub(super) struct Revoke {
    /// The number of the removal.
    #[arg(value_parser = number(1..=i64::MAX))]
    removal: i64,
    #[command(flatten)]
    config: Config,
}

#[derive(Args)]
pub(super) struct Audit {
    #[command(flatten)]
    config: Config,
}

/// Does what was asked, on the database of the settings.
pub(super) fn run(action: Action) -> Result<(), Failure> {
    match action {
        Action::Create(OfAccount { email, config }) => create(&email, config),
        Action::Grant(OfAccount { email, config }) => on_database(config, async |abuse, by| {
            let user = account(abuse, &email).await?;
            abuse.set_role(by, user).await?;
            print(&format!("{} is an administrator", harmless(&email)))
        }),
        Action::RevokeRole(OfAccount { email, config }) => {
            on_database(config, async |abuse, by| {
                let user = account(abuse, &email).await?;
                abuse.take_role(by, user).await?;
                print(&format!(
                    "{} is no administrator any more",
                    harmless(&email)
                ))
            })
        }
        Action::ResetPassword(OfAccount { email, config }) => {
            on_database(config, async |abuse, by| reset(abuse, by, &email).await)
        }
        Action::SetEmail(SetEmail { old, new, config }) => {
            on_database(config, async |abuse, by| {
                let (user, email) = (account(abuse, &old).await?, new.parse()?);
                let set = abuse.set_email(by, user, &email, TokenKey::generate()?);
                set.await.map_err(|error| match error {
                    AbuseError::HasAccount => format!("{} {error}", harmless(&new)),
                    error => error.to_string(),
                })?;
                print(&format!(
                    "{} logs in as {} now",
                    harmless(&old),
                    harmless(&new)
                ))
            })
        }
        Action::ResetTwoFactors(OfAccount { email, config }) => {
            on_database(config, async |abuse, by| {
                let user = account(abuse, &email).await?;
                abuse.reset_factors(by, user, TokenKey::generate()?).await?;
                print(&format!(
                    "{} signs in by its password only",
                    harmless(&email)
                ))
            })
        }
        Action::Users(Users { text, config }) => on_database(config, async |abuse, by| {
            let text = text.as_deref().map(SearchText::parse).transpose()?;
            let wanted = newest(text.flatten());
            for user in abuse.accounts(by, &wanted).await?.entries {
                let line = json!({
                    "id": user.id.0, "email": user.email.as_str(), "created_at": user.created_at.to_string(),
                    "links": user.links, "is_admin": user.is_admin, "is_banned": user.is_banned,
                });
                print(&line.to_string())?;
            }
            Ok(())
        }),
        Action::Ban(Ban {
            email,
            reason,
            config,
        }) => on_database(config, async |abuse, by| {
            let reason = Reason::parse(&reason)?;
            let target = RemovalTarget::User(account(abuse, &email).await?);
            let removed = abuse.remove(by, &target, &reason, RemovalStatus::Gone);
            let (removal, _) = removed.await?;
            abuse.finish(removal.id).await;
            print(&format!("banned, by removal {}", removal.id.0))
        }),
        Action::Unban(OfAccount { email, config }) => on_database(config, async |abuse, by| {
            let user = account(abuse, &email).await?;
            let (removal, _) = abuse.revoke_ban(by, user).await?;
            abuse.finish(removal.id).await;
            print(&format!("{} may log in again", harmless(&email)))
        }),
        Action::Remove(wanted) => remove(wanted),
        Action::Removals(Removals { config }) => on_database(config, async |abuse, _| {
            for removal in abuse.removals(&newest(None)).await?.entries {
                print(&line(&removal, &abuse.shown_value(&removal)))?;
            }
            Ok(())
        }),
        Action::Revoke(Revoke { removal, config }) => on_database(config, async |abuse, by| {
            let id = RemovalId(removal);
            abuse.revoke(by, id).await?;
            abuse.finish(id).await;
            print(&format!("removal {removal} is revoked"))
        }),
        Action::Domain { action } => domains::run(action),
        Action::Audit(Audit { config }) => on_database(config, async |abuse, _| {
            for entry in abuse.audit(&newest(None)).await?.entries {
                let line = json!({
                    "at": entry.at.with_micros(), "user": entry.user.map(|user| user.0), "address": entry.address,
                    "action": entry.action, "subject": entry.subject, "detail": entry.detail,
                });
                print(&line.to_string())?;
            }
            Ok(())
        }),
    }
}

/// The password is chosen at the link: no shell keeps it, and no process list shows it.
fn create(email: &str, config: Config) -> Result<(), Failure> {
    let base_url = match &config.base_url {
        Some(base_url) => base_url.as_str().to_owned(),
        None => format!("http://{}", config.bind),
    };
    on_database(config, async |abuse, by| {
        let role = InvitedRole::Administrator;
        let invited = abuse.invite(by, &email.parse()?, role, None).await;
        let (_, token) = invited.map_err(|error| match error {
            AbuseError::HasAccount => format!(
                "{} {error}; make it an administrator with `shunt admin grant`",
                harmless(email)
            ),
            error => error.to_string(),
        })?;
        print(&format!("{base_url}{}", join_path(&token)))
    })
}

fn remove(wanted: Remove) -> Result<(), Failure> {
    let Remove {
        kind,
        value,
        reason,
        status,
        config,
    } = wanted;
    on_database(config, async |abuse, by| {
        let reason = Reason::parse(&reason)?;
        let target = abuse.target(&kind, &value).await?;
        let (removal, _) = abuse.remove(by, &target, &reason, status).await?;
        abuse.finish(removal.id).await;
        print(&format!("removed, by removal {}", removal.id.0))
    })
}

fn status(raw: &str) -> Result<RemovalStatus, &'static str> {
    let status = raw.parse().ok().map(RemovalStatus::parse);
    status.and_then(Result::ok).ok_or("must be 410 or 451")
}

/// A removal as a line of JSON.
fn line(removal: &Removal, value: &str) -> String {
    json!({
        "id": removal.id.0, "kind": removal.kind, "value": value, "reason": removal.reason,
        "status": removal.status.code(), "removed_by": removal.removed_by.map(|user| user.0),
        "removed_at": removal.removed_at.with_micros(), "revoked_at": removal.revoked_at.map(Timestamp::with_micros),
        "links": removal.links, "progress": if removal.is_running { "running" } else { "done" },
    })
    .to_string()
}

async fn reset(abuse: &Abuse, by: &Administrator, email: &str) -> Result<(), Box<dyn Error>> {
    let text = random_text()?;
    let password = Password::parse(text.clone())?;
    let hash = PasswordHasher::new(1)?.hash_alone(password).await?;
    let key = TokenKey::generate()?;
    let user = account(abuse, email).await?;
    abuse.reset_password(by, user, &hash, key).await?;
    print(&text)
}

async fn account(abuse: &Abuse, email: &str) -> Result<UserId, Box<dyn Error>> {
    let named = NamedUser::Email(email.parse()?);
    Ok(abuse.user(&named).await?)
}
