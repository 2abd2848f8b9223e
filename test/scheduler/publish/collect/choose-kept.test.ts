import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { addDays } from '#bundles/time';
import { chooseKept } from '../../../../scheduler/publish/collect/choose-kept.ts';
import type { Artifact } from '../../../../scheduler/publish/collect/read-artifacts.ts';

const NOW = new Date('2026-11-21T08:00:00Z');
const LONG_AGO = addDays(NOW, -400);

const statementOf = (number: number) => digestOf(`statement ${number}`);

/** Release `number`, which names the one before. */
const release = (number: number, at = LONG_AGO, previous: number | null = number - 1): Artifact => ({
  digest: digestOf(`artifact ${number}`),
  order: { number, name: `release ${number}`, identity: statementOf(number), at },
  previous: previous === null || previous === 0 ? null : statementOf(previous),
  bundles: [],
});

const HISTORY = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => release(number));

const keptOf = (artifacts: readonly Artifact[], pinned: readonly Artifact[], keep: number, since = NOW) => {
  const kept = chooseKept(artifacts, pinned, { keep, since });
  return artifacts.filter(({ digest }) => kept.has(digest)).map(({ order }) => order.number);
};

describe('the releases that stay', () => {
  it('are the current one and as many before it as asked for', () => {
    const [current] = HISTORY.slice(-1);
    expect(keptOf(HISTORY, [current as Artifact], 3)).toEqual([5, 6, 7, 8]);
    expect(keptOf(HISTORY, [current as Artifact], 0)).toEqual([8]);
    expect(keptOf(HISTORY, [current as Artifact], 100)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('follow what each says came before it, not the numbers', () => {
    const odd = HISTORY.map((one) => (one.order.number === 8 ? release(8, LONG_AGO, 4) : one));
    expect(keptOf(odd, [odd.at(-1) as Artifact], 2)).toEqual([3, 4, 8]);
  });

  it('are also the young ones', () => {
    const young = HISTORY.map((one) => (one.order.number === 2 ? release(2, NOW) : one));
    expect(keptOf(young, [young.at(-1) as Artifact], 1, addDays(NOW, -30))).toEqual([2, 7, 8]);
  });

  it('are also those that are newer than the pointer, and on their way', () => {
    expect(keptOf(HISTORY, [HISTORY[5] as Artifact], 0)).toEqual([6, 7, 8]);
  });

  it('are also what another pointer names: the layout is ahead of the registry', () => {
    const ahead = release(9);
    expect(keptOf([...HISTORY, ahead], [HISTORY[7] as Artifact, ahead], 0)).toEqual([8, 9]);
  });

  it('are nothing but the young ones where no pointer is', () => {
    expect(keptOf([release(1), release(2, NOW)], [], 5, addDays(NOW, -30))).toEqual([2]);
  });
});
