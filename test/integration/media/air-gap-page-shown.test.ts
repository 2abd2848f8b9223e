import { describe, expect, it } from 'vitest';
import { firstUntrue, inThisRun, type Known } from './air-gap-page/match-output.ts';
import { readTypedPage } from './air-gap-page/typed-page.ts';

const [A, B, C] = ['a', 'b', 'c'].map((digit) => digit.repeat(64));
const untrue = (shown: readonly string[], said: string, known: Known = new Map()): string | undefined =>
  firstUntrue(shown, said, known);

describe('the shown output of a page', () => {
  it('is compared word by word, except for times, sizes and column widths', () => {
    const said = 'PACKAGE   OUTCOME\nscale     created\n5.74 MiB written at 2026-11-22T08:21:29Z\n';
    expect(
      untrue(['PACKAGE  OUTCOME', 'scale  created', '1 bytes written at 2020-01-01T00:00:00Z'], said),
    ).toBeUndefined();
    expect(untrue(['PACKAGE  OUTCOME', 'scale  kept'], said)).toBe('scale  kept');
    expect(untrue(['5.74 MiB read at 2026-11-22T08:21:29Z'], said)).toBe(
      '5.74 MiB read at 2026-11-22T08:21:29Z',
    );
  });

  it('leaves out lines only at "...", at the beginning and at the end', () => {
    const said = 'one\ntwo\nthree\nfour\n';
    expect(untrue(['two', 'three'], said)).toBeUndefined();
    expect(untrue(['one', 'three'], said)).toBe('three');
    expect(untrue(['one', '...', 'four'], said)).toBeUndefined();
    expect(untrue(['two', '...', 'one'], said)).toBe('one');
  });

  it('has the same digest at each use of a placeholder', () => {
    const known: Known = new Map();
    expect(untrue([`key ${A}`], `key ${B}\n`, known)).toBeUndefined();
    expect(inThisRun(`--accept ${A}`, known)).toBe(`--accept ${B}`);
    expect(untrue([`again ${A}`], `again ${C}\n`, known)).toBe(`again ${A}`);
    expect(untrue([`again ${A}`], `again ${B}\n`, known)).toBeUndefined();
  });
});

describe('readTypedPage', () => {
  it('returns the blocks with the place of their heading and the output shown after them', () => {
    const page =
      '## 1. At the plant: ask\n```sh\nask\n```\n\n    yes\n\n    no\nText.\n\n    not this\n### At the office\n```text\nx\n```\n```sh\na\nb\n```\n';
    expect(readTypedPage(page)).toEqual([
      { place: 'plant', heading: '1. At the plant: ask', script: 'ask', shown: ['yes', 'no'] },
      { place: 'office', heading: 'At the office', script: 'a\nb', shown: [] },
    ]);
    expect(() => readTypedPage('## Somewhere\n```sh\nx\n```\n')).toThrow('Nobody knows where to type');
  });
});
