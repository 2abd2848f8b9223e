/**
 * Made test/golden/v1, once. Kept to show how, and as the start for a corpus of a later version; no test runs it. Keys
 * live in this process only, and signatures differ per run, so a second run makes another corpus.
 *
 *     node test/golden/make.ts
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { packLayer } from '#bundles/archive/pack-layer';
import { type TarEntry, writeTar } from '#bundles/archive/write-tar';
import type { BundleAssignment, BundleConfig, BundleKind, ClosureEntry } from '#bundles/bundle/config';
import type { HostPackage } from '#bundles/bundle/host-package';
import { bundleManifest, type Descriptor, encodeManifest } from '#bundles/bundle/manifest';
import { type PackageFile, packageDigest } from '#bundles/bundle/package-digest';
import { canonicalBytes, type Json } from '#bundles/canonical';
import { compareBytes, type Digest, digestOf, hexOf } from '#bundles/digest';
import type { Document } from '#bundles/layout/document';
import { encodeIndex, layoutMarker, layoutReference } from '#bundles/layout/layout';
import {
  BUNDLE_CONFIG,
  CANDIDATE_JSON,
  LAYER_HOST,
  LAYER_KUBERNETES,
  OCI_MANIFEST,
  PREDICATES,
  REF_NAME,
  REVOCATIONS_JSON,
  ROOT_JSON,
  SIGSTORE_BUNDLE,
  SITE_VALUES_JSON,
} from '#bundles/media-types';
import {
  agentFolder,
  CHUNKS_FOLDER,
  type Chunked,
  MEDIUM_FILE,
  type Medium,
  type MediumBundle,
  RECEIPTS_FOLDER,
  REPORTS_FOLDER,
  REQUESTS_FOLDER,
} from '#bundles/medium/medium';
import { type Channel, formatChannel } from '#bundles/names';
import { type Event, encodeEvent, GENESIS, hashLine } from '#bundles/report/event';
import { signReceipt } from '#bundles/report/receipt';
import { signReport } from '#bundles/report/report';
import { signPayload } from '#bundles/statements/envelope';
import type { BundlePredicate, ReleasePredicate, SitePredicate } from '#bundles/statements/predicates';
import { encodeStatement, type Subject } from '#bundles/statements/verify-statement';
import { createCertificateRequest } from '#bundles/trust/certificate-request';
import { generatePrivateKey, loadSigningKey, type SigningKey } from '#bundles/trust/key';
import { createRoot } from '#bundles/trust/root';

const FORMAT = 'v1';
const OUT = join(import.meta.dirname, FORMAT);

const FLEET = 'golden';
const SITE = 'plant-7';
const AGENT = `${SITE}/press-2`;
const HOST: Channel = { environment: 'prod', clusterType: 'factory-host' };
const LINE: Channel = { environment: 'prod', clusterType: 'factory-line' };

const BUILT = '2026-11-20T08:00:00Z';
const ISSUED = '2026-11-21T08:00:00Z';
const EXPIRES = '2027-11-21T08:00:00Z';
/** When the second release was made, the site's report behind it. */
const LATER = '2026-12-01T08:00:00Z';
const LATER_EXPIRES = '2027-12-01T08:00:00Z';
const ROOT_EXPIRES = new Date('2036-11-21T08:00:00Z');

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

// A fleet with officers: two of three sign, one of them is replaced; two sign a bundle.
const [ada, ben, cleo, dora, scheduler, approver, online] = Array.from({ length: 7 }, newKey) as [
  SigningKey,
  SigningKey,
  SigningKey,
  SigningKey,
  SigningKey,
  SigningKey,
  SigningKey,
];
const officersRoot = (
  version: number,
  officers: readonly SigningKey[],
  signers: readonly SigningKey[],
): Promise<Buffer> =>
  createRoot(
    {
      fleet: 'golden-officers',
      version,
      expires: ROOT_EXPIRES,
      thresholds: { root: 2, bundle: 2 },
      keys: {
        root: officers.map((key) => key.public),
        bundle: [scheduler.public, approver.public],
        release: [online.public],
        lease: [online.public],
        receipt: [online.public],
        audit: [online.public],
      },
    },
    signers,
  );
put('officers/1.root.json', await officersRoot(1, [ada, ben, cleo], [ada, cleo]));
put('officers/2.root.json', await officersRoot(2, [ben, cleo, dora], [ben, cleo]));

