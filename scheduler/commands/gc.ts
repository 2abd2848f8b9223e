import { Args, Flags } from '@oclif/core';
import { formatCount } from '#bundles/format-count';
import { type CollectOutcome, collectRegistry } from '#bundles/transport/collect/collect-registry';
import { FleetError, formatError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import { parseChannel, parseName } from '#bundles/names';
import { FleetCommand } from '#cli/fleet-command';
import { repeatable } from '#cli/flags';
import { readFleetChain } from '#bundles/transport/publish/read-fleet-chain';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import { addDays } from '#bundles/time';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { Table } from '#cli/format-table';
import { type Configuration, readConfiguration, requireSetting } from '../settings/configuration.ts';
import { configurationFlags, registryFlags, selectionFlags } from '../settings/configuration-flags.ts';
import { hasNoSites } from '../hub/open-hub.ts';
import { readHeld } from '../hub/ingest/reports/read-held.ts';
import { storeExists } from '../hub/store/open-store.ts';

const { layout, registry, db } = configurationFlags;

export default class Gc extends FleetCommand {
  static override summary = 'Remove tags from a registry that no kept release needs';
  static override description =
    `Lists what would be removed, and removes it with --yes. Afterwards the registry's own garbage collection frees the space.

Kept are the current release of each channel and --keep releases before it, every release younger than --older-than, what the layout has, and the bundles that sites hold by their last report (--db); with each its images and signatures. Tags that publish did not make are never touched.

Run it where you publish, and not while another machine publishes to the same registry.`;
  static override examples = [
    '<%= config.bin %> gc oci://registry.example/factory/fleet --layout out --db hub.db',
    '<%= config.bin %> gc oci://registry.example/factory/fleet --layout out --db hub.db --keep 10 --older-than 90d --yes',
  ];
  static override args = {
    registry: Args.string({
      description: 'oci://host[:port]/prefix [default: registry of the configuration]',
    }),
  };
  static override flags = {
    ...registryFlags,
    ...selectionFlags,
    layout,
    registry,
    db,
    site: Flags.string({ ...repeatable, description: 'Only this site' }),
    keep: Flags.integer({
      default: 5,
      min: 0,
      max: 10_000,
      description: 'Releases to keep before the current one',
    }),
    'older-than': Flags.string({
      default: '30d',
      description: 'Keep everything signed within this time',
    }),
    yes: Flags.boolean({ char: 'y', description: 'Remove the tags; by default they are only listed' }),
  };

  async run(): Promise<unknown> {
    const { args, flags } = await this.parse(Gc);
    const configuration = await readConfiguration(flags, process.cwd());
    const since = addDays(this.readNow(flags.now), -parseDays(flags['older-than']));
    const source = await openLayout(requireSetting(configuration, 'layout'));
    const where = args.registry ?? requireSetting(configuration, 'registry');
    const address = parseRegistryAddress(where);
    const chain = await readFleetChain(source);
    const db = await this.#db(configuration, flags.db !== undefined);
    const held = await readHeld(db, (chain.at(-1) as TrustRoot).fleet);
    if (db === undefined)
      this.say('No hub database is given (--db): the bundles that sites hold are unknown and not kept.');
    await using opened = openRegistry(address, registryOptions({ ...configuration, env: process.env }));
    const outcomes = await collectRegistry(source, opened, {
      selection: {
        channels: flags.channel?.map(parseChannel),
        environments: flags.environment?.map((name) => parseName(name, 'environment')),
        sites: flags.site?.map((name) => parseName(name, 'site')),
      },
      retention: { keep: flags.keep, since },
      held,
      chain,
      remove: flags.yes,
      signal: this.signal,
      onRepository: (outcome) => {
        if (outcome.error) this.say(describeRepository(outcome));
        else if (outcome.tags.length > 0 || outcome.outcome === 'moved')
          this.print(describeRepository(outcome));
      },
    });
    const tags = outcomes.reduce((sum, outcome) => sum + outcome.tags.length, 0);
    this.print(
      flags.yes
        ? `${where}: ${tags} tags removed; the registry's own garbage collection frees the space`
        : `${where}: ${tags} tags could be removed; --yes removes them`,
    );
    const first = outcomes.find(({ error }) => error)?.error;
    if (first) process.exitCode = new FleetError(first.code, '').exitCode;
    return {
      registry: where,
      removed: flags.yes,
      repositories: outcomes.map(({ error, ...outcome }) => ({
        ...outcome,
        ...(error && (this.toErrorJson(error) as object)),
      })),
    };
  }

  /** The configuration may name a database before the first site enrols: without a database no site holds anything. */
  async #db(configuration: Configuration, isGiven: boolean): Promise<string | undefined> {
    const { db } = configuration;
    if (db === undefined || (await storeExists(db)) || isGiven) return db;
    return (await hasNoSites(configuration)) ? undefined : db;
  }
}

const parseDays = (text: string): number => {
  const [, days] = /^(\d{1,5})d$/.exec(text) ?? [];
  if (days !== undefined) return Number(days);
  throw new FleetError('USAGE', `--older-than ${JSON.stringify(text.slice(0, 40))} is not a number of days`, {
    hint: 'Write it like 30d',
  });
};

const NAMES: Readonly<Record<string, string>> = { r: 'release', s: 'statement', b: 'bundle', i: 'image' };

/** 'prod/kiosk   would go: 3 releases, 2 bundles, 4 images; 6 releases stay' */
const describeRepository = ({ repository, outcome, keptReleases, tags, error }: CollectOutcome): Table => {
  const row = (text: string): Table => ({ rows: [[repository, text]], min: [27] });
  if (error) return row(formatError(error));
  if (outcome === 'moved') return row('another publish ran meanwhile: nothing was removed, run it again');
  const counts = Object.entries(NAMES).flatMap(([letter, name]) => {
    const count = tags.filter((tag) => tag.startsWith(`${letter}-`)).length;
    return count > 0 ? [formatCount(count, name)] : [];
  });
  const verb = outcome === 'removed' ? 'removed' : 'would go';
  return row(`${verb}: ${counts.join(', ')}; ${keptReleases} stay`);
};
