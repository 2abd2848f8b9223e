import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import type { Agent } from '../../../agent/store/agent.ts';
import type { Target } from '../../../agent/model/target.ts';
import { openOperation } from '../../../agent/store/journal/operations.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { FleetError } from '../../../bundles/errors.ts';
import { packTestBundle } from '../../harness/fleets/signed-medium.ts';
import { liveFiles } from '../folder-target.ts';
import { createWorld, onePackage, type World } from '../world.ts';

const live = (world: World) => liveFiles(join(world.folder, 'machine'));

/** The world's agent, whose machine another agent may change too: `exclusive` says who may now. */
const sharing = ({ agent }: World, more: Partial<Target>): Agent => ({
  ...agent,
  targets: agent.targets.map((target) => ({ ...target, ...more })),
});

const mediumOf = (world: World, version: number, content: string) =>
  world.medium({ release: { version, bundle: packTestBundle(world.fleet, [onePackage('app', content)]) } });

const busy = (): FleetError => new FleetError('BUSY', 'another fleet-agent is at work: lyon-1/main');

describe('exclusive access to a shared target', () => {
  it('is taken for each operation, and not for a look that changes nothing', async () => {
    await using world = await createWorld();
    let times = 0;
    const agent = sharing(world, {
      exclusive: async (signal, work) => {
        times++;
        return work(signal);
      },
    });
    await importMedium(agent, await mediumOf(world, 1, 'one'));
    expect(live(world)).toEqual({ '/opt/app': 'one' });
    expect(times).toBe(1);
    expect(await lookAround(agent)).toMatchObject({ packages: [] });
    expect(times).toBe(1);
  });

  it('is refused with BUSY while another agent holds it, and the next look applies the package', async () => {
    await using world = await createWorld();
    const agent = sharing(world, { exclusive: () => Promise.reject(busy()) });
    const { packages } = await importMedium(agent, await mediumOf(world, 1, 'one'));
    expect(packages).toMatchObject([{ assignment: 'app', outcome: 'failed', code: 'BUSY' }]);
    expect(live(world)).toEqual({});
    expect(openOperation(agent.state)).toBeUndefined();
    expect(await lookAround(world.agent)).toMatchObject({
      packages: [{ assignment: 'app', outcome: 'created' }],
    });
    expect(live(world)).toEqual({ '/opt/app': 'one' });
  });

  it('that is lost during an operation stops it with the reason, and a later look continues', async () => {
    await using world = await createWorld();
    const lost = new AbortController();
    const agent = sharing(world, {
      // The lease is lost while the package settles.
      settle: async () => {
        lost.abort();
        throw new Error('interrupted while it waited');
      },
      exclusive: async (signal, work) => {
        try {
          return await work(AbortSignal.any([signal, lost.signal]));
        } catch (error) {
          throw lost.signal.aborted ? busy() : error;
        }
      },
    });
    await expect(importMedium(agent, await mediumOf(world, 1, 'one'))).rejects.toMatchObject({
      code: 'BUSY',
    });
    expect(openOperation(agent.state)).toMatchObject({ phase: 'settle', rollingBack: false });
    // While the other one is still at work, what was begun stays begun.
    const waiting = sharing(world, { exclusive: () => Promise.reject(busy()) });
    await expect(lookAround(waiting)).rejects.toMatchObject({ code: 'BUSY' });
    expect(openOperation(agent.state)).toMatchObject({ phase: 'settle', rollingBack: false });
    await lookAround(world.agent);
    expect(openOperation(agent.state)).toBeUndefined();
    expect(findPackage(agent.state, 'app')).toMatchObject({ status: 'healthy' });
  });
});
