import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { runOrFail } from '../run/run-command.ts';
import { buildVersion } from './cache-folder.ts';
import { orExplain } from './or-explain.ts';
import type { Machine, Part } from './part.ts';

export const KUBERNETES_VERSION = '1.35.4';

const module = (machine: Machine): string => join(machine.repository, 'test/harness/kubernetes/kube');

/** Without its version a server calls itself v0.0.0-master+$Format:%H$, which kubectl cannot parse. */
const versionFlags = (): readonly string[] => {
  const [major, minor] = KUBERNETES_VERSION.split('.');
  const version = { gitVersion: `v${KUBERNETES_VERSION}`, gitMajor: major, gitMinor: minor };
  return Object.entries(version).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
};

const SOURCES = ['go.mod', 'go.sum', 'main.go', 'kubectl/main.go', 'untranslated/untranslated.go'];

const flags = ['-mod=readonly', '-buildvcs=false', '-ldflags', ['-s', '-w', ...versionFlags()].join(' ')];

/** Another source, another lock of dependencies or other flags: another program. */
const versionOf = (machine: Machine): string => {
  const hash = createHash('sha256').update(JSON.stringify(flags));
  for (const file of SOURCES) hash.update(readFileSync(join(module(machine), file)));
  return `${KUBERNETES_VERSION}-${hash.digest('hex').slice(0, 12)}`;
};

const family = (machine: Machine): string => join(machine.cache, 'kube');
const program = (machine: Machine): string => join(family(machine), versionOf(machine), 'kube');

/** kubectl, a program of its own in the folder of parts.kube. */
export const kubectlOf = (kube: string): string => join(dirname(kube), 'kubectl');

/** etcd 3.6 and the programs of Kubernetes in one file: `kube <program> <arguments>`; beside it, kubectl. */
export const kube: Part = {
  title: 'Kubernetes',
  variable: 'FLEET_KUBE',
  source: `a Go build of etcd and Kubernetes ${KUBERNETES_VERSION} into the cache, five minutes on two cores when nothing of it was ever built`,
  isBuilt: true,
  find: (machine) => (existsSync(program(machine)) ? program(machine) : undefined),
  install: async (machine) => {
    await mkdir(family(machine), { recursive: true });
    await orExplain(`Go could not build Kubernetes ${KUBERNETES_VERSION}`, () =>
      buildVersion(family(machine), async (temporary) => {
        await runOrFail(['go', 'build', ...flags, '-o', temporary, '.', './kubectl'], {
          cwd: module(machine),
          env: { ...machine.env, CGO_ENABLED: '0' },
          signal: machine.signal,
        });
        await runOrFail([join(temporary, 'kubectl'), 'version', '--client']);
        return versionOf(machine);
      }),
    );
    return program(machine);
  },
};
