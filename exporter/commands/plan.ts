import { dirname } from 'node:path';
import { defined } from '#bundles/defined';
import { formatChannel } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { formatBytes } from '#cli/format-bytes';
import type { Printed } from '#cli/format-table';
import { openProgress } from '#cli/progress';
import { PROGRESS_FLAG } from '#cli/flags';
import { type BytesToWrite, bytesToWrite, filesLacking } from '../plan/bytes-to-write.ts';
import { type ChannelRemovals, describeRemovals } from '../plan/find-removals.ts';
import type { Plan as MediumPlan } from '../plan/plan.ts';
import { planSet, type SetPlan } from '../plan/set/plan-set.ts';
import { prepare } from '../plan/prepare.ts';
import { describeDeltas } from './show/describe-deltas.ts';
import { formatSet } from './show/format-set.ts';
import { tableOf } from './show/table-of.ts';
import { IDENTITY_FLAG, openOptions } from './open-given.ts';
import { lackOfEntries } from '../plan/medium/folder-room.ts';
import { describeLackOfSpace, tooLargeFor } from '../plan/medium/free-space.ts';
import { blobPath } from '#bundles/formats/medium/blob-path';
import type { Target } from '../plan/medium/target.ts';
import { EXPORT_FLAGS, exportRequestOf } from './export-flags.ts';
import { FILE_SIZE_FLAG, maxFileSizeOf, SET_FLAGS, setRequestOf } from './set-flags.ts';
import { stoppable } from './stoppable.ts';

type Planned = Pick<MediumPlan, 'bundles' | 'sites' | 'carried' | 'assumed' | 'deltas'> & {
  /** Of a set of parts. */
  readonly set?: SetPlan;
  readonly removals: readonly ChannelRemovals[];
  readonly notes: readonly string[];
} & BytesToWrite;

export default class Plan extends FleetCommand {
  static override summary =
    'Show the content, size and reasons of a medium that create would write, without writing';
  static override examples = [
    '<%= config.bin %> plan --from build --site plant-7 --for /media/returned --to /media/stick',
    '<%= config.bin %> plan --from build --site plant-7 --stick-size 30GB --to /media/stick',
  ];
  static override flags = {
    ...EXPORT_FLAGS,
    ...SET_FLAGS,
    ...FILE_SIZE_FLAG,
    ...IDENTITY_FLAG,
    ...PROGRESS_FLAG,
  };

  async run(): Promise<Planned> {
    const { flags } = await this.parse(Plan);
    using progress = openProgress(flags.progress);
    const asked = exportRequestOf(flags, process.env, this.readNow(flags.now), this.signal, progress);
    const order = { ...asked, open: await openOptions(flags.identity ?? []) };
    const setRequest = setRequestOf(flags, 1 + (order.alsoTo ?? []).length, order.sealTo !== undefined);
    const { maxFileSize } = maxFileSizeOf(flags, setRequest !== undefined);
    return await stoppable(this.signal, 'Nothing was written', async () => {
      await using prepared = await prepare(order);
      const { plan } = prepared;
      const hooks = { signal: this.signal, onPhase: progress.begin, onBytes: progress.advance };
      const set = setRequest && (await planSet(prepared, setRequest, hooks));
      const bytes = set ? bytesOfSet(set) : await bytesToWrite(prepared, maxFileSize, hooks);
      progress.end();
      this.print(formatPlan(plan, bytes), set ? ['', ...formatSet(set)] : []);
      const lacks = set
        ? await Promise.all(
            set.sticks.flatMap(({ at, toWrite }) => (at ? describeLackOfSpace(at, toWrite) : [])),
          )
        : await lacksOf(prepared.target, plan, bytes, maxFileSize);
      const notes = [...prepared.notes, ...lacks.filter((lack) => lack !== undefined)];
      for (const removal of prepared.removals) this.log(describeRemovals(removal));
      for (const note of notes) this.say(`Note: ${note}`);
      return {
        bundles: plan.bundles,
        leases: plan.leases,
        sites: plan.sites,
        carried: plan.carried,
        assumed: plan.assumed,
        ...bytes,
        ...defined({ deltas: plan.deltas, set }),
        removals: prepared.removals,
        notes,
      };
    });
  }
}

const lacksOf = async (
  { form, path, before }: Target,
  plan: MediumPlan,
  { toWrite, there }: BytesToWrite,
  maxFileSize: number | undefined,
): Promise<readonly (string | undefined)[]> =>
  form === 'tar'
    ? [await tooLargeFor(dirname(path), toWrite + there), await describeLackOfSpace(dirname(path), toWrite)]
    : [
        await describeLackOfSpace(path, await filesLacking(plan, path, before?.medium, maxFileSize)),
        await lackOfEntries(path, [
          ...plan.blobs.map(({ digest }) => blobPath(digest)),
          ...plan.files.map((file) => file.path),
        ]),
      ];

const bytesOfSet = ({ sticks }: SetPlan): BytesToWrite => ({
  toWrite: sticks.reduce((total, { toWrite }) => total + toWrite, 0),
  there: sticks.reduce((total, { there }) => total + there, 0),
});

const formatPlan = (
  { bundles, leases, sites, assumed, deltas }: MediumPlan,
  { toWrite, there }: BytesToWrite,
): readonly Printed[] => {
  const rows = bundles.map((bundle) => [
    formatChannel(bundle.channel),
    String(bundle.version),
    bundle.kind,
    formatBytes(bundle.carried),
    formatBytes(bundle.assumed),
    bundle.why.join('; '),
  ]);
  const leaseRows = leases.map(({ channel, version, release, expires }) => [
    formatChannel(channel),
    String(version),
    String(release),
    expires,
  ]);
  const siteRows = sites.map(({ site, version, agents, bytes, carried: all }) => [
    site,
    String(version),
    formatBytes(bytes),
    formatBytes(all),
    agents
      .map(
        ({ name, channel, carried: here }) => `${name} ${formatChannel(channel)}${here ? '' : ' (not here)'}`,
      )
      .join(', '),
  ]);
  return [
    ...tableOf(['CHANNEL', 'RELEASE', 'KIND', 'NEW', 'ASSUMED', 'WHY'], rows),
    ...tableOf(['CHANNEL', 'LEASE', 'OF RELEASE', 'UNTIL'], leaseRows),
    ...tableOf(['SITE', 'VERSION', 'ITS OWN', 'IN ALL', 'AGENTS'], siteRows),
    ...(deltas ? [`Patches: ${describeDeltas(deltas)}.`] : []),
    `In all ${formatBytes(toWrite)} to write${there > 0 ? ` beside ${formatBytes(there)} already there` : ''}, ${formatBytes(assumed)} assumed at the sites, each blob counted once.`,
  ];
};
