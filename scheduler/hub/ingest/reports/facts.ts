import type { Event, Outcome } from '#bundles/formats/events/event';
import { formatChannel } from '#bundles/names';
import type { HistoryField } from '../../store/history-row.ts';
import type { AssignmentStateRow } from '../../store/tables.ts';
import { driftOf, isStep, runningOf } from '../../../model/event-steps.ts';

/** Version of the rules in this file. A database with an older one is rebuilt when a hub opens it. */
export const HISTORY_VERSION = 2;

/** Value of one field of an assignment, or of the agent ('' as assignment), in an event. */
export type Fact = {
  readonly seq: number;
  readonly assignment: string;
  readonly field: HistoryField;
  readonly value: string | null;
};

/** The facts in an event; facts about an assignment by the rules of foldEvent. */
export const factsOf = (event: Event): readonly Fact[] => {
  const { seq, assignment } = event;
  if (assignment === undefined) return ownFacts(event).map((fact) => ({ seq, assignment: '', ...fact }));
  const running = runningOf(event);
  const drift = driftOf(event);
  return [
    ...(running
      ? [
          { seq, assignment, field: 'package', value: running.package } as const,
          { seq, assignment, field: 'values', value: running.site_values } as const,
        ]
      : []),
    ...(isStep(event) ? [{ seq, assignment, field: 'health', value: healthOf(event) } as const] : []),
    ...(drift ? [{ seq, assignment, field: 'drift', value: driftWord(drift.drifted) } as const] : []),
  ];
};

/** Facts about the agent in an event. */
const ownFacts = (event: Event): readonly Pick<Fact, 'field' | 'value'>[] => {
  switch (event.type) {
    case 'imported':
      return importedFacts(event);
    case 'held':
    case 'released':
      return [{ field: 'hold', value: event.type }];
    default:
      return [];
  }
};

/** Value of the field `release`. */
export const releaseValue = (channel: string, version: number): string => `${channel} r${version}`;

const importedFacts = ({ release, siteValues }: Event): readonly Pick<Fact, 'field' | 'value'>[] => [
  ...(release
    ? [{ field: 'release', value: releaseValue(formatChannel(release), release.version) } as const]
    : []),
  ...(siteValues === undefined ? [] : [{ field: 'values', value: siteValues } as const]),
];

/** The newest value of a field in the state of an assignment, and the event that it comes from. */
export const knownFact = (
  state: AssignmentStateRow,
  field: HistoryField,
): { readonly seq: number; readonly value: string | null } => {
  switch (field) {
    case 'package':
      return { seq: state.running_seq, value: state.package };
    case 'values':
      return { seq: state.running_seq, value: state.site_values };
    case 'health':
      return { seq: state.outcome_seq, value: stateHealth(state) };
    case 'drift':
      return { seq: state.drift_seq, value: driftWord(state.drifted) };
    case 'release':
    case 'hold':
      return { seq: 0, value: null };
  }
};

/** The value of a field before any event: no drift is known of a package that was not installed yet. */
export const startOf = (field: HistoryField): string | null => (field === 'drift' ? driftWord(0) : null);

const driftWord = (drifted: number): string => (drifted === 1 ? 'drifted' : 'in sync');

const stateHealth = (state: AssignmentStateRow): string | null =>
  state.outcome_seq === 0
    ? null
    : healthValue({
        outcome: state.outcome,
        type: state.outcome_type ?? '',
        code: state.code,
        package: state.outcome_package,
      });

const healthOf = ({ outcome, type, code, package: digest }: Event): string =>
  healthValue({ outcome: outcome ?? null, type, code: code ?? null, package: digest ?? null });

type Step = { readonly outcome: Outcome | null; readonly type: string; readonly code: string | null };

/** 'healthy', 'unknown', 'deleted', or with code and package: 'failed CHECK_FAILED sha256:...'. */
const healthValue = (step: Step & { readonly package: string | null }): string => {
  const word = healthText(step);
  if (word === 'healthy' || word === 'unknown' || word === 'deleted') return word;
  return [word, step.code, step.package].filter((part) => part !== null).join(' ');
};

/** The health of a package in one or two words, from its last step. */
export const healthText = ({
  outcome,
  type,
  code,
}: Step): 'rolled back' | 'failed' | 'skipped' | 'deleted' | 'unknown' | 'healthy' => {
  if (type === 'rolled-back') return 'rolled back';
  if (outcome === 'failed' || outcome === 'skipped' || outcome === 'deleted') return outcome;
  return code === 'HEALTH_UNKNOWN' ? 'unknown' : 'healthy';
};
