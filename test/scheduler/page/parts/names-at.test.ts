import { expect, test } from 'vitest';
import type { Where } from '#bundles/schemas/types/hub-decisions';
import { namesAt } from '../../../../scheduler/page/parts/names-at.ts';

const agentOf = (site: string, version: string): Where['agents'][number] =>
  ({
    agent: `${site}/line-1`,
    site,
    running: [{ assignment: 'ovens', name: `ovens ${version}` }],
  }) as unknown as Where['agents'][number];

test('a site with the name of a workload shows its own versions, and not those of another site with that workload', () => {
  const agents = [agentOf('ovens', '2.0'), agentOf('plant', '1.0')];
  expect([...namesAt('ovens', { agents })]).toEqual([['line-1 ovens', 'ovens 2.0']]);
});
