import { expect, test } from 'vitest';
import { FleetError } from '#bundles/errors';
import { signNewer } from '../../../../scheduler/release/sign/sign-newer.ts';

const refusingBelow = (least: number, tried: number[] = []) => ({
  tried,
  sign: async (version: number): Promise<number> => {
    tried.push(version);
    if (version < least) throw new FleetError('NOT_NEWER', 'signed already');
    return version;
  },
});

test('signNewer skips used numbers up to the first free one', async () => {
  const { sign, tried } = refusingBelow(9);
  expect(await signNewer(7, sign)).toBe(9);
  expect(tried).toEqual([7, 8, 9]);
});

test('signNewer gives up after 100 numbers, as with an old copy of a layout', async () => {
  const { sign, tried } = refusingBelow(1_000);
  await expect(signNewer(1, sign)).rejects.toMatchObject({ code: 'NOT_NEWER' });
  expect(tried.length).toBe(101);
});

test('signNewer stops at any other refusal', async () => {
  const tried: number[] = [];
  const sign = async (version: number): Promise<number> => {
    tried.push(version);
    throw new FleetError('APPROVAL_MISSING', 'one of two');
  };
  await expect(signNewer(1, sign)).rejects.toMatchObject({ code: 'APPROVAL_MISSING' });
  expect(tried).toEqual([1]);
});
