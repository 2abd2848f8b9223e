import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { agentFacts } from '../../../agent/observe/agent-facts.ts';
import { readStatus } from '../../../agent/observe/read-status.ts';
import { packTestBundle } from '../../harness/fleets/signed-medium.ts';
import { createWorld, NOW, onePackage, testAgent } from '../world.ts';

it('a release ends at its own end, or at the later one of its lease', async () => {
  await using world = await createWorld();
  const endNow = () => {
    const status = readStatus(world.agent, { registry: '', hub: '', windows: [] });
    return { own: status.release?.expires, shown: agentFacts(status, '1.2.3').release?.expires };
  };
  const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
  const release = { version: 1, bundle, issuedAt: NOW, expires: addDays(NOW, 10) };
  const lease = (version: number, days: number) => ({
    version,
    release,
    issuedAt: NOW,
    expires: addDays(NOW, days),
  });
  await importMedium(world.agent, await world.medium({ release, lease: lease(1, 5) }));
  const own = formatTime(release.expires);
  expect(endNow()).toEqual({ own, shown: own });
  await importMedium(world.agent, await world.medium({ release, lease: lease(2, 30) }));
  expect(endNow()).toEqual({ own, shown: formatTime(addDays(NOW, 30)) });
});

it('an object that differs from its package and is only reported is named in what the agent waits for', async () => {
  await using world = await createWorld();
  await world.release(1, [onePackage('app', 'one')]);
  writeFileSync(join(world.folder, 'machine/live/opt/app'), 'edited');
  const policy = { ...world.agent.policy, onDrift: 'report' } as const;
  await lookAround(testAgent(world.agent.state, world.folder, { policy }));
  const status = readStatus(world.agent, { registry: '', hub: '', windows: [] });
  expect(agentFacts(status, '1.2.3')).toMatchObject({
    verdict: 'Waiting',
    waitsFor: ['app: 1 object differs from the package'],
    packages: [{ status: 'healthy', drift: 1 }],
  });
});
