// A browser that records the faults of a page.

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

// Long enough beside a build: the explorer takes many seconds then.
const TIMEOUT_MS = 60_000;

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
      // Requests that the checks below miss find no address.
      "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    ],
  });
  const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, ...options });
  context.setDefaultTimeout(TIMEOUT_MS);
  const faults = [];
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && !hosts.includes(url.host)) faults.push(`left the host: ${url}`);
  });
  context.on("requestfailed", (request) => {
    // The explorer shows the redirect: the browser reports the request that it would send, and sends none.
    if (request.redirectedFrom()?.isNavigationRequest() === false) return;
    // A stream of events ends with its page, and a download is no page.
    if (request.resourceType() === "eventsource") return;
    // A page was left, or the browser closed, before an image of it had come.
    if (request.failure().errorText === "net::ERR_ABORTED" && ["image", "other"].includes(request.resourceType())) return;
    // The answer to a form was a file.
    if (request.failure().errorText === "net::ERR_ABORTED" && request.method() === "POST" && request.isNavigationRequest()) return;
    faults.push(`failed: ${request.url()} ${request.failure().errorText}`);
  });
  context.on("console", (message) => {
    // Browsers request an icon for every page; a response in JSON has none.
    if (message.location().url.endsWith("/favicon.ico")) return;
    if (["error", "warning"].includes(message.type())) faults.push(`console: ${message.text()}`);
  });
  context.on("weberror", (error) => faults.push(`uncaught: ${error.error()}`));
  context.on("dialog", (dialog) => {
    faults.push(`dialog: ${dialog.message()}`);
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
      assert.deepEqual(faults, []);
    },
  };
}
