// The second factor, at a service of its own without limits of log-ins: an app is added by its code, recovery codes are shown once, and
// one of them signs in after the password. A passkey of the browser's own device signs in without either.

import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { open } from "./browser.js";
import { accessible, closeTarget, email, fits, password, picture, step } from "./page.js";

closeTarget();
const free = createServer().listen(0, "127.0.0.1");
await new Promise((ready) => free.on("listening", ready));
const { port } = free.address();
free.close();
// Browsers have no passkeys at an address without a name.
const base = `http://localhost:${port}`;
const folder = await mkdtemp(join(tmpdir(), "shunt-factors-"));
const service = spawn(resolve(process.env.SHUNT ?? "../../debug/shunt"), {
  env: { BIND: `127.0.0.1:${port}`, BASE_URL: base, DATABASE_URL: `sqlite://${folder}/shunt.db`, LIMIT_LOGIN: "0", LIMIT_REGISTER: "0" },
  stdio: ["ignore", "ignore", "inherit"],
});
const isReady = async () => (await fetch(`http://127.0.0.1:${port}/ready`).catch(() => ({ ok: false }))).ok;
while (!await isReady()) {
  assert.equal(service.exitCode, null, "the service starts");
  await new Promise((next) => setTimeout(next, 50));
}

// RFC 6238.
const code = (secret) => {
  const bits = [...secret].map((letter) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(letter).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((byte) => parseInt(byte, 2)));
  const at = Buffer.alloc(8);
  at.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const mark = createHmac("sha1", key).update(at).digest();
  const number = mark.readUInt32BE(mark.at(-1) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
};
const widths = async (page, name) => {
  await accessible(page, name);
  await picture(page, name);
  await page.setViewportSize({ width: 360, height: 740 });
  await fits(page, name);
  await picture(page, `${name}-360`);
  await page.setViewportSize({ width: 1280, height: 1000 });
};
// The browser says in its console that a page's status is not 200.
const closed = (opened) => opened.close().catch((error) => {
  const others = error.actual?.filter((fault) => !/status of 40[13]/.test(fault)) ?? [String(error)];
  assert.deepEqual(others, []);
});
const address = email("frances");
const browser = await open([new URL(base).host]);
const page = await browser.newPage();
const signOut = () => page.getByRole("button", { name: "Sign out", exact: true }).click();
try {
  await step("the page has a code for an app, which fits every screen", async () => {
    await page.goto(`${base}/app/register`);
    await page.getByLabel("E-mail").fill(address);
    await page.getByLabel("Password").fill(password);
    await page.getByRole("button", { name: "Create the account" }).click();
    await page.waitForURL(`${base}/app`, { waitUntil: "load" });
    await page.goto(`${base}/app/account/two-factors`);
    await widths(page, "two-factors-off");
    const path = join(folder, "qr.png");
    await page.locator(".qr").screenshot({ path });
    const { stdout } = await promisify(execFile)("zbarimg", ["--quiet", "--raw", path]);
    const secret = (await page.locator(".new-key code").textContent()).replaceAll(" ", "");
    assert.ok(stdout.startsWith("otpauth://totp/") && stdout.includes(`secret=${secret}&`), stdout);
  });
  await step("an app is added by its code, and recovery codes are shown once", async () => {
    await page.goto(`${base}/app/account`);
    await page.getByRole("link", { name: "Set up" }).click();
    const secret = (await page.locator(".new-key code").textContent()).replaceAll(" ", "");
    await page.locator("#password").fill(password);
    await page.locator("#otp").fill("000");
    await page.getByRole("button", { name: "Turn on" }).click();
    await page.getByText("This code is wrong").waitFor();
    assert.equal((await page.locator(".new-key code").textContent()).replaceAll(" ", ""), secret);
    await page.locator("#password").fill(password);
    await page.locator("#otp").fill(code(secret));
    await page.getByRole("button", { name: "Turn on" }).click();
    await page.getByRole("heading", { name: "Your recovery codes" }).waitFor();
    await widths(page, "recovery-codes");
  });
  const [recovery, second] = await page.locator("li code").allTextContents();
  await step("after the password a code is asked for", async () => {
    await page.goto(`${base}/app/account/two-factors`);
    await widths(page, "two-factors-on");
    await signOut();
    await page.getByLabel("E-mail").fill(address);
    await page.locator("#password").fill(password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("heading", { name: "Enter your code" }).waitFor();
    await widths(page, "code");
    await page.locator("#otp").fill(recovery);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${base}/app`, { waitUntil: "load" });
  });
  const device = await browser.context.newCDPSession(page);
  await device.send("WebAuthn.enable");
  const { authenticatorId } = await device.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const verified = (isUserVerified) => device.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified });
  const codes = await step("a passkey is made by the browser, once its owner has confirmed it", async () => {
    await page.goto(`${base}/app/account/two-factors`);
    await page.locator("#password").fill(password);
    await page.locator("#otp").fill(second);
    await page.getByRole("button", { name: "New recovery codes" }).click();
    await page.getByRole("heading", { name: "Your recovery codes" }).waitFor();
    const codes = await page.locator("li code").allTextContents();
    await page.goto(`${base}/app/account`);
    await page.locator("a[href='/app/account/passkeys']").click();
    await widths(page, "passkeys-none");
    await page.locator("#password").fill(password);
    await page.locator("#otp").fill(codes[0]);
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { name: "Create the passkey" }).waitFor();
    await widths(page, "new-passkey");
    await page.getByLabel("Name").fill("Telephone");
    // The finger is another person's.
    await verified(false);
    await page.getByRole("button", { name: "Create the passkey" }).click();
    await page.getByText("No passkey was created.").waitFor();
    await verified(true);
    await page.getByRole("button", { name: "Create the passkey" }).click();
    await page.getByText("The passkey is added.").waitFor();
    await widths(page, "passkeys");
    return codes;
  });
  await step("the passkey signs in without a password, and leads to the page that was wanted", async () => {
    await signOut();
    await page.goto(`${base}/app/login?next=/app/tags`);
    await widths(page, "sign-in-passkey");
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.waitForURL(`${base}/app/tags`, { waitUntil: "load" });
  });
  await step("a removed passkey is refused in words, and the password is a way in still", async () => {
    await page.goto(`${base}/app/account/passkeys`);
    await page.getByRole("radio", { name: /Telephone/ }).check();
    await page.locator("#remove-password").fill(password);
    await page.locator("#remove-otp").fill(codes[1]);
    await page.getByRole("button", { name: "Remove" }).click();
    await page.getByText("The passkey is removed.").waitFor();
    await signOut();
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.getByText("This passkey is not known here").waitFor();
    await widths(page, "passkey-refused");
    // Without a passkey the browser says so.
    await device.send("WebAuthn.clearCredentials", { authenticatorId });
    await verified(false);
    await page.getByRole("button", { name: "Sign in with a passkey" }).click();
    await page.getByText("No passkey was used.").waitFor();
    await page.getByLabel("E-mail").waitFor();
  });
  await closed(browser);
} finally {
  service.kill();
  await rm(folder, { recursive: true, force: true });
}
