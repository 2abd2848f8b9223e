/**
 * Signed media for tests: a fleet with fresh keys, host bundles out of a few strings, and the media that carry them. All of
 * it is made with the product's own formats, so what these tests import is what a site imports.
 */
import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { packLayer } from '#bundles/formats/archive/pack-layer';
import { type TarEntry, writeTar } from '#bundles/formats/archive/write-tar';
import type {
  BundleConfig,
  RebootPolicy,
  PackageBounds,
  SiteInputField,
} from '#bundles/formats/bundle/config';
import type { HostInstall, HostPackage, HostSecret, HostUnit } from '#bundles/formats/bundle/host-package';
import { bundleManifest, type Descriptor, encodeManifest } from '#bundles/formats/layout/manifest';
import { packageDigest } from '#bundles/formats/bundle/package-digest';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { compareBytes, type Digest, digestOf, hexOf } from '#bundles/digest';
import type { Document } from '#bundles/formats/layout/document';
import { encodeIndex, layoutMarker } from '#bundles/formats/layout/layout';
import {
  BUNDLE_CONFIG,
  FILE_BLOB,
  LAYER_HOST,
  PREDICATES,
  REVOCATIONS_JSON,
  ROOT_JSON,
  SEALED_SECRETS,
  SIGSTORE_BUNDLE,
  SITE_VALUES_JSON,
  type StatementKind,
} from '#bundles/media-types';
import { MEDIUM_FILE, type Medium } from '#bundles/formats/medium/medium';
import type { Channel } from '#bundles/names';
import { signReceipt } from '#bundles/trust/reports/receipt';
import { createEvidence } from '#bundles/trust/images/evidence';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import type {
  ReceiptPredicate,
  ReleasePredicate,
  SiteAgent,
  SiteValues,
} from '#bundles/formats/statements/predicates';
import { encodeStatement, type Subject } from '#bundles/trust/statements/verify-statement';
import { addDays, formatTime } from '#bundles/time';
import { generatePrivateKey, loadSigningKey, type SigningKey } from '#bundles/trust/keys/key';
import { createRoot } from '#bundles/trust/root/root';

const newKey = (): SigningKey => loadSigningKey(generatePrivateKey());

export type TestFleet = {
  readonly name: string;
  /** When its first root, site and release statements are issued. */
  readonly epoch: Date;
  readonly keys: {
    readonly officers: readonly [SigningKey, SigningKey];
    readonly bundle: SigningKey;
    readonly release: SigningKey;
    readonly lease: SigningKey;
    readonly receipt: SigningKey;
    readonly audit: SigningKey;
  };
  /** Every root so far, oldest first. */
  readonly roots: readonly Buffer[];
};

export const createTestFleet = async (
  name = 'halden',
  epoch = new Date('2026-11-01T00:00:00Z'),
): Promise<TestFleet> => {
  const keys = {
    officers: [newKey(), newKey()] as const,
    bundle: newKey(),
    release: newKey(),
    lease: newKey(),
    receipt: newKey(),
    audit: newKey(),
  };
  return { name, epoch, keys, roots: [await writeRoot(name, epoch, keys, 1)] };
};

/** The next root, signed by the same officers, with other keys where they are given. */
export const rotateRoot = async (fleet: TestFleet, keys: Partial<TestFleet['keys']>): Promise<TestFleet> => {
  const next = { ...fleet.keys, ...keys };
  const root = await writeRoot(fleet.name, fleet.epoch, next, fleet.roots.length + 1, fleet.keys.officers);
  return { ...fleet, keys: next, roots: [...fleet.roots, root] };
};

const writeRoot = (
  fleet: string,
  epoch: Date,
  keys: TestFleet['keys'],
  version: number,
  also: readonly SigningKey[] = [],
): Promise<Buffer> =>
  createRoot(
    {
      fleet,
      version,
      expires: addDays(epoch, 700),
      keys: {
        root: keys.officers.map((key) => key.public),
        bundle: [keys.bundle.public],
        release: [keys.release.public],
        lease: [keys.lease.public],
        receipt: [keys.receipt.public],
        audit: [keys.audit.public],
      },
    },
    [...keys.officers, ...also],
  );

