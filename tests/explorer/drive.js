// The steps of a new user through /docs. The first step that fails ends the run.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { join } from "node:path";
import { open } from "./browser.js";
import { excess, faint, settled } from "./measure.js";

const base = process.env.BASE_URL.replace(/\/$/, "");
const artefact = (name) => join(process.env.SHUNT_ARTEFACTS, name);

const step = async (what, does) => {
  try {
    const result = await does();
    console.error(`explorer: ${what}`);
    return result;
  } catch (error) {
    await page?.screenshot({ path: artefact("explorer-failed.png") }).catch(() => {});
    throw new Error(`${what}: ${error.message}`, { cause: error });
  }
};

// The target of the short links: a page on this machine.
let arrivals = 0;
const site = createServer((_, response) => {
  arrivals += 1;
  response.setHeader("content-type", "text/html");
  response.end("<!doctype html><link rel=icon href=data:,><title>arrived</title>");
});
await new Promise((ready) => site.listen(0, "127.0.0.1", ready));
const target = `http://127.0.0.1:${site.address().port}/`;

const browser = await open([new URL(base).host, new URL(target).host]);
let page = await browser.newPage();

// Tries an operation out; returns its status and the shown body.
const tryOut = async (operation, fill = async () => {}) => {
  const block = page.locator(`#operations-${operation}`);
  if (!(await block.evaluate((element) => element.classList.contains("is-open")))) {
    await block.locator(".opblock-summary-control").click();
  }
  await fill(block);
  const clear = block.locator(".btn-clear");
  if (await clear.isVisible()) await clear.click();
  await block.locator(".execute").click();
  const shown = block.locator(".live-responses-table tbody tr.response");
  await shown.waitFor();
  const status = Number.parseInt(await shown.locator(".response-col_status").innerText(), 10);
  // The body is above the headers, where there is one.
  const texts = await shown.locator(".response-col_description .highlight-code code").allInnerTexts();
  return { status, body: texts[0] ?? "", block };
};
const body = (value) => (block) => block.locator("textarea.body-param__text").fill(JSON.stringify(value));
const parameter = (name, value) => (block) => block.locator(`tr[data-param-name="${name}"] input`).fill(value);

await step("/docs is the explorer, with every operation", async () => {
  await page.goto(`${base}/docs`);
  await page.locator("#operations-links-shorten").waitFor();
  assert.ok((await page.locator(".opblock").count()) >= 10);
  // Not twice: HEAD answers as GET does. Not the files that the page is made of.
  assert.equal(await page.locator(".opblock-head").count(), 0);
  const paths = await page.locator(".opblock-summary-path").allInnerTexts();
  assert.deepEqual(paths.filter((path) => path.replace(/\u200b/g, "").startsWith("/docs")), []);
  await page.screenshot({ path: artefact("explorer.png") });
});

// An address that a faulty page would run as a script.
const email = `"<img/src=x/onerror=window.ran=1>${Date.now()}"@example.org`;
const token = await step("an account is registered", async () => {
  const { status, body: shown } = await tryOut("accounts-register", body({ email, password: "correct horse" }));
  assert.equal(status, 200, shown);
  return JSON.parse(shown).access_token;
});

await step("the token is pasted", async () => {
  await page.locator(".scheme-container .authorize").click();
  const box = await page.locator(".modal-ux").innerText();
  assert.match(box, /Paste the access_token of a response/);
  await page.locator(".modal-ux input[type=text], .modal-ux input[type=password]").fill(token);
  await page.locator(".modal-ux .auth-btn-wrapper button[type=submit]").click();
  await page.screenshot({ path: artefact("explorer-authorize.png") });
  await page.locator(".modal-ux .btn-done").click();
});

await step("the token shows its account, also after the page is loaded anew", async () => {
  await page.reload();
  await page.locator("#operations-links-shorten").waitFor();
  const { status, body: shown } = await tryOut("accounts-me");
  assert.equal(status, 200, shown);
  assert.equal(JSON.parse(shown).email, email);
});

await step("the token stays in its tab, whose page leads back to the pages", async () => {
  await page.locator(".scheme-container .authorize.locked").waitFor();
  const other = await browser.newPage();
  await other.goto(`${base}/docs`);
  await other.locator(".scheme-container .authorize.unlocked").waitFor();
  assert.equal(await other.evaluate(() => localStorage.length), 0);
  assert.equal(await other.getByRole("link", { name: "Pages" }).evaluate(({ href }) => href), `${base}/app`);
  await other.close();
});

