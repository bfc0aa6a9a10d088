//! The page of a removed link.

use reqwest::Method;
use serde_json::json;

use super::browser::ACCEPT;
use crate::suite::abuse::{admin, id_of, send};
use crate::support::{App, Response, both_modes};

async fn page(app: &App, path: &str, language: &str) -> Response {
    let request = app.request(Method::GET, path).header("accept", ACCEPT);
    Response::of(request.header("accept-language", language)).await
}

async fn removed(app: &App, reason: &str, status: u16) -> String {
    let (admin, token) = (admin(app).await, app.register().await);
    let code = app.shorten(&token, "https://evil.example/").await;
    let body = json!({ "kind": "link", "value": code, "reason": reason, "status": status });
    id_of(&send(app, Method::POST, &admin, "/admin/removals", &body).await);
    code
}

both_modes! {
    async fn a_removed_links_page_says_why_and_who_removed_it(app) {
        for (status, language, title, label, legal) in [
            (410, "en", "This link was removed", "Reason:", false),
            (451, "de", "Dieser Link wurde entfernt", "Grund:", true),
            (451, "fr", "Ce lien a été retiré", "Motif :", true),
            (410, "es", "Este enlace fue retirado", "Motivo:", false),
            (410, "pt", "Este link foi removido", "Motivo:", false),
            (451, "zh", "此链接已被移除", "理由：", true),
            (410, "ja", "このリンクは削除されました", "理由：", false),
        ] {
            let code = removed(app, "Phishing of a bank\nsecond line", status).await;
            let mut texts = Vec::new();
            // The last but one is read by hyper, and the last one is the preview.
            for path in [format!("/{code}"), format!("/urls/r/{code}"), format!("/{code}?a=b"), format!("/%{:02x}{}", code.as_bytes()[0], &code[1..]), format!("/{code}+")] {
                let page = page(app, &path, language).await;
                assert_eq!(page.status, status, "{path}");
                assert_eq!(page.header("link"), "</>; rel=\"blocked-by\"", "{path}");
                assert_eq!(page.header("content-type"), "text/html; charset=utf-8");
                for text in [format!("<h1>{title}</h1>"), format!("<p>{label}</p>"), "<bdi>Phishing of a bank\nsecond line</bdi>".to_owned(), "rel=\"blocked-by\"".to_owned()] {
                    assert!(page.text.contains(&text), "{path}: {text}: {page:?}");
                }
                assert!(!page.text.contains("evil.example") && !page.text.contains("<script"), "{page:?}");
                texts.push(page.text);
            }
            texts.dedup();
            assert_eq!(texts.len(), 1, "{texts:?}");
            let law = ["legal", "rechtlich", "légales", "legales", "legais", "法律", "法的"];
            assert_eq!(law.iter().any(|word| texts[0].contains(word)), legal, "{texts:?}");
            assert_eq!(app.clicks(&code).await, 0);
        }
    }

    async fn a_reason_is_shown_as_text_whatever_it_is(app) {
        let reason = "</bdi></blockquote><script>alert(1)</script> \u{202e}\u{5d0}";
        let code = removed(app, reason, 410).await;
        let page = page(app, &format!("/{code}"), "en").await;
        assert!(page.text.contains("<bdi>&#60;/bdi&#62;&#60;/blockquote&#62;&#60;script&#62;alert(1)&#60;/script&#62; \u{202e}\u{5d0}</bdi>"), "{page:?}");
    }

    async fn the_reason_of_the_removal_that_the_status_is_of_is_shown(app) {
        let code = removed(app, "the milder one", 410).await;
        let admin = admin(app).await;
        let body = json!({ "kind": "host", "value": "evil.example", "reason": "by order of a court", "status": 451 });
        id_of(&send(app, Method::POST, &admin, "/admin/removals", &body).await);
        crate::suite::abuse::becomes(app, &code, 451).await;
        let page = page(app, &format!("/{code}"), "en").await;
        assert!(page.text.contains("by order of a court") && !page.text.contains("the milder one"), "{page:?}");
    }
}
