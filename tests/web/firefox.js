// The main ways through the pages in Firefox: sign up, shorten, follow, search, edit, delete and undo, sign out. Nothing is
// refused by the page's own policy, and no script fails.

import assert from "node:assert/strict";
import puppeteer from "puppeteer-core";
import { arrivals, base, closeTarget, email, password, step, target } from "./page.js";

const browser = await puppeteer.launch({ browser: "firefox", executablePath: process.env.FIREFOX, headless: true });
const page = await browser.newPage();
const said = [];
page.on("pageerror", (error) => said.push(`error: ${error.message}`));
page.on("console", (message) => {
  if (message.type() === "error" || message.type() === "warn") said.push(message.text());
});

// Presses what leads to another page.
const press = async (selector) => {
  await Promise.all([page.waitForNavigation(), page.locator(selector).click()]);
};
const text = () => page.evaluate(() => document.body.innerText);
const has = async (part) => assert.ok((await text()).includes(part), `"${part}" is not in: ${await text()}`);

const address = email("firefox");
await step("Firefox: sign up", async () => {
  await page.goto(`${base}/app/register`);
  await page.locator("input[name=email]").fill(address);
  await page.locator("input[name=password]").fill(password);
  await press("main form button:not([type=button])");
  assert.equal(new URL(page.url()).pathname, "/app");
});

let code;
await step("Firefox: shorten", async () => {
  await page.locator("#target_url").fill(`${target}firefox`);
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.pathname.startsWith("/app/links/"));
  code = new URL(page.url()).pathname.split("/").at(-1);
  await has("Your link is ready");
});

await step("Firefox: follow", async () => {
  const before = arrivals();
  const visit = await browser.newPage();
  await visit.goto(`${base}/${code}`);
  assert.equal(visit.url(), `${target}firefox`);
  await visit.close();
  assert.ok(arrivals() > before);
  await page.goto(`${base}/app/links/${code}`);
  await page.waitForFunction(() => /\b1\b/.test(document.body.innerText));
});

await step("Firefox: edit", async () => {
  await page.goto(`${base}/app/links/${code}/edit`);
  await page.locator("input[name=title]").fill("From Firefox");
  await press("main form button:not([type=button])");
  await has("From Firefox");
});

await step("Firefox: search", async () => {
  await page.goto(`${base}/app`);
  await page.locator("#q").fill("from firefox");
  await page.waitForFunction(() => location.search.includes("q="));
  await has("From Firefox");
});

await step("Firefox: delete and undo", async () => {
  await page.goto(`${base}/app/links/${code}/delete`);
  await press("main form button.danger");
  await has("Deleted.");
  assert.equal((await fetch(`${base}/${code}`, { redirect: "manual" })).status, 404);
  await press("form.done button");
  await has("Restored.");
  assert.equal((await fetch(`${base}/${code}`, { redirect: "manual" })).status, 302);
});

await step("Firefox: sign out", async () => {
  await press("form[action='/app/logout'] button");
  assert.equal(new URL(page.url()).pathname, "/app/login");
});

assert.deepEqual(said, []);
await browser.close();
closeTarget();
