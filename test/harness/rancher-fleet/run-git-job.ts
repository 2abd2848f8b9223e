import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '../../../bundles/errors.ts';
import { runCommand } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';

type Container = {
  readonly args: readonly string[];
};
type Job = {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly template: {
      readonly spec: {
        readonly initContainers: readonly [Container];
        readonly containers: readonly [Container];
      };
    };
  };
};
type ConfigMap = {
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
};

export type GitJobOptions = {
  /** parts.rancherFleet */
  readonly rancherFleet: string;
  readonly kubeconfig: string;
  /** What `kubectl get --watch --output=json` says of Jobs and ConfigMaps of the namespace. */
  readonly seen: { readonly jobs: string; readonly configMaps: string };
};

const PATIENCE_MS = 60_000;

/**
 * Does what the Job of a GitRepo would do, whose containers no fake node runs: the same programs with the arguments and the targets that
 * the controller gave to the Job.
 */
export const runGitJob = async (
  gitRepo: string,
  { rancherFleet, kubeconfig, seen }: GitJobOptions,
): Promise<void> => {
  const job = await awaitSeen<Job>(seen.jobs, ({ metadata }) => metadata.name.startsWith(`${gitRepo}-`));
  const targets = await awaitSeen<ConfigMap>(
    seen.configMaps,
    ({ metadata, data, binaryData }) =>
      metadata.name.startsWith(gitRepo) &&
      (data?.['targets.yaml'] !== undefined || binaryData?.['targets.yaml'] !== undefined),
  );
  await using folder = await temporaryDirectory('git-job');
  const [workspace, file] = [join(folder.path, 'workspace'), join(folder.path, 'targets.yaml')];
  const binary = targets.binaryData?.['targets.yaml'];
  await writeFile(file, binary ? Buffer.from(binary, 'base64') : (targets.data?.['targets.yaml'] ?? ''));
  const { initContainers, containers } = job.spec.template.spec;
  const run = async ({ args }: Container, cwd: string): Promise<void> => {
    const [verb = '', ...words] = args
      .slice(args[0] === 'fleet' ? 1 : 0)
      .map((word) => word.replace(/^\/workspace$/, workspace).replace('/run/config/targets.yaml', file));
    const argv = [join(rancherFleet, 'fleetcli'), verb, ...words];
    const { code, stdout, stderr } = await runCommand(argv, {
      cwd,
      env: { ...process.env, HOME: folder.path, KUBECONFIG: kubeconfig },
    });
    // It says on both why it fails.
    if (code !== 0) throw new FleetError('IO', `${argv.join(' ')} ended with ${code}: ${stdout}${stderr}`);
  };
  await run(initContainers[0], folder.path);
  await run(containers[0], workspace);
};

/** The last object of a watch's output that fits. */
const awaitSeen = async <T>(path: string, isIt: (object: T) => boolean): Promise<T> => {
  const limit = AbortSignal.timeout(PATIENCE_MS);
  for (;;) {
    const text = await readFile(path, 'utf8').catch(() => '');
    const found = text
      .split(/(?<=^\})\n(?=\{)/m)
      .filter((one) => one.trimEnd().endsWith('}') && one.startsWith('{'))
      .map((one) => JSON.parse(one) as T)
      .findLast(isIt);
    if (found !== undefined) return found;
    if (limit.aborted)
      throw new FleetError('IO', `nothing like that was seen in ${path}: ${text.slice(-2000)}`);
    await sleep(200);
  }
};