export type TestPackage = {
  readonly id: string;
  /** Path on the host to content. */
  readonly files: Readonly<Record<string, string>>;
  /** Path on the host to the content of a file that is a blob of the closure. */
  readonly blobs?: Readonly<Record<string, string | Buffer>>;
  /** Files made of secrets; `encrypted` holds the content of those that lie in the package. */
  readonly secrets?: readonly (Partial<HostSecret> & {
    readonly path: string;
    readonly encrypted?: string;
  })[];
  readonly units?: readonly HostUnit[];
  readonly checks?: HostPackage['checks'];
  readonly install?: HostInstall;
  /** A system image; its bytes are a blob of the closure. */
  readonly rauc?: { readonly version: string; readonly bytes: Buffer };
  readonly dependsOn?: readonly string[];
  readonly critical?: boolean;
  readonly workspace?: string;
  readonly workload?: string;
  readonly deploymentTarget?: string;
  readonly bounds?: PackageBounds;
  /** Fields of env files that the site fills in, each a string that must be there, or what `schema` says. */
  readonly inputs?: readonly (Omit<SiteInputField, 'assignment'> & {
    readonly schema?: { readonly [keyword: string]: Json };
  })[];
  /** Other bytes than the digest in the bundle's config says: what a careless publisher could sign. */
  readonly lie?: boolean;
};

export type TestBundle = {
  readonly channel: Channel;
  readonly digest: Digest;
  readonly config: BundleConfig;
  readonly manifest: Descriptor;
  /** Layer of each package. */
  readonly layers: ReadonlyMap<string, Descriptor>;
  readonly blobs: ReadonlyMap<Digest, Buffer>;
};

export const CHANNEL: Channel = { environment: 'prod', clusterType: 'factory-host' };

const blobsOf = ({ blobs = {}, rauc }: TestPackage): readonly Buffer[] => [
  ...Object.values(blobs).map((text) => Buffer.from(text)),
  ...(rauc ? [rauc.bytes] : []),
];

/** A host bundle, one layer a package, as the scheduler packs it. */
export const packTestBundle = (
  fleet: TestFleet,
  packages: readonly TestPackage[],
  channel: Channel = CHANNEL,
  reboot?: RebootPolicy,
  requirements: BundleConfig['requirements'] = {},
): TestBundle => {
  const blobs = new Map<Digest, Buffer>();
  const add = (mediaType: string, bytes: Buffer): Descriptor => {
    const digest = digestOf(bytes);
    blobs.set(digest, bytes);
    return { mediaType, digest, size: bytes.byteLength };
  };
  const sorted = packages.toSorted((a, b) => compareBytes(a.id, b.id));
  const packed = sorted.map((it) => {
    const files = packageFiles(it);
    const layer = packLayer(files.map(({ path, bytes }) => ({ path: `${it.id}/${path}`, bytes })));
    const said = it.lie ? files.slice(1) : files;
    return { it, layer: add(LAYER_HOST, layer.bytes), package: packageDigest(said) };
  });
  const carried = sorted.flatMap(blobsOf);
  const closure = carried.flatMap((bytes) => {
    const descriptor = add(FILE_BLOB, bytes);
    const { manifest, blobs: all } = createEvidence({ descriptor, bytes }, { artifactType: FILE_BLOB });
    for (const one of [manifest, ...all]) blobs.set(one.descriptor.digest, one.bytes);
    return [manifest, ...all].map(({ descriptor: { digest, size, mediaType } }) => ({
      digest,
      size,
      mediaType,
    }));
  });
  const inputs = sorted.flatMap((it) => (it.inputs ?? []).map((input) => ({ ...input, assignment: it.id })));
  const config: BundleConfig = {
    fleet: fleet.name,
    ...channel,
    kind: 'host',
    assignments: packed.map(({ it, layer, package: digest }) => ({
      id: it.id,
      package: digest,
      path: it.id,
      layer: layer.digest,
      ...(blobsOf(it).length > 0 && { blobs: blobsOf(it).map((bytes) => digestOf(bytes)) }),
      dependsOn: it.dependsOn ?? [],
      critical: it.critical ?? false,
      ...(it.workspace !== undefined && { workspace: it.workspace }),
      ...(it.workload !== undefined && { workload: it.workload }),
      ...(it.deploymentTarget !== undefined && { deploymentTarget: it.deploymentTarget }),
      ...(it.bounds && { bounds: it.bounds }),
    })),
    siteInputs: {
      schema: {
        type: 'object',
        properties: Object.fromEntries(
          inputs.map(({ input, schema }) => [input, schema ?? { type: 'string' }]),
        ),
        required: inputs.map(({ input }) => input),
      },
      fields: inputs.map(({ schema: _, ...field }) => field),
    },
    requirements,
    ...(reboot && { reboot }),
    closure: [...new Map(closure.map((entry) => [entry.digest, entry])).values()],
    critical: closure.length > 0 ? ['blobs'] : [],
  };
  const { bytes, descriptor } = encodeManifest(
    bundleManifest(
      'host',
      add(BUNDLE_CONFIG, canonicalBytes(config)),
      packed.map(({ layer }) => layer),
    ),
  );
  blobs.set(descriptor.digest, bytes);
  const layers = new Map(packed.map(({ it, layer }) => [it.id, layer]));
  return { channel, digest: descriptor.digest, config, manifest: descriptor, layers, blobs };
};

