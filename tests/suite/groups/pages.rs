//! Groups on pages: made, chosen, their members, and what a viewer does not get.

use reqwest::Method;
use serde_json::json;

use super::{code_of, group_of, member, person, send, shorten};
use crate::suite::web::browser::{Browser, leads_to};
use crate::support::{App, Response, both_modes};

/// The token of the last form of a page: the first ones are about the session.
pub(crate) fn last_token(page: &str) -> String {
    let at = page.rfind("name=\"csrf\" value=\"").expect(page);
    page[at..].split('"').nth(3).unwrap().to_owned()
}

async fn submit(
    browser: &mut Browser<'_>,
    page: &str,
    path: &str,
    fields: &[(&str, &str)],
) -> Response {
    let csrf = last_token(&browser.get(page).await.text);
    browser.send_with(&csrf, path, fields, &[]).await
}

async fn choose(browser: &mut Browser<'_>, group: &str) -> Response {
    browser
        .send("/app/groups", "/app/groups/choose", &[("group", group)])
        .await
}

async fn signed_in<'a>(app: &'a App, person: &super::Person) -> Browser<'a> {
    let mut browser = Browser::new(app);
    let fields = [
        ("email", person.email.as_str()),
        ("password", super::PASSWORD),
    ];
    leads_to(
        &browser.send("/app/login", "/app/login", &fields).await,
        "/app",
    );
    browser
}

