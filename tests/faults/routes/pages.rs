//! Requests to pages.

use reqwest::Method;
use serde_json::json;

use super::requests::{
    Account, GRANT, PASSWORD, Requests, between, invited, removed, reported, shared,
};
use crate::suite::statements::old_link;
use crate::suite::two_factors::passkeys::{add as add_passkey, signed as signed_by};
use crate::suite::two_factors::{give_password, log_in, secured};
use crate::suite::web::browser::{Browser, token};
use crate::support::{App, Response, email_token, reset_token, unique};

/// A browser whose pages' token is kept beside its cookies.
async fn browser<'a>(app: &'a App, page: &str) -> Browser<'a> {
    let mut browser = Browser::new(app);
    keep_token(&mut browser, page).await;
    browser
}

async fn keep_token(browser: &mut Browser<'_>, page: &str) {
    let csrf = token(&browser.get(page).await.text);
    browser.cookies.insert("csrf".to_owned(), csrf);
}

pub(super) async fn signed_up(app: &App) -> (Browser<'_>, String) {
    let mut browser = Browser::new(app);
    let email = browser.sign_up().await;
    keep_token(&mut browser, "/app/account").await;
    (browser, email)
}

pub(super) async fn visitors(all: &mut Requests<'_>) {
    let app = all.app;
    let token = app.register().await;
    let code = app.shorten(&token, "https://example.org/").await;
    let filled = [("short_code", code.as_str())];
    let mut visitor = browser(app, &format!("/app/report/{code}")).await;
    let start = visitor.get("/").await.text;
    let file = between(&start, "href=\"/assets/", "\"");
    all.page(&visitor, "GET /", &[], &[]);
    all.page(&visitor, "GET /assets/{file}", &[("file", &file)], &[]);
    all.page(&visitor, "GET /app/preview/{short_code}", &filled, &[]);
    all.page(&visitor, "GET /app/report/{short_code}", &filled, &[]);
    all.page(
        &visitor,
        "POST /app/report/{short_code}",
        &filled,
        &[("reason", "phishing")],
    );
    // Without an identity provider they lead to the account's own pages.
    for page in ["callback", "join", "login", "logout"] {
        all.page(&visitor, &format!("GET /app/oidc/{page}"), &[], &[]);
    }
    all.page(
        &visitor,
        "POST /app/oidc/join",
        &[],
        &[("password", PASSWORD)],
    );
    let owner = Account::new(app).await;
    let fresh = format!("{}@example.org", unique());
    let forgetful = browser(app, "/app/login").await;
    all.page(&forgetful, "GET /app/forgot", &[], &[]);
    let email = [("email", owner.email.as_str())];
    all.page(&forgetful, "POST /app/forgot", &[], &email);
    let account = Account::new(app).await;
    let link = [("token", &*reset_token(app, &account.email).await)];
    all.page(&forgetful, "GET /app/forgot/{token}", &link, &[]);
    let password = [("password", PASSWORD)];
    all.page(&forgetful, "POST /app/forgot/{token}", &link, &password);
    let (_, email, second) = secured(app).await;
    let mut entering = Browser::new(app);
    give_password(&mut entering, &email).await;
    keep_token(&mut entering, "/app/login/code").await;
    let code = [("otp", second.recovery[0].as_str())];
    all.page(&entering, "GET /app/login/code", &[], &[]);
    all.page(&entering, "POST /app/login/code", &[], &code);
    let mut keeper = Browser::new(app);
    keeper.sign_up().await;
    let mut device = add_passkey(&mut keeper, "").await;
    let mut entering = Browser::new(app);
    let form = signed_by(&mut entering, &mut device).await;
    let [(_, csrf), answer @ ..] = &form;
    entering.cookies.insert("csrf".to_owned(), csrf.clone());
    let answer = answer
        .each_ref()
        .map(|(name, value)| (*name, value.as_str()));
    all.page(&entering, "POST /app/login/passkey", &[], &answer);
    for (path, email) in [("login", &owner.email), ("register", &fresh)] {
        let path = format!("/app/{path}");
        let visitor = browser(app, &path).await;
        all.page(&visitor, &format!("GET {path}"), &[], &[]);
        let fields = [("email", email.as_str()), ("password", PASSWORD)];
        all.page(&visitor, &format!("POST {path}"), &[], &fields);
    }
}

