import { describe, expect, it } from 'vitest';
import { encodeHeader } from '#bundles/formats/archive/tar-header';
import { MAX_SUPPORT_BYTES, signSupport, verifySupport } from '#bundles/trust/reports/support';
import { newSigningKey } from '../../../harness/fleets/signed-fleet.ts';

const predicate = {
  fleet: 'acme',
  agent: 'plant-7/press-1',
  request: 'ab'.repeat(8),
  time: '2026-11-21T08:00:00Z',
  clockTrusted: true,
  bootId: 'boot-1',
  version: '1.0.0',
  critical: [],
} as const;
const file = (path: string, text: string) => ({ path, bytes: Buffer.from(text) });
const FILES = [file('journal/app.log', 'one\ntwo\n'), file('doctor.json', '[]\n')];
const key = newSigningKey();

const verify = (bytes: Buffer, by = key) => verifySupport(bytes, by.public, 'the bundle');
const END = 1024;
/** Adds an entry behind the last one. */
const withEntry = (bytes: Buffer, header: Uint8Array, content = Buffer.alloc(0)): Buffer =>
  Buffer.concat([
    bytes.subarray(0, -END),
    header,
    content,
    Buffer.alloc((512 - (content.byteLength % 512)) % 512),
    bytes.subarray(-END),
  ]);
const header = (name: string, size: number) =>
  encodeHeader({ name, prefix: '', size, mode: 0o644, directory: false });

describe('a support bundle', () => {
  it('is one tar signed by its agent, with the files in the order of their paths', async () => {
    const bytes = await signSupport(FILES, predicate, key);
    const { predicate: said, files } = await verify(bytes);
    expect(said).toEqual(predicate);
    expect(files.map(({ path, bytes: content }) => `${path} ${content.toString()}`)).toEqual([
      'doctor.json []\n',
      'journal/app.log one\ntwo\n',
    ]);
  });

  it('has the same bytes for the same files, except for the signature', async () => {
    const [one, other] = [
      await signSupport(FILES, predicate, key),
      await signSupport(FILES.toReversed(), predicate, key),
    ];
    const behind = one.indexOf('doctor.json');
    const same = one.lastIndexOf('doctor.json');
    expect(behind).toBeGreaterThan(0);
    expect(one.subarray(same)).toEqual(other.subarray(other.lastIndexOf('doctor.json')));
  });

  it('B3 of another key, changed, longer, shorter or cut is refused', async () => {
    const bytes = await signSupport(FILES, predicate, key);
    await expect(verify(bytes, newSigningKey())).rejects.toMatchObject({ code: 'UNKNOWN_KEY' });
    const changed = Buffer.from(bytes);
    changed.write('TWO', changed.lastIndexOf('two'));
    await expect(verify(changed)).rejects.toMatchObject({ code: 'DIGEST_MISMATCH' });
    const more = withEntry(bytes, header('extra.txt', 2), Buffer.from('hi'));
    await expect(verify(more)).rejects.toMatchObject({ code: 'DIGEST_MISMATCH' });
    const last = bytes.lastIndexOf('journal/app.log');
    const fewer = Buffer.concat([bytes.subarray(0, last), bytes.subarray(-END)]);
    await expect(verify(fewer)).rejects.toMatchObject({ code: 'MISSING_BLOB' });
    await expect(verify(bytes.subarray(0, -600))).rejects.toMatchObject({ code: 'TRUNCATED' });
    await expect(verify(Buffer.alloc(END))).rejects.toMatchObject({ code: 'UNSIGNED' });
    const unsigned = bytes.subarray(bytes.lastIndexOf('doctor.json'));
    await expect(verify(unsigned)).rejects.toMatchObject({ code: 'UNSIGNED' });
  });

  it.each(['../out', '/etc/passwd', 'a/../../b', 'A.txt'])(
    'B5 with an entry at %s is refused',
    async (path) => {
      const bytes = withEntry(await signSupport(FILES, predicate, key), header(path, 0));
      await expect(verify(bytes)).rejects.toMatchObject({ code: 'BAD_NAME' });
    },
  );

  it('B5 with a link or a device is refused', async () => {
    for (const type of ['1', '2', '3', '6']) {
      const link = Buffer.from(header('link', 0));
      link.write(type, 156);
      link.fill(' ', 148, 156);
      const sum = link.reduce((all, byte) => all + byte, 0);
      link.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
      const bytes = withEntry(await signSupport(FILES, predicate, key), link);
      await expect(verify(bytes)).rejects.toMatchObject({ code: 'ENTRY_TYPE' });
    }
  });

  it('B5 above the size limit is neither written nor read', async () => {
    const large = [file('large.txt', 'x'.repeat(MAX_SUPPORT_BYTES))];
    await expect(signSupport(large, predicate, key)).rejects.toMatchObject({ code: 'TOO_LARGE' });
    await expect(verify(Buffer.alloc(MAX_SUPPORT_BYTES + 1))).rejects.toMatchObject({ code: 'TOO_LARGE' });
  });

  it('cannot be written with a path that readers refuse', async () => {
    await expect(signSupport([file('../x', '')], predicate, key)).rejects.toMatchObject({ code: 'BAD_NAME' });
  });
});
