// What one key or one click must not do. Enter is pressed in every field of every form: no link, key, session or account ends by it.
// Each loss is asked about first, with and without JavaScript; copying works without the browser's clipboard; what was typed stays.
// With TEST_ADMIN_EMAIL and TEST_ADMIN_PASSWORD the forms of administrators are tried, too.

import assert from "node:assert/strict";
import { open } from "./browser.js";
import { accessible, base, close, closeTarget, email, fits, hosts, password, picture, shorten, signUp, step, target } from "./page.js";

const json = async (path, options = {}) => {
  const response = await fetch(base + path, { ...options, headers: { "content-type": "application/json", ...options.headers } });
  assert.equal(response.status, 200, path);
  return response.json();
};
// Tokens end with a change of the password, so each look logs in.
const logIn = async (address, secret) => (await json("/auth/login", { method: "POST", body: JSON.stringify({ email: address, password: secret }) })).access_token;
const visit = async (code) => (await fetch(`${base}/${code}`, { redirect: "manual" })).text();

const browser = await open(hosts, { permissions: ["clipboard-read", "clipboard-write"] });
const page = await browser.newPage();
let submitted = 0;
await page.exposeBinding("noteSubmit", () => { submitted += 1; });
await page.addInitScript(() => {
  document.addEventListener("submit", (event) => { if (!event.defaultPrevented) window.noteSubmit(); });
});
const address = email("enter");
await signUp(page, address);
const first = await shorten(page, `${target}first`);
const second = await shorten(page, `${target}second`);
for (const code of [first, second, second]) await visit(code);
await page.goto(`${base}/app/account`);
await page.getByLabel("Name of a new key").fill("Nightly");
await page.getByRole("button", { name: "Create a key" }).click();
await page.getByText("Copy the key now").waitFor();

