//! Families of browsers and systems, kinds of devices and known bots, by the `User-Agent`.
//!
//! The parser is ua-parser with the patterns of uap-core. It may name a family in the agent's own words, which a stranger
//! chooses; so only the families listed here are kept, and any other is not known.

use std::sync::Arc;

use regex::{Regex, bytes};
use ua_parser::{Regexes, os, user_agent};

/// The longest `User-Agent` that is read.
pub(super) const MAX_BYTES: usize = 2_048;

/// What is kept of an agent; as small as a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Agent {
    pub(super) browser: Option<&'static str>,
    pub(super) os: Option<&'static str>,
    pub(super) device: Option<&'static str>,
    pub(super) is_bot: bool,
}

/// All kinds of devices.
pub(super) const DEVICES: [&str; 5] = ["desktop", "phone", "tablet", "tv", "console"];

/// Whether it is a family of browsers that is kept.
pub(super) fn is_browser(family: &str) -> bool {
    BROWSERS.iter().any(|(name, _)| *name == family)
}

/// Whether it is a family of systems that is kept.
pub(super) fn is_system(family: &str) -> bool {
    SYSTEMS.iter().any(|(name, ..)| *name == family)
}

/// The parsers, shared by all workers; cheap to clone. They take about 10 MB.
#[derive(Clone)]
pub(super) struct UserAgents(Arc<Parsers>);

struct Parsers {
    browsers: user_agent::Extractor<'static>,
    systems: os::Extractor<'static>,
    bots: bytes::Regex,
    no_bots: Regex,
}

/// Families of browsers, each with the parser's names for it.
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
    /// Compiles the patterns: takes about 50 ms.
    pub(super) fn new() -> Self {
        let regexes: Regexes<'static> = serde_json::from_str(include_str!("data/agents.json"))
            .expect("the file is a part of the program, and a test reads it");
        let browsers = user_agent::Builder::new()
            .push_all(regexes.user_agent_parsers)
            .map(user_agent::Builder::build);
        let systems = os::Builder::new()
            .push_all(regexes.os_parsers)
            .map(os::Builder::build);
        let (Ok(Ok(browsers)), Ok(Ok(systems))) = (browsers, systems) else {
            unreachable!("the patterns are a part of the program, and a test compiles them");
        };
        let known = any_of(include_str!("data/bots.txt"));
        let more = any_of(include_str!("data/more_bots.txt"));
        Self(Arc::new(Parsers {
            browsers,
            systems,
            // In another case the beginning of a word only: `Sonic` is a bot, and Panasonic makes televisions.
            bots: bots(&format!(r"{known}|(?i:\b(?:{known})|{more})")),
            no_bots: Regex::new(&any_of(include_str!("data/no_bots.txt")))
                .expect("the patterns are a part of the program, and a test compiles them"),
        }))
    }

    /// What an agent is. An empty one is a bot's.
    pub(super) fn of(&self, agent: &str) -> Agent {
        if agent.trim().is_empty() {
            return Agent {
                is_bot: true,
                ..Agent::default()
            };
        }
        let parsers = &*self.0;
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
            is_bot: parsers.is_bot(agent),
        }
    }
}

impl Parsers {
    /// Whether there is a bot's word in an agent, beside words of people's devices and programs that only look like it.
    fn is_bot(&self, agent: &str) -> bool {
        let has_word = |text: &str| self.bots.is_match(text.as_bytes());
        has_word(agent) && has_word(&self.no_bots.replace_all(agent, " "))
    }
}

/// One pattern for all patterns of a file, which has one a line.
fn any_of(file: &str) -> String {
    let patterns: Vec<_> = file.lines().map(|line| format!("(?:{line})")).collect();
    patterns.join("|")
}

fn bots(pattern: &str) -> bytes::Regex {
    bytes::RegexBuilder::new(pattern)
        .unicode(false)
        .size_limit(64 << 20)
        .build()
        .expect("the patterns are a part of the program, and a test compiles them")
}

fn family(families: &[(&'static str, &[&str])], name: &str) -> Option<&'static str> {
    let found = families.iter().find(|(_, names)| names.contains(&name));
    found.map(|(family, _)| *family)
}

/// The kind of device, where the system's usual one is `usual`.
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
