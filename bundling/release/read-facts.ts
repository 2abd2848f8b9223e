import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { VERSION } from '#bundles/version';
import type { ReleaseFacts } from './judge-release.ts';

/** Reads them from a checkout of this repository. @throws FleetError SOURCE_MISSING without one */
export const readFacts = (repository: string): ReleaseFacts => {
  // An unpacked source archive may lie in a checkout of something else.
  if (!existsSync(join(repository, '.git')))
    throw new FleetError('SOURCE_MISSING', `${repository} is not a git checkout`, {
      hint: 'A release is built from a commit: clone the repository',
    });
  const read = (name: string): string => readFileSync(join(repository, name), 'utf8');
  const git = (...words: readonly string[]): readonly string[] =>
    execFileSync('git', words, { cwd: repository, encoding: 'utf8' }).split('\n').filter(Boolean);
  return {
    version: VERSION,
    locked: (JSON.parse(read('package-lock.json')) as { readonly version: string }).version,
    texts: {
      changelog: read('CHANGELOG.md'),
      upgradeNotes: read('docs/upgrade-notes.md'),
      readme: read('README.md'),
      security: read('SECURITY.md'),
    },
    tags: git('tag', '--points-at', 'HEAD'),
    changed: git('status', '--porcelain'),
  };
};