pub(super) async fn owners(all: &mut Requests<'_>) {
    let app = all.app;
    let (mut owner, email) = signed_up(app).await;
    let token = app.account("/auth/login", &email, PASSWORD).await.json();
    all.fill(token["access_token"].as_str().unwrap()).await;
    let target = [("target_url", "https://example.org/")];
    let (code, gone, selected) = (
        owner.make(&target).await,
        owner.make(&target).await,
        owner.make(&target).await,
    );
    let filled = [("short_code", code.as_str())];
    for path in [
        "/app",
        "/app/all",
        "/app/all/count",
        "/app/all/export",
        "/app/export",
        "/app/import",
        "/app/links",
        "/app/links/new",
        "/app/links/selected/delete",
        "/app/links/{short_code}",
        "/app/links/{short_code}/delete",
        "/app/links/{short_code}/edit",
        "/app/links/{short_code}/export",
        "/app/links/{short_code}/live",
        "/app/links/{short_code}/qr",
        "/app/links/{short_code}/rules",
        "/app/tags",
        "/app/tags/delete",
    ] {
        all.page(&owner, &format!("GET {path}"), &filled, &[]);
    }
    let page = owner.get(&format!("/app/links/{code}/edit")).await.text;
    let revision = between(&page, "name=\"revision\" value=\"", "\"");
    all.page(&owner, "POST /app/links/new", &[], &target);
    all.page(&owner, "POST /app/links", &[], &target);
    let edit = [
        ("revision", revision.as_str()),
        ("target_url", "https://example.org/new"),
        ("is_active", "on"),
    ];
    all.page(&owner, "POST /app/links/{short_code}/edit", &filled, &edit);
    let switch = [("active", "on")];
    all.page(&owner, "POST /app/links/{short_code}", &filled, &switch);
    let ruled = owner.make(&target).await;
    let filled = [("short_code", ruled.as_str())];
    let page = owner.get(&format!("/app/links/{ruled}/rules")).await.text;
    let revision = between(&page, "name=\"revision\" value=\"", "\"");
    let rule = [
        ("revision", revision.as_str()),
        ("action", "save"),
        ("device", "phone"),
        ("targets", "https://example.org/app"),
    ];
    all.page(&owner, "POST /app/links/{short_code}/rules", &filled, &rule);
    all.page(
        &owner,
        "POST /app/links/{short_code}/delete",
        &[("short_code", &gone)],
        &[],
    );
    let chosen = [("code", selected.as_str())];
    all.page(&owner, "POST /app/links/selected/delete", &[], &chosen);
    let tag = [
        ("action", "tag"),
        ("tag", "new"),
        ("code", selected.as_str()),
    ];
    all.page(&owner, "POST /app/links/selected", &[], &tag);
    let token = token["access_token"].as_str().unwrap();
    tags_and_bin(all, &mut owner, token).await;
}

/// The pages of tags, of the bin and of imports.
async fn tags_and_bin(all: &mut Requests<'_>, owner: &mut Browser<'_>, token: &str) {
    let (app, target) = (all.app, "https://example.org/");
    let tagged = [("target_url", target), ("tags", "old,gone")];
    owner.make(&tagged).await;
    all.page(
        owner,
        "POST /app/tags",
        &[],
        &[("tag", "old"), ("new", "newer")],
    );
    all.page(owner, "POST /app/tags/delete", &[], &[("tag", "gone")]);
    let shown = app.shorten(token, target).await;
    let [share, other] = [
        shared(app, token, &shown).await,
        shared(app, token, &shown).await,
    ];
    let (id, newest) = (share["id"].to_string(), other["id"].to_string());
    let secret = other["token"].as_str().unwrap();
    let filled = [("short_code", &*shown), ("id", &*id), ("token", secret)];
    let newest = [("newest", &*newest)];
    all.page(owner, "GET /app/links/{short_code}/shares", &filled, &[]);
    all.page(
        owner,
        "POST /app/links/{short_code}/shares",
        &filled,
        &newest,
    );
    all.page(
        owner,
        "POST /app/links/{short_code}/shares/{id}/end",
        &filled,
        &[],
    );
    all.page(owner, "GET /app/shared/{token}", &filled, &[]);
    let old = old_link(app, token).await;
    let old = [("short_code", old.as_str())];
    all.page(owner, "GET /app/links/{short_code}/statements", &old, &[]);
    let file = format!("/app/links/{}/statement?month=2026-10", old[0].1);
    let file = owner.request(Method::GET, &file);
    all.add("GET /app/links/{short_code}/statement", "", file);
    all.page(owner, "GET /app/trash", &[], &[]);
    let deleted = app.shorten(token, target).await;
    let code = [("short_code", deleted.as_str())];
    all.page(owner, "POST /app/trash/restore", &[], &[("code", &deleted)]);
    for method in ["GET", "POST"] {
        let route = format!("{method} /app/trash/{{short_code}}/delete");
        all.page(owner, &route, &code, &[]);
    }
    let table = [
        ("action", "make"),
        ("table", "target_url\nhttps://example.org/"),
    ];
    all.page(owner, "POST /app/import", &[], &table);
}