// What may not get less by Enter in a field.
const kept = async () => {
  const authorization = `Bearer ${await logIn(address, password)}`;
  const links = await json("/urls/my?view=full", { headers: { authorization } });
  for (const code of [first, second]) {
    const link = links.find((each) => each.short_code === code);
    assert.equal(link?.status, "active", `${code}: ${JSON.stringify(link)}`);
  }
  const keys = await json("/auth/keys", { headers: { authorization } });
  assert.ok(keys.some(({ name }) => name === "Nightly"), "the key");
};
// The form of a QR code leads to an image, whose page is the browser's own: its styles break the policy.
const FIELDS = "main form:not([action$='/qr']) :is(input:not([type=hidden], [type=file]), select, textarea)";
const CHANGING = FIELDS.replace("form", "form[method=post]");
// Fills every form that changes something as somebody who means it would, and ticks every box.
const fillAll = async (values) => {
  await page.evaluate(() => { for (const details of document.querySelectorAll("details")) details.open = true; });
  for (const field of await page.locator(CHANGING).all()) {
    const { type, name, value } = await field.evaluate(({ type, name, value }) => ({ type, name, value }));
    if (!await field.isVisible()) continue;
    if (type === "checkbox") await field.check();
    // It would be the same moment as the end.
    else if (name === "starts_at") continue;
    // A link with a password needs it at each visit.
    else if (name === "password" && await field.evaluate(({ form }) => form.getAttribute("action").startsWith("/app/links"))) continue;
    else if (values[name]) await (type === "select-one" ? field.selectOption(values[name]) : field.fill(values[name]));
    else if (value === "" && type !== "select-one") {
      const filling = { url: target, password, email: address, number: "7", date: "2030-01-31", "datetime-local": "2099-01-31T18:00" };
      await field.fill(name.endsWith("_url") ? target : filling[type] ?? "x");
    }
  }
};
const pressEnterEverywhere = async (path, values, isKept) => {
  await page.goto(base + path);
  const count = await page.locator(FIELDS).count();
  for (let index = 0; index < count; index += 1) {
    await page.goto(base + path);
    await fillAll(values);
    const field = page.locator(FIELDS).nth(index);
    if (!await field.isVisible()) continue;
    const loaded = page.waitForEvent("load").catch(() => undefined);
    submitted = 0;
    await field.press("Enter");
    await page.evaluate(() => undefined).catch(() => undefined);
    if (submitted > 0) await loaded;
    const name = await field.count() > 0 ? await field.getAttribute("name") : index;
    await isKept().catch((error) => { throw new Error(`Enter in ${name} of ${path}: ${error.message}`); });
  }
  return count;
};
await step("Enter in any field of an owner's forms ends and deletes nothing", async () => {
  await page.goto(`${base}/app/account`);
  const questions = await page.locator("main a.button:not(#bookmarklet)").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
  assert.ok(questions.length >= 4, questions.join(" "));
  // Passwords change to themselves here.
  const values = { new_password: password, target_url: `${target}entered` };
  let fields = 0;
  const pages = ["/app", "/app/all", "/app/import", "/app/tags", "/app/links/new", `/app/links/${first}`, `/app/links/${first}/delete`, "/app/account"];
  for (const path of [...pages, ...questions]) {
    fields += await pressEnterEverywhere(path, values, kept);
    if (new URL(page.url()).pathname === "/app/login") {
      await page.getByLabel("E-mail").fill(address);
      await page.getByRole("textbox", { name: "Password" }).fill(password);
      await page.getByRole("button", { name: "Sign in" }).click();
      await page.getByRole("heading", { name: "Links", exact: true }).waitFor();
    }
  }
  assert.ok(fields > 30, `${fields} fields`);
});
await step("Enter in the field of tags tags", async () => {
  await page.goto(`${base}/app`);
  await page.getByLabel(`Select ${first}`).check();
  await page.getByLabel("Tags to add").fill("entered");
  await page.getByLabel("Tags to add").press("Enter");
  await page.getByText("Tags added.").waitFor();
});
const selectBoth = async (tab) => {
  await tab.goto(`${base}/app?q=${encodeURIComponent("127.0.0.1")}&sort=clicks`);
  for (const code of [first, second]) await tab.getByLabel(`Select ${code}`).check();
};
await step("deleting many asks with the number of links and of clicks, and may be cancelled", async () => {
  await selectBoth(page);
  await page.getByRole("button", { name: "Delete" }).click();
  await page.getByRole("heading", { name: "Delete 2 links with 3 clicks?" }).waitFor();
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.setViewportSize({ width: 1280, height: 900 });
    await accessible(page, `the question, ${colorScheme}`);
    await picture(page, `question-${colorScheme}`);
    await page.setViewportSize({ width: 360, height: 740 });
    await fits(page, "the question");
    await picture(page, `question-${colorScheme}-telephone`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.getByRole("link", { name: "Cancel" }).click();
  await page.waitForURL(/sort=clicks/);
  await kept();
});
await step("every other loss is asked about, too", async () => {
  for (const [path, question, name] of [
    [`/app/links/${first}/delete`, "Delete 1 link with 1 click?", "link"],
    ["/app/account/delete", /^Delete the account with \d+ links and 3 clicks\?/, "account"],
    ["/app/logout-everywhere", /^Sign out of \d+ session/, "everywhere"],
  ]) {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await page.goto(base + path);
      await page.getByRole("heading", { name: question }).waitFor();
      await accessible(page, `${path} ${colorScheme}`);
      await picture(page, `question-${name}-${colorScheme}`);
    }
  }
  await page.goto(`${base}/app/account`);
  await page.getByRole("link", { name: "Revoke the key Nightly" }).click();
  await page.getByRole("heading", { name: "Revoke the key Nightly?" }).waitFor();
  await page.getByRole("link", { name: "Cancel" }).click();
  await kept();
});
await step("options open in place and keep what was typed, also where a field is refused", async () => {
  await page.goto(`${base}/app`);
  await page.getByRole("textbox", { name: "Target" }).fill("example.org/not yet");
  await page.getByText("Options", { exact: true }).click();
  assert.equal(await page.getByRole("textbox", { name: "Target" }).inputValue(), "example.org/not yet");
  await page.getByRole("textbox", { name: "Aliases" }).fill("not a code");
  await page.getByRole("textbox", { name: "Note" }).fill("kept");
  await page.getByRole("button", { name: "Create the link" }).click();
  await page.getByRole("heading", { name: "New link" }).waitFor();
  assert.equal(await page.getByRole("textbox", { name: "Target" }).inputValue(), "https://example.org/not yet");
  assert.equal(await page.getByRole("textbox", { name: "Note" }).inputValue(), "kept");
});
await step("keys search, create and list themselves, and never while somebody types", async () => {
  await page.goto(`${base}/app`);
  await page.keyboard.press("/");
  const search = page.getByLabel("Search", { exact: true });
  assert.ok(await search.evaluate((field) => field === document.activeElement));
  await page.keyboard.type("c?/");
  assert.equal(await search.inputValue(), "c?/");
  await search.fill("");
  await page.locator("body").click({ position: { x: 2, y: 2 } });
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keyboard" }).waitFor();
  await page.keyboard.press("c");
  await page.getByRole("button", { name: "Close" }).click();
  await page.keyboard.press("c");
  assert.ok(await page.getByRole("textbox", { name: "Target" }).evaluate((field) => field === document.activeElement));
});
const paste = async (tab) => {
  const field = tab.getByRole("textbox", { name: "Target" });
  await field.fill("");
  await field.press("Control+V");
  return field.inputValue();
};
await step("copying works without the browser's clipboard, or says which key to press", async () => {
  const wanted = `${base}/${first}`;
  for (const isAllowed of [true, false]) {
    const tab = await browser.newPage();
    await tab.addInitScript((isAllowed) => {
      Object.defineProperty(Navigator.prototype, "clipboard", { get: () => undefined });
      if (!isAllowed) document.execCommand = () => false;
    }, isAllowed);
    await tab.goto(`${base}/app`);
    const button = tab.getByRole("button", { name: `Copy ${first}` });
    await button.click();
    if (isAllowed) {
      await tab.getByRole("status").filter({ hasText: "Copied" }).waitFor();
    } else {
      await tab.locator("li .hint", { hasText: "Press Ctrl+C to copy" }).waitFor();
      await picture(tab, "copy-by-key");
      await tab.setViewportSize({ width: 360, height: 740 });
      await fits(tab, "copying by a key");
      await picture(tab, "copy-by-key-telephone");
      await tab.keyboard.press("Control+C");
    }
    assert.equal(await paste(tab), wanted, `script may copy: ${isAllowed}`);
    assert.equal(await tab.locator(".copied").count(), 0);
    await tab.close();
  }
});
await close(browser);

