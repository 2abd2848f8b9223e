import { describe, expect, it } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import type { AgentFacts, AlarmFacts, End } from '../../../../scheduler/hub/alarms/alarm-facts.ts';
import { causeIdOf } from '../../../../scheduler/hub/alarms/alarm.ts';
import { deriveAlarms } from '../../../../scheduler/hub/alarms/derive-alarms.ts';
import type { LinkState } from '../../../../scheduler/hub/questions/state/link-states.ts';
import type { Desired } from '../../../../scheduler/hub/questions/state/what-runs-where.ts';
import { verdict } from '../../../bundles/verdict.ts';
import type { FreshnessPolicy } from '../../../../scheduler/model/promotion.ts';

const NOW = new Date('2026-11-21T08:00:00Z');
const ago = (hours: number): string => formatTime(addDays(NOW, -hours / 24));

const AGENT: AgentFacts = {
  id: 'plant-7/press-1',
  site: 'plant-7',
  environment: 'prod',
  clusterType: 'factory-host',
  enrolledAt: ago(1000),
  heardAt: ago(1),
  onlineAt: null,
  saidAt: ago(1),
  stopped: false,
  reported: true,
  held: false,
  reboot: null,
  labels: {},
  release: 4,
};

const RELEASE: Extract<Desired, { kind: 'release' }> = {
  kind: 'release',
  version: 4,
  issuedAt: ago(100),
  expires: formatTime(addDays(NOW, 100)),
  rollout: { percent: 100 },
  packages: new Map([['kiosk-web', `sha256:${'1'.repeat(64)}` as const]]),
  teams: new Map([['kiosk-web', { workspace: 'shop', workload: 'kiosk' }]]),
  held: [],
};

const QUIET: AlarmFacts = {
  now: NOW,
  policies: [],
  agents: [AGENT],
  troubles: [],
  corrections: [],
  evidence: [],
  gaps: [],
  links: [],
  desired: new Map([['prod/factory-host', RELEASE]]),
  ends: [],
  trouble: undefined,
  receivers: [],
  auditFault: undefined,
};

const alarms = (facts: Partial<AlarmFacts>) => deriveAlarms({ ...QUIET, ...facts });
const told = (facts: Partial<AlarmFacts>) =>
  alarms(facts).map(({ kind, severity, since, summary }) => [kind, severity, since, summary]);

const policy = (more: Partial<FreshnessPolicy> = {}): FreshnessPolicy => ({
  name: 'daily',
  environment: 'prod',
  clusterTypes: [],
  lateSeconds: 86_400,
  staleSeconds: 3 * 86_400,
  at: { file: 'freshness.yaml' },
  ...more,
});

it('no alarm is raised for a fleet that complies', () => {
  expect(alarms({ policies: [policy()] })).toEqual([]);
});

