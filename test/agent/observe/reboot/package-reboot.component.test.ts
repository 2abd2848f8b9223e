import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { RebootPolicy } from '#bundles/formats/bundle/config';
import { FleetError } from '#bundles/errors';
import { parseWindows } from '#bundles/windows';
import { importMedium } from '../../../../agent/daemon/import-medium.ts';
import { lookAround } from '../../../../agent/daemon/look-around.ts';
import type { Machine } from '../../../../agent/model/machine.ts';
import type { Agent } from '../../../../agent/store/agent.ts';
import { findPackage } from '../../../../agent/store/applied/packages.ts';
import { packTestBundle } from '../../../harness/fleets/signed-medium.ts';
import { folderTarget, liveFiles } from '../../folder-target.ts';
import { createWorld, NOW, onePackage, POLICY, testAgent, type World } from '../../world.ts';

const hour = NOW.getHours();
const OPEN: RebootPolicy = { windows: [`0 ${hour} * * * for 1h`] };
const LATER: RebootPolicy = { windows: [`0 ${(hour + 2) % 24} * * * for 1h`] };

/** A machine that a package named 'system' reboots. */
const machineOf = (world: World) => {
  let work: string | undefined;
  const machine: Machine = {
    boot: () => 'boot-1',
    rebootNeed: async () => ({ causes: [], services: [] }),
    atWork: async () => work,
    reboot: async () => {
      throw new FleetError('REBOOT_REFUSED', 'nothing asks for it here');
    },
  };
  const target = {
    ...folderTarget(join(world.folder, 'machine')),
    machine,
    reboots: async ({ assignment }: { readonly assignment: string }) => assignment === 'system',
  };
  let version = 0;
  const agent = (more: Partial<Agent> = {}) =>
    testAgent(world.agent.state, world.folder, { targets: [target], ...more });
  return {
    works: (why: string) => {
      work = why;
    },
    /** Imports a release with a package that reboots and one that does not, and looks as the daemon does. */
    release: async (
      policy: RebootPolicy | undefined,
      more: Partial<Agent> = {},
      windows: readonly string[] = [],
    ) => {
      version += 1;
      const packages = [onePackage('app', 'one'), onePackage('system', 'one')];
      const bundle = packTestBundle(world.fleet, packages, undefined, policy);
      await importMedium(agent(), await world.medium({ release: { version, bundle } }));
      await lookAround(agent(more), { mayReboot: { windows: parseWindows(windows) } });
    },
    system: () => findPackage(world.agent.state, 'system'),
    live: () => Object.keys(liveFiles(join(world.folder, 'machine'))),
  };
};

it('a command holds a package that reboots, and applies the others', async () => {
  await using world = await createWorld();
  const { release, system, live } = machineOf(world);
  await release(undefined);
  expect(live()).toEqual(['/opt/app']);
  expect(system()).toMatchObject({ status: 'skipped', code: 'REBOOT_REQUIRED' });
  const held = world.events().filter(({ assignment }) => assignment === 'system');
  expect(held.map(({ message }) => message)).toEqual([
    'it reboots the host, and waits for the service: a command reboots nothing',
    'it reboots the host, and waits for a person: the release has no reboot policy for this cluster type',
  ]);
});

it('a package that reboots is applied by the service in a window of the platform', async () => {
  await using world = await createWorld();
  const { release, system, live } = machineOf(world);
  await release(OPEN);
  expect(system()).toMatchObject({ status: 'healthy' });
  expect(live()).toEqual(['/opt/app', '/opt/system']);
});

it.each([
  ['the window of the platform', LATER, {}, [], 'the window that opens at '],
  ['the window of the machine', OPEN, {}, [`0 ${(hour + 2) % 24} * * * for 1h`], 'never meet'],
  [
    'a person where allowReboot is false',
    OPEN,
    { policy: { ...POLICY, allowReboot: false } },
    [],
    'allowReboot is false',
  ],
] as const)('a package that reboots waits for %s', async (_what, policy, more, windows, message) => {
  await using world = await createWorld();
  const { release, system, live } = machineOf(world);
  await release(policy, more, windows);
  expect(system()?.message).toContain(message);
  expect(live()).toEqual(['/opt/app']);
});

it('a package that reboots waits while apt changes packages', async () => {
  await using world = await createWorld();
  const { release, system, works } = machineOf(world);
  works('other work: the Debian packages of this host are being changed');
  await release(OPEN);
  expect(system()?.message).toBe(
    'it reboots the host, and waits for other work: the Debian packages of this host are being changed',
  );
});
