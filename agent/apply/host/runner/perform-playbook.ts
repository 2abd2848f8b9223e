import { FleetError } from '#bundles/errors';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defined } from '#bundles/defined';
import { COMMAND_ENV } from '../host-options.ts';
import { CALLBACK_PLUGIN } from './callback-plugin.ts';
import { describeTask, readPlaybookReport, whyPlaybookFailed } from './playbook-report.ts';
import { beginProgress, forgetProgress, progressFile, readUnfinished } from './progress.ts';
import type { StepEnd, StepWork } from './step-work.ts';
import type { PlaybookRequest } from '../step-request.ts';

/** Ansible's processes wait for each other by polling. Every millisecond, its default, takes a fifth of the CPU time of a run. */
const ANSIBLE_CONFIG = '[defaults]\ninternal_poll_interval = 0.01\n';

/**
 * Runs ansible-playbook of the host on the host itself, with the roles and collections of the request and with no configuration of
 * the host's. The report holds tasks and places; no diff is made, which would run another module for each file. @throws FleetError ABORTED
 */
export const performPlaybook = async (request: PlaybookRequest, work: StepWork): Promise<StepEnd> => {
  const { state, content, scratch, run, signal } = work;
  const report = join(scratch, 'report');
  const timeoutMs = request.limitSeconds * 1000;
  await prepareScratch(request, work);
  await writeFile(report, '');
  const progress = request.mode === 'apply' ? progressFile(state, request.record) : undefined;
  const before = progress === undefined ? undefined : await readUnfinished(progress);
  const refused = await unpackArchives(request, work, timeoutMs);
  if (refused) return refused;
  if (progress !== undefined) {
    await writeFile(join(scratch, 'unfinished.json'), JSON.stringify(before ?? {}));
    await beginProgress(progress, before);
  }
  const ended = await run(playbookArgv(request, scratch), {
    timeoutMs,
    signal,
    cwd: join(content, 'playbook'),
    env: {
      ...playbookEnv(request, scratch),
      ...(progress !== undefined && {
        FLEET_FERRY_PROGRESS: progress,
        FLEET_FERRY_UNFINISHED: join(scratch, 'unfinished.json'),
      }),
    },
  });
  const read = readPlaybookReport(await readFile(report, 'utf8'), join(content, 'playbook'), before);
  if (progress !== undefined && ended.code === 0 && read.ended) await forgetProgress(progress);
  return endOf(request, ended, read);
};

/** Result of the step. @param read what the callback plugin wrote about the run */
const endOf = (
  request: PlaybookRequest,
  ended: Pick<StepEnd, 'code' | 'stdout' | 'stderr'>,
  read: ReturnType<typeof readPlaybookReport>,
): StepEnd => {
  if (ended.code === 127)
    return { ...ended, message: 'the host has no ansible-playbook: install ansible-core' };
  if (ended.code === 124) {
    const where = read.last ? `: it hung in ${describeTask(read.last)}` : '';
    const message = `did not end within ${request.limitSeconds} s and was killed${where}`;
    return { ...ended, stderr: '', report: read, message };
  }
  // With a vault, the rest of an error quotes lines of files that the vault may have decrypted.
  const stderr =
    request.vaultPassword === undefined ? ended.stderr : (ended.stderr.trim().split('\n')[0] ?? '');
  return {
    code: ended.code,
    stdout: '',
    stderr,
    report: read,
    message: ended.code === 0 && read.ended ? undefined : whyPlaybookFailed(read, stderr),
  };
};

/** Writes what Ansible reads beside the playbook: its configuration, the callback plugin and the variables. */
const prepareScratch = async (
  { variables }: PlaybookRequest,
  { content, scratch }: StepWork,
): Promise<void> => {
  const folders = ['callbacks', 'collections', 'roles', 'home', 'tmp'].map((name) => join(scratch, name));
  for (const folder of folders) await mkdir(folder, { recursive: true, mode: 0o700 });
  await writeFile(join(scratch, 'ansible.cfg'), ANSIBLE_CONFIG);
  await writeFile(join(scratch, 'callbacks', 'fleet_ferry.py'), CALLBACK_PLUGIN);
  if (variables === undefined) return;
  const values: unknown = JSON.parse(await readFile(join(content, variables), 'utf8'));
  await writeFile(join(scratch, 'variables.json'), unsafeJson(values), { mode: 0o600 });
};

