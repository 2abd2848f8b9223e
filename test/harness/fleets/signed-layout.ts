import { packLayer } from '../../../bundles/formats/archive/pack-layer.ts';
import type { ClosureEntry, SiteInputField } from '../../../bundles/formats/bundle/config.ts';
import type { BundleKind } from '#bundles/names';
import {
  bundleManifest,
  type Descriptor,
  encodeManifest,
  type Manifest,
} from '../../../bundles/formats/layout/manifest.ts';
import { packageDigest } from '../../../bundles/formats/bundle/package-digest.ts';
import { canonicalBytes, type Json } from '../../../bundles/json/canonical.ts';
import { type Digest, digestOf, hexOf } from '../../../bundles/digest.ts';
import { readArtifact } from '../../../bundles/formats/layout/artifact.ts';
import { type Document, toDescriptor } from '../../../bundles/formats/layout/document.ts';
import {
  findReference,
  type Layout,
  layoutReference,
  openOrStartLayout,
  withReference,
  writeLayoutIndex,
} from '../../../bundles/formats/layout/layout.ts';
import { readBlob } from '../../../bundles/formats/layout/verified.ts';
import {
  BUNDLE_CONFIG,
  CANDIDATE_JSON,
  LAYER_HOST,
  LAYER_KUBERNETES,
  LEASE_ARTIFACT,
  OCI_EMPTY,
  OCI_INDEX,
  OCI_MANIFEST,
  PREDICATES,
  RECEIPTS_ARTIFACT,
  RELEASE_ARTIFACT,
  REVOCATIONS_JSON,
  ROLLOUT_JSON,
  ROOT_JSON,
  SIGSTORE_BUNDLE,
  SITE_ARTIFACT,
  SITE_VALUES_JSON,
} from '../../../bundles/media-types.ts';
import { type Channel, formatChannel } from '../../../bundles/names.ts';
import { GENESIS } from '../../../bundles/formats/events/event.ts';
import { signReceipt } from '../../../bundles/trust/reports/receipt.ts';
import { type SignedReport, signReport } from '../../../bundles/trust/reports/report.ts';
import { parseEnvelope } from '../../../bundles/formats/statements/envelope.ts';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import type { ReportPredicate, Rollout, SiteAgent } from '../../../bundles/formats/statements/predicates.ts';
import { encodeStatement } from '../../../bundles/trust/statements/verify-statement.ts';
import { addDays, formatTime } from '../../../bundles/time.ts';
import type { SigningKey } from '../../../bundles/trust/keys/key.ts';
import { NOW, type SignedFleet } from './signed-fleet.ts';

export { NOW, newFleet, newSigningKey, rotate, type SignedFleet } from './signed-fleet.ts';

/**
 * Small signed layouts as `fleet-scheduler build` writes them, for tests of whatever reads them: one fleet with keys of
 * its own, and a function for each thing that is published. Bytes are what the test gives, so sizes are known.
 */

/** An image of one config and the given layers. */
export type TestImage = {
  readonly name: string;
  /** 'amd64' by default. */
  readonly architecture?: string;
  readonly layers: readonly Uint8Array[];
  /** The closure names an index that names the image. */
  readonly index?: boolean;
  /** Puts what vouches for the image among the blobs, and says which manifests it made. */
  readonly attach?: (blobs: Map<Digest, Buffer>, image: Descriptor) => Promise<readonly Descriptor[]>;
};

export type TestBundle = {
  readonly kind: BundleKind;
  /** Assignments: id to files of its package. */
  readonly packages: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** Workspaces by assignment. */
  readonly workspaces?: Readonly<Record<string, string>>;
  readonly images?: readonly TestImage[];
  /** Schemas of site values that it needs, by name. */
  readonly siteInputs?: { readonly [name: string]: Json };
};

