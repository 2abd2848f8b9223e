import { describe, expect, it } from 'vitest';
import { shown } from '../../../../harness/run/shown.ts';
import { formatLines } from '../../../../../cli/format-table.ts';
import { formatTime } from '#bundles/time';
import { answerEvents } from '../../../../../scheduler/hub/questions/answers/answer-events.ts';
import { answerHistory } from '../../../../../scheduler/hub/questions/answers/answer-history.ts';
import { answerWhere } from '../../../../../scheduler/hub/questions/answers/answer-where.ts';
import {
  answerCompare,
  type Compared,
} from '../../../../../scheduler/hub/questions/answers/compare-environments.ts';
import {
  type AskedQuestion,
  atOrNow,
  parseQuestion,
} from '../../../../../scheduler/hub/questions/history/parse-question.ts';
import type { Change } from '../../../../../scheduler/hub/questions/history/read-changes.ts';
import { NOW, type TestHub } from '../../test-hub.ts';
import { days, deployment, PROD, QA, release, shop } from './shop-hub.ts';

type Json = {
  readonly changes: readonly (Change & { fromName: string; toName: string })[];
  readonly releases: readonly { channel: string; version: number }[];
  readonly agents: readonly {
    agent: string;
    running: readonly { name: string; since: string; health: string }[];
  }[];
  readonly next: string | null;
};

const history = async (hub: TestHub, asked: AskedQuestion) => {
  const { lines, json } = await answerHistory(hub, await parseQuestion(hub, asked, NOW), NOW);
  return { lines: formatLines(lines, 80), ...(json as Json) };
};

const where = async (hub: TestHub, asked: AskedQuestion) => {
  const question = await parseQuestion(hub, asked, NOW);
  const { lines, json } = await answerWhere(hub, { ...question, at: atOrNow(question, NOW) }, NOW);
  return { lines: formatLines(lines, 80), ...(json as Json) };
};

