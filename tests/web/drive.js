// The pages for people, in a real browser. The first step that fails ends the run.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { open } from "./browser.js";

const base = process.env.BASE_URL.replace(/\/$/, "");
const axe = await readFile("node_modules/axe-core/axe.min.js", "utf8");
const password = "correct horse battery";
const email = (name) => `${name}-${process.pid}-${Date.now()}@example.org`;

const step = async (what, does) => {
  try {
    const result = await does();
    console.error(`web: ${what}`);
    return result;
  } catch (error) {
    throw new Error(`${what}: ${error.message}`, { cause: error });
  }
};

// The target of the links: a page on this machine.
let arrivals = 0;
const site = createServer((request, response) => {
  if (request.url !== "/favicon.ico") arrivals += 1;
  response.setHeader("content-type", "text/html");
  response.end("<!doctype html><link rel=icon href=data:,><title>arrived</title>");
});
await new Promise((ready) => site.listen(0, "127.0.0.1", ready));
const target = `http://127.0.0.1:${site.address().port}/`;
const hosts = [new URL(base).host, new URL(target).host];

// Runs axe-core beside the page's own policy, which lets no script in: through the debugger.
const accessible = async (page, what) => {
  const found = await page.evaluate(`${axe}; axe.run()`);
  const faults = found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  assert.deepEqual(faults, [], what);
};

const fits = async (page, what) => {
  const { inner, outer } = await page.evaluate(() => ({
    inner: document.documentElement.scrollWidth,
    outer: document.documentElement.clientWidth,
  }));
  assert.ok(inner <= outer, `${what} is ${inner} px wide on a screen of ${outer}`);
};

const picture = async (page, name) => {
  if (!process.env.SCREENSHOTS) return;
  await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
};

const signUp = async (page, address) => {
  await page.goto(`${base}/app`);
  await page.getByRole("link", { name: "Create an account" }).click();
  await page.getByLabel("E-mail").fill(address);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Create the account" }).click();
  await page.getByRole("heading", { name: "No links yet" }).waitFor();
};

const shorten = async (page, to) => {
  await page.goto(`${base}/app`);
  await page.getByRole("textbox", { name: "Target" }).fill(to);
  await page.keyboard.press("Enter");
  await page.getByText("Your link is ready.").waitFor();
  return new URL(page.url()).pathname.split("/").pop();
};

// The browser says so in its console for each page with such a status, and for a picture of a page that is left meanwhile.
const expectedErrors = /the server responded with a status of (404|410|422|451)|qr\?size=352 net::ERR_ABORTED/;
const close = (opened) => opened.close().catch((error) => {
  const others = error.actual?.filter((fault) => !expectedErrors.test(fault)) ?? [String(error)];
  assert.deepEqual(others, []);
});

