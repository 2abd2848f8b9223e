import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from '../harness/run/run-command.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const MAX_SUBJECT = 72;

/** Subjects of the commits that main does not have; none in a tree without a history, or on main. */
const ownSubjects = async (): Promise<readonly string[]> => {
  for (const main of ['origin/main', 'main']) {
    const argv = ['git', '-C', ROOT, 'log', '--no-merges', '--format=%s', `${main}..HEAD`];
    const { code, stdout } = await runCommand(argv, { env: { PATH: process.env['PATH'] } });
    if (code === 0) return stdout.split('\n').filter((subject) => subject !== '');
  }
  return [];
};

it('subjects of new commits fit into a line and end without a period', async () => {
  const wrong = (await ownSubjects()).filter(
    (subject) => subject.length > MAX_SUBJECT || subject.endsWith('.'),
  );
  expect(wrong).toEqual([]);
});
