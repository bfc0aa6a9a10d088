use proptest::prelude::*;

use super::*;

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
];

#[test]
fn the_families_of_todays_browsers_are_known() {
    let agents = UserAgents::new();
    for (agent, expected) in PEOPLE {
        let found = agents.of(agent);
        let names = [found.browser, found.os, found.device].map(|name| name.unwrap_or("-"));
        assert_eq!(names, *expected, "{agent}");
        assert!(!found.is_bot, "{agent}");
    }
}

#[test]
fn crawlers_previews_of_chats_and_empty_agents_are_bots() {
    let agents = UserAgents::new();
    for agent in BOTS {
        assert!(agents.of(agent).is_bot, "{agent}");
    }
}

#[test]
fn a_family_that_an_agent_makes_up_is_not_known() {
    let agents = UserAgents::new();
    for agent in [
        "ada@example.org/1.0",
        "Lovelace/1.0 (Analytical Engine; secret)",
        "x-iPad/1.0 CFNetwork",
    ] {
        let found = agents.of(agent);
        assert_eq!(found.browser, None, "{agent}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_agent_is_read(agent: String) {
        let agents = UserAgents::new();
        let found = agents.of(&agent);
        prop_assert!(found.browser.is_none_or(|name| BROWSERS.iter().any(|(family, _)| *family == name)));
    }
}