describe('an alarm about an agent', () => {
  const late = (hours: number, more: Partial<AgentFacts> = {}) =>
    told({ policies: [policy()], agents: [{ ...AGENT, saidAt: ago(hours), ...more }] });

  it('is raised for a required reboot after the time that the policy allows, and never without that limit', () => {
    const reboot = { since: ago(72), causes: 'kernel 6.1.0-28-amd64 is installed', waits: null };
    const needs = (more: Partial<FreshnessPolicy>) =>
      told({ policies: [policy(more)], agents: [{ ...AGENT, reboot }] });
    expect(needs({})).toEqual([]);
    expect(needs({ rebootSeconds: 4 * 86_400 })).toEqual([]);
    expect(needs({ rebootSeconds: 86_400 })).toEqual([
      [
        'REBOOT_OVERDUE',
        'warning',
        ago(48),
        `plant-7/press-1 has needed a reboot since ${ago(72)}: kernel 6.1.0-28-amd64 is installed`,
      ],
    ]);
  });

  it('is raised when it reports but lacks the newest release: a warning, critical when stale', () => {
    const withheld = (
      issued: number,
      more: Partial<AgentFacts> = {},
      rollout: Partial<typeof RELEASE> = {},
    ) =>
      told({
        policies: [policy()],
        agents: [{ ...AGENT, release: 3, ...more }],
        desired: new Map([['prod/factory-host', { ...RELEASE, issuedAt: ago(issued), ...rollout }]]),
      });
    expect(withheld(20)).toEqual([]);
    expect(withheld(30)).toEqual([
      [
        'RELEASE_NOT_TAKEN',
        'warning',
        ago(6),
        `plant-7/press-1 reports, but has not accepted release 4 of prod/factory-host, issued at ${ago(30)}: it has release 3`,
      ],
    ]);
    expect(withheld(80)[0]?.slice(0, 2)).toEqual(['RELEASE_NOT_TAKEN', 'critical']);
    expect(withheld(30, { release: 0 })[0]?.[3]).toContain('it has no release');
    expect(withheld(30, { release: 4 })).toEqual([]);
    // Its last word is from before: whether it has the release is not known.
    expect(withheld(30, { saidAt: ago(10) })).toEqual([]);
    expect(withheld(30, { held: true })).toEqual([]);
    expect(withheld(30, { reported: false }).map(([kind]) => kind)).not.toContain('RELEASE_NOT_TAKEN');
    expect(withheld(30, {}, { rollout: { percent: 0 } })).toEqual([]);
    expect(withheld(30, {}, { rollout: { percent: 100, selector: { ring: 'canary' } } })).toEqual([]);
  });

  it('is a warning when it is late and critical when it is stale, under one id', () => {
    const since = ago(6);
    expect(late(30)).toEqual([
      [
        'AGENT_LATE',
        'warning',
        since,
        `plant-7/press-1 is late: it last compared the machine with its release at ${ago(30)}, and its FreshnessPolicy allows 24 h`,
      ],
    ]);
    expect(late(80)[0]?.slice(0, 3)).toEqual(['AGENT_LATE', 'critical', ago(56)]);
    const ids = [30, 80].flatMap((hours) =>
      alarms({ policies: [policy()], agents: [{ ...AGENT, saidAt: ago(hours) }] }).map(({ id }) => id),
    );
    expect(new Set(ids).size).toBe(1);
  });

  it('is raised for one that never reported, counted from its enrolment', () => {
    expect(late(0, { saidAt: null, reported: false, enrolledAt: ago(30) })).toEqual([
      ['AGENT_LATE', 'warning', ago(6), expect.stringContaining('and never reported')],
    ]);
  });

  it('is never raised for its age without a policy', () => {
    expect(alarms({ agents: [{ ...AGENT, saidAt: ago(5000) }] })).toEqual([]);
  });

  it('is raised when its presence messages stop, and not when a medium is the way of its reports', () => {
    expect(told({ agents: [{ ...AGENT, onlineAt: ago(1) }] })).toEqual([
      [
        'AGENT_SILENT',
        'warning',
        ago(1),
        `plant-7/press-1 is silent: it was online, and the hub last heard it at ${ago(1)}`,
      ],
    ]);
    expect(alarms({ agents: [{ ...AGENT, onlineAt: ago(0.1) }] })).toEqual([]);
  });

  it('names a site with an overdue medium and the expected day', () => {
    const policies = [policy({ lateSeconds: 9e9, staleSeconds: 9e9, visitsSeconds: 86_400 })];
    expect(told({ policies, agents: [{ ...AGENT, heardAt: ago(25), saidAt: ago(25) }] })).toEqual([
      [
        'MEDIUM_OVERDUE',
        'warning',
        ago(1),
        `No medium has come from plant-7/press-1: one was expected by ${ago(1)}`,
      ],
    ]);
  });
});

