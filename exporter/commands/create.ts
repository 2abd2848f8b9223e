import { join } from 'node:path';
import { Flags } from '@oclif/core';
import { defined } from '#bundles/defined';
import { shortSet } from '#bundles/formats/medium/parts/part';
import { FleetCommand } from '#cli/fleet-command';
import { formatBytes } from '#cli/format-bytes';
import { openProgress, type Progress } from '#cli/progress';
import { PROGRESS_FLAG } from '#cli/flags';
import { type ChannelRemovals, describeRemovals } from '../plan/find-removals.ts';
import type { Plan } from '../plan/plan.ts';
import { prepare } from '../plan/prepare.ts';
import { describeDeltas } from './show/describe-deltas.ts';
import { describeCut, describeSet } from './show/format-set.ts';
import { type Exported, exportMedium } from '../write/export-medium.ts';
import type { WriteOptions } from '../write/write-options.ts';
import { recordDeparture } from '../write/record-departure.ts';
import type { SetRequest } from '../write/write-set.ts';
import { setTransferFlags } from '../source/v8-flags.ts';
import { askForVolumes } from './ask-for-volumes.ts';
import { IDENTITY_FLAG, openOptions } from './open-given.ts';
import { EXPORT_FLAGS, type ExportFlags, exportRequestOf } from './export-flags.ts';
import { HUB_FLAGS, hubOf } from './hub-flags.ts';
import { FILE_SIZE_FLAG, maxFileSizeOf, PARTIAL_SET_FLAGS, SET_FLAGS, setRequestOf } from './set-flags.ts';
import { stoppable } from './stoppable.ts';
import { FleetError, formatError, toFleetError } from '#bundles/errors';
import { ask, canAsk } from '#cli/ask';

type Created = Exported & {
  readonly medium: string;
  readonly carried: number;
  readonly assumed: number;
  readonly deltas?: Plan['deltas'];
  readonly safeToUnplug: boolean;
  /** Since when the hub has the medium on its way; null: it does not. */
  readonly recordedAt: string | null;
  readonly removals: readonly ChannelRemovals[];
  readonly notes: readonly string[];
};

export default class Create extends FleetCommand {
  static override summary = 'Fill a medium with releases, bundles and the content that sites requested';
  static override description =
    'Verifies everything before it writes, and reads it back from the device afterwards. The medium switches from the old ' +
    'content to the new in one step. Run it again after an interruption: it continues.';
  static override examples = [
    '<%= config.bin %> create --from build --site plant-7 --to /media/stick',
    '<%= config.bin %> create --from build --all --to everything.tar',
    '<%= config.bin %> create --from build --channel prod/kiosk --channel prod/gate --to plant-7.tar',
    '<%= config.bin %> create --from oci://registry.example/fleet --site plant-7 --to /media/stick',
    '<%= config.bin %> create --from build --site plant-7 --lease-only --to lease.tar',
    '<%= config.bin %> create --from build --site plant-7 --values-only --to values.tar',
    '<%= config.bin %> create --from build --site plant-7 --for /media/returned --to /media/stick',
    '<%= config.bin %> create --from build --site plant-7 --to /media/stick --hub https://hub.example:8443 --hub-token-file ./token',
    '<%= config.bin %> create --from build --site plant-7 --to /media/a --to /media/b',
    '<%= config.bin %> create --from build --site plant-7 --stick-size 30GB --to /media/stick',
    '<%= config.bin %> create --from build --site plant-7 --stick-size 30GB --parts 3 --to for-mail',
  ];
  static override flags = {
    ...EXPORT_FLAGS,
    ...SET_FLAGS,
    ...FILE_SIZE_FLAG,
    ...IDENTITY_FLAG,
    ...PARTIAL_SET_FLAGS,
    ...PROGRESS_FLAG,
    ...HUB_FLAGS,
    'read-back': Flags.boolean({
      default: true,
      allowNo: true,
      description: 'Read everything back from the device before calling it safe to unplug',
    }),
  };

