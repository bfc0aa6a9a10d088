// Hostile titles, tags and targets on every page of an owner, and the preview: nothing of them runs, or breaks out of its place.

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

const call = async (path, token, body) => {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(base + path, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(response.status, 200, path);
  return response.json();
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
for (const query of ["q", "tag", "status", "sort", "cursor", "done"]) await visit(`/app?${query}=${encodeURIComponent("\"><script>alert(1)</script>")}`);
for (const query of ["tz", "from", "to", "interval", "tag"]) await visit(`/app/all?${query}=${encodeURIComponent("\"><script>alert(1)</script>")}`);
for (const code of codes) {
  await visit(`/app/links/${code}`);
}
for (const code of codes) {
  await visit(`/${code}+`);
}
await browser.close().catch((error) => {
  // The browser says in its console that a page's status is not 200, and what it still loads when a page is left.
  const others = error.actual?.filter((fault) => !/status of (404|422)|net::ERR_ABORTED/.test(fault)) ?? [String(error)];
  assert.deepEqual(others, []);
});
console.error(`web: ${codes.length} hostile titles, tags and targets run on no page`);
