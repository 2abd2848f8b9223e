import { describe, expect, it } from 'vitest';
import { shown } from '../../../../harness/run/shown.ts';
import { addDays, formatTime } from '#bundles/time';
import {
  type FreshnessPolicies,
  freshnessOf,
  freshnessPolicyFor,
} from '../../../../../scheduler/hub/questions/state/freshness.ts';
import { recordFreshness } from '../../../../../scheduler/hub/questions/state/freshness-policies.ts';
import { readStatus } from '../../../../../scheduler/hub/questions/status/read-status.ts';
import type { Row } from '../../../../../scheduler/hub/questions/state/what-runs-where.ts';
import { revokeAgent } from '../../../../../scheduler/hub/sites/revoke-agent.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import type { FreshnessPolicy } from '../../../../../scheduler/model/promotion.ts';
import { chain, enrolledHub, HOSTS, leave, NOW, report, reportOf, type TestHub } from '../../test-hub.ts';

const DAY = 86_400;
const policy = (more: Partial<FreshnessPolicy> = {}): FreshnessPolicy => ({
  name: 'monthly',
  environment: HOSTS.environment,
  clusterTypes: [],
  lateSeconds: 35 * DAY,
  staleSeconds: 70 * DAY,
  at: { file: 'promotion/freshness.yaml', line: 1, column: 1 },
  ...more,
});

describe("the freshness of an agent's state", () => {
  it.each([
    [0, 'fresh'],
    [35, 'fresh'],
    [36, 'late'],
    [70, 'late'],
    [71, 'stale'],
    [-3, 'fresh'],
  ] as const)('of %i days is %s', (days, word) => {
    expect(freshnessOf(formatTime(addDays(NOW, -days)), policy(), NOW)).toBe(word);
  });

  it('is unknown for an agent that never reported, and fresh without a policy', () => {
    expect(freshnessOf(null, policy(), NOW)).toBe('unknown');
    expect(freshnessOf(null, undefined, NOW)).toBe('unknown');
    expect(freshnessOf(formatTime(addDays(NOW, -4000)), undefined, NOW)).toBe('fresh');
  });

  it('follows the policy of the cluster type before the policy of the environment', () => {
    const all = [
      policy({ name: 'all' }),
      policy({ name: 'hosts', clusterTypes: ['factory-host'] }),
      policy({ name: 'dev', environment: 'dev' }),
    ];
    expect(freshnessPolicyFor(all, HOSTS)?.name).toBe('hosts');
    expect(freshnessPolicyFor(all, { environment: 'prod', clusterType: 'kiosk' })?.name).toBe('all');
    expect(freshnessPolicyFor(all, { environment: 'qa', clusterType: 'kiosk' })).toBeUndefined();
  });
});

type Json = {
  readonly rows: readonly Row[];
  readonly needALook: number;
  readonly freshness: FreshnessPolicies;
};

const ask = async (hub: TestHub, now: Date) => {
  const { lines, narrow, json } = await readStatus(hub, {}, now);
  const { rows, needALook, freshness } = json as Json;
  return { lines: shown(lines), narrow: shown(narrow), rows, needALook, freshness };
};

const EVENTS = [{ type: 'imported' }, { type: 'imported' }] as const;

describe('the status of a site that reports by medium', () => {
  it('complies, then is late, then stale, by the stored policy', async () => {
    await using hub = await enrolledHub();
    await hub.layoutWriter.release({ channel: HOSTS, version: 1, bundles: [] });
    const stick = await hub.stick();
    await report(stick, hub.agent, chain(hub.agent, EVENTS));
    await hub.importFrom(stick);
    const before = await ask(hub, addDays(NOW, 400));
    expect(before.rows).toMatchObject([
      { verdict: 'complies', freshness: 'fresh', saidAgeSeconds: 400 * DAY },
    ]);
    expect(before.freshness).toEqual({ from: 'none', policies: [] });
    await recordFreshness(hub.store, [policy()]);
    const late = await ask(hub, addDays(NOW, 40));
    expect(late).toMatchObject({ needALook: 0, freshness: { from: 'hub', policies: [{ name: 'monthly' }] } });
    expect(late.rows).toMatchObject([{ verdict: 'complies', freshness: 'late' }]);
    expect(late.lines[1]).toMatch(/ complies, late$/);
    expect(late.lines).toContain(
      'prod: late after 35 d, stale after 70 d (FreshnessPolicy monthly, as serve last read it)',
    );
    const stale = await ask(hub, addDays(NOW, 71));
    expect(stale.needALook).toBe(1);
    expect(stale.rows).toMatchObject([{ verdict: 'stale', freshness: 'stale' }]);
    expect(stale.narrow.join('\n')).toContain('heard 71 d ago, stale');
    await recordFreshness(hub.store, []);
    expect((await ask(hub, addDays(NOW, 71))).needALook).toBe(0);
  });

  it('has the age of its report, not of the import', async () => {
    await using hub = await enrolledHub();
    await recordFreshness(hub.store, [policy()]);
    const stick = await hub.stick();
    const then = formatTime(NOW);
    await report(stick, hub.agent, chain(hub.agent, EVENTS), 1, 2, { time: then });
    const later = addDays(NOW, 100);
    await hub.importFrom(stick, later);
    const { rows, narrow } = await ask(hub, later);
    expect(rows).toMatchObject([{ heardAt: formatTime(later), saidAt: then, freshness: 'stale' }]);
    expect(narrow.join('\n')).toContain('heard just now (state of 100 d ago), stale');
  });

  it('does not become fresher when a report is imported again', async () => {
    await using hub = await enrolledHub();
    const stick = await hub.stick();
    const lines = chain(hub.agent, EVENTS);
    await leave(stick, hub.agent, await reportOf(hub.agent, lines), 1, 2);
    await hub.importFrom(stick, NOW);
    await hub.importFrom(stick, addDays(NOW, 90));
    expect((await ask(hub, addDays(NOW, 90))).rows).toMatchObject([{ saidAt: formatTime(NOW) }]);
  });

  it('has the age since arrival for a report from the future, and the time floor for an untrusted clock', async () => {
    await using hub = await enrolledHub();
    const stick = await hub.stick();
    const lines = chain(hub.agent, EVENTS);
    await report(stick, hub.agent, lines, 1, 1, { time: '1970-01-01T00:00:00Z', clockTrusted: false });
    await hub.importFrom(stick, NOW);
    const floor = formatTime(addDays(NOW, -1));
    expect((await ask(hub, NOW)).rows).toMatchObject([{ saidAt: floor }]);
    await report(stick, hub.agent, lines, 1, 2, { time: formatTime(addDays(NOW, 3000)) });
    await hub.importFrom(stick, addDays(NOW, 2));
    expect((await ask(hub, addDays(NOW, 2))).rows).toMatchObject([{ saidAt: formatTime(addDays(NOW, 2)) }]);
  });

  it('does not change by reports of a revoked agent', async () => {
    await using hub = await enrolledHub();
    const stick = await hub.stick();
    await report(stick, hub.agent, chain(hub.agent, EVENTS));
    await revokeAgent(hub.store, hub.agent.id, await siteSigner(hub), NOW);
    const { refused } = await hub.importFrom(stick, addDays(NOW, 1));
    expect(refused.map(({ error }) => error.code)).toEqual(['REVOKED']);
    const row = await hub.store.db.selectFrom('agent').selectAll().executeTakeFirstOrThrow();
    expect(row).toMatchObject({ heard_at: null, said_at: null, head_seq: 0 });
  });
});
