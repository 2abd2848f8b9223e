import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion } from './cache-folder.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

export type KubernetesBuild = Pick<Part, 'title' | 'variable'> & {
  /** '1.35.4' */
  readonly version: string;
  /** The lock of its modules, beside main.go: 'go' for go.mod and go.sum. */
  readonly lock: string;
};

const SOURCES = ['main.go', 'kubectl/main.go', 'untranslated/untranslated.go'];

/** etcd and the programs of one version of Kubernetes in one file: `kube <program> <arguments>`; beside it, kubectl. */
export const kubernetesBuild = ({ title, variable, version, lock }: KubernetesBuild): Part => {
  const module = (machine: Machine): string => join(machine.repository, 'test/harness/kubernetes/kube');
  const flags = [
    '-mod=readonly',
    '-buildvcs=false',
    '-ldflags',
    ['-s', '-w', ...versionFlags(version)].join(' '),
    ...(lock === 'go' ? [] : [`-modfile=${lock}.mod`]),
  ];
  /** Another source, another lock of dependencies or other flags: another program. */
  const folder = (machine: Machine): string => {
    const hash = createHash('sha256').update(JSON.stringify(flags));
    for (const file of [`${lock}.mod`, `${lock}.sum`, ...SOURCES])
      hash.update(readFileSync(join(module(machine), file)));
    return `${version}-${hash.digest('hex').slice(0, 12)}`;
  };
  const family = (machine: Machine): string => join(machine.cache, 'kube');
  const program = (machine: Machine): string => join(family(machine), folder(machine), 'kube');
  return {
    title,
    variable,
    source: `a Go build of etcd and Kubernetes ${version} into the cache, five minutes on two cores when nothing of it was ever built`,
    isBuilt: true,
    find: (machine) => (existsSync(program(machine)) ? program(machine) : undefined),
    install: async (machine) => {
      await mkdir(family(machine), { recursive: true });
      await orExplain(`Go could not build Kubernetes ${version}`, () =>
        buildVersion(family(machine), async (temporary) => {
          await runOrFail(['go', 'build', ...flags, '-o', temporary, '.', './kubectl'], {
            cwd: module(machine),
            env: { ...machine.env, CGO_ENABLED: '0' },
            signal: machine.signal,
          });
          await runOrFail([join(temporary, 'kubectl'), 'version', '--client']);
          return folder(machine);
        }),
      );
      return program(machine);
    },
  };
};

/** Without its version a server calls itself v0.0.0-master+$Format:%H$, which kubectl cannot parse. */
const versionFlags = (version: string): readonly string[] => {
  const [major, minor] = version.split('.');
  const facts = { gitVersion: `v${version}`, gitMajor: major, gitMinor: minor };
  return Object.entries(facts).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
};
