import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { addDays, formatTime } from '#bundles/time';
import {
  createAuthority,
  issueClientCertificate,
  issueServerCertificate,
} from '#bundles/trust/root/issue-certificate';
import { type SigningKey, verifySignature } from '#bundles/trust/keys/key';
import { DEFAULT_LIMITS, parseLimits } from '../../../../scheduler/keys/signer/limits.ts';
import { newSigningKey } from '../../../harness/fleets/signed-fleet.ts';
import {
  AUDIENCE,
  BUNDLE,
  bundlePayload,
  evidenceFor,
  leasePayload,
  NOW,
  newWorld,
  type ReleaseParts,
  releasePayload,
  sitePayload,
  startSigner,
  type TestSigner,
  toSign,
} from './signer-world.ts';

const world = await newWorld();
const strict = await newWorld(2);
const { keys } = world;

const sourceOf = (role: string): Json => ({
  role,
  repo: 'https://git.example/platform',
  path: '.',
  tree: digestOf('tree'),
  ref: 'main',
  commit: 'b'.repeat(40),
});

const HELD: Json = {
  assignment: 'kiosk',
  code: 'SCHEMA',
  message: 'no',
  at: { file: 'a.yaml', line: 1, column: 2 },
};

const receiptPayload = (): Buffer =>
  encodeStatement([{ name: 'report', digest: digestOf('report') }], PREDICATES.receipt, {
    fleet: 'acme',
    agent: 'plant-7/press-1',
    from: 1,
    to: 2,
    head: digestOf('head'),
    time: formatTime(NOW),
  });

const release = async ({ signer }: TestSigner, parts: ReleaseParts = {}, evidence?: readonly Buffer[]) => {
  const payload = releasePayload(parts);
  const signature = await signer.sign(
    'release',
    toSign(payload),
    evidence ??
      (await evidenceFor([keys.bundle], {
        payload: bundlePayload(parts.bundle),
        revocations: parts.revocations,
      })),
  );
  return { payload, digest: digestOf(payload), signature };
};

test('H23: it signs a release, then only newer ones that follow on it, and the same again with the same', async () => {
  await using it = await startSigner(world);
  const first = await release(it);
  expect(verifySignature(keys.release.public, toSign(first.payload), first.signature)).toBe(true);
  await release(it);
  const second = { over: { version: 2, previous: first.digest } };
  await release(it, second);
  await expect(
    release(it, { over: { version: 2, previous: first.digest, minSiteVersion: 3 } }),
  ).rejects.toMatchObject({
    code: 'NOT_NEWER',
    message: 'release 2 of prod/kiosk was signed already, with other content',
  });
  await expect(release(it, { over: { minSiteVersion: 3 } })).rejects.toMatchObject({ code: 'NOT_NEWER' });
  await release(it, second);
});

test('remembers what it signed after a restart', async () => {
  await using it = await startSigner(world);
  await release(it);
  it.state[Symbol.dispose]();
  const { openSignerState } = await import('../../../../scheduler/keys/signer/state/open-state.ts');
  using again = await openSignerState(`${it.folder}/state`);
  expect(again.signed('release:prod/kiosk')).toMatchObject([
    { version: 1, payload: digestOf(releasePayload()) },
  ]);
  await expect(openSignerState(`${it.folder}/state`)).rejects.toMatchObject({ code: 'BUSY' });
});

test('H23: two requests at once for one number end with one signature', async () => {
  await using it = await startSigner(world);
  const both = await Promise.allSettled([release(it), release(it, { over: { minSiteVersion: 1 } })]);
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(both[1]).toMatchObject({ reason: { code: 'NOT_NEWER' } });
});

test('accepts a release with the same predecessor as an unpublished one', async () => {
  await using it = await startSigner(world);
  const first = await release(it);
  await release(it, { over: { version: 2, previous: first.digest } });
  await release(it, { over: { version: 3, previous: first.digest, minSiteVersion: 1 } });
});

