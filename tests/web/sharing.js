// Links from elsewhere: the bookmarklet on another site's page, the filled form after signing in, what an app shares, and the file for
// ShareX. The browser reads the manifest as it does before it offers to install the pages.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { open } from "./browser.js";
import { accessible, base, closeTarget, email, fits, hosts, password, picture, signUp, step, target } from "./page.js";

const browser = await open(hosts);
const page = await browser.newPage();
const address = email("rosa");
await signUp(page, address);
await page.goto(`${base}/app/account`);
const bookmarklet = await page.getByRole("link", { name: "Shorten this page" }).getAttribute("href");
const filled = async (form) => {
  await form.getByRole("heading", { name: "New link" }).waitFor();
  const value = (name) => form.locator(`input[name=${name}]`).inputValue();
  return { target: await value("target_url"), title: await value("title"), code: await value("custom_code"), tags: await value("tags") };
};

await step("the account's page has no faults", async () => {
  await accessible(page, "account");
  await fits(page, "account");
  await picture(page, "account");
});
await step("the bookmarklet opens the filled form for the page that is shown", async () => {
  const elsewhere = await browser.newPage();
  await elsewhere.goto(`${target}a%20page?b=c&d=%26#part`);
  assert.ok(bookmarklet.startsWith("javascript:"), bookmarklet);
  const opened = elsewhere.waitForEvent("popup");
  // As the browser runs a bookmark: in the page that is shown.
  await elsewhere.evaluate(decodeURI(bookmarklet.slice("javascript:".length)));
  const form = await opened;
  assert.deepEqual(await filled(form), { target: `${target}a%20page?b=c&d=%26#part`, title: "arrived", code: "", tags: "" });
  await form.getByRole("button", { name: "Create the link" }).click();
  await form.getByText("Your link is ready.").waitFor();
  await form.close();
  await elsewhere.close();
});
await step("the browser finds no fault in the manifest, and its icon is an image", async () => {
  await page.goto(`${base}/app/account`);
  const debug = await browser.context.newCDPSession(page);
  const { url, errors, data } = await debug.send("Page.getAppManifest");
  assert.equal(url, `${base}/app/manifest.webmanifest`);
  assert.deepEqual(errors, []);
  const manifest = JSON.parse(data);
  const share = new URL(manifest.share_target.action, url);
  assert.ok(share.pathname.startsWith(manifest.scope), "the form is in the scope of the app");
  const { installabilityErrors } = await debug.send("Page.getInstallabilityErrors");
  // A profile that leaves no trace installs nothing.
  assert.deepEqual(installabilityErrors.filter(({ errorId }) => errorId !== "in-incognito"), []);
  await debug.detach();
});
await step("what an app shares fills the form, also if the address is in the text", async () => {
  const shared = new URLSearchParams({ title: "A page", text: `Look at this: ${target}shared.`, target_url: "" });
  await page.goto(`${base}/app/links/new?${shared}`);
  assert.deepEqual(await filled(page), { target: `${target}shared`, title: "A page", code: "", tags: "" });
});
await step("the file for ShareX comes with a key that only creates links", async () => {
  await page.goto(`${base}/app/account`);
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download the file for ShareX" }).click()]);
  assert.equal(download.suggestedFilename(), "shunt.sxcu");
  const uploader = JSON.parse(await readFile(await download.path(), "utf8"));
  const made = await fetch(uploader.RequestURL, {
    method: uploader.RequestMethod, headers: { ...uploader.Headers, "content-type": "application/json" },
    body: uploader.Data.replace("{input}", `${target}of-sharex`),
  });
  assert.equal(made.status, 200);
  const { short_code: code } = await made.json();
  const visit = await fetch(uploader.URL.replace("{json:short_code}", code), { redirect: "manual" });
  assert.equal(visit.headers.get("location"), `${target}of-sharex`);
  const list = await fetch(`${base}/urls/my`, { headers: uploader.Headers });
  assert.equal(list.status, 403);
  await page.reload();
  await page.getByRole("cell", { name: "only create links" }).waitFor();
});
await step("signed out, the filled form comes after signing in", async () => {
  await page.getByRole("button", { name: "Sign out" }).first().click();
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  const query = new URLSearchParams({ target_url: `${target}later?a=b&c=d`, title: "Später", custom_code: `later-${process.pid}`, tags: "one, two" });
  await page.goto(`${base}/app/links/new?${query}`);
  await page.getByLabel("E-mail").fill(address);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.keyboard.press("Enter");
  assert.deepEqual(await filled(page), { target: `${target}later?a=b&c=d`, title: "Später", code: `later-${process.pid}`, tags: "one, two" });
});
await browser.close();
closeTarget();
