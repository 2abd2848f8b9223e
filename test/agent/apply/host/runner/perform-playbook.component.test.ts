import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Run } from '../../../../../agent/apply/host/host-options.ts';
import { performPlaybook } from '../../../../../agent/apply/host/runner/perform-playbook.ts';
import type { PlaybookRequest } from '../../../../../agent/apply/host/step-request.ts';
import { temporaryDirectory } from '../../../../harness/run/temporary-directory.ts';
import { never } from '../sandbox.ts';

const request: PlaybookRequest = {
  kind: 'playbook',
  mode: 'check',
  record: 'setup',
  content: [],
  timeoutSeconds: 60,
  limitSeconds: 5,
  secrets: [],
  playbook: 'site.yml',
  variables: 'playbook/fleet-variables.json',
  collections: [],
  roles: [],
  become: false,
};

const perform = async (given: Partial<PlaybookRequest>, run: Run) => {
  await using folder = await temporaryDirectory('playbook');
  const content = join(folder.path, 'content');
  await mkdir(join(content, 'playbook'), { recursive: true });
  await writeFile(join(content, 'playbook/fleet-variables.json'), '{"a":"{{ b }}"}');
  return await performPlaybook(
    { ...request, ...given },
    { state: folder.path, content, scratch: join(folder.path, 'scratch'), run, signal: never },
  );
};
const end = (code: number, stderr = '') => ({ code, stdout: '', stderr });

test('a playbook step runs ansible-playbook --check with a local connection and only the folders of the step', async () => {
  const seen: { argv: readonly string[]; env: Readonly<Record<string, string>>; variables: string }[] = [];
  await perform({}, async (argv, { env = {} }) => {
    const file = argv.find((one) => one.startsWith('@'))?.slice(1) ?? '';
    seen.push({ argv, env, variables: await readFile(file, 'utf8') });
    return end(0);
  });
  const scratch = seen[0]?.env['ANSIBLE_HOME']?.replace(/\/home$/, '') ?? '';
  expect(seen[0]).toMatchObject({
    argv: [
      'ansible-playbook',
      '--connection=local',
      '--inventory=localhost,',
      '--check',
      '--extra-vars=ansible_python_interpreter=/usr/bin/python3',
      '--extra-vars',
      `@${scratch}/variables.json`,
      '--extra-vars',
      'ansible_become_method=not_allowed_by_this_package',
      'site.yml',
    ],
    env: {
      ANSIBLE_COLLECTIONS_PATH: `${scratch}/collections`,
      ANSIBLE_ROLES_PATH: `${scratch}/roles`,
      ANSIBLE_ASYNC_DIR: `${scratch}/async`,
      ANSIBLE_CONFIG: `${scratch}/ansible.cfg`,
      ANSIBLE_NO_TARGET_SYSLOG: 'true',
      NEEDRESTART_SUSPEND: '1',
    },
    variables: '{"a": {"__ansible_unsafe": "{{ b }}"}}',
  });
});

test('a playbook run that exits with 0 but reports no statistics has failed', async () => {
  expect(await perform({}, async () => end(0))).toMatchObject({
    message: 'ansible-playbook ended before its first task',
  });
});

test('a playbook run killed by its timeout is reported with the task that hung', async () => {
  const line = JSON.stringify({ type: 'task', task: 'hangs', file: 'site.yml', line: 3 });
  const made = await perform({}, async (_argv, { env = {} }) => {
    await writeFile(env['FLEET_FERRY_REPORT'] ?? '', `${line}\n`);
    return end(124, 'timed out after 5 s');
  });
  expect(made.message).toBe('did not end within 5 s and was killed: it hung in task "hangs" (site.yml:3)');
});

test('a playbook run with a vault password reports only the first line of stderr', async () => {
  const error = 'ERROR! Syntax Error while loading YAML.\n  pin: hidden-4711\n';
  const made = await perform({ vaultPassword: '/run/x' }, async () => end(4, error));
  expect(made.stderr).toBe('ERROR! Syntax Error while loading YAML.');
  expect(made.message).not.toContain('4711');
});

test('a playbook step names missing ansible-core and a role archive that cannot be unpacked', async () => {
  expect(await perform({}, async () => end(127))).toMatchObject({
    message: 'the host has no ansible-playbook: install ansible-core',
  });
  const roles = [{ name: 'clock', path: 'archives/0' }];
  expect(await perform({ roles }, async () => end(2, 'not in gzip format'))).toMatchObject({
    message: 'archives/0 cannot be unpacked',
  });
});
