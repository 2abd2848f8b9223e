import { join } from 'node:path';
import { expect, it } from 'vitest';
import { importMedium } from '../../../agent/daemon/import-medium.ts';
import type { Target } from '../../../agent/model/target.ts';
import { readStatus } from '../../../agent/observe/read-status.ts';
import { readOutbox } from '../../../agent/store/outbox/outbox.ts';
import type { Event } from '../../../bundles/formats/events/event.ts';
import { lookAround } from '../../../agent/daemon/look-around.ts';
import { findAttempt, tryOf } from '../../../agent/store/applied/attempts.ts';
import { findFailure } from '../../../agent/store/applied/failures.ts';
import type { PackageRef } from '../../../agent/store/applied/package-ref.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { openOperation } from '../../../agent/store/journal/operations.ts';
import { type ErrorCode, FleetError } from '../../../bundles/errors.ts';
import { packTestBundle } from '../../harness/fleets/signed-medium.ts';
import { liveFiles } from '../folder-target.ts';
import { createWorld, onePackage, type World } from '../world.ts';

const mediumOf = (world: World, version: number, content: string) =>
  world.medium({ release: { version, bundle: packTestBundle(world.fleet, [onePackage('app', content)]) } });

/** The agent of the world, whose first steps fail with these codes when they have done their work. */
const failing = ({ agent }: World, codes: readonly ErrorCode[]) => {
  const left = [...codes];
  return {
    ...agent,
    targets: agent.targets.map(
      (target): Target => ({
        ...target,
        execute: async (...words) => {
          const result = await target.execute(...words);
          const code = left.shift();
          if (code !== undefined) throw new FleetError(code, 'the host is not in order');
          return result;
        },
      }),
    ),
  };
};

it('a rollback that waits for the locks of dpkg stays open, and the next look completes it', async () => {
  await using world = await createWorld();
  const { agent } = world;
  await importMedium(agent, await mediumOf(world, 1, 'one'));
  const medium = await mediumOf(world, 2, 'two');
  const half = failing(world, ['DEB_FAILED', 'BUSY']);
  await expect(importMedium(half, medium)).rejects.toMatchObject({ code: 'BUSY' });
  expect(openOperation(agent.state)).toMatchObject({ rollingBack: true });
  await lookAround(agent);
  expect(openOperation(agent.state)).toBeUndefined();
  expect(findPackage(agent.state, 'app')).toMatchObject({ status: 'failed', code: 'DEB_FAILED' });
  expect(liveFiles(join(world.folder, 'machine'))).toEqual({ '/opt/app': 'one' });
});

it.each(['DEB_BLOCKED', 'BUSY'] as const)(
  'a package that fails with %s is not recorded as failed, and is tried again',
  async (code) => {
    await using world = await createWorld();
    const { agent } = world;
    await importMedium(failing(world, [code]), await mediumOf(world, 1, 'one'));
    const row = findPackage(agent.state, 'app');
    expect(row).toMatchObject({ status: 'failed', code });
    const desired = row?.desired as PackageRef;
    expect(findFailure(agent.state, 'app', desired)).toBeUndefined();
    // A lock is asked for at each look; the other causes after a pause.
    expect(findAttempt(agent.state, 'app', tryOf(desired)) === undefined).toBe(code === 'BUSY');
  },
);

it('the last log lines of a failed unit are in the status and in the event', async () => {
  await using world = await createWorld();
  const { agent } = world;
  const printed = { by: 'app.service', text: 'cannot open /etc/app.conf\napp.service: Failed' };
  const targets = agent.targets.map(
    (target): Target => ({
      ...target,
      execute: () => Promise.reject(new FleetError('UNIT_FAILED', 'systemctl ended with 1', { printed })),
    }),
  );
  await importMedium({ ...agent, targets }, await mediumOf(world, 1, 'one'));
  const check = { name: 'app.service', outcome: 'failed', output: printed.text };
  const status = readStatus(agent, { registry: '', hub: '', windows: [] });
  expect(status.packages).toMatchObject([{ code: 'UNIT_FAILED', failedChecks: [check] }]);
  const events = readOutbox(agent.state).map(({ line }) => JSON.parse(line) as Event);
  const failures = events.filter(({ code }) => code === 'UNIT_FAILED');
  expect(failures[0]).toMatchObject({ type: 'package', detail: { checks: [check] } });
});