// Bundles.
type Blob = { readonly descriptor: Descriptor; readonly bytes: Buffer };
const blobOf = (mediaType: string, bytes: Buffer): Blob => ({
  descriptor: { mediaType, digest: digestOf(bytes), size: bytes.byteLength },
  bytes,
});
type Made = {
  readonly kind: BundleKind;
  readonly channel: Channel;
  readonly manifest: Blob;
  readonly config: Blob;
  readonly layers: readonly Blob[];
  /** Blobs of images, manifests first. */
  readonly images: readonly Blob[];
};
const digestOfBundle = ({ manifest }: Made): Digest => manifest.descriptor.digest;

const textFile = (path: string, text: string): PackageFile => ({ path, bytes: Buffer.from(text) });

const hostPackage = (
  id: string,
  content: readonly (PackageFile & {
    readonly to: string;
    readonly mode: string;
    readonly format?: 'env' | 'json';
  })[],
  rest: Pick<HostPackage, 'directories' | 'units' | 'checks'>,
): readonly PackageFile[] => {
  const described: HostPackage = {
    id,
    files: content
      .map(({ path, to, mode, format, bytes }) => ({
        path: to,
        mode,
        owner: 'root',
        group: 'root',
        content: path,
        digest: digestOf(bytes),
        size: bytes.byteLength,
        ...(format === undefined ? {} : { format }),
      }))
      .toSorted((a, b) => compareBytes(a.path, b.path)),
    ...rest,
    critical: [],
  };
  return [
    { path: 'package.json', bytes: canonicalBytes(described) },
    ...content.map(({ path, bytes }) => ({ path, bytes })),
  ];
};

const folder = (path: string) => ({ path, mode: '0755', owner: 'root', group: 'root' });

const printer = (label: string): readonly PackageFile[] =>
  hostPackage(
    'printer',
    [
      { ...textFile('files/label.zpl', label), to: '/etc/printer/label.zpl', mode: '0644' },
      {
        ...textFile('files/print-loop', '#!/bin/sh\nexec sleep infinity\n'),
        to: '/opt/printer/print-loop',
        mode: '0755',
      },
      {
        ...textFile(
          'files/printer.service',
          '[Service]\nExecStart=/opt/printer/print-loop\n\n[Install]\nWantedBy=multi-user.target\n',
        ),
        to: '/etc/systemd/system/printer.service',
        mode: '0644',
      },
    ],
    {
      directories: [folder('/etc/printer'), folder('/opt/printer')],
      units: [
        { name: 'printer.service', enabled: true, active: true, restartOn: ['/etc/printer/label.zpl'] },
      ],
      checks: [{ type: 'unit', name: 'runs', unit: 'printer.service', stableSeconds: 5 }],
    },
  );

const scale = hostPackage(
  'scale',
  [
    {
      ...textFile('files/scale.json', '{\n  "line": 0,\n  "unit": "kg"\n}\n'),
      to: '/etc/scale/scale.json',
      mode: '0640',
      format: 'json',
    },
    {
      ...textFile('files/scale.env', '# Größe in Kilogramm\nPORT=8080\nGATEWAY=none\n'),
      to: '/etc/scale/scale.env',
      mode: '0640',
      format: 'env',
    },
  ],
  {
    directories: [folder('/etc/scale')],
    units: [],
    checks: [
      {
        type: 'exec',
        name: 'file is there',
        argv: ['/bin/sh', '-c', 'test -s "$FLEET_ROOT/etc/scale/scale.json"'],
        timeoutSeconds: 10,
      },
      { type: 'http', name: 'answers', url: 'http://127.0.0.1:8080/health', status: 200, timeoutSeconds: 10 },
    ],
  },
);

const assignment = (
  id: string,
  packageFiles: readonly PackageFile[],
  layer: Digest,
  more: Partial<BundleAssignment> = {},
): BundleAssignment => ({
  id,
  package: packageDigest(packageFiles),
  path: id,
  layer,
  dependsOn: [],
  critical: false,
  workspace: 'logistics',
  workload: id,
  deploymentTarget: id,
  ...more,
});

const below = (id: string, packageFiles: readonly PackageFile[]) =>
  packageFiles.map(({ path, bytes }) => ({ path: `${id}/${path}`, bytes }));