/** Everything in the folder of a package. */
export const packageFiles = (it: TestPackage): readonly { path: string; bytes: Buffer }[] => {
  const files = Object.entries(it.files).map(([path, text]) => ({ path, bytes: Buffer.from(text) }));
  const encrypted = (it.secrets ?? []).flatMap(({ encrypted: text }, index) =>
    text === undefined ? [] : [{ path: `secrets/${index}`, bytes: Buffer.from(text) }],
  );
  const envFiles = new Set(it.inputs?.map(({ file }) => file));
  const spec: HostPackage = {
    id: it.id,
    directories: [],
    files: [
      ...files.map(({ path, bytes }) => ({
        path,
        mode: '0644',
        owner: 'root',
        group: 'root',
        content: `files${path}`,
        digest: digestOf(bytes),
        size: bytes.byteLength,
        ...(envFiles.has(path) ? { format: 'env' as const } : {}),
      })),
      ...Object.entries(it.blobs ?? {}).map(([path, text]) => ({
        path,
        mode: '0644',
        owner: 'root',
        group: 'root',
        digest: digestOf(text),
        size: Buffer.byteLength(text),
        blob: true as const,
      })),
    ],
    ...(it.secrets && {
      secrets: it.secrets.map(({ encrypted: text, ...secret }, index) => ({
        mode: '0600',
        owner: 'root',
        group: 'root',
        ...(text !== undefined && {
          content: `secrets/${index}`,
          digest: digestOf(text),
          size: Buffer.byteLength(text),
        }),
        ...secret,
      })) as readonly HostSecret[],
    }),
    units: it.units ?? [],
    checks: it.checks ?? [],
    ...(it.install && { install: it.install }),
    ...(it.rauc && {
      rauc: {
        version: it.rauc.version,
        digest: digestOf(it.rauc.bytes),
        size: it.rauc.bytes.byteLength,
      },
    }),
    critical: [
      ...(it.blobs || it.rauc ? ['blobs'] : []),
      ...(it.rauc ? ['rauc'] : []),
      ...(it.install ? ['debs'] : []),
      ...(it.secrets ? ['secrets'] : []),
    ],
  };
  return [
    { path: 'package.json', bytes: canonicalBytes(spec) },
    ...encrypted,
    ...files.map(({ path, bytes }) => ({ path: `files${path}`, bytes })),
  ];
};

export type TestRelease = {
  readonly version: number;
  readonly bundle: TestBundle;
  readonly rollout?: ReleasePredicate['rollout'];
  readonly issuedAt?: Date;
  readonly expires?: Date;
  readonly revoked?: readonly Digest[];
  readonly minSiteVersion?: number;
};

export type TestSite = {
  readonly site: string;
  readonly version: number;
  readonly agents: readonly {
    readonly name: string;
    /** SPKI PEM. */
    readonly key: string;
    readonly channel?: Channel;
    readonly previousChannel?: Channel;
    readonly labels?: Readonly<Record<string, string>>;
    readonly freshness?: SiteAgent['freshness'];
    readonly recipient?: string;
    readonly unreadable?: readonly string[];
    readonly support?: SiteAgent['support'];
  }[];
  readonly issuedAt?: Date;
  readonly expires?: Date;
  readonly values?: Readonly<Record<string, Json>>;
  /** Sealed sets by name. */
  readonly secrets?: Readonly<Record<string, Uint8Array>>;
  readonly agentValues?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Further fields of the values document: `composed`, `local`. */
  readonly document?: Pick<SiteValues, 'composed' | 'local'>;
};

export type TestLease = {
  readonly version: number;
  /** The release that it is about. */
  readonly release: TestRelease;
  /** Another one that it claims to be about. */
  readonly about?: Digest;
  readonly issuedAt: Date;
  readonly expires: Date;
};

