import { expect, test } from 'vitest';
import {
  bodyOf,
  changeOf,
  isOurProposal,
  messageOf,
  proposalBranch,
} from '../../../../scheduler/deliver/git/commit-words.ts';

const words = {
  environment: 'dev',
  base: 'dev',
  change: '0123456789ab',
  written: 2,
  removed: 1,
  sources: [],
};
const commit = (who: string, message = messageOf(words)): string =>
  `tree 1\nparent 2\nauthor A <a@example.com> 1 +0000\ncommitter ${who} 1 +0000\n\n${message}`;
const US = 'Fleet Ferry <fleet-ferry@localhost>';

test('a proposal is ours by its last commit: our committer, this base, this change', () => {
  expect(isOurProposal(commit(US), 'dev', words.change)).toBe(true);
  expect(isOurProposal(commit('Somebody <s@example.com>'), 'dev', words.change)).toBe(false);
  expect(isOurProposal(commit(US), 'prod', words.change)).toBe(false);
  expect(isOurProposal(commit(US), 'dev', 'ba9876543210')).toBe(false);
  // A message that quotes a committer is no committer.
  const quoted = `${messageOf(words)}\ncommitter ${US} 1 +0000\n`;
  expect(isOurProposal(commit('Somebody <s@example.com>', quoted), 'dev', words.change)).toBe(false);
});

test('a branch names its change', () => {
  expect(changeOf(proposalBranch(words.change))).toBe(words.change);
  expect(changeOf('deployment/2026-11-21-08-00-00')).toBeUndefined();
});

test('commits that it was made from are told, directories are not', () => {
  const source = { role: 'platform', path: '.', tree: 't', directory: 'd' };
  const sources = [
    { ...source, repo: 'https://git.example/platform', ref: 'main', commit: 'c1' },
    { ...source, repo: '/home/somebody/apps' },
  ];
  expect(bodyOf({ ...words, sources })).toBe(
    '2 files written, 1 removed.\n\nMade from\n- https://git.example/platform main c1',
  );
});
