import { join } from 'node:path';
import { expect, it } from 'vitest';
import { formatTime } from '#bundles/time';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { makeKioskWorld } from '../world.ts';

const PROGRAM = join(import.meta.dirname, '../../../exporter/fleet-export.js');

it('reads the folder of --from through the thread pool, so that signals are handled while its disk does not answer', async () => {
  await using world = await makeKioskWorld();
  const words = [
    'create',
    '--from',
    world.path('layout'),
    '--site',
    'plant-7',
    '--to',
    world.path('stick.tar'),
  ];
  const { code, stderr } = await runCommand([
    process.execPath,
    '--trace-sync-io',
    PROGRAM,
    ...words,
    '--now',
    formatTime(NOW),
  ]);
  expect(code, stderr).toBe(0);
  const calls = stderr.split('WARNING: Detected use of sync API').slice(1);
  expect(calls.filter((one) => one.includes('/formats/layout/'))).toEqual([]);
});