describe('the history of a fleet', () => {
  it('shows versions by name, reasons, and the delay of a report', async () => {
    await using hub = await shop();
    const { lines, changes } = await history(hub, { name: 'plant-7' });
    expect(changes.map(({ field, fromName, toName }) => [field, fromName, toName])).toEqual([
      ['package', 'web 1.0', 'web 1.0'],
      ['health', 'rolled back ROLLED_BACK web 1.0', 'healthy'],
      ['health', 'failed CHECK_FAILED web 2.0', 'rolled back ROLLED_BACK web 1.0'],
      ['health', 'healthy', 'failed CHECK_FAILED web 2.0'],
      ['package', 'none', 'web 1.0'],
      ['health', 'none', 'healthy'],
    ]);
    expect(lines).toEqual([
      '2026-11-18T08:00:00Z  plant-7/press-1 web',
      '    package web 1.0 -> web 1.0, known 24 h later',
      '    health rolled back ROLLED_BACK web 1.0 -> healthy, known 24 h later',
      '2026-11-14T08:00:00Z  plant-7/press-1 web',
      '    health failed CHECK_FAILED web 2.0 -> rolled back ROLLED_BACK web 1.0, known',
      '        6 d later',
      '      by hand: oven smokes',
      '    health healthy -> failed CHECK_FAILED web 2.0, known 6 d later',
      '      check answers: 503',
      '2026-11-12T08:00:00Z  plant-7/press-1 web',
      '    package none -> web 1.0',
      '    health none -> healthy',
    ]);
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  });

  it('can be filtered by environment, agent, workload and time', async () => {
    await using hub = await shop();
    const seqs = async (asked: AskedQuestion) => (await history(hub, asked)).changes.map(({ seq }) => seq);
    expect(await seqs({ name: 'qa' })).toEqual([2, 1, 1]);
    expect(await seqs({ name: 'lab/rig-1' })).toEqual([2, 1, 1]);
    expect(await seqs({ name: 'web', environment: 'prod', since: '4d' })).toEqual([4, 4]);
    expect(await seqs({ workload: 'web', site: 'lab', until: formatTime(days(-9)) })).toEqual([1, 1]);
    expect((await history(hub, { name: 'prod' })).releases.map(({ version }) => version)).toEqual([3, 2, 1]);
    await expect(history(hub, { name: 'nowhere' })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(history(hub, { workload: 'nowhere' })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(history(hub, { since: 'yesterday' })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(history(hub, { at: '1d', since: '2d' })).rejects.toMatchObject({ code: 'USAGE' });
  });

  it('with asKnownAt shows only what the hub knew at that time', async () => {
    await using hub = await shop();
    const { changes } = await history(hub, { name: 'plant-7', asKnownAt: formatTime(days(-2)) });
    expect(changes.map(({ seq, field, fromName }) => [seq, field, fromName])).toEqual([
      [4, 'package', 'web 1.0'],
      [1, 'package', 'none'],
      [1, 'health', 'none'],
    ]);
  });

  it('of an environment is the same in pages, for new and old changes', async () => {
    await using hub = await shop();
    for (const environment of ['prod', 'qa']) {
      const whole = await history(hub, { environment });
      expect(whole.changes.length).toBeGreaterThan(0);
      const changes: unknown[] = [];
      let cursor: string | undefined;
      do {
        const page = await history(hub, { environment, limit: '1', cursor });
        changes.push(...page.changes);
        cursor = page.next ?? undefined;
      } while (cursor !== undefined);
      expect(changes).toEqual(whole.changes);
    }
  });

  it('comes in pages without gaps, each release on one page', async () => {
    await using hub = await shop();
    const whole = await history(hub, {});
    const changes: unknown[] = [];
    const releases: unknown[] = [];
    for (let cursor: string | undefined, pages = 0; pages < 50; pages += 1) {
      const page = await history(hub, { limit: '2', cursor });
      changes.push(...page.changes);
      releases.push(...page.releases);
      if (page.next === null) break;
      cursor = page.next;
    }
    expect(changes).toEqual(whole.changes);
    expect(releases).toHaveLength(5);
    expect(new Set(releases.map((one) => JSON.stringify(one))).size).toBe(5);
    await expect(history(hub, { cursor: 'W10' })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(history(hub, { limit: '0' })).rejects.toMatchObject({ code: 'USAGE' });
  });
});

describe('what ran where', () => {
  it('shows the current version with its age', async () => {
    await using hub = await shop();
    const { lines } = await where(hub, { workload: 'web' });
    expect(lines).toEqual([
      'lab/rig-1, qa/kiosk, heard 8 d ago',
      '  web  web 2.0  for 8 d, healthy',
      'plant-7/press-1, prod/kiosk, heard 24 h ago',
      '  web  web 1.0  for 3 d, healthy',
    ]);
  });

  it('shows the state at a past time, and as it was known then', async () => {
    await using hub = await shop();
    const health = async (at: Date, knownAt?: Date) => {
      const asked = { site: 'plant-7', at: formatTime(at), asKnownAt: knownAt && formatTime(knownAt) };
      return (await where(hub, asked)).agents[0]?.running.map((one) => one.health.split(' sha256:')[0]);
    };
    expect(await health(days(-8))).toBeUndefined();
    await hub.store.db
      .updateTable('agent')
      .set({ enrolled_at: formatTime(days(-20)) })
      .execute();
    expect(await health(days(-8))).toEqual(['healthy']);
    expect(await health(days(-6))).toEqual(['rolled back ROLLED_BACK']);
    expect(await health(days(-6), days(-2))).toEqual(['healthy']);
    expect(await health(days(-1))).toEqual(['healthy']);
  });

  it('omits what an earlier machine under the same name ran', async () => {
    await using hub = await shop();
    await hub.store.db.updateTable('agent').set({ life: 2 }).where('id', '=', 'lab/rig-1').execute();
    expect((await where(hub, { workload: 'web' })).agents.map(({ agent }) => agent)).toEqual([
      'plant-7/press-1',
    ]);
  });
});

describe('events', () => {
  it('are returned as the agent signed them, with their report, in pages', async () => {
    await using hub = await shop();
    const ask = async (asked: AskedQuestion) =>
      (await answerEvents(hub, await parseQuestion(hub, asked, NOW), NOW)) as {
        lines: string[];
        json: {
          events: { event: { seq: number }; source: { by: string; receivedAt: string } }[];
          next: string | null;
        };
      };
    const { json, lines } = await ask({ name: 'plant-7/press-1' });
    expect(json.events.map(({ event, source }) => [event.seq, source.receivedAt])).toEqual([
      [3, formatTime(days(-1))],
      [2, formatTime(days(-1))],
      [4, formatTime(days(-2))],
      [1, formatTime(days(-9))],
    ]);
    expect(shown(lines.slice(0, 3))).toEqual([
      '2026-11-14T08:00:00Z  plant-7/press-1 3 rolled-back web configured ROLLED_BACK',
      '    by hand: oven smokes',
      expect.stringMatching(/^ {4}report [0-9a-f]{12} by stick, received 24 h ago$/),
    ]);
    const page = await ask({ name: 'plant-7/press-1', limit: '3' });
    const rest = await ask({ name: 'plant-7/press-1', limit: '3', cursor: page.json.next as string });
    expect([...page.json.events, ...rest.json.events]).toEqual(json.events);
    expect(rest.json.next).toBeNull();
    const all = await ask({});
    const events: unknown[] = [];
    for (let cursor: string | undefined; ; ) {
      const one = await ask({ limit: '1', cursor });
      events.push(...one.json.events);
      if (one.json.next === null) break;
      cursor = one.json.next;
    }
    expect(events).toEqual(all.json.events);
  });
});

describe('the comparison of two environments', () => {
  it('shows different versions and configuration with their agents, and no value of a Secret', async () => {
    await using hub = await shop();
    const { lines, json } = await answerCompare(hub, { left: 'qa', right: 'prod', diff: true }, NOW);
    const { assignments } = json as { readonly assignments: readonly Compared[] };
    expect(
      assignments.map(({ assignment, outcome, left, right }) => [
        assignment,
        outcome,
        left?.name,
        right?.name,
      ]),
    ).toEqual([
      ['extra', 'only left', 'extra 2.0', undefined],
      ['web', 'version', 'web 2.0', 'web 1.0'],
    ]);
    expect(assignments[1]).toMatchObject({
      left: { release: 2, agents: { running: 1, all: 1 } },
      right: { release: 3, agents: { running: 1, all: 1 } },
      objects: [{ object: 'Deployment.apps shop/web' }, { object: 'Secret shop/key' }],
    });
    expect(shown(lines)).toContain('  prod r3  web 1.0, runs at 1 of 1 agents');
    expect(lines.at(-1)).toBe('0 of 2 assignments are the same in qa and prod.');
    expect(JSON.stringify([lines, json])).not.toMatch(/"(?:first|second)"|password: (?:first|second)/);
    const same = await answerCompare(hub, { left: 'qa', right: 'qa' }, NOW);
    expect(same.lines).toEqual(['2 of 2 assignments are the same in qa and qa.']);
    const pages = [];
    for (
      let cursor: string | undefined, next: string | null = '';
      next !== null;
      cursor = next ?? undefined
    ) {
      const asked = { left: 'qa', right: 'prod', differing: true, page: { limit: 1, cursor } };
      const page = (await answerCompare(hub, asked, NOW)).json as {
        readonly assignments: readonly Compared[];
        readonly total: number;
        readonly next: string | null;
      };
      expect(page.total).toBe(2);
      pages.push(page.assignments);
      next = page.next;
    }
    expect(pages.map((one) => one.length)).toEqual([1, 1]);
    expect(pages.flat().map(({ assignment }) => assignment)).toEqual(['extra', 'web']);
    const none = await answerCompare(hub, { left: 'qa', right: 'qa', differing: true }, NOW);
    expect(none.json).toMatchObject({ total: 2, assignments: [], next: null });
    await expect(answerCompare(hub, { left: 'qa', right: 'dev' }, NOW)).rejects.toMatchObject({
      code: 'CHANNEL_MISSING',
    });
  });

  it('distinguishes a change of configuration from a change of version', async () => {
    await using hub = await shop();
    await release(hub, PROD, 4, { web: deployment('2.0', 9) });
    const { json } = await answerCompare(hub, { left: 'qa', right: 'prod' }, NOW);
    expect((json as { assignments: Compared[] }).assignments[1]).toMatchObject({
      outcome: 'configuration',
      objects: [{ object: 'Deployment.apps shop/web', outcome: 'configured' }],
    });
  });

  it('names values of configuration that differ, with both, and withholds those that may be secret', async () => {
    await using hub = await shop();
    const map = (name: string, data: Readonly<Record<string, string>>): string =>
      JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, data });
    const files = (broker: string, password: string, zone: string) => ({
      'platform-config.yaml': map('platform-config', { broker, adminPassword: password, same: '1' }),
      'settings.yaml': map('settings', { ZONE: zone }),
    });
    await release(hub, QA, 4, { web: files('mqtt-qa', 'first', 'b') });
    await release(hub, PROD, 4, { web: files('mqtt-prod', 'second', 'a') });
    const { lines, json } = await answerCompare(hub, { left: 'qa', right: 'prod' }, NOW);
    const [web] = (json as { assignments: Compared[] }).assignments;
    expect(web?.values).toEqual([
      { name: 'adminPassword', old: 'withheld', new: 'withheld' },
      { name: 'broker', old: '"mqtt-qa"', new: '"mqtt-prod"' },
      { name: 'settings.ZONE', old: '"b"', new: '"a"' },
    ]);
    expect(shown(lines)).toContain('    broker  qa: "mqtt-qa"  prod: "mqtt-prod"');
  });

  it("matches objects whose namespaces differ only in the environment's name", async () => {
    await using hub = await shop();
    const compareAt = async (version: number, inProd: string): Promise<Compared | undefined> => {
      await release(hub, QA, version, { web: deployment('1.0', 2, 'first', 'qa-kiosk-web') });
      await release(hub, PROD, version, { web: deployment('1.0', 2, 'first', inProd) });
      const { json } = await answerCompare(hub, { left: 'qa', right: 'prod' }, NOW);
      return (json as { assignments: Compared[] }).assignments[0];
    };
    expect(await compareAt(4, 'prod-kiosk-web')).toMatchObject({ outcome: 'same', objects: [] });
    expect(await compareAt(5, 'dev-kiosk-web')).toMatchObject({
      outcome: 'configuration',
      objects: [
        { object: 'Deployment.apps <environment>-kiosk-web/web', outcome: 'deleted' },
        { object: 'Deployment.apps dev-kiosk-web/web', outcome: 'created' },
        { object: 'Secret <environment>-kiosk-web/key', outcome: 'deleted' },
        { object: 'Secret dev-kiosk-web/key', outcome: 'created' },
      ],
    });
  });
});
