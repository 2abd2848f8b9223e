import type { StatusRow as Row } from '#bundles/transport/hub/client';
import { isQuiet } from '../../hub/questions/status/attention.ts';

/** The scale of states: each has a colour, a shape and words. */
export type Tone = 'good' | 'quiet' | 'late' | 'bad';

export const toneOf = (row: Pick<Row, 'verdict' | 'silent' | 'stopped' | 'freshness'>): Tone => {
  if (row.verdict === 'failed' || row.verdict === 'drifted' || row.verdict === 'release refused')
    return 'bad';
  if (!isQuiet(row) || row.freshness === 'late') return 'late';
  return row.verdict === 'complies' ? 'good' : 'quiet';
};
