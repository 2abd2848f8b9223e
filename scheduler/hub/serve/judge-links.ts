import type { Logger } from 'pino';
import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import { openOrStartLayout, referenceOf } from '#bundles/formats/layout/layout';
import { formatTime } from '#bundles/time';
import { openKeyDirectory } from '../../keys/key-directory.ts';
import { AUDIT_REFERENCE } from '../../load/releases/references.ts';
import type { Promotion } from '../../model/promotion.ts';
import { type Configuration, requireSetting } from '../../settings/configuration.ts';
import { assessDecided, type Decided, readDecided } from '../promote/gate/assess.ts';
import type { GateHub } from '../promote/gate/gate-hub.ts';
import { reasonOf } from '../promote/gate/describe-verdict.ts';
import { isDueForCheck } from '../promote/judge/judge-check.ts';
import { earliestOpening } from '../promote/judge/judge-gate.ts';
import { type Link, linksOf } from '../promote/facts/link.ts';
import type { OpenChanges } from '../promote/facts/read-changes.ts';
import type { Verdict } from '../promote/judge/verdict.ts';
import { type LinkState, recordLinkStates } from '../questions/state/link-states.ts';
import type { Store } from '../store/open-store.ts';
import type { Database } from '../store/tables.ts';
import type { CheckAsker } from './ask-checks.ts';
import { heldFromPolicy, promoteIfOpen, type PromoteOptions } from './promote-open.ts';

export type JudgeOptions = Omit<PromoteOptions, 'signal'> & {
  readonly configuration: Configuration;
  readonly store: Store;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  /** Asks the checks of the link's policy that are due; their answers change the next judgement. */
  readonly askChecks: CheckAsker['ask'];
  /** Changes that a candidate would make, for approvals by workspace. */
  readonly openChanges?: OpenChanges;
  /** Called after a promotion, so that the build that follows from it begins. */
  readonly onPromoted: () => void;
};

export type LinkJudge = {
  /** The chain and the policies as the last build read them. Without any call no link is judged. */
  readonly follow: (promotion: Promotion) => void;
  /**
   * Judges every link and promotes candidates whose policy promotes automatically. Failures are logged and tried again in the
   * next round.
   */
  readonly round: (signal: AbortSignal) => Promise<void>;
};

type Judged = Omit<LinkState, 'since'>;

/** Facts that a link was judged by, so that unchanged facts are not read again. */
type Known = {
  /** Of the releases of the earlier environment, the audit log and the policy. */
  readonly decidedBy: string;
  readonly decided: Decided;
  /** Of the agents of the earlier environment and the answers of checks; absent for a candidate that needs no verdict. */
  readonly judgement?: { readonly by: string; readonly verdict: Verdict; readonly until: number };
};

/** Facts that none of the marks notices, such as a label that changed, are found after this time. */
const JUDGE_INTERVAL_MS = 300_000;

/**
 * Judges the links of the chain, for `status`, the log and links with `mode: automatic`. Reports are only read when the agents of the
 * earlier environment said something or the clock can open the gate, and never for a candidate that is promoted or rejected.
 */
