import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { checkBehindWriting } from '../../../../exporter/write/device/check-behind-writing.ts';
import type { FileSpan, ReadBackOptions } from '../../../../exporter/plan/medium/read-back.ts';

const SPANS: readonly FileSpan[] = [0, 1, 2, 3].map((at) => ({
  path: 'file',
  offset: at * 10,
  // The second is empty, as files are.
  size: at === 1 ? 0 : 10,
  digest: digestOf(String(at)),
  whole: false,
}));
const [first, second, third, last] = SPANS;

/** Says of each span what is said here, and keeps which were looked at. */
const lookingBy = (say: (span: FileSpan, signal?: AbortSignal) => boolean | Promise<boolean>) => {
  const looked: FileSpan[] = [];
  const holds = async (span: FileSpan, { signal }: ReadBackOptions): Promise<boolean> => {
    looked.push(span);
    await turn();
    return await say(span, signal);
  };
  return { holds, looked };
};

describe('checkBehindWriting', () => {
  it('checks each span once, in order, after it was written completely', async () => {
    const { holds, looked } = lookingBy(() => true);
    await using check = checkBehindWriting(SPANS, {}, holds);
    check.reached(9);
    await turn();
    expect(looked).toEqual([]);
    check.reached(10);
    check.reached(29);
    for (let turns = 0; turns < 5; turns += 1) await turn();
    expect(looked).toEqual([first, second]);
    check.reached(1000);
    check.reached(1000);
    expect(await check.end()).toBeUndefined();
    expect(looked).toEqual([first, second, third, last]);
  });

  it('returns the first wrong span, and checks none after it', async () => {
    const { holds, looked } = lookingBy((span) => span === first);
    await using check = checkBehindWriting(SPANS, {}, holds);
    check.reached(40);
    expect(await check.end()).toBe(second);
    expect(looked).toEqual([first, second]);
  });

  it('returns nothing when no span was written', async () => {
    const { holds, looked } = lookingBy(() => false);
    await using check = checkBehindWriting(SPANS, {}, holds);
    expect(await check.end()).toBeUndefined();
    expect(looked).toEqual([]);
  });

  it('throws the error of a check to the writer and at the end', async () => {
    const { holds, looked } = lookingBy(() => {
      throw new Error('the stick is gone');
    });
    await using check = checkBehindWriting(SPANS, {}, holds);
    check.reached(10);
    for (let turns = 0; turns < 5; turns += 1) await turn();
    expect(() => check.reached(20)).toThrow('the stick is gone');
    await expect(check.end()).rejects.toThrow('the stick is gone');
    expect(looked).toEqual([first]);
  });

  it('reports the bytes of a span with the span', async () => {
    const told: unknown[] = [];
    const holds = async ({ size }: FileSpan, { onBytes }: ReadBackOptions): Promise<boolean> => {
      onBytes?.(size);
      return true;
    };
    await using check = checkBehindWriting(SPANS, { onBytes: (...one) => told.push(one) }, holds);
    check.reached(40);
    await check.end();
    expect(told).toEqual([first, second, third, last].map((span) => [span?.size, span]));
  });

  it('stops checking when it is disposed of', async () => {
    const { holds, looked } = lookingBy(async (_, signal) => {
      if (!signal) return true;
      if (!signal.aborted) await once(signal, 'abort');
      throw signal.reason;
    });
    {
      await using check = checkBehindWriting(SPANS, {}, holds);
      check.reached(40);
      await turn();
    }
    expect(looked).toEqual([first]);
  });
});
