// A link with a password, with and without JavaScript: its owner sets it, a visitor gives it, and the browser lets the answer's
// redirect through to another host. That host learns nothing of where the visitor came from.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { open } from "./browser.js";
import { accessible, base, closeTarget, email, fits, picture, shorten, signUp, step, target } from "./page.js";

const seen = [];
const site = createServer((request, response) => {
  if (request.url === "/secret?from=form") seen.push([request.method, request.headers.referer, request.headers.origin]);
  response.setHeader("content-type", "text/html");
  response.end("<!doctype html><link rel=icon href=data:,><title>elsewhere</title><h1>The secret page</h1>");
});
await new Promise((ready) => site.listen(0, "127.0.0.1", ready));
// Another name is another site.
const secret = `http://localhost:${site.address().port}/secret`;
const hosts = [base, target, secret].map((url) => new URL(url).host);
const PASSWORD = "open sesame";

// The browser says in its console that a page's status is not 200.
const closed = (opened) => opened.close().catch((error) => {
  const others = error.actual?.filter((fault) => !/status of 403/.test(fault)) ?? [String(error)];
  assert.deepEqual(others, []);
});
const browser = await open(hosts);
const owner = await browser.newPage();
await signUp(owner, email("pascale"));
const code = await shorten(owner, secret);
await step("an owner sets a password, and the page never shows it", async () => {
  const form = `${base}/app/links/${code}/edit`;
  await owner.goto(form);
  await owner.locator("#password").fill(PASSWORD);
  await owner.getByLabel("Add the visitor’s query parameters to the target").check();
  await owner.getByRole("button", { name: "Save" }).click();
  await owner.getByText("Saved.").waitFor();
  await owner.getByText("Needs a password").first().waitFor();
  await owner.goto(form);
  assert.equal(await owner.locator("#password").inputValue(), "");
  // A save without another password keeps it.
  await owner.getByRole("button", { name: "Save" }).click();
  await owner.getByText("Saved.").waitFor();
  await owner.getByText("Needs a password").first().waitFor();
});
for (const javaScriptEnabled of [true, false]) {
  const visitors = await open(hosts, { javaScriptEnabled });
  const visitor = await visitors.newPage();
  await step(`a visitor gives the password, ${javaScriptEnabled ? "with" : "without"} JavaScript`, async () => {
    seen.length = 0;
    await visitor.goto(`${base}/${code}?from=form`);
    await visitor.getByRole("heading", { name: "This link needs a password" }).waitFor();
    if (javaScriptEnabled) {
      await accessible(visitor, "the form of a password");
      await picture(visitor, "password");
      await visitor.setViewportSize({ width: 360, height: 740 });
      await fits(visitor, "the form of a password");
      await visitor.setViewportSize({ width: 1280, height: 900 });
    }
    await visitor.getByLabel("Password").fill("a wrong one");
    await visitor.getByRole("button", { name: "Follow the link" }).click();
    await visitor.getByText("The password is wrong.").waitFor();
    await visitor.getByLabel("Password").fill(PASSWORD);
    await visitor.getByRole("button", { name: "Follow the link" }).click();
    await visitor.getByRole("heading", { name: "The secret page" }).waitFor();
    assert.equal(visitor.url(), `${secret}?from=form`);
    assert.equal(seen.length, 1);
    const [method, referrer] = seen[0];
    assert.deepEqual([method, referrer], ["GET", undefined]);
  });
  await closed(visitors);
}
await step("a password is taken away by its box", async () => {
  await owner.goto(`${base}/app/links/${code}/edit`);
  await owner.getByLabel("Remove the password").check();
  await owner.getByRole("button", { name: "Save" }).click();
  await owner.getByText("Saved.").waitFor();
  const open = await fetch(`${base}/${code}`, { redirect: "manual" });
  assert.equal(open.status, 302);
});
await closed(browser);
site.close();
closeTarget();
