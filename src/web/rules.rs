//! The rules of a link: each in a sentence, moved, changed and taken away, and tried with a visitor.

use std::sync::Arc;

use askama::Template;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;
use serde_json::Value;

use super::edit_link::link_of;
use super::form::Form;
use super::page::{Frame, Site, own_page, see_other};
use super::rule_form::RuleForm;
use super::rule_trial::Trial;
use super::rule_words;
use super::session::SignedIn;
use crate::domain::agent_words::{BROWSERS, SYSTEMS};
use crate::domain::{FieldEdit, Link, LinkEdit, Rules};
use crate::http::{ApiError, ClientAddress, PathCode, QueryOf};
use crate::links::{Expected, LinkService, Revision};

#[derive(Template)]
#[template(path = "rules.html")]
struct RulesPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    code: String,
    /// The code as people read it.
    shown: String,
    target: String,
    revision: String,
    said: &'static str,
    fault: Option<String>,
    rules: Vec<ShownRule>,
    /// The number of the rule that the form changes; empty for a new one.
    place: String,
    form: RuleForm,
    knows_countries: bool,
    trial: Trial,
    /// Which rule the visitor of the trial meets, and where it leads.
    outcome: Option<(String, String)>,
    systems: &'static [&'static str],
    browsers: &'static [&'static str],
}

/// A rule in the list.
struct ShownRule {
    place: usize,
    /// The same as a text.
    number: String,
    name: String,
    whom: String,
    leads: String,
    is_last: bool,
}

/// What the address of the page says beside the trial.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    /// The number of the rule that is to be changed.
    edit: String,
    saved: String,
}

/// What a page shows besides the rules.
#[derive(Default)]
struct Shown {
    status: StatusCode,
    said: &'static str,
    fault: Option<String>,
    place: String,
    form: RuleForm,
    trial: Trial,
    outcome: Option<(String, String)>,
}

pub(super) async fn show(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    QueryOf(asked): QueryOf<Asked>,
    QueryOf(trial): QueryOf<Trial>,
) -> Result<Response, ApiError> {
    let link = link_of(&links, &signed_in, code).await?;
    let language = signed_in.owner().language;
    let mut shown = Shown::default();
    if !asked.saved.is_empty() {
        shown.said = language.text("rules_saved");
    }
    let rules = link.properties.rules.as_ref();
    if let Some((place, rule)) =
        place(&asked.edit, rules).and_then(|place| Some((place, rules?.as_slice().get(place)?)))
    {
        shown.place = (place + 1).to_string();
        shown.form = RuleForm::of(rule);
    }
    if !trial.is_asked.is_empty() {
        match trial.outcome(language, rules, &link.properties.target, links.clock.now()) {
            Ok(outcome) => shown.outcome = Some(outcome),
            Err(error) => {
                shown.status = error.status();
                shown.fault = Some(error.detail().to_owned());
            }
        }
    }
    shown.trial = trial;
    page(&links, &site, &signed_in, &link, shown)
}

pub(super) async fn change(
    State(links): State<Arc<LinkService>>,
    State(site): State<Site>,
    signed_in: SignedIn,
    PathCode(code): PathCode,
    client: ClientAddress,
    form: Form,
) -> Result<Response, ApiError> {
    let checked = signed_in.check_session(&site, &form)?;
    let link = link_of(&links, &signed_in, code).await?;
    let changed = async {
        checked?;
        let rules = changed(link.properties.rules.as_ref(), &form)?;
        let rules = Rules::parse(&rules, &links.own_host).map_err(ApiError::invalid)?;
        let edit = LinkEdit {
            rules: FieldEdit::from(rules),
            ..LinkEdit::default()
        };
        let expected = Expected::OneOf(vec![form.get("revision").to_owned()]);
        let owner = signed_in.principal;
        let edited = links
            .edit(owner, &link.code, &edit, &expected, client.as_str())
            .await?;
        edited.ok_or_else(ApiError::url_not_found)
    };
    let language = signed_in.owner().language;
    match changed.await {
        Ok(_) => Ok(see_other(&format!(
            "/app/links/{}/rules?saved=1",
            link.code.in_path()
        ))),
        Err(error) if error.is_failure() => Err(error),
        Err(error) => {
            let fault = match error.status() {
                StatusCode::PRECONDITION_FAILED => language.text("rules_changed").to_owned(),
                _ => error.detail().to_owned(),
            };
            let shown = Shown {
                status: error.status(),
                fault: Some(fault),
                place: form.get("place").to_owned(),
                form: match form.get("action") {
                    "save" => RuleForm::sent(&form),
                    _ => RuleForm::default(),
                },
                ..Shown::default()
            };
            page(&links, &site, &signed_in, &link, shown)
        }
    }
}

/// The place of a rule by its number.
fn place(number: &str, rules: Option<&Rules>) -> Option<usize> {
    let place = number.parse::<usize>().ok()?.checked_sub(1)?;
    (place < rules?.as_slice().len()).then_some(place)
}

/// All rules as they are to be.
fn changed(rules: Option<&Rules>, form: &Form) -> Result<Value, ApiError> {
    let now = rules.map(|rules| serde_json::from_str(rules.as_json()));
    let now = now.transpose();
    let mut list: Vec<Value> = now.unwrap_or_default().unwrap_or_default();
    let at = place(form.get("place"), rules);
    let of_other = || ApiError::invalid("place: no rule has this number any more");
    match form.get("action") {
        "save" if form.get("place").is_empty() => list.push(RuleForm::sent(form).json()?),
        "save" => list[at.ok_or_else(of_other)?] = RuleForm::sent(form).json()?,
        "remove" => drop(list.remove(at.ok_or_else(of_other)?)),
        "up" => {
            let at = at.ok_or_else(of_other)?;
            list.swap(at, at.saturating_sub(1));
        }
        "down" => {
            let at = at.ok_or_else(of_other)?;
            let below = (at + 1).min(list.len() - 1);
            list.swap(at, below);
        }
        _ => {
            return Err(ApiError::invalid(
                "action: must be save, remove, up or down",
            ));
        }
    }
    Ok(list.into())
}

fn page(
    links: &LinkService,
    site: &Site,
    signed_in: &SignedIn,
    link: &Link,
    shown: Shown,
) -> Result<Response, ApiError> {
    let language = signed_in.owner().language;
    let rules = link.properties.rules.as_ref();
    let rules = rules.map(Rules::as_slice).unwrap_or_default();
    let row = |(at, rule): (usize, &crate::domain::rules::Rule)| ShownRule {
        place: at + 1,
        number: (at + 1).to_string(),
        name: rule
            .name
            .as_ref()
            .map(|name| name.as_str().to_owned())
            .unwrap_or_default(),
        whom: rule_words::whom(language, rule),
        leads: rule_words::leads(language, &rule.leads),
        is_last: at + 1 == rules.len(),
    };
    let page = RulesPage {
        frame: Frame::own(site, signed_in.owner()),
        csrf: signed_in.owner().csrf,
        code: link.code.in_path().into_owned(),
        shown: site.shown_code(&link.code),
        target: link.properties.target.as_str().to_owned(),
        revision: Revision::of(link).to_string(),
        said: shown.said,
        fault: shown.fault,
        rules: rules.iter().enumerate().map(row).collect(),
        place: shown.place,
        form: shown.form,
        knows_countries: links.knows_countries,
        trial: shown.trial,
        outcome: shown.outcome,
        systems: &SYSTEMS,
        browsers: &BROWSERS,
    };
    own_page(shown.status, &page)
}
