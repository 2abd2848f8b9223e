import { formatChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import type { Agent } from '../agent.ts';
import { record } from '../journal/boundary.ts';
import { type Acknowledged, acknowledge } from '../report/acknowledge.ts';
import { appendEvent } from '../report/outbox.ts';
import { saveBundle } from '../store/bundles.ts';
import { savePointers } from '../store/pointers.ts';
import { forgetPull } from '../store/pull.ts';
import { saveSiteValues } from '../store/site-values.ts';
import { readTrustRow, saveRevoked, saveRoot, saveStatement, saveTrustRow } from '../store/trust.ts';
import type { AcceptedOffer } from './accepted-offer.ts';
import { fingerprint } from './fingerprint.ts';
import { orderPackages } from './order-packages.ts';

/**
 * The one transaction of every way in (docs/bundle-format.md section 8, step 9): root, site and release with their
 * signatures, floors, time, revocations, what is wanted, receipts, and the event that says so. All of it, or nothing.
 * Returns what receipts acknowledged.
 */
export const storeAccepted = (agent: Agent, offered: AcceptedOffer, prune: boolean): Acknowledged =>
  record(agent, 'accepted', () => {
    const { state } = agent;
    const before = fingerprint(state);
    saveDocuments(agent, offered);
    const confirmed = saveTrust(agent, offered, prune);
    if (offered.release) orderPackages(agent, offered);
    if (fingerprint(state) !== before) tellImported(agent, offered, confirmed);
    forgetPull(state);
    savePointers(state, offered.offer.pointers);
    return acknowledge(agent, offered.receipts);
  });

const saveDocuments = ({ state }: Agent, { accepted, bundleStatements, bundles }: AcceptedOffer): void => {
  const { root, site, release } = accepted;
  saveRoot(state, root);
  const validity = ({ issuedAt, expires }: { issuedAt: string; expires: string }) => ({ issuedAt, expires });
  saveStatement(state, 'site', '', { ...site.statement, ...validity(site.predicate) });
  if (site.values) saveSiteValues(state, site.valuesDigest, site.values);
  if (release) {
    const scope = formatChannel(site.agent.channel);
    saveStatement(state, 'release', scope, { ...release.statement, ...validity(release.predicate) });
    saveRevoked(state, release.revoked);
    for (const [index, { digest }] of release.bundles.entries()) {
      const statement = bundleStatements[index];
      if (statement) saveStatement(state, 'bundle', digest, statement);
    }
  }
  for (const bundle of bundles) saveBundle(state, bundle);
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
  const { root, site, release, selected } = accepted;
  const channel = site.agent.channel;
  appendEvent(agent, {
    type: 'imported',
    siteValues: site.valuesDigest,
    ...(release ? { release: { ...channel, version: release.predicate.version } } : {}),
    message: release
      ? `release ${release.predicate.version} of ${formatChannel(channel)}${selected ? '' : ', not yet for this agent'}`
      : `an order for site ${site.predicate.audience.site}, without a release`,
    detail: {
      root: root.version,
      site: site.predicate.version,
      selected,
      pruneConfirmed,
      packages: packages.length,
      bundles: release?.bundles.map(({ digest }) => digest) ?? [],
      timeFloor: formatTime(accepted.time),
    },
  });
};
