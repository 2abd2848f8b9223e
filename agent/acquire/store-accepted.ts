import { formatChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import type { Agent } from '../agent.ts';
import { record } from '../journal/boundary.ts';
import { type Acknowledged, acknowledge } from '../report/acknowledge.ts';
import { appendEvent } from '../report/outbox.ts';
import { readStaleness } from '../staleness/read-staleness.ts';
import { noteStaleness } from '../staleness/tell-staleness.ts';
import { saveBundle } from '../store/bundles.ts';
import { readCondition, saveCondition } from '../store/conditions.ts';
import { savePointers } from '../store/pointers.ts';
import { forgetPull } from '../store/pull.ts';
import { saveSecretSets } from '../store/secret-sets.ts';
import { saveSiteValues } from '../store/site-values.ts';
import { readTrustRow, saveRevoked, saveRoot, saveStatement, saveTrustRow } from '../store/trust.ts';
import type { AcceptedOffer } from './accepted-offer.ts';
import { fingerprint } from './fingerprint.ts';
import { forgetFallenLeases } from './forget-fallen-leases.ts';
import { orderPackages } from './order-packages.ts';

/** What a person said with it. */
export type Word = {
  /** This release may remove more than the budget. */
  readonly prune?: boolean;
  /** Why what has ended is taken nevertheless. */
  readonly reason?: string | undefined;
};

/**
 * The one transaction of every way in (docs/bundle-format.md section 8, step 9): root, site, release and lease with their
 * signatures, floors, time, revocations, what is wanted, receipts, and the event that says so. All of it, or nothing.
 * Returns what receipts acknowledged.
 */
export const storeAccepted = (agent: Agent, offered: AcceptedOffer, word: Word = {}): Acknowledged =>
  record(agent, 'accepted', () => {
    const { state } = agent;
    // That a registry renewed a lease says the next report by its floors; that a person carried one is an event.
    const leases = offered.offer.pointers.size === 0;
    const before = fingerprint(state, { leases });
    saveDocuments(agent, offered);
    const confirmed = saveTrust(agent, offered, word.prune ?? false);
    if (offered.release) orderPackages(agent, offered);
    noteGlass(agent, offered.accepted, word.reason);
    forgetParts(agent, offered);
    if (fingerprint(state, { leases }) !== before) tellImported(agent, offered, confirmed);
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

/** Who broke the glass, why and for what: told in the signed report, and shown until the next regular release. */
const noteGlass = (
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
    ...(version === null ? {} : { release: { ...site.agent.channel, version } }),
    message: reason,
    detail: { action: 'accept-expired', operator, relaxed: [...relaxed] },
  });
};

/** The set that sticks were waited for is whole, or another release has overtaken it: what is left of it may go. */
const forgetParts = ({ state }: Agent, { accepted, offer }: AcceptedOffer): void => {
  const waiting = readCondition(state, 'parts');
  const isWhole = waiting !== undefined && offer.source.medium?.parts?.set === waiting.set;
  if (isWhole || accepted.release?.news === 'newer') saveCondition(state, 'parts', undefined);
};

/** Says whether removals beyond the budget are confirmed for the release that is wanted now. */
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

const tellImported = (agent: Agent, offered: AcceptedOffer, pruneConfirmed: boolean): void => {
  const { accepted, packages } = offered;
  const { root, site, release, lease, selected } = accepted;
  const channel = site.agent.channel;
  const order = `an order for site ${site.predicate.audience.site}, without a release`;
  appendEvent(agent, {
    type: 'imported',
    siteValues: site.valuesDigest,
    ...(release ? { release: { ...channel, version: release.predicate.version } } : {}),
    message: release
      ? `release ${release.predicate.version} of ${formatChannel(channel)}${selected ? '' : ', not yet for this agent'}`
      : lease && lease.news !== 'kept'
        ? `lease ${lease.predicate.version} of ${formatChannel(channel)}, without a release`
        : order,
    detail: {
      root: root.version,
      site: site.predicate.version,
      ...(lease ? { lease: lease.predicate.version } : {}),
      selected,
      pruneConfirmed,
      packages: packages.length,
      bundles: release?.bundles.map(({ digest }) => digest) ?? [],
      timeFloor: formatTime(accepted.time),
    },
  });
};
