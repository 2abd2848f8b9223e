import { FleetError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import type { OpenOptions } from '#bundles/formats/medium/medium';
import { type Channel, formatChannel, sameChannel } from '#bundles/names';
import { NO_PROGRESS, type Progress } from '#cli/progress';
import type { RegistryAccess } from '#bundles/transport/registry/registry-access';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import type { Bases } from '../source/base/base.ts';
import { keepReceipts } from '../source/base/keep-receipts.ts';
import { readBases } from '../source/base/read-bases.ts';
import { checkSiteValues } from '../source/check/check-site-values.ts';
import { checkTarget } from '../source/check/check-target.ts';
import { findDeltas } from './delta/find-deltas.ts';
import { openPatchStore, withPatches } from './delta/patch-store.ts';
import { type ChannelRemovals, findRemovals } from './find-removals.ts';
import { leasesOnly } from './leases-only.ts';
import { valuesOnly } from './values-only.ts';
import { createPlan, withReaders } from './create-plan.ts';
import type { Plan } from './plan.ts';
import { sealToSites } from './seal/seal-to-sites.ts';
import type { Seal } from './seal/seal.ts';
import type { Offer } from '../source/offer.ts';
import { openSource } from '../source/open-source.ts';
import { readInParallel } from '../source/read-in-parallel.ts';
import { readOffer } from '../source/read-offer.ts';
import type { Source } from '../source/source.ts';
import { withBlobs } from '../source/with-blobs.ts';
import { explainGone } from './medium/explain-gone.ts';
import { openTarget, type Target } from './medium/target.ts';
import { shortDigest } from '#bundles/digest';
import { nameSome } from '#bundles/name-some';
import { isSelected } from '#bundles/trust/accept/is-selected';

/** Options from the command line. */
export type ExportRequest = {
  readonly from: string;
  /** How registries are reached; by default without credentials. */
  readonly access?: RegistryAccess;
  readonly to: string;
  /** More volumes for the same set of parts. */
  readonly alsoTo?: readonly string[];
  /** Write also to a mount folder without a mounted volume. */
  readonly forcePath?: boolean;
  readonly channels: readonly Channel[] | undefined;
  readonly sites: readonly string[];
  /** Reports, earlier media, 'site:<site>' and 'release:<channel>@<version>'. */
  readonly bases: readonly string[];
  /** Identities that open sealed sets, among the bases and on the target medium. */
  readonly open?: OpenOptions;
  /** Only the leases of these channels, and the roots: a few kilobytes. */
  readonly leaseOnly?: boolean;
  /** Only the statements, values and secrets of these sites, their leases, and the roots. */
  readonly valuesOnly?: boolean;
  /** Parts are sealed to the agents of the sites on the medium, and to these age recipients. */
  readonly sealTo?: readonly string[];
  /** New layers travel as patches against the old ones where these are smaller. */
  readonly binaryDeltas?: boolean;
  /** Size limit of a patch in bytes: a patch is never cut and must fit a part. */
  readonly maxPatch?: number | undefined;
  readonly now: Date;
  readonly progress?: Progress;
  readonly signal?: AbortSignal;
};

export type Prepared = AsyncDisposable & {
  readonly source: Source;
  readonly target: Target;
  /** The same, and those for further volumes. */
  readonly targets: readonly Target[];
  readonly plan: Plan;
  /**
   * Judges a further volume as the targets were judged.
   * @throws FleetError MEDIUM_INVALID, WRONG_FLEET, ROLLBACK
   */
  readonly checkVolume: (path: string) => Promise<void>;
  /** PEM: the authorities of the fleet's agents and hub, by its trust root. */
  readonly authorities: readonly string[];
  /** undefined: nothing is sealed. */
  readonly seal: Seal | undefined;
  /** Packages that the readers of the medium lose. */
  readonly removals: readonly ChannelRemovals[];
  readonly notes: readonly string[];
};

/**
 * Everything up to the first byte written: open, read, judge, plan.
 * @throws FleetError of the phases; nothing was written yet
 */
export const prepare = (order: ExportRequest): Promise<Prepared> =>
  openAndPlan(order).catch((error: unknown) => {
    throw explainGone(error);
  });

const openAndPlan = async (order: ExportRequest): Promise<Prepared> => {
  const { now, progress = NO_PROGRESS, signal } = order;
  await using cleanup = new AsyncDisposableStack();
  progress.begin({ name: 'reading the source', total: 0, unit: 'blobs' });
  const origin = cleanup.use(await openSource(order.from, order.access));
  const target = cleanup.use(await openTarget(order.to, order.open, order.forcePath));
  const targets = [target];
  for (const path of order.alsoTo ?? [])
    targets.push(cleanup.use(await openTarget(path, order.open, order.forcePath)));
  const before = targets.flatMap((one) => one.before ?? []);
  const bases = await readBases(origin, order.bases, before, now, signal, order.open);
  const offered = await readOffer(
    origin,
    { channels: order.channels, sites: order.sites, reporters: bases.reporters },
    now,
    signal,
  );
  for (const medium of before) await checkTarget(medium, offered);
  const reduce = reduceBy(order);
  const wanted = reduce ? reduce(offered, target.before) : offered;
  const unfit = await checkSiteValues(wanted);
  const { offer, bytes } = await keepReceipts(before, wanted);
  const seal = order.sealTo && (await sealToSites(offered.sites, order.sealTo));
  const source = withBlobs(origin, bytes);
  const removals = await findRemovals(origin, offer, bases, before, signal);
  const { plan, source: complete } = await planOf(order, source, offer, withReaders(bases, offer), cleanup);
  await checkComplete(source, plan, bases.asked, progress, signal);
  progress.end();
  const moved = cleanup.move();
  return {
    source: complete,
    target,
    targets,
    plan,
    checkVolume: async (path) => {
      await using stick = await openTarget(path, order.open, order.forcePath);
      if (stick.before) await checkTarget(stick.before, offered);
    },
    authorities: offered.root.agentCertificates,
    seal,
    removals,
    notes: [
      ...(offer.root.dev ? [DEV_ROOT_NOTICE] : []),
      ...targets.flatMap(({ notes }) => notes),
      ...bases.notes,
      ...unmatchedBases(bases, plan),
      ...offer.notes,
      ...notSelected(offer),
      ...unfit,
      ...offer.channels.flatMap(({ channel }) => noteUnreleased(origin, channel)),
    ],
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};

const reduceBy = ({ leaseOnly, valuesOnly: isForValues }: ExportRequest) => {
  if (leaseOnly === true) return leasesOnly;
  return isForValues === true ? valuesOnly : undefined;
};

/** Notes bundles that are built but not released: a medium carries only releases. */
const noteUnreleased = (source: Source, channel: Channel): readonly string[] => {
  const name = formatChannel(channel);
  switch (source.unreleased?.(channel)) {
    case 'held':
      return [`${name}: a newer build was held and is not on the medium; "fleet-scheduler status" says why`];
    case 'awaiting':
      return [
        `${name}: a newer build awaits approval and is not on the medium; see "fleet-scheduler approvals"`,
      ];
    case undefined:
      return [];
  }
};

/** Plans the medium. With patches it plans twice: the second plan includes them. */
const planOf = async (
  { binaryDeltas = false, maxPatch, now, progress = NO_PROGRESS, signal }: ExportRequest,
  source: Source,
  offer: Offer,
  bases: Bases,
  cleanup: AsyncDisposableStack,
): Promise<{ readonly plan: Plan; readonly source: Source }> => {
  const plan = createPlan(offer, bases, now);
  if (!binaryDeltas) return { plan, source };
  const { blobs: patches } = cleanup.use(await openPatchStore());
  const bundles = offer.channels.flatMap((channel) => channel.bundles);
  const began = performance.now();
  const { blobs } = plan;
  const deltas = await findDeltas({ source, bundles, bases, blobs, maxPatch, patches, progress, signal });
  const seconds = Math.round((performance.now() - began) / 100) / 10;
  return { plan: createPlan(offer, bases, now, deltas, seconds), source: withPatches(source, patches) };
};

/**
 * Checks that every blob exists before the first is written.
 * @throws FleetError MISSING_BLOB, SIZE_MISMATCH
 */
const checkComplete = async (
  source: Source,
  plan: Plan,
  asked: Bases['asked'],
  progress: Progress,
  signal?: AbortSignal,
): Promise<void> => {
  progress.begin({ name: 'looking for every blob', total: plan.blobs.length, unit: 'blobs' });
  const check = async ({ digest, size, repository }: Plan['blobs'][number]): Promise<void> => {
    const found = await source.blobs(repository).size(digest);
    progress.advance(1);
    if (found === size) return;
    if (found === undefined) {
      const agent = asked.get(digest);
      throw new FleetError(
        'MISSING_BLOB',
        `${source.name} lacks a blob that ${agent ?? repository} ${agent ? 'asks for' : 'needs'}`,
        {
          subject: digest,
          hint: `Build again with the images${agent ? '' : ', or name a base that has them with --for'}`,
        },
      );
    }
    throw new FleetError('SIZE_MISMATCH', `a blob in ${source.name} has ${found} bytes, not ${size}`, {
      subject: digest,
      hint: 'The source is damaged; build or copy it again',
    });
  };
  await readInParallel(plan.blobs, check, signal);
};

/** Notes a requested blob that is in no bundle of this medium: the agent would wait for it forever. */
const unmatchedBases = ({ asked }: Pick<Bases, 'asked'>, plan: Pick<Plan, 'blobs'>): readonly string[] => {
  const carried = new Set<string>(plan.blobs.map(({ digest }) => digest));
  const absent = [...asked].filter(([digest]) => !carried.has(digest));
  return [...Map.groupBy(absent, ([, agent]) => agent)].map(
    ([agent, blobs]) =>
      `${formatCount(blobs.length, 'blob')} that ${agent} asks for ${blobs.length === 1 ? 'is' : 'are'} of no release on this medium and ${
        blobs.length === 1 ? 'is' : 'are'
      } not sent: ${nameSome(blobs.map(([digest]) => shortDigest(digest)))}`,
  );
};

const MAX_NAMED = 10;

/** One note for each channel whose release does not reach all agents of the medium's sites: those keep their current release. */
export const notSelected = ({ sites, channels }: Pick<Offer, 'sites' | 'channels'>): readonly string[] =>
  channels.flatMap(({ channel, version, rollout }) => {
    const left = sites.flatMap(({ site, agents }) =>
      agents
        .filter((agent) => sameChannel(agent.channel, channel))
        .filter(({ name, labels }) => !isSelected(rollout, { site, agent: name }, labels))
        .map(({ name }) => `${site}/${name}`),
    );
    if (left.length === 0) return [];
    return `${formatChannel(channel)}: release ${version} does not select ${nameSome(left, MAX_NAMED)} yet; they stay at what they run`;
  });
