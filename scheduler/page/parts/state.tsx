import { Badge } from '@mantine/core';
import { ageMarks, isQuiet } from '../../hub/questions/status/attention.ts';
import type { StatusRow as Row } from '#bundles/transport/hub/client';

export type Tone = 'good' | 'quiet' | 'late' | 'bad';

/** Colours of verdicts. The text carries the meaning without them. */
export const State = ({ mood, children }: { readonly mood: Tone; readonly children: string }) => (
  <Badge className={`state ${mood}`} variant="default" radius="sm" tt="none">
    {children}
  </Badge>
);

export const toneOf = (row: Pick<Row, 'verdict' | 'silent' | 'stopped' | 'freshness'>): Tone => {
  if (row.verdict === 'failed' || row.verdict === 'drifted' || row.verdict === 'release refused')
    return 'bad';
  if (!isQuiet(row) || row.freshness === 'late') return 'late';
  return row.verdict === 'complies' ? 'good' : 'quiet';
};

/** The verdict of a row, with its freshness. */
export const Judgement = ({ row }: { readonly row: Row }) => (
  <State mood={toneOf(row)}>{[row.verdict, ...ageMarks(row)].join(', ')}</State>
);

const GATES: Readonly<Record<string, Tone>> = {
  promoted: 'good',
  ready: 'good',
  waiting: 'late',
  paused: 'late',
  rejected: 'bad',
};

/** The state of a gate, such as 'waiting'. */
export const GateState = ({ state }: { readonly state: string }) => (
  <State mood={GATES[state] ?? 'quiet'}>{state}</State>
);
