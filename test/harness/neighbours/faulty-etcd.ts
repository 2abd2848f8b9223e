import { dirname, join } from 'node:path';
import { Agent, request } from 'undici';
import type { OwnCluster } from '../kubernetes/cluster.ts';

/** Of one request, and so of what each version of an object costs. */
const BYTES = 900_000;

type EtcdAnswer = {
  readonly header?: { readonly revision?: string };
  readonly alarms?: readonly { readonly memberID: string; readonly alarm: string }[];
};

/** Writes one object again and again, until etcd has no room for another version (OwnClusterOptions.etcdQuota). */
export const fillEtcd = async (cluster: OwnCluster): Promise<void> => {
  const path = '/api/v1/namespaces/default/configmaps';
  const body = (index: number): object => ({
    metadata: { name: 'ballast' },
    data: { big: String(index).padEnd(BYTES, 'x') },
  });
  let { status } = await cluster.request('POST', path, body(0));
  for (let index = 1; status < 300 && index < 100; index++)
    ({ status } = await cluster.request('PUT', `${path}/ballast`, body(index)));
  if (status !== 500) throw new Error(`etcd is not full: ${status}`);
};

/** What a person does about it: compacts the history, defragments, and ends the alarm. */
export const makeRoomInEtcd = async (cluster: OwnCluster): Promise<void> => {
  const socketPath = join(dirname(cluster.kubeconfig), 'client:1');
  const dispatcher = new Agent({ connect: { socketPath } });
  const ask = async (path: string, body: object): Promise<EtcdAnswer> => {
    const answer = await request(`http://localhost/v3/${path}`, {
      dispatcher,
      method: 'POST',
      body: JSON.stringify(body),
    });
    const text = await answer.body.text();
    if (answer.statusCode !== 200) throw new Error(`etcd ${path}: ${answer.statusCode} ${text}`);
    return JSON.parse(text || '{}') as EtcdAnswer;
  };
  const { header } = await ask('kv/range', { key: Buffer.from('x').toString('base64') });
  await ask('kv/compaction', { revision: header?.revision, physical: true });
  await ask('maintenance/defragment', {});
  // An alarm is of one member, and ends by that member's name.
  const { alarms = [] } = await ask('maintenance/alarm', { action: 'GET' });
  for (const { memberID, alarm } of alarms)
    await ask('maintenance/alarm', { action: 'DEACTIVATE', memberID, alarm });
  await dispatcher.close();
  const { status } = await cluster.request('PATCH', '/api/v1/namespaces/default/configmaps/ballast', {
    data: { big: 'little' },
  });
  if (status !== 200) throw new Error(`etcd has no room yet: ${status}`);
};
