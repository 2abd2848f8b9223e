import { expect, it } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import { agentFacts } from '../../../agent/observe/agent-facts.ts';
import { readStatus } from '../../../agent/observe/read-status.ts';
import { packTestBundle } from '../../harness/fleets/signed-medium.ts';
import { createWorld, NOW, onePackage } from '../world.ts';

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