const bundleOf = (
  kind: BundleKind,
  channel: Channel,
  layers: readonly Blob[],
  rest: Pick<BundleConfig, 'assignments' | 'siteInputs' | 'requirements' | 'closure'>,
  images: readonly Blob[] = [],
): Made => {
  const body: BundleConfig = { fleet: FLEET, ...channel, kind, ...rest, critical: [] };
  const config = blobOf(BUNDLE_CONFIG, canonicalBytes(body));
  const manifest = encodeManifest(
    bundleManifest(
      kind,
      config.descriptor,
      layers.map(({ descriptor }) => descriptor),
    ),
  );
  return { kind, channel, manifest, config, layers, images };
};

const hostBundle = (label: string): Made => {
  const packages = [
    ['printer', printer(label)],
    ['scale', scale],
  ] as const;
  const layers = packages.map(([id, content]) => blobOf(LAYER_HOST, packLayer(below(id, content)).bytes));
  const layerOf = (index: number): Digest => (layers[index] as Blob).descriptor.digest;
  return bundleOf('host', HOST, layers, {
    assignments: [
      assignment('printer', packages[0][1], layerOf(0), { dependsOn: ['scale'] }),
      assignment('scale', packages[1][1], layerOf(1), { critical: true }),
    ],
    siteInputs: {
      schema: {
        type: 'object',
        properties: { lineNumber: { type: 'integer' }, gateway: { type: 'string' } },
        required: ['gateway', 'lineNumber'],
      },
      fields: [
        { input: 'lineNumber', assignment: 'scale', file: '/etc/scale/scale.json', pointer: '/line' },
        { input: 'gateway', assignment: 'scale', file: '/etc/scale/scale.env', pointer: '/GATEWAY' },
      ],
    },
    requirements: { diskBytes: 65_536, agent: '0.1.0' },
    closure: [],
  });
};

/** A whole image, small: the layer is text. */
const image = (() => {
  const layer = blobOf('application/vnd.oci.image.layer.v1.tar', Buffer.alloc(4096, 'a layer of an image\n'));
  const config = blobOf(
    'application/vnd.oci.image.config.v1+json',
    canonicalBytes({
      architecture: 'amd64',
      os: 'linux',
      rootfs: { type: 'layers', diff_ids: [layer.descriptor.digest] },
    }),
  );
  const manifest = encodeManifest({
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    config: config.descriptor,
    layers: [layer.descriptor],
  });
  return { manifest, blobs: [manifest, config, layer] };
})();

const kubernetesBundle = (): Made => {
  const name = `registry.example/line/control@${image.manifest.descriptor.digest}`;
  const content = [
    textFile('kustomization.yaml', 'resources:\n- deployment.yaml\n- namespace.yaml\n'),
    textFile('namespace.yaml', 'apiVersion: v1\nkind: Namespace\nmetadata:\n  name: line-control\n'),
    textFile(
      'deployment.yaml',
      `apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: control\n  namespace: line-control\nspec:\n  replicas: 1\n  selector:\n    matchLabels:\n      app: control\n  template:\n    metadata:\n      labels:\n        app: control\n    spec:\n      containers:\n      - name: control\n        image: ${name}\n        env:\n        - name: LINE\n          value: ""\n`,
    ),
  ];
  const layer = blobOf(
    LAYER_KUBERNETES,
    packLayer([
      { path: 'kustomization.yaml', bytes: Buffer.from('resources:\n- control\n') },
      ...below('control', content),
    ]).bytes,
  );
  const { digest, size, mediaType } = image.manifest.descriptor;
  const closure: ClosureEntry = { digest, size, mediaType, platform: 'linux/amd64', names: [name] };
  return bundleOf(
    'kubernetes',
    LINE,
    [layer],
    {
      assignments: [assignment('control', content, layer.descriptor.digest, { namespace: 'line-control' })],
      siteInputs: {
        schema: { type: 'object', properties: { lineName: { type: 'string' } }, required: ['lineName'] },
        fields: [
          {
            input: 'lineName',
            assignment: 'control',
            file: 'deployment.yaml',
            pointer: '/0/spec/template/spec/containers/0/env/0/value',
          },
        ],
      },
      requirements: { diskBytes: 65_536, kubernetes: '>=1.30' },
      closure: [closure],
    },
    image.blobs,
  );
};

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
const bundleStatementOf = (made: Made, builtAt: string): Buffer => {
  const predicate: BundlePredicate = {
    fleet: FLEET,
    ...made.channel,
    kind: made.kind,
    candidate: digestOf(candidate),
    sources: [
      {
        role: 'platform',
        repo: 'https://git.example/platform',
        ref: 'main',
        path: '.',
        commit: 'a'.repeat(40),
        tree: digestOf('platform'),
      },
    ],
    held: [
      {
        assignment: 'camera',
        code: 'TEMPLATE_FAILED',
        message: 'nil pointer evaluating interface {}.lens',
        at: { file: 'templates/camera.yaml', line: 12, column: 7 },
        kept: digestOf('the package of the release before'),
      },
    ],
    builder: 'fleet-scheduler 0.1.0',
    builtAt,
  };
  return encodeStatement([{ name: 'bundle', digest: digestOfBundle(made) }], PREDICATES.bundle, predicate);
};

