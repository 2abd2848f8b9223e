import { type Digest, shortDigest } from '#bundles/digest';
import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { type Channel, formatChannel } from '#bundles/names';
import { readBundleStatements } from '../../../release/reissue/bundle-statements.ts';
import { readChecks } from '../checks/check-records.ts';
import type { TrustRoot } from '#bundles/trust/root/root';
import { readOnce } from '../../../load/releases/read-once.ts';
import { bundlesOf, type StoredRelease } from '../../../load/releases/read-release.ts';
import type { Hub } from '../../hub.ts';
import type { Database } from '../../store/tables.ts';
import { freshnessPolicyFor } from '../../questions/state/freshness.ts';
import { nextVisit } from '../../questions/state/next-visit.ts';
import { channelsOf, withoutStates } from '../../questions/state/read-agents.ts';
import { readDesired } from '../../questions/state/read-desired.ts';
import { readStandings, type Standing } from '../../questions/state/read-standings.ts';
import { type AgentHistory, agentFacts, hasImported } from './agent-facts.ts';
import type { ChannelFacts, GateFacts } from './facts.ts';
import type { Link } from './link.ts';
import { type ChannelNow, channelFacts, heldFacts, readChannels } from './read-channels.ts';
import { readAttestationFacts } from './read-attestations.ts';
import { type ImportingAgent, readHistory, readImporting } from './read-history.ts';

const NO_HISTORY: AgentHistory = { imported: undefined, faulted: false, online: false };

/**
 * Reads the facts for the gate of a link: releases of the earlier environment from the layout, and reports of its agents from
 * the hub's database. Columns set by a person or an earlier judgement are not used.
 * @param hub without a store there are no agents
 */
export const readFacts = async (
  hub: Pick<Hub, 'layout' | 'keys'> & { readonly store: Hub['store'] | undefined },
  {
    from,
    to,
    policy,
    freshness = [],
  }: Pick<Link, 'from' | 'to'> & Partial<Pick<Link, 'policy' | 'freshness'>>,
  shared: Digest,
  { now, signal }: { readonly now: Date; readonly signal: AbortSignal },
): Promise<GateFacts> => {
  const { roots, root } = hub.keys;
  const db = hub.store?.db;
  const layout = await openOrStartLayout(hub.layout);
  const released = await readChannels(layout, roots, from);
  const rows = db ? await readCandidateAgents(db, layout, roots, { from, shared, released }) : [];
  const actual = rows.map(withoutStates(now));
  const followed = channelsOf(actual);
  const current = await readChannels(layout, roots, from, followed);
  const channels = await channelFacts(layout, roots, current, { shared, followed });
  const sinceOf = sincesOf(channels, followed);
  const histories = db ? await readHistory(db, rows, channels) : [];
  const judged = actual.map((agent, at) => ({
    agent,
    since: sinceOf.get(agent.channel) ?? null,
    history: histories[at] ?? NO_HISTORY,
  }));
  const desired = await readDesired(hub.layout, followed, root, signal);
  const importers = [...judged.keys()].filter((at) => judged[at] && hasImported(judged[at]));
  const standings = new Map<number, Standing>();
  if (db)
    await readStandings(
      db,
      importers.flatMap((at) => rows[at] ?? []),
      { desired, now, take: (standing, at) => void standings.set(importers[at] ?? 0, standing) },
    );
  return {
    from,
    to,
    shared,
    channels,
    held: heldFacts(current, shared),
    agents: judged.map((one, at) => {
      const visit = nextVisit(one.agent, freshnessPolicyFor(freshness, one.agent.channel), now);
      const facts = agentFacts(one, standings.get(at));
      return visit ? { ...facts, visit } : facts;
    }),
    checks: db
      ? await readChecks(db, policy?.checks ?? [], { fleet: root.fleet, from, to, shared })
      : new Map(),
    keys: {
      bundle: root.roles.bundle.keys.map(({ hint }) => hint),
      authors: await readAuthors(layout, roots, current, shared),
    },
    attestations: await readAttestationFacts(layout, current, {
      rules: policy?.attestations ?? [],
      shared,
      signal,
    }),
  };
};

/** The agents of the earlier environment. @param released its channels that have a release */
const readCandidateAgents = async (
  db: Database,
  layout: Layout,
  roots: readonly TrustRoot[],
  { from, shared, released }: CandidateAgents,
): Promise<readonly ImportingAgent[]> => {
  const channels = await channelFacts(layout, roots, released, { shared, followed: [] });
  const newest = released.flatMap(({ channel, release }) =>
    release ? [{ release_channel: formatChannel(channel), release_version: release.predicate.version }] : [],
  );
  return await readImporting(db, from, channels, newest);
};

type CandidateAgents = {
  readonly from: string;
  readonly shared: Digest;
  readonly released: readonly ChannelNow[];
};

/** The first release of the candidate in each channel that agents follow. */
const sincesOf = (
  channels: readonly ChannelFacts[],
  followed: readonly Channel[],
): ReadonlyMap<Channel, ChannelFacts['since']> => {
  const known = new Map(channels.map(({ channel, since }) => [channel, since]));
  return new Map(followed.map((channel) => [channel, known.get(formatChannel(channel)) ?? null]));
};

/** Hints of the keys that built the bundles of the candidate: their statements' first signers, the others approved them. */
const readAuthors = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  channels: readonly ChannelNow[],
  shared: Digest,
): Promise<readonly string[]> => {
  const hints = new Set<string>();
  for (const { channel, lineage, release } of channels) {
    if (!release || lineage?.shared !== shared) continue;
    const read = { layout, roots, repository: formatChannel(channel), what: 'authors' };
    for (const hint of await readOnce(read, () => authorsOf(layout, release))) hints.add(hint);
  }
  return [...hints];
};

const authorsOf = async (layout: Layout, release: StoredRelease): Promise<readonly string[]> => {
  const hints: string[] = [];
  for (const bundle of bundlesOf(release)) {
    const [first] = await readBundleStatements(layout, release, bundle);
    if (first) hints.push(parseEnvelope(first, `the statement of bundle ${shortDigest(bundle)}`).hint);
  }
  return hints;
};
