import { type Digest, shortDigest } from '#bundles/digest';
import { type Layout, openOrStartLayout } from '#bundles/formats/layout/layout';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { formatChannel } from '#bundles/names';
import { bundlesOf, readBundleStatements } from '../../../release/reissue/bundle-statements.ts';
import { readChecks } from '../checks/check-records.ts';
import type { TrustRoot } from '#bundles/trust/root/root';
import { readOnce } from '../../../load/releases/read-once.ts';
import type { PublishedRelease } from '../../../load/releases/read-release.ts';
import type { Hub } from '../../hub.ts';
import { freshnessPolicyFor } from '../../questions/state/freshness.ts';
import { nextVisit } from '../../questions/state/next-visit.ts';
import { channelsOf, readAgents, withoutStates } from '../../questions/state/read-actual.ts';
import { readDesired } from '../../questions/state/read-desired.ts';
import { readStandings } from '../../questions/state/read-standings.ts';
import { type AgentHistory, agentFacts, hasImported } from './agent-facts.ts';
import type { GateFacts } from './facts.ts';
import type { Link } from './link.ts';
import { type ChannelNow, channelFacts, heldFacts, readChannels } from './read-channels.ts';
import { readAttestationFacts } from './read-attestations.ts';
import { readHistory } from './read-history.ts';

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
  const known = db ? await readAgents(db, { environment: from }) : [];
  const toActual = withoutStates(now);
  const agents = known.map((row) => ({ row, agent: toActual(row) }));
  const followed = channelsOf(agents.map(({ agent }) => agent));
  const layout = await openOrStartLayout(hub.layout);
  const current = await readChannels(layout, roots, from, followed);
  const channels = await channelFacts(layout, roots, current, { shared, followed });
  const history = db ? await readHistory(db, known, channels) : new Map<string, AgentHistory>();
  const sinceOf = new Map(channels.map(({ channel, since }) => [channel, since]));
  const told = agents.map(({ row, agent }) => ({
    row,
    agent,
    since: sinceOf.get(formatChannel(agent.channel)) ?? null,
    history: history.get(row.id) ?? NO_HISTORY,
  }));
  const desired = await readDesired(hub.layout, followed, root, signal);
  const importers = new Map(
    told.flatMap((one) => (hasImported(one.agent, one.since, one.history) ? [[one.row, one] as const] : [])),
  );
  const compared = db
    ? await readStandings(db, [...importers.keys()], {
        desired,
        now,
        take: (row, standing) => {
          const one = importers.get(row);
          return one && agentFacts(one.agent, standing, one, one.history);
        },
      })
    : new Map<string, undefined>();
  return {
    from,
    to,
    shared,
    channels,
    held: heldFacts(current, shared),
    agents: told.map(({ row, agent, since, history }) => {
      const visit = nextVisit(agent, freshnessPolicyFor(freshness, agent.channel), now);
      const facts = compared.get(row.id) ?? agentFacts(agent, undefined, { since }, history);
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

const authorsOf = async (layout: Layout, release: PublishedRelease): Promise<readonly string[]> => {
  const hints: string[] = [];
  for (const bundle of bundlesOf(release)) {
    const [first] = await readBundleStatements(layout, release, bundle);
    if (first) hints.push(parseEnvelope(first, `the statement of bundle ${shortDigest(bundle)}`).hint);
  }
  return hints;
};
