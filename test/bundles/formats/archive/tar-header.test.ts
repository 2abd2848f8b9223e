import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeHeader, encodeHeader, MAX_SIZE } from '../../../../bundles/formats/archive/tar-header.ts';
import { rawHeader } from './raw-tar.ts';
import { verdict } from './streams.ts';

test('decodeHeader reads what encodeHeader writes', () => {
  const header = fc.record({
    name: fc.stringMatching(/^[a-z0-9._/-]{1,100}$/u),
    prefix: fc.stringMatching(/^[a-z0-9._/-]{0,155}$/u),
    mode: fc.constantFrom(0o644, 0o755),
    shape: fc.oneof(
      fc.record({ size: fc.integer({ min: 0, max: MAX_SIZE }), directory: fc.constant(false) }),
      fc.record({ size: fc.constant(0), directory: fc.constant(true) }),
    ),
  });
  fc.assert(
    fc.property(header, ({ shape, ...rest }) => {
      expect(decodeHeader(encodeHeader({ ...rest, ...shape }), 0)).toEqual({ ...rest, ...shape });
    }),
  );
});

test('encodeHeader writes the same bytes as the reference header', () => {
  const ours = encodeHeader({ name: 'oci-layout', prefix: '', size: 30, mode: 0o644, directory: false });
  expect(ours).toEqual(rawHeader({ name: 'oci-layout', content: 'x'.repeat(30) }));
});

test('decodeHeader accepts a header as GNU tar writes it', () => {
  expect(decodeHeader(rawHeader({ name: 'a', magic: 'ustar  \0' }), 0).name).toBe('a');
});

test.each([
  ['TAR_CHECKSUM', 'a flipped bit', { name: 'a', checksum: '000001\0 ' }],
  ['TAR_CHECKSUM', 'a checksum that is not a number', { name: 'a', checksum: 'abcdefgh' }],
  ['ENTRY_TYPE', 'no ustar magic', { name: 'a', magic: '' }],
  ['ENTRY_TYPE', 'GNU tar times where ustar has the prefix', { name: 'a', magic: 'ustar  \0', prefix: '1' }],
  ['ENTRY_TYPE', 'a file with a link target', { name: 'a', linkName: '/etc/passwd' }],
  ['ENTRY_TYPE', 'bytes behind the prefix', { name: 'a', rest: 'tar' }],
  ['ENTRY_TYPE', 'a mode that is not octal', { name: 'a', mode: '99999999' }],
  ['TAR_SIZE', 'a directory with content', { name: 'a/', type: '5', size: '00000001000\0' }],
  ['TAR_SIZE', 'a size without its end', { name: 'a', size: '777777777777' }],
  ['TAR_SIZE', 'digits behind the end of the size', { name: 'a', size: '0000000\x00012\0' }],
  ['BAD_NAME', 'a name that is not UTF-8', { name: Buffer.from([0x61, 0xff]) }],
])('%s refuses %s', async (code, _what, entry) => {
  expect(await verdict(() => decodeHeader(rawHeader(entry), 0))).toBe(code);
});

test.each([
  ['BAD_NAME', { name: '', size: 0 }],
  ['BAD_NAME', { name: 'x'.repeat(101), size: 0 }],
  ['BAD_NAME', { name: 'x', prefix: 'y'.repeat(156), size: 0 }],
  ['TAR_SIZE', { name: 'x', size: MAX_SIZE + 1 }],
  ['TAR_SIZE', { name: 'x', size: -1 }],
  ['TAR_SIZE', { name: 'x', size: 0.5 }],
])('%s refuses to write %j', async (code, header) => {
  const rest = { prefix: '', mode: 0o644, directory: false };
  expect(await verdict(() => encodeHeader({ ...rest, ...header }))).toBe(code);
});

test('decodeHeader reads any 512 bytes or refuses them with a code', async () => {
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ minLength: 512, maxLength: 512 }), async (block) => {
      await verdict(() => decodeHeader(block, 0));
    }),
  );
});