/** Unpacks the collections and roles. Returns the end of the step if one cannot be unpacked. */
const unpackArchives = async (
  request: PlaybookRequest,
  { content, scratch, run, signal }: StepWork,
  timeoutMs: number,
): Promise<StepEnd | undefined> => {
  for (const [archive, folder, strip] of archivesOf(request)) {
    const into = join(scratch, folder);
    await mkdir(into, { recursive: true });
    const names = ['tar', '-xzf', join(content, archive), '-C', into, '--no-same-owner'];
    const argv = strip ? [...names, '--strip-components=1'] : names;
    const { code, stdout, stderr } = await run(argv, { timeoutMs, signal, env: COMMAND_ENV });
    if (code !== 0) return { code, stdout, stderr, message: `${archive} cannot be unpacked` };
  }
  return undefined;
};

/** Archive, the folder for its content, and whether its single folder is left out. */
const archivesOf = ({
  collections,
  roles,
}: PlaybookRequest): readonly (readonly [string, string, boolean])[] => [
  ...collections.map(
    ({ namespace, name, path }) =>
      [path, join('collections', 'ansible_collections', namespace, name), false] as const,
  ),
  ...roles.map(({ name, path }) => [path, join('roles', name), true] as const),
];

const playbookArgv = (
  { playbook, mode, become, variables, vaultPassword }: PlaybookRequest,
  scratch: string,
): readonly string[] => [
  'ansible-playbook',
  '--connection=local',
  '--inventory=localhost,',
  // After a failure, what was notified is still due: when the cause is mended, the tasks that notified it change nothing any more.
  ...(mode === 'check' ? ['--check'] : ['--force-handlers']),
  '--extra-vars=ansible_python_interpreter=/usr/bin/python3',
  ...(variables === undefined ? [] : ['--extra-vars', `@${join(scratch, 'variables.json')}`]),
  // A method that does not exist fails every task that asks for another user.
  ...(become ? [] : ['--extra-vars', 'ansible_become_method=not_allowed_by_this_package']),
  ...(vaultPassword === undefined ? [] : ['--vault-password-file', vaultPassword]),
  playbook,
];

/** Everything that Ansible would take from the host's configuration or from the network is set here. */
const playbookEnv = (
  { vaultPassword }: Pick<PlaybookRequest, 'vaultPassword'>,
  scratch: string,
): Readonly<Record<string, string>> => ({
  ...COMMAND_ENV,
  // Ansible refuses a locale that is not UTF-8.
  LC_ALL: 'C.UTF-8',
  HOME: '/root',
  // needrestart's apt hook would restart services in the middle of this step, the agent's own among them.
  NEEDRESTART_SUSPEND: '1',
  ANSIBLE_CONFIG: join(scratch, 'ansible.cfg'),
  ANSIBLE_HOME: join(scratch, 'home'),
  ANSIBLE_LOCAL_TEMP: join(scratch, 'tmp'),
  ANSIBLE_REMOTE_TEMP: join(scratch, 'tmp'),
  // Otherwise each task that is started without waiting for it leaves a file in the home of root.
  ANSIBLE_ASYNC_DIR: join(scratch, 'async'),
  ANSIBLE_COLLECTIONS_PATH: join(scratch, 'collections'),
  ANSIBLE_COLLECTIONS_SCAN_SYS_PATH: 'false',
  ANSIBLE_ROLES_PATH: join(scratch, 'roles'),
  ANSIBLE_CALLBACK_PLUGINS: join(scratch, 'callbacks'),
  ANSIBLE_STDOUT_CALLBACK: 'fleet_ferry',
  ANSIBLE_RETRY_FILES_ENABLED: 'false',
  ANSIBLE_LOCALHOST_WARNING: 'false',
  ANSIBLE_NOCOLOR: '1',
  // Modules write their arguments to the journal otherwise.
  ANSIBLE_NO_TARGET_SYSLOG: 'true',
  FLEET_FERRY_REPORT: join(scratch, 'report'),
  ...defined({ FLEET_FERRY_VAULT: vaultPassword !== undefined ? '1' : undefined }),
});

/**
 * JSON in which every text is what Ansible's own JSON calls unsafe: it takes the text as it is. Otherwise a value of the site or of
 * the configuration with `{{ }}` would be a template, which can run programs as root. YAML's tag `!unsafe` says the same, but from 2.19
 * on makes a boolean of "yes" and a number of "07". @throws FleetError FIELD_INVALID for a key that Ansible takes for a type
 */
export const unsafeJson = (value: unknown): string => {
  if (Array.isArray(value)) return `[${value.map(unsafeJson).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, item]) => {
      if (key.startsWith('__ansible_'))
        throw new FleetError('FIELD_INVALID', `a variable of a playbook cannot have the key ${key}`);
      return `${JSON.stringify(key)}: ${unsafeJson(item)}`;
    });
    return `{${entries.join(', ')}}`;
  }
  return typeof value === 'string' ? `{"__ansible_unsafe": ${JSON.stringify(value)}}` : JSON.stringify(value);
};
