import { createHash } from 'node:crypto';
import type { Digest } from '#bundles/digest';
import { addDays, formatTime } from '#bundles/time';
import type { PromotionPolicy } from '../../../../../scheduler/model/promotion.ts';
import { foldDecisions, type GateEntry } from '../../../../../scheduler/hub/promote/facts/decisions.ts';
import type {
  AgentFacts,
  AgentState,
  Changes,
  GateFacts,
} from '../../../../../scheduler/hub/promote/facts/facts.ts';
import { judgeGate } from '../../../../../scheduler/hub/promote/judge/judge-gate.ts';
import type { Condition, Verdict } from '../../../../../scheduler/hub/promote/judge/verdict.ts';

export const NOW = new Date('2026-11-23T12:00:00Z');
export const SHARED = `sha256:${'a'.repeat(64)}` as const;
export const OTHER = `sha256:${'b'.repeat(64)}` as const;

/** A time before NOW. */
export const ago = (hours: number): string => formatTime(new Date(NOW.getTime() - hours * 3_600_000));
export const inDays = (days: number): Date => addDays(NOW, days);

export const policy = (more: Partial<PromotionPolicy> = {}): PromotionPolicy => ({
  name: 'qa-to-prod',
  from: 'qa',
  to: 'prod',
  mode: 'manual',
  soakSeconds: 0,
  windows: [],
  freeze: [],
  checks: [],
  direct: 'allow',
  at: { file: 'promotion/qa-to-prod.yaml', line: 1, column: 1 },
  ...more,
});

export const compliance = (
  more: Partial<NonNullable<PromotionPolicy['compliance']>> = {},
): NonNullable<PromotionPolicy['compliance']> => ({ of: 'reported', require: [], ...more });

export const complies = (sinceHours: number, faulted = false): AgentState => ({
  kind: 'complies',
  since: ago(sinceHours),
  faulted,
});

/** An agent on the network that complied for two days and was heard a minute ago. */
export const agent = (name: string, more: Partial<AgentFacts> = {}): AgentFacts => ({
  name,
  labels: {},
  enrolledAt: ago(1000),
  knownAt: ago(1 / 60),
  online: true,
  state: complies(48),
  ...more,
});

export const agents = (count: number, more: Partial<AgentFacts> = {}): readonly AgentFacts[] =>
  Array.from({ length: count }, (_, at) => agent(`s${String(at).padStart(3, '0')}/a`, more));

/** Hint of a person's key. */
export const keyOf = (person: string): string => createHash('sha256').update(person).digest('base64');

/** What people compare: the same in hex. */
export const fingerprintOf = (person: string): string => Buffer.from(keyOf(person), 'base64').toString('hex');

export const facts = (more: Partial<GateFacts> = {}): GateFacts => ({
  from: 'qa',
  to: 'prod',
  shared: SHARED,
  channels: [{ channel: 'qa/kiosk', since: { version: 4, issuedAt: ago(72) }, now: 'release 4' }],
  agents: agents(4),
  checks: new Map(),
  keys: { bundle: ['ann', 'bob', 'cid'].map(keyOf), authors: [keyOf('office')] },
  ...more,
});

export const judge = (
  wanted: PromotionPolicy | undefined,
  found: GateFacts = facts(),
  {
    entries = [],
    now = NOW,
    asks = null,
  }: { entries?: readonly GateEntry[]; now?: Date; asks?: string | null } = {},
): Verdict =>
  judgeGate(wanted, found, foldDecisions(entries, { from: found.from, to: 'prod', shared: found.shared }), {
    now,
    asks,
  });

export const condition = (verdict: Verdict, name: string): Condition => {
  const found = verdict.conditions.find((one) => one.name === name);
  if (!found)
    throw new Error(`no condition ${name} in ${verdict.conditions.map((one) => one.name).join(', ')}`);
  return found;
};

const common = { fleet: 'acme', reason: 'as planned', time: ago(1), critical: [] };

let entryNumber = 0;
const entry = () => {
  entryNumber += 1;
  return { at: ago(1), payload: `sha256:${String(entryNumber).padStart(64, '0')}` as const };
};

export const approval = (person: string, signer = keyOf(person), shared: Digest = SHARED): GateEntry => ({
  ...entry(),
  kind: 'approval',
  signer,
  predicate: { ...common, to: 'prod', shared, person },
});

/** An approval of what changes in these workspaces only. */
export const approvalFor = (person: string, ...workspaces: readonly string[]): GateEntry => ({
  ...entry(),
  kind: 'approval',
  signer: keyOf(person),
  predicate: {
    ...common,
    to: 'prod',
    shared: SHARED,
    person,
    workspaces,
    critical: ['approvalWorkspaces'],
  },
});

export const changes = (workspaces: readonly string[], others: readonly string[] = []): Changes => ({
  kind: 'known',
  workspaces,
  others,
  packages: [],
});

export const decision = (kind: 'reject' | 'pause' | 'resume', environment = 'prod'): GateEntry => ({
  ...entry(),
  kind: 'decision',
  signer: 'audit',
  predicate: {
    ...common,
    decision: kind,
    environment,
    person: 'eve',
    ...(kind === 'reject' && { shared: SHARED }),
  },
});

export const promotion = (shared: Digest, number = 1): GateEntry => ({
  ...entry(),
  kind: 'promotion',
  signer: 'release',
  predicate: {
    ...common,
    from: 'qa',
    to: 'prod',
    number,
    shared,
    mode: 'manual',
    person: 'ann',
    policy: null,
    verdict: null,
    approvals: [],
    previous: null,
  },
});
