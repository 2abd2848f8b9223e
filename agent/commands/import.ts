import { Args, Flags } from '@oclif/core';
import { type ImportResult, importMedium } from '../acquire/import-medium.ts';
import { AgentCommand } from './agent-command.ts';
import { exitCodeOf, showPackages } from './show-packages.ts';

export class Import extends AgentCommand {
  static override summary = 'Verify a medium and apply what it brings for this machine.';
  static override description =
    'Nothing changes unless everything on the medium that is for this machine is signed, whole and newer than what ' +
    'came before. Interrupt it at any time: the next command goes on from there.';
  static override examples = [
    '<%= config.bin %> import /media/stick',
    '<%= config.bin %> import ./plant-7.tar --json',
    '<%= config.bin %> import /media/stick --prune',
  ];
  static override args = {
    medium: Args.string({ required: true, description: 'Directory or tar file' }),
  };
  static override flags = {
    prune: Flags.boolean({ description: 'This release may remove more packages than the prune budget' }),
  };

  async run(): Promise<ImportResult> {
    const { args, flags } = await this.parse(Import);
    const result = await this.changing(flags, (agent) =>
      importMedium(agent, args.medium, { prune: flags.prune }),
    );
    this.log(summary(result));
    for (const line of aboutImages(result)) this.log(line);
    this.log(showPackages(result.packages));
    const { contradictingReceipts } = result;
    if (contradictingReceipts > 0) this.log(CONTRADICTING);
    process.exitCode = exitCodeOf(result.packages) || (contradictingReceipts > 0 ? 8 : 0);
    return result;
  }
}

const summary = ({ release, news, selected, siteVersion, acknowledged }: ImportResult): string => {
  const receipts = acknowledged > 0 ? ` Receipts for ${acknowledged} events.` : '';
  if (!release) return `Accepted site statement ${siteVersion}; no release for this machine.${receipts}`;
  const { environment, clusterType, version } = release;
  const again = news === 'same' ? ', imported before' : '';
  const left = selected ? '' : ' Its rollout does not reach this machine yet: it stays where it is.';
  return `Accepted release ${version} of ${environment}/${clusterType}${again}.${left}${receipts}`;
};

const aboutImages = ({ images: { brought, left } }: ImportResult): readonly string[] => [
  ...(brought > 0 ? [`Brought ${brought} container image${brought === 1 ? '' : 's'}.`] : []),
  ...(left > 0 ? [`${left} container image${left === 1 ? '' : 's'} ${NOBODY_KEEPS}`] : []),
];

const NOBODY_KEEPS =
  'stayed on the medium, as nothing here keeps images: the cluster has to get them by itself. To bring them in, set ' +
  'containerd or imageRegistry in the configuration of the agent and import again.';

const CONTRADICTING =
  'RECEIPT_INVALID: the office acknowledges other events than were told here, so nothing was let go. Tell the platform ' +
  'team: this machine was put back from a copy, or another one has its key.';