export type TestMedium = {
  readonly site?: TestSite;
  readonly release?: TestRelease;
  readonly lease?: TestLease;
  /** Signed by the fleet's receipt key. */
  readonly receipts?: readonly { readonly report: Digest; readonly predicate: ReceiptPredicate }[];
  /** Blobs of the bundle that the medium counts on being at the site. */
  readonly assumed?: readonly Digest[];
  /** Changes blobs after everything is signed: undefined loses one. */
  readonly tamper?: (digest: Digest, bytes: Buffer) => Buffer | undefined;
  /** Bundles of the channel that no release names. */
  readonly extra?: readonly TestBundle[];
};

type Carried = { readonly document: Document; readonly bytes: Buffer };

/** Writes a medium: a directory, or a tar where the path ends so. Returns the path. */
export const writeTestMedium = async (path: string, fleet: TestFleet, what: TestMedium): Promise<string> => {
  const carried = [
    ...fleet.roots.map((bytes, index) => carry('root', ROOT_JSON, bytes, { version: index + 1 })),
    ...(what.site ? await carrySite(fleet, what.site) : []),
    ...(what.release ? await carryRelease(fleet, what.release) : []),
    ...(what.lease ? [await carryLease(fleet, what.lease)] : []),
    ...(await Promise.all(
      (what.receipts ?? []).map(async ({ report, predicate }) =>
        carry('receipt', SIGSTORE_BUNDLE, await signReceipt(report, predicate, fleet.keys.receipt), {
          agent: predicate.agent,
        }),
      ),
    )),
  ];
  const bundles = [...(what.release ? [what.release.bundle] : []), ...(what.extra ?? [])];
  const assumed = new Set(what.assumed);
  const medium: Medium = {
    format: 1,
    fleet: fleet.name,
    createdAt: formatTime(fleet.epoch),
    documents: carried.map(({ document }) => document),
    bundles: bundles.map((bundle) => ({
      digest: bundle.digest,
      size: bundle.manifest.size,
      ...bundle.channel,
      kind: bundle.config.kind,
      assumed: [...bundle.blobs]
        .filter(([digest]) => assumed.has(digest))
        .map(([digest, bytes]) => ({ digest, size: bytes.byteLength })),
    })),
    chunks: [],
    critical: [],
  };
  const blobs = new Map<Digest, Buffer>(carried.map(({ document, bytes }) => [document.digest, bytes]));
  for (const [digest, bytes] of bundles.flatMap((bundle) => [...bundle.blobs])) {
    if (!assumed.has(digest)) blobs.set(digest, bytes);
  }
  const files = [
    { path: 'oci-layout', bytes: layoutMarker() },
    { path: 'index.json', bytes: encodeIndex(bundles.map(({ manifest }) => manifest)) },
    { path: MEDIUM_FILE, bytes: canonicalBytes(medium) },
    ...[...blobs].flatMap(([digest, bytes]) => {
      const written = what.tamper ? what.tamper(digest, bytes) : bytes;
      return written ? [{ path: `blobs/sha256/${hexOf(digest)}`, bytes: written }] : [];
    }),
  ];
  if (path.endsWith('.tar')) await writeAsTar(path, files);
  else {
    for (const folder of ['fleet', 'blobs/sha256']) await mkdir(join(path, folder), { recursive: true });
    await Promise.all(files.map((file) => writeFile(join(path, file.path), file.bytes)));
  }
  return path;
};

const writeAsTar = async (
  path: string,
  files: readonly { readonly path: string; readonly bytes: Buffer }[],
): Promise<void> => {
  await mkdir(dirname(path), { recursive: true });
  const entries = files.map(
    ({ path: name, bytes }): TarEntry => ({ path: name, size: bytes.byteLength, content: bytes }),
  );
  await pipeline(Readable.from(writeTar(entries)), createWriteStream(path));
};

const carry = (
  role: string,
  mediaType: string,
  bytes: Buffer,
  claims: Partial<Omit<Document, 'role' | 'digest' | 'size' | 'mediaType'>>,
): Carried => ({
  document: { role, digest: digestOf(bytes), size: bytes.byteLength, mediaType, ...claims },
  bytes,
});

const sign = (
  kind: StatementKind,
  subjects: readonly Subject[],
  predicate: Json,
  key: SigningKey,
): Promise<Buffer> => signPayload(encodeStatement(subjects, PREDICATES[kind], predicate), key);

