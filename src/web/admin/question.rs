//! What administrators are asked before they take something away: what it is, and what goes with it.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use super::Admin;
use crate::http::ApiError;
use crate::web::page::{Frame, Site, own_page};

/// A question, and the form that is sent if the answer is yes.
#[derive(Default)]
pub(super) struct Question {
    pub(super) title: String,
    /// What it is about: names and values.
    pub(super) facts: Vec<(&'static str, String)>,
    pub(super) text: String,
    pub(super) action: String,
    pub(super) fields: Vec<(&'static str, String)>,
    pub(super) yes: &'static str,
    /// The address of the page that asked.
    pub(super) back: String,
}

#[derive(Template)]
#[template(path = "admin/question.html")]
struct QuestionPage<'a> {
    frame: Frame<'a>,
    csrf: &'a str,
    question: Question,
}

/// The page of a question. Its only field that takes keys is a link, so that Enter takes nothing away.
pub(super) fn asked(site: &Site, admin: &Admin, question: Question) -> Result<Response, ApiError> {
    let owner = admin.signed_in.owner();
    let page = QuestionPage {
        frame: Frame::own(site, owner),
        csrf: owner.csrf,
        question,
    };
    own_page(StatusCode::OK, &page)
}
