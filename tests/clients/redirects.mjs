// `shunt export --as redirects` of a running service, read by the parser with which Netlify reads `_redirects`: every line is a redirect
// from the code to where the link leads.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAllRedirects } from "@netlify/redirect-parser";

const baseUrl = process.env.BASE_URL;
const json = { "content-type": "application/json" };
const post = async (path, body, token) => {
    const headers = token ? { ...json, authorization: `Bearer ${token}` } : json;
    const response = await fetch(baseUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(response.status, 200, path);
    return response.json();
};
const account = { email: `redirects-${process.pid}-${Date.now()}@example.org`, password: "correct horse battery" };
const { access_token: token } = await post("/auth/register", account);
const { key } = await post("/auth/keys", { name: "redirects", scope: "read" }, token);
const targets = [
    "https://example.org",
    "HTTPS://example.org/a b\"c#d e",
    "https://example.org:8443/a:splat/*/:b?c=:d&Country=de#:e",
    "https://b\u00fccher.example/stra\u00dfe?\u00e4=\u00f6",
    "https://example.org/?from=/x&to=https://example.com/%20",
    `https://example.org/${"\u00fc".repeat(1000)}`,
];
const codes = targets.map((_, at) => `redirect-${process.pid}-${Date.now()}-${at}`);
const links = targets.map((target_url, at) => ({ target_url, custom_code: codes[at] }));
for (const { status } of await post("/urls/bulk", links, token)) assert.equal(status, 200);

const redirectsFile = join(mkdtempSync(join(tmpdir(), "shunt-")), "_redirects");
const line = ["export", "--as", "redirects", "-o", redirectsFile, "--server", baseUrl];
execFileSync(process.env.SHUNT_PROGRAM, line, { env: { SHUNT_KEY: key }, stdio: "pipe" });
const { redirects, errors } = await parseAllRedirects({
    redirectsFiles: [redirectsFile], netlifyConfigPath: undefined, minimal: true, configRedirects: [],
});
assert.deepEqual(errors, []);
assert.equal(redirects.length, links.length);
for (const code of codes) {
    const [{ to, status, query, conditions }, ...others] = redirects.filter(({ from }) => from === `/${code}`);
    assert.deepEqual(others, []);
    const visit = await fetch(`${baseUrl}/${code}`, { redirect: "manual" });
    const location = visit.headers.get("location").replace("HTTPS:", "https:");
    assert.equal(to.replaceAll("%3A", ":"), location);
    assert.deepEqual([status, query ?? {}, conditions ?? {}], [visit.status, {}, {}]);
}
console.error("clients: Netlify's parser reads every exported link");
