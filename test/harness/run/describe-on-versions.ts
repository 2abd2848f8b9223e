import { type PartName, partTitle } from '../parts.ts';
import { describeWith } from './describe-with.ts';
import { LONG } from './long.ts';

/** Programs whose versions differ in what our programs see of them. To add a version: a part, and its name here. The first is the one of `npm test`. */
const VERSIONS = {
  ansible: ['ansible', 'ansible219', 'ansible221'],
  containerd: ['containerd', 'containerd17', 'containerd2'],
  dockerRegistry: ['dockerRegistry', 'distribution3'],
  helm: ['helm', 'helm4'],
  podmanHost: ['podmanHost', 'podmanHost58'],
} as const satisfies Readonly<Record<string, readonly [PartName, ...PartName[]]>>;

type Program = keyof typeof VERSIONS;

type Version<Of extends Program> = (typeof VERSIONS)[Of][number];

/**
 * As describeWith, on the first version of a program and, in a long run, on each that sites have, by name in the title. The body gets its path under the
 * name of the first. `names` are parts beside it.
 */
export const describeOnVersions = <Of extends Program, Name extends PartName = never>(
  program: Of,
  names: readonly Name[],
  title: string,
  body: (paths: Readonly<Record<Name | Of, string>>, version: Version<Of>) => void | Promise<void>,
): void => {
  const [first] = VERSIONS[program];
  for (const version of LONG ? VERSIONS[program] : VERSIONS[program].slice(0, 1)) {
    const of = version === first ? '' : `, ${partTitle(version)}`;
    describeWith([version, ...names], `${title}${of}`, (paths) =>
      body({ ...paths, [program]: paths[version] } as Readonly<Record<Name | Of, string>>, version),
    );
  }
};
