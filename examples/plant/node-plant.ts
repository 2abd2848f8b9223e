import { join } from 'node:path';
import { freePort } from '../../test/harness/neighbours/free-port.ts';
import { NODE_KUBECONFIG, type NodeOptions, startNode } from '../../test/harness/kubernetes/node.ts';
import { PROGRAMS_VARIABLE } from '../../test/harness/run/program-file.ts';
import { Broken, REPOSITORY } from '../story.ts';
import type { Plant } from './plant.ts';

const SETTINGS = '/etc/fleet-agent';
const STICK = '/media/stick';
const AGENT = '/opt/fleet-agent';
/** What `npm run bundle:agent` makes, or in tests the agent that was built for all of them. */
const AGENT_FILES = join(process.env[PROGRAMS_VARIABLE] || join(REPOSITORY, 'dist'), 'agent');

/**
 * A cluster of one node on a host that has nothing but a cable to this machine. The agent is installed as on any Debian
 * host: the bundled file and the systemd unit.
 */
export const startNodePlant = async (
  name: string,
  parts: Pick<NodeOptions, 'nodeBase' | 'kube' | 'busybox'>,
  { stick, signal }: { readonly stick: string; readonly signal: AbortSignal },
): Promise<Plant> => {
  const node = await startNode(name, {
    ...parts,
    signal,
    network: 'machine',
    binds: [
      { from: stick, to: STICK },
      { from: AGENT_FILES, to: AGENT, readOnly: true },
      {
        from: join(REPOSITORY, 'deploy/systemd/fleet-agent.service'),
        to: '/etc/systemd/system/fleet-agent.service',
        readOnly: true,
      },
    ],
  });
  const { cable } = node;
  if (cable === undefined) throw new Broken('the node has no cable');
  const install = `mkdir -p ${SETTINGS} && ln -sf ${AGENT}/fleet-agent /usr/bin/fleet-agent && systemctl daemon-reload`;
  await node.exec(['/bin/sh', '-c', install]);
  return {
    pods: 'real',
    prompt: `root@${name}:~#`,
    stick: STICK,
    settings: [
      'targets: [kubernetes]',
      `kubeconfig: ${NODE_KUBECONFIG}`,
      'containerd: /run/containerd/containerd.sock',
    ],
    line: async () => {
      const address = `${cable.machineAddress}:${await freePort()}`;
      return { listen: address, known: address };
    },
    run: (argv) => node.exec(argv, { signal }),
    write: async (file, text) => {
      const path = join(SETTINGS, file);
      await node.exec(['/bin/sh', '-c', `umask 077 && cat > ${path}`], { input: text });
      return path;
    },
    startCommand: 'systemctl enable --now fleet-agent',
    startAgent: () => node.exec(['systemctl', '--quiet', 'enable', '--now', 'fleet-agent']),
    log: async () => (await node.exec(['journalctl', '--unit=fleet-agent', '--output=cat'])).stdout,
    powerCut: async () => {
      await node.crash();
      await node.start();
    },
    cutOff: cable.cutOff,
    reconnect: cable.reconnect,
    [Symbol.asyncDispose]: () => node[Symbol.asyncDispose](),
  };
};