const releaseOf = (
  channel: Channel,
  subjects: readonly Subject[],
  change: Partial<ReleasePredicate> = {},
): Buffer => {
  const predicate: ReleasePredicate = {
    audience: { fleet: FLEET, ...channel },
    version: 1,
    rollout: { percent: 100 },
    rootVersion: 1,
    issuedAt: ISSUED,
    expires: EXPIRES,
    previous: null,
    minAgent: null,
    minSiteVersion: 0,
    auditHead: null,
    critical: [],
    ...change,
  };
  return encodeStatement(subjects, PREDICATES.release, predicate);
};

const siteOf = (change: Partial<SitePredicate>): Buffer => {
  const predicate: SitePredicate = {
    audience: { fleet: FLEET, site: SITE },
    version: 1,
    agents: [
      {
        name: 'line-1',
        key: keys.line.public.pem,
        channel: LINE,
        previousChannel: { environment: 'qa', clusterType: 'factory-line' },
        labels: {},
        freshness: { mode: 'lease', seconds: 1_209_600 },
      },
      {
        name: 'press-2',
        key: keys.press.public.pem,
        channel: HOST,
        previousChannel: null,
        labels: { hall: 'north', ring: 'early' },
        freshness: { mode: 'release' },
      },
    ],
    issuedAt: ISSUED,
    expires: EXPIRES,
    critical: [],
    ...change,
  };
  return encodeStatement([{ name: 'site-values', digest: digestOf(siteValues) }], PREDICATES.site, predicate);
};

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
const statements = {
  host1: await statement('bundle-host-1', bundleStatementOf(host1, BUILT), keys.bundle),
  host2: await statement('bundle-host-2', bundleStatementOf(host2, LATER), keys.bundle),
  line1: await statement('bundle-line-1', bundleStatementOf(line1, BUILT), keys.bundle),
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
  site1: await statement('site-1', siteOf({}), keys.release1),
  site2: await statement(
    'site-2',
    siteOf({ version: 2, issuedAt: LATER, expires: LATER_EXPIRES }),
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
const twice = bundleStatementOf(host1, BUILT);
await sign('officers/bundle.scheduler.sigstore.json', twice, scheduler);
await sign('officers/bundle.approver.sigstore.json', twice, approver);
put('officers/scheduler.pub', Buffer.from(scheduler.public.pem));
put('officers/approver.pub', Buffer.from(approver.public.pem));

// The way back: events, their report, the receipt; a request and needs.
const events = ((): readonly string[] => {
  const common = { agent: AGENT, bootId: '6f1c2a9e-0b1d-4c55-9d57-2f3a4b5c6d7e' };
  const release = { ...HOST, version: 1 };
  const happenings: readonly Omit<Event, 'agent' | 'seq' | 'prev' | 'bootId'>[] = [
    { at: '2000-01-01T00:00:42Z', monotonicMs: 42_000, type: 'enrolled' },
    {
      at: '2026-11-22T09:00:00Z',
      monotonicMs: 90_000,
      type: 'imported',
      release,
      detail: { root: 1, site: 1 },
    },
    {
      at: '2026-11-22T09:00:03Z',
      monotonicMs: 93_000,
      type: 'package',
      assignment: 'printer',
      package: packageDigest(printer('^XA^FO50,50^FDGrüße aus Halden^FS^XZ\n')),
      siteValues: digestOf(siteValues),
      release,
      outcome: 'created',
    },
  ];
  let prev: Digest = GENESIS;
  return happenings.map((happening, index) => {
    const line = encodeEvent({ ...common, ...happening, seq: index + 1, prev });
    prev = hashLine(line);
    return line;
  });
})();
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
type Paper = Omit<Document, 'digest' | 'size'> & { readonly bytes: Buffer };
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

const closureOf = ({ manifest, config, layers, images }: Made): readonly Blob[] => [
  manifest,
  config,
  ...layers,
  ...images,
];
const rank = ({ descriptor: { mediaType } }: Blob): number =>
  mediaType.includes('manifest') ? 0 : mediaType.endsWith('+json') ? 1 : 2;
const byDigest = (a: Blob, b: Blob): number => compareBytes(a.descriptor.digest, b.descriptor.digest);
const entry = ({ descriptor }: Blob, channel: Channel, tag: string): Descriptor => ({
  ...descriptor,
  annotations: { [REF_NAME]: layoutReference(formatChannel(channel), `${tag}-${hexOf(descriptor.digest)}`) },
});

type MediumInput = {
  readonly createdAt: string;
  readonly papers: readonly Paper[];
  readonly bundles: readonly { readonly made: Made; readonly base?: Made }[];
  readonly partSize?: number;
};

/** All files of a medium in the order of a tar (docs/bundle-format.md section 10). */
const mediumFiles = ({
  createdAt,
  papers,
  bundles,
  partSize = Infinity,
}: MediumInput): readonly (readonly [string, Buffer])[] => {
  const assumedOf = (base: Made | undefined): ReadonlySet<Digest> =>
    new Set(base ? closureOf(base).map(({ descriptor }) => descriptor.digest) : []);
  const listed: MediumBundle[] = [];
  const carried = new Map<Digest, Blob>();
  const index: Descriptor[] = [];
  for (const { made, base } of bundles) {
    const assumed = assumedOf(base);
    const here = closureOf(made).filter(({ descriptor }) => !assumed.has(descriptor.digest));
    for (const blob of here) carried.set(blob.descriptor.digest, blob);
    const left = closureOf(made).filter(({ descriptor }) => assumed.has(descriptor.digest));
    listed.push({
      digest: digestOfBundle(made),
      size: made.manifest.descriptor.size,
      ...made.channel,
      kind: made.kind,
      assumed: left.toSorted(byDigest).map(({ descriptor: { digest, size } }) => ({ digest, size })),
      ...(base ? { base: [digestOfBundle(base)] } : {}),
    });
    if (left.length > 0) continue;
    index.push(entry(made.manifest, made.channel, 'b'));
    for (const manifest of made.images.slice(0, 1)) index.push(entry(manifest, made.channel, 'i'));
  }
  const pieces = [...carried.values()]
    .filter((blob) => rank(blob) === 2 && blob.bytes.byteLength > partSize)
    .toSorted(byDigest)
    .map((blob) => cut(blob, partSize));
  const inPieces = new Set(pieces.map(({ chunked }) => chunked.digest));
  const medium: Medium = {
    format: 1,
    fleet: FLEET,
    createdAt,
    documents: papers.map(({ bytes, ...claims }) => ({
      ...claims,
      digest: digestOf(bytes),
      size: bytes.byteLength,
    })),
    bundles: listed,
    chunks: pieces.map(({ chunked }) => chunked),
    critical: [],
  };
  const documents = new Map(papers.map(({ bytes }) => [digestOf(bytes), bytes]));
  return [
    ['oci-layout', layoutMarker()],
    ['index.json', encodeIndex(index)],
    [MEDIUM_FILE, canonicalBytes(medium)],
    ...[...documents]
      .toSorted(([a], [b]) => compareBytes(a, b))
      .map(([digest, bytes]) => [blobPath(digest), bytes] as const),
    ...[...carried.values()]
      .filter(({ descriptor }) => !inPieces.has(descriptor.digest))
      .toSorted((a, b) => rank(a) - rank(b) || byDigest(a, b))
      .map(({ descriptor, bytes }) => [blobPath(descriptor.digest), bytes] as const),
    ...pieces.flatMap(({ parts }) => parts),
  ];
};

const blobPath = (digest: Digest): string => `blobs/sha256/${hexOf(digest)}`;

const cut = (
  { descriptor: { digest, size }, bytes }: Blob,
  partSize: number,
): { readonly chunked: Chunked; readonly parts: readonly (readonly [string, Buffer])[] } => {
  const parts = Array.from({ length: Math.ceil(size / partSize) }, (_, index) => {
    const path = `${CHUNKS_FOLDER}/${hexOf(digest).slice(0, 32)}.${String(index).padStart(3, '0')}`;
    return [path, bytes.subarray(index * partSize, (index + 1) * partSize)] as const;
  });
  return {
    chunked: {
      digest,
      size,
      files: parts.map(([path, part]) => ({ path, digest: digestOf(part), size: part.byteLength })),
    },
    parts,
  };
};

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
