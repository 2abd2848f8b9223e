import { join } from 'node:path';
import { expect, test } from 'vitest';
import Build from '../../../scheduler/commands/build.ts';
import Render from '../../../scheduler/commands/render.ts';
import RootInit from '../../../scheduler/commands/root/init.ts';
import Validate from '../../../scheduler/commands/platform/validate.ts';
import { temporaryDirectory, writeFiles } from '../file-tree.ts';
import { fleetPlatform, ours } from '../fleet-platform.ts';
import { runCommandClass } from './run-command-class.ts';

/** A platform with an application that cannot be read, and with a policy that selects nothing. */
const makePlatform = async () => {
  const folder = await temporaryDirectory();
  await writeFiles(folder, {
    ...fleetPlatform(),
    'platform/base/gone.yaml': ours(
      'WorkloadRegistration',
      'gone',
      'spec:\n  workspace: sales\n  workload: {repo: ../apps/gone, path: .}\n',
    ),
    'platform/base/idle.yaml': ours(
      'SchedulingPolicy',
      'idle',
      'spec:\n  deploymentTargetSelector: {workspace: nobody}\n  clusterTypeSelector: {}\n',
    ),
  });
  return { folder, platform: ['--platform', join(folder, 'platform'), '--cache', join(folder, 'cache')] };
};

test('validate prints problems to stdout and advice to stderr', async () => {
  const { platform } = await makePlatform();
  const { out, err } = await runCommandClass(Validate, platform);
  expect(out).toContain('SOURCE_MISSING');
  expect(out).toMatch(/^1 problem in qa, prod$/m);
  expect(err).toMatch(/^advice: /m);
  expect(out).not.toContain('advice');
});

test('render and build print outcomes to stdout and reasons to stderr', async () => {
  const { folder, platform } = await makePlatform();
  const keys = join(folder, 'keys');
  await runCommandClass(RootInit, ['--dev', '--fleet', 'halden', '--keys', keys]);
  const rendered = await runCommandClass(Render, [...platform, '-e', 'prod', '--out', join(folder, 'tree')]);
  expect(rendered.out).toMatch(
    /^2 assignments rendered to .*\n1 application is held; the others are not affected\n$/,
  );
  const built = await runCommandClass(Build, [...platform, '--keys', keys, '--layout', join(folder, 'out')]);
  expect(built.out).toMatch(/^prod\/press +release 1 released /m);
  expect(built.out).toMatch(/^prod: 1 application is held; the others are not affected$/m);
  expect(built.err).toMatch(/^DEV ROOT: /m);
  for (const { out, err } of [rendered, built]) {
    expect(err).toMatch(/^held: .*SOURCE_MISSING/m);
    expect(out).not.toMatch(/advice|SOURCE_MISSING|DEV ROOT/);
  }
});