  async run(): Promise<Created> {
    const { flags } = await this.parse(Create);
    await askForAll(flags, this.jsonEnabled(), this.signal);
    using progress = openProgress(flags.progress);
    const asked = exportRequestOf(flags, process.env, this.readNow(flags.now), this.signal, progress);
    const order = { ...asked, open: await openOptions(flags.identity ?? []) };
    const setRequest = setRequestOf(flags, 1 + (order.alsoTo ?? []).length, order.sealTo !== undefined);
    const maxFileSize = maxFileSizeOf(flags, setRequest !== undefined);
    const hub = await hubOf(flags);
    return await stoppable(this.signal, 'Run it again: it continues where it stopped', async () => {
      await using prepared = await prepare(order);
      const { plan, notes, removals } = prepared;
      for (const note of notes) this.say(note);
      for (const removal of removals) this.log(describeRemovals(removal));
      const set =
        setRequest &&
        askForVolumes(setRequest, {
          say: (line) => this.say(line),
          endProgress: progress.end,
          isReadBack: flags['read-back'],
          isScript: this.jsonEnabled(),
          signal: this.signal,
        });
      const options = { ...maxFileSize, readBack: flags['read-back'], seal: prepared.seal };
      setTransferFlags();
      const exported = await this.export(prepared, options, set, progress);
      const { changes, written } = exported;
      const places = placesOf(prepared, exported.set);
      const recordedAt = hub
        ? await this.record({ ...prepared, set: exported.set, places }, { ...hub, caFile: flags['ca-file'] })
        : null;
      this.log(
        [
          `${places.join(', ')}${exported.set ? ` (${describeSet(exported.set)})` : ''}: ${formatBytes(written)} written, ${formatBytes(plan.assumed)} assumed at the sites`,
          ...(plan.deltas ? [describeDeltas(plan.deltas)] : []),
          describeChanges(changes),
          flags['read-back'] ? 'read back, safe to unplug' : 'not read back',
        ].join('; '),
      );
      for (const { path } of prepared.targets)
        if (!places.includes(path)) this.log(`${path} is not needed and was not changed`);
      if (exported.set && flags.stick !== undefined && exported.set.sticks > 1)
        this.log(`All sticks must be of set ${shortSet(exported.set.set)}: write any other stick again`);
      if (exported.set && !flags['stick-size']) for (const line of describeCut(exported.set)) this.log(line);
      return {
        medium: order.to,
        ...exported,
        carried: plan.carried,
        assumed: plan.assumed,
        ...defined({ deltas: plan.deltas }),
        safeToUnplug: flags['read-back'],
        recordedAt,
        removals,
        notes,
      };
    });
  }

  /** A hub that does not take the record is a warning: the medium is complete. */
  private async record(
    written: Parameters<typeof recordDeparture>[0],
    hub: Omit<Parameters<typeof recordDeparture>[1], 'env'>,
  ): Promise<string | null> {
    try {
      const recorded = await recordDeparture(written, { ...hub, env: process.env }, this.signal);
      this.say(`recorded at ${hub.url}: on its way since ${recorded.recordedAt}`);
      return recorded.recordedAt;
    } catch (error) {
      this.signal.throwIfAborted();
      this.say(
        `warning: the medium is complete, but not recorded as on its way: ${formatError(toFleetError(error))}`,
      );
      this.say(
        `Run it again, or at a machine of the hub: fleet-scheduler media record ${written.places[0] ?? ''}`,
      );
      return null;
    }
  }

  private async export(
    prepared: Awaited<ReturnType<typeof prepare>>,
    options: Pick<WriteOptions, 'maxFileSize' | 'readBack' | 'seal'>,
    set: SetRequest | undefined,
    { begin, advance, end }: Progress,
  ): Promise<Exported> {
    const hooks = { onPhase: begin, onBytes: advance };
    const exported = await exportMedium(prepared, { ...options, ...hooks, signal: this.signal }, set);
    end();
    return exported;
  }
}

/** The places that were written: of a set, the ones it needed. */
const placesOf = (
  { targets }: Pick<Awaited<ReturnType<typeof prepare>>, 'targets'>,
  set: Exported['set'],
): readonly string[] => {
  const places = targets.map(({ path }) => path);
  return set === undefined || set.sticks >= places.length
    ? places
    : places.filter((place) => set.parts.some(({ path }) => path.startsWith(join(place, '/'))));
};

/** Names the first changes, so that the line stays short with a hundred channels; `--json` has all. */
const describeChanges = (changes: readonly string[]): string => {
  if (changes.length === 0) return 'no release changed';
  const more = changes.length > SHOWN ? ` and ${changes.length - SHOWN} more changes` : '';
  return `${changes.slice(0, SHOWN).join(', ')}${more}`;
};

const SHOWN = 4;

/**
 * Asks before a medium carries every channel, because each site can then read the releases of all others.
 * @param isScript true with --json: do not ask
 * @throws FleetError USAGE
 */
const askForAll = async (
  { all, channel, site, from, to }: ExportFlags,
  isScript: boolean,
  signal: AbortSignal,
): Promise<void> => {
  if (all || channel || site) return;
  if (!isScript && canAsk()) {
    const question = `Put every channel of ${from} onto ${[to].flat().join(', ')}? [y/N] `;
    if (/^y(es)?$/i.test((await ask(question, { flag: '--all', signal })).trim())) return;
  }
  throw new FleetError('USAGE', 'neither --site, --channel nor --all is given', {
    hint: 'Name sites with --site or channels with --channel; --all takes every channel of the source',
  });
};
