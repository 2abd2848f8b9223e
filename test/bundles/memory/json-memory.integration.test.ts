import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { LONG } from '../../harness/run/long.ts';
import type { Flood } from './flood.ts';
import type { ReaderName } from './readers.ts';

/** The agent's unit gives it 512 MiB; what it does besides reading has to fit as well. */
const MOST_MIB = 400;
const READ_FLOOD = join(import.meta.dirname, 'read-flood.ts');

/** One process of 2 CPU seconds for each: a usual run takes the first of them. */
const usual = <T>(all: readonly T[]): readonly T[] => (LONG ? all : all.slice(0, 1));

const read = async (reader: ReaderName, kind: Flood | 'real') => {
  const args = ['--max-semi-space-size=1', '--max-old-space-size=320', READ_FLOOD, reader, kind];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  return JSON.parse(stdout) as { readonly answer: string; readonly mib: number };
};

describe('the memory for a document of maximum size', () => {
  it.each<[Flood, number]>(
    usual([
      ['empty objects', 220],
      ['one wide string', 220],
    ]),
  )('F1: is bounded for an unknown field full of %s -> ACCEPT', async (kind, most) => {
    const { answer, mib } = await read('medium.json, unknown field', kind);
    expect(answer).toBe('ACCEPT');
    expect(mib).toBeLessThan(most);
  });

  it.each<[ReaderName, Flood]>(
    usual([
      ['medium.json, unknown field', 'distinct keys'],
      ['medium.json, known field', 'empty objects'],
      ['index.json', 'integers'],
      ['needs', 'arrays of one'],
    ]),
  )('F2: %s, of %s, which need many times their bytes in memory -> TOO_LARGE', async (reader, kind) => {
    const { answer, mib } = await read(reader, kind);
    expect(answer).toBe('TOO_LARGE');
    expect(mib).toBeLessThan(MOST_MIB);
  });

  it('is bounded for a realistic table of contents, which is accepted', async () => {
    const { answer, mib } = await read('medium.json, known field', 'real');
    expect(answer).toBe('ACCEPT');
    expect(mib).toBeLessThan(MOST_MIB);
  });
});
