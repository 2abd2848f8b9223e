import { describe, expect, it } from 'vitest';
import type { Digest } from '#bundles/digest';
import { agentFacts, type AgentHistory } from '../../../../../scheduler/hub/promote/facts/agent-facts.ts';
import type {
  ActualAgent,
  ActualState,
  Desired,
} from '../../../../../scheduler/hub/questions/state/what-runs-where.ts';
import { whatRunsWhere } from '../../../../../scheduler/hub/questions/state/what-runs-where.ts';
import { ago, agent as gateAgent, compliance, facts, judge, NOW, policy } from '../gate/gate-cases.ts';

const NEW = `sha256:${'1'.repeat(64)}` as const;
const OLD = `sha256:${'2'.repeat(64)}` as const;
const REPORT = `sha256:${'9'.repeat(64)}` as const;

/** Release 4 is the first of the candidate, issued three hours ago. */
const SINCE = { version: 4, issuedAt: ago(3) };

const source = { report: REPORT, from: 1, to: 9, by: 'network', receivedAt: ago(0.1), clockTrusted: true };

const state = (running: Digest, hours: number, more: Partial<ActualState> = {}): ActualState => ({
  assignment: 'order-api',
  running: { package: running, siteValues: null, version: 4, seq: 5, at: ago(hours), source },
  health: {
    outcome: 'configured',
    type: 'package',
    code: null,
    message: null,
    seq: 5,
    at: ago(hours),
    source,
  },
  drift: null,
  ...more,
});

const desired: Desired = {
  kind: 'release',
  version: 5,
  issuedAt: ago(2),
  expires: ago(-1000),
  rollout: { percent: 100 },
  packages: new Map([['order-api', NEW]]),
  held: [],
};

const judged = (version: number, states: readonly ActualState[], history: Partial<AgentHistory> = {}) => {
  const agent: ActualAgent = {
    site: 'plant-7',
    agent: 'press-1',
    channel: { environment: 'qa', clusterType: 'kiosk' },
    labels: {},
    enrolledAt: ago(1000),
    reported: true,
    heardAt: ago(0.1),
    saidAt: ago(0.1),
    silent: false,
    online: true,
    held: null,
    follower: null,
    accepted: { channel: 'qa/kiosk', version },
    states,
  };
  const rows = whatRunsWhere(new Map([['qa/kiosk', desired]]), [agent], NOW);
  const imported = { at: ago(2.5), receivedAt: ago(2.4), clockTrusted: true };
  return agentFacts(
    { agent, since: SINCE, history: { imported, faulted: false, online: true, ...history } },
    { kind: 'differs', rows },
  );
};

const opens = (agent: ReturnType<typeof judged>, soakSeconds = 0): boolean =>
  judge(policy({ compliance: compliance({ percent: 100 }), soakSeconds }), facts({ agents: [agent] }))
    .state === 'ready';

describe('the compliance of an agent with a candidate', () => {
  it('starts at the import of the candidate or the last package change, whichever is later', () => {
    expect(judged(4, [state(NEW, 2)]).state).toEqual({ kind: 'complies', since: ago(2), faulted: false });
    expect(judged(4, [state(NEW, 90)]).state).toEqual({ kind: 'complies', since: ago(2.5), faulted: false });
  });

  it("is bounded by the release's issue and the report's arrival, independent of the agent's clock", () => {
    const early = { imported: { at: ago(500), receivedAt: ago(1), clockTrusted: true } };
    expect(judged(4, [state(NEW, 400)], early).state).toMatchObject({ since: SINCE.issuedAt });
    const untrusted = { imported: { at: ago(2.9), receivedAt: ago(1), clockTrusted: false } };
    expect(judged(4, [state(NEW, 400)], untrusted).state).toMatchObject({ since: ago(1) });
  });

  it('is broken by a failure or drift only after the import', () => {
    const failed = state(OLD, 1, {
      health: {
        outcome: 'failed',
        type: 'package',
        code: 'CHECK_FAILED',
        message: null,
        seq: 8,
        at: ago(1),
        source,
      },
    });
    expect(judged(4, [failed]).state).toEqual({ kind: 'failed', why: 'order-api: CHECK_FAILED' });
    expect(judged(3, [failed], { imported: undefined }).state.kind).toBe('waiting');
    const drifted = state(NEW, 2, {
      drift: { drifted: true, message: 'scale 2', seq: 9, at: ago(1), source },
    });
    expect(judged(4, [drifted]).state).toEqual({ kind: 'drifted', why: 'order-api: scale 2' });
  });

  it('is not reached while the agent runs another package or could not check it', () => {
    expect(judged(4, [state(OLD, 90)]).state).toEqual({ kind: 'waiting', why: 'order-api: behind' });
    const unknown = state(NEW, 2, {
      health: {
        outcome: 'configured',
        type: 'package',
        code: 'HEALTH_UNKNOWN',
        message: null,
        seq: 5,
        at: ago(2),
        source,
      },
    });
    expect(judged(4, [unknown]).state).toEqual({ kind: 'waiting', why: 'order-api: unknown' });
  });
});

