import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../harness/temporary-directory.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

type Diagnostic = { readonly code: string; readonly filename: string; readonly help: string };

it('programs meet only in #bundles/*, and bundles/ knows no program: the linter sees to it', async () => {
  // A copy, because the repository's own lint must not trip over its fixtures.
  await using folder = await temporaryDirectory('boundary');
  cpSync(join(ROOT, 'test/fixtures/boundary'), folder.path, { recursive: true });
  copyFileSync(join(ROOT, '.oxlintrc.json'), join(folder.path, '.oxlintrc.json'));
  const { stdout, status } = spawnSync(join(ROOT, 'node_modules/.bin/oxlint'), ['--format', 'json', '.'], {
    cwd: folder.path,
    encoding: 'utf8',
  });
  const { diagnostics, number_of_files: files } = JSON.parse(stdout) as {
    diagnostics: Diagnostic[];
    number_of_files: number;
  };
  const found = diagnostics.map(({ filename, code, help }) => `${filename}: ${code}: ${help}`).toSorted();
  const meet = 'eslint(no-restricted-imports): Programs meet only in #bundles/*.';
  expect(found).toEqual([
    `agent/apply/passes-bundles-on.ts: ${meet}`,
    `agent/imports-bundles-relatively.ts: ${meet}`,
    'bundles/imports-scheduler.ts: eslint(no-restricted-imports): bundles/ knows no program.',
    `exporter/imports-scheduler.ts: ${meet}`,
    `scheduler/imports-agent.ts: ${meet}`,
  ]);
  // The others were looked at and are clean.
  expect({ files, status }).toEqual({ files: 8, status: 1 });
});