describe('an alarm about a package', () => {
  const trouble = {
    agent: AGENT.id,
    assignment: 'kiosk-web',
    runs: true,
    failed: {
      at: ago(2),
      code: 'CHECK_FAILED',
      message: 'GET /: 503\n\u001b[31mred',
      checks: ['page', 'door'],
    },
    drifted: null,
  };
  const drift = { ...trouble, failed: null, drifted: { at: ago(2), message: 'replicas 3, not 2' } };

  it('that failed is critical, labelled by its team, in one line without control characters', () => {
    const [alarm] = alarms({ troubles: [trouble] });
    expect(alarm).toMatchObject({
      kind: 'PACKAGE_FAILED',
      severity: 'critical',
      since: ago(2),
      subject: {
        site: 'plant-7',
        agent: 'plant-7/press-1',
        environment: 'prod',
        clusterType: 'factory-host',
        assignment: 'kiosk-web',
        workspace: 'shop',
        workload: 'kiosk',
      },
    });
    expect(alarm?.summary).toBe(
      'kiosk-web failed at plant-7/press-1 (CHECK_FAILED): GET /: 503 \\u001b[31mred',
    );
  });

  it('keeps its id when the package moves to another workspace', () => {
    const teams = new Map([['kiosk-web', { workspace: 'other', workload: 'kiosk-2' }]]);
    const moved = alarms({
      troubles: [trouble],
      desired: new Map([['prod/factory-host', { ...RELEASE, teams }]]),
    });
    expect(moved.map(({ id }) => id)).toEqual(alarms({ troubles: [trouble] }).map(({ id }) => id));
  });

  it('has code and failed checks as its cause, so that the same failure at other sites is one group', () => {
    const other = { ...AGENT, id: 'plant-8/press-1', site: 'plant-8' };
    const same = { ...trouble, agent: other.id, failed: { ...trouble.failed, message: 'GET /: 404' } };
    const both = alarms({ agents: [AGENT, other], troubles: [trouble, same] });
    expect(both.map(({ cause }) => cause)).toEqual(['CHECK_FAILED door, page', 'CHECK_FAILED door, page']);
    expect(new Set(both.map(causeIdOf)).size).toBe(1);
    const [another] = alarms({ troubles: [{ ...trouble, failed: { ...trouble.failed, checks: ['page'] } }] });
    expect(another && causeIdOf(another)).not.toBe(both[0] && causeIdOf(both[0]));
  });

  it('is raised for a first installation that failed: nothing of it ever ran', () => {
    expect(told({ troubles: [{ ...trouble, runs: false }] }).map(([kind]) => kind)).toEqual([
      'PACKAGE_FAILED',
    ]);
  });

  it('is not raised when the package neither runs nor is wanted', () => {
    expect(alarms({ troubles: [{ ...trouble, assignment: 'gone', runs: false }] })).toEqual([]);
  });

  it('is raised for drift, unless an operator holds the machine', () => {
    expect(told({ troubles: [drift] })).toEqual([
      [
        'PACKAGE_DRIFTED',
        'warning',
        ago(2),
        'kiosk-web at plant-7/press-1 differs from what was applied: replicas 3, not 2',
      ],
    ]);
    expect(alarms({ troubles: [drift], agents: [{ ...AGENT, held: true }] })).toEqual([]);
  });

  it('begins at the latest now, for an agent whose clock runs ahead', () => {
    const ahead = { ...trouble, failed: { ...trouble.failed, at: ago(-50) } };
    expect(alarms({ troubles: [ahead] })[0]?.since).toBe(formatTime(NOW));
  });

  it('is raised for repeated drift, from the third correction on', () => {
    const fight = (times: number) =>
      told({ corrections: [{ agent: AGENT.id, assignment: 'kiosk-web', times, first: ago(9) }] });
    expect(fight(2)).toEqual([]);
    expect(fight(3)).toEqual([
      ['DRIFT_FIGHTS', 'warning', ago(9), expect.stringContaining('drifted 3 times')],
    ]);
  });

  it('is not raised for a revoked agent', () => {
    expect(alarms({ troubles: [trouble], corrections: [], agents: [] })).toEqual([]);
  });
});

