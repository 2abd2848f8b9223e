import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import { writeInto } from '../../../../../agent/apply/host/execute/write-into.ts';
import { openFolder } from '../../../../../agent/apply/host/live/open-folder.ts';

/** `node write-on-btrfs.ts <folder>`: writes a blob of a store in the folder to a file in it, again once the blob is damaged, and prints what came of it. */
const [folder = ''] = process.argv.slice(2);
const bytes = randomBytes(4 << 20);
const digest = digestOf(bytes);
const store = openBlobDirectory(folder, 'the store');
await store.write(digest, bytes.length, bytes);
await mkdir(join(folder, 'files'));

const write = async (name: string): Promise<string> => {
  await using target = await openFolder(folder, '/files');
  if (!target) throw new Error('the folder of files is missing');
  const { signal } = new AbortController();
  const content = { path: store.path(digest), digest, size: bytes.length, store: 'the store', signal };
  try {
    await writeInto(target, name, content, { mode: 0o640, owner: null }, `/files/${name}`);
    return 'written';
  } catch (error) {
    return toFleetError(error).code;
  }
};

const outcomes = [await write('whole')];
const file = join(folder, 'files', 'whole');
const found = {
  isEqual: bytes.equals(await readFile(file)),
  mode: ((await stat(file)).mode & 0o777).toString(8),
};
const isShared = execFileSync('filefrag', ['-v', file]).includes('shared');
await writeFile(store.path(digest), randomBytes(bytes.length));
outcomes.push(await write('damaged'));
await writeFile(store.path(digest), Buffer.concat([bytes, randomBytes(4096)]));
outcomes.push(await write('longer'));
process.stdout.write(
  JSON.stringify({ ...found, isShared, outcomes, names: await readdir(join(folder, 'files')) }),
);