const plain = await open(hosts, { javaScriptEnabled: false });
const still = await plain.newPage();
await step("without JavaScript: what needs a script is not shown, and deleting many asks", async () => {
  await still.goto(`${base}/app/login`);
  await still.getByLabel("E-mail").fill(address);
  await still.getByRole("textbox", { name: "Password" }).fill(password);
  await still.getByRole("button", { name: "Sign in" }).click();
  await still.getByRole("heading", { name: "Links", exact: true }).waitFor();
  for (const path of ["/app", `/app/links/${first}`, "/app/account", "/app/import", "/app/all"]) {
    await still.goto(base + path);
    for (const hidden of await still.locator("[hidden]").all()) assert.ok(!await hidden.isVisible(), `${path}: ${await hidden.evaluate((element) => element.outerHTML)}`);
  }
  await selectBoth(still);
  await still.getByText("Edit the selected links").click();
  await still.getByLabel("Tags to add").fill("still");
  await still.getByLabel("Tags to add").press("Enter");
  await still.getByText("Tags added.").waitFor();
  await selectBoth(still);
  await still.getByText("Edit the selected links").click();
  await still.getByRole("button", { name: "Delete" }).click();
  await still.getByRole("heading", { name: "Delete 2 links with 3 clicks?" }).waitFor();
  await kept();
  await still.getByRole("button", { name: "Delete" }).click();
  await still.getByText("Deleted.").waitFor();
  await still.goto(`${base}/app/account/delete`);
  await still.getByLabel("Password").fill(password);
  await still.getByLabel("Password").press("Enter");
  await still.getByText("Nothing was deleted.").waitFor();
  await still.goto(`${base}/app/account/delete`);
  await still.getByLabel("Password").fill(password);
  await still.getByRole("button", { name: "Delete the account" }).click();
  await still.getByRole("heading", { name: "Sign in" }).waitFor();
});
await close(plain);

if (process.env.TEST_ADMIN_EMAIL) {
  const opened = await open(hosts);
  const owners = await opened.newPage();
  await signUp(owners, email("removed"));
  const link = await shorten(owners, `${target}administered`);
  await opened.close();
  const admins = await open(hosts);
  const admin = await admins.newPage();
  await admin.goto(`${base}/app/login`);
  await admin.getByLabel("E-mail").fill(process.env.TEST_ADMIN_EMAIL);
  await admin.getByRole("textbox", { name: "Password" }).fill(process.env.TEST_ADMIN_PASSWORD);
  await admin.getByRole("button", { name: "Sign in" }).click();
  await admin.getByRole("link", { name: "Administration" }).waitFor();
  await step("Enter in a form of administrators removes nothing", async () => {
    for (const field of ["value", "reason"]) {
      await admin.goto(`${base}/app/admin/removals?kind=link&value=${link}`);
      await admin.locator("#reason").fill("by accident");
      await admin.locator(`#${field}`).press("Enter");
      await admin.getByRole("heading", { name: `Remove ${link}?` }).waitFor();
      const answer = await fetch(`${base}/${link}`, { method: "HEAD", redirect: "manual" });
      assert.equal(answer.status, 302);
    }
    await accessible(admin, "the question before a removal");
    await picture(admin, "question-removal");
    await admin.setViewportSize({ width: 360, height: 740 });
    await fits(admin, "the question before a removal");
    await picture(admin, "question-removal-telephone");
  });
  await close(admins);
}
closeTarget();
