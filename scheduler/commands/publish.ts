import { Args, Flags } from '@oclif/core';
import { shortDigest } from '#bundles/digest';
import { FleetError, formatError } from '#bundles/errors';
import { openLayout } from '#bundles/layout/layout';
import { parseChannel, parseName } from '#bundles/names';
import { FleetCommand } from '#bundles/program/fleet-command';
import { registryOptions } from '#bundles/registry/registry-access';
import { readConfiguration, requireSetting } from '../configuration.ts';
import { configurationFlags, registryFlags, selectionFlags } from '../configuration-flags.ts';
import type { Selection } from '../publish/send/choose-pointers.ts';
import { openDestination } from '../publish/send/open-destination.ts';
import { type PointerOutcome, publishLayout } from '../publish/send/publish-layout.ts';
import { addFreight, NO_FREIGHT } from '../publish/send/send-shipment.ts';
import { formatFreight, formatSize } from './format-freight.ts';

const { layout, registry } = configurationFlags;

export default class Publish extends FleetCommand {
  static override summary = 'Bring releases and site orders from the layout to a registry';
  static override description =
    `Images, bundles and signatures go first, each under a tag that never moves, and the pointer that sites look at goes last: whoever finds a release finds all of it, whenever this is stopped.

A pointer never goes back: where the registry has a newer release than the layout, that channel is refused (ROLLBACK). Run it again after an interruption and it goes on; what is there already costs one question a channel.`;
  static override examples = [
    '<%= config.bin %> publish oci://registry.example/factory/fleet --layout out',
    '<%= config.bin %> publish oci://registry.example/factory/fleet --layout out --environment prod --dry-run',
    '<%= config.bin %> publish /srv/fleet/mirror --layout out',
  ];
  static override args = {
    destination: Args.string({
      description:
        'oci://host[:port]/prefix, or the folder of another layout [default: registry of the configuration]',
    }),
  };
  static override flags = {
    ...registryFlags,
    ...selectionFlags,
    layout,
    registry,
    site: Flags.string({
      multiple: true,
      multipleNonGreedy: true,
      description: 'Only the order and the receipts of this site',
    }),
    repair: Flags.boolean({ description: 'Look for every blob, and send again what the registry has lost' }),
    'dry-run': Flags.boolean({ description: 'Say what would be sent and how much; send nothing' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Publish);
    const configuration = await readConfiguration(flags, process.cwd());
    const now = this.readNow(flags.now);
    const selection: Selection = {
      channels: flags.channel?.map(parseChannel),
      environments: flags.environment?.map((name) => parseName(name, 'environment')),
      sites: flags.site?.map((name) => parseName(name, 'site')),
    };
    const source = await openLayout(requireSetting(configuration, 'layout'));
    const where = args.destination ?? requireSetting(configuration, 'registry');
    const options = registryOptions({ ...configuration, env: process.env });
    await using destination = await openDestination(where, options, now);
    const outcomes = await publishLayout(source, destination, {
      selection,
      dryRun: flags['dry-run'],
      repair: flags.repair,
      now,
      signal: this.signal,
      onUpload: (repository, { digest, size }) => {
        if (size >= WORTH_A_LINE)
          this.say(`${repository}: ${shortDigest(digest)}, ${formatSize(size)} uploaded`);
      },
      onPointer: (outcome) => {
        if (outcome.outcome !== 'unchanged') this.say(describePointer(outcome));
      },
    });
    this.#conclude(outcomes, where);
    return {
      destination: where,
      pointers: outcomes.map(({ error, ...outcome }) => ({
        ...outcome,
        ...(error && (this.toErrorJson(error) as object)),
      })),
    };
  }

  #conclude(outcomes: readonly PointerOutcome[], where: string): void {
    const count = (wanted: PointerOutcome['outcome']): number =>
      outcomes.filter(({ outcome }) => outcome === wanted).length;
    const freight = outcomes.map((it) => it.freight).reduce(addFreight, NO_FREIGHT);
    const verb = count('planned') > 0 ? 'to upload' : 'uploaded';
    const parts = (['planned', 'sent', 'superseded', 'unchanged', 'failed'] as const)
      .filter((outcome) => count(outcome) > 0)
      .map((outcome) => `${count(outcome)} ${outcome}`);
    const said = [parts.join(', ') || 'nothing to publish', formatFreight(freight, verb)];
    this.log(`${where}: ${said.filter(Boolean).join('; ')}`);
    const first = outcomes.find(({ error }) => error)?.error;
    if (first) process.exitCode = new FleetError(first.code, '').exitCode;
  }
}

/** Bytes of a blob that somebody who waits would like to hear of. */
const WORTH_A_LINE = 32_000_000;

/** 'prod/kiosk:release           release 3  sent: 4 blobs (1.2 MB) uploaded' */
const describePointer = ({ repository, tag, name, outcome, freight, error }: PointerOutcome): string => {
  const head = `${`${repository}:${tag}`.padEnd(32)} ${name === undefined ? '' : `${name}  `}`;
  switch (outcome) {
    case 'unchanged':
      return `${head}unchanged`;
    case 'sent':
      return `${head}sent: ${formatFreight(freight, 'uploaded')}`;
    case 'superseded':
      return `${head}superseded: somebody published a newer one meanwhile`;
    case 'planned':
      return `${head}would be sent: ${formatFreight(freight, 'to upload')}`;
    case 'failed':
      return `${head}${error ? formatError(error) : 'failed'}`;
  }
};