export const createLinkJudge = (options: JudgeOptions): LinkJudge => {
  const { configuration, store, clock, log, askChecks, openChanges, onPromoted } = options;
  const known = new Map<string, Known>();
  let links: readonly Link[] = [];
  let followed = false;

  const judge = async (hub: GateHub, link: Link, signal: AbortSignal): Promise<Known> => {
    const before = known.get(link.to);
    const decidedBy = await markOfDecisions(hub.layout, link);
    const isUnchanged = before?.decidedBy === decidedBy;
    const decided = isUnchanged ? before.decided : await readDecided(hub, link, { signal });
    if (isSettled(decided)) return { decidedBy, decided };
    const by = await markOfFacts(store.db, link, decided.candidate.shared);
    const last = isUnchanged ? before.judgement : undefined;
    const now = clock();
    if (last?.by === by && now.getTime() < last.until) return before ?? { decidedBy, decided };
    const { verdict } = await assessDecided(hub, decided, { now, signal, asks: null });
    const opens = new Date(earliestOpening(verdict) ?? Number.NaN).getTime();
    const latest = now.getTime() + JUDGE_INTERVAL_MS;
    const until = opens > now.getTime() ? Math.min(opens, latest) : latest;
    return { decidedBy, decided, judgement: { by, verdict, until } };
  };

  const follow = async (
    hub: GateHub,
    link: Link,
    { decided, judgement }: Known,
    signal: AbortSignal,
  ): Promise<Judged> => {
    const { candidate, decisions } = decided;
    const common = { from: link.from, to: link.to, mode: modeOf(link), ...candidateOf(decided) };
    if (!judgement) return { ...common, ...settledState(decided), ...NOTHING_UNMET };
    const { verdict } = judgement;
    const { state } = verdict;
    if (isDueForCheck(verdict)) await askChecks(hub, { ...decided, link });
    const unmet =
      state === 'waiting' ? verdict.conditions.filter(({ met }) => !met).map(({ name }) => name) : [];
    if (state !== 'ready')
      return { ...common, state, waitsFor: unmet[0] ?? null, unmet, why: reasonOf(verdict) };
    const byHand = `promote it with: fleet-scheduler promote ${link.to}`;
    if (link.policy?.mode !== 'automatic') return { ...common, state, ...NOTHING_UNMET, why: byHand };
    const held = heldFromPolicy(decisions.promoted);
    if (held !== undefined)
      return { ...common, state, ...NOTHING_UNMET, why: `${held}: fleet-scheduler promote ${link.to}` };
    const made = await promoteIfOpen(
      { ...hub, readChanges: openChanges?.(true) },
      { link, candidate },
      { ...options, signal },
    );
    known.delete(link.to);
    if (!made)
      return { ...common, state: 'waiting', ...NOTHING_UNMET, why: 'it changed while it was judged' };
    log.info({ ...common, number: made.number, policy: link.policy.name }, 'promoted');
    onPromoted();
    return { ...common, state: 'promoted', ...NOTHING_UNMET, why: null };
  };

  const one = async (hub: GateHub, link: Link, signal: AbortSignal): Promise<Judged> => {
    try {
      const found = await judge(hub, link, signal);
      known.set(link.to, found);
      return await follow(hub, link, found, signal);
    } catch (error) {
      signal.throwIfAborted();
      const decided = known.get(link.to)?.decided;
      known.delete(link.to);
      const fault = toFleetError(error, `judging the promotion from ${link.from} to ${link.to}`);
      return {
        from: link.from,
        to: link.to,
        mode: modeOf(link),
        state: 'waiting',
        candidate: decided?.candidate.candidate ?? null,
        waitsFor: fault.code,
        unmet: [],
        why: `${fault.code}: ${fault.message}`,
      };
    }
  };

  const round = async (signal: AbortSignal): Promise<void> => {
    if (!followed) return;
    // Read in every round: officers may install a new root while the hub runs.
    const keys = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const layout = requireSetting(configuration, 'layout');
    const hub: GateHub = { keys, store, layout, readChanges: openChanges?.(false) };
    const judged: Judged[] = [];
    for (const link of links) judged.push(await one(hub, link, signal));
    for (const { from, to, state, candidate, why } of await recordLinkStates(
      store,
      judged,
      formatTime(clock()),
    ))
      log.info(
        defined({ from, to, state, candidate: candidate || undefined, why: why ?? undefined }),
        'gate',
      );
  };

  return {
    follow: (promotion) => {
      links = linksOf(promotion);
      followed = true;
    },
    round,
  };
};

const NOTHING_UNMET = { waitsFor: null, unmet: [] } as const;

const modeOf = ({ policy }: Link): Judged['mode'] => policy?.mode ?? 'manual';

const candidateOf = ({ candidate: { candidate } }: Decided): Pick<Judged, 'candidate'> => ({ candidate });

/** Decided for good: no report changes it. */
const isSettled = ({ decisions: { rejected, promoted } }: Decided): boolean =>
  rejected !== undefined || promoted === 'now';

const settledState = ({ decisions: { rejected } }: Decided): Pick<Judged, 'state' | 'why'> =>
  rejected === undefined ? { state: 'promoted', why: null } : { state: 'rejected', why: rejected };

/** Changes with every release of both environments, every entry of the audit log, and the policy. */
const markOfDecisions = async (directory: string, { from, to, policy }: Link): Promise<string> => {
  const { manifests } = await openOrStartLayout(directory);
  const read = manifests.filter((descriptor) => {
    const reference = referenceOf(descriptor);
    return (
      reference === AUDIT_REFERENCE ||
      reference?.startsWith(`${from}/`) ||
      // Approvals by workspace depend on what the later environment has.
      (policy?.approvals !== undefined && reference?.startsWith(`${to}/`))
    );
  });
  return JSON.stringify([policy, read.map((descriptor) => [referenceOf(descriptor), descriptor.digest])]);
};

/**
 * Changes when an agent of the earlier environment reports, is heard, is enrolled or revoked, and when a check answers. One read of the
 * agents, without their reports.
 */
const markOfFacts = async (db: Database, { from, to }: Link, shared: Digest): Promise<string> => {
  const agents = await db
    .selectFrom('agent')
    .select(({ fn }) => [
      fn.countAll().as('agents'),
      fn.sum('head_seq').as('events'),
      fn.sum('life').as('lives'),
      fn.max('said_at').as('said'),
      fn.max('online_at').as('online'),
    ])
    .where('environment', '=', from)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  const checks = await db
    .selectFrom('gate_check')
    .select(['id', 'state', 'at'])
    .where('environment', '=', to)
    .where('shared', '=', shared)
    .orderBy('id')
    .execute();
  return JSON.stringify([agents, checks]);
};
