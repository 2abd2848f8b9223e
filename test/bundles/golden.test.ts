import { readFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { type Accepted, acceptChannel } from '#bundles/accept/accept-channel';
import { readChannelDocuments } from '#bundles/accept/documents';
import type { Clock, TrustState } from '#bundles/accept/trust-state';
import { packLayer } from '#bundles/archive/pack-layer';
import { unpackLayer } from '#bundles/archive/unpack-layer';
import { writeTar } from '#bundles/archive/write-tar';
import { closureBlobs } from '#bundles/bundle/closure-blobs';
import { parseHostPackage } from '#bundles/bundle/host-package';
import { packageDigest } from '#bundles/bundle/package-digest';
import { type Bundle, ownBlobs, readBundle } from '#bundles/bundle/read-bundle';
import { canonicalBytes, type Json } from '#bundles/canonical';
import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import { readBlob } from '#bundles/layout/verified';
import { PREDICATES, type StatementKind } from '#bundles/media-types';
import type { Medium, OpenMedium } from '#bundles/medium/medium';
import { openMedium } from '#bundles/medium/open-medium';
import { verifyReceipt } from '#bundles/report/receipt';
import { verifyReport } from '#bundles/report/report';
import { parseEnvelope } from '#bundles/statements/envelope';
import { type RoleKeys, type VerifiedStatement, verifyStatement } from '#bundles/statements/verify-statement';
import { parseStrictJson } from '#bundles/strict-json';
import { parseCertificateRequest } from '#bundles/trust/certificate-request';
import { parsePublicKey } from '#bundles/trust/key';
import { advanceRoot, parseRoot, type TrustRoot } from '#bundles/trust/root';
import { type DocumentName, parseDocument } from '#bundles/validate';
import auditSchema from '../../docs/schemas/audit-predicate.schema.json' with { type: 'json' };
import { blobsInMemory } from './blobs-in-memory.ts';
import { verdict } from './verdict.ts';

/**
 * The golden corpus of format v1 (test/golden/README.md): files as they were made in 2026, read by today's code. A test
 * that fails here says that the format was broken; the files are never edited.
 */
const V1 = join(import.meta.dirname, '..', 'golden', 'v1');
const at = (path: string): string => join(V1, path);
const file = (path: string): Buffer => readFileSync(at(path));

type Table = {
  readonly made: { readonly node: string; readonly zlib: string };
  readonly files: readonly { readonly path: string; readonly digest: Digest; readonly size: number }[];
};
const table = JSON.parse(file('digests.json').toString()) as Table;
const paths = table.files.map(({ path }) => path);

const root1 = parseRoot(file('roots/1.root.json'));
const root2 = parseRoot(file('roots/2.root.json'));
const key = (name: string) => parsePublicKey(file(`keys/${name}.pub`).toString());

/** Every file that lies in the open (media have their own tests), as one source of blobs. */
const everything = blobsInMemory();
for (const path of paths) everything.put(file(path));

const json = (path: string): unknown =>
  parseStrictJson(file(path), { maxBytes: 1 << 20, maxDepth: 64 }, path);
const document = (name: DocumentName, path: string): unknown => parseDocument(name, json(path), path);

const ROLES: Readonly<Record<StatementKind, (root: TrustRoot) => RoleKeys>> = {
  bundle: (root) => root.roles.bundle,
  release: (root) => root.roles.release,
  site: (root) => root.roles.release,
  lease: (root) => root.roles.lease,
  report: () => ({ keys: [key('agent-press-2')], threshold: 1 }),
  receipt: (root) => ({ keys: root.receipt, threshold: 1 }),
  audit: (root) => ({ keys: root.audit, threshold: 1 }),
};

const statement = (kind: StatementKind, path: string, root: TrustRoot): VerifiedStatement =>
  verifyStatement([file(path)], ROLES[kind](root), PREDICATES[kind], path);

describe('the golden corpus of format v1', () => {
  it('is complete and unchanged: every file with its digest and size, and no other', async () => {
    const entries = await readdir(V1, { recursive: true, withFileTypes: true });
    const there = entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => join(entry.parentPath, entry.name).slice(V1.length + 1))
      .filter((path) => path !== 'digests.json');
    expect(there.toSorted(compareBytes)).toEqual(paths);
    for (const { path, digest, size } of table.files)
      expect({ path, digest: digestOf(file(path)), size: file(path).byteLength }).toEqual({
        path,
        digest,
        size,
      });
  });

  it('holds no private key', () => {
    expect(paths.filter((path) => file(path).includes('PRIVATE KEY'))).toEqual([]);
  });

  it('has JSON whose canonical form is its own bytes, also inside signatures and line by line', () => {
    const documents = paths.filter((path) => /\.json$|oci-layout$/.test(path));
    expect(documents.length).toBeGreaterThan(30);
    for (const path of documents) expect(recoded(file(path)), path).toEqual(file(path));
    const signed = paths.filter((path) => path.endsWith('.sigstore.json'));
    for (const path of signed) {
      const { payload } = parseEnvelope(file(path), path);
      expect(recoded(payload), path).toEqual(payload);
    }
    const lines = file('reports/000000000001-000000000003.ndjson').toString().trimEnd().split('\n');
    for (const line of lines) expect(recoded(Buffer.from(line)).toString()).toBe(line);
  });
});

