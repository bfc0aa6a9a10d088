//! A person with a browser, at the service and at the provider.

use std::collections::BTreeMap;

use reqwest::redirect::Policy;
use reqwest::{Client, Method};
use serde_json::{Value, json};

use crate::suite::web::browser::Browser;
use crate::support::provider::{provider, register_client, set_person};
use crate::support::{App, Mode, Response, free_port, unique};

/// Starts a service whose people sign in by the provider, with more settings.
pub(crate) async fn start(mode: Mode, settings: &[(&str, &str)]) -> App {
    start_signed_by(mode, "RS256", settings).await
}

/// The same; ID tokens are signed in this way.
pub(crate) async fn start_signed_by(mode: Mode, algorithm: &str, settings: &[(&str, &str)]) -> App {
    let port = free_port();
    let base = format!("http://127.0.0.1:{port}");
    let client = register_client(&base, algorithm).await;
    let bind = format!("127.0.0.1:{port}");
    let mut all = vec![
        ("BIND", bind.as_str()),
        ("BASE_URL", &base),
        ("OIDC_ISSUER", provider()),
        ("OIDC_CLIENT_ID", &client.id),
        ("OIDC_CLIENT_SECRET", &client.secret),
        ("OIDC_SCOPES", "openid email profile groups"),
    ];
    all.extend(settings);
    App::start_with(mode, &all).await
}

/// A person of whom the provider knows a confirmed address. Returns the subject and the address.
pub(crate) async fn new_person() -> (String, String) {
    let subject = unique();
    let email = format!("{subject}@example.org");
    is_known_as(&subject, &email, json!({})).await;
    (subject, email)
}

/// What the provider says of a person from now on, beside a confirmed address.
pub(crate) async fn is_known_as(subject: &str, email: &str, more: Value) {
    let mut claims = json!({"email": email, "email_verified": true, "name": "Ada"});
    for (name, value) in more.as_object().unwrap() {
        claims[name] = value.clone();
    }
    set_person(subject, claims).await;
}

/// A browser at the service and at the provider.
pub(crate) struct Person<'a> {
    pub(crate) browser: Browser<'a>,
    at_provider: BTreeMap<String, String>,
}

impl<'a> Person<'a> {
    pub(crate) fn new(app: &'a App) -> Self {
        Self {
            browser: Browser::new(app),
            at_provider: BTreeMap::new(),
        }
    }

    /// Asks the provider for a page, or sends it a form.
    pub(crate) async fn at_provider(&mut self, url: &str, form: Option<&str>) -> Response {
        let url = match url.strip_prefix('/') {
            Some(path) => format!("{}/{path}", provider()),
            None => url.to_owned(),
        };
        let client = Client::builder().redirect(Policy::none()).build().unwrap();
        let method = if form.is_some() {
            Method::POST
        } else {
            Method::GET
        };
        let cookies: Vec<_> = (self.at_provider.iter())
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let mut request = client.request(method, url);
        request = request.header("cookie", cookies.join("; "));
        if let Some(form) = form {
            let kind = "application/x-www-form-urlencoded";
            request = request.header("content-type", kind).body(form.to_owned());
        }
        let response = Response::of(request).await;
        for cookie in response.headers.get_all("set-cookie") {
            let (pair, _) = cookie.to_str().unwrap().split_once(';').unwrap();
            let (name, value) = pair.split_once('=').unwrap();
            self.at_provider.insert(name.to_owned(), value.to_owned());
        }
        self.at_provider.retain(|_, value| !value.is_empty());
        response
    }

    /// Begins at `path` and signs in at the provider. Returns the path of the service to which that leads back.
    pub(crate) async fn authorize(&mut self, path: &str, subject: &str) -> String {
        let begun = self.browser.get(path).await;
        assert_eq!(begun.status, 303, "{begun:?}");
        let mut url = begun.header("location").to_owned();
        for _ in 0..10 {
            if let Some(path) = url.strip_prefix(&self.browser.app.server.base) {
                return path.to_owned();
            }
            let mut response = self.at_provider(&url, None).await;
            if response.status == 200 {
                let form = action(&response.text);
                let login = format!("prompt=login&login={subject}&password=x");
                response = self.at_provider(&form, Some(&login)).await;
            }
            assert_eq!(response.status, 303, "{url}: {response:?}");
            response.header("location").clone_into(&mut url);
        }
        panic!("the provider leads nowhere: {url}");
    }

    /// Signs in by the provider. Returns what the service answers.
    pub(crate) async fn sign_in(&mut self, subject: &str) -> Response {
        let back = self.authorize("/app/oidc/login", subject).await;
        self.browser.get(&back).await
    }

    /// The address of the account, as its page shows it; `None` without a signed-in person.
    pub(crate) async fn account(&mut self) -> Option<String> {
        let page = self.browser.get("/app/account").await;
        if page.status == 303 {
            return None;
        }
        assert_eq!(page.status, 200, "{page:?}");
        let (_, rest) = page.text.split_once("<p class=\"hint\"><bdi>").unwrap();
        Some(rest.split('<').next().unwrap().to_owned())
    }
}

/// Where the form of a page leads.
pub(crate) fn action(page: &str) -> String {
    let (_, rest) = page.split_once("action=\"").expect(page);
    rest.split('"').next().unwrap().replace("&amp;", "&")
}
