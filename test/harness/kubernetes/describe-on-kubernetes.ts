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

/** As describeWith, on the first version of Kubernetes and, in a long run, on each that clusters run, by name in the title. `names` are parts beside Kubernetes. */
export const describeOnKubernetes = <Name extends PartName>(
  names: readonly Name[],
  title: string,
  body: (on: OnKubernetes, paths: Readonly<Record<Name, string>>) => void | Promise<void>,
): void => {
  const tried = LONG ? VERSIONS : VERSIONS.slice(0, 1);
  for (const { version, part } of tried)
    describeWith([part, ...names], `${title}, Kubernetes ${version}`, (paths) =>
      body({ version, kube: paths[part] }, paths),
    );
};
