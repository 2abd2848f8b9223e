import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import type { Channel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import {
  chain,
  enrolled,
  FLEET,
  type Happening,
  HOSTS,
  hubsAfter,
  NOW,
  report,
  type TestHub,
  digest,
} from '../test-hub.ts';

const QA: Channel = { ...HOSTS, environment: 'qa' };
const HOUR_MS = 3_600_000;
const at = (hours: number): string => formatTime(new Date(NOW.getTime() - hours * HOUR_MS));

const step = (
  assignment: string,
  digit: string,
  hours: number,
  more: Partial<Happening> = {},
): Happening => ({
  type: 'package',
  assignment,
  package: digest(digit),
  outcome: 'configured',
  at: at(hours),
  ...more,
});

const imported = (channel: Channel, version: number, hours: number): Happening => ({
  type: 'imported',
  release: { ...channel, version },
  at: at(hours),
});

/** Two agents in prod, one of which is behind, one in qa that drifted, and one that never reported. */
const hubWithSites = hubsAfter(async (hub) => {
  const take = async (id: string, channel: Channel, happenings: readonly Happening[]): Promise<void> => {
    const agent = await enrolled(hub, id, channel);
    const stick = await hub.stick(id.replace('/', '-'));
    await report(stick, agent, chain(agent, happenings));
    await hub.importFrom(stick);
  };
  await take('plant-1/press', HOSTS, [
    imported(HOSTS, 1, 9),
    step('oven', 'a', 8),
    imported(HOSTS, 2, 5),
    step('oven', 'b', 4),
  ]);
  await take('plant-2/press', HOSTS, [
    imported(HOSTS, 1, 9),
    step('oven', 'a', 8),
    step('oven', 'b', 3, { outcome: 'failed', code: 'CHECK_FAILED', message: 'port 80 is closed' }),
  ]);
  await take('lab/press', QA, [
    imported(QA, 7, 6),
    step('oven', 'c', 6),
    { type: 'drift', assignment: 'oven', message: 'a file was edited', at: at(1) },
  ]);
  await enrolled(hub, 'plant-3/press');
  return { fleet: FLEET };
});

const ask = async (hub: TestHub, query: string): Promise<readonly object[]> =>
  (await sql.raw<object>(query).execute(hub.store.db)).rows;

describe('the views for dashboards', () => {
  it('list what runs in an environment, with the number of agents by state', async () => {
    await using hub = await hubWithSites();
    const rows = await ask(
      hub,
      `select cluster_type, assignment, package, agents, healthy, failed, drifted from v1_environments
        where environment = 'prod' order by assignment, package`,
    );
    const same = { cluster_type: 'factory-host', assignment: 'oven', agents: 1, drifted: 0 };
    expect(rows).toEqual([
      { ...same, package: digest('a'), healthy: 0, failed: 1 },
      { ...same, package: digest('b'), healthy: 1, failed: 0 },
    ]);
  });

  it('compare two environments', async () => {
    await using hub = await hubWithSites();
    const rows = await ask(
      hub,
      `select l.assignment, l.package as in_qa, r.package as in_prod, r.agents
        from v1_environments l join v1_environments r
          on r.cluster_type = l.cluster_type and r.assignment = l.assignment and r.package <> l.package
        where l.environment = 'qa' and r.environment = 'prod' order by r.package`,
    );
    expect(rows).toEqual([
      { assignment: 'oven', in_qa: digest('c'), in_prod: digest('a'), agents: 1 },
      { assignment: 'oven', in_qa: digest('c'), in_prod: digest('b'), agents: 1 },
    ]);
  });

  it('list the changes of an assignment with the previous value', async () => {
    await using hub = await hubWithSites();
    const rows = await ask(
      hub,
      `select observed_at, agent, field, previous, value from v1_changes
        where assignment = 'oven' and environment = 'prod' and field <> 'health' order by observed_at, agent`,
    );
    expect(rows).toEqual([
      { observed_at: at(8), agent: 'plant-1/press', field: 'package', previous: null, value: digest('a') },
      { observed_at: at(8), agent: 'plant-2/press', field: 'package', previous: null, value: digest('a') },
      {
        observed_at: at(4),
        agent: 'plant-1/press',
        field: 'package',
        previous: digest('a'),
        value: digest('b'),
      },
    ]);
    const drift = await ask(hub, `select previous, value from v1_changes where field = 'drift'`);
    expect(drift).toEqual([{ previous: 'in sync', value: 'drifted' }]);
  });

  it('list the agents that do not comply, with the reason', async () => {
    await using hub = await hubWithSites();
    const rows = await ask(
      hub,
      'select agent, assignment, reason, code, message from v1_discrepancies order by agent, reason',
    );
    const none = { assignment: null, code: null, message: null };
    expect(rows).toEqual([
      {
        agent: 'lab/press',
        assignment: 'oven',
        reason: 'drifted',
        code: null,
        message: 'a file was edited',
      },
      { agent: 'plant-2/press', reason: 'behind', ...none },
      {
        agent: 'plant-2/press',
        assignment: 'oven',
        reason: 'failed',
        code: 'CHECK_FAILED',
        message: 'port 80 is closed',
      },
      { agent: 'plant-3/press', reason: 'never reported', ...none },
    ]);
  });

  it('exclude revoked agents', async () => {
    await using hub = await hubWithSites();
    await hub.store.transact((tx) =>
      tx
        .updateTable('agent')
        .set({ revoked_at: at(0) })
        .execute(),
    );
    for (const view of ['agents', 'deployments', 'environments', 'changes', 'discrepancies'])
      expect(await ask(hub, `select * from v1_${view}`), view).toEqual([]);
  });
});
