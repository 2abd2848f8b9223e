import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import Build from '../../../../scheduler/commands/build.ts';
import { readConfiguration } from '../../../../scheduler/settings/configuration.ts';
import { createBuildMemory } from '../../../../scheduler/assemble/incremental/build-memory.ts';
import { buildStep } from '../../../../scheduler/hub/watch/build-step.ts';
import { runCommandClass } from '../../commands/run-command-class.ts';
import { makeBuiltOffice, NOW } from './office.ts';

const later = (text: string): string => text.replace('place: hall', 'place: attic');

test('build prints the packages that a release would remove, with the next step, and exits with 8', async () => {
  const office = await makeBuiltOffice();
  await office.edit('platform/base/screens.yaml', later);
  const at = (name: string): string => join(office.folder, name);
  const flags = ['--platform', at('platform'), '--keys', at('keys'), '--layout', office.layout, '-e', 'prod'];
  const words = [...flags, '--cache', at('cache'), '--now', NOW.toISOString()];
  const held = await runCommandClass(Build, words);
  expect(held.code).toBe(8);
  expect(held.out).toContain(
    'prod/press keeps what it would remove: info-screen: no policy selects it for press any more\n',
  );
  expect(held.err).toContain(
    'REMOVALS_HELD: prod/press: the release would remove info-screen, although no object was deleted.',
  );
  const told = await runCommandClass(Build, [...words, '--json']);
  expect(told.json()).toMatchObject({
    channels: [
      {
        clusterType: 'press',
        outcome: 'unchanged',
        version: 1,
        removals: [],
        unmeant: [{ assignment: 'info-screen', why: 'unselected', workspace: 'sales' }],
        waits: { error: { code: 'REMOVALS_HELD', subject: 'prod/press' } },
      },
      { clusterType: 'till', outcome: 'unchanged', removals: [] },
    ],
  });
  const mistyped = await runCommandClass(Build, [...words, '--allow-removals', 'info-sreen']);
  expect(mistyped.code).toBe(8);
  expect(mistyped.err).toContain(
    '--allow-removals names info-sreen, which no release would remove. Did you mean info-screen?\n',
  );
  const asJson = await runCommandClass(Build, [...words, '--allow-removals', 'info-sreen', '--json']);
  expect(JSON.parse(asJson.out)).toMatchObject({
    notes: ['--allow-removals names info-sreen, which no release would remove. Did you mean info-screen?'],
  });
  const allowed = await runCommandClass(Build, [...words, '--allow-removals', 'info-screen']);
  expect(allowed.err).not.toContain('--allow-removals');
  expect(allowed.code).toBe(0);
  expect(allowed.out).toContain('prod/press removes info-screen: no policy selects it for press any more\n');
});

test('build with --allow-removals explains that held packages are not removed, and what removes them', async () => {
  const office = await makeBuiltOffice();
  await office.edit('apps/labels/deploy/workload.yaml', (text) =>
    text.replaceAll('runs: host', 'runs: hots'),
  );
  const at = (name: string): string => join(office.folder, name);
  const flags = ['--platform', at('platform'), '--keys', at('keys'), '--layout', office.layout, '-e', 'prod'];
  const words = [...flags, '--cache', at('cache'), '--now', NOW.toISOString()];
  const held = await runCommandClass(Build, [...words, '--allow-removals', 'labels-host']);
  expect(held.out).toContain(`Keep the last good ones with: --previous ${office.layout}\n`);
  expect(held.err).toContain(
    '--allow-removals does not remove labels-host, which is held: correct the error that holds it, delete its Workload, deployment target or policy, or give --previous with the layout of the last release\n',
  );
});

test('the loop counts and logs a channel with pending removals, and releases it once its configuration allows them', async () => {
  const office = await makeBuiltOffice();
  await office.edit('platform/base/screens.yaml', later);
  const step = async (more: string) => {
    const lines: object[] = [];
    const say = (fields: object, message: string) => void lines.push({ ...fields, message });
    const file = join(office.folder, 'fleet-scheduler.yaml');
    await writeFile(
      file,
      `platform: platform\nkeys: keys\nlayout: out\ncache: cache\nenvironments: [prod]\n${more}`,
    );
    const built = await buildStep(
      {
        configuration: await readConfiguration({ config: file }, office.folder),
        env: {},
        cwd: process.cwd(),
        clock: () => NOW,
        log: { info: say, warn: say, error: say } as never,
        random: () => 0,
      },
      createBuildMemory(),
      new AbortController().signal,
    );
    return { ...built, lines };
  };
  const held = await step('');
  expect(held).toMatchObject({ failure: undefined, waiting: { prod: 1 } });
  expect(held.lines).toContainEqual(
    expect.objectContaining({
      message: 'not released',
      channel: 'prod/press',
      code: 'REMOVALS_HELD',
      removes: ['info-screen: no policy selects it for press any more'],
    }),
  );
  const allowed = await step('allowRemovals: 1\n');
  expect(allowed).toMatchObject({ failure: undefined, waiting: { prod: 0 } });
  expect(allowed.lines).toContainEqual(
    expect.objectContaining({ message: 'removes packages', channel: 'prod/press' }),
  );
});
