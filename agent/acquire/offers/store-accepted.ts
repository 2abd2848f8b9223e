import { defined } from '#bundles/defined';
import { formatChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import type { Agent } from '../../store/agent.ts';
import { record } from '../../store/journal/boundary.ts';
import { type Acknowledged, acknowledge } from '../../store/outbox/acknowledge.ts';
import { appendEvent } from '../../store/outbox/outbox.ts';
import { readStaleness } from '../staleness/read-staleness.ts';
import { noteStaleness } from '../staleness/record-staleness.ts';
import { saveBundle } from '../../store/bundles.ts';
import { readCondition, saveCondition } from '../../store/conditions.ts';
import { savePointers } from '../../store/applied/pointers.ts';
import { forgetPull } from '../../store/pull.ts';
import { saveSecretSets } from '../../store/secret-sets.ts';
import { saveSiteValues } from '../../store/site-values.ts';
import {
  deleteLease,
  readLeases,
  readTrustRow,
  saveRevoked,
  saveRoot,
  saveStatement,
  saveTrustRow,
} from '../../store/trust.ts';
import type { AcceptedOffer } from './accepted-offer.ts';
import { endAnswered } from './end-answered.ts';
import { fingerprint } from './fingerprint.ts';
import { orderPackages } from './order-packages.ts';
import { keptUnder } from '#bundles/trust/accept/kept-under';
import { PREDICATES } from '#bundles/media-types';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { State } from '../../store/state.ts';

/** Options that the operator gave with an import. */
export type OperatorOptions = {
  /** Allows this release to remove more than the prune budget. */
  readonly prune?: boolean;
  /** Reason for accepting expired statements. */
  readonly reason?: string | undefined;
};

/**
 * The accepting transaction for all sources (docs/bundle-format.md section 8, step 9): stores root, site, release and lease
 * with their signatures, floors, time, revocations, desired packages and receipts, and appends the event, all or nothing.
 * Returns what receipts acknowledged.
 */
export const storeAccepted = (
  agent: Agent,
  offered: AcceptedOffer,
  word: OperatorOptions = {},
): Acknowledged =>
  record(agent, 'accepted', () => {
    const { state } = agent;
    // A lease from a medium is an event. One from a registry is not: the next report shows it by its floors.
    const leases = offered.offer.pointers.size === 0;
    const before = fingerprint(state, { leases });
    saveDocuments(agent, offered);
    if (offered.accepted.site.values) endAnswered(agent, offered.accepted.site.values);
    const confirmed = saveTrust(agent, offered, word.prune ?? false);
    if (offered.release) orderPackages(agent, offered);
    noteBreakGlass(agent, offered.accepted, word.reason);
    forgetParts(agent, offered);
    if (fingerprint(state, { leases }) !== before) recordImported(agent, offered, confirmed);
    noteStaleness(agent, readStaleness(agent));
    forgetPull(state);
    savePointers(state, offered.offer.pointers);
    return acknowledge(agent, offered.receipts);
  });

const saveDocuments = ({ state }: Agent, { accepted, bundleStatements, bundles }: AcceptedOffer): void => {
  const { root, site, release, lease } = accepted;
  saveRoot(state, root);
  forgetFallenLeases(state, root);
  const validity = ({ issuedAt, expires }: { issuedAt: string; expires: string }) => ({ issuedAt, expires });
  saveStatement(state, 'site', '', { ...site.statement, ...validity(site.predicate) });
  if (site.values) saveSiteValues(state, site.valuesDigest, site.values);
  saveSecretSets(state, site.secrets);
  if (release) {
    const scope = formatChannel(site.agent.channel);
    saveStatement(state, 'release', scope, { ...release.statement, ...validity(release.predicate) });
    saveRevoked(state, release.revoked);
    for (const [index, { digest }] of release.bundles.entries()) {
      const statement = bundleStatements[index];
      if (statement) saveStatement(state, 'bundle', digest, statement);
    }
  }
  if (lease && lease.news !== 'kept') {
    const scope = formatChannel(site.agent.channel);
    saveStatement(state, 'lease', scope, { ...lease.statement, ...validity(lease.predicate) });
  }
  for (const bundle of bundles) saveBundle(state, bundle);
};

/** Records a break-glass override with operator and reason: in the signed report, and in `status` until the next release. */
const noteBreakGlass = (
  agent: Agent,
  { relaxed, release, site }: AcceptedOffer['accepted'],
  reason = 'no reason given',
): void => {
  const { state, edge } = agent;
  if (relaxed.length === 0) {
    if (release?.news === 'newer') saveCondition(state, 'glass', undefined);
    return;
  }
  const { operator } = edge;
  const version = release?.predicate.version ?? null;
  saveCondition(state, 'glass', { operator, reason, at: formatTime(edge.now()), release: version, relaxed });
  appendEvent(agent, {
    type: 'operator',
    release: version === null ? undefined : { ...site.agent.channel, version },
    message: reason,
    detail: { action: 'accept-expired', operator, relaxed: [...relaxed] },
  });
};

/** Ends the wait for volumes when the set is complete or a newer release replaces it, which unpins its blobs. */
const forgetParts = ({ state }: Agent, { accepted, offer }: AcceptedOffer): void => {
  const waiting = readCondition(state, 'parts');
  const isWhole = waiting !== undefined && offer.source.medium?.parts?.set === waiting.set;
  if (isWhole || accepted.release?.news === 'newer') saveCondition(state, 'parts', undefined);
};

/** Stores the trust row. Returns whether removals beyond the budget are confirmed for the desired release. */
const saveTrust = ({ state }: Agent, offered: AcceptedOffer, prune: boolean): boolean => {
  const { accepted, release, bundles } = offered;
  const before = readTrustRow(state);
  const sameRelease =
    JSON.stringify(release) === JSON.stringify(before.desiredRelease) && release !== undefined;
  const pruneConfirmed = prune || (sameRelease && before.pruneConfirmed);
  saveTrustRow(state, {
    channel: accepted.site.agent.channel,
    timeFloor: accepted.time,
    siteValues: accepted.site.valuesDigest,
    desiredRelease: release,
    desiredBundles: bundles.map(({ digest }) => digest),
    pruneConfirmed,
  });
  return pruneConfirmed;
};

const recordImported = (agent: Agent, offered: AcceptedOffer, pruneConfirmed: boolean): void => {
  const { accepted, packages } = offered;
  const { root, site, release, lease, selected } = accepted;
  const channel = site.agent.channel;
  const newest =
    lease && lease.news !== 'kept'
      ? `lease ${lease.predicate.version} of ${formatChannel(channel)}`
      : `a statement of site ${site.predicate.audience.site}`;
  appendEvent(agent, {
    type: 'imported',
    siteValues: site.valuesDigest,
    release: release ? { ...channel, version: release.predicate.version } : undefined,
    message: release
      ? `release ${release.predicate.version} of ${formatChannel(channel)}${selected ? '' : ', not yet for this agent'}`
      : `${newest}, without a release`,
    detail: defined({
      root: root.version,
      site: site.predicate.version,
      lease: lease?.predicate.version,
      selected,
      pruneConfirmed,
      packages: packages.length,
      bundles: release?.bundles.map(({ digest }) => digest) ?? [],
      timeFloor: formatTime(accepted.time),
    }),
  });
};

/** Deletes leases whose key the root no longer names, together with their version and time floors (section 8, step 3). */
const forgetFallenLeases = (state: State, root: TrustRoot): void => {
  for (const { scope, it } of readLeases(state)) {
    if (!keptUnder(it, root.roles.lease, PREDICATES.lease)) deleteLease(state, scope);
  }
};