test('refuses a release with an unknown predecessor, unless that is shown', async () => {
  await using it = await startSigner(world);
  const before = releasePayload({ over: { version: 7 } });
  const next = { over: { version: 8, previous: digestOf(before) } };
  await expect(release(it, next)).rejects.toMatchObject({ code: 'SIGNER_REFUSED' });
  const shown = async (key: SigningKey) => [
    ...(await evidenceFor([keys.bundle])),
    await signPayload(before, key),
  ];
  await expect(release(it, next, await shown(newSigningKey()))).rejects.toMatchObject({
    code: 'UNKNOWN_KEY',
  });
  await expect(
    release(it, { over: { version: 300, previous: digestOf(before) } }, await shown(keys.release)),
  ).rejects.toMatchObject({ code: 'SIGNER_REFUSED', message: expect.stringContaining('jumps') });
  await release(it, next, await shown(keys.release));
});

test('H23: nobody can use up the numbers of a channel or a site', async () => {
  await using it = await startSigner(world);
  const first = await release(it);
  await expect(
    release(it, { over: { version: Number.MAX_SAFE_INTEGER, previous: first.digest } }),
  ).rejects.toMatchObject({ code: 'SIGNER_REFUSED' });
  await it.signer.sign('release', toSign(sitePayload(400)), []);
  await expect(it.signer.sign('release', toSign(sitePayload(501)), [])).rejects.toMatchObject({
    code: 'SIGNER_REFUSED',
    message: 'site statement 501 of plant-7 jumps: the last one was 400',
  });
});

test('H23: a release needs as many bundle signers as the root wants, by distinct keys', async () => {
  await using it = await startSigner(strict);
  const payload = toSign(releasePayload());
  const sign = async (signers: readonly SigningKey[]) =>
    it.signer.sign('release', payload, await evidenceFor(signers));
  const { bundle, approver } = strict.keys;
  await expect(sign([])).rejects.toMatchObject({ code: 'APPROVAL_MISSING' });
  await expect(sign([bundle])).rejects.toMatchObject({
    code: 'APPROVAL_MISSING',
    message: expect.stringContaining('signed by 1 of the 2 bundle signers needed'),
  });
  await expect(sign([bundle, bundle])).rejects.toMatchObject({ code: 'APPROVAL_MISSING' });
  await expect(sign([bundle, newSigningKey()])).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
  await sign([bundle, approver]);
});

test.each<[string, ReleaseParts, string]>([
  ['of another fleet', { over: { audience: { ...AUDIENCE, fleet: 'other' } } }, 'WRONG_FLEET'],
  [
    'of another environment than its bundle',
    { over: { audience: { ...AUDIENCE, environment: 'qa' } } },
    'WRONG_ENVIRONMENT',
  ],
  ['of another kind than its bundle', { subject: 'bundle/kubernetes' }, 'WRONG_TYPE'],
  ['about a thing nobody knows', { subject: 'agent' }, 'SIGNER_REFUSED'],
  ['under a root that is still to come', { over: { rootVersion: 2 } }, 'ROOT_BEHIND'],
  ['for five years', { over: { expires: formatTime(addDays(NOW, 1826)) } }, 'SCHEMA'],
  ['of last week', { over: { issuedAt: formatTime(addDays(NOW, -7)) } }, 'SIGNER_REFUSED'],
  ['of tomorrow', { over: { issuedAt: formatTime(addDays(NOW, 0.5)) } }, 'SIGNER_REFUSED'],
  ['that demands what nobody knows', { over: { critical: ['x'] } }, 'UNSUPPORTED'],
  ['with a field that nobody knows', { over: { bonus: 1 } }, 'SIGNER_REFUSED'],
  ['without a number', { over: { version: 0 } }, 'SCHEMA'],
  [
    'of a revoked bundle',
    { revocations: { ...AUDIENCE, revoked: [{ digest: BUNDLE, reason: 'hole', at: formatTime(NOW) }] } },
    'REVOKED',
  ],
  [
    'with the list of another channel',
    { revocations: { ...AUDIENCE, clusterType: 'gate', revoked: [] } },
    'WRONG_TYPE',
  ],
])('refuses a release %s', async (_, parts, code) => {
  await using it = await startSigner(world);
  await expect(
    release(
      it,
      parts,
      await evidenceFor([keys.bundle], {
        ...(parts.revocations !== undefined && { revocations: parts.revocations }),
      }),
    ),
  ).rejects.toMatchObject({ code });
  expect(it.state.signed('release:prod/kiosk')).toEqual([]);
  expect(it.logged).toMatchObject([{ msg: 'refused', role: 'release', code }]);
});

