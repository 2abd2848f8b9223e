import { expect, test } from 'vitest';
import { succeed } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { temporaryDirectory, writeFiles } from '../../scheduler/file-tree.ts';
import { fleetPlatform, ours } from '../../scheduler/fleet-platform.ts';

const open = async (more: Readonly<Record<string, string>> = {}) => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, { ...fleetPlatform(), ...more });
  return (...words: readonly string[]) =>
    runScheduler(directory, [...words, '--platform', 'platform', '--cache', 'cache']);
};

const far = () => ({
  'platform/base/far.yaml': ours(
    'WorkloadRegistration',
    'far',
    'spec:\n  workload: {repo: "http://127.0.0.1:1/far", branch: main, path: .}\n',
  ),
});

test('validate ends with 5 if its only problem is an unreachable repository, and with 3 otherwise', async () => {
  const down = await open(far());
  const told = await down('validate');
  expect(told.stdout).toContain('SOURCE_UNREACHABLE');
  expect(told.code).toBe(5);
  const both = await open({
    ...far(),
    'platform/base/bad.yaml': ours('Config', 'bad', 'spec: {value: {}}\n'),
  });
  expect((await both('validate')).code).toBe(3);
});

test('explain reports that a key has no value', async () => {
  const run = await open();
  const told = await run('explain', '--environment', 'qa', '--key', 'nothing.here');
  expect(told.stdout).toContain('there is no value at or below nothing.here');
  succeed(told);
});
