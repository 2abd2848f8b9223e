/**
 * Made test/golden/v1, once. Kept to show how, and as the start for a corpus of a later version; no test runs it. Keys
 * live in this process only, and signatures differ per run, so a second run makes another corpus.
 *
 *     node test/golden/make.ts
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type TarEntry, writeTar } from '#bundles/formats/archive/write-tar';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { compareBytes, digestOf } from '#bundles/digest';
import type { Document } from '#bundles/formats/layout/document';
import {
  CANDIDATE_JSON,
  PREDICATES,
  REVOCATIONS_JSON,
  ROOT_JSON,
  SIGSTORE_BUNDLE,
  SITE_VALUES_JSON,
} from '#bundles/media-types';
import { agentFolder, RECEIPTS_FOLDER, REPORTS_FOLDER, REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import type { Channel } from '#bundles/names';
import { GENESIS, hashLine } from '#bundles/formats/events/event';
import { signReceipt } from '#bundles/trust/reports/receipt';
import { signReport } from '#bundles/trust/reports/report';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { createCertificateRequest } from '#bundles/trust/root/certificate-request';
import { generatePrivateKey, loadSigningKey, type SigningKey } from '#bundles/trust/keys/key';
import { createRoot } from '#bundles/trust/root/root';
import { type Blob, digestOfBundle, hostBundle, image, kubernetesBundle, type Made } from './make/bundles.ts';
import { eventLines } from './make/events.ts';
import {
  AGENT,
  BUILT,
  FLEET,
  HOST,
  ISSUED,
  LATER,
  LATER_EXPIRES,
  LINE,
  ROOT_EXPIRES,
  SITE,
} from './make/fleet.ts';
import { type MediumInput, mediumFiles, type Paper } from './make/medium.ts';
import { makeOfficers } from './make/officers.ts';
import { bundleStatementOf, releaseOf, siteOf } from './make/statements.ts';

const FORMAT = 'v1';
const OUT = join(import.meta.dirname, FORMAT);

const files = new Map<string, Buffer>();
const put = (path: string, bytes: Buffer): Buffer => {
  if (files.has(path)) throw new Error(`${path} twice`);
  files.set(path, bytes);
  return bytes;
};

// Keys: made here, gone with this process.
const newKey = (): SigningKey => loadSigningKey(generatePrivateKey());
const named = (name: string): SigningKey => {
  const key = newKey();
  put(`keys/${name}.pub`, Buffer.from(key.public.pem));
  return key;
};
const keys = {
  root: named('root'),
  bundle: named('bundle'),
  release1: named('release-1'),
  release2: named('release-2'),
  lease: named('lease'),
  receipt: named('receipt'),
  audit: named('audit'),
  press: named('agent-press-2'),
  line: named('agent-line-1'),
};

// Roots.
const devRoot = (version: number, release: SigningKey): Promise<Buffer> =>
  createRoot(
    {
      fleet: FLEET,
      version,
      expires: ROOT_EXPIRES,
      dev: true,
      keys: {
        root: [keys.root.public],
        bundle: [keys.bundle.public],
        release: [release.public],
        lease: [keys.lease.public],
        receipt: [keys.receipt.public],
        audit: [keys.audit.public],
      },
    },
    [keys.root],
  );
const roots = [
  put('roots/1.root.json', await devRoot(1, keys.release1)),
  put('roots/2.root.json', await devRoot(2, keys.release2)),
] as const;

const sign = async (path: string, payload: Buffer, key: SigningKey): Promise<Buffer> =>
  put(path, await signPayload(payload, key));
const statement = (path: string, bytes: Buffer, key: SigningKey): Promise<Buffer> =>
  sign(`statements/${path}.sigstore.json`, bytes, key);

// Bundles.
const host1 = hostBundle('^XA^FO50,50^FDGrüße aus Halden^FS^XZ\n');
const host2 = hostBundle('^XA^FO50,50^FDGrüße aus Halden^FS^FO50,90^FDFrisch^FS^XZ\n');
const line1 = kubernetesBundle();

const putBundle = (at: string, { manifest, config, layers }: Made, ids: readonly string[]): void => {
  put(`${at}/manifest.json`, manifest.bytes);
  put(`${at}/config.json`, config.bytes);
  for (const [index, id] of ids.entries()) put(`${at}/layers/${id}.tar.gz`, (layers[index] as Blob).bytes);
};
putBundle('host', host1, ['printer', 'scale']);
putBundle('host-2', host2, ['printer', 'scale']);
putBundle('kubernetes', line1, ['all']);

// Documents.
const document = (path: string, value: Json): Buffer => put(`documents/${path}.json`, canonicalBytes(value));
const candidate = document('candidate', {
  fleet: FLEET,
  sources: [
    {
      role: 'platform',
      repo: 'https://git.example/platform',
      ref: 'main',
      path: '.',
      commit: 'a'.repeat(40),
      tree: digestOf('platform'),
    },
    { role: 'workload/printer', repo: '../apps', path: 'printer', tree: digestOf('printer') },
  ],
  images: [{ name: 'registry.example/line/control', digest: image.manifest.descriptor.digest }],
  charts: [],
});
const revocations = (path: string, channel: Channel, revoked: readonly Json[]): Buffer =>
  document(path, { fleet: FLEET, ...channel, revoked });
const withdrawn = {
  digest: digestOf('a bundle that was withdrawn'),
  reason: 'prints the wrong weight',
  at: LATER,
};
const lists = {
  host1: revocations('revocations-host-1', HOST, []),
  host2: revocations('revocations-host-2', HOST, [withdrawn]),
  line1: revocations('revocations-line-1', LINE, []),
};
const siteValues = document('site-values', {
  fleet: FLEET,
  site: SITE,
  values: { gateway: '10.7.0.1', lineNumber: 7 },
  agents: { 'line-1': { lineName: 'Linie 1 – Süd' } },
});

// Statements.
const release1Payload = releaseOf(HOST, [
  { name: 'bundle/host', digest: digestOfBundle(host1) },
  { name: 'revocations', digest: digestOf(lists.host1) },
]);
const auditHead = digestOf('the head of an audit log');
const release2Payload = releaseOf(
  HOST,
  [
    { name: 'bundle/host', digest: digestOfBundle(host2) },
    { name: 'revocations', digest: digestOf(lists.host2) },
  ],
  {
    version: 2,
    rollout: { selector: { ring: 'early' }, percent: 100 },
    rootVersion: 2,
    issuedAt: LATER,
    expires: LATER_EXPIRES,
    previous: digestOf(release1Payload),
    minAgent: '0.1.0',
    minSiteVersion: 2,
    auditHead,
  },
);
const siteKeys = { line: keys.line.public, press: keys.press.public };
const statements = {
  host1: await statement('bundle-host-1', bundleStatementOf(host1, digestOf(candidate), BUILT), keys.bundle),
  host2: await statement('bundle-host-2', bundleStatementOf(host2, digestOf(candidate), LATER), keys.bundle),
  line1: await statement('bundle-line-1', bundleStatementOf(line1, digestOf(candidate), BUILT), keys.bundle),
  releaseHost1: await statement('release-host-1', release1Payload, keys.release1),
  releaseLine1: await statement(
    'release-line-1',
    releaseOf(LINE, [
      { name: 'bundle/kubernetes', digest: digestOfBundle(line1) },
      { name: 'revocations', digest: digestOf(lists.line1) },
    ]),
    keys.release1,
  ),
  releaseHost2: await statement('release-host-2', release2Payload, keys.release2),
  site1: await statement('site-1', siteOf(siteKeys, digestOf(siteValues)), keys.release1),
  site2: await statement(
    'site-2',
    siteOf(siteKeys, digestOf(siteValues), { version: 2, issuedAt: LATER, expires: LATER_EXPIRES }),
    keys.release2,
  ),
};
await statement(
  'lease-host-2',
  encodeStatement([{ name: 'release', digest: digestOf(release2Payload) }], PREDICATES.lease, {
    audience: { fleet: FLEET, ...HOST },
    version: 1,
    issuedAt: LATER,
    expires: '2026-12-15T08:00:00Z',
    critical: [],
  }),
  keys.lease,
);
await statement(
  'audit',
  encodeStatement([{ name: 'log', digest: auditHead }], PREDICATES.audit, {
    from: 1,
    to: 42,
    count: 42,
    time: LATER,
  }),
  keys.audit,
);
for (const [path, bytes] of await makeOfficers(bundleStatementOf(host1, digestOf(candidate), BUILT)))
  put(`officers/${path}`, bytes);

// The way back: events, their report, the receipt; a request and needs.
const events = eventLines(digestOf(siteValues));
const lastHash = hashLine(events.at(-1) as string);
const report = await signReport(
  Buffer.from(events.map((line) => `${line}\n`).join('')),
  {
    fleet: FLEET,
    agent: AGENT,
    from: 1,
    to: events.length,
    firstPrev: GENESIS,
    lastHash,
    bootId: '6f1c2a9e-0b1d-4c55-9d57-2f3a4b5c6d7e',
    time: '2026-11-22T09:05:00Z',
    clockTrusted: true,
    floors: { root: 1, site: 1, release: 1, lease: 0, time: ISSUED },
    holds: [digestOfBundle(host1)],
  },
  keys.press,
);
const RANGE = '000000000001-000000000003';
put(`reports/${RANGE}.ndjson`, report.events);
put(`reports/${RANGE}.sigstore.json`, report.statement);
const receipt = put(
  'reports/receipt.sigstore.json',
  await signReceipt(
    digestOf(report.events),
    { fleet: FLEET, agent: AGENT, from: 1, to: events.length, head: lastHash, time: LATER },
    keys.receipt,
  ),
);
const request = put(
  'reports/request.json',
  canonicalBytes({
    fleet: FLEET,
    site: SITE,
    agent: 'press-2',
    channel: HOST,
    labels: { hall: 'north', ring: 'early' },
    request: await createCertificateRequest({ fleet: FLEET, site: SITE, agent: 'press-2' }, keys.press),
    at: ISSUED,
  }),
);
const needs = put(
  'reports/needs.json',
  canonicalBytes({
    fleet: FLEET,
    agent: AGENT,
    missing: host1.layers.map(({ descriptor }) => descriptor.digest).toSorted(compareBytes),
    holds: [],
    at: LATER,
  }),
);

// Media.
const paper = (role: string, mediaType: string, bytes: Buffer, claims: Partial<Document> = {}): Paper => ({
  role,
  mediaType,
  ...claims,
  bytes,
});
const rootPapers = (count: number): readonly Paper[] =>
  roots.slice(0, count).map((bytes, index) => paper('root', ROOT_JSON, bytes, { version: index + 1 }));
const channelPapers = (
  made: Made,
  version: number,
  papers: { readonly release: Buffer; readonly bundle: Buffer; readonly revocations: Buffer },
): readonly Paper[] => [
  paper('release', SIGSTORE_BUNDLE, papers.release, { ...made.channel, version }),
  paper('bundle', SIGSTORE_BUNDLE, papers.bundle, { ...made.channel, about: digestOfBundle(made) }),
  paper('revocations', REVOCATIONS_JSON, papers.revocations, made.channel),
  paper('candidate', CANDIDATE_JSON, candidate, made.channel),
];
const sitePapers = (version: number, bytes: Buffer): readonly Paper[] => [
  paper('site', SIGSTORE_BUNDLE, bytes, { site: SITE, version }),
  paper('site-values', SITE_VALUES_JSON, siteValues, { site: SITE }),
];

const fullInput: MediumInput = {
  createdAt: ISSUED,
  papers: [
    ...rootPapers(1),
    ...sitePapers(1, statements.site1),
    ...channelPapers(host1, 1, {
      release: statements.releaseHost1,
      bundle: statements.host1,
      revocations: lists.host1,
    }),
    ...channelPapers(line1, 1, {
      release: statements.releaseLine1,
      bundle: statements.line1,
      revocations: lists.line1,
    }),
  ],
  bundles: [{ made: host1 }, { made: line1 }],
};
const full = mediumFiles(fullInput);
for (const [path, bytes] of full) put(`media/full/${path}`, bytes);
const tarEntries = full.map(([path, content]): TarEntry => ({ path, size: content.byteLength, content }));
put('media/full.tar', Buffer.concat(await Array.fromAsync(writeTar(tarEntries))));

const ID = agentFolder(AGENT);
for (const [path, bytes] of mediumFiles({ ...fullInput, partSize: 1000 })) put(`media/parts/${path}`, bytes);
put(`media/parts/${REQUESTS_FOLDER}/${ID}.json`, request);

const delta = mediumFiles({
  createdAt: LATER,
  papers: [
    ...rootPapers(2),
    ...sitePapers(2, statements.site2),
    ...channelPapers(host2, 2, {
      release: statements.releaseHost2,
      bundle: statements.host2,
      revocations: lists.host2,
    }),
    paper('receipt', SIGSTORE_BUNDLE, receipt, { site: SITE, agent: AGENT }),
  ],
  bundles: [{ made: host2, base: host1 }],
});
for (const [path, bytes] of delta) put(`media/delta/${path}`, bytes);
put(`media/delta/${RECEIPTS_FOLDER}/${ID}.sigstore.json`, receipt);
put(`media/delta/${REPORTS_FOLDER}/${ID}/${RANGE}.ndjson`, report.events);
put(`media/delta/${REPORTS_FOLDER}/${ID}/${RANGE}.sigstore.json`, report.statement);
put(`media/delta/${REQUESTS_FOLDER}/${ID}-needs.json`, needs);

// Out, all at once and only where nothing is.
if (existsSync(OUT)) throw new Error(`${OUT} is there: a corpus is made once and never again`);
for (const [path, bytes] of files) {
  await mkdir(dirname(join(OUT, path)), { recursive: true });
  await writeFile(join(OUT, path), bytes, { flag: 'wx' });
}
const table = [...files]
  .toSorted(([a], [b]) => compareBytes(a, b))
  .map(([path, bytes]) => ({ path, digest: digestOf(bytes), size: bytes.byteLength }));
const made = { node: process.version, zlib: process.versions.zlib };
await writeFile(join(OUT, 'digests.json'), `${JSON.stringify({ made, files: table }, undefined, 1)}\n`, {
  flag: 'wx',
});

const written = await readdir(OUT, { recursive: true, withFileTypes: true });
const sizes = await Promise.all(
  written
    .filter((it) => it.isFile())
    .map(async (it) => (await readFile(join(it.parentPath, it.name))).byteLength),
);
console.log(`${sizes.length} files, ${sizes.reduce((sum, size) => sum + size, 0)} bytes in ${OUT}`);
