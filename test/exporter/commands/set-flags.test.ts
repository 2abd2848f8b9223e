import { describe, expect, it } from 'vitest';
import { maxFileSizeOf } from '../../../exporter/commands/set-flags.ts';

describe('--max-file-size', () => {
  it('is parsed as a size, and has no default for a medium that is not a set', () => {
    expect(maxFileSizeOf({ 'max-file-size': '1MiB' }, false)).toEqual({ maxFileSize: 1_048_576 });
    expect(maxFileSizeOf({}, false)).toEqual({});
  });

  it('refuses a size that would cut blobs into too many files', () => {
    expect(() => maxFileSizeOf({ 'max-file-size': '10' }, false)).toThrow(
      expect.objectContaining({
        code: 'USAGE',
        message: '--max-file-size 10 is too small: blobs would be cut into too many files',
      }),
    );
  });
});