// A browser with a script: what is nicer with one.
const browser = await open(hosts, { permissions: ["clipboard-read", "clipboard-write"] });
const page = await browser.newPage();
const address = email("ada");
await step("sign up", () => signUp(page, address));
await step("an empty list is a page without faults", () => accessible(page, "empty list"));
const code = await step("make a link in one field, and Enter", () => shorten(page, `${target}spring`));
await step("copy it by one click", async () => {
  await page.getByRole("button", { name: "Copy" }).click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  assert.ok(copied.endsWith(`/${code}`), copied);
});
await step("follow it, and see the count move without a reload", async () => {
  const visitor = await browser.newPage();
  await visitor.goto(`${base}/${code}`);
  assert.equal(await visitor.title(), "arrived");
  await visitor.close();
  await page.bringToFront();
  await page.locator("[data-live]", { hasText: /^1$/ }).waitFor();
});
await step("the QR code is drawn", async () => {
  const width = await page.locator("img.qr").evaluate((image) => image.naturalWidth);
  assert.ok(width > 100, `${width} px`);
});
await step("edit it, and the edit is felt", async () => {
  await page.getByRole("textbox", { name: "Title" }).fill("Spring sale \u202e<b>x</b>");
  await page.getByRole("textbox", { name: "Tags" }).fill("print, spring");
  await page.getByRole("textbox", { name: "Target" }).fill(`${target}autumn`);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const before = arrivals;
  const visitor = await browser.newPage();
  await visitor.goto(`${base}/${code}`);
  assert.ok(visitor.url().endsWith("/autumn"), visitor.url());
  assert.equal(arrivals, before + 1);
  await visitor.close();
});
// How much of a picture has the colour of the bars.
const painted = (of) => of.evaluate((figure) => {
  const canvas = figure.querySelector("canvas");
  const probe = document.createElement("i");
  probe.style.color = "var(--accent)";
  figure.append(probe);
  const [red, green, blue] = getComputedStyle(probe).color.match(/\d+/g).map(Number);
  probe.remove();
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] === red && data[at + 1] === green && data[at + 2] === blue && data[at + 3] === 255) count += 1;
  }
  return count;
});
await step("the clicks are drawn, and a part of the chart is asked for by dragging", async () => {
  await page.goto(`${base}/app/links/${code}`);
  const chart = page.locator("figure.chart");
  await chart.locator("canvas").waitFor();
  assert.ok(await painted(chart) > 200, `${await painted(chart)} pixels`);
  const box = await chart.locator(".u-over").boundingBox();
  await page.mouse.move(box.x + box.width * 0.8, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.99, box.y + 60, { steps: 8 });
  await page.mouse.up();
  await page.waitForURL(/from=2/);
  assert.match(page.url(), /interval=day/);
  assert.equal(await page.locator(".sums strong").textContent(), "2");
});
await step("a range is typed, and a wrong one is named beside it", async () => {
  await page.getByLabel("Time zone").fill("Asia/Kathmandu");
  await page.getByLabel("By", { exact: true }).selectOption("hour");
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/tz=Asia/);
  await page.locator("figure.chart canvas").waitFor();
  await page.getByLabel("Time zone").fill("Mars/Olympus");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("alert").filter({ hasText: "tz: must be an IANA time zone" }).waitFor();
});
await step("the clicks are exported", async () => {
  await page.goto(`${base}/app/links/${code}`);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Export as CSV" }).click()]);
  const file = await readFile(await download.path(), "utf8");
  assert.match(file, /^by,value,clicks,people\r\nday,/);
  assert.equal(download.suggestedFilename(), `${code}.csv`);
});
await step("all links have a page", async () => {
  await page.getByRole("link", { name: "All clicks" }).click();
  await page.getByRole("heading", { name: "Ending soon" }).waitFor();
  assert.ok(await painted(page.locator("figure.chart")) > 200);
  await page.goto(`${base}/app/links/${code}`);
});
await step("the link's page has no faults", () => accessible(page, "link"));
await picture(page, "link");
for (const [title, to] of [["Handbook", "handbook"], ["Press kit", "press"], ["", "a-longer/path/to/something?with=a&query=of-some-length&and=more-of-it-still"]]) {
  await page.goto(`${base}/app/links/new`);
  await page.getByRole("textbox", { name: "Target" }).fill(`${target}${to}`);
  await page.getByRole("textbox", { name: "Title" }).fill(title);
  await page.getByRole("button", { name: "Make the link" }).click();
  await page.getByText("Your link is ready.").waitFor();
}
await step("a table is looked at, then its links are made", async () => {
  await page.goto(`${base}/app/import`);
  await page.getByLabel("Or a file").setInputFiles({ name: "links.csv", mimeType: "text/csv", buffer: Buffer.from(`target_url,title\n${target}imported,Of a table\nnothing,\n`) });
  await page.getByRole("button", { name: "Look at it first" }).click();
  await page.getByText("1 to be made, 1 refused").waitFor();
  await accessible(page, "import");
  await picture(page, "import-table");
  await page.getByRole("button", { name: "Make 1 link" }).click();
  await page.getByText("1 made, 1 refused").waitFor();
  await page.getByRole("link", { name: "To the links" }).click();
  await page.getByLabel("Search").fill("imported");
  await page.waitForURL(/q=imported/);
  await page.locator(".links > li").filter({ hasText: "Of a table" }).waitFor();
  assert.equal(await page.locator(".links > li").count(), 1);
  await page.getByLabel(/^Select/).check();
  await page.getByText("Change the selected links").click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByText("Deleted.").waitFor();
});
await step("search while typing keeps its place", async () => {
  await page.goto(`${base}/app`);
  assert.equal(await page.locator(".links > li").count(), 4);
  await page.getByLabel("Search").pressSequentially("handb");
  await page.waitForURL(/q=handb/);
  assert.equal(await page.locator(".links > li").count(), 1);
  assert.ok(await page.getByLabel("Search").evaluate((field) => field === document.activeElement));
  await page.reload();
  assert.equal(await page.locator(".links > li").count(), 1);
});
await step("every page of an owner has no faults and fits a telephone, light and dark", async () => {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    for (const [path, name] of [["/app", "links"], ["/app/all", "all"], ["/app/import", "import"], ["/app/links/new", "new"], [`/app/links/${code}`, "link"], ["/app/account", "account"]]) {
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.goto(base + path);
      await accessible(page, `${path} ${colorScheme}`);
      await picture(page, `${name}-${colorScheme}`);
      await page.setViewportSize({ width: 360, height: 740 });
      await fits(page, path);
      await picture(page, `${name}-${colorScheme}-telephone`);
    }
  }
  await page.setViewportSize({ width: 3840, height: 2000 });
  await fits(page, "4K");
  await page.setViewportSize({ width: 1280, height: 900 });
});
await step("with reduced motion nothing moves", async () => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await page.goto(`${base}/app/links/${code}`);
  await page.locator("figure.chart canvas").waitFor();
  const moving = await page.evaluate(() => [...document.querySelectorAll("*")].filter((element) => {
    const { transitionDuration, animationName } = getComputedStyle(element);
    return animationName !== "none" || transitionDuration.split(", ").some((duration) => duration !== "0s");
  }).map((element) => element.outerHTML));
  assert.deepEqual(moving, []);
  await page.emulateMedia({ reducedMotion: "no-preference" });
});
await step("a session that ended elsewhere leads to the form", async () => {
  const other = await open(hosts);
  const elsewhere = await other.newPage();
  await elsewhere.goto(`${base}/app/login`);
  await accessible(elsewhere, "sign in");
  await picture(elsewhere, "login");
  await elsewhere.getByLabel("E-mail").fill(address);
  await elsewhere.getByRole("textbox", { name: "Password" }).fill(password);
  await elsewhere.getByRole("button", { name: "Sign in" }).click();
  await elsewhere.getByRole("heading", { name: "Links", exact: true }).waitFor();
  await elsewhere.goto(`${base}/app/account`);
  await elsewhere.getByRole("button", { name: "Sign out everywhere" }).click();
  await elsewhere.getByRole("heading", { name: "Sign in" }).waitFor();
  await other.close();
  await page.goto(`${base}/app`);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
});
await close(browser);

