import { describe, expect, it } from 'vitest';
import { chooseKept } from '#bundles/transport/collect/choose-kept';
import type { Artifact } from '#bundles/transport/collect/read-artifacts';
import { digestOf } from '#bundles/digest';
import { addDays } from '#bundles/time';

const NOW = new Date('2026-11-21T08:00:00Z');
const LONG_AGO = addDays(NOW, -400);

const statementOf = (number: number) => digestOf(`statement ${number}`);

/** Release `number`, which names the one before. */
const release = (number: number, at = LONG_AGO, previous: number | null = number - 1): Artifact => ({
  digest: digestOf(`artifact ${number}`),
  tag: 'release',
  version: { number, name: `release ${number}`, identity: statementOf(number), at },
  previous: previous === null || previous === 0 ? null : statementOf(previous),
  bundles: [],
});

const HISTORY = [1, 2, 3, 4, 5, 6, 7, 8].map((number) => release(number));

const keptOf = (artifacts: readonly Artifact[], pinned: readonly Artifact[], keep: number, since = NOW) => {
  const kept = chooseKept(artifacts, pinned, { keep, since });
  return artifacts.filter(({ digest }) => kept.has(digest)).map(({ version }) => version.number);
};

describe('the releases that gc keeps', () => {
  it('are the current one and the given number of its predecessors', () => {
    const [current] = HISTORY.slice(-1);
    expect(keptOf(HISTORY, [current as Artifact], 3)).toEqual([5, 6, 7, 8]);
    expect(keptOf(HISTORY, [current as Artifact], 0)).toEqual([8]);
    expect(keptOf(HISTORY, [current as Artifact], 100)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('follow the "previous" links, not the release numbers', () => {
    const odd = HISTORY.map((one) => (one.version.number === 8 ? release(8, LONG_AGO, 4) : one));
    expect(keptOf(odd, [odd.at(-1) as Artifact], 2)).toEqual([3, 4, 8]);
  });

  it('include those younger than the retention period', () => {
    const young = HISTORY.map((one) => (one.version.number === 2 ? release(2, NOW) : one));
    expect(keptOf(young, [young.at(-1) as Artifact], 1, addDays(NOW, -30))).toEqual([2, 7, 8]);
  });

  it('include those newer than the pointer, whose publication is in progress', () => {
    expect(keptOf(HISTORY, [HISTORY[5] as Artifact], 0)).toEqual([6, 7, 8]);
  });

  it('include the one that another pointer names, when the layout is ahead of the registry', () => {
    const ahead = release(9);
    expect(keptOf([...HISTORY, ahead], [HISTORY[7] as Artifact, ahead], 0)).toEqual([8, 9]);
  });

  it('are chosen apart from leases, which have numbers of their own', () => {
    const lease = (number: number): Artifact => ({
      ...release(number, LONG_AGO, null),
      digest: digestOf(`lease ${number}`),
      tag: 'lease',
    });
    const artifacts = [...HISTORY, lease(90), lease(91), lease(92)];
    // Release 8 and lease 92 are on their way, whichever of the two has the higher number.
    expect(keptOf(artifacts, [HISTORY[6] as Artifact, lease(91)], 0)).toEqual([7, 8, 91, 92]);
  });

  it('are only the young ones when there is no pointer', () => {
    expect(keptOf([release(1), release(2, NOW)], [], 5, addDays(NOW, -30))).toEqual([2]);
  });
});
