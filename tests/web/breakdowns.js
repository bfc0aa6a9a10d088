// Who followed a link, in a real browser: the bars as painted, filters with and without JavaScript, and hostile visitors.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { request } from "node:http";
import { open } from "./browser.js";
import { accessible, base, closeTarget, email, fits, password, picture, step, strangers } from "./page.js";

closeTarget();
const host = new URL(base).host;
const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0";
const telephone = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1";
const bot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

const call = async (path, token, body) => {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(base + path, { method: body ? "POST" : "GET", headers, body: body && JSON.stringify(body) });
  assert.equal(response.status, 200, path);
  return response.json();
};
const account = { email: email("vera"), password };
const { access_token: token } = await call("/auth/register", undefined, account);
const makeLink = async (title) => (await call("/urls/shorten", token, { target_url: "https://example.org/", title })).short_code;

// A header's bytes are those of the text in UTF-8; a header has no control characters.
const header = (text) => Buffer.from(text.replace(/[\u0000-\u001f\u007f]/g, "")).toString("latin1");
const visit = (code, agent, referrer) => new Promise((done, failed) => {
  const headers = { "user-agent": header(agent), referer: header(referrer) };
  request(`${base}/${code}`, { headers }, (response) => {
    response.resume();
    response.on("end", () => done(response.statusCode));
  }).on("error", failed).end();
});
const summed = async (code, clicks) => {
  const deadline = Date.now() + 20_000;
  for (;;) {
    const found = await call(`/urls/${code}/stats/breakdown`, token);
    if (found.clicks === clicks) return;
    assert.ok(Date.now() < deadline, `${found.clicks} of ${clicks} clicks are summed`);
    await new Promise((soon) => setTimeout(soon, 100));
  }
};
const signIn = async (page) => {
  await page.goto(`${base}/app/login`);
  await page.getByLabel("E-mail").fill(account.email);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Links", exact: true }).waitFor();
};

const code = await makeLink("Visited");
for (const [times, agent, referrer] of [[8, firefox, "https://news.example/"], [4, telephone, "https://blog.example/a?b"], [2, bot, "https://blog.example/"], [2, firefox, ""]]) {
  for (let time = 0; time < times; time += 1) assert.equal(await visit(code, agent, referrer), 302);
}
await summed(code, 16);

const browser = await open([host]);
const page = await browser.newPage();
await signIn(page);
const rows = (of, by) => of.locator(`#by-${by} > li`).allTextContents().then((texts) => texts.map((text) => text.split(/\s+/).filter(Boolean).join(" ")));

const width = (part) => part.evaluate((drawn) => drawn.getBoundingClientRect().width);
const colour = (part) => part.evaluate((drawn) => getComputedStyle(drawn).fill);

await step("the bars are painted as long as their clicks, people and bots apart", async () => {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await page.goto(`${base}/app/links/${code}`);
    assert.deepEqual(await rows(page, "referrer"), ["news.example 8 50%", "blog.example 6 38%", "Direct 2 13%"]);
    const bars = page.locator("#by-referrer .line");
    const [news, blog] = [await width(bars.nth(0).locator(".now")), await width(bars.nth(1).locator(".now"))];
    assert.ok(news > 100, `${news} pixels`);
    assert.ok(Math.abs(blog / news - 0.5) < 0.05, `${blog} of ${news} pixels are those of people`);
    const bots = await width(bars.nth(1).locator(".bots"));
    assert.ok(Math.abs(bots / news - 0.25) < 0.05, `${bots} of ${news} pixels are those of bots`);
    assert.notEqual(await colour(bars.nth(1).locator(".now")), await colour(bars.nth(1).locator(".bots")));
  }
  await page.emulateMedia({ colorScheme: "light" });
});
await step("a value that is chosen narrows all tables without a reload, and a chip removes it", async () => {
  await page.goto(`${base}/app/links/${code}`);
  await page.evaluate(() => { window.isTheSamePage = true; });
  await page.locator("#by-referrer").getByRole("link", { name: "blog.example" }).click();
  await page.waitForURL(/referrer=blog\.example/);
  await page.locator(".chip").waitFor();
  assert.deepEqual(await rows(page, "referrer"), ["blog.example 6 100%"]);
  assert.equal(await page.locator(".clicks .sums strong").first().textContent(), "6");
  assert.ok(await page.locator("#visitors-title").evaluate((title) => title === document.activeElement), "the keyboard goes on there");
  await page.getByText("Browsers", { exact: true }).click();
  await page.getByRole("link", { name: "Known bots" }).click();
  await page.waitForURL(/bot=true/);
  await page.locator("#bots-true[aria-current]").waitFor();
  assert.deepEqual(await rows(page, "referrer"), ["blog.example 2 100%"]);
  assert.ok(await page.locator("#by-browser").isVisible(), "the tab stays as it was");
  await accessible(page, "two filters");
  await page.getByRole("link", { name: "Remove the filter Referrers" }).click();
  await page.waitForURL((url) => !url.search.includes("referrer"));
  await page.getByRole("link", { name: "All clicks", exact: true }).last().click();
  await page.waitForURL((url) => !url.search.includes("bot"));
  await page.locator(".chip").waitFor({ state: "detached" });
  assert.equal((await rows(page, "referrer")).length, 3);
  assert.ok(await page.evaluate(() => window.isTheSamePage), "the page was loaded again");
});
await step("what is unknown is a filter, too; another range keeps it, and the way back leads to the page before", async () => {
  await page.locator("#by-referrer").getByRole("link", { name: "Direct" }).click();
  await page.waitForURL(/referrer=(&|$)/);
  assert.deepEqual(await rows(page, "browser"), ["Firefox 2 100%"]);
  await page.getByText("Custom …").click();
  await page.getByLabel("Interval", { exact: true }).selectOption("hour");
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/interval=hour/);
  assert.match(page.url(), /referrer=(&|$)/);
  await page.locator(".chip").waitFor();
  await page.goBack();
  await page.goBack();
  await page.locator(".chip").waitFor({ state: "detached" });
  await page.locator("figure.chart canvas").waitFor();
});
await step("every state has no faults and fits a telephone, light and dark", async () => {
  const link = `/app/links/${code}`;
  const states = [[link, "all"], [`${link}?referrer=blog.example`, "filtered"], [`${link}?device=tv`, "empty"], [`${link}?os=${"x".repeat(254)}`, "refused"], ["/app/all?bot=false", "all-links"], [`/app/links/${await makeLink("")}`, "unvisited"]];
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const [path, name] of states) {
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.goto(base + path);
      await accessible(page, `${name} ${colorScheme}`);
      await picture(page, `visitors-${name}-${colorScheme}`);
      await page.setViewportSize({ width: 360, height: 740 });
      await fits(page, name);
      await picture(page, `visitors-${name}-${colorScheme}-telephone`);
    }
  }
  await page.setViewportSize({ width: 1280, height: 900 });
});

