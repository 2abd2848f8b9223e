import { formatChannel } from '#bundles/names';
import { FleetCommand } from '#bundles/program/fleet-command';
import { formatBytes } from '#bundles/program/format-bytes';
import { openProgress } from '#bundles/program/progress';
import { PROGRESS_FLAG } from '#bundles/program/progress-flag';
import type { Plan as MediumPlan } from '../plan/plan.ts';
import { planSet, type SetPlan } from '../plan/plan-set.ts';
import { prepare } from '../prepare.ts';
import { describeDeltas } from '../show/describe-deltas.ts';
import { formatSet } from '../show/format-set.ts';
import { tableOf } from '../show/table.ts';
import { ORDER_FLAGS, orderOf } from './order-flags.ts';
import { SET_FLAGS, setOrderOf } from './set-flags.ts';
import { stoppable } from './stoppable.ts';

type Planned = Pick<MediumPlan, 'bundles' | 'sites' | 'carried' | 'assumed' | 'deltas'> & {
  /** Of a set of parts. */
  readonly set?: SetPlan;
  readonly notes: readonly string[];
};

export default class Plan extends FleetCommand {
  static override summary = 'Say what create would write, how much and why; write nothing';
  static override examples = [
    '<%= config.bin %> plan --from build --site plant-7 --for /media/returned --to /media/stick',
    '<%= config.bin %> plan --from build --site plant-7 --stick-size 30GB --to /media/stick',
  ];
  static override flags = { ...ORDER_FLAGS, ...SET_FLAGS, ...PROGRESS_FLAG };

  async run(): Promise<Planned> {
    const { flags } = await this.parse(Plan);
    using progress = openProgress(flags.progress);
    const order = orderOf(flags, process.env, this.readNow(flags.now), this.signal, progress);
    return await stoppable(this.signal, 'Nothing was written', async () => {
      await using prepared = await prepare(order);
      const { plan, notes, seal, targets } = prepared;
      this.log(formatPlan(plan));
      const wish = setOrderOf(flags, targets.length, seal !== undefined);
      const places = targets.map(({ path }) => path);
      const set = wish && (await planSet(plan, wish, places, seal));
      if (set) this.log(`\n${formatSet(set)}`);
      for (const note of notes) this.log(`Note: ${note}`);
      return {
        bundles: plan.bundles,
        leases: plan.leases,
        sites: plan.sites,
        carried: plan.carried,
        assumed: plan.assumed,
        ...(plan.deltas && { deltas: plan.deltas }),
        ...(set && { set }),
        notes,
      };
    });
  }
}

const formatPlan = ({ bundles, leases, sites, carried, assumed, deltas }: MediumPlan): string => {
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
    `In all ${formatBytes(carried)} to write, ${formatBytes(assumed)} assumed at the sites, each blob counted once.`,
  ].join('\n');
};