const recoded = (bytes: Buffer): Buffer => canonicalBytes(JSON.parse(bytes.toString()) as Json);

describe('golden roots', () => {
  it('go from development root 1 to 2, which takes the release key away', () => {
    const root = advanceRoot(root1, [root2, root1]);
    expect([root.version, root.fleet, root.dev]).toEqual([2, 'golden', true]);
    expect(root1.roles.release.keys.map(({ pem }) => pem)).toEqual([key('release-1').pem]);
    expect(root.roles.release.keys.map(({ pem }) => pem)).toEqual([key('release-2').pem]);
  });

  it('go from officers 1 to 2, two of three signing, and two of two sign a bundle', () => {
    const one = parseRoot(file('officers/1.root.json'));
    const two = advanceRoot(one, [parseRoot(file('officers/2.root.json'))]);
    expect([two.version, two.dev, two.roles.root.threshold]).toEqual([2, false, 2]);
    const files = ['officers/bundle.scheduler.sigstore.json', 'officers/bundle.approver.sigstore.json'].map(
      file,
    );
    const verified = verifyStatement(files, two.roles.bundle, PREDICATES.bundle, 'bundle');
    expect(verified.signers).toHaveLength(2);
  });
});

describe('golden statements', () => {
  it.each([
    ['bundle', 'bundle-host-1', 1],
    ['bundle', 'bundle-host-2', 2],
    ['bundle', 'bundle-line-1', 1],
    ['release', 'release-host-1', 1],
    ['release', 'release-line-1', 1],
    ['release', 'release-host-2', 2],
    ['site', 'site-1', 1],
    ['site', 'site-2', 2],
    ['lease', 'lease-host-2', 2],
  ] as const)('verify and fit their schema: a %s statement, %s under root %i', (kind, name, version) => {
    const verified = statement(kind, `statements/${name}.sigstore.json`, version === 1 ? root1 : root2);
    expect(parseDocument(`${kind}-predicate`, verified.predicate, name)).toBeDefined();
  });

  it('verify and fit their schema: the head of an audit log', () => {
    const { predicate } = statement('audit', 'statements/audit.sigstore.json', root2);
    expect(new Ajv2020({ strict: true }).validate(auditSchema, predicate)).toBe(true);
  });

  it('count on each other by digest', () => {
    const first = statement('release', 'statements/release-host-1.sigstore.json', root1);
    const second = statement('release', 'statements/release-host-2.sigstore.json', root2);
    const lease = statement('lease', 'statements/lease-host-2.sigstore.json', root2);
    expect(second.predicate).toMatchObject({ version: 2, previous: first.digest });
    expect(lease.subjects).toEqual([{ name: 'release', digest: second.digest }]);
    const subject = (name: string) => second.subjects.find((it) => it.name === name)?.digest;
    expect(subject('bundle/host')).toBe(digestOf(file('host-2/manifest.json')));
    expect(subject('revocations')).toBe(digestOf(file('documents/revocations-host-2.json')));
    const site = statement('site', 'statements/site-2.sigstore.json', root2);
    expect(site.subjects).toEqual([
      { name: 'site-values', digest: digestOf(file('documents/site-values.json')) },
    ]);
  });

  it('no longer verify when their key left the root', async () => {
    const old = () => statement('release', 'statements/release-host-1.sigstore.json', root2);
    expect(await verdict(async () => old())).toBe('UNKNOWN_KEY');
  });
});

