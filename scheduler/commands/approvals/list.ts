import { openLayout } from '#bundles/formats/layout/layout';
import { FleetCommand } from '#cli/fleet-command';
import { awaitingChannels, readAwaiting } from '../../release/approvals/awaiting.ts';
import { describeWaiting, type Waiting } from '../../release/approvals/waiting.ts';
import { waitingLines } from '../../release/approvals/waiting-lines.ts';
import { readConfiguration, requireSetting } from '../../settings/configuration.ts';
import { configurationFlags } from '../../settings/configuration-flags.ts';
import { openKeyDirectory } from '../../keys/key-directory.ts';

const { config, keys, layout } = configurationFlags;

export default class ApprovalsList extends FleetCommand {
  static override summary = 'Show the bundles that wait for an approval, with their changes';
  static override description =
    'If the root requires more than one bundle signer, the bundles of a build wait here. Sites keep their release until enough signers have signed.';
  static override examples = [
    '<%= config.bin %> <%= command.id %>',
    '<%= config.bin %> <%= command.id %> --json',
  ];
  static override flags = { config, keys, layout };

  async run(): Promise<unknown> {
    const { flags } = await this.parse(ApprovalsList);
    const configuration = await readConfiguration(flags, process.cwd());
    const { root, roots } = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const opened = await openLayout(requireSetting(configuration, 'layout'));
    const waiting: Waiting[] = [];
    for (const channel of awaitingChannels(opened)) {
      const awaiting = await readAwaiting(opened, channel, root);
      if (awaiting) waiting.push(await describeWaiting(opened, roots, root, awaiting));
    }
    this.print(waiting.flatMap(waitingLines));
    if (waiting.length === 0) this.log('no bundle waits for an approval');
    return { waiting };
  }
}
