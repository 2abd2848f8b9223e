import { describe, expect, it } from 'vitest';
import { maxFileSizeOf } from '../../../exporter/commands/set-flags.ts';

describe('the size of files on a medium', () => {
  it('is taken as given', () => {
    expect(maxFileSizeOf({ 'max-file-size': '1MiB' }, false)).toEqual({ maxFileSize: 1_048_576 });
    expect(maxFileSizeOf({}, false)).toEqual({});
  });

  it('is refused where it would make countless files', () => {
    expect(() => maxFileSizeOf({ 'max-file-size': '10' }, false)).toThrow(
      expect.objectContaining({
        code: 'USAGE',
        message: '--max-file-size 10 is too small: blobs would be cut into too many files',
      }),
    );
  });
});
