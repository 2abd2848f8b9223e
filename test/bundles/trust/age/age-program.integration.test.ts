import { createReadStream } from 'node:fs';
import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openAge } from '#bundles/trust/age/open-age';
import { sealAge } from '#bundles/trust/age/seal-age';
import { type AgeIdentity, generateAgeIdentity } from '#bundles/trust/age/recipient';
import { describeWith } from '../../../harness/run/describe-with.ts';
import { runCommand, runOrFail } from '../../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { content, inMemory, readAll } from './in-memory.ts';

const CHUNK = 64 << 10;
const SIZES = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, (5 << 20) + 3];

describeWith(['age'], 'age, the reference reader and writer of sealed parts', ({ age }) => {
  let folder: TemporaryDirectory;
  let one: AgeIdentity;
  let two: AgeIdentity;
  const at = (name: string) => join(folder.path, name);

  beforeAll(async () => {
    folder = await temporaryDirectory('age');
    [one, two] = [await generateAgeIdentity(), await generateAgeIdentity()];
    await writeFile(at('two.txt'), `${two.identity}\n`, { mode: 0o600 });
  });
  afterAll(() => folder?.[Symbol.asyncDispose]());

  it.each(SIZES)('decrypts %i bytes that sealAge sealed to two recipients', async (size) => {
    await writeFile(at('plain'), content(size));
    const { seal } = await sealAge([one.recipient, two.recipient]);
    await writeFile(at('ours.age'), seal(createReadStream(at('plain'))));
    await runOrFail([age, '--decrypt', '-i', at('two.txt'), '-o', at('opened'), at('ours.age')]);
    // Of nothing, age makes no file.
    const opened = size === 0 ? Buffer.alloc(0) : await readFile(at('opened'));
    expect(opened.equals(content(size))).toBe(true);
  });

  it.each(SIZES)('encrypts %i bytes that openAge opens', async (size) => {
    await writeFile(at('plain'), content(size));
    const recipients = ['-r', one.recipient, '-r', two.recipient];
    await runOrFail([age, ...recipients, '-o', at('theirs.age'), at('plain')]);
    const handle = await open(at('theirs.age'));
    await using opened = await openAge(
      {
        size: (await handle.stat()).size,
        read: (...args) => handle.read(...args),
        [Symbol.asyncDispose]: () => handle.close(),
      },
      [two.identity],
    );
    expect((await readAll(opened)).equals(content(size))).toBe(true);
  });

  it('refuses the same truncated and changed files as openAge', async () => {
    const plain = content(3 * CHUNK + 9);
    await writeFile(at('plain'), plain);
    await runOrFail([age, '-r', two.recipient, '-o', at('whole.age'), at('plain')]);
    const whole = await readFile(at('whole.age'));
    const begin = whole.byteLength - plain.byteLength - 4 * 16;
    const flipped = (place: number) => {
      const copy = Buffer.from(whole);
      copy.writeUInt8(copy.readUInt8(place) ^ 0x40, place);
      return copy;
    };
    const bad = [
      ...[30, begin - 30, begin - 3, begin + 5, begin + CHUNK + 20, whole.byteLength - 3].map(flipped),
      ...[begin, begin + CHUNK + 16, begin + 3 * (CHUNK + 16), whole.byteLength - 1].map((length) =>
        whole.subarray(0, length),
      ),
      Buffer.concat([whole, whole.subarray(-25)]),
    ];
    for (const bytes of bad) {
      await writeFile(at('bad.age'), bytes);
      const { code } = await runCommand([
        age,
        '--decrypt',
        '-i',
        at('two.txt'),
        '-o',
        '/dev/null',
        at('bad.age'),
      ]);
      expect(code).not.toBe(0);
      await expect(
        openAge(inMemory(bytes), [two.identity]).then((opened) => readAll(opened)),
      ).rejects.toMatchObject({
        name: 'FleetError',
      });
    }
  });
});