test('refuses a bundle that an earlier release revoked, even if the next list omits it', async () => {
  await using it = await startSigner(world);
  const other = digestOf('another bundle');
  const revocations = { ...AUDIENCE, revoked: [{ digest: other, reason: 'hole', at: formatTime(NOW) }] };
  const first = await release(it, { revocations });
  await expect(
    release(it, { bundle: other, over: { version: 2, previous: first.digest } }),
  ).rejects.toMatchObject({ code: 'REVOKED' });
});

test('refuses a release without its revocation list', async () => {
  await using it = await startSigner(world);
  const [statement] = await evidenceFor([keys.bundle]);
  await expect(release(it, {}, statement ? [statement] : [])).rejects.toMatchObject({
    code: 'SIGNER_REFUSED',
  });
});

test('signs with each key its own kind of statement only', async () => {
  await using it = await startSigner(world);
  const refused = { code: 'PREDICATE_TYPE' };
  await expect(it.signer.sign('release', toSign(bundlePayload()), [])).rejects.toMatchObject(refused);
  await expect(it.signer.sign('bundle', toSign(releasePayload()), [])).rejects.toMatchObject(refused);
  await expect(it.signer.sign('lease', toSign(sitePayload(1)), [])).rejects.toMatchObject(refused);
  await expect(it.signer.sign('receipt', toSign(sitePayload(1)), [])).rejects.toMatchObject(refused);
  await it.signer.sign('bundle', toSign(bundlePayload()), []);
  await expect(
    it.signer.sign('bundle', toSign(bundlePayload(BUNDLE, { fleet: 'other' })), []),
  ).rejects.toMatchObject({ code: 'WRONG_FLEET' });
});

test.each<[string, Buffer]>([
  ['bytes of any kind', Buffer.from('transfer 100 to eve')],
  ['a statement without its encoding', releasePayload()],
  ['an encoding that lies about its length', Buffer.concat([toSign(releasePayload()), Buffer.from(' ')])],
  [
    'a statement with white space',
    toSign(Buffer.from(JSON.stringify(JSON.parse(releasePayload().toString()), null, 1))),
  ],
  [
    'a statement with a field beside',
    toSign(Buffer.from(releasePayload().toString().replace('{', '{"_extra":1,'))),
  ],
])('refuses %s', async (_, bytes) => {
  await using it = await startSigner(world);
  await expect(it.signer.sign('release', bytes, [])).rejects.toMatchObject({ code: 'SIGNER_REFUSED' });
});

test('counts site statements per site, and signs receipts for its own fleet only', async () => {
  await using it = await startSigner(world);
  const site = (version: number, over = {}) =>
    it.signer.sign('release', toSign(sitePayload(version, over)), []);
  await site(1);
  await site(1);
  await expect(site(1, { agents: [], expires: formatTime(addDays(NOW, 9)) })).rejects.toMatchObject({
    code: 'NOT_NEWER',
  });
  await site(2);
  await site(1, { audience: { fleet: 'acme', site: 'plant-8' } });
  await expect(site(3, { audience: { fleet: 'other', site: 'plant-7' } })).rejects.toMatchObject({
    code: 'WRONG_FLEET',
  });
  const receipt = (fleet: string) =>
    it.signer.sign(
      'receipt',
      toSign(
        encodeStatement([{ name: 'report', digest: digestOf('events') }], PREDICATES.receipt, {
          fleet,
          agent: 'plant-7/a',
          from: 1,
          to: 2,
          head: digestOf('head'),
          time: formatTime(NOW),
        }),
      ),
      [],
    );
  await receipt('acme');
  await expect(receipt('other')).rejects.toMatchObject({ code: 'WRONG_FLEET' });
});

