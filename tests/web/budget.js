// What a page costs the first time, counted in the browser: bytes on the wire with everything that it loads, hosts, and questions that
// its content waits for. Nothing here is timed.

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { open } from "./browser.js";
import { base, closeTarget, email, password, step } from "./page.js";

closeTarget();
const host = new URL(base).host;
const OWNERS = 100_000;
const LIST = 60_000;
const LINK = 95_000;
const VISITORS = 15_000;

const call = async (path, token, body, method = "POST") => {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(base + path, { method, headers, body: JSON.stringify(body) });
  assert.equal(response.status, 200, path);
  return response.json();
};

const account = { email: email("bea"), password };
const { access_token: token } = await call("/auth/register", undefined, account);
// A full page of the list: addresses, titles and tags as long as people have them.
const links = Array.from({ length: 60 }, (_, index) => ({
  target_url: `https://www.example.com/campaigns/2026/spring/collection-${index}?utm_source=newsletter&utm_medium=email&utm_campaign=spring-${index}`,
  title: `Spring collection, newsletter number ${index}`,
  tags: ["spring", "newsletter", "2026"],
  expires_at: "2099-01-31T18:00:00Z",
}));
const [{ short_code: code }, { short_code: ended }] = await call("/urls/bulk", token, links);
await call(`/urls/${ended}`, token, { is_active: false }, "PATCH");
for (let visit = 0; visit < 12; visit += 1) {
  const headers = { referer: `https://site${visit}.example/`, "user-agent": "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0" };
  await fetch(`${base}/${code}`, { redirect: "manual", headers });
}

// Loads a page with an empty cache. The browser counts bytes as they came: heads, and bodies before they are unpacked.
const load = async (path, options) => {
  const browser = await open([host], options);
  const page = await browser.newPage();
  const network = await browser.context.newCDPSession(page);
  await network.send("Network.enable");
  const sent = new Map();
  network.on("Network.requestWillBeSent", ({ requestId, request, type }) => sent.set(requestId, { url: request.url, type, bytes: 0 }));
  network.on("Network.loadingFinished", ({ requestId, encodedDataLength }) => { sent.get(requestId).bytes = encodedDataLength; });
  await page.goto(base + path, { waitUntil: "load" });
  await page.evaluate(() => document.fonts.ready);
  const content = await page.locator("main").evaluate((main) => main.querySelectorAll("a, p, h1, li, td, label, button").length);
  const raw = await (await browser.context.request.get(base + path, { headers: { accept: "text/html" } })).text();
  // The browser says in its console that a page's status is 404.
  await browser.close().catch((error) => assert.ok(error.actual?.every((fault) => /status of 404|net::ERR_ABORTED/.test(fault)), String(error)));
  const all = [...sent.values()].filter(({ url }) => url.startsWith("http"));
  return { all, content, raw, bytes: all.reduce((sum, { bytes }) => sum + bytes, 0) };
};

const isWithin = ({ all, bytes, content, raw }, path, budget) => {
  const parts = all.map(({ url, bytes: part }) => `${part} ${url}`).join(", ");
  assert.ok(bytes > 500 && bytes < budget, `${path}: ${bytes} bytes, of ${budget}: ${parts}`);
  assert.ok(all.every(({ url }) => new URL(url).host === host), parts);
  // One question, one response with all of the text: nothing of it is asked for by a script.
  assert.equal(all.filter(({ type }) => type === "Document").length, 1, `${path}: ${parts}`);
  assert.ok(all.every(({ type }) => !["XHR", "Fetch"].includes(type)), `${path} asks again: ${parts}`);
  const shown = raw.split("<main").at(-1).match(/<(a|p|h1|li|td|label|button)[ >]/g).length;
  // A button that shows a password is made by a script.
  assert.ok(shown >= content * 0.9 - 1, `${path}: ${shown} of ${content} elements are in the response`);
  console.error(`web:   ${path.slice(0, 40)}: ${bytes} bytes in ${all.length} responses`);
};

const signedIn = await open([host]);
const page = await signedIn.newPage();
await page.goto(`${base}/app/login`);
await page.getByLabel("E-mail").fill(account.email);
await page.getByRole("textbox", { name: "Password" }).fill(password);
await page.getByRole("button", { name: "Sign in" }).click();
await page.getByRole("heading", { name: "Links", exact: true }).waitFor();
const storageState = await signedIn.context.storageState();
await signedIn.close();

await step("every page of an owner is below 100 KB the first time, of this host, in one round trip", async () => {
  const hours = `/app/links/${code}?interval=hour&from=2026-08-20&to=2026-11-20`;
  for (const path of ["/app", `/app/links/${code}`, `/app/links/${code}?new=1`, `/app/links/${code}/edit`, `/app/links/${code}/qr`, hours, "/app/all", "/app/links/new", "/app/import", "/app/tags", "/app/account"]) {
    isWithin(await load(path, { storageState }), path, path.startsWith(`/app/links/${code}`) ? LINK : OWNERS);
  }
  const list = await load("/app", { storageState });
  const packed = list.bytes - Buffer.byteLength(list.raw) + gzipSync(list.raw).length;
  assert.ok(packed < LIST, `the list, packed by a proxy: ${packed} bytes`);
  isWithin(await load("/app/login"), "/app/login", OWNERS);
});
await step("every page of a visitor is below 15 KB with everything", async () => {
  for (const locale of ["de-DE", "ja-JP"]) {
    for (const path of ["/", "/nosuch1", `/${code}+`, `/${ended}`, `/app/report/${code}`]) isWithin(await load(path, { locale }), path, VISITORS);
  }
});