pub(super) async fn accounts(all: &mut Requests<'_>) {
    let app = all.app;
    let (mut owner, _) = signed_up(app).await;
    for path in [
        "/app/account",
        "/app/account/delete",
        "/app/logout-everywhere",
    ] {
        all.page(&owner, &format!("GET {path}"), &[], &[]);
    }
    let key = [("name", "a key"), ("scope", "read")];
    owner.send("/app/account", "/app/account/keys", &key).await;
    let account = owner.get("/app/account").await.text;
    let id = between(&account, "/app/account/keys/", "/");
    let other = [("name", "another key"), ("scope", "read")];
    all.page(&owner, "POST /app/account/keys", &[], &other);
    let language = [("language", "de")];
    all.page(&owner, "POST /app/account/language", &[], &language);
    all.page(&owner, "POST /app/account/sharex", &[], &[]);
    all.page(&owner, "GET /app/manifest.webmanifest", &[], &[]);
    for method in ["GET", "POST"] {
        let route = format!("{method} /app/account/keys/{{id}}/delete");
        all.page(&owner, &route, &[("id", &id)], &[]);
    }
    let password = [("password", PASSWORD)];
    let passwords = [
        ("old_password", PASSWORD),
        ("new_password", "another horse"),
    ];
    let (mut careful, _, second) = secured(app).await;
    keep_token(&mut careful, "/app/account").await;
    let codes = [
        ("action", "codes"),
        ("password", PASSWORD),
        ("otp", &second.recovery[0]),
    ];
    all.page(&careful, "GET /app/account/two-factors", &[], &[]);
    all.page(&careful, "POST /app/account/two-factors", &[], &codes);
    let begin = [("action", "begin"), ("password", PASSWORD)];
    all.page(&owner, "GET /app/account/passkeys", &[], &[]);
    all.page(&owner, "POST /app/account/passkeys", &[], &begin);
    another_address(all).await;
    hooks(all).await;
    let (leaving, _) = signed_up(app).await;
    all.page(&leaving, "POST /app/account/delete", &[], &password);
    let (changing, _) = signed_up(app).await;
    all.page(&changing, "POST /app/account/password", &[], &passwords);
    let (mut ending, _) = signed_up(app).await;
    let account = ending.get("/app/account").await.text;
    let id = between(&account, "/app/account/sessions/", "/");
    for method in ["GET", "POST"] {
        let route = format!("{method} /app/account/sessions/{{id}}/end");
        all.page(&ending, &route, &[("id", &id)], &[]);
    }
    for path in ["/app/logout", "/app/logout-everywhere"] {
        let (ending, _) = signed_up(app).await;
        all.page(&ending, &format!("POST {path}"), &[], &[]);
    }
}

/// The pages of hooks.
async fn hooks(all: &mut Requests<'_>) {
    let (mut owner, _) = signed_up(all.app).await;
    let new = [("url", "https://example.org/in"), ("type", "hook.off")];
    let made = |newest| [&new[..], &[("newest", newest)]].concat();
    let first = owner.send("/app/hooks", "/app/hooks", &made("0")).await;
    let first = between(&first.text, "href=\"/app/hooks/", "\"");
    let second = owner.send("/app/hooks", "/app/hooks", &made(&first)).await;
    let second = between(&second.text, "href=\"/app/hooks/", "\"");
    all.page(&owner, "GET /app/hooks", &[], &[]);
    let route = "GET /app/hooks/{id}/delete";
    all.page(&owner, route, &[("id", &first)], &[]);
    all.page(&owner, "GET /app/hooks/{id}", &[("id", &first)], &[]);
    let off = [("action", "off")];
    all.page(&owner, "POST /app/hooks/{id}", &[("id", &first)], &off);
    let route = "POST /app/hooks/{id}/delete";
    all.page(&owner, route, &[("id", &second)], &[]);
    let (making, _) = signed_up(all.app).await;
    all.page(&making, "POST /app/hooks", &[], &made("0"));
}

/// The pages by which an account gets another address.
async fn another_address(all: &mut Requests<'_>) {
    let app = all.app;
    let fresh = || format!("{}@example.org", unique());
    let (moving, _) = signed_up(app).await;
    let new = fresh();
    let fields = [("email", new.as_str()), ("password", PASSWORD)];
    all.page(&moving, "GET /app/account/email", &[], &[]);
    all.page(&moving, "POST /app/account/email", &[], &fields);
    let (confirming, email) = signed_up(app).await;
    let token = email_token(app, &email, &fresh()).await;
    for method in ["GET", "POST"] {
        let route = format!("{method} /app/account/email/{{token}}");
        all.page(&confirming, &route, &[("token", &token)], &[]);
    }
}

