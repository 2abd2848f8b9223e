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

/** Applies a file of custom resource definitions and returns when the API server serves them all. */
export const applyDefinitions = async (cluster: Cluster, file: string): Promise<void> => {
  const applied = await cluster.kubectl(['apply', '--server-side', '-f', file]);
  if (applied.code !== 0) throw new FleetError('IO', `kubectl could not apply ${file}: ${applied.stderr}`);
  const limit = AbortSignal.timeout(PATIENCE_MS);
  // kubectl's wait fails, not waits, on a definition that has no conditions at all yet.
  for (;;) {
    const words = ['wait', '--for=condition=Established', '-f', file, '--timeout=30s'];
    const { code, stderr } = await cluster.kubectl(words);
    if (code === 0) return;
    if (limit.aborted) throw new FleetError('IO', `${file} is not established: ${stderr}`);
    await sleep(100);
  }
};
