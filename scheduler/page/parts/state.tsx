import { Badge } from '@mantine/core';
import { ageMarks } from '../../hub/questions/status/attention.ts';
import type { StatusRow as Row } from '#bundles/schemas/types/hub-decisions';
import { type Tone, toneOf } from './tone.ts';

export type { Tone } from './tone.ts';

/** Outlines by tone: a disc, a ring, a triangle and a cross differ without their colours. */
const SHAPES: Readonly<Record<Tone, string>> = {
  good: 'M6 1a5 5 0 1 0 0 10a5 5 0 1 0 0-10z',
  quiet: 'M6 1a5 5 0 1 0 0 10a5 5 0 1 0 0-10zm0 2a3 3 0 1 1 0 6a3 3 0 1 1 0-6z',
  late: 'M6 1l5.5 10h-11z',
  bad: 'M1 3l2-2l3 3l3-3l2 2l-3 3l3 3l-2 2l-3-3l-3 3l-2-2l3-3z',
};

/** The shape of a tone, in its colour. */
export const Shape = ({ tone }: { readonly tone: Tone }) => (
  <svg className={`shape ${tone}`} viewBox="0 0 12 12" aria-hidden="true">
    <path d={SHAPES[tone]} fillRule="evenodd" />
  </svg>
);

/** A verdict in one scale of colours and shapes for all views. The text carries the meaning without them. */
export const State = ({ mood, children }: { readonly mood: Tone; readonly children: string }) => (
  <Badge
    className={`state ${mood}`}
    variant="default"
    radius="sm"
    tt="none"
    leftSection={<Shape tone={mood} />}
  >
    {children}
  </Badge>
);

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