// The same without JavaScript.
const plain = await open(hosts, { javaScriptEnabled: false });
const still = await plain.newPage();
await step("without JavaScript: sign up, make, search, end, sign out", async () => {
  await signUp(still, email("grace"));
  const made = await shorten(still, `${target}still`);
  await (await fetch(`${base}/${made}`, { redirect: "manual" })).text();
  await still.goto(`${base}/app/links/${made}`);
  const bar = await still.locator("figure.chart svg path.now").boundingBox();
  assert.ok(bar.width > 5 && bar.height > 50, `a bar of ${bar.width} by ${bar.height} px`);
  await still.getByText("Numbers").click();
  await still.getByRole("cell", { name: "1", exact: true }).first().waitFor();
  await still.goto(`${base}/app`);
  await still.getByLabel("Search").fill("nothing");
  await still.getByRole("button", { name: "Search" }).click();
  await still.getByRole("heading", { name: "No link matches" }).waitFor();
  await still.goto(`${base}/app`);
  await still.getByLabel(`Select ${made}`).check();
  await still.getByText("Change the selected links").click();
  await still.getByRole("button", { name: "End", exact: true }).click();
  await still.locator(".state", { hasText: "inactive" }).waitFor();
  await still.getByRole("button", { name: "Sign out" }).click();
  await still.getByRole("heading", { name: "Sign in" }).waitFor();
});
await plain.close();

// The keyboard alone: Tab to the field, type, Enter.
const keyboard = await open(hosts);
const keys = await keyboard.newPage();
const tabTo = async (label) => {
  for (let presses = 0; presses < 80; presses += 1) {
    await keys.keyboard.press("Tab");
    const name = await keys.evaluate(() => {
      const at = document.activeElement;
      const outline = getComputedStyle(at).outlineStyle;
      return outline === "none" ? "" : (at.labels?.[0]?.textContent ?? at.textContent).trim();
    });
    if (name.startsWith(label)) return;
  }
  throw new Error(`Tab does not lead to ${label}, or the focus is not seen`);
};
await step("with the keyboard alone: sign up, make, delete", async () => {
  await keys.goto(`${base}/app/register`);
  await tabTo("E-mail");
  await keys.keyboard.type(email("alan"));
  await tabTo("Password");
  await keys.keyboard.type(password);
  await keys.keyboard.press("Enter");
  await keys.getByRole("heading", { name: "No links yet" }).waitFor();
  await tabTo("Target");
  await keys.keyboard.type(`${target}keys`);
  await keys.keyboard.press("Enter");
  await keys.getByText("Your link is ready.").waitFor();
  await tabTo("Delete this link");
  await keys.keyboard.press("Enter");
  await tabTo("Delete");
  await keys.keyboard.press("Enter");
  await keys.getByText("Deleted.").waitFor();
});
await keyboard.close();

// Pages for visitors. The browser reports each 404 of a page in its console, so the faults are not asked for here.
const visitors = await open(hosts, { locale: "de-DE" });
const visitor = await visitors.newPage();
await step("pages for visitors have no faults and fit a telephone", async () => {
  for (const [path, name] of [["/", "start"], ["/nosuch1", "unknown"], [`/${code}+`, "preview"], [`/app/report/${code}`, "report"], [`/app/report/${code}?sent=yes`, "reported"]]) {
    for (const colorScheme of ["light", "dark"]) {
      await visitor.emulateMedia({ colorScheme });
      await visitor.setViewportSize({ width: 1280, height: 800 });
      await visitor.goto(base + path);
      assert.equal(await visitor.locator("html").getAttribute("lang"), "de");
      await accessible(visitor, `${path} ${colorScheme}`);
      await picture(visitor, `${name}-${colorScheme}`);
      await visitor.setViewportSize({ width: 360, height: 740 });
      await fits(visitor, path);
    }
  }
});
await close(visitors);

