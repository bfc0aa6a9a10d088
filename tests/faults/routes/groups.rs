//! A request to each route of groups.

use reqwest::Method;
use serde_json::{Value, json};

use super::pages::signed_up;
use super::requests::{Account, PASSWORD, Requests};
use crate::support::{App, Response};

async fn sent(app: &App, token: &str, route: &str, body: &Value) -> Value {
    let (method, path) = route.split_once(' ').unwrap();
    let method: Method = method.parse().unwrap();
    let request = app.request(method, path).bearer_auth(token);
    let response = Response::of(request.json(body)).await;
    assert_eq!(response.status, 200, "{response:?}");
    response.json()
}

async fn group(app: &App, token: &str) -> String {
    let made = sent(app, token, "POST /groups", &json!({ "name": "Marketing" })).await;
    made["id"].to_string()
}

/// Makes an account a member; returns its number.
async fn member(app: &App, token: &str, group: &str) -> String {
    let member = Account::new(app).await;
    let route = format!("PUT /groups/{group}/members/{}", member.email);
    sent(app, token, &route, &json!({ "role": "viewer" })).await["id"].to_string()
}

pub(super) async fn api(all: &mut Requests<'_>) {
    let app = all.app;
    let owner = Account::new(app).await.token;
    let (kept, gone) = (group(app, &owner).await, group(app, &owner).await);
    let (stays, leaves) = (
        member(app, &owner, &kept).await,
        member(app, &owner, &kept).await,
    );
    let none = Value::Null;
    let name = json!({ "name": "Sales" });
    let of = [("id", kept.as_str())];
    all.api(&owner, "GET /groups", &[], "", &none);
    all.api(&owner, "POST /groups", &[], "", &name);
    all.api(&owner, "GET /groups/{id}", &of, "", &none);
    all.api(&owner, "PATCH /groups/{id}", &of, "", &name);
    all.api(&owner, "GET /groups/{id}/members", &of, "", &none);
    let of = |member| [("id", kept.as_str()), ("member", member)];
    let route = "/groups/{id}/members/{member}";
    let role = json!({ "role": "editor" });
    all.api(&owner, &format!("PUT {route}"), &of(&stays), "", &role);
    all.api(&owner, &format!("DELETE {route}"), &of(&leaves), "", &none);
    let of = [("id", gone.as_str())];
    all.api(&owner, "DELETE /groups/{id}", &of, "", &none);
}

pub(super) async fn pages(all: &mut Requests<'_>) {
    let app = all.app;
    let (owner, email) = signed_up(app).await;
    let token = app.account("/auth/login", &email, PASSWORD).await.json();
    let token = token["access_token"].as_str().unwrap();
    let (kept, gone) = (group(app, token).await, group(app, token).await);
    let (stays, leaves) = (
        member(app, token, &kept).await,
        member(app, token, &kept).await,
    );
    let key = json!({ "name": "a key", "scope": "read" });
    let made = app.request(Method::POST, "/auth/keys").bearer_auth(token);
    let made = made.header("Shunt-Group", &kept).json(&key);
    let key = Response::of(made).await.json()["id"].to_string();
    let name = [("name", "Sales")];
    all.page(&owner, "GET /app/groups", &[], &[]);
    all.page(&owner, "POST /app/groups", &[], &name);
    all.page(&owner, "POST /app/groups/choose", &[], &[("group", "")]);
    let of = [("id", kept.as_str())];
    all.page(&owner, "GET /app/groups/{id}", &of, &[]);
    all.page(&owner, "POST /app/groups/{id}", &of, &name);
    let new = [("name", "another"), ("scope", "read")];
    all.page(&owner, "POST /app/groups/{id}/keys", &of, &new);
    let role = [("member", stays.as_str()), ("role", "editor")];
    all.page(&owner, "POST /app/groups/{id}/members", &of, &role);
    for method in ["GET", "POST"] {
        let of = [("id", gone.as_str())];
        let route = format!("{method} /app/groups/{{id}}/delete");
        all.page(&owner, &route, &of, &[]);
        let of = [("id", kept.as_str()), ("key", key.as_str())];
        let route = format!("{method} /app/groups/{{id}}/keys/{{key}}/delete");
        all.page(&owner, &route, &of, &[]);
        let of = [("id", kept.as_str()), ("member", leaves.as_str())];
        let route = format!("{method} /app/groups/{{id}}/members/{{member}}/remove");
        all.page(&owner, &route, &of, &[]);
    }
}
