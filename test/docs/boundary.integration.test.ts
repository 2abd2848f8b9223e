import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

type Diagnostic = {
  readonly code: string;
  readonly filename: string;
  readonly help?: string;
  readonly message: string;
};

it('the linter keeps programs apart, imports within one in the order of its folders, and processes out of unit and component tests', async () => {
  // A copy, because the repository's own lint must not trip over its fixtures.
  await using folder = await temporaryDirectory('boundary');
  cpSync(join(ROOT, 'test/fixtures/boundary'), folder.path, { recursive: true });
  copyFileSync(join(ROOT, '.oxlintrc.json'), join(folder.path, '.oxlintrc.json'));
  cpSync(join(ROOT, 'test/lint'), join(folder.path, 'test/lint'), { recursive: true });
  const { stdout, status } = spawnSync(join(ROOT, 'node_modules/.bin/oxlint'), ['--format', 'json', '.'], {
    cwd: folder.path,
    encoding: 'utf8',
  });
  const { diagnostics, number_of_files: files } = JSON.parse(stdout) as {
    diagnostics: Diagnostic[];
    number_of_files: number;
  };
  const found = diagnostics
    .map(({ filename, code, help, message }) => `${filename}: ${code}: ${help ?? message}`)
    .toSorted();
  const meet = 'eslint(no-restricted-imports): Programs meet only in #bundles/* and #cli/*.';
  const alone =
    'eslint(no-restricted-imports): What needs a process or a socket is an integration test: *.integration.test.ts.';
  expect(found).toEqual([
    `agent/apply/passes-bundles-on.ts: ${meet}`,
    `agent/imports-bundles-relatively.ts: ${meet}`,
    'bundles/imports-cli.ts: eslint(no-restricted-imports): bundles/ knows no program.',
    'bundles/imports-scheduler.ts: eslint(no-restricted-imports): bundles/ knows no program.',
    'cli/imports-agent.ts: eslint(no-restricted-imports): cli/ knows no program.',
    `exporter/imports-scheduler.ts: ${meet}`,
    'scheduler/elsewhere/imports-model.ts: house(one-way): scheduler/elsewhere/imports-model.ts has no place in the order of scheduler/, which names neither it nor its folder (.oxlintrc.json).',
    `scheduler/imports-agent.ts: ${meet}`,
    expect.stringMatching(
      /^scheduler\/model\/imports-load\.ts: house\(one-way\): scheduler\/load\/clean\.ts comes after scheduler\/model\/imports-load\.ts/,
    ),
    `test/agent/starts-program.component.test.ts: ${alone}`,
    `test/agent/starts-server.test.ts: ${alone}`,
  ]);
  // The others were looked at and are clean.
  expect({ files, status }).toEqual({ files: 18, status: 1 });
});
