import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { compareBytes, type Digest, digestOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { type Layout, openOrStartLayout, referenceOf } from '#bundles/formats/layout/layout';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import { type Channel, formatChannel, parseChannel } from '#bundles/names';
import { canonicalJson } from '#bundles/json/canonical';
import type { Timestamp } from '#bundles/time';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import { siteRepository } from '#bundles/transport/registry/references';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { StoredRelease } from '../../../load/releases/read-release.ts';
import { unpackBundle } from '../../../load/releases/unpack-bundle.ts';
import { listReleases } from '../../../release/reissue/list-releases.ts';
import type { Hub } from '../../hub.ts';
import { readBundleStatement } from '../state/read-bundle-statement.ts';
import { keepUnpacked } from './keep-unpacked.ts';
import { describePackage, type Version } from './describe-package.ts';

/** A current or earlier release of a channel, with its sources. */
export type PastRelease = {
  readonly channel: string;
  readonly version: number;
  readonly issuedAt: Timestamp;
  readonly current: boolean;
  /** '<time>: <reason>' of a revoked one. */
  readonly revoked: string | null;
  readonly candidate: Digest | null;
  /** Of the candidate without the environment's layer, and of the one that was promoted; null: not in the statement. */
  readonly shared: Digest | null;
  readonly promoted: Digest | null;
  readonly packages: ReadonlyMap<string, Released>;
};

/** A package of a release. */
export type Released = {
  readonly package: Digest;
  readonly workload: string | null;
  readonly workspace: string | null;
  readonly bundle: Digest;
};

/** The releases in a layout with their packages. Each release and bundle is verified and read once. */
export type Releases = {
  /** Newest first. Past releases that cannot be verified are left out. @throws FleetError as listReleases */
  readonly of: (channel: Channel) => Promise<readonly PastRelease[]>;
  /** The version of a package by the newest release that has it; undefined: none has. */
  readonly versionOf: (channel: Channel, assignment: string, digest: Digest) => Promise<Version | undefined>;
  /** The folder that a package is made of, by the newest release that has it; undefined: none has. */
  readonly sourceOf: (
    channel: Channel,
    assignment: string,
    digest: Digest,
  ) => Promise<BundlePredicate['sources'][number] | undefined>;
  /** Channels that have a release, sorted. */
  readonly channels: () => readonly Channel[];
  /** Assignments of a workload in the releases of all channels, sorted. */
  readonly assignmentsOf: (workload: string) => Promise<readonly string[]>;
  /** Files of a bundle's packages, by assignment and path. @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, BOMB */
  readonly packagesOf: (bundle: Digest) => Promise<ReadonlyMap<string, ReadonlyMap<string, Buffer>>>;
};

type Opened = {
  readonly manifests: Layout['manifests'];
  /** Digest of the entries that are not of sites. */
  readonly index: Digest;
  readonly releases: Releases;
};

/** Cache for each hub's layout, with the index that it was read from. */
const opened = new WeakMap<Hub['keys'], Opened>();

/** The releases of a hub's layout, read anew after a change of its index. Statements and receipts of sites change it often and say nothing about releases. */
export const openReleases = async ({
  keys,
  layout: directory,
}: Pick<Hub, 'keys' | 'layout'>): Promise<Releases> => {
  const layout = await openOrStartLayout(directory);
  const { manifests } = layout;
  const before = opened.get(keys);
  if (before?.manifests === manifests) return before.releases;
  const index = digestOf(canonicalJson(manifests.filter((entry) => !isOfSite(entry))));
  const releases = before?.index === index ? before.releases : releasesIn(layout, keys.roots);
  opened.set(keys, { manifests, index, releases });
  return releases;
};

const isOfSite = (entry: Descriptor): boolean => referenceOf(entry)?.startsWith(siteRepository('')) === true;

/** Of bundles that stay in memory. */
const MAX_UNPACKED_BYTES = 32 << 20;

const releasesIn = (layout: Layout, roots: readonly TrustRoot[]): Releases => {
  const read = new Map<string, Promise<readonly PastRelease[]>>();
  const statements = new Map<Digest, BundlePredicate>();
  const versions = new Map<Digest, ReadonlyMap<string, Version>>();

  const of = (channel: Channel): Promise<readonly PastRelease[]> => {
    const name = formatChannel(channel);
    const known = read.get(name) ?? readChannel(channel);
    read.set(name, known);
    return known;
  };

  const readChannel = async (channel: Channel): Promise<readonly PastRelease[]> => {
    const found: PastRelease[] = [];
    for (const { release, bundles, current, revoked } of await listReleases(layout, channel, roots)) {
      const contents = await readBundles(release, bundles);
      if (!contents) continue;
      const [statement] = contents.statements;
      found.push({
        channel: formatChannel(channel),
        version: release.predicate.version,
        issuedAt: release.predicate.issuedAt,
        current,
        revoked: revoked ?? null,
        candidate: statement?.candidate ?? null,
        shared: statement?.shared ?? null,
        promoted: statement?.promoted ?? null,
        packages: contents.packages,
      });
    }
    return found;
  };

  /** undefined if a past release is not complete any more. */
  const readBundles = async (release: StoredRelease, bundles: readonly Digest[]) => {
    try {
      const named = new Map<string, Released>();
      const predicates: BundlePredicate[] = [];
      for (const bundle of bundles) {
        const statement =
          statements.get(bundle) ?? (await readBundleStatement(layout, release, bundle, release.root));
        statements.set(bundle, statement);
        predicates.push(statement);
        const { config } = await readBundle(layout.blobs, bundle);
        for (const { id, package: digest, workload, workspace } of config.assignments)
          named.set(id, {
            package: digest,
            workload: workload ?? null,
            workspace: workspace ?? null,
            bundle,
          });
      }
      return { packages: named, statements: predicates };
    } catch (error) {
      if (isFleetError(error)) return undefined;
      throw error;
    }
  };

  /** Facts are shown by their digests where the releases cannot be read. */
  const ofOrNone = async (channel: Channel): Promise<readonly PastRelease[]> => {
    try {
      return await of(channel);
    } catch (error) {
      if (isFleetError(error)) return [];
      throw error;
    }
  };

  const packagesOf: Releases['packagesOf'] = keepUnpacked(
    (bundle) => readPackages(layout, bundle),
    MAX_UNPACKED_BYTES,
  );

  /** The folder of the application, otherwise that of the workload. */
  const sourceIn = (bundle: Digest, assignment: string, workload: string | null) => {
    const { sources = [] } = statements.get(bundle) ?? {};
    return (
      sources.find(({ role }) => role === `application/${assignment}`) ??
      sources.find(({ role }) => workload !== null && role === `workload/${workload}`)
    );
  };

  const versionsIn = async (bundle: Digest, release: PastRelease): Promise<ReadonlyMap<string, Version>> => {
    const described = [...(await packagesOf(bundle))].map(([assignment, files]) => {
      const workload = release.packages.get(assignment)?.workload ?? null;
      const source = sourceIn(bundle, assignment, workload);
      return [assignment, describePackage(workload ?? assignment, source, files)] as const;
    });
    return new Map(described);
  };

  const releasedOf = async (
    channel: Channel,
    assignment: string,
    digest: Digest,
  ): Promise<PastRelease | undefined> =>
    (await ofOrNone(channel)).find(({ packages }) => packages.get(assignment)?.package === digest);

  const versionOf: Releases['versionOf'] = async (channel, assignment, digest) => {
    const release = await releasedOf(channel, assignment, digest);
    const bundle = release?.packages.get(assignment)?.bundle;
    if (!release || bundle === undefined) return undefined;
    const known = versions.get(bundle) ?? (await versionsIn(bundle, release));
    versions.set(bundle, known);
    return known.get(assignment);
  };

  const sourceOf: Releases['sourceOf'] = async (channel, assignment, digest) => {
    const release = await releasedOf(channel, assignment, digest);
    const found = release?.packages.get(assignment);
    return found && sourceIn(found.bundle, assignment, found.workload);
  };

  const channels: Releases['channels'] = () => channelsIn(layout).map((name) => parseChannel(name));

  const assignmentsOf: Releases['assignmentsOf'] = async (workload) => {
    const found = new Set<string>();
    for (const channel of channels())
      for (const { packages } of await ofOrNone(channel))
        for (const [id, released] of packages) if (released.workload === workload) found.add(id);
    return [...found].toSorted(compareBytes);
  };

  return { of, versionOf, sourceOf, packagesOf, channels, assignmentsOf };
};

/** The files of a bundle's packages, by assignment. */
export const readPackages = async (
  layout: Layout,
  bundle: Digest,
): Promise<ReadonlyMap<string, ReadonlyMap<string, Buffer>>> =>
  await unpackBundle(layout.blobs, await readBundle(layout.blobs, bundle));
