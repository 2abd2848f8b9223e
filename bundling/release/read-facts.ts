import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '#bundles/version';
import type { ReleaseFacts } from './judge-release.ts';

/** Of a checkout of this repository. @throws Error if git cannot read it */
export const readFacts = (repository: string): ReleaseFacts => {
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
