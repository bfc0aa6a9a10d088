// Hostile titles, tags, targets and e-mail addresses on every page of an owner, and the preview: nothing of them runs, or breaks out of its place.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { open } from "./browser.js";
import { base, strangers, closeTarget } from "./page.js";

closeTarget();
const account = { email: `mallory-${process.pid}-${Date.now()}@example.org`, password: "correct horse battery" };
const file = await readFile("vectors.txt", "utf8");
const vectors = file.split("\n").filter((line) => line !== "" && !line.startsWith("# "));
// Right-to-left text, and characters that turn the direction.
const turning = ["\u05d0\u05d1\u05d2 (1)", "\u202egnp.exe", "\u2067\u0645\u0631\u062d\u0628\u0627\u2069", "\u200fabc\u202e", "a\u2066b"];
const controls = /[\u0000-\u001f\u007f-\u009f]/g;

const call = async (path, token, body, status = 200, address = "127.0.0.1") => {
  const headers = { "content-type": "application/json", "x-forwarded-for": address, ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(base + path, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(response.status, status, `${path}: ${JSON.stringify(body)}`);
  return status === 200 ? response.json() : undefined;
};

const { access_token: token } = await call("/auth/register", undefined, account);
const links = [...vectors, ...turning].map((raw) => {
  const text = raw.replace(controls, "");
  const tag = [...text.replaceAll(",", "")].slice(0, 50).join("").trim();
  return {
    target_url: `https://example.org/${text.replaceAll("\\", "")}`,
    title: [...text].slice(0, 200).join(""),
    tags: tag === "" ? [] : [tag],
    expires_at: "2099-01-31T18:00:00Z",
  };
});
const made = await call("/urls/bulk", token, links);
const codes = [];
for (const [index, link] of made.entries()) {
  // An address may be refused; the title and the tag are what counts then.
  if (link.status === 200) {
    codes.push(link.short_code);
    continue;
  }
  const [again] = await call("/urls/bulk", token, [{ ...links[index], target_url: `https://example.org/${index}` }]);
  assert.equal(again.status, 200, `${JSON.stringify(links[index])}: ${again.detail}`);
  codes.push(again.short_code);
}

const browser = await open([new URL(base).host]);
const page = await browser.newPage();
await page.goto(`${base}/app/login`);
await page.getByLabel("E-mail").fill(account.email);
await page.getByRole("textbox", { name: "Password" }).fill(account.password);
await page.getByRole("button", { name: "Sign in" }).click();
await page.getByRole("heading", { name: "Links", exact: true }).waitFor();

const visit = async (path) => {
  await page.goto(base + path);
  assert.deepEqual(await strangers(page), [], path);
};

let pages = 0;
for (let path = "/app"; path; pages += 1) {
  await visit(path);
  const isolated = await page.locator(".links bdi").evaluateAll((names) => names.every((name) => getComputedStyle(name).unicodeBidi === "isolate"));
  assert.ok(isolated, "a title turns what stands beside it");
  const next = page.locator("a[rel=next]");
  path = await next.count() > 0 ? await next.getAttribute("href") : undefined;
}
assert.ok(pages > 5, `${pages} pages`);
await visit("/app/all");
await visit("/app/tags");
for (const query of ["cursor", "done"]) await visit(`/app/tags?${query}=${encodeURIComponent("\"><script>alert(1)</script>")}`);
for (const query of ["q", "tag", "status", "sort", "cursor", "done"]) await visit(`/app?${query}=${encodeURIComponent("\"><script>alert(1)</script>")}`);
for (const query of ["tz", "from", "to", "interval", "tag"]) await visit(`/app/all?${query}=${encodeURIComponent("\"><script>alert(1)</script>")}`);
for (const code of codes) {
  await visit(`/app/links/${code}`);
}
for (const code of codes) {
  await visit(`/${code}+`);
}
// The same texts as e-mail addresses: shown again beside the form that refuses them, or in quotes, which mail allows, those of accounts.
const accounts = [];
for (const text of vectors.map((raw) => raw.replace(controls, ""))) {
  const wanted = `"${text.replace(/["\\\s]/g, "").slice(0, 60)}"@hostile.example`;
  if (accounts.length === 20) break;
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${base}/auth/register`, { method: "POST", headers, body: JSON.stringify({ email: wanted, password: account.password }) });
  if (response.status === 200) accounts.push(wanted);
}
assert.equal(accounts.length, 20, "addresses in quotes");
assert.ok(accounts.some((address) => address.includes("<script>")), accounts.join(" "));
const stranger = await open([new URL(base).host], { javaScriptEnabled: false });
const guest = await stranger.newPage();
const enter = async (address) => {
  await guest.goto(`${base}/app/login`);
  // The browser's own check of addresses knows no quotes.
  await guest.getByLabel("E-mail").evaluate((field) => { field.type = "text"; });
  await guest.getByLabel("E-mail").fill(address);
  await guest.getByRole("textbox", { name: "Password" }).fill(account.password);
  await guest.getByRole("button", { name: "Sign in" }).click();
};
for (const text of vectors.slice(0, 40)) {
  await enter(text.replace(controls, "").trim() || "a");
  await guest.getByRole("alert").or(guest.locator("#email-fault")).first().waitFor();
  assert.deepEqual(await strangers(guest), [], text);
}
for (const address of accounts) {
  await enter(address);
  await guest.getByRole("heading", { name: "Links", exact: true }).waitFor();
  await guest.goto(`${base}/app/account`);
  assert.deepEqual(await strangers(guest), [], address);
  assert.equal(await guest.locator("main bdi").first().innerText(), address);
  await guest.context().clearCookies();
}
await stranger.close().catch((error) => {
  const others = error.actual?.filter((fault) => !/status of (401|422)|net::ERR_ABORTED/.test(fault)) ?? [String(error)];
  assert.deepEqual(others, []);
});
// The same texts as reasons of reports and removals.
if (process.env.TEST_ADMIN_EMAIL) {
  const { access_token: admin } = await call("/auth/login", undefined, { email: process.env.TEST_ADMIN_EMAIL, password: process.env.TEST_ADMIN_PASSWORD });
  const reasons = links.map(({ title }) => title.trim());
  for (const [index, reason] of reasons.entries()) {
    if (reason === "") continue;
    // Reports of one address are limited.
    await call("/report", undefined, { short_code: codes[index], reason }, 202, `198.51.100.${index % 200}`);
    await call("/admin/removals", admin, { kind: "link", value: codes[index], reason });
  }
  const isolated = () => page.locator("main bdi").evaluateAll((texts) => texts.every((text) => getComputedStyle(text).unicodeBidi === "isolate"));
  for (const [index, code] of codes.entries()) {
    if (reasons[index] === "") continue;
    await visit(`/${code}`);
    assert.ok(await isolated(), `/${code}`);
  }
  await page.getByRole("link").first().waitFor();
  await page.context().clearCookies();
  await page.goto(`${base}/app/login`);
  await page.getByLabel("E-mail").fill(process.env.TEST_ADMIN_EMAIL);
  await page.getByRole("textbox", { name: "Password" }).fill(process.env.TEST_ADMIN_PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "Administration" }).waitFor();
  await visit("/app/admin/accounts?q=hostile.example");
  assert.equal(await page.locator(".links > li").count(), 20);
  assert.ok(await isolated(), "/app/admin/accounts");
  for (const list of ["/app/admin/removals", "/app/admin/reports", "/app/admin/links", "/app/admin/domains", "/app/admin/audit"]) {
    let seen = 0;
    for (let path = list; path && seen < 20; seen += 1) {
      await visit(path);
      assert.ok(await isolated(), path);
      const next = page.locator("a[rel=next]");
      path = await next.count() > 0 ? await next.getAttribute("href") : undefined;
    }
    // Of hosts there is one page.
    assert.ok(seen > (list === "/app/admin/domains" ? 0 : 3), `${list}: ${seen} pages`);
    for (const query of ["q", "owner", "kind", "value"]) await visit(`${list}?${query}=${encodeURIComponent("\"><script>alert(1)</script>")}`);
  }
}
await browser.close().catch((error) => {
  // The browser says in its console that a page's status is not 200, and what it still loads when a page is left.
  const others = error.actual?.filter((fault) => !/status of (404|410|422)|net::ERR_ABORTED/.test(fault)) ?? [String(error)];
  assert.deepEqual(others, []);
});
console.error(`web: ${codes.length} hostile titles, tags and targets, and ${accounts.length} hostile addresses run on no page`);
