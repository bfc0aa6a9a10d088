//! Families of browsers and systems, kinds of devices and known bots, by the `User-Agent`.
//!
//! The parser is ua-parser with the patterns of uap-core. It may name a family in the agent's own words, which a stranger
//! chooses; so only the families listed here are kept, and any other is not known.

use std::sync::{Arc, LazyLock};

use ua_parser::{Regexes, os, user_agent};

use super::bots::Bots;

/// The longest `User-Agent` of which something is read.
const MAX_SENT: usize = 2_048;

/// How many bytes are read: a longer agent is cut.
pub(super) const MAX_BYTES: usize = 512;

/// The beginning of a header's value as text; `None` if it is not text, or far too long.
pub(super) fn cut(agent: &[u8]) -> Option<&str> {
    if agent.len() > MAX_SENT {
        return None;
    }
    let beginning = &agent[..agent.len().min(MAX_BYTES)];
    match str::from_utf8(beginning) {
        Ok(text) => Some(text),
        // The last character is cut in two.
        Err(error) if agent.len() > MAX_BYTES && error.error_len().is_none() => {
            str::from_utf8(&beginning[..error.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

/// What is kept of an agent; as small as a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Agent {
    pub(super) browser: Option<&'static str>,
    pub(super) os: Option<&'static str>,
    pub(super) device: Option<&'static str>,
    /// `None` if unknown.
    pub(super) is_bot: Option<bool>,
}

/// The parsers, shared by all workers; cheap to clone. They take about 10 MB.
#[derive(Clone)]
pub(super) struct UserAgents(Arc<LazyLock<Parsers>>);

struct Parsers {
    browsers: user_agent::Extractor<'static>,
    systems: os::Extractor<'static>,
    bots: Bots,
}

/// Families of browsers, each with the parser's names for it. [`crate::domain::agent_words`] has the same families.
const BROWSERS: &[(&str, &[&str])] = &[
    ("Amazon Silk", &["Amazon Silk"]),
    ("Android Browser", &["Android"]),
    ("Brave", &["Brave"]),
    (
        "Chrome",
        &[
            "Chrome",
            "Chrome Mobile",
            "Chrome Mobile iOS",
            "Chrome Mobile WebView",
            "Chromium",
            "HeadlessChrome",
        ],
    ),
    ("Coc Coc", &["Coc Coc"]),
    ("DuckDuckGo", &["DuckDuckGo", "DuckDuckGo Mobile"]),
    ("Ecosia", &["Ecosia Android", "Ecosia iOS"]),
    ("Edge", &["Edge", "Edge Mobile"]),
    ("Facebook", &["Facebook", "Facebook Messenger"]),
    (
        "Firefox",
        &[
            "Firefox",
            "Firefox Mobile",
            "Firefox iOS",
            "Firefox Alpha",
            "Firefox Beta",
            "MullvadBrowser",
        ],
    ),
    ("Google app", &["Google"]),
    ("Huawei Browser", &["Huawei Browser", "Honor Browser"]),
    ("Instagram", &["Instagram"]),
    ("Internet Explorer", &["IE", "IE Mobile", "IE Large Screen"]),
    ("KakaoTalk", &["KakaoTalk"]),
    ("LINE", &["LINE"]),
    (
        "Mail",
        &[
            "Apple Mail",
            "Outlook",
            "Outlook-iOS",
            "Thunderbird",
            "Windows Live Mail",
            "Superhuman",
        ],
    ),
    ("Maxthon", &["Maxthon"]),
    ("Mi Browser", &["MiuiBrowser", "Mint Browser"]),
    (
        "Opera",
        &[
            "Opera",
            "Opera GX",
            "Opera Mini",
            "Opera Mobile",
            "Opera Touch",
            "Opera Tablet",
            "Opera Neon",
        ],
    ),
    ("Pale Moon", &["Pale Moon", "Basilisk"]),
    ("Pinterest", &["Pinterest"]),
    (
        "QQ Browser",
        &["QQ Browser", "QQ Browser Mobile", "QQ Browser Mini"],
    ),
    (
        "Safari",
        &[
            "Safari",
            "Mobile Safari",
            "Mobile Safari UI/WKWebView",
            "WebKit Nightly",
        ],
    ),
    ("Samsung Internet", &["Samsung Internet"]),
    ("Seznam", &["Seznam prohl\u{ed}\u{17e}e\u{10d}"]),
    ("Snapchat", &["Snapchat"]),
    ("Slack", &["Slack Desktop Client"]),
    ("Sogou Explorer", &["Sogou Explorer"]),
    ("Teams", &["Microsoft Teams"]),
    ("Telegram", &["Telegram"]),
    ("TikTok", &["TikTok"]),
    ("UC Browser", &["UC Browser"]),
    ("Vivaldi", &["Vivaldi"]),
    ("Vivo Browser", &["VivoBrowser"]),
    ("WeChat", &["WeChat Browser"]),
    ("Whale", &["Whale"]),
    ("X", &["Twitter"]),
    ("Yandex Browser", &["Yandex Browser"]),
];

/// Families of systems, each with the parser's names for it, and the device that it runs on unless the agent says more.
const SYSTEMS: &[(&str, &[&str], Option<&str>)] = &[
    ("Android", &["Android"], Some("phone")),
    ("BlackBerry", &["BlackBerry OS"], Some("phone")),
    ("BSD", &["FreeBSD", "OpenBSD", "NetBSD"], Some("desktop")),
    ("ChromeOS", &["Chrome OS"], Some("desktop")),
    ("HarmonyOS", &["HarmonyOS"], Some("phone")),
    ("iOS", &["iOS"], Some("phone")),
    ("KaiOS", &["KaiOS"], Some("phone")),
    (
        "Linux",
        &[
            "Linux",
            "Ubuntu",
            "Kubuntu",
            "Debian",
            "Fedora",
            "Red Hat",
            "Arch Linux",
            "CentOS",
            "Gentoo",
            "Linux Mint",
            "SUSE",
            "Mandriva",
            "Slackware",
        ],
        Some("desktop"),
    ),
    ("macOS", &["Mac OS X", "Mac OS"], Some("desktop")),
    ("Tizen", &["Tizen"], Some("tv")),
    (
        "TV",
        &[
            "ATV OS X",
            "tvOS",
            "Chromecast Android",
            "Chromecast Linux",
            "GoogleTV",
            "Roku",
            "FireHbbTV",
        ],
        Some("tv"),
    ),
    ("webOS", &["webOS", "Web0S"], Some("tv")),
    ("Windows", &["Windows"], Some("desktop")),
    (
        "Windows Phone",
        &["Windows Phone", "Windows Mobile"],
        Some("phone"),
    ),
];

impl UserAgents {
    /// Compiles the patterns once they are needed.
    pub(super) fn new() -> Self {
        Self(Arc::new(LazyLock::new(Parsers::new)))
    }

    /// Compiles the patterns now: takes about 50 ms.
    pub(super) fn prepare(&self) {
        LazyLock::force(&self.0);
    }

    /// What an agent is. An empty agent is a bot.
    pub(super) fn of(&self, agent: &str) -> Agent {
        if agent.trim().is_empty() {
            return Agent {
                is_bot: Some(true),
                ..Agent::default()
            };
        }
        let parsers = &**self.0;
        let browser = parsers.browsers.extract(agent);
        let browser = browser.and_then(|found| family(BROWSERS, &found.family));
        let system = parsers.systems.extract(agent);
        let system = system.and_then(|found| {
            let is_it = |(_, names, _): &&(&str, &[&str], _)| names.contains(&&*found.os);
            SYSTEMS.iter().find(is_it)
        });
        Agent {
            browser,
            os: system.map(|(name, ..)| *name),
            device: device(agent, system.and_then(|(.., device)| *device)),
            is_bot: Some(parsers.bots.has(agent)),
        }
    }

    /// What an agent is at a glance: a bot by its plain words, or not known.
    pub(super) fn at_a_glance(&self, agent: &str) -> Agent {
        Agent {
            is_bot: self.0.bots.surely_has(agent).then_some(true),
            ..Agent::default()
        }
    }
}

impl Parsers {
    fn new() -> Self {
        let mut regexes: Regexes<'static> =
            serde_json::from_slice(include_bytes!("data/agents.json"))
                .expect("the file is a part of the program, and a test reads it");
        for parser in &mut regexes.user_agent_parsers {
            // The letters of all scripts, thirty times, take as long to compile as all other patterns.
            parser.regex = parser.regex.replace(r"\w", "[0-9A-Za-z_]").into();
        }
        let browsers = user_agent::Builder::new()
            .push_all(regexes.user_agent_parsers)
            .map(user_agent::Builder::build);
        let systems = os::Builder::new()
            .push_all(regexes.os_parsers)
            .map(os::Builder::build);
        let (Ok(Ok(browsers)), Ok(Ok(systems))) = (browsers, systems) else {
            unreachable!("the patterns are a part of the program, and a test compiles them");
        };
        Self {
            browsers,
            systems,
            bots: Bots::new(),
        }
    }
}

fn family(families: &[(&'static str, &[&str])], name: &str) -> Option<&'static str> {
    let found = families.iter().find(|(_, names)| names.contains(&name));
    found.map(|(family, _)| *family)
}

/// The kind of device; `usual` is the default of the system.
fn device(agent: &str, usual: Option<&'static str>) -> Option<&'static str> {
    let has = |words: &[&str]| words.iter().any(|word| agent.contains(word));
    if has(&["PlayStation", "Xbox", "Nintendo"]) {
        Some("console")
    } else if has(&[
        "SMART-TV",
        "SmartTV",
        "Smart TV",
        "HbbTV",
        "GoogleTV",
        "Android TV",
        "BRAVIA",
        "AFTT",
        "CrKey",
    ]) {
        Some("tv")
    } else if has(&["iPad", "Tablet", "KFAPWI", "Kindle"]) {
        Some("tablet")
    } else if usual == Some("phone") && has(&["Android"]) && !has(&["Mobile", "mobile"]) {
        // As Google asks of makers: a browser on a tablet leaves the word out.
        Some("tablet")
    } else {
        usual
    }
}

#[cfg(test)]
mod tests;
