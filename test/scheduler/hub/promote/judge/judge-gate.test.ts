import { describe, expect, it } from 'vitest';
import { shown } from '../../../../harness/run/shown.ts';
import type { GateEntry } from '../../../../../scheduler/hub/promote/facts/decisions.ts';
import type { CheckFacts } from '../../../../../scheduler/hub/promote/checks/check-records.ts';
import { formatTime } from '../../../../../bundles/time.ts';
import { describeVerdict } from '../../../../../scheduler/hub/promote/gate/describe-verdict.ts';
import type { Visit } from '../../../../../scheduler/hub/questions/state/next-visit.ts';
import { whyNotApprovable } from '../../../../../scheduler/hub/promote/judge/judge-approvals.ts';
import { earliestOpening } from '../../../../../scheduler/hub/promote/judge/judge-gate.ts';
import {
  agent,
  agents,
  ago,
  approval,
  complies,
  compliance,
  condition,
  decision,
  facts,
  fingerprintOf,
  inDays,
  judge,
  keyOf,
  NOW,
  OTHER,
  policy,
  promotion,
  SHARED,
} from '../gate/gate-cases.ts';

const HOUR = 3600;
const DAY = 24 * HOUR;

it("an external check's message is printed on one line with control characters escaped", () => {
  const found: CheckFacts = { state: 'failed', at: ago(1), message: 'no\n  approvals  3 of 3\u001b[2K' };
  const check = { name: 'load', url: 'https://check.example/', timeoutSeconds: 60 };
  const verdict = judge(policy({ checks: [check] }), facts({ checks: new Map([['load', found]]) }));
  expect(shown(describeVerdict(verdict, SHARED))).toContainEqual(
    expect.stringMatching(/^! check load  failed at \S+: no   approvals  3 of 3\\u001b\[2K  \(wanted: /),
  );
});

it('conditions that are counted have the numbers that are found and wanted', () => {
  const wanted = policy({
    compliance: compliance({ percent: 60, atLeast: 4, require: [{ matchLabels: { tier: 'reference' } }] }),
    freshnessSeconds: 3600,
    soakSeconds: 3600,
    approvals: { required: 2, from: [], notAuthor: false },
    windows: ['0 3 1 1 * for 1m'],
  });
  const waiting = agent('z/9', {
    state: { kind: 'waiting', why: 'runs release 3' },
    labels: { tier: 'reference' },
  });
  const { conditions } = judge(wanted, facts({ agents: [...agents(2), waiting] }));
  expect(conditions.map(({ name, progress }) => [name, progress])).toEqual([
    ['released', { found: 1, wanted: 1 }],
    ['compliance', { found: 2, wanted: 2 }],
    ['at least', { found: 2, wanted: 4 }],
    ['required tier=reference', { found: 0, wanted: 1 }],
    ['freshness', { found: 3, wanted: 4 }],
    ['failures', undefined],
    ['drift', undefined],
    ['soak', { found: 2, wanted: 4 }],
    ['approvals', { found: 0, wanted: 2 }],
    ['window', undefined],
  ]);
});

describe('compliance', () => {
  const wanted = policy({ compliance: compliance({ percent: 75 }) });

  it('is met at the percentage, and names each agent that does not comply with the reason', () => {
    const found = facts({
      agents: [...agents(3), agent('z/9', { state: { kind: 'waiting', why: 'runs release 3' } })],
    });
    const verdict = judge(wanted, found);
    expect(verdict.state).toBe('ready');
    expect(condition(verdict, 'compliance')).toMatchObject({
      wanted: '75 % of the agents that ever reported',
      found: '3 of 4, 75 %',
      met: true,
      holding: { count: 1, first: ['z/9: waiting: runs release 3'] },
    });
    expect(judge(policy({ compliance: compliance({ percent: 76 }) }), found).state).toBe('waiting');
  });

  it('shows ten agents and the count of all', () => {
    const verdict = judge(wanted, facts({ agents: agents(25, { state: { kind: 'waiting', why: 'x' } }) }));
    const { holding, changedBy } = condition(verdict, 'compliance');
    expect([holding.count, holding.first.length, changedBy]).toEqual([25, 10, ['network']]);
  });

  it('without agents is not met, for any policy', () => {
    for (const ask of [{ percent: 1 }, { atLeast: 1 }, {}]) {
      const verdict = judge(policy({ compliance: compliance(ask) }), facts({ agents: [] }));
      expect(verdict.state).toBe('waiting');
    }
  });

  it('counts agents that never reported only with "of: enrolled"', () => {
    const found = facts({ agents: [...agents(3), agent('z/9', { knownAt: null, online: false })] });
    const all = (of: 'reported' | 'enrolled') => policy({ compliance: compliance({ percent: 100, of }) });
    expect(judge(all('reported'), found).state).toBe('ready');
    const verdict = judge(all('enrolled'), found);
    expect(verdict.state).toBe('waiting');
    expect(condition(verdict, 'compliance')).toMatchObject({
      holding: { first: ['z/9: it never reported'] },
      changedBy: ['medium'],
    });
  });

  it('with atLeast requires that number of agents in addition to the share', () => {
    const least = policy({ compliance: compliance({ percent: 50, atLeast: 3 }) });
    expect(judge(least, facts({ agents: agents(2) })).state).toBe('waiting');
    expect(judge(least, facts({ agents: agents(3) })).state).toBe('ready');
  });

  it('with required labels needs every agent that has them, and at least one', () => {
    const reference = { matchLabels: { tier: 'reference' } };
    const required = policy({ compliance: compliance({ percent: 1, require: [reference] }) });
    expect(condition(judge(required), 'required tier=reference')).toMatchObject({
      met: false,
      found: '0 of 0',
    });
    const labels = { tier: 'reference', line: '2' };
    expect(judge(required, facts({ agents: [...agents(3), agent('z/9', { labels })] })).state).toBe('ready');
    const silent = agent('z/9', { labels, knownAt: null });
    expect(judge(required, facts({ agents: [...agents(3), silent] })).state).toBe('waiting');
  });
});

it('with evidence: signed is a share of all enrolled agents, as the signer counts it', () => {
  const silent = agent('z/9', { knownAt: null, online: false });
  const wanted = policy({ compliance: compliance({ percent: 100, of: 'reported' }), evidence: 'signed' });
  expect(condition(judge(wanted, facts({ agents: [...agents(3), silent] })), 'compliance')).toMatchObject({
    met: false,
    wanted: '100 % of the enrolled agents',
    found: '3 of 4, 75 %',
    holding: { first: ['z/9: it never reported'] },
  });
});

describe('followers, whose notifications are unsigned', () => {
  const mixed = [...agents(2), agent('z/flux', { follower: 'flux', labels: { tier: 'reference' } })];
  const wanted = compliance({ percent: 100, atLeast: 3 });

  it('count like agents without evidence: signed', () => {
    expect(judge(policy({ compliance: wanted }), facts({ agents: mixed })).state).toBe('ready');
  });

  it('do not count with evidence: signed, and are not part of the share', () => {
    const signed = judge(policy({ compliance: wanted, evidence: 'signed' }), facts({ agents: mixed }));
    expect(condition(signed, 'compliance')).toMatchObject({ met: true, found: '2 of 2, 100 %' });
    expect(condition(signed, 'at least')).toMatchObject({ met: false, found: '2' });
  });

  it('close a gate with evidence: signed that requires them', () => {
    const require = [{ matchLabels: { tier: 'reference' } }];
    const required = policy({ compliance: compliance({ percent: 1, require }), evidence: 'signed' });
    expect(condition(judge(required, facts({ agents: mixed })), 'required tier=reference')).toMatchObject({
      met: false,
      holding: { first: ['z/flux: its notifications are unsigned: it follows by flux'] },
    });
  });
});

describe('freshness', () => {
  const wanted = policy({ compliance: compliance({ percent: 100 }), freshnessSeconds: 12 * HOUR });

  it('excludes agents with an older state from compliance', () => {
    const found = (hours: number) => facts({ agents: [...agents(3), agent('z/9', { knownAt: ago(hours) })] });
    expect(judge(wanted, found(12)).state).toBe('ready');
    const verdict = judge(wanted, found(12.1));
    expect(verdict.state).toBe('waiting');
    expect(condition(verdict, 'compliance').holding.first[0]).toMatch(
      /^z\/9: stale: its newest report describes /,
    );
    expect(condition(verdict, 'freshness')).toMatchObject({ met: false, found: '3 of 4' });
  });

  it('is met if enough states are fresh for the share', () => {
    const half = policy({ compliance: compliance({ percent: 50 }), freshnessSeconds: HOUR });
    const found = facts({ agents: [...agents(2), agent('y/9', { knownAt: ago(2) })] });
    expect(judge(half, found).state).toBe('ready');
    expect(condition(judge(half, found), 'freshness')).toMatchObject({ met: true, holding: { count: 1 } });
  });

  it('does not excuse an older failure', () => {
    const failed = agent('z/9', { knownAt: ago(100), state: { kind: 'failed', why: 'CHECK_FAILED' } });
    const half = policy({ compliance: compliance({ percent: 50 }), freshnessSeconds: HOUR });
    expect(condition(judge(half, facts({ agents: [...agents(9), failed] })), 'failures').met).toBe(false);
  });
});

describe('failures and drift', () => {
  it.each(['failed', 'drifted'] as const)(
    'hold the gate if one agent is %s, at any share that complies',
    (kind) => {
      const verdict = judge(
        policy({ compliance: compliance({ percent: 50 }) }),
        facts({ agents: [...agents(9), agent('z/9', { state: { kind, why: 'order-api' } })] }),
      );
      expect(verdict.state).toBe('waiting');
      expect(verdict.conditions.filter(({ met }) => !met)).toMatchObject([
        { name: kind === 'failed' ? 'failures' : 'drift', holding: { first: [`z/9: ${kind}: order-api`] } },
      ]);
    },
  );
});

describe('soak', () => {
  const wanted = policy({ compliance: compliance({ percent: 75 }), soakSeconds: DAY });

  it('needs as many agents as compliance does, each for its own time', () => {
    const found = (hours: number) =>
      facts({ agents: [...agents(2), ...agents(2, { state: complies(hours) })] });
    expect(judge(wanted, found(25)).state).toBe('ready');
    const verdict = judge(wanted, found(6));
    expect(condition(verdict, 'soak')).toMatchObject({
      met: false,
      found: '2 of 3 agents',
      earliest: '2026-11-24T06:00:00Z',
      changedBy: ['network', 'clock'],
    });
    expect(earliestOpening(verdict)).toBe('2026-11-24T06:00:00Z');
  });

  it('is not restarted by an agent that complied late', () => {
    expect(
      judge(wanted, facts({ agents: [...agents(3), agent('z/9', { state: complies(0.1) })] })).state,
    ).toBe('ready');
  });

  it('restarts after a failure or drift of the candidate', () => {
    const recovered = (hours: number) =>
      facts({ agents: [...agents(3), agent('z/9', { state: complies(hours, true) })] });
    expect(judge(wanted, recovered(2)).state).toBe('waiting');
    expect(judge(wanted, recovered(25)).state).toBe('ready');
  });

  it('of a site without network counts the time that its report covers, not the transport of the medium', () => {
    const byMedium = (since: number, until: number) =>
      facts({ agents: agents(4, { online: false, knownAt: ago(until), state: complies(since) }) });
    const verdict = judge(wanted, byMedium(100, 90));
    expect(condition(verdict, 'soak')).toMatchObject({ met: false, earliest: null, changedBy: ['medium'] });
    expect(earliestOpening(verdict)).toBeUndefined();
    expect(judge(wanted, byMedium(100, 70)).state).toBe('ready');
  });

  it('without compliance is the age of the release', () => {
    const alone = policy({ soakSeconds: 4 * DAY });
    expect(condition(judge(alone, facts({ agents: [] })), 'soak')).toMatchObject({
      met: false,
      earliest: '2026-11-24T12:00:00Z',
      changedBy: ['clock'],
    });
    expect(judge(policy({ soakSeconds: DAY }), facts({ agents: [] })).state).toBe('ready');
  });
});

describe('absent agents', () => {
  const lost = agent('z/9', { knownAt: ago(31 * 24), state: { kind: 'waiting', why: 'runs release 3' } });
  const found = facts({ agents: [...agents(3), lost] });
  const asked = (absent: 'exclude' | 'block' | undefined) =>
    policy({
      compliance: compliance({ percent: 100 }),
      // oxlint-disable-next-line unicorn/no-thenable -- a field of the policy
      ...(absent && { absent: { afterSeconds: 30 * DAY, then: absent } }),
    });

  it('count as not complying without a rule', () => {
    expect(judge(asked(undefined), found).state).toBe('waiting');
  });

  it('are not counted with exclude, and are listed', () => {
    const verdict = judge(asked('exclude'), found);
    expect(verdict.state).toBe('ready');
    expect(condition(verdict, 'absent')).toMatchObject({
      met: true,
      found: '1 absent',
      holding: { count: 1 },
    });
  });

  it('close the gate with block', () => {
    const most = { ...asked('block'), compliance: compliance({ percent: 50 }) };
    expect(judge(most, found).conditions.filter(({ met }) => !met)).toMatchObject([{ name: 'absent' }]);
  });

  it('that are the only ones do not open the gate with exclude', () => {
    expect(judge(asked('exclude'), facts({ agents: [lost] })).state).toBe('waiting');
  });
});

describe('approvals', () => {
  const wanted = policy({ approvals: { required: 2, from: [], notAuthor: true } });

  it('count by key, not by the stated name', () => {
    const of = (...entries: Parameters<typeof approval>[]) =>
      judge(wanted, facts(), { entries: entries.map((args) => approval(...args)) }).state;
    expect(of(['ann'])).toBe('waiting');
    expect(of(['ann'], ['bob', keyOf('ann')])).toBe('waiting');
    expect(of(['ann'], ['bob'])).toBe('ready');
    expect(of(['ann'], ['ann', keyOf('bob')])).toBe('ready');
  });

  it('of the person who promotes do not count', () => {
    const entries = [approval('ann'), approval('bob')];
    const verdict = judge(wanted, facts(), { entries, asks: 'bob' });
    expect(condition(verdict, 'approvals')).toMatchObject({
      met: false,
      found: '1 by ann',
      holding: { first: ['bob: is the person who asks'] },
      changedBy: ['person'],
    });
    expect(verdict.approvals).toEqual([entries[0]?.payload]);
  });

  it('by the key that built the candidate count only where the policy lets authors approve', () => {
    const entries = [approval('ann'), approval('bob')];
    const keys = { bundle: facts().keys.bundle, authors: [keyOf('bob')] };
    expect(condition(judge(wanted, facts({ keys }), { entries }), 'approvals')).toMatchObject({
      found: '1 by ann',
      holding: { first: ['bob: its key built the candidate'] },
    });
    const any = policy({ approvals: { required: 2, from: [], notAuthor: false } });
    expect(judge(any, facts({ keys }), { entries }).state).toBe('ready');
  });

  it('count for the named candidate only, and with keys of both policy and root', () => {
    const entries = [approval('ann'), approval('bob', keyOf('bob'), OTHER), approval('cid'), approval('dan')];
    const from = [fingerprintOf('ann'), fingerprintOf('bob'), fingerprintOf('dan')];
    const found = condition(
      judge(policy({ approvals: { required: 2, from, notAuthor: false } }), facts(), { entries }),
      'approvals',
    );
    expect([found.found, found.holding.first]).toEqual([
      '1 by ann',
      [
        `cid: the key ${fingerprintOf('cid').slice(0, 12)} does not count here`,
        `dan: the root no longer has the key ${fingerprintOf('dan').slice(0, 12)}`,
      ],
    ]);
  });

  it("more than the root's keys could give are a policy error", () => {
    const keys = { bundle: [keyOf('ann'), keyOf('bob')], authors: [keyOf('bob')] };
    const verdict = judge(wanted, facts({ keys }));
    expect(condition(verdict, 'approvals').holding.first).toEqual([
      "only 1 key of the root's bundle role can approve",
    ]);
    expect(whyNotApprovable(wanted, keys)).toMatchObject({
      code: 'FIELD_INVALID',
      subject: 'PromotionPolicy qa-to-prod',
    });
    expect(whyNotApprovable(wanted, facts().keys)).toBeUndefined();
  });
});

describe('a link with an edited source environment', () => {
  it('starts without promotions: a promotion from the former environment does not count', () => {
    const other = { ...promotion(SHARED), kind: 'promotion' as const };
    const entries = [{ ...other, predicate: { ...other.predicate, from: 'dev' } } as GateEntry];
    expect(judge(undefined, facts(), { entries }).state).toBe('ready');
    expect(judge(undefined, facts(), { entries: [...entries, promotion(SHARED, 2)] }).state).toBe('promoted');
  });
});

describe('windows and freezes', () => {
  it('close the gate, and have the time at which they open it', () => {
    const at = new Date(2026, 10, 23, 12);
    const verdict = judge(policy({ windows: ['0 6 * * 2-4 for 8h'] }), facts(), { now: at });
    const opens = new Date(2026, 10, 24, 6);
    expect(verdict.state).toBe('waiting');
    expect(earliestOpening(verdict)).toBe(`${opens.toISOString().slice(0, 19)}Z`);
    expect(judge(policy({ windows: ['0 6 * * 2-4 for 8h'] }), facts(), { now: opens }).state).toBe('ready');
  });

  it('freeze whole days including the last, and follow each other', () => {
    const freeze = [
      { from: '2026-11-24', to: '2026-11-30' },
      { from: '2026-11-20', to: '2026-11-23', reason: 'stock taking' },
    ];
    const { found, earliest } = condition(judge(policy({ freeze })), 'freeze');
    expect([found, earliest]).toEqual(['2026-11-20 to 2026-11-23, stock taking', '2026-12-01T00:00:00Z']);
    expect(judge(policy({ freeze }), facts(), { now: new Date('2026-12-01T00:00:00Z') }).state).toBe('ready');
  });
});

describe('external checks', () => {
  const wanted = policy({
    checks: [{ name: 'load', url: 'https://ci.example/load', timeoutSeconds: 2 * HOUR }],
  });
  const state = (check: CheckFacts) => judge(wanted, facts({ checks: new Map([['load', check]]) }));

  it('open the gate only when they passed this candidate', () => {
    expect(condition(judge(wanted), 'check load').found).toBe('not asked yet');
    const cases = [
      [{ state: 'asked', at: ago(1) }, /no answer yet$/],
      [{ state: 'asked', at: ago(3) }, /timed out$/],
      [{ state: 'failed', at: ago(1), message: 'p95 of 900 ms' }, /^failed at .*: p95 of 900 ms$/],
      [{ state: 'unreachable', at: ago(1), message: 'ECONNREFUSED' }, /^unreachable at /],
      [{ state: 'invalid', at: ago(1), message: 'signature' }, /^invalid at /],
    ] as const;
    for (const [check, text] of cases) {
      const verdict = state(check);
      expect([verdict.state, condition(verdict, 'check load').found]).toEqual([
        'waiting',
        expect.stringMatching(text),
      ]);
    }
    expect(state({ state: 'passed', at: ago(1), message: '' }).state).toBe('ready');
  });
});

describe('the state of a gate', () => {
  it('without a policy is ready for the candidate of the earlier environment, also without agents', () => {
    const verdict = judge(undefined, facts({ agents: [] }));
    expect([verdict.state, verdict.conditions.length]).toEqual(['ready', 1]);
  });

  it('follows the decisions in the order of the log', () => {
    const of = (entries: readonly GateEntry[]) => judge(policy(), facts(), { entries }).state;
    expect(of([decision('pause')])).toBe('paused');
    expect(of([decision('pause'), decision('resume')])).toBe('ready');
    expect(of([decision('pause', 'qa')])).toBe('ready');
    expect(of([decision('reject'), decision('resume'), promotion(OTHER)])).toBe('rejected');
    expect(of([promotion(SHARED)])).toBe('promoted');
    expect(of([promotion(SHARED), promotion(OTHER, 2)])).toBe('ready');
  });

  it('is superseded when the earlier environment has another candidate', () => {
    const channels = [{ channel: 'qa/kiosk', since: null, now: 'release 5 of another candidate' }];
    expect(judge(policy(), facts({ channels })).state).toBe('superseded');
  });

  it('waits for every channel that agents follow', () => {
    const verdict = judge(
      policy(),
      facts({
        channels: [...facts().channels, { channel: 'qa/host', since: null, now: 'waits for an approval' }],
      }),
    );
    expect(verdict.state).toBe('waiting');
    expect(condition(verdict, 'released')).toMatchObject({
      found: '1 of 2',
      holding: { first: ['qa/host: waits for an approval'] },
      changedBy: ['release'],
    });
  });

  it('is deterministic', () => {
    const wanted = policy({
      compliance: compliance({ percent: 90 }),
      soakSeconds: DAY,
      freshnessSeconds: HOUR,
    });
    expect(JSON.stringify(judge(wanted))).toBe(
      JSON.stringify(judge(wanted, facts(), { now: new Date(NOW) })),
    );
  });
});

describe('an expected medium', () => {
  const wanted = policy({ compliance: compliance({ percent: 100 }), freshnessSeconds: DAY });
  const absent = { online: false, knownAt: ago(200) };
  const visit = (days: number): Visit => ({ expectedBy: formatTime(inDays(days)), isOverdue: days < 0 });

  it('is listed with its day, which does not open the gate', () => {
    const found = facts({
      agents: [
        ...agents(2),
        agent('x/1', { ...absent, visit: visit(3) }),
        agent('x/2', { ...absent, visit: visit(9) }),
      ],
    });
    const verdict = judge(wanted, found);
    expect(earliestOpening(verdict)).toBeUndefined();
    expect(condition(verdict, 'freshness')).toMatchObject({
      earliest: null,
      expectedBy: '2026-12-02T12:00:00Z',
    });
    const lines = shown(describeVerdict(verdict, SHARED));
    expect(lines.at(-1)).toBe('It can open after: reports on a medium (expected by 2026-12-02T12:00:00Z).');
    expect(lines.join('\n')).toContain('; its next medium is expected by 2026-11-26T12:00:00Z');
    expect(judge(wanted, found, { now: inDays(10) }).state).toBe('waiting');
  });

  it('that is overdue is listed without an expected day', () => {
    const found = facts({
      agents: [agent('x/1', { ...absent, visit: visit(3) }), agent('x/2', { ...absent, visit: visit(-1) })],
    });
    const verdict = judge(wanted, found);
    expect(condition(verdict, 'freshness')).not.toHaveProperty('expectedBy');
    expect(condition(verdict, 'freshness').holding.first[1]).toContain(
      '; a medium was expected by 2026-11-22T12:00:00Z',
    );
    expect(describeVerdict(verdict, SHARED).at(-1)).toBe('It can open after: reports on a medium.');
  });
});
