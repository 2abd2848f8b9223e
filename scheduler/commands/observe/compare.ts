import { Args, Flags } from '@oclif/core';
import { parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { answerCompare } from '../../hub/questions/answers/compare-environments.ts';
import { openHub } from '../../hub/open-hub.ts';
import { readConfiguration } from '../../settings/configuration.ts';
import { hubFlags } from '../../settings/configuration-flags.ts';

export default class Compare extends FleetCommand {
  static override description =
    'Show the workloads, versions and configuration that differ between the newest releases of two environments, and how many agents run them.\n\nValues of Secrets are never shown, only that they differ.';
  static override examples = [
    '<%= config.bin %> <%= command.id %> qa prod',
    '<%= config.bin %> <%= command.id %> qa prod --diff',
  ];
  static override args = {
    left: Args.string({ required: true, description: 'Environment' }),
    right: Args.string({ required: true, description: 'Environment to compare it with' }),
  };
  static override flags = {
    ...hubFlags,
    diff: Flags.boolean({ description: 'Also the lines that differ in each object' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Compare);
    const now = this.readNow(flags.now);
    await using hub = await openHub(await readConfiguration(flags, process.cwd()));
    const [left, right] = [parseName(args.left, 'environment'), parseName(args.right, 'environment')];
    const { lines, json } = await answerCompare(hub, { left, right, diff: flags.diff }, now);
    this.print(lines);
    return json;
  }
}