export type TestRelease = {
  readonly channel: Channel;
  readonly version: number;
  readonly bundles: readonly TestBundle[];
  /** Shared digest of the candidate; by default the bundle statements name none. */
  readonly shared?: Digest;
  /** What the bundles are made of, by their statements; by default nothing. */
  readonly sources?: readonly { readonly [name: string]: string }[];
  /** By default a day ago. */
  readonly issuedAt?: Date;
  readonly expires?: Date;
  /** Digest of the statement before. */
  readonly previous?: Digest;
  readonly minAgent?: string;
  /** Leave the release unsigned, sign it with another key, ... */
  readonly releaseKey?: SigningKey;
  readonly bundleKey?: SigningKey;
  /** By default everyone. */
  readonly rollout?: Rollout;
  /** The plan of its rollout, for its candidate and its bundles. */
  readonly plan?: (candidate: Digest, bundles: readonly Digest[]) => Buffer;
};

export type TestSite = {
  readonly site: string;
  readonly version: number;
  readonly agents: readonly (Pick<SiteAgent, 'name' | 'channel'> & {
    readonly previousChannel?: Channel;
    readonly recipient?: string;
    readonly key: SigningKey;
  })[];
  readonly values?: { readonly [name: string]: Json };
};

export type TestLease = {
  readonly channel: Channel;
  readonly version: number;
  /** Digest of a release's payload; by default the one that the channel has. */
  readonly release?: Digest;
  /** By default an hour ago. */
  readonly issuedAt?: Date;
  readonly expires?: Date;
  readonly key?: SigningKey;
};

export type LayoutWriter = {
  readonly directory: string;
  /** The digests of its bundles, in the order given. */
  readonly release: (release: TestRelease) => Promise<readonly Digest[]>;
  readonly lease: (lease: TestLease) => Promise<void>;
  readonly site: (site: TestSite) => Promise<void>;
  readonly receipts: (
    site: string,
    documents: readonly TestReceipt[],
    /** Newest reports, which lie beside the receipts. */
    reports?: readonly { readonly agent: string; readonly statement: Buffer }[],
  ) => Promise<void>;
  /** Gives the newest release a tag for good. */
  readonly keep: (channel: Channel) => Promise<void>;
};

export type TestReceipt = { readonly agent: string; readonly from: number; readonly to: number };

