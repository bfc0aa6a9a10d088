//! The one client of the service: requests, and responses as values or as failures on which a person can act.

use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use shunt::http_client;
use ureq::http::{Method, Request, Response};
use ureq::{Agent, Body};

use super::named_link::NamedLink;
use super::service_args::ServiceArgs;
use super::service_url::ServiceUrl;
use super::token_file::{Login, TokenFile};
use super::{Failure, output};

mod header;
mod key_of_environment;
mod refusal;

use header::{header, next_cursor, shortlink};
pub(super) use key_of_environment::{NO_KEY, is_key};
use refusal::Refusal;
pub(super) use refusal::{Retry, Setback};

/// A service, and the agent that sends requests to it.
pub(super) struct Api {
    agent: Agent,
    service: ServiceUrl,
    timeout: Duration,
    /// The group for which requests act.
    group: Option<i64>,
    /// Whether the person knows that the click counts are of an earlier moment.
    has_noted_moment: AtomicBool,
}

/// A request to one of the service's routes.
pub(super) struct Call<'a> {
    method: Method,
    path: &'a str,
    query: &'a [(&'a str, &'a str)],
    token: Option<&'a str>,
    body: Option<Vec<u8>>,
    content_type: &'static str,
    /// The body of a success may take as long as it flows.
    is_stream: bool,
}

impl<'a> Call<'a> {
    /// Reads a resource.
    pub(super) fn get(path: &'a str) -> Self {
        Self::new(Method::GET, path)
    }

    /// Creates something.
    pub(super) fn post(path: &'a str) -> Self {
        Self::new(Method::POST, path)
    }

    /// Changes a resource.
    pub(super) fn patch(path: &'a str) -> Self {
        Self::new(Method::PATCH, path)
    }

    /// Sets a resource.
    pub(super) fn put(path: &'a str) -> Self {
        Self::new(Method::PUT, path)
    }

    /// Deletes a resource.
    pub(super) fn delete(path: &'a str) -> Self {
        Self::new(Method::DELETE, path)
    }

    fn new(method: Method, path: &'a str) -> Self {
        Self {
            method,
            path,
            query: &[],
            token: None,
            body: None,
            content_type: "application/json",
            is_stream: false,
        }
    }

    /// With these parameters.
    pub(super) fn query(self, query: &'a [(&'a str, &'a str)]) -> Self {
        Self { query, ..self }
    }

    /// As the user with this token.
    pub(super) fn token(self, token: &'a str) -> Self {
        let token = Some(token);
        Self { token, ..self }
    }

    /// With a JSON body.
    pub(super) fn json(self, body: &Value) -> Self {
        self.json_text(body.to_string())
    }

    /// With a body that is JSON already.
    pub(super) fn json_text(self, body: String) -> Self {
        let body = Some(body.into_bytes());
        Self { body, ..self }
    }

    /// With a body of lines.
    pub(super) fn text(self, body: String) -> Self {
        let content_type = "text/plain";
        Self {
            content_type,
            ..self.json_text(body)
        }
    }

    fn stream(self) -> Self {
        let is_stream = true;
        Self { is_stream, ..self }
    }
}

impl Api {
    /// For requests to a service. The person learns here if a scheme was added to its address.
    pub(super) fn new(args: ServiceArgs) -> Result<Self, Failure> {
        let service = args.server;
        if service.added_scheme().is_some() {
            output::note(&format!(
                "the address of the service has no scheme; using {service}"
            ));
        }
        let timeout = Duration::from_secs(args.timeout);
        let agent = if service.is_local() && !service.is_https() {
            http_client::local_agent(timeout)
        } else {
            http_client::agent(timeout, service.is_https()).map_err(|error| Failure::of(&error))?
        };
        Ok(Self {
            agent,
            service,
            timeout,
            group: args.group,
            has_noted_moment: AtomicBool::new(false),
        })
    }

    /// The service.
    pub(super) fn service(&self) -> &ServiceUrl {
        &self.service
    }

    /// The login kept for this service.
    pub(super) fn login(&self) -> Result<Login, Failure> {
        let kept = TokenFile::of_user()?.login(&self.service.to_string())?;
        kept.ok_or_else(|| {
            Failure::Refused(refusal::please_log_in(&self.service, "not logged in", ""))
        })
    }

    /// The key of the environment, or the token or key kept for this service.
    pub(super) fn token(&self) -> Result<String, Failure> {
        match key_of_environment::read()? {
            Some(key) => Ok(key),
            None => Ok(self.login()?.access_token),
        }
    }

    /// Sends a request and reads the value in its response.
    pub(super) fn read<T: DeserializeOwned>(&self, call: Call<'_>) -> Result<T, Setback> {
        let mut response = self.send(call)?;
        self.value(&mut response)
    }

    /// Sends a request whose response has nothing to read.
    pub(super) fn carry_out(&self, call: Call<'_>) -> Result<(), Setback> {
        self.send(call)?;
        Ok(())
    }

