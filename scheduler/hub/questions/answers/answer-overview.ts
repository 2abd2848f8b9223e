import { compareBytes } from '#bundles/digest';
import { formatChannel } from '#bundles/names';
import type { Overview } from '#bundles/schemas/types/hub-decisions';
import { DAY_MS, formatTime } from '#bundles/time';
import { seesEnvironment, seesWhole } from '../../people/visible.ts';
import { channelsOf } from '../../sites/agent-record.ts';
import type { HeldSite } from '../../sites/layers/compose-sites.ts';
import type { Database } from '../../store/tables.ts';
import { freshnessPolicyFor } from '../state/freshness.ts';
import { inChainOrder } from '../state/link-states.ts';
import { nextVisit } from '../state/next-visit.ts';
import type { ActualFilter } from '../state/read-actual.ts';
import { readFleet } from '../state/read-agents.ts';
import { readDesired } from '../state/read-desired.ts';
import { readEveryFailedCheck } from '../state/read-failed-checks.ts';
import type { Desired } from '../state/what-runs-where.ts';
import { readChangedSince } from '../status/changed-since.ts';
import { groupCauses } from '../status/group-causes.ts';
import { type Judged, judgeAgents, sumStates } from '../status/judge-agents.ts';
import { headOf, heldOf, readBackground, type StatusHub } from '../status/read-status.ts';

type JudgedSites = Overview['judged'][number];
type PlaceOfSites = Overview['places'][number];

/**
 * All that the first view of the page shows, about every site: the judgement of each, what is wrong grouped by cause, what waits for a person,
 * and what changed in the last day. Sites that are alike share their entries, so the answer of 10,000 sites has about 300 kB. The states of
 * assignments are read only of agents that differ from the releases of their channels.
 */
export const answerOverview = async (hub: StatusHub, filter: ActualFilter, now: Date): Promise<Overview> => {
  const { db } = hub.store;
  const { visible } = filter;
  const background = await readBackground(hub, filter, now, {});
  const { policies } = background.freshness;
  const rows = await readFleet(db, filter);
  const desired = await readDesired(hub.layout, channelsOf(rows), hub.keys.root);
  const agents = await judgeAgents(db, rows, desired, { visible, policies, now });
  const bySite = Map.groupBy(agents, ({ agent }) => agent.site);
  const names = [...bySite.keys()].toSorted(compareBytes);
  const siteAt = new Map(names.map((name, at) => [name, at]));
  const held = heldOf(background, { agents: agents.map(({ agent }) => agent) });
  const judged = shared<JudgedSites>();
  const places = shared<PlaceOfSites>();
  const columns = names.map((name) => {
    const of = bySite.get(name) ?? [];
    return {
      judged: judged.indexOf(judgedSite(of, held.get(name))),
      place: places.indexOf(placeOf(of)),
      saidAt: oldestWord(of),
    };
  });
  const since = formatTime(new Date(now.getTime() - DAY_MS));
  return {
    ...headOf(background),
    environments: inChainOrder(
      [...new Set(agents.map(({ agent }) => agent.channel.environment))].filter((name) =>
        seesEnvironment(visible, name),
      ),
      background.links,
    ),
    sites: {
      name: names,
      judged: columns.map((one) => one.judged),
      place: columns.map((one) => one.place),
      saidAt: columns.map((one) => one.saidAt),
    },
    judged: judged.all,
    places: places.all,
    causes: groupCauses(agents, { checks: await readEveryFailedCheck(db, filter), siteAt, now }),
    waits: {
      ...(visible === undefined ? await readWaiting(db, now) : { values: null, enrolments: null }),
      releases: heldReleases(desired, filter),
      overdue: agents.filter(
        ({ agent }) =>
          agent.follower === null &&
          nextVisit(agent, freshnessPolicyFor(policies, agent.channel), now)?.isOverdue,
      ).length,
      held: agents.filter(({ agent }) => agent.held !== null).length,
    },
    changed: {
      since,
      environments: (await readChangedSince(db, filter, since)).filter(({ environment }) =>
        seesWhole(visible, environment),
      ),
    },
  };
};

/** Values of which equal ones are kept once, and found by their index. */
const shared = <T extends object>(): {
  readonly all: readonly T[];
  readonly indexOf: (value: T) => number;
} => {
  const all: T[] = [];
  const known = new Map<string, number>();
  return {
    all,
    indexOf: (value) => {
      const key = JSON.stringify(value);
      const at = known.get(key) ?? all.push(value) - 1;
      known.set(key, at);
      return at;
    },
  };
};

const judgedSite = (agents: readonly Judged[], held: HeldSite | undefined): JudgedSites => ({
  agents: agents.length,
  assignments: agents.reduce((sum, { assignments }) => sum + assignments, 0),
  states: sumStates(agents),
  values: valuesOf(held),
});

const valuesOf = (held: HeldSite | undefined): JudgedSites['values'] => {
  if (held === undefined) return null;
  if (held.reasons.length > 0) return 'kept';
  return held.lacking.length > 0 ? 'lacking' : 'differing';
};

const placeOf = (agents: readonly Judged[]): PlaceOfSites => {
  const [first, ...others] = agents.map(({ agent }) => agent.labels);
  const common = Object.entries(first ?? {}).filter(([name, value]) =>
    others.every(({ [name]: other }) => other === value),
  );
  return {
    channels: [...new Set(agents.map(({ agent }) => formatChannel(agent.channel)))].toSorted(compareBytes),
    labels: Object.fromEntries(common.toSorted(([a], [b]) => compareBytes(a, b))),
  };
};

const oldestWord = (agents: readonly Judged[]): number | null => {
  const [oldest] = agents.flatMap(({ agent: { saidAt } }) => saidAt ?? []).toSorted();
  return oldest === undefined ? null : Math.floor(Date.parse(oldest) / 1000);
};

const heldReleases = (
  desired: ReadonlyMap<string, Desired>,
  { visible }: ActualFilter,
): Overview['waits']['releases'] =>
  [...desired]
    .flatMap(([channel, one]) => {
      const reasons = one.kind === 'release' ? (one.waits ?? []) : [];
      const isSeen = seesWhole(visible, channel.split('/')[0] ?? '');
      return reasons.length > 0 && isSeen ? [{ channel, reasons }] : [];
    })
    .toSorted((a, b) => compareBytes(a.channel, b.channel));

const readWaiting = async (
  db: Database,
  now: Date,
): Promise<{ readonly values: number; readonly enrolments: number }> => {
  const proposals = await db
    .selectFrom('values_proposal')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('state', '=', 'waiting')
    .executeTakeFirst();
  const tokens = await db
    .selectFrom('token')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('scope', '=', 'enroll')
    .where('used_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', formatTime(now))
    .executeTakeFirst();
  return { values: proposals?.count ?? 0, enrolments: tokens?.count ?? 0 };
};