both_modes! {
    async fn a_group_is_made_chosen_and_left_on_pages(app) {
        let owner = person(app).await;
        let mut browser = signed_in(app, &owner).await;
        let empty = browser.get("/app/groups").await;
        assert!(empty.text.contains("You are in no group yet."), "{empty:?}");
        let refused = submit(&mut browser, "/app/groups", "/app/groups", &[("name", " ")]).await;
        assert_eq!(refused.status, 422, "{refused:?}");
        let made = submit(&mut browser, "/app/groups", "/app/groups", &[("name", "Sales & more")]).await;
        let page = made.header("location").to_owned();
        let number = page.split('?').next().unwrap().rsplit('/').next().unwrap().to_owned();
        assert!(browser.get(&page).await.text.contains("Sales &#38; more"));
        leads_to(&choose(&mut browser, &number).await, "/app");
        let made = submit(&mut browser, "/app/links/new", "/app/links", &[("target_url", "https://example.org/shared")]).await;
        assert_eq!(made.status, 303, "{made:?}");
        let list = browser.get("/app").await;
        assert!(list.text.contains("/shared") && list.text.contains("You see the links of the group"), "{list:?}");
        leads_to(&choose(&mut browser, "").await, "/app");
        let list = browser.get("/app").await;
        assert!(!list.text.contains("/shared") && !list.text.contains("You see the links of the group"), "{list:?}");
    }

    async fn members_are_added_changed_and_removed_on_a_page(app) {
        let (owner, other) = (person(app).await, person(app).await);
        let group = group_of(app, &owner).await;
        let mut browser = signed_in(app, &owner).await;
        let (page, members) = (format!("/app/groups/{group}"), format!("/app/groups/{group}/members"));
        let unknown = submit(&mut browser, &page, &members, &[("email", "nobody@example.org"), ("role", "viewer")]).await;
        assert_eq!(unknown.status, 404, "{unknown:?}");
        assert!(unknown.text.contains("There is no account with this address."), "{unknown:?}");
        leads_to(&submit(&mut browser, &page, &members, &[("email", &other.email), ("role", "viewer")]).await, &format!("{page}?done=member"));
        let number = app.get_as(&other.token, "/auth/me").await.json()["id"].to_string();
        leads_to(&submit(&mut browser, &page, &members, &[("member", &number), ("role", "editor")]).await, &format!("{page}?done=member"));
        assert_eq!(app.get_as(&other.token, "/groups").await.json()[0]["role"], "editor");
        let remove = format!("{members}/{number}/remove");
        let question = browser.get(&remove).await;
        assert!(question.text.contains(&other.email), "{question:?}");
        leads_to(&submit(&mut browser, &remove, &remove, &[]).await, &format!("{page}?done=removed"));
        assert_eq!(app.get_as(&other.token, "/groups").await.text, "[]\n");
    }

    async fn a_form_of_one_account_does_nothing_in_another(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let mut browser = signed_in(app, &owner).await;
        let own = last_token(&browser.get("/app/links/new").await.text);
        leads_to(&choose(&mut browser, &group.to_string()).await, "/app");
        let fields = [("target_url", "https://example.org/mistaken")];
        let refused = browser.send_with(&own, "/app/links", &fields, &[]).await;
        assert_eq!(refused.status, 403, "{refused:?}");
        assert_eq!(super::get(app, &owner.token, group, "/urls/my").await.text, "[]\n");
    }

    async fn a_viewer_has_no_buttons_and_is_refused(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let code = code_of(&shorten(app, &owner.token, group, &json!({ "tags": ["a"] })).await);
        let viewer = member(app, &owner, group, "viewer").await;
        let mut browser = signed_in(app, &viewer).await;
        leads_to(&choose(&mut browser, &group.to_string()).await, "/app");
        for (path, button) in [
            ("/app".to_owned(), "/app/links/new"), (format!("/app/links/{code}"), "/edit"),
            ("/app/tags".to_owned(), "/app/tags/delete"), (format!("/app/groups/{group}"), "/delete"),
        ] {
            let page = browser.get(&path).await;
            assert_eq!(page.status, 200, "{page:?}");
            assert!(!page.text.contains(button), "{path}: {page:?}");
        }
        for path in ["/app/links/new".to_owned(), format!("/app/links/{code}/edit")] {
            assert_eq!(browser.get(&path).await.status, 403, "{path}");
        }
        let refused = submit(&mut browser, "/app", "/app/links", &[("target_url", "https://example.org/")]).await;
        assert_eq!(refused.status, 403, "{refused:?}");
    }

    async fn pages_show_the_own_links_once_a_member_is_removed(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let code = code_of(&shorten(app, &owner.token, group, &json!({})).await);
        let editor = member(app, &owner, group, "editor").await;
        let mut browser = signed_in(app, &editor).await;
        leads_to(&choose(&mut browser, &group.to_string()).await, "/app");
        let page = format!("/app/links/{code}");
        assert_eq!(browser.get(&page).await.status, 200);
        let path = format!("/groups/{group}/members/{}", editor.email);
        assert_eq!(send(app, &owner.token, None, (Method::DELETE, &path), &json!({})).await.status, 204);
        assert_eq!(browser.get(&page).await.status, 404);
        assert!(!browser.get("/app").await.text.contains("You see the links of the group"));
        assert_eq!(choose(&mut browser, &group.to_string()).await.status, 404);
    }

    async fn links_are_moved_from_the_list_and_handed_over_by_who_leaves(app) {
        let owner = person(app).await;
        let group = group_of(app, &owner).await;
        let leaver = member(app, &owner, group, "editor").await;
        let codes = [app.shorten(&leaver.token, "https://example.org/1").await, app.shorten(&leaver.token, "https://example.org/2").await];
        let mut browser = signed_in(app, &leaver).await;
        let number = group.to_string();
        let moved = submit(&mut browser, "/app", "/app/links/selected", &[("action", "move"), ("to", &number), ("code", &codes[0])]).await;
        assert!(moved.header("location").contains("done=moved"), "{moved:?}");
        assert_eq!(super::codes(&super::get(app, &owner.token, group, "/urls/my").await), [codes[0].as_str()]);
        let question = browser.get("/app/account/delete").await;
        assert!(question.text.contains("They go to the group Marketing"), "{question:?}");
        let fields = [("links_to", number.as_str()), ("password", super::PASSWORD)];
        let deleted = submit(&mut browser, "/app/account/delete", "/app/account/delete", &fields).await;
        leads_to(&deleted, "/app/login");
        let mut kept = super::codes(&super::get(app, &owner.token, group, "/urls/my").await);
        kept.sort_unstable();
        let mut expected = codes.to_vec();
        expected.sort_unstable();
        assert_eq!(kept, expected);
    }
}
