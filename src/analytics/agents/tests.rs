use std::io::Read;
use std::sync::LazyLock;

use flate2::read::GzDecoder;
use proptest::prelude::*;

use super::*;

static AGENTS: LazyLock<UserAgents> = LazyLock::new(UserAgents::new);

/// Agents of this year's browsers, and their browser, system and device.
const PEOPLE: &[(&str, [&str; 3])] = &[
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
        ["Chrome", "Windows", "desktop"],
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Edg/142.0.0.0",
        ["Edge", "Windows", "desktop"],
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0",
        ["Firefox", "Windows", "desktop"],
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Safari/605.1.15",
        ["Safari", "macOS", "desktop"],
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1",
        ["Safari", "iOS", "phone"],
    ),
    (
        "Mozilla/5.0 (iPad; CPU OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.1 Mobile/15E148 Safari/604.1",
        ["Safari", "iOS", "tablet"],
    ),
    (
        "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36",
        ["Chrome", "Android", "phone"],
    ),
    (
        "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
        ["Chrome", "Android", "tablet"],
    ),
    (
        "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36",
        ["Samsung Internet", "Android", "phone"],
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/142.0.7444.46 Mobile/15E148 Safari/604.1",
        ["Chrome", "iOS", "phone"],
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/145.0 Mobile/15E148 Safari/605.1.15",
        ["Firefox", "iOS", "phone"],
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 EdgiOS/142.0.3595.66 Mobile/15E148 Safari/604.1",
        ["Edge", "iOS", "phone"],
    ),
    (
        "Mozilla/5.0 (Android 15; Mobile; rv:145.0) Gecko/145.0 Firefox/145.0",
        ["Firefox", "Android", "phone"],
    ),
    (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
        ["Chrome", "Linux", "desktop"],
    ),
    (
        "Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0",
        ["Firefox", "Linux", "desktop"],
    ),
    (
        "Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
        ["Chrome", "ChromeOS", "desktop"],
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 OPR/124.0.0.0",
        ["Opera", "Windows", "desktop"],
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 Vivaldi/7.6",
        ["Vivaldi", "Windows", "desktop"],
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 YaBrowser/25.10.0.0 Safari/537.36",
        ["Yandex Browser", "Windows", "desktop"],
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/22G86 Instagram 405.0.0.19.81 (iPhone14,5; iOS 18_7; en_US; en; scale=3.00; 1170x2532; 800000000)",
        ["Instagram", "iOS", "phone"],
    ),
    (
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/535.0.0.40.103;FBBV/800000000;FBDV/iPhone14,5;FBMD/iPhone;FBSN/iOS;FBSV/18.7;FBSS/3;FBID/phone;FBLC/en_US;FBOP/5]",
        ["Facebook", "iOS", "phone"],
    ),
    (
        "Mozilla/5.0 (Linux; Android 15; SM-S931B Build/AP3A.240905.015.A2; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/142.0.7444.102 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/535.0.0.40.103;]",
        ["Facebook", "Android", "phone"],
    ),
    (
        "Mozilla/5.0 (Linux; U; Android 14; en-us; Redmi Note 13) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/100.0.4896.127 Mobile Safari/537.36 XiaoMi/MiuiBrowser/14.30.0-gn",
        ["Mi Browser", "Android", "phone"],
    ),
    (
        "Mozilla/5.0 (Linux; Android 14; SAMSUNG SM-X710) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Safari/537.36",
        ["Samsung Internet", "Android", "tablet"],
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; WOW64; Trident/7.0; rv:11.0) like Gecko",
        ["Internet Explorer", "Windows", "desktop"],
    ),
    (
        "Mozilla/5.0 (Linux; Android 14; Pixel 8) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36 DuckDuckGo/5",
        ["DuckDuckGo", "Android", "phone"],
    ),
    (
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.6 Safari/605.1.15 Ddg/18.6",
        ["DuckDuckGo", "macOS", "desktop"],
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Brave Chrome/142.0.0.0 Safari/537.36",
        ["Brave", "Windows", "desktop"],
    ),
    (
        "Mozilla/5.0 (SMART-TV; LINUX; Tizen 8.0) AppleWebKit/537.36 (KHTML, like Gecko) 108.0.5359.1/8.0 TV Safari/537.36",
        ["Safari", "Tizen", "tv"],
    ),
    (
        "Mozilla/5.0 (PlayStation; PlayStation 5/9.00) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.4 Safari/605.1.15",
        ["Safari", "-", "console"],
    ),
    (
        "Mozilla/5.0 (Linux; Android 12; Phone; HarmonyOS) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.0.0 HuaweiBrowser/15.0.4.302 Mobile Safari/537.36",
        ["Huawei Browser", "Android", "phone"],
    ),
    (
        "Mozilla/5.0 (Linux; U; Android 13; V2250) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/123.0.6312.80 UCBrowser/13.8.0.1324 Mobile Safari/537.36",
        ["UC Browser", "Android", "phone"],
    ),
    (
        "Mozilla/5.0 (Linux; Android 15; CPH2617 Build/AP3A.240617.008; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/130.0.6723.102 Mobile Safari/537.36",
        ["Chrome", "Android", "phone"],
    ),
    (
        "Mozilla/5.0 (Linux; Android 4.2.2; HTC Butterfly s Build/JDQ39) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/29.0.1547.72 Mobile Safari/537.36",
        ["Chrome", "Android", "phone"],
    ),
    (
        "Mozilla/5.0 (Linux; Android 14; CUBOT X70) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Mobile Safari/537.36",
        ["Chrome", "Android", "phone"],
    ),
    (
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.6478.127 Electron/31.2.0 Safari/537.36 Sonic Slack_SSB/4.39.95",
        ["Slack", "Windows", "desktop"],
    ),
    (
        "Mozilla/5.0 (iPad; U; CPU iPhone OS 7_0 like Mac OS X; de-DE) WIRED/3.2.3.11.87970",
        ["-", "iOS", "tablet"],
    ),
    ("Opera Mini/4.4.39008/37", ["Opera", "-", "-"]),
];

