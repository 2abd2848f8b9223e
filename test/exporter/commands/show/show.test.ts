import { describe, expect, it } from 'vitest';
import { formatBytes } from '#cli/format-bytes';
import { parseSize } from '../../../../exporter/commands/show/parse-size.ts';
import { refusal } from '../../../bundles/refusal.ts';

describe('parseSize and formatBytes', () => {
  it.each([
    ['1', 1],
    ['1000000', 1_000_000],
    ['700MiB', 734_003_200],
    ['4GiB-1', 4_294_967_295],
    ['1KiB', 1024],
    ['100KB', 100_000],
    ['100kB', 100_000],
  ])('parse %s', (text, bytes) => {
    expect(parseSize(text)).toBe(bytes);
  });

  it.each(['', '0', '-5', '4Gb', '1.5GiB', '4 GiB', '1KiB-1024', '999999999TiB', 'GiB'])(
    'refuse %j as a size',
    (text) => {
      expect(refusal(() => parseSize(text))).toBe('USAGE');
    },
  );

  it.each([
    [0, '0 bytes'],
    [1023, '1023 bytes'],
    [1024, '1.00 KiB'],
    [10_239, '10.0 KiB'],
    [1_048_575, '1.00 MiB'],
    [2 ** 30 - 1, '1.00 GiB'],
    [1_384_120, '1.32 MiB'],
    [540_075_520, '515.1 MiB'],
    [2 ** 50, '1024.0 TiB'],
  ])('format %d', (bytes, text) => {
    expect(formatBytes(bytes)).toBe(text);
  });
});
