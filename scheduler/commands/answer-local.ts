import { defined } from '#bundles/defined';
import type { Hub } from '../hub/hub.ts';
import { decideLocalEdits, type LocalDecision } from '../hub/promote/values/decide-local-edits.ts';
import { shortEdit } from '../hub/sites/local-edits.ts';
import { settleSites } from '../hub/sites/layers/settle-sites.ts';
import type { ValuesReview } from '../settings/values-review.ts';
import { appendToLog } from './append-to-log.ts';

type Options = {
  readonly review: ValuesReview | undefined;
  readonly now: Date;
  readonly command: string;
  readonly signal?: AbortSignal | undefined;
};

export type AnsweredLocal = {
  readonly decisions: readonly LocalDecision[];
  readonly lines: readonly string[];
};

/** Decides about the values that people at sites set, and lays the statements out. @returns lines for people; none where nothing waits */
export const answerLocal = async (
  hub: Hub,
  { review, now, command, signal }: Options,
): Promise<AnsweredLocal> => {
  const { decisions, answered } = await decideLocalEdits(hub, { review, now, ...defined({ signal }) });
  // Also those of a call that was interrupted.
  const names = [...new Set(answered.map(({ site }) => site))].map((name) => ({ name }));
  if (names.length > 0) await settleSites(hub, names, { now, command });
  if (decisions.length === 0) return { decisions, lines: [] };
  const waiting = await appendToLog(hub, command, now);
  return { decisions, lines: [...decisions.map(lineOf), ...waiting] };
};

const lineOf = ({ row, outcome, note }: LocalDecision): string => {
  const { agent, name, value, old, person, at, reason, edit } = row;
  const what = `${agent}  local value ${name}: ${old ?? 'nothing'} -> ${value}, by ${person} at ${at}: ${reason}`;
  const id = shortEdit(edit);
  switch (outcome) {
    case 'accepted':
    case 'refused':
      return `${what}  ${outcome} by a rule; the next medium carries the answer`;
    case 'proposed':
      return `${what}  waits for review: fleet-scheduler sites values proposals`;
    case 'waiting':
      return `${what}  waits${note === null ? '' : `, because ${note}`}: fleet-scheduler sites values accept ${id}, or refuse ${id}`;
  }
};
