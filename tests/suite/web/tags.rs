//! The page of an owner's tags.

use super::browser::{Browser, leads_to};
use crate::support::both_modes;

const TARGET: (&str, &str) = ("target_url", "https://example.org/");

both_modes! {
    async fn a_tag_is_renamed_merged_and_deleted_on_its_page(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        assert!(browser.get("/app").await.text.contains("<a href=\"/app/tags\">Edit tags</a>"));
        assert!(browser.get("/app/tags").await.text.contains("No tags yet"));
        let code = browser.make(&[TARGET, ("tags", "old,kept")]).await;
        browser.make(&[TARGET, ("tags", "<b>&,kept")]).await;
        app.visit(&format!("/{code}")).await;
        let page = browser.get("/app/tags").await.text;
        for text in [
            "href=\"/app?tag=old\"><bdi>old</bdi></a>", "2 links · <a href=\"/app/all?tag=kept\" aria-label=\"1 click of kept\">1 click</a>",
            "<bdi>&#60;b&#62;&#38;</bdi>", "href=\"/app/tags/delete?tag=%3Cb%3E%26\"",
        ] {
            assert!(page.contains(text), "{text}: {page}");
        }
        let renamed = browser.send("/app/tags", "/app/tags", &[("tag", "old"), ("new", "new")]).await;
        leads_to(&renamed, "/app/tags?done=renamed");
        let page = browser.get("/app/tags?done=renamed").await.text;
        assert!(page.contains("Renamed.") && page.contains("href=\"/app?tag=new\""), "{page}");
        let refused = browser.send("/app/tags", "/app/tags", &[("tag", "new"), ("new", "a,b")]).await;
        assert_eq!(refused.status, 422);
        for text in ["<bdi>new</bdi>: A comma separates tags and cannot be part of one.", "name=\"new\" value=\"a,b\"", "aria-invalid=\"true\""] {
            assert!(refused.text.contains(text), "{text}: {}", refused.text);
        }
        browser.send("/app/tags", "/app/tags", &[("tag", "new"), ("new", "kept")]).await;
        let asked = browser.get("/app/tags/delete?tag=kept").await.text;
        assert!(asked.contains("Take the tag kept off all 2 links?") && asked.contains("The links themselves stay"), "{asked}");
        let deleted = browser.send("/app/tags/delete?tag=kept", "/app/tags/delete", &[("tag", "kept")]).await;
        leads_to(&deleted, "/app/tags?done=deleted");
        let again = browser.send("/app/tags", "/app/tags/delete", &[("tag", "kept")]).await;
        leads_to(&again, "/app/tags?done=none");
        leads_to(&browser.get("/app/tags/delete?tag=kept").await, "/app/tags?done=none");
        assert_eq!(browser.get("/app").await.text.matches("class=\"what\"").count(), 2);
    }

    async fn tags_are_shown_in_pages_and_a_form_comes_back_to_its_page(app) {
        let mut browser = Browser::new(app);
        browser.sign_up().await;
        for first in (100..215).step_by(20) {
            let tags: Vec<_> = (first..first + 20).map(|number| number.to_string()).collect();
            browser.make(&[TARGET, ("tags", &tags.join(","))]).await;
        }
        let page = browser.get("/app/tags").await.text;
        assert!(page.contains("rel=\"next\" href=\"/app/tags?cursor=199\""), "{page}");
        let page = browser.get("/app/tags?cursor=199").await.text;
        assert!(page.contains("<bdi>200</bdi>") && !page.contains("<bdi>199</bdi>") && page.contains("First page"), "{page}");
        assert!(page.contains("/app/tags/delete?tag=200&#38;cursor=199"), "{page}");
        let fields = [("tag", "200"), ("new", "200 a"), ("cursor", "199")];
        let renamed = browser.send("/app/tags?cursor=199", "/app/tags", &fields).await;
        leads_to(&renamed, "/app/tags?cursor=199&done=renamed");
    }
}
