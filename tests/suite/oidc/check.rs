//! `shunt config --check-oidc`.

use serde_json::json;

use super::own_provider::OwnProvider;
use crate::support::provider::{provider, register_client};
use crate::support::{command, free_port};

const BASE: &str = "https://sho.rt";

/// What the command prints, and whether it is content.
async fn checked(issuer: &str, more: &[(&str, &str)]) -> (String, bool) {
    let mut settings = vec![
        ("BASE_URL".to_owned(), BASE.to_owned()),
        ("OIDC_ISSUER".to_owned(), issuer.to_owned()),
        ("OIDC_CLIENT_ID".to_owned(), "shunt".to_owned()),
    ];
    settings.extend((more.iter()).map(|(name, value)| ((*name).into(), (*value).into())));
    let run = move || {
        let mut command = command(&settings);
        command.args(["config", "--check-oidc"]).output().unwrap()
    };
    let output = tokio::task::spawn_blocking(run).await.unwrap();
    let text = [output.stdout, output.stderr].concat();
    (String::from_utf8(text).unwrap(), output.status.success())
}

#[tokio::test]
async fn a_certified_provider_is_content_and_what_to_register_is_said() {
    let client = register_client(BASE, "RS256").await;
    let secret = [("OIDC_CLIENT_SECRET", client.secret.as_str())];
    let (text, is_content) = checked(provider(), &secret).await;
    assert!(is_content, "{text}");
    for line in [
        "ok     signs by RS256, ES256, EdDSA",
        "ok     3 keys that can be used",
        "note   register as callback address (redirect URI): https://sho.rt/app/oidc/callback",
        "note   register as address after signing out (post-logout redirect URI): https://sho.rt/app/login",
        "note   register as back-channel logout address: https://sho.rt/app/oidc/backchannel-logout",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    assert!(
        !text.contains("WRONG") && !text.contains(&client.secret),
        "{text}"
    );
}

#[tokio::test]
async fn each_fault_is_named_with_what_to_do() {
    let own = OwnProvider::start().await;
    let (text, is_content) = checked(&format!("{}/realms/other", own.base), &[]).await;
    assert!(!is_content && text.contains("answered 404"), "{text}");
    let nobody = format!("http://127.0.0.1:{}", free_port());
    let (text, is_content) = checked(&nobody, &[]).await;
    assert!(!is_content && text.contains("is it running"), "{text}");
    for (name, value, sentence) in [
        (
            "issuer",
            json!("https://another.example"),
            "calls itself https://another.example",
        ),
        (
            "id_token_signing_alg_values_supported",
            json!(["HS256", "PS256"]),
            "signs by HS256, PS256 only",
        ),
        (
            "response_types_supported",
            json!(["id_token"]),
            "does not offer the code flow",
        ),
        (
            "code_challenge_methods_supported",
            json!(["plain"]),
            "does not offer PKCE by S256",
        ),
        (
            "token_endpoint",
            json!("no address"),
            "names no https address as token_endpoint",
        ),
        (
            "jwks_uri",
            json!(format!("{}/none", own.base)),
            "answered 404",
        ),
        (
            "authorization_endpoint",
            json!(null),
            "has a field of another type",
        ),
    ] {
        let before = own.script().discovery[name].clone();
        own.script().discovery[name] = value;
        let (text, is_content) = checked(&own.base, &[]).await;
        assert!(
            !is_content && text.contains("WRONG") && text.contains(sentence),
            "{name}: {text}"
        );
        own.script().discovery[name] = before;
    }
    own.script().keys = json!({"keys": []});
    let (text, is_content) = checked(&own.base, &[]).await;
    assert!(
        !is_content && text.contains("has no key for RS256, ES256 or EdDSA"),
        "{text}"
    );
}

#[tokio::test]
async fn without_a_provider_the_command_says_so() {
    let settings = [("BASE_URL".to_owned(), BASE.to_owned())];
    let mut command = command(&settings);
    let output = command.args(["config", "--check-oidc"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && text.contains("OIDC_ISSUER is not set"),
        "{text}"
    );
}