test('signs a lease only for the newest release that it signed, with increasing numbers', async () => {
  await using it = await startSigner(world);
  const { digest } = await release(it);
  const lease = (version: number, about = digest, evidence: readonly Buffer[] = []) =>
    it.signer.sign('lease', toSign(leasePayload(version, about)), evidence);
  await lease(1);
  await lease(2);
  await expect(lease(3, digestOf('x'))).rejects.toMatchObject({ code: 'SIGNER_REFUSED' });
  await expect(lease(1)).resolves.toBeInstanceOf(Buffer);
  const next = await release(it, { over: { version: 2, previous: digest } });
  await expect(lease(2, next.digest)).rejects.toMatchObject({ code: 'NOT_NEWER' });
  await lease(3, next.digest);
});

test('I6: an old release gets no lease, so that it does not look current where newer ones are withheld', async () => {
  await using it = await startSigner(world);
  const lease = (version: number, about: Digest, evidence: readonly Buffer[] = []) =>
    it.signer.sign('lease', toSign(leasePayload(version, about)), evidence);
  const first = await release(it);
  const second = await release(it, { over: { version: 2, previous: first.digest } });
  // The second may have been signed and never published.
  await lease(1, first.digest);
  const third = await release(it, { over: { version: 3, previous: second.digest } });
  const shown = await signPayload(first.payload, keys.release);
  for (const evidence of [[], [shown]])
    await expect(lease(2, first.digest, evidence)).rejects.toMatchObject({ code: 'SIGNER_REFUSED' });
  await lease(2, third.digest);
});

test('requires the release of a lease to be shown when it has signed none of the channel', async () => {
  await using it = await startSigner(world);
  const older = releasePayload({ over: { version: 5 } });
  const lease = (version: number, evidence: readonly Buffer[]) =>
    it.signer.sign('lease', toSign(leasePayload(version, digestOf(older))), evidence);
  await expect(lease(1, [])).rejects.toMatchObject({ code: 'SIGNER_REFUSED' });
  await lease(1, [await signPayload(older, keys.release)]);
  await expect(lease(2, [await signPayload(older, newSigningKey())])).rejects.toMatchObject({
    code: 'UNKNOWN_KEY',
  });
});

test('H23: too much in an hour is refused and told, and an hour later goes on', async () => {
  let now = NOW;
  await using it = await startSigner(world, { limits: { ...DEFAULT_LIMITS, site: 2 }, clock: () => now });
  const site = (name: string) =>
    it.signer.sign('release', toSign(sitePayload(1, { audience: { fleet: 'acme', site: name } })), []);
  await site('one');
  await site('two');
  await site('two');
  await expect(site('three')).rejects.toMatchObject({ code: 'TOO_MANY' });
  expect(it.logged.at(-1)).toMatchObject({ msg: 'refused', code: 'TOO_MANY' });
  expect(it.state.signed('site:three')).toEqual([]);
  now = new Date(NOW.getTime() + 3_600_001);
  await site('three');
});

test('limits the releases of one channel per hour', async () => {
  await using it = await startSigner(world);
  for (let version = 1; version <= 60; version++)
    await it.signer.sign('release', toSign(sitePayload(version)), []);
  await expect(it.signer.sign('release', toSign(sitePayload(61)), [])).rejects.toMatchObject({
    code: 'TOO_MANY',
  });
});

test('the authority issues certificates for agents and the hub of this fleet only', async () => {
  await using it = await startSigner(world);
  const remote: SigningKey = {
    public: keys.ca.public,
    sign: (bytes) => it.signer.sign('authority', Buffer.from(bytes), []),
  };
  const authority = { certificate: world.certificate, key: remote };
  const { public: key } = newSigningKey();
  const issuance = () => ({ now: NOW, serial: randomBytes(16) });
  const agent = { fleet: 'acme', site: 'plant-7', agent: 'a' };
  await issueClientCertificate(agent, key, authority, issuance());
  await issueServerCertificate(['hub.example', '10.1.2.3', '::1', 'fe80::5'], key, authority, issuance());
  await expect(
    issueClientCertificate({ ...agent, fleet: 'other' }, key, authority, issuance()),
  ).rejects.toMatchObject({
    code: 'WRONG_FLEET',
  });
  const old = { ...issuance(), now: addDays(NOW, -30) };
  await expect(issueClientCertificate(agent, key, authority, old)).rejects.toMatchObject({
    code: 'SIGNER_REFUSED',
  });
  await expect(createAuthority('acme', remote, issuance())).rejects.toMatchObject({ code: 'SIGNER_REFUSED' });
  // The life of a certificate is not the asker's to choose: one byte of its end makes it another.
  const stretching: SigningKey = {
    public: keys.ca.public,
    sign: (bytes) => {
      const text = Buffer.from(bytes).toString('latin1');
      return it.signer.sign(
        'authority',
        Buffer.from(text.replace(/2702\d{8}Z/, '290219070000Z'), 'latin1'),
        [],
      );
    },
  };
  await expect(
    issueClientCertificate(agent, key, { certificate: world.certificate, key: stretching }, issuance()),
  ).rejects.toMatchObject({
    code: 'SIGNER_REFUSED',
    message: expect.stringContaining('has not the form that this fleet issues'),
  });
  await expect(it.signer.sign('authority', randomBytes(300), [])).rejects.toMatchObject({
    code: 'SIGNER_REFUSED',
  });
});

