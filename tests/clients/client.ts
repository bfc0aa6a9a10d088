// A client that openapi-typescript made: it makes, lists, shows, changes, exports and deletes links of a running service. What the
// document says of a type is checked by the compiler, what the service does by this program.

import assert from "node:assert/strict";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const base = process.env.BASE_URL!;
const anyone = createClient<paths>({ baseUrl: base });
const account = { email: `typescript-${process.pid}-${Date.now()}@example.org`, password: "correct horse battery" };
const registered = await anyone.POST("/auth/register", { body: account });
assert.ok(registered.data, JSON.stringify(registered.error));
const owner = createClient<paths>({ baseUrl: base, headers: { authorization: `Bearer ${registered.data.access_token}` } });

const made = await owner.POST("/urls/shorten", { body: { target_url: "https://example.org/a", title: "A", tags: ["clients"] } });
assert.ok(made.data, JSON.stringify(made.error));
const code: string = made.data.short_code;
assert.equal(made.data.clicks satisfies number, 0);

const objects: components["schemas"]["BulkObject"][] = [{ target_url: "https://example.org/b", status: "active" }, { target_url: "nowhere" }];
const many = await owner.POST("/urls/bulk", { body: objects });
assert.deepEqual(many.data?.map(({ status }) => status), [200, 422]);

const status: NonNullable<paths["/urls/my"]["get"]["parameters"]["query"]>["status"] = "active";
const listed = await owner.GET("/urls/my", { params: { query: { status, sort: "-created_at", q: "example.org" } } });
assert.deepEqual(listed.data?.map(({ target_url }) => target_url), ["https://example.org/b", "https://example.org/a"]);

const shown = await owner.GET("/urls/{short_code}", { params: { path: { short_code: code } } });
const word: "active" | "inactive" | "scheduled" | "expired" | "used_up" | "removed" | undefined = shown.data?.status;
assert.equal(word, "active");
const changed = await owner.PATCH("/urls/{short_code}", { params: { path: { short_code: code } }, body: { is_active: false } });
assert.equal(changed.data?.status, "inactive");

const key = await owner.POST("/auth/keys", { body: { name: "reader", scope: "read" } });
assert.ok(key.data, JSON.stringify(key.error));
const reader = createClient<paths>({ baseUrl: base, headers: { authorization: `Bearer ${key.data.key}` } });
const refused = await reader.DELETE("/urls/{short_code}", { params: { path: { short_code: code } } });
assert.equal(refused.response.status, 403);
assert.equal(refused.error?.detail satisfies string | undefined, "This key is read-only");

const deleted = await owner.DELETE("/urls/{short_code}", { params: { path: { short_code: code } } });
assert.equal(deleted.response.status, 204);
const gone = await anyone.GET("/urls/{short_code}/stats", { params: { path: { short_code: code } } });
assert.equal(gone.response.status, 404);
console.error("clients: the client of openapi-typescript makes, lists, shows, changes and deletes");
