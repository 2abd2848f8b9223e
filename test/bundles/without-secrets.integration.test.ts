import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCommand } from '../../agent/apply/host/run-command.ts';
import { askCredentialHelper } from '../../bundles/transport/registry/http/credential-helper.ts';
import { runGit } from '../../scheduler/load/sources/run-git.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

const SECRETS = {
  FLEET_KEY_PASSWORD: 'hunter-1',
  COSIGN_PASSWORD: 'hunter-2',
  FLEET_FORGE_TOKEN: 'hunter-3',
  FLEET_WEBHOOK_SECRET: 'hunter-4',
  FLEET_CHECK_SECRET: 'hunter-5',
  FLEET_EXPORT_HUB_TOKEN: 'hunter-6',
  FLEET_DB: 'postgres://hub:hunter-7@db.example/fleet',
  FLEET_ENROLL: '--token hunter-8',
};

it('I17: git, a credential helper and the commands of an agent get no password or token of ours in their environment -> ACCEPT', async () => {
  await using folder = await temporaryDirectory('environment');
  const { signal } = new AbortController();
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder.path, FLEET_LAYOUT: 'kept', ...SECRETS };
  // What a program that was taken over would do: print all that it was given.
  const git = await runGit({ env, signal }, ['-c', 'alias.print=!cat /proc/$PPID/environ; env', 'print']);
  const seen = join(folder.path, 'seen');
  const helper = join(folder.path, 'docker-credential-print');
  await writeFile(helper, `#!/bin/sh\nenv > ${seen}\necho '{"Username":"u","Secret":"s"}'\n`);
  await chmod(helper, 0o755);
  const path = `${folder.path}:${env.PATH}`;
  await askCredentialHelper('print', 'registry.example', { ...env, PATH: path }, signal);
  const ran = await runCommand(['env'], { timeoutMs: 60_000, signal, env });
  const printed = [git.out, await readFile(seen, 'utf8'), ran.stdout];
  for (const text of printed) expect(text).toContain('FLEET_LAYOUT=kept');
  const leaked = printed.flatMap((text) => text.match(/hunter-\d/g) ?? []);
  expect(leaked.length === 0 ? 'ACCEPT' : leaked).toBe('ACCEPT');
});