test('logs every signature, without the signed content', async () => {
  await using it = await startSigner(world);
  await release(it);
  expect(it.logged).toMatchObject([{ msg: 'signed', role: 'release', what: 'release 1 of prod/kiosk' }]);
  expect(JSON.stringify(it.logged)).not.toContain(releasePayload().toString('base64').slice(0, 40));
});

test('limits are given as kind=number', () => {
  expect(parseLimits(['release=3', 'site=0'])).toEqual({ ...DEFAULT_LIMITS, release: 3, site: 0 });
  for (const word of ['release', 'release=-1', 'root=3', 'release=99999999'])
    expect(() => parseLimits([word])).toThrow(expect.objectContaining({ code: 'USAGE' }));
});

/** Every object of a statement, as the path to it. */
const objectsOf = (value: unknown, at: readonly string[] = []): readonly (readonly string[])[] => {
  if (typeof value !== 'object' || value === null) return [];
  const below = Object.entries(value).flatMap(([name, inner]) => objectsOf(inner, [...at, name]));
  return Array.isArray(value) ? below : [at, ...below];
};

/** The same bytes with one more field there. */
const withField = (payload: Buffer, path: readonly string[]): Buffer => {
  const statement = JSON.parse(payload.toString('utf8')) as { [name: string]: Json };
  const place = path.reduce<{ [name: string]: Json }>(
    (inner, name) => inner[name] as typeof inner,
    statement,
  );
  place['king'] = 1;
  return canonicalBytes(statement);
};

const agentOf = (name: string): Json => ({
  name,
  key: keys.receipt.public.pem,
  channel: { environment: 'prod', clusterType: 'kiosk' },
  previousChannel: { environment: 'prod', clusterType: 'press' },
  labels: { hall: '2' },
  freshness: { mode: 'lease', seconds: 60 },
});

test.each([
  ['bundle', 'bundle', bundlePayload(BUNDLE, { sources: [sourceOf('platform')], held: [HELD] })],
  [
    'release',
    'release',
    releasePayload({
      over: {
        rollout: { percent: 5, selector: { ring: 'one' }, also: [{ percent: 2, selector: { ring: 'two' } }] },
      },
    }),
  ],
  ['site statement', 'release', sitePayload(1, { agents: [agentOf('press-1')] })],
  ['lease', 'lease', leasePayload(1, digestOf(releasePayload()))],
  ['receipt', 'receipt', receiptPayload()],
] as const)('an unknown field at any place of a %s is refused', async (_, role, payload) => {
  await using it = await startSigner(world);
  if (role === 'lease') await release(it);
  const evidence = await evidenceFor([keys.bundle]);
  const statement = JSON.parse(payload.toString('utf8')) as unknown;
  // What is chosen by people has any names: labels, and the rollout's selector.
  const places = objectsOf(statement).filter((path) => !['labels', 'selector'].includes(path.at(-1) ?? ''));
  expect(places.length).toBeGreaterThan(3);
  for (const path of places) {
    const changed = withField(payload, path);
    await expect(it.signer.sign(role, toSign(changed), evidence), path.join('.')).rejects.toMatchObject({
      code: 'SIGNER_REFUSED',
    });
  }
  await it.signer.sign(role, toSign(payload), evidence);
});
