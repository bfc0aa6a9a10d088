// Reports, removals and the pages of administrators, in browsers without JavaScript. ADMIN_EMAIL and ADMIN_PASSWORD are an administrator's.

import assert from "node:assert/strict";
import { open } from "./browser.js";
import { accessible, base, close, closeTarget, email, fits, hosts, picture, shorten, signUp, step, target } from "./page.js";

const opened = await open(hosts, { javaScriptEnabled: false, locale: "de-DE" });
const [admin, guest] = [await opened.newPage(), await opened.newPage()];
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
  await page.getByLabel("E-mail").fill(process.env.ADMIN_EMAIL);
  await page.getByRole("textbox", { name: "Password" }).fill(process.env.ADMIN_PASSWORD);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("link", { name: "Administration" }).waitFor();
};
await step("an administrator reads the report and removes the link", async () => {
  await signIn(admin);
  await admin.getByRole("link", { name: "Administration" }).click();
  await admin.getByRole("link", { name: "Reports" }).click();
  await admin.getByText("Es will mein Passwort.").waitFor();
  await admin.getByRole("link", { name: `Remove ${reported}` }).click();
  await admin.getByLabel("Reason").fill("phishing, as reported");
  await admin.getByLabel("Status").selectOption("451");
  await admin.getByRole("button", { name: "Remove", exact: true }).click();
  await admin.getByRole("heading", { name: /^(Remove|Ban) .*\?$/ }).waitFor();
  await admin.getByRole("button", { name: /^(Remove|Ban)$/ }).click();
  await admin.getByText("Removed.").waitFor();
});
// axe-core needs a script.
const scripted = await open(hosts, { locale: "de-DE" });
const seen = await scripted.newPage();
await step("the removed link says why, and every page of administration has no faults and fits a telephone, light and dark", async () => {
  await guest.goto(`${base}/${reported}`);
  await guest.getByText("phishing, as reported").waitFor();
  await guest.getByRole("heading", { name: "Dieser Link wurde entfernt" }).waitFor();
  await signIn(seen);
  const pages = ["", "/reports", "/links", "/accounts", "/domains", "/audit"].map((name) => [`/app/admin${name}`, `admin${name.replace("/", "-")}`]);
  for (const colorScheme of ["light", "dark"]) {
    await seen.emulateMedia({ colorScheme });
    for (const [path, name] of [[`/${reported}`, "removed"], ...pages]) {
      await seen.setViewportSize({ width: 1280, height: 900 });
      await seen.goto(base + path);
      await accessible(seen, `${path} ${colorScheme}`);
      await picture(seen, `${name}-${colorScheme}`);
      await seen.setViewportSize({ width: 360, height: 740 });
      await fits(seen, path);
      await picture(seen, `${name}-${colorScheme}-telephone`);
    }
  }
});
await close(scripted);
await step("the removal is revoked, an account is banned, and let in again", async () => {
  await admin.goto(`${base}/app/admin`);
  await admin.getByRole("button", { name: /^Revoke removal/ }).first().click();
  await admin.getByText("Revoked.").waitFor();
  await guest.goto(`${base}/${reported}`);
  assert.equal(await guest.title(), "arrived");
  await admin.goto(`${base}/app/admin/accounts?q=eve-`);
  await admin.getByRole("link", { name: /^Ban account/ }).first().click();
  await admin.getByLabel("Reason").fill("spam");
  await admin.getByRole("button", { name: "Remove", exact: true }).click();
  await admin.getByRole("heading", { name: /^(Remove|Ban) .*\?$/ }).waitFor();
  await admin.getByRole("button", { name: /^(Remove|Ban)$/ }).click();
  await admin.getByText("Removed.").waitFor();
  await owners.goto(`${base}/app`);
  await owners.getByRole("heading", { name: "Sign in" }).waitFor();
  await admin.goto(`${base}/app/admin/accounts?q=eve-`);
  await admin.getByRole("button", { name: /^Unban account/ }).first().click();
  await admin.getByText("The account may log in again.").waitFor();
});
await step("a domain is added, changed and deleted without JavaScript", async () => {
  await admin.goto(`${base}/app/admin/domains`);
  const host = `browser-${Date.now()}.test`;
  await admin.getByLabel("Host").first().fill(host);
  await admin.getByLabel("Where / leads").fill(`https://${host}/`);
  await admin.getByRole("button", { name: "Add", exact: true }).click();
  await admin.getByText("must not lead back to this host").waitFor();
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
await owner.close();
closeTarget();
