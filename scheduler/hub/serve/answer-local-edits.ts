import type { Logger } from 'pino';
import type { ValuesReview } from '../../settings/values-review.ts';
import type { Hub } from '../hub.ts';
import {
  decideLocalEdits,
  type LocalDecision,
  type ValuesRepository,
} from '../promote/values/decide-local-edits.ts';
import { writeSites } from '../sites/write-site.ts';
import type { Term } from './lead.ts';

export type AnswererOptions = Pick<Term, 'confirm'> & {
  readonly hub: Hub;
  readonly review: ValuesReview | undefined;
  /** Where the repository decides. */
  readonly repository: ValuesRepository | undefined;
  readonly clock: () => Date;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
};

/**
 * Decides about the values that people at sites set (decideLocalEdits), and lays out the statements of their sites. What waits for a person is logged
 * once.
 */
export const createLocalAnswerer = ({
  hub,
  review,
  repository: given,
  clock,
  log,
  confirm,
}: AnswererOptions) => {
  const repository = given && askingSeldom(given, clock);
  const logged = new Set<string>();
  const laidOut = new Set<string>();
  const logOnce = ({ row, outcome, note }: LocalDecision): void => {
    const { agent, name, person, edit } = row;
    const key = `${edit} ${outcome} ${note}`;
    if (logged.has(key)) return;
    logged.add(key);
    log.info({ agent, name, person, edit, outcome, note }, 'local value of a site');
  };
  return async (signal: AbortSignal): Promise<void> => {
    await confirm();
    const { decisions, answered } = await decideLocalEdits(hub, { review, repository, now: clock(), signal });
    for (const one of decisions) logOnce(one);
    const due = answered.filter(({ edit }) => !laidOut.has(edit));
    const names = [...new Set(due.map(({ site }) => site))].map((name) => ({ name }));
    if (names.length > 0) await writeSites(hub, names, { now: clock(), command: 'serve', waitMs: 0 });
    for (const { edit } of due) laidOut.add(edit);
  };
};

/** Interval between questions about one pull request: forges limit requests, and rounds are frequent. */
const ASK_MS = 300_000;

const askingSeldom = (repository: ValuesRepository, clock: () => Date): ValuesRepository => {
  const asked = new Map<string, number>();
  return {
    ...repository,
    declined: async (proposal) => {
      const now = clock().getTime();
      if (Math.abs(now - (asked.get(proposal) ?? 0)) < ASK_MS) return undefined;
      asked.set(proposal, now);
      return await repository.declined(proposal);
    },
  };
};