const carrySite = async (fleet: TestFleet, order: TestSite): Promise<readonly Carried[]> => {
  const { site, version, agents } = order;
  const values = carry(
    'site-values',
    SITE_VALUES_JSON,
    canonicalBytes({
      fleet: fleet.name,
      site,
      values: order.values ?? {},
      agents: order.agentValues ?? {},
      ...(order.document as { readonly [field: string]: Json } | undefined),
    }),
    { site },
  );
  const predicate = {
    audience: { fleet: fleet.name, site },
    version,
    agents: agents.map(
      ({ name, key, channel, previousChannel, labels, freshness, recipient, unreadable, support }) => ({
        name,
        key,
        channel: channel ?? CHANNEL,
        previousChannel: previousChannel ?? null,
        labels: labels ?? {},
        freshness: freshness ?? { mode: 'release' },
        ...(recipient !== undefined && { recipient }),
        ...(unreadable && { unreadable }),
        ...(support && { support }),
      }),
    ),
    issuedAt: formatTime(order.issuedAt ?? fleet.epoch),
    expires: formatTime(order.expires ?? addDays(order.issuedAt ?? fleet.epoch, 365)),
    critical: [],
  };
  const secrets = Object.entries(order.secrets ?? {}).map(([name, bytes]) => ({
    name,
    sealed: carry('secrets', SEALED_SECRETS, Buffer.from(bytes), { site }),
  }));
  const subjects = [
    { name: 'site-values', digest: values.document.digest },
    ...secrets.map(({ name, sealed }) => ({ name: `secrets/${name}`, digest: sealed.document.digest })),
  ];
  const statement = await sign('site', subjects, predicate, fleet.keys.release);
  return [
    values,
    ...secrets.map(({ sealed }) => sealed),
    carry('site', SIGSTORE_BUNDLE, statement, { site, version }),
  ];
};

/** The release statement that a medium of this fleet would carry, and the list that it names. */
const encodeRelease = (
  fleet: TestFleet,
  release: TestRelease,
): { readonly payload: Buffer; readonly revocations: Carried } => {
  const { bundle, version } = release;
  const { channel } = bundle;
  const audience = { fleet: fleet.name, ...channel };
  const issuedAt = release.issuedAt ?? fleet.epoch;
  const revoked = (release.revoked ?? []).map((digest) => ({
    digest,
    reason: 'a test says so',
    at: formatTime(issuedAt),
  }));
  const revocations = carry(
    'revocations',
    REVOCATIONS_JSON,
    canonicalBytes({ ...audience, revoked }),
    channel,
  );
  const predicate = {
    audience,
    version,
    rollout: release.rollout ?? { percent: 100 },
    rootVersion: fleet.roots.length,
    issuedAt: formatTime(issuedAt),
    expires: formatTime(release.expires ?? addDays(issuedAt, 180)),
    previous: null,
    minAgent: null,
    minSiteVersion: release.minSiteVersion ?? 0,
    auditHead: null,
    critical: [],
  };
  const subjects = [
    { name: `bundle/${bundle.config.kind}`, digest: bundle.digest },
    { name: 'revocations', digest: revocations.document.digest },
  ];
  return { payload: encodeStatement(subjects, PREDICATES.release, predicate), revocations };
};

const carryRelease = async (fleet: TestFleet, release: TestRelease): Promise<readonly Carried[]> => {
  const { bundle, version } = release;
  const { payload, revocations } = encodeRelease(fleet, release);
  const statement = await signPayload(payload, fleet.keys.release);
  const issuedAt = release.issuedAt ?? fleet.epoch;
  return [
    revocations,
    carry('release', SIGSTORE_BUNDLE, statement, { ...bundle.channel, version }),
    carry('bundle', SIGSTORE_BUNDLE, await signBundle(fleet, bundle, issuedAt), { about: bundle.digest }),
  ];
};

const carryLease = async (fleet: TestFleet, lease: TestLease): Promise<Carried> => {
  const { version, release, issuedAt, expires } = lease;
  const { channel } = release.bundle;
  const about = lease.about ?? digestOf(encodeRelease(fleet, release).payload);
  const predicate = {
    audience: { fleet: fleet.name, ...channel },
    version,
    issuedAt: formatTime(issuedAt),
    expires: formatTime(expires),
    critical: [],
  };
  const subjects = [{ name: 'release', digest: about }];
  const statement = await sign('lease', subjects, predicate, fleet.keys.lease);
  return carry('lease', SIGSTORE_BUNDLE, statement, { ...channel, version, about });
};

const signBundle = (fleet: TestFleet, bundle: TestBundle, builtAt: Date): Promise<Buffer> => {
  const predicate = {
    fleet: fleet.name,
    ...bundle.channel,
    kind: bundle.config.kind,
    candidate: digestOf('candidate'),
    sources: [],
    held: [],
    builder: 'test',
    builtAt: formatTime(builtAt),
  };
  return sign('bundle', [{ name: 'bundle', digest: bundle.digest }], predicate, fleet.keys.bundle);
};
