import { array, assert, asyncProperty, boolean, constantFrom, integer, record } from 'fast-check';
import type { KyselyPlugin } from 'kysely';
import { describe, expect, it } from 'vitest';
import { formatChannel } from '#bundles/names';
import { DAY_MS, formatTime } from '#bundles/time';
import { agentFacts } from '../../../../../scheduler/hub/promote/facts/agent-facts.ts';
import { readActual } from '../../../../../scheduler/hub/questions/state/read-actual.ts';
import { channelsOf, readAgents } from '../../../../../scheduler/hub/questions/state/read-agents.ts';
import { readStandings } from '../../../../../scheduler/hub/questions/state/read-standings.ts';
import {
  type Desired,
  type Row,
  whatRunsWhere,
} from '../../../../../scheduler/hub/questions/state/what-runs-where.ts';
import {
  chain,
  digest,
  enrolled,
  enrolledHub,
  type Happening,
  HOSTS,
  NOW,
  report,
  type TestAgent,
} from '../../test-hub.ts';
import { runs } from '../../../../harness/run/long.ts';

const hoursBefore = (hours: number): string => formatTime(new Date(NOW.getTime() - (hours * DAY_MS) / 24));

const happening = record({
  assignment: constantFrom('oven', 'press'),
  digit: constantFrom('a', 'a', 'b'),
  kind: constantFrom('step', 'step', 'step', 'failed', 'unknown', 'deleted', 'drift', 'corrected', 'check'),
  hours: integer({ min: -2, max: 30 }),
}).map(({ assignment, digit, kind, hours }): Happening => {
  const at = hoursBefore(hours);
  const step = { type: 'package', assignment, package: digest(digit), outcome: 'configured', at } as const;
  switch (kind) {
    case 'failed':
      return { ...step, outcome: 'failed', code: 'CHECK_FAILED' };
    case 'unknown':
      return { ...step, code: 'HEALTH_UNKNOWN' };
    case 'deleted':
      return { ...step, outcome: 'deleted' };
    case 'drift':
    case 'corrected':
      return { type: kind, assignment, at };
    case 'check':
      return { ...step, type: 'check', outcome: 'failed' };
    case 'step':
      return step;
  }
});

const wanted: Desired = {
  kind: 'release',
  version: 4,
  issuedAt: hoursBefore(20),
  expires: hoursBefore(-1000),
  rollout: { percent: 100 },
  packages: new Map([['oven', digest('a')]]),
  held: [],
};

const named = ({ assignment, verdict }: Pick<Row, 'assignment' | 'verdict'>) => [assignment, verdict];

/** Counts the rows of states that are read through a database. */
const countStates = () => {
  const read: string[] = [];
  const plugin: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      for (const row of result.rows) if ('assignment' in row) read.push(String(row['agent']));
      return result;
    },
  };
  return { read, plugin };
};

describe('the standing of an agent to the release', () => {
  it('is the same computed from its whole state and from the states of its assignments', async () => {
    let complying = 0;
    await assert(
      asyncProperty(
        array(happening, { minLength: 1, maxLength: 5 }),
        boolean(),
        boolean(),
        constantFrom(0, 100),
        async (happenings, both, clockTrusted, percent) => {
          await using hub = await enrolledHub();
          const stick = await hub.stick();
          await report(stick, hub.agent, chain(hub.agent, happenings), 1, happenings.length, {
            clockTrusted,
          });
          await hub.importFrom(stick);
          const packages = new Map([...wanted.packages, ...(both ? [['press', digest('a')] as const] : [])]);
          const desired = new Map([[formatChannel(HOSTS), { ...wanted, packages, rollout: { percent } }]]);
          const { db } = hub.store;
          const standing = (
            await readStandings(db, await readAgents(db, {}), {
              desired,
              now: NOW,
              take: (compared) => compared,
            })
          )
            .values()
            .next().value;
          const { agents } = await readActual(db, {}, NOW);
          const rows = whatRunsWhere(desired, agents, NOW);
          const complies = rows.every(({ verdict }) => verdict === 'complies');
          expect(standing?.kind).toBe(complies ? 'complies' : 'differs');
          if (complies) complying += 1;
          if (standing?.kind === 'differs') expect(standing.rows.map(named)).toEqual(rows.map(named));
          expect(channelsOf(agents)).toEqual([HOSTS]);
          const agent = agents[0];
          if (!agent || !standing) throw new Error('there is no agent');
          const accepted = { channel: formatChannel(HOSTS), version: 4, at: hoursBefore(19) };
          const imported = { at: hoursBefore(19), receivedAt: formatTime(NOW), clockTrusted: true };
          const history = { imported, faulted: false, online: false };
          const facts = (said: typeof standing) =>
            agentFacts(
              {
                agent: { ...agent, accepted },
                since: { version: 4, issuedAt: wanted.issuedAt },
                history,
              },
              said,
            );
          expect(facts(standing)).toEqual(facts({ kind: 'differs', rows }));
        },
      ),
      { numRuns: runs(60) },
    );
    expect(complying).toBeGreaterThan(0);
  });

  it('is read once for agents with the same packages, and separately for agents with failures', async () => {
    await using hub = await enrolledHub();
    const others = ['b', 'c', 'd'].map((name) => `${hub.agent.site}/${name}`);
    const agents: TestAgent[] = [hub.agent];
    for (const id of others) agents.push(await enrolled(hub, id));
    const stick = await hub.stick();
    const step = { type: 'package', package: digest('b'), outcome: 'configured' } as const;
    for (const [index, agent] of agents.entries()) {
      const failure = { ...step, type: 'check', outcome: 'failed', assignment: 'press' } as const;
      const happenings = ['oven', 'press', 'saw'].map((assignment) => ({ ...step, assignment }));
      const lines = chain(agent, index === 3 ? [...happenings, failure] : happenings);
      await report(stick, agent, lines);
    }
    await hub.importFrom(stick);
    const desired = new Map([[formatChannel(HOSTS), { ...wanted, rollout: { percent: 0 } }]]);
    const { read, plugin } = countStates();
    const db = hub.store.db.withPlugin(plugin);
    const known = await readAgents(db, {});
    const standings = await readStandings(db, known, {
      desired,
      now: NOW,
      take: (standing) => (standing.kind === 'differs' ? standing.rows.map(named) : []),
    });
    const rest = [
      ['oven', 'not selected'],
      ['press', 'not selected'],
      ['saw', 'not selected'],
    ];
    const failing = others.at(-1);
    expect(standings).toEqual(
      known.map(({ id }) => (id === failing ? rest.with(1, ['press', 'failed']) : rest)),
    );
    // Three packages and a failure, where four agents have twelve states.
    expect(read).toHaveLength(4);
  });
});
