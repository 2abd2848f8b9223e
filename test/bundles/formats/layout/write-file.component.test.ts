import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

async function* failing() {
  yield Buffer.from('half of the new');
  throw new Error('the stick was pulled');
}

describe('writeFileAtomically', () => {
  it('creates the file and its folders with the given mode, and no other file', async () => {
    await using folder = await temporaryDirectory();
    await writeFileAtomically(join(folder.path, 'a/b/c'), Buffer.from('new'), 0o600);
    expect(await readFile(join(folder.path, 'a/b/c'), 'utf8')).toBe('new');
    expect(await readdir(join(folder.path, 'a/b'))).toEqual(['c']);
    expect((await stat(join(folder.path, 'a/b/c'))).mode & 0o777).toBe(0o600);
  });

  it('keeps the old file or none when the write fails midway, and leaves no temporary file', async () => {
    await using folder = await temporaryDirectory();
    await writeFile(join(folder.path, 'old'), 'old');
    for (const name of ['old', 'fresh']) {
      await expect(writeFileAtomically(join(folder.path, name), failing())).rejects.toThrow('pulled');
    }
    expect(await readdir(folder.path)).toEqual(['old']);
    expect(await readFile(join(folder.path, 'old'), 'utf8')).toBe('old');
  });

  it('shows a reader the old file or the new one at any moment, never a part', async () => {
    await using folder = await temporaryDirectory();
    const file = join(folder.path, 'file');
    const texts = ['old '.repeat(20_000), 'new '.repeat(30_000)];
    await writeFileAtomically(file, Buffer.from(texts[0] ?? ''));
    const progress = { done: false };
    const writing = (async () => {
      for (let turn = 1; turn <= 10; turn++) {
        await writeFileAtomically(file, Buffer.from(texts[turn % 2] ?? ''));
      }
      progress.done = true;
    })();
    const seen = new Set<string>();
    while (!progress.done) seen.add(await readFile(file, 'utf8'));
    await writing;
    expect(texts).toEqual(expect.arrayContaining([...seen]));
    expect(await readdir(folder.path)).toEqual(['file']);
  });

  it("leaves no temporary file when a folder has the target's name", async () => {
    await using folder = await temporaryDirectory();
    await mkdir(join(folder.path, 'taken/inside'), { recursive: true });
    await expect(writeFileAtomically(join(folder.path, 'taken'), Buffer.from('x'))).rejects.toThrow();
    expect(await readdir(folder.path)).toEqual(['taken']);
  });
});
