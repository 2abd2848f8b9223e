import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf, hexOf } from '#bundles/digest';
import { createCertifiedFleet, startHubServer } from '../../agent/hub-server.ts';
import { packKubernetesBundle } from '../../harness/fleets/kubernetes-bundle.ts';
import { writeTestMedium } from '../../harness/fleets/signed-medium.ts';
import { runOrFail } from '../../harness/run/run-command.ts';

/** The bundled agent with a cluster as its target, which takes its releases from media. */
export type AgentOnCluster = AsyncDisposable & {
  readonly state: string;
  /** For each of its commands. */
  readonly env: NodeJS.ProcessEnv;
  /** Writes a signed medium with the next release: manifests by package. Returns its folder. */
  readonly release: (packages: Readonly<Record<string, string>>) => Promise<string>;
};

/** @param program from bundleAgent @param home a folder that does not exist yet */
export const enrolOnCluster = async ({
  program,
  kubeconfig,
  home,
}: {
  readonly program: string;
  readonly kubeconfig: string;
  readonly home: string;
}): Promise<AgentOnCluster> => {
  await mkdir(home);
  const fleet = await createCertifiedFleet();
  const hub = await startHubServer(fleet, home);
  const token = join(home, 'token');
  await writeFile(token, 'token-1\n');
  const env = {
    ...process.env,
    FLEET_AGENT_STATE: join(home, 'state'),
    FLEET_AGENT_HUB: hub.url,
    FLEET_AGENT_TARGETS: 'kubernetes',
    FLEET_AGENT_KUBECONFIG: kubeconfig,
    NODE_OPTIONS: '--max-semi-space-size=2',
  };
  await runOrFail(
    [
      process.execPath,
      program,
      'enroll',
      '--site=plant-7',
      '--name=kiosk-1',
      '--channel=prod/factory-host',
      `--token-file=${token}`,
      `--root-sha256=${hexOf(digestOf(fleet.roots[0] ?? ''))}`,
    ],
    { env },
  );
  let version = 0;
  return {
    state: join(home, 'state'),
    env,
    release: (packages) => {
      version += 1;
      const bundle = packKubernetesBundle(fleet, packages);
      return writeTestMedium(join(home, `medium-${version}`), fleet, { release: { version, bundle } });
    },
    [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
  };
};
