import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { digestOf, hexOf } from '../../bundles/digest.ts';
import { createCertifiedFleet, startHubServer } from '../../test/agent/hub-server.ts';
import { packKubernetesBundle } from '../../test/harness/fleets/kubernetes-bundle.ts';
import { writeTestMedium } from '../../test/harness/fleets/signed-medium.ts';
import { type Measured, measure } from '../measure.ts';

export type AgentOnCluster = {
  /** A signed medium with a release of these packages, manifests by name. Returns its folder. */
  readonly release: (packages: Readonly<Record<string, string>>) => Promise<string>;
  readonly run: (...words: string[]) => Promise<Measured>;
};

/** The bundled agent, enrolled with a cluster as its target, for the time of `use`. @param home a folder that does not exist yet */
export const withAgentOnCluster = async <T>(
  {
    program,
    kubeconfig,
    home,
  }: { readonly program: string; readonly kubeconfig: string; readonly home: string },
  use: (agent: AgentOnCluster) => Promise<T>,
): Promise<T> => {
  await mkdir(home);
  const fleet = await createCertifiedFleet();
  await using hub = await startHubServer(fleet, home);
  const token = join(home, 'token');
  await writeFile(token, 'token-1\n');
  const env = {
    FLEET_AGENT_STATE: join(home, 'state'),
    FLEET_AGENT_HUB: hub.url,
    FLEET_AGENT_TARGETS: 'kubernetes',
    FLEET_AGENT_KUBECONFIG: kubeconfig,
    NODE_OPTIONS: '--max-semi-space-size=2',
  };
  const run = (...words: string[]): Promise<Measured> =>
    measure([process.execPath, program, ...words], { env });
  await run(
    'enroll',
    '--site=plant-7',
    '--name=kiosk-1',
    '--channel=prod/factory-host',
    `--token-file=${token}`,
    `--root-sha256=${hexOf(digestOf(fleet.roots[0] ?? ''))}`,
  );
  let version = 0;
  return await use({
    run,
    release: (packages) => {
      version += 1;
      const bundle = packKubernetesBundle(fleet, packages);
      return writeTestMedium(join(home, `medium-${version}`), fleet, { release: { version, bundle } });
    },
  });
};