const vectors = (await readFile("vectors.txt", "utf8")).split("\n").filter((line) => line !== "" && !line.startsWith("# "));
// Hosts that a parser of addresses lets pass: quotes, a direction that turns, one as long as hosts are.
const passing = ["\"onfocus=alert(1)autofocus\"", "x'onmouseover='alert(1)", "&quot;onclick=alert(1)", "{{7*7}}", "\u05d0\u05d1\u05d2.example", `${"a".repeat(63)}.${"b".repeat(63)}.${"c".repeat(63)}.example`, `${"w".repeat(240)}`];
const hostile = await makeLink("\u202eHostile");
await step(`${vectors.length} hostile referrers and agents become no markup, and turn or widen nothing`, async () => {
  let clicks = 0;
  for (const text of [...passing, ...vectors]) {
    for (const [agent, referrer] of [[firefox, `https://${text}/`], [text, text]]) {
      const status = await visit(hostile, agent, referrer);
      assert.equal(status, 302, text);
      clicks += 1;
    }
  }
  await summed(hostile, clicks);
  const filters = ["\"><script>alert(1)</script>", "\u202egnp.exe", "\u05d0\u05d1\u05d2", "x".repeat(253)].map((text) => `?referrer=${encodeURIComponent(text)}`);
  const { rows: found } = await call(`/urls/${hostile}/stats/breakdown?limit=1000`, token);
  assert.ok(found.some(({ value }) => value?.includes("\"")), "a host with quotes is kept, and shown");
  const values = found.map(({ value }) => `?referrer=${encodeURIComponent(value ?? "")}`);
  for (const query of ["", ...filters, ...values]) {
    for (const path of [`/app/links/${hostile}`, "/app/all"]) {
      await page.goto(base + path + query);
      assert.deepEqual(await strangers(page), [], query);
      const isolated = await page.locator("#visitors bdi").evaluateAll((all) => all.every((name) => getComputedStyle(name).unicodeBidi === "isolate"));
      assert.ok(isolated, "a value turns what stands beside it");
      await fits(page, query);
    }
  }
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(`${base}/app/links/${hostile}`);
  await fits(page, "hostile referrers");
  await accessible(page, "hostile referrers");
  await picture(page, "visitors-hostile");
});
// The browser says in its console that a page's status is not 200, and which picture of a page was left.
await browser.close().catch((error) => {
  const others = error.actual?.filter((fault) => !/status of 422|net::ERR_ABORTED/.test(fault)) ?? [String(error)];
  assert.deepEqual(others, []);
});

const plain = await open([host], { javaScriptEnabled: false });
const still = await plain.newPage();
await step("without JavaScript: the bars stand, and filters are chosen and removed", async () => {
  await signIn(still);
  await still.goto(`${base}/app/links/${code}`);
  const bar = await still.locator("#by-referrer .line .now").first().boundingBox();
  assert.ok(bar.width > 100 && bar.height > 2, `a bar of ${bar.width} by ${bar.height} px`);
  await still.locator("#by-device").getByRole("link", { name: "Phone" }).click();
  await still.waitForURL(/device=phone/);
  assert.deepEqual(await rows(still, "referrer"), ["blog.example 4 100%"]);
  await still.getByRole("link", { name: "Remove the filter Devices" }).click();
  await still.waitForURL((url) => !url.search.includes("device"));
  assert.equal((await rows(still, "referrer")).length, 3);
});
await plain.close();
