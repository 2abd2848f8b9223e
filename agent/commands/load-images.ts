import { Flags } from '@oclif/core';
import { isDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { FleetCommand } from '#cli/fleet-command';
import { keepWatched, readWatchdog } from '../daemon/keep-watched.ts';
import { createProgress, SLACK_MS, LOOK_MS } from '../daemon/progress.ts';
import { sleep } from '../daemon/wake-signal.ts';
import { containerdProvider } from '../images/containerd/containerd-provider.ts';
import { openCtr } from '../images/containerd/open-ctr.ts';
import { isProtected, openImageFolder } from '../images/folder/image-folder.ts';
import { keepLoading, type Loader, loadRound } from '../images/folder/load-images.ts';

export default class LoadImages extends FleetCommand {
  static override summary = "Load the images that the agent handed over into this node's containerd.";
  static override description =
    'For the image loader on the nodes of a cluster without network, beside an agent that may not reach them (imageFolder in agent.yaml). It needs ' +
    'no network, no account and no state. An image is loaded only if a release signed by the fleet names it, which the loader verifies from the ' +
    'root whose SHA-256 it is given, and every blob of it is verified on its way. Runs until it is stopped; logs one JSON object a line.';
  static override examples = [
    '<%= config.bin %> load-images --node node-1 --root-sha256 sha256:0f3a...',
    '<%= config.bin %> load-images --node node-1 --root-sha256 sha256:0f3a... --containerd /run/k3s/containerd/containerd.sock',
  ];
  static override flags = {
    folder: Flags.string({
      description: 'Folder with the images',
      default: '/var/lib/fleet-images',
      env: 'FLEET_AGENT_IMAGE_FOLDER',
    }),
    containerd: Flags.string({
      description: 'Socket of the containerd of this node',
      default: '/run/containerd/containerd.sock',
      env: 'FLEET_AGENT_CONTAINERD',
    }),
    node: Flags.string({
      description: 'Name of this node in Kubernetes',
      required: true,
      env: 'FLEET_AGENT_NODE',
    }),
    'root-sha256': Flags.string({
      description: 'SHA-256 of the root file, as for enroll',
      required: true,
      env: 'FLEET_AGENT_ROOT_SHA256',
    }),
    once: Flags.boolean({
      description: 'Load what is in the folder and exit, with code 7 if something was refused',
    }),
  };

  async run(): Promise<object | undefined> {
    const { flags } = await this.parse(LoadImages);
    const { openLog } = await import('#cli/open-log');
    const log = openLog();
    const { signal } = this;
    const loader: Loader = {
      folder: openImageFolder(flags.folder),
      provider: containerdProvider(flags.containerd, openCtr(flags.containerd, process.env)),
      node: nodeOf(flags.node),
      pinnedRoot: rootOf(flags['root-sha256']),
      log,
      signal,
    };
    if (!(await isProtected(loader.folder)))
      log.warn(
        { folder: flags.folder },
        'another user may replace what this loader writes, so an agent that was taken over can make it forget newer roots: give the folder to root, and nodes in it to the user of the loader',
      );
    if (flags.once) {
      const answer = await loadRound(loader, '');
      process.exitCode = answer.refused.length > 0 ? 7 : 0;
      return answer;
    }
    const progress = createProgress();
    const watching = keepWatched(readWatchdog(process.env), { progress, sleep, log, signal });
    log.info({ folder: flags.folder, containerd: flags.containerd, node: flags.node }, 'started');
    await keepLoading(loader, () => progress.within(LOOK_MS + SLACK_MS));
    await watching;
    return undefined;
  }
}

/** @throws FleetError USAGE */
const nodeOf = (name: string): string => {
  if (/^[a-z0-9][a-z0-9.-]{0,252}$/.test(name)) return name;
  throw new FleetError('USAGE', `--node ${JSON.stringify(name)} is not the name of a node`, {
    hint: 'Take the name that kubectl get nodes shows',
  });
};

/** @throws FleetError USAGE */
const rootOf = (text: string) => {
  const digest = text.startsWith('sha256:') ? text : `sha256:${text}`;
  if (isDigest(digest)) return digest;
  throw new FleetError('USAGE', `--root-sha256 ${JSON.stringify(text)} is not a SHA-256`, {
    hint: 'Write the 64 hexadecimal digits that the platform team gave you for the enrolment',
  });
};
