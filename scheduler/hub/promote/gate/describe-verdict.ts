import { type Digest, shortDigest } from '#bundles/digest';
import { plainLine } from '#bundles/errors';
import { paragraph, type Printed, type Row } from '#cli/format-table';
import { earliestOpening } from '../judge/judge-gate.ts';
import type { Change, Condition, Verdict } from '../judge/verdict.ts';

const CHANGE_TEXTS: Readonly<Record<Change, string>> = {
  network: 'reports over the network',
  medium: 'reports on a medium',
  person: 'a person',
  clock: 'the clock',
  release: 'a release',
  check: 'the answer of a check',
};

/** The verdict for people: one line for each condition, marked with ! if it is not met, with the agents that hold it back. */
export const describeVerdict = (verdict: Verdict, candidate: Digest): readonly Printed[] => {
  const { from, to, state, note, conditions } = verdict;
  return [
    paragraph(
      `${from} to ${to}: candidate ${shortDigest(candidate)}: ${state}${note === null ? '' : `, ${note}`}`,
    ),
    { rows: conditions.flatMap(describeCondition), hang: 6 },
    ...describeNext(verdict),
  ];
};

const describeCondition = (condition: Condition): readonly Row[] => {
  const { name, wanted, found, met, holding, earliest } = condition;
  const when = met || earliest === null ? '' : `; at ${earliest} at the earliest`;
  return [
    [`${met ? ' ' : '!'} ${name}`, `${found}  (wanted: ${wanted}${when})`],
    ...holding.first.map((line) => `    ${line}`),
    ...(holding.count > holding.first.length ? [`    and ${holding.count - holding.first.length} more`] : []),
  ];
};

const describeNext = (verdict: Verdict): readonly string[] => {
  if (verdict.state !== 'waiting') return [];
  const earliest = earliestOpening(verdict);
  if (earliest !== undefined) return [`It can open at ${earliest} at the earliest.`];
  const news = new Set(verdict.conditions.flatMap(({ changedBy }) => changedBy));
  const expected = expectedOpening(verdict);
  const named = [...news].map((one) =>
    one === 'medium' && expected !== undefined
      ? `${CHANGE_TEXTS.medium} (expected by ${expected})`
      : CHANGE_TEXTS[one],
  );
  return [`It can open after: ${named.join(', ')}.`];
};

/** By when the media that the gate waits for are expected; undefined if it waits for none, or one has no expected day. */
const expectedOpening = ({ conditions }: Verdict): string | undefined => {
  const waiting = conditions.filter(({ changedBy }) => changedBy.includes('medium'));
  if (waiting.some(({ expectedBy }) => expectedBy === undefined)) return undefined;
  return waiting
    .flatMap(({ expectedBy }) => expectedBy ?? [])
    .toSorted()
    .at(-1);
};

/** 'soak: 2 of 4 agents, wanted 1 d without a break' */
export const whyNotMet = ({ name, found, wanted }: Condition): string =>
  `${name}: ${plainLine(found)}, wanted ${wanted}`;

/**
 * Why a gate is not ready, in one sentence: the first condition with what was found, and the names of the others. null for a candidate that is promoted
 * or ready.
 */
export const reasonOf = ({ state, note, conditions, from }: Verdict): string | null => {
  const [open, ...others] = conditions.filter(({ met }) => !met);
  const also = others.length === 0 ? '' : `; also not met: ${others.map(({ name }) => name).join(', ')}`;
  switch (state) {
    case 'ready':
    case 'promoted':
      return null;
    case 'superseded':
      return `${from} runs another candidate`;
    case 'waiting':
    case 'rejected':
    case 'paused':
      return note ?? (open ? `${whyNotMet(open)}${also}` : null);
  }
};

/** The verdict for programs. */
export const verdictJson = (verdict: Verdict, candidate: Digest): object => ({
  ...verdict,
  candidate,
  earliest: earliestOpening(verdict) ?? null,
  expectedBy: expectedOpening(verdict) ?? null,
});