/** Publishes into the layout at `directory`, which it makes or continues. */
export const writeSignedLayout = (fleet: SignedFleet, directory: string): LayoutWriter => {
  const put = async (layout: Layout, bytes: Uint8Array, mediaType: string): Promise<Descriptor> => {
    const descriptor = { mediaType, digest: digestOf(bytes), size: bytes.byteLength };
    await layout.blobs.write(descriptor.digest, descriptor.size, bytes);
    return descriptor;
  };
  const putManifest = async (layout: Layout, manifest: Manifest): Promise<Descriptor> => {
    const { bytes, descriptor } = encodeManifest(manifest);
    await layout.blobs.write(descriptor.digest, descriptor.size, bytes);
    return descriptor;
  };
  const name = async (repository: string, tag: string, descriptor: Descriptor): Promise<void> => {
    const layout = await openOrStartLayout(directory);
    await writeLayoutIndex(
      layout,
      withReference(layout.manifests, layoutReference(repository, tag), descriptor),
    );
  };
  const document = async (
    layout: Layout,
    bytes: Uint8Array,
    mediaType: string,
    claims: Partial<Document> & { readonly role: string },
  ): Promise<Document> => ({ ...claims, ...(await put(layout, bytes, mediaType)) });
  const artifact = async (
    repository: string,
    tag: string,
    artifactType: string,
    documents: readonly Document[],
  ): Promise<void> => {
    const layout = await openOrStartLayout(directory);
    const config = await put(layout, Buffer.from('{}'), OCI_EMPTY);
    await name(
      repository,
      tag,
      await putManifest(layout, {
        schemaVersion: 2,
        mediaType: OCI_MANIFEST,
        artifactType,
        config,
        layers: documents.map((one) => toDescriptor(one)),
      }),
    );
  };
  const roots = (layout: Layout): Promise<Document[]> =>
    Promise.all(
      fleet.roots.map((bytes, index) =>
        document(layout, bytes, ROOT_JSON, { role: 'root', version: index + 1 }),
      ),
    );

  const putImage = async (
    layout: Layout,
    repository: string,
    image: TestImage,
  ): Promise<readonly ClosureEntry[]> => {
    const layers: Descriptor[] = [];
    for (const bytes of image.layers)
      layers.push(await put(layout, bytes, 'application/vnd.oci.image.layer.v1.tar'));
    const config = canonicalBytes({
      architecture: image.architecture ?? 'amd64',
      os: 'linux',
      rootfs: { type: 'layers', diff_ids: layers.map(({ digest }) => digest) },
      config: { Labels: { name: image.name } },
    });
    const manifest = await putManifest(layout, {
      schemaVersion: 2,
      mediaType: OCI_MANIFEST,
      config: await put(layout, config, 'application/vnd.oci.image.config.v1+json'),
      layers,
    });
    const index = canonicalBytes({ schemaVersion: 2, mediaType: OCI_INDEX, manifests: [manifest] });
    const descriptor = image.index ? await put(layout, index, OCI_INDEX) : manifest;
    await name(repository, `i-${hexOf(descriptor.digest)}`, descriptor);
    const { digest, size, mediaType } = descriptor;
    const made = new Map<Digest, Buffer>();
    const attachments = (await image.attach?.(made, descriptor)) ?? [];
    const mediaTypeOf = (one: Digest): string =>
      attachments.find((it) => it.digest === one)?.mediaType ?? 'application/octet-stream';
    const evidence: ClosureEntry[] = [];
    for (const [one, bytes] of made) {
      const { digest, size, mediaType } = await put(layout, bytes, mediaTypeOf(one));
      evidence.push({ digest, size, mediaType });
    }
    for (const one of attachments) await name(repository, `i-${hexOf(one.digest)}`, one);
    const entry = { digest, size, mediaType, names: [`registry.test/${image.name}@${digest}`] };
    const vouching = attachments.map((it) => it.digest);
    return [{ ...entry, ...(vouching.length > 0 && { attachments: vouching }) }, ...evidence];
  };

  const putBundle = async (layout: Layout, channel: Channel, bundle: TestBundle): Promise<Descriptor> => {
    const closure: ClosureEntry[] = [];
    for (const image of bundle.images ?? [])
      closure.push(...(await putImage(layout, formatChannel(channel), image)));
    const packages = Object.entries(bundle.packages).map(([id, files]) => ({
      id,
      files: Object.entries(files).map(([path, text]) => ({
        path: `${id}/${path}`,
        bytes: Buffer.from(text),
      })),
    }));
    const mediaType = bundle.kind === 'host' ? LAYER_HOST : LAYER_KUBERNETES;
    const pack = async (files: readonly { path: string; bytes: Buffer }[]): Promise<Descriptor> =>
      put(layout, packLayer(files).bytes, mediaType);
    const shared =
      bundle.kind === 'kubernetes' ? await pack(packages.flatMap(({ files }) => files)) : undefined;
    const layers: Descriptor[] = shared ? [shared] : [];
    const assignments = [];
    for (const { id, files } of packages) {
      const layer = shared ?? (await pack(files));
      if (!shared) layers.push(layer);
      assignments.push({
        id,
        package: packageDigest(files),
        path: id,
        layer: layer.digest,
        dependsOn: [],
        critical: false,
        ...(bundle.workspaces?.[id] !== undefined && { workspace: bundle.workspaces[id] }),
      });
    }
    const config = canonicalBytes(
      {
        fleet: fleet.fleet,
        ...channel,
        kind: bundle.kind,
        assignments,
        siteInputs: { schema: schemaOf(bundle.siteInputs), fields: fieldsOf(bundle) },
        requirements: {},
        closure: closure as unknown as Json,
        critical: [],
      },
      'doubles',
    );
    const manifest = bundleManifest(bundle.kind, await put(layout, config, BUNDLE_CONFIG), layers);
    const descriptor = await putManifest(layout, manifest);
    await name(formatChannel(channel), `b-${hexOf(descriptor.digest)}`, descriptor);
    return descriptor;
  };

  const writeRelease: LayoutWriter['release'] = async (input) => {
    const layout = await openOrStartLayout(directory);
    const { channel, version } = input;
    const candidate = await document(
      layout,
      canonicalBytes({ fleet: fleet.fleet, sources: [], images: [], charts: [] }),
      CANDIDATE_JSON,
      { role: 'candidate' },
    );
    const revocations = await document(
      layout,
      canonicalBytes({ fleet: fleet.fleet, ...channel, revoked: [] }),
      REVOCATIONS_JSON,
      { role: 'revocations', ...channel },
    );
    const documents: Document[] = [...(await roots(layout)), candidate, revocations];
    const digests: Digest[] = [];
    const subjects = [{ name: 'revocations', digest: revocations.digest }];
    for (const bundle of input.bundles) {
      const { digest } = await putBundle(layout, channel, bundle);
      digests.push(digest);
      subjects.push({ name: `bundle/${bundle.kind}`, digest });
      const predicate = {
        fleet: fleet.fleet,
        ...channel,
        kind: bundle.kind,
        candidate: candidate.digest,
        ...(input.shared !== undefined && { shared: input.shared }),
        sources: [...(input.sources ?? [])],
        held: [],
        builder: 'test',
        builtAt: formatTime(NOW),
      };
      documents.push(
        await document(
          layout,
          await signPayload(
            encodeStatement([{ name: 'bundle', digest }], PREDICATES.bundle, predicate),
            input.bundleKey ?? fleet.keys.bundle,
          ),
          SIGSTORE_BUNDLE,
          { role: 'bundle', about: digest, ...channel },
        ),
      );
    }
    const plan = input.plan?.(candidate.digest, digests);
    if (plan) documents.push(await document(layout, plan, ROLLOUT_JSON, { role: 'rollout', ...channel }));
    const predicate = {
      audience: { fleet: fleet.fleet, ...channel },
      version,
      rollout: input.rollout ?? { percent: 100 },
      rootVersion: fleet.roots.length,
      issuedAt: formatTime(input.issuedAt ?? addDays(NOW, -1)),
      expires: formatTime(input.expires ?? addDays(NOW, 180)),
      previous: input.previous ?? null,
      minAgent: input.minAgent ?? null,
      minSiteVersion: 0,
      auditHead: null,
      critical: [],
    };
    documents.push(
      await document(
        layout,
        await signPayload(
          encodeStatement(subjects, PREDICATES.release, predicate),
          input.releaseKey ?? fleet.keys.release,
        ),
        SIGSTORE_BUNDLE,
        { role: 'release', version, ...channel },
      ),
    );
    await artifact(formatChannel(channel), 'release', RELEASE_ARTIFACT, documents);
    return digests;
  };

  const releaseOf = async (layout: Layout, channel: Channel): Promise<Digest> => {
    const pointer = findReference(layout, layoutReference(formatChannel(channel), 'release'));
    if (!pointer) throw new Error('there is no release to lease');
    const documents = await readArtifact(layout.blobs, pointer, { what: 'the release' });
    const statement = documents.find(({ role }) => role === 'release');
    const bytes = await readBlob(layout.blobs, statement?.digest ?? pointer.digest, 1 << 20);
    return digestOf(parseEnvelope(bytes, 'the release').payload);
  };

  const writeLease: LayoutWriter['lease'] = async ({ channel, version, ...more }) => {
    const layout = await openOrStartLayout(directory);
    const about = more.release ?? (await releaseOf(layout, channel));
    const predicate = {
      audience: { fleet: fleet.fleet, ...channel },
      version,
      issuedAt: formatTime(more.issuedAt ?? new Date(NOW.getTime() - 3_600_000)),
      expires: formatTime(more.expires ?? addDays(NOW, 30)),
      critical: [],
    };
    const payload = encodeStatement([{ name: 'release', digest: about }], PREDICATES.lease, predicate);
    const bytes = await signPayload(payload, more.key ?? fleet.keys.lease);
    const lease = await document(layout, bytes, SIGSTORE_BUNDLE, {
      role: 'lease',
      version,
      about,
      ...channel,
    });
    await artifact(formatChannel(channel), 'lease', LEASE_ARTIFACT, [lease, ...(await roots(layout))]);
  };

  const writeSite: LayoutWriter['site'] = async ({ site, version, agents, values = {} }) => {
    const layout = await openOrStartLayout(directory);
    const claims = { site, version };
    const list = await document(
      layout,
      canonicalBytes({ fleet: fleet.fleet, site, values, agents: {} }),
      SITE_VALUES_JSON,
      { role: 'site-values', ...claims },
    );
    const predicate = {
      audience: { fleet: fleet.fleet, site },
      version,
      agents: agents.map(({ name: agent, channel, previousChannel = null, recipient, key }) => ({
        name: agent,
        key: key.public.pem,
        channel,
        previousChannel,
        ...(recipient !== undefined && { recipient }),
        labels: {},
        freshness: { mode: 'release' },
      })),
      issuedAt: formatTime(addDays(NOW, -1)),
      expires: formatTime(addDays(NOW, 180)),
      critical: [],
    };
    const statement = await document(
      layout,
      await signPayload(
        encodeStatement([{ name: 'site-values', digest: list.digest }], PREDICATES.site, predicate),
        fleet.keys.release,
      ),
      SIGSTORE_BUNDLE,
      { role: 'site', ...claims },
    );
    await artifact(`sites/${site}`, 'site', SITE_ARTIFACT, [...(await roots(layout)), list, statement]);
  };

  const writeReceipts: LayoutWriter['receipts'] = async (site, receipts, reports = []) => {
    const layout = await openOrStartLayout(directory);
    const documents: Document[] = [];
    for (const { agent, from, to } of receipts) {
      const predicate = { fleet: fleet.fleet, agent, from, to, head: GENESIS, time: formatTime(NOW) };
      const bytes = await signReceipt(digestOf(`${agent} ${from}`), predicate, fleet.keys.receipt);
      documents.push(await document(layout, bytes, SIGSTORE_BUNDLE, { role: 'receipt', agent }));
    }
    for (const { agent, statement } of reports)
      documents.push(await document(layout, statement, SIGSTORE_BUNDLE, { role: 'report', agent }));
    await artifact(`sites/${site}`, 'receipts', RECEIPTS_ARTIFACT, documents);
  };

  const keep: LayoutWriter['keep'] = async (channel) => {
    const layout = await openOrStartLayout(directory);
    const newest = findReference(layout, layoutReference(formatChannel(channel), 'release'));
    if (newest) await name(formatChannel(channel), `r-${hexOf(newest.digest)}`, newest);
  };

  return {
    directory,
    release: writeRelease,
    lease: writeLease,
    site: writeSite,
    receipts: writeReceipts,
    keep,
  };
};

