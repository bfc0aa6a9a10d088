//! Hosts beside the service's own, on the pages of administrators, without JavaScript.

use reqwest::Method;
use serde_json::json;

use super::admin::administrator;
use super::browser::leads_to;
use crate::support::{App, Response, both_modes};

/// The status with which a host answers, and where it leads.
async fn leads(app: &App, host: &str, path: &str) -> (u16, String) {
    let response = Response::of(app.request(Method::GET, path).header("host", host)).await;
    let location = response.header("location").to_owned();
    (response.status.as_u16(), location)
}

/// Makes a link on a host.
async fn make(app: &App, domain: &str, code: &str) -> String {
    let token = app.register().await;
    let link = json!({"target_url": "https://example.org/", "custom_code": code, "domain": domain});
    let request = app.request(Method::POST, "/urls/shorten");
    let made = Response::of(request.bearer_auth(&token).json(&link)).await;
    assert_eq!(made.status, 200, "{made:?}");
    token
}

const PAGE: &str = "/app/admin/domains";

both_modes! {
    async fn a_host_is_added_changed_and_deleted_on_its_pages(app) {
        let mut admin = administrator(app).await;
        let fields = [
            ("host", "Go.Test:8443"), ("root_url", "https://example.org/root"), ("for", "all"),
            ("assetlinks", "[\r\n]"), ("not_found_url", ""), ("owners", ""), ("apple_app_site_association", ""),
        ];
        leads_to(&admin.send(PAGE, PAGE, &fields).await, "/app/admin/domains?done=added");
        let list = admin.get("/app/admin/domains?done=added&q=go.TEST").await.text;
        for part in ["Added.", "Go.Test:8443", "0 links", "Every account", "href=\"/app/admin/domains/go.test\""] {
            assert!(list.contains(part), "{part}: {list}");
        }
        assert!(admin.get("/app/admin/domains?q=other").await.text.contains("No entries."));
        assert_eq!(leads(app, "go.test", "/").await, (302, "https://example.org/root".to_owned()));
        assert_eq!(leads(app, "go.test", "/.well-known/assetlinks.json").await.0, 200);
        let token = make(app, "go.test", "spring").await;
        assert!(admin.get(PAGE).await.text.contains("1 link ·"));

        let one = "/app/admin/domains/go.test";
        let page = admin.get(one).await.text;
        assert!(page.contains("https://example.org/root"), "{page}");
        let owner = app.get_as(&token, "/auth/me").await.json()["email"].as_str().unwrap().to_owned();
        let owners = format!("{owner}\r\n");
        let fields = [("root_url", ""), ("not_found_url", "https://example.org/lost"), ("for", "some"), ("owners", owners.as_str()), ("assetlinks", "")];
        leads_to(&admin.send(one, one, &fields).await, "/app/admin/domains/go.test?done=changed");
        let page = admin.get(&format!("{one}?done=changed")).await.text;
        assert!(page.contains("Saved.") && page.contains(&owner), "{page}");
        assert!(admin.get(PAGE).await.text.contains(&owner));
        assert_eq!(leads(app, "go.test", "/").await.0, 404);
        assert_eq!(leads(app, "go.test", "/unknown").await, (302, "https://example.org/lost".to_owned()));

        let ask = admin.get(&format!("{one}/delete")).await.text;
        assert!(ask.contains("Delete the domain Go.Test:8443?"), "{ask}");
        let delete = format!("{one}/delete");
        let refused = admin.send(one, &delete, &[]).await;
        assert_eq!(refused.status, 409);
        assert!(refused.text.contains("The domain has links. Delete them first, also from bins."), "{refused:?}");
        for path in ["/urls/spring?domain=go.test", "/urls/trash/spring?domain=go.test"] {
            Response::of(app.request(Method::DELETE, path).bearer_auth(&token)).await;
        }
        leads_to(&admin.send(one, &delete, &[]).await, "/app/admin/domains?done=deleted");
        leads_to(&admin.send(PAGE, &delete, &[]).await, "/app/admin/domains?done=none");
        assert_eq!(admin.get(one).await.status, 404);
        assert_eq!(leads(app, "go.test", "/docs").await.0, 200);
        let audit = admin.get("/app/admin/audit").await.text;
        assert!(audit.contains("Added a domain:") && audit.contains("Deleted a domain:"), "{audit}");
    }

    async fn what_was_typed_of_a_host_is_kept_when_it_is_refused(app) {
        let mut admin = administrator(app).await;
        let typed = "https://example.org/typed";
        let whole = |name: &'static str, value: &'static str| {
            let mut fields = vec![("host", "go.test"), ("root_url", typed), ("for", "all"), ("owners", ""), ("assetlinks", "")];
            fields.retain(|(known, _)| *known != name);
            fields.push((name, value));
            if name == "owners" {
                fields.retain(|(known, _)| *known != "for");
            }
            fields
        };
        for (name, value, said) in [
            ("host", "a b", "Enter a host such as go.example.org"),
            ("host", "127.0.0.1", "This is the service’s own host"),
            ("not_found_url", "https://GO.test/a", "The address must not lead back to this host."),
            ("owners", "nobody@example.org", "No account has the address nobody@example.org"),
            ("owners", "nobody", "Enter e-mail addresses of accounts"),
            ("assetlinks", "{", "Enter valid JSON"),
        ] {
            let refused = admin.send(PAGE, PAGE, &whole(name, value)).await;
            assert_eq!(refused.status, 422, "{name} {value}: {refused:?}");
            assert!(refused.text.contains(said) && refused.text.contains(typed), "{said}: {}", refused.text);
            assert!(refused.text.contains("aria-invalid=\"true\""), "{name}");
        }
        leads_to(&admin.send(PAGE, PAGE, &whole("", "")).await, "/app/admin/domains?done=added");
        let again = admin.send(PAGE, PAGE, &whole("", "")).await;
        assert_eq!(again.status, 409);
        assert!(again.text.contains("This domain is already there.") && again.text.contains(typed), "{again:?}");
        let one = "/app/admin/domains/go.test";
        let refused = admin.send(one, one, &whole("assetlinks", "{")).await;
        assert_eq!(refused.status, 422);
        assert!(refused.text.contains("Enter valid JSON") && refused.text.contains(typed), "{refused:?}");
    }
}
