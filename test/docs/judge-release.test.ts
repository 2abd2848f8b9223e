import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { VERSION } from '#bundles/version';
import { judgeRelease, type ReleaseFacts } from '../../bundling/release/judge-release.ts';

const REPOSITORY = join(import.meta.dirname, '../..');
const read = (name: string): string => readFileSync(join(REPOSITORY, name), 'utf8');

const READY: ReleaseFacts = {
  version: '0.2.0',
  locked: '0.2.0',
  texts: {
    changelog:
      '# Changelog\n\n## Unreleased\n\n## 0.2.0 - 2026-12-01\n\n- Added: a thing.\n\n## 0.1.0 - 2026-11-01\n',
    upgradeNotes: '# Upgrade notes\n\n## To 0.2.0\n\n## To 0.1.0\n',
    readme: 'This is version 0.2.',
    security: '| the newest minor version (0.2) | all |',
  },
  tags: ['v0.2.0'],
  changed: [],
};
const withTexts = (texts: Partial<ReleaseFacts['texts']>): ReleaseFacts => ({
  ...READY,
  texts: { ...READY.texts, ...texts },
});

describe('judgeRelease', () => {
  it('finds nothing where the version, the texts, the commit and the tag agree', () => {
    expect(judgeRelease(READY)).toEqual([]);
  });

  it.each<[string, ReleaseFacts, RegExp]>([
    ['another locked version', { ...READY, locked: '0.1.0' }, /^package-lock\.json has version 0\.1\.0/],
    [
      'entries that belong to no release',
      withTexts({ changelog: '## Unreleased\n\n- Fixed: it.\n\n## 0.1.0 - 2026-11-01\n' }),
      /^CHANGELOG\.md:1: rename "Unreleased" to "0\.2\.0 - <date>"/,
    ],
    [
      'entries above the section of the version',
      withTexts({ changelog: '## Unreleased\n\n### Media\n\n- Fixed: it.\n\n## 0.2.0 - 2026-12-01\n' }),
      /^CHANGELOG\.md:1: .*move them to "0\.2\.0" \(line 7\), or set a newer version/,
    ],
    [
      'a changelog without the version',
      withTexts({ changelog: '## 0.1.0 - 2026-11-01\n' }),
      /^CHANGELOG\.md: there is no "## 0\.2\.0 - <date>"$/,
    ],
    [
      'a version without a date',
      withTexts({ changelog: '## 0.2.0\n' }),
      /^CHANGELOG\.md: there is no "## 0\.2\.0 - <date>"$/,
    ],
    [
      'upgrade notes without a version',
      withTexts({ upgradeNotes: '# Upgrade notes\n\n## To the next release\n' }),
      /^docs\/upgrade-notes\.md:3: rename "To the next release" to "To 0\.2\.0"$/,
    ],
    ['a README of another version', withTexts({ readme: 'This is version 0.1.' }), /^README\.md: /],
    ['support for another version', withTexts({ security: '(0.1)' }), /^SECURITY\.md: /],
    ['a changed file', { ...READY, changed: [' M package.json'] }, /^commit .*: package\.json$/],
    ['no tag', { ...READY, tags: ['v0.1.0'] }, /^tag the commit: git tag --sign v0\.2\.0 /],
  ])('names %s, with what to do', (_, facts, sentence) => {
    expect(judgeRelease(facts)).toEqual([expect.stringMatching(sentence)]);
  });

  it('finds in this tree only what a maintainer does at a release', () => {
    const texts = {
      changelog: read('CHANGELOG.md'),
      upgradeNotes: read('docs/upgrade-notes.md'),
      readme: read('README.md'),
      security: read('SECURITY.md'),
    };
    const { version: locked } = JSON.parse(read('package-lock.json')) as { readonly version: string };
    const found = judgeRelease({ version: VERSION, locked, texts, tags: [`v${VERSION}`], changed: [] });
    expect(
      found.filter((sentence) => !/^(?:CHANGELOG|docs\/upgrade-notes)\.md:\d+: /.test(sentence)),
    ).toEqual([]);
  });
});
