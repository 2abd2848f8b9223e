import { checkAudience } from '#bundles/trust/accept/check-audience';
import { isManifestType } from '#bundles/formats/layout/manifest';
import { ownBlobs, readBundle } from '#bundles/formats/bundle/read-bundle';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { compareBytes, type Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { RECEIPTS_ARTIFACT, RELEASE_ARTIFACT, SITE_ARTIFACT } from '#bundles/media-types';
import { nameSome } from '#bundles/name-some';
import { didYouMean } from '#bundles/nearest-name';
import { type Channel, formatChannel } from '#bundles/names';
import { channelRepository, siteRepository } from '#bundles/transport/registry/references';
import { type Evidence, judgeReceipts, judgeRelease, judgeRoots, judgeSite } from './check/judge.ts';
import type {
  Offer,
  OfferedBundle,
  OfferedChannel,
  OfferedDocument,
  OfferedReceipt,
  OfferedSite,
} from './offer.ts';
import { readClosure } from '#bundles/formats/bundle/read-closure';
import { readInParallel } from './read-in-parallel.ts';
import { chooseLease, rootsForLeases, type JudgedLease, readLeases } from './read-leases.ts';
import { readTagged } from './read-tagged.ts';
import { routedBlobs } from './routed-blobs.ts';
import type { Source } from './source.ts';

export type Wanted = {
  /** undefined: the channels of the sites' agents; without sites, all channels of the source. */
  readonly channels: readonly Channel[] | undefined;
  readonly sites: readonly string[];
  /** Sites that reported: they get their receipts, but no new site statement. */
  readonly reporters: readonly string[];
};

/**
 * Reads and verifies the requested content: nothing unsigned, expired or foreign is exported.
 * @throws FleetError CHANNEL_MISSING, SITE_MISSING, or the code with which a site would refuse it
 */
export const readOffer = async (
  source: Source,
  wanted: Wanted,
  now: Date,
  signal?: AbortSignal,
): Promise<Offer> => {
  const [sites, receipts] = await awaitBoth(
    readAll(wanted.sites, (site) => readSite(source, site)),
    readAll([...wanted.sites, ...wanted.reporters], (site) => readReceipts(source, site)),
  );
  await source.readAhead?.([...sites.flat(), ...receipts.flat()], signal);
  const siteEvidence = evidenceOf(source, sites.flat(), now);
  // The sites say which channels their agents follow, so they come first; under their own roots until all are known.
  const named =
    wanted.channels ?? (wanted.sites.length > 0 ? await channelsOf(siteEvidence, wanted.sites) : undefined);
  const channels = uniqueChannels(named ?? (await source.channels()));
  if (channels.length === 0) throw noChannel(source, wanted);
  const [releases, leases] = await awaitBoth(
    readAll(channels, (channel) => readRelease(source, channel)),
    readLeases(source, channels),
  );
  const certain = uniqueDocuments([...releases.flat(), ...sites.flat(), ...receipts.flat()]);
  await source.readAhead?.(certain, signal);
  const read = uniqueDocuments([
    ...certain,
    ...(await rootsForLeases(source, certain, leases.documents, now)),
  ]);
  const evidence = evidenceOf(source, read, now);
  const root = await judgeRoots(evidence);
  const offered = await readInParallel(
    channels,
    (channel, stop) => readChannel(source, evidence, root, channel, stop),
    signal,
  );
  const live = offered.flatMap(({ lease }) => lease ?? []);
  const documents = read.filter(
    ({ document: { role, digest } }) =>
      role !== 'lease' || live.some(({ digests }) => digests.includes(digest)),
  );
  const judged: OfferedSite[] = [];
  for (const site of new Set(wanted.sites)) {
    const { version, agents, values } = await judgeSite(evidence, root, site);
    judged.push({ site, version, agents, values });
  }
  return {
    root,
    documents,
    channels: offered.map(({ channel }) => channel),
    leases: live,
    sites: judged,
    receipts: await receiptsIn(evidence, root),
    notes: [...leases.notes, ...offered.flatMap(({ notes }) => notes)],
  };
};

const noChannel = ({ name }: Source, { sites }: Wanted): FleetError => {
  const [site, ...others] = new Set(sites);
  if (site === undefined)
    return new FleetError('CHANNEL_MISSING', `${name} has no release`, { hint: 'Build one first' });
  const [whose, follow] =
    others.length === 0 ? [`site ${site}`, 'it follows'] : ['these sites', 'they follow'];
  return new FleetError('CHANNEL_MISSING', `no agent of ${whose} is left, so ${follow} no channel`, {
    hint: 'Name one with --channel: the new site statement goes with it',
  });
};

const evidenceOf = (source: Source, documents: readonly OfferedDocument[], now: Date): Evidence => ({
  blobs: routedBlobs(source, new Map(documents.map((it) => [it.document.digest, it.repository]))),
  documents: documents.map(({ document }) => document),
  now,
  // Every client that may push can also push to the tag of the leases.
  from: 'registry',
});

const readAll = <T, R>(items: readonly T[], read: (item: T) => Promise<R>): Promise<readonly R[]> =>
  readInParallel(new Set(items), read);

/** Awaits two independent promises. When both fail, throws the error of the first, independent of timing. */
const awaitBoth = async <A, B>(one: Promise<A>, other: Promise<B>): Promise<readonly [A, B]> => {
  await Promise.allSettled([one, other]);
  return [await one, await other];
};

const readRelease = async (source: Source, channel: Channel): Promise<readonly OfferedDocument[]> => {
  const name = formatChannel(channel);
  const documents = await readTagged(source, channelRepository(channel), 'release', RELEASE_ARTIFACT);
  if (documents) return documents;
  const known = (await source.channels().catch(() => [])).map(formatChannel);
  throw new FleetError('CHANNEL_MISSING', `${source.name} has no release of ${name}`, {
    subject: name,
    hint:
      known.length > 0
        ? `${didYouMean(name, known) ?? ''}It has ${nameSome(known)}`
        : 'Check the name, or build and publish a release first',
  });
};

export const readSite = async (source: Source, site: string): Promise<readonly OfferedDocument[]> => {
  const documents = await readTagged(source, siteRepository(site), 'site', SITE_ARTIFACT);
  if (documents) return documents;
  throw new FleetError('SITE_MISSING', `${source.name} has no statement of site ${site}`, {
    subject: site,
    hint: `${didYouMean(site, source.sites?.() ?? []) ?? 'Check the name. '}Enrol a new site first: fleet-scheduler sites enroll`,
  });
};

/** @throws FleetError RECEIPT_INVALID, and the errors of verifyStatement */
const receiptsIn = async (evidence: Evidence, root: Offer['root']): Promise<readonly OfferedReceipt[]> => {
  const receipts = evidence.documents.filter(({ role }) => role === 'receipt');
  const found: OfferedReceipt[] = [];
  for (const agent of new Set(receipts.flatMap((document) => document.agent ?? []))) {
    for (const [digest, { to }] of await judgeReceipts(evidence, root, agent))
      found.push({ agent, digest, to });
  }
  return found;
};

/** Empty for a site that never reported. */
const readReceipts = async (source: Source, site: string): Promise<readonly OfferedDocument[]> => {
  const found = await readTagged(source, siteRepository(site), 'receipts', RECEIPTS_ARTIFACT);
  return (found ?? []).filter(({ document }) => document.role === 'receipt');
};

const channelsOf = async (evidence: Evidence, sites: readonly string[]): Promise<readonly Channel[]> => {
  const root = await judgeRoots(evidence);
  const orders = await readAll(sites, (site) => judgeSite(evidence, root, site));
  return orders.flatMap(({ agents }) => agents.map(({ channel }) => channel));
};

const readChannel = async (
  source: Source,
  evidence: Evidence,
  root: Offer['root'],
  channel: Channel,
  signal?: AbortSignal,
): Promise<{ readonly channel: OfferedChannel } & JudgedLease> => {
  const { predicate, bundles, leases } = await judgeRelease(evidence, root, channel);
  const offered = await readInParallel(
    bundles,
    ({ kind, digest }, stop) => readOfferedBundle(source, predicate.audience, channel, kind, digest, stop),
    signal,
  );
  const { version, expires, rollout } = predicate;
  return {
    channel: { channel, version, expires, rollout, bundles: offered },
    ...chooseLease(leases, channel, version, evidence.now),
  };
};

const readOfferedBundle = async (
  source: Source,
  audience: Channel & { readonly fleet: string },
  channel: Channel,
  kind: OfferedBundle['kind'],
  digest: Digest,
  signal?: AbortSignal,
): Promise<OfferedBundle> => {
  const repository = channelRepository(channel);
  const blobs = source.blobs(repository);
  const bundle = await readBundle(blobs, digest, signal);
  const what = `the config of bundle ${digest}`;
  checkAudience(bundle.config, audience, what);
  if (bundle.kind !== kind)
    throw new FleetError('WRONG_TYPE', `${what} says ${bundle.kind}, the release says ${kind}`);
  return {
    channel,
    kind,
    digest,
    size: bundle.size,
    closure: await readClosure(blobs, bundle, signal),
    own: ownBlobs(bundle).map((blob) => blob.digest),
    images: bundle.config.closure
      .filter((it) => isManifestType(it.mediaType) && it.names !== undefined)
      .map((it) => it.digest),
    siteInputs: bundle.config.siteInputs,
    repository,
  };
};

/** Each channel once, sorted. */
const uniqueChannels = (channels: readonly Channel[]): readonly Channel[] =>
  [...new Map(channels.map((channel) => [formatChannel(channel), channel])).entries()]
    .toSorted(([a], [b]) => compareBytes(a, b))
    .map(([, channel]) => channel);

/** Removes duplicates, as every release carries the roots, and sorts, so that the order of reading does not matter. */
const uniqueDocuments = (documents: readonly OfferedDocument[]): readonly OfferedDocument[] =>
  [...new Map(documents.map((it) => [canonicalJson(it.document as unknown as Json), it])).entries()]
    .toSorted(([a], [b]) => compareBytes(a, b))
    .map(([, it]) => it);
