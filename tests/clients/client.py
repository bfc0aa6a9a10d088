"""A client that openapi-python-client made: it makes, lists, shows, changes and deletes links of a running service."""

import os
import time

from shunt_client import AuthenticatedClient, Client
from shunt_client.api.accounts import create_key, register
from shunt_client.api.links import bulk, delete, edit, list_, shorten, show, stats
from shunt_client.models import (
    BulkObject,
    ErrorBody,
    FullLinkBody,
    LinkBody,
    LinkObject,
    LinkPatch,
    ListStatus,
    NewKeyBody,
    RegistrationBody,
    ScopeBody,
    StatusWord,
)

base = os.environ["BASE_URL"]
anyone = Client(base_url=base)
account = RegistrationBody(email=f"python-{time.time_ns()}@example.org", password="correct horse battery")
token = register.sync(client=anyone, body=account).access_token
owner = AuthenticatedClient(base_url=base, token=token)

link = LinkObject(target_url="https://example.org/a", title="A", tags=["clients"], expires_at=None)
made = shorten.sync(client=owner, body=link)
assert isinstance(made, LinkBody), made
assert (made.target_url, made.clicks) == ("https://example.org/a", 0)

objects = [BulkObject(target_url="https://example.org/b", status=StatusWord.ACTIVE), BulkObject(target_url="nowhere")]
many = bulk.sync(client=owner, body=objects)
assert [result.status for result in many] == [200, 422], many

listed = list_.sync(client=owner, q="example.org", status=ListStatus.ACTIVE)
assert [each.target_url for each in listed] == ["https://example.org/b", "https://example.org/a"], listed

shown = show.sync(made.short_code, client=owner)
assert isinstance(shown, FullLinkBody) and shown.status is StatusWord.ACTIVE, shown
assert shown.created_at.tzinfo is not None, shown
changed = edit.sync(made.short_code, client=owner, body=LinkPatch(is_active=False))
assert changed.status is StatusWord.INACTIVE, changed

key = create_key.sync(client=owner, body=NewKeyBody(name="reader", scope=ScopeBody.READ))
refused = delete.sync_detailed(made.short_code, client=AuthenticatedClient(base_url=base, token=key.key))
assert refused.status_code == 403 and isinstance(refused.parsed, ErrorBody), refused

assert delete.sync_detailed(made.short_code, client=owner).status_code == 204
assert stats.sync_detailed(made.short_code, client=anyone).status_code == 404
print("clients: the client of openapi-python-client makes, lists, shows, changes and deletes")