describe('golden documents', () => {
  it.each([
    ['candidate', 'documents/candidate.json'],
    ['revocations', 'documents/revocations-host-1.json'],
    ['revocations', 'documents/revocations-host-2.json'],
    ['revocations', 'documents/revocations-line-1.json'],
    ['site-values', 'documents/site-values.json'],
    ['request', 'reports/request.json'],
    ['needs', 'reports/needs.json'],
  ] as const)('fit the schema %s: %s', (name, path) => {
    expect(document(name, path)).toBeDefined();
  });

  it('have a certificate request that proves possession of the key the site statement names', () => {
    const { request } = document('request', 'reports/request.json') as { request: string };
    const { key: certified, ...who } = parseCertificateRequest(request);
    expect(who).toEqual({ fleet: 'golden', site: 'plant-7', agent: 'press-2' });
    expect(certified.pem).toBe(key('agent-press-2').pem);
  });

  it('have a report whose chain holds, and the receipt for its last event', () => {
    const range = 'reports/000000000001-000000000003';
    const signed = { events: file(`${range}.ndjson`), statement: file(`${range}.sigstore.json`) };
    const { events, predicate, digest } = verifyReport(signed, key('agent-press-2'), range);
    expect(events.map(({ seq, type }) => [seq, type])).toEqual([
      [1, 'enrolled'],
      [2, 'imported'],
      [3, 'package'],
    ]);
    expect(predicate.holds).toEqual([digestOf(file('host/manifest.json'))]);
    const receipt = 'reports/receipt.sigstore.json';
    expect(verifyReceipt(file(receipt), root2, 'plant-7/press-2')).toMatchObject({
      to: 3,
      head: predicate.lastHash,
    });
    expect(statement('receipt', receipt, root2).subjects).toEqual([{ name: 'report', digest }]);
  });
});

const LIMITS = { maxBytes: 1 << 20, maxEntries: 100 };

describe.each([
  ['host', ['printer', 'scale'], 4],
  ['host-2', ['printer', 'scale'], 4],
  ['kubernetes', ['all'], 6],
] as const)('the golden bundle %s', (folder, layers, blobs) => {
  // Images of the Kubernetes bundle lie on the medium only.
  const read = async <T>(work: (bundle: Bundle, source: BlobSource) => T): Promise<Awaited<T>> => {
    await using medium = await openMedium(at('media/full'));
    const both: BlobSource = {
      name: 'corpus',
      size: async (digest) => (await everything.size(digest)) ?? (await medium.blobs.size(digest)),
      open: async (digest) =>
        (await everything.size(digest)) === undefined ? medium.blobs.open(digest) : everything.open(digest),
    };
    return await work(await readBundle(both, digestOf(file(`${folder}/manifest.json`))), both);
  };

  it('reads, with its config and its whole closure', async () => {
    await read(async (bundle, source) => {
      expect(bundle.manifest.config.digest).toBe(digestOf(file(`${folder}/config.json`)));
      expect(bundle.config.fleet).toBe('golden');
      const closure = await closureBlobs(source, bundle);
      expect(closure).toHaveLength(blobs);
      for (const { digest, size } of closure)
        expect((await readBlob(source, digest, size)).byteLength).toBe(size);
    });
  });

  it('has layers that pack again to the same tar, and with the same zlib to the same bytes', () => {
    for (const name of layers) {
      const bytes = file(`${folder}/layers/${name}.tar.gz`);
      const packed = packLayer(
        [...unpackLayer(bytes, LIMITS)].map(([path, entry]) => ({
          path,
          bytes: entry.bytes,
          executable: (entry.mode & 0o100) !== 0,
        })),
      );
      expect(packed.diffId).toBe(digestOf(gunzipSync(bytes)));
      // The compressed bytes are promised per zlib only (docs/bundle-format.md section 3).
      if (process.versions.zlib === table.made.zlib) expect(packed.digest).toBe(digestOf(bytes));
    }
  });

  it('names its packages by the digest of their files', async () => {
    await read(({ config, manifest }) => {
      for (const { id, path, layer, package: named } of config.assignments) {
        expect(manifest.layers.map(({ digest }) => digest)).toContain(layer);
        const bytes = everything.content.get(layer) as Uint8Array;
        const files = [...unpackLayer(bytes, LIMITS)]
          .filter(([name]) => name.startsWith(`${path}/`))
          .map(([name, entry]) => ({ path: name.slice(path.length + 1), bytes: entry.bytes }));
        expect(packageDigest(files), id).toBe(named);
        if (config.kind === 'kubernetes') continue;
        const description = files.find((it) => it.path === 'package.json');
        const host = parseHostPackage(description?.bytes ?? Buffer.alloc(0));
        expect(host.id).toBe(id);
        for (const { content, digest } of host.files)
          expect(digestOf(files.find((it) => it.path === content)?.bytes ?? '')).toBe(digest);
      }
    });
  });
});

