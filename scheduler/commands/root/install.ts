import { Args, Flags } from '@oclif/core';
import { type Digest, parseDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { DEV_ROOT_NOTICE } from '#bundles/trust/root/dev-root';
import { FleetCommand } from '#cli/fleet-command';
import { shaLine } from '../../keys/root/describe-root.ts';
import { installRoots } from '../../keys/root/install-roots.ts';
import { readRootBytes } from '../../keys/root/read-root-file.ts';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { personFlags, personAndReason } from '../person-flags.ts';
import { recordRoots } from './record-roots.ts';

const { config, keys, layout } = configurationFlags;

export default class RootInstall extends FleetCommand {
  static override description =
    'Install signed roots in the key directory, from which media and the hub distribute them.\n\nThey must continue the newest installed root, signed as agents require. An empty directory needs all roots, from root 1.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> 1.root.json --keys ./keys --sha256 9f2c...e1',
    '<%= config.bin %> <%= command.id %> 2.root.json --keys ./keys',
  ];
  static override args = {
    root: Args.string({ required: true, multiple: true, description: 'Files, in any order' }),
  };
  static override flags = {
    config,
    keys,
    layout,
    ...personFlags,
    sha256: Flags.string({ description: 'SHA-256 that one of them must have, as published by the officers' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(RootInstall);
    const configuration = await readConfiguration(flags, process.cwd());
    const directory = requireSetting(configuration, 'keys');
    const by = personAndReason(flags);
    const now = this.readNow(flags.now);
    const files = await Promise.all(
      args.root.map(async (file) => ({ file, bytes: await readRootBytes(file) })),
    );
    const pinned = flags.sha256 === undefined ? undefined : parseSha(flags.sha256);
    const { added, root } = await installRoots(directory, files, { now, pinned });
    for (const line of await recordRoots(configuration, 'root install', by, now)) this.say(line);
    if (root.dev) this.say(DEV_ROOT_NOTICE);
    for (const one of added) this.log(`${shaLine(one)}: installed`);
    if (added.length === 0) this.log(`root ${root.version} of fleet ${root.fleet} is there already`);
    else this.log('The hub distributes it after its next start; media made afterwards carry it.');
    return {
      fleet: root.fleet,
      directory,
      version: root.version,
      digest: root.digest,
      added: added.map(({ version }) => version),
    };
  }
}

const parseSha = (text: string): Digest => {
  try {
    return parseDigest(`sha256:${text.toLowerCase().replace(/^sha256:/, '')}`);
  } catch (cause) {
    throw new FleetError(
      'USAGE',
      `--sha256 must be 64 hex digits, not ${JSON.stringify(text.slice(0, 80))}`,
      {
        cause,
      },
    );
  }
};
