import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { describeCandidate } from '../../../../../scheduler/hub/promote/gate/describe-candidate.ts';
import { days, deployment, PROD, QA } from '../../questions/history/shop-hub.ts';
import { testHub } from '../../test-hub.ts';

const COMMIT = 'c'.repeat(40);
const shared = digestOf('candidate');

test('of a candidate with many versions a few are named, and only their commits are read', async () => {
  await using hub = await testHub();
  const names = Array.from({ length: 12 }, (_, number) => `app-${number + 10}`);
  await hub.layoutWriter.release({
    channel: QA,
    version: 1,
    shared,
    issuedAt: days(-1),
    sources: names.map((name) => ({
      role: `application/${name}`,
      repo: `https://forge.test/${name}.git`,
      path: '.',
      tree: digestOf(name),
      commit: COMMIT,
    })),
    bundles: [
      {
        kind: 'kubernetes',
        packages: Object.fromEntries(names.map((name) => [name, deployment('1.0', 2, 'first', name)])),
      },
    ],
  });
  const read: string[] = [];
  const { brings, more } = await describeCandidate(hub, {
    link: { from: QA.environment, to: PROD.environment },
    shared,
    visible: undefined,
    readCommit: async ({ repo, commit }) => {
      read.push(repo);
      return { commit, author: 'Ann', at: '2026-11-20T08:00:00Z', title: `change of ${repo}` };
    },
  });
  expect(brings.length + more).toBe(12);
  expect(brings.map(({ commit }) => commit?.title)).toEqual(read.map((repo) => `change of ${repo}`));
  expect(read).toHaveLength(brings.length);
  expect(read).toContain('https://forge.test/app-10.git');
});
