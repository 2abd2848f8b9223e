import { Flags } from '@oclif/core';
import { FleetCommand } from '#bundles/program/fleet-command';
import { prepare } from '../prepare.ts';
import { formatBytes } from '../show/format-bytes.ts';
import { parseSize } from '../show/parse-size.ts';
import { startProgress } from '../show/progress.ts';
import { type Exported, exportMedium } from '../write/export-medium.ts';
import { ORDER_FLAGS, orderOf } from './order-flags.ts';
import { stoppable } from './stoppable.ts';

type Created = Exported & {
  readonly medium: string;
  readonly carried: number;
  readonly assumed: number;
  readonly safeToUnplug: boolean;
  readonly notes: readonly string[];
};

export default class Create extends FleetCommand {
  static override summary = 'Fill a medium with releases, bundles and what the sites asked for';
  static override description =
    'Everything is verified before it is written and read back from the device after. At every moment the medium is ' +
    'the old one or the new one; run it again after an interruption and it goes on.';
  static override examples = [
    '<%= config.bin %> create --from build --site plant-7 --to /media/stick',
    '<%= config.bin %> create --from build --channel prod/kiosk --channel prod/gate --to plant-7.tar',
    '<%= config.bin %> create --from oci://registry.example/fleet --site plant-7 --to /media/stick',
    '<%= config.bin %> create --from build --site plant-7 --for /media/returned --to /media/stick',
  ];
  static override flags = {
    ...ORDER_FLAGS,
    'max-file-size': Flags.string({
      description: 'Cut blobs into files of at most this size, such as 4GiB-1; found out for FAT32',
    }),
    'read-back': Flags.boolean({
      default: true,
      allowNo: true,
      description: 'Read everything back from the device before calling it safe to unplug',
    }),
  };

  async run(): Promise<Created> {
    const { flags } = await this.parse(Create);
    const order = orderOf(flags, process.env, this.readNow(flags.now), this.signal);
    const size = flags['max-file-size'];
    const maxFileSize = size === undefined ? {} : { maxFileSize: parseSize(size) };
    return stoppable(this.signal, 'Run it again: it goes on where it stopped', async () => {
      await using prepared = await prepare(order);
      const { plan, notes } = prepared;
      for (const note of notes) this.say(note);
      const exported = await this.export(prepared, { ...maxFileSize, readBack: flags['read-back'] });
      const { changes, written } = exported;
      this.log(
        [
          `${order.to}: ${formatBytes(written)} written, ${formatBytes(plan.assumed)} assumed at the sites`,
          describeChanges(changes),
          flags['read-back'] ? 'read back, safe to unplug' : 'not read back',
        ].join('; '),
      );
      return {
        medium: order.to,
        ...exported,
        carried: plan.carried,
        assumed: plan.assumed,
        safeToUnplug: flags['read-back'],
        notes,
      };
    });
  }

  private async export(
    prepared: Awaited<ReturnType<typeof prepare>>,
    options: { readonly maxFileSize?: number; readonly readBack: boolean },
  ): Promise<Exported> {
    const shown = process.stderr.isTTY && !this.jsonEnabled();
    await using progress = await startProgress(prepared.plan.carried, shown);
    return await exportMedium(prepared, { ...options, onBytes: progress.advance, signal: this.signal });
  }
}

/** The line stays a line with a hundred channels, too; `--json` has them all. */
const describeChanges = (changes: readonly string[]): string => {
  if (changes.length === 0) return 'no release changed';
  const more = changes.length > SHOWN ? ` and ${changes.length - SHOWN} more changes` : '';
  return `${changes.slice(0, SHOWN).join(', ')}${more}`;
};

const SHOWN = 4;