    /// Reads a page. Returns it and the cursor of the next page.
    pub(super) fn page<T: DeserializeOwned>(
        &self,
        call: Call<'_>,
    ) -> Result<(T, Option<String>), Failure> {
        let mut response = self.send(call)?;
        let next = header(&response, "link").and_then(|link| next_cursor(&link));
        Ok((self.value(&mut response)?, next))
    }

    /// The text of a response, and one of its headers.
    pub(super) fn text_and_header(
        &self,
        call: Call<'_>,
        name: &str,
    ) -> Result<(String, Option<String>), Setback> {
        let mut response = self.send(call)?;
        let value = header(&response, name);
        let text = response
            .body_mut()
            .with_config()
            .limit(u64::MAX)
            .read_to_string();
        let text = text.map_err(|error| refusal::unreachable(&self.service, &error))?;
        Ok((text, value))
    }

    /// The body of a response as it comes; each part of it has the whole time of a response.
    pub(super) fn stream(&self, call: Call<'_>) -> Result<impl Read + use<>, Failure> {
        Ok(self.send(call.stream())?.into_body().into_reader())
    }

    /// The link in an argument, which is a code or a short URL of this service. The service's public address may be
    /// another one than that of `--server`, and a link may be at another host of the service: then the service says which short
    /// URL the code has.
    pub(super) fn code(&self, given: &str) -> Result<NamedLink, Failure> {
        if let Some(code) = self.service.code(given) {
            return Ok(NamedLink::own(code));
        }
        if let Some((url, code)) = ServiceUrl::short_url_elsewhere(given) {
            let at_host = ServiceUrl::host_of(&url).map(|host| NamedLink::at(host, code.clone()));
            for link in [Some(NamedLink::own(code)), at_host].into_iter().flatten() {
                match self.short_url(&link) {
                    Ok(shown) if ServiceUrl::is_same_link(&shown, &url) => return Ok(link),
                    Ok(_) | Err(Failure::NotFound(_)) => {}
                    Err(failure) => return Err(failure),
                }
            }
        }
        Err(Failure::Usage(format!(
            "`{given}` is neither a short code nor a short link of {}",
            self.service
        )))
    }

    /// The short URL of a link of any account, as the service shows it.
    pub(super) fn short_url(&self, link: &NamedLink) -> Result<String, Failure> {
        let response = self.send(Call::get(&link.path("/stats")))?;
        let shown = header(&response, "link").and_then(|link| shortlink(&link));
        Ok(shown.unwrap_or_else(|| self.service.short_url(link.code().as_str())))
    }

    fn send(&self, call: Call<'_>) -> Result<Response<Body>, Setback> {
        let sent = self.request(call).map_err(|failure| Setback {
            failure,
            retry: Retry::Never,
        })?;
        let response = sent.map_err(|error| refusal::unreachable(&self.service, &error))?;
        if response.status().is_success() {
            self.note_moment(&response);
            Ok(response)
        } else {
            Err(Refusal::of(response).setback(&self.service))
        }
    }

    /// Says once where clicks are not exact.
    fn note_moment(&self, response: &Response<Body>) {
        if let Some(moment) = header(response, "clicks-as-of")
            && !self.has_noted_moment.swap(true, Ordering::Relaxed)
        {
            output::note(&format!(
                "click counts are as of {moment}; newer clicks are recorded, but cannot be read right now"
            ));
        }
    }

    fn request(&self, call: Call<'_>) -> Result<Result<Response<Body>, ureq::Error>, Failure> {
        let url = self.service.route(call.path, call.query)?;
        let mut request = Request::builder().method(call.method).uri(url.as_str());
        if let Some(token) = call.token {
            request = request.header("authorization", format!("Bearer {token}"));
            if let Some(group) = self.group {
                request = request.header("shunt-group", group);
            }
        }
        if call.body.is_some() {
            request = request.header("content-type", call.content_type);
        }
        Ok(match call.body {
            Some(body) => self.run(request.body(body), call.is_stream),
            None => self.run(request.body(()), call.is_stream),
        })
    }

    fn run(
        &self,
        request: Result<Request<impl ureq::AsSendBody>, ureq::http::Error>,
        is_stream: bool,
    ) -> Result<Response<Body>, ureq::Error> {
        let request = request?;
        if !is_stream {
            return self.agent.run(request);
        }
        let request = self.agent.configure_request(request);
        let request = request
            .timeout_global(None)
            .timeout_connect(Some(self.timeout))
            .timeout_recv_response(Some(self.timeout))
            .timeout_per_read(Some(self.timeout));
        self.agent.run(request.build())
    }

    fn value<T: DeserializeOwned>(&self, response: &mut Response<Body>) -> Result<T, Setback> {
        let body = response.body_mut().read_to_string();
        let body = body.map_err(|error| refusal::unreachable(&self.service, &error))?;
        serde_json::from_slice(body.as_bytes()).map_err(|_| Setback {
            failure: Failure::Failed(format!(
                "the response of {} is not from shunt; is the address right?",
                self.service
            )),
            retry: Retry::Never,
        })
    }
}