const BOTS: &[&str] = &[
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/142.0.0.0 Safari/537.36",
    "WhatsApp/2.23.20.0",
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "TelegramBot (like TwitterBot)",
    "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
    "curl/8.5.0",
    "python-requests/2.32.3",
    "Go-http-client/1.1",
    "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36 SkypeUriPreview Preview/0.5",
    "",
    "Java/17.0.6",
    "node",
    "undici",
    "reqwest/0.12.9",
    "python-httpx/0.27.2",
    "GuzzleHttp/7",
    "PostmanRuntime/7.42.0",
    "Faraday v2.12.0",
    "Dart/3.5 (dart:io)",
    "libcurl/8.9.1",
    "Mozilla/5.0 (Windows NT; Windows NT 10.0; en-US) WindowsPowerShell/5.1.22621.4391",
    "kube-probe/1.27",
    "ELB-HealthChecker/2.0",
    "GoogleHC/1.0",
    "Envoy/HC",
    "Consul Health Check",
    "Prometheus/2.54.1",
    "Amazon-Route53-Health-Check-Service (ref 12; report http://amzn.to/1vsZADi)",
    "Blackbox Exporter/0.25.0",
    "Bluesky Cardyb/1.1",
    "GOOGLEBOT/2.1",
    "googlebot/2.1",
    "CURL/8.5.0",
    "WGET/1.24",
    "PYTHON-REQUESTS/2.32.3",
    "PerplexityBot",
    "example_crawler/0.1",
    "Mozilla/5.0 (compatible; ExampleSpider)",
    "Mozilla/5.0 (Linux; Android 4.2.2; HTC Butterfly s Build/JDQ39) AppleWebKit/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
];

#[test]
fn the_families_of_todays_browsers_are_known() {
    for (agent, expected) in PEOPLE {
        let found = AGENTS.of(agent);
        let names = [found.browser, found.os, found.device].map(|name| name.unwrap_or("-"));
        assert_eq!(names, *expected, "{agent}");
        assert_eq!(found.is_bot, Some(false), "{agent}");
    }
}

#[test]
fn crawlers_previews_of_chats_and_empty_agents_are_bots() {
    for agent in BOTS {
        assert_eq!(AGENTS.of(agent).is_bot, Some(true), "{agent}");
    }
}

#[test]
fn no_agent_of_a_person_in_the_tests_of_uap_core_is_a_bots() {
    let mut people = String::new();
    let packed = &include_bytes!("../data/agents_of_people.txt.gz")[..];
    GzDecoder::new(packed).read_to_string(&mut people).unwrap();
    let bots: Vec<_> = people
        .lines()
        .filter(|agent| AGENTS.of(agent).is_bot != Some(false))
        .collect();
    assert!(bots.is_empty(), "{} are: {bots:#?}", bots.len());
    assert!(people.lines().count() > 16_000);
}

#[test]
fn a_family_that_an_agent_makes_up_is_not_known() {
    for agent in [
        "ada@example.org/1.0",
        "Lovelace/1.0 (Analytical Engine; secret)",
        "x-iPad/1.0 CFNetwork",
    ] {
        let found = AGENTS.of(agent);
        assert_eq!(found.browser, None, "{agent}");
    }
}

proptest! {
    #[test]
    fn any_agent_is_read(agent: String) {
            let found = AGENTS.of(&agent);
        prop_assert!(found.browser.is_none_or(|name| BROWSERS.iter().any(|(family, _)| *family == name)));
    }
}

#[test]
fn what_is_kept_has_the_words_of_rules_and_filters() {
    use crate::domain::agent_words;
    let mut systems: Vec<_> = SYSTEMS.iter().map(|(name, ..)| *name).collect();
    let mut browsers: Vec<_> = BROWSERS.iter().map(|(name, _)| *name).collect();
    let mut words = (
        agent_words::SYSTEMS.to_vec(),
        agent_words::BROWSERS.to_vec(),
    );
    for list in [&mut systems, &mut browsers, &mut words.0, &mut words.1] {
        list.sort_unstable();
    }
    assert_eq!((systems, browsers), words);
}
