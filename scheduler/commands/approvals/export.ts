import { Args, Flags } from '@oclif/core';
import { openLayout } from '#bundles/formats/layout/layout';
import { formatChannel, parseChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { requireAwaiting } from '../../release/approvals/approve.ts';
import { exportStatement, FILES } from '../../release/approvals/export-statement.ts';
import { describeWaiting } from '../../release/approvals/waiting.ts';
import { waitingLines } from '../../release/approvals/waiting-lines.ts';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';

const { config, keys, layout } = configurationFlags;

export default class ApprovalsExport extends FleetCommand {
  static override summary =
    'Write a statement that awaits approval to a file, to sign it on another machine with cosign';
  static override description =
    'The file holds the exact bytes that are signed. Bring it to the approver, run the commands that this prints, and bring back the file of cosign: `approve <channel> --bundle b.sigstore.json`.';
  static override examples = ['<%= config.bin %> <%= command.id %> prod/factory-host --out approval'];
  static override args = {
    channel: Args.string({ required: true, description: 'environment/cluster type' }),
  };
  static override flags = {
    config,
    keys,
    layout,
    out: Flags.string({ required: true, description: `Directory for ${FILES.statement}` }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(ApprovalsExport);
    const configuration = await readConfiguration(flags, process.cwd());
    const channel = parseChannel(args.channel);
    const directory = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const opened = await openLayout(requireSetting(configuration, 'layout'));
    const awaiting = await requireAwaiting(opened, channel, directory);
    const waiting = await describeWaiting(opened, directory.roots, directory.root, awaiting);
    const commands = await exportStatement(awaiting, flags.out);
    this.print(waitingLines(waiting));
    this.log();
    this.log(`To approve it, in ${flags.out}:`);
    for (const command of commands) this.log(`  ${command}`);
    this.log(`and here: fleet-scheduler approve ${formatChannel(channel)} --bundle ${FILES.bundle}`);
    return { ...waiting, out: flags.out, commands };
  }
}
