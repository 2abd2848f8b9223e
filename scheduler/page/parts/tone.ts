import type { Overview, StatusRow as Row } from '#bundles/schemas/types/hub-decisions';
import { isQuiet } from '../../hub/questions/status/attention.ts';

/** The scale of states: each has a colour, a shape and words. */
export type Tone = 'good' | 'quiet' | 'late' | 'bad';

/** The worst first. */
export const TONES: readonly Tone[] = ['bad', 'late', 'quiet', 'good'];

type Judged = Pick<Row, 'verdict' | 'silent' | 'stopped' | 'freshness'>;

/** Whether a verdict, or the kind of a cause, is a failure. */
export const isBad = (kind: Row['verdict'] | Overview['causes'][number]['kind']): boolean =>
  kind === 'failed' || kind === 'drifted' || kind === 'release refused';

export const toneOf = (row: Judged): Tone => {
  if (isBad(row.verdict)) return 'bad';
  if (!isQuiet(row) || row.freshness === 'late') return 'late';
  return row.verdict === 'complies' ? 'good' : 'quiet';
};

/** Orders by tone, the worst first. */
export const byTone = (a: Judged, b: Judged): number => TONES.indexOf(toneOf(a)) - TONES.indexOf(toneOf(b));
