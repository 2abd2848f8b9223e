import { compareBytes } from '#bundles/digest';
import { formatChannel } from '#bundles/names';
import type { Overview } from '#bundles/schemas/types/hub-decisions';
import { DAY_MS, parseTime, type Timestamp } from '#bundles/time';
import { agentAssignment } from '../state/read-failed-checks.ts';
import type { FailedCheck, Health, JudgedAssignment, Verdict } from '../state/what-runs-where.ts';
import type { Judged } from './judge-agents.ts';

/** One thing that is wrong, at all sites where it is. */
export type Cause = Overview['causes'][number];
type CauseKind = Cause['kind'];
type Example = Cause['examples'][number];
/** A verdict that needs a look. */
type CauseVerdict = Exclude<Verdict, 'complies' | 'not selected' | 'held'>;

/** Causes of an answer: those at the most sites, so that one site with many failed checks does not displace the causes of others. */
const MAX_CAUSES = 100;
/** Examples of a cause. */
const MAX_EXAMPLES = 5;

/** The worst first. Those at the end follow from others, or end with the next report. */
const ORDER: readonly CauseKind[] = [
  'failed',
  'release refused',
  'drifted',
  'service stopped',
  'silent',
  'stale',
  'missing',
  'extra',
  'unknown',
  'never reported',
  'no release',
  'behind',
  'late',
];

type Key = Pick<Cause, 'kind' | 'code' | 'check' | 'assignment' | 'channel'>;

type Case = {
  readonly key: Key;
  readonly site: number;
  readonly at: Timestamp | null;
  readonly message: string | null;
  readonly example: Example;
};

type Grouping = {
  /** Failed checks by agentAssignment. */
  readonly checks: ReadonlyMap<string, readonly FailedCheck[]>;
  /** Index of a site in the list of sites. */
  readonly siteAt: ReadonlyMap<string, number>;
  readonly now: Date;
};

/** Groups all that needs a look by its cause, the worst first, then the one with the most sites. */
export const groupCauses = (
  agents: readonly Judged[],
  { checks, siteAt, now }: Grouping,
): readonly Cause[] => {
  const cases = agents.flatMap((agent) => casesOf(agent, checks, siteAt.get(agent.agent.site) ?? -1));
  return [...Map.groupBy(cases, ({ key }) => Object.values(key).join('\n')).values()]
    .flatMap((alike) => {
      const [first] = alike;
      return first ? [causeOf(first.key, alike, now)] : [];
    })
    .toSorted((a, b) => b.sites.length - a.sites.length || worstFirst(a, b))
    .slice(0, MAX_CAUSES)
    .toSorted(worstFirst);
};

const worstFirst = (a: Cause, b: Cause): number =>
  ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind) ||
  b.sites.length - a.sites.length ||
  compareBytes(nameOf(a), nameOf(b));

const nameOf = ({ code, check, assignment, channel }: Key): string =>
  [code, check, assignment, channel].filter((part) => part !== null).join(' ');

const causeOf = (key: Key, cases: readonly Case[], now: Date): Cause => {
  const newestFirst = cases.toSorted((a, b) => compareBytes(b.at ?? '', a.at ?? ''));
  const times = newestFirst.flatMap(({ at }) => at ?? []);
  return {
    ...key,
    message: newestFirst[0]?.message ?? null,
    sites: [...new Set(cases.map(({ site }) => site))].toSorted((a, b) => a - b),
    agents: new Set(cases.map(({ example }) => `${example.site}/${example.agent}`)).size,
    assignments: cases.length,
    since: times.at(-1) ?? null,
    newest: times[0] ?? null,
    recent: times.filter((at) => now.getTime() - parseTime(at).getTime() < DAY_MS).length,
    examples: newestFirst.slice(0, MAX_EXAMPLES).map(({ example }) => example),
  };
};

const NOTHING: Omit<Key, 'kind'> = { code: null, check: null, assignment: null, channel: null };

const casesOf = (judged: Judged, checks: Grouping['checks'], site: number): readonly Case[] => {
  const { agent, freshness, rows } = judged;
  const example = { site: agent.site, agent: agent.agent };
  const own = (kind: CauseKind): Case => ({
    key: { kind, ...NOTHING },
    site,
    at: agent.saidAt,
    message: null,
    example: { ...example, assignment: null },
  });
  const words: Case[] = [];
  if (agent.stopped === true) words.push(own('service stopped'));
  if (agent.silent) words.push(own('silent'));
  if (freshness === 'stale' || freshness === 'late') words.push(own(freshness));
  return [
    ...words,
    ...rows.flatMap((row): readonly Case[] => {
      if (!isCause(row.verdict)) return [];
      if (row.verdict === 'never reported') return [own(row.verdict)];
      const failed =
        row.assignment === null
          ? []
          : (checks.get(agentAssignment(`${agent.site}/${agent.agent}`, row.assignment)) ?? []);
      return keysOf(row.verdict, row, formatChannel(agent.channel), failed).map(({ key, message, at }) => ({
        key,
        site,
        at,
        message,
        example: { ...example, assignment: row.assignment },
      }));
    }),
  ];
};

const isCause = (verdict: Verdict): verdict is CauseVerdict =>
  verdict !== 'complies' && verdict !== 'not selected' && verdict !== 'held';

type Keyed = Pick<Case, 'key' | 'message' | 'at'>;

/** The causes of a row: of a failure with several failed checks, one for each. */
const keysOf = (
  kind: CauseVerdict,
  { assignment, health, drift }: JudgedAssignment<unknown>,
  channel: string,
  failed: readonly FailedCheck[],
): readonly Keyed[] => {
  switch (kind) {
    case 'failed': {
      const code = codeOf(health);
      const said = saidOf(health);
      if (failed.length === 0) return [{ key: { kind, ...NOTHING, code, assignment }, ...said }];
      return failed.map(({ name, message }) => ({
        key: { kind, ...NOTHING, code, check: name },
        ...said,
        message,
      }));
    }
    case 'drifted':
      return [{ key: { kind, ...NOTHING, assignment }, ...saidOf(drift) }];
    case 'unknown':
      return [{ key: { kind, ...NOTHING, assignment }, ...saidOf(health) }];
    case 'behind':
    case 'missing':
    case 'extra':
    case 'no release':
    case 'release refused':
      return [{ key: { kind, ...NOTHING, channel }, message: null, at: null }];
    case 'stale':
    case 'never reported':
      return [{ key: { kind, ...NOTHING }, message: null, at: null }];
  }
};

const saidOf = (
  event: { readonly message?: string | null | undefined; readonly at: Timestamp } | null | undefined,
): Pick<Case, 'message' | 'at'> => ({ message: event?.message ?? null, at: event?.at ?? null });

const codeOf = (health: Health | null): string | null => health?.code ?? health?.type ?? null;
