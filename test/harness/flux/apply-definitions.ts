import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '../../../bundles/errors.ts';
import type { Cluster } from '../kubernetes/cluster.ts';

const PATIENCE_MS = 100_000;

/** Applies objects. @throws FleetError IO */
export const applyYaml = async (cluster: Cluster, yaml: string): Promise<void> => {
  const words = ['apply', '--server-side', '--force-conflicts', '-f', '-'];
  const { code, stderr } = await cluster.kubectl(words, { input: yaml });
  if (code !== 0) throw new FleetError('IO', `kubectl could not apply what it was given: ${stderr}`);
};

type Definition = {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
};

/** Applies a file, or a folder of files, of custom resource definitions and returns when the API server serves them all. */
export const applyDefinitions = async (cluster: Cluster, path: string): Promise<void> => {
  const words = ['apply', '--server-side', '-f', path, '--output=name'];
  const { code, stdout, stderr } = await cluster.kubectl(words);
  if (code !== 0) throw new FleetError('IO', `kubectl could not apply ${path}: ${stderr}`);
  const limit = AbortSignal.timeout(PATIENCE_MS);
  for (const line of stdout.trim().split('\n')) {
    const at = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${line.slice(line.indexOf('/') + 1)}`;
    while (!isEstablished((await cluster.request('GET', at)).body)) {
      if (limit.aborted) throw new FleetError('IO', `${line} is not established.`);
      await sleep(100);
    }
  }
};

const isEstablished = (definition: unknown): boolean =>
  (definition as Definition).status?.conditions?.some(
    ({ type, status }) => type === 'Established' && status === 'True',
  ) ?? false;
