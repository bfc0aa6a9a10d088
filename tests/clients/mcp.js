// `shunt mcp` by the official client of the Model Context Protocol, which checks each message: with the revision in which requests stand
// alone, and with a handshake. The program has nothing but a key.

import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const base = process.env.BASE_URL;
const json = async (path, body, token) => {
  const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
  const response = await fetch(base + path, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(response.status, 200, path);
  return response.json();
};
const account = { email: `mcp-${process.pid}-${Date.now()}@example.org`, password: "correct horse battery" };
const { access_token: token } = await json("/auth/register", account);
const { key } = await json("/auth/keys", { name: "mcp", scope: "write" }, token);

for (const [mode, revision] of [[{ pin: "2026-07-28" }, "2026-07-28"], ["auto", "2026-07-28"], ["legacy", "2025-11-25"]]) {
  const client = new Client({ name: "tests", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport({
    command: process.env.SHUNT_PROGRAM, args: ["mcp"], env: { SHUNT_URL: base, SHUNT_KEY: key, HOME: "/nonexistent" },
  }));
  assert.equal(client.getNegotiatedProtocolVersion(), revision);
  assert.equal(client.getServerVersion()?.name, "shunt");
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(({ name }) => name), ["create_link", "find_links", "show_link", "change_link", "link_statistics"]);
  const call = async (name, given) => client.callTool({ name, arguments: given });
  const { structuredContent: made } = await call("create_link", { target_url: "https://example.org/a", title: "A", tags: ["mcp"] });
  const link = made.short_url;
  const { structuredContent: found } = await call("find_links", { tag: "mcp", q: made.short_code });
  assert.deepEqual(found.links.map(({ short_code }) => short_code), [made.short_code]);
  assert.equal((await call("show_link", { link })).structuredContent.title, "A");
  assert.equal((await call("change_link", { link, title: null })).structuredContent.title, null);
  assert.equal((await call("link_statistics", { link })).structuredContent.clicks, 0);
  const refused = await call("change_link", { link, titel: "B" });
  assert.ok(refused.isError && refused.content[0].text.includes("did you mean title"), JSON.stringify(refused));
  await assert.rejects(call("delete_link", { link }));
  await client.close();
}