describe('an alarm about reports', () => {
  it('is raised once for each kind of contradiction, with the time of the first', () => {
    const row = { agent: AGENT.id, code: 'REPORT_CHAIN', message: 'event 4 has two hashes' };
    const evidence = [
      { ...row, raisedAt: ago(3) },
      { ...row, raisedAt: ago(8), message: 'event 2 has two hashes' },
      { ...row, code: 'ROLLBACK', message: 'floor 7 after 9', raisedAt: ago(1) },
    ];
    expect(told({ evidence })).toEqual([
      [
        'REPORT_CHAIN',
        'critical',
        ago(8),
        'A report of plant-7/press-1 contradicts earlier ones: event 2 has two hashes',
      ],
      ['REPORT_ROLLBACK', 'critical', ago(1), expect.stringContaining('floor 7 after 9')],
    ]);
  });

  it('names the missing events of a gap', () => {
    expect(told({ gaps: [{ agent: AGENT.id, head: 4, newest: 9, since: ago(5) }] })).toEqual([
      ['REPORT_GAP', 'warning', ago(5), 'Events of plant-7/press-1 are missing between 4 and 9'],
    ]);
  });
});

describe('an alarm about a gate', () => {
  const link = (more: Partial<LinkState>): LinkState => ({
    from: 'qa',
    to: 'prod',
    mode: 'automatic',
    state: 'waiting',
    candidate: `sha256:${'4'.repeat(64)}`,
    waitsFor: 'approvals',
    unmet: ['approvals'],
    why: 'approvals: none, wanted 2',
    since: ago(7),
    ...more,
  });

  it('is raised when the gate waits for a person, with the environment behind it', () => {
    expect(alarms({ links: [link({})] })).toMatchObject([
      { kind: 'GATE_WAITS', severity: 'info', since: ago(7), subject: { environment: 'prod' } },
    ]);
    expect(alarms({ links: [link({ state: 'ready', mode: 'manual', waitsFor: null })] })).toHaveLength(1);
  });

  it('is not raised when the gate waits for reports or time', () => {
    expect(alarms({ links: [link({ waitsFor: 'soak', unmet: ['soak', 'approvals'] })] })).toEqual([]);
    expect(alarms({ links: [link({ state: 'ready', waitsFor: null })] })).toEqual([]);
    expect(alarms({ links: [link({ state: 'promoted', waitsFor: null })] })).toEqual([]);
  });
});

describe('an alarm about a channel', () => {
  const desired = (of: Desired) => ({ desired: new Map([['prod/factory-host', of]]) });

  it('is raised when agents follow it and it has no release, with their number', () => {
    expect(told(desired({ kind: 'none' }))).toEqual([
      [
        'CHANNEL_UNRELEASED',
        'warning',
        ago(1000),
        'prod/factory-host has no release, and 1 agent follows it',
      ],
    ]);
  });

  it('is critical when its release is refused', () => {
    expect(told(desired({ kind: 'refused', message: 'BAD_SIGNATURE: no' }))).toEqual([
      ['RELEASE_REFUSED', 'critical', formatTime(NOW), expect.stringContaining('BAD_SIGNATURE: no')],
    ]);
  });

  it('is raised for held assignments and for a waiting release', () => {
    const waits = ['REMOVALS_HELD: would remove kiosk-web'];
    expect(told(desired({ ...RELEASE, waits, held: ['kiosk-web: template failed: line 3'] }))).toEqual([
      ['RELEASE_WAITS', 'warning', formatTime(NOW), expect.stringContaining(waits[0] ?? '')],
      [
        'ASSIGNMENT_HELD',
        'warning',
        ago(100),
        'kiosk-web is held in prod/factory-host at its last good package: template failed: line 3',
      ],
    ]);
  });

  it('is informational for an assignment that a person rolled back', () => {
    const why = 'kiosk-web was taken back to release 7 by ann at 2026-11-20T08:00:00Z: labels are blank';
    const held = [`kiosk-web: ${why}`];
    expect(told(desired({ ...RELEASE, held, takenBack: new Set(['kiosk-web']) }))).toEqual([
      ['ASSIGNMENT_TAKEN_BACK', 'info', ago(100), `prod/factory-host: ${why}`],
    ]);
  });
});

