// What another site may try with the browser of an owner who is signed in: frames, forms, and addresses that lead out of the service.
// Two sites try: another origin of the same site (another port), where cookies go along, and another site (another name).

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { open } from "./browser.js";
import { base, closeTarget, email, password, shorten, signUp, step, target } from "./page.js";

let page = "";
const site = createServer((_, response) => {
  response.setHeader("content-type", "text/html");
  response.end(`<!doctype html><link rel=icon href=data:,><title>elsewhere</title>${page}`);
});
await new Promise((ready) => site.listen(0, "127.0.0.1", ready));
const { port } = site.address();
const origins = [`http://127.0.0.1:${port}/`, `http://localhost:${port}/`];

const hosts = [base, target, ...origins].map((url) => new URL(url).host);
const browser = await open(hosts);
const owner = await browser.newPage();
const address = email("olga");
await signUp(owner, address);
const code = await shorten(owner, target);
const elsewhere = await browser.newPage();

await step("no page is shown in a frame of another site", async () => {
  const pages = ["/", "/app", `/app/links/${code}`, "/app/all", "/app/tags", "/app/account", "/app/import", "/app/login", "/app/register", `/${code}+`, `/app/report/${code}`, "/nosuch1", "/docs"];
  for (const origin of origins) {
    for (const path of pages) {
      page = `<iframe src="${base}${path}"></iframe>`;
      await elsewhere.goto(origin);
      const frame = await (await elsewhere.locator("iframe").elementHandle()).contentFrame();
      assert.equal(await frame.locator("main").count(), 0, `${path} in a frame of ${origin}`);
      assert.ok(frame.url().startsWith("chrome-error:"), `${path} in a frame of ${origin}: ${frame.url()}`);
    }
  }
});
await step("no form of another site does anything, with or without the cookies", async () => {
  const csrf = await owner.locator("input[name=csrf]").first().getAttribute("value");
  const forms = [
    ["/app/links", { target_url: target }],
    [`/app/links/${code}`, {}],
    [`/app/links/${code}/edit`, { target_url: `${target}stolen`, is_active: "on" }],
    [`/app/links/${code}/delete`, {}],
    ["/app/links/selected", { action: "delete", code }],
    ["/app/tags", { tag: "a", new: "b" }],
    ["/app/tags/delete", { tag: "a" }],
    ["/app/trash/restore", { code }],
    [`/app/trash/${code}/delete`, {}],
    ["/app/account/password", { old_password: password, new_password: "another battery" }],
    ["/app/account/keys", { name: "stolen", scope: "write" }],
    ["/app/account/language", { language: "de" }],
    ["/app/account/sharex", {}],
    ["/app/account/delete", { password }],
    ["/app/logout-everywhere", {}],
    ["/app/logout", {}],
    [`/app/report/${code}`, { reason: "a report that no visitor wrote" }],
  ];
  for (const origin of origins) {
    for (const [path, fields] of forms) {
      // Even with the right token, as if it had leaked.
      for (const token of ["", csrf]) {
        const inputs = Object.entries({ csrf: token, ...fields }).map(([name, value]) => `<input type=hidden name="${name}" value="${value}">`);
        page = `<form method=post action="${base}${path}">${inputs.join("")}<button>Win</button></form>`;
        await elsewhere.goto(origin);
        const [response] = await Promise.all([
          elsewhere.waitForResponse((found) => found.url() === base + path && found.request().method() === "POST"),
          elsewhere.getByRole("button").click(),
        ]);
        // Without the cookies of another site the form is that of a stranger, who is led to the form for signing in.
        const isStranger = response.status() === 303 && response.headers().location.startsWith("/app/login");
        assert.ok(response.status() === 403 || isStranger, `${path} from ${origin}: ${response.status()}`);
        await elsewhere.waitForLoadState();
      }
    }
  }
  await owner.goto(`${base}/app`);
  assert.equal(await owner.locator(".links > li").count(), 1);
  await owner.goto(`${base}/app/links/${code}/edit`);
  assert.equal(await owner.getByRole("textbox", { name: "Target" }).inputValue(), target);
  await owner.goto(`${base}/app/account`);
  assert.equal(await owner.getByText("stolen").count(), 0);
  // The session has outlived them all.
  assert.equal(await owner.getByText("this session").count(), 1);
});
await step("signing in never leads to another site", async () => {
  const nexts = [
    `${origins[0]}app`, `//localhost:${port}/app`, `/\\localhost:${port}/app`, `/app//localhost:${port}`, `/app/../${code}`, "/app/%2e%2e//evil", `\t//localhost:${port}`,
    `http:localhost:${port}`, "javascript:alert(1)", "data:text/html,<script>alert(1)</script>", `/app@localhost:${port}`, `https:/\\/localhost:${port}`, `/${code}`,
  ];
  for (const next of nexts) {
    await owner.context().clearCookies();
    await owner.goto(`${base}/app/login?next=${encodeURIComponent(next)}`);
    await owner.getByLabel("E-mail").fill(address);
    await owner.getByRole("textbox", { name: "Password" }).fill(password);
    await owner.getByRole("button", { name: "Sign in" }).click();
    await owner.getByRole("heading", { name: "Links", exact: true }).waitFor();
    assert.equal(new URL(owner.url()).origin, new URL(base).origin, next);
  }
  await owner.context().clearCookies();
  await owner.goto(`${base}/app/all?interval=hour`);
  await owner.getByLabel("E-mail").fill(address);
  await owner.getByRole("textbox", { name: "Password" }).fill(password);
  await owner.getByRole("button", { name: "Sign in" }).click();
  await owner.waitForURL(`${base}/app/all?interval=hour`);
});
// The browser says in its console what it refused to frame, and that a page's status is not 200.
await browser.close().catch((error) => {
  const refused = /status of (403|404)|frame-ancestors|ERR_BLOCKED_BY_RESPONSE|net::ERR_ABORTED/;
  const others = error.actual?.filter((fault) => !refused.test(fault)) ?? [String(error)];
  assert.deepEqual(others, []);
});
site.close();
closeTarget();
