import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type FaultyLine, startFaultyLine } from '../neighbours/faulty-line.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';
import type { Cluster } from './cluster.ts';

/** A line to the API server of a cluster: `down` is an outage for those who use its kubeconfig, and for nobody else. */
export const startLineTo = async ({
  kubeconfig,
  server,
}: Pick<Cluster, 'kubeconfig' | 'server'>): Promise<FaultyLine & { readonly kubeconfig: string }> => {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await temporaryDirectory('line'));
  const line = cleanup.use(await startFaultyLine(new URL(server).host));
  const own = join(folder.path, 'kubeconfig');
  const text = await readFile(kubeconfig, 'utf8');
  await writeFile(own, text.replace(server, `https://${line.host}`), { mode: 0o600 });
  const moved = cleanup.move();
  return Object.assign(line, { kubeconfig: own, [Symbol.asyncDispose]: () => moved.disposeAsync() });
};