it('an alarm about an expiry is a warning first, then critical, and names what has expired', () => {
  const end = (days: number): End => ({
    kind: 'ROOT_ENDS',
    what: 'Root 3 of the fleet',
    at: addDays(NOW, days),
    warnMs: 60 * 86_400_000,
    criticalMs: 14 * 86_400_000,
  });
  expect(told({ ends: [end(61)] })).toEqual([]);
  expect(told({ ends: [end(50)] })[0]?.slice(0, 3)).toEqual([
    'ROOT_ENDS',
    'warning',
    formatTime(addDays(NOW, -10)),
  ]);
  expect(told({ ends: [end(10)] })[0]?.[1]).toBe('critical');
  expect(told({ ends: [end(-1)] })[0]?.[3]).toBe(`Root 3 of the fleet expired at ${ago(24)}`);
});

it('an alarm about a failing build or receiver is raised after minutes, not at the first failure', () => {
  const trouble = (minutes: number) => ({
    since: new Date(NOW.getTime() - minutes * 60_000),
    message: 'SOURCE_UNREACHABLE: git.example',
  });
  expect(alarms({ trouble: trouble(5) })).toEqual([]);
  expect(alarms({ trouble: trouble(11) })).toMatchObject([{ kind: 'BUILD_FAILS', severity: 'critical' }]);
  const receivers = [
    { name: 'desk', failingSince: ago(1), refused: null },
    { name: 'operations', failingSince: null, refused: null },
    { name: 'new', failingSince: ago(0.1), refused: null },
    { name: 'strict', failingSince: null, refused: { count: 2, since: ago(1), message: 'status 422' } },
  ];
  expect(alarms({ receivers })).toMatchObject([
    { kind: 'RECEIVER_FAILS', subject: { name: 'desk' } },
    {
      kind: 'RECEIVER_FAILS',
      subject: { name: 'strict' },
      summary: expect.stringMatching(/has refused 2 notices: status 422/),
    },
  ]);
});

it('I8: an agent with a release that the layout never made: an alarm, and not the news that it is behind', async () => {
  const ahead = { ...AGENT, id: 'plant-8/press-1', site: 'plant-8', release: 6 };
  expect(await verdict(() => alarms({ agents: [AGENT, ahead] }))).toBe('ACCEPT');
  expect(told({ agents: [AGENT, ahead] })).toEqual([
    [
      'RELEASE_UNKNOWN',
      'critical',
      formatTime(NOW),
      'plant-8/press-1 has release 6 of prod/factory-host, a newer one than the layout, whose newest is 4',
    ],
  ]);
  expect(told({ agents: [AGENT] })).toEqual([]);
});

it('an alarm is raised when the audit log is not the one that the hub knows', () => {
  expect(told({ auditFault: 'AUDIT_TRUNCATED: entries are missing' })).toEqual([
    ['AUDIT_LOG_CHANGED', 'critical', formatTime(NOW), 'AUDIT_TRUNCATED: entries are missing'],
  ]);
});

it('each alarm has a unique id, which is the same in the next round', () => {
  const facts = {
    troubles: ['a', 'b'].map((assignment) => ({
      agent: AGENT.id,
      assignment,
      runs: true,
      failed: { at: ago(1), code: null, message: null, checks: [] },
      drifted: { at: ago(1), message: null },
    })),
  };
  const ids = alarms(facts).map(({ id }) => id);
  expect(new Set(ids).size).toBe(4);
  expect(alarms({ ...facts, now: addDays(NOW, 1) }).map(({ id }) => id)).toEqual(ids);
});
