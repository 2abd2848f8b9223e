import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { RebootPolicy } from '#bundles/formats/bundle/config';
import { digestOf, hexOf } from '#bundles/digest';
import { parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { agentOnHost } from '../../../harness/run/program-file.ts';
import { KEPT_AGENT_BIND, keptAgent } from '../../../harness/hosts/kept-agent.ts';
import { type Bind, type FactoryHostOptions, startFactoryHost } from '../../../harness/hosts/factory-host.ts';
import {
  createTestFleet,
  packTestBundle,
  type TestPackage,
  writeTestMedium,
} from '../../../harness/fleets/signed-medium.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const repository = resolve(import.meta.dirname, '../../../..');
const UNITS = '/opt/deploy';
const agentHere = agentOnHost();
const NOW = { FLEET_NOW: '2026-11-21T08:00:00Z' };

/** A booted host with an enrolled agent of this work tree, the units of the product and no network. */
export const startSiteHost = async (
  name: string,
  base: string,
  binds: readonly Bind[] = [],
  devices: Pick<FactoryHostOptions, 'blockDevices' | 'loops'> = {},
) => {
  const media = await temporaryDirectory(name);
  await mkdir(join(media.path, 'stick'));
  const fleet = await createTestFleet();
  const host = await startFactoryHost(name, {
    base,
    ...devices,
    binds: [
      agentHere.bind,
      KEPT_AGENT_BIND,
      { from: join(repository, 'deploy'), to: UNITS, readOnly: true },
      { from: media.path, to: '/media' },
      ...binds,
    ],
  });
  let version = 0;

  const exec = (script: string) => host.look(['/bin/sh', '-c', script]);
  const sh = (script: string): Promise<string> => host.sh(script);
  const kept = keptAgent(host, NOW);
  const agent = (words: string) => kept(...words.split(' '));
  /** Writes a medium with a release of these packages and returns the command that imports it. */
  const release = (...packages: readonly TestPackage[]): Promise<string> => releaseWith(undefined, packages);
  const releaseWith = async (
    reboot: RebootPolicy | undefined,
    packages: readonly TestPackage[],
  ): Promise<string> => {
    version += 1;
    const request = JSON.parse(await sh('cat /media/stick/fleet/requests/*.json')) as {
      readonly request: string;
    };
    await writeTestMedium(join(media.path, `medium-${version}`), fleet, {
      site: {
        site: 'plant-7',
        version,
        agents: [{ name: 'kiosk-1', key: parseCertificateRequest(request.request).key.pem }],
      },
      release: { version, bundle: packTestBundle(fleet, packages, undefined, reboot) },
    });
    return `import --prune /media/medium-${version}`;
  };
  /** Imports a release of these packages. */
  const apply = async (...packages: readonly TestPackage[]) => {
    const { code, stdout, stderr } = await agent(await release(...packages));
    return { code, output: `${stdout}${stderr}` };
  };
  const applied = async (...packages: readonly TestPackage[]): Promise<void> => {
    const { code, output } = await apply(...packages);
    if (code !== 0) throw new Error(`the import ended with ${code}: ${output}`);
  };
  /** Imports a release that may have to wait for a reboot. */
  const importWith = async (reboot: RebootPolicy | undefined, ...packages: readonly TestPackage[]) => {
    const { code, stdout, stderr } = await agent(await releaseWith(reboot, packages));
    return { code, output: `${stdout}${stderr}` };
  };
  /** Imports a release that lets the agent reboot the host, or not. */
  const appliedWith = async (
    reboot: RebootPolicy | undefined,
    ...packages: readonly TestPackage[]
  ): Promise<void> => {
    const { code, output } = await importWith(reboot, ...packages);
    if (code !== 0) throw new Error(`the import ended with ${code}: ${output}`);
  };
  /** 'ii hello 1.0, ii libgreet 1.0'; packages of which nothing is left are not listed. */
  const dpkg = async (...names: readonly string[]): Promise<string> =>
    (
      await sh(
        `dpkg -l ${names.join(' ')} 2>/dev/null | grep -E '^[hirp][^n]' | sed -E 's/ +/ /g' | cut -d ' ' -f 1-3`,
      )
    )
      .split('\n')
      .join(', ');

  const root = hexOf(digestOf(fleet.roots[0] ?? ''));
  await sh(`cp ${UNITS}/systemd/fleet-agent*.service /etc/systemd/system
    printf '#!/bin/sh\\nexec /usr/local/bin/node ${agentHere.file} "$@"\\n' > /usr/bin/fleet-agent
    chmod 755 /usr/bin/fleet-agent
    systemctl daemon-reload`);
  const who = `--fleet ${fleet.name} --site plant-7 --name kiosk-1 --channel prod/factory-host`;
  const enroll = async (): Promise<void> => {
    const { code, stderr } = await agent(`enroll ${who} --root-sha256 ${root} /media/stick`);
    if (code !== 0) throw new Error(stderr);
  };
  await enroll();
  return {
    host,
    media: media.path,
    exec,
    sh,
    agent,
    /** Asks again, with a new key where the state directory was lost. */
    enroll,
    release,
    apply,
    applied,
    importWith,
    appliedWith,
    dpkg,
    /** A folder of its own for the packages of each release. */
    folder: () => join(media.path, 'debs', String(version)),
    [Symbol.asyncDispose]: async () => {
      await host.remove();
      await media[Symbol.asyncDispose]();
    },
  };
};

export type SiteHost = Awaited<ReturnType<typeof startSiteHost>>;

/** Nothing else is in the release: what an earlier test installed is gone. */
export const nothing: TestPackage = { id: 'other', files: { '/etc/other.conf': 'x' } };
