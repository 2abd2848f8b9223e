import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort } from '../neighbours/free-port.ts';
import type { Cluster } from '../kubernetes/cluster.ts';
import { awaitReady, startComponent } from '../kubernetes/component.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import { applyDefinitions } from './apply-definitions.ts';

const READY_MS = 60_000;

/**
 * Flux's source, kustomize and notification controllers, outside of the cluster, with all its rights.
 * @param folder parts.flux
 * @param helm parts.fluxHelm, for its helm-controller as well
 */
export const startFlux = async (
  folder: string,
  cluster: Cluster,
  helm?: string,
): Promise<AsyncDisposable> => {
  await using cleanup = new AsyncDisposableStack();
  const work = cleanup.use(await temporaryDirectory('flux'));
  await applyDefinitions(cluster, join(folder, 'crds'));
  if (helm !== undefined) await applyDefinitions(cluster, join(helm, 'crds'));
  await cluster.request('POST', '/api/v1/namespaces', { metadata: { name: 'flux-system' } });
  const storage = `127.0.0.1:${await freePort()}`;
  await mkdir(join(work.path, 'storage'));
  const events = `127.0.0.1:${await freePort()}`;
  const health: string[] = [];
  const start = async (name: string, flags: readonly string[], from = folder) => {
    const address = `127.0.0.1:${await freePort()}`;
    health.push(address);
    const words = [
      'env',
      `KUBECONFIG=${cluster.kubeconfig}`,
      'RUNTIME_NAMESPACE=flux-system',
      join(from, name),
      `--health-addr=${address}`,
      `--metrics-addr=127.0.0.1:${await freePort()}`,
      ...flags,
    ];
    const component = startComponent(name, words, work.path);
    cleanup.defer(() => component.end('SIGTERM'));
    return component;
  };
  const controllers = [
    await start('source-controller', [
      `--storage-path=${join(work.path, 'storage')}`,
      `--storage-addr=${storage}`,
      `--storage-adv-addr=${storage}`,
      `--events-addr=http://${events}`,
    ]),
    await start('kustomize-controller', [`--events-addr=http://${events}`]),
    await start('notification-controller', [
      `--events-addr=${events}`,
      `--receiverAddr=127.0.0.1:${await freePort()}`,
    ]),
  ];
  if (helm !== undefined)
    controllers.push(await start('helm-controller', [`--events-addr=http://${events}`], helm));
  const answers = async (address: string): Promise<boolean> =>
    fetch(`http://${address}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await awaitReady(
    controllers,
    async () => (await Promise.all(health.map(answers))).every(Boolean),
    AbortSignal.timeout(READY_MS),
  );
  return cleanup.move();
};
