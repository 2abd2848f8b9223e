import type { Cluster } from './cluster.ts';

/** 'v1 ConfigMap prod-x/name' to all that a write changes: any write, but for one that says what is there already. */
export type ObjectVersions = Readonly<Record<string, string>>;

type Listed = {
  readonly items: readonly {
    readonly apiVersion: string;
    readonly kind: string;
    readonly metadata: {
      readonly name: string;
      readonly namespace?: string;
      readonly uid: string;
      readonly resourceVersion: string;
      readonly managedFields?: readonly { readonly manager: string; readonly time: string }[];
    };
  }[];
};

/** Events tell what was done, and expire. */
const TOLD = /^events(\.|$)/;

/**
 * A look at the versions of all objects of some namespaces and of the namespaces themselves: what is the same in two looks
 * was not written in between, on whosever cluster.
 */
export const lookAtVersions = async (
  { kubectl }: Pick<Cluster, 'kubectl'>,
  namespaces: readonly string[],
): Promise<() => Promise<ObjectVersions>> => {
  const call = async (...words: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await kubectl(words);
    if (code !== 0) throw new Error(`kubectl ${words.join(' ')}: ${stderr}`);
    return stdout;
  };
  const get = async (...words: readonly string[]): Promise<Listed['items']> =>
    (JSON.parse(await call('get', ...words, '--show-managed-fields', '--output=json')) as Listed).items;
  // Not what can only be listed: figures that a server makes up each time it is asked.
  const types = (await call('api-resources', '--namespaced', '--verbs=list,watch', '--output=name'))
    .split('\n')
    .filter((type) => type !== '' && !TOLD.test(type))
    .join(',');
  return async () => {
    const lists = [await get('namespaces')];
    for (const namespace of namespaces) lists.push(await get(types, `--namespace=${namespace}`));
    const objects = lists
      .flat()
      .filter(({ kind, metadata }) => kind !== 'Namespace' || namespaces.includes(metadata.name));
    return Object.fromEntries(objects.map(versionOf));
  };
};

const versionOf = ({ apiVersion, kind, metadata }: Listed['items'][number]): readonly [string, string] => {
  const { namespace = '', name, uid, resourceVersion, managedFields = [] } = metadata;
  const times = managedFields.map(({ manager, time }) => `${manager} ${time}`);
  return [`${apiVersion} ${kind} ${namespace}/${name}`, [uid, resourceVersion, ...times].join(', ')];
};