await step("a value that cannot be right is refused beside its field, in words", async () => {
  const refusals = [
    ["links-shorten", "target_url", "no address", "must be an absolute http:// or https:// URL with a host"],
    ["links-shorten", "custom_code", "a b", "must be 1 to 64 of A-Z a-z 0-9 - _"],
    ["links-stats", "short_code", "a b", "must be 1 to 64 of A-Z a-z 0-9 - _"],
    ["links-list", "cursor", "second", "must be the cursor of a page's Link header"],
  ];
  const { paths } = await (await fetch(`${base}/openapi.json`)).json();
  const parameters = Object.values(paths).flatMap((item) => Object.values(item).flatMap(({ parameters = [] }) => parameters));
  const withPattern = new Set(parameters.filter(({ schema }) => schema.pattern).map(({ name }) => name));
  // Those that are not tried here have their words, too.
  const words = await (await fetch(`${base}/docs/start.js`)).text();
  const isInWords = (name) => words.includes(`  ${name}: "`) || words.includes(`  "${name}": "`);
  assert.deepEqual([...withPattern].filter((name) => !isInWords(name)), []);
  for (const [operation, name, value, reason] of refusals) {
    const block = page.locator(`#operations-${operation}`);
    await block.locator(".opblock-summary-control").click();
    // Key by key: a field that was drawn anew would lose the focus.
    const field = block.locator(`tr[data-param-name="${name}"] input`);
    await field.fill("");
    await field.pressSequentially(value);
    await block.locator(".execute").click();
    assert.equal(await block.locator(`tr[data-param-name="${name}"] .fault`).innerText(), reason);
    assert.equal((await block.locator(".validation-errors li").innerText()).trim(), `${name}: ${reason}`);
    assert.doesNotMatch(await block.innerText(), /must follow pattern/);
    assert.equal(await block.locator(".live-responses-table").count(), 0);
    await block.scrollIntoViewIfNeeded();
    await page.screenshot({ path: artefact(`explorer-refused-${name}.png`) });
    await parameter(name, "")(block);
    await block.locator(".opblock-summary-control").click();
  }
});

const code = await step("a link is created", async () => {
  const { status, body: shown, block } = await tryOut("links-shorten", parameter("target_url", target));
  assert.equal(status, 200, shown);
  await block.scrollIntoViewIfNeeded();
  await page.screenshot({ path: artefact("explorer-shorten.png") });
  return JSON.parse(shown).short_code;
});

await step("the redirect is shown, and not followed", async () => {
  const { status, body: shown, block } = await tryOut("links-visit", parameter("short_code", code));
  assert.equal(status, 302, shown);
  assert.match(shown, /^A redirect\./);
  assert.equal(arrivals, 0);
  await block.scrollIntoViewIfNeeded();
  await page.screenshot({ path: artefact("explorer-redirect.png") });
});

const clicks = async () => {
  const { status, body: shown } = await tryOut("links-stats", parameter("short_code", code));
  assert.equal(status, 200, shown);
  return JSON.parse(shown).clicks;
};
await step("the click is counted", async () => assert.equal(await clicks(), 1));

await step("in another tab the link leads to its target", async () => {
  const tab = await browser.newPage();
  await tab.goto(`${base}/${code}`);
  assert.equal(tab.url(), target);
  assert.equal(await tab.title(), "arrived");
  assert.equal(arrivals, 1);
  await tab.close();
  assert.equal(await clicks(), 2);
});

await step("a script in a target is shown, and not run", async () => {
  const hostile = `${target}"><img src=x onerror=window.ran=1><script>window.ran=1</script>`;
  const made = await tryOut("links-shorten", parameter("target_url", hostile));
  assert.equal(made.status, 200, made.body);
  const { status, body: shown } = await tryOut("links-list");
  assert.equal(status, 200, shown);
  assert.equal(JSON.parse(shown)[0].target_url, hostile);
  assert.equal(await page.evaluate(() => window.ran), undefined);
  // The response itself, opened as a page.
  const tab = await browser.newPage();
  await tab.goto(`${base}/urls/${JSON.parse(made.body).short_code}/stats`);
  assert.match(await tab.locator("body").innerText(), /onerror/);
  assert.equal(await tab.evaluate(() => window.ran), undefined);
  await tab.close();
});

await step("a link is deleted", async () => {
  const { status } = await tryOut("links-delete", parameter("short_code", code));
  assert.equal(status, 204);
});

await browser.close();

// Each operation is opened by itself, as some of its parts are visible only then.
const telephone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
for (const colorScheme of ["light", "dark"]) {
  const small = await open([new URL(base).host], { ...telephone, colorScheme });
  page = await small.newPage();
  const look = async (where, part = page.locator("body")) => {
    await page.evaluate(settled);
    const pixels = await page.evaluate(excess);
    assert.ok(pixels <= 0, `${where}: ${pixels} pixels too wide`);
    const found = await part.evaluate(faint);
    assert.deepEqual(found, [], `${where}: too faint`);
  };
  await step(`the page is ${colorScheme} on request, fits a telephone, and is legible`, async () => {
    await page.goto(`${base}/docs/`);
    await page.locator("#operations-links-shorten").waitFor();
    assert.match(await page.getByRole("heading", { level: 1 }).innerText(), /^shunt/);
    await page.screenshot({ path: artefact(`explorer-${colorScheme}.png`) });
    await look("all closed");
    await page.locator(".scheme-container .authorize").click();
    await page.locator(".modal-ux .btn-done").waitFor();
    await look("the dialogue for the token");
    await page.locator(".modal-ux .btn-done").click();
    const operations = await page.locator(".opblock").all();
    for (const operation of operations) {
      const summary = operation.locator(".opblock-summary-control");
      await summary.click();
      await operation.locator(".responses-table").first().waitFor();
      const id = await operation.getAttribute("id");
      await look(id, operation);
      const schema = operation.locator(".tablinks", { hasText: "Schema" }).first();
      if (await schema.count()) {
        await schema.click();
        await look(`${id}, its schema`, operation);
      }
      await summary.click();
    }
    const { status } = await tryOut("operations-health");
    assert.equal(status, 200);
    await look("a response");
  });
  await small.close();
}
site.close();
console.error("explorer: all steps passed");