pub(super) async fn administrators(all: &mut Requests<'_>) {
    let app = all.app;
    let (admin, email) = signed_up(app).await;
    app.backend.execute(GRANT, &email).await;
    let by = app.account("/auth/login", &email, PASSWORD).await.json();
    let by = by["access_token"].as_str().unwrap();
    for path in [
        "",
        "/accounts",
        "/audit",
        "/domains",
        "/invitations",
        "/links",
        "/removals",
        "/reports",
    ] {
        all.page(&admin, &format!("GET /app/admin{path}"), &[], &[]);
    }
    domains(all, &admin, &email, by).await;
    let code = app.shorten(by, "https://example.org/").await;
    let id = removed(
        app,
        by,
        "link",
        &app.shorten(by, "https://example.org/2").await,
    )
    .await;
    let fields = [
        ("kind", "link"),
        ("value", code.as_str()),
        ("reason", "phishing"),
        ("status", "410"),
    ];
    for path in ["/ask", ""] {
        let route = format!("POST /app/admin/removals{path}");
        all.page(&admin, &route, &[], &fields);
    }
    all.page(
        &admin,
        "POST /app/admin/removals/{id}/revoke",
        &[("id", &id)],
        &[],
    );
    let fields = [("email", &*format!("{}@example.org", unique()))];
    all.page(&admin, "POST /app/admin/invitations", &[], &fields);
    let (invitation, _) = invited(app, by).await;
    let route = "POST /app/admin/invitations/{id}/revoke";
    all.page(&admin, route, &[("id", &invitation)], &[]);
    let path = [("token", &*invited(app, by).await.1)];
    let joining = browser(app, &format!("/app/join/{}", path[0].1)).await;
    all.page(&joining, "GET /app/join/{token}", &path, &[]);
    let password = [("password", PASSWORD)];
    all.page(&joining, "POST /app/join/{token}", &path, &password);
    let other = Account::new(app).await;
    let user = app.get_as(&other.token, "/auth/me").await.json()["id"].to_string();
    for page in ["password", "role"] {
        let route = format!("/app/admin/accounts/{{id}}/{page}");
        all.page(&admin, &format!("GET {route}"), &[("id", &user)], &[]);
        let fields = [("role", "admin")];
        all.page(&admin, &format!("POST {route}"), &[("id", &user)], &fields);
    }
    let (_, email, second) = secured(app).await;
    let entered = log_in(app, &email, PASSWORD, &second.recovery[0]).await;
    let entered = entered.json()["access_token"].as_str().unwrap().to_owned();
    let user = app.get_as(&entered, "/auth/me").await.json()["id"].to_string();
    for method in ["GET", "POST"] {
        let route = format!("{method} /app/admin/accounts/{{id}}/factors");
        all.page(&admin, &route, &[("id", &user)], &[]);
    }
    let report = reported(app, by, &code).await;
    let route = "POST /app/admin/reports/{id}/close";
    all.page(&admin, route, &[("id", &report)], &[]);
    let banned = Account::new(app).await;
    let user = app.get_as(&banned.token, "/auth/me").await.json()["id"].to_string();
    removed(app, by, "user", &user).await;
    all.page(
        &admin,
        "POST /app/admin/accounts/{id}/unban",
        &[("id", &user)],
        &[],
    );
}

/// Hosts beside the service's own: the same service is asked in every weather, so their names are fresh.
async fn domains(all: &mut Requests<'_>, admin: &Browser<'_>, email: &str, by: &str) {
    let label = email.split('@').next().unwrap_or_default().to_lowercase();
    let named = |name: &str| format!("{name}-{label}.test");
    let (kept, gone, new) = (named("page"), named("going"), named("added"));
    for host in [&kept, &gone] {
        let request = all.app.request(Method::POST, "/admin/domains");
        let body = json!({ "host": host, "owners": "all" });
        let added = Response::of(request.bearer_auth(by).json(&body)).await;
        assert_eq!(added.status, 200, "{added:?}");
    }
    let fields = [("host", new.as_str()), ("for", "all")];
    all.page(admin, "POST /app/admin/domains", &[], &fields);
    let filled = [("host", kept.as_str())];
    for method in ["GET", "POST"] {
        let route = format!("{method} /app/admin/domains/{{host}}");
        all.page(admin, &route, &filled, &[("for", "all")]);
    }
    let route = "/app/admin/domains/{host}/delete";
    all.page(admin, &format!("GET {route}"), &filled, &[]);
    let filled = [("host", gone.as_str())];
    all.page(admin, &format!("POST {route}"), &filled, &[]);
}
