import { FleetError } from '#bundles/errors';

const FACTORS: Readonly<Record<string, number>> = {
  '': 1,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
  kB: 10 ** 3,
  KB: 10 ** 3,
  MB: 10 ** 6,
  GB: 10 ** 9,
  TB: 10 ** 12,
};

/** '4GiB-1', '30GB' as media are sold, '1000000': bytes. @throws FleetError USAGE */
export const parseSize = (text: string): number => {
  const [, number, unit = '', less = '0'] =
    /^(\d{1,15})(KiB|MiB|GiB|TiB|kB|KB|MB|GB|TB)?(?:-(\d{1,9}))?$/.exec(text) ?? [];
  const bytes = Number(number) * (FACTORS[unit] ?? 1) - Number(less);
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new FleetError('USAGE', `${JSON.stringify(text)} is not a size`, {
    hint: 'Write bytes, or a size like 700MiB, 30GB or 4GiB-1',
  });
};
