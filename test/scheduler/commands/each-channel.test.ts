import { afterEach, expect, it } from 'vitest';
import { FleetError } from '#bundles/errors';
import { parseChannel } from '#bundles/names';
import { eachChannel } from '../../../scheduler/commands/each-channel.ts';

const CHANNELS = ['prod/a', 'prod/b', 'prod/c'].map(parseChannel);

/** b fails by this code. */
const round = async (code: 'ROLLBACK' | 'KEY_MISSING' | 'ABORTED') => {
  const said: string[] = [];
  const order = {
    doing: 'renewing',
    fatal: ['KEY_MISSING'] as const,
    signal: new AbortController().signal,
    say: (line: string) => void said.push(line),
  };
  const outcomes = await eachChannel(CHANNELS, order, async ({ clusterType }) => {
    if (clusterType === 'b') throw new FleetError(code, 'it is older');
    return { version: 2 };
  });
  return { said, outcomes };
};

const exit = process.exitCode;
afterEach(() => {
  process.exitCode = exit;
});

it('reports the channel that fails, continues with the others, and sets its exit code', async () => {
  const { said, outcomes } = await round('ROLLBACK');
  expect(said).toEqual([expect.stringMatching(/^prod\/b: .*it is older/)]);
  expect(outcomes).toEqual([
    { channel: 'prod/a', version: 2 },
    { channel: 'prod/b', outcome: 'failed', error: expect.objectContaining({ code: 'ROLLBACK' }) },
    { channel: 'prod/c', version: 2 },
  ]);
  expect(process.exitCode).toBe(new FleetError('ROLLBACK', '').exitCode);
});

it.each(['KEY_MISSING', 'ABORTED'] as const)(
  'eachChannel stops at %s, which every channel would have',
  async (code) => {
    await expect(round(code)).rejects.toMatchObject({ code });
  },
);
