import { formatChannel } from '#bundles/names';
import { FleetCommand } from '#bundles/program/fleet-command';
import type { Plan as MediumPlan } from '../plan/plan.ts';
import { prepare } from '../prepare.ts';
import { formatBytes } from '../show/format-bytes.ts';
import { formatTable } from '../show/table.ts';
import { ORDER_FLAGS, orderOf } from './order-flags.ts';
import { stoppable } from './stoppable.ts';

type Planned = Pick<MediumPlan, 'bundles' | 'sites' | 'carried' | 'assumed'> & {
  readonly notes: readonly string[];
};

export default class Plan extends FleetCommand {
  static override summary = 'Say what create would write, how much and why; write nothing';
  static override examples = [
    '<%= config.bin %> plan --from build --site plant-7 --for /media/returned --to /media/stick',
  ];
  static override flags = ORDER_FLAGS;

  async run(): Promise<Planned> {
    const { flags } = await this.parse(Plan);
    const order = orderOf(flags, process.env, this.readNow(flags.now), this.signal);
    return stoppable(this.signal, 'Nothing was written', async () => {
      await using prepared = await prepare(order);
      const { plan, notes } = prepared;
      this.log(formatPlan(plan));
      for (const note of notes) this.log(`Note: ${note}`);
      return {
        bundles: plan.bundles,
        sites: plan.sites,
        carried: plan.carried,
        assumed: plan.assumed,
        notes,
      };
    });
  }
}

const formatPlan = ({ bundles, sites, carried, assumed }: MediumPlan): string => {
  const rows = bundles.map((bundle) => [
    formatChannel(bundle.channel),
    String(bundle.version),
    bundle.kind,
    formatBytes(bundle.carried),
    formatBytes(bundle.assumed),
    bundle.why.join('; '),
  ]);
  const siteRows = sites.map(({ site, version, agents, bytes }) => [
    site,
    String(version),
    formatBytes(bytes),
    agents
      .map(
        ({ name, channel, carried: here }) => `${name} ${formatChannel(channel)}${here ? '' : ' (not here)'}`,
      )
      .join(', '),
  ]);
  return [
    formatTable(['CHANNEL', 'RELEASE', 'KIND', 'NEW', 'ASSUMED', 'WHY'], rows),
    ...(sites.length > 0 ? ['', formatTable(['SITE', 'VERSION', 'BYTES', 'AGENTS'], siteRows)] : []),
    '',
    `In all ${formatBytes(carried)} to write, ${formatBytes(assumed)} assumed at the sites, each blob counted once.`,
  ].join('\n');
};
