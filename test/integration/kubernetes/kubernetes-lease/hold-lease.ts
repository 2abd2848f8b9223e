/**
 * One agent that does changing work under the lease of its fleet until it is asked to stop. Says on its output what
 * happens, a line each. Arguments: kubeconfig, who it is, how long to wait for another one (ms), its state directory, its fleet.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { openClusterAccess } from '../../../../agent/apply/kubernetes/api/cluster-access.ts';
import { openKubernetesApi } from '../../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesExclusive } from '../../../../agent/apply/kubernetes/lease/kubernetes-exclusive.ts';
import { readEdge } from '../../../../agent/model/edge.ts';
import { acquireLock, placeHeld } from '../../../../agent/store/lock.ts';
import { toFleetError } from '../../../../bundles/errors.ts';

const [kubeconfig = '', holder = '', waitMs = '0', directory = '', fleet = 'acme'] = process.argv.slice(2);
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const stop = new AbortController();
process.on('SIGTERM', () => stop.abort());

const { bootId, now } = readEdge(undefined, 'auto', process.env);
const access = await openClusterAccess({ kubeconfig, context: '' });
const api = openKubernetesApi(access, { patienceMs: 10_000, requestMs: 10_000 });
const place = (): string | undefined => placeHeld(directory);
const who = { namespace: 'fleet-system', fleet, who: holder, place };
const exclusive = kubernetesExclusive(() => Promise.resolve(api), who, { waitMs: Number(waitMs) });
try {
  using _lock = directory === '' ? undefined : await acquireLock(directory, 'run', now(), { bootId });
  await exclusive(stop.signal, async (signal) => {
    say('working');
    await sleep(600_000, undefined, { signal });
  });
} catch (error) {
  const { code, message } = toFleetError(error);
  say(`${code} ${message}`);
}
await api.close();
