import { Flags } from '@oclif/core';
import { formatCount } from '#bundles/format-count';
import { type BundleKind, parseChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { type Extracted, extractBundle } from '../verify/extract/extract-bundle.ts';
import { IDENTITY_FLAG, MEDIUM_ARG, openGiven } from './open-given.ts';
import { stoppable } from './stoppable.ts';

export default class Extract extends FleetCommand {
  static override summary = 'Write one bundle and its statements as a layout that stock cosign verifies';
  static override examples = [
    '<%= config.bin %> extract /media/stick --channel prod/kiosk --kind host --to bundle',
    'cosign verify-attestation --key bundle.pub --insecure-ignore-tlog --type urn:fleet-ferry:bundle:v1 --local-image bundle',
  ];
  static override strict = false;
  static override args = MEDIUM_ARG;
  static override flags = {
    ...IDENTITY_FLAG,
    channel: Flags.string({ required: true, description: 'environment/cluster type' }),
    kind: Flags.option({
      options: ['host', 'kubernetes'] as const satisfies readonly BundleKind[],
      required: true,
      description: 'Which bundle of the channel',
    })(),
    to: Flags.string({ required: true, description: 'A new or empty folder' }),
  };

  async run(): Promise<Extracted> {
    const { argv, flags } = await this.parse(Extract);
    const channel = parseChannel(flags.channel);
    return stoppable(this.signal, 'Delete the folder and run it again', async () => {
      await using medium = await openGiven(argv as string[], flags, this.signal);
      const extracted = await extractBundle(medium, channel, flags.kind, flags.to, this.signal);
      const { bundle, statements } = extracted;
      this.log(
        `${flags.to}: ${bundle.digest} with ${formatCount(statements, 'statement')}; not verified: check them with cosign`,
      );
      return extracted;
    });
  }
}
