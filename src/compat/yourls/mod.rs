//! The API of YOURLS: one path, whose parameter `action` says what is asked for.
//!
//! <https://yourls.org/docs/guide/advanced/api>
//!
//! | file | what it does |
//! | --- | --- |
//! | `actions` | what each action does |
//! | `answer` | answers as XML, JSON, JSONP or one line |
//! | `key` | the key among the parameters |

use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, StatusCode};
use axum::middleware::{from_fn_with_state, map_response};
use axum::response::Response;
use axum::routing::any;

use super::caller::Asking;
use super::parameters::Parameters;
use super::said::{in_words, said};
use super::services::Services;
use crate::http::{Admission, BodyLimits, read_body, with_admission};

mod actions;
mod answer;
mod key;

use answer::{Answer, Form};

/// The only path.
const PATH: &str = "/yourls-api.php";

pub(super) fn routes(admission: &Admission) -> Router<Services> {
    Router::new()
        .route(PATH, any(api))
        .route_layer(from_fn_with_state(admission.clone(), with_admission))
        .layer(map_response(in_its_form))
}

/// A refusal of the layers beneath, in the form that is the default: it comes before the parameters are read.
async fn in_its_form(response: Response) -> Response {
    in_words(response, |response, detail| {
        Form::Xml.response(&Answer::refused(response.status(), detail))
    })
}

async fn api(State(services): State<Services>, asking: Asking, request: Request) -> Response {
    let (form, answer) = match parameters(request).await {
        Ok(parameters) => match Form::of(&parameters) {
            Ok(form) => (form, actions::act(&services, &asking, &parameters).await),
            Err(refused) => (Form::Json, refused),
        },
        Err(refused) => (Form::Xml, refused),
    };
    said(form.response(&answer))
}

/// All parameters of a request, whichever of the ways it sends them.
async fn parameters(request: Request) -> Result<Parameters, Answer> {
    if !matches!(*request.method(), Method::GET | Method::POST) {
        let status = StatusCode::METHOD_NOT_ALLOWED;
        return Err(Answer::refused(status, "Send GET or POST"));
    }
    let refused = |why: String| Answer::refused(StatusCode::BAD_REQUEST, &why);
    let query = Parameters::of_form(request.uri().query().unwrap_or_default()).map_err(refused)?;
    let content_type = request.headers().get(CONTENT_TYPE);
    let content_type = content_type
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let limits: BodyLimits = request.extensions().get().copied().unwrap_or_default();
    let body = read_body(request, limits).await;
    let body = body.map_err(|error| Answer::of_error(&error))?;
    let body = Parameters::of_body(content_type.as_deref(), &body).map_err(refused)?;
    Ok(query.under(body))
}
