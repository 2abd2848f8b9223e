import { parseArtifact } from '#bundles/formats/layout/artifact';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { findReference, type Layout, layoutReference } from '#bundles/formats/layout/layout';
import { MAX_MANIFEST_BYTES } from '#bundles/formats/layout/manifest';
import { readBlob } from '#bundles/formats/layout/verified';
import { channelsIn, sitesIn } from '#bundles/transport/publish/choose-pointers';
import type { Destination } from '#bundles/transport/publish/destination';
import { readChain } from '#bundles/transport/publish/read-chain';
import { readVersion } from '#bundles/transport/publish/read-version';
import { underNewestRoot } from '#bundles/transport/publish/under-newest-root';
import { siteRepository } from '#bundles/transport/registry/references';
import type { TrustRoot } from '#bundles/trust/root/root';
import { MAX_JUMP } from '../../../release/write/number-floors.ts';
import type { Database } from '../../store/tables.ts';

/** The newest numbers that some place knows, by channel and by site. */
export type KnownNumbers = {
  readonly releases: Readonly<Record<string, number>>;
  readonly leases: Readonly<Record<string, number>>;
  readonly sites: Readonly<Record<string, number>>;
};

const NO_NUMBERS: KnownNumbers = { releases: {}, leases: {}, sites: {} };

/** The higher of each number. */
export const higherNumbers = (all: readonly KnownNumbers[]): KnownNumbers => {
  const pick = (kind: keyof KnownNumbers): Readonly<Record<string, number>> => {
    const highest: Record<string, number> = {};
    for (const known of all)
      for (const [name, number] of Object.entries(known[kind]))
        highest[name] = Math.max(highest[name] ?? 0, number);
    return highest;
  };
  return { releases: pick('releases'), leases: pick('leases'), sites: pick('sites') };
};

/**
 * The numbers that no key signed for this office, as far as they can be true: an agent's report or a changed file must not use up the
 * numbers of a channel.
 * @param signed numbers of signed statements
 * @param said numbers of reports and of backup.json
 */
export const plausibleNumbers = (
  signed: KnownNumbers,
  said: KnownNumbers,
): { readonly numbers: KnownNumbers; readonly implausible: readonly string[] } => {
  const implausible: string[] = [];
  const pick = (kind: keyof KnownNumbers, what: string): Readonly<Record<string, number>> =>
    Object.fromEntries(
      Object.entries(said[kind]).filter(([name, number]) => {
        if (Number.isSafeInteger(number) && number <= (signed[kind][name] ?? 0) + MAX_JUMP) return true;
        implausible.push(`${what} ${number} of ${name}`);
        return false;
      }),
    );
  const numbers = {
    releases: pick('releases', 'release'),
    leases: pick('leases', 'lease'),
    sites: pick('sites', 'site statement'),
  };
  return { numbers, implausible };
};

/** Channels and sites to look up besides those of the layout. */
type Names = { readonly channels: readonly string[]; readonly sites: readonly string[] };

type Tag = 'release' | 'lease' | 'site';
type Read = (repository: string, tag: Tag) => Promise<{ bytes: Buffer; blobs: BlobSource } | undefined>;

const readNumbers = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  read: Read,
  more: Names = { channels: [], sites: [] },
): Promise<KnownNumbers> => {
  const numberOf = async (repository: string, tag: Tag): Promise<number | undefined> => {
    const found = await read(repository, tag);
    if (!found) return undefined;
    const documents = parseArtifact(found.bytes, { what: `${repository}:${tag}` });
    const chain = await readChain(found.blobs, documents, roots);
    const pointer = { repository, tag };
    const { value } = await underNewestRoot(chain, (root) =>
      readVersion(pointer, found.blobs, documents, root),
    );
    return value.number;
  };
  const numbers = async (names: readonly string[], tag: Tag, repositoryOf = (name: string) => name) => {
    const known: Record<string, number> = {};
    for (const name of names) {
      const number = await numberOf(repositoryOf(name), tag);
      if (number !== undefined) known[name] = number;
    }
    return known;
  };
  const channels = [...new Set([...channelsIn(layout), ...more.channels])];
  const sitesOf = [...new Set([...sitesIn(layout), ...more.sites])];
  return {
    releases: await numbers(channels, 'release'),
    leases: await numbers(channels, 'lease'),
    sites: await numbers(sitesOf, 'site', siteRepository),
  };
};

/** Numbers in a layout. @throws FleetError as readVersion */
export const numbersIn = (layout: Layout, roots: readonly TrustRoot[]): Promise<KnownNumbers> =>
  readNumbers(layout, roots, async (repository, tag) => {
    const descriptor = findReference(layout, layoutReference(repository, tag));
    const { blobs } = layout;
    return descriptor && { bytes: await readBlob(blobs, descriptor.digest, MAX_MANIFEST_BYTES), blobs };
  });

/**
 * Numbers in a registry, for the channels and sites of a layout.
 * @throws FleetError as readVersion; REGISTRY_UNREACHABLE, REGISTRY_DENIED
 */
export const numbersAt = (
  destination: Destination,
  layout: Layout,
  roots: readonly TrustRoot[],
  more: Names,
): Promise<KnownNumbers> =>
  readNumbers(
    layout,
    roots,
    async (repository, tag) => {
      const target = destination.repository(repository);
      const manifest = await target.fetchManifest(tag);
      return manifest && { bytes: Buffer.from(manifest.bytes), blobs: target.blobs };
    },
    more,
  );

/** Numbers that agents reported as accepted. */
export const numbersReported = async (db: Database): Promise<KnownNumbers> => {
  const imported = await db
    .selectFrom('agent')
    .select(({ fn }) => ['release_channel as channel', fn.max('release_version').as('number')])
    .where('release_channel', 'is not', null)
    .groupBy('release_channel')
    .execute();
  const floors = await db
    .selectFrom('report')
    .select(({ fn }) => ['channel', fn.max('floor_release').as('release'), fn.max('floor_lease').as('lease')])
    .where('channel', 'is not', null)
    .groupBy('channel')
    .execute();
  const sites = await db
    .selectFrom('report')
    .innerJoin('agent', 'agent.id', 'report.agent')
    .select(({ fn }) => ['agent.site', fn.max('floor_site').as('number')])
    .groupBy('agent.site')
    .execute();
  const named = (rows: readonly { readonly channel: string | null; readonly number: number | null }[]) =>
    Object.fromEntries(rows.map(({ channel, number }) => [channel ?? '', number ?? 0]));
  return higherNumbers([
    { ...NO_NUMBERS, releases: named(imported) },
    {
      releases: named(floors.map(({ channel, release: number }) => ({ channel, number }))),
      leases: named(floors.map(({ channel, lease: number }) => ({ channel, number }))),
      sites: Object.fromEntries(sites.map(({ site, number }) => [site, number ?? 0])),
    },
  ]);
};
