import type { Drift } from '../../../../agent/model/target.ts';
import { assembleHost } from '../../../../scheduler/assemble/bundle/host/assemble-host.ts';
import { openLayout } from '../../../../bundles/formats/layout/layout.ts';
import { resolveImages } from '../../../../scheduler/assemble/images/resolve-images.ts';
import type { BuiltPackage } from '../../../agent/apply/host/built-package.ts';
import { askOnHost, DAEMON_BINDS } from '../../../agent/apply/host/restricted-daemon.ts';
import type { BusyboxImage } from '../../../harness/kubernetes/busybox-image.ts';
import { type FactoryHost, startFactoryHost } from '../../../harness/hosts/factory-host.ts';
import { noAccess } from '../../../scheduler/assemble/content/no-access.ts';
import { clusterType, renderedFiles, renderedPackage, target } from '../../../scheduler/model-objects.ts';

const HEAD = 'apiVersion: fleet-ferry/v1alpha1\nkind: HostPackage\nmetadata: {name: clock}\nspec:\n';

/** Key of the step of a playbook `setup`. */
export const KEY = 'playbook:/var/lib/fleet-ferry/ansible/clock-host/playbooks/setup';

/** A playbook without facts. */
export const tasks = (text: string): string => `- hosts: localhost\n  gather_facts: false\n  tasks:\n${text}`;

/** The line of a HostPackage that names the playbook. */
export const setup = (more = ''): string => `  playbooks: [{name: setup, source: ansible/site.yml${more}}]\n`;

/** The package as the scheduler assembles it of an application's files. @param image that the lock file has and quadlets run */
export const build = async (
  spec: string,
  files: Readonly<Record<string, string | Buffer>> = {},
  values: Readonly<Record<string, string>> = {},
  image?: BusyboxImage,
): Promise<BuiltPackage> => {
  const rendered = renderedPackage(
    clusterType('press', { target: 'host', configType: 'shell' }),
    target('clock/host'),
    {
      files: renderedFiles({ 'platform-config.sh': 'export ZONE="Europe/Berlin"\n' }),
      configData: { ZONE: 'Europe/Berlin' },
    },
  );
  const application = {
    shown: 'apps/clock/',
    files: new Map(
      Object.entries({ ...files, 'package.yaml': HEAD + spec }).map(([path, it]) => [path, Buffer.from(it)]),
    ),
  };
  const imageLocks = new Map(image ? [[image.name, image.pinned]] : []);
  const made = await assembleHost(rendered, application, noAccess({ imageLocks }));
  const signal = new AbortController().signal;
  const resolved = image
    ? await resolveImages({ sources: [(await openLayout(image.layout)).blobs] }, made.images, signal)
    : [];
  const contents = resolved.flatMap(({ source, blobs: all }) =>
    all.map(({ digest }) => ({ source, digest })),
  );
  const blobs: string[] = [];
  for (const { source, digest } of [...(made.contents ?? []), ...contents]) {
    const pieces: Uint8Array[] = [];
    for await (const piece of await source.open(digest, signal)) pieces.push(piece);
    blobs.push(Buffer.concat(pieces).toString('base64'));
  }
  return {
    blobs,
    files: Object.fromEntries(
      made.files.map(({ path, bytes }) => [path, Buffer.from(bytes).toString('base64')]),
    ),
    siteInputs: made.siteInputs.map(({ schema: _, ...field }) => ({
      ...field,
      assignment: 'built',
      value: values[field.input] ?? '',
    })),
  };
};

export type PlaybooksHost = Awaited<ReturnType<typeof startPlaybooksHost>>;

/** A booted host without network, and what the host target does with built packages there. */
export const startPlaybooksHost = async (name: string, base: string) => {
  const host: FactoryHost = await startFactoryHost(name, { base, binds: DAEMON_BINDS });
  const askHost = askOnHost(host);
  const ask = (verb: 'plan' | 'apply' | 'observe', built: BuiltPackage | null): Promise<unknown> =>
    askHost({ verb, spec: null, ...(built && { built }) });
  const playbookLines = async (verb: 'plan' | 'apply', built: BuiltPackage | null) =>
    ((await ask(verb, built)) as readonly string[]).filter((line) => line.includes(' playbook:'));
  /** What the plan says of playbooks. */
  const plan = (built: BuiltPackage) => playbookLines('plan', built);
  /** What the steps of playbooks said. */
  const apply = (built: BuiltPackage | null) => playbookLines('apply', built);
  const observe = async (built: BuiltPackage) =>
    ((await ask('observe', built)) as readonly Drift[]).map(({ message }) => message);
  const sh = async (script: string): Promise<string> =>
    (await host.look(['/bin/sh', '-c', script])).stdout.trim();

  return { host, plan, apply, observe, sh };
};
