"""Agents and referrers of visitors, made anew in each run and always the same.

The forms are those in which browsers write their agent: Chromium's reduced form (only the major version, and a constant device),
Firefox's and Safari's, web views of apps with model and build, and crawlers as their operators publish them. Versions are of the last two
years before 2026-11, models and builds are drawn. No list of real visitors is behind it.
"""

from __future__ import annotations

import random
from itertools import accumulate
from pathlib import Path

from .links import DRAWS

AGENTS = 2_000
REFERRERS = 2_000
PAST_BUDGET = 'shunt_clicks_unclassified_total{reason="budget"}'
"""How many headers were not read, as nothing was left of the service's budget for new ones."""

CHROMIUM = "AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{major}.0.0.0"
WEBKIT = "AppleWebKit/605.1.15 (KHTML, like Gecko)"
SYSTEMS = ("Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 10_15_7", "X11; Linux x86_64", "X11; CrOS x86_64 14541.0.0")
MODELS = ("SM-S931B", "SM-S928B", "SM-A556B", "SM-A155F", "SM-G991B", "Pixel 8", "Pixel 9 Pro", "Pixel 7a", "2201117TG", "23021RAAEG",
          "CPH2581", "RMX3710", "V2318", "moto g84 5G", "XQ-DQ54", "LE2113")
BUILDS = ("AP3A.240905.015.A2", "UP1A.231005.007", "TP1A.220624.014", "BP2A.250605.031.A2", "AP4A.250105.002", "UKQ1.230917.001")
IPHONES = ("iPhone14,5", "iPhone15,2", "iPhone15,4", "iPhone16,1", "iPhone17,1", "iPhone17,3")
CRAWLERS = (
    "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
    "Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
    "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
    "Twitterbot/1.0", "TelegramBot (like TwitterBot)", "WhatsApp/2.24.20.89 A",
    "Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)",
    "Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)",
    "LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)",
    "curl/8.14.1", "python-requests/2.32.5", "Go-http-client/2.0",
)
PLACES = ("news", "blog", "shop", "forum", "wiki", "mail", "search", "videos", "jobs", "social")


def agents() -> list[str]:
    """So many different agents, in no order."""
    chance = random.Random(4)
    pick = chance.choice
    majors = range(118, 143)

    def ios() -> str:
        return f"{pick((16, 17, 18))}_{pick(range(8))}"

    def desktop() -> str:
        major, system = pick(majors), pick(SYSTEMS)
        chromium = f"Mozilla/5.0 ({system}) {CHROMIUM.format(major=major)} Safari/537.36"
        firefox = f"{pick((*SYSTEMS[:3], 'X11; Ubuntu; Linux x86_64'))}; rv:{major}.0"
        safari = f"{WEBKIT} Version/{pick((17, 18, 26))}.{pick(range(7))} Safari/605.1.15"
        return pick((
            chromium, f"{chromium} Edg/{major}.0.0.0", f"{chromium} OPR/{major - 16}.0.0.0",
            f"Mozilla/5.0 ({firefox}) Gecko/20100101 Firefox/{major}.0", f"Mozilla/5.0 ({SYSTEMS[1]}) {safari}"))

    def android() -> str:
        major, device = pick(majors), f"Linux; Android {pick((12, 13, 14, 15))}; {pick(MODELS)}"
        samsung = f"SamsungBrowser/{pick(range(23, 29))}.0"
        view = f"Mozilla/5.0 ({device} Build/{pick(BUILDS)}; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0"
        view = f"{view} Chrome/{major}.0.{pick(range(6000, 7400))}.{pick(range(20, 200))} Mobile Safari/537.36"
        app = pick(range(400, 536))
        return pick((
            f"Mozilla/5.0 (Linux; Android 10; K) {CHROMIUM.format(major=major)}{pick((' Mobile', ''))} Safari/537.36",
            f"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) {samsung} Chrome/{major}.0.0.0 Mobile Safari/537.36",
            f"Mozilla/5.0 (Android {pick((12, 13, 14, 15))}; Mobile; rv:{major}.0) Gecko/{major}.0 Firefox/{major}.0",
            view, f"{view} [FB_IAB/FB4A;FBAV/{app}.0.0.40.103;]",
            f"{view} Instagram {app}.0.0.19.81 Android (34/14; 420dpi; 1080x2340; {device.rpartition('; ')[2]}; en_US; {pick(range(10**8, 10**9))})"))

    def apple() -> str:
        version = ios()
        device = f"Mozilla/5.0 (iPhone; CPU iPhone OS {version} like Mac OS X) {WEBKIT}"
        tablet = f"Mozilla/5.0 (iPad; CPU OS {version} like Mac OS X) {WEBKIT}"
        own = f"Version/{version.replace('_', '.')} Mobile/15E148 Safari/604.1"
        major, app, model = pick(majors), pick(range(400, 536)), pick(IPHONES)
        facebook = f"FBAN/FBIOS;FBAV/{app}.0.0.40.103;FBBV/{pick(range(10**8, 10**9))};FBDV/{model};FBMD/iPhone;FBSN/iOS"
        return pick((
            f"{device} {own}", f"{tablet} {own}",
            f"{device} CriOS/{major}.0.{pick(range(6000, 7400))}.46 Mobile/15E148 Safari/604.1",
            f"{device} FxiOS/{major}.0 Mobile/15E148 Safari/605.1.15",
            f"{device} Mobile/15E148 [{facebook};FBSV/{version.replace('_', '.')};FBSS/3;FBID/phone;FBLC/en_US;FBOP/5]",
            f"{device} Mobile/15E148 Instagram {app}.0.0.19.81 ({model}; iOS {version}; en_US; en; scale=3.00; 1170x2532; {pick(range(10**8, 10**9))})"))

    found = dict.fromkeys(CRAWLERS)
    while len(found) < AGENTS:
        found[pick((desktop, android, apple))()] = None
    made = list(found)
    chance.shuffle(made)
    return made


def referrers() -> list[str]:
    """So many different referrers; a third has none."""
    hosts = [f"https://{place}{number}.example" for number in range(REFERRERS // 30) for place in PLACES]
    pages = [f"{host}/{2026 - number}/a-page-of-some-length?from={number}" for number in range(2) for host in hosts]
    return (pages + [""] * REFERRERS)[:REFERRERS]


def drawn_visitors(count: int, kinds: int = AGENTS) -> list[tuple[str, str]]:
    """So many agents and referrers, of `kinds` different agents at most. The n-th most frequent one comes 1/n as often as the first, and
    both are drawn on their own."""
    chance = random.Random(5)

    def drawn(values: list[str]) -> list[str]:
        weights = list(accumulate(1 / rank for rank in range(1, len(values) + 1)))
        shuffled = chance.sample(values, len(values))
        return chance.choices(shuffled, cum_weights=weights, k=count)

    return list(zip(drawn(agents()[:kinds]), drawn(referrers()), strict=True))


def write_visitors(file: Path) -> Path:
    """A file of headers for `load.lua`: a draw a line, agent and referrer with a tab between."""
    file.write_text("".join(f"{agent}\t{referrer}\n" for agent, referrer in drawn_visitors(DRAWS // 5)))
    return file
