//! `shunt login` to an account with a second factor.

use std::io::Write;
use std::process::{Output, Stdio};

use super::{PASSWORD, Second, secured};
use crate::support::{App, Mode, command};

/// Logs in with these lines on standard input.
fn run(app: &App, args: &[&str], input: &str) -> Output {
    let home = tempfile::tempdir().unwrap();
    let mut command = command(&[]);
    command
        .args(["login", "--server", &app.server.base])
        .args(args)
        .env("HOME", home.path())
        .env("XDG_CONFIG_HOME", home.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    child.wait_with_output().unwrap()
}

#[tokio::test]
async fn a_login_takes_the_code_as_an_argument_or_asks_for_it() {
    let app = App::start(Mode::Embedded).await;
    let (_, email, second) = secured(&app).await;
    let Second { recovery, .. } = &second;
    let said = run(&app, &[&email, "--otp", &second.code(0)], PASSWORD);
    assert!(said.status.success(), "{said:?}");
    let asked = run(&app, &[&email], &format!("{PASSWORD}\n{}\n", recovery[0]));
    assert!(asked.status.success(), "{asked:?}");
    for (args, input, fault) in [
        (
            vec![email.as_str()],
            PASSWORD.to_owned(),
            "no password or key",
        ),
        (
            vec![&email],
            format!("{PASSWORD}\nnonsense\n"),
            "Invalid one-time password",
        ),
        (
            vec![&email, "--otp", &recovery[0]],
            PASSWORD.to_owned(),
            "Invalid one-time password",
        ),
        (
            vec![&email],
            "wrong horse\n123456\n".to_owned(),
            "Incorrect email or password",
        ),
    ] {
        let refused = run(&app, &args, &input);
        let text = String::from_utf8_lossy(&refused.stderr);
        assert!(!refused.status.success() && text.contains(fault), "{text}");
    }
    app.finish().await;
}
