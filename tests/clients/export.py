"""What a running service exports fits the object of its document that `POST /urls/bulk` takes, and is taken as it is.

The document is the first argument. With TEST_ADMIN_EMAIL and TEST_ADMIN_PASSWORD of an administrator one of the links is a removed one.
"""

import json
import os
import sys
import time
import urllib.request

from openapi_schema_validator import OAS31Validator

base = os.environ["BASE_URL"]


def call(method, path, token=None, body=None, kind="application/json"):
    headers = {"content-type": kind}
    if token:
        headers["authorization"] = f"Bearer {token}"
    data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
    request = urllib.request.Request(base + path, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=30) as response:
        return response.read().decode()


def account(name):
    body = {"email": f"{name}-{time.time_ns()}@example.org", "password": "correct horse battery"}
    return json.loads(call("POST", "/auth/register", body=body))["access_token"]


class Unfollowed(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


def follow(code):
    try:
        urllib.request.build_opener(Unfollowed).open(f"{base}/{code}", timeout=30)
    except urllib.error.HTTPError as error:
        assert error.code == 302, f"{code}: {error.code}"


owner = account("exports")
links = {
    "plain": {},
    "international": {"target_url": "https://bücher.example/ü?a=<b>", "title": "Bücher"},
    "inactive": {},
    "scheduled": {"starts_at": "2999-01-31T18:00:00Z", "fallback_url": "https://bücher.example/ü"},
    "expired": {},
    "used_up": {"max_clicks": 1},
    "removed": {},
}
codes = {}
for name, fields in links.items():
    made = json.loads(call("POST", "/urls/shorten", owner, {"target_url": f"https://example.org/{name}", **fields}))
    codes[name] = made["short_code"]
# A link with every field, and one with none.
with open("own.csv", encoding="utf-8") as file:
    table = file.read().replace("all-fields", f"full-{time.time_ns()}")
made = json.loads(call("POST", "/urls/bulk", owner, table.encode(), "text/csv"))
assert {result["status"] for result in made} == {200}, made
call("PATCH", f"/urls/{codes['inactive']}", owner, {"is_active": False})
call("PATCH", f"/urls/{codes['expired']}", owner, {"expires_at": "2020-01-31T18:00:00Z"})
follow(codes["used_up"])
wanted = {"active", "inactive", "scheduled", "expired", "used_up"}
if "TEST_ADMIN_EMAIL" in os.environ:
    administrator = {"email": os.environ["TEST_ADMIN_EMAIL"], "password": os.environ["TEST_ADMIN_PASSWORD"]}
    admin = json.loads(call("POST", "/auth/login", body=administrator))["access_token"]
    call("POST", "/admin/removals", admin, {"kind": "link", "value": codes["removed"], "reason": "a test"})
    wanted.add("removed")

with open(sys.argv[1], encoding="utf-8") as file:
    document = json.load(file)


def validator(name):
    schema = {"$ref": f"#/components/schemas/{name}", "components": document["components"]}
    return OAS31Validator(schema, format_checker=OAS31Validator.FORMAT_CHECKER)


# With the hashes of passwords: a link with a password is refused without.
exported = call("GET", "/urls/export?format=ndjson&secrets=true", owner)
rows = [json.loads(line) for line in exported.splitlines()]
assert {row["status"] for row in rows} == wanted, rows
for name in ["BulkObject", "FullLinkBody"]:
    for row in rows:
        faults = [error.message for error in validator(name).iter_errors(row)]
        assert not faults, f"{name}: {row}: {faults}"
# The check can fail: a field of another type is found.
for field, value in {"id": {}, "status": "asleep", "short_url": 7, "updated_at": {}, "titel": "x"}.items():
    assert list(validator("BulkObject").iter_errors({**rows[0], field: value})), field

results = json.loads(call("POST", "/urls/bulk", account("imports"), exported.encode(), "application/x-ndjson"))
# Codes of another account are taken: the objects themselves are refused for nothing else.
assert {result["detail"] for result in results} == {"custom_code: is taken"}, results
print(f"clients: {len(rows)} exported links fit the object that bulk takes")
