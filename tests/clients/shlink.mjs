// The SDK of Shlink against a running service: it makes, finds, lists, shows, changes and deletes links, sets rules, counts, and reads
// refusals.

import assert from "node:assert/strict";
import { ShlinkApiClient } from "@shlinkio/shlink-js-sdk";
import { ErrorType } from "@shlinkio/shlink-js-sdk/api-contract";
import { FetchHttpClient } from "@shlinkio/shlink-js-sdk/fetch";

const baseUrl = process.env.BASE_URL;
const json = { "content-type": "application/json" };
const post = async (path, body, token) => {
    const headers = token ? { ...json, authorization: `Bearer ${token}` } : json;
    const response = await fetch(baseUrl + path, { method: "POST", headers, body: JSON.stringify(body) });
    assert.equal(response.status, 200, path);
    return response.json();
};
const account = { email: `shlink-${process.pid}-${Date.now()}@example.org`, password: "correct horse battery" };
const { access_token: token } = await post("/auth/register", account);
const key = async (scope) => (await post("/auth/keys", { name: scope, scope }, token)).key;
const client = (apiKey) => new ShlinkApiClient(new FetchHttpClient(), { baseUrl, apiKey });
const owner = client(await key("write"));
const reader = client(await key("read"));

const code = `sdk-${process.pid}-${Date.now()}`;
const longUrl = "https://example.org/sdk?a=1";
const made = await owner.createShortUrl({ longUrl, customSlug: code, tags: ["sdk", "print"], title: "SDK", maxVisits: 5 });
assert.equal(made.shortUrl, `${baseUrl}/${code}`);
assert.deepEqual([made.shortCode, made.tags, made.meta.maxVisits, made.forwardQuery], [code, ["sdk", "print"], 5, true]);
const found = await owner.createShortUrl({ longUrl, findIfExists: true });
assert.equal(found.shortCode, code);
const short = await owner.createShortUrl({ longUrl, shortCodeLength: 9 });
assert.equal(short.shortCode.length, 9);

const listed = await reader.listShortUrls({ page: "1", itemsPerPage: 1, tags: ["sdk"], orderBy: { field: "visits", dir: "DESC" } });
assert.deepEqual(listed.data.map(({ shortCode }) => shortCode), [code]);
assert.deepEqual([listed.pagination.currentPage, listed.pagination.pagesCount, listed.pagination.totalItems], [1, 1, 1]);
assert.equal((await reader.listShortUrls()).pagination.totalItems, 2);

// `null` means absent.
const changed = await owner.updateShortUrl({ shortCode: code }, { title: "SDK 2", maxVisits: null, longUrl: "https://example.org/new" });
assert.deepEqual([changed.title, changed.meta.maxVisits, changed.longUrl], ["SDK 2", 5, "https://example.org/new"]);
assert.deepEqual(await reader.getShortUrl({ shortCode: code }), changed);

const redirectRules = [{ longUrl: "https://example.org/ios", conditions: [{ type: "device", matchKey: null, matchValue: "ios" }] }];
const rules = await owner.setShortUrlRedirectRules({ shortCode: code }, { redirectRules });
assert.deepEqual(rules.redirectRules, [{ ...redirectRules[0], priority: 1 }]);
assert.deepEqual(await reader.getShortUrlRedirectRules({ shortCode: code }), rules);
const ios = { "user-agent": "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1" };
const visit = await fetch(`${baseUrl}/${code}`, { redirect: "manual", headers: ios });
assert.equal(visit.headers.get("location"), "https://example.org/ios");

assert.deepEqual((await reader.listTags()).data, ["print", "sdk"]);
await owner.editTag({ oldName: "print", newName: "paper" });
assert.deepEqual((await reader.tagsStats()).data.map(({ tag, shortUrlsCount }) => [tag, shortUrlsCount]), [["paper", 1], ["sdk", 1]]);
await owner.deleteTags(["paper", "sdk"]);
assert.deepEqual((await reader.listTags()).data, []);

assert.equal((await reader.getShortUrl({ shortCode: code })).visitsSummary.total, 1);
assert.equal((await reader.getVisitsOverview()).orphanVisits.total, 0);
assert.deepEqual((await reader.getShortUrlVisits({ shortCode: code }, { page: 1, itemsPerPage: 20 })).data, []);
assert.deepEqual((await reader.getOrphanVisits()).data, []);
assert.equal((await reader.listDomains()).data[0].isDefault, true);
assert.equal((await reader.health()).version, "4.0.0");

const refused = (type) => (error) => error.type === type;
await assert.rejects(reader.mercureInfo(), refused(ErrorType.MERCURE_NOT_CONFIGURED));
await assert.rejects(owner.createShortUrl({ longUrl, customSlug: code }), refused(ErrorType.INVALID_SLUG));
await assert.rejects(owner.createShortUrl({ longUrl: "nonsense" }), refused(ErrorType.INVALID_ARGUMENT));
await assert.rejects(client("nonsense").listShortUrls(), refused(ErrorType.INVALID_API_KEY));
await assert.rejects(reader.deleteShortUrl({ shortCode: code }), (error) => error.status === 403);
await owner.deleteShortUrl({ shortCode: code });
await assert.rejects(reader.getShortUrl({ shortCode: code }), refused(ErrorType.INVALID_SHORTCODE));
console.error("clients: Shlink's SDK makes, finds, lists, shows, changes, counts and deletes");
