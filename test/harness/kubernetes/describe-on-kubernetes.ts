import type { PartName } from '../parts.ts';
import { describeWith } from '../run/describe-with.ts';
import { LONG } from '../run/long.ts';

/** To add a version: a lock of its modules in kube/, a part, and a line here. The first is the one of long-lived sites. */
const VERSIONS = [
  { version: '1.35.4', part: 'kube' },
  { version: '1.37.2', part: 'kube137' },
] as const satisfies readonly { readonly version: string; readonly part: PartName }[];

export type OnKubernetes = {
  readonly version: (typeof VERSIONS)[number]['version'];
  /** For startOwnCluster. */
  readonly kube: string;
};

export type WhichKubernetes = {
  /** 'newerInLong': outside of a long run on the first version alone. */
  readonly when: 'always' | 'newerInLong';
};

/** As describeWith, once on each version of Kubernetes that clusters run, by name in the title. `names` are parts beside Kubernetes. */
export const describeOnKubernetes = <Name extends PartName>(
  names: readonly Name[],
  title: string,
  { when }: WhichKubernetes,
  body: (on: OnKubernetes, paths: Readonly<Record<Name, string>>) => void | Promise<void>,
): void => {
  const tried = when === 'always' || LONG ? VERSIONS : VERSIONS.slice(0, 1);
  for (const { version, part } of tried)
    describeWith([part, ...names], `${title}, Kubernetes ${version}`, (paths) =>
      body({ version, kube: paths[part] }, paths),
    );
};
