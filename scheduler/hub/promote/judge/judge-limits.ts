import { defined } from '#bundles/defined';
import { formatCount } from '#bundles/format-count';
import { nameSome } from '#bundles/name-some';
import type { Changes } from '../facts/facts.ts';
import { changesOutside } from './judge-approvals.ts';
import type { Condition, Verdict } from './verdict.ts';

/** Limits of a person who decides only for workspaces. */
export type Limits = {
  readonly workspaces: readonly string[];
  /** Whether the person may know a workspace by name. */
  readonly sees: (workspace: string) => boolean;
};

/**
 * Why a person who is limited to workspaces may not decide about a candidate, as the end of a sentence about the candidate; undefined:
 * the person may.
 * @param part the decision is about the person's part alone, so one workspace that changes is enough; otherwise all must be theirs
 */
export const whyOutsideLimits = (
  changes: Changes,
  { workspaces, sees }: Limits,
  part: boolean,
): string | undefined => {
  if (changes.kind === 'unknown') return 'because what it changes is not known now';
  if (!changes.workspaces.some((workspace) => workspaces.includes(workspace)))
    return `which changes nothing of ${nameSome(workspaces)}`;
  if (part) return undefined;
  const beyond = changesOutside({ ...changes, others: [] }, workspaces);
  const shown = beyond.filter(sees);
  const hidden = beyond.length - shown.length;
  const named = [
    ...shown,
    ...(hidden > 0 ? [`${formatCount(hidden, 'workspace')} that you may not see`] : []),
    ...(changes.others.length > 0 ? ['what no workspace owns'] : []),
  ];
  return named.length === 0 ? undefined : `which also changes ${named.join(', ')}`;
};

/**
 * A verdict as a person sees it who may only see some workspaces: without the agents, assignments and people that hold conditions back,
 * and with the names of these workspaces alone.
 */
export const limitVerdict = (verdict: Verdict, { sees }: Pick<Limits, 'sees'>): Verdict => ({
  ...verdict,
  conditions: verdict.conditions.map((condition) => limitCondition(condition, sees)),
});

const limitCondition = (condition: Condition, sees: Limits['sees']): Condition => {
  const { workspaces, met } = condition;
  const shown = workspaces?.filter(({ workspace }) => sees(workspace));
  const waiting = shown?.filter(({ wanted, found }) => !met && found < wanted) ?? [];
  return {
    ...condition,
    holding: {
      count: condition.holding.count,
      first: waiting.map(({ workspace, wanted, found }) => `${workspace}: ${found} of ${wanted}`),
    },
    ...defined({ workspaces: shown }),
  };
};
