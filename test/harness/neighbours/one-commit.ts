import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FolderTemplate, readTemplate, writeTemplate } from '../fleets/folder-template.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import { makeGitRepository } from './git-repository.ts';

type Made = { readonly template: FolderTemplate; readonly commit: string };

let made: Promise<Made> | undefined;

/** Writes a bare repository with one commit on main: made once for each process, then copied. @returns the id of the commit */
export const writeOneCommit = async (path: string): Promise<string> => {
  const { template, commit } = await (made ??= makeOneCommit());
  writeTemplate(template, path);
  return commit;
};

const makeOneCommit = async (): Promise<Made> => {
  await using folder = await temporaryDirectory('one-commit');
  const [work, bare] = [join(folder.path, 'app'), join(folder.path, 'app.git')];
  await mkdir(work);
  await writeFile(join(work, 'one.txt'), 'one');
  const { main = '' } = await makeGitRepository(bare, { main: work });
  return { template: await readTemplate(bare), commit: main };
};
