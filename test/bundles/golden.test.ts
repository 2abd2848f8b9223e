import { readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { describe, expect, it } from 'vitest';
import { packLayer } from '#bundles/formats/archive/pack-layer';
import { unpackLayer } from '#bundles/formats/archive/unpack-layer';
import { closureBlobs } from '#bundles/formats/bundle/closure-blobs';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { packageDigest } from '#bundles/formats/bundle/package-digest';
import { type Bundle, readBundle } from '#bundles/formats/bundle/read-bundle';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { compareBytes, digestOf } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';
import { PREDICATES, type StatementKind } from '#bundles/media-types';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { verifyReceipt } from '#bundles/trust/reports/receipt';
import { verifyReport } from '#bundles/trust/reports/report';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import {
  type RoleKeys,
  type VerifiedStatement,
  verifyStatement,
} from '#bundles/trust/statements/verify-statement';
import { parseStrictJson } from '#bundles/json/strict-json';
import { parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { advanceRoot, parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import { type DocumentName, parseDocument } from '#bundles/json/validate';
import auditSchema from '../../bundles/schemas/audit-predicate.schema.json' with { type: 'json' };
import { blobsInMemory } from './blobs-in-memory.ts';
import { at, file, key, paths, root1, root2, table, V1 } from './golden-corpus.ts';
import { verdict } from './verdict.ts';

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
  promotion: (root) => root.roles.release,
  approval: (root) => root.roles.bundle,
  decision: (root) => ({ keys: root.audit, threshold: 1 }),
  change: (root) => ({ keys: root.audit, threshold: 1 }),
  support: () => ({ keys: [key('agent-press-2')], threshold: 1 }),
};

const statement = (kind: StatementKind, path: string, root: TrustRoot): VerifiedStatement =>
  verifyStatement([file(path)], ROLES[kind](root), PREDICATES[kind], path);

describe('the golden corpus of format v1', () => {
  it('is complete and unchanged: the manifest lists each file with digest and size, and there are no others', async () => {
    const entries = await readdir(V1, { recursive: true, withFileTypes: true });
    const there = entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) =>
        join(entry.parentPath, entry.name)
          .slice(V1.length + 1)
          .replaceAll(sep, '/'),
      )
      .filter((path) => path !== 'digests.json');
    expect(there.toSorted(compareBytes)).toEqual(paths);
    for (const { path, digest, size } of table.files)
      expect({ path, digest: digestOf(file(path)), size: file(path).byteLength }).toEqual({
        path,
        digest,
        size,
      });
  });

  it('contains no private key', () => {
    expect(paths.filter((path) => file(path).includes('PRIVATE KEY'))).toEqual([]);
  });

  it('contains only canonical JSON, also inside signatures and for each line of NDJSON', () => {
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
  it('advance from development root 1 to 2, which replaces the release key', () => {
    const root = advanceRoot(root1, [root2, root1]);
    expect([root.version, root.fleet, root.dev]).toEqual([2, 'golden', true]);
    expect(root1.roles.release.keys.map(({ pem }) => pem)).toEqual([key('release-1').pem]);
    expect(root.roles.release.keys.map(({ pem }) => pem)).toEqual([key('release-2').pem]);
  });

  it('advance from officers 1 to 2 by two of three signatures, and root 2 verifies a bundle signed by two of two', () => {
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

  it('the head of an audit log verifies and matches its schema', () => {
    const { predicate } = statement('audit', 'statements/audit.sigstore.json', root2);
    expect(new Ajv2020({ strict: true }).validate(auditSchema, predicate)).toBe(true);
  });

  it('refer to each other by digest: release to previous release, lease to release, bundle and revocations, site to site values', () => {
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

  it('are refused when their key is no longer in the root', async () => {
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

  it('contain a certificate request that proves possession of the key named in the site statement', () => {
    const { request } = document('request', 'reports/request.json') as { request: string };
    const { key: certified, ...who } = parseCertificateRequest(request);
    expect(who).toEqual({ fleet: 'golden', site: 'plant-7', agent: 'press-2' });
    expect(certified.pem).toBe(key('agent-press-2').pem);
  });

  it('contain a report with an intact chain, and the receipt for its last event', () => {
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

  it('is read with its config and every blob of its closure', async () => {
    await read(async (bundle, source) => {
      expect(bundle.manifest.config.digest).toBe(digestOf(file(`${folder}/config.json`)));
      expect(bundle.config.fleet).toBe('golden');
      const closure = await closureBlobs(source, bundle);
      expect(closure).toHaveLength(blobs);
      for (const { digest, size } of closure)
        expect((await readBlob(source, digest, size)).byteLength).toBe(size);
    });
  });

  it('has layers that repack to the same tar, and to the same gzip bytes with the same zlib', () => {
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
        for (const file of host.files)
          expect(
            digestOf(files.find((it) => 'content' in file && it.path === file.content)?.bytes ?? ''),
          ).toBe(file.digest);
      }
    });
  });
});
