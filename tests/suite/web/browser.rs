//! A browser's side of the pages: cookies, forms with their token, redirects that are not followed.

use std::collections::BTreeMap;

use reqwest::{Method, RequestBuilder};

use crate::support::{App, Response, unique};

/// What browsers send as `Accept`.
pub(crate) const ACCEPT: &str =
    "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";

/// One browser.
pub(crate) struct Browser<'a> {
    pub(crate) app: &'a App,
    pub(crate) cookies: BTreeMap<String, String>,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(app: &'a App) -> Self {
        let cookies = BTreeMap::new();
        Self { app, cookies }
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let cookies: Vec<_> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let request = self.app.request(method, path).header("accept", ACCEPT);
        request.header("cookie", cookies.join("; "))
    }

    fn keep_cookies(&mut self, response: &Response) {
        for cookie in response.headers.get_all("set-cookie") {
            let cookie = cookie.to_str().unwrap();
            let (name, rest) = cookie.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap();
            if rest.contains("Max-Age=0") {
                self.cookies.remove(name);
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Response {
        let response = Response::of(self.request(Method::GET, path)).await;
        self.keep_cookies(&response);
        response
    }

    /// Sends a form of the page at `page`, with that page's token.
    pub(crate) async fn send(
        &mut self,
        page: &str,
        path: &str,
        fields: &[(&str, &str)],
    ) -> Response {
        let csrf = token(&self.get(page).await.text);
        self.send_with(&csrf, path, fields, &[]).await
    }

    pub(crate) async fn send_with(
        &mut self,
        csrf: &str,
        path: &str,
        fields: &[(&str, &str)],
        headers: &[(&str, &str)],
    ) -> Response {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.append_pair("csrf", csrf).extend_pairs(fields);
        let mut request = self
            .request(Method::POST, path)
            .header("content-type", "application/x-www-form-urlencoded");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = Response::of(request.body(body.finish())).await;
        self.keep_cookies(&response);
        response
    }

    /// Sends a form with a file.
    pub(crate) async fn upload(
        &mut self,
        path: &str,
        fields: &[(&str, &str)],
        file: &[u8],
    ) -> Response {
        let mut body = Vec::new();
        for (name, value) in fields {
            let head = format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n");
            body.extend_from_slice(format!("{head}{value}\r\n").as_bytes());
        }
        let head = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"links.csv\"\r\nContent-Type: text/csv\r\n\r\n";
        body.extend_from_slice(head.as_bytes());
        body.extend_from_slice(file);
        body.extend_from_slice(b"\r\n--b--\r\n");
        let request = self.request(Method::POST, path);
        let request = request.header("content-type", "multipart/form-data; boundary=b");
        let request = request.header("sec-fetch-site", "same-origin");
        Response::of(request.body(body)).await
    }

    /// Signs up with a fresh address, which is returned.
    pub(crate) async fn sign_up(&mut self) -> String {
        let email = format!("{}@example.org", unique());
        let fields = [("email", email.as_str()), ("password", "correct horse")];
        let response = self.send("/app/register", "/app/register", &fields).await;
        leads_to(&response, "/app");
        email
    }

    /// Makes a link and returns its code.
    pub(crate) async fn make(&mut self, fields: &[(&str, &str)]) -> String {
        let made = self.send("/app/links/new", "/app/links", fields).await;
        assert_eq!(made.status, 303, "{made:?}");
        let path = made.header("location").strip_prefix("/app/links/").unwrap();
        path.split('?').next().unwrap().to_owned()
    }
}

/// The token of the forms on a page.
pub(crate) fn token(page: &str) -> String {
    let at = page.find("name=\"csrf\" value=\"").expect(page);
    page[at..].split('"').nth(3).unwrap().to_owned()
}

pub(crate) fn leads_to(response: &Response, path: &str) {
    assert_eq!(response.status, 303, "{response:?}");
    assert_eq!(response.header("location"), path);
}
