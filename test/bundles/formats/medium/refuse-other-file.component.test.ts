import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { writeTar } from '#bundles/formats/archive/write-tar';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const tar = async (): Promise<Buffer> => {
  const content = Buffer.from('{}');
  const entry = { path: 'oci-layout', size: content.byteLength, mode: 0o644, content };
  return Buffer.concat(await Array.fromAsync(writeTar([entry])));
};

const iso = (): Buffer => {
  const bytes = Buffer.alloc(40_000);
  bytes.write('CD001', 32_769);
  return bytes;
};

const refusalOf = async (bytes: Buffer): Promise<{ code?: string; message?: string; hint?: string }> => {
  await using folder = await temporaryDirectory();
  const path = join(folder.path, 'medium.tar');
  await writeFile(path, bytes);
  try {
    await (await openMedium(path))[Symbol.asyncDispose]();
    return {};
  } catch (error) {
    const { code, message, hint } = error as { code: string; message: string; hint: string };
    return { code, message: message.replaceAll(path, 'medium.tar'), hint };
  }
};

it.each([
  ['text', async () => Buffer.from('Dear office, here is the stick'), 'starts with "Dear office, her"'],
  ['other bytes', async () => Buffer.alloc(4000, 0x91), 'starts with the bytes 9191919191919191'],
  ['a gzip of a tar', async () => gzipSync(await tar()), 'starts like a gzip file'],
  ['a zstd of a tar', async () => zstdCompressSync(await tar()), 'starts like a zstd file'],
  ['a zip', async () => Buffer.from('PK\x03\x04rest of it'), 'starts like a zip file'],
  ['an ISO', async () => iso(), 'is the image of a disc (ISO 9660)'],
] as const)(
  'a file with %s is refused as MEDIUM_INVALID with its type in the message',
  async (_what, bytes, said) => {
    const { code, message, hint } = await refusalOf(await bytes());
    expect(code).toBe('MEDIUM_INVALID');
    expect(message).toContain(`not a fleet medium: medium.tar ${said}`);
    expect(hint).toMatch(/^[A-Z]/);
  },
);

it('an empty file is refused as TRUNCATED, with a message that it is empty', async () => {
  expect(await refusalOf(Buffer.alloc(0))).toMatchObject({
    code: 'TRUNCATED',
    message: 'not a fleet medium: medium.tar is empty',
  });
});

it('the refusal of a truncated, damaged or foreign tar stays unchanged', async () => {
  const whole = await tar();
  const damaged = Buffer.from(whole);
  damaged[3] = 0x41;
  expect((await refusalOf(whole.subarray(0, 300))).code).toBe('TRUNCATED');
  expect((await refusalOf(whole.subarray(0, 700))).code).toBe('TRUNCATED');
  expect((await refusalOf(damaged)).code).toBe('TAR_CHECKSUM');
  expect(await refusalOf(whole)).toEqual({});
});