// Administration, in a browser without JavaScript; the visitor has none either.
const administration = async () => {
  const opened = await open(hosts, { javaScriptEnabled: false, locale: "de-DE" });
  const [admin, guest] = [await opened.newPage(), await opened.newPage()];
  const owner = await open(hosts);
  const owners = await owner.newPage();
  await signUp(owners, email("eve"));
  const reported = await shorten(owners, `${target}reported`);
  assert.equal(await owners.getByRole("link", { name: "Administration" }).count(), 0);
  await step("a visitor reports a link without JavaScript", async () => {
    await guest.goto(`${base}/${reported}+`);
    await guest.getByRole("link", { name: "Diesen Link melden" }).click();
    await guest.getByLabel("Was stimmt damit nicht?").fill("Es will mein Passwort.\nNicht öffnen!");
    await guest.getByRole("button", { name: "Meldung senden" }).click();
    await guest.getByRole("heading", { name: "Danke" }).waitFor();
  });
  const signIn = async (page) => {
    await page.goto(`${base}/app/login`);
    await page.getByLabel("E-mail").fill(process.env.ADMIN_EMAIL);
    await page.getByRole("textbox", { name: "Password" }).fill(process.env.ADMIN_PASSWORD);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("link", { name: "Administration" }).waitFor();
  };
  await step("an administrator reads the report and removes the link", async () => {
    await signIn(admin);
    await admin.getByRole("link", { name: "Administration" }).click();
    await admin.getByRole("link", { name: "Reports" }).click();
    await admin.getByText("Es will mein Passwort.").waitFor();
    await admin.getByRole("link", { name: `Remove ${reported}` }).click();
    await admin.getByLabel("Reason").fill("phishing, as reported");
    await admin.getByLabel("Answered with").selectOption("451");
    await admin.getByRole("button", { name: "Remove", exact: true }).click();
    await admin.getByText("Removed.").waitFor();
  });
  // axe-core needs a script.
  const scripted = await open(hosts, { locale: "de-DE" });
  const seen = await scripted.newPage();
  await step("the removed link says why, and every page of administration has no faults and fits a telephone, light and dark", async () => {
    await guest.goto(`${base}/${reported}`);
    await guest.getByText("phishing, as reported").waitFor();
    await guest.getByRole("heading", { name: "Dieser Link wurde entfernt" }).waitFor();
    await signIn(seen);
    const pages = ["", "/reports", "/links", "/accounts", "/audit"].map((name) => [`/app/admin${name}`, `admin${name.replace("/", "-")}`]);
    for (const colorScheme of ["light", "dark"]) {
      await seen.emulateMedia({ colorScheme });
      for (const [path, name] of [[`/${reported}`, "removed"], ...pages]) {
        await seen.setViewportSize({ width: 1280, height: 900 });
        await seen.goto(base + path);
        await accessible(seen, `${path} ${colorScheme}`);
        await picture(seen, `${name}-${colorScheme}`);
        await seen.setViewportSize({ width: 360, height: 740 });
        await fits(seen, path);
        await picture(seen, `${name}-${colorScheme}-telephone`);
      }
    }
  });
  await close(scripted);
  await step("the removal is taken back, an account is banned, and let in again", async () => {
    await admin.goto(`${base}/app/admin`);
    await admin.getByRole("button", { name: /^Take back removal/ }).first().click();
    await admin.getByText("Taken back.").waitFor();
    await guest.goto(`${base}/${reported}`);
    assert.equal(await guest.title(), "arrived");
    await admin.goto(`${base}/app/admin/accounts?q=eve-`);
    await admin.getByRole("link", { name: /^Ban account/ }).first().click();
    await admin.getByLabel("Reason").fill("spam");
    await admin.getByRole("button", { name: "Remove", exact: true }).click();
    await admin.getByText("Removed.").waitFor();
    await owners.goto(`${base}/app`);
    await owners.getByRole("heading", { name: "Sign in" }).waitFor();
    await admin.goto(`${base}/app/admin/accounts?q=eve-`);
    await admin.getByRole("button", { name: /^Unban account/ }).first().click();
    await admin.getByText("The account may log in again.").waitFor();
  });
  await close(opened);
  await owner.close();
};
if (process.env.ADMIN_EMAIL) await administration();
else console.error("web: SKIPPED: administration, as ADMIN_EMAIL names no administrator");
site.close();
