import { compareBytes } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { layoutReference, referenceOf } from '../../formats/layout/layout.ts';
import { nameSome } from '../../name-some.ts';
import { didYouMean } from '../../nearest-name.ts';
import { type Channel, formatChannel, isName, parseChannel } from '../../names.ts';
import { AUDIT_REPOSITORY, channelRepository, siteRepository } from '../registry/references.ts';
import type { Offering } from './offering.ts';
import type { Pointer } from './upload-batch.ts';

type Index = Pick<Offering, 'directory' | 'manifests'>;

/** Selection of pointers to publish; empty: all of the layout. */
export type Selection = {
  readonly channels?: readonly Channel[] | undefined;
  readonly environments?: readonly string[] | undefined;
  readonly sites?: readonly string[] | undefined;
};

const CHANNEL = /^([^/]+)\/([^/]+):(release|lease)$/;
const LOG = layoutReference(AUDIT_REPOSITORY, 'log');
const SITE = /^sites\/([^/]+):(site|receipts)$/;

/**
 * The pointers of a layout, each kind sorted bytewise: the audit log before releases, which name its head, releases before the
 * leases of them, and before sites, whose statement may name a channel. With channels or environments the log is chosen, too.
 * @throws FleetError CHANNEL_MISSING, SITE_MISSING for a named channel or site that the layout does not have
 */
export const choosePointers = (layout: Index, selection: Selection): readonly Pointer[] => {
  const all = pointersOf(layout);
  const { channels, environments, sites } = selection;
  if (!channels && !environments && !sites) return all;
  checkThere(layout, all, selection);
  const wanted = new Set([...(channels ?? []).map(formatChannel), ...(sites ?? []).map(siteRepository)]);
  return all.filter(
    ({ repository, tag }) =>
      wanted.has(repository) ||
      (tag === 'log' && (channels ?? environments) !== undefined) ||
      (isOfChannel(tag) && environments?.some((name) => repository.startsWith(`${name}/`))),
  );
};

/** Every channel with a release in the layout, sorted. */
export const channelsIn = (layout: Index): readonly string[] =>
  pointersOf(layout).flatMap(({ tag, repository }) => (tag === 'release' ? [repository] : []));

/** Every site with a statement in the layout, sorted. */
export const sitesIn = (layout: Index): readonly string[] =>
  pointersOf(layout).flatMap(({ tag, repository }) =>
    tag === 'site' ? [repository.slice(siteRepository('').length)] : [],
  );

/** Channels by index: a hub looks for the channels of the same index at each question. */
const known = new WeakMap<Index['manifests'], readonly Pointer[]>();

const pointersOf = ({ manifests }: Index): readonly Pointer[] => {
  const pointers = known.get(manifests) ?? findPointers(manifests);
  known.set(manifests, pointers);
  return pointers;
};

const findPointers = (manifests: Index['manifests']): readonly Pointer[] => {
  const found = manifests
    .map((artifact) => ({ artifact, reference: referenceOf(artifact) ?? '' }))
    .toSorted((a, b) => compareBytes(a.reference, b.reference))
    .flatMap(({ artifact, reference }) => pointerOf(reference, artifact) ?? []);
  const ofTags = (...tags: readonly string[]): readonly Pointer[] =>
    found.filter(({ tag }) => tags.includes(tag));
  return [...ofTags('log'), ...ofTags('release'), ...ofTags('lease'), ...ofTags('site', 'receipts')];
};

const pointerOf = (reference: string, artifact: Pointer['artifact']): Pointer | undefined => {
  const [, environment, clusterType, kind] = CHANNEL.exec(reference) ?? [];
  if (isName(environment) && isName(clusterType)) {
    const repository = channelRepository({ environment, clusterType });
    return { repository, tag: kind === 'lease' ? 'lease' : 'release', artifact };
  }
  if (reference === LOG) return { repository: AUDIT_REPOSITORY, tag: 'log', artifact };
  const [, site, tag] = SITE.exec(reference) ?? [];
  if (!isName(site)) return undefined;
  return { repository: siteRepository(site), tag: tag === 'receipts' ? 'receipts' : 'site', artifact };
};

const isOfChannel = (tag: Pointer['tag']): boolean => tag === 'release' || tag === 'lease';

const checkThere = (layout: Index, all: readonly Pointer[], selection: Selection): void => {
  const there = new Set(all.map(({ repository }) => repository));
  const channels = channelsIn(layout);
  const environments = channels.map((name) => parseChannel(name).environment);
  const hint = (wrong: string, known: readonly string[]): string =>
    channels.length > 0 ? `${didYouMean(wrong, known) ?? ''}It has ${nameSome(channels)}` : 'Build one first';
  for (const channel of selection.channels ?? []) {
    if (!there.has(formatChannel(channel)))
      throw missing(
        `${layout.directory} has no release of ${formatChannel(channel)}`,
        hint(formatChannel(channel), channels),
      );
  }
  for (const environment of selection.environments ?? []) {
    if (!channels.some((channel) => channel.startsWith(`${environment}/`)))
      throw missing(
        `${layout.directory} has no release of environment ${environment}`,
        hint(environment, environments),
      );
  }
  for (const site of selection.sites ?? []) {
    if (there.has(siteRepository(site))) continue;
    throw new FleetError('SITE_MISSING', `${layout.directory} has no statement of site ${site}`, {
      subject: site,
      hint: `${didYouMean(site, sitesIn(layout)) ?? ''}Enrol a new site first: fleet-scheduler sites enroll`,
    });
  }
};

const missing = (message: string, hint: string): FleetError =>
  new FleetError('CHANNEL_MISSING', message, { hint });
