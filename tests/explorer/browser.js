// A browser that keeps note of what a page must not do.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const PATIENCE_MS = 15_000;

export async function open(hosts, options = {}) {
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      // Whatever slips through the notes below finds no address.
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ],
  });
  const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, ...options });
  context.setDefaultTimeout(PATIENCE_MS);
  const wrong = [];
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && !hosts.includes(url.host)) wrong.push(`left the host: ${url}`);
  });
  context.on("requestfailed", (request) => {
    // The redirect that the explorer shows: the browser names the request it would make, and makes none.
    if (request.redirectedFrom()?.isNavigationRequest() === false) return;
    wrong.push(`failed: ${request.url()} ${request.failure().errorText}`);
  });
  context.on("console", (message) => {
    // Browsers ask for an icon of whatever they show; an answer in JSON has none.
    if (message.location().url.endsWith("/favicon.ico")) return;
    if (["error", "warning"].includes(message.type())) wrong.push(`console: ${message.text()}`);
  });
  context.on("weberror", (error) => wrong.push(`uncaught: ${error.error()}`));
  context.on("dialog", (dialog) => {
    wrong.push(`dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await context.addInitScript(() => {
    document.addEventListener("securitypolicyviolation", (event) => {
      console.error(`policy: ${event.violatedDirective} ${event.blockedURI} ${event.sourceFile}:${event.lineNumber}`);
    });
  });
  return {
    context,
    newPage: () => context.newPage(),
    close: async () => {
      await browser.close();
      assert.deepEqual(wrong, []);
    },
  };
}
