import { gzipSync, zstdCompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { FleetError } from '#bundles/errors';
import { ar, CONTROL, type Member, makeDeb, read, tar } from '../make-deb.ts';
import { runs } from '../../../../harness/run/long.ts';

const binary: Member = { name: 'debian-binary', bytes: '2.0\n' };
const data: Member = { name: 'data.tar.xz', bytes: 'whatever' };
const control = (text = CONTROL): Member => ({
  name: 'control.tar.gz',
  bytes: gzipSync(tar({ './control': text })),
});

describe('a Debian package', () => {
  test('is read with the fields of its control file in their order', async () => {
    expect(await read(makeDeb())).toEqual({
      package: 'hello',
      version: '2.10-3',
      architecture: 'amd64',
      fields: [
        { name: 'Package', value: 'hello' },
        { name: 'Version', value: '2.10-3' },
        { name: 'Architecture', value: 'amd64' },
        { name: 'Description', value: 'greets\n and waves' },
      ],
    });
  });

  test.each([
    ['not at all', { name: 'control.tar', bytes: tar({ './control': CONTROL }) }],
    ['by zstd', { name: 'control.tar.zst', bytes: zstdCompressSync(tar({ './control': CONTROL })) }],
    ['with a name of no folder', { name: 'control.tar.gz', bytes: gzipSync(tar({ control: CONTROL })) }],
  ])('may have its control archive compressed %s', async (_, member) => {
    expect(await read(ar([binary, member, data]))).toMatchObject({ package: 'hello' });
  });

  test('compressed by xz is passed to the xz program', async () => {
    const packed = ar([binary, { name: 'control.tar.xz', bytes: 'XZ' }, data]);
    const unxz = async (bytes: Buffer) => tar({ './control': `${CONTROL}Section: ${bytes.toString()}\n` });
    expect((await read(packed, unxz)).fields.at(-1)).toEqual({ name: 'Section', value: 'XZ' });
  });

  test('may have members that begin with an underscore, which are ignored', async () => {
    expect(await read(ar([binary, { name: '_sig', bytes: 'abc' }, control(), data]))).toMatchObject({
      version: '2.10-3',
    });
  });

  test.each<[string, Buffer, string]>([
    ['a page about it', Buffer.from('<!doctype html>'), 'it is not an ar archive'],
    ['another archive', ar([{ name: 'x.o', bytes: '' }]), 'its first member is not debian-binary'],
    ['of a format to come', ar([{ name: 'debian-binary', bytes: '3.0\n' }]), 'it is not of format 2'],
    ['without a control archive', ar([binary]), 'it has no control archive'],
    ['without what it installs', ar([binary, control()]), 'it has no data archive'],
    [
      'with two things to install',
      ar([binary, control(), data, data]),
      'it has a member data.tar.xz too many',
    ],
    [
      'packed by something else',
      ar([binary, { name: 'control.tar.lzma', bytes: '' }, data]),
      'its second member is control.tar.lzma',
    ],
    [
      'with a damaged control archive',
      ar([binary, { name: 'control.tar.gz', bytes: 'no gzip' }, data]),
      'its control archive is damaged',
    ],
    [
      'with a control archive that unpacks for ever',
      ar([binary, { name: 'control.tar.gz', bytes: gzipSync(Buffer.alloc((16 << 20) + 1)) }, data]),
      'its control archive',
    ],
    [
      'with a control archive of gigabytes',
      ar([binary, { name: 'control.tar', bytes: '', size: '9999999999' }, data]),
      'has 9999999999 bytes, more than the 8388608 that are read',
    ],
    [
      'with two control files',
      ar([
        binary,
        {
          name: 'control.tar',
          bytes: tar([
            ['./control', CONTROL],
            ['control', CONTROL.replace('hello', 'other')],
          ]),
        },
        data,
      ]),
      'its control archive has two control files',
    ],
    [
      'whose control file is a link',
      ar([binary, { name: 'control.tar', bytes: withType(tar({ './control': '' }), '2') }, data]),
      'a symbolic link',
    ],
    ['with a name that climbs', ar([binary, { name: '../x', bytes: '' }]), 'a member of it is called "../x"'],
  ])('%s is refused', async (_, deb, why) => {
    const error = await read(deb).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ code: 'CONTENT_INVALID' });
    expect((error as FleetError).message).toContain(why);
  });

  test.each([
    ['a path as its name', CONTROL.replace('hello', '../../etc/x'), 'its Package "../../etc/x" is not valid'],
    ['a path as its version', CONTROL.replace('2.10-3', '1/../2'), 'its Version "1/../2" is not valid'],
    ['no architecture', CONTROL.replace(/Architecture.*\n/, ''), 'has no Architecture'],
    ['another package behind an empty line', `${CONTROL}\nPackage: evil\n`, 'more than one paragraph'],
    ['another package behind a line of blanks', `${CONTROL} \nPackage: evil\n`, 'more than one paragraph'],
    ['where apt shall find it', `${CONTROL}Filename: /etc/shadow\n`, 'Filename, which only an index says'],
    ['its own check sum', `${CONTROL}sha256: 00\n`, 'sha256, which only an index says'],
    ['a field twice', `${CONTROL}version: 9\n`, 'version twice'],
    ['a carriage return', CONTROL.replace('greets', 'greets\r'), 'a control character'],
    ['a line that is not a field', `${CONTROL}nothing\n`, 'a line that is not a field'],
    ['its first line indented', ` x\n${CONTROL}`, 'begins in the middle of a field'],
  ])('whose control file has %s is refused', async (_, text, why) => {
    await expect(read(makeDeb(text))).rejects.toMatchObject({
      code: 'CONTENT_INVALID',
      message: expect.stringContaining(why) as string,
    });
  });

  test('truncated anywhere is refused: CONTENT_INVALID', async () => {
    const deb = makeDeb();
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: deb.length - 2 }), async (length) => {
        await expect(read(deb.subarray(0, length))).rejects.toMatchObject({ code: 'CONTENT_INVALID' });
      }),
      { numRuns: runs(60) },
    );
  });

  test('with changed bytes is read or refused with CONTENT_INVALID', async () => {
    const deb = makeDeb();
    const change = fc.tuple(fc.integer({ min: 0, max: deb.length - 1 }), fc.integer({ min: 0, max: 255 }));
    await fc.assert(
      fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
        const changed = Buffer.from(deb);
        for (const [at, value] of changes) changed[at] = value;
        const result = await read(changed).catch((error: unknown) => error);
        if (result instanceof Error) expect(result).toMatchObject({ code: 'CONTENT_INVALID' });
        else expect(result).toMatchObject({ package: 'hello' });
      }),
      { numRuns: runs(200) },
    );
  });
});

/** The first entry of a tar with another type, its check sum made right again. */
function withType(archive: Buffer, type: string): Buffer {
  const changed = Buffer.from(archive);
  changed.write(type, 156, 'latin1');
  changed.fill(' ', 148, 156);
  const sum = changed.subarray(0, 512).reduce((total, byte) => total + byte, 0);
  changed.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  return changed;
}
