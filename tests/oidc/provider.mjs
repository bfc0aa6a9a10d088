// A certified OpenID provider for the Rust tests: npm's oidc-provider, with forms that anybody may sign in by. It listens on a free
// port, says its address in one line, and ends when its standard input ends.
//
// Clients register themselves (RFC 7591). What it says of people, and its keys, are set by the tests:
//   PUT /_people/SUBJECT    the claims of a person, as JSON
//   POST /_rotate           new keys, by which it signs from then on
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

// What it warns of is that it is set up for tests.
console.info = () => {};
console.warn = () => {};

const people = new Map();

const newKeys = () => {
  const kinds = [
    ['RS256', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['ES256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['EdDSA', generateKeyPairSync('ed25519')],
  ];
  return kinds.map(([alg, { privateKey }]) => ({
    ...privateKey.export({ format: 'jwk' }), alg, use: 'sig', kid: randomUUID(),
  }));
};

// What the provider keeps, for as long as this process: also beyond a change of keys, which is another instance.
const kept = new Map();

class Adapter {
  constructor(name) { this.name = name; }

  at(id) { return `${this.name}:${id}`; }

  async upsert(id, payload) { kept.set(this.at(id), payload); }

  async find(id) { return kept.get(this.at(id)); }

  async findByUid(uid) {
    for (const [at, payload] of kept) {
      if (at.startsWith(`${this.name}:`) && payload.uid === uid) return payload;
    }
    return undefined;
  }

  async findByUserCode() { return undefined; }

  async consume(id) { kept.get(this.at(id)).consumed = Math.floor(Date.now() / 1000); }

  async destroy(id) { kept.delete(this.at(id)); }

  async revokeByGrantId(grantId) {
    for (const [at, payload] of kept) {
      if (payload.grantId === grantId) kept.delete(at);
    }
  }
}

let keys = [];

const scopes = ['openid', 'email', 'profile', 'groups'];

const settings = () => ({
  adapter: Adapter,
  jwks: { keys },
  cookies: { keys: ['a key of tests'] },
  clientDefaults: { backchannel_logout_session_required: true },
  scopes,
  claims: {
    openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'], groups: ['groups'],
  },
  enabledJWA: { idTokenSigningAlgValues: ['RS256', 'ES256', 'EdDSA'] },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    rpInitiatedLogout: { enabled: true },
    backchannelLogout: { enabled: true },
  },
  pkce: { required: () => true },
  // It would not tell a service on its own machine that a session has ended.
  fetch: (url, { dispatcher, ...options }) => globalThis.fetch(url, options),
  findAccount: (_, id) => ({
    accountId: id, claims: () => ({ sub: id, ...people.get(id) }),
  }),
  // Nobody is asked whether a client may know an address.
  async loadExistingGrant({ oidc }) {
    const grant = new oidc.provider.Grant({
      clientId: oidc.client.clientId, accountId: oidc.session.accountId,
    });
    grant.addOIDCScope(scopes.join(' '));
    await grant.save();
    return grant;
  },
});

let handle;

const body = async (request) => {
  let text = '';
  for await (const part of request) text += part;
  return text;
};

const server = createServer(async (request, response) => {
  if (request.url.startsWith('/_people/')) {
    people.set(decodeURIComponent(request.url.slice(9)), JSON.parse(await body(request)));
    response.end();
  } else if (request.url === '/_rotate') {
    renew();
    response.end();
  } else {
    handle(request, response);
  }
});

const renew = () => {
  keys = [...newKeys(), ...keys];
  const { port } = server.address();
  handle = new Provider(`http://127.0.0.1:${port}`, settings()).callback();
};

server.listen(0, '127.0.0.1', () => {
  renew();
  process.stdout.write(`http://127.0.0.1:${server.address().port}\n`);
});
process.stdin.on('end', () => process.exit(0)).resume();
