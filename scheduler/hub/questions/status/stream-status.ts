import { setImmediate } from 'node:timers/promises';
import { plainText } from '#bundles/errors';
import type { Printed } from '#cli/format-table';
import { isFailed } from '../../../model/event-steps.ts';
import type { Actual, ActualFilter } from '../state/read-actual.ts';
import {
  type Background,
  describeNobody,
  headOf,
  notesOf,
  type Render,
  readBackground,
  readPart,
  type StatusHub,
  type StatusOptions,
  type StatusPart,
  tailOf,
} from './read-status.ts';
import { isQuiet } from './attention.ts';
import type { ActualAgent, Desired, Row } from '../state/what-runs-where.ts';

/** Agents read at a time: between two pages the program does its other work. */
const AGENTS = 100;

type Streamed = Omit<StatusOptions, 'page'> & { /** Agents a page. */ readonly agents?: number };

/**
 * The whole answer of readStatus as JSON, in pieces: the answer for 10,000 sites exceeds the maximum length of a string. Each
 * page is read on its own, so agents that report meanwhile may be newer than `at`.
 */
export async function* streamJson(
  hub: StatusHub,
  filter: ActualFilter,
  now: Date,
  options: Streamed = {},
): AsyncGenerator<string> {
  const background = await readBackground(hub, filter, now, options);
  const end = startEnd();
  // Not sent before the first page was read: an error until then is the answer.
  let before = `${JSON.stringify(headOf(background)).slice(0, -1)},"rows":[`;
  for await (const part of readParts(hub, background, options)) {
    addPart(end, part);
    yield plainText(`${before}${part.rows.map((row) => JSON.stringify(row)).join(',')}`);
    before = ',';
  }
  const whole = wholeOf(end);
  const tail = tailOf(background, whole, end.rows, notesOf(background, whole, end.rows));
  yield plainText(`],${JSON.stringify(tail).slice(1)}`);
}

/** The same for people: a table for each page, and the notes below the last one. */
export async function* streamLines(
  hub: StatusHub,
  filter: ActualFilter,
  now: Date,
  { render, ...options }: Streamed & { readonly render: Render },
): AsyncGenerator<Printed> {
  const background = await readBackground(hub, filter, now, options);
  const end = startEnd();
  for await (const part of readParts(hub, background, options)) {
    addPart(end, part);
    if (part.rows.length > 0) yield* [...render(part.rows, now), ''];
  }
  const whole = wholeOf(end);
  if (end.agents.length === 0) yield describeNobody(filter);
  else yield* notesOf(background, whole, end.rows);
}

async function* readParts(
  hub: StatusHub,
  background: Background,
  { signal, agents: limit = AGENTS }: Streamed,
): AsyncGenerator<StatusPart> {
  for (let cursor: string | undefined; ; ) {
    const part = await readPart(hub, background, { limit, cursor }, signal);
    yield part;
    if (part.actual.next === null) return;
    cursor = part.actual.next;
    await setImmediate();
  }
}

/** Fields after the rows of all pages. */
type End = {
  /** Without the states of their assignments. */
  readonly agents: ActualAgent[];
  readonly gaps: Actual['gaps'][number][];
  readonly alarms: Actual['alarms'][number][];
  readonly desired: Map<string, Desired>;
  /** Those that failed or need a look. */
  readonly rows: Row[];
};

const startEnd = (): End => ({ agents: [], gaps: [], alarms: [], desired: new Map(), rows: [] });

const addPart = (end: End, { actual, desired, rows }: StatusPart): void => {
  for (const agent of actual.agents) end.agents.push({ ...agent, states: [] });
  end.gaps.push(...actual.gaps);
  end.alarms.push(...actual.alarms);
  for (const [channel, wanted] of desired) end.desired.set(channel, wanted);
  for (const row of rows) if (!isQuiet(row) || isFailed(row.health)) end.rows.push(row);
};

const wholeOf = ({ alarms, desired, ...rest }: End): Omit<StatusPart, 'rows'> => ({
  actual: {
    ...rest,
    alarms: alarms.toSorted((a, b) => order(a.raised_at, b.raised_at) || order(a.id, b.id)),
    next: null,
  },
  desired,
});

const order = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
