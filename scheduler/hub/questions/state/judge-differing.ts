import type { Digest } from '#bundles/digest';
import { formatChannel } from '#bundles/names';
import { packagesDigest } from '../../ingest/reports/agent-state.ts';
import { PART, parts } from '../../store/parts.ts';
import type { Database } from '../../store/tables.ts';
import { readStates } from './read-actual.ts';
import { type FleetAgent, withoutStates } from './read-agents.ts';
import {
  type ActualState,
  type Desired,
  isReached,
  type JudgedAssignment,
  judgeAssignments,
  NONE,
  type Running,
  type StateOf,
} from './what-runs-where.ts';

type Packages = ReadonlyMap<string, Digest>;

const NOTHING: Packages = new Map();

/**
 * Judges the assignments of agents, by agent, from the states in trouble and the packages that each agent runs. Packages decide about
 * all other assignments, so they are read of one agent for each different set, and agents that are alike are judged once. `running`
 * is null, and so are `health` and `drift` of assignments that are not in trouble. An agent without an entry changed meanwhile.
 * @param desired by formatChannel
 */
export const judgeDiffering = async (
  db: Database,
  agents: readonly FleetAgent[],
  desired: ReadonlyMap<string, Desired>,
  now: Date,
): Promise<ReadonlyMap<string, readonly JudgedAssignment[]>> => {
  const [packages, troubles] = await Promise.all([readPackages(db, agents), readTroubles(db, agents)]);
  const toActual = withoutStates(now);
  const alike = new Map<string, readonly JudgedAssignment[]>();
  const judged = new Map<string, readonly JudgedAssignment[]>();
  for (const row of agents) {
    const runs = row.packages === null ? NOTHING : packages.get(row.packages);
    if (!runs) continue;
    const agent = toActual(row);
    const release = desired.get(formatChannel(agent.channel)) ?? NONE;
    const states = troubles.get(row.id) ?? [];
    const judge = (): readonly JudgedAssignment[] =>
      judgeAssignments(release, { ...agent, states: statesOf(runs, states) }).map((one) => ({
        ...one,
        running: null,
      }));
    const traits = [agent.reported, agent.held !== null, isReached(release, agent), row.packages];
    const key = `${formatChannel(agent.channel)} ${traits.join(' ')}`;
    const rows = (states.length === 0 ? alike.get(key) : undefined) ?? judge();
    if (states.length === 0) alike.set(key, rows);
    judged.set(row.id, rows);
  }
  return judged;
};

const statesOf = (
  packages: Packages,
  troubles: readonly ActualState[],
): readonly StateOf<Pick<Running, 'package'>>[] => {
  const known = new Set(troubles.map(({ assignment }) => assignment));
  const others = [...packages].flatMap(([assignment, digest]) =>
    known.has(assignment) ? [] : [{ assignment, running: { package: digest }, health: null, drift: null }],
  );
  return [...others, ...troubles];
};

/** Packages by assignment, by their digest, each set read of one of its agents. */
const readPackages = async (
  db: Database,
  agents: readonly FleetAgent[],
): Promise<ReadonlyMap<Digest, Packages>> => {
  const examples = [
    ...new Map(agents.flatMap(({ id, packages }) => (packages === null ? [] : [[packages, id] as const]))),
  ];
  const found = new Map<Digest, Packages>();
  for (const part of parts(examples)) {
    const rows = await db
      .selectFrom('assignment_state')
      .select(['agent', 'assignment', 'package'])
      .where('package', 'is not', null)
      .where(
        'agent',
        'in',
        part.map(([, id]) => id),
      )
      .execute();
    const byAgent = Map.groupBy(rows, ({ agent }) => agent);
    for (const [digest, id] of part) {
      const packages = new Map(
        (byAgent.get(id) ?? []).flatMap(({ assignment, package: one }) =>
          one === null ? [] : [[assignment, one] as const],
        ),
      );
      // A report of this agent may have come since its digest was read.
      if (packagesDigest(packages) === digest) found.set(digest, packages);
    }
  }
  return found;
};

/** States in trouble: of few agents by their names, of many by their environments. */
const readTroubles = async (
  db: Database,
  agents: readonly FleetAgent[],
): Promise<ReadonlyMap<string, readonly ActualState[]>> => {
  if (agents.length === 0) return new Map();
  const part =
    agents.length <= PART
      ? { agents: agents.map(({ id }) => id) }
      : { environments: [...new Set(agents.map(({ environment }) => environment))] };
  return await readStates(db, part, 'in trouble');
};
