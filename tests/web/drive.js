// The pages for people, in a real browser. The first step that fails ends the run.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { promisify } from "node:util";
import { open } from "./browser.js";
import { accessible, arrivals, base, close, email, fits, hosts, look, painted, password, picture, shorten, signUp, step, target, closeTarget } from "./page.js";

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
await step("the QR code is read from a picture of the page", async () => {
  const path = `qr-${process.pid}.png`;
  await page.locator("img.qr").evaluate((image) => image.decode());
  await page.locator("img.qr").screenshot({ path });
  const { stdout } = await promisify(execFile)("zbarimg", ["--quiet", "--raw", path]);
  await rm(path);
  assert.ok(stdout.trim().endsWith(`/${code}`), stdout);
});
await step("edit it, and the edit is felt", async () => {
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByRole("heading", { name: "Edit the link" }).waitFor();
  await accessible(page, "the form of a link");
  await page.getByRole("textbox", { name: "Title" }).fill("Spring sale \u202e<b>x</b>");
  await page.getByRole("combobox", { name: "Tags" }).fill("print, spring");
  await page.getByRole("textbox", { name: "Target" }).fill(`${target}autumn`);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  const before = arrivals();
  const visitor = await browser.newPage();
  await visitor.goto(`${base}/${code}`);
  assert.ok(visitor.url().endsWith("/autumn"), visitor.url());
  assert.equal(arrivals(), before + 1);
  await visitor.close();
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
  assert.equal(await page.locator(".clicks .sums strong").first().textContent(), "2");
});
await step("a range is typed, and a wrong one is named beside it", async () => {
  await page.getByLabel("Time zone").fill("Asia/Kathmandu");
  await page.getByLabel("Interval", { exact: true }).selectOption("hour");
  await page.getByRole("button", { name: "Show" }).click();
  await page.waitForURL(/tz=Asia/);
  await page.locator("figure.chart canvas").waitFor();
  await page.getByLabel("Time zone").fill("Mars/Olympus");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("alert").filter({ hasText: "This time zone is unknown." }).waitFor();
});
await step("the clicks are exported", async () => {
  await page.goto(`${base}/app/links/${code}`);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Export as CSV" }).click()]);
  const file = await readFile(await download.path(), "utf8");
  assert.match(file, /^by,value,clicks,people\r\nday,/);
  assert.equal(download.suggestedFilename(), `${code}.csv`);
});
await step("all links have a page", async () => {
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "All clicks" }).click();
  await page.getByRole("heading", { name: "Expiring soon" }).waitFor();
  assert.ok(await painted(page.locator("figure.chart")) > 200);
  await page.goto(`${base}/app/links/${code}`);
});
await step("the link's page has no faults, and its menu closes with Escape", async () => {
  await accessible(page, "link");
  const menu = page.locator("details.menu");
  await menu.locator("summary").click();
  await accessible(page, "the menu of a link");
  await page.keyboard.press("Escape");
  assert.equal(await menu.getAttribute("open"), null);
  await menu.locator("summary").click();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.locator(".state", { hasText: "paused" }).waitFor();
  await menu.locator("summary").click();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.locator(".state", { hasText: "active" }).waitFor();
});
await step("periods are chosen without a reload, and the chart is drawn again", async () => {
  await page.evaluate(() => { window.isTheSamePage = true; });
  await page.getByRole("link", { name: "7 days" }).click();
  await page.waitForURL(/period=7d/);
  await page.locator("#period-7d[aria-current]").waitFor();
  await page.locator("figure.chart canvas").waitFor();
  assert.ok(await page.evaluate(() => window.isTheSamePage), "the page was loaded again");
  // The page before is asked for again, as pages are not kept in the browser.
  await Promise.all([page.waitForEvent("load"), page.goBack()]);
});
await picture(page, "link");
for (const [title, to] of [["Handbook", "handbook"], ["Press kit", "press"], ["", "a-longer/path/to/something?with=a&query=of-some-length&and=more-of-it-still"]]) {
  await page.goto(`${base}/app/links/new`);
  await page.getByRole("textbox", { name: "Target" }).fill(`${target}${to}`);
  await page.getByRole("textbox", { name: "Title" }).fill(title);
  await page.getByRole("button", { name: "Create the link" }).click();
  await page.getByText("Your link is ready.").waitFor();
}
await step("a table is looked at, then its links are made", async () => {
  await page.goto(`${base}/app/import`);
  await page.locator("#file").setInputFiles({ name: "links.csv", mimeType: "text/csv", buffer: Buffer.from(`target_url,title\n${target}imported,Of a table\nnothing,\n`) });
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByText("1 link can be created. 1 row is refused.").waitFor();
  await page.getByText("Found out: A table of your own").waitFor();
  assert.equal(await page.getByLabel("What the column title becomes").inputValue(), "title");
  await accessible(page, "import");
  await picture(page, "import-table");
  await page.getByRole("button", { name: "Create 1 link" }).click();
  await page.getByText("1 link was created. 1 row is refused.").waitFor();
  await page.getByRole("link", { name: "Back to the links" }).click();
  await page.getByLabel("Search", { exact: true }).fill("imported");
  await page.waitForURL(/q=imported/);
  await page.locator(".links > li").filter({ hasText: "Of a table" }).waitFor();
  assert.equal(await page.locator(".links > li").count(), 1);
  await page.getByLabel("Select all on this page").check();
  await page.getByText("Edit the selected links: 1").waitFor();
  await page.getByLabel("Tags to add").fill("of-a-table");
  await page.getByRole("button", { name: "Add tags", exact: true }).click();
  await page.getByText("Tags added.").waitFor();
  assert.match(page.url(), /q=imported/, "the list keeps its place");
  await page.locator(".tag", { hasText: "of-a-table" }).waitFor();
  await page.getByLabel(/^Select (?!all on this page)/).first().check();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Delete 1 link with 0 clicks?" }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByText("Deleted.").waitFor();
});
await step("a deletion is undone from the message and from the bin", async () => {
  const before = await page.locator(".links > li").count();
  await page.getByRole("button", { name: "Undo" }).click();
  await page.getByText("Restored.").waitFor();
  assert.equal(await page.locator(".links > li").count(), before + 1);
  const code = await page.locator(".links input[name=code]").first().getAttribute("value");
  const remove = async () => {
    await page.goto(`${base}/app/links/${code}/delete`);
    await page.getByRole("button", { name: "Delete" }).click();
    await page.getByText("Deleted.").waitFor();
    await page.locator("summary[aria-label=More]").click();
    await page.getByRole("link", { name: "Bin" }).click();
  };
  await remove();
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await accessible(page, `the bin, ${colorScheme}`);
    await picture(page, `bin-${colorScheme}`);
    await page.setViewportSize({ width: 360, height: 740 });
    await fits(page, "the bin");
    await picture(page, `bin-${colorScheme}-telephone`);
    await page.setViewportSize({ width: 1280, height: 900 });
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.getByRole("button", { name: `Restore ${code}` }).click();
  await page.getByText("Restored.").waitFor();
  await remove();
  await page.getByRole("link", { name: `Delete for good: ${code}` }).click();
  await page.getByRole("button", { name: "Delete for good" }).click();
  await page.getByText("Deleted for good.").waitFor();
});
await step("a file of an old spreadsheet keeps its letters, and one that is too large is refused beside the field", async () => {
  await page.goto(`${base}/app/import`);
  const choose = (buffer) => page.locator("#file").setInputFiles({ name: "links.csv", mimeType: "text/csv", buffer });
  await choose(Buffer.from("target_url,title\nhttps://example.org/,B\u00fccher\n", "latin1"));
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("cell", { name: "B\u00fccher" }).waitFor();
  await choose(Buffer.alloc(3_000_000, "https://example.org/\n"));
  await page.getByRole("alert").filter({ hasText: "This file is too large" }).waitFor();
  assert.equal(await page.locator("#file").inputValue(), "");
});
await step("a second click sends a form no second time", async () => {
  await page.goto(`${base}/app`);
  let sent = 0;
  await page.route("**/app/links", async (route) => {
    sent += 1;
    await new Promise((done) => { setTimeout(done, 500); });
    await route.continue();
  });
  await page.getByRole("textbox", { name: "Target" }).fill(`${target}twice`);
  const button = await page.getByRole("button", { name: "Shorten" }).boundingBox();
  for (const pause of [150, 0]) {
    await page.mouse.click(button.x + 10, button.y + 10);
    await new Promise((done) => { setTimeout(done, pause); });
  }
  await page.getByText("Your link is ready.").waitFor();
  await page.unroute("**/app/links");
  assert.equal(sent, 1);
});
await step("a refused change is brought before the eyes, and its link is deleted", async () => {
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByRole("textbox", { name: "Target" }).fill("ftp://example.org/");
  await page.getByRole("button", { name: "Save" }).click();
  const fault = page.getByText("Enter a complete web address with a valid host, such as https://example.org/page.");
  await fault.waitFor();
  const { top } = await fault.evaluate((element) => element.getBoundingClientRect());
  assert.ok(top > 0 && top < 1000, `the fault is at ${top} px`);
  assert.ok(await page.getByRole("textbox", { name: "Target" }).evaluate((field) => field === document.activeElement));
  await page.getByRole("link", { name: "Delete", exact: true }).click();
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByText("Deleted.").waitFor();
});
await step("search while typing keeps its place", async () => {
  await page.goto(`${base}/app`);
  assert.equal(await page.locator(".links > li").count(), 4);
  await page.getByLabel("Search", { exact: true }).pressSequentially("handb");
  await page.waitForURL(/q=handb/);
  assert.equal(await page.locator(".links > li").count(), 1);
  assert.ok(await page.getByLabel("Search", { exact: true }).evaluate((field) => field === document.activeElement));
  await page.getByRole("status").filter({ hasText: "1 to 1 of 1" }).waitFor();
  await page.reload();
  assert.equal(await page.locator(".links > li").count(), 1);
  await page.locator(".links .code").click();
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved.").waitFor();
  await page.getByRole("link", { name: "← Links" }).click();
  await page.waitForURL(/q=handb/);
  assert.equal(await page.locator(".links > li").count(), 1);
});
await step("on a telephone the first link is seen without scrolling", async () => {
  await page.setViewportSize({ width: 360, height: 740 });
  await page.goto(`${base}/app`);
  const { y } = await page.locator(".links .code").first().boundingBox();
  assert.ok(y < 420, `the first link is at ${y} px`);
  await page.setViewportSize({ width: 1280, height: 900 });
});
let group;
await step("a group is made, its links are shown, and the own links again", async () => {
  await page.goto(`${base}/app/groups`);
  await page.getByLabel("Name").fill("Marketing");
  await page.getByRole("button", { name: "Create the group" }).click();
  await page.getByRole("heading", { name: "Marketing" }).waitFor();
  group = new URL(page.url()).pathname;
  await page.getByRole("button", { name: "Show its links" }).click();
  await page.getByRole("heading", { name: "No links yet" }).waitFor();
  await page.locator("summary", { hasText: "Marketing" }).click();
  await page.getByRole("button", { name: "My links" }).click();
  await page.locator(`a[href="/app/links/${code}"]`).first().waitFor();
});
// The moment at which the link was made, in a database that this test may change.
const madeAt = async (moment) => {
  const change = "import sqlite3, sys; d = sqlite3.connect(sys.argv[1]); o = d.execute('SELECT created_at FROM links WHERE short_code = ?', sys.argv[2:3]).fetchone()[0]; d.execute('UPDATE links SET created_at = ? WHERE short_code = ?', (sys.argv[3], sys.argv[2])); d.commit(); print(o)";
  const { stdout } = await promisify(execFile)("python3", ["-c", change, process.env.TEST_SQLITE_FILE, code, `${moment}`]);
  return Number(stdout);
};
if (process.env.TEST_SQLITE_FILE) {
  await step("a statement is found from the page of the link, read and saved", async () => {
    const before = await madeAt(Date.UTC(2026, 8, 10) * 1000);
    await page.goto(`${base}/app/links/${code}`);
    await page.locator(".link-head summary").click();
    await page.getByRole("link", { name: "Statements" }).click();
    await page.getByRole("link", { name: "Statement of Oct 2026" }).click();
    await page.getByRole("heading", { name: "Statement of Oct 2026" }).waitFor();
    const { pathname, search } = new URL(page.url());
    await look(page, [[`${pathname}${search}`, "statement"]]);
    await page.goto(`${base}${pathname}${search}`);
    const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download the statement" }).click()]);
    assert.equal(JSON.parse(await readFile(await download.path(), "utf8")).month, "2026-10");
    await madeAt(before);
  });
}
let hook;
await step("a hook is made, and its secret is shown once", async () => {
  await page.goto(`${base}/app/account`);
  await page.getByRole("link", { name: "Look at the hooks" }).click();
  await page.getByLabel("Address of the receiver").fill("https://127.0.0.1/in");
  await page.getByRole("button", { name: "Create the hook" }).click();
  await page.getByText("The address must lead to a public host").waitFor();
  await page.getByLabel("Address of the receiver").fill("https://example.org/hooks/shunt");
  await page.getByRole("button", { name: "Create the hook" }).click();
  await page.getByText("Copy the secret now").waitFor();
  await page.getByRole("link", { name: "I have saved it" }).click();
  await page.getByRole("heading", { name: "https://example.org/hooks/shunt" }).waitFor();
  hook = new URL(page.url()).pathname;
  await page.getByRole("button", { name: "Switch off" }).click();
  await page.getByText("The hook is off.").waitFor();
});
await step("every page of an owner has no faults and fits every screen", async () => {
  const link = `/app/links/${code}`;
  await look(page, [["/app", "links"], ["/app?tag=of-a-table", "tagged"], ["/app/all", "all"], ["/app/import", "import"], ["/app/tags", "tags"], ["/app/links/new", "new"], [link, "link"], [`${link}/edit`, "edit"], [`${link}/qr`, "qr"], [`${link}/shares`, "shares"], [`${link}/statements`, "statements"], ["/app/groups", "groups"], [group, "group"], [`${link}?new=1`, "ready"], ["/app/account", "account"], ["/app/account/email", "another-address"], ["/app/hooks", "hooks"], [hook, "hook"], [`${hook}/delete`, "hook-question"]]);
});
await step("a session is ended by another one of its list", async () => {
  const other = await open(hosts, { userAgent: "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0" });
  const elsewhere = await other.newPage();
  await elsewhere.goto(`${base}/app/login`);
  await elsewhere.getByLabel("E-mail").fill(address);
  await elsewhere.getByRole("textbox", { name: "Password" }).fill(password);
  await elsewhere.getByRole("button", { name: "Sign in" }).click();
  await elsewhere.getByRole("heading", { name: "Links", exact: true }).waitFor();
  await page.goto(`${base}/app/account`);
  await page.getByRole("link", { name: "Sign out Firefox · Windows" }).click();
  await page.getByRole("heading", { name: "Sign out Firefox · Windows" }).waitFor();
  await page.locator("#main").getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByText("The session is signed out.").waitFor();
  await elsewhere.reload();
  await elsewhere.getByRole("heading", { name: "Sign in" }).waitFor();
  await other.close();
});
await step("a key is made, is shown once, and ends", async () => {
  await page.goto(`${base}/app/account`);
  await page.getByLabel("Name of a new key").fill("Nightly");
  await page.getByLabel("Expires").fill("2099-01-31T18:00");
  await page.getByRole("button", { name: "Create a key" }).click();
  await page.getByText("Copy the key now").waitFor();
  await page.getByRole("button", { name: "Copy" }).waitFor();
  await accessible(page, "a new key");
  await picture(page, "key");
  await page.getByRole("link", { name: "I have saved it" }).click();
  await page.getByRole("link", { name: "Revoke the key Nightly" }).click();
  await page.getByRole("button", { name: "Revoke the key" }).click();
  await page.getByText("The key is revoked.").waitFor();
});
await step("a tag is renamed where it is listed, and deleted after a question", async () => {
  await page.goto(`${base}/app`);
  await page.locator("summary[aria-label=More]").click();
  await page.getByRole("link", { name: "Edit tags" }).click();
  const name = page.getByLabel("New name of spring");
  await name.fill("a,b");
  await page.getByRole("button", { name: "Rename spring" }).click();
  await page.getByRole("alert").filter({ hasText: "A comma separates tags" }).waitFor();
  assert.ok(await name.evaluate((field) => field === document.activeElement));
  await accessible(page, "a refused name of a tag");
  await name.fill("autumn");
  await name.press("Enter");
  await page.getByText("Renamed.").waitFor();
  await page.getByRole("link", { name: "Delete autumn" }).click();
  await page.getByRole("heading", { name: "Take the tag autumn off" }).waitFor();
  await accessible(page, "the question about a tag");
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.getByLabel("New name of autumn").fill("spring");
  await page.getByRole("button", { name: "Rename autumn" }).click();
  await page.getByRole("link", { name: "spring", exact: true }).waitFor();
});
await step("a page is narrowed to a tag, and a QR code of another look is made", async () => {
  await page.goto(`${base}/app/all`);
  await page.getByLabel("Only links with the tag").fill("spring");
  await page.getByLabel("Only links with the tag").press("Enter");
  await page.waitForURL(/tag=spring/);
  assert.equal(await page.locator(".clicks .sums strong").first().textContent(), "2");
  await accessible(page, "the page of a tag");
  const visitor = await browser.newPage();
  await visitor.goto(`${base}/${code}`);
  await visitor.close();
  await page.bringToFront();
  await page.locator("[data-count]", { hasText: /^3$/ }).waitFor();
  await page.goto(`${base}/app/links/${code}`);
  await page.getByRole("link", { name: "QR code", exact: true }).click();
  const dialog = page.getByRole("dialog", { name: "QR code of the link" });
  await dialog.waitFor();
  await accessible(page, "another look of the QR code");
  await picture(page, "qr-dialog");
  await dialog.getByLabel("Width").fill("50");
  await dialog.getByRole("link", { name: "PNG" }).click();
  assert.ok(await dialog.getByLabel("Width").evaluate((field) => field === document.activeElement), "the width is asked for again");
  await dialog.getByLabel("Width").fill("528");
  const [image] = await Promise.all([page.waitForResponse(/dark=15703a/), dialog.getByLabel("Dark").fill("#15703a")]);
  assert.equal(image.status(), 200);
  assert.match(await image.text(), /15703a/i);
  await dialog.getByLabel("Dark").fill("#ffffff");
  await dialog.getByText("Scanners cannot read these colours.").waitFor();
  await dialog.getByLabel("Dark").fill("#15703a");
  await dialog.getByText("Scanners cannot read these colours.").waitFor({ state: "hidden" });
  const [download] = await Promise.all([page.waitForEvent("download"), dialog.getByRole("link", { name: "PNG" }).click()]);
  assert.equal(download.suggestedFilename(), `${code}.png`);
  await page.keyboard.press("Escape");
  await dialog.waitFor({ state: "hidden" });
  await page.goto(`${base}/app`);
});
await step("a page that is not there says so", async () => {
  await page.goto(`${base}/app/links/nosuch1`);
  await accessible(page, "no such link of the owner");
  await page.getByRole("heading", { name: "There is no link at this address" }).waitFor();
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
await step("a session that ended elsewhere leads to the form, and back to what was entered", async () => {
  await page.goto(`${base}/app/links/new`);
  await page.getByRole("textbox", { name: "Target" }).fill(`${target}later`);
  await page.getByRole("textbox", { name: "Title" }).fill("Not lost");
  await page.getByLabel("Add the visitor").check();
  const other = await open(hosts);
  const elsewhere = await other.newPage();
  await elsewhere.goto(`${base}/app/register`);
  await accessible(elsewhere, "sign up");
  await elsewhere.goto(`${base}/app/login`);
  await accessible(elsewhere, "sign in");
  await picture(elsewhere, "login");
  await elsewhere.getByLabel("E-mail").fill(address);
  await elsewhere.getByRole("textbox", { name: "Password" }).fill(password);
  await elsewhere.getByRole("button", { name: "Sign in" }).click();
  await elsewhere.getByRole("heading", { name: "Links", exact: true }).waitFor();
  await elsewhere.goto(`${base}/app/account`);
  await elsewhere.getByRole("link", { name: "Sign out everywhere" }).click();
  await elsewhere.getByRole("button", { name: "Sign out everywhere" }).click();
  await elsewhere.getByRole("heading", { name: "Sign in" }).waitFor();
  await other.close();
  await page.getByRole("button", { name: "Create the link" }).click();
  await page.getByText("Your session has ended, and nothing was changed.").waitFor();
  await accessible(page, "a session has ended");
  await page.getByLabel("E-mail").fill(address);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("It is entered again; check it, and send it again.").waitFor();
  await accessible(page, "a form that is entered again");
  assert.equal(await page.getByRole("textbox", { name: "Title" }).inputValue(), "Not lost");
  assert.ok(await page.getByLabel("Add the visitor").isChecked());
  await page.getByRole("button", { name: "Create the link" }).click();
  await page.getByText("Your link is ready.").waitFor();
  await page.getByText("Not lost").waitFor();
  await page.goto(`${base}/app/links/new`);
  assert.equal(await page.getByRole("textbox", { name: "Title" }).inputValue(), "");
});
await close(browser);

// The same without JavaScript.
const plain = await open(hosts, { javaScriptEnabled: false });
const still = await plain.newPage();
await step("without JavaScript: sign up, make, follow, edit, search, import, end, delete, sign out", async () => {
  await signUp(still, email("grace"));
  const made = await shorten(still, `${target}still`);
  await (await fetch(`${base}/${made}`, { redirect: "manual" })).text();
  await still.goto(`${base}/app/links/${made}`);
  const line = await still.locator("figure.chart svg path.area").boundingBox();
  assert.ok(line.width > 100 && line.height > 50, `clicks of ${line.width} by ${line.height} px`);
  await still.getByText("Numbers", { exact: true }).click();
  await still.getByRole("cell", { name: "1", exact: true }).first().waitFor();
  await still.getByRole("link", { name: "QR code", exact: true }).click();
  await still.getByRole("heading", { name: "QR code of the link" }).waitFor();
  await still.getByRole("button", { name: "Show" }).click();
  await still.waitForURL(/dark=%23000000/);
  await still.goto(`${base}/app/links/${made}/edit`);
  await still.getByRole("textbox", { name: "Target" }).fill(`${target}edited`);
  await still.getByRole("button", { name: "Save" }).click();
  await still.getByText("Saved.").waitFor();
  const edited = await fetch(`${base}/${made}`, { redirect: "manual" });
  assert.equal(edited.headers.get("location"), `${target}edited`);
  await still.goto(`${base}/app/import`);
  await still.getByText("Or paste a table").click();
  await still.getByRole("textbox", { name: "Table" }).fill(`target_url,title\n${target}of-a-table,Of a table\n`);
  await still.getByRole("button", { name: "Preview" }).click();
  await still.getByText("1 link can be created").waitFor();
  await still.getByRole("button", { name: "Create 1 link" }).click();
  await still.getByText("1 link was created").waitFor();
  await still.goto(`${base}/app`);
  await still.getByLabel("Search", { exact: true }).fill("nothing");
  await still.getByRole("button", { name: "Search" }).click();
  await still.getByRole("heading", { name: "No link matches" }).waitFor();
  await still.goto(`${base}/app`);
  await still.getByLabel(`Select ${made}`).check();
  await still.getByText("Edit the selected links").click();
  await still.getByRole("button", { name: "Pause", exact: true }).click();
  await still.locator(".state", { hasText: "paused" }).waitFor();
  await still.goto(`${base}/app/links/${made}`);
  await still.locator("details.menu summary").click();
  await still.getByRole("link", { name: "Delete", exact: true }).click();
  await still.getByRole("button", { name: "Delete" }).click();
  await still.getByText("Deleted.").waitFor();
  await still.getByRole("button", { name: "Undo" }).click();
  await still.getByText("Restored.").waitFor();
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
await step("with the keyboard alone: sign up, make, edit, search, delete, sign out", async () => {
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
  await tabTo("Edit");
  await keys.keyboard.press("Enter");
  await keys.getByRole("heading", { name: "Edit the link" }).waitFor();
  await tabTo("Title");
  await keys.keyboard.type("Of keys");
  await keys.keyboard.press("Enter");
  await keys.getByText("Saved.").waitFor();
  await keys.goto(`${base}/app`);
  await tabTo("Search");
  await keys.keyboard.type("of keys");
  await keys.waitForURL(/q=of/);
  await tabTo(new URL(base).host);
  await keys.keyboard.press("Enter");
  await keys.getByRole("heading", { name: "Of keys" }).waitFor();
  await tabTo("Edit");
  await keys.keyboard.press("Enter");
  await keys.getByRole("heading", { name: "Edit the link" }).waitFor();
  await tabTo("Delete");
  await keys.keyboard.press("Enter");
  await keys.getByRole("heading", { name: /^Delete 1 link with/ }).waitFor();
  await tabTo("Delete");
  await keys.keyboard.press("Enter");
  await keys.getByText("Deleted.").waitFor();
  await tabTo("Sign out");
  await keys.keyboard.press("Enter");
  await keys.getByRole("heading", { name: "Sign in" }).waitFor();
});
await keyboard.close();

// Pages for visitors. The browser reports each 404 of a page in its console, so the faults are not asked for here.
const visitors = await open(hosts);
const visitor = await visitors.newPage();
await step("pages for visitors have no faults and fit every screen", async () => {
  await look(visitor, [["/", "start"], ["/app/login", "login"], ["/app/register", "register"], ["/nosuch1", "unknown"], [`/${code}+`, "preview"], [`/app/report/${code}`, "report"], [`/app/report/${code}?sent=yes`, "reported"], ["/docs", "docs"]]);
});
await step("the documentation has no faults with operations open", async () => {
  await visitor.goto(`${base}/docs#/urls/shorten`);
  for (const method of ["get", "post"]) await visitor.locator(`.opblock-${method} .opblock-summary-control`).nth(2).click();
  await visitor.locator(".opblock-body textarea").first().waitFor();
  await accessible(visitor, "open operations");
});
await close(visitors);
closeTarget();
