import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { addDays, DAY_MS, formatTime } from '#bundles/time';
import { revokeAgent } from '../../../../../scheduler/hub/sites/revoke-agent.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { readFacts } from '../../../../../scheduler/hub/promote/facts/read-facts.ts';
import { compliance, judge, policy } from '../gate/gate-cases.ts';
import { chain, enrolledHub, happenings, NOW, report } from '../../test-hub.ts';

const DAY = DAY_MS / 1000;
const FRESH = policy({
  compliance: compliance({ atLeast: 1, of: 'enrolled' }),
  freshnessSeconds: DAY,
  soakSeconds: 0,
});

/** What the gate finds about freshness at a time, and how many agents it counts. */
const look = async (hub: Awaited<ReturnType<typeof enrolledHub>>, now: Date) => {
  const signal = new AbortController().signal;
  const facts = await readFacts(hub, { from: 'prod', to: 'later' }, digestOf('a candidate'), { now, signal });
  const { conditions } = judge(FRESH, facts, { now });
  const found = conditions.find(({ name }) => name === 'freshness')?.found;
  return { found, agents: facts.agents.map(({ knownAt }) => knownAt) };
};

test("a repeated report does not make an agent's state fresher for a gate", async () => {
  await using hub = await enrolledHub();
  const stick = await hub.stick();
  await report(stick, hub.agent, chain(hub.agent, happenings(2)), 1, 2, { time: formatTime(NOW) });
  await hub.importFrom(stick, NOW);
  expect(await look(hub, NOW)).toEqual({ found: '1 of 1', agents: [formatTime(NOW)] });
  const later = addDays(NOW, 3);
  await hub.importFrom(stick, later);
  expect(await look(hub, later)).toEqual({ found: '0 of 1', agents: [formatTime(NOW)] });
});

test('a report with a future time counts from its arrival for a gate', async () => {
  await using hub = await enrolledHub();
  const stick = await hub.stick();
  const lines = chain(hub.agent, happenings(2));
  await report(stick, hub.agent, lines, 1, 2, { time: formatTime(addDays(NOW, 3000)) });
  await hub.importFrom(stick, NOW);
  expect(await look(hub, NOW)).toEqual({ found: '1 of 1', agents: [formatTime(NOW)] });
  expect(await look(hub, addDays(NOW, 3))).toMatchObject({ found: '0 of 1' });
});

test('a revoked agent does not count for a gate, and its later reports are refused', async () => {
  await using hub = await enrolledHub();
  const stick = await hub.stick();
  await report(stick, hub.agent, chain(hub.agent, happenings(2)), 1, 2, { time: formatTime(NOW) });
  await hub.importFrom(stick, NOW);
  await revokeAgent(hub.store, hub.agent.id, await siteSigner(hub), NOW);
  expect(await look(hub, NOW)).toEqual({ found: '0 of 0', agents: [] });
  const { refused } = await hub.importFrom(stick, addDays(NOW, 1));
  expect(refused.map(({ error }) => error.code)).toEqual(['REVOKED']);
});