describe('issues of other tools that this gate does not have', () => {
  it('kargo#1411: health from before the promotion is not the health of the candidate', () => {
    const healthyBefore = judged(3, [state(OLD, 900)], { imported: undefined });
    expect(healthyBefore.state).toEqual({
      kind: 'waiting',
      why: 'it reported qa/kiosk release 3; the candidate is in release 4 and later',
    });
    expect(opens(healthyBefore)).toBe(false);
  });

  it('kargo#2196: health that is reported before the candidate is applied does not count', () => {
    const importedButNotApplied = judged(4, [state(OLD, 900)]);
    expect(opens(importedButNotApplied)).toBe(false);
    expect(opens(judged(4, [state(NEW, 1)]))).toBe(true);
  });

  it('kargo#3731: soak is the time that the agent ran the candidate, not the age of a verification', () => {
    expect(opens(judged(4, [state(NEW, 1)]), 2 * 3600)).toBe(false);
    expect(opens(judged(4, [state(NEW, 900)]), 2 * 3600)).toBe(true);
  });

  const offline = gateAgent('lost/1', {
    knownAt: ago(40 * 24),
    state: { kind: 'waiting', why: 'release 3' },
  });
  const shareOf = (absent: 'exclude' | 'block' | undefined) =>
    policy({
      compliance: compliance({ percent: 100 }),
      // oxlint-disable-next-line unicorn/no-thenable -- a field of the policy
      ...(absent && { absent: { afterSeconds: 30 * 86_400, then: absent } }),
    });

  it('rancher/fleet#594: a cluster that is offline is named, and does not hold all others for ever', () => {
    const found = facts({ agents: [gateAgent('a/1'), offline] });
    const waiting = judge(shareOf(undefined), found);
    expect(waiting.conditions.find(({ name }) => name === 'compliance')?.holding.first).toEqual([
      'lost/1: waiting: release 3',
    ]);
    expect(judge(shareOf('exclude'), found).state).toBe('ready');
  });

  it('kubefleet#638: an agent that fits no selector is counted or left out as the policy says, and is no error', () => {
    const required = policy({ compliance: compliance({ require: [{ matchLabels: { ring: 'pilot' } }] }) });
    const found = facts({ agents: [gateAgent('a/1', { labels: { ring: 'pilot' } }), gateAgent('b/1')] });
    expect(judge(required, found).state).toBe('ready');
  });

  it('kubefleet#733: agents that join or leave while a candidate soaks change the figures and stop nothing', () => {
    const share = policy({ compliance: compliance({ percent: 50 }), soakSeconds: 3600 });
    const two = [gateAgent('a/1'), gateAgent('b/1')];
    const joined = gateAgent('c/1', { state: { kind: 'waiting', why: 'it reported no release' } });
    expect(judge(share, facts({ agents: two })).state).toBe('ready');
    expect(judge(share, facts({ agents: [...two, joined] })).state).toBe('ready');
    expect(judge(share, facts({ agents: two.slice(1) })).state).toBe('ready');
  });
});
