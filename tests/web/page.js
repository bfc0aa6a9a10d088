// What the tests of pages share: the target of links, and what is asked of every page.

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";

export const base = process.env.BASE_URL.replace(/\/$/, "");
const axe = await readFile("node_modules/axe-core/axe.min.js", "utf8");
export const password = "correct horse battery";
export const email = (name) => `${name}-${process.pid}-${Date.now()}@example.org`;

export const step = async (what, does) => {
  try {
    const result = await does();
    console.error(`web: ${what}`);
    return result;
  } catch (error) {
    throw new Error(`${what}: ${error.message}`, { cause: error });
  }
};

// The target of the links: a page on this machine.
let arrived = 0;
const site = createServer((request, response) => {
  if (request.url !== "/favicon.ico") arrived += 1;
  response.setHeader("content-type", "text/html");
  response.end("<!doctype html><link rel=icon href=data:,><title>arrived</title>");
});
await new Promise((ready) => site.listen(0, "127.0.0.1", ready));
export const target = `http://127.0.0.1:${site.address().port}/`;
export const arrivals = () => arrived;
export const closeTarget = () => site.close();
export const hosts = [new URL(base).host, new URL(target).host];

// Runs axe-core beside the page's own policy, which lets no script in: through the debugger.
export const accessible = async (page, what) => {
  const found = await page.evaluate(`${axe}; axe.run()`);
  const faults = found.violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
  assert.deepEqual(faults, [], what);
};

export const fits = async (page, what) => {
  const { inner, outer } = await page.evaluate(() => ({
    inner: document.documentElement.scrollWidth,
    outer: document.documentElement.clientWidth,
  }));
  assert.ok(inner <= outer, `${what} is ${inner} px wide on a screen of ${outer}`);
};

export const picture = async (page, name) => {
  if (!process.env.SCREENSHOTS) return;
  await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
};

// Every page is seen as people see it: light and dark, on telephones and large screens, in German, and without script. It has no
// faults, and nothing of it is wider than the screen. Over another database the pages look the same.
const widths = [360, 1280, 1920, 3840];
export const look = async (page, pages) => {
  if (process.env.IS_MAIN) return;
  const { height } = page.viewportSize();
  for (const [path, name] of pages) {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.goto(base + path);
      await accessible(page, `${path} ${colorScheme}`);
      for (const width of widths) {
        await page.setViewportSize({ width, height });
        await fits(page, `${path} ${colorScheme}`);
        await picture(page, `${name}-${colorScheme}-${width}`);
      }
      await page.setViewportSize({ width: 360, height });
    }
    await page.emulateMedia({ colorScheme: "light" });
    await page.setExtraHTTPHeaders({ "accept-language": "de" });
    await page.goto(base + path);
    // The documentation is in English only.
    if (path !== "/docs") assert.equal(await page.locator("html").getAttribute("lang"), "de", path);
    await fits(page, `${path} in German`);
    await picture(page, `${name}-german-360`);
    await page.setExtraHTTPHeaders({});
    await page.setViewportSize({ width: 1280, height });
  }
  await lookWithoutScript(page, pages);
};

const lookWithoutScript = async (page, pages) => {
  const context = await page.context().browser().newContext({ javaScriptEnabled: false, storageState: await page.context().storageState() });
  const plain = await context.newPage();
  for (const [path, name] of pages) {
    await plain.setViewportSize({ width: 1280, height: 900 });
    await plain.goto(base + path);
    await picture(plain, `${name}-without-script-1280`);
    await plain.setViewportSize({ width: 360, height: 740 });
    await fits(plain, `${path} without script`);
  }
  await context.close();
};

export const signUp = async (page, address) => {
  await page.goto(`${base}/app`);
  await page.getByRole("link", { name: "Create an account" }).click();
  await page.getByLabel("E-mail").fill(address);
  await page.getByRole("textbox", { name: "Password" }).fill(password);
  await page.getByRole("button", { name: "Create the account" }).click();
  await page.getByRole("heading", { name: "No links yet" }).waitFor();
};

export const shorten = async (page, to) => {
  await page.goto(`${base}/app`);
  await page.getByRole("textbox", { name: "Target" }).fill(to);
  await page.keyboard.press("Enter");
  await page.getByText("Your link is ready.").waitFor();
  return new URL(page.url()).pathname.split("/").pop();
};

// The browser says so in its console for each page with such a status, and for a picture of a page that is left meanwhile.
const expectedErrors = /the server responded with a status of (401|404|410|422|451)|(qr\?size=352|qr\?format=svg\S*|mark-\w+\.svg) net::ERR_ABORTED/;
export const close = (opened) => opened.close().catch((error) => {
  const others = error.actual?.filter((fault) => !expectedErrors.test(fault)) ?? [String(error)];
  assert.deepEqual(others, []);
});

// How much of a picture has the colour of the bars.
export const painted = (of) => of.evaluate((figure) => {
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

// What a page must not have: elements and attributes that no template has.
export const strangers = (page) => page.evaluate(() => {
  const own = new Set(["uplot", "app", "htmx", "show"]);
  const isOwn = (script) => own.has(script.src.split("/assets/")[1]?.split("-")[0]);
  const scripts = [...document.scripts].filter((script) => !isOwn(script));
  const handlers = [...document.querySelectorAll("*")].filter((element) =>
    [...element.attributes].some(({ name, value }) => /^on/i.test(name) || (/^(href|src|action)$/i.test(name) && element.id !== "bookmarklet" && /^\s*javascript:/i.test(value))));
  const elements = document.querySelectorAll("iframe, object, embed, base, style, marquee, math, video, audio, frameset, template");
  return [...scripts, ...handlers, ...elements].map((element) => element.outerHTML);
});