const PRESS: TrustState = {
  fleet: 'golden',
  site: 'plant-7',
  agent: 'press-2',
  key: key('agent-press-2').pem,
  pinnedRoot: root1.digest,
  root: undefined,
  siteStatement: undefined,
  release: undefined,
  channel: undefined,
  time: undefined,
};
const LINE: TrustState = { ...PRESS, agent: 'line-1', key: key('agent-line-1').pem };

const clock = (now: string): Clock => ({ now: new Date(now), trusted: true });
const WHEN_FULL = clock('2026-11-22T08:00:00Z');
const WHEN_DELTA = clock('2026-12-02T08:00:00Z');
const POLICY = { maxValidityDays: 400, agentVersion: '0.1.0' };

const accept = async (state: TrustState, open: OpenMedium, when: Clock): Promise<Accepted> =>
  acceptChannel(
    state,
    await readChannelDocuments(open.blobs, open.medium?.documents ?? [], state.site),
    when,
    POLICY,
  );

const remember = (state: TrustState, { root, site, release, time }: Accepted): TrustState => ({
  ...state,
  root,
  siteStatement: site.statement,
  release: release?.statement,
  channel: site.agent.channel,
  revoked: release?.revoked ?? [],
  time,
});

describe('golden media', () => {
  it.each(['media/full', 'media/full.tar', 'media/parts'])(
    'are accepted by both agents of the site from the first root on: %s',
    async (path) => {
      await using open = await openMedium(at(path));
      const press = await accept(PRESS, open, WHEN_FULL);
      expect([press.root.version, press.site.predicate.version, press.release?.predicate.version]).toEqual([
        1, 1, 1,
      ]);
      expect(press.release?.bundles.map(({ digest }) => digest)).toEqual([
        digestOf(file('host/manifest.json')),
      ]);
      expect(press.site.values?.values).toEqual({ gateway: '10.7.0.1', lineNumber: 7 });
      const line = await accept(LINE, open, WHEN_FULL);
      expect(line.release?.bundles.map(({ kind }) => kind)).toEqual(['kubernetes']);
      expect(line.site.agent.freshness).toEqual({ mode: 'lease', seconds: 1_209_600 });
    },
  );

  it.each(['media/full', 'media/full.tar', 'media/parts'])(
    'carry every blob of every bundle: %s',
    async (path) => {
      await using open = await openMedium(at(path));
      const { bundles, documents } = open.medium as Medium;
      for (const { digest, size } of documents)
        expect(await readBlob(open.blobs, digest, size)).toHaveLength(size);
      for (const { digest } of bundles) {
        const closure = await closureBlobs(open.blobs, await readBundle(open.blobs, digest));
        for (const blob of closure)
          expect(await readBlob(open.blobs, blob.digest, blob.size)).toHaveLength(blob.size);
      }
    },
  );

  it('are one and the same as a folder and as a tar', async () => {
    await using folder = await openMedium(at('media/full'));
    await using tar = await openMedium(at('media/full.tar'));
    expect(tar.medium).toEqual(folder.medium);
    const entries = tarOrder.map(async (path) => {
      const content = await readFile(at(`media/full/${path}`));
      return { path, size: content.byteLength, content };
    });
    expect(await tar.files('blobs')).toEqual(await folder.files('blobs'));
    expect(Buffer.concat(await Array.fromAsync(writeTar(await Promise.all(entries))))).toEqual(
      file('media/full.tar'),
    );
  });

  it('go on to release 2 under root 2, which counts on what release 1 brought', async () => {
    await using full = await openMedium(at('media/full'));
    await using delta = await openMedium(at('media/delta'));
    const state = remember(PRESS, await accept(PRESS, full, WHEN_FULL));
    const next = await accept(state, delta, WHEN_DELTA);
    expect([next.root.version, next.site.predicate.version, next.release?.predicate.version]).toEqual([
      2, 2, 2,
    ]);
    expect([next.selected, next.release?.news, next.release?.revoked.length]).toEqual([true, 'newer', 1]);

    const [bundle] = (delta.medium as Medium).bundles;
    expect(bundle?.base).toEqual([digestOf(file('host/manifest.json'))]);
    expect(bundle?.assumed.map(({ digest }) => digest)).toEqual([digestOf(file('host/layers/scale.tar.gz'))]);
    const old = await readBundle(full.blobs, digestOf(file('host/manifest.json')));
    const held = new Set(ownBlobs(old).map(({ digest }) => digest));
    const own = ownBlobs(await readBundle(delta.blobs, bundle?.digest as Digest));
    for (const { digest } of own)
      expect((await delta.blobs.size(digest)) !== undefined || held.has(digest)).toBe(true);
  });

  it('are refused as ever: the first one after the second, and to whoever is not on it', async () => {
    await using full = await openMedium(at('media/full'));
    await using delta = await openMedium(at('media/delta'));
    const first = remember(PRESS, await accept(PRESS, full, WHEN_FULL));
    const second = remember(PRESS, await accept(first, delta, WHEN_DELTA));
    // Root 1 gave the old release key its word, root 2 took it back.
    expect(await verdict(() => accept(second, full, WHEN_DELTA))).toBe('UNKNOWN_KEY');
    const again = await accept(second, delta, WHEN_DELTA);
    expect(again.release?.news).toBe('same');
    expect(await verdict(() => accept({ ...PRESS, site: 'plant-8' }, full, WHEN_FULL))).toBe('WRONG_SITE');
    expect(await verdict(() => accept(PRESS, full, clock('2027-11-22T08:00:00Z')))).toBe('EXPIRED');
  });

  it('bring back reports, a receipt and needs at the places the format gives them', async () => {
    await using delta = await openMedium(at('media/delta'));
    const id = '2dc5c73dae7a7a42dc0a3617fd0844b9';
    const range = '000000000001-000000000003';
    expect(await delta.files('fleet')).toEqual([
      'fleet/medium.json',
      `fleet/receipts/${id}.sigstore.json`,
      `fleet/reports/${id}/${range}.ndjson`,
      `fleet/reports/${id}/${range}.sigstore.json`,
      `fleet/requests/${id}-needs.json`,
    ]);
    expect(await delta.readFile(`fleet/reports/${id}/${range}.ndjson`, 1 << 20)).toEqual(
      file(`reports/${range}.ndjson`),
    );
  });
});

/** As bytes in the archive are: read from the archive itself, since that is what must not change. */
const tarOrder: readonly string[] = (() => {
  const tar = file('media/full.tar');
  const names: string[] = [];
  for (let offset = 0; tar[offset] !== 0; ) {
    const text = (from: number, length: number) =>
      tar.toString('latin1', offset + from, offset + from + length).replace(/\0.*$/s, '');
    names.push(text(0, 100));
    offset += 512 + Math.ceil(Number.parseInt(text(124, 12), 8) / 512) * 512;
  }
  return names;
})();
