//! The question before a removal: what it is, whose it is, and what it hits.

use super::account_facts::facts;
use super::question::Question;
use super::removal_form::RemovalForm;
use super::{Admin, Section, account_of, removal_path};
use crate::abuse::{Abuse, AbuseError, Reach};
use crate::domain::{
    AddressRange, HostPattern, Reason, RemovalStatus, RemovalTarget, SeenLink, SeenUser,
};
use crate::http::ApiError;
use crate::links::{LinkError, LinkService};
use crate::web::language::Language;

/// Codes that a question names.
const NAMED_CODES: usize = 5;

/// What is to be removed, as it is now.
pub(super) enum Subject {
    Link(Box<SeenLink>),
    Account(SeenUser),
    Host(HostPattern),
    Address(AddressRange),
}

impl Subject {
    pub(super) async fn of(
        target: RemovalTarget,
        abuse: &Abuse,
        admin: &Admin,
    ) -> Result<Self, AbuseError> {
        Ok(match target {
            RemovalTarget::Link(code) => {
                let link = abuse.seen_link(&admin.administrator, &code).await?;
                Self::Link(Box::new(link))
            }
            RemovalTarget::User(user) => Self::Account(abuse.account(user).await?),
            RemovalTarget::Host(host) => Self::Host(host),
            RemovalTarget::Address(range) => Self::Address(range),
        })
    }
}

/// The question whether to remove what a form names. Links to a host and from an address are counted as far as a bounded look goes: the
/// removal itself looks at all links.
pub(super) async fn question(
    form: &RemovalForm,
    (subject, reason, status): (Subject, Reason, RemovalStatus),
    abuse: &Abuse,
    links: &LinkService,
    admin: &Admin,
) -> Result<Question, ApiError> {
    let language = admin.language();
    let remove = language.text("admin_remove");
    let (title, facts, yes) = match &subject {
        Subject::Link(link) => {
            let shown = abuse.shown_code(&link.code);
            let title = language.with("admin_remove_link_title", &[("code", &shown)]);
            (
                title,
                facts_of_link(link, abuse, links, admin).await?,
                remove,
            )
        }
        Subject::Host(host) => {
            let title = language.with("admin_remove_host_title", &[("host", &host.to_string())]);
            let reach = abuse.reach_of_host(&admin.administrator, host).await?;
            (title, facts_of_reach(&reach, abuse, language), remove)
        }
        Subject::Address(range) => {
            let address = range.to_string();
            let title = language.with("admin_remove_address_title", &[("address", &address)]);
            let reach = abuse.reach_of_address(&admin.administrator, *range).await?;
            (title, facts_of_reach(&reach, abuse, language), remove)
        }
        Subject::Account(account) => {
            let email = account.email.as_str();
            let title = language.with("admin_ban_title", &[("email", email)]);
            let facts = facts(abuse, language, account).await?;
            (title, facts, language.text("admin_ban"))
        }
    };
    let code = status.code().to_string();
    let values = [("status", code.as_str()), ("reason", reason.as_str())];
    let mut text = language.with("admin_removal_text", &values);
    if matches!(subject, Subject::Account(_)) {
        text = [language.text("admin_ban_text"), &text].join(" ");
    }
    Ok(Question {
        title,
        facts,
        text,
        action: "/app/admin/removals".to_owned(),
        fields: vec![
            ("kind", form.kind.clone()),
            ("value", form.value.clone()),
            ("reason", form.reason.clone()),
            ("status", form.status.clone()),
            ("report", form.report.clone()),
        ],
        yes,
        back: match form.report.as_str() {
            "" => removal_path(&form.kind, &form.value),
            _ => Section::REPORTS.path.to_owned(),
        },
    })
}

/// Where a link leads, whose it is, and how often it was followed.
async fn facts_of_link(
    link: &SeenLink,
    abuse: &Abuse,
    links: &LinkService,
    admin: &Admin,
) -> Result<Vec<(&'static str, String)>, ApiError> {
    let language = admin.language();
    let mut facts = vec![
        (
            language.text("admin_target"),
            link.target.as_str().to_owned(),
        ),
        (
            language.text("admin_account"),
            match abuse.account(link.owner).await {
                Ok(account) => format!("{} ({})", account.email.as_str(), link.owner.0),
                Err(AbuseError::Unknown) => account_of(language, link.owner.0),
                Err(error) => return Err(error.into()),
            },
        ),
    ];
    match links.stats(&link.code, admin.administrator.address()).await {
        Ok(Some(found)) => {
            let clicks = language.number(found.clicks);
            facts.push((language.text("admin_clicks"), clicks));
        }
        // They cannot be read right now, and a harmful link is removed all the same.
        Ok(None) | Err(LinkError::Count(_)) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(facts)
}

/// How many links were found, and some of them.
fn facts_of_reach(reach: &Reach, abuse: &Abuse, language: Language) -> Vec<(&'static str, String)> {
    let links = language.number(reach.links);
    let links = if reach.are_more {
        language.with("admin_at_least", &[("n", &links)])
    } else {
        links
    };
    let mut facts = vec![(language.text("links"), links)];
    if !reach.codes.is_empty() {
        let named = reach.codes.iter().take(NAMED_CODES);
        let named: Vec<_> = named.map(|code| abuse.shown_code(code)).collect();
        let more = if reach.codes.len() > NAMED_CODES {
            " …"
        } else {
            ""
        };
        let named = named.join(", ") + more;
        facts.push((language.text("admin_examples"), named));
    }
    facts
}
