// Reports, removals and the pages of administrators, in browsers without JavaScript. TEST_ADMIN_EMAIL and TEST_ADMIN_PASSWORD are an administrator's.

import assert from "node:assert/strict";
import { open } from "./browser.js";
import { accessible, base, close, closeTarget, email, hosts, look, picture, shorten, signUp, step, target } from "./page.js";

const opened = await open(hosts, { javaScriptEnabled: false });
const admin = await opened.newPage();
const visitors = await open(hosts, { javaScriptEnabled: false, locale: "de-DE" });
const guest = await visitors.newPage();
const owner = await open(hosts);
const owners = await owner.newPage();
await signUp(owners, email("eve"));
const reported = await shorten(owners, `${target}reported`);
assert.equal(await owners.getByRole("link", { name: "Administration" }).count(), 0);
await step("a visitor reports a link without JavaScript", async () => {
  await guest.goto(`${base}/${reported}+`);
  await guest.getByRole("link", { name: "Diesen Link melden" }).click();
  await guest.getByLabel("Was stimmt damit nicht?").fill("Es will mein Passwort.\nNicht öffnen!");
  await guest.getByRole("button", { name: "Meldung senden" }).click();
  await guest.getByRole("heading", { name: "Danke" }).waitFor();
});
const signIn = async (page) => {
  await page.goto(`${base}/app/login`);
  await page.locator("input[name=email]").fill(process.env.TEST_ADMIN_EMAIL);
  await page.locator("input[name=password]").fill(process.env.TEST_ADMIN_PASSWORD);
  await page.locator("input[name=password]").press("Enter");
  await page.locator('a[href="/app/admin"]').waitFor();
};
await step("an administrator reads the report and removes the link", async () => {
  await signIn(admin);
  await admin.getByRole("link", { name: "Administration" }).click();
  await admin.getByRole("link", { name: "Reports", exact: true }).click();
  const entry = admin.locator("li", { hasText: reported });
  await entry.getByText("Es will mein Passwort.").waitFor();
  await entry.getByText("Remove or ban").click();
  await entry.getByLabel("Reason").fill("phishing, as reported");
  await entry.getByLabel("Answer").selectOption("451");
  await entry.getByLabel("Reason").press("Enter");
  await admin.getByRole("heading", { name: `Remove ${reported}?` }).waitFor();
  await admin.getByText(`${target}reported`).waitFor();
  await picture(admin, "admin-question");
  await admin.getByRole("button", { name: "Remove", exact: true }).click();
  await admin.getByText("Removed, and its reports are closed.").waitFor();
  await admin.getByRole("link", { name: "Closed" }).click();
  await entry.getByText("Es will mein Passwort.").waitFor();
});
// axe-core needs a script.
const scripted = await open(hosts);
const seen = await scripted.newPage();
await step("the removed link says why, and every page of administration has no faults and fits every screen", async () => {
  await guest.goto(`${base}/${reported}`);
  await guest.getByText("phishing, as reported").waitFor();
  await guest.getByRole("heading", { name: "Dieser Link wurde entfernt" }).waitFor();
  await signIn(seen);
  const names = ["", "/reports", "/reports?state=closed", "/links", "/accounts", "/removals", "/domains", "/audit"];
  const pages = names.map((name) => [`/app/admin${name}`, `admin${name.replace("/", "-").replace("?state=", "-")}`]);
  await seen.goto(`${base}/app/admin/accounts?q=eve-`);
  for (const name of ["password", "role"]) {
    pages.push([await seen.locator(`a[href$="/${name}"]`).first().getAttribute("href"), `admin-${name}`]);
  }
  await look(seen, [[`/${reported}`, "removed"], ...pages]);
});
await close(scripted);
await step("the removal is revoked, an account is banned, and let in again", async () => {
  await admin.goto(`${base}/app/admin/removals`);
  await admin.getByRole("button", { name: `Revoke: Link ${reported}` }).first().click();
  await admin.getByText("Revoked.").waitFor();
  await guest.goto(`${base}/${reported}`);
  assert.equal(await guest.title(), "arrived");
  await admin.goto(`${base}/app/admin/accounts?q=eve-`);
  await admin.getByRole("link", { name: /^Ban, Account/ }).first().click();
  await admin.getByLabel("Reason").fill("spam");
  await admin.getByRole("button", { name: "Go on to the question" }).click();
  await admin.getByRole("heading", { name: /^Ban eve-.*\?$/ }).waitFor();
  await admin.getByText(/clicks? in 30 days/).waitFor();
  await admin.getByRole("button", { name: "Ban", exact: true }).click();
  await admin.getByText("Removed.").waitFor();
  await owners.goto(`${base}/app`);
  await owners.getByRole("heading", { name: "Sign in" }).waitFor();
  await admin.goto(`${base}/app/admin/accounts?q=eve-`);
  await admin.getByRole("button", { name: /^Unban, Account/ }).first().click();
  await admin.getByText("The account may sign in again.").waitFor();
});
await step("a role is given and taken, and a new password is shown once, without JavaScript", async () => {
  for (const [name, done] of [["Make administrator", "The account is an administrator now."], ["Take the role", "The account is no administrator any more."]]) {
    await admin.goto(`${base}/app/admin/accounts?q=eve-`);
    await admin.getByRole("link", { name: new RegExp(`^${name}, Account`) }).first().click();
    await admin.getByRole("heading", { name: /eve-.*\?$/ }).waitFor();
    await admin.getByRole("button", { name }).click();
    await admin.getByText(done).waitFor();
  }
  await admin.goto(`${base}/app/admin/accounts?q=eve-`);
  await admin.getByRole("link", { name: /^New password, Account/ }).first().click();
  await admin.getByRole("button", { name: "New password" }).click();
  await admin.getByText("shown only once").waitFor();
  assert.match(await admin.locator("main code").innerText(), /^\S{20,}$/);
});
await step("a domain is added, changed and deleted without JavaScript", async () => {
  await admin.goto(`${base}/app/admin/domains`);
  const host = `browser-${Date.now()}.test`;
  await admin.getByLabel("Host").first().fill(host);
  await admin.getByLabel("Where / leads").fill(`https://${host}/`);
  await admin.getByRole("button", { name: "Add", exact: true }).click();
  await admin.getByText("The address must not lead back to this host.").waitFor();
  assert.equal(await admin.getByLabel("Host").first().inputValue(), host);
  await admin.getByLabel("Where / leads").fill("https://example.org/");
  await admin.getByLabel("Who may make links there").selectOption("all");
  await admin.getByRole("button", { name: "Add", exact: true }).click();
  await admin.getByText("Added.").waitFor();
  await admin.getByRole("link", { name: `Change ${host}` }).click();
  await admin.getByLabel("Where unknown codes lead").fill("https://example.org/lost");
  await admin.getByRole("button", { name: "Save" }).click();
  await admin.getByText("Saved.").waitFor();
  await admin.getByRole("link", { name: "Delete" }).click();
  await admin.getByRole("heading", { name: `Delete the domain ${host}?` }).waitFor();
  await admin.getByRole("button", { name: "Delete" }).click();
  await admin.getByText("Deleted.").waitFor();
});
await close(opened);
await close(visitors);
await owner.close();
closeTarget();