/** A report without events that says which bundles the agent holds. */
export const writeReport = (
  fleet: string,
  agent: string,
  key: SigningKey,
  holds: readonly Digest[],
  more: Partial<ReportPredicate> = {},
): Promise<SignedReport> =>
  signReport(
    Buffer.alloc(0),
    {
      fleet,
      agent,
      from: 1,
      to: 1,
      firstPrev: GENESIS,
      lastHash: GENESIS,
      bootId: 'boot',
      time: formatTime(NOW),
      clockTrusted: true,
      floors: { root: 1, site: 1, release: 1, lease: 0, time: formatTime(NOW) },
      holds,
      ...more,
    },
    key,
  );

/** All go into the first file of the first package. */
const fieldsOf = ({ siteInputs = {}, packages }: TestBundle): readonly SiteInputField[] => {
  const [assignment, files] = Object.entries(packages)[0] ?? [];
  const [file] = Object.keys(files ?? {});
  if (assignment === undefined || file === undefined) return [];
  return Object.keys(siteInputs).map((input) => ({ input, assignment, file, pointer: `/0/${input}` }));
};

const schemaOf = (properties: TestBundle['siteInputs']): { readonly [keyword: string]: Json } =>
  properties ? { type: 'object', properties, required: Object.keys(properties) } : {};
