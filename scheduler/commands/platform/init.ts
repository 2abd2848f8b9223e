import { basename, relative, resolve } from 'node:path';
import { Args, Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { isName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { initPlatform } from '../../load/init/init-platform.ts';

export default class Init extends FleetCommand {
  static override description = `Makes a new platform repository that works, with a comment in every file.

It has a cluster type for clusters and one for hosts, a chain of three environments with a gate, and one application.
Nothing is replaced.`;
  static override examples = [
    '<%= config.bin %> init acme-platform',
    '<%= config.bin %> init . --fleet acme',
  ];
  static override args = {
    directory: Args.string({ required: true, description: 'Folder for the platform: new, or empty' }),
  };
  static override flags = {
    fleet: Flags.string({ description: "Name of the fleet [default: the folder's name]" }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Init);
    const directory = resolve(args.directory);
    const fleet = flags.fleet === undefined ? nameOf(directory) : givenName(flags.fleet);
    const files = await initPlatform(directory, fleet, this.signal);
    const shown = relative(process.cwd(), directory) || '.';
    this.log(`fleet ${fleet}: ${files.length} files in ${shown}`);
    this.log(`Next: cd ${shown} && fleet-scheduler validate`);
    this.log(`      fleet-scheduler root init --dev --fleet ${fleet} && fleet-scheduler build`);
    this.log('      fleet-scheduler promote qa --explain');
    this.log('      fleet-scheduler promote qa && fleet-scheduler build');
    this.log('README.md describes each of them.');
    return { fleet, directory, files: files.map(({ path }) => path) };
  }
}

const givenName = (name: string): string => {
  if (isName(name)) return name;
  throw new FleetError('USAGE', `--fleet ${JSON.stringify(name)} cannot be a fleet's name`, { hint: NAMES });
};

const NAMES = 'Use lower-case letters, digits and dashes, at most 63';

const nameOf = (directory: string): string => {
  const name = basename(directory);
  if (isName(name)) return name;
  throw new FleetError('USAGE', `the folder's name ${JSON.stringify(name)} cannot be a fleet's name`, {
    hint: 'Give --fleet: lower-case letters, digits and dashes, at most 63',
  });
};
