import { expect, test } from 'vitest';
import { parseCommitter } from '../../../../scheduler/deliver/git/commit-identity.ts';
import {
  bodyOf,
  changeOf,
  messageOf,
  proposalBranch,
  proposedChange,
  type Trailers,
  type TreeCommitText,
} from '../../../../scheduler/deliver/git/commit-text.ts';

const words: Trailers & TreeCommitText = {
  environment: 'dev',
  base: 'dev',
  change: '0123456789ab',
  written: 2,
  removed: 1,
  sources: [],
};
const TEXT = { title: 'Update', body: 'Text.' };
const MESSAGE = messageOf(TEXT, words);
const commit = (who: string, message = MESSAGE): string =>
  `tree 1\nparent 2\nauthor A <a@example.com> 1 +0000\ncommitter ${who} 1 +0000\n\n${message}`;
const US = 'Fleet Ferry <fleet-ferry@localhost>';

test('a proposal is recognised as ours by its last commit: our committer, this base, this change', () => {
  expect(proposedChange(commit(US), 'dev', words.change)).toBe(words.change);
  expect(proposedChange(commit('Somebody <s@example.com>'), 'dev', words.change)).toBeUndefined();
  expect(proposedChange(commit(US), 'prod', words.change)).toBeUndefined();
  expect(proposedChange(commit(US), 'dev', 'ba9876543210')).toBeUndefined();
  // A message that quotes a committer is not a committer.
  const quoted = `${MESSAGE}\ncommitter ${US} 1 +0000\n`;
  expect(proposedChange(commit('Somebody <s@example.com>', quoted), 'dev', words.change)).toBeUndefined();
});

test("a proposal of a promotion is found by the promotion's name, and states its current change", () => {
  const promotion = { name: 'ba9876543210', candidate: `sha256:${'a'.repeat(64)}` } as const;
  const text = commit(US, messageOf(TEXT, { ...words, promotion }));
  expect(proposedChange(text, 'dev', promotion.name)).toBe(words.change);
  expect(proposedChange(text, 'dev', 'cccccccccccc')).toBeUndefined();
});

test('a proposal is recognised under the configured committer, signed or not', () => {
  const bot = 'Bot <bot@example.com>';
  const signed = commit(bot).replace(
    /\n\n/,
    '\ngpgsig -----BEGIN SSH SIGNATURE-----\n U1NI\n -----END SSH SIGNATURE-----\n\n',
  );
  expect(proposedChange(signed, 'dev', words.change, bot)).toBe(words.change);
  expect(proposedChange(signed, 'dev', words.change)).toBeUndefined();
  expect(proposedChange(commit(US), 'dev', words.change, bot)).toBe(words.change);
});

test('a committer must be a name and an address', () => {
  expect(parseCommitter(undefined)).toBe(US);
  expect(parseCommitter('Fleet Bot <bot@example.com>')).toBe('Fleet Bot <bot@example.com>');
  for (const text of [
    '',
    'bot@example.com',
    '<bot@example.com>',
    'Bot <>',
    'A <b>\ncommitter X <y>',
    ' A <b@c>',
  ])
    expect(() => parseCommitter(text), text).toThrow('is not a committer');
});

test('the branch name of a proposal contains its change', () => {
  expect(changeOf(proposalBranch(words.change))).toBe(words.change);
  expect(changeOf('deployment/2026-11-21-08-00-00')).toBeUndefined();
});

test('the commit body lists the source commits, and no directories', () => {
  const source = { role: 'platform', path: '.', tree: 't', directory: 'd' };
  const sources = [
    { ...source, repo: 'https://git.example/platform', ref: 'main', commit: 'c1' },
    { ...source, repo: '/home/somebody/apps' },
  ];
  expect(bodyOf({ ...words, sources })).toBe(
    '2 files written, 1 removed.\n\nMade from\n- https://git.example/platform main c1',
  );
});
